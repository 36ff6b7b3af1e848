//! Amplitudes: how strongly a gene interacts, as expected from its features.
//!
//! Genes whose deletion makes cells sick interact more strongly. The logarithm of the root mean square of each gene's residuals is
//! regressed on features such as the fitness of its deletion, on their squares and on whether they are unknown. The similarity of two
//! genes is multiplied by the expected amplitudes of both. Amplitudes are used if they improve predictions of training genes that are
//! hidden, fold by fold.

use crate::additive_fit::AdditiveFit;
use crate::covariates::{CovariateModel, GeneEffect};
use crate::grid::Grid;
use crate::model::Choice;
use crate::process::{KernelFeatures, ProcessFields, ShiftedConjugateGradients};
use knockout_base::stats::pearson;
use knockout_data::cell::{Cell, Features, GeneSets, GeneSetsRef};

/// Folds of genes that are hidden in turn.
const FOLDS: usize = 4;
/// Number of genes, and of records of hidden genes, that suffice for the comparison.
const FOLD_GENES: usize = 1_500;
const FOLD_RECORDS: usize = 20_000;
/// Steps of conjugate gradients, noises, the nugget and the weight of single genes of the comparison.
const STEPS: usize = 12;
const NOISES: [f32; 3] = [0.5, 2.0, 8.0];
const NUGGET: f32 = 1.0;
const SINGLE: f32 = 0.3;
/// Least root mean square of a gene's residuals, relative to that of all.
const MIN_SIZE: f64 = 0.1;

/// Beginning of the names of the slopes.
pub(super) const PREFIX: &str = "network_kernel.amplitude";

/// The expected amplitude of every gene; their mean over the genes with records is 1.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Amplitudes {
    pub(crate) values: Vec<f32>,
    /// The slopes of the regression.
    pub(super) choices: Vec<Choice>,
}

impl Amplitudes {
    /// Regresses the sizes of the residuals on the named features; `None` without features or residuals.
    pub(crate) fn expected(
        names: &[String],
        cell: &Cell,
        sets: GeneSetsRef<'_>,
        residuals: &[f64],
    ) -> Option<Self> {
        let (features, gene_count) = (cell.features()?, cell.genes().len());
        let used: Vec<usize> =
            (0..features.names().len()).filter(|&column| names.contains(&features.names()[column])).collect();
        let expanded = expanded(features, &used)?;
        let (mut squares, mut records) = (vec![0.0; gene_count], vec![0_u32; gene_count]);
        for (set, residual) in sets.iter().zip(residuals) {
            for &gene in set {
                squares[gene as usize] += residual * residual;
                records[gene as usize] += 1;
            }
        }
        let overall = (squares.iter().sum::<f64>() / f64::from(records.iter().sum::<u32>())).sqrt();
        if overall.is_nan() || overall <= 0.0 {
            return None;
        }
        let effect = |(square, &records): (&f64, &u32)| {
            let size = (square / f64::from(records.max(1))).sqrt() / overall;
            GeneEffect { value: size.max(MIN_SIZE).ln(), records }
        };
        let effects: Vec<GeneEffect> = squares.iter().zip(&records).map(effect).collect();
        let model = CovariateModel::of_features(expanded.names(), &expanded, &effects, PREFIX)?;
        let values: Vec<f64> = model.expected.iter().map(|size| size.exp()).collect();
        let known =
            || values.iter().zip(&records).filter(|(_, records)| **records > 0).map(|(value, _)| value);
        let mean = known().sum::<f64>() / known().count().max(1) as f64;
        let values = values.iter().map(|value| (value / mean) as f32).collect();
        Some(Self { values, choices: model.choices })
    }

    /// Returns whether these amplitudes improve predictions of hidden training genes.
    pub(super) fn improve(
        &self,
        features: &KernelFeatures,
        base: &AdditiveFit,
        sets: GeneSetsRef<'_>,
        scores: &[f32],
    ) -> bool {
        let train = (&base.grid, sets, scores);
        fold_pearson(&features.scaled(&self.values), train) > fold_pearson(features, train)
    }
}

/// Returns the used columns, their squares around the mean, and 1 where they are unknown.
fn expanded(features: &Features, used: &[usize]) -> Option<Features> {
    let (standardised, width) = (features.standardised(), features.names().len());
    let names = used.iter().flat_map(|&column| {
        let name = &features.names()[column];
        [name.clone(), format!("{name}_squared"), format!("{name}_unknown")]
    });
    let values = (0..features.gene_count()).flat_map(|gene| {
        let standardised = &standardised;
        used.iter().flat_map(move |&column| {
            let value = standardised[gene * width + column] as f32;
            [value, value * value, f32::from(u8::from(features.get(gene, column).is_none()))]
        })
    });
    Features::new(features.gene_count(), names.collect(), values.collect()).ok()
}

/// Returns the Pearson correlation of predictions for hidden genes with the scores, for the best noise; -2 if undefined.
fn fold_pearson(features: &KernelFeatures, (grid, sets, scores): (&Grid, GeneSetsRef<'_>, &[f32])) -> f64 {
    let known = grid.genes();
    let stride = known.len().div_ceil(FOLD_GENES).max(1);
    // The fold of each gene that takes part.
    let mut fold_of = vec![None; features.genes()];
    for (i, &gene) in known.iter().step_by(stride).enumerate() {
        fold_of[gene as usize] = Some(i % FOLDS);
    }
    let mut predictions: [Vec<f64>; NOISES.len()] = Default::default();
    let mut targets = Vec::new();
    for fold in 0..FOLDS {
        let is_hidden = |gene: u32| fold_of[gene as usize] == Some(fold);
        let takes_part = |gene: &u32| fold_of[*gene as usize].is_some();
        let held_out: Vec<usize> = (0..sets.len())
            .filter(|&i| {
                let set = sets.get(i);
                // The rows of triples are query pairs, of which all are used.
                match grid.split_triple(set) {
                    Some((_, array)) => is_hidden(array),
                    None => {
                        set.len() == 2
                            && set.iter().all(takes_part)
                            && set.iter().any(|&gene| is_hidden(gene))
                    }
                }
            })
            .collect();
        let every = held_out.len().div_ceil(FOLD_RECORDS).max(1);
        let held_out: Vec<usize> = held_out.into_iter().step_by(every).collect();
        let hidden: GeneSets = held_out.iter().map(|&i| sets.get(i)).collect();
        targets.extend(held_out.iter().map(|&i| f64::from(scores[i])));
        let is_used = |gene: u32| takes_part(&gene) && !is_hidden(gene);
        let mut fields = ProcessFields::new(grid, sets, scores, features, is_used);
        fields.set(features, NUGGET, if fields.triples.is_some() { SINGLE } else { 0.0 });
        let solved = ShiftedConjugateGradients::solve(&mut fields, &NOISES, STEPS, |_| Vec::new());
        for (noise, predictions) in predictions.iter_mut().enumerate() {
            predictions.extend(fields.predict(&solved.solution(noise), features, grid, hidden.view()));
        }
    }
    predictions.iter().filter_map(|predictions| pearson(predictions, &targets)).fold(-2.0, f64::max)
}
