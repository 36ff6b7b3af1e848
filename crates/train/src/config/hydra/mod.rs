//! Configurations of the Python system: Hydra's YAML, translated key by key into ours.
//!
//! `keys.toml` is the translation. A key that is not in it is refused, because it might change the result.

mod compose;
mod document;
mod table;
#[cfg(test)]
mod tests;

use compose::compose;
use knockout_base::error::Result;
use std::path::Path;
use table::Table;

/// A configuration of the Python system in our keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Translated {
    /// The model that its keys describe; `None` if they fit several.
    pub model: Option<String>,
    /// Our keys, as `key=value`.
    pub keys: Vec<String>,
    /// Its keys that have no meaning here, each with the reason.
    pub unused: Vec<(String, String)>,
    /// Its keys that mean something slightly different here, each with the difference.
    pub differs: Vec<(String, String)>,
}

/// Reads a configuration of the Python system. `model` is the model to read it for where its keys do not name one.
pub fn read(path: &Path, model: Option<&str>) -> Result<Translated> {
    Table::shipped().translate(&compose(path)?, path, model)
}
