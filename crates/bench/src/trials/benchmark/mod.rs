//! Every model on every split of every dataset, each within the same budget of CPU time.
//!
//! ```text
//! OUT/DATASET/random-0/dango/          the run, as `train` makes it
//!                      dango.parquet   its predictions for the test part
//!                      dango.json      its figures; written last
//! ```

mod cell;
mod leaderboard;
mod model;

pub use cell::CellResult;
pub use leaderboard::{Against, Leaderboard, LeaderboardRow, LeftOut};
pub use model::{BenchmarkModel, ModelKind};

use crate::trials::trial::{Stop, TrialProgress};
use cell::CellPlan;
use knockout_base::error::{Error, Result};
use knockout_base::files::Folder;
use knockout_base::stats::bootstrap::Bootstrap;
use knockout_data::screen::{Dataset, Division, Scheme, Split, SplitSpec};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A benchmark to run.
#[derive(Debug, Clone)]
pub struct BenchmarkRequest {
    /// Folders of datasets.
    pub datasets: Vec<PathBuf>,
    /// Schemes of the splits; one that does not apply to a dataset is left out there.
    pub schemes: Vec<Scheme>,
    /// Seeds of the splits and of the models.
    pub seeds: Vec<u64>,
    /// Models and baselines.
    pub models: Vec<BenchmarkModel>,
    /// Changes of a model's settings: its name, and `key=value`.
    pub settings: Vec<(String, String)>,
    /// CPU time that a trained model may use on a split; solved models and baselines take what they need.
    pub budget: Option<Duration>,
    /// Folder of the runs and figures; one that exists is resumed.
    pub out: PathBuf,
    /// Version of the program.
    pub version: String,
    /// Commit it was built from.
    pub commit: String,
    /// Settings of the bootstrap intervals.
    pub bootstrap: Bootstrap,
}

/// Progress of a benchmark.
#[derive(Debug, Clone, Copy)]
pub enum BenchmarkProgress<'a> {
    /// A cell begins or is already done.
    Cell {
        /// Its name.
        name: &'a str,
        /// Cells before it.
        done: usize,
        /// Cells in all, at most.
        of: usize,
    },
    /// A run trains.
    Run(TrialProgress<'a>),
}

/// The result of a benchmark.
#[derive(Debug, Clone)]
pub struct BenchmarkOutcome {
    /// A table for every dataset and scheme.
    pub boards: Vec<Leaderboard>,
    /// Whether it was stopped before all cells were done.
    pub is_stopped: bool,
}

/// Trains the cells that are not done yet and compares all of them.
pub fn run(
    request: &BenchmarkRequest,
    stop: &Stop,
    on_progress: &mut dyn FnMut(BenchmarkProgress<'_>),
) -> Result<BenchmarkOutcome> {
    Folder::at(&request.out).make()?;
    let of = request.datasets.len() * request.schemes.len() * request.seeds.len() * request.models.len();
    let mut work = BenchmarkRun { request, stop, on_progress, done: 0, of, boards: Vec::new() };
    let mut is_stopped = false;
    for (folder, folder_name) in request.datasets.iter().zip(folder_names(&request.datasets)) {
        let dataset = Arc::new(Dataset::open(folder)?);
        for &scheme in &request.schemes {
            is_stopped = is_stopped || !work.scheme(folder, &folder_name, &dataset, scheme)?;
        }
    }
    if work.boards.iter().all(|board| board.rows.is_empty()) && !is_stopped {
        let reasons = work.boards.iter().flat_map(|board| &board.left_out);
        let reasons =
            reasons.map(|left_out| format!("{}: {}", left_out.name, left_out.why)).collect::<Vec<_>>();
        let reasons = reasons.join("; ");
        return Err(Error::request(format!("no model can be trained: {reasons}")));
    }
    Ok(BenchmarkOutcome { boards: work.boards, is_stopped })
}

/// Returns the folder of a dataset's split.
fn cell_folder(request: &BenchmarkRequest, folder_name: &str, scheme: Scheme, seed: u64) -> Folder {
    Folder::at(&request.out).below(folder_name).below(format!("{}-{seed}", scheme.name()))
}

/// Returns a distinct folder name for every dataset.
fn folder_names(datasets: &[PathBuf]) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let folder_name = |folder: &PathBuf| {
        let path = std::path::absolute(folder).unwrap_or_else(|_| folder.clone());
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.split_whitespace().collect::<Vec<_>>().join("-")
    };
    let mut numbered = |folder_name: String| {
        let count = seen.entry(folder_name.clone()).or_default();
        *count += 1;
        if *count == 1 { folder_name } else { format!("{folder_name}-{count}") }
    };
    datasets.iter().map(folder_name).map(&mut numbered).collect()
}

struct BenchmarkRun<'a> {
    request: &'a BenchmarkRequest,
    stop: &'a Stop,
    on_progress: &'a mut dyn FnMut(BenchmarkProgress<'_>),
    done: usize,
    of: usize,
    boards: Vec<Leaderboard>,
}

impl BenchmarkRun<'_> {
    /// Runs the cells of one dataset and scheme; returns whether all of them are done.
    fn scheme(
        &mut self,
        folder: &Path,
        folder_name: &str,
        dataset: &Arc<Dataset>,
        scheme: Scheme,
    ) -> Result<bool> {
        let request = self.request;
        let mut left_out: Vec<LeftOut> = Vec::new();
        let mut splits = Vec::new();
        for &seed in &request.seeds {
            let spec =
                SplitSpec { scheme, division: Division::default(), seed, subset: None, train_subset: None };
            match Split::new(&dataset.samples, dataset.cell.genes(), spec) {
                Ok(split) => splits.push(Arc::new(split)),
                // A screen without query pairs has no pair-disjoint split, whatever the seed.
                Err(error) if splits.is_empty() => {
                    left_out.push(LeftOut { name: scheme.name().to_owned(), why: error.to_string() });
                    break;
                }
                Err(error) => {
                    let message = format!("cannot split {}", folder.display());
                    return Err(Error::request(message).caused_by(error));
                }
            }
        }
        let mut results: Vec<Vec<CellResult>> = Vec::new();
        let mut is_whole = true;
        for model in &request.models {
            let mut of_contestant = Vec::new();
            for split in &splits {
                let cell = cell_folder(request, folder_name, scheme, split.spec().seed);
                let name = format!("{folder_name} {} {} {}", scheme.name(), split.spec().seed, model.name());
                (self.on_progress)(BenchmarkProgress::Cell { name: &name, done: self.done, of: self.of });
                self.done += 1;
                let plan = CellPlan { name, folder: cell, dataset_folder: folder, dataset, split, request };
                let cell = match plan.prepare(*model) {
                    Ok(cell) => cell,
                    Err(why) => {
                        left_out.push(LeftOut { name: model.name().to_owned(), why });
                        break;
                    }
                };
                let report =
                    &mut |report: TrialProgress<'_>| (self.on_progress)(BenchmarkProgress::Run(report));
                match cell.result(self.stop, report)? {
                    Some(result) => of_contestant.push(result),
                    None => is_whole = false,
                }
            }
            results.push(of_contestant);
        }
        self.boards.push(Leaderboard::of(
            folder_name,
            dataset,
            scheme,
            request,
            &splits,
            &results,
            left_out,
        )?);
        Ok(is_whole)
    }
}
