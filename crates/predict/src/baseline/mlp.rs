//! A small network over gene identities.
//!
//! ```text
//! s = Σ over the deleted genes of E[gene]       E [genes, width]; the row of a gene without training records is 0
//! h = relu(W s + b)                             W [hidden, width]
//! y = v · h + c                                 on standardised scores
//! ```
//!
//! Mean squared error, `AdamW`, early stopping on the validation Pearson. A graph network must beat it to have used its graph.
//! The result does not depend on the number of threads.

use knockout_base::random::Rng;
use knockout_base::stats::pearson;
use knockout_data::cell::{GeneSets, GeneSetsRef};
use knockout_data::screen::{LabelStats, Samples};
use knockout_engine::grad::{AdamW, AdamWConfig, Gradients, Parameters, Tape, Var};
use knockout_engine::kernel::{Activation, Pool, Scalar};
use knockout_models::Init;
use knockout_models::layer::{Linear, set_sums};
use knockout_models::loss::mean_squared_error;

const WIDTH: usize = 64;
const HIDDEN: usize = 64;
/// Records predicted at once.
const PREDICT_BATCH: usize = 4096;

/// How the network is trained.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MlpConfig {
    /// Most records in a step, at least 32; a small screen takes fewer, so that a pass has some 64 steps.
    pub batch: usize,
    /// Learning rate.
    pub rate: f64,
    /// Decoupled weight decay, in units of the learning rate.
    pub decay: f64,
    /// Most passes over the training records.
    pub epochs: usize,
    /// Passes without a better validation Pearson after which it stops.
    pub patience: usize,
}

impl Default for MlpConfig {
    fn default() -> Self {
        Self { batch: 1024, rate: 1e-3, decay: 0.01, epochs: 60, patience: 5 }
    }
}

/// The end of a pass over the training records.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Epoch {
    /// Number of the pass, from 1.
    pub epoch: usize,
    /// Validation Pearson after it.
    pub validation_pearson: Option<f64>,
}

/// A trained network.
#[derive(Debug, Clone)]
pub struct GeneMlp {
    network: GeneMlpNetwork<f32>,
    labels: LabelStats,
    /// The pass after which these weights were kept, from 1.
    pub best_epoch: usize,
}

/// The layers, in any precision.
#[derive(Debug, Clone)]
struct GeneMlpNetwork<T: Scalar> {
    parameters: Parameters<T>,
    embedding: Var,
    hidden: Linear,
    score: Linear,
}

impl<T: Scalar> GeneMlpNetwork<T> {
    /// Draws the weights; genes that `is_known` refuses have a row of zeros, which no training record changes.
    fn new(gene_count: usize, is_known: impl Fn(usize) -> bool, seed: u64) -> Self {
        let (mut parameters, mut init) = (Parameters::new(&Pool::new()), Init::new(seed));
        let mut values = (0..gene_count * WIDTH).map(|at| f64::from(is_known(at / WIDTH)) * init.normal(0.1));
        let embedding = parameters.add("embedding", &[gene_count, WIDTH], || values.next().unwrap_or(0.0));
        let hidden = Linear::new(&mut parameters, "hidden", WIDTH, HIDDEN, &mut init);
        let score = Linear::new(&mut parameters, "score", HIDDEN, 1, &mut init);
        // Half of Xavier's deviation: 1 / √hidden, so that the first scores have the size of the hidden units.
        parameters.of_mut(score.weight).iter_mut().for_each(|weight| *weight *= T::of(0.5));
        Self { parameters, embedding, hidden, score }
    }

    /// Records one standardised score per set.
    fn forward<'a>(&'a self, tape: &mut Tape<'a, T>, sets: GeneSetsRef<'a>) -> Var {
        let sums = set_sums(tape, self.embedding, sets, WIDTH);
        let hidden = self.hidden.forward(tape, "hidden", sums, Activation::Relu);
        self.score.forward(tape, "score", hidden, Activation::None)
    }
}

fn sets_of(samples: &Samples, rows: &[u32]) -> GeneSets {
    let mut sets = GeneSets::default();
    for &row in rows {
        sets.push_sorted(samples.genes(row as usize));
    }
    sets
}

impl GeneMlp {
    /// Trains on some rows and keeps the weights of the pass with the best validation Pearson; `None` without
    /// training records.
    pub fn fit(
        samples: &Samples,
        gene_count: usize,
        [train, val]: [&[u32]; 2],
        config: MlpConfig,
        seed: u64,
        on_epoch: &dyn Fn(Epoch),
    ) -> Option<Self> {
        let labels = samples.label_stats(train)?;
        let mut known = vec![false; gene_count];
        for &row in train {
            samples.genes(row as usize).iter().for_each(|&gene| known[gene as usize] = true);
        }
        let network = GeneMlpNetwork::new(gene_count, |gene| known[gene], seed);
        let decay = AdamWConfig { weight_decay: config.decay, ..AdamWConfig::default() };
        let mut optimiser = AdamW::new(decay, &network.parameters);
        let mut gradients = Gradients::zeros(&network.parameters);
        let mut model = Self { network, labels, best_epoch: 0 };
        let measured: Vec<f64> = val.iter().map(|&row| samples.scores()[row as usize]).collect();
        let mut best: Option<(Option<f64>, Self)> = None;
        let mut order = train.to_vec();
        let batch_size = (train.len() / 64).clamp(32, config.batch.max(32));
        for epoch in 1..=config.epochs {
            Rng::new(seed, &format!("gene-mlp order {epoch}")).shuffle(&mut order);
            for batch in order.chunks(batch_size) {
                let sets = sets_of(samples, batch);
                let targets =
                    batch.iter().map(|&row| labels.standardise(samples.scores()[row as usize]) as f32);
                let targets: Vec<f32> = targets.collect();
                let mut tape = Tape::new(&model.network.parameters);
                let scores = model.network.forward(&mut tape, sets.view());
                let loss = mean_squared_error(&mut tape, scores, &targets);
                gradients.clear();
                tape.backward(loss, &mut gradients);
                optimiser.update(&mut model.network.parameters, &gradients, config.rate, 1.0);
            }
            let r = pearson(&model.predict(samples, val), &measured);
            on_epoch(Epoch { epoch, validation_pearson: r });
            // `None` is less than any number.
            if best.as_ref().is_none_or(|(highest, _)| r > *highest) {
                best = Some((r, Self { best_epoch: epoch, ..model.clone() }));
            } else if best.as_ref().is_some_and(|(_, kept)| epoch >= kept.best_epoch + config.patience) {
                break;
            }
        }
        best.map(|(_, model)| model)
    }

    /// Returns the scores of some rows.
    pub fn predict(&self, samples: &Samples, rows: &[u32]) -> Vec<f64> {
        let mut scores = Vec::with_capacity(rows.len());
        for rows in rows.chunks(PREDICT_BATCH) {
            let sets = sets_of(samples, rows);
            let mut tape = Tape::new(&self.network.parameters);
            let predicted = self.network.forward(&mut tape, sets.view());
            scores.extend(tape.value(predicted).iter().map(|&score| self.labels.restore(f64::from(score))));
        }
        scores
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_data::screen::{Sample, SamplesBuilder};
    use knockout_engine::grad::{evaluate_loss, gradient_check};

    /// Records that delete one of genes 0 to 5, odd ones with gene 6; gene 7 never occurs.
    fn screen() -> Samples {
        let mut builder = SamplesBuilder::new(8);
        let mut rng = Rng::new(2, "screen");
        for row in 0..150_u32 {
            let genes = [row % 6, 6];
            let sample = Sample::deletion(&genes[..=row as usize % 2], rng.normal(), "test");
            builder.push(sample).unwrap();
        }
        builder.finish()
    }

    #[test]
    fn the_gradient_agrees_with_differences() {
        let samples = screen();
        let rows: Vec<u32> = (0..150).collect();
        let sets = sets_of(&samples, &rows);
        let network = GeneMlpNetwork::<f64>::new(8, |gene| gene != 7, 7);
        let mut parameters = network.parameters.clone();
        let worst = gradient_check(&mut parameters, 40, |parameters, gradients| {
            let network = GeneMlpNetwork { parameters: parameters.clone(), ..network.clone() };
            let mut tape = Tape::new(&network.parameters);
            let scores = network.forward(&mut tape, sets.view());
            let loss = mean_squared_error(&mut tape, scores, samples.scores());
            evaluate_loss(tape, loss, gradients)
        });
        assert!(worst.tolerances < 1.0, "{worst:?}");
    }

    #[test]
    fn a_gene_without_training_records_adds_nothing() {
        let samples = screen();
        let even: Vec<u32> = (0..150).step_by(2).collect();
        // Even rows delete genes 0, 2 and 4 alone; row 1 deletes 1 and 6, row 3 deletes 3 and 6.
        let config = MlpConfig { epochs: 2, ..MlpConfig::default() };
        let model = GeneMlp::fit(&samples, 8, [&even, &even], config, 7, &|_| ()).unwrap();
        let predictions = model.predict(&samples, &[0, 1, 3]);
        assert_eq!(predictions[1], predictions[2]);
        assert_ne!(predictions[0], predictions[1]);
    }
}
