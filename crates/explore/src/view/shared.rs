//! Pieces that several views have.

use super::answer::{Problem, source};
use crate::catalog::Source;
use crate::explorer::Explorer;
use crate::model::{Model, Predicted};
use crate::query::{Query, address};
use knockout_data::screen::Regime;
use knockout_predict::{AccuracySource, RegimeAccuracy};
use knockout_report::page::{Field, Page};
use knockout_report::units::{count, counted};
use std::sync::Arc;

/// The command below every page.
pub(super) const MADE_BY: &str = "knockout explore";

/// The caveat beside predictions of sets whose scores a run was fitted to.
pub(super) const FITTED: &str = "The run was fitted to the scores of the train part. Its predictions of these sets are closer to the \
                                 scores than those of new sets.";

/// The run or dataset of a request.
pub(super) struct Shown {
    pub(super) source: Source,
    pub(super) model: Arc<Model>,
}

impl Shown {
    pub(super) fn of(explorer: &Explorer, query: &Query) -> Result<Self, Problem> {
        let source = source(&explorer.catalog, query.get("of"))?;
        let model = explorer.models.open(&source)?;
        Ok(Self { source, model })
    }

    pub(super) fn label(&self) -> &str {
        &self.source.label
    }

    /// Returns the row of a gene of any name.
    pub(super) fn gene(&self, name: &str) -> Result<u32, Problem> {
        let genes = self.model.genes();
        let found = genes.find(name.trim());
        found.map(|id| id.0).ok_or_else(|| {
            let similar = genes
                .similar(name.trim())
                .into_iter()
                .map(|like| (like.to_owned(), address("gene", &[("of", self.label()), ("name", like)])));
            Problem::missing(format!("{name} is not a gene of {}", self.model.dataset().manifest.name))
                .with_links(similar)
        })
    }

    /// Returns the address of the page of a gene.
    pub(super) fn gene_address(&self, gene: u32) -> String {
        address("gene", &[("of", self.label()), ("name", self.model.systematic(gene))])
    }

    /// Returns the address of the page of a set.
    pub(super) fn set_address(&self, set: &[u32]) -> String {
        let genes: Vec<&str> = set.iter().map(|&gene| self.model.systematic(gene)).collect();
        address("set", &[("of", self.label()), ("genes", &genes.join(","))])
    }

    /// Returns the names of the genes of a set that are not in another.
    pub(super) fn names(&self, set: &[u32], without: &[u32]) -> String {
        let names = set.iter().filter(|gene| !without.contains(gene)).map(|&gene| self.model.name(gene));
        names.collect::<Vec<_>>().join(" ")
    }
}

/// Returns the choice of the run or dataset.
pub(super) fn source_field(explorer: &Explorer, chosen: &str) -> Field {
    let mut choices: Vec<(String, String)> = explorer
        .catalog
        .sources()
        .iter()
        .map(|source| (source.label.clone(), source.label.clone()))
        .collect();
    if choices.iter().all(|(label, _)| label != chosen) {
        choices.push((chosen.to_owned(), chosen.to_owned()));
    }
    Field::Choice { name: "of".to_owned(), label: "from".to_owned(), choices, chosen: chosen.to_owned() }
}

/// Returns a page that is empty but for its title.
pub(super) fn empty_page(title: impl Into<String>, subtitle: impl Into<String>) -> Page {
    Page { title: title.into(), subtitle: subtitle.into(), made_by: MADE_BY.to_owned(), ..Page::default() }
}

/// Formats a score.
pub(super) fn score(value: f64) -> String {
    format!("{value:.4}")
}

/// Formats a number that may be unknown.
pub(super) fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "–".to_owned())
}

/// Formats the 95 % interval of a prediction.
pub(super) fn interval(predicted: &Predicted) -> String {
    or_dash(
        predicted
            .half_width
            .map(|half| format!("[{:.4}, {:.4}]", predicted.mean - half, predicted.mean + half)),
    )
}

/// Describes the accuracy of predictions of a size and regime.
pub(super) fn accuracy_sentence(model: &Model, order: usize, regime: Option<Regime>) -> String {
    let Some(regime) = regime else { return "the training part is unknown".to_owned() };
    let unknown = |why: &str| format!("{}: accuracy unknown ({why})", regime.title());
    let found = match model.accuracy() {
        Ok(found) => found.iter().find(|found| found.genes == order && found.regime == regime),
        Err(error) => return unknown(error),
    };
    let Some(RegimeAccuracy { pearson, low, high, records, source, .. }) = found else {
        return unknown(&format!("no training sample has {}", counted(order, "gene")));
    };
    let Some(pearson) = pearson else { return unknown("too few test samples of this kind") };
    let bounds = low.zip(*high).map(|(low, high)| format!(" [{low:.2}, {high:.2}]")).unwrap_or_default();
    let place = match source {
        AccuracySource::Folds => "held-out predictions of the training part",
        _ => "samples of the test part",
    };
    format!("{}: Pearson {pearson:.2}{bounds} on {} {place}", regime.title(), count(*records))
}
