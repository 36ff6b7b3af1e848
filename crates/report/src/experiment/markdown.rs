//! The summary as Markdown: tables per batch and per sample, a tree of the step, decisions, options tried.

use super::{difference, effect, modes, rank_rows, ranks_line, seconds, subtitle};
use crate::document::answer;
use crate::sentence::{decision_texts, estimate, experiment_warning, insight, next_step};
use crate::units::{bytes, percent, three, time, two};
use knockout_analyze::profile::experiment::{Ablation, Breakdown, BreakdownRow, CellRatio, Experiment};
use std::fmt::Write as _;

/// The experiment as a Markdown summary.
pub fn experiment_markdown(experiment: &Experiment) -> String {
    let mut out = format!("# Experiment on {}\n\n", escape(&experiment.plan.dataset));
    writeln!(out, "{}.\n", escape(&subtitle(experiment))).unwrap_or_default();
    out.push_str("## Executive summary\n\n");
    list(&mut out, experiment.insights.iter().map(insight));
    conditions(&mut out, experiment);
    out.push_str("\n## Detailed results\n");
    for (mode, title) in modes(experiment) {
        results(&mut out, experiment, mode, title);
    }
    ranks(&mut out, experiment);
    out.push_str("\n## Time breakdown\n");
    experiment.breakdown.iter().for_each(|breakdown| tree(&mut out, breakdown));
    two_ways(&mut out, experiment);
    components(&mut out, experiment);
    out.push_str("\n## Decisions\n\n");
    let rows = experiment.decisions.iter().map(|row| {
        let answer = format!("**{}**", answer(row.is_yes));
        decision_texts(row).into_iter().chain([answer]).collect()
    });
    table(&mut out, &["question", "measured", "yes if", "answer"], rows);
    experiment.ablation.iter().for_each(|ablation| options(&mut out, ablation));
    out.push_str("\n## Next steps\n\n");
    list(&mut out, experiment.next_steps.iter().map(next_step));
    if !experiment.warnings.is_empty() {
        out.push_str("\n## Warnings\n\n");
        list(&mut out, experiment.warnings.iter().copied().map(experiment_warning));
    }
    out
}

/// Text inside a table or a line: nothing in it is markup.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;").replace(['\n', '\r'], " ")
}

fn list(out: &mut String, texts: impl Iterator<Item = String>) {
    for text in texts {
        writeln!(out, "- {}", escape(&text)).unwrap_or_default();
    }
}

fn table(out: &mut String, head: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    writeln!(out, "| {} |\n|{}", head.join(" | "), "---|".repeat(head.len())).unwrap_or_default();
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| escape(cell)).collect();
        writeln!(out, "| {} |", cells.join(" | ")).unwrap_or_default();
    }
}

fn conditions(out: &mut String, experiment: &Experiment) {
    out.push_str("\n## Conditions\n\nThe same for every cell; cells took the same batches in turns.\n\n");
    let ranks = ranks_line(experiment).map(|line| vec!["ranks".to_owned(), line]);
    let rows =
        experiment.conditions.iter().map(|(name, value)| vec![name.clone(), value.clone()]).chain(ranks);
    table(out, &["condition", "value"], rows);
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
    let rows = cells().map(|cell| {
        vec![
            cell.name.clone(),
            estimate(&cell.iterations_per_s, three),
            seconds(&cell.s_per_batch),
            seconds(&cell.s_per_sample),
            seconds(&cell.cpu_s_per_sample),
        ]
    });
    table(out, &["cell", "it/s", "time per batch", "time per sample", "CPU time per sample"], rows);
    let ratios: Vec<&CellRatio> = experiment.ratios.iter().filter(|ratio| ratio.mode == mode).collect();
    if !ratios.is_empty() {
        out.push('\n');
        let rows = ratios.into_iter().map(|ratio| {
            vec![
                format!("{} / {}", ratio.b, ratio.a),
                estimate(&ratio.per_batch, two),
                estimate(&ratio.per_sample, two),
                estimate(&ratio.cpu_per_sample, two),
            ]
        });
        table(out, &["ratio", "per batch", "per sample", "CPU time per sample"], rows);
    }
}

/// What more ranks gain.
fn ranks(out: &mut String, experiment: &Experiment) {
    if experiment.ranks.is_empty() {
        return;
    }
    out.push_str(
        "\n## Ranks\n\nSamples and CPU time are those of all ranks together; waiting and exchange are shares of the first rank's step.\n\n",
    );
    table(out, &[&[""], &super::RANK_COLUMNS[..]].concat(), rank_rows(experiment));
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
    let goes_on = |level: usize| {
        let below = rows.iter().skip(at + 1).find(|row| row.depth <= level);
        below.is_some_and(|row| row.depth == level)
    };
    let mut out = String::new();
    for level in 1..depth {
        out.push_str(if goes_on(level) { "│  " } else { "   " });
    }
    if depth > 0 {
        out.push_str(if goes_on(depth) { "├─ " } else { "└─ " });
    }
    out
}

fn two_ways(out: &mut String, experiment: &Experiment) {
    out.push_str("\n### By phases and by differences of modes\n");
    for parts in &experiment.decomposition {
        writeln!(out, "\n{} ({}), {} per step:\n", parts.name, parts.processor, seconds(&parts.step_s))
            .unwrap_or_default();
        let rows = parts.components.iter().map(|part| {
            vec![
                part.name.to_owned(),
                percent(part.share),
                seconds(&part.by_phases_s),
                format!("{} ({})", difference(&part.by_difference_s), part.modes),
                seconds(&part.disagreement_s),
                if part.agrees { "yes" } else { "**no**" }.to_owned(),
            ]
        });
        table(out, &["part", "share", "by phases", "by difference", "disagreement", "agree"], rows);
    }
}

/// Phases of all models beside each other.
fn components(out: &mut String, experiment: &Experiment) {
    if experiment.breakdown.len() < 2 {
        return;
    }
    out.push_str("\n### Models beside each other, per sample\n\n");
    let mut names: Vec<&str> = Vec::new();
    for row in experiment.breakdown.iter().flat_map(|breakdown| &breakdown.rows).filter(|row| row.depth < 3) {
        if !names.contains(&row.name.as_str()) {
            names.push(&row.name);
        }
    }
    let head: Vec<&str> =
        ["component"].into_iter().chain(experiment.breakdown.iter().map(|b| b.name.as_str())).collect();
    let rows = names.iter().map(|name| {
        let cell = |breakdown: &Breakdown| {
            let row = breakdown.rows.iter().find(|row| row.depth < 3 && row.name == *name);
            row.map_or_else(
                || "–".to_owned(),
                |row| format!("{} ({})", time(row.s_per_sample * 1e6), percent(row.share)),
            )
        };
        [(*name).to_owned()].into_iter().chain(experiment.breakdown.iter().map(cell)).collect()
    });
    table(out, &head, rows);
}

fn options(out: &mut String, ablation: &Ablation) {
    writeln!(
        out,
        "\n## Options tried, {}\n\nEach beside the baseline ({} per sample) in every round, in full steps.\n",
        ablation.model,
        seconds(&ablation.baseline_s_per_sample)
    )
    .unwrap_or_default();
    let rows = ablation.tried.iter().map(|tried| {
        vec![
            tried.name.clone(),
            format!("`{}`", tried.keys.join(" ")),
            format!("{} ×", estimate(&tried.gain, two)),
            format!("{} ×", estimate(&tried.cpu_gain, two)),
            effect(tried.verdict).to_owned(),
            tried.pool_bytes.map(|pool| bytes(pool as i64)).unwrap_or_default(),
            tried.note.clone(),
        ]
    });
    table(out, &["switch", "keys", "gain", "by CPU time", "", "buffers", "besides"], rows);
    if !ablation.not_applicable.is_empty() {
        out.push_str("\nNot applicable:\n\n");
        for (name, reason) in &ablation.not_applicable {
            writeln!(out, "- {}: {}", escape(name), escape(reason)).unwrap_or_default();
        }
    }
}
