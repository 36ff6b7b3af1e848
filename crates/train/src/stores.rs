//! Stores of precomputed deletions, opened before training or measuring starts. A store that is missing, too small or of
//! another dataset is rejected then, not in the middle of a run.

use crate::config::Config;
use knockout_base::error::{Error, Result};
use knockout_base::files::Folder;
use knockout_data::batch::{Origin, ProcessorKind, Store};
use knockout_data::screen::Dataset;
use std::path::Path;
use std::sync::Arc;

/// The stores that were opened, each once: LMDB maps no file twice in a process.
#[derive(Debug, Default)]
pub struct Stores {
    opened: Vec<Arc<Store>>,
}

impl Stores {
    /// Opens the store that the loader of a run reads: `loader.store`, or by default the folder that `data precompute` writes. Returns
    /// `None` for representations that are not stored.
    pub fn for_run(
        &mut self,
        config: &Config,
        dataset_folder: &Path,
        dataset: &Dataset,
        rows: &[u32],
    ) -> Result<Option<Arc<Store>>> {
        let kind = config.processor();
        let Some(flag) = kind.store_flag() else { return Ok(None) };
        let named = Some(&config.loader.store).filter(|store| !store.is_empty());
        let folder = named.map_or_else(|| usual_folder(dataset_folder, kind), Folder::at);
        let failed = |error: Error| {
            let out = named.map(|store| format!(" --out {store}")).unwrap_or_default();
            let command = format!("knockout data precompute {} {flag}{out}", dataset_folder.display());
            let message = format!("loader.processor={} reads what `{command}` stores", kind.name());
            error.while_doing(message)
        };
        let store = self.open(&folder, dataset, rows).map_err(failed)?;
        store.check_kind(kind).map_err(failed)?;
        Ok(Some(store))
    }

    /// Opens a store that must hold these rows of the dataset; an open one is used again.
    pub fn open(&mut self, folder: impl Into<Folder>, dataset: &Dataset, rows: &[u32]) -> Result<Arc<Store>> {
        let folder = folder.into();
        if let Some(store) = self.opened.iter().find(|store| store.path() == folder.path()) {
            return Ok(Arc::clone(store));
        }
        let store = Store::open(folder, Origin::of(dataset))?;
        store.check_rows(rows)?;
        Ok(Arc::clone(self.opened.push_mut(Arc::new(store))))
    }

    /// Returns the open store of a representation.
    pub fn of(&self, kind: ProcessorKind) -> Option<&Arc<Store>> {
        self.opened.iter().find(|store| store.form().kind() == kind)
    }
}

/// Returns the folder in which `data precompute` stores a representation by default.
pub fn usual_folder(dataset_folder: &Path, kind: ProcessorKind) -> Folder {
    Folder::at(dataset_folder).below(kind.name())
}
