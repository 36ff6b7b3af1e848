//! The similarity of two genes in a network: the cosine of their neighbourhoods.
//!
//! The weight of a neighbour falls with its degree. Terms that genes are annotated with count as neighbours.

use crate::matrix::Matrix;
use knockout_data::cell::{Annotations, Network};
use rayon::prelude::*;

/// The neighbourhood of every gene as a sparse row of norm 1; of norm 0 without neighbours.
pub(super) struct Neighbourhoods {
    offsets: Vec<usize>,
    neighbours: Vec<u32>,
    values: Vec<f32>,
    /// Number of possible neighbours.
    width: usize,
}

impl Neighbourhoods {
    /// Creates the neighbourhoods in a network. Weights are relative to the largest, the larger of two directions counts, and every gene is
    /// its own neighbour.
    pub(super) fn in_network(network: &Network, gene_count: usize) -> Self {
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
        Self::from_entries(&entries, gene_count, gene_count)
    }

    /// Creates the neighbourhoods in annotations: the neighbours of a gene are its terms.
    pub(super) fn in_annotations(annotations: &Annotations) -> Self {
        let entries: Vec<(u32, u32, f32)> =
            annotations.pairs().map(|(gene, term)| (gene, term, 1.0)).collect();
        Self::from_entries(&entries, annotations.gene_count(), annotations.terms().len())
    }

    /// Creates neighbourhoods from (gene, neighbour, weight), ascending and without repeats.
    fn from_entries(entries: &[(u32, u32, f32)], gene_count: usize, width: usize) -> Self {
        let mut degrees = vec![0_u32; width];
        for entry in entries {
            degrees[entry.1 as usize] += 1;
        }
        let mut offsets = Vec::with_capacity(gene_count + 1);
        offsets.push(0);
        let mut values = Vec::with_capacity(entries.len());
        for row in entries.chunk_by(|a, b| a.0 == b.0) {
            // Skipped genes have no neighbours.
            offsets.resize(row[0].0 as usize + 1, values.len());
            let scaled = |entry: &(u32, u32, f32)| entry.2 / (degrees[entry.1 as usize] as f32).sqrt();
            let length = row.iter().map(|entry| scaled(entry).powi(2)).sum::<f32>().sqrt();
            values.extend(row.iter().map(|entry| scaled(entry) / length));
            offsets.push(values.len());
        }
        offsets.resize(gene_count + 1, values.len());
        Self { offsets, neighbours: entries.iter().map(|entry| entry.1).collect(), values, width }
    }

    /// Returns the number of possible neighbours.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Adds `weight` times the similarity of some genes with others to a matrix.
    pub(super) fn add_similarity(&self, of: &[u32], with: &[u32], weight: f32, out: &mut Matrix<f32>) {
        // For each neighbour, the genes of `with` that have it.
        let mut lists: Vec<Vec<(u32, f32)>> = vec![Vec::new(); self.width];
        for (column, &gene) in with.iter().enumerate() {
            for (neighbour, value) in self.row(gene) {
                lists[neighbour as usize].push((column as u32, value * weight));
            }
        }
        let rows = out.values_mut().par_chunks_exact_mut(with.len().max(1)).zip(of);
        rows.for_each(|(row, &gene)| {
            for (neighbour, value) in self.row(gene) {
                for &(column, other) in &lists[neighbour as usize] {
                    row[column as usize] += value * other;
                }
            }
        });
    }

    /// Returns the neighbours of a gene with their values.
    pub(super) fn row(&self, gene: u32) -> impl Iterator<Item = (u32, f32)> + '_ {
        let range = self.offsets[gene as usize]..self.offsets[gene as usize + 1];
        self.neighbours[range.clone()].iter().copied().zip(self.values[range].iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn genes_that_share_rare_terms_are_similar() {
        let terms = ["common", "rare"].map(str::to_owned).to_vec();
        let pairs = vec![(0, 0), (0, 1), (2, 0), (2, 1), (3, 0)];
        let annotations = Annotations::new("complexes", 5, terms, pairs).unwrap();
        let found = Neighbourhoods::in_annotations(&annotations);
        let all: Vec<u32> = (0..5).collect();
        let mut similarity = Matrix::zeros(5, 5);
        found.add_similarity(&all, &all, 1.0, &mut similarity);
        let close = |a: f32, b: f32| (a - b).abs() < 1e-6;
        assert!(close(similarity.get(0, 2), 1.0), "the same terms");
        // The squared weights are 1/3 (three genes) and 1/2 (two genes): the common term has 2/5 of the norm.
        assert!(close(similarity.get(0, 3), 0.4_f32.sqrt()), "{}", similarity.get(0, 3));
        assert_eq!((similarity.get(1, 1), similarity.get(4, 0)), (0.0, 0.0), "no terms, no similarity");
    }
}
