//! Attention among the members of small sets, from tables (see [`crate::kernel::SetTables`]).
//!
//! Heads are interleaved, so that the sum of an elementwise product holds the scores of all heads side by side, and a head's weight
//! applies to every `heads`-th channel of a vector.

use super::Isa;
use super::gemm::{Epilogue, GemmOperand, gemm, pack};
use super::isa::for_isa;
use super::lanes::multiply_add;
use super::math::exp2;

const LANES: usize = 16;
/// Channels whose sums are kept in registers together.
const GROUP: usize = 2 * LANES;
type ScoreLanes = [f32; LANES];

/// Rows that attend to each other: member `m` to `others[starts[m]..starts[m + 1]]`, which are indices of members.
#[derive(Clone, Copy)]
pub(crate) struct Members<'a> {
    pub(crate) rows: &'a [u32],
    pub(crate) starts: &'a [u32],
    pub(crate) others: &'a [u32],
}

impl Members<'_> {
    /// Where the others of a member stand.
    #[inline(always)]
    fn range(&self, member: usize) -> std::ops::Range<usize> {
        self.starts[member] as usize..self.starts[member + 1] as usize
    }
}

/// The entries of a row of the tables.
#[inline(always)]
fn entries(tables: &[f32], stride: usize, row: u32) -> &[f32] {
    &tables[row as usize * stride..][..stride]
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
        let width = self.width;
        let operand = GemmOperand { rows, stride: width, depth: width, weight: &self.packed, width };
        gemm(isa, &[operand], None, Epilogue::Add, out, width);
    }
}

for_isa! {
    /// Both layers up to the second one's output: `second` takes its queries, keys and values, `difference` the final difference
    /// without it, `attended` the weighted values; `weights` is scratch, one for every ordered pair of members and every head.
    fn attend(
        tables: &[f32], width: usize, heads: usize, members: Members<'_>,
        weights: &mut [f32], second: &mut [f32], difference: &mut [f32], attended: &mut [f32],
    ) = attend_body
}

#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "what a kernel reads and writes")]
fn attend_body<const L: usize, const FUSED: bool>(
    tables: &[f32],
    width: usize,
    heads: usize,
    members: Members<'_>,
    weights: &mut [f32],
    second: &mut [f32],
    difference: &mut [f32],
    attended: &mut [f32],
) {
    match heads {
        1 => attend_heads::<FUSED, 1>(tables, width, members, weights, (second, difference, attended)),
        2 => attend_heads::<FUSED, 2>(tables, width, members, weights, (second, difference, attended)),
        4 => attend_heads::<FUSED, 4>(tables, width, members, weights, (second, difference, attended)),
        _ => attend_heads::<FUSED, 8>(tables, width, members, weights, (second, difference, attended)),
    }
}

// No closures from here on: they are functions of their own, which the instruction set of the caller does not reach.
#[inline(always)]
fn attend_heads<const FUSED: bool, const H: usize>(
    tables: &[f32],
    width: usize,
    members: Members<'_>,
    weights: &mut [f32],
    (second, difference, attended): (&mut [f32], &mut [f32], &mut [f32]),
) {
    let stride = width * (2 + 4 * (1 + H));
    let count = members.rows.len();
    let (weights, _) = weights.as_chunks_mut::<H>();
    // The first layer's weights.
    for m in 0..count {
        let q = &entries(tables, stride, members.rows[m])[..width];
        for at in members.range(m) {
            let row = members.rows[members.others[at] as usize];
            weights[at] = head_products::<FUSED, H>(q, &entries(tables, stride, row)[width..2 * width]);
        }
    }
    softmax::<FUSED, H>(members, weights);
    // What they add to the second layer.
    for m in 0..count {
        let base = &entries(tables, stride, members.rows[m])[2 * width..6 * width];
        let range = members.range(m);
        let (others, weights) = (&members.others[range.clone()], &weights[range]);
        for place in (0..4 * width).step_by(GROUP) {
            let mut sums: [ScoreLanes; GROUP / LANES] = [[0.0; LANES]; GROUP / LANES];
            sums.as_flattened_mut().copy_from_slice(&base[place..place + GROUP]);
            for i in 0..others.len() {
                let row = members.rows[others[i] as usize];
                let moved = &entries(tables, stride, row)[6 * width..];
                for h in 0..H {
                    let moved = moved[h * 4 * width + place..][..GROUP].as_chunks::<LANES>().0;
                    let weight = [weights[i][h]; LANES];
                    for part in 0..GROUP / LANES {
                        sums[part] = multiply_add::<LANES, FUSED>(weight, moved[part], sums[part]);
                    }
                }
            }
            if place < 3 * width {
                second[m * 3 * width + place..][..GROUP].copy_from_slice(sums.as_flattened());
            } else {
                difference[m * width + place - 3 * width..][..GROUP].copy_from_slice(sums.as_flattened());
            }
        }
    }
    // The second layer's weights, and the values that they weigh.
    for m in 0..count {
        let q = &second[m * 3 * width..][..width];
        for at in members.range(m) {
            let n = members.others[at] as usize;
            weights[at] = head_products::<FUSED, H>(q, &second[(n * 3 + 1) * width..][..width]);
        }
    }
    softmax::<FUSED, H>(members, weights);
    for m in 0..count {
        let out = attended[m * width..][..width].as_chunks_mut::<LANES>().0;
        out.fill([0.0; LANES]);
        for at in members.range(m) {
            let n = members.others[at] as usize;
            let mut weight = [0.0; LANES];
            for i in 0..LANES {
                weight[i] = weights[at][i % H];
            }
            let values = second[(n * 3 + 2) * width..][..width].as_chunks::<LANES>().0;
            for i in 0..out.len() {
                out[i] = multiply_add::<LANES, FUSED>(weight, values[i], out[i]);
            }
        }
    }
}

/// Products of two rows of interleaved heads, head by head.
#[inline(always)]
fn head_products<const FUSED: bool, const H: usize>(a: &[f32], b: &[f32]) -> [f32; H] {
    let mut sums: [ScoreLanes; 2] = [[0.0; LANES]; 2];
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

/// Softmax over the others of each member, head by head.
#[inline(always)]
fn softmax<const FUSED: bool, const H: usize>(members: Members<'_>, weights: &mut [[f32; H]]) {
    for m in 0..members.rows.len() {
        let group = &mut weights[members.range(m)];
        let mut most = [f32::NEG_INFINITY; H];
        for i in 0..group.len() {
            for h in 0..H {
                most[h] = if group[i][h] > most[h] { group[i][h] } else { most[h] };
            }
        }
        for i in 0..group.len() {
            for h in 0..H {
                group[i][h] -= most[h];
            }
        }
    }
    // All exponentials of a tile together: short groups would leave the vectors half empty.
    for weight in weights.as_flattened_mut() {
        *weight = exp2::<FUSED>(*weight, std::f32::consts::LOG2_E);
    }
    for m in 0..members.rows.len() {
        let group = &mut weights[members.range(m)];
        let mut share = [0.0; H];
        for i in 0..group.len() {
            for h in 0..H {
                share[h] += group[i][h];
            }
        }
        for h in 0..H {
            share[h] = 1.0 / share[h];
        }
        for i in 0..group.len() {
            for h in 0..H {
                group[i][h] *= share[h];
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
