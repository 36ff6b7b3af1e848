//! Compares models on one part of one split, always beside the additive ridge and the stack.
//!
//! Results are values; the module does not depend on the source of predictions and prints nothing.

use crate::baseline::{Baseline, Baselines};
use crate::hit_metrics::{CutOffs, HitMetrics};
pub use crate::regime::MeasuredScores;
use crate::regime::{ResampledUnits, TrainedGenes};
use knockout_base::error::Result;
use knockout_base::stats::bootstrap::{Bootstrap, Difference, Statistic};
use knockout_data::screen::{Bounds, Dataset, Part, Regime, Split};
use knockout_train::metrics::Metrics;
use serde::Serialize;
use std::collections::BTreeMap;

/// Name of the mean of several models' predictions.
pub const ENSEMBLE: &str = "ensemble";

/// A model's predictions for the rows of a part, in their order.
#[derive(Debug, Clone, Copy)]
pub struct NamedPredictions<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its predictions.
    pub predictions: &'a [f64],
}

/// One line of the table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelMetrics {
    /// The model.
    pub name: String,
    /// The scheme of the split.
    pub split: &'static str,
    /// Name of the part of the split.
    pub part: &'static str,
    /// The figures.
    #[serde(flatten)]
    pub metrics: Metrics,
    /// Lower end of the bootstrap interval of Pearson.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// The elements that were resampled for the interval.
    pub resampled: ResampledUnits,
    /// Figures of strong interactions, where they were computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hits: Option<HitMetrics>,
}

/// Records below which a regime has no correlations: that of two records is 1 or -1.
const FEWEST_OF_REGIME: usize = 10;

/// The figures of records of one regime.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RegimeFigures {
    /// The regime.
    pub regime: Regime,
    /// Records of the regime.
    pub records: usize,
    /// Genes of these records that training has never seen.
    pub new_genes: usize,
    /// One line per model.
    pub rows: Vec<ModelMetrics>,
}

/// A defect of a model that its correlation does not show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Defect {
    /// Its mean squared error is larger than that of predicting the mean training score.
    WorseThanMean,
    /// Neither its correlation nor its error is better than those of the mean: no signal was found.
    NoSignal,
    /// Its correlation is above the attainable one, or above the stack's by more than 0.2: it may have seen the records before.
    TooGood,
}

/// A model with a defect.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Warning {
    /// The model.
    pub name: String,
    /// Its defect.
    pub defect: Defect,
    /// Its mean squared error minus that of the training mean.
    pub mse: Difference,
}

/// A part of a split by regime.
struct ByRegime<'a> {
    dataset: &'a Dataset,
    trained: TrainedGenes,
    rows: &'a [u32],
    cut_offs: CutOffs,
}

impl<'a> ByRegime<'a> {
    fn new(dataset: &'a Dataset, split: &'a Split, part: Part) -> Self {
        let samples = &dataset.samples;
        let sd = samples.label_stats(split.rows(Part::Train)).map_or(1.0, |labels| labels.sd);
        Self {
            dataset,
            trained: TrainedGenes::of(samples, dataset.cell.genes().len(), split),
            rows: split.rows(part),
            cut_offs: CutOffs::usual(sd),
        }
    }

    /// Returns the figures of each regime that occurs.
    fn figures(
        &self,
        models: &[NamedPredictions<'_>],
        split: &'static str,
        part: Part,
        bootstrap: &Bootstrap,
    ) -> Vec<RegimeFigures> {
        let samples = &self.dataset.samples;
        let of_regime = |(regime, records): (Regime, Vec<usize>)| {
            let rows: Vec<u32> = records.iter().map(|&record| self.rows[record]).collect();
            let measured = MeasuredScores::of_rows(samples, &rows, &self.trained);
            let predictions: Vec<Vec<f64>> = models
                .iter()
                .map(|model| records.iter().map(|&record| model.predictions[record]).collect())
                .collect();
            let own: Vec<NamedPredictions<'_>> = models
                .iter()
                .zip(&predictions)
                .map(|(model, predictions)| NamedPredictions { name: model.name, predictions })
                .collect();
            let mut figures = rows_of(&own, &measured, split, part, bootstrap);
            let (profiles, new_genes) = self.profiles(&rows, regime);
            for (row, predictions) in figures.iter_mut().zip(&predictions) {
                if rows.len() < FEWEST_OF_REGIME {
                    (row.metrics.pearson, row.metrics.spearman) = (None, None);
                    (row.low, row.high) = (None, None);
                }
                row.hits = Some(HitMetrics::of(predictions, &measured, &profiles, self.cut_offs, bootstrap));
            }
            RegimeFigures { regime, records: rows.len(), new_genes, rows: figures }
        };
        self.trained.by_regime(samples, self.rows).into_iter().map(of_regime).collect()
    }

    /// Returns the records of each gene, of new genes only where the regime has some; and the number of new genes.
    fn profiles(&self, rows: &[u32], regime: Regime) -> (Vec<Vec<usize>>, usize) {
        let mut records: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (record, &row) in rows.iter().enumerate() {
            for &gene in self.dataset.samples.genes(row as usize) {
                records.entry(gene).or_default().push(record);
            }
        }
        let new_genes = records.keys().filter(|&&gene| !self.trained.has(gene)).count();
        records.retain(|&gene, _| regime == Regime::Known || !self.trained.has(gene));
        (records.into_values().collect(), new_genes)
    }
}

/// Genes and records of a part that training has never seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Unseen {
    /// Genes of the part that no training record deletes.
    pub genes: usize,
    /// Records of the part with such a gene.
    pub records: usize,
}

/// The paired difference of two models.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairedDifference {
    /// The first model.
    pub name: String,
    /// The model it is compared with.
    pub against: String,
    /// Pearson of the first minus that of the second; `None` where a correlation is undefined.
    pub pearson: Option<Difference>,
    /// Mean squared error of the first minus that of the second: below 0 where the first is better.
    pub mse: Option<Difference>,
}

/// Models side by side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evaluation {
    /// One line per model, then the stack, where there is a validation part and it is not among them, and the ridge.
    pub rows: Vec<ModelMetrics>,
    /// Paired differences, chosen by [`Pairs`].
    pub comparisons: Vec<PairedDifference>,
    /// The figures of each regime that the part has.
    pub regimes: Vec<RegimeFigures>,
    /// Models that are worse than the training mean, show no signal or are too good to be true.
    pub warnings: Vec<Warning>,
    /// Genes and records of the part that training has never seen.
    pub unseen: Unseen,
    /// Gene sets of the part with several samples, each of which is compared with the prediction of its set.
    pub repeated_sets: usize,
    /// Bounds of the accuracy of any model.
    #[serde(flatten)]
    pub bounds: Bounds,
}

/// Pairs of models that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairs {
    /// Each with the one after it, with the stack and with the ridge.
    Neighbours,
    /// Each with the references alone, for seeds of one model.
    ReferencesOnly,
}

/// Evaluates models on a part of a split, beside the stack and the additive ridge fitted to the same split.
///
/// # Panics
///
/// If a model has not one prediction for every row of the part.
pub fn evaluate(
    dataset: &Dataset,
    split: &Split,
    part: Part,
    models: &[NamedPredictions<'_>],
    pairs: Pairs,
    bootstrap: &Bootstrap,
) -> Result<Evaluation> {
    evaluate_beside(dataset, split, part, models, pairs, bootstrap, &StackPredictions::ToBeSolved)
}

/// Source of the predictions of the stack.
#[derive(Debug, Clone)]
pub enum StackPredictions {
    /// It is solved for the split, where the split has a validation part.
    ToBeSolved,
    /// Its predictions are known, one for every row of the part.
    Known(Vec<f64>),
    /// It is the model of this index, so that the others are compared with that one.
    IsModel(usize),
}

/// Like [`evaluate`], with the source of the stack's predictions.
///
/// # Panics
///
/// If a model or the stack has not one prediction for every row of the part.
pub fn evaluate_beside(
    dataset: &Dataset,
    split: &Split,
    part: Part,
    models: &[NamedPredictions<'_>],
    pairs: Pairs,
    bootstrap: &Bootstrap,
    stack: &StackPredictions,
) -> Result<Evaluation> {
    let rows = split.rows(part);
    let baselines = Baselines::new(&dataset.samples, dataset.cell.genes().len(), split)?.over(&dataset.cell);
    let ridge = baselines.fit(Baseline::AdditiveRidge, rows, 0, &|_| ())?;
    // The best model without training: a network has learnt something new only if it beats this one.
    let (stack, stack_model) = match stack {
        StackPredictions::ToBeSolved if baselines.applicable().contains(&Baseline::Stack) => {
            (Some(baselines.fit(Baseline::Stack, rows, 0, &|_| ())?.predictions), None)
        }
        StackPredictions::Known(predictions) => (Some(predictions.clone()), None),
        StackPredictions::ToBeSolved => (None, None),
        StackPredictions::IsModel(index) => (None, Some(*index)),
    };
    let measured = MeasuredScores::of(dataset, split, part);
    let ridge = NamedPredictions { name: Baseline::AdditiveRidge.name(), predictions: &ridge.predictions };
    let stack =
        stack.as_ref().map(|stack| NamedPredictions { name: Baseline::Stack.name(), predictions: stack });
    let references: Vec<NamedPredictions<'_>> = stack.into_iter().chain([ridge]).collect();
    let beside: Vec<NamedPredictions<'_>> = models.iter().chain(&references).copied().collect();
    let scheme = split.spec().scheme.name();
    let labels = dataset.samples.label_stats(split.rows(Part::Train));
    let mean = labels.map_or(0.0, |labels| labels.mean);
    let rows = rows_of(&beside, &measured, scheme, part, bootstrap);
    let bounds = dataset.manifest.bounds();
    let own = stack_model.map(|index| &rows[index]);
    let of_stack = own.or_else(|| rows[models.len()..].iter().find(|row| row.name == Baseline::Stack.name()));
    let of_stack = of_stack.and_then(|row| row.metrics.pearson).map(|pearson| pearson + FAR_ABOVE_STACK);
    let credible = bounds.attainable_pearson.into_iter().chain(of_stack).fold(f64::INFINITY, f64::min);
    Ok(Evaluation {
        warnings: warnings(models, &rows, (mean, credible), &measured, bootstrap),
        rows,
        regimes: ByRegime::new(dataset, split, part).figures(&beside, scheme, part, bootstrap),
        comparisons: compare(models, pairs, stack_model, &references, &measured, bootstrap),
        unseen: Unseen::of(dataset, split, part),
        repeated_sets: dataset.samples.repeated_sets(split.rows(part).iter().copied()),
        bounds,
    })
}

/// The line of each model; all intervals come from the same resamples.
///
/// # Panics
///
/// If a model has not one prediction for every score.
pub fn rows_of(
    models: &[NamedPredictions<'_>],
    measured: &MeasuredScores,
    split: &'static str,
    part: Part,
    bootstrap: &Bootstrap,
) -> Vec<ModelMetrics> {
    let predictions: Vec<&[f64]> = models.iter().map(|model| model.predictions).collect();
    let resampled = bootstrap.resample(&measured.shared.resampling, &measured.scores, &predictions);
    let row = |(index, model): (usize, &NamedPredictions<'_>)| {
        let interval = resampled.interval(Statistic::Pearson, index);
        ModelMetrics {
            name: model.name.to_owned(),
            split,
            part: part.name(),
            metrics: Metrics::of(model.predictions, &measured.scores),
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
            resampled: measured.shared.units,
            hits: None,
        }
    };
    models.iter().enumerate().map(row).collect()
}

/// Each model against the one after it and against the stack among them, where neighbours are wanted, then each against every reference.
///
/// # Panics
///
/// If a model has not one prediction for every score.
pub fn compare(
    models: &[NamedPredictions<'_>],
    pairs: Pairs,
    stack: Option<usize>,
    references: &[NamedPredictions<'_>],
    measured: &MeasuredScores,
    bootstrap: &Bootstrap,
) -> Vec<PairedDifference> {
    let neighbours = match pairs {
        Pairs::Neighbours => models.len().saturating_sub(1),
        Pairs::ReferencesOnly => 0,
    };
    let with_stack = stack.filter(|_| pairs == Pairs::Neighbours).into_iter();
    // Those beside the stack are its neighbours already.
    let with_stack = with_stack.flat_map(|stack| {
        (0..models.len()).filter(move |model| model.abs_diff(stack) > 1).map(move |model| (model, stack))
    });
    let with_references = (0..models.len())
        .flat_map(|model| (0..references.len()).map(move |other| (model, models.len() + other)));
    let beside: Vec<&NamedPredictions<'_>> = models.iter().chain(references).collect();
    let predictions: Vec<&[f64]> = beside.iter().map(|model| model.predictions).collect();
    let resampled = bootstrap.resample(&measured.shared.resampling, &measured.scores, &predictions);
    let comparison = |(a, b): (usize, usize)| PairedDifference {
        name: beside[a].name.to_owned(),
        against: beside[b].name.to_owned(),
        pearson: resampled.difference(Statistic::Pearson, a, b),
        mse: resampled.difference(Statistic::Mse, a, b),
    };
    let neighbours = (0..neighbours).map(|model| (model, model + 1));
    neighbours.chain(with_stack).chain(with_references).map(comparison).collect()
}

/// How far above the stack a correlation is credible.
const FAR_ABOVE_STACK: f64 = 0.2;

/// Returns the models whose error is not below that of the mean training score, or whose correlation is above the credible one.
fn warnings(
    models: &[NamedPredictions<'_>],
    rows: &[ModelMetrics],
    (training_mean, credible): (f64, f64),
    measured: &MeasuredScores,
    bootstrap: &Bootstrap,
) -> Vec<Warning> {
    let mean = vec![training_mean; measured.scores.len()];
    let predictions: Vec<&[f64]> = models.iter().map(|model| model.predictions).chain([&mean[..]]).collect();
    let resampled = bootstrap.resample(&measured.shared.resampling, &measured.scores, &predictions);
    let warning = |(index, model): (usize, &NamedPredictions<'_>)| {
        let mse = resampled.difference(Statistic::Mse, index, models.len())?;
        let has_correlation = rows[index].low.is_some_and(|low| low > 0.0);
        let defect = match (mse.low > 0.0, mse.high < 0.0) {
            (true, _) => Defect::WorseThanMean,
            (_, false) if !has_correlation => Defect::NoSignal,
            _ if rows[index].metrics.pearson.is_some_and(|pearson| pearson > credible) => Defect::TooGood,
            _ => return None,
        };
        Some(Warning { name: model.name.to_owned(), defect, mse })
    };
    models.iter().enumerate().filter_map(warning).collect()
}

impl Unseen {
    /// Finds the genes of a part that training has never seen.
    pub fn of(dataset: &Dataset, split: &Split, part: Part) -> Self {
        let samples = &dataset.samples;
        let mut is_seen = vec![false; dataset.cell.genes().len()];
        for &row in split.rows(Part::Train) {
            samples.genes(row as usize).iter().for_each(|&gene| is_seen[gene as usize] = true);
        }
        let mut is_counted = is_seen.clone();
        let (mut genes, mut records) = (0, 0);
        for &row in split.rows(part) {
            let set = samples.genes(row as usize);
            records += usize::from(set.iter().any(|&gene| !is_seen[gene as usize]));
            for &gene in set {
                genes += usize::from(!std::mem::replace(&mut is_counted[gene as usize], true));
            }
        }
        Self { genes, records }
    }
}

/// Returns the mean of several models' predictions for each row.
///
/// # Panics
///
/// If the models have different numbers of predictions.
pub fn ensemble(models: &[NamedPredictions<'_>]) -> Vec<f64> {
    let mut sums = vec![0.0; models.first().map_or(0, |model| model.predictions.len())];
    for model in models {
        assert_eq!(model.predictions.len(), sums.len(), "every model predicts every row");
        sums.iter_mut().zip(model.predictions).for_each(|(sum, prediction)| *sum += prediction);
    }
    sums.iter().map(|sum| sum / models.len() as f64).collect()
}

/// A figure of [`Metrics`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    /// Pearson's correlation.
    Pearson,
    /// Spearman's.
    Spearman,
    /// Mean squared error.
    Mse,
    /// Its root.
    Rmse,
    /// Mean absolute error.
    Mae,
}

impl Metric {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 5] = [Self::Pearson, Self::Spearman, Self::Mse, Self::Rmse, Self::Mae];

    /// The figure among others.
    pub fn of(self, metrics: &Metrics) -> Option<f64> {
        match self {
            Self::Pearson => metrics.pearson,
            Self::Spearman => metrics.spearman,
            Self::Mse => metrics.mse,
            Self::Rmse => metrics.rmse,
            Self::Mae => metrics.mae,
        }
    }
}

/// How much a figure varies with a seed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeedSpread {
    /// The model.
    pub name: String,
    /// The figure.
    pub metric: Metric,
    /// Kind of the seeds: `weights` or `splits`.
    pub over: &'static str,
    /// Seeds of the runs, in the order of `values`.
    pub seeds: Vec<u64>,
    /// The figure of each; `None` where undefined.
    pub values: Vec<Option<f64>>,
    /// Mean of those that are defined; `None` when none is.
    pub mean: Option<f64>,
    /// Their sample standard deviation; `None` with fewer than two.
    pub sd: Option<f64>,
    /// The lowest.
    pub low: Option<f64>,
    /// The highest.
    pub high: Option<f64>,
}

impl SeedSpread {
    /// Sums up a figure of a model, one for each seed.
    pub fn of(
        name: &str,
        metric: Metric,
        over: &'static str,
        seeds: Vec<u64>,
        values: Vec<Option<f64>>,
    ) -> Self {
        let known: Vec<f64> = values.iter().flatten().copied().collect();
        let count = known.len() as f64;
        let mean = (!known.is_empty()).then(|| known.iter().sum::<f64>() / count);
        let squares = |mean: f64| known.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        Self {
            name: name.to_owned(),
            metric,
            over,
            seeds,
            mean,
            sd: mean.filter(|_| known.len() > 1).map(|mean| (squares(mean) / (count - 1.0)).sqrt()),
            low: known.iter().copied().reduce(f64::min),
            high: known.iter().copied().reduce(f64::max),
            values,
        }
    }

    /// Every figure of a model over the seeds of its weights, from the line of each.
    pub fn over_weights(name: &str, seeds: &[u64], rows: &[ModelMetrics]) -> Vec<Self> {
        let spread = |metric: Metric| {
            let values = rows.iter().map(|row| metric.of(&row.metrics)).collect();
            Self::of(name, metric, "weights", seeds.to_vec(), values)
        };
        Metric::ALL.map(spread).to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_of_the_figures_that_are_defined() {
        let spread =
            SeedSpread::of("m", Metric::Pearson, "weights", vec![0, 1, 2], vec![Some(0.5), None, Some(0.7)]);
        assert!((spread.mean.unwrap() - 0.6).abs() < 1e-15);
        // Sample deviation of two figures: their distance over the root of 2.
        assert!((spread.sd.unwrap() - 0.2 / 2f64.sqrt()).abs() < 1e-15);
        assert_eq!((spread.low, spread.high), (Some(0.5), Some(0.7)));
        let one = SeedSpread::of("m", Metric::Pearson, "weights", vec![0], vec![Some(0.5)]);
        assert_eq!((one.mean, one.sd), (Some(0.5), None));
        let none = SeedSpread::of("m", Metric::Pearson, "weights", vec![0], vec![None]);
        assert_eq!((none.mean, none.sd, none.low, none.high), (None, None, None, None));
    }

    #[test]
    fn an_ensemble_is_the_mean_row_by_row() {
        let model = |predictions| NamedPredictions { name: "m", predictions };
        assert_eq!(ensemble(&[model(&[1.0, -2.0]), model(&[3.0, 4.0])]), [2.0, 1.0]);
        assert_eq!(ensemble(&[model(&[1.0, -2.0])]), [1.0, -2.0]);
        assert!(ensemble(&[]).is_empty());
    }

    #[test]
    fn seeds_are_compared_with_the_ridge_alone() {
        let targets: Vec<f64> = (0..20).map(f64::from).collect();
        let other: Vec<f64> = targets.iter().map(|x| (x * 7.0) % 5.0).collect();
        let model = |name, predictions| NamedPredictions { name, predictions };
        let models = [model("a", &targets[..]), model("b", &other)];
        let bootstrap = Bootstrap { resamples: 10, ..Bootstrap::default() };
        let measured = MeasuredScores { scores: targets.clone(), ..MeasuredScores::default() };
        let pairs_of = |pairs| -> Vec<(String, String)> {
            let found = compare(&models, pairs, None, &[model("ridge", &other)], &measured, &bootstrap);
            found.into_iter().map(|found| (found.name, found.against)).collect()
        };
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        let with_ridge = [pair("a", "ridge"), pair("b", "ridge")];
        assert_eq!(pairs_of(Pairs::ReferencesOnly), with_ridge);
        assert_eq!(pairs_of(Pairs::Neighbours), [&[pair("a", "b")], &with_ridge[..]].concat());
        // The stack is compared with every other model once.
        let models = [model("a", &targets[..]), model("b", &other), model("stack", &other)];
        let found = compare(&models, Pairs::Neighbours, Some(2), &[], &measured, &bootstrap);
        let found: Vec<_> = found.into_iter().map(|found| (found.name, found.against)).collect();
        assert_eq!(found, [pair("a", "b"), pair("b", "stack"), pair("a", "stack")]);
    }
}
