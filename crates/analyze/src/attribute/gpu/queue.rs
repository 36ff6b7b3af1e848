//! The length of a stream's queue as a step function.

use super::QueueFigures;

/// One stream's queue, fed by instants in order.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Queue {
    length: i64,
    points: u64,
    total: i128,
    total_starts_first: i128,
    max: Option<i64>,
    min: Option<i64>,
    area: i128,
    first: Option<i64>,
    last: i64,
    ties: bool,
}

impl Queue {
    /// At `time`, so many calls were made and so many device events started.
    pub(crate) fn at(&mut self, time: i64, calls: u64, starts: u64) {
        if calls + starts == 0 {
            return;
        }
        if self.first.is_none() {
            self.first = Some(time);
        } else {
            self.area += i128::from(self.length) * i128::from(time - self.last);
        }
        self.last = time;
        self.ties |= calls > 0 && starts > 0;
        let mut starts_first = self.length;
        for step in 0..calls + starts {
            self.length += if step < calls { 1 } else { -1 };
            starts_first += if step < starts { -1 } else { 1 };
            self.total += i128::from(self.length);
            self.total_starts_first += i128::from(starts_first);
            self.max = self.max.max(Some(self.length));
            self.min = Some(self.min.map_or(self.length, |min| min.min(self.length)));
        }
        self.points += calls + starts;
    }

    /// The figures; `None` if nothing ever waited.
    pub(crate) fn figures(&self) -> Option<QueueFigures> {
        let span = self.last - self.first?;
        let mean = |total: i128| total as f64 / self.points as f64;
        Some(QueueFigures {
            points: self.points,
            mean: mean(self.total),
            max: self.max?,
            min: self.min?,
            mean_over_time: (span != 0).then(|| self.area as f64 / span as f64),
            mean_if_starts_first_at_ties: self.ties.then(|| mean(self.total_starts_first)),
        })
    }
}
