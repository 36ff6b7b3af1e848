//! `knockout evaluate`: models side by side on one part of one split, with the additive ridge beside them.

mod runs;

use crate::choice;
use crate::command::data;
use crate::command::train::on_workers;
use crate::exit::INCOMPARABLE;
use crate::failure::{Failure, Result, request_error};
use crate::output::{self, ForceArg, OutputKind};
use crate::ui::Ui;
use clap::Args;
use knockout_base::stats::bootstrap::Bootstrap;
use knockout_data::screen::{Bounds, Dataset, Part, Split};
use knockout_predict::baseline::Baseline;
use knockout_predict::evaluation::{
    ENSEMBLE, Evaluation, MeasuredScores, NamedPredictions, Pairs, SeedSpread, StackPredictions, compare,
    ensemble, evaluate_beside, rows_of,
};
use knockout_predict::predictions::Predictions;
use knockout_predict::{Calibration, Coverage, CutOffs, GeneAccuracy};
use knockout_report::lab::{EvaluationDocument, EvaluationPictures, PriorKnowledge, evaluation_page};
use knockout_train::checkpoint::Slot;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Measure the accuracy of predictions, with the stack and the additive ridge on the same split
///
/// Pearson with its bootstrap interval, Spearman and errors over the whole part. The interval resamples genes where the part
/// has new ones, query strains where it has new ones, records otherwise. The additive ridge uses
/// gene identities only: a model that does not beat it has learnt nothing from its networks. The stack is the best model
/// that is solved in seconds. Runs that differ only in their seed: mean and spread over them, and their ensemble. Other runs on
/// the same dataset and split, and --against: the paired bootstrap of the difference. docs/evaluate.md explains the table.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout evaluate runs/dango-yeast-0
  knockout evaluate runs/dango-yeast-0 runs/dango-yeast-1 runs/dango-yeast-2
  knockout evaluate runs/dango-yeast-0 runs/hetero-yeast-0
  knockout evaluate runs/dango-yeast-0 --html evaluation.html
  knockout evaluate runs/dango-yeast-0 --data /elsewhere/yeast
  knockout evaluate --predictions dango.parquet --against baselines/gene-mlp.parquet
  knockout evaluate --predictions dango.parquet --data yeast --json | jq .rows")]
pub(crate) struct EvaluateArgs {
    /// Folders of runs of one dataset and split. Seeds of one configuration show their spread and ensemble; unlike ones
    /// are compared record by record
    #[arg(value_name = "RUN", conflicts_with_all = ["predictions", "against"])]
    runs: Vec<PathBuf>,
    /// State of the runs; by default best-pearson, or last if no epoch has ended yet
    #[arg(long, value_name = "STATE", value_parser = choice::slot(), conflicts_with = "predictions")]
    state: Option<Slot>,
    /// The prediction file
    #[arg(long, value_name = "FILE")]
    predictions: Option<PathBuf>,
    /// A second prediction file over the same records, to compare with
    #[arg(long, value_name = "FILE", requires = "predictions")]
    against: Option<PathBuf>,
    /// The dataset folder, where it is not the one that the run or the file names; its contents are checked
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The part: of runs, test by default; of a file, the one it must be about
    #[arg(long, value_name = "PART", value_parser = choice::part())]
    part: Option<Part>,
    #[command(flatten)]
    bootstrap: BootstrapArgs,
    /// Write a page: scatter plot, precision and recall, calibration, and accuracy by gene, of the first model
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    force: ForceArg,
}

/// How intervals are made.
#[derive(Debug, Args)]
pub(crate) struct BootstrapArgs {
    /// Bootstrap resamples behind every interval
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    resamples: u32,
}

impl BootstrapArgs {
    pub(crate) fn bootstrap(&self) -> Bootstrap {
        Bootstrap { resamples: self.resamples as usize, ..Bootstrap::default() }
    }
}

/// The evaluated predictions: those of some models for one part.
struct EvaluationSubject {
    models: Vec<(String, Predictions)>,
    /// Name of the configuration, if the models are seeds of one.
    seeds: Option<Seeds>,
    /// Dataset and split of the predictions. The ridge is fitted only if they are present.
    home: Option<(Arc<Dataset>, Arc<Split>)>,
    /// Predictions of the stack, where they exist already.
    stack: StackPredictions,
    /// Coverage of the intervals of each model that has some.
    coverage: Vec<Coverage>,
    /// Models that use more than the screen and the networks.
    prior_knowledge: Vec<PriorKnowledge>,
}

/// One configuration trained several times.
struct Seeds {
    model: &'static str,
    /// One for each model.
    seeds: Vec<u64>,
}

pub(crate) fn run(args: &EvaluateArgs, ui: &Ui) -> Result<()> {
    let evaluation = evaluation(args, ui)?;
    ui.page(|| evaluation_page(&evaluation), &evaluation)
}

/// Evaluates the runs or files of a request.
pub(crate) fn evaluation(args: &EvaluateArgs, ui: &Ui) -> Result<EvaluationDocument> {
    if args.runs.is_empty() && args.predictions.is_none() {
        return Err(request_error("name the folder of a run, or a file with --predictions"));
    }
    if let Some(path) = &args.html {
        let inputs: Vec<&Path> = args.predictions.iter().chain(&args.against).map(PathBuf::as_path).collect();
        output::check(path, OutputKind::Page, &inputs, args.force)?;
    }
    let subject = if let Some(predictions) = &args.predictions {
        from_files(args, predictions, ui)?
    } else {
        on_workers(|| runs::subject(args, ui))?
    };
    document(&subject, args, ui)
}

fn from_files(args: &EvaluateArgs, predictions: &PathBuf, ui: &Ui) -> Result<EvaluationSubject> {
    let paths: Vec<&PathBuf> = [predictions].into_iter().chain(&args.against).collect();
    let files = paths.iter().map(|path| Predictions::load(path)).collect::<Result<Vec<_>, _>>()?;
    let found = files[0].description.part;
    if let Some(wanted) = args.part.filter(|&part| part != found) {
        return Err(request_error(format!(
            "{} holds predictions for the {} part, not for the {} part; leave --part out or predict that part",
            predictions.display(),
            found.name(),
            wanted.name()
        )));
    }
    if let [first, second] = &files[..] {
        refuse_unlike(first, second, paths[0], paths[1])?;
    }
    let home = home_of(&files, &paths, args.data.as_deref(), ui)?;
    let own: Vec<String> = files.iter().map(|file| file.description.model.clone()).collect();
    Ok(EvaluationSubject {
        models: names(&own, &paths).into_iter().zip(files).collect(),
        seeds: None,
        home,
        stack: StackPredictions::ToBeSolved,
        coverage: Vec::new(),
        prior_knowledge: Vec::new(),
    })
}

fn refuse_unlike(first: &Predictions, second: &Predictions, a: &Path, b: &Path) -> Result<()> {
    let unlike = first.unlike(second);
    if unlike.is_empty() {
        return Ok(());
    }
    let differences: Vec<_> =
        unlike.into_iter().map(|unlike| (unlike.what.to_owned(), unlike.a, unlike.b)).collect();
    Err(incomparable((a, b), "cannot be compared record by record", &differences, ""))
}

/// Returns the error of predictions that cannot be compared: the differences (with both values) and the next step.
fn incomparable(
    (a, b): (&Path, &Path),
    what: &str,
    differences: &[(String, String, String)],
    next: &str,
) -> Failure {
    let differences: Vec<String> =
        differences.iter().map(|(key, a, b)| format!("{key} ({a} against {b})")).collect();
    let (a, b, differences) = (a.display(), b.display(), differences.join(", "));
    let message = format!("{a} and {b} {what}: they differ in {differences}{next}");
    Failure::verdict(INCOMPARABLE, message)
}

/// The dataset and the split of the predictions. One named by the user must fit; one that only the file names
/// may be missing, which is reported.
fn home_of(
    files: &[Predictions],
    paths: &[&PathBuf],
    asked: Option<&Path>,
    ui: &Ui,
) -> Result<Option<(Arc<Dataset>, Arc<Split>)>> {
    let open = |folder: &Path| -> Result<(Arc<Dataset>, Arc<Split>)> {
        let dataset = data::open(folder)?;
        let splits = files.iter().zip(paths).map(|(file, path)| file.split_of(&dataset, path, folder));
        let split = splits.collect::<Result<Vec<_>, _>>()?.swap_remove(0);
        Ok((dataset, Arc::new(split)))
    };
    if let Some(folder) = asked {
        return open(folder).map(Some);
    }
    let Some(folder) = &files[0].description.folder else {
        ui.note("the file does not name its dataset; add --data DIR to see the additive ridge");
        return Ok(None);
    };
    match open(folder) {
        Ok(home) => Ok(Some(home)),
        // The dataset is there and the file does not fit it: that is not a missing folder.
        Err(error) if folder.exists() => Err(error),
        Err(_) => {
            ui.note(&format!(
                "the dataset is no longer in {}: give it with --data DIR to see the additive ridge",
                folder.display()
            ));
            Ok(None)
        }
    }
}

/// Returns the names of the models; the names of their files where they would be ambiguous.
fn names<P: AsRef<Path>>(own: &[String], paths: &[P]) -> Vec<String> {
    let ours = [Baseline::AdditiveRidge.name(), Baseline::Stack.name(), ENSEMBLE];
    let is_taken = |index: usize| {
        ours.contains(&own[index].as_str())
            || own.iter().enumerate().any(|(other, name)| other != index && *name == own[index])
    };
    let by_path = |index: usize| paths[index].as_ref().display().to_string();
    (0..own.len()).map(|index| if is_taken(index) { by_path(index) } else { own[index].clone() }).collect()
}

/// Evaluates predictions.
fn document(subject: &EvaluationSubject, args: &EvaluateArgs, ui: &Ui) -> Result<EvaluationDocument> {
    let bootstrap = &args.bootstrap.bootstrap();
    let mut models: Vec<NamedPredictions<'_>> = subject
        .models
        .iter()
        .map(|(name, file)| NamedPredictions { name, predictions: &file.predictions })
        .collect();
    let together = ensemble(&models);
    let pairs = if subject.seeds.is_some() {
        models.push(NamedPredictions { name: ENSEMBLE, predictions: &together });
        Pairs::ReferencesOnly
    } else {
        Pairs::Neighbours
    };
    let first = &subject.models[0].1;
    let description = &first.description;
    let (scheme, part) = (description.split.scheme.name(), description.part);
    let evaluation = if let Some((dataset, split)) = &subject.home {
        let Evaluation { rows, comparisons, regimes, warnings, unseen, repeated_sets, bounds } =
            evaluate_beside(dataset, split, part, &models, pairs, bootstrap, &subject.stack)?;
        (rows, comparisons, (regimes, warnings), (Some(unseen), repeated_sets, bounds))
    } else {
        // Without the dataset it is unknown which genes records share.
        let measured = MeasuredScores { scores: first.scores.clone(), ..MeasuredScores::default() };
        (
            rows_of(&models, &measured, scheme, part, bootstrap),
            compare(&models, pairs, None, &[], &measured, bootstrap),
            (Vec::new(), Vec::new()),
            (None, 0, Bounds::default()),
        )
    };
    let (rows, comparisons, (regimes, warnings), (unseen, repeated_sets, bounds)) = evaluation;
    let spread = subject.seeds.as_ref().map_or_else(Vec::new, |Seeds { model, seeds }| {
        SeedSpread::over_weights(model, seeds, &rows[..subject.models.len()])
    });
    let shown = EvaluationDocument {
        schema: 1,
        split: scheme,
        split_seed: description.split.seed,
        part: part.name(),
        data_hash: description.data_hash.clone(),
        resamples: bootstrap.resamples,
        rows,
        comparisons,
        regimes,
        warnings,
        spread,
        unseen_genes: unseen.map(|unseen| unseen.genes),
        unseen_records: unseen.map(|unseen| unseen.records),
        repeated_sets,
        bounds,
        coverage: subject.coverage.clone(),
        prior_knowledge: subject.prior_knowledge.clone(),
    };
    if let Some(path) = &args.html {
        let dataset = subject.home.as_ref().map(|(dataset, _)| dataset);
        let labels = subject.home.as_ref();
        let labels = labels.and_then(|(data, split)| data.samples.label_stats(split.rows(Part::Train)));
        let pictures = EvaluationPictures {
            calibration: Calibration::new(first.predictions.clone(), first.scores.clone()),
            cut_off: CutOffs::usual(labels.map_or(1.0, |labels| labels.sd)).negative,
            genes: dataset.map_or_else(Vec::new, |dataset| GeneAccuracy::of(&dataset.samples, first)),
            table: dataset.map(|dataset| dataset.cell.genes()),
        };
        output::write_text(path, &pictures.add_to(evaluation_page(&shown)).to_html(), ui)?;
        ui.note(&format!("page: {}", path.display()));
    }
    Ok(shown)
}
