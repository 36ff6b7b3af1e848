//! How alike two genes are in a network: the cosine of their neighbourhoods, in which a neighbour counts less the more genes it
//! neighbours.

use crate::matrix::Matrix;
use knockout_cell::Network;
use rayon::prelude::*;

/// Every gene's neighbourhood as a sparse row of length 1. Every gene is a neighbour of its own.
pub(super) struct Neighbourhoods {
    offsets: Vec<usize>,
    genes: Vec<u32>,
    values: Vec<f32>,
}

impl Neighbourhoods {
    /// Neighbourhoods in a network; of edges in both directions the stronger counts, and weights are shares of the strongest.
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
        let mut degrees = vec![0_u32; gene_count];
        for entry in &entries {
            degrees[entry.1 as usize] += 1;
        }
        let mut offsets = Vec::with_capacity(gene_count + 1);
        offsets.push(0);
        let mut values = Vec::with_capacity(entries.len());
        for row in entries.chunk_by(|a, b| a.0 == b.0) {
            let rare = |entry: &(u32, u32, f32)| entry.2 / (degrees[entry.1 as usize] as f32).sqrt();
            let length = row.iter().map(|entry| rare(entry).powi(2)).sum::<f32>().sqrt();
            values.extend(row.iter().map(|entry| rare(entry) / length));
            offsets.push(values.len());
        }
        Self { offsets, genes: entries.iter().map(|entry| entry.1).collect(), values }
    }

    /// Adds `weight` times the likeness of some genes with others to a matrix.
    pub(super) fn add_likeness(&self, of: &[u32], with: &[u32], weight: f32, out: &mut Matrix<f32>) {
        // By neighbour: which of `with` have it, and how much.
        let mut lists: Vec<Vec<(u32, f32)>> = vec![Vec::new(); self.offsets.len() - 1];
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
        self.genes[range.clone()].iter().copied().zip(self.values[range].iter().copied())
    }
}
