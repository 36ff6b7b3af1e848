//! Initial values of the hetero model's parameters: those of the reference, or scaled by the outputs of the layers.
//!
//! The reference scales weights by the number of outputs, and no layer subtracts the mean of its inputs. Sums over neighbours
//! amplify this mean until it dominates after three layers. Layers with one output are as large as layers with many. The scaled
//! start passes the wild type through the model once. Each linear layer is divided by the standard deviation of its outputs
//! over the genes and shifted by their mean, so that genes differ as much after the last layer as before the first. Scores are
//! not used.

use super::aggregate::Aggregate;
use super::fanout::Edges;
use super::metabolism::{Metabolic, MetabolicGraph, TABLE_DEVIATION};
use super::norm::statistics;
use super::{AggregationWeights, Hetero, HeteroLayer, NormKind, Route};
use crate::Input;
use crate::layer::{Linear, Mlp, SetScorer};
use knockout_base::random::Rng;
use knockout_data::batch::Graphs;
use knockout_data::cell::GeneSets;
use knockout_engine::grad::{Parameters, Tape, Var};
use knockout_engine::kernel::{Activation, Graph, Layout, LinearTerm, Scalar, StoreMode};
use serde::{Deserialize, Serialize};

/// Where parameters start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartKind {
    /// The reference's: weights scaled by the number of outputs, biases of 0, gene rows with a standard deviation of 0.02.
    #[default]
    Reference,
    /// Each layer is scaled and shifted by its outputs for the wild type.
    Scaled,
}

/// Standard deviation of the tables of genes, reactions and metabolites; a step of the optimiser is small relative to it.
const GENE_DEVIATION: f64 = 0.1;
/// Size of single outputs (scores, gates) relative to their inputs: the first predictions are near 0, the first weights near equal.
const OUTPUT_SIZE: f64 = 0.1;
/// Initial factor of the attention among deleted genes; with the reference's 0.01 the attention is negligible for many steps.
const ATTENTION: f64 = 0.5;
/// Random deletions that the size of differences between cells is measured on.
const DELETIONS: usize = 8;

/// Scales the parameters of a new model.
pub(super) fn scale<T: Scalar>(model: &mut Hetero<T>, seed: u64) {
    let (width, norm, activation) = (model.options.width, model.options.norm, model.options.activation);
    for weights in model.rows.weights() {
        multiply(model.parameters.of_mut(weights), GENE_DEVIATION / super::REFERENCE_GENE_DEVIATION);
    }
    // All layers read the same tables.
    if let Some(metabolic) = model.layers.first().and_then(|layer| layer.metabolism.as_ref()) {
        for rows in metabolic.tables() {
            multiply(model.parameters.of_mut(rows), GENE_DEVIATION / TABLE_DEVIATION);
        }
    }
    let mut x = gene_rows(model);
    let mut start = StartScaler { parameters: &mut model.parameters, norm, activation };
    for mlp in &model.pre {
        x = start.block(mlp, x);
    }
    for at in 0..model.layers.len() {
        let mut start = StartScaler { parameters: &mut model.parameters, norm, activation };
        let layer = &model.layers[at];
        let both = layer.networks.iter().zip(&model.networks);
        let mut g: Vec<Vec<T>> = both
            .map(|(gin, network)| start.block(gin.mlp(), with_neighbours(&x, network.graphs(), width)))
            .collect();
        let metabolism = layer.metabolism.iter().zip(&model.metabolism);
        g.extend(metabolism.map(|(metabolic, graph)| start.metabolism(metabolic, graph, &x)));
        start.aggregate(layer, &g, width);
        x = aggregated(model, at, &g);
    }
    let start = &mut StartScaler { parameters: &mut model.parameters, norm, activation };
    let (gate, value) = model.pool.linears();
    start.standardise(gate[0], &x);
    start.output(gate[1]);
    start.standardise(value, &x);
    if let Some(scorer) = model.readout.local() {
        start.scorer(scorer, &x);
    }
    let [hidden, out] = model.readout.global();
    start.output(out);
    // The routes give the same numbers, and this one needs neither masks nor graphs of the deletions.
    let route = std::mem::replace(&mut model.options.route, Route::ChangedRows);
    let size = difference_size(model, seed);
    model.options.route = route;
    let factor = if size > 0.0 { 1.0 / (size * (hidden.inputs as f64).sqrt()) } else { 1.0 };
    let drawn = (2.0 / hidden.outputs as f64).sqrt();
    multiply(model.parameters.of_mut(hidden.weight), factor / drawn);
}

/// Scales layers in the order in which rows go through them.
struct StartScaler<'a, T: Scalar> {
    parameters: &'a mut Parameters<T>,
    norm: NormKind,
    activation: Activation,
}

impl<T: Scalar> StartScaler<'_, T> {
    /// Divides a layer by the deviation of its outputs over `rows` and shifts it by their mean; returns the outputs.
    fn standardise(&mut self, linear: Linear, rows: &[T]) -> Vec<T> {
        let (inputs, outputs) = (linear.inputs, linear.outputs);
        let count = rows.len() / inputs;
        if count == 0 {
            return Vec::new();
        }
        let mut out = vec![T::ZERO; count * outputs];
        let term = LinearTerm {
            rows,
            depth: inputs,
            weight: self.parameters.of_mut(linear.weight),
            layout: Layout::OutIn,
        };
        T::linear(&[term], None, Activation::None, StoreMode::Set, &mut out, outputs);
        let moments: Vec<(f64, f64)> = (0..outputs)
            .map(|channel| {
                let values = || out.iter().skip(channel).step_by(outputs).map(|value| value.to_f64());
                let mean = values().sum::<f64>() / count as f64;
                let variance =
                    values().map(|value| (value - mean) * (value - mean)).sum::<f64>() / count as f64;
                // Equal rows have no spread to divide by.
                (mean, if variance > 0.0 { 1.0 / variance.sqrt() } else { 1.0 })
            })
            .collect();
        for row in out.chunks_exact_mut(outputs) {
            for (value, (mean, factor)) in row.iter_mut().zip(&moments) {
                *value = T::of((value.to_f64() - mean) * factor);
            }
        }
        let weight = self.parameters.of_mut(linear.weight);
        for (row, (_, factor)) in weight.chunks_exact_mut(inputs).zip(&moments) {
            multiply(row, *factor);
        }
        let bias = self.parameters.of_mut(linear.bias);
        bias.iter_mut().zip(&moments).for_each(|(bias, (mean, factor))| *bias = T::of(-mean * factor));
        out
    }

    /// Scales the layers of a block in order; returns its outputs for the rows.
    fn block(&mut self, mlp: &Mlp, mut rows: Vec<T>) -> Vec<T> {
        for (at, &linear) in mlp.linears.iter().enumerate() {
            rows = self.standardise(linear, &rows);
            if at + 1 == mlp.linears.len() && self.norm == NormKind::Node {
                for row in rows.chunks_exact_mut(linear.outputs) {
                    let (mean, factor) = statistics(row);
                    for value in row {
                        *value = (*value - mean) * factor;
                    }
                }
            }
            for value in &mut rows {
                *value = self.activation.apply(*value);
            }
        }
        rows
    }

    /// Scales the layers of reactions and metabolites and the block of the genes; returns the outputs of the block.
    fn metabolism(&mut self, metabolic: &Metabolic, graph: &MetabolicGraph, x: &[T]) -> Vec<T> {
        // Each layer receives the outputs of the scaled layers before it.
        for (at, linear) in metabolic.linears().into_iter().enumerate() {
            let given = metabolic.given_in_wild_type(self.parameters, graph, x);
            self.standardise(linear, &given[at]);
        }
        let [.., sums] = metabolic.given_in_wild_type(self.parameters, graph, x);
        self.block(metabolic.gin().mlp(), sums)
    }

    /// A layer of one output, or one that weights come from.
    fn output(&mut self, linear: Linear) {
        let drawn = (2.0 / linear.outputs as f64).sqrt();
        let factor = OUTPUT_SIZE / (linear.inputs as f64).sqrt() / drawn;
        multiply(self.parameters.of_mut(linear.weight), factor);
    }

    /// Scales the aggregation of the networks' rows `g`.
    fn aggregate(&mut self, layer: &HeteroLayer, g: &[Vec<T>], width: usize) {
        match &layer.aggregate {
            Aggregate::Sum { .. } => {}
            Aggregate::Cross { linears: [query, key, value, output], .. } => {
                let rows = g.concat();
                for linear in [query, key, value, output] {
                    self.standardise(*linear, &rows);
                }
            }
            Aggregate::Pairs { pairs, score, .. } => {
                let indices = (0..g.len()).flat_map(|i| (i..g.len()).map(move |j| (i, j)));
                for (linears, (i, j)) in pairs.iter().zip(indices) {
                    let both = g[i].chunks_exact(width).zip(g[j].chunks_exact(width));
                    let mut rows: Vec<T> = both.flat_map(|(i, j)| [i, j].concat()).collect();
                    for &linear in linears {
                        rows = self.standardise(linear, &rows);
                        for value in &mut rows {
                            *value = self.activation.apply(*value);
                        }
                    }
                }
                self.output(score[1]);
            }
        }
    }

    /// Scales the scorer of the deleted genes, given the wild type's rows.
    fn scorer(&mut self, scorer: &SetScorer, x: &[T]) {
        self.standardise(scorer.fixed, x);
        for layer in &scorer.layers {
            for linear in layer.projections.inputs() {
                self.standardise(linear, x);
            }
            self.parameters.of_mut(layer.rezero)[0] = T::of(ATTENTION);
        }
        self.output(scorer.score);
    }
}

/// Returns the input of the first layer: the gene table, or the projected content features.
fn gene_rows<T: Scalar>(model: &Hetero<T>) -> Vec<T> {
    let mut tape = Tape::new(&model.parameters);
    let rows = model.rows.forward(&mut tape);
    tape.value(rows).to_vec()
}

/// `x_i` and its neighbours' rows, summed, for each channel side by side.
fn with_neighbours<T: Scalar>(x: &[T], channels: &[Graph], width: usize) -> Vec<T> {
    let mut sums = Vec::with_capacity(x.len() * channels.len());
    for (row, own) in x.chunks_exact(width).enumerate() {
        for graph in channels {
            let first = sums.len();
            sums.extend_from_slice(own);
            for (_, column) in graph.incoming.entries(row) {
                crate::layer::add_to(&mut sums[first..], &x[column * width..(column + 1) * width]);
            }
        }
    }
    sums
}

/// Returns the wild type's rows after a layer, given those of its networks.
fn aggregated<T: Scalar>(model: &Hetero<T>, at: usize, g: &[Vec<T>]) -> Vec<T> {
    let none = GeneSets::default();
    let plan = model.plan(&Edges::of(&model.networks, None), none.view(), model.route());
    let mut tape = Tape::new(&model.parameters);
    let mut given = |rows: &Vec<T>| -> Var {
        tape.op("given", rows.len(), |_, out| out.copy_from_slice(rows), |_, (), _| ())
    };
    let g: Vec<Var> = g.iter().map(&mut given).collect();
    let aggregate = &model.layers[at].aggregate;
    let combined = aggregate.forward(
        &mut tape,
        &g,
        &plan.layers[at],
        model.options.width,
        AggregationWeights::Discard,
        None,
    );
    tape.value(combined.rows).to_vec()
}

/// Returns the root mean square of the differences between the wild type and cells without two genes.
fn difference_size<T: Scalar>(model: &Hetero<T>, seed: u64) -> f64 {
    if model.genes < 2 {
        return 0.0;
    }
    let mut rng = Rng::new(seed, "differences");
    let mut sets = GeneSets::default();
    for _ in 0..DELETIONS {
        let first = rng.below(model.genes);
        let second = (first + 1 + rng.below(model.genes - 1)) % model.genes;
        sets.push(&[first.min(second) as u32, first.max(second) as u32]);
    }
    let mut tape = Tape::new(&model.parameters);
    let forward =
        model.forward(&mut tape, Input::evaluated(sets.view(), &Graphs::None), AggregationWeights::Discard);
    let values = tape.value(forward.readout.difference);
    (values.iter().map(|value| value.to_f64().powi(2)).sum::<f64>() / values.len() as f64).sqrt()
}

fn multiply<T: Scalar>(values: &mut [T], factor: f64) {
    for value in values {
        *value = T::of(value.to_f64() * factor);
    }
}
