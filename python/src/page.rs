//! Reports: the document of `--json` with its page, which the renderers of the program turn into text, Markdown and HTML.

use crate::error::Fault;
use crate::json;
use pyo3::prelude::*;
use serde::Serialize;

/// A document and its page.
#[pyclass(frozen, module = "knockout._knockout")]
pub(crate) struct Page {
    document: String,
    page: knockout_report::page::Page,
}

impl Page {
    /// Joins a page and the document that `--json` would print.
    pub(crate) fn of(page: knockout_report::page::Page, document: &impl Serialize) -> Result<Self, Fault> {
        Ok(Self { document: json::text(document)?, page })
    }

    /// Returns the page.
    pub(crate) fn page(&self) -> &knockout_report::page::Page {
        &self.page
    }
}

#[pymethods]
impl Page {
    /// Returns the document as dictionaries, lists and numbers.
    fn document<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::loads(py, &self.document)
    }

    /// Returns the text that the command prints.
    fn text(&self, py: Python<'_>) -> String {
        py.detach(|| self.page.to_text())
    }

    /// Returns the page as Markdown.
    fn markdown(&self, py: Python<'_>) -> String {
        py.detach(|| self.page.to_markdown())
    }

    /// Returns one self-contained HTML page.
    fn html(&self, py: Python<'_>) -> String {
        py.detach(|| self.page.to_html())
    }
}
