//! The Python system's processed dataset: an LMDB of JSON records, its gene set and its split files.
//!
//! Opened read-only and without locks, as that system opens it.

mod record;
mod splits;
mod store;

pub use record::parse as parse_record;
pub use splits::{IndexSplit, find as find_splits, read as read_split};
pub use store::{RecordRows, read};

use crate::import::genes::{ListedGene, list::name_fault};
use crate::import::source::Source;
use knockout_base::error::Error;
use knockout_data::cell::Gene;
use knockout_data::lmdb::DATA_FILE;
use std::path::{Path, PathBuf};

/// The store's folder, from its root, its `processed` folder or itself.
pub(crate) fn store_folder(root: &Path) -> Option<PathBuf> {
    ["processed/lmdb", "lmdb", ""]
        .into_iter()
        .map(|below| if below.is_empty() { root.to_owned() } else { root.join(below) })
        .find(|folder| folder.join(DATA_FILE).is_file())
}

/// The genes of `gene_set.json` beside the store, in their order.
pub fn read_gene_set(source: &Source<'_>) -> Result<Vec<ListedGene>, Error> {
    let names: Vec<String> = source.json("a list of gene names")?;
    let listed = |name: String| {
        if let Some(error) = name_fault(name.as_bytes()) {
            return Err(source.fail(error));
        }
        Ok(ListedGene {
            gene: Gene { systematic: name, standard: None },
            aliases: Vec::new(),
            position: None,
        })
    };
    names.into_iter().map(listed).collect()
}
