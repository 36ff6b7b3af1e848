//! Training of a run, epoch by epoch, and runs from weights that were trained elsewhere.

use crate::dataset::Dataset;
use crate::error::Fault;
use crate::json;
use crate::workers::{self, Cancel};
use knockout_models::MODELS;
use knockout_report::lab::TrainingReport;
use knockout_solve::{SolveObserver, TriedSetting};
use knockout_train::config::Config;
use knockout_train::run::{
    AdoptedRows, End, Event, MetricsLine, Run, RunContext, RunDescription, default_folder,
};
use knockout_train::tensors::Tensor;
use numpy::{PyArrayMethods as _, PyReadonlyArray1, PyReadonlyArrayDyn};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A run in progress.
#[pyclass(frozen, module = "knockout._knockout")]
pub(crate) struct Training {
    process: u32,
    folder: PathBuf,
    wants_stop: Arc<AtomicBool>,
    work: Mutex<Option<Work>>,
}

enum Work {
    /// The run, and the settings that its solver has tried.
    Running(Box<Run>, Vec<TriedSetting>),
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
            Work::Running(run, _) => run.folder().to_owned(),
            Work::Over(_) => PathBuf::new(),
        };
        let wants_stop = Arc::new(AtomicBool::new(false));
        Self { process: std::process::id(), folder, wants_stop, work: Mutex::new(Some(work)) }
    }

    /// Rejects calls in a forked process, which has neither the threads nor the lock of the run.
    fn check_process(&self) -> Result<(), Fault> {
        if self.process == std::process::id() {
            return Ok(());
        }
        let folder = self.folder.display();
        Err(Fault::request(format!(
            "the run {folder} belongs to the process that started it; train in that process"
        )))
    }

    fn epoch(&self, work: &mut Work, cancel: &Cancel) -> Result<Outcome, Fault> {
        match work {
            Work::Over(end) => Ok(Outcome::End(end)),
            Work::Running(run, tried) => match steps(run, tried, &self.wants_stop, cancel)? {
                Step::Epoch(line) => Ok(Outcome::Epoch(json::text(&line)?)),
                Step::End(end) => {
                    // As `knockout train` does. Ctrl-C during its predictions leaves the page of a stopped run.
                    let report = TrainingReport::of(run, end, tried, &|| cancel.is_set());
                    if !cancel.is_set() {
                        report?.write()?;
                    }
                    *work = Work::Over(end.name());
                    Ok(Outcome::End(end.name()))
                }
            },
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

/// Where training pauses.
enum Step {
    Epoch(Box<MetricsLine>),
    End(End),
}

/// Takes steps until the end of an epoch or of the run.
fn steps(
    run: &mut Run,
    tried: &mut Vec<TriedSetting>,
    wants_stop: &Arc<AtomicBool>,
    cancel: &Cancel,
) -> Result<Step, Fault> {
    let (wants_stop, cancel) = (Arc::clone(wants_stop), cancel.clone());
    // Also checked during validation, which takes minutes for a large model.
    run.stop_when(move || cancel.is_set() || wants_stop.load(Ordering::Relaxed));
    loop {
        match run.next() {
            Some(Ok(Event::Epoch(line))) => return Ok(Step::Epoch(Box::new(line))),
            Some(Ok(Event::End(end))) => return Ok(Step::End(end)),
            Some(Ok(Event::Tried(setting))) => tried.push(setting),
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                let saved = run
                    .last_saved()
                    .map(|saved| format!("; the last good state is {}", saved.path.display()));
                let doing =
                    format!("training in {} stopped{}", run.folder().display(), saved.unwrap_or_default());
                return Err(Fault::from(error).context(&doing));
            }
            None => return Ok(Step::End(End::Epochs)),
        }
    }
}

#[pymethods]
impl Training {
    /// Starts a run in a new folder; with `exist_ok` a run of the same settings is continued.
    #[staticmethod]
    #[pyo3(signature = (dataset, model, out, keys, exist_ok = false))]
    fn create(
        py: Python<'_>,
        dataset: &Dataset,
        model: &str,
        out: Option<PathBuf>,
        keys: Vec<String>,
        exist_ok: bool,
    ) -> PyResult<Self> {
        let (data, data_folder) = (dataset.get()?, dataset.folder());
        let work = workers::run(py, |_| {
            let (folder, config, context) = plan(&data, data_folder, model, out, keys)?;
            if folder.join("manifest.json").exists() {
                refuse_other(&folder, &config, &data, exist_ok)?;
                let run = Run::resume_with(&folder, &[] as &[&str], Some(data_folder), MODELS)?;
                return Ok(Work::Running(Box::new(run), Vec::new()));
            }
            Ok(Work::Running(Box::new(Run::create(&folder, data, config, &context)?), Vec::new()))
        })?;
        Ok(Self::of(work))
    }

    /// Resumes a run.
    #[staticmethod]
    #[pyo3(signature = (folder, data, keys))]
    fn resume(py: Python<'_>, folder: PathBuf, data: Option<PathBuf>, keys: Vec<String>) -> PyResult<Self> {
        let work = workers::run(py, |_| {
            let data = data.as_deref();
            Ok(Work::Running(Box::new(Run::resume_with(&folder, &keys, data, MODELS)?), Vec::new()))
        })?;
        Ok(Self::of(work))
    }

    #[getter]
    fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the number of epochs that the run is to take; `None` if it has ended or is solved.
    #[getter]
    fn epochs(&self) -> Option<u32> {
        match &*self.work.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(Work::Running(run, _)) if run.fit().is_some() => Some(run.config().epochs),
            _ => None,
        }
    }

    /// Trains until the end of the epoch. Returns its line of `metrics.jsonl`, or the reason why the run ended.
    ///
    /// On Ctrl-C the state is saved before `KeyboardInterrupt` is raised.
    fn advance<'py>(&'py self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.check_process()?;
        let taken = self.work.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut work) = taken else {
            let folder = self.folder.display();
            let message = format!("the run {folder} is closed, or another thread is training it; resume it");
            return Err(Fault::request(message).into());
        };
        let outcome = workers::run(py, |cancel| {
            let outcome = self.epoch(&mut work, cancel)?;
            Ok((work, outcome))
        });
        // After an error or Ctrl-C the run is closed, so that it can be resumed.
        let (work, outcome) = outcome?;
        self.work.lock().unwrap_or_else(PoisonError::into_inner).replace(work);
        match outcome {
            Outcome::Epoch(line) => json::loads(py, &line),
            Outcome::End(word) => Ok(word.into_pyobject(py)?.into_any()),
        }
    }

    /// Requests a stop: the next `advance` saves the state and ends.
    fn stop(&self) {
        self.wants_stop.store(true, Ordering::Relaxed);
    }

    /// Releases the run's folder, as the end of the process would.
    fn close(&self) -> PyResult<()> {
        self.check_process()?;
        self.work.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok(())
    }
}

/// A forked process has the memory of the run but not its threads, so there the run is leaked.
impl Drop for Training {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            std::mem::forget(self.work.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
    }
}

/// Refuses a folder with a run, unless it may exist and has the same settings and data.
fn refuse_other(
    folder: &Path,
    config: &Config,
    data: &knockout_data::screen::Dataset,
    exist_ok: bool,
) -> Result<(), Fault> {
    let name = folder.display();
    if !exist_ok {
        return Err(Fault::request(format!(
            "{name} exists already, and a run is never overwritten; continue it with exist_ok=True or knockout.resume, or choose \
             another folder with out"
        )));
    }
    let found = RunDescription::read(folder, &[] as &[&str], MODELS)?;
    if found.manifest.inputs.dataset != data.manifest.data_hash() {
        return Err(Fault::request(format!(
            "{name} holds a run on other data; choose another folder with out"
        )));
    }
    if found.config != *config {
        return Err(Fault::request(format!(
            "{name} holds a run with other settings; choose another folder with out, or resume it"
        )));
    }
    Ok(())
}

/// Returns the folder, configuration and description of a new run.
fn plan(
    dataset: &knockout_data::screen::Dataset,
    data_folder: &Path,
    model: &str,
    out: Option<PathBuf>,
    keys: Vec<String>,
) -> Result<(PathBuf, Config, RunContext), Fault> {
    let config = Config::of(model, &dataset.cell, &keys)?;
    config.check(&dataset.cell)?;
    let folder =
        out.unwrap_or_else(|| default_folder(config.model.name(), data_folder, &config.split, config.seed));
    Ok((
        folder,
        config,
        RunContext { overrides: keys, commit: knockout::COMMIT.to_owned(), ..RunContext::new(data_folder) },
    ))
}

/// Creates a run from weights that were trained elsewhere, on these rows if they are known; returns its folder and the line of its
/// validation.
#[pyfunction]
#[pyo3(signature = (dataset, model, out, keys, weights, train_loss, rows))]
pub(crate) fn adopt<'py>(
    py: Python<'py>,
    dataset: &Dataset,
    model: &str,
    out: Option<PathBuf>,
    keys: Vec<String>,
    weights: &Bound<'py, PyDict>,
    train_loss: f64,
    rows: Option<PyReadonlyArray1<'py, u32>>,
) -> PyResult<(PathBuf, Bound<'py, PyAny>)> {
    if !train_loss.is_finite() {
        return Err(Fault::request(format!("train_loss is {train_loss}; it must be a finite number")).into());
    }
    let weights =
        weights.iter().map(|(name, values)| tensor(&name, &values)).collect::<PyResult<Vec<_>>>()?;
    let rows = rows.map(|rows| rows.as_array().to_vec());
    let (data, data_folder) = (dataset.get()?, dataset.folder());
    let (folder, line) = workers::run(py, |cancel| {
        let (folder, config, mut context) = plan(&data, data_folder, model, out, keys)?;
        context.adopted = Some(rows.map_or(AdoptedRows::Unknown, AdoptedRows::Trained));
        let mut run = Run::create(&folder, data, config, &context)?;
        let flag = cancel.clone();
        run.stop_when(move || flag.is_set());
        let adopted = run.adopt(&weights, train_loss);
        if !matches!(adopted, Ok(Some(_))) {
            // The folder holds nothing yet and would block the next attempt.
            drop(run);
            std::fs::remove_dir_all(&folder).ok();
            cancel.check();
        }
        let line: Option<MetricsLine> = adopted?;
        Ok((folder, json::text(&line)?))
    })?;
    Ok((folder, json::loads(py, &line)?))
}

pub(crate) fn tensor(name: &Bound<'_, PyAny>, values: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let name: String = name.extract()?;
    let Ok(values) = values.cast::<numpy::PyArrayDyn<f32>>() else {
        let message = format!("the weights {name:?} are not a numpy array of float32; convert them");
        return Err(Fault::request(message).into());
    };
    let values: PyReadonlyArrayDyn<'_, f32> = values.try_readonly()?;
    let values = values.as_array();
    Ok(Tensor { name, shape: values.shape().to_vec(), values: values.iter().copied().collect() })
}
