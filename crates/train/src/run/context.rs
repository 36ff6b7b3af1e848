//! The start of a run: its context and its folder.

use super::description::SPLIT_FILE;
use super::folder::{RunFolder, Start};
use super::manifest::{Inputs, Manifest};
use crate::config::{Config, SplitOptions};
use crate::predictor::BaseRuns;
use knockout_base::error::{Error, Result};
use knockout_base::files::Folder;
use knockout_data::screen::{DEFAULT_SPLIT_SEED, Dataset, Scheme, Split};
use knockout_engine::kernel::Isa;
use knockout_ranks::Ranks;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The circumstances of a run beside its configuration.
#[derive(Debug, Clone)]
pub struct RunContext {
    /// Folder of the dataset.
    pub dataset_folder: PathBuf,
    /// Changes of the defaults, `key=value` each.
    pub overrides: Vec<String>,
    /// Version of the program.
    pub version: String,
    /// Commit it was built from.
    pub commit: String,
    /// The processes that train it together; the first of them writes its folder.
    pub ranks: Ranks,
}

impl RunContext {
    /// A run on the dataset in this folder.
    pub fn new(dataset_folder: impl Into<PathBuf>) -> Self {
        Self {
            dataset_folder: dataset_folder.into(),
            overrides: Vec::new(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: "unknown".to_owned(),
            ranks: Ranks::alone(),
        }
    }
}

/// Returns the default folder of a run: `runs/MODEL-DATASET-SEED`, with the scheme and the seed of the split before the seed where they
/// are not the default.
pub fn default_folder(model: &str, dataset: &Path, split: &SplitOptions, seed: u64) -> PathBuf {
    let scheme = match split.scheme {
        Scheme::Random => String::new(),
        scheme => format!("-{}", scheme.name()),
    };
    let split_seed =
        if split.seed == DEFAULT_SPLIT_SEED { String::new() } else { format!("-split{}", split.seed) };
    Path::new("runs").join(format!("{model}-{}{scheme}{split_seed}-{seed}", dataset_word(dataset)))
}

/// Returns the name of a dataset's folder without spaces, as a part of another folder's name.
pub fn dataset_word(dataset: &Path) -> String {
    let dataset = std::path::absolute(dataset).ok();
    let name = dataset.as_ref().and_then(|dataset| dataset.file_name()).unwrap_or_default().to_string_lossy();
    name.split_whitespace().collect::<Vec<_>>().join("-")
}

/// Creates the folder of a run, with everything that its numbers depend on.
pub(super) fn start_folder(
    folder: &Folder,
    dataset: &Dataset,
    split: &Split,
    config: &Config,
    context: &RunContext,
    base_runs: &BaseRuns,
) -> Result<RunFolder> {
    let dataset_folder =
        std::path::absolute(&context.dataset_folder).unwrap_or_else(|_| context.dataset_folder.clone());
    // Written down with other letters it would not be found again.
    let Some(dataset_folder) = dataset_folder.to_str() else {
        return Err(Error::request(format!(
            "the path {} is not UTF-8, and a run could not find its dataset again; rename it",
            dataset_folder.display()
        )));
    };
    let manifest = Manifest {
        schema: 1,
        version: context.version.clone(),
        commit: context.commit.clone(),
        seed: config.seed,
        host: crate::machine::host(),
        inputs: Inputs::of(dataset),
        conditions: BTreeMap::from([
            ("dataset_folder".to_owned(), dataset_folder.to_owned()),
            ("threads".to_owned(), rayon::current_num_threads().to_string()),
            ("instructions".to_owned(), Isa::current().name().to_owned()),
            ("precision".to_owned(), "f32".to_owned()),
        ]),
    };
    let start = Start { config: &config.to_toml()?, overrides: &context.overrides, manifest: &manifest };
    RunFolder::create_with(folder, start, |staged| {
        base_runs.copy_to(staged)?;
        staged.write_new(SPLIT_FILE, split.encode(&dataset.manifest)?)
    })
}
