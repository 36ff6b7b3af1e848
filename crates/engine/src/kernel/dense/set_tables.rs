//! Scores of small sets of rows by two layers of attention among their members, from tables that hold everything that depends on one
//! row alone.
//!
//! With `x'_m = x_m + Σ_h Σ_n a_mnh U_h x_n` for the first layer, whatever is linear in `x'_m` is a sum over other members of a table
//! entry times a weight: the second layer's queries, keys and values need no matrix product. Only its output does.

use crate::kernel::Isa;
use crate::kernel::simd::{Members, PackedSquare, attend, square_scores};

/// Channels in a step of the kernels; a width is a multiple of twice as many.
const LANES: usize = 16;

/// Members of sets that are scored together: what they need fits the first- and second-level cache.
const TILE_MEMBERS: usize = 48;

/// Tables of a set scorer with two layers of attention.
///
/// Row `i` of `rows` is `[q₁ k₁ | q₂ k₂ v₂ e | for every head: q₂ k₂ v₂ e]`, each `width` wide: the first layer's query and key; what the
/// second layer's query, key, value and the final difference are without any attention; and what attending to row `i` in the first
/// layer, by a head's weight of 1, adds to them. Queries carry the scale of the softmax. In `q₁ k₁ q₂ k₂ v₂` channel `c` of head `h`
/// stands at `c · heads + h`.
///
/// With `t_m` the second layer's weighted values, a set scores the mean over its members of `Σ score · (e_m + output t_m)²`, plus `bias`.
#[derive(Debug, Clone)]
pub struct SetTables {
    rows: Vec<f32>,
    output: PackedSquare,
    score: Vec<f32>,
    bias: f32,
    width: usize,
    heads: usize,
    isa: Isa,
}

/// Scratch of [`SetTables::score`].
#[derive(Debug, Clone, Default)]
struct TableScratch {
    /// Starts of the sets, and of the others of each member.
    starts: [Vec<u32>; 2],
    others: Vec<u32>,
    weights: Vec<f32>,
    second: Vec<f32>,
    difference: Vec<f32>,
    attended: Vec<f32>,
}

impl SetTables {
    /// Whether the kernels handle such a scorer.
    pub fn supports(width: usize, heads: usize) -> bool {
        width > 0 && width.is_multiple_of(2 * LANES) && matches!(heads, 1 | 2 | 4 | 8)
    }

    /// Floats of a row of the tables.
    pub fn stride(width: usize, heads: usize) -> usize {
        width * (2 + 4 * (1 + heads))
    }

    /// Takes the tables; `output[k · width + c]` is what channel `k` of `t` adds to channel `c`.
    ///
    /// # Panics
    ///
    /// If [`SetTables::supports`] is false, or a slice has another length.
    pub fn new(rows: Vec<f32>, output: &[f32], score: Vec<f32>, bias: f32, heads: usize) -> Self {
        Self::for_isa(Isa::current(), rows, output, score, bias, heads)
    }

    fn for_isa(isa: Isa, rows: Vec<f32>, output: &[f32], score: Vec<f32>, bias: f32, heads: usize) -> Self {
        let width = score.len();
        assert!(Self::supports(width, heads), "{heads} heads in a width of {width}");
        assert_eq!(output.len(), width * width, "the output is square");
        assert!(rows.len().is_multiple_of(Self::stride(width, heads)), "whole rows");
        Self { output: PackedSquare::new(isa, width, output), rows, score, bias, width, heads, isa }
    }

    /// Bytes of the tables.
    pub fn byte_count(&self) -> usize {
        4 * self.rows.len()
    }

    /// Scores sets: set `i` is `members[offsets[i]..offsets[i + 1]]`, members are rows. An empty set scores NaN.
    ///
    /// # Panics
    ///
    /// If there are not as many scores as sets, or a member is beyond the rows.
    pub fn score(&self, offsets: &[u32], members: &[u32], out: &mut [f32]) {
        assert_eq!(offsets.len(), out.len() + 1, "one score per set");
        let stride = Self::stride(self.width, self.heads);
        let count = (self.rows.len() / stride) as u32;
        assert!(members.iter().all(|&member| member < count), "members are rows of the tables");
        let (mut scratch, mut set) = (TableScratch::default(), 0);
        while set < out.len() {
            let mut end = set + 1;
            while end < out.len() && (offsets[end + 1] - offsets[set]) as usize <= TILE_MEMBERS {
                end += 1;
            }
            self.score_tile(&offsets[set..=end], members, &mut out[set..end], &mut scratch);
            set = end;
        }
    }

    fn score_tile(&self, offsets: &[u32], members: &[u32], out: &mut [f32], scratch: &mut TableScratch) {
        let TableScratch { starts: [starts, other_starts], others, weights, second, difference, attended } =
            scratch;
        let rows = &members[offsets[0] as usize..offsets[out.len()] as usize];
        starts.clear();
        starts.extend(offsets.iter().map(|&offset| offset - offsets[0]));
        others.clear();
        other_starts.clear();
        other_starts.push(0);
        for set in starts.windows(2).map(|pair| pair[0]..pair[1]) {
            for member in set.clone() {
                others.extend(set.clone().filter(|&other| other != member));
                other_starts.push(others.len() as u32);
            }
        }
        weights.resize(others.len() * self.heads, 0.0);
        second.resize(rows.len() * 3 * self.width, 0.0);
        difference.resize(rows.len() * self.width, 0.0);
        attended.resize(rows.len() * self.width, 0.0);
        let members = Members { rows, starts: other_starts, others };
        attend(self.isa, &self.rows, self.width, self.heads, members, weights, second, difference, attended);
        self.output.add_to(self.isa, attended, difference);
        square_scores(self.isa, difference, &self.score, self.bias, starts, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::testing::normal;
    use knockout_base::random::Rng;

    /// The definition, in `f64`.
    fn reference(rows: &[f32], output: &[f32], score: &[f32], bias: f32, heads: usize, set: &[u32]) -> f64 {
        let (width, wide) = (score.len(), |value: f32| f64::from(value));
        let row = |member: u32| &rows[member as usize * SetTables::stride(width, heads)..];
        let attention = |q: &dyn Fn(usize, usize) -> f64,
                         k: &dyn Fn(usize, usize) -> f64,
                         m: usize,
                         h: usize| {
            let channels = || (0..width).filter(move |c| c % heads == h);
            let scores: Vec<f64> = (0..set.len())
                .map(|n| if n == m { f64::NEG_INFINITY } else { channels().map(|c| q(m, c) * k(n, c)).sum() })
                .collect();
            let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let powers: Vec<f64> =
                scores.iter().map(|score| if set.len() == 1 { 0.0 } else { (score - most).exp() }).collect();
            let sum: f64 = powers.iter().sum();
            powers.iter().map(|power| if set.len() == 1 { 0.0 } else { power / sum }).collect::<Vec<f64>>()
        };
        let entry = |m: usize, at: usize| wide(row(set[m])[at]);
        let second: Vec<Vec<f64>> = (0..set.len())
            .map(|m| {
                let weights: Vec<Vec<f64>> = (0..heads)
                    .map(|h| attention(&|m, c| entry(m, c), &|n, c| entry(n, width + c), m, h))
                    .collect();
                (0..4 * width)
                    .map(|c| {
                        let moved = (0..set.len()).flat_map(|n| (0..heads).map(move |h| (n, h)));
                        entry(m, 2 * width + c)
                            + moved
                                .map(|(n, h)| weights[h][n] * entry(n, (6 + 4 * h) * width + c))
                                .sum::<f64>()
                    })
                    .collect()
            })
            .collect();
        let members = (0..set.len()).map(|m| {
            let weights: Vec<Vec<f64>> = (0..heads)
                .map(|h| attention(&|m, c| second[m][c], &|n, c| second[n][width + c], m, h))
                .collect();
            let attended: Vec<f64> = (0..width)
                .map(|c| (0..set.len()).map(|n| weights[c % heads][n] * second[n][2 * width + c]).sum())
                .collect();
            let squares = (0..width).map(|c| {
                let added: f64 = (0..width).map(|k| attended[k] * wide(output[k * width + c])).sum();
                wide(score[c]) * (second[m][3 * width + c] + added).powi(2)
            });
            squares.sum::<f64>()
        });
        members.sum::<f64>() / set.len() as f64 + wide(bias)
    }

    #[test]
    fn every_instruction_set_scores_as_defined() {
        for (width, heads) in [(32, 1), (64, 4), (96, 8), (32, 2)] {
            let mut rng = Rng::new(1, "set tables test");
            let mut random =
                |count| normal(&mut rng, count).iter().map(|value| 0.3 * value).collect::<Vec<f32>>();
            let rows = random(9 * SetTables::stride(width, heads));
            let (output, score) = (random(width * width), random(width));
            let sets: Vec<Vec<u32>> = (0..40_u32)
                .map(|set| (0..[3, 2, 1, 3, 4][set as usize % 5]).map(|at| (set * 7 + at * 2) % 9).collect())
                .chain([(0..9).collect()])
                .collect();
            let members: Vec<u32> = sets.concat();
            let offsets: Vec<u32> =
                (0..=sets.len()).map(|end| sets[..end].iter().map(Vec::len).sum::<usize>() as u32).collect();
            for isa in Isa::available() {
                let tables = SetTables::for_isa(isa, rows.clone(), &output, score.clone(), 0.3, heads);
                let mut found = vec![0.0; sets.len()];
                tables.score(&offsets, &members, &mut found);
                for (set, &found) in sets.iter().zip(&found) {
                    let expected = reference(&rows, &output, &score, 0.3, heads, set);
                    let error = (f64::from(found) - expected).abs();
                    assert!(
                        error <= 2e-5 * expected.abs().max(1.0),
                        "{isa:?} {width}/{heads} {set:?}: {found} {expected}"
                    );
                }
            }
        }
    }
}
