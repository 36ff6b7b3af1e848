//! Identity of a run: model, gene table, and every setting that its numbers depend on.

use knockout_base::error::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Everything that the numbers of a run depend on. A checkpoint resumes only a run of the same identity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// The model's name.
    pub model: String,
    /// Hash of the gene table.
    pub gene_table: String,
    /// Every setting that must not change, by its dotted key.
    pub config: BTreeMap<String, String>,
}

/// One thing that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityDifference {
    /// `model`, `gene table`, or the key of a setting.
    pub key: String,
    /// In the checkpoint; `None` if it has no such setting.
    pub checkpoint: Option<String>,
    /// In this run.
    pub here: Option<String>,
}

impl fmt::Display for IdentityDifference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |value: &Option<String>| value.clone().unwrap_or_else(|| "(nothing)".to_owned());
        write!(out, "{}: {} in the checkpoint, {} here", self.key, side(&self.checkpoint), side(&self.here))
    }
}

impl Identity {
    /// One hash of all settings.
    pub fn config_hash(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for text in self.config.iter().flat_map(|(key, value)| [key, value]) {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }

    /// Rejects a checkpoint (`self`) of another run than `here`; the error lists every difference.
    pub fn check(&self, here: &Self) -> Result<()> {
        let differences = self.differences(here);
        if differences.is_empty() {
            return Ok(());
        }
        let lines: Vec<String> = differences.iter().map(ToString::to_string).collect();
        let advice = "continue with the settings and the dataset it was made with";
        let lines = lines.join("\n  ");
        Err(Error::request(format!("the checkpoint belongs to another run; {advice}\n  {lines}")))
    }

    /// Returns the differences between a checkpoint (`self`) and the run `here`: model, gene table, then settings by key.
    pub fn differences(&self, here: &Self) -> Vec<IdentityDifference> {
        let named = [("model", &self.model, &here.model), ("gene table", &self.gene_table, &here.gene_table)]
            .map(|(key, checkpoint, here)| (key, Some(checkpoint), Some(here)));
        let keys: BTreeSet<&String> = self.config.keys().chain(here.config.keys()).collect();
        let settings = keys.into_iter().map(|key| (key.as_str(), self.config.get(key), here.config.get(key)));
        named
            .into_iter()
            .chain(settings)
            .filter(|(_, checkpoint, here)| checkpoint != here)
            .map(|(key, checkpoint, here)| IdentityDifference {
                key: key.to_owned(),
                checkpoint: checkpoint.cloned(),
                here: here.cloned(),
            })
            .collect()
    }
}

/// Returns the leaves of a document by their dotted key (`model.layers`), as JSON.
pub(crate) fn flatten(document: &Value) -> BTreeMap<String, String> {
    let mut leaves = BTreeMap::new();
    add_leaves(&mut leaves, String::new(), document);
    leaves
}

fn add_leaves(out: &mut BTreeMap<String, String>, key: String, value: &Value) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
                add_leaves(out, key, value);
            }
        }
        other => {
            out.insert(key, other.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn differences_are_shown_key_by_key() {
        let config = json!({"model": {"layers": 2, "norm": "node"}, "train": {"rate": 0.001, "gone": true}});
        let other = json!({"model": {"layers": 3, "norm": "node"}, "train": {"rate": 0.001, "new": [1, 2]}});
        let identity = |model: &str, gene_table: &str, config| Identity {
            model: model.to_owned(),
            gene_table: gene_table.to_owned(),
            config: flatten(config),
        };
        let checkpoint = identity("dango", "aaa", &config);
        checkpoint.check(&checkpoint).unwrap();
        let here = identity("hetero", "bbb", &other);
        let text = checkpoint.check(&here).unwrap_err().to_string();
        for line in [
            "model: dango in the checkpoint, hetero here",
            "gene table: aaa in the checkpoint, bbb here",
            "model.layers: 2 in the checkpoint, 3 here",
            "train.gone: true in the checkpoint, (nothing) here",
            "train.new: (nothing) in the checkpoint, [1,2] here",
        ] {
            assert!(text.contains(line), "{text}");
        }
        assert!(!text.contains("norm") && !text.contains("rate"), "{text}");
        assert_ne!(checkpoint.config_hash(), here.config_hash());
    }
}
