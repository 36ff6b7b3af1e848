//! The strongest predictions of sets without a score, and how many of them may be false.

use super::answer::{CsvCell, HttpAnswer, Problem};
use super::shared::{Shown, accuracy_sentence, empty_page, interval, or_dash, score, source_field};
use crate::explorer::Explorer;
use crate::model::{HITS, Model, RankedHits};
use crate::query::{Query, address};
use knockout_data::cell::GeneSets;
use knockout_data::screen::{Part, Regime};
use knockout_predict::{
    Calibration, CutOffs, Enrichment, FalseHits, FalseShare, Hit, HitCutOff, HitNotes, HitSign, TestRecord,
    enrichment, wilson,
};
use knockout_report::lab::{
    HitDocument, HitList as FileList, enrichment_section, false_text, hits_network, hits_workbook,
};
use knockout_report::page::{
    Chart, Column, Fact, Field, Form, Page, Plot, Section, SectionItem, Series, Table, TableCell,
};
use knockout_report::units::{count, counted};
use std::collections::{BTreeMap, BTreeSet};

/// Strongest hits whose genes are tested for enriched terms, where no number is given.
const TESTED: usize = 100;
/// Points of the curve.
const POINTS: usize = 300;
/// Hits of a page.
const LISTED: usize = 200;
/// Rows of the table before it is expanded.
const SHOWN: usize = 25;
/// Numbers of predictions whose precision is given.
const NUMBERS: [usize; 6] = [10, 30, 100, 300, 1_000, 3_000];

/// The choices of a request.
struct Choices {
    sign: HitSign,
    cut_off: f64,
    /// Strongest hits whose genes are tested for enriched terms.
    tested: usize,
}

impl Choices {
    fn of(query: &Query, model: &Model) -> Result<Self, Problem> {
        let rows = model.run().map(|run| run.split.rows(Part::Train)).unwrap_or_default();
        let usual = CutOffs::usual(model.dataset().samples.label_stats(rows).map_or(0.0, |stats| stats.sd));
        let sign = if query.get("sign") == "positive" { HitSign::Positive } else { HitSign::Negative };
        let usual = if sign == HitSign::Positive { usual.positive } else { usual.negative };
        let cut_off = match query.get("cutoff") {
            "" => usual,
            text => query.number("cutoff").ok_or_else(|| {
                Problem::wrong(format!("{text} is not a score; a cut-off is a number such as {usual}"))
            })?,
        };
        // The form keeps the number where the sign is changed; beyond one of the other sign lies nearly every score.
        let cut_off = match sign {
            _ if cut_off == 0.0 => 0.0,
            HitSign::Negative => -cut_off.abs(),
            HitSign::Positive => cut_off.abs(),
        };
        let tested =
            match query.get("tested") {
                "" => TESTED,
                text => text.parse().ok().filter(|number| (1..=HITS).contains(number)).ok_or_else(|| {
                    Problem::wrong(format!("{text} is not a number of hits from 1 to {HITS}"))
                })?,
            };
        Ok(Self { sign, cut_off, tested })
    }

    fn hit_cut_off(&self) -> HitCutOff {
        HitCutOff { sign: self.sign, score: self.cut_off }
    }

    fn is_strong(&self, score: f64) -> bool {
        self.hit_cut_off().is_strong(score)
    }

    fn name(&self) -> &'static str {
        match self.sign {
            HitSign::Negative => "negative",
            HitSign::Positive => "positive",
        }
    }

    /// Returns the name of the list in files, as `predict` has it.
    fn list(&self) -> &'static str {
        match self.sign {
            HitSign::Negative => "lowest",
            HitSign::Positive => "highest",
        }
    }

    /// Returns records from the strongest prediction of this sign to the weakest.
    fn ordered<'r>(&self, records: &'r [TestRecord]) -> Vec<&'r TestRecord> {
        let mut ordered: Vec<&TestRecord> = records.iter().collect();
        if self.sign == HitSign::Positive {
            ordered.reverse();
        }
        ordered
    }

    fn hits<'h>(&self, hits: &'h RankedHits) -> &'h [Hit] {
        match self.sign {
            HitSign::Negative => &hits.lowest,
            HitSign::Positive => &hits.highest,
        }
    }
}

/// The share of strong interactions among test records, with Wilson's 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Precision {
    strong: usize,
    records: usize,
}

impl Precision {
    fn share(self) -> f64 {
        self.strong as f64 / self.records.max(1) as f64
    }

    fn interval(self) -> (f64, f64) {
        wilson(self.share(), self.records as f64)
    }

    /// Returns the expected share of false hits with its interval.
    fn false_text(self) -> String {
        let (low, high) = self.interval();
        format!(
            "{:.0} % [{:.0}, {:.0}]",
            100.0 * (1.0 - self.share()),
            100.0 * (1.0 - high),
            100.0 * (1.0 - low)
        )
    }
}

pub(super) fn page(explorer: &Explorer, query: &Query) -> Result<Page, Problem> {
    let shown = Shown::of(explorer, query)?;
    let model = &*shown.model;
    let choices = Choices::of(query, model)?;
    let mut page = empty_page("Hits", format!("{} · {}", model.dataset().manifest.name, shown.label()));
    page.sections.push(Section::new("choose", "").with(form(explorer, &shown, &choices)));
    if model.run().is_none() {
        page.warnings.push("A dataset alone has no predictions; train a run on it.".to_owned());
        return Ok(page);
    }
    let records = match model.test_records() {
        Ok(records) => &records[..],
        Err(reason) => {
            page.warnings.push(reason.clone());
            &[]
        }
    };
    let order = match model.hits() {
        Ok(hits) => hits.order,
        Err(_) => model.trained_orders().first().copied().unwrap_or(2),
    };
    let of_order: Vec<TestRecord> =
        records.iter().filter(|record| record.kind.order == order).copied().collect();
    let ordered = choices.ordered(&of_order);
    let strong = ordered.iter().filter(|record| choices.is_strong(record.score)).count();
    page.facts = vec![
        Fact::new(format!("test samples of {}", counted(order, "gene")), count(ordered.len())),
        Fact::new(format!("{} ones beyond {}", choices.name(), choices.cut_off), count(strong)),
        Fact::new(
            "share of them: the precision of a guess",
            or_dash(
                (!ordered.is_empty())
                    .then(|| format!("{:.1} %", 100.0 * strong as f64 / ordered.len() as f64)),
            ),
        ),
    ];
    if strong == 0 {
        page.warnings.push(format!(
            "No test sample has a score beyond {}, so precision is unknown; choose a cut-off nearer to zero.",
            choices.cut_off
        ));
    } else {
        page.figures.push(Plot::Chart(curve(&ordered, &choices)));
    }
    match model.hits() {
        Ok(hits) => {
            page.sections.push(list(&shown, hits, &of_order, &choices)?);
            page.sections.extend(terms(&shown, hits, &choices));
        }
        Err(reason) => page.warnings.push(format!("No list of hits: {reason}.")),
    }
    page.sections.extend((strong > 0).then(|| at_numbers(&ordered, strong, &choices)));
    Ok(page)
}

fn form(explorer: &Explorer, shown: &Shown, choices: &Choices) -> Form {
    Form {
        action: "hits".to_owned(),
        fields: vec![
            Field::Choice {
                name: "sign".to_owned(),
                label: "interactions".to_owned(),
                choices: [("negative", "negative"), ("positive", "positive")]
                    .map(|(value, text)| (value.to_owned(), text.to_owned()))
                    .to_vec(),
                chosen: choices.name().to_owned(),
            },
            Field::Text {
                name: "cutoff".to_owned(),
                label: "strong beyond a score of".to_owned(),
                value: choices.cut_off.to_string(),
                suggestions: String::new(),
            },
            Field::Text {
                name: "tested".to_owned(),
                label: "terms of the strongest".to_owned(),
                value: choices.tested.to_string(),
                suggestions: String::new(),
            },
            source_field(explorer, shown.label()),
        ],
        submit: "show".to_owned(),
        ..Form::default()
    }
}

fn curve(ordered: &[&TestRecord], choices: &Choices) -> Chart {
    let sign = if choices.sign == HitSign::Negative { 1.0 } else { -1.0 };
    let values = |value: fn(&TestRecord) -> f64| ordered.iter().map(|record| sign * value(record)).collect();
    let calibration = Calibration::new(values(|record| record.prediction), values(|record| record.score));
    let points = calibration.precision_recall(sign * choices.cut_off);
    // Steps between points are not seen; the first and the last always are.
    let step = points.len().div_ceil(POINTS).max(1);
    let last = points.len().saturating_sub(1);
    let kept = points.iter().enumerate().filter(|(index, _)| index.is_multiple_of(step) || *index == last);
    Chart {
        title: format!("Precision and recall of {} interactions beyond {}", choices.name(), choices.cut_off),
        across: "recall".to_owned(),
        up: "precision".to_owned(),
        series: vec![Series::new("test part", kept.map(|(_, &point)| point))],
        ..Chart::default()
    }
}

fn at_numbers(ordered: &[&TestRecord], strong: usize, choices: &Choices) -> Section {
    let columns = [
        Column::number("strongest predictions"),
        Column::number("to a prediction of").wide_only(),
        Column::number("precision"),
        Column::number("recall"),
        Column::number("false, 95 % interval"),
    ];
    let row = |number: usize| {
        let chosen = ordered.get(..number)?;
        let hits = chosen.iter().filter(|record| choices.is_strong(record.score)).count();
        let precision = Precision { strong: hits, records: number };
        let last = chosen.last()?.prediction;
        Some([
            TableCell::number(count(number), number as f64),
            TableCell::number(score(last), last),
            TableCell::number(format!("{:.1} %", 100.0 * precision.share()), precision.share()),
            TableCell::number(
                format!("{:.1} %", 100.0 * hits as f64 / strong as f64),
                hits as f64 / strong as f64,
            ),
            precision.false_text().into(),
        ])
    };
    Section::new("precision", "Precision on the test part")
        .note(format!(
            "Samples of the test part by their prediction; the run was not fitted to them. {}.",
            regimes(ordered)
        ))
        .with(Table::new(columns).with_rows(NUMBERS.into_iter().filter_map(row)))
}

/// Counts records by regime.
fn regimes(records: &[&TestRecord]) -> String {
    let mut counts: BTreeMap<Regime, usize> = BTreeMap::new();
    for record in records {
        *counts.entry(record.kind.regime).or_default() += 1;
    }
    let counts = counts.into_iter().map(|(regime, number)| format!("{}: {}", regime.title(), count(number)));
    counts.collect::<Vec<String>>().join("; ")
}

/// A hit with its interval.
struct Row {
    document: HitDocument,
    interval: String,
    set: Vec<u32>,
}

fn rows(shown: &Shown, hits: &[Hit], records: &[TestRecord], choices: &Choices) -> Result<Vec<Row>, Problem> {
    let model = &shown.model;
    let none: [&Hit; 0] = [];
    let notes = HitNotes::new(model.dataset(), None, none);
    let sets: GeneSets = hits.iter().map(|hit| &hit.genes[..]).collect();
    let predicted = model.predict(&sets)?.unwrap_or_default();
    let document = |hit: &Hit| {
        let regime = model.regime(&hit.genes);
        HitDocument { regime, ..HitDocument::of(hit, model.genes(), &notes) }
    };
    let mut documents: Vec<HitDocument> = hits.iter().map(document).collect();
    HitDocument::estimate(&mut documents, &FalseHits::new(records, choices.hit_cut_off()));
    let row = |((hit, predicted), document): ((&Hit, &crate::model::Predicted), HitDocument)| Row {
        document,
        interval: interval(predicted),
        set: hit.genes.clone(),
    };
    Ok(hits.iter().zip(&predicted).zip(documents).map(row).collect())
}

/// Returns the terms that the genes of the strongest hits have in common; `None` without annotations.
fn terms(shown: &Shown, hits: &RankedHits, choices: &Choices) -> Option<Section> {
    let tested = found_terms(shown, hits, choices)?;
    let section = enrichment_section(choices.list(), &tested);
    Some(section.with(format!(
        "Genes of the {}.",
        counted(choices.tested.min(choices.hits(hits).len()), "strongest hit")
    )))
}

fn found_terms(shown: &Shown, hits: &RankedHits, choices: &Choices) -> Option<Enrichment> {
    let all = choices.hits(hits);
    enrichment(&shown.model.dataset().cell, &hits.genes, &all[..all.len().min(choices.tested)])
}

fn list(
    shown: &Shown,
    hits: &RankedHits,
    records: &[TestRecord],
    choices: &Choices,
) -> Result<Section, Problem> {
    let all = choices.hits(hits);
    let listed = &all[..all.len().min(LISTED)];
    let columns = [
        Column::text("genes"),
        Column::text("systematic").wide_only(),
        Column::number("predicted"),
        Column::number("95 % interval").wide_only(),
        Column::number("false up to here"),
        Column::text("regime").wide_only(),
        Column::text("flags"),
    ];
    let rows = rows(shown, listed, records, choices)?;
    let unknown = rows.iter().any(|row| row.document.false_share.is_none()).then(|| {
        "\u{2013}: the test part has too few samples of this regime, of linked genes or of two essential ones. The precision below \
         does not hold for these hits."
            .to_owned()
    });
    let accuracy: BTreeSet<Option<Regime>> = rows.iter().map(|row| row.document.regime).collect();
    let accuracy = accuracy.into_iter().map(|regime| accuracy_sentence(&shown.model, hits.order, regime));
    let cells = rows.iter().map(|row| {
        let Row { document, interval, set } = row;
        let share = document.false_share.as_ref();
        [
            TableCell::from(document.names.join(" ")).linked(shown.set_address(set)),
            document.genes.join(" ").into(),
            TableCell::number(score(document.prediction), document.prediction),
            interval.clone().into(),
            TableCell { value: share.map(|found| found.share), ..or_dash(share.map(false_text)).into() },
            document.regime.map_or("unknown", Regime::title).into(),
            document.flags().into(),
        ]
    });
    let table = Table::new(columns).id("hits").with_rows(cells).limited(SHOWN, SHOWN);
    let (cut_off, tested) = (choices.cut_off.to_string(), choices.tested.to_string());
    let file = |kind: &str| {
        let query =
            [("of", shown.label()), ("sign", choices.name()), ("cutoff", &cut_off), ("tested", &tested)];
        address(&format!("hits.{kind}"), &query)
    };
    let links = vec![
        (format!("the {} strongest as CSV", count(all.len())), file("csv")),
        ("for Excel".to_owned(), file("xlsx")),
        ("for Cytoscape".to_owned(), file("cyjs")),
    ];
    let which = if choices.sign == HitSign::Negative { "Lowest" } else { "Highest" };
    Ok(Section::new("list", format!("{which} predictions of {}", hits.what))
        .with(accuracy.chain(unknown).collect::<Vec<String>>())
        .with(format!(
            "False up to here: the expected share of hits up to this one whose score would not be beyond {}, from test samples of the \
             same size and regime with similar predictions. Samples count in groups of 10 or more, so for the strongest hits it is rather \
             too high. It assumes that sets without a score are like those of the test part.",
            choices.cut_off
        ))
        .with(SectionItem::Links(links))
        .with(table))
}

/// The hits of a request, for files.
struct Listed {
    shown: Shown,
    choices: Choices,
    rows: Vec<Row>,
    enrichment: Option<Enrichment>,
}

impl Listed {
    fn of(explorer: &Explorer, query: &Query) -> Result<Self, Problem> {
        let shown = Shown::of(explorer, query)?;
        let choices = Choices::of(query, &shown.model)?;
        let hits = shown.model.hits().as_ref().map_err(|reason| Problem::wrong(reason.clone()))?;
        let records = shown.model.test_records().as_deref().unwrap_or_default();
        let of_order: Vec<TestRecord> =
            records.iter().filter(|record| record.kind.order == hits.order).copied().collect();
        let chosen = choices.hits(hits);
        let rows = rows(&shown, &chosen[..chosen.len().min(HITS)], &of_order, &choices)?;
        let enrichment = found_terms(&shown, hits, &choices);
        Ok(Self { shown, choices, rows, enrichment })
    }

    /// Returns the file that `write` makes of the list.
    fn file(
        self,
        kind: (&str, &'static str),
        write: impl FnOnce(&str, &[FileList<'_>]) -> Result<Vec<u8>, Problem>,
    ) -> Result<HttpAnswer, Problem> {
        let hits: Vec<HitDocument> = self.rows.into_iter().map(|row| row.document).collect();
        let list = FileList { name: self.choices.list(), hits: &hits, enrichment: self.enrichment.as_ref() };
        let bytes = write(self.shown.label(), &[list])?;
        Ok(HttpAnswer::file(format!("hits.{}", kind.0), kind.1, bytes))
    }
}

pub(super) fn xlsx(explorer: &Explorer, query: &Query) -> Result<HttpAnswer, Problem> {
    const KIND: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
    Listed::of(explorer, query)?.file(("xlsx", KIND), |_, lists| Ok(hits_workbook(lists)?))
}

pub(super) fn cytoscape(explorer: &Explorer, query: &Query) -> Result<HttpAnswer, Problem> {
    let write = |name: &str, lists: &[FileList<'_>]| Ok(hits_network(name, lists).into_bytes());
    Listed::of(explorer, query)?.file(("cyjs", "application/json"), write)
}

pub(super) fn csv(explorer: &Explorer, query: &Query) -> Result<HttpAnswer, Problem> {
    let rows = Listed::of(explorer, query)?.rows;
    let rows = rows.into_iter().map(|row| -> [CsvCell; 11] {
        let hit = row.document;
        let share = |of: fn(&FalseShare) -> f64| hit.false_share.as_ref().map(of);
        [
            hit.genes.join(" ").into(),
            hit.names.join(" ").into(),
            hit.prediction.into(),
            hit.sd.into(),
            share(|found| found.share).into(),
            share(|found| found.low).into(),
            share(|found| found.high).into(),
            hit.regime.map_or("unknown", Regime::name).into(),
            hit.essential_cell().into(),
            hit.linkage.name().into(),
            hit.distance.map(f64::from).into(),
        ]
    });
    let columns = [
        "genes",
        "names",
        "prediction",
        "sd",
        "false_share",
        "false_low",
        "false_high",
        "regime",
        "essential",
        "linkage",
        "distance",
    ];
    Ok(HttpAnswer::csv("hits", &columns, rows))
}
