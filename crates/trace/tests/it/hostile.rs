//! One named test per malformed input: what is read, what is said, and that nothing panics.

use crate::oracle::{Seen, ours};
use knockout_trace::{DamageKind, IrregularityKind, ReadError, ReadOptions, ReadOutcome, Sink, read};
use std::io::{self, Read};

fn outcome(text: &[u8]) -> (ReadOutcome, Vec<Seen>) {
    let (outcome, events) = ours(text, 1, 64);
    (outcome.expect("a report"), events)
}

fn error(text: &[u8]) -> ReadError {
    ours(text, 1, 64).0.expect_err("no report")
}

fn damage(text: &[u8]) -> (DamageKind, u64, usize) {
    let (outcome, events) = outcome(text);
    let damage = outcome.damage.expect("damage");
    assert_eq!(damage.events_before, events.len() as u64);
    (damage.kind, damage.offset, events.len())
}

/// The first damage that was passed, and the number of events before and behind it.
fn skipped(text: &[u8]) -> (DamageKind, u64, usize) {
    let (outcome, events) = outcome(text);
    assert!(outcome.damage.is_none() && outcome.is_rescued());
    let first = outcome.skipped.expect("damage that was passed").first;
    (first.kind, first.offset, events.len())
}

fn irregularities(text: &[u8]) -> Vec<(IrregularityKind, u64)> {
    let (outcome, _) = outcome(text);
    assert!(outcome.is_rescued());
    outcome.irregularities.iter().map(|irregularity| (irregularity.kind, irregularity.count)).collect()
}

pub(crate) const ONE: &[u8] = br#"{"traceEvents":[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":2}]}"#;

#[test]
fn no_bytes_are_an_empty_file() {
    assert!(matches!(error(b""), ReadError::Empty));
    assert!(matches!(error(b" \n\t"), ReadError::Empty));
    assert!(matches!(error(b"\xef\xbb\xbf"), ReadError::NotATrace { .. } | ReadError::Empty));
}

#[test]
fn other_json_is_not_a_trace() {
    for text in [
        &b"1"[..],
        b"null",
        b"\"x\"",
        b"{}",
        b"{\"a\":1}",
        b"[1,2]",
        b"[[1]]",
        b"{\"traceEvents\":null}",
        b"{\"traceEvents\":{}}",
        b"hello",
    ] {
        assert!(matches!(error(text), ReadError::NotATrace { .. }), "{:?}", String::from_utf8_lossy(text));
    }
}

#[test]
fn a_document_cut_before_its_events_is_damaged() {
    let error = error(b"{\"schemaVersion\": 1, \"devi");
    assert_eq!(error.code(), "truncated");
}

#[test]
fn an_empty_list_has_no_events_and_no_damage() {
    for text in [&b"[]"[..], b"{\"traceEvents\":[]}", b"{\"traceEvents\" : [ ] , \"x\" : 1 }"] {
        let (outcome, events) = outcome(text);
        assert!(!outcome.is_rescued() && events.is_empty());
    }
}

#[test]
fn a_cut_inside_an_event_leaves_it_out() {
    let text = br#"{"traceEvents":[{"ph":"X","name":"a"},{"ph":"X","dur":12"#;
    assert_eq!(damage(text), (DamageKind::Truncated, text.len() as u64, 1));
}

#[test]
fn a_cut_behind_the_list_is_damage() {
    assert_eq!(damage(br#"{"traceEvents":[{"ph":"X"}]"#).0, DamageKind::Truncated);
    assert_eq!(damage(br#"{"traceEvents":[{"ph":"X"}],"a":"#).0, DamageKind::Truncated);
}

#[test]
fn an_unclosed_list_is_allowed_between_events_only() {
    assert!(outcome(br#"[{"ph":"X"},"#).0.unclosed_list);
    assert!(outcome(br#"[{"ph":"X"}"#).0.unclosed_list);
    assert_eq!(damage(br#"[{"ph":"X"},{"#), (DamageKind::Truncated, 13, 1));
}

#[test]
fn two_commas_are_a_fault_at_the_second() {
    assert_eq!(skipped(br#"[{"ph":"X"},,{"ph":"X"}]"#), (DamageKind::InvalidJson, 12, 2));
}

#[test]
fn a_comma_before_the_bracket_is_a_fault() {
    assert_eq!(damage(br#"{"traceEvents":[{"ph":"X"},]}"#), (DamageKind::InvalidJson, 27, 1));
}

#[test]
fn a_missing_comma_is_a_fault() {
    assert_eq!(skipped(br#"[{"ph":"X"} {"ph":"X"}]"#), (DamageKind::InvalidJson, 12, 2));
}

#[test]
fn a_missing_colon_is_a_fault() {
    assert_eq!(damage(br#"[{"ph":"X"},{"ph" "X"}]"#), (DamageKind::InvalidJson, 18, 1));
}

#[test]
fn wrong_brackets_are_a_fault() {
    assert_eq!(damage(br#"[{"ph":"X"},{"args":{"a":[1}}]"#), (DamageKind::InvalidJson, 27, 1));
}

#[test]
fn invalid_numbers_are_faults() {
    for number in ["01", "+1", ".5", "1.", "1e", "1e+", "0x10", "--1", "1_000", "-"] {
        let text = format!("[{{\"ph\":\"X\"}},{{\"args\":{{\"n\":{number}}},\"dur\":{number}}}]");
        let (kind, _, events) = damage(text.as_bytes());
        assert_eq!((kind, events), (DamageKind::InvalidJson, 1), "{number}");
    }
}

#[test]
fn invalid_words_are_faults() {
    for word in ["nul", "True", "undefined", "nan", "-NaN", "Inf"] {
        let text = format!("[{{\"ph\":\"X\"}},{{\"args\":{word}}}]");
        assert_eq!(damage(text.as_bytes()).0, DamageKind::InvalidJson, "{word}");
    }
}

#[test]
fn nan_and_infinities_are_not_numbers() {
    let text = br#"[{"ph":"X","ts":NaN,"dur":-Infinity,"args":[Infinity]}]"#;
    assert_eq!(irregularities(text), [(IrregularityKind::NotFinite, 3)]);
    let (_, events) = outcome(text);
    assert_eq!((events[0].start_nanos, events[0].duration_nanos), (None, None));
}

#[test]
fn numbers_in_strings_are_times() {
    let text = br#"[{"ph":"X","ts":"198065443139","dur":"12.5"},{"ph":"X","ts":"1x","dur":""}]"#;
    let (outcome, events) = outcome(text);
    assert!(!outcome.is_rescued());
    let times: Vec<_> = events.iter().map(|event| (event.start_nanos, event.duration_nanos)).collect();
    assert_eq!(times, [(Some(198_065_443_139_000), Some(12_500)), (None, None)]);
}

#[test]
fn unknown_escapes_are_kept_as_written() {
    let text = br#"[{"ph":"X","name":"C:\Users\x","cat":"\u12g4"}]"#;
    assert_eq!(irregularities(text), [(IrregularityKind::InvalidEscape, 2)]);
    let (_, events) = outcome(text);
    assert_eq!((events[0].name.as_str(), events[0].category.as_str()), (r"C:\Users\x", r"\u12g4"));
}

#[test]
fn control_characters_are_kept_as_written() {
    assert_eq!(irregularities(b"[{\"name\":\"a\nb\0c\"}]"), [(IrregularityKind::ControlCharacter, 1)]);
}

#[test]
fn bad_utf8_in_a_name_is_replaced_and_reported_once() {
    let text = b"[{\"name\":\"\xff\xfe\"},{\"name\":\"\xff\xfe\"}]";
    assert_eq!(irregularities(text), [(IrregularityKind::InvalidUtf8, 1)]);
    assert_eq!(outcome(text).1[0].name, "\u{fffd}\u{fffd}");
}

#[test]
fn irregularities_of_an_event_cut_off_do_not_count() {
    let (outcome, _) = outcome(br#"[{"ph":"X"},{"name":"\x","#);
    assert!(outcome.irregularities.is_empty());
}

#[test]
fn data_behind_the_document_is_reported() {
    let text = [ONE, b"\n\0\0garbage"].concat();
    assert_eq!(damage(&text), (DamageKind::TrailingData, ONE.len() as u64 + 1, 1));
    assert!(!outcome(&[ONE, b"\n \t\r\n"].concat()).0.is_rescued());
}

#[test]
fn a_second_list_is_not_added_silently() {
    let (kind, _, events) = damage(br#"{"traceEvents":[{"ph":"X"}],"traceEvents":[{"ph":"X"}]}"#);
    assert_eq!((kind, events), (DamageKind::SecondEventList, 1));
}

#[test]
fn of_equal_keys_the_last_counts() {
    let (_, events) = outcome(
        br#"[{"ph":"B","ph":"X","name":"a","name":"b","dur":5,"dur":7,"args":{"correlation":1},"args":{}}]"#,
    );
    assert_eq!((events[0].event_type, events[0].name.as_str()), (b'X', "b"));
    assert_eq!((events[0].duration_nanos, events[0].correlation), (Some(7000), None));
}

#[test]
fn keys_inside_args_are_not_the_event_s() {
    let (_, events) = outcome(br#"[{"args":{"dur":1,"name":"inner","a":{"ph":"B"}},"ph":"X","dur":2}]"#);
    assert_eq!(
        (events[0].event_type, events[0].duration_nanos, events[0].name.as_str()),
        (b'X', Some(2000), "")
    );
}

#[test]
fn members_other_than_objects_are_counted() {
    let (outcome, events) = outcome(br#"[{"ph":"X"},1,"x",null,[{"ph":"X"}]]"#);
    assert_eq!((events.len(), outcome.not_events), (1, 4));
}

#[test]
fn times_beyond_64_bits_are_absent() {
    let text = br#"[{"ph":"X","ts":9007199254740993,"dur":18446744073709551615},{"ph":"X","ts":9223372036854775,"dur":1000}]"#;
    let (outcome, events) = outcome(text);
    assert_eq!(outcome.times_out_of_range, 2);
    assert!(events.iter().all(|event| event.duration_nanos.is_none()));
}

#[test]
fn deep_nesting_is_damage_without_overflow() {
    let deep = [b"[{\"ph\":\"X\"},{\"args\":".to_vec(), vec![b'['; 1_000_000]].concat();
    let (kind, _, events) = damage(&deep);
    assert_eq!((kind, events), (DamageKind::TooDeep, 1));
    let objects = b"[{\"ph\":\"X\"},{\"args\":"
        .iter()
        .copied()
        .chain(b"{\"a\":".iter().copied().cycle().take(1_000_000));
    assert_eq!(damage(&objects.collect::<Vec<_>>()).0, DamageKind::TooDeep);
}

#[test]
fn a_long_name_passes_through_small_blocks() {
    let name = "x".repeat(1_000_000);
    let text = format!(r#"[{{"ph":"X","name":"{name}"}},{{"ph":"X"}}]"#);
    let (outcome, events) = outcome(text.as_bytes());
    assert_eq!((events.len(), events[0].name.len(), outcome.is_rescued()), (2, 1_000_000, false));
}

#[test]
fn a_million_spaces_are_white_space() {
    let text = [
        b"[".to_vec(),
        vec![b' '; 1_000_000],
        b"{\"ph\":\"X\"}".to_vec(),
        vec![b'\n'; 1_000_000],
        b"]".to_vec(),
    ];
    assert_eq!(outcome(&text.concat()).1.len(), 1);
}

#[test]
fn a_failing_disk_is_an_error_not_damage() {
    struct Failing(usize);
    impl Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let got = self.0.min(buffer.len());
            if got == 0 {
                return Err(io::Error::other("the disk is gone"));
            }
            buffer[..got].copy_from_slice(&ONE[ONE.len() - self.0..][..got]);
            self.0 -= got;
            Ok(got)
        }
    }
    struct Nothing;
    impl Sink for Nothing {
        fn event(&mut self, _: &knockout_trace::TraceEvent<'_>) {}
    }
    for threads in [1, 3] {
        let options = ReadOptions { threads: threads.try_into().unwrap(), block_bytes: 16 };
        let error = read(Failing(ONE.len()), options, &mut Nothing).expect_err("an error");
        assert!(matches!(error, ReadError::Io(_)), "{error:?}");
    }
}

#[test]
fn a_panicking_sink_ends_all_threads() {
    struct Panics;
    impl Sink for Panics {
        fn event(&mut self, _: &knockout_trace::TraceEvent<'_>) {
            panic!("on purpose");
        }
    }
    let text = format!("[{}]", vec![r#"{"ph":"X"}"#; 1000].join(","));
    let options = ReadOptions { threads: 4.try_into().unwrap(), block_bytes: 100 };
    let result = std::panic::catch_unwind(|| read(text.as_bytes(), options, &mut Panics).is_ok());
    assert!(result.is_err());
}
