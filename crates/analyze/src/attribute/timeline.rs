//! A lane's time in a fixed number of equal intervals, by category, for pictures of large traces.

use crate::collect::id::CategoryId;

/// Collects pieces in order of time.
#[derive(Debug)]
pub(crate) struct Bins {
    origin: i64,
    width: i64,
    count: usize,
    at: usize,
    until: i64,
    now: Vec<i64>,
    touched: Vec<CategoryId>,
    full: Vec<Bin>,
}

/// One interval: its number and the nanoseconds of each category in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bin {
    pub(crate) index: u32,
    pub(crate) parts: Vec<(CategoryId, i64)>,
}

impl Bins {
    /// Bins over `window`; `categories` is the number of categories.
    pub(crate) fn new(window: (i64, i64), count: usize, categories: usize) -> Self {
        let count = count.max(1);
        let width = ((window.1 - window.0) / count as i64 + 1).max(1);
        Self {
            origin: window.0,
            width,
            count,
            at: 0,
            until: window.0 + width,
            now: vec![0; categories],
            touched: Vec::new(),
            full: Vec::new(),
        }
    }

    pub(crate) fn width(&self) -> i64 {
        self.width
    }

    /// A piece of time; pieces never go back.
    #[inline]
    pub(crate) fn add(&mut self, category: CategoryId, from: i64, to: i64) {
        let mut from = from;
        while from < to {
            if from >= self.until {
                self.move_to(from);
            }
            let end = if self.at + 1 >= self.count { to } else { to.min(self.until) };
            if let Some(sum) = self.now.get_mut(category.index()) {
                if *sum == 0 {
                    self.touched.push(category);
                }
                *sum += end - from;
            }
            from = end;
        }
    }

    fn move_to(&mut self, time: i64) {
        self.flush();
        let index = ((time - self.origin) / self.width).max(0) as usize;
        self.at = index.min(self.count - 1);
        self.until = if self.at + 1 >= self.count {
            i64::MAX
        } else {
            self.origin + (self.at as i64 + 1) * self.width
        };
    }

    fn flush(&mut self) {
        if self.touched.is_empty() {
            return;
        }
        self.touched.sort_unstable();
        let mut parts = Vec::with_capacity(self.touched.len());
        for category in self.touched.drain(..) {
            if let Some(sum) = self.now.get_mut(category.index()) {
                parts.push((category, std::mem::take(sum)));
            }
        }
        self.full.push(Bin { index: self.at as u32, parts });
    }

    pub(crate) fn finish(mut self) -> Vec<Bin> {
        self.flush();
        self.full
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_sum_to_the_time() {
        let mut bins = Bins::new((0, 1000), 10, 3);
        let [a, b, c] = [0, 1, 2].map(CategoryId::from_index);
        bins.add(a, 0, 150);
        bins.add(c, 150, 160);
        bins.add(b, 700, 1000);
        let full = bins.finish();
        let total: i64 = full.iter().flat_map(|bin| &bin.parts).map(|(_, nanos)| nanos).sum();
        assert_eq!(total, 460);
        assert_eq!(full[0].parts, [(a, 101)]);
        assert_eq!(full[1].parts, [(a, 49), (c, 10)]);
    }
}
