//! Any bytes as a file of a run's folder or of a checkpoint: an error, or a value that can be gone on with.
#![no_main]

#[path = "../../crates/train/tests/it/oracle/mod.rs"]
#[allow(dead_code)]
mod oracle;

use libfuzzer_sys::fuzz_target;
use std::path::PathBuf;
use std::sync::OnceLock;

fuzz_target!(|input: &[u8]| {
    static SCRATCH: OnceLock<PathBuf> = OnceLock::new();
    let scratch = SCRATCH.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("knockout-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("scratch space");
        folder
    });
    oracle::ask(input, scratch);
});
