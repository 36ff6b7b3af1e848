//! The extension module behind the Python package `knockout`.
//!
//! It converts Python values to calls of the libraries in `crates/`, results to numpy arrays and JSON, and errors to exceptions. Frames,
//! sparse matrices and PyTorch modules are written in Python, in `knockout/`.

// Python hands over owned values, in signatures as wide as their Python callers want them.
#![allow(clippy::needless_pass_by_value, clippy::too_many_arguments)]

mod array;
mod dataset;
#[cfg(feature = "parity")]
mod double;
mod error;
mod json;
mod lab;
mod loader;
mod make;
mod page;
mod program;
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
    #[cfg(feature = "parity")]
    #[pymodule_export]
    use crate::double::training_steps_f64;
    #[pymodule_export]
    use crate::lab::{baseline, benchmark, compare_runs, hits, list_runs, sweep};
    #[pymodule_export]
    use crate::loader::Batches;
    #[pymodule_export]
    use crate::make::{import_recipe, synth, write_dataset, write_samples};
    #[pymodule_export]
    use crate::page::Page;
    #[pymodule_export]
    use crate::program::run_program;
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
