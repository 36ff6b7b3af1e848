//! `knockout predict`: predictions for very many gene sets, in a folder of blocks that are complete or absent.

mod merge;
mod part;

use crate::choice;
use crate::command::train::on_workers;
use crate::exit;
use crate::failure::{Failure, Result, request_error};
use crate::interrupt::Interrupt;
use crate::output::{self, ForceArg, OutputKind};
use crate::ui::{Ui, Unit};
use clap::{ArgGroup, Args, Subcommand};
use indicatif::ProgressBar;
use knockout_base::files::Folder;
use knockout_data::cell::GeneTable;
use knockout_data::screen::{Dataset, Part, Samples, Split};
use knockout_predict::scorer::OpenRuns;
use knockout_predict::{
    BlockShare, Calibration, CandidateSpec, Candidates, CutOffs, Filters, HistogramScale, HitEvidence,
    HitNotes, KeptPredictions, Outcome, Plan, PredictionFolder, PredictionObserver, PredictionSummary,
    RegimeAccuracy, RunEntry, Scorer as _, write_csv, write_hits, write_sets,
};
use knockout_report::lab::{PredictionDocument, hits_network, hits_page, hits_workbook, prediction_page};
use knockout_report::units::counted;
use knockout_sources::lists::{self, SetTable};
use knockout_train::checkpoint::Slot;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Default number of highest and lowest predictions on a page.
const PAGE_HITS: (usize, usize) = (100, 100);

/// Candidates that even the quickest model needs an hour for.
const MANY: u64 = 5_000_000_000;

/// Predict gene sets with trained models, up to hundreds of millions
///
/// Candidates are numbered and predicted in blocks, each a Parquet file that is complete or absent: run the same command again
/// after a kill and it resumes. Several runs predict together: their mean, and the standard deviation over them. With --top or
/// --bottom only those are kept. docs/predict.md explains the folder.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "EXAMPLES:
  knockout predict runs/dango-yeast-0 --with ZIR010W,ZML134W --top 100 --bottom 100 --not-measured --out hits
  knockout predict runs/dango-yeast-0 --sets mine.tsv --out mine
  knockout predict runs/dango-yeast-0 --triples --genes kinases.txt --top 100 --out triples
  knockout predict runs/dango-yeast-0 runs/dango-yeast-1 --pairs --genes kinases.txt --out ensemble
  knockout predict runs/dango-yeast-0 --triples --part 3/7 --out part-3
  knockout predict merge whole part-1 part-2 part-3 part-4 part-5 part-6 part-7"
)]
#[command(group = ArgGroup::new("what").args(["sets", "pairs", "triples", "dataset_part"]))]
pub(crate) struct PredictArgs {
    #[command(subcommand)]
    command: Option<PredictCommand>,
    /// Folders of runs; several of one dataset are an ensemble
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// The folder of predictions; an interrupted one is resumed
    #[arg(long, value_name = "DIR", required = true)]
    out: Option<PathBuf>,
    /// State of the runs; by default the best Pearson, or the last where no epoch has ended
    #[arg(long, value_name = "STATE", value_parser = choice::slot())]
    state: Option<Slot>,
    /// The dataset folder, if it is no longer where the runs were trained; its contents must be the same
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    #[command(flatten)]
    what: CandidateArgs,
    #[command(flatten)]
    filters: FilterArgs,
    /// Keep only the K highest predictions, in top.csv; with --full all are kept as well
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    top: Option<u32>,
    /// Keep only the K lowest predictions, in bottom.csv; with --full all are kept as well
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    bottom: Option<u32>,
    /// Keep every prediction although --top or --bottom is given
    #[arg(long)]
    full: bool,
    /// Write predictions.csv besides the Parquet blocks
    #[arg(long)]
    csv: bool,
    #[command(flatten)]
    hits: HitArgs,
    /// Write a page of hits: highest and lowest, distributions, and accuracy on the test part
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    force: ForceArg,
    /// Predict the i-th of n disjoint ranges alone, such as 3/7, or `auto` in a Slurm job array or under srun or mpirun; `predict
    /// merge` joins them
    #[arg(long, value_name = "I/N", default_value_t, value_parser = part::parse)]
    part: BlockShare,
    /// Candidates in a block; by default as many as take seconds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    block: Option<u64>,
}

/// Files of hits, and what counts as false.
#[derive(Debug, Args)]
struct HitArgs {
    /// Write hits.xlsx: the highest and lowest predictions and the terms they have in common, for Excel
    #[arg(long)]
    xlsx: bool,
    /// Write hits.cyjs: the highest and lowest predictions as a network, for Cytoscape
    #[arg(long)]
    cytoscape: bool,
    /// A negative hit is false if its score is not below this; by default -3 for S-scores and -0.08 for others
    #[arg(long, value_name = "SCORE", allow_negative_numbers = true)]
    negative_below: Option<f64>,
    /// A positive hit is false if its score is not above this; by default 2 for S-scores and 0.08 for others
    #[arg(long, value_name = "SCORE", allow_negative_numbers = true)]
    positive_above: Option<f64>,
}

impl HitArgs {
    fn check(&self, has_hits: bool) -> Result<()> {
        if !has_hits && (self.xlsx || self.cytoscape) {
            return Err(request_error(
                "--xlsx and --cytoscape write the strongest predictions: add --top K or --bottom K",
            ));
        }
        for (name, score) in
            [("--negative-below", self.negative_below), ("--positive-above", self.positive_above)]
        {
            if let Some(score) = score.filter(|score| !score.is_finite()) {
                return Err(request_error(format!(
                    "{name} {score} is not a score; give a number such as -0.08"
                )));
            }
        }
        Ok(())
    }

    fn cut_offs(&self, usual: CutOffs) -> CutOffs {
        CutOffs {
            negative: self.negative_below.unwrap_or(usual.negative),
            positive: self.positive_above.unwrap_or(usual.positive),
        }
    }
}

#[derive(Debug, Subcommand)]
enum PredictCommand {
    Merge(merge::MergeArgs),
}

/// Candidates to predict.
#[derive(Debug, Args)]
struct CandidateArgs {
    /// Sets of genes in a TSV, CSV, xlsx or Parquet file, by systematic or standard names; sets.csv has its rows with predictions
    #[arg(long, value_name = "FILE", conflicts_with_all = ["genes", "with"])]
    sets: Option<PathBuf>,
    /// All pairs of --genes
    #[arg(long)]
    pairs: bool,
    /// All triples of --genes
    #[arg(long)]
    triples: bool,
    /// The samples of a part of the dataset
    #[arg(long, value_name = "PART", value_parser = choice::part(), conflicts_with_all = ["genes", "with"])]
    dataset_part: Option<Part>,
    /// Genes to choose from: `measured` (those with a sample), `all`, or a file with a name on each line
    #[arg(long, value_name = "FILE", default_value = "measured")]
    genes: PathBuf,
    /// Genes that every set has: one or two names; two alone mean triples, one alone pairs where all samples are pairs
    #[arg(long, value_name = "GENE", value_delimiter = ',')]
    with: Vec<String>,
}

/// Candidates to leave out.
#[derive(Debug, Args)]
struct FilterArgs {
    /// Leave out sets that the dataset has a score for
    #[arg(long)]
    not_measured: bool,
    /// Leave out sets with a gene of this file, such as essential genes
    #[arg(long, value_name = "FILE")]
    exclude: Option<PathBuf>,
    /// Leave out sets with a gene of fewer edges, over all networks
    #[arg(long, value_name = "N", default_value_t = 0)]
    min_degree: usize,
}

impl CandidateArgs {
    /// Returns the candidates, and the rows of their file where they are listed in one.
    fn choice(&self, genes: &GeneTable, samples: &Samples) -> Result<(CandidateSpec, Option<SetTable>)> {
        if let Some(part) = self.dataset_part {
            return Ok((CandidateSpec::DatasetPart(part), None));
        }
        if let Some(path) = &self.sets {
            let (sets, table) = lists::read_sets(path, genes)?;
            return Ok((CandidateSpec::Listed(sets), Some(table)));
        }
        let with = lists::find_genes(&self.with, genes, "--with")?;
        let order = match (self.pairs, self.triples, with.len()) {
            (true, ..) => 2,
            (_, true, _) | (_, _, 2) => 3,
            (_, _, 1) if samples.gene_sets().iter().all(|set| set.len() == 2) => 2,
            (_, _, 1) => {
                return Err(request_error("with one gene in --with add --pairs or --triples"));
            }
            _ => {
                return Err(request_error(
                    "choose what to predict: --sets FILE, --pairs, --triples, --with GENE,GENE or --dataset-part PART",
                ));
            }
        };
        let chosen = match self.genes.to_str() {
            Some("all") => (0..genes.len() as u32).collect(),
            Some("measured") => {
                samples.gene_sets().genes().iter().copied().collect::<BTreeSet<_>>().into_iter().collect()
            }
            _ => lists::read_genes(&self.genes, genes)?,
        };
        Ok((CandidateSpec::Combinations { order, genes: chosen, with }, None))
    }
}

pub(crate) fn run(args: &PredictArgs, ui: &Ui) -> Result<()> {
    match &args.command {
        Some(PredictCommand::Merge(merge)) => merge::run(merge, ui),
        None => {
            let document = predictions(args, ui)?;
            ui.page(|| prediction_page(&document), &document)
        }
    }
}

/// Predicts the candidates of a request.
pub(crate) fn predictions(args: &PredictArgs, ui: &Ui) -> Result<PredictionDocument> {
    on_workers(|| predict(args, ui))
}

fn predict(args: &PredictArgs, ui: &Ui) -> Result<PredictionDocument> {
    let Some(out) = &args.out else {
        return Err(request_error("name the folder of predictions with --out DIR"));
    };
    let asked = (args.top.unwrap_or(0) as usize, args.bottom.unwrap_or(0) as usize);
    // A page or file without hits would be none.
    let hits = if args.html.is_some() && asked == (0, 0) { PAGE_HITS } else { asked };
    args.hits.check(hits != (0, 0))?;
    let opened = OpenRuns::open(&args.runs, args.state, args.data.as_deref())?;
    note_runs(&opened, ui);
    if let Some(path) = &args.html {
        let inputs = [&args.what.sets, &args.filters.exclude].into_iter().flatten();
        let inputs: Vec<&Path> = inputs.chain([&args.what.genes]).map(PathBuf::as_path).collect();
        output::check(path, OutputKind::Page, &inputs, args.force)?;
    }
    let (cell, samples) = (&opened.dataset.cell, &opened.dataset.samples);
    let genes = cell.genes();
    let exclude = args.filters.exclude.as_ref().map(|path| lists::read_genes(path, genes)).transpose()?;
    let filters = Filters {
        measured: args.filters.not_measured,
        exclude: exclude.unwrap_or_default(),
        min_degree: args.filters.min_degree,
    };
    let (choice, listed) = args.what.choice(genes, samples)?;
    let candidates = Candidates::new(choice, &filters, cell, samples, &opened.split)?;
    let scorer = opened.scorer();
    scorer.check_orders(&candidates.orders(), &opened.runs)?;
    note_orders(&candidates.orders(), &opened, ui);
    let labels = opened.runs[0].labels();
    let plan = Plan {
        schema: 1,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: command(),
        runs: opened.runs.iter().map(|run| run.entry.clone()).collect(),
        dataset: knockout_predict::DatasetEntry {
            hash: opened.dataset.manifest.data_hash(),
            folder: opened.dataset_folder.clone(),
        },
        candidates: candidates.description().clone(),
        keep: if asked == (0, 0) || args.full {
            KeptPredictions::All
        } else {
            KeptPredictions::Extremes { top: hits.0, bottom: hits.1 }
        },
        block: args.block.unwrap_or_else(|| scorer.block()),
        histogram: HistogramScale::around(labels.mean, labels.sd),
        part: args.part,
    };
    let folder = PredictionFolder::start(out, plan)?;
    let plan = folder.plan();
    let range = plan.part.of_blocks(plan.blocks());
    let edge = |block: u64| (block * plan.block).min(plan.candidates.count);
    let total = edge(range.end) - edge(range.start);
    ui.note(&format!("{}: {}: {}", out.display(), counted(total, "candidate"), plan.candidates.what));
    if total > MANY {
        ui.note(
            "that many take hours: --genes FILE or --with GENE,GENE chooses fewer, --part 1/N takes a share",
        );
    }
    let console = PredictConsole {
        bar: ui.progress("predicting", total, Unit::Items),
        interrupt: Interrupt::install()?,
    };
    let outcome = knockout_predict::predict(&folder, &candidates, &scorer, genes, hits, &console);
    console.bar.finish_and_clear();
    match outcome? {
        Outcome::Stopped { missing } => Err(Failure::verdict(
            exit::INTERRUPTED,
            format!(
                "interrupted with {missing} of {} to go in {}; run the same command again to resume",
                counted(range.end - range.start, "block"),
                out.display()
            ),
        )),
        Outcome::Finished(summary) => {
            let accuracy =
                if hits == (0, 0) { Vec::new() } else { RegimeAccuracy::of(&opened, &candidates.orders())? };
            let trust = Trust { dataset: &opened.dataset, split: Some(&opened.split), accuracy: &accuracy };
            let mut document = finish(&folder, &summary, &trust, args.csv)?;
            if hits != (0, 0) {
                let cut_offs = |usual| args.hits.cut_offs(usual);
                let evidence = HitEvidence::of(&opened, &candidates, &summary.extremes, cut_offs)?;
                document = document.with_evidence(evidence);
                write_hit_files(&mut document, &args.hits)?;
            }
            if let Some(table) = &listed {
                let (dataset, split) = (&opened.dataset, &opened.split);
                let rows = (0..table.len()).map(|row| table.row(row));
                document.files.extend(write_sets(&folder, dataset, split, table.columns(), rows)?);
            }
            if let Some(path) = &args.html {
                let calibration = Calibration::of(&opened, &candidates.orders())?;
                let page = hits_page(&document, &folder, &summary, &opened, calibration.as_ref());
                output::write_text(path, &page.to_html(), ui)?;
                ui.note(&format!("page: {}", path.display()));
            }
            Ok(document)
        }
    }
}

/// Writes the files of hits for other programs.
fn write_hit_files(document: &mut PredictionDocument, args: &HitArgs) -> Result<()> {
    let lists = document.lists();
    let xlsx = args.xlsx.then(|| hits_workbook(&lists)).transpose()?;
    let network = args.cytoscape.then(|| hits_network(&document.what, &lists).into_bytes());
    for (name, bytes) in [("hits.xlsx", xlsx), ("hits.cyjs", network)] {
        if let Some(bytes) = bytes {
            let written = Folder::at(&document.out).replace(name, |out| out.write_all(&bytes));
            written.map_err(|error| error.while_doing(format!("{name} could not be written")))?;
            document.files.push(document.out.join(name));
        }
    }
    Ok(())
}

/// Material of the notes on hits.
struct Trust<'a> {
    dataset: &'a Dataset,
    /// The split of the run; without it regimes are unknown.
    split: Option<&'a Split>,
    accuracy: &'a [RegimeAccuracy],
}

/// Writes the tables of a finished folder and returns its summary.
fn finish(
    folder: &PredictionFolder,
    summary: &PredictionSummary,
    trust: &Trust<'_>,
    csv: bool,
) -> Result<PredictionDocument> {
    let genes = trust.dataset.cell.genes();
    let (top, bottom) = (summary.extremes.top(), summary.extremes.bottom());
    let notes = HitNotes::new(trust.dataset, trust.split, top.iter().chain(&bottom));
    let mut files = write_hits(folder.path(), summary, genes, &notes)?;
    if csv {
        files.push(write_csv(folder, genes)?);
    }
    Ok(PredictionDocument::of(folder, summary, genes, &notes, trust.accuracy, files))
}

/// Names the runs, and warns where they were trained on different parts.
fn note_runs(opened: &OpenRuns, ui: &Ui) {
    for run in &opened.runs {
        let RunEntry { folder, model, state, .. } = &run.entry;
        ui.note(&format!("{}: {model}, state {state}", folder.display()));
    }
    if opened.splits_differ {
        let tested = opened.split.rows(Part::Test).len();
        ui.note(&format!(
            "warning: the runs have different splits; accuracy is measured on {} that all of them hold back",
            counted(tested, "test sample")
        ));
    }
}

/// Warns where sets are of a size that no training sample has.
pub(super) fn note_orders(orders: &[usize], opened: &OpenRuns, ui: &Ui) {
    let trained = opened.trained_orders();
    for order in orders.iter().filter(|order| !trained.contains(order)) {
        let trained: Vec<String> = trained.iter().map(ToString::to_string).collect();
        ui.note(&format!(
            "warning: no training sample has {} (they have {}); these predictions extrapolate",
            counted(*order, "gene"),
            trained.join(", ")
        ));
    }
}

/// The command line without what does not change predictions.
fn command() -> String {
    const VALUED: [&str; 3] = ["--out", "--part", "--threads"];
    let mut arguments = crate::args::all().iter().map(|argument| argument.to_string_lossy().into_owned());
    let mut kept = vec!["knockout".to_owned()];
    while let Some(argument) = arguments.next() {
        if VALUED.contains(&&argument[..]) {
            arguments.next();
        } else if !VALUED
            .iter()
            .any(|name| argument.strip_prefix(name).is_some_and(|rest| rest.starts_with('=')))
        {
            kept.push(argument);
        }
    }
    kept.join(" ")
}

/// The progress bar, and Ctrl-C.
struct PredictConsole {
    bar: ProgressBar,
    interrupt: Interrupt,
}

impl PredictionObserver for PredictConsole {
    fn advance(&self, candidates: u64) {
        self.bar.inc(candidates);
    }

    fn is_stopped(&self) -> bool {
        self.interrupt.is_asked()
    }
}
