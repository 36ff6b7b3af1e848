//! Progress of a solver, and the state that it saves at intervals.

use crate::checkpoint::{load_tensors, save_tensors};
use knockout_base::error::{Error, Result};
use knockout_base::files::Folder;
use knockout_solve::{SolveObserver, Tensor, TriedSetting};
use std::time::Instant;

/// Folder of the solver's state in a run's folder.
pub(super) const SOLVING: &str = "solving";
/// Seconds between two saves.
const SAVE_SECONDS: f64 = 60.0;

/// Observes a run being solved.
pub(super) trait SolveProgress {
    /// Called with every setting that was tried on the validation part.
    fn setting(&mut self, tried: TriedSetting);

    /// Called at every step of a long computation: its name, and the number of the step.
    fn step(&mut self, _what: &str, _step: usize) {}
}

/// Saves the solver's state in a folder of a run at intervals.
pub(super) struct SolveCheckpoints<'a> {
    run: &'a Folder,
    /// Relative to the run.
    folder: &'a str,
    progress: &'a mut dyn SolveProgress,
    last: Instant,
    failed: Option<Error>,
}

impl<'a> SolveCheckpoints<'a> {
    pub(super) fn new(run: &'a Folder, folder: &'a str, progress: &'a mut dyn SolveProgress) -> Self {
        Self { run, folder, progress, last: Instant::now(), failed: None }
    }

    /// Returns the error of a save that failed.
    pub(super) fn end(self) -> Result<()> {
        self.failed.map_or(Ok(()), Err)
    }

    fn name(&self, part: &str) -> String {
        format!("{}/{part}.tensors", self.folder)
    }
}

impl SolveObserver for SolveCheckpoints<'_> {
    fn on_setting(&mut self, tried: TriedSetting) {
        self.progress.setting(tried);
    }

    fn on_step(&mut self, what: &str, step: usize) {
        self.progress.step(what, step);
    }

    fn is_save_due(&mut self) -> bool {
        self.last.elapsed().as_secs_f64() >= SAVE_SECONDS
    }

    fn save(&mut self, part: &'static str, state: Vec<Tensor>) {
        if let Err(error) = save_tensors(self.run, &self.name(part), &state) {
            self.failed = Some(error);
        }
        self.last = Instant::now();
    }

    fn saved(&mut self, part: &'static str) -> Option<Vec<Tensor>> {
        load_tensors(self.run, &self.name(part))
    }
}
