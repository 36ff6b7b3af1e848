//! `knockout runs`: the runs in a folder side by side, in a table and as curves laid over each other.

use crate::exit::INCOMPARABLE;
use crate::failure::{Failure, Result, request_error};
use crate::output::{self, ForceArg, Kind, write_text};
use crate::ui::Ui;
use clap::{Args, ValueEnum};
use knockout_report::page::{Chart, Column, Figure, Page, Section, Series, Table};
use knockout_report::units::{count, duration, figure};
use knockout_train::run::{MetricsLine, RunList, RunState, RunSummary};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// List the runs in a folder: model, data, split, best validation, CPU time, state
///
/// Folders are searched three levels deep; runs of any model are listed, also while they are being trained. With --html,
/// their curves are laid over each other.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout runs
  knockout runs runs --sort best --html runs.html
  knockout runs runs --json | jq '.runs[] | {folder, best_pearson}'
  knockout compare runs/dango-yeast-0 runs/dango-yeast-1")]
pub(crate) struct RunsArgs {
    /// The folder to search, or the folder of one run
    #[arg(value_name = "DIR", default_value = "runs")]
    dir: PathBuf,
    /// Order of the runs
    #[arg(long, value_name = "BY", default_value = "name")]
    sort: Sort,
    /// Also write a page with curves laid over each other
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    force: ForceArg,
}

/// Order of a list of runs.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Sort {
    /// Folders by name
    Name,
    /// The best validation Pearson
    Best,
    /// The most CPU time
    Cpu,
    /// Models by name, then the best
    Model,
    /// Runs in training, then done, unfinished and empty ones
    State,
}

#[derive(Serialize)]
struct RunsDocument {
    schema: u32,
    runs: Vec<RunSummary>,
    unreadable: Vec<Unreadable>,
}

#[derive(Serialize)]
struct Unreadable {
    folder: PathBuf,
    why: String,
}

pub(crate) fn run(args: &RunsArgs, ui: &Ui) -> Result<()> {
    if !args.dir.is_dir() {
        return Err(request_error(format!(
            "{} is not a folder; name the folder of your runs",
            args.dir.display()
        )));
    }
    if let Some(path) = &args.html {
        output::check(path, Kind::Page, &[], args.force)?;
    }
    let RunList { mut runs, unreadable } = RunList::find(&args.dir)?;
    sort(&mut runs, args.sort);
    let unreadable: Vec<Unreadable> = unreadable
        .into_iter()
        .map(|(folder, error)| Unreadable { folder, why: Failure::from(error).to_string() })
        .collect();
    for one in &unreadable {
        ui.note(&format!("left out {}: {}", one.folder.display(), one.why));
    }
    if let Some(path) = &args.html {
        write_text(path, &page(&args.dir, &runs).to_html(), ui)?;
    }
    let shown = RunsDocument { schema: 1, runs, unreadable };
    ui.result(|| text(&args.dir, &shown.runs), &shown)
}

fn sort(runs: &mut [RunSummary], by: Sort) {
    // Undefined figures come last.
    let best = |run: &RunSummary| -run.best_pearson.unwrap_or(f64::NEG_INFINITY);
    match by {
        Sort::Name => (),
        Sort::Best => runs.sort_by(|a, b| best(a).total_cmp(&best(b))),
        Sort::Cpu => {
            let cpu = |run: &RunSummary| -run.cpu_seconds.unwrap_or(f64::NEG_INFINITY);
            runs.sort_by(|a, b| cpu(a).total_cmp(&cpu(b)));
        }
        Sort::Model => {
            runs.sort_by(|a, b| a.model.cmp(&b.model).then_with(|| best(a).total_cmp(&best(b))));
        }
        Sort::State => runs.sort_by_key(|run| run.state),
    }
}

/// The runs, each under the name that `name` returns.
fn table(runs: &[RunSummary], name: impl Fn(&RunSummary) -> String) -> Table {
    let columns = [
        Column::text("run"),
        Column::text("model"),
        Column::text("data"),
        Column::text("split"),
        Column::number("seed"),
        Column::number("epochs"),
        Column::number("best val Pearson"),
        Column::number("CPU time"),
        Column::text("state"),
    ];
    Table::new(columns).with_rows(runs.iter().map(|run| cells(run, name(run))))
}

fn cells(run: &RunSummary, name: String) -> [String; 9] {
    let wanted = run.epochs_wanted.map_or_else(String::new, |wanted| format!("/{wanted}"));
    let best = match (run.best_pearson, run.best_epoch) {
        (Some(best), Some(epoch)) => format!("{best:.4} (epoch {epoch})"),
        _ => "–".to_owned(),
    };
    [
        name,
        run.model.clone(),
        run.dataset.clone(),
        run.split.clone(),
        run.seed.to_string(),
        format!("{}{wanted}", run.epochs),
        best,
        time(run.cpu_seconds),
        state(run.state).to_owned(),
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
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.map_or_else(|| "–".to_owned(), duration)
}

fn text(dir: &Path, runs: &[RunSummary]) -> String {
    if runs.is_empty() {
        return format!("no runs in {}; `knockout train` makes them\n", dir.display());
    }
    let mut page = table(runs, |run| run.folder.display().to_string()).to_text();
    let alike = runs.iter().all(|run| run.is_validated_like(&runs[0]));
    if !alike {
        page.push_str(
            "\nthe runs have different datasets or splits, so their validation figures are not comparable\n",
        );
    }
    page
}

/// The name of a run below the folder that was searched.
fn short_name(dir: &Path, run: &RunSummary) -> String {
    let name = run.folder.strip_prefix(dir).unwrap_or(&run.folder);
    if name.as_os_str().is_empty() { run.folder.display().to_string() } else { name.display().to_string() }
}

fn page(dir: &Path, runs: &[RunSummary]) -> Page {
    let chart = |title: &str, value: fn(&MetricsLine) -> Option<f64>| {
        Figure::Chart(Chart {
            title: title.to_owned(),
            across: "epoch".to_owned(),
            counts_whole: true,
            series: runs
                .iter()
                .map(|run| Series {
                    name: short_name(dir, run),
                    points: run
                        .lines
                        .iter()
                        .map(|line| (f64::from(line.epoch + 1), value(line).unwrap_or(f64::NAN)))
                        .collect(),
                })
                .collect(),
            ..Chart::default()
        })
    };
    let unlike = runs.iter().any(|run| !run.is_validated_like(&runs[0]));
    Page {
        title: format!("Runs in {}", dir.display()),
        subtitle: format!("{} runs", count(runs.len())),
        findings: unlike
            .then(|| {
                "The runs have different datasets or splits, so their validation figures are not comparable."
                    .to_owned()
            })
            .into_iter()
            .collect(),
        sections: vec![Section::new("runs", "Runs").with(table(runs, |run| short_name(dir, run)))],
        figures: vec![
            chart("Validation Pearson", |line| line.val.pearson),
            chart("Validation MSE", |line| line.val.mse),
            chart("Training loss", |line| Some(line.train_loss)),
            chart("Time of an epoch, s", |line| Some(line.times?.train_seconds)),
        ],
        made_by: "knockout runs".to_owned(),
        ..Page::default()
    }
}

#[derive(Serialize)]
struct Compared {
    schema: u32,
    kind: &'static str,
    a: RunSummary,
    b: RunSummary,
    /// Whether both are validated on the same records.
    comparable: bool,
    /// Best validation Pearson of B minus that of A.
    pearson_difference: Option<f64>,
    settings: Vec<Setting>,
}

#[derive(Serialize)]
struct Setting {
    key: String,
    a: String,
    b: String,
}

/// Compares two trained runs: their settings and their validation metrics.
pub(crate) fn compare_trained(a: &Path, b: &Path, html: Option<&Path>, ui: &Ui) -> Result<()> {
    let (a, b) = (RunSummary::read(a)?, RunSummary::read(b)?);
    let compared = Compared {
        schema: 1,
        kind: "trained",
        comparable: a.is_validated_like(&b),
        pearson_difference: a.best_pearson.zip(b.best_pearson).map(|(a, b)| b - a),
        settings: a.differences(&b).into_iter().map(|(key, a, b)| Setting { key, a, b }).collect(),
        a,
        b,
    };
    if let Some(path) = html {
        write_text(path, &compared_page(&compared).to_html(), ui)?;
    }
    ui.result(|| compared_text(&compared), &compared)?;
    if compared.comparable {
        return Ok(());
    }
    let message = "not comparable: the runs have different datasets or splits, so they are validated on different records";
    Err(Failure::verdict(INCOMPARABLE, message))
}

fn compared_page(compared: &Compared) -> Page {
    let Compared { a, b, .. } = compared;
    let (name_a, name_b) = (a.folder.display(), b.folder.display());
    let mut page = page(Path::new(""), &[a.clone(), b.clone()]);
    page.title = format!("{name_b} against {name_a}");
    page.subtitle = format!("a: {name_a} · b: {name_b}");
    "knockout compare".clone_into(&mut page.made_by);
    page.findings.splice(..0, headline(compared));
    page
}

/// The better of the two, where they can be compared.
fn headline(compared: &Compared) -> Option<String> {
    let difference = compared.pearson_difference.filter(|_| compared.comparable)?;
    if difference == 0.0 {
        return Some("both have the same best validation Pearson".to_owned());
    }
    let (name, which) = (compared.b.folder.display(), if difference > 0.0 { "higher" } else { "lower" });
    Some(format!("{name} has the {which} best validation Pearson, by {:.4}", difference.abs()))
}

/// Text for a setting that a run does not have.
const NO_SETTING: &str = "–";

/// A value as far as it fits a column.
fn shortened(value: &str) -> String {
    const WIDTH: usize = 40;
    if value.chars().count() <= WIDTH {
        return value.to_owned();
    }
    value.chars().take(WIDTH - 1).chain(['…']).collect()
}

fn compared_text(compared: &Compared) -> String {
    let Compared { a, b, .. } = compared;
    let (name_a, name_b) = (a.folder.display().to_string(), b.folder.display().to_string());
    let mut page = headline(compared).map_or_else(String::new, |line| line + "\n\n");
    let mut table = Table::new([Column::text(""), Column::number(&name_a), Column::number(&name_b)]);
    let mut row = |name: &str, of: &dyn Fn(&RunSummary) -> String| {
        table.row(vec![name.to_owned(), of(a), of(b)]);
    };
    row("model", &|run| run.model.clone());
    row("state", &|run| state(run.state).to_owned());
    row("epochs", &|run| run.epochs.to_string());
    row("best val Pearson", &|run| figure(run.best_pearson));
    row("  in epoch", &|run| run.best_epoch.map_or_else(|| "–".to_owned(), |epoch| epoch.to_string()));
    row("least val MSE", &|run| run.best_mse.map_or_else(|| "–".to_owned(), |mse| format!("{mse:.3e}")));
    row("wall time", &|run| time(run.wall_seconds));
    row("CPU time", &|run| time(run.cpu_seconds));
    page.push_str(&table.to_text());
    if compared.settings.is_empty() {
        page.push_str("\nthe settings are the same\n");
    } else {
        page.push('\n');
        let mut table = Table::new([Column::text("setting"), Column::text(&name_a), Column::text(&name_b)]);
        let is_shared = |setting: &&Setting| setting.a != NO_SETTING && setting.b != NO_SETTING;
        let shared: Vec<&Setting> = compared.settings.iter().filter(is_shared).collect();
        for Setting { key, a, b } in &shared {
            table.row(vec![key.clone(), shortened(a), shortened(b)]);
        }
        if !shared.is_empty() {
            page.push_str(&table.to_text());
        }
        // Unlike models have unlike settings: a table of dashes says less than how many there are.
        for (name, of) in
            [(&name_a, (|setting| &setting.b) as fn(&Setting) -> &String), (&name_b, |setting| &setting.a)]
        {
            let count = compared.settings.iter().filter(|setting| of(setting) == NO_SETTING).count();
            if count > 0 {
                writeln!(page, "{count} settings exist only in {name}; --json has them").ok();
            }
        }
    }
    if compared.comparable {
        // Seeds of one configuration are not set against each other.
        let what = if compared.settings.iter().all(|setting| setting.key == "seed") {
            "their spread and their ensemble"
        } else {
            "the paired difference"
        };
        writeln!(page, "\nnext: knockout evaluate {name_a} {name_b} ({what} on the test part)").ok();
    }
    page
}
