//! Expected effects of genes without training records: a ridge of the other genes' effects on content features.

use crate::error::{not_in_dataset, out_of_range};
use crate::matrix::{Matrix, gram, product, symmetric_eigen};
use crate::model::Choice;
use knockout_base::error::Error;
use knockout_data::cell::{Cell, Features};

/// Maximum number of covariates: a few hundred genes must determine their coefficients.
const MAX_COVARIATES: usize = 64;
/// Ridge penalties to try, in units of one gene of mean weight and a feature of standard deviation 1.
const PENALTIES: [f64; 6] = [0.1, 1.0, 10.0, 100.0, 1e3, 1e4];

/// The effect of a gene on the score, with the number of its training records.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct GeneEffect {
    pub(crate) value: f64,
    pub(crate) records: u32,
}

/// A regression of effects on features.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CovariateModel {
    /// The expected effect of each gene.
    pub(crate) expected: Vec<f64>,
    /// The coefficient of each feature.
    pub(crate) choices: Vec<Choice>,
}

/// Rejects names that are not features of the cell, and too many names.
pub(crate) fn check(names: &[String], cell: &Cell) -> Result<(), Error> {
    if names.len() > MAX_COVARIATES {
        let value = format!("a list of {} names", names.len());
        return Err(out_of_range("covariates", &value, "the maximum is 64"));
    }
    let known = cell.features().map(Features::names).unwrap_or_default();
    match names.iter().find(|&name| !known.contains(name)) {
        Some(name) => Err(not_in_dataset("feature", name, known.iter().map(String::as_str))),
        None => Ok(()),
    }
}

impl CovariateModel {
    /// Fits the regression, weighted by the number of records, with the penalty of the lowest leave-one-out error.
    ///
    /// Returns `None` if no feature is named or no gene has records.
    pub(crate) fn fit(names: &[String], cell: &Cell, effects: &[GeneEffect]) -> Option<Self> {
        Self::of_features(names, cell.features()?, effects, "additive.covariate")
    }

    /// Fits the regression on features of any origin; `prefix` begins the names of the choices.
    pub(crate) fn of_features(
        names: &[String],
        features: &Features,
        effects: &[GeneEffect],
        prefix: &str,
    ) -> Option<Self> {
        if names.is_empty() {
            return None;
        }
        let known: Vec<usize> = (0..effects.len()).filter(|&gene| effects[gene].records > 0).collect();
        let columns: Vec<usize> = names
            .iter()
            .filter_map(|name| features.names().iter().position(|feature| feature == name))
            .collect();
        let (all, width) = (features.standardised(), features.names().len());
        let records: u32 = effects.iter().map(|effect| effect.records).sum();
        let weight = |gene: usize| f64::from(effects[gene].records) / f64::from(records);
        let mean = |of: &dyn Fn(usize) -> f64| known.iter().map(|&gene| weight(gene) * of(gene)).sum::<f64>();
        let mean_effect = mean(&|gene| effects[gene].value);
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
            known.iter().map(|&gene| root(gene) * (effects[gene].value - mean_effect)).collect();
        let slopes = slopes(&rows, &targets)?;
        let expected = |gene: usize| -> f64 {
            mean_effect + centred(gene).zip(&slopes).map(|(value, slope)| value * slope).sum::<f64>()
        };
        let choice = |(name, &slope): (&String, &f64)| Choice::new(format!("{prefix}.{name}"), slope);
        let choices = names.iter().zip(&slopes).map(choice).collect();
        Some(Self { expected: (0..effects.len()).map(expected).collect(), choices })
    }
}

/// Returns the coefficients of the ridge of targets on rows, with the penalty of the lowest leave-one-out error.
fn slopes(rows: &Matrix<f64>, targets: &[f64]) -> Option<Vec<f64>> {
    if targets.is_empty() {
        return None;
    }
    // In the eigenbasis of the Gram matrix the solution is known for every penalty.
    let (squares, directions) = symmetric_eigen(&gram(rows));
    let rotated = product(rows, directions.transposed());
    let moment = |k: usize| (0..targets.len()).map(|row| rotated.get(row, k) * targets[row]).sum();
    let moments: Vec<f64> = (0..squares.len()).map(moment).collect();
    let shrunk = |k: usize, penalty: f64| 1.0 / (squares[k].max(0.0) + penalty);
    let left_out = |penalty: f64| -> f64 {
        let error = |(row, target): (usize, &f64)| {
            let sum = |of: &dyn Fn(usize) -> f64| -> f64 {
                (0..squares.len()).map(|k| rotated.get(row, k) * of(k) * shrunk(k, penalty)).sum()
            };
            let (fitted, leverage) = (sum(&|k| moments[k]), sum(&|k| rotated.get(row, k)));
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

    /// One feature determines the effects, the other is noise.
    #[test]
    fn effects_of_new_genes_are_expected_from_features() {
        let genes = 200;
        let mut rng = Rng::new(0, "covariates");
        let values: Vec<f32> = (0..2 * genes).map(|_| rng.normal() as f32).collect();
        let table = GeneTable::from_systematic((0..genes).map(|gene| format!("G{gene}"))).unwrap();
        let names = ["signal", "noise"].map(str::to_owned);
        let features = Features::new(genes, names.to_vec(), values.clone()).unwrap();
        let cell = Cell::new(table, Vec::new(), None).unwrap().with_features(Some(features)).unwrap();
        let truth = |gene: usize| 0.5 - 2.0 * f64::from(values[2 * gene]);
        let effect = |gene: usize, rng: &mut Rng| match gene % 4 {
            0 => GeneEffect { value: 0.0, records: 0 },
            _ => GeneEffect { value: truth(gene) + 0.3 * rng.normal(), records: 1 + gene as u32 % 7 },
        };
        let effects: Vec<GeneEffect> = (0..genes).map(|gene| effect(gene, &mut rng)).collect();
        let found = CovariateModel::fit(&names, &cell, &effects).unwrap();
        let new = (0..genes).filter(|gene| gene % 4 == 0);
        let worst = new.map(|gene| (found.expected[gene] - truth(gene)).abs()).fold(0.0, f64::max);
        assert!(worst < 0.4, "{worst}");
        assert_eq!(found.choices[0].name, "additive.covariate.signal");
        assert!(found.choices[0].value < -1.5 && found.choices[1].value.abs() < 0.2, "{:?}", found.choices);
        assert_eq!(CovariateModel::fit(&[], &cell, &effects), None);
        let none = vec![GeneEffect { value: 0.0, records: 0 }; genes];
        assert_eq!(CovariateModel::fit(&names, &cell, &none), None);
        let error = check(&["missing".to_owned()], &cell).unwrap_err().to_string();
        assert!(error.contains("missing") && error.contains("signal, noise"), "{error}");
    }
}
