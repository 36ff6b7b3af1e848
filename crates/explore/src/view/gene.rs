//! One gene: its measured interactions, predicted partners and neighbourhood.

use super::answer::{CsvCell, HttpAnswer, Problem};
use super::partners::{Partner, Partners, neighbours};
use super::shared::{FITTED, Shown, accuracy_sentence, empty_page, interval, or_dash, score, source_field};
use crate::explorer::Explorer;
use crate::model::{MOST_SLOW_SETS, Predicted};
use crate::query::{Query, address};
use knockout_data::cell::{GeneId, GeneSets};
use knockout_data::screen::{Part, Regime};
use knockout_predict::MeasuredSample;
use knockout_report::lab::{GeneDocument, gene_page};
use knockout_report::page::{
    Column, Diagram, DiagramNode, Fact, Field, Form, Page, Section, SectionItem, Strip, StripMark, StripRow,
    Table, TableCell, effect_colour,
};
use knockout_report::units::{count, counted};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Measured samples at each end that a page lists.
const MEASURED: usize = 500;
/// Rows of a table before it is expanded.
const SHOWN: usize = 15;
/// Partners at each end that a page lists, unless the query has another number.
const PARTNERS: usize = 50;
/// Partners at each end of a page at most.
const MOST_PARTNERS: usize = 1_000;
/// Values at each end of a strip that have a name.
const MARKED: usize = 12;
/// Neighbours in the drawing.
const DRAWN: usize = 20;
/// Names in a list of suggestions.
const SUGGESTED: usize = 20;
/// Axis of scores.
const SCORE: &str = "score (below zero: worse growth than expected)";

pub(super) fn page(explorer: &Explorer, query: &Query) -> Result<Page, Problem> {
    let shown = Shown::of(explorer, query)?;
    let form = |name: &str| Form {
        action: "gene".to_owned(),
        fields: vec![
            Field::Text {
                name: "name".to_owned(),
                label: "gene".to_owned(),
                value: name.to_owned(),
                suggestions: "genes".to_owned(),
            },
            source_field(explorer, shown.label()),
        ],
        submit: "show".to_owned(),
        ..Form::default()
    };
    if query.get("name").is_empty() {
        return Ok(start(&shown, form("")));
    }
    let gene = shown.gene(query.get("name"))?;
    let document = GeneDocument::of(shown.model.dataset(), GeneId(gene))?;
    let partners = Partners::of(&shown, gene, query)?;
    let (systematic, name) = (shown.model.systematic(gene), shown.model.name(gene));
    let title = if name == systematic { name.to_owned() } else { format!("{name} ({systematic})") };
    let mut page = empty_page(title, format!("{} · {}", shown.model.dataset().manifest.name, shown.label()));
    page.sections.push(Section::new("choose", "").with(form(name)));
    page.facts = vec![
        Fact::new("measured samples", count(document.samples)),
        Fact::new("mean score", or_dash(document.mean_score.map(score))),
        Fact::new(
            "networks with edges of it",
            count(document.networks.iter().filter(|one| one.edges > 0).count()),
        ),
        Fact::new("reactions that stop", count(document.reactions_stopped)),
    ];
    page.sections.push(strip(&shown, gene, &partners));
    if shown.model.run().is_some() {
        page.sections.push(predicted(&shown, gene, &partners, query));
    }
    page.sections.push(measured(&shown, gene)?);
    page.sections.push(neighbourhood(&shown, gene, &partners, query));
    page.sections.extend(
        gene_page(&document).sections.into_iter().filter(|section| section.id != "effects").map(
            |mut section| {
                let title = if section.id == "networks" { "Networks" } else { "Annotations" };
                title.clone_into(&mut section.title);
                section
            },
        ),
    );
    Ok(page)
}

/// Returns the page before a gene is chosen: those with most samples.
fn start(shown: &Shown, form: Form) -> Page {
    let model = &shown.model;
    let mut genes: Vec<u32> = (0..model.genes().len() as u32).collect();
    genes.sort_by_key(|&gene| (std::cmp::Reverse(model.rows(gene).len()), gene));
    let columns = [Column::text("gene"), Column::text("systematic"), Column::number("measured samples")];
    let rows = genes.into_iter().take(100).map(|gene| {
        let samples = model.rows(gene).len();
        [
            TableCell::from(model.name(gene)).linked(shown.gene_address(gene)),
            model.systematic(gene).into(),
            TableCell::number(count(samples), samples as f64),
        ]
    });
    let table = Table::new(columns).with_rows(rows).limited(10, 25);
    let mut page = empty_page("Genes", format!("{} · {}", model.dataset().manifest.name, shown.label()));
    page.sections = vec![
        Section::new("choose", "").with(form),
        Section::new("most", "Genes with most measured samples").with(table),
    ];
    page
}

fn strip(shown: &Shown, gene: u32, partners: &Partners) -> Section {
    let samples = &shown.model.dataset().samples;
    let mut rows: Vec<u32> = shown.model.rows(gene).to_vec();
    rows.sort_by(|&a, &b| samples.scores()[a as usize].total_cmp(&samples.scores()[b as usize]));
    let measured_mark = |&row: &u32| {
        let (set, value) = (samples.genes(row as usize), samples.scores()[row as usize]);
        let text = format!("{}: measured {}", shown.names(set, &[gene]), score(value));
        StripMark { value, text, link: shown.set_address(set) }
    };
    let predicted_mark = |partner: &Partner| StripMark {
        value: partner.predicted.mean,
        text: format!("{}: predicted {}", shown.names(&partner.set, &[gene]), score(partner.predicted.mean)),
        link: shown.set_address(&partner.set),
    };
    let mut strip = Strip { across: SCORE.to_owned(), rows: Vec::new() };
    strip.rows.push(StripRow {
        name: format!("measured ({})", count(rows.len())),
        values: rows.iter().map(|&row| samples.scores()[row as usize]).collect(),
        marks: ends(&rows, MARKED).into_iter().map(measured_mark).collect(),
    });
    if !partners.list.is_empty() {
        strip.rows.push(StripRow {
            name: format!("predicted {} ({})", what(shown, partners), count(partners.list.len())),
            values: partners.list.iter().map(|partner| partner.predicted.mean).collect(),
            marks: ends(&partners.list, MARKED).into_iter().map(predicted_mark).collect(),
        });
    }
    Section::new("scores", "Scores").note("A line for each sample; points lead to the strongest.").with(strip)
}

/// Returns the first and the last elements of a list, each once.
fn ends<T>(list: &[T], count: usize) -> Vec<&T> {
    let first = list.len().min(count);
    let last = (list.len() - first).min(count);
    list[..first].iter().chain(&list[list.len() - last..]).collect()
}

/// Describes the sets that are predicted.
fn what(shown: &Shown, partners: &Partners) -> String {
    match &partners.with[..] {
        [] => "pairs".to_owned(),
        with => format!("sets with {}", shown.names(with, &[])),
    }
}

fn predicted(shown: &Shown, gene: u32, partners: &Partners, query: &Query) -> Section {
    let model = &shown.model;
    let left = partners.filtered(query);
    let wanted = query.number("n").map_or(PARTNERS, |n| (n.max(1.0) as usize).min(MOST_PARTNERS));
    let title = format!("Predicted partners: {}", what(shown, partners));
    let mut section = Section::new("partners", title);
    if partners.is_partial {
        section = section.with(vec![format!(
            "This model runs a forward pass for each set, so only neighbours and measured partners were tried, {MOST_SLOW_SETS} at \
             most. `knockout predict` tries all."
        )]);
    }
    if !model.trained_orders().contains(&partners.order) {
        section = section.with(format!(
            "No training sample has {}: these predictions extrapolate, and their accuracy is unknown.",
            counted(partners.order, "gene")
        ));
    }
    let regimes: BTreeSet<Option<Regime>> = left.iter().map(|partner| partner.hit.regime).collect();
    let sentences = regimes.into_iter().map(|regime| accuracy_sentence(model, partners.order, regime));
    section = section.with(sentences.collect::<Vec<String>>()).with(filters(shown, gene, partners, query));
    if left.is_empty() {
        return section.with("The filters leave no partner.");
    }
    let mut shared: Vec<(&str, &str)> =
        ["measured", "essential", "new"].into_iter().map(|name| (name, query.get(name))).collect();
    let with = names(shown, &partners.with);
    shared.extend([("of", shown.label()), ("name", model.systematic(gene))]);
    let csv = with_address("partners.csv", &shared, &with);
    section = section.with(SectionItem::Links(vec![(format!("all {} as CSV", count(left.len())), csv)]));
    let table = |title: &str, rows: Vec<&&Partner>| {
        let columns = [
            Column::text("partner"),
            Column::text("systematic").wide_only(),
            Column::number("predicted"),
            Column::number("95 % interval"),
            Column::number("measured"),
            Column::text("part").wide_only(),
            Column::text("regime").wide_only(),
            Column::text("flags"),
        ];
        let rows = rows.into_iter().map(|partner| partner_row(shown, partner));
        Table::new(columns).titled(title).id(title.to_lowercase()).with_rows(rows).limited(SHOWN, SHOWN)
    };
    let first = left.len().min(wanted);
    let last = (left.len() - first).min(wanted);
    if left.iter().any(|partner| partner.part == Some(Part::Train)) {
        section = section.with(FITTED);
    }
    section = section.with(table("Lowest", left[..first].iter().collect()));
    if last > 0 {
        section = section.with(table("Highest", left[left.len() - last..].iter().rev().collect()));
    }
    section
}

/// Returns an address with genes that every set has, also where these are none.
fn with_address(view: &str, shared: &[(&str, &str)], with: &str) -> String {
    let text = address(view, shared);
    let with = address("", &[("with", with)]).trim_start_matches('?').to_owned();
    format!("{text}&{}", if with.is_empty() { "with=" } else { &with })
}

/// Returns the systematic names of genes, joined by commas.
fn names(shown: &Shown, genes: &[u32]) -> String {
    genes.iter().map(|&gene| shown.model.systematic(gene)).collect::<Vec<_>>().join(",")
}

fn partner_row(shown: &Shown, partner: &Partner) -> [TableCell; 8] {
    let predicted = &partner.predicted;
    // The column beside it has the score, but not the alleles.
    let hit = partner.hit.clone();
    let hit = if hit.samples.is_empty() { hit.with_measured(None) } else { hit };
    [
        TableCell::from(shown.model.name(partner.gene)).linked(shown.set_address(&partner.set)),
        TableCell::from(shown.model.systematic(partner.gene)).linked(shown.gene_address(partner.gene)),
        TableCell::number(score(predicted.mean), predicted.mean),
        interval(predicted).into(),
        partner.score.map_or_else(|| "–".into(), |value| TableCell::number(score(value), value)),
        partner.part.map_or("–", Part::name).into(),
        partner.hit.regime.map_or("unknown", Regime::title).into(),
        hit.flags().into(),
    ]
}

fn filters(shown: &Shown, gene: u32, partners: &Partners, query: &Query) -> Form {
    let switch = |name: &str, label: &str| Field::Switch {
        name: name.to_owned(),
        label: label.to_owned(),
        value: "hide".to_owned(),
        is_on: query.get(name) == "hide",
    };
    let mut fields = vec![
        Field::Text {
            name: "with".to_owned(),
            label: "together with".to_owned(),
            value: shown.names(&partners.with, &[]),
            suggestions: "genes".to_owned(),
        },
        switch("measured", "hide measured"),
        switch("new", "hide genes that were not screened"),
    ];
    let essential = shown.model.dataset().cell.annotation(knockout_predict::ESSENTIAL).is_some();
    fields.extend(essential.then(|| switch("essential", "hide essential")));
    let mut hidden = vec![
        ("of".to_owned(), shown.label().to_owned()),
        ("name".to_owned(), shown.model.systematic(gene).to_owned()),
    ];
    hidden.extend(query.all("network").map(|network| ("network".to_owned(), network.to_owned())));
    Form { action: "gene".to_owned(), hidden, fields, submit: "apply".to_owned() }
}

/// The measured samples of a gene by ascending score, with their predictions.
fn measured_rows(shown: &Shown, gene: u32, most: usize) -> Result<Vec<(u32, Option<Predicted>)>, Problem> {
    let samples = &shown.model.dataset().samples;
    let mut rows: Vec<u32> = shown.model.rows(gene).to_vec();
    rows.sort_by(|&a, &b| {
        samples.scores()[a as usize].total_cmp(&samples.scores()[b as usize]).then(a.cmp(&b))
    });
    let rows: Vec<u32> = ends(&rows, most).into_iter().copied().collect();
    let predicted_count = if shown.model.is_fast() { rows.len() } else { rows.len().min(MOST_SLOW_SETS) };
    let sets: GeneSets = rows.iter().take(predicted_count).map(|&row| samples.genes(row as usize)).collect();
    let predicted = shown.model.predict(&sets)?.unwrap_or_default();
    let predicted = predicted.into_iter().map(Some).chain(std::iter::repeat(None));
    Ok(rows.into_iter().zip(predicted).collect())
}

fn measured(shown: &Shown, gene: u32) -> Result<Section, Problem> {
    let all = shown.model.rows(gene).len();
    let section = Section::new("measured", format!("Measured interactions: {}", count(all)));
    if all == 0 {
        return Ok(section.with("No sample of this dataset deletes the gene."));
    }
    let samples = &shown.model.dataset().samples;
    let columns = [
        Column::text("together with"),
        Column::number("measured"),
        Column::number("predicted"),
        Column::number("p-value").wide_only(),
        Column::text("part of the split"),
    ];
    let rows = measured_rows(shown, gene, MEASURED)?;
    let is_fitted = rows.iter().any(|&(row, _)| shown.model.part(row) == Some(Part::Train));
    let rows = rows.into_iter().map(|(row, predicted)| {
        let sample = samples.get(row as usize);
        let others = shown.names(sample.genes, &[gene]);
        let others = if others.is_empty() { "alone".to_owned() } else { others };
        // The name of a set alone would not tell its alleles apart.
        let others = match samples.perturbation(row as usize) {
            alleles if samples.alleles(row as usize).len() > 0 => format!("{others} ({alleles})"),
            _ => others,
        };
        [
            TableCell::from(others).linked(shown.set_address(sample.genes)),
            TableCell::number(score(sample.score), sample.score),
            predicted.map_or_else(
                || "–".into(),
                |predicted| TableCell::number(score(predicted.mean), predicted.mean),
            ),
            sample.p_value.map_or_else(|| "–".into(), |p| TableCell::number(format!("{p:.2e}"), p)),
            shown.model.part(row).map_or("none", Part::name).into(),
        ]
    });
    let table = Table::new(columns).id("measured-table").with_rows(rows).limited(SHOWN, SHOWN);
    let csv = address("measured.csv", &[("of", shown.label()), ("name", shown.model.systematic(gene))]);
    let section = if is_fitted { section.with(FITTED) } else { section };
    let section = if all > 2 * MEASURED {
        section.note(format!("The {MEASURED} lowest and the {MEASURED} highest."))
    } else {
        section
    };
    Ok(section.with(SectionItem::Links(vec![(format!("all {} as CSV", count(all)), csv)])).with(table))
}

fn neighbourhood(shown: &Shown, gene: u32, partners: &Partners, query: &Query) -> Section {
    let networks = shown.model.dataset().cell.networks();
    let section = Section::new("neighbourhood", "Neighbourhood");
    if networks.is_empty() {
        return section.with("The dataset has no networks.");
    }
    let chosen: BTreeSet<&str> = query.all("network").collect();
    let wants = |name: &str| chosen.is_empty() || chosen.contains(name);
    let found = neighbours(&shown.model, gene, &wants);
    let switches = networks.iter().map(|network| Field::Switch {
        name: "network".to_owned(),
        label: network.name().to_owned(),
        value: network.name().to_owned(),
        is_on: wants(network.name()),
    });
    let mut hidden = vec![
        ("of".to_owned(), shown.label().to_owned()),
        ("name".to_owned(), shown.model.systematic(gene).to_owned()),
    ];
    hidden.extend(query.has("with").then(|| ("with".to_owned(), query.get("with").to_owned())));
    for name in ["measured", "essential", "new"].into_iter().filter(|name| query.has(name)) {
        hidden.push((name.to_owned(), query.get(name).to_owned()));
    }
    let form = Form {
        action: "gene".to_owned(),
        hidden,
        fields: switches.collect(),
        submit: "show networks".to_owned(),
    };
    let section = section.with(form);
    if found.is_empty() {
        return section.with("It has no neighbour in these networks.");
    }
    let effects: BTreeMap<u32, f64> =
        partners.list.iter().map(|partner| (partner.gene, partner.predicted.mean)).collect();
    let mean = if effects.is_empty() { 0.0 } else { effects.values().sum::<f64>() / effects.len() as f64 };
    let most = effects.values().map(|value| (value - mean).abs()).fold(0.0, f64::max);
    let drawn: Vec<u32> = found.iter().take(DRAWN).map(|&(other, _)| other).collect();
    let colour =
        |other: u32| effects.get(&other).map_or_else(String::new, |value| effect_colour(value - mean, most));
    let node = |&other: &u32| DiagramNode {
        name: shown.model.name(other).to_owned(),
        colour: colour(other),
        link: shown.gene_address(other),
        ..DiagramNode::default()
    };
    let own =
        DiagramNode { name: shown.model.name(gene).to_owned(), is_deleted: true, ..DiagramNode::default() };
    let all: Vec<u32> = std::iter::once(gene).chain(drawn.iter().copied()).collect();
    let caption = if effects.is_empty() {
        "Thicker lines: more networks."
    } else {
        "Colour: predicted score with this gene, red below and green above the mean of its partners, stronger the further away. \
         Thicker lines: more networks."
    };
    let diagram = Diagram {
        nodes: std::iter::once(own).chain(drawn.iter().map(node)).collect(),
        edges: edges(shown, &all, &wants),
        caption: caption.to_owned(),
    };
    let left = found.len().saturating_sub(DRAWN);
    let more = (left > 0)
        .then(|| format!("{} more neighbours are not drawn; those in most networks are.", count(left)));
    let section = more.into_iter().fold(section, Section::with);
    section.with(diagram)
}

/// Returns the edges among genes, as positions in the list with the number of networks.
fn edges(shown: &Shown, genes: &[u32], wants: &dyn Fn(&str) -> bool) -> Vec<(usize, usize, usize)> {
    let position: BTreeMap<u32, usize> =
        genes.iter().enumerate().map(|(index, &gene)| (gene, index)).collect();
    let mut found: BTreeMap<(usize, usize), BTreeSet<&str>> = BTreeMap::new();
    for network in shown.model.dataset().cell.networks().iter().filter(|network| wants(network.name())) {
        for (index, &gene) in genes.iter().enumerate() {
            let others = network.outgoing().row(gene as usize).iter().filter_map(|other| position.get(other));
            for &other in others.filter(|&&other| other != index) {
                found.entry((index.min(other), index.max(other))).or_default().insert(network.name());
            }
        }
    }
    found.into_iter().map(|((from, to), networks)| (from, to, networks.len())).collect()
}

/// A name for a list of suggestions.
#[derive(Serialize)]
struct Suggestion<'a> {
    name: &'a str,
    systematic: &'a str,
}

/// Returns genes whose names begin with a text, then those that contain it.
pub(super) fn suggestions(explorer: &Explorer, query: &Query) -> Result<HttpAnswer, Problem> {
    let shown = Shown::of(explorer, query)?;
    let wanted = query.get("q").split([',', ' ']).next_back().unwrap_or_default().to_uppercase();
    let begins = |name: &str| name.to_uppercase().starts_with(&wanted);
    let has = |name: &str| name.to_uppercase().contains(&wanted);
    let genes = shown.model.genes().genes();
    let matching = |matches: &dyn Fn(&str) -> bool| {
        let found = genes.iter().filter(|gene| matches(gene.name()) || matches(&gene.systematic));
        found.take(SUGGESTED).collect::<Vec<_>>()
    };
    let mut found = matching(&begins);
    if found.len() < SUGGESTED {
        let more = matching(&|name| has(name) && !begins(name));
        found.extend(more.into_iter().filter(|gene| !begins(gene.name()) && !begins(&gene.systematic)));
    }
    found.truncate(SUGGESTED);
    let suggestions: Vec<Suggestion<'_>> = found
        .into_iter()
        .map(|gene| Suggestion { name: gene.name(), systematic: &gene.systematic })
        .collect();
    Ok(HttpAnswer::json(&suggestions))
}

/// Document of a gene.
#[derive(Serialize)]
struct PartnersDocument<'a> {
    schema: u32,
    of: &'a str,
    gene: GeneDocument,
    /// Genes that every set has beside the gene and the partner.
    with: Vec<&'a str>,
    /// Whether only some partners were tried.
    partial: bool,
    partners: Vec<&'a Partner>,
}

pub(super) fn document(explorer: &Explorer, query: &Query) -> Result<HttpAnswer, Problem> {
    let shown = Shown::of(explorer, query)?;
    let gene = shown.gene(query.get("name"))?;
    let partners = Partners::of(&shown, gene, query)?;
    Ok(HttpAnswer::json(&PartnersDocument {
        schema: 1,
        of: shown.label(),
        gene: GeneDocument::of(shown.model.dataset(), GeneId(gene))?,
        with: partners.with.iter().map(|&gene| shown.model.systematic(gene)).collect(),
        partial: partners.is_partial,
        partners: partners.filtered(query),
    }))
}

pub(super) fn partners_csv(explorer: &Explorer, query: &Query) -> Result<HttpAnswer, Problem> {
    let shown = Shown::of(explorer, query)?;
    let gene = shown.gene(query.get("name"))?;
    let partners = Partners::of(&shown, gene, query)?;
    let rows = partners.filtered(query).into_iter().map(|partner| -> [CsvCell; 12] {
        let hit = &partner.hit;
        [
            hit.genes.join(" ").into(),
            hit.names.join(" ").into(),
            shown.model.systematic(partner.gene).into(),
            partner.predicted.mean.into(),
            partner.interval.map(|[low, _]| low).into(),
            partner.interval.map(|[_, high]| high).into(),
            partner.score.into(),
            hit.regime.map_or("unknown", Regime::name).into(),
            hit.essential_cell().into(),
            hit.linkage.name().into(),
            partner.part.map_or("none", Part::name).into(),
            MeasuredSample::cell(&hit.samples).into(),
        ]
    });
    let columns = [
        "genes",
        "names",
        "partner",
        "prediction",
        "low",
        "high",
        "measured",
        "regime",
        "essential",
        "linkage",
        "part",
        "samples",
    ];
    Ok(HttpAnswer::csv("partners", &columns, rows))
}

pub(super) fn measured_csv(explorer: &Explorer, query: &Query) -> Result<HttpAnswer, Problem> {
    let shown = Shown::of(explorer, query)?;
    let gene = shown.gene(query.get("name"))?;
    let samples = &shown.model.dataset().samples;
    let rows =
        measured_rows(&shown, gene, usize::MAX / 2)?.into_iter().map(|(row, predicted)| -> [CsvCell; 7] {
            let sample = samples.get(row as usize);
            [
                names(&shown, sample.genes).replace(',', " ").into(),
                shown.names(sample.genes, &[]).into(),
                sample.score.into(),
                predicted.map(|predicted| predicted.mean).into(),
                sample.p_value.into(),
                shown.model.part(row).map_or("none", Part::name).into(),
                samples.perturbation(row as usize).into(),
            ]
        });
    let columns = ["genes", "names", "score", "prediction", "p_value", "part", "alleles"];
    Ok(HttpAnswer::csv("measured", &columns, rows))
}
