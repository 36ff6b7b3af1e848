//! Baselines of a split.

use super::accuracy::bounds;
use super::evaluation::{heading, lines, rows_table, spread_table};
use crate::page::{Page, Section};
use knockout_base::stats::bootstrap::Bootstrap;
use knockout_data::screen::{Bounds, Dataset, Part};
use knockout_predict::FittedBaselines;
use knockout_predict::baseline::Baseline;
use knockout_predict::evaluation::{
    MeasuredScores, ModelMetrics, NamedPredictions, SeedSpread, Unseen, rows_of,
};
use serde::Serialize;
use std::path::PathBuf;

/// Document of `baseline`.
#[derive(Debug, Clone, Serialize)]
pub struct BaselineDocument {
    /// Version of this document: 1.
    pub schema: u32,
    /// Name of the dataset.
    pub dataset: String,
    /// Content hash of the dataset.
    pub data_hash: String,
    /// Scheme of the split.
    pub split: &'static str,
    /// Seed of the split.
    pub split_seed: u64,
    /// Part that is predicted.
    pub part: &'static str,
    /// Samples of the training part.
    pub train: usize,
    /// Samples of the validation part.
    pub val: usize,
    /// Bootstrap resamples of every interval.
    pub resamples: usize,
    /// Metrics of every baseline.
    pub rows: Vec<BaselineRow>,
    /// Baselines that do not apply.
    pub left_out: Vec<&'static str>,
    /// Spread over seeds.
    pub spread: Vec<SeedSpread>,
    /// Genes of the part that no training record deletes.
    pub unseen_genes: usize,
    /// Records of the part with such a gene.
    pub unseen_records: usize,
    /// Bounds of the accuracy of any model.
    #[serde(flatten)]
    pub bounds: Bounds,
    /// Folder of prediction files.
    pub out: Option<PathBuf>,
}

/// A baseline and the choices it made on the validation part.
#[derive(Debug, Clone, Serialize)]
pub struct BaselineRow {
    /// Its metrics.
    #[serde(flatten)]
    pub row: ModelMetrics,
    /// Penalty of a ridge.
    pub alpha: Option<f64>,
    /// Epoch at which training stopped.
    pub epochs: Option<usize>,
    /// Seed of the weights.
    pub seed: Option<u64>,
}

impl BaselineDocument {
    /// Describes the baselines of one split, or of several with their spread. `seed` is that of the first weights.
    ///
    /// # Panics
    ///
    /// If no split was fitted.
    pub fn of(
        dataset: &Dataset,
        by_split: &[FittedBaselines],
        seed: u64,
        bootstrap: &Bootstrap,
        out: Option<PathBuf>,
    ) -> Self {
        let FittedBaselines { split, part, fitted } = &by_split[0];
        let (part, scheme) = (*part, split.spec().scheme.name());
        let measured = MeasuredScores::of(dataset, split, part);
        // One line per baseline: of several MLPs the first, the others are in the spread.
        let lines: Vec<_> = fitted.iter().filter(|(_, own)| own.is_none_or(|own| own == seed)).collect();
        let models: Vec<NamedPredictions<'_>> = lines
            .iter()
            .map(|(fitted, _)| NamedPredictions {
                name: fitted.baseline.name(),
                predictions: &fitted.predictions,
            })
            .collect();
        let rows = rows_of(&models, &measured, scheme, part, bootstrap).into_iter().zip(&lines);
        let rows = rows.map(|(row, (fitted, seed))| BaselineRow {
            row,
            alpha: fitted.alpha,
            epochs: fitted.epochs,
            seed: *seed,
        });
        let is_there = |baseline: &Baseline| lines.iter().any(|(fitted, _)| fitted.baseline == *baseline);
        let unseen = Unseen::of(dataset, split, part);
        let spread = by_split[0]
            .over_seeds(dataset)
            .into_iter()
            .chain(FittedBaselines::over_splits(dataset, by_split));
        Self {
            schema: 1,
            dataset: dataset.manifest.name.clone(),
            data_hash: dataset.manifest.data_hash(),
            split: scheme,
            split_seed: split.spec().seed,
            part: part.name(),
            train: split.rows(Part::Train).len(),
            val: split.rows(Part::Val).len(),
            resamples: bootstrap.resamples,
            rows: rows.collect(),
            left_out: Baseline::ALL.iter().filter(|b| !is_there(b)).map(|b| b.name()).collect(),
            spread: spread.collect(),
            unseen_genes: unseen.genes,
            unseen_records: unseen.records,
            bounds: dataset.manifest.bounds(),
            out,
        }
    }
}

/// Returns the page of baselines.
pub fn baseline_page(document: &BaselineDocument) -> Page {
    let rows: Vec<ModelMetrics> = document.rows.iter().map(|row| row.row.clone()).collect();
    let unseen = Unseen { genes: document.unseen_genes, records: document.unseen_records };
    let mut findings = heading(&rows, document.split, document.split_seed, document.part, Some(unseen));
    findings[0].insert_str(0, &format!("{}, ", document.dataset));
    let mut sections = vec![Section::new("baselines", "").with(rows_table(&rows))];
    sections.extend(lines("bounds", bounds(&document.bounds)));
    sections.extend(lines("choices", choices(document)));
    if !document.spread.is_empty() {
        sections.push(Section::new("spread", "").with(spread_table(&document.spread)));
    }
    let files = document.out.as_ref().map(|out| format!("prediction files are in {}", out.display()));
    sections.extend(lines("files", files));
    Page {
        title: format!("Baselines on {}", document.dataset),
        made_by: "knockout baseline".to_owned(),
        findings,
        sections,
        ..Page::default()
    }
}

/// Describes choices made on the validation part, and baselines that do not apply.
fn choices(document: &BaselineDocument) -> Vec<String> {
    let mut lines = Vec::new();
    for row in &document.rows {
        let name = &row.row.name;
        lines.extend(row.alpha.map(|alpha| format!("{name}: alpha {alpha} chosen on the val part")));
        lines.extend(row.epochs.zip(row.seed).map(|(epochs, seed)| {
            format!("{name}: seed {seed}, stopped on the val part, epoch {epochs} kept")
        }));
    }
    match document.part {
        "val" => lines.push("these choices were made on the part shown: its figures are too high".to_owned()),
        "train" => lines.push("everything was fitted to the part shown: its figures are too high".to_owned()),
        _ => (),
    }
    for (needs_queries, why) in [
        (true, "no training sample has a query pair"),
        (false, "networks or a validation part to choose settings on are missing"),
    ] {
        let missing = Baseline::ALL.iter().filter(|baseline| baseline.needs_queries() == needs_queries);
        let missing = missing.map(|baseline| baseline.name()).filter(|name| document.left_out.contains(name));
        let missing: Vec<&str> = missing.collect();
        if !missing.is_empty() {
            lines.push(format!("left out: {} ({why})", missing.join(", ")));
        }
    }
    lines
}
