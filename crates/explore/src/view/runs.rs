//! Runs side by side, their curves over each other, one run, and two compared.

use super::answer::{HttpAnswer, Problem};
use super::shared::{MADE_BY, Shown, empty_page};
use crate::catalog::{Source, SourceKind};
use crate::explorer::Explorer;
use crate::query::{Query, address};
use knockout_report::lab::{TrainedComparison, TrainingReport, runs_page, trained_comparison_page};
use knockout_report::page::{Field, Form, Interactive, Page, Section, SectionItem, TableCell, colour};
use knockout_train::run::{RunState, RunSummary};
use serde::Serialize;

/// Runs whose curves are drawn.
const MOST_RUNS: usize = 200;

/// Document of all runs, which the page requests again while one is in training.
#[derive(Debug, Serialize)]
struct RunsDocument {
    schema: u32,
    /// Groups of runs that are validated on the same records.
    groups: Vec<Group>,
    /// Whether a run is in training.
    training: bool,
}

#[derive(Debug, Serialize)]
struct Group {
    title: String,
    runs: Vec<Curve>,
}

/// A run with its curve.
#[derive(Debug, Serialize)]
struct Curve {
    label: String,
    model: String,
    state: RunState,
    colour: &'static str,
    epochs: u32,
    best: Option<f64>,
    address: String,
    /// Epoch, validation Pearson and training loss.
    points: Vec<(u32, Option<f64>, Option<f64>)>,
}

impl RunsDocument {
    fn of(explorer: &Explorer, runs: &[RunSummary]) -> Self {
        let mut groups: Vec<(&RunSummary, Group)> = Vec::new();
        for run in runs.iter().take(MOST_RUNS) {
            let label = explorer.catalog.label(&run.folder);
            let finite = |value: f64| Some(value).filter(|value| value.is_finite());
            let point = |line: &knockout_train::run::MetricsLine| {
                (line.epoch + 1, line.val.pearson.and_then(finite), finite(line.train_loss))
            };
            let curve = Curve {
                address: address("run", &[("of", &label)]),
                label,
                model: run.model.clone(),
                state: run.state,
                colour: colour(&run.model),
                epochs: run.epochs,
                best: run.best_pearson.and_then(finite),
                points: run.lines.iter().map(point).collect(),
            };
            if let Some((_, group)) = groups.iter_mut().find(|(first, _)| first.is_validated_like(run)) {
                group.runs.push(curve);
            } else {
                let title = format!("{}, {}", run.dataset, run.split);
                groups.push((run, Group { title, runs: vec![curve] }));
            }
        }
        let mut groups: Vec<Group> = groups.into_iter().map(|(_, group)| group).collect();
        for group in &mut groups {
            let best = |curve: &Curve| -curve.best.unwrap_or(f64::NEG_INFINITY);
            group.runs.sort_by(|a, b| best(a).total_cmp(&best(b)));
        }
        let training = runs.iter().any(|run| run.state == RunState::Training);
        Self { schema: 1, groups, training }
    }
}

pub(super) fn document(explorer: &Explorer) -> Result<HttpAnswer, Problem> {
    Ok(HttpAnswer::json(&RunsDocument::of(explorer, &explorer.catalog.runs()?)))
}

pub(super) fn page(explorer: &Explorer, query: &Query) -> Result<Page, Problem> {
    let runs = explorer.catalog.runs()?;
    if runs.is_empty() {
        let mut page = empty_page("Runs", explorer.catalog.title());
        let is_packed = |source: &&Source| matches!(source.kind, SourceKind::Run(_));
        let packed: Vec<(String, String)> = explorer
            .catalog
            .sources()
            .iter()
            .filter(is_packed)
            .map(|source| (source.label.clone(), address("run", &[("of", &source.label)])))
            .collect();
        if packed.is_empty() {
            page.warnings.push("There are no runs in this folder; `knockout train` makes them.".to_owned());
        } else {
            page.sections.push(Section::new("packed", "Packed models").with(SectionItem::Links(packed)));
        }
        return Ok(page);
    }
    let labels: Vec<String> = runs.iter().map(|run| explorer.catalog.label(&run.folder)).collect();
    let find = |name: &str| {
        let wanted = query.get(name);
        let found = labels.iter().position(|label| label == wanted);
        found.and_then(|index| runs.get(index)).ok_or_else(|| {
            Problem::missing(format!("{wanted} is not a run of this folder"))
                .with_links([("all runs".to_owned(), "runs".to_owned())])
        })
    };
    let form = Section::new("choose", "Compare two runs").with(choice(&labels, query));
    if query.has("a") || query.has("b") {
        let mut page =
            trained_comparison_page(&TrainedComparison::of(find("a")?.clone(), find("b")?.clone()));
        MADE_BY.clone_into(&mut page.made_by);
        page.sections.insert(0, form);
        return Ok(page);
    }
    let document = RunsDocument::of(explorer, &runs);
    let listed = runs_page(explorer.catalog.root(), &runs);
    let mut page = Page { findings: listed.findings, ..empty_page("Runs", explorer.catalog.title()) };
    for (index, group) in document.groups.iter().enumerate() {
        let interactive = Interactive {
            kind: "curves",
            id: format!("curves-{index}"),
            data: serde_json::json!({ "group": index, "title": group.title, "runs": group.runs, "training": document.training }),
        };
        page.sections.push(
            Section::new(format!("group-{index}"), group.title.clone())
                .with(SectionItem::Interactive(interactive)),
        );
    }
    for mut section in listed.sections.into_iter().filter(|section| section.id != "all") {
        section.title = format!("Runs on {}", section.title);
        for block in &mut section.blocks {
            let SectionItem::Table(table) = block else { continue };
            for row in &mut table.rows {
                link(explorer, &runs, row);
            }
        }
        page.sections.push(section);
    }
    if runs.len() > 1 {
        page.sections.push(form);
    }
    Ok(page)
}

/// Lets the name of a run lead to its page.
fn link(explorer: &Explorer, runs: &[RunSummary], row: &mut [TableCell]) {
    let Some(first) = row.first_mut() else { return };
    let label = |run: &RunSummary| explorer.catalog.label(&run.folder);
    if let Some(label) = runs.iter().map(label).find(|label| *label == first.text) {
        *first = TableCell::from(&label[..]).linked(address("run", &[("of", &label)]));
    }
}

fn choice(labels: &[String], query: &Query) -> Form {
    let choices: Vec<(String, String)> = labels.iter().map(|label| (label.clone(), label.clone())).collect();
    let field = |name: &str, default: usize| Field::Choice {
        name: name.to_owned(),
        label: name.to_owned(),
        choices: choices.clone(),
        chosen: if query.has(name) {
            query.get(name).to_owned()
        } else {
            labels.get(default).cloned().unwrap_or_default()
        },
    };
    Form {
        action: "runs".to_owned(),
        fields: vec![field("a", 0), field("b", 1)],
        submit: "compare".to_owned(),
        ..Form::default()
    }
}

/// Returns the page of one run.
pub(super) fn run_page(explorer: &Explorer, query: &Query) -> Result<Page, Problem> {
    let source = super::answer::source(&explorer.catalog, query.get("of"))?;
    let SourceKind::Run(folder) = &source.kind else {
        return Err(Problem::wrong(format!("{} is a dataset, not a run", source.label)));
    };
    if folder.is_dir() && RunSummary::read(folder)?.state == RunState::Empty {
        let mut page = empty_page(source.label.clone(), "");
        page.warnings.push("This run has no checkpoint yet.".to_owned());
        return Ok(page);
    }
    let shown = Shown::of(explorer, query)?;
    let opened = shown.model.run().and_then(|opened| Some((opened.runs.first()?, opened)));
    let (run, opened) = opened.ok_or_else(|| Problem::missing("the run cannot be opened"))?;
    let _alone = (!shown.model.is_fast()).then(|| explorer.heavy());
    let mut page = TrainingReport::of_open(run, &opened.dataset, &opened.split, &|| ())?.page();
    MADE_BY.clone_into(&mut page.made_by);
    let links = [("genes", "gene"), ("hits", "hits"), ("all runs", "runs")];
    let links = links.map(|(text, view)| (text.to_owned(), address(view, &[("of", shown.label())])));
    page.sections.insert(0, Section::new("more", "").with(SectionItem::Links(links.to_vec())));
    Ok(page)
}
