//! The extension module behind the Python package `knockout`.
//!
//! It converts Python values to calls of the libraries in `crates/`, results to numpy arrays and JSON, and errors to exceptions. Frames,
//! sparse matrices and PyTorch modules are written in Python, in `knockout/`.

mod array;
mod dataset;
mod error;
mod json;
mod loader;
mod make;
mod run;
mod torch;
mod trace;
mod training;
mod workers;

use pyo3::prelude::*;

/// Compiled part of the package `knockout`, which is the public interface.
#[pymodule]
mod _knockout {
    #[pymodule_export]
    use crate::dataset::{Dataset, Split};
    #[pymodule_export]
    use crate::loader::Batches;
    #[pymodule_export]
    use crate::make::{import_recipe, synth};
    #[pymodule_export]
    use crate::run::{OpenRun, configuration, read_metrics};
    #[pymodule_export]
    use crate::torch::{
        changed_rows, first_state, gene_features, loss_names, metabolism, shuffled, training_steps,
    };
    #[pymodule_export]
    use crate::trace::{Analysis, Comparison, analyze, compare};
    #[pymodule_export]
    use crate::training::{Training, adopt};
    #[pymodule_export]
    use crate::workers::{set_threads, threads};

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
