//! Unions of intervals that come by start, and how long two kinds of work run at once. Streaming: nothing is kept
//! but the last end.

/// Length of a union, fed by start (equal starts by end).
///
/// An interval that ends before it starts, as HTA's rounding makes them, counts with its negative length unless it
/// lies in what is covered already: that is what HTA's merge does.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Union {
    /// The end of the last interval of the union.
    end: Option<i64>,
    pub(crate) first: Option<i64>,
    pub(crate) last: Option<i64>,
    pub(crate) nanos: i64,
}

impl Union {
    /// Adds an interval; returns the part that was not covered before.
    pub(crate) fn add(&mut self, start: i64, end: i64) -> Option<(i64, i64)> {
        self.first = self.first.or(Some(start));
        self.last = Some(self.last.map_or(end, |last| last.max(end)));
        let fresh = match self.end {
            Some(covered) if start <= covered => (covered, end),
            _ => (start, end),
        };
        if self.end.is_some_and(|covered| start <= covered && end <= covered) {
            return None;
        }
        self.nanos += fresh.1 - fresh.0;
        self.end = Some(end);
        Some(fresh)
    }

    /// How much of `part`, which begins no earlier than the last interval added here, is covered here.
    fn covers(&self, part: (i64, i64), since: i64) -> i64 {
        let Some(end) = self.end else { return 0 };
        (part.1.min(end) - part.0.max(since)).max(0)
    }
}

/// Two unions and the time in which both run.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Overlap {
    pub(crate) both_nanos: i64,
}

impl Overlap {
    /// Adds an interval to `own`, counting what `other` covers of its new part.
    ///
    /// All intervals of both come by start, so what `other` covers at or after `start` is one piece from `start`
    /// to its last end.
    pub(crate) fn add(&mut self, own: &mut Union, other: &Union, start: i64, end: i64) {
        if let Some(fresh) = own.add(start, end) {
            self.both_nanos += other.covers(fresh, start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn unions_equal_counted_instants(
            list in proptest::collection::vec((0_i64..80, 0_i64..30, any::<bool>()), 0..24)
        ) {
            let mut sorted: Vec<(i64, i64, bool)> =
                list.iter().map(|&(start, length, which)| (start, start + length, which)).collect();
            sorted.sort_unstable();
            let (mut a, mut b, mut all, mut overlap) =
                (Union::default(), Union::default(), Union::default(), Overlap::default());
            for &(start, end, which) in &sorted {
                all.add(start, end);
                if which { overlap.add(&mut a, &b, start, end); } else { overlap.add(&mut b, &a, start, end); }
            }
            let runs = |t: i64, wanted: bool| sorted.iter().any(|&(s, e, w)| w == wanted && s <= t && t < e);
            let count = |test: &dyn Fn(i64) -> bool| (0..120).filter(|&t| test(t)).count() as i64;
            prop_assert_eq!(a.nanos, count(&|t| runs(t, true)));
            prop_assert_eq!(b.nanos, count(&|t| runs(t, false)));
            prop_assert_eq!(all.nanos, count(&|t| runs(t, true) || runs(t, false)));
            prop_assert_eq!(overlap.both_nanos, count(&|t| runs(t, true) && runs(t, false)));
        }
    }

    #[test]
    fn an_interval_that_ends_before_it_starts_counts_negative_once() {
        let mut union = Union::default();
        union.add(5, 4);
        assert_eq!(union.nanos, -1);
        union.add(5, 7);
        assert_eq!(union.nanos, 1);
        union.add(6, 5);
        assert_eq!(union.nanos, 1);
    }
}
