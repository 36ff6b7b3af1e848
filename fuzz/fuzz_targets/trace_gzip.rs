//! Any bytes as a gzip file, and any text packed, cut and damaged: no panic, and no event that is not in the text.
#![no_main]

#[path = "../../crates/trace/tests/it/oracle/mod.rs"]
#[allow(dead_code)]
mod oracle;

use flate2::{Compression, write::GzEncoder};
use libfuzzer_sys::fuzz_target;
use std::io::Write as _;

fuzz_target!(|data: &[u8]| {
    let mut raw = vec![0x1f, 0x8b];
    raw.extend_from_slice(data);
    let _ = oracle::ours(&raw, 1, 4096);

    let Some((&[cut, split, flip], text)) = data.split_first_chunk::<3>() else { return };
    // Two members, then cut off or with one bit turned.
    let (first, second) = text.split_at(text.len() * usize::from(split) / 256);
    let mut packed = Vec::new();
    for part in [first, second] {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(part).expect("a vector takes everything");
        packed.extend(encoder.finish().expect("a vector takes everything"));
    }
    let (plain, events) = oracle::ours(text, 1, 1 << 20);
    // A packed text that looks packed itself is text here.
    if !text.starts_with(&[0x1f, 0x8b]) {
        let (unpacked, same) = oracle::ours(&packed, 2, 512);
        assert_eq!(events, same);
        assert_eq!(plain.is_ok(), unpacked.is_ok());
    }
    packed.truncate(packed.len() * (1 + usize::from(cut)) / 256);
    let (rescued, before) = oracle::ours(&packed, 1, 512);
    if !text.starts_with(&[0x1f, 0x8b]) {
        assert!(events.starts_with(&before), "a cut file gives the events before the cut");
        if let (Ok(outcome), true) = (rescued, cut < 255) {
            assert!(outcome.is_rescued() || packed.is_empty());
        }
    }
    if let Some(byte) = packed.len().checked_sub(1).map(|last| last * usize::from(flip) / 256) {
        packed[byte] ^= 1 << (flip % 8);
        let _ = oracle::ours(&packed, 1, 512);
    }
});
