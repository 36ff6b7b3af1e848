//! The input rows of genes: a learnt table, a learnt linear map of content features, or both.

use super::{Linear, add_to, forward_term};
use crate::init::Init;
use crate::limits;
use knockout_base::error::Result;
use knockout_data::cell::Cell;
use knockout_engine::grad::{Parameters, Tape, Var};
use knockout_engine::kernel::{Activation, Scalar, StoreMode};
use serde::{Deserialize, Serialize};

/// Use of the content features of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FeatureUse {
    /// It does not read them.
    #[default]
    None,
    /// A gene's row is that of the table plus a linear map of its features.
    Beside,
    /// A gene's row is a linear map of its features: genes without samples have one, too.
    Instead,
}

impl FeatureUse {
    /// Refuses features that a dataset does not have.
    pub(crate) fn check(self, cell: &Cell) -> Result<()> {
        let value = match self {
            Self::None => return Ok(()),
            Self::Beside => "beside",
            Self::Instead => "instead",
        };
        if cell.features().is_some() {
            return Ok(());
        }
        let rule = "the dataset has no features: import it again with --features, or use model.features=none";
        Err(limits::out_of_range("model.features", value, rule))
    }

    /// The features of a cell, if they are used. Options have been checked.
    pub(crate) fn of(self, cell: &Cell) -> Option<GeneFeatures> {
        let features = cell.features().filter(|_| self != Self::None)?;
        let (columns, values) = (features.names().len(), features.standardised());
        Some(GeneFeatures { columns, values, has_table: self == Self::Beside })
    }

    /// Parameters of the gene rows of a model of `width` channels.
    pub(crate) fn parameter_count(self, cell: &Cell, width: usize) -> f64 {
        let [genes, width] = [cell.genes().len(), width].map(|size| size as f64);
        let columns = cell.features().map_or(0, |features| features.names().len()) as f64;
        match self {
            Self::None => genes * width,
            Self::Beside => (genes + columns + 1.0) * width,
            Self::Instead => (columns + 1.0) * width,
        }
    }
}

/// Content features of all genes, as a model reads them.
#[derive(Debug, Clone)]
pub struct GeneFeatures {
    /// Number of features.
    pub columns: usize,
    /// Standardised, `[genes, columns]`.
    pub values: Vec<f64>,
    /// Whether a learnt table stands beside them.
    pub has_table: bool,
}

/// `x_i = e_i`, `e_i + W f_i + b` or `W f_i + b`; `x: [genes, width]`, `f: [genes, columns]`.
#[derive(Debug)]
pub(crate) struct GeneRows<T> {
    table: Option<Var>,
    features: Option<(Linear, Vec<T>)>,
}

impl<T: Scalar> GeneRows<T> {
    /// Adds `gene_embedding`, with normal values of this deviation, and `gene_features`, with weights that give rows of about the same.
    pub(crate) fn new(
        parameters: &mut Parameters<T>,
        [genes, width]: [usize; 2],
        deviation: f64,
        features: Option<GeneFeatures>,
        init: &mut Init,
    ) -> Self {
        let has_table = features.as_ref().is_none_or(|features| features.has_table);
        let table = has_table.then(|| parameters.add(TABLE, &[genes, width], || init.normal(deviation)));
        let features = features.map(|features| {
            let GeneFeatures { columns, values, .. } = features;
            assert_eq!(values.len(), genes * columns, "features of every gene");
            let spread = deviation / (columns as f64).sqrt();
            let weight = parameters.add("gene_features.weight", &[width, columns], || init.normal(spread));
            let bias = parameters.add("gene_features.bias", &[width], || 0.0);
            let linear = Linear { weight, bias, inputs: columns, outputs: width };
            (linear, values.into_iter().map(T::of).collect())
        });
        Self { table, features }
    }

    /// The name of the table, if there is one.
    pub(crate) fn table_name(&self) -> Option<&'static str> {
        self.table.map(|_| TABLE)
    }

    /// The parameters that give rows their size.
    pub(crate) fn weights(&self) -> Vec<Var> {
        self.table.into_iter().chain(self.features.as_ref().map(|(linear, _)| linear.weight)).collect()
    }

    /// Records the rows; the table alone is a parameter and needs no operation.
    pub(crate) fn forward<'a>(&'a self, tape: &mut Tape<'a, T>) -> Var {
        match (&self.features, self.table) {
            (None, Some(table)) => table,
            (Some((linear, features)), table) => of_features(tape, *linear, features, table),
            (None, None) => unreachable!("a table or features"),
        }
    }
}

/// Name of the learnt table.
const TABLE: &str = "gene_embedding";

fn of_features<'a, T: Scalar>(
    tape: &mut Tape<'a, T>,
    linear: Linear,
    features: &'a [T],
    table: Option<Var>,
) -> Var {
    let rows = features.len() / linear.inputs;
    tape.op(
        "gene_features",
        [rows, linear.outputs],
        |values, out| {
            let term = forward_term(features, linear.inputs, values.of(linear.weight));
            let bias = Some(values.of(linear.bias));
            T::linear(&[term], bias, Activation::None, StoreMode::Set, out, linear.outputs);
            if let Some(table) = table {
                add_to(out, values.of(table));
            }
        },
        move |step, (), gradients| {
            let size = [linear.outputs, linear.inputs];
            gradients.add_pair([linear.weight, linear.bias], |weight, bias| {
                T::transposed_product(step.gradient, features, size, weight, Some(bias));
            });
            if let Some(table) = table {
                gradients.add(table, |sum| add_to(sum, step.gradient));
            }
        },
    )
}
