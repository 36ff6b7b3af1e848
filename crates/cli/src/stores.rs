//! Stores of precomputed deletions, opened before anything is trained or measured: one that is missing, of another dataset or too
//! small refuses the request, and stops no run in the middle.

use anyhow::Context as _;
use knockout_batch::{Origin, ProcessorKind, Store, StoreError};
use knockout_screen::{Dataset, Part, Split};
use knockout_train::config::Config;
use std::path::{Path, PathBuf};

/// The stores that were opened, each once: LMDB maps no file twice in a process.
#[derive(Debug, Default)]
pub(crate) struct Stores {
    opened: Vec<Store>,
}

impl Stores {
    /// What the loaders of these runs read: `loader.store`, or where `data precompute` puts it if that is not given.
    pub(crate) fn of_runs<'c>(
        configs: impl IntoIterator<Item = &'c Config>,
        dir: &Path,
        dataset: &Dataset,
        split: &Split,
    ) -> anyhow::Result<Self> {
        let mut stores = Self::default();
        for config in configs {
            let kind = config.processor();
            let Some(flag) = kind.store_flag().filter(|_| stores.of(kind).is_none()) else { continue };
            let named = Some(&config.loader.store).filter(|store| !store.is_empty());
            let folder = named.map_or_else(|| usual_folder(dir, kind), PathBuf::from);
            stores.read(&folder, kind, dataset, split.rows(Part::Train)).with_context(|| {
                let out = named.map(|store| format!(" --out {store}")).unwrap_or_default();
                format!(
                    "loader.processor={} reads what `knockout data precompute {} {flag}{out}` stores",
                    kind.name(),
                    dir.display()
                )
            })?;
        }
        Ok(stores)
    }

    fn read(
        &mut self,
        folder: &Path,
        kind: ProcessorKind,
        dataset: &Dataset,
        rows: &[u32],
    ) -> Result<(), StoreError> {
        match self.opened.iter().find(|store| store.path() == folder) {
            Some(store) => store.check_kind(kind),
            None => self.open(folder, dataset, rows)?.check_kind(kind),
        }
    }

    /// Opens one that must hold these rows of the dataset.
    pub(crate) fn open(
        &mut self,
        folder: &Path,
        dataset: &Dataset,
        rows: &[u32],
    ) -> Result<&Store, StoreError> {
        let store = Store::open(folder, Origin::of(dataset))?;
        store.check_rows(rows)?;
        Ok(self.opened.push_mut(store))
    }

    /// The one that a processor reads.
    pub(crate) fn of(&self, kind: ProcessorKind) -> Option<&Store> {
        self.opened.iter().find(|store| store.form().kind() == kind)
    }
}

/// Where `data precompute` puts the store of a processor unless told otherwise.
pub(crate) fn usual_folder(dir: &Path, kind: ProcessorKind) -> PathBuf {
    dir.join(kind.name())
}
