//! Inner products for very many gene pairs: all that a model says of a pair is one of them.
//!
//! A symmetric form x(a)·y(b) + y(a)·x(b) is one inner product of a gene's row on the left and a gene's row on the right, and so is
//! a weighted sum of several. The products of a pair are summed in an order of their own, whatever other pairs are asked for with it, so
//! they are the same bits in any company, on any CPU. Pairs are taken tile by tile of their second genes, whose rows then
//! stay in the cache.
#![expect(unsafe_code, reason = "versions for an instruction set are called after asking for it")]

use crate::matrix::Matrix;
use knockout_cell::GeneSetsRef;

/// Products that are summed side by side; rows are padded to whole groups of them.
const LANES: usize = 16;
/// A group of products.
type Lanes = [f32; LANES];
/// Rows on the right that are multiplied with one on the left at once.
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

/// A version of the loop over pairs for an instruction set.
macro_rules! multiply {
    ($(#[$feature:meta])? $name:ident, $sums:ident) => {
        $(#[$feature])?
        fn $name(&self, asked: &[Asked], out: &mut [f32]) {
            for same in asked.chunk_by(|one, other| one.a == other.a) {
                let a = self.left(same[0].a);
                let (groups, rest) = same.as_chunks::<TOGETHER>();
                for group in groups {
                    let rows = group.each_ref().map(|pair| self.right(pair.b));
                    for (pair, sums) in group.iter().zip($sums(a, rows)) {
                        out[pair.place as usize] = total(sums);
                    }
                }
                for pair in rest {
                    let [sums] = $sums(a, [self.right(pair.b)]);
                    out[pair.place as usize] = total(sums);
                }
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
        sums_avx512
    );
    #[cfg(target_arch = "x86_64")]
    multiply!(
        #[target_feature(enable = "avx2")]
        multiply_avx2,
        sums_avx2
    );
    multiply!(multiply_any, sums_any);

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

/// Products of one row with several, summed lane by lane; each is summed in the same order however many there are.
fn sums_any<const N: usize>(a: &[Lanes], b: [&[Lanes]; N]) -> [Lanes; N] {
    b.map(|row| {
        let mut sums = [0.0; LANES];
        for (a, b) in a.iter().zip(row) {
            for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
                *sum += a * b;
            }
        }
        sums
    })
}

// A compiler that is left to itself does not keep the sums of several rows in registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn sums_avx512<const N: usize>(a: &[Lanes], b: [&[Lanes]; N]) -> [Lanes; N] {
    use std::arch::x86_64::{
        _mm512_add_ps, _mm512_loadu_ps, _mm512_mul_ps, _mm512_setzero_ps, _mm512_storeu_ps,
    };
    let b = b.map(|row| &row[..a.len()]);
    let mut sums = [_mm512_setzero_ps(); N];
    for (place, a) in a.iter().enumerate() {
        // SAFETY: a group is as many numbers as are loaded.
        let a = unsafe { _mm512_loadu_ps(a.as_ptr()) };
        for (sum, row) in sums.iter_mut().zip(b) {
            // SAFETY: the same.
            let row = unsafe { _mm512_loadu_ps(row[place].as_ptr()) };
            *sum = _mm512_add_ps(*sum, _mm512_mul_ps(a, row));
        }
    }
    sums.map(|sum| {
        let mut out = [0.0; LANES];
        // SAFETY: a group is as many numbers as are stored.
        unsafe { _mm512_storeu_ps(out.as_mut_ptr(), sum) };
        out
    })
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn sums_avx2<const N: usize>(a: &[Lanes], b: [&[Lanes]; N]) -> [Lanes; N] {
    use std::arch::x86_64::{
        _mm256_add_ps, _mm256_loadu_ps, _mm256_mul_ps, _mm256_setzero_ps, _mm256_storeu_ps,
    };
    const HALF: usize = LANES / 2;
    let b = b.map(|row| &row[..a.len()]);
    let mut sums = [[_mm256_setzero_ps(); 2]; N];
    for (place, a) in a.iter().enumerate() {
        for half in 0..2 {
            // SAFETY: half a group is as many numbers as are loaded.
            let a = unsafe { _mm256_loadu_ps(a[HALF * half..].as_ptr()) };
            for (sum, row) in sums.iter_mut().zip(b) {
                // SAFETY: the same.
                let row = unsafe { _mm256_loadu_ps(row[place][HALF * half..].as_ptr()) };
                sum[half] = _mm256_add_ps(sum[half], _mm256_mul_ps(a, row));
            }
        }
    }
    sums.map(|sum| {
        let mut out = [0.0; LANES];
        for (out, sum) in out.as_chunks_mut::<HALF>().0.iter_mut().zip(sum) {
            // SAFETY: half a group is as many numbers as are stored.
            unsafe { _mm256_storeu_ps(out.as_mut_ptr(), sum) };
        }
        out
    })
}

/// The sum of all lanes, in an order that never changes.
fn total(sums: Lanes) -> f32 {
    let sums: [f32; 8] = std::array::from_fn(|lane| sums[lane] + sums[lane + 8]);
    let sums: [f32; 4] = std::array::from_fn(|lane| sums[lane] + sums[lane + 4]);
    (sums[0] + sums[2]) + (sums[1] + sums[3])
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_cell::GeneSets;
    use knockout_random::Rng;

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
        // Nor on the instruction set.
        let pair = [Asked { a: 3, b: 9, place: 0 }];
        let mut versions = [[0.0]; 2];
        products.multiply_any(&pair, &mut versions[0]);
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the CPU has it.
            unsafe { products.multiply_avx2(&pair, &mut versions[1]) };
            assert_eq!(versions[1], versions[0]);
        }
        assert_eq!(versions[0][0].to_bits(), products.at(3, 9).to_bits());
    }
}
