//! Rate at which memory can be read, and the check of a hardware event that counts reads.

use crate::measure::perf::{BYTES_PER_READ_SAMPLE, ReadEvents};
use knockout_analyze::profile::{KnownReads, NotCounted, ReadCounter};
use knockout_base::error::Result;
use knockout_base::memory;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

/// A block to stream has at least so many bytes, and this many times those of the last cache.
const LEAST_STREAMED: u64 = 256 << 20;
const TIMES_LAST_CACHE: u64 = 2;
/// Times that it is read; the shortest counts.
const PASSES: u64 = 4;
/// Bytes that are read in all of a block that the last cache holds.
const CACHED_READS: u64 = 1 << 30;
const WORD: u64 = 8;

/// Sizes of the last two caches.
#[derive(Debug, Clone, Copy)]
struct Caches {
    last_but_one: u64,
    last: u64,
    /// All last caches of the machine together: cores may share several.
    all_last: u64,
}

/// A block of memory to read.
struct Block(Vec<u64>);

impl Block {
    fn new(bytes: u64) -> Self {
        let words = (bytes / WORD) as usize;
        Self((0..words).into_par_iter().map(|word| word as u64).collect())
    }

    fn bytes(&self) -> u64 {
        self.0.len() as u64 * WORD
    }

    /// Reads it with all threads of the present pool.
    fn read(&self) {
        let of_a_thread = self.0.len().div_ceil(rayon::current_num_threads()).max(1);
        self.0.par_chunks(of_a_thread).for_each(sum);
    }
}

fn sum(words: &[u64]) {
    black_box(words.iter().fold(0u64, |sum, word| sum.wrapping_add(*word)));
}

/// Measures how many bytes per second the threads of the present pool read together from memory, of blocks that no cache holds. Takes some
/// tenths of a second.
pub fn peak_read_bytes_per_s() -> f64 {
    stream(&Block::new(streamed_bytes(caches())))
}

/// Reads a block in several passes, and returns the bytes per second of the fastest.
fn stream(block: &Block) -> f64 {
    let seconds = |_| {
        let start = Instant::now();
        block.read();
        start.elapsed().as_secs_f64()
    };
    block.bytes() as f64 / (0..PASSES).map(seconds).fold(f64::INFINITY, f64::min)
}

/// Checks whether events count what is read from memory; their samples are in the folder for as long.
pub(crate) fn check(
    events: &ReadEvents,
    folder: &Path,
) -> Result<std::result::Result<ReadCounter, NotCounted>> {
    if !events.are_supported()? {
        return Ok(Err(NotCounted::Unsupported { event: events.name().to_owned() }));
    }
    let caches = caches();
    let block = Block::new(streamed_bytes(caches));
    let mut peak = 0.0;
    let samples = events.count(folder, || peak = stream(&block))?;
    let streamed = KnownReads { bytes: block.bytes() * PASSES, samples };
    // Larger than the caches of a core, and smaller than the one that cores share.
    let block = Block::new((2 * caches.last_but_one).min(caches.last / 2));
    let rounds = CACHED_READS.div_ceil(block.bytes().max(1));
    sum(&block.0);
    let samples = events.count(folder, || (0..rounds).for_each(|_| sum(&block.0)))?;
    let cached = KnownReads { bytes: block.bytes() * rounds, samples };
    Ok(ReadCounter::check(events.name(), BYTES_PER_READ_SAMPLE, streamed, cached, peak))
}

/// Returns the size of a block that no cache holds, unless memory is short.
fn streamed_bytes(caches: Caches) -> u64 {
    let wanted = LEAST_STREAMED.max(TIMES_LAST_CACHE * caches.all_last);
    memory::available_bytes().map_or(wanted, |free| wanted.min(free / 4))
}

/// Returns the sizes of the first core's caches; usual sizes where Linux does not state them.
fn caches() -> Caches {
    let read = |core: usize, index: usize, what: &str| {
        fs::read_to_string(format!("/sys/devices/system/cpu/cpu{core}/cache/index{index}/{what}")).ok()
    };
    // The first two are those of data and instructions of a core.
    let mut sizes: Vec<u64> =
        (0..8).map_while(|index| parse_size(&read(0, index, "size")?)).skip(2).collect();
    let last_index = sizes.len() + 1;
    let last = sizes.pop().unwrap_or(32 << 20);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let sharing = (0..cores).filter_map(|core| read(core, last_index, "shared_cpu_list"));
    let count = sharing.collect::<BTreeSet<String>>().len().max(1) as u64;
    Caches { last_but_one: sizes.pop().unwrap_or(1 << 20).min(last), last, all_last: count * last }
}

/// Reads a size such as `1024K`.
fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let unit = text.find(|char: char| !char.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit);
    let shift = match unit {
        "" => 0,
        "K" => 10,
        "M" => 20,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_read_at_a_rate_and_is_larger_than_the_caches() {
        let caches = Caches { last_but_one: 1 << 20, last: 256 << 20, all_last: 512 << 20 };
        assert!(streamed_bytes(caches) <= 2 << 30);
        assert!(stream(&Block::new(1 << 20)) > 0.0);
    }

    #[test]
    fn sizes_of_caches_are_those_that_linux_states() {
        for (text, size) in [
            ("1024K\n", Some(1 << 20)),
            ("36M", Some(36 << 20)),
            ("512", Some(512)),
            ("", None),
            ("12G", None),
            ("K", None),
        ] {
            assert_eq!(parse_size(text), size, "{text:?}");
        }
        let Caches { last_but_one, last, all_last } = super::caches();
        assert!(last_but_one > 0 && last_but_one <= last && last <= all_last);
    }
}
