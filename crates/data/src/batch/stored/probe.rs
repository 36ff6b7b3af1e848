//! The time that a store will take, measured on a few samples.

use super::header::{Origin, StoredForm};
use super::write::StoreWriter;
use knockout_base::error::{Context as _, Result};
use knockout_base::files::StagedFolder;
use std::path::Path;
use std::time::{Duration, Instant};

/// The time of storing a few samples on the same disk; they are removed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// Number of samples written.
    pub samples: usize,
    /// Time it took, with everything durable.
    pub wall: Duration,
}

impl Probe {
    /// Most samples of a probe, and the time after which it ends.
    const SAMPLES: usize = 256;
    const ENOUGH: Duration = Duration::from_millis(500);

    /// Stores samples from all over the choice beside `folder`, out of sight.
    pub fn run(folder: &Path, origin: Origin<'_>, form: StoredForm, rows: &[u32]) -> Result<Self> {
        let mut name = folder.file_name().unwrap_or_default().to_owned();
        name.push(".probe");
        let scratch = StagedFolder::create(&folder.with_file_name(name)).in_file(folder)?;
        let step = rows.len().div_ceil(Self::SAMPLES).max(1);
        let chosen: Vec<u32> = rows.iter().copied().step_by(step).collect();
        let mut writer = StoreWriter::open(scratch.below("store"), origin, form, &chosen)?;
        let started = Instant::now();
        while !writer.header().is_complete() && started.elapsed() < Self::ENOUGH {
            writer.step()?;
        }
        Ok(Self { samples: writer.header().done, wall: started.elapsed() })
    }

    /// The time for this many samples.
    pub fn time_for(&self, samples: usize) -> Duration {
        self.wall.mul_f64(samples as f64 / self.samples.max(1) as f64)
    }
}
