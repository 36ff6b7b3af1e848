//! Time in which a thread waits for autograd's own threads, where no span says so.
//!
//! `loss.backward()` passes its graph to autograd's threads and waits for them. Without an annotation, the waiting thread has nothing but
//! the step's span around it. It waits from the first to the last of the functions that autograd evaluates while that thread has
//! no event of its own. Where only one thread has steps, only that thread can have called them.

/// Most stretches of time kept of a lane; a lane with more is left out.
const MOST: usize = 1 << 20;

/// Stretches of time on a lane, by start.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Stretches {
    kept: Vec<(i64, i64)>,
    is_full: bool,
}

impl Stretches {
    pub(crate) fn add(&mut self, from: i64, to: i64) {
        if self.kept.len() < MOST {
            self.kept.push((from, to));
        } else {
            self.is_full = true;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Ends the lane.
    pub(crate) fn finish(mut self) -> Self {
        self.kept.shrink_to_fit();
        self
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
pub(crate) struct Functions(Vec<(i64, i64)>);

impl Functions {
    /// Joins the functions of several lanes; none where not all of a lane were kept.
    pub(crate) fn of<'s>(engines: impl Iterator<Item = &'s Stretches> + Clone) -> Self {
        if engines.clone().any(|engine| engine.is_full) {
            return Self::default();
        }
        let mut functions: Vec<(i64, i64)> = engines.flat_map(|engine| engine.kept.iter().copied()).collect();
        functions.sort_unstable();
        Self(functions)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns from when to when a thread with nothing but one event from `from` to `to` waits: from the first to the last function that
    /// is evaluated wholly inside. The search begins at `cursor`, which times of earlier calls never pass.
    #[inline]
    pub(crate) fn wait(&self, cursor: &mut usize, from: i64, to: i64) -> Option<(i64, i64)> {
        while self.0.get(*cursor).is_some_and(|function| function.0 < from) {
            *cursor += 1;
        }
        let began = self.0.get(*cursor).map(|function| function.0).filter(|began| *began < to)?;
        let inside = self.0.get(*cursor..)?.iter().take_while(|function| function.0 < to);
        let ended = inside.filter(|function| function.1 <= to).map(|function| function.1).max()?;
        Some((began, ended))
    }
}

/// Returns the nanoseconds of `gaps`, in which a thread has no named event, between the first and the last function that autograd evaluates
/// wholly inside of each.
pub(crate) fn waited<'s>(gaps: &Stretches, engines: impl Iterator<Item = &'s Stretches> + Clone) -> i64 {
    let (functions, mut cursor) = (Functions::of(engines), 0);
    if gaps.is_full {
        return 0;
    }
    let waits = gaps.kept.iter().filter_map(|&(from, to)| functions.wait(&mut cursor, from, to));
    waits.map(|(began, ended)| ended - began).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(stretches: &[(i64, i64)]) -> Stretches {
        Stretches { kept: stretches.to_vec(), is_full: false }
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
        let full = Stretches { kept: vec![(0, 100)], is_full: true };
        assert_eq!(waited(&full, [of(&[(10, 20)])].iter()), 0);
        assert_eq!(waited(&of(&[(0, 100)]), [full].iter()), 0);
    }
}
