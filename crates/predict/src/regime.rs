//! Genes and query strains that training has seen, and what the records of a part share.

use knockout_base::stats::bootstrap::{Resampling, SharedUnits};
use knockout_data::screen::{Dataset, Part, Regime, Samples, Split};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// Genes and query strains that training has records of.
#[derive(Debug, Clone)]
pub struct TrainedGenes {
    is_trained: Vec<bool>,
    queries: BTreeMap<Vec<u32>, u32>,
    /// Queries below this number are those of training.
    trained_queries: u32,
}

/// Records with a new unit below this share of a part do not decide what is resampled.
const FEW: f64 = 0.01;

impl TrainedGenes {
    /// Collects the genes and query strains of the training part.
    pub fn of(samples: &Samples, gene_count: usize, split: &Split) -> Self {
        let mut is_trained = vec![false; gene_count];
        let mut queries: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        let mut number = |query: &[u32]| {
            if !queries.contains_key(query) {
                queries.insert(query.to_vec(), queries.len() as u32);
            }
            queries.len() as u32
        };
        let mut trained_queries = 0;
        for &row in split.rows(Part::Train) {
            samples.genes(row as usize).iter().for_each(|&gene| is_trained[gene as usize] = true);
            trained_queries = number(samples.query(row as usize));
        }
        (0..samples.len()).for_each(|row| {
            number(samples.query(row));
        });
        Self { is_trained, queries, trained_queries }
    }

    /// Returns whether training has a record of a gene.
    pub fn has(&self, gene: u32) -> bool {
        self.is_trained[gene as usize]
    }

    /// Returns the regime of a set.
    pub fn regime(&self, set: &[u32]) -> Regime {
        Regime::of(set, &self.is_trained)
    }

    /// Returns the indices of rows by regime, for the regimes that occur.
    pub fn by_regime(&self, samples: &Samples, rows: &[u32]) -> BTreeMap<Regime, Vec<usize>> {
        let mut found: BTreeMap<Regime, Vec<usize>> = BTreeMap::new();
        for (index, &row) in rows.iter().enumerate() {
            found.entry(self.regime(samples.genes(row as usize))).or_default().push(index);
        }
        found
    }

    /// Returns the units that records of some rows share, which determine the uncertainty of their figures.
    ///
    /// Records of new genes share the effects of these genes, so genes are resampled, the new ones among themselves. Records of
    /// new query strains share the strain. Records of known genes and strains are independent given the training part, but for those of
    /// one gene set: they have one prediction.
    pub fn shared(&self, samples: &Samples, rows: &[u32]) -> SharedRecords {
        let share = |is_new: &dyn Fn(u32) -> bool| {
            rows.iter().filter(|&&row| is_new(row)).count() as f64 / rows.len().max(1) as f64
        };
        let has_new_gene = |row: u32| samples.genes(row as usize).iter().any(|&gene| !self.has(gene));
        let query = |row: u32| self.queries.get(samples.query(row as usize)).copied().unwrap_or(0);
        if share(&has_new_gene) > FEW {
            let genes = rows.iter().map(|&row| samples.genes(row as usize).iter().copied());
            let units = SharedUnits::new(genes, |gene| usize::from(!self.has(gene)));
            SharedRecords { units: ResampledUnits::Genes, resampling: Resampling::Units(units) }
        } else if share(&|row| query(row) >= self.trained_queries) > FEW {
            // Query strains follow the genes in the numbering of units.
            let genes = self.is_trained.len() as u32;
            let units = rows.iter().map(|&row| {
                let strain = samples.query(row as usize);
                let others = samples.genes(row as usize).iter().filter(|gene| !strain.contains(gene));
                others.copied().chain([genes + query(row)])
            });
            let stratum = |unit: u32| match unit.checked_sub(genes) {
                None => 0,
                Some(query) => 1 + usize::from(query >= self.trained_queries),
            };
            let units = SharedUnits::new(units, stratum);
            SharedRecords { units: ResampledUnits::QueryStrains, resampling: Resampling::Units(units) }
        } else if samples.has_alleles() && samples.repeated_sets(rows.iter().copied()) > 0 {
            let mut numbers: HashMap<&[u32], u32> = HashMap::new();
            let units = rows.iter().map(|&row| {
                let next = numbers.len() as u32;
                [*numbers.entry(samples.genes(row as usize)).or_insert(next)]
            });
            let units = SharedUnits::new(units, |_| 0);
            SharedRecords { units: ResampledUnits::GeneSets, resampling: Resampling::Units(units) }
        } else {
            SharedRecords::default()
        }
    }
}

/// Units that records share and that are resampled together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SharedRecords {
    /// The elements that are resampled.
    pub units: ResampledUnits,
    /// How to resample them.
    pub resampling: Resampling,
}

/// The elements that were resampled for an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResampledUnits {
    /// Single records.
    #[default]
    Records,
    /// Gene sets, of which some have several records.
    GeneSets,
    /// Genes.
    Genes,
    /// Query strains and array genes.
    QueryStrains,
}

impl ResampledUnits {
    /// Names the elements in a sentence.
    pub fn title(self) -> &'static str {
        match self {
            Self::Records => "records",
            Self::GeneSets => "gene sets",
            Self::Genes => "genes",
            Self::QueryStrains => "query strains",
        }
    }
}

/// The measured scores of some records, and what the records share.
#[derive(Debug, Clone, Default)]
pub struct MeasuredScores {
    /// The scores.
    pub scores: Vec<f64>,
    /// Units that the records share.
    pub shared: SharedRecords,
}

impl MeasuredScores {
    /// Collects the scores of a part.
    pub fn of(dataset: &Dataset, split: &Split, part: Part) -> Self {
        let trained = TrainedGenes::of(&dataset.samples, dataset.cell.genes().len(), split);
        Self::of_rows(&dataset.samples, split.rows(part), &trained)
    }

    /// Collects the scores of some rows.
    pub fn of_rows(samples: &Samples, rows: &[u32], trained: &TrainedGenes) -> Self {
        Self {
            scores: rows.iter().map(|&row| samples.scores()[row as usize]).collect(),
            shared: trained.shared(samples, rows),
        }
    }
}
