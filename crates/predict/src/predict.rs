//! Predicts the blocks that a folder lacks.

use crate::block::ScoredBlock;
use crate::scorer::Threads;
use crate::{Candidates, Extremes, PredictionFolder, PredictionSummary, Scorer, Scores};
use knockout_base::error::{Class, Error, Result};
use knockout_data::cell::{GeneSets, GeneTable};
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};

/// Observes predictions, and may stop them.
pub trait PredictionObserver: Sync {
    /// Called with the number of candidates that were done since the last call.
    fn advance(&self, candidates: u64);

    /// Whether to end after the blocks in hand.
    fn is_stopped(&self) -> bool;
}

/// How predicting ended.
#[derive(Debug)]
pub enum Outcome {
    /// Every block of the part is there.
    Finished(Box<PredictionSummary>),
    /// Stopped before the end; the same request resumes.
    Stopped {
        /// Blocks that are missing.
        missing: u64,
    },
}

/// Predicts every block of the folder's part that is not there, and sums up the part; `hits` of the highest and lowest are looked for.
pub fn predict(
    folder: &PredictionFolder,
    candidates: &Candidates,
    scorer: &dyn Scorer,
    genes: &GeneTable,
    hits: (usize, usize),
    progress: &dyn PredictionObserver,
) -> Result<Outcome> {
    let plan = folder.plan();
    let (missing, all) = (folder.missing(), plan.part.of_blocks(plan.blocks()));
    let summary = Mutex::new(PredictionSummary::new(plan, Extremes::new(hits.0, hits.1)));
    let candidates_of =
        |block: u64| block * plan.block..((block + 1) * plan.block).min(plan.candidates.count);
    let add = |block: &ScoredBlock| {
        let mut hits = Extremes::new(hits.0, hits.1);
        block.add_to(&mut hits);
        // A thread that panicked ends the whole call; nothing it left half-done is read.
        summary.lock().unwrap_or_else(PoisonError::into_inner).add(&block.scored, &hits);
        let range = candidates_of(block.scored.block);
        progress.advance(range.end - range.start);
    };
    for block in all.filter(|block| missing.binary_search(block).is_err()) {
        add(&ScoredBlock::read(folder.files(), plan, folder.identity(), block)?);
    }
    let score = |&block: &u64| -> Result<()> {
        if progress.is_stopped() {
            return Ok(());
        }
        let (mut numbers, mut sets, mut scores) = (Vec::new(), GeneSets::default(), Scores::default());
        candidates.fill(candidates_of(block), &mut numbers, &mut sets);
        scorer.score(sets.view(), &mut scores)?;
        if let Some(set) = scores.mean.iter().position(|mean| !mean.is_finite()) {
            let (number, value) = (numbers[set], scores.mean[set]);
            let message = format!(
                "the prediction of candidate {number} is {value}; the run has diverged, take another state or run"
            );
            return Err(Error::new(Class::Diverged, message));
        }
        let block = ScoredBlock::new(plan, folder.identity(), block, numbers, sets, scores);
        folder.write_block(block.scored.block, &block.encode(genes, plan.candidates.order)?)?;
        add(&block);
        Ok(())
    };
    match scorer.threads() {
        Threads::One => missing.par_iter().with_max_len(1).try_for_each(score)?,
        Threads::All => missing.iter().try_for_each(score)?,
    }
    let missing = folder.missing().len() as u64;
    if missing > 0 {
        return Ok(Outcome::Stopped { missing });
    }
    Ok(Outcome::Finished(Box::new(summary.into_inner().unwrap_or_else(PoisonError::into_inner))))
}
