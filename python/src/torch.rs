//! Parts of the program that `knockout.torch` uses: the start of a run, random choices, the parts of a cell, plans of batches, and the
//! program's own losses and gradients, which tests compare with.

use crate::dataset::Dataset;
use crate::error::Fault;
use crate::training::tensor;
use crate::{json, run, workers};
use knockout_base::random::Rng;
use knockout_data::batch::Graphs;
use knockout_data::cell::{Cell, GeneSets};
use knockout_engine::grad::{Gradients, Tape};
use knockout_engine::kernel::Scalar;
use knockout_models::loss::LOSSES;
use knockout_models::{Input, LossPosition, Model};
use knockout_train::config::Config;
use knockout_train::fit::Fit;
use knockout_train::run::Run;
use numpy::{Element, PyArray1, PyArray2, PyArrayMethods as _, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

fn first_fit(data: Arc<knockout_data::screen::Dataset>, model: &str, keys: &[String]) -> Result<Fit, Fault> {
    let config = Config::of(model, &data.cell, keys)?;
    config.check(&data.cell)?;
    if config.model.entry().is_solved {
        return Err(Fault::request(format!(
            "{model} is solved, not trained: knockout.torch has no such model"
        )));
    }
    Ok(Run::first_fit(config, data)?)
}

fn weights_of<'py>(py: Python<'py>, model: &dyn Model) -> PyResult<Bound<'py, PyDict>> {
    let weights = PyDict::new(py);
    for entry in model.parameters().iter() {
        weights.set_item(entry.name(), run::array_of(py, entry.shape(), entry.values())?)?;
    }
    Ok(weights)
}

/// Returns a run before its first step: `config`, `loss`, `weights`, `labels` (mean and standard deviation of the scores that it is trained on) and
/// `base`, the predictions for every sample that are taken off the scores, or `None`.
#[pyfunction]
pub(crate) fn first_state<'py>(
    py: Python<'py>,
    dataset: &Dataset,
    model: &str,
    keys: Vec<String>,
) -> PyResult<Bound<'py, PyDict>> {
    let data = dataset.get()?;
    let fit = workers::run(py, |_| first_fit(data, model, &keys))?;
    let state = PyDict::new(py);
    state.set_item("config", json::loads(py, &json::text(fit.config())?)?)?;
    state.set_item("loss", run::loss_of(py, fit.config())?)?;
    state.set_item("weights", weights_of(py, fit.model())?)?;
    state.set_item("labels", (fit.labels().mean, fit.labels().sd))?;
    state.set_item("base", fit.base().map(|base| PyArray1::from_slice(py, base)))?;
    Ok(state)
}

/// Returns the names of the losses that configurations can choose.
#[pyfunction]
pub(crate) fn loss_names() -> Vec<&'static str> {
    LOSSES.iter().map(|entry| entry.name).collect()
}

/// Returns 0 to `count` − 1 in the random order of a purpose.
#[pyfunction]
pub(crate) fn shuffled<'py>(
    py: Python<'py>,
    seed: u64,
    purpose: &str,
    count: usize,
) -> Bound<'py, PyArray1<i64>> {
    let mut numbers: Vec<i64> = (0..count as i64).collect();
    Rng::new(seed, purpose).shuffle(&mut numbers);
    PyArray1::from_vec(py, numbers)
}

/// Returns the standardised content features `[genes, columns]`, if the dataset has any.
#[pyfunction]
pub(crate) fn gene_features<'py>(
    py: Python<'py>,
    dataset: &Dataset,
) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
    let data = dataset.get()?;
    let Some(features) = data.cell.features() else { return Ok(None) };
    let shape = [features.gene_count(), features.names().len()];
    PyArray1::from_vec(py, features.standardised()).reshape(shape).map(Some)
}

/// Returns the metabolism, if the dataset has any: `sizes` (reactions, metabolites), `needs` (reactions and their genes) and `turns`
/// (reactions, metabolites and coefficients).
#[pyfunction]
pub(crate) fn metabolism<'py>(py: Python<'py>, dataset: &Dataset) -> PyResult<Option<Bound<'py, PyDict>>> {
    let data = dataset.get()?;
    let Some(metabolism) = data.cell.metabolism() else { return Ok(None) };
    let (needs, turns) = (metabolism.requirements().iter(), metabolism.coefficients().iter());
    let parts = PyDict::new(py);
    parts.set_item("sizes", (metabolism.reactions().len(), metabolism.metabolites().len()))?;
    parts.set_item(
        "needs",
        (
            PyArray1::from_iter(py, needs.clone().map(|entry| i64::from(entry.reaction))),
            PyArray1::from_iter(py, needs.map(|entry| i64::from(entry.gene))),
        ),
    )?;
    parts.set_item(
        "turns",
        (
            PyArray1::from_iter(py, turns.clone().map(|entry| i64::from(entry.reaction))),
            PyArray1::from_iter(py, turns.clone().map(|entry| i64::from(entry.metabolite))),
            PyArray1::from_iter(py, turns.map(|entry| entry.value)),
        ),
    )?;
    Ok(Some(parts))
}

/// Sample and gene of every row that a deletion changes, by sample, then gene.
type ChangedRows<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>);

/// Edges between two kinds of nodes: from each of the first to that of the second at the same index.
type EdgeLists<'py> = (PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i64>);

/// Returns the rows that differ from the wild type's, before the first of some layers of message passing and after each.
///
/// `sizes` are the numbers of genes, reactions and metabolites; `edges` go from gene to gene, `needs` from reactions to the genes that they
/// need, and `turns` from reactions to the metabolites that they turn over.
#[pyfunction]
pub(crate) fn changed_rows<'py>(
    py: Python<'py>,
    sizes: [usize; 3],
    edges: EdgeLists<'py>,
    needs: EdgeLists<'py>,
    turns: EdgeLists<'py>,
    layers: usize,
    genes: PyReadonlyArray1<'py, i64>,
    offsets: PyReadonlyArray1<'py, i64>,
) -> PyResult<Vec<ChangedRows<'py>>> {
    let sets = gene_sets(&genes, &offsets, sizes[0])?;
    let [genes, reactions, metabolites] = sizes;
    let lists = [(&edges, [genes, genes]), (&needs, [reactions, genes]), (&turns, [reactions, metabolites])];
    let mut passes = Vec::new();
    for ((from, to), [most_from, most_to]) in lists {
        let (from, to) = (from.as_slice()?, to.as_slice()?);
        let is_within = |ids: &[i64], most: usize| ids.iter().all(|&id| (id as u64) < most as u64);
        if from.len() != to.len() || !is_within(from, most_from) || !is_within(to, most_to) {
            return Err(Fault::request("an edge ends at a node that does not exist").into());
        }
        passes.push((from, to));
    }
    let [edges, needs, turns] = passes[..] else { return Err(Fault::failure("three lists of edges").into()) };
    let stages = py.detach(|| {
        let mut stages = vec![(Vec::new(), Vec::new()); layers + 1];
        for first in (0..sets.view().len()).step_by(u64::BITS as usize) {
            let last = sets.view().len().min(first + u64::BITS as usize);
            // A bit per sample.
            let mut changed = vec![0_u64; sizes[0]];
            for sample in first..last {
                let bit = 1 << (sample - first);
                sets.get(sample).iter().for_each(|&gene| changed[gene as usize] |= bit);
            }
            for (layer, (samples, genes)) in stages.iter_mut().enumerate() {
                if layer > 0 {
                    let mut after = changed.clone();
                    pass(&changed, &mut after, edges);
                    let (mut reactions, mut metabolites) = (vec![0; sizes[1]], vec![0; sizes[2]]);
                    pass(&changed, &mut reactions, (needs.1, needs.0));
                    pass(&reactions, &mut metabolites, turns);
                    pass(&metabolites, &mut reactions, (turns.1, turns.0));
                    pass(&reactions, &mut after, needs);
                    changed = after;
                }
                for sample in first..last {
                    let before = genes.len();
                    let own = (0_i64..).zip(&changed).filter(|(_, bits)| *bits >> (sample - first) & 1 == 1);
                    genes.extend(own.map(|(gene, _)| gene));
                    samples.resize(samples.len() + genes.len() - before, sample as i64);
                }
            }
        }
        stages
    });
    let array = |(samples, genes)| (PyArray1::from_vec(py, samples), PyArray1::from_vec(py, genes));
    Ok(stages.into_iter().map(array).collect())
}

/// Adds the bits of every edge's source to its target.
fn pass(before: &[u64], after: &mut [u64], (from, to): (&[i64], &[i64])) {
    from.iter().zip(to).for_each(|(&from, &to)| after[to as usize] |= before[from as usize]);
}

fn gene_sets(
    genes: &PyReadonlyArray1<'_, i64>,
    offsets: &PyReadonlyArray1<'_, i64>,
    count: usize,
) -> Result<GeneSets, Fault> {
    let whole = |values: &PyReadonlyArray1<'_, i64>| -> Option<Vec<u32>> {
        values.as_array().iter().map(|&value| u32::try_from(value).ok()).collect()
    };
    let (Some(offsets), Some(genes)) = (whole(offsets), whole(genes)) else {
        return Err(Fault::request("rows of the gene table and offsets count from 0"));
    };
    if let Some(gene) = genes.iter().find(|&&gene| gene as usize >= count) {
        return Err(Fault::request(format!("gene {gene} does not exist; the dataset has {count} genes")));
    }
    run::gene_sets(&offsets, &genes)
}

/// A batch: genes, offsets, standardised scores, epoch and step.
pub(crate) type Step<'py> =
    (PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, f32>, u32, u64);
/// Predictions, loss and gradients of a batch.
pub(crate) type Outcome<'py, T> = (Bound<'py, PyArray1<T>>, f64, Bound<'py, PyDict>);

/// Returns predictions, loss and gradients of the program's own model in training, batch by batch. The weights stay as they are.
#[pyfunction]
pub(crate) fn training_steps<'py>(
    py: Python<'py>,
    dataset: &Dataset,
    model: &str,
    keys: Vec<String>,
    weights: &Bound<'py, PyDict>,
    steps: Vec<Step<'py>>,
) -> PyResult<Vec<Outcome<'py, f32>>> {
    let data = dataset.get()?;
    let config = Config::of(model, &data.cell, &keys).map_err(Fault::from)?;
    let model = config.model.build(&data.cell, config.seed).map_err(Fault::from)?;
    outcomes(py, model, &data.cell, weights, steps)
}

/// Returns predictions, loss and gradients of a model with other weights.
pub(crate) fn outcomes<'py, T: Scalar + Element>(
    py: Python<'py>,
    mut model: Box<dyn Model<T>>,
    cell: &Cell,
    weights: &Bound<'py, PyDict>,
    steps: Vec<Step<'py>>,
) -> PyResult<Vec<Outcome<'py, T>>> {
    let of = |value: &f32| T::of(f64::from(*value));
    for (name, values) in weights.iter() {
        let given = tensor(&name, &values)?;
        let parameters = model.parameters_mut();
        let index = (0..parameters.len()).find(|&index| parameters.get(index).name() == given.name);
        let index = index.ok_or_else(|| Fault::request(format!("unknown weights {:?}", given.name)))?;
        let values: Vec<T> = given.values.iter().map(of).collect();
        parameters.values_mut(index).copy_from_slice(&values);
    }
    let mut outcomes = Vec::new();
    for (genes, offsets, targets, epoch, step) in steps {
        let sets = gene_sets(&genes, &offsets, cell.genes().len())?;
        let targets: Vec<T> = targets.as_array().iter().map(of).collect();
        let at = LossPosition::new(epoch, step);
        let input = Input { sets: sets.view(), graphs: &Graphs::None, training: Some(at) };
        let mut tape = Tape::new(model.parameters());
        let forward = model.forward(&mut tape, input);
        let loss = model.loss(&mut tape, &forward, &targets, at).total;
        let (predictions, value) = (tape.value(forward.predictions).to_vec(), tape.scalar(loss).to_f64());
        let mut gradients = Gradients::zeros(model.parameters());
        tape.backward(loss, &mut gradients);
        let found = PyDict::new(py);
        for (index, entry) in model.parameters().iter().enumerate() {
            let gradient =
                PyArray1::from_slice(py, gradients.parameter(index)).reshape(entry.shape().to_vec())?;
            found.set_item(entry.name(), gradient)?;
        }
        outcomes.push((PyArray1::from_vec(py, predictions), value, found));
    }
    Ok(outcomes)
}
