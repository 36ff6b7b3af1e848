//! The walk on pieces and device events made by hand.

use super::devices::Devices;
use super::walk::{Doing, On, Walk, long_calls};
use crate::attribute::gpu::DeviceSpan;
use crate::attribute::lane::Piece;
use crate::collect::id::{CategoryId, KindId, StreamId};
use crate::collect::waits::Waits;
use proptest::prelude::*;

/// Kinds of host pieces; every kind from [`KERNEL`] on is a device event's.
const WORK: usize = 1;
const WAIT: usize = 2;
const CALL: usize = 3;
const ANNOTATION: usize = 4;
const KERNEL: usize = 10;
const COPY: usize = 11;

fn piece(from: i64, to: i64, kind: usize) -> Piece {
    Piece { from, to, kind: KindId::from_index(kind), category: CategoryId::from_index(0) }
}

fn span(start: i64, end: i64, call: i64, stream: u32, kind: usize) -> DeviceSpan {
    let (kind, stream) = (KindId::from_index(kind), StreamId::unpack(stream));
    DeviceSpan { start, end, kind, stream, call: Some(call) }
}

fn doing(piece: &Piece) -> Doing {
    match piece.kind.index() {
        WAIT => Doing::Wait,
        CALL => Doing::DriverCall,
        ANNOTATION => Doing::Annotation,
        _ => Doing::Work,
    }
}

fn walk(main: &[Piece], others: &[Piece], spans: &[DeviceSpan], end: i64) -> Vec<(On, i64)> {
    let waits = Waits::default();
    let calls = long_calls(main.iter().chain(others), &doing);
    let walk = Walk {
        start: 0,
        main,
        others,
        devices: Devices::new(spans, &[], &waits, &calls),
        waits: &waits,
        doing: &doing,
        is_copy: &|kind| kind.index() == COPY,
    };
    let mut told = Vec::new();
    walk.run(end, |on, nanos| told.push((on, nanos)));
    told
}

fn time_of(told: &[(On, i64)], on: On) -> i64 {
    told.iter().filter(|(other, _)| *other == on).map(|(_, nanos)| nanos).sum()
}

#[test]
fn a_wait_leads_to_the_device_and_back_to_the_launch() {
    // host: work 0-10 (launches at 4), then waits 10-100; device: 20-50 after the call at 4, 50-90.
    let main = [piece(0, 10, WORK), piece(10, 100, WAIT)];
    let told = walk(&main, &[], &[span(20, 50, 4, 1, KERNEL), span(50, 90, 6, 1, KERNEL)], 100);
    assert_eq!(told.iter().map(|(_, nanos)| nanos).sum::<i64>(), 100);
    assert_eq!(time_of(&told, On::Device(KindId::from_index(KERNEL))), 70);
    assert_eq!(time_of(&told, On::Host(main[1])), 10, "{told:?}");
    assert_eq!(time_of(&told, On::Launch), 16, "{told:?}");
    assert_eq!(time_of(&told, On::Host(main[0])), 4, "{told:?}");
}

#[test]
fn an_empty_annotation_leads_to_the_thread_that_works() {
    let (main, others) = ([piece(0, 100, ANNOTATION)], [piece(20, 60, WORK)]);
    let told = walk(&main, &others, &[], 100);
    assert_eq!((time_of(&told, On::Host(others[0])), time_of(&told, On::Host(main[0]))), (40, 60));
}

#[test]
fn a_start_without_a_cause_on_its_stream_waited_for_another_stream() {
    // Stream 1 has nothing from 20 to 520 us although its next event was launched; stream 2 ends at 519.
    let us = 1000;
    let main = [piece(0, 10 * us, WORK), piece(10 * us, 600 * us, WAIT)];
    let other = COPY + 1;
    let spans = [
        span(10 * us, 20 * us, 0, 1, KERNEL),
        span(15 * us, 519 * us, 2 * us, 2, other),
        span(520 * us, 600 * us, 4 * us, 1, KERNEL),
    ];
    let told = walk(&main, &[], &spans, 600 * us);
    assert_eq!(time_of(&told, On::Device(KindId::from_index(other))), 504 * us, "{told:?}");
    assert_eq!(time_of(&told, On::Gap), us, "{told:?}");
    // An event that ended 30 us before the start did not release it.
    let spans = [spans[0], span(15 * us, 489 * us, 2 * us, 2, other), spans[2]];
    let told = walk(&main, &[], &spans, 600 * us);
    assert_eq!(time_of(&told, On::Gap), 500 * us, "{told:?}");
}

#[test]
fn a_copy_or_launch_that_blocks_waits_for_the_device() {
    let us = 1000;
    let main = [piece(0, 20 * us, WORK), piece(20 * us, 1000 * us, CALL), piece(1000 * us, 1010 * us, WORK)];
    // A kernel from 15 to 980 us, and a copy of the call behind it.
    let kernel = span(15 * us, 980 * us, 5 * us, 1, KERNEL);
    let told = walk(&main, &[], &[kernel, span(981 * us, 990 * us, 20 * us, 1, COPY)], 1010 * us);
    assert_eq!(time_of(&told, On::Device(KindId::from_index(KERNEL))), 965 * us, "{told:?}");
    assert_eq!(time_of(&told, On::Host(main[1])), 10 * us, "{told:?}");
    // A launch whose kernel starts later, while the one before fills the stream.
    let launched = span(995 * us, 2000 * us, 20 * us, 1, KERNEL);
    let told = walk(&main, &[], &[kernel, launched], 1010 * us);
    assert_eq!(time_of(&told, On::Host(main[1])), 20 * us, "{told:?}");
    // The same launch with an idle device loads a module, or does other work of its own.
    let told = walk(&main, &[], &[span(900 * us, 980 * us, 5 * us, 1, KERNEL), launched], 1010 * us);
    assert_eq!(time_of(&told, On::Host(main[1])), 980 * us, "{told:?}");
}

proptest! {
    #[test]
    fn the_path_sums_to_the_step_for_any_events(
        host in proptest::collection::vec((1_i64..40_000, WORK..=ANNOTATION), 0..20),
        spans in proptest::collection::vec(
            (0_i64..400_000, 0_i64..90_000, 0_i64..400_000, 0_u32..3, KERNEL..=COPY), 0..30),
    ) {
        let mut at = 0;
        let main: Vec<Piece> = host.iter().map(|&(length, kind)| {
            at += length;
            piece(at - length, at, kind)
        }).collect();
        let device: Vec<DeviceSpan> = spans.iter().map(|&(start, length, call, stream, kind)| {
            span(start, start + length, call, stream, kind)
        }).collect();
        let told = walk(&main, &[], &device, at + 1000);
        prop_assert_eq!(told.iter().map(|(_, nanos)| nanos).sum::<i64>(), at + 1000);
        prop_assert!(told.iter().all(|(_, nanos)| *nanos > 0));
    }
}
