//! The summary as Markdown: tables per batch and per sample, a tree of the step, decisions, options tried.

use super::{
    MODELS_NOTE, RANKS_NOTE, cell_table, component_table, decision_table, has_model_table, model_table,
    modes, own_batches_line, part_table, rank_table, ranks_line, ratio_table, seconds, subtitle,
    switch_table,
};
use crate::page::{Column, Table, markdown_cell as escape};
use crate::sentence::{experiment_warning, headline, insight, next_step};
use crate::units::{count, percent, time};
use knockout_analyze::profile::experiment::{Breakdown, BreakdownRow, Experiment, ModelAblation};
use std::fmt::Write as _;

/// Renders the experiment as a Markdown summary.
pub fn experiment_markdown(experiment: &Experiment) -> String {
    let mut out = format!("# Experiment on {}\n\n", escape(&experiment.plan.dataset));
    writeln!(out, "{}.\n", escape(&subtitle(experiment))).unwrap_or_default();
    out.push_str("## Executive summary\n\n");
    list(&mut out, [headline(experiment)].into_iter().chain(experiment.findings.iter().map(insight)));
    conditions(&mut out, experiment);
    out.push_str("\n## Detailed results\n");
    for (mode, title) in modes(experiment) {
        results(&mut out, experiment, mode, title);
    }
    ranks(&mut out, experiment);
    out.push_str("\n## Time breakdown\n");
    let own = experiment.own_batch.iter().filter_map(|own| own.breakdown.as_ref());
    experiment.breakdown.iter().chain(own).for_each(|breakdown| tree(&mut out, breakdown));
    two_ways(&mut out, experiment);
    components(&mut out, experiment);
    out.push_str("\n## Decisions\n\n");
    out.push_str(&decision_table(experiment).to_markdown());
    experiment.ablation.iter().for_each(|ablation| options(&mut out, ablation));
    out.push_str("\n## Next steps\n\n");
    list(&mut out, experiment.next_steps.iter().map(next_step));
    if !experiment.warnings.is_empty() {
        out.push_str("\n## Warnings\n\n");
        list(&mut out, experiment.warnings.iter().copied().map(experiment_warning));
    }
    out
}

fn list(out: &mut String, texts: impl Iterator<Item = String>) {
    for text in texts {
        writeln!(out, "- {}", escape(&text)).unwrap_or_default();
    }
}

fn conditions(out: &mut String, experiment: &Experiment) {
    out.push_str("\n## Conditions\n\nEqual for every cell; cells took the same batches, interleaved.\n\n");
    let ranks = ranks_line(experiment).map(|line| ["ranks".to_owned(), line]);
    let own = own_batches_line(experiment).map(|line| ["own batches".to_owned(), line]);
    let rows = experiment.conditions.iter().map(|(name, value)| [name.clone(), value.clone()]);
    let rows = rows.chain(own).chain(ranks);
    out.push_str(&Table::new(["condition", "value"].map(Column::text)).with_rows(rows).to_markdown());
}

fn results(out: &mut String, experiment: &Experiment, mode: &str, title: &str) {
    writeln!(out, "\n### {mode}: {title}\n").unwrap_or_default();
    let cells = || experiment.cells.iter().filter(|cell| cell.mode == mode);
    if let Some(cell) = cells().next() {
        writeln!(out, "Measures {}.", cell.ran.join(", ")).unwrap_or_default();
        if !cell.not_run.is_empty() {
            writeln!(out, "Does not run {}.", cell.not_run.join(", ")).unwrap_or_default();
        }
        out.push('\n');
    }
    out.push_str(&cell_table(cells()).to_markdown());
    let ratios = ratio_table(experiment.ratios.iter().filter(|ratio| ratio.mode == mode));
    if !ratios.is_empty() {
        out.push('\n');
        out.push_str(&ratios.to_markdown());
    }
}

/// Gain of more ranks.
fn ranks(out: &mut String, experiment: &Experiment) {
    if !experiment.ranks.is_empty() {
        write!(out, "\n## Ranks\n\n{RANKS_NOTE}\n\n").ok();
        out.push_str(&rank_table(experiment).to_markdown());
    }
}

fn tree(out: &mut String, breakdown: &Breakdown) {
    let how = if breakdown.recorded { "spans recorded" } else { "no spans recorded, so no layers" };
    writeln!(out, "\n{} ({how}), means over all steps:\n\n```", breakdown.name).unwrap_or_default();
    let rows = &breakdown.rows;
    for (at, row) in rows.iter().enumerate() {
        let name = format!("{}{}", branch(rows, at, row.depth), row.name);
        let pad = " ".repeat(34_usize.saturating_sub(name.chars().count()));
        writeln!(out, "{name}{pad} {:>12}  {:>7}", time(row.s * 1e6), percent(row.share)).unwrap_or_default();
    }
    out.push_str("```\n");
}

/// The lines that lead to a row of the tree.
fn branch(rows: &[BreakdownRow], at: usize, depth: usize) -> String {
    let continues = |level: usize| {
        let below = rows.iter().skip(at + 1).find(|row| row.depth <= level);
        below.is_some_and(|row| row.depth == level)
    };
    let mut out = String::new();
    for level in 1..depth {
        out.push_str(if continues(level) { "│  " } else { "   " });
    }
    if depth > 0 {
        out.push_str(if continues(depth) { "├─ " } else { "└─ " });
    }
    out
}

fn two_ways(out: &mut String, experiment: &Experiment) {
    out.push_str("\n### By phases and by differences of modes\n");
    for parts in &experiment.decomposition {
        writeln!(out, "\n{} ({}), {} per step:\n", parts.name, parts.processor, seconds(&parts.step_s))
            .unwrap_or_default();
        out.push_str(&part_table(parts).to_markdown());
    }
}

/// Models in the common batch and in their own, and their phases in one table.
fn components(out: &mut String, experiment: &Experiment) {
    if has_model_table(experiment) {
        write!(out, "\n### Models beside each other\n\n{MODELS_NOTE}\n\n").ok();
        out.push_str(&model_table(experiment).to_markdown());
    }
    if let Some(table) = component_table(experiment) {
        out.push_str("\n### Parts of a step beside each other, per sample\n\n");
        out.push_str(&table.to_markdown());
    }
}

fn options(out: &mut String, ablation: &ModelAblation) {
    writeln!(
        out,
        "\n## Options tried, {}\n\nEach beside the baseline (batch {}, {} per sample) in every round, in full steps.\n",
        ablation.model,
        count(ablation.batch),
        seconds(&ablation.baseline_s_per_sample)
    )
    .unwrap_or_default();
    out.push_str(&switch_table(ablation).to_markdown());
    if !ablation.not_applicable.is_empty() {
        out.push_str("\nNot applicable:\n\n");
        for (name, reason) in &ablation.not_applicable {
            writeln!(out, "- {}: {}", escape(name), escape(reason)).unwrap_or_default();
        }
    }
}
