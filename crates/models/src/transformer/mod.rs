//! The equivariant cell graph transformer: gene states from attention over the whole cell, transformed by the deleted genes and
//! read out at them.
//!
//! ```text
//! X    = [cls; E]                                        a token of the cell, then one of each gene (table, features or both)
//! X    ← encoder layer(X), `layers` times                the same for every sample: computed once per step
//! Z_b  = transform(X[genes of b])                        each deleted gene attends to the genes deleted with it
//! ŷ_b  = MLP([X_cls ‖ mean of Z_b])
//! loss = loss of the scores (default: MSE) + λ · mean over networks of KL(network ‖ attention of its head)
//! ```
//!
//! The reference transforms all genes of every sample and reads the deleted ones: only their rows are computed here, which is the same.
//!
//! The encoder sees no sample, so a step runs it once, whatever the batch. Predictions read a table of its output. No
//! gene-by-gene matrix is stored: attention goes over tiles, and the backward pass recomputes weights from the logarithm
//! of each softmax's denominator.

mod block;
mod dropout;
mod fixed;
mod options;

pub use options::{TransformerLoss, TransformerOptions};

use crate::init::Init;
use crate::layer::{
    AttentionVars, GeneFeatures, GeneRows, GraphPenalty, Linear, Mlp, add_scaled, add_to, gather, slice,
};
use crate::loss::{LossPosition, Penalty, RecordedLoss, ScoreLoss};
use crate::{FixedScorer, Forward, Input, Model, ModelOptions};
use block::AttentionBlock;
use dropout::{TransformerDropout, TransformerSite};
use knockout_data::cell::GeneSetsRef;
use knockout_engine::grad::{Parameters, Tape, Var};
use knockout_engine::kernel::{Activation, Graph, Pool, Scalar};
use std::sync::Arc;

/// Sizes of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransformerSizes {
    /// Width of a token.
    pub width: usize,
    /// Encoder layers.
    pub layers: usize,
    /// Attention heads; they divide the width.
    pub heads: usize,
}

/// The model.
pub struct Transformer<T: Scalar> {
    parameters: Parameters<T>,
    rows: GeneRows<T>,
    cls: Var,
    encoder: Vec<AttentionBlock>,
    transform: AttentionBlock,
    readout: Mlp,
    penalties: Vec<HeadPenalty>,
    /// Weight of the penalties.
    lambda_graph: f64,
    loss: ScoreLoss<T>,
    sizes: TransformerSizes,
    genes: usize,
    dropout: f64,
    seed: u64,
}

/// A network that a head of a layer is pulled towards.
struct HeadPenalty {
    /// Name of the network's part of the loss, under which the penalty is observed.
    part: Arc<str>,
    layer: usize,
    penalty: GraphPenalty,
}

/// The output of a forward pass.
#[derive(Debug, Clone)]
pub struct TransformerForward {
    /// The encoder's output `[genes + 1, width]`: the cell's token first.
    pub tokens: Var,
    /// The transformed states of the deleted genes `[members, width]`.
    pub members: Var,
    /// The input of the readout, `[sets, 2 width]`: the cell's token, and the mean of the set's states.
    pub pooled: Var,
    /// One standardised score per set.
    pub scores: Var,
    /// Attention of every encoder layer.
    pub attention: Vec<AttentionVars>,
}

impl TransformerForward {
    /// Returns what the loss reads.
    pub fn outputs(&self) -> Forward {
        let vars = self.attention.iter().flat_map(|vars| [vars.query, vars.key, vars.attended]);
        Forward { predictions: self.scores, representation: Some(self.pooled), hidden: vars.collect() }
    }
}

impl<T: Scalar> Transformer<T> {
    /// Creates a model over `genes` genes.
    ///
    /// # Panics
    ///
    /// If `heads` does not divide `width`: callers check.
    pub fn new(genes: usize, sizes: TransformerSizes, seed: u64) -> Self {
        Self::with_features(genes, sizes, None, seed)
    }

    /// Creates a model with content features of the genes, if any.
    ///
    /// # Panics
    ///
    /// As [`Transformer::new`].
    pub fn with_features(
        genes: usize,
        sizes: TransformerSizes,
        features: Option<GeneFeatures>,
        seed: u64,
    ) -> Self {
        let TransformerSizes { width, layers, heads } = sizes;
        assert!(width.is_multiple_of(heads), "{heads} heads in a width of {width}");
        let (mut parameters, mut init) = (Parameters::new(&Pool::new()), Init::by_inputs(seed));
        let rows = GeneRows::new(&mut parameters, [genes, width], 0.02, features, &mut init);
        let cls = parameters.add("cls", &[width], || init.normal(0.02));
        let mut block = |name: &str| AttentionBlock::new(&mut parameters, name, width, heads, &mut init);
        let encoder = (0..layers).map(|layer| block(&format!("encoder.{layer}"))).collect();
        let transform = block("transform");
        let mut linear = |name: &str, inputs: usize, outputs: usize| {
            Linear::new(&mut parameters, name, inputs, outputs, &mut init)
        };
        let linears = vec![linear("readout.hidden", 2 * width, width), linear("readout.score", width, 1)];
        let readout = Mlp { linears, between: Activation::Relu, norm: None, last: Activation::None };
        Self {
            parameters,
            rows,
            cls,
            encoder,
            transform,
            readout,
            penalties: Vec::new(),
            lambda_graph: 0.0,
            loss: ScoreLoss::default(),
            sizes,
            genes,
            dropout: 0.0,
            seed,
        }
    }

    /// With dropout in training.
    #[must_use]
    pub(crate) fn with_dropout(mut self, rate: f64) -> Self {
        self.dropout = rate;
        self
    }

    /// Replaces the loss of the scores.
    #[must_use]
    pub(crate) fn with_loss(self, loss: ScoreLoss<T>) -> Self {
        Self { loss, ..self }
    }

    /// Sets the weight of the penalties.
    #[must_use]
    pub(crate) fn with_lambda_graph(self, lambda_graph: f64) -> Self {
        Self { lambda_graph, ..self }
    }

    /// Pulls heads towards networks with these names, one each: the heads of `first_layer` first, then those of the layers after it. A network without an edge has
    /// no head.
    ///
    /// # Panics
    ///
    /// If there are more networks than heads: callers check.
    #[must_use]
    pub(crate) fn with_penalties(mut self, graphs: &[(&str, Graph)], first_layer: usize) -> Self {
        let heads = self.sizes.heads;
        let penalties = graphs.iter().enumerate().filter_map(|(at, (name, graph))| {
            let penalty = GraphPenalty::new(graph, at % heads)?;
            Some(HeadPenalty {
                part: format!("network.{name}").into(),
                layer: first_layer + at / heads,
                penalty,
            })
        });
        self.penalties = penalties.collect();
        assert!(
            self.penalties.iter().all(|penalty| penalty.layer < self.encoder.len()),
            "a head per network"
        );
        self
    }

    /// Scores the sets.
    pub fn forward<'a>(
        &'a self,
        tape: &mut Tape<'a, T>,
        sets: GeneSetsRef<'a>,
        training: Option<LossPosition>,
    ) -> TransformerForward {
        let pass = training
            .filter(|_| self.dropout > 0.0)
            .map(|at| TransformerDropout::new(self.dropout, self.seed, at));
        let (tokens, attention) = self.encode(tape, pass);
        let width = self.sizes.width;
        let cls = slice(tape, tokens, 0..width);
        let states = slice(tape, tokens, width..(self.genes + 1) * width);
        let members = gather(tape, states, sets.genes(), width);
        let [members, pooled, scores] = self.read(tape, members, cls, sets, pass);
        TransformerForward { tokens, members, pooled, scores, attention }
    }

    /// Records the encoder, which no set changes.
    fn encode<'a>(
        &'a self,
        tape: &mut Tape<'a, T>,
        pass: Option<TransformerDropout>,
    ) -> (Var, Vec<AttentionVars>) {
        let (table, cls, width) = (self.rows.forward(tape), self.cls, self.sizes.width);
        let mut tokens = tape.op(
            "tokens",
            [self.genes + 1, width],
            |values, out| {
                let (first, genes) = out.split_at_mut(width);
                first.copy_from_slice(values.of(cls));
                genes.copy_from_slice(values.of(table));
            },
            move |step, (), gradients| {
                let (first, genes) = step.gradient.split_at(width);
                gradients.add(cls, |sum| add_to(sum, first));
                gradients.add(table, |sum| add_to(sum, genes));
            },
        );
        let keys = pass.map(|pass| (pass, TransformerDropout::tokens(self.genes + 1)));
        let mut attention = Vec::new();
        for (layer, block) in self.encoder.iter().enumerate() {
            let dropout = keys.as_ref().map(|(pass, keys)| pass.at(TransformerSite::Encoder(layer), keys));
            let vars;
            (tokens, vars) = block.encode(tape, tokens, dropout.as_ref());
            attention.push(vars);
        }
        (tokens, attention)
    }

    /// Records the operations that depend on the sets: the transformed states of their members, the readout's input and the scores.
    fn read<'a>(
        &self,
        tape: &mut Tape<'a, T>,
        members: Var,
        cls: Var,
        sets: GeneSetsRef<'a>,
        pass: Option<TransformerDropout>,
    ) -> [Var; 3] {
        let width = self.sizes.width;
        let dropout =
            pass.map(|pass| pass.at(TransformerSite::Transform, &TransformerDropout::members(sets)));
        let members = self.transform.transform(tape, members, sets, dropout.as_ref());
        let pooled = tape.op(
            "readout.pool",
            [sets.len(), 2 * width],
            |values, out| {
                let (cls, rows) = (values.of(cls), values.of(members));
                for (set, out) in sets.ranges().zip(out.chunks_exact_mut(2 * width)) {
                    let (first, mean) = out.split_at_mut(width);
                    first.copy_from_slice(cls);
                    mean.fill(T::ZERO);
                    let factor = T::of(1.0 / set.len().max(1) as f64);
                    for member in set {
                        add_scaled(mean, factor, &rows[member * width..][..width]);
                    }
                }
            },
            move |step, (), gradients| {
                let rows = || sets.ranges().zip(step.gradient.chunks_exact(2 * width));
                gradients.add(cls, |sum| rows().for_each(|(_, row)| add_to(sum, &row[..width])));
                gradients.add(members, |sum| {
                    for (set, row) in rows() {
                        let factor = T::of(1.0 / set.len().max(1) as f64);
                        for member in set {
                            add_scaled(&mut sum[member * width..][..width], factor, &row[width..]);
                        }
                    }
                });
            },
        );
        let dropout = pass.map(|pass| pass.at(TransformerSite::Readout, &TransformerDropout::sets(sets)));
        [members, pooled, self.readout.forward(tape, "readout", pooled, dropout.as_ref())]
    }

    /// Records the mean over networks of the penalties; `None` without any.
    fn penalty<'a>(&'a self, tape: &mut Tape<'a, T>, attention: &[AttentionVars]) -> Option<Var> {
        let TransformerSizes { width, heads, .. } = self.sizes;
        let weight = 1.0 / self.penalties.len() as f64;
        let parts: Vec<(Var, f64)> = self
            .penalties
            .iter()
            .map(|of| {
                let vars = attention[of.layer];
                let penalty = tape.inside(&of.part, |tape| of.penalty.forward(tape, vars, width, heads));
                (penalty, weight)
            })
            .collect();
        (!parts.is_empty()).then(|| crate::layer::weighted_sum(tape, &parts))
    }
}

/// Name of the penalty in the log.
const PENALTY: &str = "graph_reg_loss";

/// The attention of every encoder layer, as [`Model::forward`] hands it on.
fn attention_of(forward: &Forward) -> Vec<AttentionVars> {
    let (attention, _) = forward.hidden.as_chunks::<3>();
    attention.iter().map(|&[query, key, attended]| AttentionVars { query, key, attended }).collect()
}

impl<T: Scalar> Model<T> for Transformer<T> {
    fn name(&self) -> &'static str {
        TransformerOptions::NAME
    }

    fn parameters(&self) -> &Parameters<T> {
        &self.parameters
    }

    fn parameters_mut(&mut self) -> &mut Parameters<T> {
        &mut self.parameters
    }

    fn forward<'a>(&'a self, tape: &mut Tape<'a, T>, input: Input<'a, '_>) -> Forward {
        self.forward(tape, input.sets, input.training).outputs()
    }

    fn score_loss(&self) -> &ScoreLoss<T> {
        &self.loss
    }

    fn loss<'a>(
        &'a self,
        tape: &mut Tape<'a, T>,
        forward: &Forward,
        targets: &'a [T],
        at: LossPosition,
    ) -> RecordedLoss {
        let (weight, attention) = (self.lambda_graph, attention_of(forward));
        // Without the attention only the terms that samples enter are recorded.
        let has_penalty = weight != 0.0 && !attention.is_empty();
        let value = if has_penalty { self.penalty(tape, &attention) } else { None };
        let penalty = (weight != 0.0).then_some(Penalty { name: PENALTY, value, weight });
        self.loss.record(tape, forward.rows(), targets, at, penalty)
    }

    fn loss_without_samples<'a>(
        &'a self,
        tape: &mut Tape<'a, T>,
        forward: &Forward,
        _at: LossPosition,
    ) -> Option<RecordedLoss> {
        let weight = self.lambda_graph;
        let penalty = if weight == 0.0 { None } else { self.penalty(tape, &attention_of(forward)) }?;
        let value = tape.scalar(penalty).to_f64();
        let total = crate::layer::weighted_sum(tape, &[(penalty, weight)]);
        Some(RecordedLoss { total, parts: vec![(PENALTY.to_owned(), value)] })
    }

    fn fixed(&self) -> Option<Box<dyn FixedScorer + '_>> {
        Some(Box::new(fixed::FixedTransformer::new(self)))
    }
}

#[cfg(test)]
mod tests;
