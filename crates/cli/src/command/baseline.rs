//! `knockout baseline`: what gene identity, query pairs and the solved models give without training.

use crate::choice;
use crate::command::data;
use crate::command::evaluate::BootstrapArgs;
use crate::failure::{Context as _, Result};
use crate::ui::{Ui, Unit};
use clap::Args;
use indicatif::ProgressBar;
use knockout_base::files::StagedFolder;
use knockout_base::stats::pearson;
use knockout_data::screen::{Dataset, Division, Part, Scheme, Split, SplitSpec};
use knockout_predict::baseline::{Baseline, Baselines, Fitted};
use knockout_predict::evaluation::{Figure, MeasuredScores, Model, Spread, Unseen, rows_of};
use knockout_predict::predictions::Predictions;
use knockout_report::lab::{BaselineDocument, BaselineRow, baseline_page, correlation};
use std::path::{Path, PathBuf};

/// Fit the baselines that every network must beat, from the mean to the stack
///
/// Train mean, query-pair mean, hierarchical mean, additive ridge, ridge with pairs and a gene-embedding MLP use gene
/// identities only; low rank, the network kernel and their stack are the solved models. All are fitted to the training part of a
/// split; penalties and stopping are chosen on its val part. docs/evaluate.md explains each.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout baseline yeast
  knockout baseline yeast --split pair-disjoint --splits 5
  knockout baseline yeast --split gene-disjoint --seeds 3 --out ladder
  knockout baseline yeast --split-file split.parquet --out ladder
  knockout baseline yeast --json | jq '.rows[] | {name, pearson}'")]
pub(crate) struct BaselineArgs {
    /// The dataset folder
    dir: PathBuf,
    /// What no two parts share
    #[arg(long, value_name = "SPLIT", default_value = "random", value_parser = choice::scheme())]
    split: Scheme,
    /// A split file to take instead of making a split
    #[arg(long, value_name = "FILE", conflicts_with_all = ["split", "splits"])]
    split_file: Option<PathBuf>,
    /// The part to predict
    #[arg(long, value_name = "PART", default_value = "test", value_parser = choice::part())]
    part: Part,
    /// The seed of the split and of the first MLP
    #[arg(long, value_name = "S", default_value_t = knockout_data::screen::DEFAULT_SPLIT_SEED)]
    seed: u64,
    /// MLPs to train on the same split, with seeds S, S+1, …; shows the spread over them
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    seeds: u32,
    /// Splits to make, with seeds S, S+1, …; shows the spread of every baseline over them
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    splits: u32,
    /// A folder to make, with a prediction file per baseline (of the first split)
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    #[command(flatten)]
    bootstrap: BootstrapArgs,
}

/// Everything fitted on one split: a baseline, the seed of its weights, what came of it.
struct Climbed {
    split: Split,
    fitted: Vec<(Fitted, Option<u64>)>,
}

pub(crate) fn run(args: &BaselineArgs, ui: &Ui) -> Result<()> {
    let dataset = data::open(&args.dir)?;
    let part = args.part;
    // A bad folder must not cost the time of fitting first.
    let staged = args.out.as_deref().map(StagedFolder::create).transpose()?;
    let fits = u64::from(args.splits) * (Baseline::ALL.len() as u64 - 1 + u64::from(args.seeds));
    let bar = ui.progress("fitting", fits, Unit::Items);
    let seeds = |count: u32| (0..u64::from(count)).map(|i| args.seed.wrapping_add(i));
    let mut climbed = Vec::new();
    for split_seed in seeds(args.splits) {
        climbed.push(climb(&dataset, args, split_seed, &seeds(args.seeds).collect::<Vec<_>>(), &bar)?);
    }
    bar.finish_and_clear();
    let first = &climbed[0];
    if let (Some(staged), Some(out)) = (staged, &args.out) {
        save(&dataset, args, first, staged.path())?;
        staged.commit().with_context(|| format!("could not write {}", out.display()))?;
    }
    let shown = describe(&dataset, args, part, &climbed);
    ui.page(|| baseline_page(&shown), &shown)
}

fn climb(
    dataset: &Dataset,
    args: &BaselineArgs,
    split_seed: u64,
    weight_seeds: &[u64],
    bar: &ProgressBar,
) -> Result<Climbed> {
    let split = if let Some(file) = &args.split_file {
        Split::load(file, &dataset.manifest)?
    } else {
        let spec =
            SplitSpec { scheme: args.split, division: Division::default(), seed: split_seed, subset: None };
        Split::new(&dataset.samples, dataset.cell.genes(), spec)
            .with_context(|| format!("cannot split {}", args.dir.display()))?
    };
    let rows = split.rows(args.part);
    let baselines = Baselines::new(&dataset.samples, dataset.cell.genes().len(), &split)?.over(&dataset.cell);
    let mut fitted = Vec::new();
    for baseline in baselines.applicable() {
        let seeds: Vec<Option<u64>> =
            if baseline.is_random() { weight_seeds.iter().copied().map(Some).collect() } else { vec![None] };
        for seed in seeds {
            bar.set_message(baseline.name());
            let started = std::time::Instant::now();
            let one = baselines.fit(baseline, rows, seed.unwrap_or(0), &|epoch| {
                let r = correlation(epoch.validation_pearson);
                bar.set_message(format!("{}: epoch {}, val Pearson {r}", baseline.name(), epoch.epoch));
                tracing::debug!("{} epoch {}: val Pearson {r}", baseline.name(), epoch.epoch);
            })?;
            tracing::info!("fitted {} in {:.2} s", baseline.name(), started.elapsed().as_secs_f64());
            fitted.push((one, seed));
            bar.inc(1);
        }
    }
    Ok(Climbed { split, fitted })
}

/// Files named by baseline; the MLPs after the first also by their seed.
fn save(dataset: &Dataset, args: &BaselineArgs, climbed: &Climbed, folder: &Path) -> Result<()> {
    let home = std::path::absolute(&args.dir).ok();
    let Climbed { split, fitted } = climbed;
    for (fitted, seed) in fitted {
        let name = fitted.baseline.name();
        let mut file = Predictions::new(dataset, split, args.part, name, fitted.predictions.clone());
        file.description.seed = *seed;
        file.description.folder.clone_from(&home);
        file.description.split_file =
            args.split_file.as_deref().and_then(|path| std::path::absolute(path).ok());
        let stem = match seed {
            Some(seed) if *seed != args.seed => format!("{name}-seed-{seed}"),
            _ => name.to_owned(),
        };
        file.save(&folder.join(format!("{stem}.parquet")))?;
    }
    Ok(())
}

fn describe(dataset: &Dataset, args: &BaselineArgs, part: Part, climbed: &[Climbed]) -> BaselineDocument {
    let bootstrap = args.bootstrap.bootstrap();
    let Climbed { split, fitted } = &climbed[0];
    let scheme = split.spec().scheme.name();
    let measured = MeasuredScores::of(dataset, split, part);
    // One line per baseline: of several MLPs the first, the others are in the spread.
    let is_first = |seed: Option<u64>| seed.is_none_or(|seed| seed == args.seed);
    let lines: Vec<&(Fitted, Option<u64>)> = fitted.iter().filter(|(_, seed)| is_first(*seed)).collect();
    let models: Vec<Model<'_>> = lines
        .iter()
        .map(|(fitted, _)| Model { name: fitted.baseline.name(), predictions: &fitted.predictions })
        .collect();
    let rows = rows_of(&models, &measured, scheme, part, &bootstrap)
        .into_iter()
        .zip(&lines)
        .map(|(row, (fitted, seed))| BaselineRow {
            row,
            alpha: fitted.alpha,
            epochs: fitted.epochs,
            seed: *seed,
        })
        .collect();
    let is_there = |baseline: &Baseline| lines.iter().any(|(fitted, _)| fitted.baseline == *baseline);
    let unseen = Unseen::of(dataset, split, part);
    BaselineDocument {
        schema: 1,
        dataset: dataset.manifest.name.clone(),
        data_hash: dataset.manifest.data_hash(),
        split: scheme,
        split_seed: split.spec().seed,
        part: part.name(),
        train: split.rows(Part::Train).len(),
        val: split.rows(Part::Val).len(),
        resamples: bootstrap.resamples,
        rows,
        left_out: Baseline::ALL.iter().filter(|b| !is_there(b)).map(|b| b.name()).collect(),
        spread: spreads(dataset, args, part, climbed),
        unseen_genes: unseen.genes,
        unseen_records: unseen.records,
        bounds: dataset.manifest.bounds(),
        out: args.out.clone(),
    }
}

fn scores_of(dataset: &Dataset, split: &Split, part: Part) -> Vec<f64> {
    split.rows(part).iter().map(|&row| dataset.samples.scores()[row as usize]).collect()
}

/// Over the seeds of the MLP on the first split, and of every baseline over splits; as far as requested.
fn spreads(dataset: &Dataset, args: &BaselineArgs, part: Part, climbed: &[Climbed]) -> Vec<Spread> {
    let mut spreads = Vec::new();
    if args.seeds > 1 {
        let targets = scores_of(dataset, &climbed[0].split, part);
        let seeded = climbed[0].fitted.iter().filter_map(|(fitted, seed)| Some((fitted, (*seed)?)));
        let (seeds, values) =
            seeded.map(|(fitted, seed)| (seed, pearson(&fitted.predictions, &targets))).unzip();
        spreads.push(Spread::of(Baseline::GeneMlp.name(), Figure::Pearson, "weights", seeds, values));
    }
    if args.splits > 1 {
        for baseline in Baseline::ALL {
            let of_split = |climbed: &Climbed| {
                let fitted = climbed.fitted.iter().find(|(fitted, _)| fitted.baseline == baseline)?;
                let targets = scores_of(dataset, &climbed.split, part);
                Some((climbed.split.spec().seed, pearson(&fitted.0.predictions, &targets)))
            };
            let (seeds, values): (Vec<u64>, Vec<_>) = climbed.iter().filter_map(of_split).unzip();
            if !seeds.is_empty() {
                spreads.push(Spread::of(baseline.name(), Figure::Pearson, "splits", seeds, values));
            }
        }
    }
    spreads
}
