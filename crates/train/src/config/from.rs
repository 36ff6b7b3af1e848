//! Other runs that a run builds on.

use knockout_base::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Other runs that a run builds on: the keys `from.*`. All of them are of the same dataset and split.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FromOptions {
    /// Folder of the run whose predictions are subtracted from the scores before training and added when predicting; empty for
    /// none.
    pub residuals_of: String,
    /// Folder of the run whose gene factors the gene table starts from; empty for none. `model.start` is the same key.
    pub start: String,
    /// Folders of runs that are stacked with the solved model.
    pub with: Vec<String>,
    /// Hash of the weights of each of them, by the name of its copy in the run's folder; filled in when the run begins.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, String>,
}

/// Refuses a key that a model does not use.
pub(super) fn no_effect(key: &str, model: &str, why: &str) -> Error {
    Error::request(format!("{key} has no effect on {model}, which {why}; leave it out"))
}

/// Copy of the run whose residuals are trained on.
pub(crate) const RESIDUALS_OF: &str = "residuals_of";
/// Copy of the run whose factors are started from.
pub(crate) const START: &str = "start";

impl FromOptions {
    /// Whether no other run is named.
    pub fn is_empty(&self) -> bool {
        self.residuals_of.is_empty() && self.start.is_empty() && self.with.is_empty()
    }

    /// Returns the named runs: the name of the copy and the folder.
    pub fn named(&self) -> Vec<(String, &str)> {
        let single = [(RESIDUALS_OF, &self.residuals_of[..]), (START, &self.start[..])];
        let single = single.into_iter().filter(|(_, folder)| !folder.is_empty());
        let single = single.map(|(name, folder)| (name.to_owned(), folder));
        let several = self.with.iter().enumerate().map(|(index, folder)| (with_name(index), &folder[..]));
        single.chain(several).collect()
    }

    /// Rejects keys that do not apply to a model.
    pub(super) fn check(&self, model: &'static str, is_solved: bool) -> Result<()> {
        let solved = "is solved, not trained step by step";
        let trained = "is trained step by step; `train --model stack --with RUN` stacks it";
        let keys = [
            ("from.residuals_of", !self.residuals_of.is_empty() && is_solved, solved),
            ("from.start", !self.start.is_empty() && is_solved, solved),
            ("from.with", !self.with.is_empty() && !is_solved, trained),
        ];
        match keys.into_iter().find(|(_, is_useless, _)| *is_useless) {
            Some((key, _, why)) => Err(no_effect(key, model, why)),
            None => Ok(()),
        }
    }
}

/// Copy of a run that is stacked.
pub(crate) fn with_name(index: usize) -> String {
    format!("with-{index}")
}
