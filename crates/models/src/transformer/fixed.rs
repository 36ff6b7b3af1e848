//! Scores from a table: once the weights no longer change, neither do the encoder's outputs.

use super::Transformer;
use crate::FixedScorer;
use knockout_data::cell::GeneSetsRef;
use knockout_engine::grad::Tape;
use knockout_engine::kernel::Scalar;

/// The encoder's outputs of a model, `[genes + 1, width]`.
pub(super) struct FixedTransformer<'m, T: Scalar> {
    model: &'m Transformer<T>,
    tokens: Vec<T>,
}

impl<'m, T: Scalar> FixedTransformer<'m, T> {
    pub(super) fn new(model: &'m Transformer<T>) -> Self {
        let mut tape = Tape::new(&model.parameters);
        let (tokens, _) = model.encode(&mut tape, None);
        Self { model, tokens: tape.value(tokens).to_vec() }
    }
}

impl<T: Scalar> FixedScorer for FixedTransformer<'_, T> {
    fn score(&self, sets: GeneSetsRef<'_>, out: &mut [f32]) {
        let width = self.model.sizes.width;
        let (cls, states) = self.tokens.split_at(width);
        let mut tape = Tape::new(&self.model.parameters);
        let members = tape.op(
            "gather",
            sets.genes().len() * width,
            |_, out| {
                for (out, &gene) in out.chunks_exact_mut(width).zip(sets.genes()) {
                    out.copy_from_slice(&states[gene as usize * width..][..width]);
                }
            },
            |_, (), _| {},
        );
        let cls = tape.op("slice", width, |_, out| out.copy_from_slice(cls), |_, (), _| {});
        let [.., scores] = self.model.read(&mut tape, members, cls, sets, None);
        out.iter_mut().zip(tape.value(scores)).for_each(|(out, score)| *out = score.to_f64() as f32);
    }
}
