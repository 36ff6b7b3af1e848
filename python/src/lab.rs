//! Many runs: lists and comparisons of runs, folders of predictions, benchmarks and sweeps.

use crate::dataset::{Dataset, part_of, split_options};
use crate::error::Fault;
use crate::page::Page;
use crate::workers::{self, Cancel};
use knockout_base::error::chain;
use knockout_base::files::Folder;
use knockout_base::stats::bootstrap::Bootstrap;
use knockout_bench::trials::Stop;
use knockout_bench::trials::benchmark::{BenchmarkModel, BenchmarkRequest, run as run_benchmark};
use knockout_bench::trials::sweep::{Axis, SweepRequest, run as run_sweep};
use knockout_data::screen::Scheme;
use knockout_models::MODELS;
use knockout_predict::scorer::OpenRuns;
use knockout_predict::{
    BlockShare, Calibration, CandidateSpec, Candidates, DatasetEntry, Filters, FittedBaselines,
    HistogramScale, HitEvidence, HitNotes, KeptPredictions, Outcome, Plan, PredictionFolder,
    PredictionObserver, RegimeAccuracy, Scorer as _, write_hits,
};
use knockout_report::lab::{
    BaselineDocument, BenchmarkDocument, PredictionDocument, RunsDocument, SweepDocument, TrainedComparison,
    Unreadable, baseline_page, benchmark_page, hits_page, runs_page, sweep_page, trained_comparison_page,
};
use knockout_sources::lists::find_genes;
use knockout_train::config::SplitOptions;
use knockout_train::run::{RunList, RunSummary};
use pyo3::prelude::*;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Lists the runs in a folder.
#[pyfunction]
pub(crate) fn list_runs(py: Python<'_>, folder: PathBuf) -> PyResult<Page> {
    workers::run(py, |_| {
        if !folder.is_dir() {
            let folder = folder.display();
            return Err(Fault::request(format!("{folder} is not a folder; name the folder of your runs")));
        }
        let RunList { runs, unreadable } = RunList::find(&folder)?;
        let why = |(folder, error)| Unreadable { folder, why: chain(&error) };
        let unreadable = unreadable.into_iter().map(why).collect();
        let document = RunsDocument { schema: 1, runs, unreadable };
        Page::of(runs_page(&folder, &document.runs), &document)
    })
}

/// Compares the settings and the validation of two runs.
#[pyfunction]
pub(crate) fn compare_runs(py: Python<'_>, a: PathBuf, b: PathBuf) -> PyResult<Page> {
    workers::run(py, |_| {
        let compared = TrainedComparison::of(RunSummary::read(&a)?, RunSummary::read(&b)?);
        Page::of(trained_comparison_page(&compared), &compared)
    })
}

/// Fits every baseline to splits of a dataset, as `knockout baseline` does. `splits` are the keys `split.*` of a configuration, as JSON.
#[pyfunction]
pub(crate) fn baseline(
    py: Python<'_>,
    dataset: &Dataset,
    splits: Vec<String>,
    part: &str,
    seeds: Vec<u64>,
    resamples: usize,
) -> PyResult<Page> {
    let (dataset, part) = (dataset.get()?, part_of(part)?);
    let splits = splits.iter().map(|options| split_options(options)).collect::<Result<Vec<_>, Fault>>()?;
    let Some(&first) = seeds.first().filter(|_| !splits.is_empty()) else {
        return Err(Fault::request("name at least one split and one seed").into());
    };
    workers::run(py, |cancel| {
        let fit = |options: &SplitOptions| {
            let split = options.apply(&dataset)?;
            Ok(FittedBaselines::fit(&dataset, split, part, &seeds, &|_| cancel.check())?)
        };
        let by_split = splits.iter().map(fit).collect::<Result<Vec<_>, Fault>>()?;
        let bootstrap = Bootstrap { resamples, ..Bootstrap::default() };
        let document = BaselineDocument::of(&dataset, &by_split, first, &bootstrap, None);
        Page::of(baseline_page(&document), &document)
    })
}

/// A request for hits, as JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HitsRequest {
    /// Genes of a set; 0 with `part`.
    order: usize,
    part: Option<String>,
    /// `measured`, `all`, or names.
    genes: GeneChoice,
    with: Vec<String>,
    not_measured: bool,
    exclude: Vec<String>,
    min_degree: usize,
    top: usize,
    bottom: usize,
    keep_all: bool,
}

/// Genes to choose from.
#[derive(Deserialize)]
#[serde(untagged)]
enum GeneChoice {
    Named(String),
    Listed(Vec<String>),
}

/// The progress of a prediction: nothing is shown, and Ctrl-C ends it.
struct Cancellation<'a>(&'a Cancel);

impl PredictionObserver for Cancellation<'_> {
    fn advance(&self, _candidates: u64) {}

    fn is_stopped(&self) -> bool {
        self.0.is_set()
    }
}

/// Predicts every candidate set into a folder, and returns the page of the highest and lowest ones.
#[pyfunction]
pub(crate) fn hits(
    py: Python<'_>,
    runs: Vec<PathBuf>,
    out: PathBuf,
    data: Option<PathBuf>,
    request: &str,
) -> PyResult<Page> {
    let request: HitsRequest = serde_json::from_str(request)
        .map_err(|error| Fault::request(format!("cannot predict these sets: {error}")))?;
    workers::run(py, |cancel| find_hits(&runs, &out, data.as_deref(), &request, cancel))
}

fn find_hits(
    runs: &[PathBuf],
    out: &Path,
    data: Option<&Path>,
    request: &HitsRequest,
    cancel: &Cancel,
) -> Result<Page, Fault> {
    if runs.is_empty() {
        return Err(Fault::request("name at least one run"));
    }
    let opened = OpenRuns::open(runs, None, data)?;
    let (cell, samples) = (&opened.dataset.cell, &opened.dataset.samples);
    let genes = cell.genes();
    let chosen = || -> Result<Vec<u32>, Fault> {
        Ok(match &request.genes {
            GeneChoice::Named(word) if word == "all" => (0..genes.len() as u32).collect(),
            GeneChoice::Named(word) if word == "measured" => {
                let measured: BTreeSet<u32> = samples.gene_sets().genes().iter().copied().collect();
                measured.into_iter().collect()
            }
            GeneChoice::Named(word) => {
                return Err(Fault::request(format!(
                    "unknown genes {word:?}; choose \"measured\", \"all\" or a list of names"
                )));
            }
            GeneChoice::Listed(names) => find_genes(names, genes, "genes")?,
        })
    };
    let choice = match &request.part {
        Some(part) => CandidateSpec::DatasetPart(part_of(part)?),
        None => CandidateSpec::Combinations {
            order: request.order,
            genes: chosen()?,
            with: find_genes(&request.with, genes, "with_genes")?,
        },
    };
    let filters = Filters {
        measured: request.not_measured,
        exclude: find_genes(&request.exclude, genes, "exclude")?,
        min_degree: request.min_degree,
    };
    let candidates = Candidates::new(choice, &filters, cell, samples, &opened.split)?;
    let scorer = opened.scorer();
    scorer.check_orders(&candidates.orders(), &opened.runs)?;
    let (labels, extremes) = (opened.runs[0].labels(), (request.top, request.bottom));
    let plan = Plan {
        schema: 1,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: "knockout.hits".to_owned(),
        runs: opened.runs.iter().map(|run| run.entry.clone()).collect(),
        dataset: DatasetEntry {
            hash: opened.dataset.manifest.data_hash(),
            folder: opened.dataset_folder.clone(),
        },
        candidates: candidates.description().clone(),
        keep: if request.keep_all {
            KeptPredictions::All
        } else {
            KeptPredictions::Extremes { top: request.top, bottom: request.bottom }
        },
        block: scorer.block(),
        histogram: HistogramScale::around(labels.mean, labels.sd),
        part: BlockShare::default(),
    };
    let folder = PredictionFolder::start(out, plan)?;
    let outcome =
        knockout_predict::predict(&folder, &candidates, &scorer, genes, extremes, &Cancellation(cancel))?;
    cancel.check();
    let Outcome::Finished(summary) = outcome else {
        return Err(Fault::failure("the prediction was stopped"));
    };
    let accuracy = RegimeAccuracy::of(&opened, &candidates.orders())?;
    let (top, bottom) = (summary.extremes.top(), summary.extremes.bottom());
    let notes = HitNotes::new(&opened.dataset, Some(&opened.split), top.iter().chain(&bottom));
    let files = write_hits(folder.path(), &summary, genes, &notes)?;
    let document = PredictionDocument::of(&folder, &summary, genes, &notes, &accuracy, files)
        .with_evidence(HitEvidence::of(&opened, &candidates, &summary.extremes, |usual| usual)?);
    let calibration = Calibration::of(&opened, &candidates.orders())?;
    let page = hits_page(&document, &folder, &summary, &opened, calibration.as_ref());
    Page::of(page, &document)
}

fn stop_of(cancel: &Cancel) -> Stop {
    let cancel = cancel.clone();
    Arc::new(move || cancel.is_set())
}

/// Converts CPU seconds to a budget.
fn budget_of(seconds: f64) -> Result<Duration, Fault> {
    let budget = Duration::try_from_secs_f64(seconds).ok();
    budget.ok_or_else(|| Fault::request(format!("a budget of {seconds} s of CPU time; name some seconds")))
}

/// Writes a page into a folder of runs.
fn write(out: &Path, name: &str, text: &str) -> Result<(), Fault> {
    Ok(Folder::at(out).replace(name, |file| file.write_all(text.as_bytes()))?)
}

/// Trains every model on every split, as `knockout benchmark` does.
#[pyfunction]
pub(crate) fn benchmark(
    py: Python<'_>,
    datasets: Vec<PathBuf>,
    out: PathBuf,
    schemes: Vec<String>,
    seeds: Vec<u64>,
    models: Vec<String>,
    settings: Vec<(String, String)>,
    budget: Option<f64>,
    resamples: usize,
) -> PyResult<Page> {
    workers::run(py, |cancel| {
        let scheme = |name: &String| {
            let found = Scheme::ALL.into_iter().find(|scheme| scheme.name() == name);
            found.ok_or_else(|| {
                let known = Scheme::ALL.map(Scheme::name).join(", ");
                Fault::request(format!("unknown split {name:?}; choose from {known}"))
            })
        };
        let models: Vec<BenchmarkModel> = if models.is_empty() {
            BenchmarkModel::usual()
        } else {
            models.iter().map(|name| BenchmarkModel::find(name)).collect::<Result<_, _>>()?
        };
        let request = BenchmarkRequest {
            datasets,
            schemes: schemes.iter().map(scheme).collect::<Result<_, _>>()?,
            seeds,
            models,
            settings,
            budget: budget.map(budget_of).transpose()?,
            out,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: knockout::COMMIT.to_owned(),
            bootstrap: Bootstrap { resamples, ..Bootstrap::default() },
        };
        let outcome = run_benchmark(&request, &stop_of(cancel), &mut |_| ())?;
        cancel.check();
        let document = BenchmarkDocument {
            schema: 1,
            out: &request.out,
            budget_seconds: budget,
            resamples,
            complete: !outcome.is_stopped,
            boards: &outcome.boards,
        };
        let page = Page::of(benchmark_page(&document), &document)?;
        write(&request.out, "table.md", &page.page().to_markdown())?;
        write(&request.out, "report.html", &page.page().to_html())?;
        Ok(page)
    })
}

/// Searches settings of a model on the validation part, as `knockout sweep` does. `axes` are `key=a,b,c`.
#[pyfunction]
pub(crate) fn sweep(
    py: Python<'_>,
    dataset: PathBuf,
    model: &str,
    out: PathBuf,
    axes: Vec<String>,
    budget: f64,
    keep_one_of: u32,
) -> PyResult<Page> {
    workers::run(py, |cancel| {
        let model = MODELS.iter().find(|entry| entry.name == model).copied().ok_or_else(|| {
            let known: Vec<&str> = MODELS.iter().map(|entry| entry.name).collect();
            Fault::request(format!("unknown model {model:?}; choose from {}", known.join(", ")))
        })?;
        let request = SweepRequest {
            dataset,
            model,
            axes: axes.iter().map(|text| text.parse::<Axis>()).collect::<Result<_, _>>()?,
            budget: budget_of(budget)?,
            keep_one_of,
            out,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: knockout::COMMIT.to_owned(),
        };
        let outcome = run_sweep(&request, &stop_of(cancel), &mut |_| ())?;
        cancel.check();
        let document = SweepDocument {
            sweep: &outcome.sweep,
            out: &request.out,
            complete: !outcome.is_stopped,
            ranking: &outcome.ranking,
        };
        let page = Page::of(sweep_page(&outcome, &request.dataset, &request.out), &document)?;
        write(&request.out, "report.html", &page.page().to_html())?;
        Ok(page)
    })
}
