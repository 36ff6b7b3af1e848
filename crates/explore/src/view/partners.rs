//! Predictions of one gene with every other, beside measured scores.

use super::answer::Problem;
use super::shared::Shown;
use crate::model::{MOST_SLOW_SETS, Model, Predicted, sorted};
use crate::query::Query;
use knockout_data::cell::GeneSets;
use knockout_data::screen::Part;
use knockout_predict::{Hit, HitNotes, MeasuredSet};
use knockout_report::lab::HitDocument;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A predicted set of the gene and a partner.
#[derive(Debug, Serialize)]
pub(super) struct Partner {
    #[serde(flatten)]
    pub(super) hit: HitDocument,
    /// Lower and upper end of the 95 % interval.
    pub(super) interval: Option<[f64; 2]>,
    /// Measured score.
    pub(super) score: Option<f64>,
    /// Part of the split that has the measured sample.
    pub(super) part: Option<Part>,
    /// Row of the partner in the gene table.
    #[serde(rename = "partner")]
    pub(super) gene: u32,
    #[serde(skip)]
    pub(super) predicted: Predicted,
    #[serde(skip)]
    pub(super) set: Vec<u32>,
}

/// Predictions for the partners of a gene.
pub(super) struct Partners {
    /// Other genes that every set has.
    pub(super) with: Vec<u32>,
    /// Sets by ascending prediction.
    pub(super) list: Vec<Partner>,
    /// Whether only measured partners and neighbours were tried: the model is slow.
    pub(super) is_partial: bool,
    /// Genes of a set.
    pub(super) order: usize,
}

impl Partners {
    /// Predicts the partners of a gene; none for a dataset alone.
    pub(super) fn of(shown: &Shown, gene: u32, query: &Query) -> Result<Self, Problem> {
        let model = &*shown.model;
        let with = with(shown, gene, query)?;
        let order = 2 + with.len();
        let mut fixed = with.clone();
        fixed.push(gene);
        let all = || (0..model.genes().len() as u32).filter(|other| !fixed.contains(other));
        let is_partial = !model.is_fast();
        let candidates: Vec<u32> = if is_partial { near(model, gene, &fixed) } else { all().collect() };
        let sets: Vec<Vec<u32>> =
            candidates.iter().map(|&partner| sorted(&[&fixed[..], &[partner]].concat())).collect();
        let batch: GeneSets = sets.iter().map(Vec::as_slice).collect();
        let Some(predicted) = model.predict(&batch)? else {
            return Ok(Self { with, list: Vec::new(), is_partial: false, order });
        };
        let measured = model.measured(gene);
        let none: [&Hit; 0] = [];
        let notes = HitNotes::new(model.dataset(), None, none);
        let mut list = Vec::with_capacity(sets.len());
        for ((partner, set), predicted) in candidates.into_iter().zip(sets).zip(predicted) {
            let hit =
                Hit { number: u64::from(partner), genes: set, prediction: predicted.mean, sd: predicted.sd };
            // Several where the alleles of the set were measured apart; all are in one part.
            let rows = measured.get(&hit.genes[..]);
            let found = rows.and_then(|rows| MeasuredSet::of(&model.dataset().samples, rows, None));
            let mut document = HitDocument::of(&hit, model.genes(), &notes).with_measured(found);
            document.regime = model.regime(&hit.genes);
            list.push(Partner {
                score: document.measured_score,
                hit: document,
                interval: predicted.half_width.map(|half| [predicted.mean - half, predicted.mean + half]),
                part: rows.and_then(|rows| model.part(*rows.first()?)),
                gene: partner,
                predicted,
                set: hit.genes,
            });
        }
        list.sort_by(|a, b| a.predicted.mean.total_cmp(&b.predicted.mean).then(a.gene.cmp(&b.gene)));
        Ok(Self { with, list, is_partial, order })
    }

    /// Returns the partners that the filters of a query leave.
    pub(super) fn filtered(&self, query: &Query) -> Vec<&Partner> {
        let hides = |name: &str| query.get(name) == "hide";
        let keeps = |partner: &&Partner| {
            let hit = &partner.hit;
            let is_essential = hit.essential.as_ref().is_some_and(|genes| !genes.is_empty());
            !(hides("measured") && hit.measured
                || hides("essential") && is_essential
                || hides("new")
                    && hit.regime.is_some_and(|regime| regime != knockout_data::screen::Regime::Known))
        };
        self.list.iter().filter(keeps).collect()
    }
}

/// Returns the genes that every set has beside the one shown: those of the query, or the most frequent one of its triples where
/// training has no pairs.
fn with(shown: &Shown, gene: u32, query: &Query) -> Result<Vec<u32>, Problem> {
    let model = &*shown.model;
    if query.has("with") {
        let names = query.get("with").split([',', ' ']).filter(|name| !name.is_empty());
        let with = names.map(|name| shown.gene(name)).collect::<Result<Vec<u32>, Problem>>()?;
        let with: BTreeSet<u32> = with.into_iter().filter(|&other| other != gene).collect();
        if with.len() > 3 {
            return Err(Problem::wrong("name at most three genes in \u{201c}with\u{201d}"));
        }
        return Ok(with.into_iter().collect());
    }
    if model.trained_orders().is_empty() || model.trained_orders().contains(&2) {
        return Ok(Vec::new());
    }
    let mut frequent: BTreeMap<u32, usize> = BTreeMap::new();
    for &row in model.rows(gene) {
        let set = model.dataset().samples.genes(row as usize);
        if set.len() == 3 {
            set.iter()
                .filter(|&&other| other != gene)
                .for_each(|&other| *frequent.entry(other).or_default() += 1);
        }
    }
    let most = frequent.into_iter().max_by_key(|&(other, count)| (count, std::cmp::Reverse(other)));
    Ok(most.map(|(other, _)| other).into_iter().collect())
}

/// Returns partners that a slow model predicts: neighbours in most networks, then measured ones.
fn near(model: &Model, gene: u32, fixed: &[u32]) -> Vec<u32> {
    let mut found: Vec<u32> =
        neighbours(model, gene, &|_| true).into_iter().map(|(other, _)| other).collect();
    for &row in model.rows(gene) {
        found.extend(model.dataset().samples.genes(row as usize));
    }
    let mut seen: BTreeSet<u32> = fixed.iter().copied().collect();
    found.retain(|&other| seen.insert(other));
    found.truncate(MOST_SLOW_SETS);
    found
}

/// Returns the neighbours of a gene in the networks that are wanted, with the number of networks, most first.
pub(super) fn neighbours(model: &Model, gene: u32, wants: &dyn Fn(&str) -> bool) -> Vec<(u32, usize)> {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    for network in model.dataset().cell.networks().iter().filter(|network| wants(network.name())) {
        let row = |lists: &knockout_data::cell::AdjacencyLists| lists.row(gene as usize).to_vec();
        let ends: BTreeSet<u32> =
            row(network.outgoing()).into_iter().chain(row(network.incoming())).collect();
        ends.into_iter()
            .filter(|&other| other != gene)
            .for_each(|other| *counts.entry(other).or_default() += 1);
    }
    let mut found: Vec<(u32, usize)> = counts.into_iter().collect();
    found.sort_by_key(|&(other, count)| (std::cmp::Reverse(count), other));
    found
}
