//! Predictions of a solved model for training records that it was not fitted to, for runs that are trained on its residuals.
//!
//! The model is solved again without each fold of the training part in turn. Residuals of records that a model was fitted to are smaller
//! than those of others and differ in kind: a network trained on them learns little of what the model misses. The predictions are one more
//! tensor of the run's checkpoint, so that a copy of the checkpoint has them.

use super::solving::{SOLVING, SolveCheckpoints, SolveProgress};
use crate::checkpoint::{load_tensors, save_tensors};
use knockout_base::error::Result;
use knockout_base::files::Folder;
use knockout_data::screen::{Dataset, Part, Split};
use knockout_models::Solver;
use knockout_solve::{Problem, Records, Tensor, TriedSetting};

/// Name of the tensor: a prediction for each row of the training part, in its order.
const HELD_OUT: &str = "residuals.held_out";

/// Returns the predictions in a checkpoint, if it has one for each of `count` training records.
pub(super) fn predictions(weights: &[Tensor], count: usize) -> Option<&[f32]> {
    let tensor = weights.iter().find(|tensor| tensor.name == HELD_OUT)?;
    (tensor.values.len() == count).then_some(&tensor.values[..])
}

/// Names the fold in every step; settings are not reported again.
struct OfFold<'a> {
    fold: String,
    progress: &'a mut dyn SolveProgress,
}

impl SolveProgress for OfFold<'_> {
    fn setting(&mut self, _tried: TriedSetting) {}

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
    run: &Folder,
    progress: &mut dyn SolveProgress,
) -> Result<Tensor> {
    let rows = split.rows(Part::Train);
    let mut values = vec![0.0; rows.len()];
    let all = split.training_folds(&dataset.samples, dataset.cell.genes(), folds);
    for (fold, number) in all.iter().zip(1_usize..) {
        let done = format!("{SOLVING}/fold-{number}.tensors");
        let kept = load_tensors(run, &done);
        let predicted =
            if let Some(values) = kept.as_deref().and_then(|kept| predictions(kept, fold.held_out.len())) {
                values.to_vec()
            } else {
                let train = Records::of_sets(&dataset.samples, &fold.kept);
                let held_out = Records::of(&dataset.samples, &fold.held_out);
                let state = format!("{SOLVING}/fold-{number}");
                let mut progress = OfFold { fold: format!("fold {number} of {folds}"), progress };
                let mut saving = SolveCheckpoints::new(run, &state, &mut progress);
                let problem = Problem::new(&dataset.cell, &train, val);
                let solution = solver.solve(problem, &mut saving)?;
                saving.end()?;
                let predicted = solution.predict(held_out.sets.view());
                let predicted: Vec<f32> = predicted.into_iter().map(|value| value as f32).collect();
                save_tensors(run, &done, &[tensor(predicted.clone())])?;
                predicted
            };
        for (row, value) in fold.held_out.iter().zip(predicted) {
            // Every row that is held out is one of the training part.
            if let Ok(index) = rows.binary_search(row) {
                values[index] = value;
            }
        }
    }
    Ok(tensor(values))
}

fn tensor(values: Vec<f32>) -> Tensor {
    Tensor { name: HELD_OUT.to_owned(), shape: vec![values.len()], values }
}
