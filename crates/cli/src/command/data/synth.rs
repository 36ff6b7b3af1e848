//! `knockout data synth`: synthetic datasets.

use crate::command::overrides::Overrides;
use crate::failure::Result;
use crate::ui::{Ui, Unit};
use clap::Args;
use knockout_data::screen::Dataset;
use knockout_report::units::{bytes, counted};
use knockout_sources::synth::{PRESETS, SynthConfig, synthesise};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Make a synthetic yeast: real size and structure, known truth
///
/// The same preset, seed and overrides give the same bytes on any machine and with any number of threads. See
/// docs/synthetic.md for how networks and scores are made.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout data synth yeast --preset yeast
  knockout data synth try --preset tiny --seed 7
  knockout data synth noisy --preset small --samples 5000 synth.screen.share_networks=0.05
  knockout config show --preset small          all keys that can be overridden")]
pub(crate) struct SynthArgs {
    /// The dataset folder to make; it must not exist
    out: PathBuf,
    /// Where to start: tiny (200 genes), small (1,500), yeast (6,607 genes, 2.4 million edges, 332,313
    /// triples) or pairs (20 million pairs of the yeast's genes)
    #[arg(long, default_value = "small", value_parser = clap::builder::PossibleValuesParser::new(PRESETS))]
    preset: String,
    /// How many samples; the preset's number if not given
    #[arg(long, value_name = "N")]
    samples: Option<usize>,
    /// The seed
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    overrides: Overrides,
}

#[derive(Serialize)]
struct SynthDocument<'a> {
    schema: u32,
    path: &'a Path,
    genes: usize,
    edges: usize,
    samples: usize,
    attainable_pearson: Option<f64>,
    bytes: u64,
    data_hash: String,
}

pub(crate) fn run(args: &SynthArgs, ui: &Ui) -> Result<()> {
    let mut config = args.overrides.resolve(&args.preset)?.synth;
    if let Some(samples) = args.samples {
        config.screen.samples = samples;
    }
    let dataset = make(&args.out, &args.preset, &config, args.seed, &args.overrides.keys, ui)?;
    let edges = dataset.cell.networks().iter().map(knockout_data::cell::Network::edge_count).sum();
    let made = SynthDocument {
        schema: 1,
        path: &args.out,
        genes: dataset.cell.genes().len(),
        edges,
        samples: dataset.samples.len(),
        attainable_pearson: dataset.manifest.synthetic.as_ref().map(|synthetic| synthetic.attainable_pearson),
        bytes: size_on_disk(&args.out, &dataset),
        data_hash: dataset.manifest.data_hash(),
    };
    let text = || {
        format!(
            "made {}: {}, {} with {}, {}, {} on disk\n\
             look at it with `knockout data show {}`\n",
            args.out.display(),
            counted(made.genes, "gene"),
            counted(dataset.cell.networks().len(), "network"),
            counted(edges, "edge"),
            counted(made.samples, "sample"),
            bytes(made.bytes),
            args.out.display(),
        )
    };
    ui.result(text, &made)
}

/// Makes a synthetic dataset with a progress bar.
pub(crate) fn make(
    out: &Path,
    preset: &str,
    config: &SynthConfig,
    seed: u64,
    overrides: &[String],
    ui: &Ui,
) -> Result<Dataset> {
    // A bad OUT must not cost the time of making the data first.
    Dataset::check_target(out)?;
    let command = config.command(preset, seed, overrides);
    let started = Instant::now();
    let bar = ui.progress("making", 2_u64.saturating_mul(config.row_count() as u64), Unit::Items);
    let on_rows = |rows: usize| bar.inc(rows as u64);
    let mut dataset = synthesise(config, seed, preset, &command, &on_rows)?;
    let made = Instant::now();
    bar.set_prefix("writing");
    dataset.write(out, &on_rows)?;
    bar.finish_and_clear();
    tracing::info!(
        "made in {:.3} s, written in {:.3} s",
        (made - started).as_secs_f64(),
        made.elapsed().as_secs_f64()
    );
    Ok(dataset)
}

fn size_on_disk(dir: &Path, dataset: &Dataset) -> u64 {
    let files = dataset.manifest.checksums.keys().map(String::as_str).chain(["dataset.toml"]);
    files.filter_map(|file| std::fs::metadata(dir.join(file)).ok()).map(|metadata| metadata.len()).sum()
}
