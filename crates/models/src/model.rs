//! What a training loop asks of a model.

use crate::loss::{BufferError, BufferState, CircularBuffer, Restored};
use knockout_data::batch::Graphs;
use knockout_data::cell::GeneSetsRef;
use knockout_engine::grad::{Parameters, Tape, Var};

/// A model that scores sets of deleted genes.
pub trait Model: Send + Sync {
    /// Its name on the command line and in reports.
    fn name(&self) -> &'static str;

    /// What is trained.
    fn parameters(&self) -> &Parameters<f32>;

    /// The same, to change it.
    fn parameters_mut(&mut self) -> &mut Parameters<f32>;

    /// Records the prediction for every set.
    fn forward<'a>(&'a self, tape: &mut Tape<'a, f32>, input: Input<'a, '_>) -> Forward;

    /// Records the loss of a forward pass: `targets` are standardised scores, one per set.
    fn loss<'a>(
        &'a self,
        tape: &mut Tape<'a, f32>,
        forward: &Forward,
        targets: &'a [f32],
        at: LossAt,
    ) -> Loss;

    /// Whether the loss of a batch is more than the mean of those of its samples and terms that no sample enters.
    fn couples_samples(&self) -> bool {
        false
    }

    /// What such a loss needs of all samples at once: values of a forward pass with a row for every sample.
    fn coupled_rows(&self, _forward: &Forward) -> Vec<Var> {
        Vec::new()
    }

    /// Records the part of the loss that samples enter, from [`Model::coupled_rows`] of the whole batch, which may come from several tapes.
    /// Only asked of a model that has such rows.
    fn loss_of_rows<'a>(
        &'a self,
        tape: &mut Tape<'a, f32>,
        rows: &[Var],
        targets: &'a [f32],
        at: LossAt,
    ) -> Loss {
        let (predictions, hidden) = rows.split_first().expect("rows of a loss that couples them");
        self.loss(tape, &Forward { predictions: *predictions, hidden: hidden.to_vec() }, targets, at)
    }

    /// Records the rest of such a loss, which no sample enters.
    fn loss_without_samples<'a>(&'a self, _tape: &mut Tape<'a, f32>, _forward: &Forward) -> Option<Loss> {
        None
    }

    /// Name of the parameter with a row for every gene, where the model has one: it may start from what another model knows.
    fn gene_table(&self) -> Option<&'static str> {
        None
    }

    /// Tables made once of weights that no longer change, for a model whose score of a set needs few operations given them.
    fn fixed(&self) -> Option<Box<dyn FixedScorer + '_>> {
        None
    }

    /// Whether a batch of sets that share genes takes less time, with the same predictions; see [`crate::sharing_order`].
    fn shares_rows(&self) -> bool {
        false
    }

    /// What its loss remembers of earlier batches, by name: a checkpoint keeps it.
    fn loss_buffers(&self) -> Vec<(&'static str, CircularBuffer<f32>)> {
        Vec::new()
    }

    /// Takes over one of [`Model::loss_buffers`].
    fn restore_loss_buffer(
        &mut self,
        _name: &str,
        _state: BufferState,
        _features: &[f32],
        _labels: &[f32],
    ) -> Result<Restored, BufferError> {
        Ok(Restored::Unknown)
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
    /// What the loader made of them.
    pub graphs: &'g Graphs<'g>,
    /// Where in a run the model is trained on the batch; `None`: it is evaluated, and nothing is left to chance.
    pub training: Option<LossAt>,
}

impl<'a, 'g> Input<'a, 'g> {
    /// A batch to be evaluated.
    pub fn evaluated(sets: GeneSetsRef<'a>, graphs: &'g Graphs<'g>) -> Self {
        Self { sets, graphs, training: None }
    }
}

/// What a forward pass computed.
#[derive(Debug, Clone)]
pub struct Forward {
    /// One standardised score per set.
    pub predictions: Var,
    /// What else the loss needs.
    pub hidden: Vec<Var>,
}

/// Where in a run a loss is taken: what schedules and random choices are keyed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LossAt {
    /// Zero-based epoch.
    pub epoch: u32,
    /// Batches before this one, in the whole run.
    pub step: u64,
    /// Which samples of the batch these are.
    pub shard: ShardAt,
}

impl LossAt {
    /// A whole batch.
    pub fn new(epoch: u32, step: u64) -> Self {
        Self { epoch, step, shard: ShardAt::default() }
    }
}

/// Which samples of a batch are given to a model; by default all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ShardAt {
    /// Samples of the batch before these: dropout masks depend on the position in the whole batch.
    pub first_sample: u32,
    /// Deleted genes of the samples before these.
    pub first_member: u32,
    /// Whether a loss sees a part of the batch only. What it remembers of earlier batches is then read and not written: not everybody has
    /// seen these samples.
    pub is_part: bool,
}

/// A loss and its parts.
#[derive(Debug, Clone)]
pub struct Loss {
    /// What is minimised.
    pub total: Var,
    /// Its parts and weights by name, for the log.
    pub parts: Vec<(String, f64)>,
}
