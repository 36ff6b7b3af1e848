//! A run under way, epoch by epoch, and weights that were trained elsewhere.

use crate::dataset::Dataset;
use crate::error::Fault;
use crate::json;
use crate::workers::{self, Cancel};
use knockout_models::MODELS;
use knockout_solve::SolveObserver;
use knockout_train::config::Config;
use knockout_train::run::{End, Event, MetricsLine, Run, RunContext, default_folder};
use knockout_train::tensors::Tensor;
use numpy::{PyArrayMethods as _, PyReadonlyArrayDyn};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A run under way.
#[pyclass(frozen, module = "knockout._knockout")]
pub(crate) struct Training {
    process: u32,
    folder: PathBuf,
    wants_stop: Arc<AtomicBool>,
    work: Mutex<Option<Work>>,
}

enum Work {
    Running(Box<Run>),
    Over(&'static str),
}

/// The result of an epoch.
enum Outcome {
    Epoch(String),
    End(&'static str),
}

impl Training {
    fn of(work: Work) -> Self {
        let folder = match &work {
            Work::Running(run) => run.folder().to_owned(),
            Work::Over(_) => PathBuf::new(),
        };
        let wants_stop = Arc::new(AtomicBool::new(false));
        Self { process: std::process::id(), folder, wants_stop, work: Mutex::new(Some(work)) }
    }

    /// A run has threads and a lock of its own process: a fork has neither.
    fn check_process(&self) -> Result<(), Fault> {
        if self.process == std::process::id() {
            return Ok(());
        }
        let folder = self.folder.display();
        Err(Fault::request(format!(
            "the run {folder} belongs to the process that began it; train in that one"
        )))
    }

    fn epoch(&self, work: &mut Work, cancel: &Cancel) -> Result<Outcome, Fault> {
        match work {
            Work::Over(end) => Ok(Outcome::End(end)),
            Work::Running(run) => {
                let outcome = steps(run, &self.wants_stop, cancel);
                if let Ok(Outcome::End(end)) = outcome {
                    *work = Work::Over(end);
                }
                outcome
            }
        }
    }
}

/// Ends the solving of a model at its next step after a cancellation.
pub(crate) struct CancelSolver<'a>(pub(crate) &'a Cancel);

impl SolveObserver for CancelSolver<'_> {
    fn on_step(&mut self, _what: &str, _step: usize) {
        self.0.check();
    }
}

/// Takes steps up to the end of an epoch or of the run.
fn steps(run: &mut Run, wants_stop: &Arc<AtomicBool>, cancel: &Cancel) -> Result<Outcome, Fault> {
    let (wants_stop, cancel) = (Arc::clone(wants_stop), cancel.clone());
    // Asked while validating too, which takes minutes where the model is large.
    run.stop_when(move || cancel.is_set() || wants_stop.load(Ordering::Relaxed));
    loop {
        match run.next() {
            Some(Ok(Event::Epoch(line))) => return Ok(Outcome::Epoch(json::text(&line)?)),
            Some(Ok(Event::End(end))) => return Ok(Outcome::End(end.name())),
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                let saved = run
                    .last_saved()
                    .map(|saved| format!("; the last good state is {}", saved.path.display()));
                let doing =
                    format!("training in {} stopped{}", run.folder().display(), saved.unwrap_or_default());
                return Err(Fault::from(error).context(&doing));
            }
            None => return Ok(Outcome::End(End::Epochs.name())),
        }
    }
}

#[pymethods]
impl Training {
    /// Begins a run in a new folder.
    #[staticmethod]
    #[pyo3(signature = (dataset, model, out, keys))]
    fn create(
        py: Python<'_>,
        dataset: &Dataset,
        model: &str,
        out: Option<PathBuf>,
        keys: Vec<String>,
    ) -> PyResult<Self> {
        let (data, place) = (dataset.get()?, dataset.folder());
        let work = workers::run(py, |_| {
            let (folder, config, context) = plan(&data, place, model, out, keys)?;
            Ok(Work::Running(Box::new(Run::create(&folder, data, config, &context)?)))
        })?;
        Ok(Self::of(work))
    }

    /// Resumes a run.
    #[staticmethod]
    #[pyo3(signature = (folder, data, keys))]
    fn resume(py: Python<'_>, folder: PathBuf, data: Option<PathBuf>, keys: Vec<String>) -> PyResult<Self> {
        let work = workers::run(py, |_| {
            let data = data.as_deref();
            Ok(Work::Running(Box::new(Run::resume_with(&folder, &keys, data, MODELS)?)))
        })?;
        Ok(Self::of(work))
    }

    #[getter]
    fn folder(&self) -> &Path {
        &self.folder
    }

    /// Trains to the end of the epoch. Returns its line of `metrics.jsonl`, or the word for why the run ended.
    ///
    /// On Ctrl-C the state is saved before `KeyboardInterrupt` is raised.
    fn advance<'py>(&'py self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.check_process()?;
        let taken = self.work.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut work) = taken else {
            let folder = self.folder.display();
            let message = format!("the run {folder} is closed, or another thread trains it; resume it");
            return Err(Fault::request(message).into());
        };
        let outcome = workers::run(py, |cancel| {
            let outcome = self.epoch(&mut work, cancel)?;
            Ok((work, outcome))
        });
        // After an error or Ctrl-C the run is let go, so that it can be resumed.
        let (work, outcome) = outcome?;
        self.work.lock().unwrap_or_else(PoisonError::into_inner).replace(work);
        match outcome {
            Outcome::Epoch(line) => json::loads(py, &line),
            Outcome::End(word) => Ok(word.into_pyobject(py)?.into_any()),
        }
    }

    /// Asks for the end: the next `advance` saves the state and ends.
    fn stop(&self) {
        self.wants_stop.store(true, Ordering::Relaxed);
    }

    /// Lets go of the run's folder, as the end of the process would.
    fn close(&self) -> PyResult<()> {
        self.check_process()?;
        self.work.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok(())
    }
}

/// A process that was forked from the run's has its memory and not its threads: nothing may be ended there.
impl Drop for Training {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            std::mem::forget(self.work.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
    }
}

/// The folder, configuration and description of a run that is to begin.
fn plan(
    dataset: &knockout_data::screen::Dataset,
    place: &Path,
    model: &str,
    out: Option<PathBuf>,
    keys: Vec<String>,
) -> Result<(PathBuf, Config, RunContext), Fault> {
    let config = Config::of(model, &dataset.cell, &keys)?;
    config.check(&dataset.cell)?;
    let folder = out.unwrap_or_else(|| default_folder(config.model.name(), place, config.seed));
    Ok((folder, config, RunContext { overrides: keys, ..RunContext::new(place) }))
}

/// Makes a run of weights that were trained elsewhere; returns its folder and the line of its validation.
#[pyfunction]
#[pyo3(signature = (dataset, model, out, keys, weights, train_loss))]
pub(crate) fn adopt<'py>(
    py: Python<'py>,
    dataset: &Dataset,
    model: &str,
    out: Option<PathBuf>,
    keys: Vec<String>,
    weights: &Bound<'py, PyDict>,
    train_loss: f64,
) -> PyResult<(PathBuf, Bound<'py, PyAny>)> {
    if !train_loss.is_finite() {
        return Err(Fault::request(format!("train_loss is {train_loss}; a loss is a finite number")).into());
    }
    let weights =
        weights.iter().map(|(name, values)| tensor(&name, &values)).collect::<PyResult<Vec<_>>>()?;
    let (data, place) = (dataset.get()?, dataset.folder());
    let (folder, line) = workers::run(py, |cancel| {
        let (folder, config, context) = plan(&data, place, model, out, keys)?;
        let mut run = Run::create(&folder, data, config, &context)?;
        let asked = cancel.clone();
        run.stop_when(move || asked.is_set());
        let adopted = run.adopt(&weights, train_loss);
        if !matches!(adopted, Ok(Some(_))) {
            // What was begun here holds nothing yet, and would be in the way of the next attempt.
            drop(run);
            std::fs::remove_dir_all(&folder).ok();
            cancel.check();
        }
        let line: Option<MetricsLine> = adopted?;
        Ok((folder, json::text(&line)?))
    })?;
    Ok((folder, json::loads(py, &line)?))
}

fn tensor(name: &Bound<'_, PyAny>, values: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let name: String = name.extract()?;
    let values = values.cast::<numpy::PyArrayDyn<f32>>().map_err(|_| {
        Fault::request(format!("the weights {name:?} are no numpy array of float32; convert them"))
    })?;
    let values: PyReadonlyArrayDyn<'_, f32> = values.try_readonly()?;
    let values = values.as_array();
    Ok(Tensor { name, shape: values.shape().to_vec(), values: values.iter().copied().collect() })
}
