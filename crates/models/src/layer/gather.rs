//! Row lookup, and sums of rows.

use super::add_to;
use knockout_data::cell::GeneSetsRef;
use knockout_engine::grad::{Tape, Var};
use knockout_engine::kernel::Real;

/// `y_m = x[rows_m]`, `x: [any, width]`, `y: [rows, width]`. In the backward pass, the gradients of a row that occurs more than once are summed in
/// order.
pub fn gather<'a, T: Real>(tape: &mut Tape<'a, T>, x: Var, rows: &'a [u32], width: usize) -> Var {
    let of = move |row: u32| row as usize * width..(row as usize + 1) * width;
    tape.op(
        "gather",
        [rows.len(), width],
        |values, out| {
            for (out, &row) in out.chunks_exact_mut(width).zip(rows) {
                out.copy_from_slice(&values.of(x)[of(row)]);
            }
        },
        move |step, (), gradients| {
            gradients.add(x, |sum| {
                for (gradient, &row) in step.gradient.chunks_exact(width).zip(rows) {
                    add_to(&mut sum[of(row)], gradient);
                }
            });
        },
    )
}

/// `y_b = Σ over the genes g of set b of x[g]`, `x: [any, width]`, `y: [sets, width]`. Sums run in the order of the sets.
pub fn set_sums<'a, T: Real>(tape: &mut Tape<'a, T>, x: Var, sets: GeneSetsRef<'a>, width: usize) -> Var {
    let of = move |gene: u32| gene as usize * width..(gene as usize + 1) * width;
    tape.op(
        "set_sums",
        [sets.len(), width],
        |values, out| {
            out.fill(T::ZERO);
            for (out, set) in out.chunks_exact_mut(width).zip(sets.iter()) {
                for &gene in set {
                    add_to(out, &values.of(x)[of(gene)]);
                }
            }
        },
        move |step, (), gradients| {
            gradients.add(x, |sum| {
                for (gradient, set) in step.gradient.chunks_exact(width).zip(sets.iter()) {
                    for &gene in set {
                        add_to(&mut sum[of(gene)], gradient);
                    }
                }
            });
        },
    )
}
