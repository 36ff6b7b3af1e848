//! The check of any bytes as a file of a run's folder: an error, or a value to resume from. Shared by the fuzz target
//! `run_files` and by `tests/replay.rs`.
//!
//! Prediction and split files are not among them: a panic inside the Parquet reader is caught and becomes an error, which a
//! fuzzer cannot see past.

use knockout_models::MODELS;
use knockout_train::checkpoint::{Checkpoint, Files, LogPosition, decode, load};
use knockout_train::config::Config;
use knockout_train::run::{MetricsLog, RunFolder, read_metrics};
use std::fs;
use std::path::Path;

/// No tensors, as safetensors writes it.
pub(crate) const NO_TENSORS: &[u8] = b"\x08\0\0\0\0\0\0\0{}      ";

/// The file that the bytes are taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunFileKind {
    /// `weights.safetensors`.
    Weights,
    /// `optimiser.safetensors`.
    Optimiser,
    /// `buffers.safetensors`.
    Buffers,
    /// `state.json`.
    State,
    /// A checkpoint's `manifest.json`.
    Sums,
    /// A run's `manifest.json`.
    Manifest,
    /// `metrics.jsonl`, and where a checkpoint left it.
    Metrics,
    /// `config.toml`.
    Config,
}

impl RunFileKind {
    /// In the order of the first byte of an input.
    pub(crate) const ALL: [Self; 8] = [
        Self::Weights,
        Self::Optimiser,
        Self::Buffers,
        Self::State,
        Self::Sums,
        Self::Manifest,
        Self::Metrics,
        Self::Config,
    ];
}

/// Checks an input whose first byte selects the file; returns whether the bytes were accepted. `folder` is scratch space.
pub(crate) fn ask(input: &[u8], folder: &Path) -> bool {
    let Some((&first, bytes)) = input.split_first() else { return false };
    match RunFileKind::ALL[usize::from(first) % RunFileKind::ALL.len()] {
        RunFileKind::Weights => decoded(&Files { weights: bytes, ..empty() }),
        RunFileKind::Optimiser => decoded(&Files { optimiser: bytes, ..empty() }),
        RunFileKind::Buffers => decoded(&Files { buffers: bytes, ..empty() }),
        RunFileKind::State => decoded(&Files { state: bytes, ..empty() }),
        RunFileKind::Sums => {
            fs::write(folder.join("manifest.json"), bytes).expect("scratch space takes a file");
            let error = load(folder).expect_err("the files that it lists are not there");
            assert!(!error.to_string().is_empty());
            false
        }
        RunFileKind::Manifest => {
            fs::write(folder.join("manifest.json"), bytes).expect("scratch space takes a file");
            RunFolder::read_manifest(folder).is_ok()
        }
        RunFileKind::Metrics => metrics(bytes, folder),
        RunFileKind::Config => config(bytes),
    }
}

/// A state without tensors, as `seeds_run` has it.
const STATE: &[u8] = include_bytes!("../../../../../fuzz/seeds_run/state_constant");

fn empty() -> Files<'static> {
    Files { weights: NO_TENSORS, optimiser: NO_TENSORS, buffers: NO_TENSORS, state: &STATE[1..] }
}

fn decoded(files: &Files<'_>) -> bool {
    let longest = files.weights.len() + files.optimiser.len() + files.buffers.len();
    let Ok(checkpoint) = decode(files) else { return false };
    let Checkpoint { weights, first_moments, second_moments, buffers, state, .. } = checkpoint;
    let tensors = [weights, first_moments, second_moments, buffers].concat();
    let held: usize = tensors.iter().map(|tensor| 4 * tensor.values.len()).sum();
    assert!(held <= longest, "{held} bytes of values from {longest}");
    for tensor in &tensors {
        assert_eq!(tensor.shape.iter().product::<usize>(), tensor.values.len(), "{}", tensor.name);
    }
    // A run resumes from here for some epochs.
    let (mut rate, mut stopping, place) = (state.learning_rate, state.early_stopping, state.position);
    let mut best: Vec<_> = state.best.into_values().collect();
    let now = rate.rate();
    assert!(now.is_finite() && now >= 0.0, "rate {now}");
    for epoch in 0..4 {
        rate.rate();
        rate.end_epoch(f64::from(epoch % 2));
        for best in &mut best {
            best.observe(epoch, 0.5);
        }
        stopping.as_mut().map(|stopping| stopping.observe(epoch, 0.5));
    }
    assert!(place.step.checked_add(1).is_some() && place.optimiser_step.checked_add(1).is_some());
    state.identity.check(&state.identity).expect("a run is itself");
    true
}

fn metrics(bytes: &[u8], folder: &Path) -> bool {
    let Some((&[bytes_before, lines_before], text)) = bytes.split_first_chunk::<2>() else { return false };
    let from = LogPosition { bytes: u64::from(bytes_before), lines: u64::from(lines_before), blake3: None };
    let path = folder.join("metrics.jsonl");
    fs::write(&path, text).expect("scratch space takes a file");
    read_metrics(folder).ok();
    let Ok((mut log, _)) = MetricsLog::resume(folder, from) else { return false };
    log.append(&1).expect("scratch space takes a line");
    let kept = fs::read(&path).expect("it was just written");
    let kept = kept.strip_suffix(b"1\n").expect("the new line is the last");
    assert!(
        text.starts_with(kept) && kept.len() as u64 <= from.bytes,
        "only lines before the place are kept"
    );
    assert!(kept.is_empty() || kept.ends_with(b"\n"));
    true
}

fn config(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let Ok(config) = Config::from_toml(text, MODELS) else { return false };
    // None of these may fail in another way than by an error.
    config.optimiser.learning_rate().ok();
    config.optimiser.accumulation().ok();
    config.split.spec();

    let identity = config.identity("genes");
    assert!(config.differences_beside_seed("genes", (&config, "genes")).is_empty() || text.contains("nan"));
    assert_eq!(identity.config_hash(), config.identity("genes").config_hash());
    true
}
