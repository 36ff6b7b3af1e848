//! Runs and predictions of their models.

use crate::dataset::{Dataset, part_of};
use crate::error::Fault;
use crate::page::Page;
use crate::training::CancelSolver;
use crate::{json, workers};
use knockout_base::stats::bootstrap::Bootstrap;
use knockout_data::cell::{GeneSets, GeneSetsRef};
use knockout_predict::evaluation::{Evaluation, NamedPredictions, Pairs, StackPredictions, evaluate_beside};
use knockout_predict::explain::Detail;
use knockout_predict::predictions::Predictions;
use knockout_predict::scorer::{OpenRuns, Scores, Threads};
use knockout_predict::{
    Coverage, Hit, HitNotes, Intervals, RegimeAccuracy, is_default_stack, stack_predictions,
};
use knockout_report::lab::{
    EvaluationDocument, PredictedSets, PriorKnowledge, TrainingReport, evaluation_page, explanation_page,
    predicted_sets_page,
};
use knockout_train::checkpoint::Slot;
use knockout_train::config::Config;
use knockout_train::run::{RunFolder, RunSummary};
use numpy::{PyArray1, PyArrayDyn, PyArrayMethods as _, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::{Path, PathBuf};

/// A run's model, ready to predict.
#[pyclass(frozen, module = "knockout._knockout")]
pub(crate) struct OpenRun {
    folder: PathBuf,
    opened: OpenRuns,
}

impl OpenRun {
    fn run(&self) -> Result<&knockout_predict::OpenRun, Fault> {
        self.opened.runs.first().ok_or_else(|| Fault::failure("no run was opened"))
    }

    /// Returns the name of the run's folder.
    fn name(&self) -> Result<String, Fault> {
        let name = self.folder.file_name().map(|name| name.to_string_lossy().into_owned());
        Ok(name.unwrap_or(self.run()?.entry.model.clone()))
    }
}

fn slot_of(name: &str) -> Result<Slot, Fault> {
    let found = [Slot::Last, Slot::BestPearson, Slot::BestMse].into_iter().find(|slot| slot.name() == name);
    found.ok_or_else(|| {
        Fault::request(format!("unknown state {name:?}; choose from last, best-pearson, best-mse"))
    })
}

/// Predictions and, if the model has them, their standard deviations.
type Predicted<'py> = (Bound<'py, PyArray1<f64>>, Option<Bound<'py, PyArray1<f64>>>);

#[pymethods]
impl OpenRun {
    #[new]
    #[pyo3(signature = (folder, state, data))]
    fn new(py: Python<'_>, folder: PathBuf, state: Option<&str>, data: Option<PathBuf>) -> PyResult<Self> {
        let state = state.map(slot_of).transpose()?;
        let opened =
            workers::run(py, |_| Ok(OpenRuns::open(std::slice::from_ref(&folder), state, data.as_deref())?))?;
        Ok(Self { folder, opened })
    }

    #[getter]
    fn folder(&self) -> &Path {
        &self.folder
    }

    #[getter]
    fn dataset_folder(&self) -> &Path {
        &self.opened.dataset_folder
    }

    /// Returns the folder of the checkpoint in use.
    #[getter]
    fn checkpoint(&self) -> PyResult<&Path> {
        Ok(&self.run()?.checkpoint)
    }

    /// Returns model, seed, state, step and hash of the weights.
    fn entry<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::loads(py, &json::text(&self.run()?.entry)?)
    }

    /// Returns the configuration as a document.
    fn config<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::loads(py, &json::text(&self.run()?.description().config)?)
    }

    /// Returns the name and all options of the loss.
    fn loss<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        loss_of(py, &self.run()?.description().config)
    }

    /// Returns the mean and standard deviation of the training scores.
    fn labels(&self) -> PyResult<(f64, f64)> {
        let labels = self.run()?.labels();
        Ok((labels.mean, labels.sd))
    }

    /// Returns the weights by name.
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let weights = PyDict::new(py);
        for tensor in &self.run()?.weights().weights {
            weights.set_item(&tensor.name, array_of(py, &tensor.shape, &tensor.values)?)?;
        }
        Ok(weights)
    }

    /// Returns the rows of the gene table of systematic or standard names.
    fn find_genes<'py>(&self, py: Python<'py>, names: Vec<String>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let genes = self.opened.dataset.cell.genes();
        let found = knockout_sources::lists::find_genes(&names, genes, "the set").map_err(Fault::from)?;
        Ok(PyArray1::from_vec(py, found))
    }

    /// Predicts ragged sets of genes.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        genes: PyReadonlyArray1<'py, u32>,
        offsets: PyReadonlyArray1<'py, u32>,
    ) -> PyResult<Predicted<'py>> {
        let sets = gene_sets(&offsets.as_array().to_vec(), &genes.as_array().to_vec())?;
        let run = self.run()?;
        let Scores { mean, sd } = workers::run(py, |cancel| {
            let scorer = run.scorer();
            let ((fewest, most), at_once) = (scorer.orders(), scorer.block() as usize);
            let is_scored = |set: &[u32]| (fewest..=most).contains(&set.len());
            if let Some(index) = sets.view().iter().position(|set| !is_scored(set)) {
                let count = sets.get(index).len();
                return Err(Fault::request(format!(
                    "set {index} has {count} genes; this model predicts sets of {fewest} to {most}"
                )));
            }
            let (mut all, mut some, mut chunk) = (Scores::default(), Scores::default(), GeneSets::default());
            let (mut waiting, view) = (0, sets.view());
            while waiting < view.len() {
                cancel.check();
                chunk.clear();
                let end = (waiting + at_once).min(view.len());
                (waiting..end).for_each(|set| chunk.push(view.get(set)));
                match scorer.threads() {
                    // A forward pass, which takes up to a minute per block.
                    Threads::All => {
                        some.mean =
                            run.predictor().predict_with_progress(chunk.view(), &|| cancel.check())?;
                    }
                    Threads::One => scorer.score(chunk.view(), &mut some)?,
                }
                all.mean.append(&mut some.mean);
                if let Some(mut sd) = some.sd.take() {
                    all.sd.get_or_insert_default().append(&mut sd);
                }
                waiting = end;
            }
            Ok(all)
        })?;
        Ok((PyArray1::from_vec(py, mean), sd.map(|sd| PyArray1::from_vec(py, sd))))
    }

    /// Returns the page of predicted sets, each with its regime and what to consider before it is tested.
    fn prediction_page(
        &self,
        py: Python<'_>,
        genes: PyReadonlyArray1<'_, u32>,
        offsets: PyReadonlyArray1<'_, u32>,
        mean: PyReadonlyArray1<'_, f64>,
        sd: Option<PyReadonlyArray1<'_, f64>>,
    ) -> PyResult<Page> {
        let sets = gene_sets(&offsets.as_array().to_vec(), &genes.as_array().to_vec())?;
        let (mean, sd) = (mean.as_array().to_vec(), sd.map(|sd| sd.as_array().to_vec()));
        if mean.len() != sets.len() || sd.as_ref().is_some_and(|sd| sd.len() != mean.len()) {
            return Err(Fault::request("there must be one prediction for every set").into());
        }
        let name = self.name()?;
        workers::run(py, |_| {
            let OpenRuns { dataset, split, .. } = &self.opened;
            let hits: Vec<Hit> = sets
                .view()
                .iter()
                .zip(&mean)
                .enumerate()
                .map(|(index, (set, &prediction))| Hit {
                    number: index as u64,
                    genes: set.to_vec(),
                    prediction,
                    sd: sd.as_ref().map(|sd| sd[index]),
                })
                .collect();
            let notes = HitNotes::new(dataset, Some(split), &hits);
            let document = PredictedSets::of(&name, &hits, dataset.cell.genes(), &notes);
            Page::of(predicted_sets_page(&document), &document)
        })
    }

    /// Returns the page of the run: its curves, settings and validation.
    fn page(&self, py: Python<'_>) -> PyResult<Page> {
        let run = self.run()?;
        workers::run(py, |cancel| {
            let OpenRuns { dataset, split, .. } = &self.opened;
            let report = TrainingReport::of_open(run, dataset, split, &|| cancel.check())?;
            Page::of(report.page(), &RunSummary::read(&self.folder)?)
        })
    }

    /// Returns the predictions of the run whose residuals this one was trained on; 0 without one.
    fn base<'py>(
        &self,
        py: Python<'py>,
        genes: PyReadonlyArray1<'py, u32>,
        offsets: PyReadonlyArray1<'py, u32>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let sets = gene_sets(&offsets.as_array().to_vec(), &genes.as_array().to_vec())?;
        let predictor = self.run()?.predictor();
        let base = workers::run(py, |cancel| {
            if !predictor.builds_on_others() {
                return Ok(vec![0.0; sets.view().len()]);
            }
            let all = predictor.predict_with_progress(sets.view(), &|| cancel.check())?;
            let own = predictor.predict_alone(sets.view())?;
            Ok(all.iter().zip(own).map(|(all, own)| all - predictor.own_weight() * own).collect())
        })?;
        Ok(PyArray1::from_vec(py, base))
    }

    /// Returns the metrics of a part, with those of the stack and the additive ridge, and their page.
    fn evaluate(&self, py: Python<'_>, part: &str, resamples: usize) -> PyResult<Page> {
        let (part, run) = (part_of(part)?, self.run()?);
        if !(1..=1_000_000).contains(&resamples) {
            return Err(
                Fault::request(format!("resamples is {resamples}; it must be from 1 to 1000000")).into()
            );
        }
        let name = self.name()?;
        workers::run(py, |cancel| {
            let OpenRuns { dataset, split, .. } = &self.opened;
            let rows = split.rows(part).iter();
            let sets: GeneSets = rows.map(|&row| dataset.samples.genes(row as usize)).collect();
            let predictor = run.predictor();
            let predictions = predictor.predict_with_progress(sets.view(), &|| cancel.check())?;
            let stack = if is_default_stack(run.description(), predictor, &dataset.cell) {
                StackPredictions::IsModel(0)
            } else {
                let sorted = sets.view().sorted();
                let solver = &mut CancelSolver(cancel);
                let known = stack_predictions(&self.folder, dataset, split, sorted.view(), solver)?;
                known.map_or(StackPredictions::ToBeSolved, StackPredictions::Known)
            };
            cancel.check();
            let model = NamedPredictions { name: &name, predictions: &predictions };
            let bootstrap = Bootstrap { resamples, ..Bootstrap::default() };
            let pairs = Pairs::Neighbours;
            let Evaluation { rows, comparisons, regimes, warnings, unseen, repeated_sets, bounds } =
                evaluate_beside(dataset, split, part, &[model], pairs, &bootstrap, &stack)?;
            let intervals = predictor
                .deviations(sets.view(), &predictions)
                .zip(predictor.wide_intervals(sets.view(), &predictions));
            let predictions = Predictions::new(dataset, split, part, &name, predictions);
            let coverage = intervals
                .map(|(sd, wide)| Coverage::of(&name, &predictions, &Intervals { sd, wide }, dataset, split));
            let uses = predictor.prior_knowledge();
            let prior_knowledge = (!uses.is_empty()).then(|| PriorKnowledge { name: name.clone(), uses });
            let document = EvaluationDocument {
                schema: 1,
                split: split.spec().scheme.name(),
                split_seed: split.spec().seed,
                part: part.name(),
                data_hash: dataset.manifest.data_hash(),
                resamples,
                rows,
                comparisons,
                regimes,
                warnings,
                spread: Vec::new(),
                unseen_genes: Some(unseen.genes),
                unseen_records: Some(unseen.records),
                repeated_sets,
                bounds,
                coverage: coverage.into_iter().collect(),
                prior_knowledge: prior_knowledge.into_iter().collect(),
            };
            Page::of(evaluation_page(&document), &document)
        })
    }

    /// Explains one prediction.
    fn explain(
        &self,
        py: Python<'_>,
        genes: PyReadonlyArray1<'_, u32>,
        neighbours: usize,
        nearest: usize,
    ) -> PyResult<Page> {
        let (set, run) = (genes.as_array().to_vec(), self.run()?);
        // Only sets that can be predicted can be explained.
        gene_sets(&[0, set.len() as u32], &set)?;
        let name = self.name()?;
        workers::run(py, |cancel| {
            let OpenRuns { dataset, split, .. } = &self.opened;
            let detail = Detail { neighbours, nearest };
            let explanation = run.explain(&set, dataset, split, detail, &|| cancel.check())?;
            let explanation = explanation.with_accuracy(&RegimeAccuracy::of(&self.opened, &[set.len()])?);
            Page::of(explanation_page(&explanation, &name), &explanation)
        })
    }
}

/// Checks ragged sets: valid offsets, and no set that is empty or has a gene twice.
pub(crate) fn gene_sets(offsets: &[u32], genes: &[u32]) -> Result<GeneSets, Fault> {
    let ends_well = offsets.last().is_some_and(|&end| end as usize == genes.len());
    if offsets.first() != Some(&0) || !offsets.is_sorted() || !ends_well {
        return Err(Fault::request("offsets must start at 0, never fall and end at the number of genes"));
    }
    let mut sets = GeneSets::default();
    for (index, set) in GeneSetsRef::new(offsets, genes).iter().enumerate() {
        let mut set = set.to_vec();
        set.sort_unstable();
        if set.is_empty() {
            return Err(Fault::request(format!("set {index} has no gene")));
        }
        if let Some([gene, ..]) = set.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Fault::request(format!("set {index} has gene {gene} twice")));
        }
        sets.push(&set);
    }
    Ok(sets)
}

/// Returns the name and all options of the loss of a configuration.
pub(crate) fn loss_of<'py>(py: Python<'py>, config: &Config) -> PyResult<Bound<'py, PyAny>> {
    let table = config.model.loss().map(|loss| loss.table()).transpose();
    let table = table.map_err(|error| Fault::failure(format!("could not write the loss: {error}")))?;
    json::loads(py, &json::text(&table)?)
}

/// Returns a tensor as an array.
pub(crate) fn array_of<'py>(
    py: Python<'py>,
    shape: &[usize],
    values: &[f32],
) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
    PyArray1::from_slice(py, values).reshape(shape.to_vec())
}

/// Returns the lines of a run's `metrics.jsonl`.
#[pyfunction]
pub(crate) fn read_metrics(py: Python<'_>, folder: PathBuf) -> PyResult<Bound<'_, PyAny>> {
    // A folder that is not a run is a wrong request; a run without metrics is damaged.
    RunFolder::read_manifest(&folder).map_err(Fault::from)?;
    let lines = knockout_train::run::read_metrics(&folder).map_err(Fault::from)?;
    json::loads(py, &json::text(&lines)?)
}

/// Returns the resolved configuration of a model on a dataset.
#[pyfunction]
pub(crate) fn configuration<'py>(
    py: Python<'py>,
    dataset: &Dataset,
    model: &str,
    keys: Vec<String>,
) -> PyResult<Bound<'py, PyAny>> {
    let dataset = dataset.get()?;
    let config = Config::of(model, &dataset.cell, &keys).map_err(Fault::from)?;
    config.check(&dataset.cell).map_err(Fault::from)?;
    json::loads(py, &json::text(&config)?)
}
