//! Any text: neither the block size nor the number of threads changes anything.
#![no_main]

#[path = "../../crates/trace/tests/it/oracle/mod.rs"]
#[allow(dead_code)]
mod oracle;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((size, text)) = data.split_first() else { return };
    let (whole, events) = oracle::ours(text, 1, 1 << 20);
    let (parts, same) = oracle::ours(text, 3, 1 + usize::from(*size) * 3);
    assert_eq!(events, same);
    match (whole, parts) {
        (Ok(whole), Ok(parts)) => {
            assert_eq!(whole.events, parts.events);
            assert_eq!(whole.damage, parts.damage);
            assert_eq!(whole.skipped, parts.skipped);
            assert_eq!(whole.irregularities, parts.irregularities);
            assert_eq!(whole.document, parts.document);
            assert_eq!(whole.unclosed_list, parts.unclosed_list);
            assert_eq!(whole.not_events, parts.not_events);
            assert!(whole.symbols.iter().eq(parts.symbols.iter()));
            assert!(whole.lanes.iter().eq(parts.lanes.iter()));
        }
        (Err(whole), Err(parts)) => assert_eq!(whole.to_string(), parts.to_string()),
        (whole, parts) => panic!("one block: {whole:?}, several: {parts:?}"),
    }
});
