//! Dividing samples into train, val and test.
//!
//! A split is a pure function of (dataset, scheme, seed), the same bits on every machine: units (records, query pairs
//! or genes) are ordered by a keyed hash of their *names*, so neither row order nor thread count nor platform matters,
//! and a record keeps its rank in the order when others are added.

mod divide;
mod file;
mod folds;
mod keys;

pub use folds::TrainingFold;

use crate::cell::GeneTable;
use crate::screen::Samples;
use knockout_base::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The seed of a split where none is named: one for every command, so that their figures are of the same records.
pub const DEFAULT_SPLIT_SEED: u64 = 0;

/// The unit that train, val and test never share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// Gene sets, independently of one another: all records of a set lie in one part. Records of one query pair share measurements, so
    /// this leaks.
    Random,
    /// Query pairs: no pair occurs in two parts.
    PairDisjoint,
    /// Genes: a sample is test if any of its genes is a test gene, else val if any is a val gene, else train.
    GeneDisjoint,
}

impl Scheme {
    /// The name used on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::PairDisjoint => "pair-disjoint",
            Self::GeneDisjoint => "gene-disjoint",
        }
    }

    /// All schemes.
    pub const ALL: [Self; 3] = [Self::Random, Self::PairDisjoint, Self::GeneDisjoint];
}

/// How large the parts are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Division {
    /// These shares of the samples; the rest trains.
    Shares {
        /// Share of the validation part.
        val: f64,
        /// Share of the test part.
        test: f64,
    },
    /// `folds` equal folds: this one tests, the next validates, the rest trains.
    Fold {
        /// How many folds there are, at least 3.
        folds: u32,
        /// The fold that tests, from 0.
        fold: u32,
    },
}

impl fmt::Display for Division {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shares { val, test } => write!(out, "val {val} test {test}"),
            Self::Fold { folds, fold } => write!(out, "fold {fold}/{folds}"),
        }
    }
}

impl Default for Division {
    fn default() -> Self {
        Self::Shares { val: 0.1, test: 0.1 }
    }
}

/// The recipe of a split.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SplitSpec {
    /// Unit that train, val and test never share.
    pub scheme: Scheme,
    /// How large the parts are.
    pub division: Division,
    /// Seed of the order of the units.
    pub seed: u64,
    /// Only this many samples, drawn from each part in proportion; all of them when `None`. Smaller subsets are
    /// contained in larger ones, and a subset's test part in the whole test part.
    pub subset: Option<usize>,
    /// Only this many samples of the training part; the other parts stay whole, as a learning curve needs. Smaller training parts are
    /// contained in larger ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub train_subset: Option<usize>,
}

/// A part of a split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// For fitting weights and label statistics.
    Train,
    /// For choosing checkpoints and hyper-parameters.
    Val,
    /// For the number that is reported.
    Test,
}

impl Part {
    /// The name used on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Val => "val",
            Self::Test => "test",
        }
    }

    /// All parts.
    pub const ALL: [Self; 3] = [Self::Train, Self::Val, Self::Test];
}

/// Rows of each part, ascending; disjoint, and together all rows (of the subset).
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    spec: SplitSpec,
    parts: [Vec<u32>; 3],
}

impl Split {
    /// Divides the samples; every part has at least one.
    pub fn new(samples: &Samples, genes: &GeneTable, spec: SplitSpec) -> Result<Self> {
        let keys = keys::Keys::new(samples, genes, spec.seed);
        let mut parts = divide::divide(&keys, spec.scheme, spec.division)?;
        if let Some(wanted) = spec.subset {
            divide::shrink(&keys, &mut parts, wanted)?;
        }
        if let Some(wanted) = spec.train_subset {
            divide::shrink_train(&keys, &mut parts, wanted)?;
        }
        for part in Part::ALL {
            if parts[part as usize].is_empty() {
                let (part, scheme) = (part.name(), spec.scheme.name());
                let count = spec.subset.unwrap_or(samples.len());
                return Err(Error::request(format!(
                    "the {part} part of the {scheme} split is empty: {count} samples are too few; use other shares or \
                     more samples"
                )));
            }
        }
        Ok(Self { spec, parts })
    }

    /// Creates a split that was made elsewhere: rows of train, val and test over `sample_count` samples, disjoint.
    ///
    /// The recipe describes its origin; [`Split::new`] would give other parts for it.
    pub fn from_rows(spec: SplitSpec, mut parts: [Vec<u32>; 3], sample_count: usize) -> Result<Self> {
        let mut is_taken = vec![false; sample_count];
        for (part, rows) in Part::ALL.into_iter().zip(&mut parts) {
            rows.sort_unstable();
            for &row in rows.iter() {
                let part = part.name();
                let slot = is_taken.get_mut(row as usize);
                let slot = slot.ok_or_else(|| {
                    Error::damage(format!("the {part} part names sample {row}, but there are {sample_count}"))
                })?;
                if std::mem::replace(slot, true) {
                    return Err(Error::damage(format!(
                        "sample {row} stands in the split twice, the second time in the {part} part"
                    )));
                }
            }
        }
        Ok(Self { spec, parts })
    }

    /// The recipe.
    pub fn spec(&self) -> &SplitSpec {
        &self.spec
    }

    /// The rows of a part, ascending.
    pub fn rows(&self, part: Part) -> &[u32] {
        &self.parts[part as usize]
    }

    /// Returns the part of a row; `None` outside of the subset.
    pub fn part_of(&self, row: u32) -> Option<Part> {
        Part::ALL.into_iter().find(|part| self.rows(*part).binary_search(&row).is_ok())
    }
}

/// `count` rows drawn without replacement, ascending; a pure function of the records and the seed. Smaller subsets
/// are contained in larger ones.
pub fn subset(samples: &Samples, genes: &GeneTable, seed: u64, count: usize) -> Result<Vec<u32>> {
    check_subset(count, samples.len())?;
    let keys = keys::Keys::new(samples, genes, seed);
    let mut rows: Vec<u32> = keys.records_in_order("subset").into_iter().take(count).collect();
    rows.sort_unstable();
    Ok(rows)
}

fn check_subset(wanted: usize, have: usize) -> Result<()> {
    if wanted > have {
        return Err(Error::request(format!(
            "a subset of {wanted} samples was requested, but there are {have}"
        )));
    }
    Ok(())
}
