//! Features of genes: short vectors whose inner products approximate the similarity of genes in the mixed networks.
//!
//! The similarity matrix of the known genes is well approximated by a few hundred directions. These are computed from the sparse
//! neighbourhoods, without the matrix, and extended to all genes (Nyström). The approximation is exact with as many directions as known
//! genes.
#![expect(unsafe_code, reason = "versions for an instruction set are called after detecting it")]

use super::neighbourhood::Neighbourhoods;
use crate::matrix::{Matrix, dot, gram, orthonormal_columns, product, symmetric_eigen};
use crate::process::KernelFeatures;
use crate::tensor::{Tensor, find, find_vector, has};
use knockout_base::error::Error;
use knockout_base::random::Rng;
use rayon::prelude::*;

/// Similarity of any two genes; it makes an additive model part of the process.
const SHARED: f32 = 0.03;
/// Oversampling: additional directions of the subspace iteration.
const OVERSAMPLING: usize = 16;
/// Rounds of subspace iteration.
const ROUNDS: usize = 2;
/// Tensor of the amplitudes.
const AMPLITUDES: &str = "network_kernel.amplitudes";
/// Eigenvalues below this multiple of the largest are rounding.
const MIN_EIGENVALUE: f64 = 1e-6;

impl KernelFeatures {
    /// Computes features of all genes from networks, in at most `rank` directions; the last column is the constant.
    pub(super) fn of_networks(
        networks: &[Neighbourhoods],
        mixture: &[f32],
        known: &[u32],
        genes: usize,
        rank: usize,
    ) -> Self {
        let mixed = MixedNetworks::new(networks, mixture, genes);
        let wanted = rank.min(known.len());
        let columns = (wanted + OVERSAMPLING).min(known.len());
        let mut vectors = Matrix::zeros(genes, 1);
        if mixed.is_empty() || columns == 0 {
            vectors.values_mut().fill(SHARED.sqrt());
            return Self::new(vectors, vec![0.0; genes]);
        }
        let by_neighbour = mixed.transposed(known);
        let mut rng = Rng::new(0, "features");
        let start = (0..known.len() * columns).map(|_| rng.normal() as f32).collect();
        let mut basis = orthonormal_columns(&Matrix::new(known.len(), columns, start));
        for _ in 0..ROUNDS {
            let image = mixed.times(&by_neighbour.times_all(&basis), known);
            basis = orthonormal_columns(&image);
        }
        // The eigenvectors within the basis, in the space of neighbours.
        let neighbours = by_neighbour.times_all(&basis);
        let (values, rotation) = symmetric_eigen(&gram(&neighbours));
        let kept =
            values.iter().take(wanted).take_while(|&&value| value > MIN_EIGENVALUE * values[0]).count();
        let mut leading = rotation.first_rows(kept);
        for (row, value) in values[..kept].iter().enumerate() {
            leading.row_mut(row).iter_mut().for_each(|x| *x /= value.sqrt());
        }
        let neighbours = product(&neighbours, leading.cast().transposed());
        let all: Vec<u32> = (0..genes as u32).collect();
        let found = mixed.times(&neighbours, &all);
        let mut vectors = Matrix::zeros(genes, kept + 1);
        let mut residual = vec![0.0; genes];
        for (gene, residual) in residual.iter_mut().enumerate() {
            let (row, out) = (found.row(gene), vectors.row_mut(gene));
            out[..kept].copy_from_slice(row);
            out[kept] = SHARED.sqrt();
            *residual = (mixed.variance(gene) - dot(row, row)).max(0.0);
        }
        Self::new(vectors, residual)
    }

    pub(super) fn tensors(&self) -> Vec<Tensor> {
        let mut tensors = vec![
            Tensor::from_matrix("network_kernel.features", &self.vectors),
            Tensor::vector("network_kernel.rest", self.residual.clone()),
        ];
        tensors.extend(self.amplitudes.iter().map(|values| Tensor::vector(AMPLITUDES, values.clone())));
        tensors
    }

    pub(super) fn load(tensors: &[Tensor], genes: usize) -> Result<Self, Error> {
        let vectors = find(tensors, "network_kernel.features")?.matrix_with_rows(genes)?;
        let amplitudes =
            if has(tensors, AMPLITUDES) { Some(find_vector(tensors, AMPLITUDES, genes)?) } else { None };
        Ok(Self { vectors, residual: find_vector(tensors, "network_kernel.rest", genes)?, amplitudes })
    }
}

/// Columns that are summed in parallel.
const TILE: usize = 64;

/// Returns the sum of rows of a tile, weighted by the entries of a sparse row. Multiplications and additions are not fused, so every
/// instruction set gives the same bits.
fn weighted_sum(entries: &[(u32, f32)], tile: &[[f32; TILE]]) -> [f32; TILE] {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f")]
        fn avx512(entries: &[(u32, f32)], tile: &[[f32; TILE]]) -> [f32; TILE] {
            weighted_sum_any(entries, tile)
        }
        #[target_feature(enable = "avx2")]
        fn avx2(entries: &[(u32, f32)], tile: &[[f32; TILE]]) -> [f32; TILE] {
            weighted_sum_any(entries, tile)
        }
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the CPU supports it.
            return unsafe { avx512(entries, tile) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the CPU supports it.
            return unsafe { avx2(entries, tile) };
        }
    }
    weighted_sum_any(entries, tile)
}

#[expect(clippy::inline_always, reason = "compiled once for each instruction set, as part of its caller")]
#[inline(always)]
fn weighted_sum_any(entries: &[(u32, f32)], tile: &[[f32; TILE]]) -> [f32; TILE] {
    let mut sums = [0.0; TILE];
    for &(row, value) in entries {
        let other = &tile[row as usize];
        for lane in 0..TILE {
            sums[lane] += value * other[lane];
        }
    }
    sums
}

/// A sparse matrix, row by row.
struct SparseRows {
    offsets: Vec<usize>,
    entries: Vec<(u32, f32)>,
}

impl SparseRows {
    fn row(&self, row: usize) -> &[(u32, f32)] {
        &self.entries[self.offsets[row]..self.offsets[row + 1]]
    }

    /// Returns the product of some rows with a matrix; every row of the result has one writer.
    ///
    /// Columns are processed in tiles: more rows of fewer columns fit into the cache, and the sums of a row into registers.
    fn times(&self, matrix: &Matrix<f32>, rows: &[u32]) -> Matrix<f32> {
        let columns = matrix.columns();
        let mut out = Matrix::zeros(rows.len(), columns);
        let mut tile = vec![[0.0; TILE]; matrix.rows()];
        for first in (0..columns).step_by(TILE) {
            let width = TILE.min(columns - first);
            for (row, tile) in tile.iter_mut().enumerate() {
                tile.fill(0.0);
                tile[..width].copy_from_slice(&matrix.row(row)[first..][..width]);
            }
            out.values_mut().par_chunks_exact_mut(columns).zip(rows).for_each(|(out, &row)| {
                let sums = weighted_sum(self.row(row as usize), &tile);
                out[first..][..width].copy_from_slice(&sums[..width]);
            });
        }
        out
    }

    /// Returns the product of all rows with a matrix.
    fn times_all(&self, matrix: &Matrix<f32>) -> Matrix<f32> {
        self.times(matrix, &(0..self.offsets.len() as u32 - 1).collect::<Vec<_>>())
    }
}

/// The networks with a weight, side by side: genes by neighbours of each network, scaled so that inner products of rows are the mixed
/// similarity.
struct MixedNetworks {
    rows: SparseRows,
    width: usize,
}

impl MixedNetworks {
    fn new(networks: &[Neighbourhoods], mixture: &[f32], genes: usize) -> Self {
        let used: Vec<(&Neighbourhoods, f32)> =
            networks.iter().zip(mixture.iter().copied()).filter(|(_, weight)| *weight > 0.0).collect();
        let (mut offsets, mut entries) = (vec![0], Vec::new());
        for gene in 0..genes as u32 {
            let mut first = 0;
            for (network, weight) in &used {
                let scale = weight.sqrt();
                entries
                    .extend(network.row(gene).map(|(neighbour, value)| (first + neighbour, scale * value)));
                first += network.width() as u32;
            }
            offsets.push(entries.len());
        }
        let width = used.iter().map(|(network, _)| network.width()).sum();
        Self { rows: SparseRows { offsets, entries }, width }
    }

    fn is_empty(&self) -> bool {
        self.rows.entries.is_empty()
    }

    /// Returns the similarity of a gene with itself.
    fn variance(&self, gene: usize) -> f32 {
        self.rows.row(gene).iter().map(|(_, value)| value * value).sum()
    }

    fn times(&self, matrix: &Matrix<f32>, genes: &[u32]) -> Matrix<f32> {
        self.rows.times(matrix, genes)
    }

    /// Returns the transpose of the rows of some genes: neighbours by genes.
    fn transposed(&self, genes: &[u32]) -> SparseRows {
        let mut offsets = vec![0_usize; self.width + 1];
        let of = |gene: u32| self.rows.row(gene as usize).iter();
        genes
            .iter()
            .flat_map(|&gene| of(gene))
            .for_each(|&(neighbour, _)| offsets[neighbour as usize + 1] += 1);
        (0..self.width).for_each(|i| offsets[i + 1] += offsets[i]);
        let (mut free, mut entries) = (offsets.clone(), vec![(0, 0.0); offsets[self.width]]);
        for (i, &gene) in genes.iter().enumerate() {
            for &(neighbour, value) in of(gene) {
                entries[free[neighbour as usize]] = (i as u32, value);
                free[neighbour as usize] += 1;
            }
        }
        SparseRows { offsets, entries }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_data::cell::{Edge, Network, SelfLoops};

    /// Exact with as many directions as known genes, approximate with fewer.
    #[test]
    fn inner_products_are_similarities() {
        let mut rng = Rng::new(0, "features test");
        let genes = 60;
        let network = |rng: &mut Rng| {
            let edges = (0..300).filter_map(|_| {
                let (a, b) = (rng.below(genes) as u32, rng.below(genes) as u32);
                (a != b).then(|| Edge::weighted(a, b, 0.1 + rng.unit() as f32))
            });
            Network::from_edges("n", genes, edges.collect::<Vec<_>>(), SelfLoops::Refuse).unwrap().0
        };
        let networks: Vec<Neighbourhoods> =
            (0..2).map(|_| Neighbourhoods::in_network(&network(&mut rng), genes)).collect();
        let (mixture, known) = ([0.7, 0.3], (0..50).collect::<Vec<u32>>());
        let all: Vec<u32> = (0..genes as u32).collect();
        let mut similarity = Matrix::new(genes, 50, vec![SHARED; genes * 50]);
        for (network, weight) in networks.iter().zip(mixture) {
            network.add_similarity(&all, &known, weight, &mut similarity);
        }
        let worst = |rank: usize| {
            let features = KernelFeatures::of_networks(&networks, &mixture, &known, genes, rank).vectors;
            let found = product(&features, features.transposed());
            let entries = (0..genes).flat_map(|gene| (0..50).map(move |column| (gene, column)));
            entries.map(|(g, c)| (found.get(g, c) - similarity.get(g, c)).abs()).fold(0.0_f32, f32::max)
        };
        assert!(worst(50) < 1e-4, "{}", worst(50));
        assert!(worst(25) > worst(50));
    }
}
