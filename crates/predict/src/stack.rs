//! The stack that a run is compared with: solved once for a dataset and a split, and cached in the run's folder.

use crate::baseline::{Baseline, Baselines};
use knockout_base::error::{Class, Result};
use knockout_base::files::Folder;
use knockout_data::cell::{Cell, GeneSetsRef};
use knockout_data::screen::{Dataset, Part, Split};
use knockout_models::MODELS;
use knockout_solve::{Problem, Records, SolveObserver, SolvedOptions as _, StackOptions};
use knockout_train::checkpoint::{load_tensors, save_tensors};
use knockout_train::predictor::Predictor;
use knockout_train::run::RunDescription;
use std::path::Path;

/// Returns the predictions of the stack with its default options, solved for a split; `None` if the split has no
/// validation part. The solution is cached in `folder`, complete or absent, under a name that depends on all its
/// input.
pub fn stack_predictions(
    folder: &Path,
    dataset: &Dataset,
    split: &Split,
    sets: GeneSetsRef<'_>,
    observer: &mut dyn SolveObserver,
) -> Result<Option<Vec<f64>>> {
    let (samples, cell) = (&dataset.samples, &dataset.cell);
    let baselines = Baselines::new(samples, cell.genes().len(), split)?.over(cell);
    if !baselines.applicable().contains(&Baseline::Stack) {
        return Ok(None);
    }
    let options = StackOptions::default();
    let name = format!("stack-{}.tensors", key(dataset, split, &options));
    let kept = Folder::at(folder);
    // A link is refused before anything is computed; what cannot be read is solved again.
    let found = kept
        .find_file(&name)
        .map_err(|error| error.while_doing(format!("could not keep the stack in {}", folder.display())));
    if let Err(error) = found
        && error.class() == Class::Damage
    {
        return Err(error);
    }
    if let Some(solution) = load_tensors(&kept, &name).and_then(|kept| options.load(&kept, cell).ok()) {
        return Ok(Some(solution.predict(sets)));
    }
    let records = |part| Records::of_sets(samples, split.rows(part));
    let (train, val) = (records(Part::Train), records(Part::Val));
    let problem = Problem::new(cell, &train, &val);
    let solution = options.solve(problem, observer)?;
    // If the folder cannot be written, the stack is solved again next time.
    save_tensors(&kept, &name, &solution.tensors()).ok();
    Ok(Some(solution.predict(sets)))
}

/// Returns whether a run is the stack that others are compared with: no option was changed, and it builds on no other run.
pub fn is_default_stack(run: &RunDescription, predictor: &Predictor, cell: &Cell) -> bool {
    let entry = MODELS.iter().find(|entry| entry.name == Baseline::Stack.name());
    let is_stack = entry.is_some_and(|entry| entry.defaults(cell) == run.config.model);
    is_stack && !predictor.builds_on_others()
}

/// A hash of everything that the stack depends on.
fn key(dataset: &Dataset, split: &Split, options: &StackOptions) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(env!("CARGO_PKG_VERSION").as_bytes());
    hasher.update(format!("{options:?}").as_bytes());
    hasher.update(dataset.manifest.data_hash().as_bytes());
    for part in [Part::Train, Part::Val] {
        let rows = split.rows(part);
        hasher.update(&(rows.len() as u64).to_le_bytes());
        for row in rows {
            hasher.update(&row.to_le_bytes());
        }
    }
    hasher.finalize().to_hex().chars().take(16).collect()
}
