//! The highest and the lowest of a stream of predictions, in memory that does not grow with it. Equal predictions are ordered by
//! their candidates' numbers, so that the order of the stream does not matter.

use std::cmp::Ordering;

/// A prediction that stands out.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Number of the candidate.
    pub number: u64,
    /// Rows of the gene table, ascending.
    pub genes: Vec<u32>,
    /// In the scores' units.
    pub prediction: f64,
    /// Its standard deviation, where there is one.
    pub sd: Option<f64>,
}

/// The highest and the lowest predictions so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Extremes {
    top: BestHits,
    bottom: BestHits,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct BestHits {
    limit: usize,
    /// Twice the limit at most; those beyond the limit are dropped now and then.
    hits: Vec<Hit>,
    /// The worst prediction that still counts, once there are enough.
    threshold: Option<f64>,
}

fn higher(a: &Hit, b: &Hit) -> Ordering {
    b.prediction.total_cmp(&a.prediction).then(a.number.cmp(&b.number))
}

fn lower(a: &Hit, b: &Hit) -> Ordering {
    a.prediction.total_cmp(&b.prediction).then(a.number.cmp(&b.number))
}

impl BestHits {
    fn trim(&mut self, order: fn(&Hit, &Hit) -> Ordering) {
        if self.hits.len() > self.limit {
            self.hits.sort_unstable_by(order);
            self.hits.truncate(self.limit);
            self.threshold = self.hits.last().map(|hit| hit.prediction);
        }
    }

    fn push(&mut self, order: fn(&Hit, &Hit) -> Ordering, hit: impl FnOnce() -> Hit) {
        if self.limit == 0 {
            return;
        }
        self.hits.push(hit());
        if self.hits.len() >= 2 * self.limit.max(16) {
            self.trim(order);
        }
    }

    fn sorted(&self, order: fn(&Hit, &Hit) -> Ordering) -> Vec<Hit> {
        let mut best = self.clone();
        best.hits.sort_unstable_by(order);
        best.hits.truncate(best.limit);
        best.hits
    }
}

impl Extremes {
    /// Creates empty lists for some numbers of highest and of lowest predictions.
    pub fn new(top: usize, bottom: usize) -> Self {
        let best = |limit| BestHits { limit, ..BestHits::default() };
        Self { top: best(top), bottom: best(bottom) }
    }

    /// Adds a prediction; `hit` is called only if the prediction may be among the highest or lowest.
    pub fn push(&mut self, prediction: f64, hit: impl Fn() -> Hit) {
        if self.top.threshold.is_none_or(|threshold| prediction >= threshold) {
            self.top.push(higher, &hit);
        }
        if self.bottom.threshold.is_none_or(|threshold| prediction <= threshold) {
            self.bottom.push(lower, &hit);
        }
    }

    /// Takes over the hits of another.
    pub fn merge(&mut self, other: &Self) {
        other.top.hits.iter().for_each(|hit| self.top.push(higher, || hit.clone()));
        other.bottom.hits.iter().for_each(|hit| self.bottom.push(lower, || hit.clone()));
    }

    /// The highest, highest first.
    pub fn top(&self) -> Vec<Hit> {
        self.top.sorted(higher)
    }

    /// The lowest, lowest first.
    pub fn bottom(&self) -> Vec<Hit> {
        self.bottom.sorted(lower)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_base::random::Rng;

    #[test]
    fn the_order_of_the_stream_does_not_matter() {
        let mut rng = Rng::new(3, "top test");
        let hits: Vec<Hit> = (0..2000)
            .map(|number| Hit {
                number,
                genes: vec![0],
                prediction: f64::from(rng.below(90) as u32),
                sd: None,
            })
            .collect();
        for limit in [0, 1, 7, 100, 3000] {
            let mut forward = Extremes::new(limit, limit);
            for hit in &hits {
                forward.push(hit.prediction, || hit.clone());
            }
            let mut halves = [Extremes::new(limit, limit), Extremes::new(limit, limit)];
            hits.iter()
                .rev()
                .for_each(|hit| halves[(hit.number % 2) as usize].push(hit.prediction, || hit.clone()));
            let [mut merged, second] = halves;
            merged.merge(&second);
            let mut sorted = hits.clone();
            sorted.sort_by(higher);
            sorted.truncate(limit);
            assert_eq!(forward.top(), sorted);
            assert_eq!(merged.top(), sorted);
            sorted = hits.clone();
            sorted.sort_by(lower);
            sorted.truncate(limit);
            assert_eq!((forward.bottom(), merged.bottom()), (sorted.clone(), sorted));
        }
    }
}
