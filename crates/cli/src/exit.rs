//! Exit codes are interface: documented in `--help`, one constant each, one test each.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;

/// The command finished.
pub(crate) const OK: u8 = 0;
/// Something unexpected failed: a disk, a bug.
pub(crate) const FAILED: u8 = 1;
/// The request cannot be carried out as it was made: a bad flag, a bad key, a missing file, an output that exists.
pub(crate) const REQUEST: u8 = 2;
/// An input file is damaged or not what it claims to be.
pub(crate) const DATA: u8 = 3;
/// Training diverged: a loss or a gradient is not finite.
#[cfg(feature = "lab")]
pub(crate) const DIVERGED: u8 = 4;
/// A comparison found a slowdown beyond the threshold.
pub(crate) const REGRESSED: u8 = 5;
/// The result is that of the readable part of a damaged input.
pub(crate) const PARTIAL: u8 = 6;
/// Two inputs cannot be compared fairly.
pub(crate) const INCOMPARABLE: u8 = 7;
/// The command was interrupted; what it had done is saved and can be gone on with.
#[cfg(feature = "lab")]
pub(crate) const INTERRUPTED: u8 = 8;

/// The table printed under every `--help`.
pub(crate) const HELP: &str = "\
EXIT CODES:
  0  finished
  1  unexpected failure (disk full, internal error)
  2  the request cannot be carried out (bad flag or key, missing file, output exists)
  3  damaged or wrong input
  4  training diverged: a loss or a gradient is not finite
  5  slower than the threshold of --fail-above
  6  partial result: the input is damaged, and what could be read was used
  7  not comparable: the conditions of the two inputs differ too much
  8  interrupted, but saved: say the same again, or train --resume, to go on";

/// A fault of the request itself; the message says what to do instead.
#[derive(Debug)]
pub(crate) struct RequestError(pub(crate) String);

impl std::fmt::Display for RequestError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RequestError {}

/// The result was printed, and yet the command did not simply succeed.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) code: u8,
    pub(crate) message: String,
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Verdict {}

/// The exit code of an error: that of the first cause in its chain that has a class of its own.
pub(crate) fn code_of(error: &anyhow::Error) -> u8 {
    error.chain().find_map(class_of).unwrap_or(FAILED)
}

fn class_of(cause: &(dyn std::error::Error + 'static)) -> Option<u8> {
    if cause.is::<RequestError>() {
        return Some(REQUEST);
    }
    if let Some(verdict) = cause.downcast_ref::<Verdict>() {
        return Some(verdict.code);
    }
    if let Some(error) = cause.downcast_ref::<knockout_trace::ReadError>() {
        return match error {
            knockout_trace::ReadError::Io(_) => None,
            _ => Some(DATA),
        };
    }
    if cause.is::<knockout_profile::RunDocumentError>() || cause.is::<knockout_analyze::logs::LogError>() {
        return Some(DATA);
    }
    #[cfg(feature = "lab")]
    return class_of_lab(cause);
    #[cfg(not(feature = "lab"))]
    None
}

#[cfg(feature = "lab")]
fn class_of_lab(cause: &(dyn std::error::Error + 'static)) -> Option<u8> {
    use knockout_batch::{BatchError, StoreError};
    use knockout_import::ImportError;
    use knockout_measure::MeasureError;
    use knockout_screen::{DatasetError, SplitFileError};
    use knockout_synth::SynthError;
    use knockout_train::config::ConfigError;
    use knockout_train::predictions::PredictionsError;
    use knockout_train::run::{RunError, RunFolderError};
    let by_fault = |is_request: bool, is_damage: bool| match (is_request, is_damage) {
        (true, _) => Some(REQUEST),
        (_, true) => Some(DATA),
        _ => None,
    };
    if let Some(error) = cause.downcast_ref::<DatasetError>() {
        return by_fault(error.is_request(), error.is_damage());
    }
    if let Some(error) = cause.downcast_ref::<ImportError>() {
        return by_fault(error.is_request(), error.is_damage());
    }
    if let Some(error) = cause.downcast_ref::<BatchError>() {
        return by_fault(error.is_request(), error.is_damage());
    }
    if let Some(error) = cause.downcast_ref::<StoreError>() {
        return by_fault(error.is_request(), error.is_damage());
    }
    if let Some(error) = cause.downcast_ref::<SplitFileError>() {
        return by_fault(error.is_request(), error.is_damage());
    }
    if let Some(error) = cause.downcast_ref::<PredictionsError>() {
        return by_fault(error.is_request(), error.is_damage());
    }
    if let Some(error) = cause.downcast_ref::<SynthError>() {
        return by_fault(
            matches!(error, SynthError::BadNumber { .. } | SynthError::TooManySamples(_)),
            false,
        );
    }
    if let Some(error) = cause.downcast_ref::<RunError>() {
        return match error {
            RunError::Folder(error) => by_fault(error.is_request(), error.is_damage()),
            RunError::Config(_)
            | RunError::OtherVersion { .. }
            | RunError::NoDataset { .. }
            | RunError::OtherDataset { .. }
            | RunError::Split(_) => Some(REQUEST),
            RunError::Fit(error) => class_of_fit(error),
            RunError::Store(error) => by_fault(error.source.is_request(), error.source.is_damage()),
            RunError::Dataset(error) => by_fault(error.is_request(), error.is_damage()),
            RunError::SplitFile(error) => by_fault(error.is_request(), error.is_damage()),
            RunError::Checkpoint(error) => by_fault(false, error.is_damage()),
            _ => None,
        };
    }
    if let Some(error) = cause.downcast_ref::<MeasureError>() {
        return match error {
            MeasureError::Folder { .. }
            | MeasureError::NoModel
            | MeasureError::Config(_)
            | MeasureError::NoSteps(_) => Some(REQUEST),
            MeasureError::Fit(error) => class_of_fit(error),
            MeasureError::Store(error) => by_fault(error.source.is_request(), error.source.is_damage()),
            _ => None,
        };
    }
    if let Some(error) = cause.downcast_ref::<RunFolderError>() {
        return by_fault(error.is_request(), error.is_damage());
    }
    if cause.is::<ConfigError>() {
        return Some(REQUEST);
    }
    if let Some(error) = cause.downcast_ref::<knockout_train::checkpoint::CheckpointError>() {
        return by_fault(false, error.is_damage());
    }
    by_fault(cause.is::<knockout_config::OverrideError>(), false)
}

#[cfg(feature = "lab")]
fn class_of_fit(error: &knockout_train::fit::FitError) -> Option<u8> {
    use knockout_train::fit::FitError as E;
    match error {
        E::Config(_) | E::EmptyPart { .. } | E::ConstantScores | E::Identity(_) => Some(REQUEST),
        E::Diverged { .. } => Some(DIVERGED),
        E::Batch(error) if error.is_request() => Some(REQUEST),
        E::Batch(error) if error.is_damage() => Some(DATA),
        _ => None,
    }
}

/// Runs a command; a panic, in any thread it waits for, becomes an error that asks for a report.
///
/// Panics that a library catches (some Parquet files make their reader panic) are errors already and say nothing here.
pub(crate) fn with_panics_as_errors(run: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    static LAST: Mutex<String> = Mutex::new(String::new());
    panic::set_hook(Box::new(|info| {
        if let Ok(mut last) = LAST.lock() {
            *last = info.to_string();
        }
    }));
    panic::catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        let last = LAST.lock().map(|last| last.clone()).unwrap_or_default();
        Err(anyhow::anyhow!(
            "internal error: {}; please report it with the command you ran",
            last.replace('\n', " ")
        ))
    })
}

/// Whether the reader of our output went away (`knockout … | head`), which is no failure.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_that_asks_for_a_report() {
        let error = with_panics_as_errors(|| panic!("the sky fell")).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("internal error: ") && text.contains("the sky fell"), "{text}");
        assert_eq!(code_of(&error), FAILED);
    }
}
