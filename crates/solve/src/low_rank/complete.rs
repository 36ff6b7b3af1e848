//! Completion of a matrix with the least nuclear norm: minimises ½ Σ (R − X)² over the observed entries + λ‖X‖₊.
//!
//! Accelerated proximal steps: the gaps of the matrix are filled by extrapolation, and its singular values are shrunk. Of these only
//! the few above the threshold matter, so each step projects the matrix on a few more vectors than that, by turns on the left
//! and on the right: what comes out on one side is where the next step starts from on the other, and one product with the matrix is
//! enough, but for vectors about the threshold: singular values crowd there, and what the matrix's square makes of these helps to tell
//! them apart. A step goes as far as the observed part of it allows, which is further the fewer entries are observed.
//! Products are in single precision, all that is small in double. Whether what came out is the minimum is not left to the
//! iteration: a point of the dual problem bounds the distance to it (the certificate).

use super::observed::Observed;
use super::subspace::{Side, explored, scaled, widened};
use crate::matrix::{Matrix, gram, orthonormal_columns, product, product_into, symmetric_eigen};
use crate::model::SolveError;
use crate::tensor::{Tensor, tensor};
use rayon::prelude::*;

/// A matrix as a product: left · diag(values) · rightᵀ.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Factors {
    pub(super) left: Matrix<f32>,
    pub(super) values: Vec<f64>,
    pub(super) right: Matrix<f32>,
}

impl Factors {
    pub(super) fn zero(rows: usize, columns: usize) -> Self {
        Self { left: Matrix::zeros(rows, 0), values: Vec::new(), right: Matrix::zeros(columns, 0) }
    }

    pub(super) fn rank(&self) -> usize {
        self.values.len()
    }

    /// The left factor times the values.
    pub(super) fn scaled_left(&self) -> Matrix<f32> {
        scaled(&self.left, &self.values)
    }

    fn fill(&self, dense: &mut Matrix<f32>) {
        product_into(&self.scaled_left(), self.right.transposed(), dense);
    }

    pub(super) fn tensors(&self, name: &str) -> [Tensor; 3] {
        [
            Tensor::of(format!("{name}.left"), &self.left),
            Tensor::of_doubles(format!("{name}.values"), &self.values),
            Tensor::of(format!("{name}.right"), &self.right),
        ]
    }

    pub(super) fn load(tensors: &[Tensor], name: &str) -> Result<Self, SolveError> {
        let matrix = |part: &str| tensor(tensors, &format!("{name}.{part}"))?.matrix();
        let values = tensor(tensors, &format!("{name}.values"))?.doubles()?;
        Ok(Self { left: matrix("left")?, values, right: matrix("right")? })
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

/// Steps between certificates at least, once the objective hardly falls.
const CERTIFY_EVERY: usize = 3;
/// By how much that many steps lower the gap, if they lower it much.
const LOWERED: f64 = 1.6;
/// The share of the tolerance below which a change of the objective makes a certificate worth its time: the certificate is of the
/// first order in what is wrong, the objective of the second.
const SETTLED: f64 = 0.03;
/// Steps without a smaller gap after which rounding is all that is left.
const MOST_STUCK: usize = 72;
/// Steps at least: the first find out where the large singular vectors are.
const LEAST_STEPS: usize = 4;
/// Steps at most; from a neighbouring λ a few dozen are usual.
const MOST_STEPS: usize = 2_000;
/// Differences of objectives below this share are rounding.
const ROUNDING: f64 = 3e-8;
/// Vectors of the basis that are drawn anew in each step.
const FRESH: usize = 4;
/// Thresholds up to which vectors are explored: those about the threshold are slowest to settle, or to be found.
const VICINITY: f64 = 1.2;

/// When to stop.
#[derive(Clone, Copy)]
pub(super) enum Until<'a> {
    /// A step lowers the objective by less than a share of it: near enough to be judged. Sooner where what there is after the first steps,
    /// or while the rank still grows, is not worth it: where noise begins, the minimum may have hundreds of dimensions that nobody wants.
    Slow { share: f64, is_worth_it: &'a dyn Fn(&Factors) -> bool },
    /// The certificate shows a relative gap of at most this.
    Certified(f64),
}

/// Everything that the next step depends on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct State {
    now: Factors,
    before: Factors,
    /// Orthonormal vectors that the next step projects on.
    basis: Matrix<f32>,
    side: Side,
    momentum: f64,
    /// How far a step goes; 1 is always safe.
    reach: f64,
    objective: f64,
    /// The least gap that was certified, and in how many steps since then none was found that is clearly less.
    least_gap: f64,
    stuck: usize,
    step: usize,
}

impl State {
    /// The first of its tensors.
    pub(super) const FIRST: &str = "completion.numbers";

    pub(super) fn step(&self) -> usize {
        self.step
    }

    pub(super) fn from(start: &Factors, observed: &Observed) -> Self {
        let vectors = widened(&start.right, 0, extra(start.rank()), observed.least_side());
        let share =
            observed.targets.len() as f64 / (observed.row_count * observed.column_count).max(1) as f64;
        Self {
            now: start.clone(),
            before: start.clone(),
            basis: orthonormal_columns(&vectors),
            side: Side::Right,
            momentum: 1.0,
            // On matrices of low rank the observed entries hold about their share of any change.
            reach: (0.7 / share).clamp(1.0, 4.0),
            objective: f64::INFINITY,
            least_gap: 1.0,
            stuck: 0,
            step: 0,
        }
    }

    pub(super) fn tensors(&self) -> Vec<Tensor> {
        let side = if self.side == Side::Left { 0.0 } else { 1.0 };
        let numbers = [
            side,
            self.momentum,
            self.reach,
            self.objective,
            self.least_gap,
            self.stuck as f64,
            self.step as f64,
        ];
        let mut tensors =
            vec![Tensor::of_doubles(Self::FIRST, &numbers), Tensor::of("state.basis", &self.basis)];
        tensors.extend(self.now.tensors("state.now"));
        tensors.extend(self.before.tensors("state.before"));
        tensors
    }

    pub(super) fn load(tensors: &[Tensor]) -> Result<Self, SolveError> {
        let name = Self::FIRST;
        let [side, momentum, reach, objective, least_gap, stuck, step] =
            tensor(tensors, name)?.doubles()?[..]
        else {
            return Err(SolveError::Tensor { name: name.to_owned() });
        };
        Ok(Self {
            now: Factors::load(tensors, "state.now")?,
            before: Factors::load(tensors, "state.before")?,
            basis: tensor(tensors, "state.basis")?.matrix()?,
            side: if side == 0.0 { Side::Left } else { Side::Right },
            momentum,
            reach,
            objective,
            least_gap,
            stuck: stuck as usize,
            step: step as usize,
        })
    }
}

/// Minimises from a state; `on_step` hears of every step.
pub(super) fn complete(
    observed: &Observed,
    lambda: f64,
    mut state: State,
    until: Until<'_>,
    on_step: &mut dyn FnMut(&State),
) -> Completed {
    let size = (observed.row_count, observed.column_count);
    let matrix = || Matrix::zeros(size.0, size.1);
    let (mut now, mut before, mut next) = (matrix(), matrix(), matrix());
    state.now.fill(&mut now);
    state.before.fill(&mut before);
    let mut relative_gap = f64::INFINITY;
    // One number for each observed entry: of the point that a step begins at, then what the new matrix leaves over.
    let mut entries = vec![0.0_f32; observed.targets.len()];
    while state.step < MOST_STEPS {
        state.step += 1;
        let next_momentum = f64::midpoint(1.0, (1.0 + 4.0 * state.momentum * state.momentum).sqrt());
        let beyond = ((state.momentum - 1.0) / next_momentum) as f32;
        // The extrapolated matrix, which takes the memory of `before`.
        extrapolate(&mut before, &now, beyond);
        std::mem::swap(&mut now, &mut before);
        observed.take(&now, &mut entries);
        let found = loop {
            observed.step_towards_targets(&mut now, &entries, state.reach as f32);
            let threshold = lambda * state.reach;
            let found = shrink(&now, &mut state, threshold, observed.least_side());
            // What is needed of the point that the step began at: its distance from the new matrix, on and off the observed entries.
            found.fill(&mut next);
            let (whole, seen) = observed.put_and_measure(&entries, &mut now, &next);
            if state.reach <= 1.0 || state.reach * seen <= whole {
                break found;
            }
            // Too far: the observed entries hold more of the change than was hoped.
            state.reach = (0.9 * whole / seen).max(1.0);
        };
        let turned = alignment(&now, &next, &before) > 0.0;
        std::mem::swap(&mut now, &mut next);
        observed.left_over(&now, &mut entries);
        state.before = std::mem::replace(&mut state.now, found);
        let nuclear: f64 = state.now.values.iter().sum();
        let objective = 0.5 * dot(&entries, &entries) + lambda * nuclear;
        let change = (state.objective - objective).abs() / objective;
        // Momentum is thrown away where it leads uphill, and where the step turned against it: it has passed what it sought
        // (O'Donoghue and Candès 2015).
        let is_uphill = objective > state.objective * (1.0 + ROUNDING);
        state.momentum = if is_uphill || turned { 1.0 } else { next_momentum };
        state.objective = objective;
        let is_done = match until {
            Until::Slow { share, is_worth_it } => {
                let (rank, before) = (state.now.rank(), state.before.rank());
                let is_growing = rank > before + 1 + before / 20;
                let is_asked = is_growing || state.step == LEAST_STEPS;
                state.step >= LEAST_STEPS && (change <= share || (is_asked && !is_worth_it(&state.now)))
            }
            Until::Certified(tolerance)
                if state.step.is_multiple_of(certify_every(&state, tolerance))
                    && change <= SETTLED * tolerance =>
            {
                let near = &state.now.right;
                relative_gap = gap(observed, lambda, &entries, objective, near, tolerance);
                let is_less = relative_gap < 0.9 * state.least_gap;
                state.stuck = if is_less { 0 } else { state.stuck + certify_every(&state, tolerance) };
                state.least_gap = state.least_gap.min(relative_gap);
                // Single precision may end the way; the gap that was reached is reported in any case.
                relative_gap <= tolerance || state.stuck >= MOST_STUCK
            }
            Until::Certified(_) => false,
        };
        if is_done || objective <= 0.0 {
            break;
        }
        on_step(&state);
    }
    Completed { factors: state.now, relative_gap, steps: state.step }
}

/// before ← now + beyond · (now − before).
fn extrapolate(before: &mut Matrix<f32>, now: &Matrix<f32>, beyond: f32) {
    let columns = now.columns().max(1);
    let rows = before.values_mut().par_chunks_mut(columns).zip(now.values().par_chunks(columns));
    rows.with_min_len(64).for_each(|(before, now)| {
        before.iter_mut().zip(now).for_each(|(before, now)| *before = now + beyond * (now - *before));
    });
}

/// ⟨start − next, next − before⟩.
fn alignment(start: &Matrix<f32>, next: &Matrix<f32>, before: &Matrix<f32>) -> f64 {
    let row = |row: usize| {
        let (start, next, before) = (start.row(row), next.row(row), before.row(row));
        // Short sums in single precision, which a compiler can do side by side.
        let parts = start.chunks(32).zip(next.chunks(32)).zip(before.chunks(32));
        let part = |((start, next), before): ((&[f32], &[f32]), &[f32])| -> f64 {
            let products = start.iter().zip(next).zip(before).map(|((s, n), b)| (s - n) * (n - b));
            f64::from(products.sum::<f32>())
        };
        parts.map(part).sum::<f64>()
    };
    (0..start.rows()).into_par_iter().with_min_len(64).map(row).collect::<Vec<f64>>().iter().sum()
}

/// The matrix with its singular values lowered by a threshold, as far as the state's basis sees them; the basis of the other side is
/// left for the next step.
fn shrink(matrix: &Matrix<f32>, state: &mut State, threshold: f64, most: usize) -> Factors {
    loop {
        let (basis, image) = explored(matrix, &state.basis, state.side, VICINITY * threshold, most);
        let (squares, turns) = symmetric_eigen(&gram(&image));
        let values: Vec<f64> = squares.iter().map(|square| square.max(0.0).sqrt()).collect();
        let rank = values.iter().take_while(|&&value| value > threshold).count();
        if rank == values.len() && rank < most {
            // Every vector counts: there may be more of them.
            let wider = widened(&basis, state.step, extra(rank), most);
            state.basis = orthonormal_columns(&wider);
            continue;
        }
        let others = (rank + extra(rank) - FRESH).min(values.len());
        let turn: Matrix<f32> = turns.first_rows(others).cast();
        let inverse: Vec<f64> =
            values[..others].iter().map(|value| 1.0 / value.max(f64::MIN_POSITIVE)).collect();
        let there = scaled(&product(&image, turn.transposed()), &inverse);
        let here = product(&basis, turns.first_rows(rank).cast().transposed());
        state.basis = orthonormal_columns(&widened(&there, state.step, FRESH, most));
        let (left, right) = match state.side {
            Side::Right => (there.first_columns(rank), here),
            Side::Left => (here, there.first_columns(rank)),
        };
        state.side = state.side.other();
        return Factors {
            left,
            values: values[..rank].iter().map(|value| value - threshold).collect(),
            right,
        };
    }
}

/// The certificate: what is left over, scaled until its largest singular value is at most λ, is a point of the dual problem.
///
/// At the minimum as many singular values as the completed matrix has are λ, and one that is larger by very little hides among them
/// from a random start. So it is looked for among the completed matrix's own vectors first, and from a random start where these show
/// a gap that is small enough.
fn gap(
    observed: &Observed,
    lambda: f64,
    left_over: &[f32],
    objective: f64,
    near: &Matrix<f32>,
    tolerance: f64,
) -> f64 {
    if objective <= 0.0 {
        return 0.0;
    }
    let (targets, square) = (dot(left_over, &observed.targets), dot(left_over, left_over));
    let gap_for = |top: f64| {
        let scale = if top > lambda { lambda / top } else { 1.0 };
        let bound = scale * targets - 0.5 * scale * scale * square;
        ((objective - bound) / objective).max(0.0)
    };
    let found = gap_for(observed.largest_singular_value_near(left_over, near));
    if found > tolerance { found } else { found.max(gap_for(observed.largest_singular_value(left_over))) }
}

/// Steps to the next certificate: as many as the gap needs at least to come down to the tolerance, within limits.
fn certify_every(state: &State, tolerance: f64) -> usize {
    CERTIFY_EVERY * ((state.least_gap / tolerance).ln() / LOWERED.ln()).clamp(1.0, 4.0) as usize
}

fn extra(rank: usize) -> usize {
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

    fn random_screen(genes: u32, share: usize, rng: &mut Rng) -> Observed {
        let (mut sets, mut targets) = (GeneSets::default(), Vec::new());
        for b in 0..genes {
            for a in 0..b {
                if rng.below(10) < share {
                    sets.push(&[a, b]);
                    targets.push(rng.normal());
                }
            }
        }
        Observed::of(&Grid::of(sets.view()), sets.view(), &targets)
    }

    fn solved(observed: &Observed, lambda: f64, tolerance: f64) -> Completed {
        let start = State::from(&Factors::zero(observed.row_count, observed.column_count), observed);
        complete(observed, lambda, start, Until::Certified(tolerance), &mut |_| ())
    }

    /// X is the minimum if and only if what is left over, E, has no singular value above λ and ⟨E, X⟩ = λ‖X‖₊.
    #[test]
    fn the_minimum_meets_its_conditions() {
        let mut rng = Rng::new(0, "conditions");
        for (genes, share) in [(12, 9), (30, 6), (31, 3)] {
            let observed = random_screen(genes, share, &mut rng);
            let top = observed.largest_singular_value(&observed.targets);
            for part in [0.9, 0.5, 0.1] {
                let lambda = part * top;
                let found = solved(&observed, lambda, 1e-6);
                assert!(found.relative_gap <= 1e-6, "{}", found.relative_gap);
                let mut dense = Matrix::zeros(observed.row_count, observed.column_count);
                found.factors.fill(&mut dense);
                let mut left = vec![0.0; observed.targets.len()];
                observed.left_over(&dense, &mut left);
                let entries: Vec<f32> = observed.targets.iter().zip(&left).map(|(t, e)| t - e).collect();
                assert!(observed.largest_singular_value(&left) <= lambda * (1.0 + 1e-3));
                let nuclear: f64 = found.factors.values.iter().sum();
                assert!((dot(&left, &entries) - lambda * nuclear).abs() <= 1e-3 * (1.0 + lambda * nuclear));
            }
        }
    }

    /// What the certificate says is no less than what the largest singular value of all says, which is found here from the whole spectrum.
    #[test]
    fn a_certificate_is_not_fooled_by_equal_singular_values() {
        let observed = random_screen(40, 7, &mut Rng::new(3, "certificate"));
        let lambda = 0.2 * observed.largest_singular_value(&observed.targets);
        let (mut rough, start) = (Vec::new(), Factors::zero(observed.row_count, observed.column_count));
        let state = State::from(&start, &observed);
        complete(&observed, lambda, state, Until::Certified(1e-6), &mut |state| {
            rough.push(state.now.clone());
        });
        for factors in rough {
            let mut dense = Matrix::zeros(observed.row_count, observed.column_count);
            factors.fill(&mut dense);
            let mut left = vec![0.0; observed.targets.len()];
            observed.left_over(&dense, &mut left);
            let mut whole = Matrix::<f32>::zeros(observed.row_count, observed.column_count);
            observed.put_and_measure(&left, &mut whole, &dense);
            let top = symmetric_eigen(&gram(&whole)).0[0].sqrt();
            let found = observed
                .largest_singular_value(&left)
                .max(observed.largest_singular_value_near(&left, &factors.right));
            assert!((found - top).abs() <= 1e-7 * top, "{found} {top}");
        }
    }

    /// A state that was stored goes on to the same bits.
    #[test]
    fn it_goes_on_where_it_was_stopped() {
        let observed = random_screen(40, 5, &mut Rng::new(1, "resumed"));
        let lambda = 0.3 * observed.largest_singular_value(&observed.targets);
        let mut states = Vec::new();
        let start = State::from(&Factors::zero(observed.row_count, observed.column_count), &observed);
        let whole = complete(&observed, lambda, start, Until::Certified(1e-6), &mut |state| {
            states.push(state.tensors());
        });
        assert!(states.len() > 5);
        for stored in states {
            let state = State::load(&stored).unwrap();
            let resumed = complete(&observed, lambda, state, Until::Certified(1e-6), &mut |_| ());
            assert!(resumed.factors == whole.factors && resumed.steps == whole.steps);
        }
    }
}
