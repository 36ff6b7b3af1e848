//! The length of a stream's queue as a step function.

/// One stream's queue, fed by instants in order.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct StreamQueue {
    length: i64,
    pub(crate) points: u64,
    pub(crate) total: i128,
    pub(crate) total_starts_first: i128,
    pub(crate) max: Option<i64>,
    pub(crate) min: Option<i64>,
    pub(crate) area: i128,
    pub(crate) first: Option<i64>,
    pub(crate) last: i64,
    pub(crate) ties: bool,
}

impl StreamQueue {
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
}
