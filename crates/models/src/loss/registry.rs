//! The registry that finds a loss by its name, and the key `model.loss`.
//!
//! A loss is added by a type with its options that implements [`LossOptions`], a type that implements [`Loss`], and one line in
//! [`LOSSES`]. All networks then take it by name.

use super::loss_trait::Loss;
use super::mle_wass_supcr::{MleWassSupCrOptions, SupCrOptions, WassersteinOptions};
use super::options::{LossOptions, LossShape};
use super::point_dist::PointDistOptions;
use super::pointwise::{LogCosh, MeanSquaredError};
use super::score::ScoreLoss;
use knockout_base::error::{Error, Result};
use knockout_engine::kernel::Scalar;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::sync::Arc;
use toml::{Table, Value};

/// The losses of scores. The first is the default of networks that have no other.
pub const LOSSES: &[LossEntry] = &[
    LossEntry::of::<LogCosh>(),
    LossEntry::of::<MeanSquaredError>(),
    LossEntry::of::<WassersteinOptions>(),
    LossEntry::of::<SupCrOptions>(),
    LossEntry::of::<MleWassSupCrOptions>(),
    LossEntry::of::<PointDistOptions>(),
];

/// A registered loss.
#[derive(Clone, Copy)]
pub struct LossEntry {
    /// See [`LossOptions::NAME`].
    pub name: &'static str,
    read: fn(Table) -> Result<LossConfig, toml::de::Error>,
}

impl LossEntry {
    /// Creates the entry of a loss.
    pub const fn of<O: LossOptions>() -> Self {
        Self { name: O::NAME, read: |table| Ok(LossConfig::new(O::deserialize(table)?)) }
    }
}

impl fmt::Debug for LossEntry {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name)
    }
}

/// A loss with its options: the key `model.loss` of every network.
///
/// It is written as the name where all options have their defaults, otherwise as a table of the name and the options. Both forms
/// are read.
#[derive(Clone)]
pub struct LossConfig {
    name: &'static str,
    options: Arc<dyn AnyOptions>,
}

/// [`LossOptions`] behind a pointer.
trait AnyOptions: fmt::Debug + Send + Sync {
    fn table(&self) -> Result<Table, toml::ser::Error>;
    fn default_table(&self) -> Result<Table, toml::ser::Error>;
    fn check(&self) -> Result<()>;
    fn couples_samples(&self) -> bool;
    fn needs_representation(&self) -> bool;
    fn build_f32(&self, shape: LossShape) -> Box<dyn Loss<f32>>;
    fn build_f64(&self, shape: LossShape) -> Box<dyn Loss<f64>>;
}

impl<O: LossOptions> AnyOptions for O {
    fn table(&self) -> Result<Table, toml::ser::Error> {
        Table::try_from(self)
    }

    fn default_table(&self) -> Result<Table, toml::ser::Error> {
        Table::try_from(O::default())
    }

    fn check(&self) -> Result<()> {
        LossOptions::check(self)
    }

    fn couples_samples(&self) -> bool {
        LossOptions::couples_samples(self)
    }

    fn needs_representation(&self) -> bool {
        LossOptions::needs_representation(self)
    }

    fn build_f32(&self, shape: LossShape) -> Box<dyn Loss<f32>> {
        self.build(shape)
    }

    fn build_f64(&self, shape: LossShape) -> Box<dyn Loss<f64>> {
        self.build(shape)
    }
}

/// A precision that losses are built in: `f32` or `f64`.
pub trait LossPrecision: Scalar {
    /// Builds the loss of a configuration.
    #[doc(hidden)]
    fn build(config: &LossConfig, shape: LossShape) -> Box<dyn Loss<Self>>;
}

impl LossPrecision for f32 {
    fn build(config: &LossConfig, shape: LossShape) -> Box<dyn Loss<Self>> {
        config.options.build_f32(shape)
    }
}

impl LossPrecision for f64 {
    fn build(config: &LossConfig, shape: LossShape) -> Box<dyn Loss<Self>> {
        config.options.build_f64(shape)
    }
}

impl LossConfig {
    /// Creates the configuration of some options.
    pub fn new<O: LossOptions>(options: O) -> Self {
        Self { name: O::NAME, options: Arc::new(options) }
    }

    /// Reads a name, or a table of a name and options, with one of `losses`.
    pub fn read(value: Value, losses: &[LossEntry]) -> Result<Self> {
        let (name, options) = match value {
            Value::String(name) => (name, Table::new()),
            Value::Table(mut table) => match table.remove("name") {
                Some(Value::String(name)) => (name, table),
                // The transformer's losses had no name when there was one only.
                None => (PointDistOptions::NAME.to_owned(), table),
                Some(_) => return Err(Error::request("the name of a loss is a text")),
            },
            _ => return Err(Error::request("a loss is a name, or a table of a name and options")),
        };
        let Some(entry) = losses.iter().find(|entry| entry.name == name) else {
            let known: Vec<&str> = losses.iter().map(|entry| entry.name).collect();
            return Err(Error::request(format!(
                "there is no loss {name:?}; choose from {}",
                known.join(", ")
            )));
        };
        (entry.read)(options).map_err(|error| Error::request(format!("{name}: {}", error.message())))
    }

    /// Returns the name of the loss.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the table of the name and all options.
    pub fn table(&self) -> Result<Table, toml::ser::Error> {
        let name = ("name".to_owned(), Value::String(self.name.to_owned()));
        Ok([name].into_iter().chain(self.options.table()?).collect())
    }

    /// Returns whether all options have their defaults.
    pub(crate) fn has_defaults(&self) -> bool {
        matches!((self.options.table(), self.options.default_table()), (Ok(a), Ok(b)) if a == b)
    }

    /// Returns whether it is the default of networks: [`LogCosh`].
    pub(crate) fn is_default(&self) -> bool {
        self.name == LogCosh::NAME
    }

    /// Checks the options, and that `model` has what the loss reads.
    pub fn check(&self, model: &str, has_representation: bool) -> Result<()> {
        self.options.check()?;
        if self.options.needs_representation() && !has_representation {
            return Err(Error::request(format!(
                "the loss {} compares representations of samples, and {model} has none; choose another loss, for example \
                 model.loss=log_cosh, or set the weight of its term to 0",
                self.name
            )));
        }
        Ok(())
    }

    /// Builds the loss. The options have been checked.
    pub fn build<T: LossPrecision>(&self, shape: LossShape) -> ScoreLoss<T> {
        let (couples, reads) = (self.options.couples_samples(), self.options.needs_representation());
        ScoreLoss::new(T::build(self, shape), couples, reads)
    }
}

impl Default for LossConfig {
    fn default() -> Self {
        Self::new(LogCosh {})
    }
}

impl fmt::Debug for LossConfig {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.options.fmt(out)
    }
}

impl PartialEq for LossConfig {
    fn eq(&self, other: &Self) -> bool {
        matches!((self.table(), other.table()), (Ok(a), Ok(b)) if a == b)
    }
}

impl Serialize for LossConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.has_defaults() {
            return serializer.serialize_str(self.name);
        }
        self.table().map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for LossConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(Value::deserialize(deserializer)?, LOSSES).map_err(D::Error::custom)
    }
}
