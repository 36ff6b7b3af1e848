//! Analysis and comparison of PyTorch traces.

use crate::error::Fault;
use crate::json;
use crate::workers::{self, Cancel};
use knockout_analyze::{Collector, FileFindings, Options, Rules, jobs};
use knockout_base::error::class_of_path;
use knockout_trace::ReadOptions;
use pyo3::prelude::*;
use std::fs::File;
use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// The analysis of a trace, or of the ranks of one job.
#[pyclass(frozen, module = "knockout._knockout")]
pub(crate) struct Analysis {
    analysis: knockout_analyze::Analysis,
}

/// The comparison of two traces.
#[pyclass(frozen, module = "knockout._knockout")]
pub(crate) struct Comparison {
    comparison: knockout_analyze::TraceComparison,
}

/// Analyses one trace, or the traces of the ranks of one job.
#[pyfunction]
#[pyo3(signature = (paths, rules))]
pub(crate) fn analyze(py: Python<'_>, paths: Vec<PathBuf>, rules: Option<PathBuf>) -> PyResult<Analysis> {
    let analysis = workers::run(py, |cancel| {
        let rules = rules_of(rules.as_deref())?;
        let mut found = Vec::with_capacity(paths.len());
        for path in &paths {
            cancel.check();
            found.push(read(path, &rules, cancel)?);
        }
        if found.is_empty() {
            return Err(Fault::request("name at least one trace"));
        }
        if jobs(&found).len() > 1 {
            return Err(Fault::request(
                "these traces are not the ranks of one job and cannot be summed; analyse them one by one",
            ));
        }
        Ok(knockout_analyze::Analysis::of(found))
    })?;
    Ok(Analysis { analysis })
}

fn rules_of(path: Option<&Path>) -> Result<Rules, Fault> {
    let Some(path) = path else { return Ok(Rules::default_rules()?) };
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| {
        Fault::new(class_of_path(error.kind()), format!("could not read the rules {name}: {error}"))
    })?;
    Ok(Rules::from_toml(&name, &text)?)
}

/// A file whose reads fail once the call was cancelled.
struct CancellableFile<'a> {
    file: File,
    cancel: &'a Cancel,
}

impl Read for CancellableFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_set() {
            return Err(io::Error::other("interrupted"));
        }
        self.file.read(buffer)
    }
}

fn read(path: &Path, rules: &Rules, cancel: &Cancel) -> Result<FileFindings, Fault> {
    let label = path.display().to_string();
    let file = File::open(path).map_err(|error| {
        Fault::new(class_of_path(error.kind()), format!("could not open the trace {label}: {error}"))
    })?;
    let source = CancellableFile { file, cancel };
    let threads = rayon::current_num_threads();
    let options = Options { threads, ..Options::default() };
    let mut collector = Collector::new(rules, &options);
    let threads = NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN);
    let reading = ReadOptions { threads, ..ReadOptions::default() };
    let doing = format!("could not read the trace {label}");
    let outcome = knockout_trace::read(source, reading, &mut collector)
        .map_err(|error| Fault::from(error).context(&doing))?;
    collector.finish(&label, &outcome).map_err(|error| Fault::from(error).context(&doing))
}

/// Compares two traces; ratios are b / a.
#[pyfunction]
#[pyo3(signature = (a, b, samples_per_step))]
pub(crate) fn compare(
    py: Python<'_>,
    a: &Analysis,
    b: &Analysis,
    samples_per_step: Option<(f64, f64)>,
) -> PyResult<Comparison> {
    let mut comparison =
        workers::run(py, |_| Ok(knockout_analyze::TraceComparison::of(&a.analysis, &b.analysis)))?;
    if let Some((a, b)) = samples_per_step {
        if ![a, b].iter().all(|samples| samples.is_finite() && *samples > 0.0) {
            return Err(Fault::request(format!("{a} and {b} samples per step; both must be positive")).into());
        }
        comparison = comparison.per_sample(a, b);
    }
    Ok(Comparison { comparison })
}

#[pymethods]
impl Analysis {
    /// Returns the document of `knockout trace analyze --json`.
    fn document<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text = py.detach(|| json::text(&knockout_report::analysis_json(&self.analysis)))?;
        json::loads(py, &text)
    }

    /// Returns one self-contained HTML page.
    fn html(&self, py: Python<'_>) -> String {
        py.detach(|| knockout_report::analysis_html(&self.analysis))
    }

    /// Returns the text that the command prints.
    fn text(&self, py: Python<'_>) -> String {
        py.detach(|| knockout_report::analysis_text(&self.analysis))
    }

    /// Returns collapsed stacks for flame graphs, with the self time in nanoseconds.
    fn collapsed(&self, py: Python<'_>) -> String {
        py.detach(|| knockout_report::collapsed(&self.analysis))
    }
}

#[pymethods]
impl Comparison {
    /// Returns the document of `knockout trace compare --json`.
    fn document<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text = py.detach(|| json::text(&knockout_report::compare_json(&self.comparison)))?;
        json::loads(py, &text)
    }

    /// Returns one self-contained HTML page.
    fn html(&self, py: Python<'_>) -> String {
        py.detach(|| knockout_report::compare_html(&self.comparison))
    }

    /// Returns the text that the command prints.
    fn text(&self, py: Python<'_>) -> String {
        py.detach(|| knockout_report::compare_text(&self.comparison))
    }
}
