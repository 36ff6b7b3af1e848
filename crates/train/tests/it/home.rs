//! The tiny synthetic dataset, in memory and in a folder of its own.

use knockout_data::screen::Dataset;
use knockout_sources::synth;
use knockout_train::run::RunContext;
use std::path::PathBuf;
use std::sync::Arc;

/// Returns the dataset of a seed.
pub(crate) fn tiny(seed: u64) -> Dataset {
    synth::synthesise(&synth::SynthConfig::preset("tiny").unwrap(), seed, "tiny", "test", &|_| ()).unwrap()
}

/// A folder with the dataset in `data`, where resumed runs look for it.
pub(crate) struct DatasetFolder {
    pub folder: tempfile::TempDir,
    pub dataset: Arc<Dataset>,
}

impl DatasetFolder {
    pub(crate) fn new(seed: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut dataset = tiny(seed);
        dataset.write(&folder.path().join("data"), &|_| ()).unwrap();
        Self { folder, dataset: Arc::new(dataset) }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn context(&self) -> RunContext {
        RunContext::new(self.path("data"))
    }
}
