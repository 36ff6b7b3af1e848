//! What a training loop asks of a model.

use crate::layer::Sets;
use knockout_batch::{Graphs, ProcessorKind};
use knockout_grad::{Parameters, Tape, Var};

/// A model that scores sets of deleted genes.
pub trait Model: Send + Sync {
    /// Its name on the command line and in reports.
    fn name(&self) -> &'static str;

    /// What is trained.
    fn parameters(&self) -> &Parameters<f32>;

    /// The same, to change it.
    fn parameters_mut(&mut self) -> &mut Parameters<f32>;

    /// What it wants the loader to make of each sample.
    fn processor(&self) -> ProcessorKind {
        ProcessorKind::Perturbation
    }

    /// Records the prediction for every set.
    fn forward<'a>(&'a self, tape: &mut Tape<'a, f32>, input: Input<'a, '_>) -> Forward;

    /// Records the loss of a forward pass: `targets` are standardised scores, one per set.
    fn loss<'a>(
        &'a self,
        tape: &mut Tape<'a, f32>,
        forward: &Forward,
        targets: &'a [f32],
        epoch: u32,
    ) -> Loss;
}

/// A batch as a model reads it.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a, 'g> {
    /// The deleted genes of every sample.
    pub sets: Sets<'a>,
    /// What the loader made of them.
    pub graphs: &'g Graphs<'g>,
}

/// What a forward pass computed.
#[derive(Debug, Clone)]
pub struct Forward {
    /// One standardised score per set.
    pub predictions: Var,
    /// What else the loss needs.
    pub hidden: Vec<Var>,
}

/// A loss and its parts.
#[derive(Debug, Clone)]
pub struct Loss {
    /// What is minimised.
    pub total: Var,
    /// Its parts and weights by name, for the log.
    pub parts: Vec<(&'static str, f64)>,
}
