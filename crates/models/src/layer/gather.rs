//! Row lookup.

use super::add_to;
use knockout_engine::grad::{Tape, Var};
use knockout_engine::kernel::Real;

/// `y_m = x[rows_m]`, `x: [any, width]`, `y: [rows, width]`. In the backward pass, the gradients of a row that occurs more than once are summed in
/// order.
pub fn gather<'a, T: Real>(tape: &mut Tape<'a, T>, x: Var, rows: &'a [u32], width: usize) -> Var {
    let of = move |row: u32| row as usize * width..(row as usize + 1) * width;
    tape.op(
        "gather",
        rows.len() * width,
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
