//! Any bytes as a training log, in pieces of any size: the same rows or the same error, and rates that make sense.
#![no_main]

use knockout_analyze::logs::{LogReader, Logs};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((&size, log)) = input.split_first() else { return };
    let mut whole = LogReader::default();
    whole.feed(log);
    let whole = whole.finish("log").map(|log| Logs::of(vec![log]));
    let mut pieces = LogReader::default();
    log.chunks(usize::from(size) + 1).for_each(|piece| pieces.feed(piece));
    let pieces = pieces.finish("log").map(|log| Logs::of(vec![log]));
    match (&whole, &pieces) {
        (Ok(whole), Ok(pieces)) => {
            assert_eq!(whole.rows, pieces.rows);
            for row in &whole.rows {
                if let Some(rate) = row.it_per_s {
                    assert!(rate.is_finite() && rate > 0.0, "{row:?}");
                    assert!(row.low.is_none_or(|low| low.is_finite() && low >= 0.0), "{row:?}");
                    assert!(row.high.is_none_or(|high| high.is_finite()), "{row:?}");
                }
                assert!(row.count <= row.steps, "{row:?}");
            }
        }
        (Err(whole), Err(pieces)) => assert_eq!(whole.to_string(), pieces.to_string()),
        _ => panic!("pieces change the outcome"),
    }
});
