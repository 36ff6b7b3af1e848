//! An experiment as an HTML page: the answer and a picture, findings, decisions, every cell, the parts of a step, switches, and the recorded run of each model.

use super::{
    MODELS_NOTE, RANKS_NOTE, cell_table, component_table, decision_table, difference, effect,
    has_model_table, model_table, own_batches_line, part_table, rank_table, ranks_line, ratio_table, seconds,
    subtitle, switch_table,
};
use crate::page::{Bar, BarSegment, Column, Medium, Page, Section, Table, TableCell, colour};
use crate::run::{conditions_section, run_sections};
use crate::sentence::{estimate, experiment_warning, headline, insight, next_step};
use crate::units::{count, percent, time, two};
use knockout_analyze::Analysis;
use knockout_analyze::profile::experiment::{Breakdown, Component, Decomposition, Experiment, ModelAblation};
use knockout_base::stats::Estimate;

/// Renders an experiment as one HTML file. `recorded` holds the analyses of the models' traces, by model.
pub fn experiment_html(experiment: &Experiment, recorded: &[(String, Analysis)]) -> String {
    let mut sections =
        vec![Section::new("where", "Where a step goes").with(step_picture(experiment)).only(Medium::Html)];
    if has_model_table(experiment) {
        let section = Section::new("models", "Models beside each other").note(MODELS_NOTE);
        let section = section.with(model_table(experiment).id("model-table"));
        let parts = component_table(experiment)
            .map(|table| table.id("component-table").titled("Parts of a step, per sample"));
        sections.push(parts.into_iter().fold(section, Section::with));
    }
    sections.extend([
        Section::new("findings", "Findings")
            .with(experiment.findings.iter().map(insight).collect::<Vec<_>>()),
        Section::new("decisions", "Decisions").with(decision_table(experiment).id("decision-table")),
        Section::new("next", "Next steps")
            .with(experiment.next_steps.iter().map(next_step).collect::<Vec<_>>()),
    ]);
    if !experiment.ranks.is_empty() {
        sections.push(
            Section::new("ranks", "Ranks").note(RANKS_NOTE).with(rank_table(experiment).id("rank-table")),
        );
    }
    sections.extend(decomposition(experiment));
    sections.push(cells(experiment));
    sections.extend(experiment.ablation.iter().map(switches));
    let own = experiment.own_batch.iter().filter_map(|own| own.breakdown.as_ref());
    sections.extend(experiment.breakdown.iter().chain(own).map(tree));
    let common = experiment.models.iter().filter_map(|model| Some((model, experiment.recorded(model)?)));
    let own = experiment.own_batch.iter().filter_map(|own| Some((&own.name, own.recorded.as_ref()?)));
    for (name, cell) in common.chain(own) {
        let trace = recorded.iter().find(|(of, _)| of == name).map(|(_, trace)| trace);
        let prefix = format!("{}-", name.replace(", ", "-").replace(' ', "-"));
        sections.extend(run_sections(&cell.profile, trace, &prefix, &format!("{name}, full and recorded")));
    }
    let ranks = ranks_line(experiment).map(|line| ("ranks".to_owned(), line));
    let batches = own_batches_line(experiment).map(|line| ("own batches".to_owned(), line));
    sections.push(conditions_section(experiment.conditions.iter().cloned().chain(batches).chain(ranks)));
    let page = Page {
        title: format!("Experiment on {}", experiment.plan.dataset),
        subtitle: subtitle(experiment),
        made_by: "knockout experiment".to_owned(),
        footnote: "All cells took the same batches, interleaved; intervals are over rounds.".to_owned(),
        findings: vec![headline(experiment)],
        warnings: experiment.warnings.iter().copied().map(experiment_warning).collect(),
        sections,
        ..Page::default()
    };
    page.to_html()
}

/// The parts of every model's step as one bar, in the batch that it trains with.
fn step_picture(experiment: &Experiment) -> Table {
    let mut names: Vec<&str> = Vec::new();
    for part in experiment.own_rows().flat_map(|row| &row.parts).filter(|part| part.share > 0.0) {
        if !names.contains(&part.name) {
            names.push(part.name);
        }
    }
    let columns = ["", "batch", "per sample"].map(Column::text).into_iter().chain([Column::bar()]);
    let columns = columns.chain(names.iter().map(|name| Column::number(*name)));
    Table::new(columns).id("picture-table").with_rows(experiment.own_rows().map(|row| {
        let segments = row.parts.iter().map(|part| BarSegment {
            length: part.share.max(0.0),
            colour: colour(part.name).to_owned(),
            title: format!("{}: {}", part.name, percent(part.share)),
        });
        let bar = Bar { segments: segments.collect(), ..Bar::default() };
        let own = [
            TableCell::from(format!("{} {}", row.name, row.mode)),
            TableCell::from(count(row.batch)),
            TableCell::from(time(row.s_per_sample.median * 1e6)),
            bar.into(),
        ];
        let shares = names.iter().map(|name| {
            let share = row.share_of(name).unwrap_or(0.0);
            TableCell { value: Some(share), ..TableCell::coloured(percent(share), colour(name)) }
        });
        own.into_iter().chain(shares).collect::<Vec<_>>()
    }))
}

/// The parts of every model's step as stacked bars, estimated in two ways.
fn decomposition(experiment: &Experiment) -> Option<Section> {
    let note = "By the phases inside a full step, and by the difference of each mode to the one before. Bars have a scale for each model.";
    let section = Section::new("decomposition", "Parts of a step, estimated twice").note(note);
    let all = &experiment.decomposition;
    (!all.is_empty()).then(|| {
        all.iter().fold(section, |section, parts| {
            let several = all.iter().filter(|other| other.name == parts.name).count() > 1;
            let processor = if several { format!(", {}", parts.processor) } else { String::new() };
            let title = format!("{}{processor}: {} per step", parts.name, seconds(&parts.step_s));
            let id = format!("decomposition-{}-{}", parts.name, parts.processor);
            section.with(two_bars(parts).titled(title)).with(part_table(parts).id(id))
        })
    })
}

/// One of the two estimates of a part.
type PartTime = fn(&Component) -> &Estimate;

fn two_bars(parts: &Decomposition) -> Table {
    let ways: [(&str, PartTime); 2] =
        [("by phases", |part| &part.by_phases_s), ("by difference", |part| &part.by_difference_s)];
    let sum = |of: PartTime| parts.components.iter().map(|part| of(part).median.max(0.0)).sum::<f64>();
    let most = ways.iter().map(|(_, of)| sum(*of)).fold(1e-15, f64::max);
    Table::new([Column::text(""), Column::bar()]).with_rows(ways.map(|(way, of)| {
        let segments = parts.components.iter().map(|part| BarSegment {
            length: of(part).median.max(0.0) / most,
            colour: colour(part.name).to_owned(),
            title: format!("{}: {}", part.name, difference(of(part))),
        });
        [TableCell::from(way), Bar { segments: segments.collect(), ..Bar::default() }.into()]
    }))
}

fn cells(experiment: &Experiment) -> Section {
    let note = "A mode runs exactly the phases it names. Medians over rounds, with their intervals.";
    let section = Section::new("cells", "Every cell")
        .note(note)
        .with(cell_table(experiment.cells.iter()).id("cell-table"));
    let ratios = ratio_table(experiment.ratios.iter()).id("ratio-table").titled("Ratios");
    if ratios.is_empty() { section } else { section.with(ratios) }
}

/// Gains as bars with their intervals; the line is the baseline.
fn switches(ablation: &ModelAblation) -> Section {
    let most = ablation.tried.iter().map(|tried| tried.gain.median.max(tried.gain.high)).fold(1.0, f64::max);
    let bars = Table::new([Column::text(""), Column::bar(), Column::number("gain")]).with_rows(
        ablation.tried.iter().map(|tried| {
            let fill = match effect(tried.effect) {
                "faster" => "var(--good)",
                "slower" => "var(--mark)",
                _ => "#a7adb8",
            };
            let gain = &tried.gain;
            let bar = Bar {
                interval: Some((gain.low / most, gain.high / most)),
                reference: Some(1.0 / most),
                ..Bar::of(gain.median / most, fill)
            };
            [
                TableCell::from(&tried.name[..]),
                bar.into(),
                TableCell::number(estimate(gain, two), gain.median),
            ]
        }),
    );
    let note = format!(
        "Each switch and the baseline (batch {}, {} per sample) in every round, in full steps. Gain: times as fast.",
        count(ablation.batch),
        seconds(&ablation.baseline_s_per_sample)
    );
    let section =
        Section::new(format!("options-{}", ablation.model), format!("Options tried, {}", ablation.model));
    let section = section
        .note(note)
        .with(bars)
        .with(switch_table(ablation).id(format!("option-table-{}", ablation.model)));
    if ablation.not_applicable.is_empty() {
        return section;
    }
    let rows = ablation.not_applicable.iter().map(|(name, reason)| [name.clone(), reason.clone()]);
    section.with(Table::new(["", ""].map(Column::text)).titled("Not applicable").with_rows(rows))
}

fn tree(breakdown: &Breakdown) -> Section {
    let columns = ["per batch", "per sample", "share"].map(Column::number);
    let rows = breakdown.rows.iter().map(|row| {
        let us = |s: f64| TableCell::number(time(s * 1e6), s);
        let name = format!("{}{}", "\u{2003}".repeat(row.depth), row.name);
        [
            TableCell::from(name),
            us(row.s),
            us(row.s_per_sample),
            TableCell::number(percent(row.share), row.share),
        ]
    });
    let table = Table::new([Column::text("")].into_iter().chain(columns)).with_rows(rows);
    let note = "Means over all steps of the recorded run; the rows below one sum to it.";
    Section::new(format!("tree-{}", breakdown.name), format!("A step as a tree, {}", breakdown.name))
        .note(note)
        .with(table)
}
