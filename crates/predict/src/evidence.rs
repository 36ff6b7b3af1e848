//! Evidence for the hits of a finished prediction: the expected share of false ones, and what their genes have in common.

use crate::enrichment::Enrichment;
use crate::false_hits::{FalseHits, HitCutOff, HitSign};
use crate::scorer::OpenRuns;
use crate::test_records::TestRecord;
use crate::{Candidates, CutOffs, Extremes, Hit};
use knockout_base::error::Result;
use knockout_data::cell::Cell;
use knockout_data::screen::Part;
use std::collections::BTreeSet;

/// Evidence for a list of hits.
#[derive(Debug, Clone)]
pub struct HitEvidence {
    /// The chance of hits to be false; without estimates if the test part is not predicted.
    pub false_hits: FalseHits,
    /// Terms that their genes have in common; `None` if the dataset has no annotations or there are no hits.
    pub enrichment: Option<Enrichment>,
}

impl HitEvidence {
    /// Collects the evidence for the highest and for the lowest predictions; by default with the usual cut-offs for the scores.
    pub fn of(
        opened: &OpenRuns,
        candidates: &Candidates,
        extremes: &Extremes,
        cut_offs: impl FnOnce(CutOffs) -> CutOffs,
    ) -> Result<[Self; 2]> {
        let OpenRuns { dataset, split, .. } = opened;
        let labels = dataset.samples.label_stats(split.rows(Part::Train));
        let cut_offs = cut_offs(CutOffs::usual(labels.map_or(0.0, |labels| labels.sd)));
        let records = TestRecord::of(opened)?.unwrap_or_default();
        let lists = [
            (extremes.top(), HitCutOff { sign: HitSign::Positive, score: cut_offs.positive }),
            (extremes.bottom(), HitCutOff { sign: HitSign::Negative, score: cut_offs.negative }),
        ];
        let has_terms =
            !dataset.cell.annotations().is_empty() && lists.iter().any(|(hits, _)| !hits.is_empty());
        let background = if has_terms { candidates.genes() } else { BTreeSet::new() };
        Ok(lists.map(|(hits, cut_off)| Self {
            false_hits: FalseHits::new(&records, cut_off),
            enrichment: enrichment(&dataset.cell, &background, &hits),
        }))
    }
}

/// Tests the genes of hits against those of the candidates; `None` without hits or annotations.
pub fn enrichment(cell: &Cell, background: &BTreeSet<u32>, hits: &[Hit]) -> Option<Enrichment> {
    let genes: BTreeSet<u32> = hits.iter().flat_map(|hit| &hit.genes).copied().collect();
    if genes.is_empty() { None } else { Enrichment::of(cell, background, &genes) }
}
