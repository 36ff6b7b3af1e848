//! One model on one split: trained or fitted once; its figures are stored.

use super::{BenchmarkModel, BenchmarkRequest};
use crate::trials::trial::{Stop, Trial, TrialEnd, TrialProgress, other_plan, predict};
use knockout_base::error::{Error, Result};
use knockout_base::files::{Checksum, Folder};
use knockout_data::screen::{Dataset, Part, Split};
use knockout_predict::baseline::{Baseline, Baselines};
use knockout_predict::evaluation::{MeasuredScores, NamedPredictions, rows_of};
use knockout_predict::predictions::Predictions;
use knockout_trace::{Clock as _, SystemClock};
use knockout_train::config::Config;
use knockout_train::metrics::Metrics;
use knockout_train::run::RunContext;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// The figures of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellResult {
    /// Version of this document.
    pub schema: u32,
    /// The model or baseline.
    pub name: String,
    /// Seed of the split and of the model.
    pub seed: u64,
    /// Hash of all inputs of the figures except the budget.
    pub identity: String,
    /// How the training ended.
    pub end: TrialEnd,
    /// CPU time that it was allowed, in seconds.
    pub budget_seconds: Option<f64>,
    /// CPU time of fitting or training, in seconds.
    pub cpu_seconds: f64,
    /// Epochs that were validated.
    pub epochs: Option<usize>,
    /// Best Pearson in validation.
    pub validation_pearson: Option<f64>,
    /// Figures on the test part.
    pub test: Metrics,
    /// Lower end of the bootstrap interval of Pearson.
    pub low: Option<f64>,
    /// Upper end of the same interval.
    pub high: Option<f64>,
    /// Whether the figures were read from a file without a checksum, such as one of an earlier version.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsealed: bool,
}

/// The stored figures.
#[derive(Serialize, Deserialize)]
struct KeptCell {
    #[serde(flatten)]
    result: CellResult,
    /// blake3 of the file of predictions; earlier versions wrote none.
    #[serde(default)]
    predictions_blake3: Option<String>,
}

/// Folder, split and name of a cell.
pub(super) struct CellPlan<'a> {
    pub(super) name: String,
    pub(super) folder: Folder,
    pub(super) dataset_folder: &'a Path,
    pub(super) dataset: &'a Arc<Dataset>,
    pub(super) split: &'a Arc<Split>,
    pub(super) request: &'a BenchmarkRequest,
}

/// A cell that applies to the dataset.
pub(super) struct BenchmarkCell<'a> {
    plan: CellPlan<'a>,
    model: BenchmarkModel,
    /// The configuration of a model; `None` for a baseline.
    config: Option<Config>,
}

impl<'a> CellPlan<'a> {
    /// Returns the cell of a model, or the reason why it does not apply to the dataset.
    pub(super) fn prepare(self, model: BenchmarkModel) -> Result<BenchmarkCell<'a>, String> {
        let config = match model {
            BenchmarkModel::Baseline(baseline) => {
                let genes = self.dataset.cell.genes().len();
                let baselines = Baselines::new(&self.dataset.samples, genes, self.split);
                let baselines = baselines.map_err(|error| error.to_string())?.over(&self.dataset.cell);
                if !baselines.applicable().contains(&baseline) {
                    return Err(
                        "it needs query pairs, networks or a validation part that are not there".to_owned()
                    );
                }
                None
            }
            BenchmarkModel::Model(entry) => {
                let spec = self.split.spec();
                let mut keys = vec![
                    format!("seed={}", spec.seed),
                    format!("split.scheme={}", spec.scheme.name()),
                    format!("split.seed={}", spec.seed),
                ];
                let own = self.request.settings.iter().filter(|(model, _)| model == entry.name);
                keys.extend(own.map(|(_, key)| key.clone()));
                let config =
                    Config::defaults(&entry, &self.dataset.cell).and_then(|config| config.with(&keys));
                let config = config.map_err(|error| error.to_string())?;
                config.check(&self.dataset.cell).map_err(|error| error.to_string())?;
                Some(config)
            }
        };
        Ok(BenchmarkCell { plan: self, model, config })
    }
}

/// The result of training or fitting in a cell.
struct FittedCell {
    end: TrialEnd,
    cpu_seconds: f64,
    epochs: Option<usize>,
    validation_pearson: Option<f64>,
    predictions: Vec<f64>,
}

impl BenchmarkCell<'_> {
    /// Returns the stored figures, or trains; `None` if stopped before the end.
    pub(super) fn result(
        &self,
        stop: &Stop,
        on_report: &mut dyn FnMut(TrialProgress<'_>),
    ) -> Result<Option<CellResult>> {
        let CellPlan { folder, dataset, split, request, .. } = &self.plan;
        let file_name = format!("{}.json", self.model.name());
        let identity = self.identity();
        let budget_seconds = match self.config {
            Some(_) => request.budget.map(|budget| budget.as_secs_f64()),
            None => None,
        };
        if let Some(found) = folder.find_sealed::<KeptCell>(&file_name)? {
            let KeptCell { result, predictions_blake3 } = found.value;
            if predictions_blake3.is_some() && !found.is_sealed {
                let error =
                    Error::damage("the file is damaged: it lost its checksum; move it away to make it again");
                return Err(error.in_file(folder.path().join(file_name)));
            }
            let kept = CellResult { unsealed: !found.is_sealed, ..result };
            if kept.identity != identity {
                let key = "other data or settings, whose hash is";
                let (found, asked) = (short(&kept.identity), short(&identity));
                return Err(other_plan(&folder.path().join(file_name), key, &found, &asked));
            }
            if let Some(blake3) = &predictions_blake3 {
                let advice = "move it and the file of its figures away to make them again";
                let name = predictions_name(self.model.name());
                folder.read_checked(&name, Checksum::new(blake3), advice)?;
            }
            let had_enough = match (budget_seconds, kept.budget_seconds) {
                (Some(asked), Some(had)) => had >= asked,
                (None, Some(_)) => false,
                (_, None) => true,
            };
            if kept.end == TrialEnd::Finished || had_enough {
                return self.with_interval(kept).map(Some);
            }
        }
        if stop() {
            return Ok(None);
        }
        folder.make()?;
        let fitted = match (&self.config, self.model) {
            (Some(config), _) => self.train(config, stop, on_report)?,
            (None, BenchmarkModel::Baseline(baseline)) => Some(self.fit(baseline)?),
            (None, BenchmarkModel::Model(_)) => None,
        };
        let Some(fitted) = fitted else { return Ok(None) };
        let mut file = Predictions::new(dataset, split, Part::Test, self.model.name(), fitted.predictions);
        file.description.seed = Some(split.spec().seed);
        file.description.folder = std::path::absolute(self.plan.dataset_folder).ok();
        let bytes = file.encode()?;
        // Figures and predictions are always of the same training, also after a kill.
        if folder.has(&file_name) {
            folder.remove(&file_name)?;
        }
        folder.replace(predictions_name(self.model.name()), |out| out.write_all(&bytes))?;
        let result = CellResult {
            schema: 1,
            name: self.model.name().to_owned(),
            seed: split.spec().seed,
            identity,
            end: fitted.end,
            budget_seconds,
            cpu_seconds: fitted.cpu_seconds,
            epochs: fitted.epochs,
            validation_pearson: fitted.validation_pearson,
            test: Metrics::of(&file.predictions, &file.scores),
            low: None,
            high: None,
            unsealed: false,
        };
        let result = self.with_interval(result)?;
        let kept = KeptCell { result, predictions_blake3: Some(Checksum::of(&bytes)) };
        folder.write_sealed(&file_name, &kept)?;
        Ok(Some(kept.result))
    }

    /// Computes the interval from the predictions: an earlier version may have resampled records where they share genes.
    fn with_interval(&self, result: CellResult) -> Result<CellResult> {
        let CellPlan { folder, dataset, split, request, .. } = &self.plan;
        let file = Predictions::load_from(folder, &predictions_name(self.model.name()))?;
        let model = NamedPredictions { name: self.model.name(), predictions: &file.predictions };
        let measured = MeasuredScores::of(dataset, split, Part::Test);
        let scheme = split.spec().scheme.name();
        let row = rows_of(&[model], &measured, scheme, Part::Test, &request.bootstrap).swap_remove(0);
        Ok(CellResult { low: row.low, high: row.high, ..result })
    }

    fn train(
        &self,
        config: &Config,
        stop: &Stop,
        on_report: &mut dyn FnMut(TrialProgress<'_>),
    ) -> Result<Option<FittedCell>> {
        let CellPlan { name, folder, dataset_folder, dataset, split, request } = &self.plan;
        let folder = folder.below(self.model.name());
        let trial = Trial {
            folder: folder.clone(),
            name: name.clone(),
            dataset: Arc::clone(dataset),
            config: config.clone(),
            context: RunContext {
                version: request.version.clone(),
                commit: request.commit.clone(),
                ..RunContext::new(*dataset_folder)
            },
        };
        let trained = trial.train(request.budget, stop, on_report)?;
        if trained.end == TrialEnd::Stopped {
            return Ok(None);
        }
        let Some(predictions) = predict(&folder, dataset, split, Part::Test)? else { return Ok(None) };
        Ok(Some(FittedCell {
            end: trained.end,
            cpu_seconds: trained.cpu_seconds,
            epochs: trained.epochs,
            validation_pearson: trained.best_pearson(),
            predictions,
        }))
    }

    fn fit(&self, baseline: Baseline) -> Result<FittedCell> {
        let CellPlan { dataset, split, .. } = &self.plan;
        let baselines =
            Baselines::new(&dataset.samples, dataset.cell.genes().len(), split)?.over(&dataset.cell);
        let clock = SystemClock::new();
        let began = clock.cpu_nanos();
        let fitted = baselines.fit(baseline, split.rows(Part::Test), split.spec().seed, &|_| ())?;
        Ok(FittedCell {
            end: TrialEnd::Finished,
            cpu_seconds: clock.cpu_nanos().saturating_sub(began) as f64 / 1e9,
            epochs: fitted.epochs,
            validation_pearson: None,
            predictions: fitted.predictions,
        })
    }

    /// Returns the hash of the data, the split and the settings.
    fn identity(&self) -> String {
        let dataset = self.plan.dataset;
        let genes = dataset.cell.genes().hash().to_hex().to_string();
        let spec = self.plan.split.spec();
        let settings = match &self.config {
            Some(config) => config.identity(&genes).config_hash(),
            None => format!("{} {} {}", spec.scheme.name(), spec.division, spec.seed),
        };
        format!("{} {} {settings}", dataset.manifest.data_hash(), self.model.name())
    }
}

/// Returns the name of the file of a model's predictions.
pub(super) fn predictions_name(name: &str) -> String {
    format!("{name}.parquet")
}

fn short(identity: &str) -> String {
    identity.split(' ').map(|hash| hash.chars().take(12).collect::<String>()).collect::<Vec<_>>().join(" ")
}
