//! What a solved model says of training records that it was not fitted to, for runs that are trained on what it leaves.
//!
//! The model is solved again without each fold of the training part in turn. What is left of records that a model was fitted to is less
//! than what is left of others, and not of the same kind: a network trained on it learns little of what the model misses. The predictions are
//! one more tensor of the run's checkpoint, so that whoever copies that has them as well.

use super::RunError;
use super::solved::{SOLVING, SolveCheckpoints, SolveProgress};
use crate::baseline;
use crate::checkpoint::{load_tensors, save_tensors};
use knockout_data::screen::{Dataset, Part, Split};
use knockout_models::Solver;
use knockout_solve::{Problem, Records, Tensor, TriedSetting};
use std::path::Path;

/// Name of the tensor: a prediction for each row of the training part, in its order.
const HELD_OUT: &str = "residuals.held_out";

/// The predictions in a checkpoint, where it has one for each of `count` training records.
pub(super) fn predictions(weights: &[Tensor], count: usize) -> Option<&[f32]> {
    let tensor = weights.iter().find(|tensor| tensor.name == HELD_OUT)?;
    (tensor.values.len() == count).then_some(&tensor.values[..])
}

/// Steps with the fold that they belong to; settings that are tried again are nothing new.
struct OfFold<'a> {
    fold: String,
    progress: &'a mut dyn SolveProgress,
}

impl SolveProgress for OfFold<'_> {
    fn stage(&mut self, _stage: TriedSetting) {}

    fn step(&mut self, what: &str, step: usize) {
        self.progress.step(&format!("{}, {what}", self.fold), step);
    }
}

/// Solves without each fold in turn, and predicts what is held out. The run's folder keeps the folds that are done and the state of the
/// one that is not.
pub(super) fn solve(
    solver: &dyn Solver,
    (dataset, split, val): (&Dataset, &Split, &Records),
    folds: u32,
    run: &Path,
    progress: &mut dyn SolveProgress,
) -> Result<Tensor, RunError> {
    let rows = split.rows(Part::Train);
    let mut values = vec![0.0; rows.len()];
    let all = split.training_folds(&dataset.samples, dataset.cell.genes(), folds);
    for (fold, number) in all.iter().zip(1_usize..) {
        let done = Path::new(SOLVING).join(format!("fold-{number}.tensors"));
        let kept = load_tensors(&run.join(&done));
        let predicted = if let Some(values) =
            kept.as_deref().and_then(|kept| predictions(kept, fold.held_out.len()))
        {
            values.to_vec()
        } else {
            let of = |rows: &[u32]| baseline::records(&dataset.samples, rows);
            let (train, held_out) = (of(&fold.kept), of(&fold.held_out));
            let state = Path::new(SOLVING).join(format!("fold-{number}"));
            let mut progress = OfFold { fold: format!("fold {number} of {folds}"), progress };
            let mut saving = SolveCheckpoints::new(run, &state, &mut progress);
            let solution = solver.solve(Problem { cell: &dataset.cell, train: &train, val }, &mut saving)?;
            saving.end()?;
            let predicted = solution.predict(held_out.sets.view());
            let predicted: Vec<f32> = predicted.into_iter().map(|value| value as f32).collect();
            save_tensors(run, &done, &[tensor(predicted.clone())])?;
            predicted
        };
        for (row, value) in fold.held_out.iter().zip(predicted) {
            // Every row that is held out is one of the training part.
            if let Ok(place) = rows.binary_search(row) {
                values[place] = value;
            }
        }
    }
    Ok(tensor(values))
}

fn tensor(values: Vec<f32>) -> Tensor {
    Tensor { name: HELD_OUT.to_owned(), shape: vec![values.len()], values }
}
