//! Documents of the libraries as Python values: the JSON that `--json` prints.

use crate::error::Fault;
use pyo3::prelude::*;
use serde::Serialize;

/// Serialises a document.
pub(crate) fn text(document: &impl Serialize) -> Result<String, Fault> {
    serde_json::to_string(document).map_err(|error| Fault::failure(format!("could not write JSON: {error}")))
}

/// Parses a document into dictionaries, lists and numbers.
pub(crate) fn loads<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (text,))
}
