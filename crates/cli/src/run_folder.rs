//! A run's folder, opened again: its configuration, its dataset and its split, checked against each other.

use crate::ui::request_error;
use anyhow::Context as _;
use knockout_screen::{Dataset, Split};
use knockout_train::config::{Config, ModelName};
use knockout_train::keeper::MetricsLine;
use knockout_train::run::{Manifest, Run};
use std::path::{Path, PathBuf};

/// The model's configuration on a dataset, with changes.
pub(crate) fn configure(model: ModelName, dataset: &Dataset, keys: &[String]) -> anyhow::Result<Config> {
    let config = knockout_config::resolve(&Config::of(model, &dataset.cell), keys)?;
    config.check(&dataset.cell).map_err(|error| request_error(error.to_string()))?;
    Ok(config)
}

/// Makes a folder that must not exist yet; what it is in may have to be made too.
pub(crate) fn create(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder.parent().unwrap_or(Path::new("."))).ok();
    std::fs::create_dir(folder).map_err(|error| {
        request_error(format!(
            "could not make {}: {error}; choose a folder that does not exist",
            folder.display()
        ))
    })
}

/// What a run says of itself, without its dataset.
pub(crate) struct Described {
    folder: PathBuf,
    pub(crate) manifest: Manifest,
    pub(crate) config: Config,
}

/// Reads what a run says of itself, with changes that do not touch its numbers.
pub(crate) fn describe(folder: &Path, keys: &[String]) -> anyhow::Result<Described> {
    let manifest = Run::read_manifest(folder)?;
    let path = folder.join("config.toml");
    let text =
        std::fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
    let config: Config = toml::from_str(&text).map_err(|error| {
        request_error(format!("{} is no configuration of this version: {}", path.display(), error.message()))
    })?;
    let config = knockout_config::resolve(&config, keys)?;
    Ok(Described { folder: folder.to_owned(), manifest, config })
}

impl Described {
    /// Where the dataset was when the run began.
    pub(crate) fn dataset_folder(&self) -> anyhow::Result<&Path> {
        self.manifest.conditions.get("dataset_folder").map(Path::new).ok_or_else(|| {
            let path = self.folder.join("manifest.json");
            request_error(format!("{} does not say where its dataset is", path.display()))
        })
    }
}

/// Opens the dataset and makes the split of a run.
pub(crate) fn open(run: &Described) -> anyhow::Result<(Dataset, Split)> {
    let dir = run.dataset_folder()?;
    let Described { folder, manifest, config } = run;
    let dataset = super::command::data::open(dir)?;
    if dataset.manifest.data_hash() != manifest.inputs.dataset {
        return Err(request_error(format!(
            "{} is not the dataset that {} was trained on (its contents differ)",
            dir.display(),
            folder.display()
        )));
    }
    config.check(&dataset.cell).map_err(|error| request_error(error.to_string()))?;
    let split = split(&dataset, config)?;
    Ok((dataset, split))
}

/// The split of a configuration.
pub(crate) fn split(dataset: &Dataset, config: &Config) -> anyhow::Result<Split> {
    Split::new(&dataset.samples, dataset.cell.genes(), config.split_spec())
        .map_err(|error| request_error(error.to_string()))
}

/// The lines of a run's metrics, one per epoch; a torn last line of a killed run is left out.
pub(crate) fn lines(folder: &Path) -> Vec<MetricsLine> {
    let text = std::fs::read_to_string(folder.join("metrics.jsonl")).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// The machine's name.
pub(crate) fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The processor's name, where the operating system tells.
pub(crate) fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    format!("{}, {cores} cores", name.map_or(std::env::consts::ARCH, |(_, name)| name.trim()))
}
