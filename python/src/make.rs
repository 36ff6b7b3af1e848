//! Creation of datasets: the synthetic yeast, and imports with a recipe.

use crate::error::Fault;
use crate::json;
use crate::workers::{self, Cancel};
use knockout_base::error::class_of_path;
use knockout_data::screen::Dataset;
use knockout_sources::import::Recipe;
use knockout_sources::synth::{Config, PRESETS, synthesise};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Creates a synthetic yeast in a new folder.
#[pyfunction]
#[pyo3(signature = (out, preset, samples, seed, keys))]
pub(crate) fn synth(
    py: Python<'_>,
    out: PathBuf,
    preset: &str,
    samples: Option<usize>,
    seed: u64,
    keys: Vec<String>,
) -> PyResult<()> {
    workers::run(py, |cancel| make(&out, preset, samples, seed, &keys, cancel))
}

/// The configuration that `synth.*` keys override.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    synth: Config,
}

fn make(
    out: &Path,
    preset: &str,
    samples: Option<usize>,
    seed: u64,
    keys: &[String],
    cancel: &Cancel,
) -> Result<(), Fault> {
    Dataset::check_target(out)?;
    let synth = Config::preset(preset).ok_or_else(|| {
        Fault::request(format!("unknown preset {preset:?}; choose from {}", PRESETS.join(", ")))
    })?;
    let mut config = knockout_base::config::resolve(&Keys { synth }, keys)?.synth;
    if let Some(samples) = samples {
        config.screen.samples = samples;
    }
    let command = config.command(preset, seed, keys);
    let on_rows = |_| cancel.check();
    let mut dataset = synthesise(&config, seed, preset, &command, &on_rows)?;
    Ok(dataset.write(out, &on_rows)?)
}

/// Creates a dataset with a recipe; returns the report of what was imported and skipped.
#[pyfunction]
#[pyo3(signature = (out, recipe, data))]
pub(crate) fn import_recipe(
    py: Python<'_>,
    out: PathBuf,
    recipe: PathBuf,
    data: PathBuf,
) -> PyResult<Bound<'_, PyAny>> {
    let text = workers::run(py, |cancel| {
        Dataset::check_target(&out)?;
        let name = format!("recipe {}", recipe.display());
        let text = std::fs::read_to_string(&recipe)
            .map_err(|error| Fault::new(class_of_path(error.kind()), format!("{name}: {error}")))?;
        let recipe = Recipe::from_toml(&text).map_err(|error| Fault::from(error).context(&name))?;
        let mut import = knockout_sources::import::import(&recipe, &data, &|_| cancel.check())?;
        import.write(&out, &|_| cancel.check())?;
        json::text(&import.report)
    })?;
    json::loads(py, &text)
}
