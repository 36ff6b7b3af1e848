//! Creation of datasets: the synthetic yeast, and imports with a recipe.

use crate::error::Fault;
use crate::page::Page;
use crate::workers::{self, Cancel};
use knockout_base::error::class_of_path;
use knockout_data::cell::{Cell, Edge, Gene, GeneSetsRef, GeneTable, Network, SelfLoops};
use knockout_data::screen::{
    Counts, Dataset, FORMAT_VERSION, Manifest, Provenance, Sample, Samples, SamplesBuilder,
};
use knockout_report::lab::import_page;
use knockout_sources::import::Recipe;
use knockout_sources::synth::{PRESETS, SynthConfig, synthesise};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Creates a synthetic yeast in a new folder; with `exist_ok` a folder that the same arguments have made is left as it is.
#[pyfunction]
#[pyo3(signature = (out, preset, samples, seed, keys, exist_ok = false))]
pub(crate) fn synth(
    py: Python<'_>,
    out: PathBuf,
    preset: &str,
    samples: Option<usize>,
    seed: u64,
    keys: Vec<String>,
    exist_ok: bool,
) -> PyResult<()> {
    workers::run(py, |cancel| make(&out, preset, samples, seed, &keys, exist_ok, cancel))
}

/// The configuration that `synth.*` keys override.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    synth: SynthConfig,
}

fn make(
    out: &Path,
    preset: &str,
    samples: Option<usize>,
    seed: u64,
    keys: &[String],
    exist_ok: bool,
    cancel: &Cancel,
) -> Result<(), Fault> {
    let exists = exist_ok && out.join("dataset.toml").exists();
    if !exists {
        Dataset::check_target(out)?;
    }
    let synth = SynthConfig::preset(preset).ok_or_else(|| {
        Fault::request(format!("unknown preset {preset:?}; choose from {}", PRESETS.join(", ")))
    })?;
    let mut config = knockout_base::config::resolve(&Keys { synth }, keys)?.synth;
    if let Some(samples) = samples {
        config.screen.samples = samples;
    }
    let command = config.command(preset, seed, keys);
    if exists {
        let found = Manifest::open(out)?.provenance.command;
        let other =
            || format!("{} holds another dataset, made by: {found}; choose another folder", out.display());
        return if found == command { Ok(()) } else { Err(Fault::request(other())) };
    }
    let on_rows = |_| cancel.check();
    let mut dataset = synthesise(&config, seed, preset, &command, &on_rows)?;
    Ok(dataset.write(out, &on_rows)?)
}

/// Creates a dataset with a recipe; returns the report of what was imported and skipped, with its page.
#[pyfunction]
#[pyo3(signature = (out, recipe, data))]
pub(crate) fn import_recipe(py: Python<'_>, out: PathBuf, recipe: PathBuf, data: PathBuf) -> PyResult<Page> {
    workers::run(py, |cancel| {
        Dataset::check_target(&out)?;
        let name = format!("recipe {}", recipe.display());
        let text = std::fs::read_to_string(&recipe)
            .map_err(|error| Fault::new(class_of_path(error.kind()), format!("{name}: {error}")))?;
        let recipe = Recipe::from_toml(&text).map_err(|error| Fault::from(error).context(&name))?;
        let mut import = knockout_sources::import::import(&recipe, &data, &|_| cancel.check())?;
        import.write(&out, &|_| cancel.check())?;
        Page::of(import_page(&import.report, &out), &import.report)
    })
}

/// Columns of a network: its name, sources, targets and weights.
type Edges<'py> =
    (String, PyReadonlyArray1<'py, u32>, PyReadonlyArray1<'py, u32>, PyReadonlyArray1<'py, f32>);

/// Creates a dataset of genes, networks and scored gene sets.
#[pyfunction]
pub(crate) fn write_dataset(
    py: Python<'_>,
    out: PathBuf,
    names: Vec<(String, Option<String>)>,
    networks: Vec<Edges<'_>>,
    genes: PyReadonlyArray1<'_, u32>,
    offsets: PyReadonlyArray1<'_, u32>,
    scores: PyReadonlyArray1<'_, f64>,
) -> PyResult<()> {
    let gene_count = names.len();
    let names = names.into_iter().map(|(systematic, standard)| Gene { systematic, standard });
    let table = GeneTable::new(names.collect()).map_err(Fault::from)?;
    let networks = networks.iter().map(|(name, sources, targets, weights)| {
        let (sources, targets, weights) = (sources.as_array(), targets.as_array(), weights.as_array());
        if sources.len() != targets.len() || sources.len() != weights.len() {
            return Err(Fault::request(format!("network {name:?} has columns of unequal length")));
        }
        let entries = sources.iter().zip(targets).zip(weights);
        let edges = entries.map(|((&source, &target), &weight)| Edge::weighted(source, target, weight));
        Ok(Network::from_edges(name, gene_count, edges.collect(), SelfLoops::Drop)?.0)
    });
    let networks = networks.collect::<Result<Vec<_>, Fault>>()?;
    let cell = Cell::new(table, networks, None).map_err(Fault::from)?;
    let samples = samples_of(&genes.as_array().to_vec(), &offsets.as_array().to_vec(), &scores, gene_count)?;
    workers::run(py, |cancel| write(&out, Arc::new(cell), samples, cancel))
}

/// Creates a dataset with the cell of another one and other scored gene sets.
#[pyfunction]
pub(crate) fn write_samples(
    py: Python<'_>,
    out: PathBuf,
    dataset: &crate::dataset::Dataset,
    genes: PyReadonlyArray1<'_, u32>,
    offsets: PyReadonlyArray1<'_, u32>,
    scores: PyReadonlyArray1<'_, f64>,
) -> PyResult<()> {
    let cell = Arc::clone(&dataset.get()?.cell);
    let gene_count = cell.genes().len();
    let samples = samples_of(&genes.as_array().to_vec(), &offsets.as_array().to_vec(), &scores, gene_count)?;
    workers::run(py, |cancel| write(&out, cell, samples, cancel))
}

fn samples_of(
    genes: &[u32],
    offsets: &[u32],
    scores: &PyReadonlyArray1<'_, f64>,
    gene_count: usize,
) -> Result<Samples, Fault> {
    let scores = scores.as_array();
    let ends_well = offsets.last().is_some_and(|&end| end as usize == genes.len());
    if offsets.first() != Some(&0) || !offsets.is_sorted() || !ends_well || offsets.len() != scores.len() + 1
    {
        return Err(Fault::request("there must be one score for every gene set"));
    }
    let mut samples = SamplesBuilder::new(gene_count);
    for (set, &score) in GeneSetsRef::new(offsets, genes).iter().zip(scores) {
        samples.push(Sample::deletion(set, score, "python"))?;
    }
    Ok(samples.finish())
}

fn write(out: &Path, cell: Arc<Cell>, samples: Samples, cancel: &Cancel) -> Result<(), Fault> {
    let name = out.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let manifest = Manifest {
        format: FORMAT_VERSION,
        name,
        provenance: Provenance {
            tool: concat!("knockout ", env!("CARGO_PKG_VERSION")).to_owned(),
            command: "arrays of a Python program".to_owned(),
            sources: Vec::new(),
        },
        counts: Counts::default(),
        networks: Vec::new(),
        synthetic: None,
        repeats: Vec::new(),
        standard_errors: None,
        samples_of_several_alleles: 0,
        from_interactions: None,
        checksums: BTreeMap::new(),
    };
    Ok(Dataset { manifest, cell, samples }.write(out, &|_| cancel.check())?)
}
