//! Completion of a matrix with the least nuclear norm: minimises ½ Σ (R − X)² over the observed entries + λ‖X‖₊.
//!
//! Accelerated proximal steps: the gaps of the matrix are filled by extrapolation, and its singular values are shrunk by λ. Of the
//! singular values only those above λ matter, so each step turns a few more vectors than these by one round of subspace
//! iteration from those of the step before. Whether what came out is the minimum is not left to the iteration: a point of the
//! dual problem bounds the distance to it (the certificate).

use super::observed::Observed;
use crate::matrix::{Matrix, orthonormal_columns, product, symmetric_eigen};
use knockout_random::Rng;

/// A matrix as a product: left · diag(values) · rightᵀ.
#[derive(Debug, Clone)]
pub(super) struct Factors {
    pub(super) left: Matrix<f64>,
    pub(super) values: Vec<f64>,
    pub(super) right: Matrix<f64>,
}

impl Factors {
    pub(super) fn zero(rows: usize, columns: usize) -> Self {
        Self { left: Matrix::zeros(rows, 0), values: Vec::new(), right: Matrix::zeros(columns, 0) }
    }

    pub(super) fn rank(&self) -> usize {
        self.values.len()
    }

    /// The left factor times the values.
    pub(super) fn scaled_left(&self) -> Matrix<f64> {
        let mut scaled = self.left.clone();
        if self.rank() > 0 {
            for row in scaled.values_mut().chunks_exact_mut(self.rank()) {
                row.iter_mut().zip(&self.values).for_each(|(x, value)| *x *= value);
            }
        }
        scaled
    }

    fn dense(&self) -> Matrix<f64> {
        product(&self.scaled_left(), &transpose(&self.right))
    }
}

/// A completed matrix and how far it is from the minimum.
#[derive(Debug, Clone)]
pub(super) struct Completed {
    pub(super) factors: Factors,
    /// (objective − a lower bound of the minimum) / objective.
    pub(super) relative_gap: f64,
    pub(super) steps: usize,
}

/// Steps between certificates.
const CERTIFY_EVERY: usize = 5;
/// Steps at most; from a neighbouring λ a few dozen are usual.
const MOST_STEPS: usize = 2_000;

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub(super) enum Until {
    /// A step lowers the objective by less than a share of it: near enough to be judged.
    Slow(f64),
    /// The certificate shows a relative gap of at most this.
    Certified(f64),
}

/// Minimises from a start.
pub(super) fn complete(observed: &Observed, lambda: f64, start: &Factors, until: Until) -> Completed {
    let (rows, columns) = (observed.row_count, observed.column_count);
    let places: Vec<usize> = observed.places().collect();
    let mut rng = Rng::new(0, "completion");
    let mut factors = start.clone();
    // Vectors that the next step starts from: those of the solution and some more.
    let mut basis = widened(&start.right, &mut rng, extra(start.rank()), columns.min(rows));
    let mut now = factors.dense();
    let mut before = now.clone();
    let (mut momentum, mut objective) = (1.0_f64, f64::INFINITY);
    let mut relative_gap = f64::INFINITY;
    for step in 1..=MOST_STEPS {
        let next_momentum = f64::midpoint(1.0, (1.0 + 4.0 * momentum * momentum).sqrt());
        let beyond = (momentum - 1.0) / next_momentum;
        // The extrapolated matrix, with what was observed put in; `before` gives its memory.
        for (before, now) in before.values_mut().iter_mut().zip(now.values()) {
            *before = now + beyond * (now - *before);
        }
        std::mem::swap(&mut now, &mut before);
        for (&place, target) in places.iter().zip(&observed.targets) {
            now.values_mut()[place] = *target;
        }
        let mut found = leading(&now, &basis);
        while found.values.last().is_some_and(|&least| least > lambda)
            && found.values.len() < rows.min(columns)
        {
            // Every vector counts: there may be more of them.
            let wider = widened(&found.right, &mut rng, extra(found.values.len()), columns.min(rows));
            found = leading(&now, &wider);
        }
        let rank = found.values.iter().take_while(|&&value| value > lambda).count();
        factors = Factors {
            left: found.left.first_columns(rank),
            values: found.values[..rank].iter().map(|value| value - lambda).collect(),
            right: found.right.first_columns(rank),
        };
        basis = widened(
            &found.right.first_columns((rank + extra(rank) / 2).min(found.values.len())),
            &mut rng,
            extra(rank) / 2,
            columns.min(rows),
        );
        now = factors.dense();
        let entries = places.iter().map(|&place| now.values()[place]);
        let left_over: Vec<f64> =
            observed.targets.iter().zip(entries).map(|(target, entry)| target - entry).collect();
        let nuclear: f64 = factors.values.iter().sum();
        let new_objective = 0.5 * dot(&left_over, &left_over) + lambda * nuclear;
        let change = (objective - new_objective).abs() / new_objective;
        // Momentum that leads uphill is thrown away.
        momentum = if new_objective > objective { 1.0 } else { next_momentum };
        objective = new_objective;
        let is_done = match until {
            Until::Slow(share) => change <= share,
            Until::Certified(tolerance) if step % CERTIFY_EVERY == 0 => {
                relative_gap = gap(observed, lambda, &left_over, objective);
                relative_gap <= tolerance
            }
            Until::Certified(_) => false,
        };
        if is_done {
            return Completed { factors, relative_gap, steps: step };
        }
    }
    Completed { factors, relative_gap, steps: MOST_STEPS }
}

/// The certificate: what is left over, scaled until its largest singular value is at most λ, is a point of the dual problem.
fn gap(observed: &Observed, lambda: f64, left_over: &[f64], objective: f64) -> f64 {
    if objective <= 0.0 {
        return 0.0;
    }
    let top = observed.largest_singular_value(left_over);
    let scale = if top > lambda { lambda / top } else { 1.0 };
    let bound = scale * dot(left_over, &observed.targets) - 0.5 * scale * scale * dot(left_over, left_over);
    ((objective - bound) / objective).max(0.0)
}

fn extra(rank: usize) -> usize {
    10 + rank / 8
}

/// The vectors of `basis` and random ones, at most `most` in all.
fn widened(basis: &Matrix<f64>, rng: &mut Rng, more: usize, most: usize) -> Matrix<f64> {
    let columns = (basis.columns() + more).min(most);
    let mut wide = Matrix::zeros(basis.rows(), columns);
    for row in 0..basis.rows() {
        let kept = basis.columns().min(columns);
        let out = wide.row_mut(row);
        out[..kept].copy_from_slice(&basis.row(row)[..kept]);
        out[kept..].iter_mut().for_each(|x| *x = rng.normal());
    }
    wide
}

/// Leading singular vectors and values, improved from a basis by one round of subspace iteration.
fn leading(matrix: &Matrix<f64>, basis: &Matrix<f64>) -> Factors {
    let left = orthonormal_columns(&product(matrix, basis));
    let right = product(matrix.transposed(), &left);
    let (squares, turns) = symmetric_eigen(&product(right.transposed(), &right));
    let turn = transpose(&turns);
    let values: Vec<f64> = squares.iter().map(|square| square.max(0.0).sqrt()).collect();
    let (left, mut right) = (product(&left, &turn), product(&right, &turn));
    let columns = right.columns();
    for row in right.values_mut().chunks_exact_mut(columns.max(1)) {
        row.iter_mut().zip(&values).for_each(|(x, value)| *x /= value.max(f64::MIN_POSITIVE));
    }
    Factors { left, values, right }
}

fn transpose(matrix: &Matrix<f64>) -> Matrix<f64> {
    let mut out = Matrix::zeros(matrix.columns(), matrix.rows());
    for row in 0..matrix.rows() {
        for (column, &value) in matrix.row(row).iter().enumerate() {
            out.set(column, row, value);
        }
    }
    out
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Grid;
    use knockout_cell::GeneSets;

    /// X is the minimum if and only if what is left over, E, has no singular value above λ and ⟨E, X⟩ = λ‖X‖₊.
    #[test]
    fn the_minimum_meets_its_conditions() {
        let mut rng = Rng::new(0, "conditions");
        for (genes, share) in [(12, 9), (30, 6), (31, 3)] {
            let (mut sets, mut targets) = (GeneSets::default(), Vec::new());
            for b in 0..genes {
                for a in 0..b {
                    if rng.below(10) < share {
                        sets.push(&[a, b]);
                        targets.push(rng.normal());
                    }
                }
            }
            let observed = Observed::of(&Grid::of(sets.view()), sets.view(), &targets);
            let top = observed.largest_singular_value(&observed.targets);
            for part in [0.9, 0.5, 0.1] {
                let lambda = part * top;
                let start = Factors::zero(observed.row_count, observed.column_count);
                let found = complete(&observed, lambda, &start, Until::Certified(1e-9));
                assert!(found.relative_gap <= 1e-9, "{}", found.relative_gap);
                let dense = found.factors.dense();
                let entries: Vec<f64> = observed.places().map(|place| dense.values()[place]).collect();
                let left: Vec<f64> = observed.targets.iter().zip(&entries).map(|(t, x)| t - x).collect();
                assert!(observed.largest_singular_value(&left) <= lambda * (1.0 + 1e-4));
                let nuclear: f64 = found.factors.values.iter().sum();
                assert!((dot(&left, &entries) - lambda * nuclear).abs() <= 1e-4 * (1.0 + lambda * nuclear));
            }
        }
    }
}
