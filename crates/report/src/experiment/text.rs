//! The comparison report as text: configuration, one section per mode, decomposition, insights, next steps.

use super::{agreement, difference, effect, modes, rank_rows, ranks_line, seconds};
use crate::analysis::warnings;
use crate::sentence::{estimate, experiment_warning, insight, next_step};
use crate::table::Table;
use crate::units::{bytes, count, percent, rate, shortened, three, time, two};
use knockout_analyze::profile::experiment::{Ablation, CellFindings, Decomposition, Experiment, RankedBy};
use std::fmt::Write as _;

const RULE: &str = "=============================================================================";

/// The experiment as text. `files` are the documents beside it, by what they hold.
pub fn experiment_text(experiment: &Experiment, files: &[(String, String)]) -> String {
    let mut out = format!("{RULE}\nEXPERIMENT: PROFILING COMPARISON\n{RULE}\n\n");
    configuration(&mut out, experiment);
    for (mode, title) in modes(experiment) {
        heading(&mut out, &format!("{}: {}", mode.to_uppercase(), title));
        section(&mut out, experiment, mode);
    }
    if !experiment.ranks.is_empty() {
        heading(&mut out, "RANKS");
        ranks(&mut out, experiment);
    }
    if !experiment.decomposition.is_empty() {
        heading(&mut out, "DECOMPOSITION ANALYSIS");
        out.push_str(
            "A full step's parts found out twice: by the phases inside it, and by what each mode takes longer than the\n\
             one before. Medians over rounds, with their intervals; the disagreement is the second minus the first.\n",
        );
        for parts in &experiment.decomposition {
            decomposition(&mut out, parts);
        }
    }
    heading(&mut out, "INSIGHTS");
    sentences(&mut out, experiment.insights.iter().map(insight));
    if !experiment.ablation.is_empty() {
        heading(&mut out, "OPTIONS TRIED");
        experiment.ablation.iter().for_each(|ablation| options(&mut out, ablation));
    }
    heading(&mut out, "NEXT STEPS BASED ON RESULTS");
    sentences(&mut out, experiment.next_steps.iter().map(next_step));
    warnings(&mut out, experiment.warnings.iter().copied().map(experiment_warning));
    if !files.is_empty() {
        heading(&mut out, "FILES");
        let mut table = Table::new(&["<", "<"]);
        for (what, file) in files {
            table.row(vec![what.clone(), file.clone()]);
        }
        table.print(&mut out);
    }
    out
}

fn heading(out: &mut String, title: &str) {
    write!(out, "\n{RULE}\n{title}\n{RULE}\n\n").unwrap_or_default();
}

fn sentences(out: &mut String, texts: impl Iterator<Item = String>) {
    for text in texts {
        writeln!(out, "- {text}").unwrap_or_default();
    }
}

fn configuration(out: &mut String, experiment: &Experiment) {
    let plan = &experiment.plan;
    out.push_str("CONFIGURATION:\n");
    let mut table = Table::new(&["<", "<"]);
    table.row(vec!["dataset".to_owned(), plan.dataset.clone()]);
    for (name, value) in &experiment.conditions {
        table.row(vec![name.clone(), shortened(value, 70)]);
    }
    table.row(vec!["models".to_owned(), experiment.models.join(", ")]);
    if let Some(line) = ranks_line(experiment) {
        table.row(vec!["ranks".to_owned(), line]);
    }
    table.row(vec![
        "steps".to_owned(),
        format!(
            "{} rounds of {} steps, {} before them in each turn to warm up; all cells in turns, on the same batches",
            plan.rounds, plan.steps, plan.warmup
        ),
    ]);
    table.print(out);
}

fn section(out: &mut String, experiment: &Experiment, mode: &str) {
    let cells: Vec<&CellFindings> = experiment.cells.iter().filter(|cell| cell.mode == mode).collect();
    let mut table = Table::new(&["<", "it/s", "per batch", "per sample", "CPU time per sample", "samples/s"]);
    for cell in &cells {
        table.row(vec![
            cell.name.clone(),
            estimate(&cell.iterations_per_s, three),
            seconds(&cell.s_per_batch),
            seconds(&cell.s_per_sample),
            seconds(&cell.cpu_s_per_sample),
            rate(cell.samples_per_s.median),
        ]);
    }
    table.print(out);
    for ratio in experiment.ratios.iter().filter(|ratio| ratio.mode == mode) {
        writeln!(
            out,
            "\nRatio ({} / {}): {} per sample, {} per iteration, {} of CPU time",
            ratio.b,
            ratio.a,
            estimate(&ratio.per_sample, two),
            estimate(&ratio.per_batch, two),
            estimate(&ratio.cpu_per_sample, two)
        )
        .unwrap_or_default();
    }
    if let Some(cell) = cells.first() {
        writeln!(out, "\nWHAT THIS MEASURES: {}", cell.ran.join(", ")).unwrap_or_default();
        if !cell.not_run.is_empty() {
            writeln!(out, "NOT RUN: {}", cell.not_run.join(", ")).unwrap_or_default();
        }
    }
    out.push_str("\nit/s, round by round:\n");
    let mut table = Table::new(&["<", "<"]);
    for cell in cells {
        let rates: Vec<String> = cell.rounds.iter().map(|rate| three(*rate)).collect();
        table.row(vec![cell.name.clone(), rates.join("  ")]);
    }
    table.print(out);
}

/// What more ranks gain, model by model and mode by mode.
fn ranks(out: &mut String, experiment: &Experiment) {
    out.push_str(
        "Times as fast, and CPU time by that of the first row, are taken round by round. Samples and CPU time are those of all\n\
         ranks together; waiting and exchange are shares of the first rank's step.\n\n",
    );
    let mut table = Table::new(&[&["<"], &super::RANK_COLUMNS[..]].concat());
    for row in rank_rows(experiment) {
        table.row(row);
    }
    table.print(out);
}

fn decomposition(out: &mut String, parts: &Decomposition) {
    writeln!(out, "\n{} ({}): {} per step", parts.name, parts.processor, seconds(&parts.step_s))
        .unwrap_or_default();
    let mut table =
        Table::new(&["<", "share", "by phases", "by difference", "<of modes", "disagreement", "<"]);
    for part in &parts.components {
        table.row(vec![
            part.name.to_owned(),
            percent(part.share),
            seconds(&part.by_phases_s),
            difference(&part.by_difference_s),
            part.modes.to_owned(),
            seconds(&part.disagreement_s),
            agreement(part).to_owned(),
        ]);
    }
    table.print(out);
}

fn options(out: &mut String, ablation: &Ablation) {
    writeln!(
        out,
        "{}: each switch beside the baseline ({} per sample) in every round, full steps; gain = how many times as fast{}\n",
        ablation.model,
        seconds(&ablation.baseline_s_per_sample),
        match ablation.ranked_by {
            RankedBy::Wall => "",
            RankedBy::Cpu => "; ranked by CPU time, whose rounds differ less here",
        }
    )
    .unwrap_or_default();
    let mut table = Table::new(&["<switch", "gain", "by CPU time", "per sample", "buffers", "<", "<keys"]);
    for tried in &ablation.tried {
        table.row(vec![
            tried.name.clone(),
            estimate(&tried.gain, two),
            estimate(&tried.cpu_gain, two),
            time(tried.s_per_sample.median * 1e6),
            tried.pool_bytes.map(|pool| bytes(pool as i64)).unwrap_or_default(),
            effect(tried.verdict).to_owned(),
            shortened(&tried.keys.join(" "), 90),
        ]);
    }
    table.print(out);
    let notes = ablation.tried.iter().filter(|tried| !tried.note.is_empty());
    for tried in notes {
        writeln!(out, "  {}: {}", tried.name, tried.note).unwrap_or_default();
    }
    if !ablation.not_applicable.is_empty() {
        writeln!(out, "\n{} not applicable:", count(ablation.not_applicable.len() as u64))
            .unwrap_or_default();
        let mut table = Table::new(&["<", "<"]);
        for (name, reason) in &ablation.not_applicable {
            table.row(vec![name.clone(), reason.clone()]);
        }
        table.print(out);
    }
}
