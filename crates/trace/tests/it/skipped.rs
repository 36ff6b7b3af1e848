//! Damage in the middle of a trace: reading continues at the next event, and what is lost is counted.

use crate::oracle::{Seen, ours};
use knockout_trace::{DamageKind, Skipped};
use std::fmt::Write as _;

const EVENTS: usize = 200;

/// Events as PyTorch writes them, with nested objects and lists, and where each begins.
fn planted() -> (Vec<u8>, Vec<usize>) {
    let mut text = String::from(r#"{"schemaVersion": 1, "traceEvents": ["#);
    let mut starts = Vec::new();
    for at in 0..EVENTS {
        text += if at == 0 { "\n  " } else { ",\n  " };
        starts.push(text.len());
        write!(
            text,
            r#"{{"ph": "X", "cat": "cpu_op", "name": "aten::op{at}", "pid": 7, "tid": 7, "ts": {at}.250, "dur": 1, "args": {{"External id": {at}, "Input Dims": [[3, 4], []], "Call": {{"a": null}}}}}}"#
        )
        .unwrap();
    }
    text += "\n], \"traceName\": \"x\"}";
    (text.into_bytes(), starts)
}

fn read(text: &[u8]) -> (Option<Skipped>, Vec<Seen>) {
    let (outcome, events) = ours(text, 1, 1 << 12);
    let outcome = outcome.expect("a report");
    assert!(outcome.damage.is_none(), "{:?}", outcome.damage);
    for (threads, block_bytes) in [(1, 13), (3, 100), (2, 1000)] {
        let (same, same_events) = ours(text, threads, block_bytes);
        let same = same.expect("a report");
        assert_eq!((&same.skipped, same_events.len()), (&outcome.skipped, events.len()));
        assert!(same_events == events && same.document == outcome.document);
    }
    (outcome.skipped, events)
}

#[test]
fn one_zero_byte_costs_one_event_at_most() {
    let (text, starts) = planted();
    let whole = read(&text).1;
    assert_eq!(whole.len(), EVENTS);
    // Every byte of one event in the middle, and the comma behind it.
    for at in starts[99]..starts[100] {
        let mut text = text.clone();
        text[at] = 0;
        let (skipped, events) = read(&text);
        let without: Vec<Seen> = whole
            .iter()
            .enumerate()
            .filter(|(index, _)| *index != 99)
            .map(|(_, event)| event.clone())
            .collect();
        match skipped {
            Some(skipped) => {
                assert_eq!((skipped.places, skipped.first.kind), (1, DamageKind::InvalidJson), "byte {at}");
                assert_eq!(skipped.first.events_before, 99 + u64::from(events.len() == EVENTS));
                // An event that has lost its `ph` is not counted.
                let has_event_type = !(1..5).contains(&(at - starts[99]));
                assert_eq!(skipped.events == 1, has_event_type && events == without, "byte {at}");
                assert!(events == without || events == whole, "byte {at}");
                assert_eq!(skipped.bytes > 10, events == without, "byte {at}");
            }
            // Inside of a string.
            None => assert_eq!(events.len(), EVENTS, "byte {at}"),
        }
    }
}

#[test]
fn a_lost_page_costs_the_events_in_it() {
    let (mut text, starts) = planted();
    text[starts[50] + 20..starts[80] + 30].fill(0);
    let (skipped, events) = read(&text);
    let skipped = skipped.expect("damage");
    assert_eq!(events.len(), EVENTS - 31);
    // The `ph` of the first is before the page, those of the others are lost with it.
    assert_eq!((skipped.places, skipped.events), (1, 1));
    assert_eq!(skipped.bytes, (starts[81] - starts[50]) as u64);
    assert_eq!(events[50].name, "aten::op81");
}

#[test]
fn several_damaged_ranges_are_counted() {
    let (mut text, starts) = planted();
    for event in [20, 21, 60, 199] {
        text[starts[event] + 40] = b'}';
        text[starts[event] + 70] = 0;
    }
    // The last event is damaged too, and nothing follows it.
    let (outcome, events) = ours(&text, 1, 256);
    let outcome = outcome.expect("a report");
    let skipped = outcome.skipped.expect("damage");
    assert_eq!(events.len(), EVENTS - 4);
    assert_eq!((skipped.places, skipped.events), (2, 3));
    assert_eq!(outcome.damage.expect("the end").events_before, (EVENTS - 4) as u64);
}

#[test]
fn a_lost_brace_keeps_the_next_event() {
    let (mut text, starts) = planted();
    let brace = starts[10] - 6;
    assert_eq!(&text[brace..=brace + 1], b"}}");
    text[brace] = b' ';
    let (skipped, events) = read(&text);
    assert_eq!((events.len(), skipped.map(|skipped| skipped.events)), (EVENTS - 1, Some(1)));
    assert_eq!((events[9].name.as_str(), events.len()), ("aten::op10", EVENTS - 1));
}
