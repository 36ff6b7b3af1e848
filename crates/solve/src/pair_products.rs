//! Inner products for very many gene pairs: all that a model says of a pair is one of them.
//!
//! A symmetric form x(a)·y(b) + y(a)·x(b) is one inner product of a gene's row on the left and a gene's row on the right, and so is
//! a weighted sum of several. The products of a pair are summed in an order of their own, whatever other pairs are asked for with it, so
//! they are the same bits in any company, on any CPU. Pairs are taken tile by tile of their second genes, whose rows then
//! stay in the cache.
#![expect(unsafe_code, reason = "versions for an instruction set are called after asking for it")]

use crate::matrix::Matrix;
use knockout_data::cell::GeneSetsRef;

/// Products that are summed side by side; rows are padded to whole groups of them.
const LANES: usize = 16;
/// A group of products.
type Lanes = [f32; LANES];
/// Rows on the right that are multiplied with those on the left at once.
const TOGETHER: usize = 4;
/// Second genes of a tile: their rows take about a tenth of a megabyte.
const TILE_GENES: usize = 32;
/// Pairs that are sorted into tiles at once.
const WINDOW: usize = 1 << 18;

/// The rows of some genes in a table; a gene without one counts as zeros.
pub(crate) struct Rows<'a> {
    pub(crate) table: &'a Matrix<f32>,
    pub(crate) place: &'a dyn Fn(usize) -> Option<usize>,
}

impl<'a> Rows<'a> {
    fn of(&self, gene: usize) -> Option<&'a [f32]> {
        (self.place)(gene).map(|place| self.table.row(place))
    }
}

/// A form `weight` · (x(a)·y(b) + y(a)·x(b)).
pub(crate) struct Form<'a> {
    pub(crate) weight: f64,
    pub(crate) x: Rows<'a>,
    pub(crate) y: Rows<'a>,
}

/// Rows of all genes, for either side of a pair.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PairProducts {
    width: usize,
    left: Vec<f32>,
    right: Vec<f32>,
}

/// A version of the loop over pairs for an instruction set: with so many rows on the left at once, their sums stay in registers.
macro_rules! multiply {
    ($(#[$feature:meta])? $name:ident, $block:ident, $sums:ident, $rows:literal) => {
        $(#[$feature])?
        fn $name(&self, mut asked: &[Asked], out: &mut [f32]) {
            while let Some(first) = asked.first() {
                let columns = asked.iter().take_while(|pair| pair.a == first.a).count();
                asked = if let Some(runs) = alike::<$rows>(asked, columns) {
                    self.$block(runs, out);
                    &asked[$rows * columns..]
                } else {
                    self.$block([&asked[..columns]], out);
                    &asked[columns..]
                }
            }
        }

        $(#[$feature])?
        fn $block<const ROWS: usize>(&self, runs: [&[Asked]; ROWS], out: &mut [f32]) {
            let left = runs.map(|run| self.left(run[0].a));
            let (groups, rest) = runs[0].as_chunks::<TOGETHER>();
            let mut place = 0;
            for group in groups {
                let sums = $sums(left, group.each_ref().map(|pair| self.right(pair.b)));
                for (run, sums) in runs.iter().zip(&sums) {
                    for (pair, sums) in run[place..].iter().zip(sums) {
                        out[pair.place as usize] = total(sums);
                    }
                }
                place += TOGETHER;
            }
            for pair in rest {
                let sums = $sums(left, [self.right(pair.b)]);
                for (run, [sums]) in runs.iter().zip(&sums) {
                    out[run[place].place as usize] = total(sums);
                }
                place += 1;
            }
        }
    };
}

impl PairProducts {
    /// The sum of forms; those without weight cost nothing.
    pub(crate) fn of(genes: usize, forms: &[Form<'_>]) -> Self {
        let used = || forms.iter().filter(|form| form.weight != 0.0);
        let width = used().map(|form| 2 * form.x.table.columns()).sum::<usize>().next_multiple_of(LANES);
        let mut products = Self { width, left: vec![0.0; genes * width], right: vec![0.0; genes * width] };
        for gene in 0..genes {
            let (mut left, mut right) =
                (&mut products.left[gene * width..][..width], &mut products.right[gene * width..][..width]);
            for form in used() {
                let columns = form.x.table.columns();
                let (x, y) = (form.x.of(gene), form.y.of(gene));
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

    /// One for each set; 0 for sets that are no pairs.
    pub(crate) fn of_sets(&self, sets: GeneSetsRef<'_>) -> Vec<f32> {
        let mut out = vec![0.0; sets.len()];
        if self.width == 0 {
            return out;
        }
        let tiles = self.left.len() / self.width / TILE_GENES + 1;
        let (mut starts, mut asked) = (Vec::new(), Vec::new());
        for (window, out) in out.chunks_mut(WINDOW).enumerate() {
            let pairs = || {
                let places = window * WINDOW..window * WINDOW + out.len();
                places.zip(0_u32..).filter_map(|(set, place)| match *sets.get(set) {
                    [a, b] => Some(Asked { a, b, place }),
                    _ => None,
                })
            };
            starts.clear();
            starts.resize(tiles + 1, 0_usize);
            pairs().for_each(|pair| starts[pair.tile() + 1] += 1);
            (0..tiles).for_each(|tile| starts[tile + 1] += starts[tile]);
            asked.clear();
            asked.resize(starts[tiles], Asked { a: 0, b: 0, place: 0 });
            for pair in pairs() {
                let free = &mut starts[pair.tile()];
                asked[*free] = pair;
                *free += 1;
            }
            self.multiply(&asked, out);
        }
        out
    }

    /// The same for one pair.
    pub(crate) fn at(&self, a: u32, b: u32) -> f32 {
        let mut out = [0.0];
        self.multiply(&[Asked { a, b, place: 0 }], &mut out);
        out[0]
    }

    fn multiply(&self, asked: &[Asked], out: &mut [f32]) {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") {
                // SAFETY: the CPU has it.
                return unsafe { self.multiply_avx512(asked, out) };
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the CPU has it.
                return unsafe { self.multiply_avx2(asked, out) };
            }
        }
        self.multiply_any(asked, out);
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

    fn left(&self, gene: u32) -> &[Lanes] {
        self.left[gene as usize * self.width..][..self.width].as_chunks().0
    }

    fn right(&self, gene: u32) -> &[Lanes] {
        self.right[gene as usize * self.width..][..self.width].as_chunks().0
    }
}

/// A pair and where its product belongs.
#[derive(Clone, Copy)]
struct Asked {
    a: u32,
    b: u32,
    place: u32,
}

impl Asked {
    fn tile(&self) -> usize {
        self.b as usize / TILE_GENES
    }
}

/// The first runs of `columns` pairs each, if each is of one first gene and all are of the same second genes.
fn alike<const ROWS: usize>(asked: &[Asked], columns: usize) -> Option<[&[Asked]; ROWS]> {
    let asked = asked.get(..ROWS * columns)?;
    let runs: [&[Asked]; ROWS] = std::array::from_fn(|row| &asked[row * columns..][..columns]);
    let is_like =
        |run: &&[Asked]| run.iter().zip(runs[0]).all(|(pair, like)| pair.a == run[0].a && pair.b == like.b);
    runs.iter().all(is_like).then_some(runs)
}

/// Products of some rows with others, summed lane by lane; each is summed in the same order however many there are.
fn sums_any<const M: usize, const N: usize>(a: [&[Lanes]; M], b: [&[Lanes]; N]) -> [[Lanes; N]; M] {
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

// A compiler that is left to itself does not keep the sums of several rows in registers. Loops and not `map`, which is compiled without the
// instruction set and then called.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn sums_avx512<const M: usize, const N: usize>(a: [&[Lanes]; M], b: [&[Lanes]; N]) -> [[Lanes; N]; M] {
    use std::arch::x86_64::{
        _mm512_add_ps, _mm512_loadu_ps, _mm512_mul_ps, _mm512_setzero_ps, _mm512_storeu_ps,
    };
    let groups = a[0].len();
    let (a, b) = (a.map(|row| &row[..groups]), b.map(|row| &row[..groups]));
    let mut sums = [[_mm512_setzero_ps(); N]; M];
    for place in 0..groups {
        let mut right = [_mm512_setzero_ps(); N];
        for (right, row) in right.iter_mut().zip(&b) {
            // SAFETY: a group is as many numbers as are loaded.
            *right = unsafe { _mm512_loadu_ps(row[place].as_ptr()) };
        }
        for (sums, row) in sums.iter_mut().zip(&a) {
            // SAFETY: the same.
            let left = unsafe { _mm512_loadu_ps(row[place].as_ptr()) };
            for (sum, right) in sums.iter_mut().zip(&right) {
                *sum = _mm512_add_ps(*sum, _mm512_mul_ps(left, *right));
            }
        }
    }
    let mut out = [[[0.0; LANES]; N]; M];
    for (out, sum) in out.as_flattened_mut().iter_mut().zip(sums.as_flattened()) {
        // SAFETY: a group is as many numbers as are stored.
        unsafe { _mm512_storeu_ps(out.as_mut_ptr(), *sum) };
    }
    out
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn sums_avx2<const M: usize, const N: usize>(a: [&[Lanes]; M], b: [&[Lanes]; N]) -> [[Lanes; N]; M] {
    use std::arch::x86_64::{
        _mm256_add_ps, _mm256_loadu_ps, _mm256_mul_ps, _mm256_setzero_ps, _mm256_storeu_ps,
    };
    const HALF: usize = LANES / 2;
    let groups = a[0].len();
    let (a, b) = (a.map(|row| &row[..groups]), b.map(|row| &row[..groups]));
    let mut out = [[[0.0; LANES]; N]; M];
    // Half a group after the other: the sums of both do not fit into the registers.
    for half in [0, HALF] {
        let mut sums = [[_mm256_setzero_ps(); N]; M];
        for place in 0..groups {
            let mut right = [_mm256_setzero_ps(); N];
            for (right, row) in right.iter_mut().zip(&b) {
                // SAFETY: half a group is as many numbers as are loaded.
                *right = unsafe { _mm256_loadu_ps(row[place][half..].as_ptr()) };
            }
            for (sums, row) in sums.iter_mut().zip(&a) {
                // SAFETY: the same.
                let left = unsafe { _mm256_loadu_ps(row[place][half..].as_ptr()) };
                for (sum, right) in sums.iter_mut().zip(&right) {
                    *sum = _mm256_add_ps(*sum, _mm256_mul_ps(left, *right));
                }
            }
        }
        for (out, sum) in out.as_flattened_mut().iter_mut().zip(sums.as_flattened()) {
            // SAFETY: half a group is as many numbers as are stored.
            unsafe { _mm256_storeu_ps(out[half..].as_mut_ptr(), *sum) };
        }
    }
    out
}

/// The sum of all lanes, in an order that never changes.
fn total(sums: &Lanes) -> f32 {
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

    /// Sums of forms are those of the definition, and the same bits alone, in any order and in any company.
    #[test]
    fn products_do_not_depend_on_what_else_is_asked_for() {
        let mut rng = Rng::new(0, "pair products");
        let genes = 101;
        let (x, y) = (random(genes, 21, &mut rng), random(genes, 21, &mut rng));
        let (few, others) = (random(60, 5, &mut rng), random(60, 5, &mut rng));
        let (all, some) = (|gene| Some(gene), |gene: usize| (gene < 60).then_some(gene));
        let forms = [
            Form { weight: 0.7, x: Rows { table: &x, place: &all }, y: Rows { table: &y, place: &all } },
            Form { weight: 0.0, x: Rows { table: &y, place: &all }, y: Rows { table: &x, place: &all } },
            Form {
                weight: -0.5,
                x: Rows { table: &few, place: &some },
                y: Rows { table: &others, place: &some },
            },
        ];
        let products = PairProducts::of(genes, &forms);
        let mut sets = GeneSets::default();
        for a in 0..genes as u32 {
            (a + 1..genes as u32).for_each(|b| sets.push(&[a, b]));
            sets.push(&[a]);
        }
        let found = products.of_sets(sets.view());
        let dot = |a: &[f32], b: &[f32]| -> f64 {
            a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
        };
        for (set, &found) in sets.view().iter().zip(&found) {
            let &[a, b] = set else {
                assert_eq!(found, 0.0);
                continue;
            };
            assert_eq!(found.to_bits(), products.at(a, b).to_bits());
            let (a, b) = (a as usize, b as usize);
            let mut expected = 0.7 * (dot(x.row(a), y.row(b)) + dot(y.row(a), x.row(b)));
            if a < 60 && b < 60 {
                expected -= 0.5 * (dot(few.row(a), others.row(b)) + dot(others.row(a), few.row(b)));
            }
            assert!((f64::from(found) - expected).abs() < 1e-4, "{found} {expected}");
        }
        let mut order: Vec<usize> = (0..sets.len()).collect();
        rng.shuffle(&mut order);
        let shuffled: GeneSets = order.iter().map(|&set| sets.get(set)).collect();
        let again = products.of_sets(shuffled.view());
        assert!(order.iter().zip(&again).all(|(&set, again)| again.to_bits() == found[set].to_bits()));
        // Nor on the instruction set, in a block of pairs or beside one.
        let mut pairs: Vec<(u32, u32)> =
            (0..11).flat_map(|a| (20..31).map(move |b| (a, b))).chain([(3, 9), (3, 40), (7, 9)]).collect();
        pairs.remove(60);
        let asked: Vec<Asked> = (0..).zip(pairs).map(|(place, (a, b))| Asked { a, b, place }).collect();
        let bits = |multiply: &dyn Fn(&[Asked], &mut [f32])| -> Vec<u32> {
            let mut out = vec![0.0; asked.len()];
            multiply(&asked, &mut out);
            out.iter().map(|value| value.to_bits()).collect()
        };
        let alone: Vec<u32> = asked.iter().map(|pair| products.at(pair.a, pair.b).to_bits()).collect();
        assert_eq!(bits(&|asked, out| products.multiply(asked, out)), alone);
        assert_eq!(bits(&|asked, out| products.multiply_any(asked, out)), alone);
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the CPU has it.
            assert_eq!(bits(&|asked, out| unsafe { products.multiply_avx2(asked, out) }), alone);
        }
    }
}
