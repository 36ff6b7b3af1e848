//! Stores of precomputed deletions, opened before anything is trained or measured: one that is missing, of another dataset or too
//! small refuses the request, and stops no run in the middle.

use crate::config::Config;
use knockout_base::error::{Class, Classified, Error};
use knockout_data::batch::{Origin, ProcessorKind, Store};
use knockout_data::screen::Dataset;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The stores that were opened, each once: LMDB maps no file twice in a process.
#[derive(Debug, Default)]
pub struct Stores {
    opened: Vec<Arc<Store>>,
}

/// A store that a run's configuration asks for and that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(
    "loader.processor={processor} reads what `knockout data precompute {} {flag}{out}` stores",
    dataset.display()
)]
pub struct RunStoreError {
    processor: &'static str,
    dataset: PathBuf,
    flag: &'static str,
    out: String,
    /// Cause: what is wrong with the store.
    #[source]
    pub source: Box<Error>,
}

impl Stores {
    /// What the loader of a run reads: `loader.store`, or where `data precompute` puts it if that is not given. `None` for
    /// representations that are not stored.
    pub fn for_run(
        &mut self,
        config: &Config,
        dataset_folder: &Path,
        dataset: &Dataset,
        rows: &[u32],
    ) -> Result<Option<Arc<Store>>, RunStoreError> {
        let kind = config.processor();
        let Some(flag) = kind.store_flag() else { return Ok(None) };
        let named = Some(&config.loader.store).filter(|store| !store.is_empty());
        let folder = named.map_or_else(|| usual_folder(dataset_folder, kind), PathBuf::from);
        let failed = |source| RunStoreError {
            processor: kind.name(),
            dataset: dataset_folder.to_owned(),
            flag,
            out: named.map(|store| format!(" --out {store}")).unwrap_or_default(),
            source: Box::new(source),
        };
        let store = self.open(&folder, dataset, rows).map_err(failed)?;
        store.check_kind(kind).map_err(failed)?;
        Ok(Some(store))
    }

    /// Opens a store that must hold these rows of the dataset; one that is open is taken again.
    pub fn open(&mut self, folder: &Path, dataset: &Dataset, rows: &[u32]) -> Result<Arc<Store>, Error> {
        if let Some(store) = self.opened.iter().find(|store| store.path() == folder) {
            return Ok(Arc::clone(store));
        }
        let store = Store::open(folder, Origin::of(dataset))?;
        store.check_rows(rows)?;
        Ok(Arc::clone(self.opened.push_mut(Arc::new(store))))
    }

    /// The one that a representation is read from.
    pub fn of(&self, kind: ProcessorKind) -> Option<&Arc<Store>> {
        self.opened.iter().find(|store| store.form().kind() == kind)
    }
}

/// Where `data precompute` puts the store of a representation unless told otherwise.
pub fn usual_folder(dataset_folder: &Path, kind: ProcessorKind) -> PathBuf {
    dataset_folder.join(kind.name())
}

impl Classified for RunStoreError {
    fn class(&self) -> Class {
        self.source.class()
    }
}
