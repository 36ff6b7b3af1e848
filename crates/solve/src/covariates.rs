//! What content features say of genes that training never saw: the other genes' effects, regressed on the features.

use crate::matrix::{Matrix, gram, product, symmetric_eigen};
use crate::model::{Choice, SolveError};
use knockout_data::cell::{Cell, Features};

/// Features at most that can be covariates: each has a coefficient that a few hundred genes must tell.
const MOST: usize = 64;
/// Penalties that are tried, in units of one gene of usual weight and a feature of deviation 1.
const PENALTIES: [f64; 6] = [0.1, 1.0, 10.0, 100.0, 1e3, 1e4];

/// What a gene of a known count of records adds to a score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Effect {
    pub(crate) value: f64,
    pub(crate) records: u32,
}

/// A regression of effects on features.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Covariates {
    /// The effect that is expected of each gene.
    pub(crate) expected: Vec<f64>,
    /// The coefficient of each feature, by name.
    pub(crate) choices: Vec<Choice>,
}

/// Refuses names that are no features of the cell, and more than can be told apart.
pub(crate) fn check(names: &[String], cell: &Cell) -> Result<(), SolveError> {
    if names.len() > MOST {
        let value = names.len().to_string();
        return Err(SolveError::OutOfRange { key: "covariates", value, rule: "at most 64 can be named" });
    }
    let have = cell.features().map(Features::names).unwrap_or_default();
    match names.iter().find(|&name| !have.contains(name)) {
        Some(name) => {
            Err(SolveError::NotInDataset { what: "feature", name: name.clone(), have: have.to_vec() })
        }
        None => Ok(()),
    }
}

impl Covariates {
    /// Weighted by records, with the penalty that predicts genes best that were left out one by one. `None` where no feature is named or no
    /// gene has an effect.
    pub(crate) fn of(names: &[String], cell: &Cell, effects: &[Effect]) -> Option<Self> {
        let features = cell.features().filter(|_| !names.is_empty())?;
        let known: Vec<usize> = (0..effects.len()).filter(|&gene| effects[gene].records > 0).collect();
        let columns: Vec<usize> =
            names.iter().filter_map(|name| features.names().iter().position(|have| have == name)).collect();
        let (all, width) = (features.standardised(), features.names().len());
        let records: u32 = effects.iter().map(|effect| effect.records).sum();
        let weight = |gene: usize| f64::from(effects[gene].records) / f64::from(records);
        let mean = |of: &dyn Fn(usize) -> f64| known.iter().map(|&gene| weight(gene) * of(gene)).sum::<f64>();
        let usual = mean(&|gene| effects[gene].value);
        let means: Vec<f64> =
            columns.iter().map(|&column| mean(&|gene| all[gene * width + column])).collect();
        let centred = |gene: usize| {
            let row = &all[gene * width..][..width];
            columns.iter().zip(&means).map(move |(&column, mean)| row[column] - mean)
        };
        let root = |gene: usize| (weight(gene) * known.len() as f64).sqrt();
        let rows = known.iter().flat_map(|&gene| centred(gene).map(move |value| root(gene) * value));
        let rows: Matrix<f64> = Matrix::new(known.len(), columns.len(), rows.collect());
        let targets: Vec<f64> =
            known.iter().map(|&gene| root(gene) * (effects[gene].value - usual)).collect();
        let slopes = slopes(&rows, &targets)?;
        let expected = |gene: usize| -> f64 {
            usual + centred(gene).zip(&slopes).map(|(value, slope)| value * slope).sum::<f64>()
        };
        let choice =
            |(name, &slope): (&String, &f64)| Choice::new(format!("additive.covariate.{name}"), slope);
        let choices = names.iter().zip(&slopes).map(choice).collect();
        Some(Self { expected: (0..effects.len()).map(expected).collect(), choices })
    }
}

/// The ridge of targets on rows whose penalty predicts targets best that are left out one by one.
fn slopes(rows: &Matrix<f64>, targets: &[f64]) -> Option<Vec<f64>> {
    if targets.is_empty() {
        return None;
    }
    // In the directions in which sums of squares are apart, every penalty has its solution at once.
    let (squares, directions) = symmetric_eigen(&gram(rows));
    let turned = product(rows, directions.transposed());
    let moment = |k: usize| (0..targets.len()).map(|place| turned.get(place, k) * targets[place]).sum();
    let moments: Vec<f64> = (0..squares.len()).map(moment).collect();
    let shrunk = |k: usize, penalty: f64| 1.0 / (squares[k].max(0.0) + penalty);
    let left_out = |penalty: f64| -> f64 {
        let error = |(place, target): (usize, &f64)| {
            let sum = |of: &dyn Fn(usize) -> f64| -> f64 {
                (0..squares.len()).map(|k| turned.get(place, k) * of(k) * shrunk(k, penalty)).sum()
            };
            let (fitted, leverage) = (sum(&|k| moments[k]), sum(&|k| turned.get(place, k)));
            ((target - fitted) / (1.0 - leverage).max(1e-9)).powi(2)
        };
        targets.iter().enumerate().map(error).sum()
    };
    let penalty = PENALTIES.into_iter().min_by(|&a, &b| left_out(a).total_cmp(&left_out(b)))?;
    let slope = |column: usize| {
        (0..squares.len()).map(|k| directions.get(k, column) * moments[k] * shrunk(k, penalty)).sum()
    };
    Some((0..rows.columns()).map(slope).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_base::random::Rng;
    use knockout_data::cell::{Features, GeneTable};

    /// A feature that decides effects and one that says nothing: new genes get what the first one says.
    #[test]
    fn effects_of_new_genes_are_expected_from_features() {
        let genes = 200;
        let mut rng = Rng::new(0, "covariates");
        let values: Vec<f32> = (0..2 * genes).map(|_| rng.normal() as f32).collect();
        let table = GeneTable::from_systematic((0..genes).map(|gene| format!("G{gene}"))).unwrap();
        let names = ["says", "nothing"].map(str::to_owned);
        let features = Features::new(genes, names.to_vec(), values.clone()).unwrap();
        let cell = Cell::new(table, Vec::new(), None).unwrap().with_features(Some(features)).unwrap();
        let truth = |gene: usize| 0.5 - 2.0 * f64::from(values[2 * gene]);
        let effect = |gene: usize, rng: &mut Rng| match gene % 4 {
            0 => Effect { value: 0.0, records: 0 },
            _ => Effect { value: truth(gene) + 0.3 * rng.normal(), records: 1 + gene as u32 % 7 },
        };
        let effects: Vec<Effect> = (0..genes).map(|gene| effect(gene, &mut rng)).collect();
        let found = Covariates::of(&names, &cell, &effects).unwrap();
        let new = (0..genes).filter(|gene| gene % 4 == 0);
        let worst = new.map(|gene| (found.expected[gene] - truth(gene)).abs()).fold(0.0, f64::max);
        assert!(worst < 0.4, "{worst}");
        assert_eq!(found.choices[0].name, "additive.covariate.says");
        assert!(found.choices[0].value < -1.5 && found.choices[1].value.abs() < 0.2, "{:?}", found.choices);
        assert_eq!(Covariates::of(&[], &cell, &effects), None);
        let none = vec![Effect { value: 0.0, records: 0 }; genes];
        assert_eq!(Covariates::of(&names, &cell, &none), None);
        let error = check(&["missing".to_owned()], &cell).unwrap_err().to_string();
        assert!(error.contains("missing") && error.contains("says, nothing"), "{error}");
    }
}
