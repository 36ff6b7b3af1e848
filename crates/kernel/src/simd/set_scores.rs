//! Attention among the members of small sets, from tables ([`crate::SetTables`] says what is in them).
//!
//! Heads are interleaved, so that the sum of an elementwise product holds the scores of all heads side by side, and a head's weight
//! applies to every `heads`-th channel of a vector.

use super::Isa;
use super::gemm::{Epilogue, Operand, gemm, pack};
use super::isa::for_isa;
use super::lanes::multiply_add;
use super::math::exp2;

const LANES: usize = 16;
type Lanes = [f32; LANES];

/// Sets of rows: set `i` is `members[starts[i]..starts[i + 1]]`.
#[derive(Clone, Copy)]
pub(crate) struct Sets<'a> {
    pub(crate) starts: &'a [u32],
    pub(crate) members: &'a [u32],
}

/// A square matrix, packed for products.
#[derive(Debug, Clone)]
pub(crate) struct PackedSquare {
    packed: Vec<f32>,
    width: usize,
}

impl PackedSquare {
    /// Packs `matrix[input · width + output]`; the width is a whole number of panels.
    pub(crate) fn new(isa: Isa, width: usize, matrix: &[f32]) -> Self {
        let mut packed = vec![0.0; width * width];
        pack(isa, width, width, |input, output| matrix[input * width + output], &mut packed);
        Self { packed, width }
    }

    /// `out += rows · matrix`.
    pub(crate) fn add_to(&self, isa: Isa, rows: &[f32], out: &mut [f32]) {
        let operand = Operand { rows, stride: self.width, depth: self.width, weight: &self.packed };
        gemm(isa, &[operand], None, Epilogue::Add, out, self.width);
    }
}

for_isa! {
    /// Both layers up to the second one's output: `second` takes its queries, keys and values, `difference` the final difference
    /// without it, `attended` the weighted values; `weights` is scratch, one for every ordered pair of members and every head.
    fn attend(
        rows: &[f32], width: usize, heads: usize, sets: Sets<'_>,
        weights: &mut [f32], second: &mut [f32], difference: &mut [f32], attended: &mut [f32],
    ) = attend_body
}

#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "what a kernel reads and writes")]
fn attend_body<const L: usize, const FUSED: bool>(
    rows: &[f32],
    width: usize,
    heads: usize,
    sets: Sets<'_>,
    weights: &mut [f32],
    second: &mut [f32],
    difference: &mut [f32],
    attended: &mut [f32],
) {
    let out = (second, difference, attended);
    match heads {
        1 => attend_heads::<FUSED, 1>(rows, width, sets, weights, out),
        2 => attend_heads::<FUSED, 2>(rows, width, sets, weights, out),
        4 => attend_heads::<FUSED, 4>(rows, width, sets, weights, out),
        _ => attend_heads::<FUSED, 8>(rows, width, sets, weights, out),
    }
}

#[inline(always)]
fn attend_heads<const FUSED: bool, const H: usize>(
    rows: &[f32],
    width: usize,
    sets: Sets<'_>,
    weights: &mut [f32],
    (second, difference, attended): (&mut [f32], &mut [f32], &mut [f32]),
) {
    let stride = width * (2 + 4 * (1 + H));
    let row = |member: u32| &rows[member as usize * stride..][..stride];
    // The first layer's weights.
    let mut at = 0;
    for_pairs(sets, |m, n| {
        let (q, k) = (&row(sets.members[m])[..width], &row(sets.members[n])[width..2 * width]);
        weights[at..at + H].copy_from_slice(&head_products::<FUSED, H>(q, k));
        at += H;
    });
    softmax::<FUSED, H>(sets, weights);
    // What they add to the second layer.
    let mut at = 0;
    for_members(sets, |m, others| {
        let base = row(sets.members[m])[2 * width..6 * width].as_chunks::<LANES>().0;
        let (q, e) = (&mut second[m * 3 * width..][..3 * width], &mut difference[m * width..][..width]);
        let count = others.len() * H;
        let weights = &weights[at..at + count];
        at += count;
        for (group, base) in base.chunks_exact(2).enumerate() {
            let mut sums = [base[0], base[1]];
            for (weights, &n) in weights.as_chunks::<H>().0.iter().zip(others) {
                let moved = &row(sets.members[n])[6 * width..];
                for h in 0..H {
                    let moved =
                        moved[h * 4 * width + group * 2 * LANES..][..2 * LANES].as_chunks::<LANES>().0;
                    let weight = [weights[h]; LANES];
                    sums[0] = multiply_add::<LANES, FUSED>(weight, moved[0], sums[0]);
                    sums[1] = multiply_add::<LANES, FUSED>(weight, moved[1], sums[1]);
                }
            }
            let place = group * 2 * LANES;
            let out = if place < 3 * width { &mut q[place..] } else { &mut e[place - 3 * width..] };
            out[..2 * LANES].copy_from_slice(sums.as_flattened());
        }
    });
    // The second layer's weights.
    let mut at = 0;
    for_pairs(sets, |m, n| {
        let (q, k) = (&second[m * 3 * width..][..width], &second[(n * 3 + 1) * width..][..width]);
        weights[at..at + H].copy_from_slice(&head_products::<FUSED, H>(q, k));
        at += H;
    });
    softmax::<FUSED, H>(sets, weights);
    let mut at = 0;
    for_members(sets, |m, others| {
        let out = attended[m * width..][..width].as_chunks_mut::<LANES>().0;
        out.fill([0.0; LANES]);
        for &n in others {
            let mut weight = [0.0; LANES];
            for i in 0..LANES {
                weight[i] = weights[at + i % H];
            }
            at += H;
            let values = second[(n * 3 + 2) * width..][..width].as_chunks::<LANES>().0;
            for (out, &value) in out.iter_mut().zip(values) {
                *out = multiply_add::<LANES, FUSED>(weight, value, *out);
            }
        }
    });
}

/// Products of two rows of interleaved heads, head by head.
#[inline(always)]
fn head_products<const FUSED: bool, const H: usize>(a: &[f32], b: &[f32]) -> [f32; H] {
    let mut sums: [Lanes; 2] = [[0.0; LANES]; 2];
    let (a, b) = (a.as_chunks::<LANES>().0, b.as_chunks::<LANES>().0);
    for (a, b) in a.chunks_exact(2).zip(b.chunks_exact(2)) {
        sums[0] = multiply_add::<LANES, FUSED>(a[0], b[0], sums[0]);
        sums[1] = multiply_add::<LANES, FUSED>(a[1], b[1], sums[1]);
    }
    let mut sum = [0.0; LANES];
    for i in 0..LANES {
        sum[i] = sums[0][i] + sums[1][i];
    }
    let mut half = LANES / 2;
    while half >= H {
        for i in 0..half {
            sum[i] += sum[i + half];
        }
        half /= 2;
    }
    let mut out = [0.0; H];
    out.copy_from_slice(&sum[..H]);
    out
}

/// Softmax over the other members of a member's set, head by head.
#[inline(always)]
fn softmax<const FUSED: bool, const H: usize>(sets: Sets<'_>, weights: &mut [f32]) {
    let mut at = 0;
    for_members(sets, |_, others| {
        let group = weights[at..at + others.len() * H].as_chunks_mut::<H>().0;
        at += others.len() * H;
        let mut most = [f32::NEG_INFINITY; H];
        for scores in group.iter() {
            for h in 0..H {
                most[h] = if scores[h] > most[h] { scores[h] } else { most[h] };
            }
        }
        for scores in group.iter_mut() {
            for h in 0..H {
                scores[h] -= most[h];
            }
        }
    });
    // All exponentials of a tile together: short groups would leave the vectors half empty.
    for weight in weights.iter_mut() {
        *weight = exp2::<FUSED>(*weight, std::f32::consts::LOG2_E);
    }
    let mut at = 0;
    for_members(sets, |_, others| {
        let group = weights[at..at + others.len() * H].as_chunks_mut::<H>().0;
        at += others.len() * H;
        let mut sum = [0.0; H];
        for weights in group.iter() {
            for h in 0..H {
                sum[h] += weights[h];
            }
        }
        let mut share = [0.0; H];
        for h in 0..H {
            share[h] = 1.0 / sum[h];
        }
        for weights in group.iter_mut() {
            for h in 0..H {
                weights[h] *= share[h];
            }
        }
    });
}

/// Visits every member with the others of its set.
#[inline(always)]
fn for_members(sets: Sets<'_>, mut visit: impl FnMut(usize, &[usize])) {
    /// Sets beyond it allocate.
    const FEW: usize = 8;
    for pair in sets.starts.windows(2) {
        let (start, end) = (pair[0] as usize, pair[1] as usize);
        let size = end - start;
        if size <= FEW {
            let mut others = [0; FEW];
            for m in start..end {
                let mut count = 0;
                for n in start..end {
                    if n != m {
                        others[count] = n;
                        count += 1;
                    }
                }
                visit(m, &others[..count]);
            }
        } else {
            for m in start..end {
                let others: Vec<usize> = (start..end).filter(|&n| n != m).collect();
                visit(m, &others);
            }
        }
    }
}

/// Visits every ordered pair of members of a set.
#[inline(always)]
fn for_pairs(sets: Sets<'_>, mut visit: impl FnMut(usize, usize)) {
    for pair in sets.starts.windows(2) {
        let range = pair[0] as usize..pair[1] as usize;
        for m in range.clone() {
            for n in range.clone() {
                if n != m {
                    visit(m, n);
                }
            }
        }
    }
}

for_isa! {
    /// `out_i = mean over the rows of set i of Σ score · row²`, plus `bias`.
    fn square_scores(rows: &[f32], score: &[f32], bias: f32, starts: &[u32], out: &mut [f32]) = square_scores_body
}

#[inline(always)]
fn square_scores_body<const L: usize, const FUSED: bool>(
    rows: &[f32],
    score: &[f32],
    bias: f32,
    starts: &[u32],
    out: &mut [f32],
) {
    let (width, score) = (score.len(), score.as_chunks::<LANES>().0);
    for (out, pair) in out.iter_mut().zip(starts.windows(2)) {
        let (start, end) = (pair[0] as usize, pair[1] as usize);
        let mut sum = [0.0; LANES];
        for row in rows[start * width..end * width].chunks_exact(width) {
            for (&row, &score) in row.as_chunks::<LANES>().0.iter().zip(score) {
                let mut scaled = [0.0; LANES];
                for i in 0..LANES {
                    scaled[i] = row[i] * score[i];
                }
                sum = multiply_add::<LANES, FUSED>(scaled, row, sum);
            }
        }
        *out = super::lanes::sum(sum) / (end - start) as f32 + bias;
    }
}
