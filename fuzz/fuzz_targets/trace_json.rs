//! Any text: our reader and `serde_json` agree, or the reader says what is wrong.
#![no_main]

#[path = "../../crates/trace/tests/it/oracle/mod.rs"]
#[allow(dead_code)]
mod oracle;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Some((size, text)) = data.split_first()
        && !text.starts_with(&[0x1f, 0x8b])
    {
        // Small blocks, so that everything is cut everywhere.
        oracle::compare(text, 1 + usize::from(*size) * 3);
    }
});
