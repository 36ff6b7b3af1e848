//! Ridge regression on indicators, with an intercept that is not penalised.
//!
//! Minimises ‖y − b − Xw‖² + α‖w‖². A column that never occurs in training gets the weight 0.

mod gram;

use crate::SolveError;
use gram::Gram;
use knockout_base::stats::pearson;

/// What a linear model sees of records: the columns that are 1, row by row.
#[derive(Debug, Clone)]
pub struct Design {
    offsets: Vec<usize>,
    columns: Vec<u32>,
    width: usize,
}

impl Design {
    /// A design of arbitrary sets of columns below `width`, each without repeats.
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

    /// How many columns there are.
    pub fn width(&self) -> usize {
        self.width
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The columns that are 1 for each record.
    pub fn sets(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.sets_from(0)
    }

    /// The same from a record on.
    fn sets_from(&self, first: usize) -> impl ExactSizeIterator<Item = &[u32]> {
        self.offsets[first..].windows(2).map(|ends| &self.columns[ends[0]..ends[1]])
    }
}

/// The strengths of the penalty that are tried; the one with the highest validation Pearson is kept.
pub const ALPHAS: [f64; 9] = [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0];

/// The residual at which a solution counts as exact, relative to the right-hand side.
const EXACT: f64 = 1e-13;
/// The residual at which a strength can be judged.
const ROUGH: f64 = 1e-4;
/// The residual of a strength that was chosen: its coefficients are kept in single precision.
const CHOSEN: f64 = 1e-7;

/// A fitted ridge.
#[derive(Debug, Clone, PartialEq)]
pub struct Ridge {
    /// The strength of the penalty.
    pub alpha: f64,
    /// What is predicted where no known column is 1.
    pub intercept: f64,
    /// What each column adds.
    pub coefficients: Vec<f64>,
}

impl Ridge {
    /// Fits one ridge per strength, in the order given; strengths must be positive.
    ///
    /// # Panics
    ///
    /// If there are not as many targets as records.
    pub fn fit(design: &Design, targets: &[f64], alphas: &[f64]) -> Result<Vec<Self>, SolveError> {
        assert_eq!(design.len(), targets.len(), "every record has a target");
        if targets.is_empty() {
            return Err(SolveError::NoTraining);
        }
        let gram = Gram::of(design, targets);
        // The strongest first: it is solved quickly, and each solution is a start for the next weaker one.
        let mut order: Vec<usize> = (0..alphas.len()).collect();
        order.sort_by(|&a, &b| alphas[b].total_cmp(&alphas[a]));
        let mut fitted: Vec<Option<Self>> = vec![None; alphas.len()];
        let mut coefficients = vec![0.0; design.width()];
        for place in order {
            let alpha = alphas[place];
            gram.solve(alpha, EXACT, &mut coefficients).map_err(|error| error.at(alpha))?;
            let intercept = gram.intercept(&coefficients);
            fitted[place] = Some(Self { alpha, intercept, coefficients: coefficients.clone() });
        }
        Ok(fitted.into_iter().flatten().collect())
    }

    /// The ridge among [`ALPHAS`] that validates best, looked for from the strongest on until two in a row are worse than the best.
    ///
    /// # Panics
    ///
    /// If there are not as many targets as records.
    pub(crate) fn chosen(
        design: &Design,
        targets: &[f64],
        val: &Design,
        val_targets: &[f64],
    ) -> Result<Self, SolveError> {
        assert_eq!(design.len(), targets.len(), "every record has a target");
        let gram = Gram::of(design, targets);
        let solved = |alpha: f64, tolerance: f64, mut coefficients: Vec<f64>| {
            gram.solve(alpha, tolerance, &mut coefficients).map_err(|error| error.at(alpha))?;
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

    /// What it says of records of the same columns.
    pub fn predict(&self, design: &Design) -> Vec<f64> {
        let weight = |&column: &u32| self.coefficients[column as usize];
        design.sets().map(|set| self.intercept + set.iter().map(weight).sum::<f64>()).collect()
    }
}

/// A choice of the penalty by validation.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    /// The ridge chosen.
    pub ridge: Ridge,
    /// The validation Pearson of every strength, in their order; `None` where undefined.
    pub validation_pearson: Vec<Option<f64>>,
}

/// Takes the ridge with the highest validation Pearson; the first on a tie, or when none is defined.
///
/// # Panics
///
/// If there is no ridge to choose from.
pub fn choose(ridges: Vec<Ridge>, design: &Design, targets: &[f64]) -> Chosen {
    let curve: Vec<Option<f64>> =
        ridges.iter().map(|ridge| pearson(&ridge.predict(design), targets)).collect();
    let mut best = 0;
    for (place, r) in curve.iter().enumerate() {
        if r.is_some_and(|r| curve[best].is_none_or(|highest| r > highest)) {
            best = place;
        }
    }
    let ridge = ridges.into_iter().nth(best).expect("there is at least one strength");
    Chosen { ridge, validation_pearson: curve }
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
    fn a_column_without_training_records_gets_nothing() {
        let design = Design::from_sets([vec![0, 2], vec![0], vec![2]], 4);
        let ridge = &Ridge::fit(&design, &[1.0, 0.5, -1.0], &[1.0]).unwrap()[0];
        assert_eq!((ridge.coefficients[1], ridge.coefficients[3]), (0.0, 0.0));
        let nothing = Ridge::fit(&Design::from_sets(Vec::<Vec<u32>>::new(), 2), &[], &[1.0]);
        assert!(matches!(nothing, Err(SolveError::NoTraining)));
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
