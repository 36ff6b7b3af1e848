//! All baselines, each fitted to one split, and their spread over splits and seeds.

use crate::baseline::{Baseline, Baselines, Epoch, FittedBaseline};
use crate::evaluation::{Metric, SeedSpread};
use knockout_base::error::Result;
use knockout_base::stats::pearson;
use knockout_data::screen::{Dataset, Part, Split};

/// Every baseline that applies to a split, fitted to it.
pub struct FittedBaselines {
    /// The split.
    pub split: Split,
    /// The part that is predicted.
    pub part: Part,
    /// The baselines, each with the seed of its weights if it has some.
    pub fitted: Vec<(FittedBaseline, Option<u64>)>,
}

/// Progress of fitting the baselines.
pub enum BaselineEvent {
    /// A baseline begins.
    Begin(Baseline),
    /// An epoch of a baseline that is trained.
    Epoch(Baseline, Epoch),
    /// A baseline is fitted.
    End(Baseline),
}

impl FittedBaselines {
    /// Fits the baselines to the training part of a split; those with random weights once for each seed.
    pub fn fit(
        dataset: &Dataset,
        split: Split,
        part: Part,
        seeds: &[u64],
        on_event: &dyn Fn(BaselineEvent),
    ) -> Result<Self> {
        let genes = dataset.cell.genes().len();
        let baselines = Baselines::new(&dataset.samples, genes, &split)?.over(&dataset.cell);
        let mut fitted = Vec::new();
        for baseline in baselines.applicable() {
            let seeds: Vec<Option<u64>> =
                if baseline.is_random() { seeds.iter().copied().map(Some).collect() } else { vec![None] };
            for seed in seeds {
                on_event(BaselineEvent::Begin(baseline));
                let on_epoch = |epoch| on_event(BaselineEvent::Epoch(baseline, epoch));
                let one = baselines.fit(baseline, split.rows(part), seed.unwrap_or(0), &on_epoch)?;
                fitted.push((one, seed));
                on_event(BaselineEvent::End(baseline));
            }
        }
        Ok(Self { split, part, fitted })
    }

    fn scores(&self, dataset: &Dataset) -> Vec<f64> {
        let rows = self.split.rows(self.part).iter();
        rows.map(|&row| dataset.samples.scores()[row as usize]).collect()
    }

    /// Returns the spread of the baseline with random weights over its seeds; `None` if it has one seed or does not apply.
    pub fn over_seeds(&self, dataset: &Dataset) -> Option<SeedSpread> {
        let targets = self.scores(dataset);
        let seeded = self.fitted.iter().filter_map(|(fitted, seed)| Some((fitted, (*seed)?)));
        let (seeds, values): (Vec<u64>, Vec<_>) =
            seeded.map(|(fitted, seed)| (seed, pearson(&fitted.predictions, &targets))).unzip();
        let name = Baseline::GeneMlp.name();
        (seeds.len() > 1).then(|| SeedSpread::of(name, Metric::Pearson, "weights", seeds, values))
    }

    /// Returns the spread of every baseline over several splits; empty for one split.
    pub fn over_splits(dataset: &Dataset, splits: &[Self]) -> Vec<SeedSpread> {
        if splits.len() < 2 {
            return Vec::new();
        }
        let spread = |baseline: Baseline| {
            let of_split = |all: &Self| {
                let (fitted, _) = all.fitted.iter().find(|(fitted, _)| fitted.baseline == baseline)?;
                Some((all.split.spec().seed, pearson(&fitted.predictions, &all.scores(dataset))))
            };
            let (seeds, values): (Vec<u64>, Vec<_>) = splits.iter().filter_map(of_split).unzip();
            let name = baseline.name();
            (!seeds.is_empty()).then(|| SeedSpread::of(name, Metric::Pearson, "splits", seeds, values))
        };
        Baseline::ALL.into_iter().filter_map(spread).collect()
    }
}
