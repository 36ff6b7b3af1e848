//! The failure of a command: an exit code, and messages from the outermost to the cause.
//!
//! Errors of the libraries bring their class ([`Classified`]) and become a [`Failure`] with `?`. Errors of other crates have
//! none and get one where they happen, with [`Unexpected::unexpected`] or [`request_error`].

use crate::exit;
use knockout_base::error::Classified;
use std::error::Error;
use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;

/// The result of a command or a part of one.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// The failure of a command.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    /// Operations that failed, innermost first.
    contexts: Vec<String>,
    cause: Box<dyn Error + Send + Sync>,
}

impl Failure {
    /// Creates a failure with its own exit code; the result may have been printed.
    pub(crate) fn verdict(code: u8, message: impl Into<String>) -> Self {
        Self { code, contexts: Vec::new(), cause: message.into().into() }
    }

    pub(crate) fn code(&self) -> u8 {
        self.code
    }

    /// Adds the operation that failed.
    pub(crate) fn context(mut self, message: impl Into<String>) -> Self {
        self.contexts.push(message.into());
        self
    }
}

/// Creates the failure of a request that cannot be carried out; the message has the next step.
pub(crate) fn request_error(message: impl Into<String>) -> Failure {
    Failure::verdict(exit::REQUEST, message)
}

impl<E: Classified + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self { code: exit::code_of(error.class()), contexts: Vec::new(), cause: error.into() }
    }
}

/// One line: the operation, the error and its causes.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for context in self.contexts.iter().rev() {
            write!(f, "{context}: ")?;
        }
        f.write_str(&knockout_base::error::chain(&*self.cause))
    }
}

/// Adds the operation that failed to errors that have a class.
pub(crate) trait FailureContext<T> {
    fn context(self, message: impl Into<String>) -> Result<T>;
    fn with_context(self, message: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<Failure>> FailureContext<T> for Result<T, E> {
    fn context(self, message: impl Into<String>) -> Result<T> {
        self.map_err(|error| error.into().context(message))
    }

    fn with_context(self, message: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| error.into().context(message()))
    }
}

/// Adds the operation that failed to errors of other crates; they are unexpected.
pub(crate) trait Unexpected<T> {
    fn unexpected(self, message: &str) -> Result<T>;
}

impl<T, E: Error + Send + Sync + 'static> Unexpected<T> for Result<T, E> {
    fn unexpected(self, message: &str) -> Result<T> {
        self.map_err(|error| {
            Failure { code: exit::FAILED, contexts: Vec::new(), cause: error.into() }.context(message)
        })
    }
}

/// Runs a command; a panic, in any thread it waits for, becomes an error that requests a report.
///
/// Panics that a library catches (some Parquet files make their reader panic) are errors already and print nothing here.
pub(crate) fn with_panics_as_errors(run: impl FnOnce() -> Result<()>) -> Result<()> {
    static LAST: Mutex<String> = Mutex::new(String::new());
    panic::set_hook(Box::new(|info| {
        if let Ok(mut last) = LAST.lock() {
            *last = info.to_string();
        }
    }));
    panic::catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        let last = LAST.lock().map(|last| last.clone()).unwrap_or_default();
        let last = last.replace('\n', " ");
        // Libraries start threads that they cannot do without.
        if last.contains("failed to spawn thread") {
            return Err(request_error(
                "the system refused to start a thread; lower --threads, or raise the limits (ulimit -v, ulimit -u)",
            ));
        }
        Err(Failure::verdict(
            exit::FAILED,
            format!("internal error: {last}; please report it with the command you ran"),
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[derive(Debug, thiserror::Error)]
    enum TestError {
        #[error("outer")]
        Plain(#[source] io::Error),
        #[error("outer ({0})")]
        Quoting(#[source] io::Error),
    }

    #[test]
    fn a_cause_is_said_once() {
        let inner = || io::Error::other("inner");
        let failed = |fault: TestError| Err::<(), _>(fault).unexpected("doing").unwrap_err().to_string();
        assert_eq!(failed(TestError::Plain(inner())), "doing: outer: inner");
        assert_eq!(failed(TestError::Quoting(inner())), "doing: outer (inner)");
    }

    #[test]
    fn the_class_decides_the_code_whatever_the_context() {
        let failed = Err::<(), _>(io::Error::other("disk")).context("writing").unwrap_err();
        assert_eq!((failed.code(), failed.to_string()), (exit::FAILED, "writing: disk".to_owned()));
        assert_eq!(request_error("no").context("asking").code(), exit::REQUEST);
    }

    #[test]
    fn a_panic_becomes_an_error_that_asks_for_a_report_unless_a_limit_caused_it() {
        // One test: the message of a panic is kept for the whole process.
        let error = with_panics_as_errors(|| panic!("failed to spawn thread: WouldBlock")).unwrap_err();
        assert_eq!(error.code(), exit::REQUEST, "{error}");
        let error = with_panics_as_errors(|| panic!("the sky fell")).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("internal error: ") && text.contains("the sky fell"), "{text}");
        assert_eq!(error.code(), exit::FAILED);
    }
}
