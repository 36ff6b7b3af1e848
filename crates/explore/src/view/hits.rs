//! The strongest predictions of sets without a score, and how many of them may be false.

use super::answer::{Answer, CsvCell, Problem};
use super::shared::{Shown, accuracy_sentence, empty_page, interval, or_dash, score, source_field};
use crate::explorer::Explorer;
use crate::model::{HITS, HitList, Model, TestRecord};
use crate::query::{Query, address};
use knockout_data::cell::GeneSets;
use knockout_data::screen::{Part, Regime};
use knockout_predict::{Calibration, CutOffs, Hit, HitNotes};
use knockout_report::lab::HitDocument;
use knockout_report::page::{
    Chart, Column, Fact, Field, Form, Page, Plot, Section, SectionItem, Series, Table, TableCell,
};
use knockout_report::units::count;
use std::collections::{BTreeMap, BTreeSet};

/// Test records behind an estimate at least.
const FEWEST: usize = 50;
/// Points of the curve.
const POINTS: usize = 300;
/// Hits of a page.
const LISTED: usize = 200;
/// Rows of the table before it is expanded.
const SHOWN: usize = 25;
/// Numbers of predictions whose precision is given.
const NUMBERS: [usize; 6] = [10, 30, 100, 300, 1_000, 3_000];

/// Sign of the interactions that are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Negative,
    Positive,
}

/// The choices of a request.
struct Choices {
    sign: Sign,
    cut_off: f64,
}

impl Choices {
    fn of(query: &Query, model: &Model) -> Result<Self, Problem> {
        let rows = model.run().map(|run| run.split.rows(Part::Train)).unwrap_or_default();
        let usual = CutOffs::usual(model.dataset().samples.label_stats(rows).map_or(0.0, |stats| stats.sd));
        let sign = if query.get("sign") == "positive" { Sign::Positive } else { Sign::Negative };
        let usual = if sign == Sign::Positive { usual.positive } else { usual.negative };
        let cut_off = match query.get("cutoff") {
            "" => usual,
            text => query.number("cutoff").ok_or_else(|| {
                Problem::wrong(format!("{text} is not a score; a cut-off is a number such as {usual}"))
            })?,
        };
        // The form keeps the number where the sign is changed; beyond one of the other sign lies nearly every score.
        let cut_off = match sign {
            _ if cut_off == 0.0 => 0.0,
            Sign::Negative => -cut_off.abs(),
            Sign::Positive => cut_off.abs(),
        };
        Ok(Self { sign, cut_off })
    }

    fn is_strong(&self, score: f64) -> bool {
        match self.sign {
            Sign::Negative => score < self.cut_off,
            Sign::Positive => score > self.cut_off,
        }
    }

    fn name(&self) -> &'static str {
        match self.sign {
            Sign::Negative => "negative",
            Sign::Positive => "positive",
        }
    }

    /// Returns records from the strongest prediction of this sign to the weakest.
    fn ordered<'r>(&self, records: &'r [TestRecord]) -> Vec<&'r TestRecord> {
        let mut ordered: Vec<&TestRecord> = records.iter().collect();
        if self.sign == Sign::Positive {
            ordered.reverse();
        }
        ordered
    }

    fn hits<'h>(&self, hits: &'h HitList) -> &'h [Hit] {
        match self.sign {
            Sign::Negative => &hits.lowest,
            Sign::Positive => &hits.highest,
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
        const Z: f64 = 1.96;
        let (n, p) = (self.records.max(1) as f64, self.share());
        let middle = (p + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
        let half = Z / (1.0 + Z * Z / n) * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
        ((middle - half).max(0.0), (middle + half).min(1.0))
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

/// Returns the precision of test records of a regime whose prediction is at least as strong, but of no fewer than the strongest
/// [`FEWEST`]; `None` if there are not so many.
fn precision(
    ordered: &[&TestRecord],
    regime: Regime,
    prediction: f64,
    choices: &Choices,
) -> Option<Precision> {
    let is_as_strong = |record: &TestRecord| match choices.sign {
        Sign::Negative => record.prediction <= prediction,
        Sign::Positive => record.prediction >= prediction,
    };
    let mut found = Precision { strong: 0, records: 0 };
    for record in ordered.iter().filter(|record| record.regime == regime) {
        if found.records >= FEWEST && !is_as_strong(record) {
            break;
        }
        found.records += 1;
        found.strong += usize::from(choices.is_strong(record.score));
    }
    (found.records >= FEWEST).then_some(found)
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
    let of_order: Vec<TestRecord> = records.iter().filter(|record| record.order == order).copied().collect();
    let ordered = choices.ordered(&of_order);
    let strong = ordered.iter().filter(|record| choices.is_strong(record.score)).count();
    page.facts = vec![
        Fact::new(format!("test samples of {order} genes"), count(ordered.len())),
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
        page.picture = Some(Plot::Chart(curve(&ordered, &choices)));
        page.sections.push(at_numbers(&ordered, strong, &choices));
    }
    match model.hits() {
        Ok(hits) => page.sections.push(list(&shown, hits, &ordered, &choices)?),
        Err(reason) => page.warnings.push(format!("No list of hits: {reason}.")),
    }
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
            source_field(explorer, shown.label()),
        ],
        submit: "show".to_owned(),
        ..Form::default()
    }
}

fn curve(ordered: &[&TestRecord], choices: &Choices) -> Chart {
    let sign = if choices.sign == Sign::Negative { 1.0 } else { -1.0 };
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
        Column::number("to a prediction of"),
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
        *counts.entry(record.regime).or_default() += 1;
    }
    let counts = counts.into_iter().map(|(regime, number)| format!("{}: {}", regime.title(), count(number)));
    counts.collect::<Vec<String>>().join("; ")
}

/// A hit with its estimate.
struct Row {
    document: HitDocument,
    interval: String,
    precision: Option<Precision>,
    set: Vec<u32>,
}

fn rows(
    shown: &Shown,
    hits: &[Hit],
    ordered: &[&TestRecord],
    choices: &Choices,
) -> Result<Vec<Row>, Problem> {
    let model = &shown.model;
    let none: [&Hit; 0] = [];
    let notes = HitNotes::new(model.dataset(), None, none);
    let sets: GeneSets = hits.iter().map(|hit| &hit.genes[..]).collect();
    let predicted = model.predict(&sets)?.unwrap_or_default();
    let row = |(hit, predicted): (&Hit, &crate::model::Predicted)| {
        let mut document = HitDocument::of(hit, model.genes(), &notes);
        document.regime = model.regime(&hit.genes);
        let precision =
            document.regime.and_then(|regime| precision(ordered, regime, hit.prediction, choices));
        Row { document, interval: interval(predicted), precision, set: hit.genes.clone() }
    };
    Ok(hits.iter().zip(&predicted).map(row).collect())
}

fn list(
    shown: &Shown,
    hits: &HitList,
    ordered: &[&TestRecord],
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
    let rows = rows(shown, listed, ordered, choices)?;
    let unknown = rows.iter().any(|row| row.precision.is_none()).then(|| {
        format!(
            "\u{2013}: the test part has fewer than {FEWEST} samples of this regime. The precision above is of other regimes and does \
             not hold for these hits."
        )
    });
    let accuracy: BTreeSet<Option<Regime>> = rows.iter().map(|row| row.document.regime).collect();
    let accuracy = accuracy.into_iter().map(|regime| accuracy_sentence(&shown.model, hits.order, regime));
    let cells = rows.iter().map(|row| {
        let Row { document, interval, precision, set } = row;
        let share = precision.map(|precision| 1.0 - precision.share());
        [
            TableCell::from(document.names.join(" ")).linked(shown.set_address(set)),
            document.genes.join(" ").into(),
            TableCell::number(score(document.prediction), document.prediction),
            interval.clone().into(),
            TableCell { value: share, ..or_dash(precision.map(Precision::false_text)).into() },
            document.regime.map_or("unknown", Regime::title).into(),
            document.flags().into(),
        ]
    });
    let table = Table::new(columns).id("hits").with_rows(cells).limited(SHOWN, SHOWN);
    let cut_off = choices.cut_off.to_string();
    let csv = address("hits.csv", &[("of", shown.label()), ("sign", choices.name()), ("cutoff", &cut_off)]);
    let which = if choices.sign == Sign::Negative { "Lowest" } else { "Highest" };
    Ok(Section::new("list", format!("{which} predictions of {}", hits.what))
        .with(accuracy.chain(unknown).collect::<Vec<String>>())
        .with(format!(
            "False up to here: the share of test samples of the same size and regime, predicted at least as strongly, whose score is \
             not beyond {}. It takes {FEWEST} samples or more, so for the strongest hits it is rather too high. It assumes that sets \
             without a score are like those of the test part.",
            choices.cut_off
        ))
        .with(SectionItem::Links(vec![(format!("the {} strongest as CSV", count(all.len())), csv)]))
        .with(table))
}

pub(super) fn csv(explorer: &Explorer, query: &Query) -> Result<Answer, Problem> {
    let shown = Shown::of(explorer, query)?;
    let choices = Choices::of(query, &shown.model)?;
    let hits = shown.model.hits().as_ref().map_err(|reason| Problem::wrong(reason.clone()))?;
    let records = shown.model.test_records().as_deref().unwrap_or_default();
    let of_order: Vec<TestRecord> =
        records.iter().filter(|record| record.order == hits.order).copied().collect();
    let chosen = choices.hits(hits);
    let rows = rows(&shown, &chosen[..chosen.len().min(HITS)], &choices.ordered(&of_order), &choices)?;
    let rows = rows.into_iter().map(|row| -> [CsvCell; 9] {
        let hit = row.document;
        let bounds = row.precision.map(Precision::interval);
        [
            hit.genes.join(" ").into(),
            hit.names.join(" ").into(),
            hit.prediction.into(),
            hit.sd.into(),
            row.precision.map(|precision| 1.0 - precision.share()).into(),
            bounds.map(|(_, high)| 1.0 - high).into(),
            bounds.map(|(low, _)| 1.0 - low).into(),
            hit.regime.map_or("unknown", Regime::name).into(),
            hit.linkage.name().into(),
        ]
    });
    let columns =
        ["genes", "names", "prediction", "sd", "false_share", "false_low", "false_high", "regime", "linkage"];
    Ok(Answer::csv("hits", &columns, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records() -> Vec<TestRecord> {
        // The 60 lowest predictions: every third is false.
        let record = |index: usize| TestRecord {
            prediction: index as f64,
            score: if index < 60 && !index.is_multiple_of(3) { -1.0 } else { 0.0 },
            regime: if index == 0 { Regime::OneNew } else { Regime::Known },
            order: 2,
        };
        (0..200).map(record).collect()
    }

    #[test]
    fn false_shares_are_of_the_same_regime_and_enough_records() {
        let (records, choices) = (records(), Choices { sign: Sign::Negative, cut_off: -0.5 });
        let ordered = choices.ordered(&records);
        // A prediction beyond all: the 50 strongest records of the regime, 1 to 50, of which 16 are false.
        let strongest = precision(&ordered, Regime::Known, -5.0, &choices).unwrap();
        assert_eq!(strongest, Precision { strong: 34, records: 50 });
        let all = precision(&ordered, Regime::Known, 500.0, &choices).unwrap();
        assert_eq!(all, Precision { strong: 40, records: 199 });
        assert_eq!(precision(&ordered, Regime::OneNew, 500.0, &choices), None, "one record is not enough");
        let positive = Choices { sign: Sign::Positive, cut_off: -0.5 };
        let weakest = precision(&positive.ordered(&records), Regime::Known, 190.0, &positive).unwrap();
        assert_eq!(weakest, Precision { strong: 50, records: 50 });
    }

    /// Wilson's interval of 34 of 50, computed elsewhere: 0.5419 to 0.7924.
    #[test]
    fn the_interval_is_wilsons() {
        let (low, high) = Precision { strong: 34, records: 50 }.interval();
        assert!((low - 0.5419).abs() < 1e-3 && (high - 0.7924).abs() < 1e-3, "{low} {high}");
        assert_eq!(Precision { strong: 50, records: 50 }.interval().1, 1.0);
    }
}
