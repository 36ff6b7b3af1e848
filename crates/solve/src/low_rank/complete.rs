//! Matrix completion by nuclear norm: minimises ½ Σ (R − X)² over the observed entries + λ‖X‖₊.
//!
//! Accelerated proximal gradient steps with soft-thresholded singular values. Only singular values above the threshold matter, so each
//! step projects the matrix on a few more vectors than that, alternately on the left and on the right. The result on one side is the
//! start on the other, so one product with the matrix per step is enough. Singular values crowd around the threshold; the vectors
//! there are extended by a step of a Krylov space. The step size adapts to the share of observed entries.
//!
//! The certificate bounds the distance to the minimum by a point of the dual problem. It needs the largest singular value of the
//! residual, which at the minimum is one of as many equal values as the rank. So it is searched from the completed matrix's own vectors
//! and from a random start, and the larger value counts.
//!
//! Products are in single precision, which certifies little less than 1e-6; everything small is in double precision.

use super::observed::ObservedMatrix;
use super::subspace::{SingularSide, append_random, extend_krylov, scale_columns};
use crate::error::bad_tensor;
use crate::matrix::{Matrix, gram, orthonormal_columns, product, product_into, symmetric_eigen};
use crate::tensor::{Tensor, find};
use knockout_base::error::Error;
use rayon::prelude::*;

/// A matrix in factored form: left · diag(values) · rightᵀ.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LowRankMatrix {
    pub(super) left: Matrix<f32>,
    pub(super) values: Vec<f64>,
    pub(super) right: Matrix<f32>,
}

impl LowRankMatrix {
    pub(super) fn zero(rows: usize, columns: usize) -> Self {
        Self { left: Matrix::zeros(rows, 0), values: Vec::new(), right: Matrix::zeros(columns, 0) }
    }

    pub(super) fn rank(&self) -> usize {
        self.values.len()
    }

    /// Returns the left factor times the values.
    pub(super) fn scaled_left(&self) -> Matrix<f32> {
        scale_columns(&self.left, &self.values)
    }

    /// Writes the dense matrix.
    fn write_dense(&self, dense: &mut Matrix<f32>) {
        product_into(&self.scaled_left(), self.right.transposed(), dense);
    }

    pub(super) fn tensors(&self, name: &str) -> [Tensor; 3] {
        [
            Tensor::from_matrix(format!("{name}.left"), &self.left),
            Tensor::from_doubles(format!("{name}.values"), &self.values),
            Tensor::from_matrix(format!("{name}.right"), &self.right),
        ]
    }

    pub(super) fn load(tensors: &[Tensor], name: &str) -> Result<Self, Error> {
        let matrix = |part: &str| find(tensors, &format!("{name}.{part}"))?.matrix();
        let values = find(tensors, &format!("{name}.values"))?.doubles()?;
        Ok(Self { left: matrix("left")?, values, right: matrix("right")? })
    }
}

/// A completed matrix and its certified distance from the minimum.
#[derive(Debug, Clone)]
pub(super) struct Completion {
    pub(super) factors: LowRankMatrix,
    /// (objective − lower bound of the minimum) / objective.
    pub(super) relative_gap: f64,
    pub(super) steps: usize,
}

/// Minimum number of steps between certificates.
const CERTIFY_EVERY: usize = 3;
/// Factor by which this many steps may lower the gap.
const GAP_FACTOR: f64 = 1.6;
/// Relative change of the objective, in units of the tolerance, below which a certificate is computed. The gap is of first order in the
/// error, the objective of second order.
const SETTLED: f64 = 0.03;
/// Steps without a smaller gap after which only rounding is left.
const MAX_STUCK: usize = 72;
/// Minimum number of steps: the first ones find the leading singular vectors.
const MIN_STEPS: usize = 4;
/// Maximum number of steps; from a neighbouring λ a few dozen are usual.
const MAX_STEPS: usize = 2_000;
/// Relative differences of objectives below this are rounding.
const ROUNDING: f64 = 3e-8;
/// Random vectors added to the basis in each step.
const RANDOM_VECTORS: usize = 4;
/// Singular values up to this multiple of the threshold have their vectors extended: these converge slowest.
const KRYLOV_RANGE: f64 = 1.2;

/// Stopping rule.
#[derive(Clone, Copy)]
pub(super) enum StoppingRule<'a> {
    /// A step changes the objective by less than `relative_change`. Stops earlier if the matrix after the first steps, or while the rank
    /// still grows, is not `promising`: below the noise level the minimum has hundreds of dimensions of noise.
    SlowProgress { relative_change: f64, is_promising: &'a dyn Fn(&LowRankMatrix) -> bool },
    /// The certified relative gap is at most this.
    Certified(f64),
}

/// The state of the iteration: everything that the next step depends on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CompletionState {
    now: LowRankMatrix,
    before: LowRankMatrix,
    /// Orthonormal vectors that the next step projects on.
    basis: Matrix<f32>,
    side: SingularSide,
    momentum: f64,
    /// Step size; 1 always converges.
    step_size: f64,
    objective: f64,
    /// The smallest certified gap, and the number of steps since it last fell clearly.
    min_gap: f64,
    stuck: usize,
    step: usize,
}

impl CompletionState {
    /// Name of the first tensor.
    pub(super) const FIRST: &str = "completion.numbers";

    /// Returns the number of steps so far.
    pub(super) fn step(&self) -> usize {
        self.step
    }

    /// Starts the iteration at a matrix.
    pub(super) fn starting_at(start: &LowRankMatrix, observed: &ObservedMatrix) -> Self {
        let vectors = append_random(&start.right, 0, extra_vectors(start.rank()), observed.min_side());
        let share =
            observed.targets.len() as f64 / (observed.row_count * observed.column_count).max(1) as f64;
        Self {
            now: start.clone(),
            before: start.clone(),
            basis: orthonormal_columns(&vectors),
            side: SingularSide::Right,
            momentum: 1.0,
            // A change of low rank has about this share of its norm on the observed entries.
            step_size: (0.7 / share).clamp(1.0, 4.0),
            objective: f64::INFINITY,
            min_gap: 1.0,
            stuck: 0,
            step: 0,
        }
    }

    pub(super) fn tensors(&self) -> Vec<Tensor> {
        let side = if self.side == SingularSide::Left { 0.0 } else { 1.0 };
        let numbers = [
            side,
            self.momentum,
            self.step_size,
            self.objective,
            self.min_gap,
            self.stuck as f64,
            self.step as f64,
        ];
        let mut tensors = vec![
            Tensor::from_doubles(Self::FIRST, &numbers),
            Tensor::from_matrix("state.basis", &self.basis),
        ];
        tensors.extend(self.now.tensors("state.now"));
        tensors.extend(self.before.tensors("state.before"));
        tensors
    }

    pub(super) fn load(tensors: &[Tensor]) -> Result<Self, Error> {
        let name = Self::FIRST;
        let [side, momentum, step_size, objective, min_gap, stuck, step] =
            find(tensors, name)?.doubles()?[..]
        else {
            return Err(bad_tensor(name));
        };
        Ok(Self {
            now: LowRankMatrix::load(tensors, "state.now")?,
            before: LowRankMatrix::load(tensors, "state.before")?,
            basis: find(tensors, "state.basis")?.matrix()?,
            side: if side == 0.0 { SingularSide::Left } else { SingularSide::Right },
            momentum,
            step_size,
            objective,
            min_gap,
            stuck: stuck as usize,
            step: step as usize,
        })
    }
}

/// Minimises the objective from a state; calls `on_step` after every step.
pub(super) fn complete(
    observed: &ObservedMatrix,
    lambda: f64,
    mut state: CompletionState,
    until: StoppingRule<'_>,
    on_step: &mut dyn FnMut(&CompletionState),
) -> Completion {
    let size = (observed.row_count, observed.column_count);
    let matrix = || Matrix::zeros(size.0, size.1);
    let (mut now, mut before, mut next) = (matrix(), matrix(), matrix());
    state.now.write_dense(&mut now);
    state.before.write_dense(&mut before);
    let mut relative_gap = f64::INFINITY;
    // One value per observed entry: first of the start of the step, then the residual of the new matrix.
    let mut entries = vec![0.0_f32; observed.targets.len()];
    while state.step < MAX_STEPS {
        state.step += 1;
        let next_momentum = f64::midpoint(1.0, (1.0 + 4.0 * state.momentum * state.momentum).sqrt());
        let factor = ((state.momentum - 1.0) / next_momentum) as f32;
        // The extrapolated matrix reuses the memory of `before`.
        extrapolate(&mut before, &now, factor);
        std::mem::swap(&mut now, &mut before);
        observed.take(&now, &mut entries);
        let found = loop {
            observed.step_towards_targets(&mut now, &entries, state.step_size as f32);
            let threshold = lambda * state.step_size;
            let found = shrink(&now, &mut state, threshold, observed.min_side());
            // The squared distance of the start from the new matrix, over all entries and over the observed ones.
            found.write_dense(&mut next);
            let (total, on_observed) = observed.set_and_measure(&entries, &mut now, &next);
            if state.step_size <= 1.0 || state.step_size * on_observed <= total {
                break found;
            }
            // The step was too large: the observed entries have more of the change than expected.
            state.step_size = (0.9 * total / on_observed).max(1.0);
        };
        let is_against_momentum = alignment(&now, &next, &before) > 0.0;
        std::mem::swap(&mut now, &mut next);
        observed.residuals(&now, &mut entries);
        state.before = std::mem::replace(&mut state.now, found);
        let nuclear: f64 = state.now.values.iter().sum();
        let objective = 0.5 * dot(&entries, &entries) + lambda * nuclear;
        let change = (state.objective - objective).abs() / objective;
        // Adaptive restart: momentum is reset if the objective rises or the step is against it (O'Donoghue and Candès 2015).
        let is_uphill = objective > state.objective * (1.0 + ROUNDING);
        state.momentum = if is_uphill || is_against_momentum { 1.0 } else { next_momentum };
        state.objective = objective;
        let is_done = match until {
            StoppingRule::SlowProgress { relative_change, is_promising } => {
                let (rank, before) = (state.now.rank(), state.before.rank());
                let is_growing = rank > before + 1 + before / 20;
                let is_checked = is_growing || state.step == MIN_STEPS;
                let is_abandoned = || is_checked && !is_promising(&state.now);
                state.step >= MIN_STEPS && (change <= relative_change || is_abandoned())
            }
            StoppingRule::Certified(tolerance)
                if state.step.is_multiple_of(certificate_interval(&state, tolerance))
                    && change <= SETTLED * tolerance =>
            {
                let near = &state.now.right;
                relative_gap = certified_gap(observed, lambda, &entries, objective, near, tolerance);
                let is_smaller = relative_gap < 0.9 * state.min_gap;
                state.stuck =
                    if is_smaller { 0 } else { state.stuck + certificate_interval(&state, tolerance) };
                state.min_gap = state.min_gap.min(relative_gap);
                // Single precision may prevent convergence; the gap is reported in any case.
                relative_gap <= tolerance || state.stuck >= MAX_STUCK
            }
            StoppingRule::Certified(_) => false,
        };
        if is_done || objective <= 0.0 {
            break;
        }
        on_step(&state);
    }
    Completion { factors: state.now, relative_gap, steps: state.step }
}

/// before ← now + factor · (now − before).
fn extrapolate(before: &mut Matrix<f32>, now: &Matrix<f32>, factor: f32) {
    let columns = now.columns().max(1);
    let rows = before.values_mut().par_chunks_mut(columns).zip(now.values().par_chunks(columns));
    rows.with_min_len(64).for_each(|(before, now)| {
        before.iter_mut().zip(now).for_each(|(before, now)| *before = now + factor * (now - *before));
    });
}

/// ⟨start − next, next − before⟩.
fn alignment(start: &Matrix<f32>, next: &Matrix<f32>, before: &Matrix<f32>) -> f64 {
    let row = |row: usize| {
        let (start, next, before) = (start.row(row), next.row(row), before.row(row));
        // Short sums in single precision, which the compiler can vectorise.
        let parts = start.chunks(32).zip(next.chunks(32)).zip(before.chunks(32));
        let part = |((start, next), before): ((&[f32], &[f32]), &[f32])| -> f64 {
            let products = start.iter().zip(next).zip(before).map(|((s, n), b)| (s - n) * (n - b));
            f64::from(products.sum::<f32>())
        };
        parts.map(part).sum::<f64>()
    };
    (0..start.rows()).into_par_iter().with_min_len(64).map(row).collect::<Vec<f64>>().iter().sum()
}

/// Soft-thresholds the singular values of a matrix, projected on the basis of the state. Leaves the basis of the other side for the next
/// step.
fn shrink(
    matrix: &Matrix<f32>,
    state: &mut CompletionState,
    threshold: f64,
    max_rank: usize,
) -> LowRankMatrix {
    loop {
        let (basis, image) =
            extend_krylov(matrix, &state.basis, state.side, KRYLOV_RANGE * threshold, max_rank);
        let (squares, rotation) = symmetric_eigen(&gram(&image));
        let values: Vec<f64> = squares.iter().map(|square| square.max(0.0).sqrt()).collect();
        let rank = values.iter().take_while(|&&value| value > threshold).count();
        if rank == values.len() && rank < max_rank {
            // All values exceed the threshold, so there may be more of them.
            let wider = append_random(&basis, state.step, extra_vectors(rank), max_rank);
            state.basis = orthonormal_columns(&wider);
            continue;
        }
        let others = (rank + extra_vectors(rank) - RANDOM_VECTORS).min(values.len());
        let leading: Matrix<f32> = rotation.first_rows(others).cast();
        let inverse: Vec<f64> =
            values[..others].iter().map(|value| 1.0 / value.max(f64::MIN_POSITIVE)).collect();
        let opposite = scale_columns(&product(&image, leading.transposed()), &inverse);
        let same = product(&basis, rotation.first_rows(rank).cast().transposed());
        state.basis = orthonormal_columns(&append_random(&opposite, state.step, RANDOM_VECTORS, max_rank));
        let (left, right) = match state.side {
            SingularSide::Right => (opposite.first_columns(rank), same),
            SingularSide::Left => (same, opposite.first_columns(rank)),
        };
        state.side = state.side.other();
        return LowRankMatrix {
            left,
            values: values[..rank].iter().map(|value| value - threshold).collect(),
            right,
        };
    }
}

/// Returns the certified relative gap.
///
/// The residual, scaled until its largest singular value is at most λ, is a point of the dual problem. A singular value that is barely
/// above λ hides among those equal to λ from a random start. So the search starts from the vectors of the completed matrix, and
/// then from a random vector if the gap is small enough.
fn certified_gap(
    observed: &ObservedMatrix,
    lambda: f64,
    residual: &[f32],
    objective: f64,
    near: &Matrix<f32>,
    tolerance: f64,
) -> f64 {
    if objective <= 0.0 {
        return 0.0;
    }
    let (targets, square) = (dot(residual, &observed.targets), dot(residual, residual));
    let gap_for = |norm: f64| {
        let scale = if norm > lambda { lambda / norm } else { 1.0 };
        let bound = scale * targets - 0.5 * scale * scale * square;
        ((objective - bound) / objective).max(0.0)
    };
    let found = gap_for(observed.largest_singular_value_near(residual, near));
    if found > tolerance { found } else { found.max(gap_for(observed.largest_singular_value(residual))) }
}

/// Returns the number of steps between certificates: the fewest in which the gap may reach the tolerance, within limits.
fn certificate_interval(state: &CompletionState, tolerance: f64) -> usize {
    CERTIFY_EVERY * ((state.min_gap / tolerance).ln() / GAP_FACTOR.ln()).clamp(1.0, 4.0) as usize
}

/// Returns the number of basis vectors beyond the rank.
fn extra_vectors(rank: usize) -> usize {
    10 + rank / 8
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Grid;
    use knockout_base::random::Rng;
    use knockout_data::cell::GeneSets;

    fn random_screen(genes: u32, share: usize, rng: &mut Rng) -> ObservedMatrix {
        let (mut sets, mut targets) = (GeneSets::default(), Vec::new());
        for b in 0..genes {
            for a in 0..b {
                if rng.below(10) < share {
                    sets.push(&[a, b]);
                    targets.push(rng.normal());
                }
            }
        }
        ObservedMatrix::new(&Grid::from_sets(sets.view()), sets.view(), &targets)
    }

    fn solved(observed: &ObservedMatrix, lambda: f64, tolerance: f64) -> Completion {
        let start = CompletionState::starting_at(
            &LowRankMatrix::zero(observed.row_count, observed.column_count),
            observed,
        );
        complete(observed, lambda, start, StoppingRule::Certified(tolerance), &mut |_| ())
    }

    /// X is the minimum if and only if the residual E has no singular value above λ and ⟨E, X⟩ = λ‖X‖₊.
    #[test]
    fn the_minimum_satisfies_the_optimality_conditions() {
        let mut rng = Rng::new(0, "conditions");
        for (genes, share) in [(12, 9), (30, 6), (31, 3)] {
            let observed = random_screen(genes, share, &mut rng);
            let top = observed.largest_singular_value(&observed.targets);
            for part in [0.9, 0.5, 0.1] {
                let lambda = part * top;
                let found = solved(&observed, lambda, 1e-6);
                assert!(found.relative_gap <= 1e-6, "{}", found.relative_gap);
                let mut dense = Matrix::zeros(observed.row_count, observed.column_count);
                found.factors.write_dense(&mut dense);
                let mut left = vec![0.0; observed.targets.len()];
                observed.residuals(&dense, &mut left);
                let entries: Vec<f32> = observed.targets.iter().zip(&left).map(|(t, e)| t - e).collect();
                assert!(observed.largest_singular_value(&left) <= lambda * (1.0 + 1e-3));
                let nuclear: f64 = found.factors.values.iter().sum();
                assert!((dot(&left, &entries) - lambda * nuclear).abs() <= 1e-3 * (1.0 + lambda * nuclear));
            }
        }
    }

    /// Compares with the whole spectrum.
    #[test]
    fn the_largest_singular_value_is_found_among_equal_ones() {
        let observed = random_screen(40, 7, &mut Rng::new(3, "certificate"));
        let lambda = 0.2 * observed.largest_singular_value(&observed.targets);
        let (mut rough, start) = (Vec::new(), LowRankMatrix::zero(observed.row_count, observed.column_count));
        let state = CompletionState::starting_at(&start, &observed);
        complete(&observed, lambda, state, StoppingRule::Certified(1e-6), &mut |state| {
            rough.push(state.now.clone());
        });
        for factors in rough {
            let mut dense = Matrix::zeros(observed.row_count, observed.column_count);
            factors.write_dense(&mut dense);
            let mut left = vec![0.0; observed.targets.len()];
            observed.residuals(&dense, &mut left);
            let mut whole = Matrix::<f32>::zeros(observed.row_count, observed.column_count);
            observed.set_and_measure(&left, &mut whole, &dense);
            let top = symmetric_eigen(&gram(&whole)).0[0].sqrt();
            let found = observed
                .largest_singular_value(&left)
                .max(observed.largest_singular_value_near(&left, &factors.right));
            assert!((found - top).abs() <= 1e-7 * top, "{found} {top}");
        }
    }

    #[test]
    fn a_stored_state_resumes_to_the_same_bits() {
        let observed = random_screen(40, 5, &mut Rng::new(1, "resumed"));
        let lambda = 0.3 * observed.largest_singular_value(&observed.targets);
        let mut states = Vec::new();
        let start = CompletionState::starting_at(
            &LowRankMatrix::zero(observed.row_count, observed.column_count),
            &observed,
        );
        let whole = complete(&observed, lambda, start, StoppingRule::Certified(1e-6), &mut |state| {
            states.push(state.tensors());
        });
        assert!(states.len() > 5);
        for stored in states {
            let state = CompletionState::load(&stored).unwrap();
            let resumed = complete(&observed, lambda, state, StoppingRule::Certified(1e-6), &mut |_| ());
            assert!(resumed.factors == whole.factors && resumed.steps == whole.steps);
        }
    }
}
