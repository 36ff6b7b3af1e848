//! Measuring the steps of a model: what `profile` and `experiment` share. It knows how a measurement is set up; what the
//! figures mean is computed in `knockout_profile`.

use crate::command::trace;
use crate::run_folder;
use crate::ui::Ui;
use indicatif::ProgressBar;
use knockout_analyze::Analysis;
use knockout_kernel::Isa;
use knockout_meter::Meter;
use knockout_profile::Conditions;
use knockout_screen::{Dataset, Part, Split};
use knockout_train::checkpoint::Contents;
use knockout_train::config::Config;
use knockout_train::fit::{EpochReport, Kept, Occasion, StepReport, Watch, Wish};
use knockout_train::run::Position;
use knockout_train::step::Mode;
use std::collections::BTreeMap;
use std::path::Path;

/// Under what conditions steps are measured.
pub(crate) fn conditions(
    dataset: &Dataset,
    split: &Split,
    config: &Config,
    mode: Mode,
    recording: Recording,
    keys: &[String],
) -> Conditions {
    Conditions {
        data: dataset.manifest.data_hash(),
        records: split.rows(Part::Train).len() as u64,
        batch: config.batch as u64,
        threads: rayon::current_num_threads() as u64,
        world: 1,
        precision: "f32".to_owned(),
        model: config.model.name().to_owned(),
        mode: mode.name().to_owned(),
        processor: config.processor().name().to_owned(),
        profiler: recording == Recording::On,
        commit: env!("KNOCKOUT_COMMIT").to_owned(),
        machine: format!("{} ({})", run_folder::processor(), Isa::current().name()),
        settings: settings(keys),
    }
}

/// Whether spans are recorded meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recording {
    On,
    Off,
}

fn settings(keys: &[String]) -> BTreeMap<String, String> {
    keys.iter()
        .filter_map(|key| key.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

/// The analysis of a trace that was recorded: its spans as a page draws them.
pub(crate) fn recorded(trace: &Path, ui: &Ui) -> anyhow::Result<Analysis> {
    Ok(trace::analyze_recorded(trace, ui)?.with_steps_added_up())
}

/// Lets steps go by, and a bar with them.
pub(crate) struct Passing<'a> {
    pub(crate) bar: &'a ProgressBar,
}

impl Watch for Passing<'_> {
    fn step(&mut self, _: &StepReport<'_>) -> Kept<Wish> {
        self.bar.inc(1);
        Ok(Wish::GoOn)
    }

    fn epoch(&mut self, _: &EpochReport<'_>) -> Kept<()> {
        Ok(())
    }

    fn position(&mut self) -> Kept<Position> {
        Ok(Position::START)
    }

    fn keep(&mut self, _: Occasion, _: &Contents<'_>) -> Kept<()> {
        Ok(())
    }
}

/// A meter whose figures a test can spoil on purpose: `KNOCKOUT_TEST_DELAY=forward:20` makes that phase longer by as many
/// milliseconds. Not in release builds.
#[cfg(debug_assertions)]
pub(crate) fn delayed(meter: Meter) -> Meter {
    let asked = std::env::var("KNOCKOUT_TEST_DELAY").unwrap_or_default();
    let delay = asked.split_once(':').and_then(|(phase, millis)| {
        let time = std::time::Duration::from_millis(millis.parse().ok()?);
        Some((knockout_meter::StepPhase::from_name(phase)?, time))
    });
    match delay {
        Some((phase, time)) => meter.delayed(phase, time),
        None => meter,
    }
}

/// Release builds measure what there is.
#[cfg(not(debug_assertions))]
pub(crate) fn delayed(meter: Meter) -> Meter {
    meter
}
