//! Shares of measurements within the intervals of predictions.

use crate::TrainedGenes;
use crate::hit_metrics::CutOffs;
use crate::predictions::Predictions;
use knockout_data::screen::{Dataset, Part, Regime, Split};
use serde::Serialize;

/// Intervals around predictions.
#[derive(Debug, Clone)]
pub struct Intervals {
    /// Standard deviation of each prediction, the half-width of its 68 % interval.
    pub sd: Vec<f64>,
    /// Half-width of each 95 % interval in standard deviations.
    pub wide: Vec<f64>,
}

/// Shares of some measurements within 68 % and 95 % intervals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct IntervalShares {
    /// Records counted.
    pub records: usize,
    /// Share within the 68 % interval.
    pub within_68: f64,
    /// Share within the 95 % interval.
    pub within_95: f64,
}

/// Shares of the measurements of one regime.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RegimeCoverage {
    /// The regime.
    pub regime: Regime,
    /// All its records.
    pub all: IntervalShares,
    /// Predictions below this are strong.
    pub cut_off: f64,
    /// Records whose prediction is strong; `None` if there are none.
    pub strong: Option<IntervalShares>,
}

/// Shares of a part's measurements within the intervals of a model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Coverage {
    /// The model.
    pub name: String,
    /// Share within the 68 % interval.
    pub within_68: f64,
    /// Share within the 95 % interval.
    pub within_95: f64,
    /// The shares of each regime that the part has.
    pub regimes: Vec<RegimeCoverage>,
}

impl Coverage {
    /// Counts the measurements within the intervals of a model.
    ///
    /// # Panics
    ///
    /// If there is not one interval for every prediction.
    pub fn of(
        name: &str,
        predictions: &Predictions,
        intervals: &Intervals,
        dataset: &Dataset,
        split: &Split,
    ) -> Self {
        let shares = |records: &[usize]| {
            let within = |times: &dyn Fn(usize) -> f64| {
                let is_inside = |&&record: &&usize| {
                    let error = predictions.predictions[record] - predictions.scores[record];
                    error.abs() <= times(record) * intervals.sd[record]
                };
                records.iter().filter(is_inside).count() as f64 / records.len().max(1) as f64
            };
            IntervalShares {
                records: records.len(),
                within_68: within(&|_| 1.0),
                within_95: within(&|record| intervals.wide[record]),
            }
        };
        let samples = &dataset.samples;
        let sd = samples.label_stats(split.rows(Part::Train)).map_or(1.0, |labels| labels.sd);
        let cut_off = CutOffs::usual(sd).negative;
        let trained = TrainedGenes::of(samples, dataset.cell.genes().len(), split);
        let of_regime = |(regime, records): (Regime, Vec<usize>)| {
            let is_strong = |record: &usize| predictions.predictions[*record] < cut_off;
            let strong: Vec<usize> = records.iter().copied().filter(is_strong).collect();
            let strong = (!strong.is_empty()).then(|| shares(&strong));
            RegimeCoverage { regime, all: shares(&records), cut_off, strong }
        };
        let all = shares(&(0..predictions.rows.len()).collect::<Vec<_>>());
        let regimes = trained.by_regime(samples, &predictions.rows).into_iter().map(of_regime).collect();
        Self { name: name.to_owned(), within_68: all.within_68, within_95: all.within_95, regimes }
    }
}
