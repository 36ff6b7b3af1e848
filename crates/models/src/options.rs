//! The interface between a model and its configuration.

use crate::loss::{LossConfig, LossPrecision};
use crate::model::Model;
use knockout_base::error::Result;
use knockout_data::batch::ProcessorKind;
use knockout_data::cell::Cell;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;

/// Options of one model: the keys `model.*` of a configuration.
///
/// The fields are the keys; their values before any override are the defaults.
pub trait ModelOptions:
    Serialize + DeserializeOwned + Clone + PartialEq + fmt::Debug + Send + Sync + 'static
{
    /// Name on the command line, in configurations and in reports.
    const NAME: &'static str;
    /// One line for `--help`.
    const SUMMARY: &'static str;
    /// Overrides of the common training defaults (`batch`, `optimiser.*`, …) for this model, `key=value` each.
    const TRAINING: &'static [&'static str];

    /// Returns the defaults for a cell: the networks that it reads are those of the cell.
    fn defaults(cell: &Cell) -> Self;

    /// Checks everything that can be checked before anything is computed.
    fn check(&self, cell: &Cell) -> Result<()>;

    /// Builds the model with its initial values. The options have been checked.
    fn build<T: LossPrecision>(&self, cell: &Cell, seed: u64) -> Result<Box<dyn Model<T>>>;

    /// Estimates the size of the model before anything is allocated: sizes beyond the memory are refused. `members` is the number of
    /// deleted genes in a batch, each as often as it occurs. A lower bound is enough.
    fn size_estimate(&self, _cell: &Cell, _members: usize) -> SizeEstimate {
        SizeEstimate::default()
    }

    /// Returns the loss of its scores, the key `model.loss`.
    fn loss(&self) -> LossConfig;

    /// Returns the names of the networks that the model reads; all by default.
    fn networks(&self, cell: &Cell) -> Vec<String> {
        cell.networks().iter().map(|network| network.name().to_owned()).collect()
    }

    /// Returns whether the model reads the content features of genes.
    fn reads_features(&self) -> bool {
        false
    }

    /// Returns the representation of deletions that the model needs, where gene indices are not enough.
    fn processor(&self) -> Option<ProcessorKind> {
        None
    }

    /// Returns a remark for the user before a run whose batches are cut into `shards` starts.
    fn notice(&self, _shards: usize) -> Option<&'static str> {
        None
    }
}

/// Estimated size of a model.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SizeEstimate {
    /// Number of trained values.
    pub parameters: f64,
    /// Activations that a step keeps.
    pub activations: f64,
}

impl SizeEstimate {
    /// Returns the bytes of training in `f32`: parameters, gradients and both moments of the optimiser, the copies of a checkpoint while it is
    /// written, and the activations.
    pub fn training_bytes(&self) -> u64 {
        // A float beyond the integers is clamped by the cast.
        (4.0 * (9.0 * self.parameters + self.activations)) as u64
    }
}
