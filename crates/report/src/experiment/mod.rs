//! An experiment as text in the shape of a comparison report, as a Markdown summary and as an HTML page. All show the tables made
//! here; every figure was computed in [`knockout_analyze::profile::experiment`].

mod compare;
mod html;
mod markdown;
mod text;

pub use compare::{experiment_compare_html, experiment_compare_text};
pub use html::experiment_html;
pub use markdown::experiment_markdown;
pub use text::experiment_text;

use crate::document::answer;
use crate::page::{Column, Mark, Table, TableCell, colour};
use crate::sentence::{decision_texts, estimate, measured_text};
use crate::units::{bytes, count, counted, percent, rate, three, time, two};
use knockout_analyze::profile::experiment::{
    Breakdown, CellFindings, CellRatio, Component, Decomposition, Effect, Experiment, ModelAblation,
};
use knockout_base::stats::Estimate;

/// Formats seconds of an estimate with its interval.
fn seconds(of: &Estimate) -> String {
    estimate(of, |s| time(s * 1e6))
}

/// Formats a difference of two times. It cannot be below zero, so only an upper bound is known where the interval includes zero.
fn difference(of: &Estimate) -> String {
    match *of {
        Estimate { low, .. } if low >= 0.0 => seconds(of),
        Estimate { high, .. } if high > 0.0 => format!("below {}, not measurable", time(high * 1e6)),
        _ => "not measurable".to_owned(),
    }
}

/// Formats whether both estimates of a part's time agree.
fn agreement(part: &Component) -> &'static str {
    if part.agrees {
        "agrees"
    } else if part.disagreement_s.is_interval() {
        "DISAGREES"
    } else {
        "differs in every round"
    }
}

/// Returns the measured modes in order, with their headings.
fn modes(experiment: &Experiment) -> Vec<(&str, &'static str)> {
    let titles = [
        ("data", "data only"),
        ("forward", "data + model forward and loss"),
        ("backward", "data + model forward, loss and backward"),
        ("full", "a full training step"),
    ];
    let is_measured = |mode: &str| experiment.cells.iter().any(|cell| cell.mode == mode);
    titles.into_iter().filter(|(mode, _)| is_measured(mode)).collect()
}

/// Describes the experiment in one line.
pub(crate) fn subtitle(experiment: &Experiment) -> String {
    let plan = &experiment.plan;
    let measured = plan.measured.as_ref().map(|measured| format!("; {}", measured_text(measured)));
    format!(
        "{}, {} of {} after {} to warm up{}",
        plan.dataset,
        counted(plan.rounds, "round"),
        counted(plan.steps, "step"),
        plan.warmup,
        measured.unwrap_or_default()
    )
}

/// Describes the batches of the models; `None` where all train with the common one.
pub(crate) fn own_batches_line(experiment: &Experiment) -> Option<String> {
    let own: Vec<String> = experiment
        .own_rows()
        .filter(|row| row.is_own)
        .map(|row| format!("{} {}", row.name, count(row.batch)))
        .collect();
    (!own.is_empty()).then(|| format!("{}; in full steps beside the common batch", own.join(", ")))
}

/// Describes the numbers of ranks; `None` where only one was measured.
pub(crate) fn ranks_line(experiment: &Experiment) -> Option<String> {
    let worlds: Vec<String> = experiment.worlds.iter().map(ToString::to_string).collect();
    (worlds.len() > 1).then(|| {
        format!(
            "{}; interleaved, each restarted in every round; batches are cut into the same shards, so that all compute the same",
            worlds.join(", ")
        )
    })
}

/// A cell of an estimate, sorted by its median.
fn estimate_cell(of: &Estimate, format: impl Fn(f64) -> String) -> TableCell {
    TableCell::number(estimate(of, format), of.median)
}

fn seconds_cell(of: &Estimate) -> TableCell {
    TableCell::number(seconds(of), of.median)
}

fn percent_cell(share: f64) -> TableCell {
    TableCell::number(percent(share), share)
}

/// The measured cells.
fn cell_table<'e>(cells: impl Iterator<Item = &'e CellFindings>) -> Table {
    let columns = ["it/s", "time per batch", "time per sample"].map(Column::number);
    let columns = [Column::text("cell")].into_iter().chain(columns);
    let columns = columns
        .chain([Column::number("CPU time per sample").wide_only(), Column::number("samples/s").wide_only()]);
    Table::new(columns).with_rows(cells.map(|cell| {
        [
            TableCell::from(&cell.name[..]),
            estimate_cell(&cell.iterations_per_s, three),
            seconds_cell(&cell.s_per_batch),
            seconds_cell(&cell.s_per_sample),
            seconds_cell(&cell.cpu_s_per_sample),
            TableCell::number(rate(cell.samples_per_s.median), cell.samples_per_s.median),
        ]
    }))
}

/// Explanation of the table of models.
const MODELS_NOTE: &str = "All models in one batch take the same records. Each in its own batch is how it trains. Ratios are relative to the \
                           first model, round by round.";

/// Whether models, or batches of one model, can be seen beside each other.
fn has_model_table(experiment: &Experiment) -> bool {
    experiment.models.len() > 1 || !experiment.own_batch.is_empty()
}

/// Models beside each other, in the common batch and in their own.
fn model_table(experiment: &Experiment) -> Table {
    let columns = ["batch", "time per batch", "time per sample", "ratio", "CPU time per sample", "CPU ratio"];
    let columns = ["model", "batches"].map(Column::text).into_iter().chain(columns.map(Column::number));
    Table::new(columns).with_rows(experiment.model_rows.iter().map(|row| {
        [
            TableCell::from(format!("{} {}", row.name, row.mode)),
            TableCell::from(if row.is_own { "its own" } else { "common" }),
            TableCell::number(count(row.batch), row.batch as f64),
            seconds_cell(&row.s_per_batch),
            seconds_cell(&row.s_per_sample),
            estimate_cell(&row.ratio, two),
            seconds_cell(&row.cpu_s_per_sample),
            estimate_cell(&row.cpu_ratio, two),
        ]
    }))
}

/// Returns the tree of every model's step in the batch that it trains with; on several numbers of ranks in the common batch.
pub fn own_breakdowns(experiment: &Experiment) -> Vec<Breakdown> {
    let own = |breakdown: &Breakdown| {
        let of_model = experiment.own_batch.iter().find(|own| own.cell.model == breakdown.model);
        of_model.filter(|_| experiment.worlds.len() == 1).and_then(|own| own.breakdown.clone())
    };
    experiment.breakdown.iter().map(|common| own(common).unwrap_or_else(|| common.clone())).collect()
}

/// Phases of all models in one table, with ratios to the first model; `None` for one model. Each model has its own batch.
fn component_table(experiment: &Experiment) -> Option<Table> {
    let all = own_breakdowns(experiment);
    let (first, others) = all.split_first().filter(|(_, others)| !others.is_empty())?;
    let mut names: Vec<&str> = Vec::new();
    for row in all.iter().flat_map(|breakdown| &breakdown.rows).filter(|row| row.depth < 3) {
        if !names.contains(&row.name.as_str()) {
            names.push(&row.name);
        }
    }
    let find = |breakdown: &'_ Breakdown, name: &str| {
        breakdown
            .rows
            .iter()
            .find(|row| row.depth < 3 && row.name == name)
            .map(|row| (row.s_per_sample, row.share))
    };
    let times = all.iter().map(|breakdown| Column::number(&breakdown.name[..]));
    let ratios = others.iter().map(|other| Column::number(format!("{} / {}", other.model, first.model)));
    let rows = names.iter().map(|name| {
        let base = find(first, name);
        let time_cell = |breakdown: &Breakdown| match find(breakdown, name) {
            Some((s, share)) => TableCell::number(format!("{} ({})", time(s * 1e6), percent(share)), s),
            None => TableCell::from("–"),
        };
        let ratio_cell = |other: &Breakdown| match base.zip(find(other, name)) {
            Some(((base, _), (s, _))) if base > 0.0 => TableCell::number(two(s / base), s / base),
            _ => TableCell::from("–"),
        };
        let cells = all.iter().map(time_cell).chain(others.iter().map(ratio_cell));
        [TableCell::from(*name)].into_iter().chain(cells).collect::<Vec<_>>()
    });
    Some(Table::new([Column::text("component")].into_iter().chain(times).chain(ratios)).with_rows(rows))
}

/// Ratios of cells.
fn ratio_table<'e>(ratios: impl Iterator<Item = &'e CellRatio>) -> Table {
    let columns = ["per batch", "per sample", "CPU time per sample"].map(Column::number);
    Table::new([Column::text("ratio")].into_iter().chain(columns)).with_rows(ratios.map(|ratio| {
        [
            TableCell::from(format!("{} / {}", ratio.b, ratio.a)),
            estimate_cell(&ratio.per_batch, two),
            estimate_cell(&ratio.per_sample, two),
            estimate_cell(&ratio.cpu_per_sample, two),
        ]
    }))
}

/// Explanation of the table of ranks.
const RANKS_NOTE: &str = "Samples and CPU time are those of all ranks together; waiting and exchange are shares of the first rank's step. \
                          Speedup and CPU ratio are relative to the first row of each model and mode, round by round.";

/// A row for every model, mode and number of ranks.
fn rank_table(experiment: &Experiment) -> Table {
    let columns =
        ["ranks", "samples/s", "speedup", "CPU time per sample", "CPU ratio", "waiting", "exchange"]
            .map(Column::number);
    let rows = experiment.ranks.iter().flat_map(|scaling| {
        scaling.rows.iter().map(move |row| {
            [
                TableCell::from(format!(
                    "{} {}, {}, batch {}",
                    scaling.model,
                    scaling.mode,
                    scaling.processor,
                    count(scaling.batch)
                )),
                TableCell::number(row.world.to_string(), row.world as f64),
                estimate_cell(&row.samples_per_s, rate),
                estimate_cell(&row.speedup, two),
                seconds_cell(&row.cpu_s_per_sample),
                estimate_cell(&row.cpu_ratio, two),
                percent_cell(row.barrier_share),
                percent_cell(row.exchange_share),
            ]
        })
    });
    Table::new([Column::text("cell")].into_iter().chain(columns)).with_rows(rows)
}

/// The parts of a step, estimated in two ways.
fn part_table(parts: &Decomposition) -> Table {
    let columns = [
        Column::text("part"),
        Column::number("share"),
        Column::number("by phases"),
        Column::number("by difference"),
        Column::text("of modes").wide_only(),
        Column::number("disagreement").wide_only(),
        Column::text("agreement"),
    ];
    Table::new(columns).with_rows(parts.components.iter().map(|part| {
        [
            TableCell::coloured(part.name, colour(part.name)),
            percent_cell(part.share),
            seconds_cell(&part.by_phases_s),
            TableCell::number(difference(&part.by_difference_s), part.by_difference_s.median),
            TableCell::from(part.modes),
            seconds_cell(&part.disagreement_s),
            TableCell::from(agreement(part)),
        ]
    }))
}

/// The switches that were tried.
fn switch_table(ablation: &ModelAblation) -> Table {
    let columns = [
        Column::text("switch"),
        Column::number("gain"),
        Column::number("by CPU time").wide_only(),
        Column::number("time per sample"),
        Column::number("buffers").wide_only(),
        Column::text("effect"),
        Column::name("keys"),
        Column::text("note").wide_only(),
    ];
    Table::new(columns).with_rows(ablation.tried.iter().map(|tried| {
        [
            TableCell::from(&tried.name[..]),
            estimate_cell(&tried.gain, two),
            estimate_cell(&tried.cpu_gain, two),
            seconds_cell(&tried.s_per_sample),
            TableCell::from(tried.pool_bytes.map(bytes).unwrap_or_default()),
            TableCell::from(effect(tried.effect)),
            TableCell::from(tried.keys.join(" ")),
            TableCell::from(&tried.note[..]),
        ]
    }))
}

/// The questions, what was measured, and the answers.
fn decision_table(experiment: &Experiment) -> Table {
    let columns = [
        Column::text("question"),
        Column::text("measured"),
        Column::text("yes if").wide_only(),
        Column::text("answer"),
    ];
    Table::new(columns).with_rows(experiment.answers.iter().map(|row| {
        let [question, measured, rule] = decision_texts(row);
        let answer = TableCell::from(answer(row.is_yes)).marked(Some(Mark::Strong));
        [question.into(), measured.into(), rule.into(), answer]
    }))
}

/// Names the effect of a switch.
pub(crate) fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::Faster => "faster",
        Effect::Slower => "slower",
        Effect::NoDifference => "no difference",
        Effect::TooFewRounds => "too few rounds",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_of_times_is_never_below_zero() {
        let shown = |rounds: &[f64]| difference(&Estimate::of(rounds));
        assert_eq!(shown(&[2e-3; 5]), "2.000 ms (2.000 ms to 2.000 ms)");
        assert_eq!(shown(&[0.0; 5]), "0.000 µs (0.000 µs to 0.000 µs)");
        assert_eq!(shown(&[-1e-3, 2e-3, -3e-3, 1e-3, 4e-3]), "below 4.000 ms, not measurable");
        assert_eq!(shown(&[-3e-3, 1e-3, -2e-3]), "below 1.000 ms, not measurable");
        assert_eq!(shown(&[-3e-3, -1e-3, -2e-3]), "not measurable");
        assert_eq!(shown(&[-1e-3]), "not measurable");
        assert_eq!(seconds(&Estimate::of(&[-1e-18])), "0.000 µs", "a time that rounds to zero has no sign");
    }
}
