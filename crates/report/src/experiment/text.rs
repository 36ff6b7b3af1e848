//! The comparison report as text: configuration, one section per mode, decomposition, insights, next steps.

use super::{
    MODELS_NOTE, RANKS_NOTE, cell_table, component_table, has_model_table, model_table, modes,
    own_batches_line, part_table, rank_table, ranks_line, ratio_table, seconds, switch_table,
};
use crate::page::{Column, Table};
use crate::sentence::{experiment_warning, headline, insight, measured_text, next_step};
use crate::units::{count, counted, three};
use knockout_analyze::profile::experiment::{
    CellFindings, Decomposition, Experiment, ModelAblation, RankedBy,
};
use std::fmt::Write as _;

const RULE: &str = "=============================================================================";

/// Renders the experiment as text. `files` names the documents beside it, with what each is.
pub fn experiment_text(experiment: &Experiment, files: &[(String, String)]) -> String {
    let mut out = format!("{RULE}\nEXPERIMENT: PROFILING COMPARISON\n{RULE}\n\n");
    write!(out, "{}\n\n", headline(experiment)).ok();
    configuration(&mut out, experiment);
    for (mode, title) in modes(experiment) {
        heading(&mut out, &format!("{}: {}", mode.to_uppercase(), title));
        section(&mut out, experiment, mode);
    }
    if has_model_table(experiment) {
        heading(&mut out, "MODELS BESIDE EACH OTHER");
        write!(out, "{MODELS_NOTE}\n\n{}", model_table(experiment).to_text()).ok();
        if let Some(table) = component_table(experiment) {
            write!(out, "\nParts of a step, per sample:\n\n{}", table.to_text()).ok();
        }
    }
    if !experiment.ranks.is_empty() {
        heading(&mut out, "RANKS");
        ranks(&mut out, experiment);
    }
    if !experiment.decomposition.is_empty() {
        heading(&mut out, "DECOMPOSITION ANALYSIS");
        out.push_str(
            "The parts of a full step, estimated twice: by the phases inside it, and by the difference of each mode to the one\n\
             before. Medians over rounds, with their intervals; the disagreement is the second minus the first.\n",
        );
        for parts in &experiment.decomposition {
            decomposition(&mut out, parts);
        }
    }
    heading(&mut out, "INSIGHTS");
    sentences(&mut out, experiment.findings.iter().map(insight));
    if !experiment.ablation.is_empty() {
        heading(&mut out, "OPTIONS TRIED");
        experiment.ablation.iter().for_each(|ablation| options(&mut out, ablation));
    }
    heading(&mut out, "NEXT STEPS BASED ON RESULTS");
    sentences(&mut out, experiment.next_steps.iter().map(next_step));
    if !experiment.warnings.is_empty() {
        heading(&mut out, "WARNINGS");
        sentences(&mut out, experiment.warnings.iter().copied().map(experiment_warning));
    }
    if !files.is_empty() {
        heading(&mut out, "FILES");
        pairs(&mut out, files.iter().cloned());
    }
    out
}

fn heading(out: &mut String, title: &str) {
    write!(out, "\n{RULE}\n{title}\n{RULE}\n\n").unwrap_or_default();
}

/// Two columns without headings.
fn pairs(out: &mut String, rows: impl Iterator<Item = (String, String)>) {
    let columns = [Column::text(""), Column::text("")];
    out.push_str(&Table::new(columns).with_rows(rows.map(|(name, value)| [name, value])).to_text());
}

fn sentences(out: &mut String, texts: impl Iterator<Item = String>) {
    for text in texts {
        writeln!(out, "- {text}").unwrap_or_default();
    }
}

fn configuration(out: &mut String, experiment: &Experiment) {
    let plan = &experiment.plan;
    out.push_str("CONFIGURATION:\n");
    let row = |name: &str, value: String| (name.to_owned(), value);
    let steps = format!(
        "{} of {} after {} of warm-up; all cells interleaved, on the same batches",
        counted(plan.rounds, "round"),
        counted(plan.steps, "step"),
        plan.warmup
    );
    let rows =
        [row("dataset", plan.dataset.clone())].into_iter().chain(experiment.conditions.iter().cloned());
    let rows = rows.chain([row("models", experiment.models.join(", "))]);
    let rows = rows.chain(own_batches_line(experiment).map(|line| row("own batches", line)));
    let rows = rows.chain(ranks_line(experiment).map(|line| row("ranks", line)));
    let measured = plan.measured.as_ref().map(|measured| row("measured", measured_text(measured)));
    pairs(out, rows.chain([row("steps", steps)]).chain(measured));
}

fn section(out: &mut String, experiment: &Experiment, mode: &str) {
    let cells: Vec<&CellFindings> = experiment.cells.iter().filter(|cell| cell.mode == mode).collect();
    out.push_str(&cell_table(cells.iter().copied()).to_text());
    let ratios = ratio_table(experiment.ratios.iter().filter(|ratio| ratio.mode == mode));
    if !ratios.is_empty() {
        write!(out, "\n{}", ratios.to_text()).ok();
    }
    if let Some(cell) = cells.first() {
        writeln!(out, "\nWHAT THIS MEASURES: {}", cell.ran.join(", ")).unwrap_or_default();
        if !cell.not_run.is_empty() {
            writeln!(out, "NOT RUN: {}", cell.not_run.join(", ")).unwrap_or_default();
        }
    }
    out.push_str("\nit/s, round by round:\n");
    let rates =
        |cell: &CellFindings| cell.rounds.iter().map(|rate| three(*rate)).collect::<Vec<_>>().join("  ");
    pairs(out, cells.into_iter().map(|cell| (cell.name.clone(), rates(cell))));
}

/// Gain of more ranks, by model and mode.
fn ranks(out: &mut String, experiment: &Experiment) {
    write!(out, "{RANKS_NOTE}\n\n{}", rank_table(experiment).to_text()).ok();
}

fn decomposition(out: &mut String, parts: &Decomposition) {
    let step = seconds(&parts.step_s);
    write!(out, "\n{} ({}): {step} per step\n{}", parts.name, parts.processor, part_table(parts).to_text())
        .ok();
}

fn options(out: &mut String, ablation: &ModelAblation) {
    writeln!(
        out,
        "{}, batch {}: each switch and the baseline ({} per sample) in every round, in full steps; gain: times as fast{}\n",
        ablation.model,
        count(ablation.batch),
        seconds(&ablation.baseline_s_per_sample),
        match ablation.ranked_by {
            RankedBy::Wall => "",
            RankedBy::Cpu => "; ranked by CPU time, whose rounds differ less here",
        }
    )
    .unwrap_or_default();
    out.push_str(&switch_table(ablation).to_text());
    if !ablation.not_applicable.is_empty() {
        writeln!(out, "\n{} not applicable:", count(ablation.not_applicable.len())).unwrap_or_default();
        pairs(out, ablation.not_applicable.iter().cloned());
    }
}
