//! The subject of a measurement, and its conditions.

use knockout_analyze::profile::{Conditions, Measured};
use knockout_base::error::Result;
use knockout_data::batch::Store;
use knockout_data::screen::{Dataset, Part, Split};
use knockout_engine::kernel::Isa;
use knockout_ranks::Ranks;
use knockout_trace::meter::{Meter, Schedule};
use knockout_trace::{Recorder, RecorderOptions, TraceFile};
use knockout_train::config::Config;
use knockout_train::fit::Fit;
use knockout_train::machine;
use knockout_train::step::Mode;
use knockout_train::stores::Stores;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// The data that configurations are measured on: all take the same batches.
#[derive(Debug)]
pub struct Subject {
    dataset: Arc<Dataset>,
    split: Arc<Split>,
    stores: Stores,
    /// Commit of the program that measures.
    commit: String,
    /// The processes that share the work of every step.
    ranks: Ranks,
}

/// The clock of a whole measurement: its date and its duration.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch {
    date: SystemTime,
    began: Instant,
}

impl Stopwatch {
    /// Begins to measure.
    pub fn start() -> Self {
        Self { date: SystemTime::now(), began: Instant::now() }
    }

    /// Returns the time since the start.
    pub fn elapsed(self) -> Duration {
        self.began.elapsed()
    }

    /// Returns the date and the duration until now.
    pub fn measured(self) -> Measured {
        let began = humantime::format_rfc3339_seconds(self.date).to_string();
        Measured { began, took_s: self.elapsed().as_secs_f64() }
    }
}

/// Whether spans are recorded meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recording {
    /// Into a trace.
    On,
    /// Phases alone are timed.
    Off,
}

impl Subject {
    /// A dataset and how it is split. `commit` is that of the program that measures.
    pub fn new(dataset: Arc<Dataset>, split: Arc<Split>, commit: &str) -> Self {
        Self { dataset, split, stores: Stores::default(), commit: commit.to_owned(), ranks: Ranks::alone() }
    }

    /// Measures on several processes, each of which makes the same calls.
    #[must_use]
    pub fn on_ranks(mut self, ranks: &Ranks) -> Self {
        self.ranks = ranks.clone();
        self
    }

    /// The processes that share the work.
    pub(crate) fn ranks(&self) -> &Ranks {
        &self.ranks
    }

    /// Number of samples to draw from.
    pub(crate) fn records(&self) -> usize {
        self.split.rows(Part::Train).len()
    }

    /// The dataset.
    pub fn dataset(&self) -> &Dataset {
        &self.dataset
    }

    /// Opens what the loader of a configuration reads, before anything is measured.
    pub fn open_store(&mut self, config: &Config, dataset_folder: &Path) -> Result<()> {
        let rows = self.split.rows(Part::Train);
        self.stores.for_run(config, dataset_folder, &self.dataset, rows)?;
        Ok(())
    }

    fn store(&self, config: &Config) -> Option<&Arc<Store>> {
        self.stores.of(config.processor())
    }

    /// Builds the model of a configuration.
    pub(crate) fn fit(&self, config: &Config) -> Result<Fit> {
        let fit = Fit::new(config.clone(), Arc::clone(&self.dataset), Arc::clone(&self.split))?;
        fit.with_store(self.store(config)).on_ranks(self.ranks.clone())
    }

    /// Returns the conditions under which steps of a configuration are measured.
    pub(crate) fn conditions(&self, config: &Config, mode: Mode, recording: Recording) -> Result<Conditions> {
        let records = self.records();
        Ok(Conditions {
            data: self.dataset.manifest.data_hash(),
            records: records as u64,
            // No batch holds more samples than there are.
            batch: config.batch.min(records) as u64,
            threads: rayon::current_num_threads() as u64,
            world: self.ranks.size() as u64,
            precision: "f32".to_owned(),
            model: config.model.name().to_owned(),
            mode: mode.name().to_owned(),
            processor: config.processor().name().to_owned(),
            profiler: recording == Recording::On,
            commit: self.commit.clone(),
            machine: format!("{} ({})", machine::cpu(), Isa::current().name()),
            settings: config.conditions(&self.dataset.cell)?,
        })
    }

    /// A meter for steps under these conditions, of this rank. Where spans are recorded and there is a folder, they become a trace in it.
    pub(crate) fn meter(
        &self,
        schedule: Schedule,
        recording: Recording,
        trace_folder: Option<&Path>,
        conditions: &Conditions,
    ) -> Result<Meter> {
        let recorder = match recording {
            Recording::Off => Recorder::off(),
            Recording::On => {
                let (rank, world) = (self.ranks.rank(), self.ranks.size());
                Recorder::new(RecorderOptions { rank, world, ..RecorderOptions::default() })
            }
        };
        let meter = delayed(Meter::new(&recorder, schedule).with_memory());
        Ok(match trace_folder.filter(|_| recording == Recording::On) {
            Some(folder) => meter.with_trace(TraceFile::create(folder, &recorder, conditions.to_map())?),
            None => meter,
        })
    }
}

/// Returns a meter that a test can slow down: `KNOCKOUT_TEST_DELAY=forward:20` makes that phase longer by as many
/// milliseconds. Not in release builds.
#[cfg(debug_assertions)]
fn delayed(meter: Meter) -> Meter {
    let asked = std::env::var("KNOCKOUT_TEST_DELAY").unwrap_or_default();
    let delay = asked.split_once(':').and_then(|(phase, millis)| {
        let time = std::time::Duration::from_millis(millis.parse().ok()?);
        Some((knockout_trace::meter::StepPhase::from_name(phase)?, time))
    });
    match delay {
        Some((phase, time)) => meter.delayed(phase, time),
        None => meter,
    }
}

/// Returns a meter without added delays.
#[cfg(not(debug_assertions))]
fn delayed(meter: Meter) -> Meter {
    meter
}
