//! The strict second opinion: what `serde_json` makes of a trace, compared event by event with our reader. Shared by
//! the ordinary tests and the fuzz targets.
#![allow(dead_code, reason = "each test uses a part of it")]

use knockout_trace::{
    ArgKey, ArgSet, ArgValue, DamageKind, Id, Lane, ReadError, ReadOptions, ReadOutcome, Sink, TraceEvent,
    read,
};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

/// One event as far as both readers can tell, with its texts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) event_type: u8,
    pub(crate) name: String,
    pub(crate) category: String,
    pub(crate) lane: u32,
    pub(crate) start_nanos: Option<i64>,
    pub(crate) duration_nanos: Option<i64>,
    pub(crate) correlation: Option<i64>,
    pub(crate) raw: Vec<u8>,
}

/// A sink that keeps everything.
#[derive(Debug, Default)]
pub(crate) struct Keep {
    pub(crate) events: Vec<Seen>,
}

impl Sink for Keep {
    fn wants(&self) -> ArgSet {
        ArgSet::of(&[ArgKey::Correlation, ArgKey::Stream, ArgKey::CallStack, ArgKey::FlowId])
    }

    fn event(&mut self, event: &TraceEvent<'_>) {
        assert_eq!(event.index, self.events.len() as u64, "events come in file order");
        self.events.push(Seen {
            event_type: event.event_type.0,
            name: event.symbols.text(event.name).to_owned(),
            category: event.symbols.text(event.category).to_owned(),
            lane: event.lane.index() as u32,
            start_nanos: event.start_nanos,
            duration_nanos: event.duration_nanos,
            correlation: match event.args.get(ArgKey::Correlation) {
                Some(ArgValue::Number(number)) => Some(number),
                _ => None,
            },
            raw: event.raw.to_vec(),
        });
    }
}

/// Reads with a number of threads and a block size.
pub(crate) fn ours(
    text: &[u8],
    threads: usize,
    block_bytes: usize,
) -> (Result<ReadOutcome, ReadError>, Vec<Seen>) {
    let mut keep = Keep::default();
    let threads = NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN);
    let outcome = read(text, ReadOptions { threads, block_bytes }, &mut keep);
    (outcome, keep.events)
}

/// What `serde_json` says: not JSON, JSON but no trace, or the events.
pub(crate) enum Opinion<'a> {
    NotJson,
    /// Half a surrogate pair in a key: JSON by its grammar, but not for `serde_json`.
    HalfPair,
    NotATrace,
    Events(Vec<BTreeMap<String, &'a RawValue>>),
}

pub(crate) fn theirs(text: &[u8]) -> Opinion<'_> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let Ok(whole) = serde_json::from_slice::<&RawValue>(text) else { return Opinion::NotJson };
    let list = if whole.get().starts_with('{') {
        let fields: BTreeMap<String, &RawValue> = match serde_json::from_str(whole.get()) {
            Ok(fields) => fields,
            Err(_) => return Opinion::HalfPair,
        };
        match fields.get("traceEvents") {
            Some(list) => *list,
            None => return Opinion::NotATrace,
        }
    } else {
        whole
    };
    let Ok(members) = serde_json::from_str::<Vec<&RawValue>>(list.get()) else { return Opinion::NotATrace };
    let mut events = Vec::new();
    for member in &members {
        if member.get().starts_with('{') {
            match serde_json::from_str(member.get()) {
                Ok(event) => events.push(event),
                Err(_) => return Opinion::HalfPair,
            }
        }
    }
    if events.is_empty() && !members.is_empty() { Opinion::NotATrace } else { Opinion::Events(events) }
}

/// Fails where the two opinions differ in a way the reader does not own up to.
pub(crate) fn compare(text: &[u8], block_bytes: usize) {
    let (outcome, events) = ours(text, 1, block_bytes);
    if std::str::from_utf8(text).is_err() {
        // Skipped values are not checked for UTF-8; that nothing panics is all there is to see.
        return;
    }
    match (theirs(text), outcome) {
        (Opinion::NotJson, Ok(outcome)) => {
            assert!(
                outcome.is_rescued() || outcome.unclosed_list,
                "not JSON, and the reader did not say so: {outcome:?}"
            );
        }
        (Opinion::NotATrace, Ok(outcome)) => {
            let kind = outcome.damage.map(|damage| damage.kind);
            assert_eq!(kind, Some(DamageKind::SecondEventList), "a trace only for one of the two");
        }
        (Opinion::HalfPair, _) | (Opinion::NotJson | Opinion::NotATrace, Err(_)) => {}
        (Opinion::Events(_), Err(ReadError::DamagedBeforeEvents { damage }))
            if damage.kind == DamageKind::TooDeep => {}
        (Opinion::Events(_), Err(error)) => panic!("JSON and a trace, but not for the reader: {error}"),
        (Opinion::Events(theirs), Ok(outcome)) => {
            let passed = outcome.skipped.as_ref().map(|skipped| &skipped.first);
            if let Some(damage) = passed.or(outcome.damage.as_ref()) {
                let accepted = [DamageKind::TooDeep, DamageKind::SecondEventList];
                assert!(accepted.contains(&damage.kind), "valid JSON called damaged: {damage}");
                return;
            }
            assert_eq!(theirs.len(), events.len());
            for (their, our) in theirs.iter().zip(&events) {
                compare_event(their, our, &outcome);
            }
        }
    }
}

fn compare_event(their: &BTreeMap<String, &RawValue>, our: &Seen, outcome: &ReadOutcome) {
    if let Some(event_type) = text_of(their.get("ph")) {
        let expected = match event_type.as_bytes() {
            [] => 0,
            [byte @ b'!'..=b'~'] => *byte,
            _ => 1,
        };
        assert_eq!(our.event_type, expected);
    }
    for (key, mine) in [("name", &our.name), ("cat", &our.category)] {
        if let Some(text) = text_of(their.get(key)) {
            assert_eq!(&text, mine);
        }
    }
    let lane: Lane =
        outcome.lanes.get(knockout_trace::LaneId::from_index(our.lane as usize)).expect("a known lane");
    for (key, mine) in [("pid", lane.pid), ("tid", lane.tid)] {
        let raw = their.get(key).map_or("null", |raw| raw.get());
        match mine {
            Id::Missing => assert_eq!(raw, "null"),
            Id::Number(number) => assert_eq!(raw.parse::<i64>().expect("a number"), number),
            Id::Text(text) => {
                if let Some(their) = text_of(their.get(key)) {
                    assert_eq!(their, outcome.symbols.text(text));
                }
            }
            Id::Other(_) => assert!(!raw.starts_with('"') && raw.parse::<i64>().is_err() && raw != "null"),
        }
    }
    let start = plain_nanos(their.get("ts"));
    let duration = plain_nanos(their.get("dur"));
    if let Some(expected) = start {
        assert_eq!(our.start_nanos, i64::try_from(expected).ok().filter(|nanos| *nanos != i64::MIN));
    }
    if let (Some(start), Some(expected)) = (start, duration) {
        let fits = i64::try_from(expected).ok().filter(|nanos| *nanos != i64::MIN);
        let ends = i64::try_from(start).is_err() || i64::try_from(start + expected).is_ok();
        assert_eq!(our.duration_nanos, fits.filter(|_| ends));
    }
}

/// The text of a JSON string; `None` for other values and for half a surrogate pair, which only our reader takes.
fn text_of(raw: Option<&&RawValue>) -> Option<String> {
    serde_json::from_str(raw?.get()).ok()
}

/// Nanoseconds of a number written plainly, by another arithmetic than the reader's; `None` for any other.
fn plain_nanos(raw: Option<&&RawValue>) -> Option<i128> {
    let text = raw?.get();
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    if part.len() > 3 || whole.len() > 25 || !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits: i128 = format!("{whole}{part:0<3}").parse().ok()?;
    Some(digits)
}
