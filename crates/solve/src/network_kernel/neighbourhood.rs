//! How alike two genes are in a network: the cosine of their neighbourhoods, in which a neighbour counts less the more genes it
//! neighbours. Terms that genes are annotated with are neighbours, too.

use crate::matrix::Matrix;
use knockout_data::cell::{Annotations, Network};
use rayon::prelude::*;

/// Every gene's neighbourhood as a sparse row of length 1, or of length 0 where it has none.
pub(super) struct Neighbourhoods {
    offsets: Vec<usize>,
    neighbours: Vec<u32>,
    values: Vec<f32>,
    /// What a neighbour's number is below.
    width: usize,
}

impl Neighbourhoods {
    /// Neighbourhoods in a network; of edges in both directions the stronger counts, and weights are shares of the strongest. Every gene
    /// is a neighbour of its own.
    pub(super) fn of(network: &Network, gene_count: usize) -> Self {
        let strongest = network.weights().iter().copied().fold(0.0_f32, f32::max);
        let scale = if strongest > 0.0 { 1.0 / strongest } else { 0.0 };
        let mut entries: Vec<(u32, u32, f32)> =
            (0..gene_count as u32).map(|gene| (gene, gene, 1.0)).collect();
        for source in 0..gene_count {
            let range = network.outgoing().range(source);
            for (&target, &weight) in network.outgoing().row(source).iter().zip(&network.weights()[range]) {
                let weight = (weight * scale).max(0.0);
                if target as usize != source && weight > 0.0 {
                    entries.extend([(source as u32, target, weight), (target, source as u32, weight)]);
                }
            }
        }
        entries.par_sort_unstable_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(b.2.total_cmp(&a.2)));
        entries.dedup_by_key(|entry| (entry.0, entry.1));
        Self::of_entries(&entries, gene_count, gene_count)
    }

    /// A gene's neighbours are its terms.
    pub(super) fn of_annotations(annotations: &Annotations) -> Self {
        let entries: Vec<(u32, u32, f32)> =
            annotations.pairs().map(|(gene, term)| (gene, term, 1.0)).collect();
        Self::of_entries(&entries, annotations.gene_count(), annotations.terms().len())
    }

    /// Of genes, neighbours and strengths, ascending and without repeats.
    fn of_entries(entries: &[(u32, u32, f32)], gene_count: usize, width: usize) -> Self {
        let mut degrees = vec![0_u32; width];
        for entry in entries {
            degrees[entry.1 as usize] += 1;
        }
        let mut offsets = Vec::with_capacity(gene_count + 1);
        offsets.push(0);
        let mut values = Vec::with_capacity(entries.len());
        for row in entries.chunk_by(|a, b| a.0 == b.0) {
            // Genes before this one that have no neighbour.
            offsets.resize(row[0].0 as usize + 1, values.len());
            let rare = |entry: &(u32, u32, f32)| entry.2 / (degrees[entry.1 as usize] as f32).sqrt();
            let length = row.iter().map(|entry| rare(entry).powi(2)).sum::<f32>().sqrt();
            values.extend(row.iter().map(|entry| rare(entry) / length));
            offsets.push(values.len());
        }
        offsets.resize(gene_count + 1, values.len());
        Self { offsets, neighbours: entries.iter().map(|entry| entry.1).collect(), values, width }
    }

    /// What a neighbour's number is below.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Adds `weight` times the likeness of some genes with others to a matrix.
    pub(super) fn add_likeness(&self, of: &[u32], with: &[u32], weight: f32, out: &mut Matrix<f32>) {
        // By neighbour: which of `with` have it, and how much.
        let mut lists: Vec<Vec<(u32, f32)>> = vec![Vec::new(); self.width];
        for (place, &gene) in with.iter().enumerate() {
            for (neighbour, value) in self.row(gene) {
                lists[neighbour as usize].push((place as u32, value * weight));
            }
        }
        let rows = out.values_mut().par_chunks_exact_mut(with.len().max(1)).zip(of);
        rows.for_each(|(row, &gene)| {
            for (neighbour, value) in self.row(gene) {
                for &(place, other) in &lists[neighbour as usize] {
                    row[place as usize] += value * other;
                }
            }
        });
    }

    pub(super) fn row(&self, gene: u32) -> impl Iterator<Item = (u32, f32)> + '_ {
        let range = self.offsets[gene as usize]..self.offsets[gene as usize + 1];
        self.neighbours[range.clone()].iter().copied().zip(self.values[range].iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn genes_are_alike_where_they_share_rare_terms() {
        let terms = ["common", "rare"].map(str::to_owned).to_vec();
        let pairs = vec![(0, 0), (0, 1), (2, 0), (2, 1), (3, 0)];
        let annotations = Annotations::new("complexes", 5, terms, pairs).unwrap();
        let found = Neighbourhoods::of_annotations(&annotations);
        let all: Vec<u32> = (0..5).collect();
        let mut likeness = Matrix::zeros(5, 5);
        found.add_likeness(&all, &all, 1.0, &mut likeness);
        let close = |a: f32, b: f32| (a - b).abs() < 1e-6;
        assert!(close(likeness.get(0, 2), 1.0), "the same terms");
        // Of squares 1/3 (three genes) and 1/2 (two genes) a gene of both has 2/5 in the common term.
        assert!(close(likeness.get(0, 3), 0.4_f32.sqrt()), "{}", likeness.get(0, 3));
        assert_eq!((likeness.get(1, 1), likeness.get(4, 0)), (0.0, 0.0), "without terms like nothing");
    }
}
