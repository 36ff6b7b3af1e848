//! Terms that the genes of hits have more often than those of the candidates.
//!
//! The units are genes: those of the hits are a draw without replacement from those of the candidates, if terms have nothing to do with
//! hits. The probability of so many genes with a term is the upper tail of a hypergeometric distribution. It is corrected for the number
//! of terms by Benjamini and Hochberg. Genes that every candidate has are neither drawn nor counted.

use crate::hit_notes::ESSENTIAL;
use knockout_data::cell::{Annotations, Cell};
use serde::Serialize;
use std::collections::BTreeSet;

/// False-discovery rate up to which terms are listed.
pub const ENRICHED: f64 = 0.05;
/// Fewest candidate genes of a term that is tested.
const FEWEST_OF_TERM: usize = 2;

/// Terms that are enriched among the genes of hits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Enrichment {
    /// Genes of the hits.
    pub hits: usize,
    /// Genes of the candidates: the background.
    pub candidates: usize,
    /// Terms that were tested.
    pub tested: usize,
    /// Terms with a false-discovery rate of at most [`ENRICHED`], the most certain first.
    pub terms: Vec<EnrichedTerm>,
}

/// A term that hits have more often than candidates.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EnrichedTerm {
    /// Name of the set of annotations.
    pub annotations: String,
    /// The term.
    pub term: String,
    /// Genes of the hits that have it.
    pub hits: usize,
    /// Genes of the candidates that have it.
    pub candidates: usize,
    /// Genes of the hits expected to have it by chance.
    pub expected: f64,
    /// Probability of so many genes by chance.
    pub p: f64,
    /// Smallest false-discovery rate at which the term is listed.
    pub q: f64,
    /// Names of the genes of the hits that have it.
    pub genes: Vec<String>,
}

impl Enrichment {
    /// Tests all terms of the cell's annotations beside that of essential genes; `None` if it has none. Genes of the hits that no candidate has
    /// do not count.
    pub fn of(cell: &Cell, candidates: &BTreeSet<u32>, hits: &BTreeSet<u32>) -> Option<Self> {
        let tested: Vec<&Annotations> =
            cell.annotations().iter().filter(|annotations| annotations.name() != ESSENTIAL).collect();
        if tested.is_empty() {
            return None;
        }
        let hits: Vec<u32> = hits.intersection(candidates).copied().collect();
        let chance = Hypergeometric::new(candidates.len(), hits.len());
        let mut terms = Vec::new();
        for annotations in tested {
            let mut counts = vec![0_usize; annotations.terms().len()];
            for &gene in candidates {
                annotations.terms_of(gene).iter().for_each(|&term| counts[term as usize] += 1);
            }
            let mut found: Vec<Vec<u32>> = vec![Vec::new(); counts.len()];
            for &gene in &hits {
                annotations.terms_of(gene).iter().for_each(|&term| found[term as usize].push(gene));
            }
            for (term, (candidates, genes)) in counts.into_iter().zip(found).enumerate() {
                if candidates < FEWEST_OF_TERM {
                    continue;
                }
                let name = |&gene: &u32| cell.genes().genes()[gene as usize].name().to_owned();
                terms.push(EnrichedTerm {
                    annotations: annotations.name().to_owned(),
                    term: annotations.terms()[term].clone(),
                    hits: genes.len(),
                    candidates,
                    expected: chance.expected(candidates),
                    p: chance.upper_tail(candidates, genes.len()),
                    q: 1.0,
                    genes: genes.iter().map(name).collect(),
                });
            }
        }
        let tested = terms.len();
        terms.sort_by(|a, b| a.p.total_cmp(&b.p));
        let probabilities: Vec<f64> = terms.iter().map(|term| term.p).collect();
        for (term, q) in terms.iter_mut().zip(benjamini_hochberg(&probabilities)) {
            term.q = q;
        }
        terms.retain(|term| term.q <= ENRICHED);
        Some(Self { hits: hits.len(), candidates: candidates.len(), tested, terms })
    }
}

/// Returns the false-discovery rates of ascending probabilities.
fn benjamini_hochberg(ascending: &[f64]) -> Vec<f64> {
    let count = ascending.len() as f64;
    let mut rates: Vec<f64> =
        ascending.iter().zip(1..).map(|(p, rank)| (p * count / f64::from(rank)).min(1.0)).collect();
    let mut smallest = 1.0_f64;
    for rate in rates.iter_mut().rev() {
        smallest = smallest.min(*rate);
        *rate = smallest;
    }
    rates
}

/// The number of marked elements in a draw without replacement.
struct Hypergeometric {
    population: usize,
    draws: usize,
    /// Logarithms of the factorials up to the population.
    ln_factorials: Vec<f64>,
}

impl Hypergeometric {
    fn new(population: usize, draws: usize) -> Self {
        let mut ln_factorials = vec![0.0; population + 1];
        for number in 1..=population {
            ln_factorials[number] = ln_factorials[number - 1] + (number as f64).ln();
        }
        Self { population, draws, ln_factorials }
    }

    fn expected(&self, marked: usize) -> f64 {
        self.draws as f64 * marked as f64 / self.population.max(1) as f64
    }

    fn ln_choose(&self, n: usize, k: usize) -> f64 {
        self.ln_factorials[n] - self.ln_factorials[k] - self.ln_factorials[n - k]
    }

    /// Returns the probability of at least `found` of `marked` elements in the draw.
    fn upper_tail(&self, marked: usize, found: usize) -> f64 {
        let (others, most) = (self.population - marked, marked.min(self.draws));
        if found <= self.draws.saturating_sub(others) {
            return 1.0;
        }
        if found > most {
            return 0.0;
        }
        let all = self.ln_choose(self.population, self.draws);
        let mut term =
            (self.ln_choose(marked, found) + self.ln_choose(others, self.draws - found) - all).exp();
        let mut sum = 0.0;
        for k in found..=most {
            sum += term;
            // The ratio of the next term to this one.
            let ahead = (marked - k) as f64 * (self.draws - k) as f64;
            term *= ahead / ((k + 1) as f64 * (others + k + 1 - self.draws) as f64);
        }
        sum.min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_base::random::Rng;
    use knockout_data::cell::{Annotations, GeneTable};

    /// Tails of `scipy.stats.hypergeom.sf(k - 1, N, K, n)` of scipy 1.17.
    #[test]
    fn tails_are_those_of_scipy() {
        for (population, marked, draws, found, expected) in [
            (743, 12, 90, 7, 0.000_146_093_809_394_146_35),
            (743, 12, 90, 1, 0.790_243_222_326_405_8),
            (6607, 150, 300, 25, 1.137_766_034_419_722_5e-8),
            (50, 10, 45, 8, 0.951_739_696_803_790_9),
            (20, 5, 5, 5, 6.449_948_400_412_798e-5),
            (1000, 3, 10, 2, 0.000_268_825_940_168_625_56),
            (6607, 40, 5, 0, 1.0),
            (743, 300, 90, 60, 7.156_644_931_435_131e-8),
            (2000, 800, 1500, 650, 6.433_350_999_565_314e-8),
            // More than half of the population is drawn, so one at least is marked.
            (10, 6, 5, 1, 1.0),
            (10, 2, 5, 3, 0.0),
        ] {
            let tail = Hypergeometric::new(population, draws).upper_tail(marked, found);
            assert!(
                (tail - expected).abs() <= 1e-9 * expected,
                "{population} {marked} {draws} {found}: {tail}"
            );
        }
    }

    /// Rates of `scipy.stats.false_discovery_control` of scipy 1.17.
    #[test]
    fn rates_are_those_of_scipy() {
        let found = benjamini_hochberg(&[0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205, 0.212, 0.9]);
        let expected = [
            0.01,
            0.04,
            0.084,
            0.084,
            0.084,
            0.1,
            0.105_714_285_714_285_7,
            0.235_555_555_555_555_55,
            0.235_555_555_555_555_55,
            0.9,
        ];
        assert!(
            found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12),
            "{found:?}"
        );
        assert!(benjamini_hochberg(&[]).is_empty());
    }

    /// 400 genes, 60 complexes of eight genes each; `order` assigns the genes to them.
    fn cell(order: &[u32]) -> Cell {
        let table = GeneTable::from_systematic((0..400).map(|gene| format!("G{gene:03}"))).unwrap();
        let terms = (0..60).map(|term| format!("complex {term:02}")).collect();
        let pairs = (0..480_u32).map(|index| (order[(index as usize * 7) % 400], index / 8)).collect();
        let complexes = Annotations::new("complexes", 400, terms, pairs).unwrap();
        Cell::new(table, Vec::new(), None).unwrap().with_annotations(vec![complexes]).unwrap()
    }

    #[test]
    fn a_planted_complex_is_found_and_shuffled_labels_are_not() {
        let mut order: Vec<u32> = (0..400).collect();
        let candidates: BTreeSet<u32> = (0..380).collect();
        let own = cell(&order);
        let complex = &own.annotations()[0];
        let is_member = |gene: &u32| complex.terms_of(*gene).contains(&17);
        let members: BTreeSet<u32> = candidates.iter().copied().filter(is_member).take(6).collect();
        let hits: BTreeSet<u32> = (0..400).step_by(10).chain(members.iter().copied()).collect();
        let found = Enrichment::of(&own, &candidates, &hits).unwrap();
        let first = &found.terms[0];
        assert_eq!((&first.term[..], found.tested, found.candidates), ("complex 17", 60, 380));
        assert!(first.hits >= 6 && first.q < 0.01 && first.expected < 1.5, "{first:?}");
        assert_eq!(first.genes.len(), first.hits);
        // With shuffled labels every term is a chance finding: in at most 5 % of the screens there is one.
        let (mut rng, mut screens) = (Rng::new(0, "shuffled labels"), 0);
        for _ in 0..400 {
            rng.shuffle(&mut order);
            screens +=
                usize::from(!Enrichment::of(&cell(&order), &candidates, &hits).unwrap().terms.is_empty());
        }
        assert!(screens <= 30, "{screens} of 400 screens have an enriched term, at most 20 are expected");
    }

    #[test]
    fn genes_beyond_the_candidates_do_not_count() {
        let order: Vec<u32> = (0..400).collect();
        let found = Enrichment::of(&cell(&order), &(0..50).collect(), &(40..90).collect()).unwrap();
        assert_eq!((found.hits, found.candidates), (10, 50));
        let bare = Cell::new(cell(&order).genes().clone(), Vec::new(), None).unwrap();
        assert_eq!(Enrichment::of(&bare, &(0..50).collect(), &(0..9).collect()), None);
    }
}
