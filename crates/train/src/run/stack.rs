//! The stack that a run is compared with: solved once for a dataset and a split, and kept in the run's folder.

use super::RunError;
use super::folder::at;
use crate::baseline::{self, Baseline, Ladder};
use crate::checkpoint::{load_tensors, save_tensors};
use knockout_base::files::inside;
use knockout_data::cell::GeneSetsRef;
use knockout_data::screen::{Dataset, Part, Split};
use knockout_solve::{Problem, SolveObserver, SolvedOptions as _, StackOptions};
use std::path::Path;

/// What the stack with its defaults, solved for a split, says of sets; `None` where the dataset has no networks or the split no
/// validation part. It is kept in `folder`, whole or absent, under a name that depends on all it was solved from. `observer` hears of
/// the steps where it has to be solved.
pub fn stack_predictions(
    folder: &Path,
    dataset: &Dataset,
    split: &Split,
    sets: GeneSetsRef<'_>,
    observer: &mut dyn SolveObserver,
) -> Result<Option<Vec<f64>>, RunError> {
    let (samples, cell) = (&dataset.samples, &dataset.cell);
    if !Ladder::new(samples, cell.genes().len(), split)?.over(cell).baselines().contains(&Baseline::Stack) {
        return Ok(None);
    }
    let options = StackOptions::default();
    let name = format!("stack-{}.tensors", key(dataset, split, &options));
    let path = inside(folder, &name).map_err(at("keep the stack in", folder))?;
    if let Some(solution) = load_tensors(&path).and_then(|kept| options.load(&kept, cell).ok()) {
        return Ok(Some(solution.predict(sets)));
    }
    let records = |part| baseline::records(samples, split.rows(part));
    let (train, val) = (records(Part::Train), records(Part::Val));
    let solution = options.solve(Problem { cell, train: &train, val: &val }, observer)?;
    // A folder that cannot be written is no reason to say nothing: it is solved again next time.
    save_tensors(folder, Path::new(&name), &solution.tensors()).ok();
    Ok(Some(solution.predict(sets)))
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
