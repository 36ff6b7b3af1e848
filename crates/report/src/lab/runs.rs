//! Runs side by side: lists of runs, and two runs compared.

use super::accuracy::{BarScale, dash, error, unsealed_sentence};
use crate::page::{Chart, Column, Medium, Page, Plot, Section, Series, Table, TableCell, colour};
use crate::units::{counted, duration_of_seconds, figure};
use knockout_train::run::{MetricsLine, RunState, RunSummary};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Curves of one chart at most: those of the best runs.
const MOST_CURVES: usize = 12;
/// Text for a setting that a run does not have.
const NO_SETTING: &str = "–";
const NOT_COMPARABLE: &str =
    "the runs have different datasets or splits, so their validation figures are not comparable";

/// Document of `runs`.
#[derive(Debug, Clone, Serialize)]
pub struct RunsDocument {
    /// Version of this document: 1.
    pub schema: u32,
    /// Runs, in the requested order.
    pub runs: Vec<RunSummary>,
    /// Folders that look like runs and cannot be read.
    pub unreadable: Vec<Unreadable>,
}

/// A folder that looks like a run and cannot be read.
#[derive(Debug, Clone, Serialize)]
pub struct Unreadable {
    /// The folder.
    pub folder: PathBuf,
    /// Reason.
    pub why: String,
}

/// Returns the page of the runs in a folder. Only runs with the same validation records share a chart and a scale.
pub fn runs_page(dir: &Path, runs: &[RunSummary]) -> Page {
    if runs.is_empty() {
        let none = format!("no runs in {}; `knockout train` makes them", dir.display());
        return Page { findings: vec![none], ..page_of(dir) };
    }
    let groups = groups(runs);
    let all: Vec<&RunSummary> = runs.iter().collect();
    let text = Section::new("all", "").only(Medium::Text);
    let mut sections = vec![text.with(table(&all, |run| run.folder.display().to_string()))];
    for (index, group) in groups.iter().enumerate() {
        let title = format!("{}, {}", group[0].dataset, group[0].split);
        let section = Section::new(format!("runs-{index}"), title).only(Medium::Html);
        sections.push(section.with(grouped(table(group, |run| short_name(dir, run)))));
    }
    let mut figures: Vec<Plot> = Vec::new();
    for group in &groups {
        let of = if groups.len() > 1 {
            format!(": {}, {}", group[0].dataset, group[0].split)
        } else {
            String::new()
        };
        figures.extend(curves(dir, group, &of));
    }
    let findings = groups.iter().filter_map(|group| best_of(dir, group, groups.len() > 1));
    let notice = (groups.len() > 1).then(|| NOT_COMPARABLE.to_owned());
    let unsealed = runs.iter().filter(|run| run.unsealed).map(|run| short_name(dir, run));
    Page {
        subtitle: counted(runs.len(), "run"),
        findings: findings.chain(notice).chain(unsealed_sentence(unsealed)).collect(),
        picture: (!figures.is_empty()).then(|| figures.remove(0)),
        sections,
        figures,
        ..page_of(dir)
    }
}

fn page_of(dir: &Path) -> Page {
    Page {
        title: format!("Runs in {}", dir.display()),
        made_by: "knockout runs".to_owned(),
        ..Page::default()
    }
}

/// Groups runs that are validated on the same records, in order of their first run.
fn groups(runs: &[RunSummary]) -> Vec<Vec<&RunSummary>> {
    let mut groups: Vec<Vec<&RunSummary>> = Vec::new();
    for run in runs {
        match groups.iter_mut().find(|group| group[0].is_validated_like(run)) {
            Some(group) => group.push(run),
            None => groups.push(vec![run]),
        }
    }
    groups
}

/// Names the best run of a group, with the group where there are several.
fn best_of(dir: &Path, group: &[&RunSummary], is_one_of_several: bool) -> Option<String> {
    let known = || group.iter().filter_map(|run| Some((run, run.best_pearson?)));
    let pearson = known().map(|(_, pearson)| pearson).max_by(f64::total_cmp)?;
    let best = known().filter(|(_, of_run)| of_run.to_bits() == pearson.to_bits());
    let names: Vec<String> = best.map(|(run, _)| short_name(dir, run)).collect();
    let of = group.first().filter(|_| is_one_of_several);
    let of = of.map_or_else(String::new, |run| format!("{}, {}: ", run.dataset, run.split));
    let are = if names.len() == 1 { "is" } else { "are" };
    Some(format!("{of}{} {are} best in validation (Pearson {pearson:.4})", names.join(" and ")))
}

/// Returns the table of runs, each under the name that `name` returns.
fn table(runs: &[&RunSummary], name: impl Fn(&RunSummary) -> String) -> Table {
    let scale = BarScale::around(runs.iter().map(|run| run.best_pearson));
    let columns = [
        Column::text("run"),
        Column::text("model"),
        scale.column("Pearson"),
        Column::text("data").wide_only(),
        Column::text("split").wide_only(),
        Column::number("seed"),
        Column::number("epochs"),
        Column::number("best val Pearson"),
        Column::number("CPU time"),
        Column::text("state"),
    ];
    Table::new(columns).with_rows(runs.iter().map(|run| cells(run, name(run), &scale)))
}

/// Shows the best figure before the others, without dataset and split: the heading has them.
fn grouped(mut table: Table) -> Table {
    const ORDER: [usize; 8] = [0, 1, 2, 7, 5, 6, 8, 9];
    table.columns = ORDER.iter().map(|&column| table.columns[column].clone()).collect();
    for row in &mut table.rows {
        *row = ORDER.iter().map(|&column| std::mem::take(&mut row[column])).collect();
    }
    table.columns[4..7].iter_mut().for_each(|column| column.is_wide_only = true);
    table
}

fn cells(run: &RunSummary, name: String, scale: &BarScale) -> [TableCell; 10] {
    let wanted = run.epochs_wanted.map_or_else(String::new, |wanted| format!("/{wanted}"));
    let best = match (run.best_pearson, run.best_epoch) {
        // A solved model has no epochs.
        (Some(best), Some(epoch)) if run.epochs_wanted.is_some() => format!("{best:.4} (epoch {epoch})"),
        (Some(best), _) => format!("{best:.4}"),
        _ => dash(),
    };
    let sorted = |text: String, value: Option<f64>| TableCell { value, ..text.into() };
    [
        name.into(),
        TableCell::coloured(&run.model[..], colour(&run.model)),
        scale.cell(&run.model, run.best_pearson, None),
        run.dataset[..].into(),
        run.split[..].into(),
        run.seed.to_string().into(),
        format!("{}{wanted}", run.epochs).into(),
        sorted(best, run.best_pearson),
        sorted(time(run.cpu_seconds), run.cpu_seconds),
        state(run.state).into(),
    ]
}

fn state(state: RunState) -> &'static str {
    match state {
        RunState::Training => "training",
        RunState::Done => "done",
        RunState::Unfinished => "unfinished",
        RunState::Empty => "empty",
    }
}

fn time(seconds: Option<f64>) -> String {
    seconds.map_or_else(dash, duration_of_seconds)
}

/// Returns the name of a run below the folder that was searched.
fn short_name(dir: &Path, run: &RunSummary) -> String {
    let name = run.folder.strip_prefix(dir).unwrap_or(&run.folder);
    if name.as_os_str().is_empty() { run.folder.display().to_string() } else { name.display().to_string() }
}

/// Returns the curves of the best runs of a group that have several epochs.
fn curves(dir: &Path, group: &[&RunSummary], of: &str) -> Vec<Plot> {
    let mut runs: Vec<&&RunSummary> = group.iter().filter(|run| run.lines.len() > 1).collect();
    let best = |run: &RunSummary| -run.best_pearson.unwrap_or(f64::NEG_INFINITY);
    runs.sort_by(|a, b| best(a).total_cmp(&best(b)));
    let left_out = runs.len().saturating_sub(MOST_CURVES);
    runs.truncate(MOST_CURVES);
    if runs.is_empty() {
        return Vec::new();
    }
    let best = if left_out == 0 { String::new() } else { format!(" of the {MOST_CURVES} best runs") };
    let chart = |title: &str, up: &str, value: fn(&MetricsLine) -> Option<f64>| {
        let series = runs.iter().map(|run| {
            let point = |line: &MetricsLine| (f64::from(line.epoch + 1), value(line).unwrap_or(f64::NAN));
            Series::new(short_name(dir, run), run.lines.iter().map(point))
        });
        Plot::Chart(Chart {
            title: format!("{title}{best}{of}"),
            across: "epoch".to_owned(),
            up: up.to_owned(),
            counts_whole: true,
            series: series.collect(),
            ..Chart::default()
        })
    };
    vec![
        chart("Validation Pearson", "validation Pearson", |line| line.val.pearson),
        chart("Training loss", "mean loss on standardised scores", |line| Some(line.train_loss)),
        chart("Time of an epoch", "training, wall time (s)", |line| Some(line.times?.train_seconds)),
    ]
}

/// Document of `compare` for two trained runs.
#[derive(Debug, Clone, Serialize)]
pub struct TrainedComparison {
    /// Version of this document: 1.
    pub schema: u32,
    /// `trained`.
    pub kind: &'static str,
    /// First run.
    pub a: RunSummary,
    /// Second run.
    pub b: RunSummary,
    /// Whether both are validated on the same records.
    pub comparable: bool,
    /// Best validation Pearson of B minus that of A.
    pub pearson_difference: Option<f64>,
    /// Settings that differ.
    pub settings: Vec<SettingDifference>,
}

/// A setting in which two runs differ.
#[derive(Debug, Clone, Serialize)]
pub struct SettingDifference {
    /// Dotted key.
    pub key: String,
    /// Value of A.
    pub a: String,
    /// Value of B.
    pub b: String,
}

impl TrainedComparison {
    /// Compares the settings and validation metrics of two runs.
    pub fn of(a: RunSummary, b: RunSummary) -> Self {
        let settings = a.differences(&b).into_iter().map(|(key, a, b)| SettingDifference { key, a, b });
        Self {
            schema: 1,
            kind: "trained",
            comparable: a.is_validated_like(&b),
            pearson_difference: a.best_pearson.zip(b.best_pearson).map(|(a, b)| b - a),
            settings: settings.collect(),
            a,
            b,
        }
    }

    /// Names the better run where they can be compared.
    fn headline(&self) -> Option<String> {
        let difference = self.pearson_difference.filter(|_| self.comparable)?;
        if difference == 0.0 {
            return Some("both have the same best validation Pearson".to_owned());
        }
        let (name, which) = (self.b.folder.display(), if difference > 0.0 { "higher" } else { "lower" });
        Some(format!("{name} has the {which} best validation Pearson, by {:.4}", difference.abs()))
    }
}

/// Returns the page of a comparison of two trained runs.
pub fn trained_comparison_page(compared: &TrainedComparison) -> Page {
    let TrainedComparison { a, b, .. } = compared;
    let (name_a, name_b) = (a.folder.display().to_string(), b.folder.display().to_string());
    let mut figures = if compared.comparable { curves(Path::new(""), &[a, b], "") } else { Vec::new() };
    // Seeds of one configuration are not compared with each other.
    let what = if compared.settings.iter().all(|setting| setting.key == "seed") {
        "their spread and their ensemble"
    } else {
        "the paired difference"
    };
    let next = format!("`knockout evaluate {name_a} {name_b}` ({what} on the test part)");
    let unsealed = [a, b].into_iter().filter(|run| run.unsealed).map(|run| run.folder.display().to_string());
    let unlike = (!compared.comparable).then(|| NOT_COMPARABLE.to_owned());
    Page {
        title: format!("{name_b} against {name_a}"),
        subtitle: format!("a: {name_a} · b: {name_b}"),
        made_by: "knockout compare".to_owned(),
        findings: compared.headline().into_iter().chain(unlike).chain(unsealed_sentence(unsealed)).collect(),
        picture: (!figures.is_empty()).then(|| figures.remove(0)),
        sections: vec![
            Section::new("runs", "").with(compared_table(a, b, &name_a, &name_b)),
            settings_section(compared, &name_a, &name_b),
        ],
        figures,
        next: if compared.comparable { vec![next] } else { Vec::new() },
        ..Page::default()
    }
}

fn compared_table(a: &RunSummary, b: &RunSummary, name_a: &str, name_b: &str) -> Table {
    let mut table = Table::new([Column::text(""), Column::number(name_a), Column::number(name_b)]);
    let mut row = |name: &str, of: &dyn Fn(&RunSummary) -> String| {
        table.row([name.to_owned(), of(a), of(b)]);
    };
    row("model", &|run| run.model.clone());
    row("state", &|run| state(run.state).to_owned());
    row("epochs", &|run| run.epochs.to_string());
    row("best val Pearson", &|run| figure(run.best_pearson));
    row("  in epoch", &|run| run.best_epoch.map_or_else(dash, |epoch| epoch.to_string()));
    row("least val MSE", &|run| error(run.best_mse));
    row("wall time", &|run| time(run.wall_seconds));
    row("CPU time", &|run| time(run.cpu_seconds));
    table
}

fn settings_section(compared: &TrainedComparison, name_a: &str, name_b: &str) -> Section {
    let section = Section::new("settings", "");
    if compared.settings.is_empty() {
        return section.with("the settings are the same");
    }
    let (shared, own): (Vec<_>, Vec<_>) =
        compared.settings.iter().partition(|setting| setting.a != NO_SETTING && setting.b != NO_SETTING);
    let columns = [Column::text("setting"), Column::text(name_a), Column::text(name_b)];
    let rows = shared.iter().map(|setting| {
        let [a, b] = shortened([&setting.a, &setting.b]);
        [setting.key.clone(), a, b]
    });
    let section = if shared.is_empty() { section } else { section.with(Table::new(columns).with_rows(rows)) };
    // Different models have different settings: a table of dashes would be longer than their number.
    let in_a = own.iter().filter(|setting| setting.a != NO_SETTING).count();
    let counts = [(name_a, in_a), (name_b, own.len() - in_a)].into_iter().filter(|(_, count)| *count > 0);
    counts
        .map(|(name, count)| format!("{count} settings exist only in {name}; --json has them"))
        .fold(section, Section::with)
}

/// Cuts two values to the width of a column, around their first difference.
fn shortened(values: [&str; 2]) -> [String; 2] {
    const WIDTH: usize = 40;
    let [a, b] = values.map(|value| value.chars().collect::<Vec<char>>());
    let common = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let longest = a.len().max(b.len());
    let from = if longest <= WIDTH { 0 } else { common.saturating_sub(WIDTH / 4).min(longest - WIDTH) };
    [a, b].map(|value| {
        let shown = &value[from.min(value.len())..(from + WIDTH).min(value.len())];
        let before = (from > 0).then_some('…');
        let after = (from + shown.len() < value.len()).then_some('…');
        before.into_iter().chain(shown.iter().copied()).chain(after).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_shown_around_their_first_difference() {
        let [a, b] = [
            "[\"low_rank\", \"network_kernel\", \"profiles\", \"trees\"]",
            "[\"low_rank\", \"network_kernel\", \"profiles\"]",
        ];
        let [shown_a, shown_b] = shortened([a, b]);
        assert_ne!(shown_a, shown_b);
        assert!(
            shown_a.starts_with('…') && shown_a.contains("trees") && shown_a.chars().count() <= 42,
            "{shown_a}"
        );
        assert_eq!(shortened(["1", "0.5"]), ["1", "0.5"]);
        assert_eq!(shortened([a, a])[0].chars().count(), 41);
    }
}
