//! Ridge regression on indicators, with an intercept that is not penalised.
//!
//! Minimises ‖y − b − Xw‖² + α‖w‖² by conjugate gradients on the centred normal equations. [`Ridge::fit`] solves to a relative
//! residual of 1e-13. A column that does not occur in training gets the weight 0.

mod normal_equations;

use crate::error::no_training_samples;
use knockout_base::error::Error;
use knockout_base::stats::pearson;
use normal_equations::NormalEquations;

/// A sparse matrix of indicators: the columns that are 1 in each record.
#[derive(Debug, Clone)]
pub struct Design {
    offsets: Vec<usize>,
    columns: Vec<u32>,
    width: usize,
}

impl Design {
    /// Creates a design from sets of columns below `width`, each without repeats.
    pub fn from_sets<S>(sets: impl IntoIterator<Item = S>, width: usize) -> Self
    where
        S: IntoIterator<Item = u32>,
    {
        let (mut offsets, mut columns) = (vec![0], Vec::new());
        for set in sets {
            columns.extend(set);
            offsets.push(columns.len());
        }
        Self { offsets, columns, width }
    }

    /// Returns the number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the number of records.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the columns that are 1 in each record.
    pub fn sets(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.sets_from(0)
    }

    /// Returns the columns of each record, starting at a record.
    fn sets_from(&self, first: usize) -> impl ExactSizeIterator<Item = &[u32]> {
        self.offsets[first..].windows(2).map(|ends| &self.columns[ends[0]..ends[1]])
    }
}

/// Penalties to try; the one with the highest validation Pearson is chosen.
pub const ALPHAS: [f64; 9] = [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0];

/// Relative residual of an exact solution.
const EXACT: f64 = 1e-13;
/// Relative residual that suffices to compare penalties.
const ROUGH: f64 = 1e-4;
/// Relative residual of the chosen penalty, whose coefficients are stored in single precision.
const CHOSEN: f64 = 1e-7;

/// A fitted ridge.
#[derive(Debug, Clone, PartialEq)]
pub struct Ridge {
    /// The penalty α.
    pub alpha: f64,
    /// The constant term.
    pub intercept: f64,
    /// The weight of each column.
    pub coefficients: Vec<f64>,
}

impl Ridge {
    /// Fits a ridge for each penalty, in the given order. Penalties must be positive.
    ///
    /// # Panics
    ///
    /// If the numbers of targets and records differ.
    pub fn fit(design: &Design, targets: &[f64], alphas: &[f64]) -> Result<Vec<Self>, Error> {
        assert_eq!(design.len(), targets.len(), "every record has a target");
        if targets.is_empty() {
            return Err(no_training_samples());
        }
        let gram = NormalEquations::new(design, targets);
        // In descending order: a strong penalty converges quickly, and each solution is the start of the next.
        let mut order: Vec<usize> = (0..alphas.len()).collect();
        order.sort_by(|&a, &b| alphas[b].total_cmp(&alphas[a]));
        let mut fitted: Vec<Option<Self>> = vec![None; alphas.len()];
        let mut coefficients = vec![0.0; design.width()];
        for i in order {
            let alpha = alphas[i];
            gram.solve(alpha, EXACT, &mut coefficients)?;
            let intercept = gram.intercept(&coefficients);
            fitted[i] = Some(Self { alpha, intercept, coefficients: coefficients.clone() });
        }
        Ok(fitted.into_iter().flatten().collect())
    }

    /// Fits the ridge of one penalty, as exactly as [`Ridge::fit_best`] does.
    pub(crate) fn fit_one(design: &Design, targets: &[f64], alpha: f64) -> Result<Self, Error> {
        let gram = NormalEquations::new(design, targets);
        let mut coefficients = vec![0.0; design.width()];
        gram.solve(alpha, CHOSEN, &mut coefficients)?;
        Ok(Self { alpha, intercept: gram.intercept(&coefficients), coefficients })
    }

    /// Fits the ridge among [`ALPHAS`] with the highest validation Pearson. The search starts at the strongest penalty and stops after
    /// two in a row that are worse than the best.
    ///
    /// # Panics
    ///
    /// If the numbers of targets and records differ.
    pub(crate) fn fit_best(
        design: &Design,
        targets: &[f64],
        val: &Design,
        val_targets: &[f64],
    ) -> Result<Self, Error> {
        assert_eq!(design.len(), targets.len(), "every record has a target");
        let gram = NormalEquations::new(design, targets);
        let solved = |alpha: f64, tolerance: f64, mut coefficients: Vec<f64>| {
            gram.solve(alpha, tolerance, &mut coefficients)?;
            Ok(Self { alpha, intercept: gram.intercept(&coefficients), coefficients })
        };
        let mut current = Self { alpha: 0.0, intercept: 0.0, coefficients: vec![0.0; design.width()] };
        let (mut best, mut missed) = (None, 0);
        for &alpha in ALPHAS.iter().rev() {
            current = solved(alpha, ROUGH, current.coefficients)?;
            let r = pearson(&current.predict(val), val_targets).unwrap_or(-2.0);
            if best.as_ref().is_none_or(|(highest, _)| r > *highest) {
                (best, missed) = (Some((r, current.clone())), 0);
            } else {
                missed += 1;
            }
            if missed == 2 {
                break;
            }
        }
        let found = best.map_or(current, |(_, ridge)| ridge);
        solved(found.alpha, CHOSEN, found.coefficients)
    }

    /// Predicts the records of a design with the same columns.
    pub fn predict(&self, design: &Design) -> Vec<f64> {
        let weight = |&column: &u32| self.coefficients[column as usize];
        design.sets().map(|set| self.intercept + set.iter().map(weight).sum::<f64>()).collect()
    }
}

/// The ridge chosen on a validation part.
#[derive(Debug, Clone, PartialEq)]
pub struct ChosenRidge {
    /// The chosen ridge.
    pub ridge: Ridge,
    /// The validation Pearson of every candidate; `None` where undefined.
    pub validation_pearson: Vec<Option<f64>>,
}

/// Returns the ridge with the highest validation Pearson; the first on a tie, or if all are undefined.
///
/// # Panics
///
/// If `ridges` is empty.
pub fn choose(ridges: Vec<Ridge>, design: &Design, targets: &[f64]) -> ChosenRidge {
    let curve: Vec<Option<f64>> =
        ridges.iter().map(|ridge| pearson(&ridge.predict(design), targets)).collect();
    let mut best = 0;
    for (i, r) in curve.iter().enumerate() {
        if r.is_some_and(|r| curve[best].is_none_or(|highest| r > highest)) {
            best = i;
        }
    }
    let ridge = ridges.into_iter().nth(best).expect("there is at least one ridge");
    ChosenRidge { ridge, validation_pearson: curve }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Gaussian elimination with pivoting on the normal equations, intercept included.
    fn dense(sets: &[Vec<u32>], targets: &[f64], width: usize, alpha: f64) -> Vec<f64> {
        let size = width + 1;
        let mut system = vec![vec![0.0; size + 1]; size];
        for (set, target) in sets.iter().zip(targets) {
            let ones: Vec<usize> = std::iter::once(0).chain(set.iter().map(|&c| c as usize + 1)).collect();
            for &i in &ones {
                for &j in &ones {
                    system[i][j] += 1.0;
                }
                system[i][size] += target;
            }
        }
        (1..size).for_each(|i| system[i][i] += alpha);
        for pivot in 0..size {
            let largest = (pivot..size)
                .max_by(|&a, &b| system[a][pivot].abs().total_cmp(&system[b][pivot].abs()))
                .unwrap();
            system.swap(pivot, largest);
            let top = system[pivot].clone();
            for (row, values) in system.iter_mut().enumerate() {
                let factor = values[pivot] / top[pivot];
                if row != pivot {
                    values.iter_mut().zip(&top).for_each(|(value, above)| *value -= factor * above);
                }
            }
        }
        (0..size).map(|i| system[i][size] / system[i][i]).collect()
    }

    prop_compose! {
        fn problem()(width in 1_u32..12)(
            sets in prop::collection::vec(prop::collection::btree_set(0..width, 0..4), 1..60),
            width in Just(width as usize),
            noise in prop::collection::vec(-1.0..1.0, 60),
            alpha in prop::sample::select(&ALPHAS[..]),
        ) -> (Vec<Vec<u32>>, Vec<f64>, usize, f64) {
            let sets: Vec<Vec<u32>> = sets.into_iter().map(|set| set.into_iter().collect()).collect();
            let targets = noise[..sets.len()].to_vec();
            (sets, targets, width, alpha)
        }
    }

    proptest! {
        #[test]
        fn it_solves_the_normal_equations((sets, targets, width, alpha) in problem()) {
            let design = Design::from_sets(sets.clone(), width);
            let ridges = Ridge::fit(&design, &targets, &[1000.0, alpha]).unwrap();
            let expected = dense(&sets, &targets, width, alpha);
            prop_assert!((ridges[1].intercept - expected[0]).abs() < 1e-10);
            for (mine, expected) in ridges[1].coefficients.iter().zip(&expected[1..]) {
                prop_assert!((mine - expected).abs() < 1e-10, "{} {}", mine, expected);
            }
        }
    }

    #[test]
    fn a_column_without_training_records_gets_the_weight_0() {
        let design = Design::from_sets([vec![0, 2], vec![0], vec![2]], 4);
        let ridge = &Ridge::fit(&design, &[1.0, 0.5, -1.0], &[1.0]).unwrap()[0];
        assert_eq!((ridge.coefficients[1], ridge.coefficients[3]), (0.0, 0.0));
    }

    #[test]
    fn a_design_without_records_is_rejected() {
        let empty = Ridge::fit(&Design::from_sets(Vec::<Vec<u32>>::new(), 2), &[], &[1.0]);
        assert_eq!(empty.unwrap_err().message(), "the training part has no samples");
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let mut rng = knockout_base::random::Rng::new(1, "design");
        let sets: Vec<Vec<u32>> = (0..5_000)
            .map(|_| std::iter::repeat_with(|| rng.below(900) as u32).take(3).collect())
            .map(|mut set: Vec<u32>| {
                set.sort_unstable();
                set.dedup();
                set
            })
            .collect();
        let targets: Vec<f64> = (0..5_000).map(|_| rng.normal()).collect();
        let design = Design::from_sets(sets, 900);
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| Ridge::fit(&design, &targets, &ALPHAS).unwrap())
        };
        assert!(run(1) == run(2) && run(1) == run(7));
    }
}
