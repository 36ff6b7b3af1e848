//! Predictions of runs: of one, of several seeds of one configuration, or of unlike ones on the same dataset and split.

use super::{EvaluateArgs, EvaluationSubject, Seeds, incomparable, names};
use crate::exit::INCOMPARABLE;
use crate::failure::{Failure, Result, request_error};
use crate::ui::Ui;
use knockout_data::cell::GeneSets;
use knockout_data::screen::Part;
use knockout_models::MODELS;
use knockout_predict::evaluation::StackPredictions;
use knockout_predict::predictions::Predictions;
use knockout_predict::{Coverage, Intervals, is_default_stack, stack_predictions};
use knockout_report::lab::PriorKnowledge;
use knockout_report::units::counted;
use knockout_train::checkpoint::{Checkpoints, Slot};
use knockout_train::run::{AdoptedRows, RunDescription, RunState, RunSummary, read_metrics};
use std::path::{Path, PathBuf};

/// Predicts a part with each run's weights; the predictions stay in the run's folder.
pub(super) fn subject(args: &EvaluateArgs, ui: &Ui) -> Result<EvaluationSubject> {
    let (folders, part) = (&args.runs, args.part.unwrap_or(Part::Test));
    let runs = folders.iter().map(|folder| {
        let run = RunDescription::read(folder, &[] as &[&str], MODELS)?;
        Ok(match &args.data {
            Some(data) => run.with_dataset(data),
            None => run,
        })
    });
    let runs = runs.collect::<Result<Vec<_>>>()?;
    refuse_unlike(&runs, folders)?;
    let are_seeds = are_seeds(&runs, folders)?;
    if are_seeds {
        note_lengths(folders, ui)?;
    }
    // All are of one dataset and one split.
    let (dataset, split) = runs[0].open_dataset()?;
    for (run, folder) in runs.iter().zip(folders).skip(1) {
        let is_by_file = [run, &runs[0]].iter().any(|run| run.split_file().is_some());
        if is_by_file && run.split_of(&dataset)? != *split {
            let differences = [("split".to_owned(), "some rows".to_owned(), "other rows".to_owned())];
            return Err(incomparable(
                (&folders[0], folder),
                "cannot be compared record by record",
                &differences,
                "",
            ));
        }
    }
    let home = std::path::absolute(runs[0].dataset_folder()?).ok();
    let rows = split.rows(part).iter();
    let sets: GeneSets = rows.map(|&row| dataset.samples.genes(row as usize)).collect();
    let (mut models, mut coverage, mut prior_knowledge) = (Vec::new(), Vec::new(), Vec::new());
    let mut stack = StackPredictions::ToBeSolved;
    for ((folder, run), name) in folders.iter().zip(&runs).zip(run_names(&runs, folders)) {
        let Some((_, path, checkpoint)) = Checkpoints::of_run(folder).choose(args.state)? else {
            return Err(request_error(format!(
                "{} has no state {:?} yet; let it train for an epoch, or take --state last",
                folder.display(),
                args.state.unwrap_or(Slot::BestPearson).name()
            )));
        };
        note_state(folder, ui)?;
        if AdoptedRows::are_unknown(&run.manifest) {
            ui.note(&format!(
                "{} was trained elsewhere, and the rows that it was trained on are not recorded: it may have seen rows of this part; \
                 adopt it with rows=, or with model.adopt",
                folder.display()
            ));
        }
        let predictor = run.predictor(&checkpoint, &dataset, &split)?;
        let mut predictions =
            Predictions::new(&dataset, &split, part, &name, predictor.predict(sets.view())?);
        predictions.description.seed = Some(run.config.seed);
        predictions.description.folder.clone_from(&home);
        predictions.description.split_file = run.split_file().map(Path::to_owned);
        let file = Predictions::file_name(part);
        let deviations = predictor.deviations(sets.view(), &predictions.predictions);
        let bytes = predictions.encode_with_genes(&dataset, &split, deviations.as_deref())?;
        let kept = match run.files().replace(&file, |out| out.write_all(&bytes)) {
            Ok(()) => format!("predictions in {}", folder.join(file).display()),
            // A read-only run can still be evaluated.
            Err(error) if error.io_kind().is_some_and(is_read_only) => {
                format!("the predictions are not kept: {}", knockout_base::error::chain(&error))
            }
            Err(error) => return Err(error.into()),
        };
        let wide = predictor.wide_intervals(sets.view(), &predictions.predictions);
        if let (Some(sd), Some(wide)) = (deviations, wide) {
            coverage.push(Coverage::of(&name, &predictions, &Intervals { sd, wide }, &dataset, &split));
        }
        let uses = predictor.prior_knowledge();
        if !uses.is_empty() {
            prior_knowledge.push(PriorKnowledge { name: name.clone(), uses });
        }
        if matches!(stack, StackPredictions::ToBeSolved) && is_default_stack(run, &predictor, &dataset.cell) {
            stack = StackPredictions::IsModel(models.len());
        }
        let position = checkpoint.state.position;
        let at = if run.config.model.entry().has_epochs() {
            format!("state {} after step {}", file_name(&path), position.step)
        } else {
            "the solved model".to_owned()
        };
        ui.note(&format!("predicted by {at}; {kept}"));
        models.push((name, predictions));
    }
    if matches!(stack, StackPredictions::ToBeSolved) {
        let sorted = sets.view().sorted();
        let known = stack_predictions(&folders[0], &dataset, &split, sorted.view(), &mut ())?;
        stack = known.map_or(stack, StackPredictions::Known);
    }
    let seeds = are_seeds.then(|| Seeds {
        model: runs[0].config.model.name(),
        seeds: runs.iter().map(|run| run.config.seed).collect(),
    });
    Ok(EvaluationSubject { models, seeds, home: Some((dataset, split)), stack, coverage, prior_knowledge })
}

/// Whether an error means that a folder may be read but not written.
fn is_read_only(kind: std::io::ErrorKind) -> bool {
    matches!(kind, std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem)
}

/// Notes that a run is unfinished, or that its metrics cannot be verified; metrics that were edited are an error.
fn note_state(folder: &Path, ui: &Ui) -> Result<()> {
    let run = RunSummary::read(folder)?;
    if run.unsealed {
        ui.note(&format!(
            "{} is unsealed: its metrics have no checksum to be verified with, as in earlier versions",
            folder.display()
        ));
    }
    if run.unsealed_line && run.state != RunState::Training {
        ui.note(&format!(
            "{}: the last line of metrics.jsonl is not sealed and is left out: the run was killed there, or the line was added by hand",
            folder.display()
        ));
    }
    if matches!(run.state, RunState::Unfinished | RunState::Training) {
        let epochs = match run.epochs_wanted {
            Some(wanted) => format!("{} of {}", run.epochs, counted(wanted, "epoch")),
            None => counted(run.epochs, "epoch"),
        };
        ui.note(&format!(
            "{} is unfinished: {epochs}; `knockout train --resume {}` continues it",
            folder.display(),
            folder.display()
        ));
    }
    Ok(())
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

fn run_names(runs: &[RunDescription], folders: &[PathBuf]) -> Vec<String> {
    let own = folders.iter().zip(runs).map(|(folder, run)| {
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
        name.unwrap_or_else(|| run.config.model.name().to_owned())
    });
    names(&own.collect::<Vec<_>>(), folders)
}

/// Runs that can stand side by side are of one dataset and one split.
fn refuse_unlike(runs: &[RunDescription], folders: &[PathBuf]) -> Result<()> {
    let first = &runs[0];
    for (run, folder) in runs.iter().zip(folders).skip(1) {
        let mut differences = Vec::new();
        let (a, b) = (&first.manifest.inputs.dataset, &run.manifest.inputs.dataset);
        if a != b {
            let short = |hash: &str| hash.chars().take(16).collect::<String>();
            differences.push(("dataset".to_owned(), short(a), short(b)));
        }
        let of_split = settings(first, run).into_iter().filter(|(key, ..)| key.starts_with("split."));
        differences.extend(of_split);
        if !differences.is_empty() {
            let what = "cannot be compared record by record";
            let next = "; evaluate each alone, or train on the same split";
            return Err(incomparable((&folders[0], folder), what, &differences, next));
        }
    }
    Ok(())
}

/// Returns the settings in which two runs differ beside their seeds: key, value here, value there. The path of a split file is left out; the
/// rows are compared once the dataset is open.
fn settings(a: &RunDescription, b: &RunDescription) -> Vec<(String, String, String)> {
    let side = |value: Option<String>| value.unwrap_or_else(|| "nothing".to_owned());
    let (genes_a, genes_b) = (&a.manifest.inputs.gene_table, &b.manifest.inputs.gene_table);
    let found = a.config.differences_beside_seed(genes_a, (&b.config, genes_b)).into_iter();
    let found = found.filter(|found| found.key != "split.file");
    found.map(|found| (found.key, side(found.checkpoint), side(found.here))).collect()
}

/// Whether runs are seeds of one configuration. A mean over runs is meaningful only where the seed differs and nothing
/// else.
fn are_seeds(runs: &[RunDescription], folders: &[PathBuf]) -> Result<bool> {
    for (index, run) in runs.iter().enumerate().skip(1) {
        let same =
            |other: &RunDescription| other.config.seed == run.config.seed && settings(other, run).is_empty();
        if let Some(same) = runs[..index].iter().position(same) {
            let message = format!(
                "{} and {} are of the same seed, {}: the same run twice has no spread; train with another --seed",
                folders[same].display(),
                folders[index].display(),
                run.config.seed
            );
            return Err(Failure::verdict(INCOMPARABLE, message));
        }
    }
    Ok(runs.len() > 1 && runs[1..].iter().all(|run| settings(&runs[0], run).is_empty()))
}

/// The length of a run is not part of its identity, but a mean over runs of different lengths deserves a warning.
fn note_lengths(folders: &[PathBuf], ui: &Ui) -> Result<()> {
    let epochs = |folder: &PathBuf| Ok(read_metrics(folder)?.last().map_or(0, |line| line.epoch + 1));
    let lengths = folders.iter().map(epochs).collect::<Result<Vec<u32>>>()?;
    if lengths.iter().any(|&length| length != lengths[0]) {
        let each =
            folders.iter().zip(&lengths).map(|(folder, length)| format!("{} {length}", folder.display()));
        ui.note(&format!(
            "these runs lasted unlike numbers of epochs: {}",
            each.collect::<Vec<_>>().join(", ")
        ));
    }
    Ok(())
}
