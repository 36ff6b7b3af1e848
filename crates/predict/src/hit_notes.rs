//! Notes on a hit: its regime, and whether its genes are measured, essential or linked.

use crate::{Hit, TrainedGenes};
use knockout_data::cell::{Annotations, Cell, Separation};
use knockout_data::screen::{Dataset, Part, Regime, Samples, Split};
use serde::Serialize;
use std::collections::{BTreeSet, HashMap};
use std::sync::OnceLock;

/// Name of the annotations whose genes are essential.
pub const ESSENTIAL: &str = "essential";
/// Bases below which genes cannot be separated by a cross.
const LINKED_BASES: u32 = 50_000;
/// Bases below which linkage still lowers the score.
const NEAR_BASES: u32 = 100_000;

/// Linkage of the genes of a set: that of the closest two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Linkage {
    /// The position of a gene is not known, and no two others are close.
    Unknown,
    /// No two genes are within 100 kb.
    None,
    /// Two genes are within 100 kb: the score may reflect linkage.
    Near,
    /// Two genes are within 50 kb: a cross cannot combine their deletions reliably.
    Linked,
}

/// Class of a set by the way in which it can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HitClass {
    /// Nothing that is known.
    Usual,
    /// Two genes are linked: a cross seldom combines their deletions.
    Linked,
    /// Two genes are essential: only other alleles of them can be combined.
    Essential,
}

impl HitClass {
    /// Returns the class of a set by its linkage and its number of essential genes.
    pub fn of(linkage: Linkage, essential: usize) -> Self {
        match linkage {
            Linkage::Linked => Self::Linked,
            _ if essential > 1 => Self::Essential,
            _ => Self::Usual,
        }
    }
}

/// Kind of a set: the chance of a hit to be false is taken from test records of the same kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HitKind {
    /// Number of genes.
    pub order: usize,
    /// Whether training has seen the genes.
    pub regime: Regime,
    /// Class by the way in which it can be measured.
    pub class: HitClass,
}

/// A sample of a set that was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredSample {
    /// Its alleles joined with `+`, or its kind of perturbation.
    pub perturbation: String,
    /// Its score.
    pub score: f64,
    /// How many measurements were merged into it.
    pub measurements: u32,
}

impl MeasuredSample {
    /// Writes samples into a cell of a table: `cdc48-3+deletion: -1.25; damp: -0.5`.
    pub fn cell(samples: &[Self]) -> String {
        let texts = samples.iter().map(|sample| format!("{}: {}", sample.perturbation, sample.score));
        texts.collect::<Vec<_>>().join("; ")
    }
}

/// Measurement of a set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredSet {
    /// The mean score of its samples, weighted by their measurements.
    pub score: f64,
    /// The part of the split that its samples are in; `None` outside of the subset, or if the split is not known.
    pub part: Option<Part>,
    /// Its samples; empty for a single one whose alleles are not stored.
    pub samples: Vec<MeasuredSample>,
}

impl MeasuredSet {
    /// Describes a set by its rows among the samples, which are all in one part; `None` without any.
    pub fn of(samples: &Samples, rows: &[u32], split: Option<&Split>) -> Option<Self> {
        let first = *rows.first()? as usize;
        let sample = |&row: &u32| {
            let found = samples.get(row as usize);
            MeasuredSample {
                perturbation: samples.perturbation(row as usize),
                score: found.score,
                measurements: found.duplicates,
            }
        };
        let is_listed = rows.len() > 1 || samples.alleles(first).len() > 0;
        let listed = if is_listed { rows.iter().map(sample).collect() } else { Vec::new() };
        let part = split.and_then(|split| split.part_of(*rows.first()?));
        Some(Self { score: samples.mean_score(rows), part, samples: listed })
    }
}

/// Notes on a hit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HitNote {
    /// Its regime; `None` if the training part is not known.
    pub regime: Option<Regime>,
    /// Its measurement; `None` if the dataset has no score for it.
    pub measured: Option<MeasuredSet>,
    /// Its essential genes; `None` if the dataset has no such annotations.
    pub essential: Option<Vec<u32>>,
    /// Linkage of its genes.
    pub linkage: Linkage,
    /// Bases between the closest two genes on one chromosome.
    pub distance: Option<u32>,
}

/// Notes on the hits of some predictions.
#[derive(Debug)]
pub struct HitNotes<'a> {
    cell: &'a Cell,
    samples: &'a Samples,
    split: Option<&'a Split>,
    /// Genes of the training part, computed when a regime is first needed.
    trained: OnceLock<TrainedGenes>,
    essential: Option<&'a Annotations>,
    /// Rows of the hits among the samples.
    measured: HashMap<&'a [u32], Vec<u32>>,
}

impl<'a> HitNotes<'a> {
    /// Prepares the notes of some hits; without the split, regimes and parts are unknown.
    pub fn new<'h>(
        dataset: &'a Dataset,
        split: Option<&'a Split>,
        hits: impl IntoIterator<Item = &'h Hit>,
    ) -> Self {
        let (cell, samples) = (&*dataset.cell, &dataset.samples);
        let wanted: BTreeSet<&[u32]> = hits.into_iter().map(|hit| &hit.genes[..]).collect();
        let mut measured: HashMap<&[u32], Vec<u32>> = HashMap::new();
        if !wanted.is_empty() {
            for (set, row) in samples.gene_sets().iter().zip(0..) {
                if wanted.contains(set) {
                    measured.entry(set).or_default().push(row);
                }
            }
        }
        Self {
            cell,
            samples,
            split,
            trained: OnceLock::new(),
            essential: cell.annotation(ESSENTIAL),
            measured,
        }
    }

    /// Returns the notes of the set of a hit.
    pub fn note(&self, genes: &[u32]) -> HitNote {
        let (linkage, distance) = self.linkage(genes);
        HitNote {
            regime: self.split.map(|split| {
                let trained = || TrainedGenes::of(self.samples, self.cell.genes().len(), split);
                self.trained.get_or_init(trained).regime(genes)
            }),
            measured: self.measured(genes),
            essential: self.essential_genes(genes),
            linkage,
            distance,
        }
    }

    /// Returns what was measured of the set of a hit; `None` if the dataset has no score for it.
    pub(crate) fn measured(&self, genes: &[u32]) -> Option<MeasuredSet> {
        self.measured.get(genes).and_then(|rows| MeasuredSet::of(self.samples, rows, self.split))
    }

    /// Returns the kind of a set of this regime.
    pub fn kind(&self, genes: &[u32], regime: Regime) -> HitKind {
        let essential = self.essential_genes(genes).map_or(0, |essential| essential.len());
        HitKind { order: genes.len(), regime, class: HitClass::of(self.linkage(genes).0, essential) }
    }

    /// Returns the essential genes of a set; `None` if the dataset has no such annotations.
    fn essential_genes(&self, genes: &[u32]) -> Option<Vec<u32>> {
        let set = self.essential?;
        Some(genes.iter().copied().filter(|&gene| !set.terms_of(gene).is_empty()).collect())
    }

    fn linkage(&self, genes: &[u32]) -> (Linkage, Option<u32>) {
        let Some(positions) = self.cell.positions() else { return (Linkage::Unknown, None) };
        let (mut closest, mut is_unknown) = (None, false);
        for (index, &a) in genes.iter().enumerate() {
            for &b in &genes[index + 1..] {
                match positions.separation(a, b) {
                    Separation::Unknown => is_unknown = true,
                    Separation::OtherChromosome => {}
                    Separation::Bases(bases) => {
                        closest = Some(closest.map_or(bases, |closest: u32| closest.min(bases)));
                    }
                }
            }
        }
        let linkage = match closest {
            Some(bases) if bases < LINKED_BASES => Linkage::Linked,
            Some(bases) if bases < NEAR_BASES => Linkage::Near,
            _ if is_unknown => Linkage::Unknown,
            _ => Linkage::None,
        };
        (linkage, closest)
    }
}

impl Linkage {
    /// Returns the word in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::None => "none",
            Self::Near => "near",
            Self::Linked => "linked",
        }
    }
}
