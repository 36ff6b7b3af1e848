//! The interface between a model and the training loop.

use crate::loss::{BufferState, CircularBuffer, LossPosition, RecordedLoss, Restored, ScoreLoss, ScoredRows};
use knockout_base::error::Result;
use knockout_data::batch::Graphs;
use knockout_data::cell::GeneSetsRef;
use knockout_engine::grad::{Parameters, Tape, Var};
use knockout_engine::kernel::Scalar;

/// A model that scores sets of deleted genes. Training runs in `f32`; gradients are checked in `f64`.
pub trait Model<T: Scalar = f32>: Send + Sync {
    /// Returns its name on the command line and in reports.
    fn name(&self) -> &'static str;

    /// Returns the trained parameters.
    fn parameters(&self) -> &Parameters<T>;

    /// Returns the trained parameters, mutable.
    fn parameters_mut(&mut self) -> &mut Parameters<T>;

    /// Records the prediction for every set.
    fn forward<'a>(&'a self, tape: &mut Tape<'a, T>, input: Input<'a, '_>) -> Forward;

    /// Returns the loss of its scores, one of [`crate::loss::LOSSES`].
    fn score_loss(&self) -> &ScoreLoss<T>;

    /// Records the loss of a forward pass: `targets` are standardised scores, one per set.
    ///
    /// A model with terms of its own adds them here and in [`Model::loss_without_samples`].
    fn loss<'a>(
        &'a self,
        tape: &mut Tape<'a, T>,
        forward: &Forward,
        targets: &'a [T],
        at: LossPosition,
    ) -> RecordedLoss {
        self.score_loss().record(tape, forward.rows(), targets, at, None)
    }

    /// Returns whether the loss couples the samples of a batch: whether it is more than the mean of their losses plus terms
    /// without samples.
    fn couples_samples(&self) -> bool {
        self.score_loss().couples_samples()
    }

    /// Returns the variables from which a loss that couples samples is computed, with a row for every sample.
    fn coupled_rows(&self, forward: &Forward) -> Vec<Var> {
        self.score_loss().variables(forward.rows())
    }

    /// Records the terms that depend on samples, from [`Model::coupled_rows`] of the whole batch, which may come from several tapes.
    fn loss_of_rows<'a>(
        &'a self,
        tape: &mut Tape<'a, T>,
        rows: &[Var],
        targets: &'a [T],
        at: LossPosition,
    ) -> RecordedLoss {
        let (&predictions, rest) = rows.split_first().expect("rows of a loss that couples them");
        let forward = Forward { representation: rest.first().copied(), ..Forward::scores(predictions) };
        self.loss(tape, &forward, targets, at)
    }

    /// Records the terms without samples of a loss that couples samples.
    fn loss_without_samples<'a>(
        &'a self,
        _tape: &mut Tape<'a, T>,
        _forward: &Forward,
        _at: LossPosition,
    ) -> Option<RecordedLoss> {
        None
    }

    /// Returns the name of the parameter with a row for every gene, where the model has one. It may start from another model.
    fn gene_table(&self) -> Option<&'static str> {
        None
    }

    /// Returns tables of weights that no longer change, for a model whose score of a set then needs few operations.
    fn fixed(&self) -> Option<Box<dyn FixedScorer + '_>> {
        None
    }

    /// Returns whether a batch of sets that share genes takes less time, with the same predictions; see [`crate::sharing_order`].
    fn shares_rows(&self) -> bool {
        false
    }

    /// Returns copies of the buffers of its loss by name; a checkpoint saves them.
    fn loss_buffers(&self) -> Vec<(&'static str, CircularBuffer<T>)> {
        self.score_loss().buffers()
    }

    /// Restores one of [`Model::loss_buffers`].
    fn restore_loss_buffer(
        &mut self,
        name: &str,
        state: BufferState,
        features: &[T],
        labels: &[T],
    ) -> Result<Restored> {
        self.score_loss().restore(name, state, features, labels)
    }
}

/// Scores sets without a tape, from tables. A call occupies one thread; any number of threads may call.
pub trait FixedScorer: Send + Sync {
    /// Writes one standardised score per set, equal to that of [`Model::forward`] but for rounding.
    fn score(&self, sets: GeneSetsRef<'_>, out: &mut [f32]);
}

/// A batch as a model reads it.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a, 'g> {
    /// The deleted genes of every sample.
    pub sets: GeneSetsRef<'a>,
    /// Their graphs, as the loader prepared them.
    pub graphs: &'g Graphs<'g>,
    /// Position in the run; `None` in evaluation mode: no dropout.
    pub training: Option<LossPosition>,
}

impl<'a, 'g> Input<'a, 'g> {
    /// Creates a batch in evaluation mode.
    pub fn evaluated(sets: GeneSetsRef<'a>, graphs: &'g Graphs<'g>) -> Self {
        Self { sets, graphs, training: None }
    }
}

/// The output of a forward pass.
#[derive(Debug, Clone)]
pub struct Forward {
    /// One standardised score per set.
    pub predictions: Var,
    /// A representation of each sample, `[sets, width]`, where the model has one: losses may compare them.
    pub representation: Option<Var>,
    /// Variables that other terms of the loss read.
    pub hidden: Vec<Var>,
}

impl Forward {
    /// Creates the output of a model that has scores alone.
    pub fn scores(predictions: Var) -> Self {
        Self { predictions, representation: None, hidden: Vec::new() }
    }

    /// Returns the rows that a loss reads.
    pub(crate) fn rows(&self) -> ScoredRows {
        ScoredRows { predictions: self.predictions, representation: self.representation }
    }
}
