//! A small network that knows genes by their identity alone.
//!
//! ```text
//! s = Σ over the deleted genes of E[gene]       E [genes, width]; a gene without training records adds nothing
//! h = relu(W s + b)                             W [hidden, width]
//! y = v · h + c                                 on standardised scores
//! ```
//!
//! Mean squared error, Adam with decoupled weight decay, early stopping on the validation Pearson. What this network
//! learns, identity gives: a graph network must beat it to have used its graph. Gradients are summed over fixed blocks
//! of records in a fixed order, so the result does not depend on the number of threads.

use knockout_base::random::Rng;
use knockout_base::stats::pearson;
use knockout_data::screen::{LabelStats, Samples};
use rayon::prelude::*;

const WIDTH: usize = 64;
const HIDDEN: usize = 64;
/// Records whose gradients are summed before they meet those of others.
const BLOCK: usize = 64;

/// How the network is trained.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MlpConfig {
    /// Most records in a step, at least 32; a small screen takes fewer, so that a pass has some 64 steps.
    pub batch: usize,
    /// Learning rate.
    pub rate: f32,
    /// Decoupled weight decay, in units of the learning rate.
    pub decay: f32,
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

/// One pass over the training records is done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Epoch {
    /// Which, from 1.
    pub epoch: usize,
    /// Validation Pearson after it.
    pub validation_pearson: Option<f64>,
}

/// A trained network.
#[derive(Debug, Clone, PartialEq)]
pub struct Mlp {
    /// Row of each gene in the embedding.
    slots: Vec<Option<u32>>,
    labels: LabelStats,
    weights: Weights,
    /// The pass after which these weights were kept, from 1.
    pub best_epoch: usize,
}

/// All weights in one vector, so that the optimiser sees one: E, W, b, v, c.
#[derive(Debug, Clone, PartialEq)]
struct Weights {
    values: Vec<f32>,
    embedding: usize,
}

const DENSE: usize = HIDDEN * WIDTH + 2 * HIDDEN + 1;

/// What the dense layers give back for a block of records.
struct BlockGradient {
    dense: Vec<f32>,
    /// Of s, record by record.
    sums: Vec<f32>,
}

impl Mlp {
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
        let mut model = Self::new(samples, gene_count, train, labels, seed);
        let mut adam = Adam::new(model.weights.values.len());
        let measured: Vec<f64> = val.iter().map(|&row| samples.scores()[row as usize]).collect();
        let mut best: Option<(Option<f64>, Self)> = None;
        let mut order = train.to_vec();
        let batch_size = (train.len() / 64).clamp(32, config.batch.max(32));
        for epoch in 1..=config.epochs {
            Rng::new(seed, &format!("gene-mlp order {epoch}")).shuffle(&mut order);
            for batch in order.chunks(batch_size) {
                let gradient = model.gradient(samples, batch);
                adam.step(&mut model.weights.values, &gradient, config);
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

    fn new(samples: &Samples, gene_count: usize, train: &[u32], labels: LabelStats, seed: u64) -> Self {
        let mut slots = vec![None; gene_count];
        for &row in train {
            samples.genes(row as usize).iter().for_each(|&gene| slots[gene as usize] = Some(0));
        }
        for (place, slot) in slots.iter_mut().filter(|slot| slot.is_some()).enumerate() {
            *slot = Some(place as u32);
        }
        let embedding = slots.iter().flatten().count() * WIDTH;
        let mut rng = Rng::new(seed, "gene-mlp weights");
        let mut normal = |sd: f64| (sd * rng.normal()) as f32;
        let mut values: Vec<f32> = (0..embedding).map(|_| normal(0.1)).collect();
        values.extend((0..HIDDEN * WIDTH).map(|_| normal((2.0 / WIDTH as f64).sqrt())));
        values.extend([0.0; HIDDEN]);
        values.extend((0..HIDDEN).map(|_| normal((1.0 / HIDDEN as f64).sqrt())));
        values.push(0.0);
        Self { slots, labels, weights: Weights { values, embedding }, best_epoch: 0 }
    }

    /// Scores of some rows.
    pub fn predict(&self, samples: &Samples, rows: &[u32]) -> Vec<f64> {
        let transposed = self.weights.transposed();
        let blocks: Vec<Vec<f64>> = rows
            .par_chunks(BLOCK)
            .map(|rows| {
                let score = |&row: &u32| {
                    let hidden = self.weights.hidden(&transposed, &self.sum(samples, row));
                    self.labels.restore(f64::from(self.weights.output(&hidden)))
                };
                rows.iter().map(score).collect()
            })
            .collect();
        blocks.concat()
    }

    fn slots_of(&self, samples: &Samples, row: u32) -> impl Iterator<Item = usize> {
        samples.genes(row as usize).iter().filter_map(|&gene| self.slots[gene as usize]).map(|s| s as usize)
    }

    fn sum(&self, samples: &Samples, row: u32) -> [f32; WIDTH] {
        let mut sum = [0.0; WIDTH];
        for slot in self.slots_of(samples, row) {
            let row = &self.weights.values[slot * WIDTH..(slot + 1) * WIDTH];
            sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
        sum
    }

    /// The gradient of the mean squared error over a batch, in the order of the weights.
    fn gradient(&self, samples: &Samples, batch: &[u32]) -> Vec<f32> {
        let transposed = self.weights.transposed();
        let scale = 2.0 / batch.len() as f32;
        let blocks: Vec<BlockGradient> = batch
            .par_chunks(BLOCK)
            .map(|rows| self.block_gradient(samples, rows, &transposed, scale))
            .collect();
        let mut gradient = vec![0.0; self.weights.values.len()];
        let (embedding, dense) = gradient.split_at_mut(self.weights.embedding);
        for (rows, block) in batch.chunks(BLOCK).zip(&blocks) {
            dense.iter_mut().zip(&block.dense).for_each(|(sum, part)| *sum += part);
            for (&row, of_sum) in rows.iter().zip(block.sums.as_chunks::<WIDTH>().0) {
                for slot in self.slots_of(samples, row) {
                    let target = &mut embedding[slot * WIDTH..(slot + 1) * WIDTH];
                    target.iter_mut().zip(of_sum).for_each(|(sum, part)| *sum += part);
                }
            }
        }
        gradient
    }

    fn block_gradient(
        &self,
        samples: &Samples,
        rows: &[u32],
        transposed: &[[f32; HIDDEN]],
        scale: f32,
    ) -> BlockGradient {
        let [matrix, _, out, _] = self.weights.dense();
        let mut dense = vec![0.0; DENSE];
        let mut sums = vec![0.0; rows.len() * WIDTH];
        let (of_matrix, rest) = dense.split_at_mut(HIDDEN * WIDTH);
        let (of_bias, rest) = rest.split_at_mut(HIDDEN);
        let (of_out, of_constant) = rest.split_at_mut(HIDDEN);
        for (&row, of_sum) in rows.iter().zip(sums.as_chunks_mut::<WIDTH>().0) {
            let sum = self.sum(samples, row);
            let hidden = self.weights.hidden(transposed, &sum);
            let target = self.labels.standardise(samples.scores()[row as usize]) as f32;
            let error = scale * (self.weights.output(&hidden) - target);
            of_constant[0] += error;
            for unit in (0..HIDDEN).filter(|&unit| hidden[unit] > 0.0) {
                of_out[unit] += error * hidden[unit];
                let through = error * out[unit];
                of_bias[unit] += through;
                let range = unit * WIDTH..(unit + 1) * WIDTH;
                of_matrix[range.clone()].iter_mut().zip(&sum).for_each(|(g, s)| *g += through * s);
                of_sum.iter_mut().zip(&matrix[range]).for_each(|(g, w)| *g += through * w);
            }
        }
        BlockGradient { dense, sums }
    }
}

impl Weights {
    /// W, b, v and c.
    fn dense(&self) -> [&[f32]; 4] {
        let (matrix, rest) = self.values[self.embedding..].split_at(HIDDEN * WIDTH);
        let (bias, rest) = rest.split_at(HIDDEN);
        let (out, constant) = rest.split_at(HIDDEN);
        [matrix, bias, out, constant]
    }

    /// W by column, so that the product runs along memory.
    fn transposed(&self) -> Vec<[f32; HIDDEN]> {
        let [matrix, ..] = self.dense();
        (0..WIDTH).map(|column| std::array::from_fn(|unit| matrix[unit * WIDTH + column])).collect()
    }

    fn hidden(&self, transposed: &[[f32; HIDDEN]], sum: &[f32; WIDTH]) -> [f32; HIDDEN] {
        let [_, bias, ..] = self.dense();
        let mut hidden: [f32; HIDDEN] = std::array::from_fn(|unit| bias[unit]);
        for (value, column) in sum.iter().zip(transposed) {
            hidden.iter_mut().zip(column).for_each(|(h, w)| *h += value * w);
        }
        hidden.map(|h| h.max(0.0))
    }

    fn output(&self, hidden: &[f32; HIDDEN]) -> f32 {
        let [_, _, out, constant] = self.dense();
        constant[0] + hidden.iter().zip(out).map(|(h, v)| h * v).sum::<f32>()
    }
}

/// Adam with decoupled weight decay.
struct Adam {
    first: Vec<f32>,
    second: Vec<f32>,
    steps: i32,
}

impl Adam {
    fn new(size: usize) -> Self {
        Self { first: vec![0.0; size], second: vec![0.0; size], steps: 0 }
    }

    fn step(&mut self, weights: &mut [f32], gradient: &[f32], config: MlpConfig) {
        const BETA: [f32; 2] = [0.9, 0.999];
        self.steps += 1;
        let correct = BETA.map(|beta| 1.0 / (1.0 - beta.powi(self.steps)));
        let keep = 1.0 - config.rate * config.decay;
        // Elementwise: chunks are for threads only and do not touch the result.
        let chunk = 1 << 14;
        let moments = self.first.par_chunks_mut(chunk).zip(self.second.par_chunks_mut(chunk));
        let all = weights.par_chunks_mut(chunk).zip(gradient.par_chunks(chunk)).zip(moments);
        all.for_each(|((weights, gradient), (first, second))| {
            for (((w, &g), m), v) in weights.iter_mut().zip(gradient).zip(first).zip(second) {
                *m = BETA[0] * *m + (1.0 - BETA[0]) * g;
                *v = BETA[1] * *v + (1.0 - BETA[1]) * g * g;
                *w = *w * keep - config.rate * (*m * correct[0]) / ((*v * correct[1]).sqrt() + 1e-8);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_data::screen::{Sample, SamplesBuilder};

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

    fn loss(model: &Mlp, samples: &Samples, rows: &[u32]) -> f64 {
        let error = |(&row, p): (&u32, f64)| {
            model.labels.standardise(p) - model.labels.standardise(samples.scores()[row as usize])
        };
        let squares = rows.iter().zip(model.predict(samples, rows)).map(error).map(|error| error * error);
        squares.sum::<f64>() / rows.len() as f64
    }

    #[test]
    fn the_gradient_agrees_with_differences() {
        let samples = screen();
        let rows: Vec<u32> = (0..150).collect();
        let labels = samples.label_stats(&rows).unwrap();
        let mut model = Mlp::new(&samples, 8, &rows, labels, 7);
        // Hidden units far from the kink of relu, where differences would straddle it.
        model.weights.values[..7 * WIDTH].iter_mut().for_each(|weight| *weight *= 10.0);
        let gradient = model.gradient(&samples, &rows);
        let largest = gradient.iter().fold(0.0_f32, |most, g| most.max(g.abs()));
        // Gene 7 never occurs: seven rows of the embedding, and something of every layer.
        assert_eq!(model.weights.embedding, 7 * WIDTH);
        let dense = model.weights.embedding;
        let places = (0..dense)
            .step_by(37)
            .chain((dense..gradient.len()).step_by(53))
            .chain(gradient.len() - 3..gradient.len());
        for place in places {
            let at = |step: f32| {
                let mut moved = model.clone();
                moved.weights.values[place] += step;
                loss(&moved, &samples, &rows)
            };
            let expected = (at(1e-3) - at(-1e-3)) / 2e-3;
            let error = (f64::from(gradient[place]) - expected).abs() / f64::from(largest);
            assert!(error < 5e-3, "weight {place}: {} against {expected}", gradient[place]);
        }
    }

    #[test]
    fn a_gene_without_training_records_adds_nothing() {
        let samples = screen();
        let even: Vec<u32> = (0..150).step_by(2).collect();
        let labels = samples.label_stats(&even).unwrap();
        // Even rows delete genes 0, 2 and 4 alone; row 1 deletes 1 and 6, row 3 deletes 3 and 6.
        let model = Mlp::new(&samples, 8, &even, labels, 7);
        let predictions = model.predict(&samples, &[1, 3]);
        assert_eq!(predictions[0], predictions[1]);
    }
}
