//! The start of a run: its context and its folder.

use super::description::SPLIT_FILE;
use super::folder::{NewRunFiles, RunFolder};
use super::manifest::{DATASET_FOLDER, Inputs, RunManifest};
use crate::config::{Config, SplitOptions};
use crate::predictor::BaseRuns;
use knockout_base::error::{Error, Result};
use knockout_base::files::Folder;
use knockout_data::screen::{DEFAULT_SPLIT_SEED, Dataset, Part, Scheme, Split};
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
    /// Rows of the dataset that it was trained on, if it was trained elsewhere.
    pub adopted: Option<AdoptedRows>,
}

/// Rows that weights were trained on elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdoptedRows {
    /// They were not recorded.
    Unknown,
    /// All of them are in the training part.
    Trained(Vec<u32>),
}

/// Condition of a manifest that names the rows of an adopted run.
const ADOPTED_ROWS: &str = "adopted_rows";

impl AdoptedRows {
    /// Checks that all rows are in the training part of the split.
    pub fn check(&self, split: &Split) -> Result<()> {
        let Self::Trained(rows) = self else { return Ok(()) };
        for part in [Part::Test, Part::Val] {
            let held_out = split.rows(part);
            let count = rows.iter().filter(|row| held_out.binary_search(row).is_ok()).count();
            if count > 0 {
                let (name, all) = (part.name(), held_out.len());
                return Err(Error::request(format!(
                    "the weights were trained on {count} of {all} rows of the {name} part, so no score of this run would be of unseen \
                     records; train on the training part of its split, for example with model.loader(\"train\")"
                )));
            }
        }
        Ok(())
    }

    /// Returns the value of the manifest's condition: the number of rows and the hash of the rows in ascending order.
    fn condition(&self) -> String {
        let Self::Trained(rows) = self else { return "unknown".to_owned() };
        let mut rows = rows.clone();
        rows.sort_unstable();
        rows.dedup();
        let bytes: Vec<u8> = rows.iter().flat_map(|row| row.to_le_bytes()).collect();
        format!("{} rows, blake3 {}", rows.len(), blake3::hash(&bytes).to_hex())
    }

    /// Returns whether the rows of an adopted run are unknown.
    pub fn are_unknown(manifest: &RunManifest) -> bool {
        manifest.conditions.get(ADOPTED_ROWS).is_some_and(|rows| *rows == Self::Unknown.condition())
    }
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
            adopted: None,
        }
    }
}

/// Returns the default folder of a run: `runs/MODEL-DATASET-SEED`, with scheme, seed, fold and subsets of the split before the seed
/// where they are not the default.
pub fn default_folder(model: &str, dataset: &Path, split: &SplitOptions, seed: u64) -> PathBuf {
    let scheme = match split.scheme {
        Scheme::Random => String::new(),
        scheme => format!("-{}", scheme.name()),
    };
    let split_seed =
        if split.seed == DEFAULT_SPLIT_SEED { String::new() } else { format!("-split{}", split.seed) };
    let fold = split.fold.to_string().replace('/', "of");
    let of = |name: &str, value: &str| match value {
        "" | "0" => String::new(),
        value => format!("-{name}{value}"),
    };
    let parts = [
        of("fold", &fold),
        of("subset", &split.subset.to_string()),
        of("train", &split.train_subset.to_string()),
    ];
    let parts = parts.concat();
    Path::new("runs").join(format!("{model}-{}{scheme}{split_seed}{parts}-{seed}", dataset_word(dataset)))
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
    // A manifest cannot store a path that is not UTF-8.
    let Some(dataset_folder) = dataset_folder.to_str() else {
        return Err(Error::request(format!(
            "the path {} is not UTF-8, and a run could not find its dataset again; rename it",
            dataset_folder.display()
        )));
    };
    let mut manifest = RunManifest {
        schema: 1,
        version: context.version.clone(),
        commit: context.commit.clone(),
        seed: config.seed,
        host: crate::machine::host(),
        inputs: Inputs::of(dataset),
        conditions: BTreeMap::from([
            (DATASET_FOLDER.to_owned(), dataset_folder.to_owned()),
            ("threads".to_owned(), rayon::current_num_threads().to_string()),
            ("instructions".to_owned(), instructions(config).name().to_owned()),
            ("precision".to_owned(), "f32".to_owned()),
        ]),
    };
    if let Some(adopted) = &context.adopted {
        adopted.check(split)?;
        manifest.conditions.insert(ADOPTED_ROWS.to_owned(), adopted.condition());
    }
    let start =
        NewRunFiles { config: &config.to_toml()?, overrides: &context.overrides, manifest: &manifest };
    RunFolder::create_with(folder, start, |staged| {
        base_runs.copy_to(staged)?;
        staged.write_new(SPLIT_FILE, split.encode(&dataset.manifest)?)
    })
}

/// Returns the instruction set that computes a run. `KNOCKOUT_ISA` chooses that of networks; solvers use the best of the CPU.
fn instructions(config: &Config) -> Isa {
    if config.model.entry().is_solved { Isa::available()[0] } else { Isa::current() }
}
