//! Time in which a thread waits for autograd's own threads, where no span says so.
//!
//! `loss.backward()` passes its graph to autograd's threads and waits for them. Without an annotation, the waiting thread has nothing but
//! the step's span around it. It waits from the first to the last of the functions that autograd evaluates while that thread has
//! no event of its own. Where only one thread has steps, only that thread can have called them.

use crate::sort::{put_signed, take_signed};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter::Peekable;

/// Most stretches of time kept of a lane; a lane with more is left out.
const MOST: usize = 1 << 20;

/// Stretches of time on a lane, by start, packed: one takes a few bytes.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Stretches {
    bytes: Vec<u8>,
    count: usize,
    /// Start of the last one.
    last: i64,
    is_full: bool,
}

/// Unpacks stretches.
#[derive(Debug, Clone)]
pub(crate) struct StretchIter<'a> {
    input: &'a [u8],
    last: i64,
}

impl Stretches {
    pub(crate) fn add(&mut self, from: i64, to: i64) {
        if self.count < MOST {
            self.push(from, to);
        } else {
            self.is_full = true;
        }
    }

    fn push(&mut self, from: i64, to: i64) {
        put_signed(&mut self.bytes, from.wrapping_sub(self.last));
        put_signed(&mut self.bytes, to.wrapping_sub(from));
        self.last = from;
        self.count += 1;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn iter(&self) -> StretchIter<'_> {
        StretchIter { input: &self.bytes, last: 0 }
    }

    /// Ends the lane.
    pub(crate) fn finish(mut self) -> Self {
        self.bytes.shrink_to_fit();
        self
    }
}

impl Iterator for StretchIter<'_> {
    type Item = (i64, i64);

    #[inline]
    fn next(&mut self) -> Option<(i64, i64)> {
        let from = self.last.wrapping_add(take_signed(&mut self.input)?);
        let to = from.wrapping_add(take_signed(&mut self.input)?);
        self.last = from;
        Some((from, to))
    }
}

/// Collectives on the host's own threads for them, by end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Collectives(Vec<(i64, i64)>);

/// A thread that waits continues so soon after a collective ends.
const CONTINUES_NANOS: i64 = 1_000_000;

impl Collectives {
    /// Puts collectives (start and end) in order.
    pub(crate) fn of(collectives: impl Iterator<Item = (i64, i64)>) -> Self {
        let mut all: Vec<(i64, i64)> = collectives.collect();
        all.sort_unstable_by_key(|&(start, end)| (end, start));
        Self(all)
    }

    /// Returns from when to when a thread without an event of its own from `from` to `to` waits for collectives: until the last one ends,
    /// if the thread continues then.
    pub(crate) fn wait(&self, from: i64, to: i64) -> Option<(i64, i64)> {
        let first = self.0.partition_point(|&(_, end)| end <= from);
        let inside = self.0.get(first..)?.iter().take_while(|(_, end)| *end <= to);
        let (began, ended) = inside
            .fold((i64::MAX, i64::MIN), |(began, ended), &(start, end)| (began.min(start), ended.max(end)));
        (ended > from && to - ended <= CONTINUES_NANOS).then(|| (began.max(from), ended))
    }
}

/// Functions that autograd's threads evaluate, by start.
#[derive(Debug, Default, Clone)]
pub(crate) struct Functions(Stretches);

/// Functions from a time on; times of calls never go back.
#[derive(Debug, Clone)]
pub(crate) struct FunctionCursor<'a>(Peekable<StretchIter<'a>>);

impl Functions {
    /// Merges the functions of several lanes; none where not all of a lane were kept.
    pub(crate) fn of<'s>(engines: impl Iterator<Item = &'s Stretches> + Clone) -> Self {
        if engines.clone().any(|engine| engine.is_full) {
            return Self::default();
        }
        let bytes = engines.clone().map(|engine| engine.bytes.len()).sum();
        let mut lanes: Vec<StretchIter<'_>> = engines.map(Stretches::iter).collect();
        let firsts =
            lanes.iter_mut().enumerate().filter_map(|(lane, rest)| Some(Reverse((rest.next()?, lane))));
        let mut heads: BinaryHeap<Reverse<((i64, i64), usize)>> = firsts.collect();
        let mut merged = Stretches { bytes: Vec::with_capacity(bytes), ..Stretches::default() };
        while let Some(Reverse(((from, to), lane))) = heads.pop() {
            merged.push(from, to);
            let next = lanes.get_mut(lane).and_then(Iterator::next);
            heads.extend(next.map(|next| Reverse((next, lane))));
        }
        Self(merged.finish())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns a cursor before the first function.
    pub(crate) fn cursor(&self) -> FunctionCursor<'_> {
        FunctionCursor(self.0.iter().peekable())
    }
}

impl FunctionCursor<'_> {
    /// Returns from when to when a thread with nothing but one event from `from` to `to` waits: from the first to the last function that
    /// is evaluated wholly inside.
    #[inline]
    pub(crate) fn wait(&mut self, from: i64, to: i64) -> Option<(i64, i64)> {
        while self.0.next_if(|function| function.0 < from).is_some() {}
        let began = self.0.peek().map(|function| function.0).filter(|began| *began < to)?;
        let inside = self.0.clone().take_while(|function| function.0 < to);
        let ended = inside.filter(|function| function.1 <= to).map(|function| function.1).max()?;
        Some((began, ended))
    }
}

/// Returns the nanoseconds of `gaps`, in which a thread has no named event, between the first and the last function that autograd evaluates
/// wholly inside of each.
pub(crate) fn waited<'s>(gaps: &Stretches, engines: impl Iterator<Item = &'s Stretches> + Clone) -> i64 {
    if gaps.is_full {
        return 0;
    }
    let functions = Functions::of(engines);
    let mut cursor = functions.cursor();
    let waits = gaps.iter().filter_map(|(from, to)| cursor.wait(from, to));
    waits.map(|(began, ended)| ended - began).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(stretches: &[(i64, i64)]) -> Stretches {
        let mut packed = Stretches::default();
        for &(from, to) in stretches {
            packed.add(from, to);
        }
        packed
    }

    #[test]
    fn a_wait_lasts_from_the_first_function_to_the_last() {
        let engines = [of(&[(100, 140), (150, 180)]), of(&[(145, 190), (500, 510)])];
        let waited = |gaps: &[(i64, i64)]| waited(&of(gaps), engines.iter());
        assert_eq!(waited(&[(50, 300)]), 90);
        assert_eq!(waited(&[(50, 300), (490, 520)]), 100);
        assert_eq!(waited(&[(0, 90), (200, 400)]), 0, "nothing is evaluated in them");
        assert_eq!(waited(&[(160, 185)]), 0, "what the thread did something beside is not waited for");
        assert_eq!(waited(&[]), 0);
    }

    proptest! {
        #[test]
        fn functions_of_several_lanes_are_in_order(
            lanes in proptest::collection::vec(proptest::collection::vec((any::<i32>(), 0..1000_i64), 0..30), 0..4),
            gaps in proptest::collection::vec((any::<i32>(), 0..i64::from(u32::MAX)), 0..20),
        ) {
            let sorted = |list: &[(i32, i64)]| {
                let mut list: Vec<(i64, i64)> =
                    list.iter().map(|&(from, length)| (i64::from(from), i64::from(from) + length)).collect();
                list.sort_unstable();
                list
            };
            let packed: Vec<Stretches> = lanes.iter().map(|lane| of(&sorted(lane))).collect();
            let functions = Functions::of(packed.iter());
            let mut all: Vec<(i64, i64)> = lanes.iter().flat_map(|lane| sorted(lane)).collect();
            all.sort_unstable();
            prop_assert_eq!(functions.0.iter().collect::<Vec<_>>(), all.clone());
            let mut cursor = functions.cursor();
            for (from, to) in sorted(&gaps) {
                let began = all.iter().filter(|function| from <= function.0 && function.0 < to).map(|own| own.0).min();
                let inside = all.iter().filter(|own| from <= own.0 && own.0 < to && own.1 <= to);
                let wanted = began.zip(inside.map(|own| own.1).max());
                prop_assert_eq!(cursor.wait(from, to), wanted, "from {} to {}", from, to);
            }
        }
    }

    #[test]
    fn a_thread_waits_for_a_collective_if_it_continues_when_that_ends() {
        const MS: i64 = 1_000_000;
        let collectives = Collectives::of([(10 * MS, 50 * MS), (20 * MS, 40 * MS)].into_iter());
        assert_eq!(collectives.wait(30 * MS, 50 * MS + 1), Some((30 * MS, 50 * MS)));
        assert_eq!(collectives.wait(5 * MS, 51 * MS), Some((10 * MS, 50 * MS)));
        assert_eq!(
            collectives.wait(30 * MS, 49 * MS),
            None,
            "it continues 9 ms after one and before the other"
        );
        assert_eq!(collectives.wait(30 * MS, 80 * MS), None, "it works beside the collectives");
        assert_eq!(collectives.wait(50 * MS, 60 * MS), None);
    }

    #[test]
    fn incomplete_functions_give_no_wait() {
        let full = Stretches { is_full: true, ..of(&[(0, 100)]) };
        assert_eq!(waited(&full, [of(&[(10, 20)])].iter()), 0);
        assert_eq!(waited(&of(&[(0, 100)]), [full].iter()), 0);
    }
}
