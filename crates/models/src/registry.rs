//! The registry that finds a model by its name, and the section `[model]` of a configuration.
//!
//! A model is added by a folder with its options (a type that is [`ModelOptions`], or [`SolvedOptions`] for a model that is solved
//! instead of trained step by step) and one line in [`MODELS`]. Nothing outside names a model: configurations, the command line
//! and checkpoints all use the registry.

use crate::dango::DangoOptions;
use crate::hetero::HeteroOptions;
use crate::loss::LossConfig;
use crate::model::Model;
use crate::options::{ModelOptions, SizeEstimate};
use crate::transformer::TransformerOptions;
use knockout_base::error::{Error, Result};
use knockout_data::batch::ProcessorKind;
use knockout_data::cell::Cell;
use knockout_solve::{
    LowRankOptions, NetworkKernelOptions, Problem, Solution, SolveObserver, SolvedOptions, StackOptions,
    Tensor,
};
use serde::{Serialize, Serializer};
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use toml::{Table, Value};

/// The models. The first is the default.
///
/// A static: a constant would make every crate that uses it compile the models again, with its own optimisation.
pub static MODELS: &[ModelEntry] = &[
    ModelEntry::solved::<StackOptions>(),
    ModelEntry::solved::<LowRankOptions>(),
    ModelEntry::solved::<NetworkKernelOptions>(),
    ModelEntry::of::<DangoOptions>(),
    ModelEntry::of::<HeteroOptions>(),
    ModelEntry::of::<TransformerOptions>(),
];

/// A registered model.
#[derive(Clone, Copy)]
pub struct ModelEntry {
    /// See [`ModelOptions::NAME`].
    pub name: &'static str,
    /// See [`ModelOptions::SUMMARY`].
    pub summary: &'static str,
    /// See [`ModelOptions::TRAINING`].
    pub training: &'static [&'static str],
    /// The setting, as `key=value`, that trades accuracy for time; see [`SolvedOptions::FAST`].
    pub fast: Option<&'static str>,
    /// Whether it is solved instead of trained step by step.
    pub is_solved: bool,
    defaults: fn(&Cell) -> ModelConfig,
    read: fn(Table) -> Result<ModelConfig, knockout_base::error::Error>,
}

impl ModelEntry {
    /// Creates the entry of a model.
    pub const fn of<O: ModelOptions>() -> Self {
        Self {
            name: O::NAME,
            summary: O::SUMMARY,
            training: O::TRAINING,
            fast: None,
            is_solved: false,
            defaults: |cell| ModelConfig::new(O::defaults(cell)),
            read: |table| Ok(ModelConfig::new(knockout_base::config::read::<O>(table)?)),
        }
    }

    /// Creates the entry of a model that is solved.
    pub const fn solved<O: SolvedOptions>() -> Self {
        Self {
            name: O::NAME,
            summary: O::SUMMARY,
            training: &[],
            fast: O::FAST,
            is_solved: true,
            defaults: |_| ModelConfig::solved(O::default()),
            read: |table| Ok(ModelConfig::solved(knockout_base::config::read::<O>(table)?)),
        }
    }

    /// Finds a model by its name.
    pub fn find(name: &str, models: &[Self]) -> Result<Self> {
        models.iter().find(|entry| entry.name == name).copied().ok_or_else(|| {
            Error::request(format!("there is no model {name:?}; choose from {}", Self::names(models)))
        })
    }

    /// Returns whether the model is trained in epochs of steps, which can be profiled and which a budget can limit. Other models are
    /// solved as a whole.
    pub fn has_epochs(&self) -> bool {
        !self.is_solved
    }

    fn names(models: &[Self]) -> String {
        models.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", ")
    }

    /// Returns the model's defaults for a cell.
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

/// [`ModelOptions`] behind a pointer.
trait ErasedOptions: Any + fmt::Debug + Send + Sync {
    fn table(&self) -> Result<Table, toml::ser::Error>;
    fn check(&self, cell: &Cell) -> Result<()>;
    fn build(&self, cell: &Cell, seed: u64) -> Result<Box<dyn Model>>;
    fn size_estimate(&self, cell: &Cell, members: usize) -> SizeEstimate;
    fn processor(&self) -> Option<ProcessorKind>;
    fn notice(&self, shards: usize) -> Option<&'static str>;
    fn solver(&self) -> Option<&dyn Solver>;
    fn loss(&self) -> Option<LossConfig>;
    fn networks(&self, cell: &Cell) -> Vec<String>;
    fn features(&self, cell: &Cell) -> Vec<String>;
}

/// Moves the options of a loss into the section of its name, where the model has one.
fn gather_loss(table: &mut Table) {
    let Some(Value::Table(loss)) = table.get("loss") else { return };
    let Some(Value::String(name)) = loss.get("name").cloned() else { return };
    let options = loss.clone();
    if let Some(Value::Table(section)) = table.get_mut(&name) {
        section.extend(options.into_iter().filter(|(key, _)| key != "name"));
        table.insert("loss".to_owned(), Value::String(name));
    }
}

/// A model that is solved: [`SolvedOptions`] behind a pointer.
pub trait Solver {
    /// See [`SolvedOptions::prior_knowledge`].
    fn prior_knowledge(&self) -> Vec<String>;

    /// See [`SolvedOptions::solve`].
    fn solve(&self, problem: Problem<'_>, observer: &mut dyn SolveObserver) -> Result<Box<dyn Solution>>;

    /// See [`SolvedOptions::load`].
    fn load(&self, tensors: &[Tensor], cell: &Cell) -> Result<Box<dyn Solution>>;
}

impl<O: SolvedOptions> Solver for O {
    fn prior_knowledge(&self) -> Vec<String> {
        SolvedOptions::prior_knowledge(self)
    }

    fn solve(&self, problem: Problem<'_>, observer: &mut dyn SolveObserver) -> Result<Box<dyn Solution>> {
        SolvedOptions::solve(self, problem, observer)
    }

    fn load(&self, tensors: &[Tensor], cell: &Cell) -> Result<Box<dyn Solution>> {
        SolvedOptions::load(self, tensors, cell)
    }
}

/// Options of a solved model among those of the others.
#[derive(Debug)]
struct SolvedModel<O>(O);

impl<O: SolvedOptions> ErasedOptions for SolvedModel<O> {
    fn table(&self) -> Result<Table, toml::ser::Error> {
        Table::try_from(&self.0)
    }

    fn check(&self, cell: &Cell) -> Result<()> {
        self.0.check(cell)
    }

    fn build(&self, _cell: &Cell, _seed: u64) -> Result<Box<dyn Model>> {
        Err(Error::request(format!(
            "{} is solved, not trained step by step: it has no steps to take or to measure",
            O::NAME
        )))
    }

    /// Returns nothing: the memory of a solved model depends on the samples, and it checks that itself.
    fn size_estimate(&self, _cell: &Cell, _members: usize) -> SizeEstimate {
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

    fn loss(&self) -> Option<LossConfig> {
        None
    }

    fn networks(&self, cell: &Cell) -> Vec<String> {
        self.0.networks(cell)
    }

    fn features(&self, cell: &Cell) -> Vec<String> {
        self.0.features(cell)
    }
}

impl<O: ModelOptions> ErasedOptions for O {
    fn table(&self) -> Result<Table, toml::ser::Error> {
        Table::try_from(self)
    }

    fn check(&self, cell: &Cell) -> Result<()> {
        ModelOptions::check(self, cell)
    }

    fn build(&self, cell: &Cell, seed: u64) -> Result<Box<dyn Model>> {
        ModelOptions::build(self, cell, seed)
    }

    fn size_estimate(&self, cell: &Cell, members: usize) -> SizeEstimate {
        ModelOptions::size_estimate(self, cell, members)
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

    fn loss(&self) -> Option<LossConfig> {
        Some(ModelOptions::loss(self))
    }

    fn networks(&self, cell: &Cell) -> Vec<String> {
        ModelOptions::networks(self, cell)
    }

    fn features(&self, cell: &Cell) -> Vec<String> {
        let features = cell.features().filter(|_| self.reads_features());
        features.map_or_else(Vec::new, |features| features.names().to_vec())
    }
}

impl ModelConfig {
    /// Creates the section of some options.
    pub fn new<O: ModelOptions>(options: O) -> Self {
        Self { entry: ModelEntry::of::<O>(), options: Arc::new(options) }
    }

    /// Creates the section of the options of a solved model.
    pub fn solved<O: SolvedOptions>(options: O) -> Self {
        Self { entry: ModelEntry::solved::<O>(), options: Arc::new(SolvedModel(options)) }
    }

    /// Reads a section; `name` is one of `models`.
    pub fn read(mut table: Table, models: &[ModelEntry]) -> Result<Self> {
        let Some(Value::String(name)) = table.remove("name") else {
            let known = ModelEntry::names(models);
            return Err(Error::request(format!("model.name is missing; it is one of {known}")));
        };
        let entry = ModelEntry::find(&name, models)?;
        gather_loss(&mut table);
        (entry.read)(table)
    }

    /// Adapts the section `[model]` to an override of `model.loss`, which is a name or a table. Returns the override that
    /// remains to be applied.
    pub fn adapt_loss(&self, section: &mut Table, text: String) -> Result<Option<String>> {
        let Some((key, value)) = text.split_once('=') else { return Ok(Some(text)) };
        let Some(rest) = key.trim().strip_prefix("model.loss") else { return Ok(Some(text)) };
        let Some(loss) = Self::read(section.clone(), &[self.entry])?.options.loss() else {
            return Ok(Some(text));
        };
        let options = loss.table().map_err(|error| Error::failure(error.to_string()))?;
        if let Some(option) = rest.strip_prefix('.') {
            if section.get(loss.name()).is_some_and(Value::is_table) {
                return Ok(Some(format!("model.{}.{option}={value}", loss.name())));
            }
            if !section.get("loss").is_some_and(Value::is_table) {
                section.insert("loss".to_owned(), Value::Table(options));
            }
        } else if rest.is_empty() {
            if let Some(Value::Table(own)) = section.get_mut("loss") {
                // Keys of the model beside those of the loss stay.
                own.retain(|key, _| !options.contains_key(key));
                own.insert("name".to_owned(), Value::String(value.trim().to_owned()));
                return Ok(None);
            }
            section.insert("loss".to_owned(), Value::String(loss.name().to_owned()));
        }
        Ok(Some(text))
    }

    /// Returns the model's name.
    pub fn name(&self) -> &'static str {
        self.entry.name
    }

    /// Returns the model that is configured.
    pub fn entry(&self) -> ModelEntry {
        self.entry
    }

    /// Returns the options, if they are of this type.
    pub fn options<O: ModelOptions>(&self) -> Option<&O> {
        let any: &dyn Any = &*self.options;
        any.downcast_ref()
    }

    /// See [`ModelOptions::check`].
    pub fn check(&self, cell: &Cell) -> Result<()> {
        self.options.check(cell)
    }

    /// Checks the options and builds the model with its initial values.
    pub fn build(&self, cell: &Cell, seed: u64) -> Result<Box<dyn Model>> {
        self.check(cell)?;
        self.options.build(cell, seed)
    }

    /// See [`ModelOptions::size_estimate`].
    pub fn size_estimate(&self, cell: &Cell, members: usize) -> SizeEstimate {
        self.options.size_estimate(cell, members)
    }

    /// See [`ModelOptions::processor`].
    pub fn processor(&self) -> Option<ProcessorKind> {
        self.options.processor()
    }

    /// See [`ModelOptions::notice`].
    pub fn notice(&self, shards: usize) -> Option<&'static str> {
        self.options.notice(shards)
    }

    /// Returns the loss of a network; `None` of a model that is solved.
    pub fn loss(&self) -> Option<LossConfig> {
        self.options.loss()
    }

    /// Returns how the model is solved, where it is not trained step by step.
    pub fn solver(&self) -> Option<&dyn Solver> {
        self.options.solver()
    }

    /// Returns the prior knowledge that the model uses: annotations and covariates, and the networks and features that derive from genetic
    /// interactions.
    pub fn prior_knowledge(&self, cell: &Cell) -> Vec<String> {
        let mark = |input: String| format!("{input} (from genetic interactions)");
        let is_derived = |input: &str| {
            let name = input.split_once(' ').map_or(input, |(_, name)| name);
            cell.is_from_interactions(name)
        };
        let solver = self.solver().map(Solver::prior_knowledge).unwrap_or_default();
        let named = solver.into_iter().map(|input| if is_derived(&input) { mark(input) } else { input });
        let networks = self.options.networks(cell).into_iter().map(|name| format!("network {name}"));
        let features = self.options.features(cell).into_iter().map(|name| format!("feature {name}"));
        let derived = networks.chain(features).filter(|input| is_derived(input)).map(mark);
        named.chain(derived).collect()
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
