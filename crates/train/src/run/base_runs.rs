//! Opens the runs that a new run builds on, and prepares its [`Fit`] with their residuals and factors.

use super::folder::CHECKPOINTS;
use super::{RunDescription, residual_folds};
use crate::checkpoint::Checkpoints;
use crate::config::{Config, FromOptions, RESIDUALS_OF, START};
use crate::fit::Fit;
use crate::predictor::BaseRuns;
use knockout_base::error::{Error, Result};
use knockout_base::files::Folder;
use knockout_data::cell::GeneSets;
use knockout_data::screen::{Dataset, Part, Split};
use knockout_models::MODELS;
use knockout_solve::gene_factors;
use std::path::Path;
use std::sync::Arc;

/// Opens the runs that a new run names, each at its best state in validation. They must share its dataset and split.
pub(super) fn open(options: &FromOptions, dataset: &Dataset, split: &Split) -> Result<BaseRuns> {
    let mut base_runs = BaseRuns::default();
    for (name, folder) in options.named() {
        let run = Path::new(folder);
        let refuse = |reason: &str| Err(Error::request(format!("{folder} {reason}")));
        let description = RunDescription::read(run, &[] as &[&str], MODELS)?;
        if description.manifest.inputs.dataset != dataset.manifest.data_hash() {
            return refuse("is of another dataset; build on a run of the same one");
        }
        let theirs = description.split_of(dataset)?;
        if Part::ALL.into_iter().any(|part| theirs.rows(part) != split.rows(part)) {
            let word = |split: &Split| {
                let spec = split.spec();
                format!("{} seed {}", spec.scheme.name(), spec.seed)
            };
            let (there, here) = (word(&theirs), word(split));
            return refuse(&format!(
                "is of another split ({there}, here {here}): it has seen records that are held out here; train it on the same split"
            ));
        }
        let Some((_, path, checkpoint)) = Checkpoints::of_run(run).choose(None)? else {
            return refuse("has no state yet; let it train for an epoch");
        };
        let checkpoints = Folder::at(run).below(CHECKPOINTS);
        let path = checkpoints.below(path.file_name().unwrap_or_default());
        base_runs.insert(name, path, Folder::at(run), checkpoint);
    }
    Ok(base_runs)
}

/// Returns the fit of a new run before its first step, and the runs that it builds on.
pub(super) fn new_fit(mut config: Config, dataset: Arc<Dataset>) -> Result<(Fit, BaseRuns)> {
    let split = Arc::new(config.split.apply(&dataset)?);
    config.split = config.split.resolved(&split);
    let base_runs = open(&config.from, &dataset, &split)?;
    config.from.weights = base_runs.hashes();
    let fit = apply(&base_runs, Fit::new(config, dataset, split)?)?;
    Ok((fit, base_runs))
}

/// Prepares a fit before its first step: with the residuals of one base run, and started from the factors of another.
pub(super) fn apply(base_runs: &BaseRuns, mut fit: Fit) -> Result<Fit> {
    let dataset = fit.dataset().clone();
    if let Some(base) = base_runs.predictor(RESIDUALS_OF, &dataset.cell)? {
        let sets: GeneSets = (0..dataset.samples.len()).map(|row| dataset.samples.genes(row)).collect();
        let mut base = base.predict(sets.view())?;
        let rows = fit.split().rows(Part::Train);
        let checkpoint = base_runs.checkpoint(RESIDUALS_OF);
        let held_out = checkpoint.and_then(|kept| residual_folds::predictions(&kept.weights, rows.len()));
        for (&row, &value) in rows.iter().zip(held_out.unwrap_or_default()) {
            base[row as usize] = f64::from(value);
        }
        fit = fit.on_residuals(base)?;
    }
    if let Some(checkpoint) = base_runs.checkpoint(START) {
        let factors = gene_factors(&checkpoint.weights, dataset.cell.genes().len()).ok_or_else(|| {
            let model = &checkpoint.state.identity.model;
            Error::request(format!(
                "the run of {model} found no factors of genes to start from; take one of low-rank, network-kernel or stack"
            ))
        })?;
        if !fit.start_from(&factors) {
            let model = fit.model().name();
            return Err(Error::request(format!(
                "{model} has no table of genes that could start from factors"
            )));
        }
    }
    Ok(fit)
}
