//! Features of genes: short vectors whose inner products are the likeness of genes in the mixed networks.
//!
//! The likeness of the genes that training knows is a large matrix of which a few hundred directions hold nearly everything. These
//! directions are found from the sparse neighbourhoods, without the matrix, and every gene, known or not, is expressed in
//! them (Nyström's extension). With as many directions as known genes nothing is lost.
#![expect(unsafe_code, reason = "versions for an instruction set are called after asking for it")]

use super::neighbourhood::Neighbourhoods;
use crate::matrix::{Matrix, dot, gram, orthonormal_columns, product, symmetric_eigen};
use crate::model::SolveError;
use crate::tensor::{Tensor, tensor};
use knockout_base::random::Rng;
use rayon::prelude::*;

/// What any two genes share: with it the process contains one additive in the genes.
const SHARED: f32 = 0.03;
/// Directions that are sought beyond those that are kept.
const SPARE: usize = 16;
/// Rounds of subspace iteration.
const ROUNDS: usize = 2;
/// Eigenvalues below this share of the largest are rounding.
const LEAST: f64 = 1e-6;

/// Features of all genes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Features {
    /// Genes by directions; the last is what all genes share.
    pub(super) vectors: Matrix<f32>,
    /// What a gene has in the networks beyond its features.
    pub(super) rest: Vec<f32>,
}

impl Features {
    /// Features in at most `rank` directions, from the networks that have a weight.
    pub(super) fn of(
        networks: &[Neighbourhoods],
        mixture: &[f32],
        known: &[u32],
        genes: usize,
        rank: usize,
    ) -> Self {
        let mixed = Mixed::of(networks, mixture, genes);
        let wanted = rank.min(known.len());
        let columns = (wanted + SPARE).min(known.len());
        let mut vectors = Matrix::zeros(genes, 1);
        if mixed.is_empty() || columns == 0 {
            vectors.values_mut().fill(SHARED.sqrt());
            return Self { vectors, rest: vec![0.0; genes] };
        }
        let by_neighbour = mixed.turned(known);
        let mut rng = Rng::new(0, "features");
        let start = (0..known.len() * columns).map(|_| rng.normal() as f32).collect();
        let mut basis = orthonormal_columns(&Matrix::new(known.len(), columns, start));
        for _ in 0..ROUNDS {
            let image = mixed.times(&by_neighbour.times_all(&basis), known);
            basis = orthonormal_columns(&image);
        }
        // The eigenvectors within the basis, and the neighbours' part of them.
        let neighbours = by_neighbour.times_all(&basis);
        let (values, turns) = symmetric_eigen(&gram(&neighbours));
        let kept = values.iter().take(wanted).take_while(|&&value| value > LEAST * values[0]).count();
        let mut turn = turns.first_rows(kept);
        for (row, value) in values[..kept].iter().enumerate() {
            turn.row_mut(row).iter_mut().for_each(|x| *x /= value.sqrt());
        }
        let neighbours = product(&neighbours, turn.cast().transposed());
        let all: Vec<u32> = (0..genes as u32).collect();
        let found = mixed.times(&neighbours, &all);
        let mut vectors = Matrix::zeros(genes, kept + 1);
        let mut rest = vec![0.0; genes];
        for (gene, rest) in rest.iter_mut().enumerate() {
            let (row, out) = (found.row(gene), vectors.row_mut(gene));
            out[..kept].copy_from_slice(row);
            out[kept] = SHARED.sqrt();
            *rest = (mixed.own(gene) - dot(row, row)).max(0.0);
        }
        Self { vectors, rest }
    }

    pub(super) fn genes(&self) -> usize {
        self.vectors.rows()
    }

    /// The features of some genes.
    pub(super) fn some(&self, genes: &[u32]) -> Matrix<f32> {
        let mut out = Matrix::zeros(genes.len(), self.vectors.columns());
        for (place, &gene) in genes.iter().enumerate() {
            out.row_mut(place).copy_from_slice(self.vectors.row(gene as usize));
        }
        out
    }

    pub(super) fn tensors(&self) -> [Tensor; 2] {
        [
            Tensor::of("network_kernel.features", &self.vectors),
            Tensor::new("network_kernel.rest", &[self.rest.len()], self.rest.clone()),
        ]
    }

    pub(super) fn load(tensors: &[Tensor], genes: usize) -> Result<Self, SolveError> {
        let vectors = tensor(tensors, "network_kernel.features")?.matrix_of(genes)?;
        let rest = tensor(tensors, "network_kernel.rest")?.of_length(genes)?.to_vec();
        Ok(Self { vectors, rest })
    }
}

/// Columns that are summed side by side.
const TILE: usize = 64;

/// The sum of rows of a tile, weighted by the entries of a sparse row. No multiplication is fused with an addition, so it is the
/// same bits for every instruction set.
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
            // SAFETY: the CPU has it.
            return unsafe { avx512(entries, tile) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the CPU has it.
            return unsafe { avx2(entries, tile) };
        }
    }
    weighted_sum_any(entries, tile)
}

#[expect(
    clippy::inline_always,
    reason = "it is compiled once for each instruction set, inside of its caller"
)]
#[inline(always)]
fn weighted_sum_any(entries: &[(u32, f32)], tile: &[[f32; TILE]]) -> [f32; TILE] {
    let mut sums = [0.0; TILE];
    for &(place, value) in entries {
        let other = &tile[place as usize];
        for lane in 0..TILE {
            sums[lane] += value * other[lane];
        }
    }
    sums
}

/// Sparse rows.
struct Sparse {
    offsets: Vec<usize>,
    entries: Vec<(u32, f32)>,
}

impl Sparse {
    fn row(&self, row: usize) -> &[(u32, f32)] {
        &self.entries[self.offsets[row]..self.offsets[row + 1]]
    }

    /// The product of some rows with a matrix; every row of the result has one writer.
    ///
    /// Columns are taken tile by tile: of fewer columns more rows stay in the cache, and the sums of a row in registers.
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

    fn times_all(&self, matrix: &Matrix<f32>) -> Matrix<f32> {
        self.times(matrix, &(0..self.offsets.len() as u32 - 1).collect::<Vec<_>>())
    }
}

/// All networks that count as one: genes by neighbours, a neighbour once for each network, weighted so that inner products of rows are the
/// mixed likeness.
struct Mixed {
    rows: Sparse,
    width: usize,
}

impl Mixed {
    fn of(networks: &[Neighbourhoods], mixture: &[f32], genes: usize) -> Self {
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
        Self { rows: Sparse { offsets, entries }, width }
    }

    fn is_empty(&self) -> bool {
        self.rows.entries.is_empty()
    }

    fn own(&self, gene: usize) -> f32 {
        self.rows.row(gene).iter().map(|(_, value)| value * value).sum()
    }

    fn times(&self, matrix: &Matrix<f32>, genes: &[u32]) -> Matrix<f32> {
        self.rows.times(matrix, genes)
    }

    /// The rows of some genes, turned: by neighbour, which of the genes have it.
    fn turned(&self, genes: &[u32]) -> Sparse {
        let mut offsets = vec![0_usize; self.width + 1];
        let of = |gene: u32| self.rows.row(gene as usize).iter();
        genes
            .iter()
            .flat_map(|&gene| of(gene))
            .for_each(|&(neighbour, _)| offsets[neighbour as usize + 1] += 1);
        (0..self.width).for_each(|place| offsets[place + 1] += offsets[place]);
        let (mut free, mut entries) = (offsets.clone(), vec![(0, 0.0); offsets[self.width]]);
        for (place, &gene) in genes.iter().enumerate() {
            for &(neighbour, value) in of(gene) {
                entries[free[neighbour as usize]] = (place as u32, value);
                free[neighbour as usize] += 1;
            }
        }
        Sparse { offsets, entries }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_data::cell::{Edge, Network, SelfLoops};

    /// Inner products of features are the mixed likeness, exactly where there are as many directions as genes.
    #[test]
    fn inner_products_are_likenesses() {
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
            (0..2).map(|_| Neighbourhoods::of(&network(&mut rng), genes)).collect();
        let (mixture, known) = ([0.7, 0.3], (0..50).collect::<Vec<u32>>());
        let all: Vec<u32> = (0..genes as u32).collect();
        let mut likeness = Matrix::new(genes, 50, vec![SHARED; genes * 50]);
        for (network, weight) in networks.iter().zip(mixture) {
            network.add_likeness(&all, &known, weight, &mut likeness);
        }
        let worst = |rank: usize| {
            let features = Features::of(&networks, &mixture, &known, genes, rank).vectors;
            let found = product(&features, features.transposed());
            let error = |gene: usize| (0..50).map(move |place| (gene, place));
            let errors = (0..genes).flat_map(error);
            errors.map(|(g, p)| (found.get(g, p) - likeness.get(g, p)).abs()).fold(0.0_f32, f32::max)
        };
        assert!(worst(50) < 1e-4, "{}", worst(50));
        assert!(worst(25) > worst(50));
    }
}
