//! Evaluations: models side by side on one part of one split. A figure that is not defined is a dash.

use super::accuracy::{
    BarScale, bounds, correlation, error, groups, interval, prior_knowledge_sentence, scatter,
};
use super::regimes::{coverage_sentences, regime_sections};
use crate::page::{Chart, Column, Page, Plot, Section, Series, Table, TableCell, colour};
use crate::units::{count, counted, have};
use knockout_base::stats::bootstrap::Difference;
use knockout_data::cell::GeneTable;
use knockout_data::screen::Bounds;
use knockout_predict::evaluation::{
    Defect, ENSEMBLE, Metric, ModelMetrics, PairedDifference, RegimeFigures, SeedSpread, Unseen, Warning,
};
use knockout_predict::{Calibration, Coverage, GeneAccuracy};
use serde::Serialize;
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// Document of `evaluate`.
#[derive(Debug, Clone, Serialize)]
pub struct EvaluationDocument {
    /// Version of this document: 1.
    pub schema: u32,
    /// Scheme of the split.
    pub split: &'static str,
    /// Seed of the split.
    pub split_seed: u64,
    /// Part of the split.
    pub part: &'static str,
    /// Content hash of the dataset.
    pub data_hash: String,
    /// Bootstrap resamples of every interval.
    pub resamples: usize,
    /// Metrics of every model.
    pub rows: Vec<ModelMetrics>,
    /// Paired differences.
    pub comparisons: Vec<PairedDifference>,
    /// Figures of each regime that the part has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub regimes: Vec<RegimeFigures>,
    /// Models that are worse than the training mean or have found no signal.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// Spread over the seeds of one configuration.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spread: Vec<SeedSpread>,
    /// Genes of the part that no training record deletes.
    pub unseen_genes: Option<usize>,
    /// Records of the part with such a gene.
    pub unseen_records: Option<usize>,
    /// Gene sets of the part with several samples: different alleles or kinds of perturbation.
    #[serde(skip_serializing_if = "is_zero")]
    pub repeated_sets: usize,
    /// Bounds of the accuracy of any model.
    #[serde(flatten)]
    pub bounds: Bounds,
    /// Measurements within the intervals of each model that has some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub coverage: Vec<Coverage>,
    /// Models that use more than the screen and the networks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prior_knowledge: Vec<PriorKnowledge>,
}

// serde passes a reference.
#[expect(clippy::trivially_copy_pass_by_ref)]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Prior knowledge that a model uses beyond the screen and the networks.
#[derive(Debug, Clone, Serialize)]
pub struct PriorKnowledge {
    /// Name of the model.
    pub name: String,
    /// Its additional inputs.
    pub uses: BTreeSet<String>,
}

/// Returns the page of an evaluation.
pub fn evaluation_page(document: &EvaluationDocument) -> Page {
    let unseen =
        document.unseen_genes.zip(document.unseen_records).map(|(genes, records)| Unseen { genes, records });
    let mut findings = heading(&document.rows, document.split, document.split_seed, document.part, unseen);
    findings[0] += &headline(document).map(|text| format!("; {text}")).unwrap_or_default();
    let mut sections = vec![Section::new("models", "").with(rows_table(&document.rows))];
    sections.extend(lines("warnings", document.warnings.iter().map(warning_sentence)));
    sections.extend(regime_sections(&document.regimes));
    if !document.spread.is_empty() {
        sections.push(Section::new("spread", "").with(spread_table(&document.spread)));
    }
    let coverage = document.coverage.iter().flat_map(coverage_sentences);
    let knowledge = document.prior_knowledge.iter();
    let knowledge =
        knowledge.map(|known| format!("{}: {}", known.name, prior_knowledge_sentence(&known.uses)));
    let repeated = (document.repeated_sets > 0).then(|| {
        let (sets, have) = (counted(document.repeated_sets, "gene set"), have(document.repeated_sets));
        format!(
            "{sets} {have} several samples, of different alleles or kinds; each is compared with the prediction of its set"
        )
    });
    let remarks = bounds(&document.bounds).into_iter().chain(repeated);
    sections.extend(lines("bounds", remarks.chain(coverage).chain(knowledge)));
    sections.extend(comparisons_section(&document.comparisons, &document.rows, document.resamples));
    let names: Vec<&str> = document.rows.iter().map(|row| &row.name[..]).take(1).collect();
    Page {
        title: format!("Evaluation of {}", names.join(", ")),
        subtitle: format!(
            "{} part of the {} split, seed {}",
            document.part, document.split, document.split_seed
        ),
        made_by: "knockout evaluate".to_owned(),
        findings,
        sections,
        ..Page::default()
    }
}

/// Material of the pictures of an evaluation: the predictions of its first model.
#[derive(Debug)]
pub struct EvaluationPictures<'a> {
    /// Predictions beside measured scores.
    pub calibration: Calibration,
    /// Scores below it are strong.
    pub cut_off: f64,
    /// Accuracy for each gene, the highest first.
    pub genes: Vec<GeneAccuracy>,
    /// The gene table; `None` if the dataset is not at hand.
    pub table: Option<&'a GeneTable>,
}

/// Genes at each end of the table of genes.
const GENES: usize = 10;
/// Bins of the histogram of correlations, of width 0.1 from -1 to 1.
const BINS: usize = 20;

impl EvaluationPictures<'_> {
    /// Adds the pictures to the page of an evaluation: first the scatter plot, then figures and the table of genes.
    pub fn add_to(&self, mut page: Page) -> Page {
        let Self { calibration, cut_off, genes, .. } = self;
        page.picture = Some(Plot::Scatter(scatter(
            "Measured scores and predictions",
            &calibration.measured,
            &calibration.predicted,
        )));
        let curve = calibration.precision_recall(*cut_off);
        if !curve.is_empty() {
            page.figures.push(Plot::Chart(self.precision_recall(&curve)));
        }
        page.figures.push(Plot::Chart(groups(calibration)));
        if !genes.is_empty() {
            page.figures.push(Plot::Chart(histogram(genes)));
            page.sections.extend(self.gene_section());
        }
        page
    }

    fn precision_recall(&self, curve: &[(f64, f64)]) -> Chart {
        let strong = self.calibration.measured.iter().filter(|&&score| score < self.cut_off).count();
        let share = strong as f64 / self.calibration.measured.len() as f64;
        Chart {
            title: format!("Finding scores below {}: precision and recall", self.cut_off),
            across: "recall".to_owned(),
            up: "precision".to_owned(),
            series: vec![
                Series::new("lowest predictions", curve.iter().copied()),
                Series::new("a guess", [(0.0, share), (1.0, share)]),
            ],
            ..Chart::default()
        }
    }

    fn gene_section(&self) -> Option<Section> {
        let names = self.table?.genes();
        let columns = [
            Column::text("gene"),
            Column::text("systematic"),
            Column::number("Pearson"),
            Column::number("samples"),
        ];
        let row = |found: &GeneAccuracy| {
            let gene = &names[found.gene as usize];
            [
                gene.name().to_owned(),
                gene.systematic.clone(),
                correlation(Some(found.pearson)),
                count(found.records),
            ]
        };
        let lowest = self.genes.len().saturating_sub(GENES).max(GENES);
        let shown = self.genes.iter().take(GENES).chain(self.genes.iter().skip(lowest));
        let note = format!(
            "the highest and lowest of {} with at least 30 samples",
            counted(self.genes.len(), "gene")
        );
        let table = Table::new(columns).with_rows(shown.map(row));
        Some(Section::new("genes", "Accuracy by gene").note(note).with(table))
    }
}

/// Returns the number of genes by correlation.
fn histogram(genes: &[GeneAccuracy]) -> Chart {
    let mut counts = [0.0; BINS];
    for gene in genes {
        counts[(((gene.pearson + 1.0) * 0.5 * BINS as f64) as usize).min(BINS - 1)] += 1.0;
    }
    let middle = |bin: usize| (2.0 * bin as f64 + 1.0) / BINS as f64 - 1.0;
    Chart {
        title: "Accuracy by gene".to_owned(),
        across: "Pearson of the predictions for one gene".to_owned(),
        up: "genes".to_owned(),
        series: vec![Series::new(
            "genes",
            counts.into_iter().enumerate().map(|(bin, count)| (middle(bin), count)),
        )],
        ..Chart::default()
    }
}

/// Returns a section of sentences; `None` without any.
pub(super) fn lines(id: &str, lines: impl IntoIterator<Item = String>) -> Option<Section> {
    let section = lines.into_iter().fold(Section::new(id, ""), Section::with);
    (!section.blocks.is_empty()).then_some(section)
}

/// Returns the sentences about the part that models are evaluated on.
pub(super) fn heading(
    rows: &[ModelMetrics],
    split: &str,
    split_seed: u64,
    part: &str,
    unseen: Option<Unseen>,
) -> Vec<String> {
    let samples = rows.first().map_or(0, |row| row.metrics.count);
    let caution = match part {
        "train" => Some("models are fitted to the train part, so its figures are not accuracies"),
        "val" => Some("settings and checkpoints are chosen on the val part, so its figures are too high"),
        _ => None,
    };
    let part =
        format!("{part} part of the {split} split (seed {split_seed}): {}", counted(samples, "sample"));
    let unseen = unseen.map(|unseen| match unseen.genes {
        0 => "all of its genes occur in training".to_owned(),
        1 => format!("1 of its genes never occurs in training, in {} of its samples", count(unseen.records)),
        genes => format!(
            "{} of its genes never occur in training, in {} of its samples",
            count(genes),
            count(unseen.records)
        ),
    });
    [part].into_iter().chain(unseen).chain(caution.map(str::to_owned)).collect()
}

/// Describes the defect of a model.
fn warning_sentence(Warning { name, defect, mse }: &Warning) -> String {
    let sentence = match defect {
        Defect::WorseThanMean => "warning: worse than predicting the mean training score",
        Defect::NoSignal => "warning: no signal found; it is not better than the mean training score",
        Defect::TooGood => {
            "warning: its Pearson is above the attainable one, or above the stack's by more than 0.2; \
             check that no record of this part was trained on"
        }
    };
    let (difference, low, high) = (mse.difference, mse.low, mse.high);
    format!("{name}: {sentence} (MSE minus that of the mean: {difference:+.4} [{low:+.4}, {high:+.4}])")
}

/// Compares the first model, or the ensemble of the models, with the others.
fn headline(document: &EvaluationDocument) -> Option<String> {
    let row = document.rows.iter().find(|row| row.name == ENSEMBLE).or(document.rows.first())?;
    let own = document.comparisons.iter().filter(|comparison| comparison.name == row.name);
    let results = own.filter_map(|comparison| {
        // A correlation ignores offset and scale, which errors do not.
        let mse = comparison.mse.as_ref().map_or(Ordering::Equal, |found| sign(found).reverse());
        let pearson = comparison.pearson.as_ref().map(sign);
        let result = match (pearson.unwrap_or(mse), mse) {
            (Ordering::Greater, Ordering::Less) => "better in Pearson but worse in MSE than",
            (Ordering::Less, Ordering::Greater) => "worse in Pearson but better in MSE than",
            (Ordering::Equal, Ordering::Equal) => "not significantly different from",
            (Ordering::Greater, _) | (Ordering::Equal, Ordering::Greater) => "better than",
            (Ordering::Less, _) | (Ordering::Equal, Ordering::Less) => "worse than",
        };
        (comparison.pearson.is_some() || comparison.mse.is_some())
            .then(|| format!(", {result} {}", comparison.against))
    });
    Some(format!(
        "{} has Pearson {}{}",
        row.name,
        correlation(row.metrics.pearson),
        results.collect::<String>()
    ))
}

/// Returns the sign of a difference, equal if its interval includes 0.
fn sign(found: &Difference) -> Ordering {
    match (found.low > 0.0, found.high < 0.0) {
        (true, _) => Ordering::Greater,
        (_, true) => Ordering::Less,
        _ => Ordering::Equal,
    }
}

/// Returns the table of models.
pub(super) fn rows_table(rows: &[ModelMetrics]) -> Table {
    let scale = BarScale::around(rows.iter().flat_map(|row| [row.metrics.pearson, row.high]));
    let table = Table::new([
        Column::text("model"),
        scale.column("Pearson"),
        Column::number("Pearson"),
        Column::text("95 % interval"),
        Column::number("Spearman"),
        Column::number("MSE").wide_only(),
        Column::number("RMSE").wide_only(),
        Column::number("MAE").wide_only(),
        Column::number("samples").wide_only(),
    ]);
    table.with_rows(rows.iter().map(|row| {
        let metrics = &row.metrics;
        [
            TableCell::coloured(&row.name[..], colour(&row.name)),
            scale.cell(&row.name, metrics.pearson, row.low.zip(row.high)),
            correlation(metrics.pearson).into(),
            interval(row.low, row.high).into(),
            correlation(metrics.spearman).into(),
            error(metrics.mse).into(),
            error(metrics.rmse).into(),
            error(metrics.mae).into(),
            count(metrics.count).into(),
        ]
    }))
}

/// Returns paired differences, one sentence each.
fn comparisons_section(
    comparisons: &[PairedDifference],
    rows: &[ModelMetrics],
    resamples: usize,
) -> Option<Section> {
    let sentence = |PairedDifference { name, against, pearson, mse }: &PairedDifference| {
        let pearson = pearson.map_or_else(
            || "a correlation is undefined".to_owned(),
            |found| difference("Pearson", &found, ["better", "worse"]),
        );
        let mse = mse.map_or_else(String::new, |found| difference("; MSE", &found, ["worse", "better"]));
        format!("{name} minus {against}: {pearson}{mse}")
    };
    let units = rows.first().map_or("records", |row| row.resampled.title());
    let intro = format!("paired bootstrap over {units}, {}", counted(resamples, "resample"));
    let all = [intro].into_iter().chain(comparisons.iter().map(sentence));
    lines("comparisons", all).filter(|_| !comparisons.is_empty())
}

/// Formats a difference and its finding: the first word where it lies above 0, the second where below.
fn difference(figure: &str, found: &Difference, [above, below]: [&str; 2]) -> String {
    let finding = match sign(found) {
        Ordering::Greater => above,
        Ordering::Less => below,
        Ordering::Equal => "no significant difference",
    };
    format!("{figure} {:+.4} [{:+.4}, {:+.4}]: {finding}", found.difference, found.low, found.high)
}

/// Returns the spread over seeds, one row per model and figure.
pub(super) fn spread_table(spreads: &[SeedSpread]) -> Table {
    let table = Table::new([
        Column::text("spread of"),
        Column::text("figure"),
        Column::text("over seeds of"),
        Column::number("mean"),
        Column::number("sd"),
        Column::number("lowest"),
        Column::number("highest"),
        Column::number("seeds"),
    ]);
    table.with_rows(spreads.iter().map(|spread| {
        let (figure, shown): (&str, fn(Option<f64>) -> String) = match spread.metric {
            Metric::Pearson => ("Pearson", correlation),
            Metric::Spearman => ("Spearman", correlation),
            Metric::Mse => ("MSE", error),
            Metric::Rmse => ("RMSE", error),
            Metric::Mae => ("MAE", error),
        };
        let mut row = vec![spread.name.clone(), figure.to_owned(), spread.over.to_owned()];
        row.extend([spread.mean, spread.sd, spread.low, spread.high].map(shown));
        row.push(spread.seeds.len().to_string());
        row
    }))
}
