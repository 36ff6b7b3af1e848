//! What a model offers to a configuration, and the registry that finds a model by its name.
//!
//! A model is added by a folder with its options (a type that is [`ModelOptions`], or [`SolvedOptions`] for a model that is solved
//! instead of trained step by step) and one line in [`MODELS`]. Nothing outside names a model: configurations, the command line
//! and checkpoints all ask the registry.

use crate::loss::LossError;
use crate::{DangoOptions, HeteroOptions, Model, TransformerOptions};
use knockout_base::error::Error;
use knockout_data::batch::ProcessorKind;
use knockout_data::cell::Cell;
use knockout_solve::{
    LowRankOptions, NetworkKernelOptions, Problem, Solution, SolveObserver, SolvedOptions, StackOptions,
    Tensor,
};
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use toml::{Table, Value};

/// The models there are; the first is what is trained when none is named.
pub const MODELS: &[ModelEntry] = &[
    ModelEntry::solved::<StackOptions>(),
    ModelEntry::solved::<LowRankOptions>(),
    ModelEntry::solved::<NetworkKernelOptions>(),
    ModelEntry::of::<DangoOptions>(),
    ModelEntry::of::<HeteroOptions>(),
    ModelEntry::of::<TransformerOptions>(),
];

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

    /// The defaults for a cell: which networks it reads depends on what there is.
    fn defaults(cell: &Cell) -> Self;

    /// Checks everything that can be checked before anything is computed.
    fn check(&self, cell: &Cell) -> Result<(), OptionsError>;

    /// Builds the model with its initial values. The options have been checked.
    fn build(&self, cell: &Cell, seed: u64) -> Result<Box<dyn Model>, OptionsError>;

    /// About how many numbers its parameters and the activations of the wild type are, before anything is allocated: sizes that no
    /// memory could hold are refused by it. A lower bound will do.
    fn size_estimate(&self, _cell: &Cell) -> SizeEstimate {
        SizeEstimate::default()
    }

    /// The representation of deletions that the model needs, where it needs more than gene indices.
    fn processor(&self) -> Option<ProcessorKind> {
        None
    }

    /// What a user should know before a run whose batches are cut into `shards` starts, though it stops nothing.
    fn notice(&self, _shards: usize) -> Option<&'static str> {
        None
    }
}

/// How many numbers a model is made of, roughly.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SizeEstimate {
    /// Number of trained values.
    pub parameters: f64,
    /// Activations that a step keeps.
    pub activations: f64,
}

impl SizeEstimate {
    /// Bytes of training in `f32`: parameters, gradients and both moments of the optimiser, and the activations.
    pub fn training_bytes(&self) -> u64 {
        // A float beyond the integers is clamped by the cast.
        (4.0 * (4.0 * self.parameters + self.activations)) as u64
    }
}

/// Options that cannot be carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// A network that the dataset does not have.
    #[error("the dataset has no network {name:?}; it has {}", have.join(", "))]
    NoSuchNetwork {
        /// The name configured.
        name: String,
        /// The names there are.
        have: Vec<String>,
    },
    /// A route that the model cannot take.
    #[error("model.route={route} {why}")]
    Route {
        /// Value of `model.route`.
        route: &'static str,
        /// Why not, and what to do.
        why: &'static str,
    },
    /// No network at all.
    #[error(
        "no network is configured; the dataset has no STRING channel, so name some: model.networks=[{{name=\"physical\",lambda=1.0}}]"
    )]
    NoNetwork,
    /// A model of networks on a dataset without any.
    #[error(
        "the dataset has no networks, and {model} is made of them; train the stack or low-rank, or import the screen again with \
         --network"
    )]
    NoNetworksAtAll {
        /// Name of the model.
        model: &'static str,
    },
    /// A value out of range.
    #[error("{key} is {value}, but {rule}")]
    OutOfRange {
        /// Key of the option.
        key: &'static str,
        /// Value given.
        value: String,
        /// What it has to be.
        rule: &'static str,
    },
    /// A loss that cannot be computed.
    #[error("the loss: {0}")]
    Loss(#[from] LossError),
    /// Options of a solved model.
    #[error(transparent)]
    Solve(#[from] Error),
    /// Steps were asked of a model that has none.
    #[error("{name} is solved, not trained step by step: it has no steps to take or to measure")]
    NoSteps {
        /// Name of the model.
        name: &'static str,
    },
    /// A model that is trained was to be solved.
    #[error("{name} is trained step by step, not solved; train it as a run of steps")]
    NotSolved {
        /// The model.
        name: &'static str,
    },
}

impl OptionsError {
    /// A value of `key` that breaks a rule.
    pub fn out_of_range(key: &'static str, value: impl fmt::Display, rule: &'static str) -> Self {
        Self::OutOfRange { key, value: value.to_string(), rule }
    }

    /// Refuses a dataset without networks for a model that is made of them.
    pub(crate) fn any_networks(model: &'static str, cell: &Cell) -> Result<(), Self> {
        if cell.networks().is_empty() { Err(Self::NoNetworksAtAll { model }) } else { Ok(()) }
    }

    /// Refuses 0.
    pub fn at_least_one(key: &'static str, value: usize) -> Result<(), Self> {
        if value == 0 { Err(Self::out_of_range(key, value, "it must be at least 1")) } else { Ok(()) }
    }

    /// Refuses 0 and sizes beyond any model's, whose products would overflow.
    pub fn size(key: &'static str, value: usize) -> Result<(), Self> {
        if (1..=1 << 20).contains(&value) {
            Ok(())
        } else {
            Err(Self::out_of_range(key, value, "it must be from 1 to 1048576"))
        }
    }

    /// Refuses negative values, NaN and infinity.
    pub fn not_negative(key: &'static str, value: f64) -> Result<(), Self> {
        if value.is_finite() && value >= 0.0 {
            Ok(())
        } else {
            Err(Self::out_of_range(key, value, "it must be a number from 0 up"))
        }
    }
}

/// A registered model.
#[derive(Clone, Copy)]
pub struct ModelEntry {
    /// See [`ModelOptions::NAME`].
    pub name: &'static str,
    /// See [`ModelOptions::SUMMARY`].
    pub summary: &'static str,
    /// See [`ModelOptions::TRAINING`].
    pub training: &'static [&'static str],
    /// Whether it is solved instead of trained step by step.
    pub is_solved: bool,
    defaults: fn(&Cell) -> ModelConfig,
    read: fn(Table) -> Result<ModelConfig, knockout_base::error::Error>,
}

impl ModelEntry {
    /// The entry of a model.
    pub const fn of<O: ModelOptions>() -> Self {
        Self {
            name: O::NAME,
            summary: O::SUMMARY,
            training: O::TRAINING,
            is_solved: false,
            defaults: |cell| ModelConfig::new(O::defaults(cell)),
            read: |table| Ok(ModelConfig::new(knockout_base::config::read::<O>(table)?)),
        }
    }

    /// The entry of a model that is solved.
    pub const fn solved<O: SolvedOptions>() -> Self {
        Self {
            name: O::NAME,
            summary: O::SUMMARY,
            training: &[],
            is_solved: true,
            defaults: |_| ModelConfig::solved(O::default()),
            read: |table| Ok(ModelConfig::solved(knockout_base::config::read::<O>(table)?)),
        }
    }

    /// The model's defaults for a cell.
    pub fn defaults(&self, cell: &Cell) -> ModelConfig {
        (self.defaults)(cell)
    }
}

impl fmt::Debug for ModelEntry {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name)
    }
}

/// The section `[model]` of a configuration: a model's name and its options.
#[derive(Clone)]
pub struct ModelConfig {
    entry: ModelEntry,
    options: Arc<dyn ErasedOptions>,
}

/// A section `[model]` that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelConfigError {
    /// The name is missing or no text.
    #[error("model.name is missing; it is one of {}", known.join(", "))]
    NoName {
        /// The models there are.
        known: Vec<&'static str>,
    },
    /// No model of that name.
    #[error("there is no model {name:?}; choose from {}", known.join(", "))]
    UnknownModel {
        /// The name given.
        name: String,
        /// The models there are.
        known: Vec<&'static str>,
    },
    /// A key is missing, unknown or of another type.
    #[error(transparent)]
    Options(knockout_base::error::Error),
}

/// [`ModelOptions`] behind a pointer.
trait ErasedOptions: Any + fmt::Debug + Send + Sync {
    fn table(&self) -> Result<Table, toml::ser::Error>;
    fn check(&self, cell: &Cell) -> Result<(), OptionsError>;
    fn build(&self, cell: &Cell, seed: u64) -> Result<Box<dyn Model>, OptionsError>;
    fn size_estimate(&self, cell: &Cell) -> SizeEstimate;
    fn processor(&self) -> Option<ProcessorKind>;
    fn notice(&self, shards: usize) -> Option<&'static str>;
    fn solver(&self) -> Option<&dyn Solver>;
}

/// A model that is solved: [`SolvedOptions`] behind a pointer.
pub trait Solver {
    /// See [`SolvedOptions::prior_knowledge`].
    fn prior_knowledge(&self) -> Vec<String>;

    /// See [`SolvedOptions::solve`].
    fn solve(
        &self,
        problem: Problem<'_>,
        observer: &mut dyn SolveObserver,
    ) -> Result<Box<dyn Solution>, Error>;

    /// See [`SolvedOptions::load`].
    fn load(&self, tensors: &[Tensor], cell: &Cell) -> Result<Box<dyn Solution>, Error>;
}

impl<O: SolvedOptions> Solver for O {
    fn prior_knowledge(&self) -> Vec<String> {
        SolvedOptions::prior_knowledge(self)
    }

    fn solve(
        &self,
        problem: Problem<'_>,
        observer: &mut dyn SolveObserver,
    ) -> Result<Box<dyn Solution>, Error> {
        SolvedOptions::solve(self, problem, observer)
    }

    fn load(&self, tensors: &[Tensor], cell: &Cell) -> Result<Box<dyn Solution>, Error> {
        SolvedOptions::load(self, tensors, cell)
    }
}

/// Options of a solved model among those of the others.
#[derive(Debug)]
struct Solved<O>(O);

impl<O: SolvedOptions> ErasedOptions for Solved<O> {
    fn table(&self) -> Result<Table, toml::ser::Error> {
        Table::try_from(&self.0)
    }

    fn check(&self, cell: &Cell) -> Result<(), OptionsError> {
        Ok(self.0.check(cell)?)
    }

    fn build(&self, _cell: &Cell, _seed: u64) -> Result<Box<dyn Model>, OptionsError> {
        Err(OptionsError::NoSteps { name: O::NAME })
    }

    /// Nothing here: what a solved model needs depends on the samples, which it checks itself.
    fn size_estimate(&self, _cell: &Cell) -> SizeEstimate {
        SizeEstimate::default()
    }

    fn processor(&self) -> Option<ProcessorKind> {
        None
    }

    fn notice(&self, _shards: usize) -> Option<&'static str> {
        None
    }

    fn solver(&self) -> Option<&dyn Solver> {
        Some(&self.0)
    }
}

impl<O: ModelOptions> ErasedOptions for O {
    fn table(&self) -> Result<Table, toml::ser::Error> {
        Table::try_from(self)
    }

    fn check(&self, cell: &Cell) -> Result<(), OptionsError> {
        ModelOptions::check(self, cell)
    }

    fn build(&self, cell: &Cell, seed: u64) -> Result<Box<dyn Model>, OptionsError> {
        ModelOptions::build(self, cell, seed)
    }

    fn size_estimate(&self, cell: &Cell) -> SizeEstimate {
        ModelOptions::size_estimate(self, cell)
    }

    fn processor(&self) -> Option<ProcessorKind> {
        ModelOptions::processor(self)
    }

    fn notice(&self, shards: usize) -> Option<&'static str> {
        ModelOptions::notice(self, shards)
    }

    fn solver(&self) -> Option<&dyn Solver> {
        None
    }
}

impl ModelConfig {
    /// The section of some options.
    pub fn new<O: ModelOptions>(options: O) -> Self {
        Self { entry: ModelEntry::of::<O>(), options: Arc::new(options) }
    }

    /// The section of the options of a solved model.
    pub fn solved<O: SolvedOptions>(options: O) -> Self {
        Self { entry: ModelEntry::solved::<O>(), options: Arc::new(Solved(options)) }
    }

    /// Reads a section: `name` says which of `models` it configures.
    pub fn read(mut table: Table, models: &[ModelEntry]) -> Result<Self, ModelConfigError> {
        let known = || models.iter().map(|entry| entry.name).collect();
        let Some(Value::String(name)) = table.remove("name") else {
            return Err(ModelConfigError::NoName { known: known() });
        };
        let Some(entry) = models.iter().find(|entry| entry.name == name) else {
            return Err(ModelConfigError::UnknownModel { name, known: known() });
        };
        (entry.read)(table).map_err(ModelConfigError::Options)
    }

    /// The model's name.
    pub fn name(&self) -> &'static str {
        self.entry.name
    }

    /// The model that is configured.
    pub fn entry(&self) -> ModelEntry {
        self.entry
    }

    /// The options, if they are of this type.
    pub fn options<O: ModelOptions>(&self) -> Option<&O> {
        let any: &dyn Any = &*self.options;
        any.downcast_ref()
    }

    /// See [`ModelOptions::check`].
    pub fn check(&self, cell: &Cell) -> Result<(), OptionsError> {
        self.options.check(cell)
    }

    /// Checks the options and builds the model with its initial values.
    pub fn build(&self, cell: &Cell, seed: u64) -> Result<Box<dyn Model>, OptionsError> {
        self.check(cell)?;
        self.options.build(cell, seed)
    }

    /// See [`ModelOptions::size_estimate`].
    pub fn size_estimate(&self, cell: &Cell) -> SizeEstimate {
        self.options.size_estimate(cell)
    }

    /// See [`ModelOptions::processor`].
    pub fn processor(&self) -> Option<ProcessorKind> {
        self.options.processor()
    }

    /// See [`ModelOptions::notice`].
    pub fn notice(&self, shards: usize) -> Option<&'static str> {
        self.options.notice(shards)
    }

    /// How the model is solved, where it is not trained step by step.
    pub fn solver(&self) -> Option<&dyn Solver> {
        self.options.solver()
    }

    fn table(&self) -> Result<Table, toml::ser::Error> {
        let mut table = Table::new();
        table.insert("name".to_owned(), Value::String(self.entry.name.to_owned()));
        table.extend(self.options.table()?);
        Ok(table)
    }
}

impl fmt::Debug for ModelConfig {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.options.fmt(out)
    }
}

impl PartialEq for ModelConfig {
    fn eq(&self, other: &Self) -> bool {
        matches!((self.table(), other.table()), (Ok(a), Ok(b)) if a == b)
    }
}

impl Serialize for ModelConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.table().map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}
