//! Reads from memory by phase: samples of a hardware event that was checked against reads of a known size.

use super::functions::{FunctionSamples, SpanFunctions};
use knockout_base::stats::share;
use serde::{Deserialize, Serialize};

/// A checked event counts at least and at most these shares of the bytes that are read from memory. Other programs share the caches.
const STREAMED: std::ops::RangeInclusive<f64> = 0.7..=1.4;
/// Of bytes that the caches hold, it counts at most this share.
const MOST_CACHED: f64 = 0.2;

/// Reads from memory, or the reason why they are not known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryReads {
    /// They were counted.
    Counted(CountedReads),
    /// They were not.
    NotCounted(NotCounted),
}

/// Reason why reads from memory are not counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum NotCounted {
    /// The processor, its hypervisor or the kernel does not have the event.
    Unsupported {
        /// The event.
        event: String,
    },
    /// The event does not count what is read from memory.
    Miscounts {
        /// The event.
        event: String,
        /// Fraction of a known number of bytes that it counted.
        counted: f64,
    },
    /// The event also counts reads that caches answer.
    CountsCached {
        /// The event.
        event: String,
        /// Fraction of a known number of cached bytes that it counted.
        counted: f64,
    },
}

/// Reads of a known size, and the samples of an event meanwhile.
#[derive(Debug, Clone, Copy)]
pub struct KnownReads {
    /// Bytes that were read.
    pub bytes: u64,
    /// Samples of the event.
    pub samples: u64,
}

impl KnownReads {
    fn counted(self, bytes_per_sample: u64) -> f64 {
        share((self.samples * bytes_per_sample) as f64, self.bytes as f64)
    }
}

/// An event that was found to count what is read from memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReadCounter {
    /// The event.
    pub event: String,
    /// Bytes that a sample stands for.
    pub bytes_per_sample: u64,
    /// Fraction of a known number of bytes that it counted.
    pub counted: f64,
    /// Bytes per second that the threads read in a loop.
    pub peak_bytes_per_s: f64,
}

impl ReadCounter {
    /// Checks an event: it must count a block that no cache holds, and must not count one that the last cache holds.
    pub fn check(
        event: &str,
        bytes_per_sample: u64,
        streamed: KnownReads,
        cached: KnownReads,
        peak_bytes_per_s: f64,
    ) -> Result<Self, NotCounted> {
        let event = event.to_owned();
        let counted = streamed.counted(bytes_per_sample);
        if !STREAMED.contains(&counted) {
            return Err(NotCounted::Miscounts { event, counted });
        }
        let of_cached = cached.counted(bytes_per_sample);
        if of_cached > MOST_CACHED {
            return Err(NotCounted::CountsCached { event, counted: of_cached });
        }
        Ok(Self { event, bytes_per_sample, counted, peak_bytes_per_s })
    }
}

/// Reads from memory in the measured steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CountedReads {
    /// How they were counted.
    #[serde(flatten)]
    pub counter: ReadCounter,
    /// By phase, in the order of a step, then in no phase.
    pub phases: Vec<PhaseReads>,
}

/// Reads from memory in a phase. They include lines that are fetched to be written, and leave out lines written back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseReads {
    /// Name of the phase.
    pub name: String,
    /// Samples in all measured steps.
    pub samples: u64,
    /// Bytes per step.
    pub bytes: f64,
    /// Bytes per second of the phase's wall time.
    pub bytes_per_s: f64,
    /// Their rate as a fraction of the peak.
    pub share_of_peak: f64,
    /// Function with the most of them.
    pub function: String,
}

impl CountedReads {
    /// Returns the reads of the phases of so many steps, given the samples of the event and the seconds that a phase takes per step.
    pub(super) fn of(
        counter: ReadCounter,
        samples: &FunctionSamples,
        wall_s: impl Fn(&str) -> Option<f64>,
        steps: u64,
    ) -> Self {
        let row = |found: &SpanFunctions| {
            let wall_s = wall_s(&found.name)?;
            // By the scale of the peak: the event counts a known share of the bytes.
            let bytes =
                share((found.samples * counter.bytes_per_sample) as f64, counter.counted * steps as f64);
            let bytes_per_s = share(bytes, wall_s);
            Some(PhaseReads {
                name: found.name.clone(),
                samples: found.samples,
                bytes,
                bytes_per_s,
                share_of_peak: share(bytes_per_s, counter.peak_bytes_per_s),
                function: found.functions.first().map(|row| row.name.clone()).unwrap_or_default(),
            })
        };
        let phases = samples.phases.iter().filter_map(row).collect();
        Self { counter, phases }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn check(streamed: u64, cached: u64) -> Result<ReadCounter, NotCounted> {
        // A sample stands for 1 MiB; 1,000 MiB were read from memory, and 100 MiB from a cache.
        let known = |bytes, samples| KnownReads { bytes, samples };
        ReadCounter::check("misses", MIB, known(1_000 * MIB, streamed), known(100 * MIB, cached), 2e10)
    }

    #[test]
    fn an_event_is_used_only_where_it_counts_reads_from_memory_and_no_others() {
        let event = || "misses".to_owned();
        let counter =
            ReadCounter { event: event(), bytes_per_sample: MIB, counted: 0.95, peak_bytes_per_s: 2e10 };
        assert_eq!(check(950, 5), Ok(counter));
        // Demand loads alone, where the hardware fetches most lines ahead.
        assert_eq!(check(120, 0), Err(NotCounted::Miscounts { event: event(), counted: 0.12 }));
        assert_eq!(check(2_000, 0), Err(NotCounted::Miscounts { event: event(), counted: 2.0 }));
        // Misses of a cache before the last one.
        assert_eq!(check(1_000, 90), Err(NotCounted::CountsCached { event: event(), counted: 0.9 }));
        assert_eq!(check(0, 0), Err(NotCounted::Miscounts { event: event(), counted: 0.0 }));
    }
}
