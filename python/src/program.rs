//! The program `knockout`, for the command that an installation of the package brings.

use pyo3::prelude::*;
use std::ffi::OsString;

/// Runs the program with the arguments after its name, and returns its exit code; to be called once in a process.
#[pyfunction]
pub(crate) fn run_program(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| knockout::run(arguments))
}
