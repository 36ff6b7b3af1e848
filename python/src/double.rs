//! The program's own losses and gradients in double precision. Only tests compare with them, and wheels are smaller without.

use crate::dataset::Dataset;
use crate::error::Fault;
use crate::torch::{Outcome, Step, outcomes};
use knockout_base::error::Result;
use knockout_data::cell::Cell;
use knockout_models::{DangoOptions, HeteroOptions, Model, ModelOptions, TransformerOptions};
use knockout_train::config::Config;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Builds a network in double precision, if the configuration is its own.
type Build = fn(&Config, &Cell) -> Option<Result<Box<dyn Model<f64>>>>;

/// The networks that PyTorch's side has.
const NETWORKS: [Build; 3] = [build::<DangoOptions>, build::<HeteroOptions>, build::<TransformerOptions>];

fn build<O: ModelOptions>(config: &Config, cell: &Cell) -> Option<Result<Box<dyn Model<f64>>>> {
    config.model.options::<O>().map(|options| options.build(cell, config.seed))
}

/// Returns what `training_steps` returns, in double precision.
#[pyfunction]
pub(crate) fn training_steps_f64<'py>(
    py: Python<'py>,
    dataset: &Dataset,
    model: &str,
    keys: Vec<String>,
    weights: &Bound<'py, PyDict>,
    steps: Vec<Step<'py>>,
) -> PyResult<Vec<Outcome<'py, f64>>> {
    let data = dataset.get()?;
    let config = Config::of(model, &data.cell, &keys).map_err(Fault::from)?;
    config.model.check(&data.cell).map_err(Fault::from)?;
    let built = NETWORKS.iter().find_map(|build| build(&config, &data.cell));
    let built = built.ok_or_else(|| Fault::request(format!("{model} is not a network")))?;
    outcomes(py, built.map_err(Fault::from)?, &data.cell, weights, steps)
}
