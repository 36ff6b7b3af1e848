//! Documents of the libraries as Python values: the same JSON that `--json` prints.

use crate::error::Fault;
use pyo3::prelude::*;
use serde::Serialize;

/// The document as text.
pub(crate) fn text(document: &impl Serialize) -> Result<String, Fault> {
    serde_json::to_string(document).map_err(|error| Fault::failure(format!("could not write JSON: {error}")))
}

/// Text of a document as dictionaries, lists and numbers.
pub(crate) fn loads<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (text,))
}
