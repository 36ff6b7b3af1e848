//! `knockout baseline`: what gene identity, query pairs and the solved models give without training.

use crate::choice;
use crate::command::data;
use crate::command::evaluate::BootstrapArgs;
use crate::failure::{FailureContext as _, Result};
use crate::ui::{Ui, Unit};
use clap::Args;
use indicatif::ProgressBar;
use knockout_base::files::StagedFolder;
use knockout_data::screen::{Dataset, Division, Part, Scheme, Split, SplitSpec};
use knockout_predict::baseline::Baseline;
use knockout_predict::predictions::Predictions;
use knockout_predict::{BaselineEvent, FittedBaselines};
use knockout_report::lab::{BaselineDocument, baseline_page, correlation};
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
  knockout baseline yeast --split gene-disjoint --seeds 3 --out baselines
  knockout baseline yeast --split-file split.parquet --out baselines
  knockout baseline yeast --json | jq '.rows[] | {name, pearson}'")]
pub(crate) struct BaselineArgs {
    /// The dataset folder
    dir: PathBuf,
    /// Unit that no two parts share
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

pub(crate) fn run(args: &BaselineArgs, ui: &Ui) -> Result<()> {
    let dataset = data::open(&args.dir)?;
    // A bad folder must not cost the time of fitting first.
    let staged = args.out.as_deref().map(StagedFolder::create).transpose()?;
    let fits = u64::from(args.splits) * (Baseline::ALL.len() as u64 - 1 + u64::from(args.seeds));
    let bar = ui.progress("fitting", fits, Unit::Items);
    let seeds = |count: u32| (0..u64::from(count)).map(|i| args.seed.wrapping_add(i));
    let mut by_split = Vec::new();
    for split_seed in seeds(args.splits) {
        by_split.push(fit(&dataset, args, split_seed, &seeds(args.seeds).collect::<Vec<_>>(), &bar)?);
    }
    bar.finish_and_clear();
    let first = &by_split[0];
    if let (Some(staged), Some(out)) = (staged, &args.out) {
        save(&dataset, args, first, staged.path())?;
        staged.commit().with_context(|| format!("could not write {}", out.display()))?;
    }
    let bootstrap = args.bootstrap.bootstrap();
    let shown = BaselineDocument::of(&dataset, &by_split, args.seed, &bootstrap, args.out.clone());
    ui.page(|| baseline_page(&shown), &shown)
}

/// Fits every baseline to the split of a seed.
fn fit(
    dataset: &Dataset,
    args: &BaselineArgs,
    split_seed: u64,
    weight_seeds: &[u64],
    bar: &ProgressBar,
) -> Result<FittedBaselines> {
    let split = if let Some(file) = &args.split_file {
        Split::load(file, &dataset.manifest)?
    } else {
        let spec = SplitSpec {
            scheme: args.split,
            division: Division::default(),
            seed: split_seed,
            subset: None,
            train_subset: None,
        };
        Split::new(&dataset.samples, dataset.cell.genes(), spec)
            .with_context(|| format!("cannot split {}", args.dir.display()))?
    };
    Ok(FittedBaselines::fit(dataset, split, args.part, weight_seeds, &|event| match event {
        BaselineEvent::Begin(baseline) => bar.set_message(baseline.name()),
        BaselineEvent::Epoch(baseline, epoch) => {
            let r = correlation(epoch.validation_pearson);
            bar.set_message(format!("{}: epoch {}, val Pearson {r}", baseline.name(), epoch.epoch));
            tracing::debug!("{} epoch {}: val Pearson {r}", baseline.name(), epoch.epoch);
        }
        BaselineEvent::End(baseline) => {
            tracing::info!("fitted {}", baseline.name());
            bar.inc(1);
        }
    })?)
}

/// Files named by baseline; the MLPs after the first also by their seed.
fn save(dataset: &Dataset, args: &BaselineArgs, baselines: &FittedBaselines, folder: &Path) -> Result<()> {
    let home = std::path::absolute(&args.dir).ok();
    let FittedBaselines { split, fitted, .. } = baselines;
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
