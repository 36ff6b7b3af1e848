//! Divides the training part into folds, so that a model that was not fitted to a record can predict it.

use super::keys::Keys;
use super::{Part, Split};
use crate::cell::GeneTable;
use crate::screen::Samples;
use std::collections::HashMap;

/// One fold of a training part: rows, ascending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrainingFold {
    /// Rows to fit to.
    pub kept: Vec<u32>,
    /// Rows to predict.
    pub held_out: Vec<u32>,
}

impl Split {
    /// Divides the training part into folds of like size. Every row of it is held out of exactly one of them, together with all other
    /// records of its gene set. Validation and test parts are in none.
    pub fn training_folds(&self, samples: &Samples, genes: &GeneTable, folds: u32) -> Vec<TrainingFold> {
        let mut is_training = vec![false; samples.len()];
        self.rows(Part::Train).iter().for_each(|&row| is_training[row as usize] = true);
        let mut fold_of_set: HashMap<&[u32], u32> = HashMap::new();
        let mut fold_of_row = vec![0; samples.len()];
        let order = Keys::new(samples, genes, self.spec().seed).records_in_order("fold");
        for row in order.into_iter().filter(|&row| is_training[row as usize]) {
            // In turn, in an order that is independent of the scores.
            let next = fold_of_set.len() as u32 % folds.max(1);
            fold_of_row[row as usize] = *fold_of_set.entry(samples.genes(row as usize)).or_insert(next);
        }
        let mut out = vec![TrainingFold::default(); folds as usize];
        for &row in self.rows(Part::Train) {
            for (fold, index) in out.iter_mut().zip(0..) {
                let is_held_out = fold_of_row[row as usize] == index;
                if is_held_out { fold.held_out.push(row) } else { fold.kept.push(row) }
            }
        }
        out
    }
}
