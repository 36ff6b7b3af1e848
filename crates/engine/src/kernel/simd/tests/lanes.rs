//! Code for different instruction sets computes the same.

use crate::kernel::Isa;
use crate::kernel::simd::isa::for_isa;
use crate::kernel::simd::lanes::transpose;

for_isa! {
    /// Exchanges rows and lanes of one block of a panel.
    fn transpose_block(halves: [usize; 2], from: &[f32], to: &mut [f32]) = transpose_block_body
}

#[inline(always)]
fn transpose_block_body<const L: usize, const FUSED: bool>(
    [from_half, to_half]: [usize; 2],
    from: &[f32],
    to: &mut [f32],
) {
    let (from, to) = (from.as_chunks::<L>().0.as_chunks().0, to.as_chunks_mut::<L>().0.as_chunks_mut().0);
    transpose(from, from_half, to, to_half);
}

#[test]
fn blocks_are_transposed_and_nothing_beside_them_is_written() {
    for isa in Isa::available() {
        let (lanes, stride) = (isa.panel_width() / 2, isa.panel_width());
        let from: Vec<f32> = (0..lanes * stride).map(|at| at as f32).collect();
        for halves @ [from_half, to_half] in [[0, 0], [0, 1], [1, 0], [1, 1]] {
            let mut to = vec![-1.0; lanes * stride];
            transpose_block(isa, halves, &from, &mut to);
            for i in 0..lanes {
                for j in 0..lanes {
                    let value = to[j * stride + to_half * lanes + i];
                    assert_eq!(
                        value,
                        from[i * stride + from_half * lanes + j],
                        "{isa:?}, {halves:?}, {i}, {j}"
                    );
                    assert_eq!(to[j * stride + (1 - to_half) * lanes + i], -1.0, "{isa:?}, {halves:?}");
                }
            }
        }
    }
}
