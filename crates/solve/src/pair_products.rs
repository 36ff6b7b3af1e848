//! Inner products for many gene pairs: the prediction of a pair is one inner product.
//!
//! A symmetric bilinear form x(a)·y(b) + y(a)·x(b) is one inner product of a left row of gene a and a right row of gene b, and so is a
//! weighted sum of several forms. The order of summation is the same for every pair, whatever the other pairs are, so results are
//! bit-identical in any batch and on any CPU. Pairs are processed in tiles of their second genes, whose rows stay in the cache.
#![expect(unsafe_code, reason = "versions for an instruction set are called after detecting it")]

use crate::matrix::Matrix;
use knockout_data::cell::GeneSetsRef;

/// Number of parallel partial sums; rows are padded to a multiple of it.
const LANES: usize = 16;
/// Right rows per block.
const BLOCK_COLUMNS: usize = 4;
/// Second genes of a tile: their rows take about 100 kB.
const TILE_GENES: usize = 32;
/// Pairs that are sorted into tiles at a time.
const WINDOW: usize = 1 << 18;

/// A table with rows for some genes; the row of any other gene is zero.
pub(crate) struct GeneTableRows<'a> {
    pub(crate) table: &'a Matrix<f32>,
    /// Maps a gene to its row.
    pub(crate) row_of: &'a dyn Fn(usize) -> Option<usize>,
}

impl<'a> GeneTableRows<'a> {
    fn get(&self, gene: usize) -> Option<&'a [f32]> {
        (self.row_of)(gene).map(|row| self.table.row(row))
    }
}

/// The bilinear form `weight` · (x(a)·y(b) + y(a)·x(b)).
pub(crate) struct PairForm<'a> {
    pub(crate) weight: f64,
    pub(crate) x: GeneTableRows<'a>,
    pub(crate) y: GeneTableRows<'a>,
}

/// Left and right rows of all genes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PairProducts {
    width: usize,
    left: Vec<f32>,
    right: Vec<f32>,
}

/// Defines the loop over pairs for an instruction set, with as many left rows per block as have their sums in registers.
macro_rules! multiply {
    ($(#[$feature:meta])? $name:ident, $block:ident, $sums:ident, $rows:literal) => {
        $(#[$feature])?
        fn $name(&self, mut pairs: &[IndexedPair], out: &mut [f32]) {
            while let Some(first) = pairs.first() {
                let columns = pairs.iter().take_while(|pair| pair.a == first.a).count();
                pairs = if let Some(runs) = block_of_runs::<$rows>(pairs, columns) {
                    self.$block(runs, out);
                    &pairs[$rows * columns..]
                } else {
                    self.$block([&pairs[..columns]], out);
                    &pairs[columns..]
                }
            }
        }

        $(#[$feature])?
        fn $block<const ROWS: usize>(&self, runs: [&[IndexedPair]; ROWS], out: &mut [f32]) {
            let left = runs.map(|run| self.left(run[0].a));
            let (groups, rest) = runs[0].as_chunks::<BLOCK_COLUMNS>();
            let mut column = 0;
            for group in groups {
                let sums = $sums(left, group.each_ref().map(|pair| self.right(pair.b)));
                for (run, sums) in runs.iter().zip(&sums) {
                    for (pair, sums) in run[column..].iter().zip(sums) {
                        out[pair.index as usize] = total(sums);
                    }
                }
                column += BLOCK_COLUMNS;
            }
            for pair in rest {
                let sums = $sums(left, [self.right(pair.b)]);
                for (run, [sums]) in runs.iter().zip(&sums) {
                    out[run[column].index as usize] = total(sums);
                }
                column += 1;
            }
        }
    };
}

impl PairProducts {
    /// Combines forms into one; forms of weight 0 are left out.
    pub(crate) fn new(genes: usize, forms: &[PairForm<'_>]) -> Self {
        let used = || forms.iter().filter(|form| form.weight != 0.0);
        let width = used().map(|form| 2 * form.x.table.columns()).sum::<usize>().next_multiple_of(LANES);
        let mut products = Self { width, left: vec![0.0; genes * width], right: vec![0.0; genes * width] };
        for gene in 0..genes {
            let (mut left, mut right) =
                (&mut products.left[gene * width..][..width], &mut products.right[gene * width..][..width]);
            for form in used() {
                let columns = form.x.table.columns();
                let (x, y) = (form.x.get(gene), form.y.get(gene));
                for (left_rows, right_rows) in [(x, y), (y, x)] {
                    let (left_part, left_rest) = left.split_at_mut(columns);
                    let (right_part, right_rest) = right.split_at_mut(columns);
                    if let Some(row) = left_rows {
                        let scaled = row.iter().map(|&value| (form.weight * f64::from(value)) as f32);
                        left_part.iter_mut().zip(scaled).for_each(|(out, value)| *out = value);
                    }
                    if let Some(row) = right_rows {
                        right_part.copy_from_slice(row);
                    }
                    (left, right) = (left_rest, right_rest);
                }
            }
        }
        products
    }

    /// Returns the product of each set; 0 for sets that are not pairs.
    pub(crate) fn of_sets(&self, sets: GeneSetsRef<'_>) -> Vec<f32> {
        let mut out = vec![0.0; sets.len()];
        if self.width == 0 {
            return out;
        }
        let tiles = self.left.len() / self.width / TILE_GENES + 1;
        let (mut starts, mut sorted) = (Vec::new(), Vec::new());
        for (window, out) in out.chunks_mut(WINDOW).enumerate() {
            let pairs = || {
                let range = window * WINDOW..window * WINDOW + out.len();
                range.zip(0_u32..).filter_map(|(set, index)| match *sets.get(set) {
                    [a, b] => Some(IndexedPair { a, b, index }),
                    _ => None,
                })
            };
            starts.clear();
            starts.resize(tiles + 1, 0_usize);
            pairs().for_each(|pair| starts[pair.tile() + 1] += 1);
            (0..tiles).for_each(|tile| starts[tile + 1] += starts[tile]);
            sorted.clear();
            sorted.resize(starts[tiles], IndexedPair { a: 0, b: 0, index: 0 });
            for pair in pairs() {
                let free = &mut starts[pair.tile()];
                sorted[*free] = pair;
                *free += 1;
            }
            self.multiply(&sorted, out);
        }
        out
    }

    /// Returns the product of one pair.
    pub(crate) fn of_pair(&self, a: u32, b: u32) -> f32 {
        let mut out = [0.0];
        self.multiply(&[IndexedPair { a, b, index: 0 }], &mut out);
        out[0]
    }

    fn multiply(&self, pairs: &[IndexedPair], out: &mut [f32]) {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") {
                // SAFETY: the CPU supports it.
                return unsafe { self.multiply_avx512(pairs, out) };
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the CPU supports it.
                return unsafe { self.multiply_avx2(pairs, out) };
            }
        }
        self.multiply_any(pairs, out);
    }

    #[cfg(target_arch = "x86_64")]
    multiply!(
        #[target_feature(enable = "avx512f")]
        multiply_avx512,
        block_avx512,
        sums_avx512,
        4
    );
    #[cfg(target_arch = "x86_64")]
    multiply!(
        #[target_feature(enable = "avx2")]
        multiply_avx2,
        block_avx2,
        sums_avx2,
        2
    );
    multiply!(multiply_any, block_any, sums_any, 2);

    fn left(&self, gene: u32) -> &[[f32; LANES]] {
        self.left[gene as usize * self.width..][..self.width].as_chunks().0
    }

    fn right(&self, gene: u32) -> &[[f32; LANES]] {
        self.right[gene as usize * self.width..][..self.width].as_chunks().0
    }
}

/// A pair and the index of its product.
#[derive(Clone, Copy)]
struct IndexedPair {
    a: u32,
    b: u32,
    index: u32,
}

impl IndexedPair {
    fn tile(&self) -> usize {
        self.b as usize / TILE_GENES
    }
}

/// Returns the first `ROWS` runs of `columns` pairs, if each run has one first gene and all have the same second genes.
fn block_of_runs<const ROWS: usize>(pairs: &[IndexedPair], columns: usize) -> Option<[&[IndexedPair]; ROWS]> {
    let pairs = pairs.get(..ROWS * columns)?;
    let runs: [&[IndexedPair]; ROWS] = std::array::from_fn(|row| &pairs[row * columns..][..columns]);
    let matches = |run: &&[IndexedPair]| {
        run.iter().zip(runs[0]).all(|(pair, first)| pair.a == run[0].a && pair.b == first.b)
    };
    runs.iter().all(matches).then_some(runs)
}

/// Returns the inner products of rows, summed lane by lane in an order that does not depend on the number of rows.
fn sums_any<const M: usize, const N: usize>(
    a: [&[[f32; LANES]]; M],
    b: [&[[f32; LANES]]; N],
) -> [[[f32; LANES]; N]; M] {
    a.map(|a| {
        b.map(|b| {
            let mut sums = [0.0; LANES];
            for (a, b) in a.iter().zip(b) {
                for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
                    *sum += a * b;
                }
            }
            sums
        })
    })
}

// Intrinsics, because the compiler does not keep the sums of several rows in registers by itself. Loops instead of `map`, whose closure
// would be compiled without the instruction set.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn sums_avx512<const M: usize, const N: usize>(
    a: [&[[f32; LANES]]; M],
    b: [&[[f32; LANES]]; N],
) -> [[[f32; LANES]; N]; M] {
    use std::arch::x86_64::{
        _mm512_add_ps, _mm512_loadu_ps, _mm512_mul_ps, _mm512_setzero_ps, _mm512_storeu_ps,
    };
    let groups = a[0].len();
    let (a, b) = (a.map(|row| &row[..groups]), b.map(|row| &row[..groups]));
    let mut sums = [[_mm512_setzero_ps(); N]; M];
    for group in 0..groups {
        let mut right = [_mm512_setzero_ps(); N];
        for (right, row) in right.iter_mut().zip(&b) {
            // SAFETY: a group has as many values as are loaded.
            *right = unsafe { _mm512_loadu_ps(row[group].as_ptr()) };
        }
        for (sums, row) in sums.iter_mut().zip(&a) {
            // SAFETY: as above.
            let left = unsafe { _mm512_loadu_ps(row[group].as_ptr()) };
            for (sum, right) in sums.iter_mut().zip(&right) {
                *sum = _mm512_add_ps(*sum, _mm512_mul_ps(left, *right));
            }
        }
    }
    let mut out = [[[0.0; LANES]; N]; M];
    for (out, sum) in out.as_flattened_mut().iter_mut().zip(sums.as_flattened()) {
        // SAFETY: a group has as many values as are stored.
        unsafe { _mm512_storeu_ps(out.as_mut_ptr(), *sum) };
    }
    out
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn sums_avx2<const M: usize, const N: usize>(
    a: [&[[f32; LANES]]; M],
    b: [&[[f32; LANES]]; N],
) -> [[[f32; LANES]; N]; M] {
    use std::arch::x86_64::{
        _mm256_add_ps, _mm256_loadu_ps, _mm256_mul_ps, _mm256_setzero_ps, _mm256_storeu_ps,
    };
    const HALF: usize = LANES / 2;
    let groups = a[0].len();
    let (a, b) = (a.map(|row| &row[..groups]), b.map(|row| &row[..groups]));
    let mut out = [[[0.0; LANES]; N]; M];
    // One half of the lanes at a time: the sums of both do not fit into the registers.
    for half in [0, HALF] {
        let mut sums = [[_mm256_setzero_ps(); N]; M];
        for group in 0..groups {
            let mut right = [_mm256_setzero_ps(); N];
            for (right, row) in right.iter_mut().zip(&b) {
                // SAFETY: half a group has as many values as are loaded.
                *right = unsafe { _mm256_loadu_ps(row[group][half..].as_ptr()) };
            }
            for (sums, row) in sums.iter_mut().zip(&a) {
                // SAFETY: as above.
                let left = unsafe { _mm256_loadu_ps(row[group][half..].as_ptr()) };
                for (sum, right) in sums.iter_mut().zip(&right) {
                    *sum = _mm256_add_ps(*sum, _mm256_mul_ps(left, *right));
                }
            }
        }
        for (out, sum) in out.as_flattened_mut().iter_mut().zip(sums.as_flattened()) {
            // SAFETY: half a group has as many values as are stored.
            unsafe { _mm256_storeu_ps(out[half..].as_mut_ptr(), *sum) };
        }
    }
    out
}

/// Returns the sum of all lanes, in a fixed order.
fn total(sums: &[f32; LANES]) -> f32 {
    let mut sums = *sums;
    for half in [8, 4] {
        for lane in 0..half {
            sums[lane] += sums[lane + half];
        }
    }
    (sums[0] + sums[2]) + (sums[1] + sums[3])
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_base::random::Rng;
    use knockout_data::cell::GeneSets;

    fn random(rows: usize, columns: usize, rng: &mut Rng) -> Matrix<f32> {
        Matrix::new(rows, columns, (0..rows * columns).map(|_| rng.normal() as f32).collect())
    }

    /// A sum of forms over 101 genes, of which 60 have rows in the last form, with its definition.
    fn products_and_definition(rng: &mut Rng) -> (PairProducts, impl Fn(usize, usize) -> f64 + use<>) {
        let (x, y) = (random(101, 21, rng), random(101, 21, rng));
        let (few, others) = (random(60, 5, rng), random(60, 5, rng));
        let (all, some) = (|gene| Some(gene), |gene: usize| (gene < 60).then_some(gene));
        let products = PairProducts::new(
            101,
            &[
                PairForm {
                    weight: 0.7,
                    x: GeneTableRows { table: &x, row_of: &all },
                    y: GeneTableRows { table: &y, row_of: &all },
                },
                PairForm {
                    weight: 0.0,
                    x: GeneTableRows { table: &y, row_of: &all },
                    y: GeneTableRows { table: &x, row_of: &all },
                },
                PairForm {
                    weight: -0.5,
                    x: GeneTableRows { table: &few, row_of: &some },
                    y: GeneTableRows { table: &others, row_of: &some },
                },
            ],
        );
        let dot = |a: &[f32], b: &[f32]| -> f64 {
            a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
        };
        let definition = move |a: usize, b: usize| {
            let mut sum = 0.7 * (dot(x.row(a), y.row(b)) + dot(y.row(a), x.row(b)));
            if a < 60 && b < 60 {
                sum -= 0.5 * (dot(few.row(a), others.row(b)) + dot(others.row(a), few.row(b)));
            }
            sum
        };
        (products, definition)
    }

    /// All pairs of 101 genes, and single genes between them.
    fn all_sets() -> GeneSets {
        let mut sets = GeneSets::default();
        for a in 0..101 {
            (a + 1..101).for_each(|b| sets.push(&[a, b]));
            sets.push(&[a]);
        }
        sets
    }

    #[test]
    fn products_match_the_definition() {
        let mut rng = Rng::new(0, "pair products");
        let (products, definition) = products_and_definition(&mut rng);
        let sets = all_sets();
        for (set, found) in sets.view().iter().zip(products.of_sets(sets.view())) {
            let expected = match *set {
                [a, b] => definition(a as usize, b as usize),
                _ => 0.0,
            };
            assert!((f64::from(found) - expected).abs() < 1e-4, "{set:?}: {found} {expected}");
        }
    }

    #[test]
    fn products_do_not_depend_on_the_batch() {
        let mut rng = Rng::new(0, "pair products");
        let (products, _) = products_and_definition(&mut rng);
        let sets = all_sets();
        let found = products.of_sets(sets.view());
        for (set, found) in sets.view().iter().zip(&found) {
            if let [a, b] = *set {
                assert_eq!(found.to_bits(), products.of_pair(a, b).to_bits());
            }
        }
        let mut order: Vec<usize> = (0..sets.len()).collect();
        rng.shuffle(&mut order);
        let shuffled: GeneSets = order.iter().map(|&set| sets.get(set)).collect();
        let again = products.of_sets(shuffled.view());
        assert!(order.iter().zip(&again).all(|(&set, again)| again.to_bits() == found[set].to_bits()));
    }

    #[test]
    fn products_do_not_depend_on_the_instruction_set() {
        let mut rng = Rng::new(0, "pair products");
        let (products, _) = products_and_definition(&mut rng);
        // Pairs in whole blocks and beside them.
        let mut pairs: Vec<(u32, u32)> =
            (0..11).flat_map(|a| (20..31).map(move |b| (a, b))).chain([(3, 9), (3, 40), (7, 9)]).collect();
        pairs.remove(60);
        let pairs: Vec<IndexedPair> =
            (0..).zip(pairs).map(|(index, (a, b))| IndexedPair { a, b, index }).collect();
        let bits = |multiply: &dyn Fn(&[IndexedPair], &mut [f32])| -> Vec<u32> {
            let mut out = vec![0.0; pairs.len()];
            multiply(&pairs, &mut out);
            out.iter().map(|value| value.to_bits()).collect()
        };
        let alone: Vec<u32> = pairs.iter().map(|pair| products.of_pair(pair.a, pair.b).to_bits()).collect();
        assert_eq!(bits(&|pairs, out| products.multiply(pairs, out)), alone);
        assert_eq!(bits(&|pairs, out| products.multiply_any(pairs, out)), alone);
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the CPU supports it.
            assert_eq!(bits(&|pairs, out| unsafe { products.multiply_avx2(pairs, out) }), alone);
        }
    }
}
