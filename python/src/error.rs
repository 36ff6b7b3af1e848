//! Errors of the libraries as Python exceptions: the class selects the type, and the message is that of the command line.

use knockout_base::error::{Class, Classified, chain};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// An error of any library: its class and its message.
#[derive(Debug)]
pub(crate) struct Fault {
    class: Class,
    message: String,
}

impl Fault {
    /// Creates an error of a class.
    pub(crate) fn new(class: Class, message: impl Into<String>) -> Self {
        Self { class, message: message.into() }
    }

    /// Creates an error of the request.
    pub(crate) fn request(message: impl Into<String>) -> Self {
        Self::new(Class::Request, message)
    }

    /// Creates an error of the machine or of a bug.
    pub(crate) fn failure(message: impl Into<String>) -> Self {
        Self::new(Class::Failure, message)
    }

    /// Adds the operation that failed.
    pub(crate) fn context(self, operation: &str) -> Self {
        Self { message: format!("{operation}: {}", self.message), ..self }
    }
}

impl<E: Classified> From<E> for Fault {
    fn from(error: E) -> Self {
        Self { class: error.class(), message: chain(&error) }
    }
}

impl From<Fault> for PyErr {
    fn from(fault: Fault) -> Self {
        let name = match fault.class {
            Class::Request => "RequestError",
            Class::Damage => "DataError",
            Class::Diverged => "DivergedError",
            Class::Failure => "FailureError",
        };
        raise(name, fault.message)
    }
}

/// Creates an exception of `knockout.errors`.
pub(crate) fn raise(name: &str, message: impl Into<String>) -> PyErr {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let message = message.into();
    Python::attach(|py| {
        let module =
            MODULE.get_or_try_init(py, || PyModule::import(py, "knockout.errors").map(Bound::unbind));
        let found = module
            .and_then(|module| module.bind(py).getattr(name)?.cast_into::<PyType>().map_err(PyErr::from));
        match found {
            Ok(kind) => PyErr::from_type(kind, message),
            Err(error) => error,
        }
    })
}
