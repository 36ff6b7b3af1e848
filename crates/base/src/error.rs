//! The error of the program: a class, a message, the file, line and key concerned, and a cause.
//!
//! [`Error`] is the type that libraries return. A crate keeps an enum of its own only where callers match on its variants; such an
//! enum implements [`Classified`] and converts into [`Error`]. The program derives the exit code from the [`Class`].
//!
//! ```
//! use knockout_base::error::{Class, Error};
//!
//! let error = Error::damage("the table has no column \"score\"; name it with `columns.score=`")
//!     .in_file("screen.tsv")
//!     .on_line(7);
//! assert_eq!(error.class(), Class::Damage);
//! assert_eq!(error.to_string(), "screen.tsv, line 7: the table has no column \"score\"; name it with `columns.score=`");
//! ```

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The kind of fault, by what the user has to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The request: a bad option or key, a missing file, an output that exists.
    Request,
    /// The input: a file that is damaged or not what it claims to be.
    Damage,
    /// The optimisation: a loss or a gradient that is not finite.
    Diverged,
    /// Nothing by itself: a disk is full, or there is a bug.
    Failure,
}

/// An error that has a class.
pub trait Classified: StdError {
    /// Returns the class; that of the cause where the cause decides.
    fn class(&self) -> Class;
}

/// The result of an operation that fails with [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error with its class, context and cause.
///
/// The message of the error contains its context (file, line, key) but not its cause; [`chain`] joins both.
pub struct Error(Box<Inner>);

struct Inner {
    class: Class,
    message: String,
    path: Option<PathBuf>,
    line: Option<u64>,
    key: Option<String>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// Creates an error of a class; the message names the next step.
    pub fn new(class: Class, message: impl Into<String>) -> Self {
        let message = message.into();
        Self(Box::new(Inner { class, message, path: None, line: None, key: None, source: None }))
    }

    /// Creates an error of class [`Class::Request`].
    pub fn request(message: impl Into<String>) -> Self {
        Self::new(Class::Request, message)
    }

    /// Creates an error of class [`Class::Damage`].
    pub fn damage(message: impl Into<String>) -> Self {
        Self::new(Class::Damage, message)
    }

    /// Creates an error of class [`Class::Failure`].
    pub fn failure(message: impl Into<String>) -> Self {
        Self::new(Class::Failure, message)
    }

    /// Creates the error of an operation on a path that the user named.
    pub fn io(message: impl Into<String>, path: impl AsRef<Path>, source: io::Error) -> Self {
        Self::new(class_of_path(source.kind()), message).in_file(path).caused_by(source)
    }

    /// Names the file or folder concerned. The innermost name wins.
    #[must_use]
    pub fn in_file(mut self, path: impl AsRef<Path>) -> Self {
        self.0.path.get_or_insert_with(|| path.as_ref().to_owned());
        self
    }

    /// Names the line or row concerned, counted from 1.
    #[must_use]
    pub fn on_line(mut self, line: u64) -> Self {
        self.0.line.get_or_insert(line);
        self
    }

    /// Names the configuration key, column or field concerned.
    #[must_use]
    pub fn for_key(mut self, key: impl Into<String>) -> Self {
        self.0.key.get_or_insert_with(|| key.into());
        self
    }

    /// Adds the cause.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Wraps the error in the operation that failed; the class stays.
    #[must_use]
    pub fn while_doing(self, operation: impl Into<String>) -> Self {
        Self::new(self.0.class, operation).caused_by(self)
    }

    /// Wraps an error that has a class, in the operation that failed.
    pub fn wrap(operation: impl Into<String>, source: impl Classified + Send + Sync + 'static) -> Self {
        Self::new(source.class(), operation).caused_by(source)
    }

    /// Converts an error that has a class; its class, message and causes stay.
    pub fn of(error: impl Classified + Send + Sync + 'static) -> Self {
        Self::new(error.class(), error.to_string()).caused_by(error)
    }

    /// Returns the class.
    pub fn class(&self) -> Class {
        self.0.class
    }

    /// Returns the file or folder concerned.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// Returns the line or row concerned, counted from 1.
    pub fn line(&self) -> Option<u64> {
        self.0.line
    }

    /// Returns the configuration key, column or field concerned.
    pub fn key(&self) -> Option<&str> {
        self.0.key.as_deref()
    }

    /// Returns the kind of the operating system's error among the causes.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        let mut cause = self.source();
        while let Some(error) = cause {
            if let Some(error) = error.downcast_ref::<io::Error>() {
                return Some(error.kind());
            }
            cause = error.source();
        }
        None
    }

    /// Returns the message without its context.
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        if let Some(path) = self.path() {
            write!(f, "{}", path.display())?;
            separator = ", ";
        }
        if let Some(line) = self.line() {
            write!(f, "{separator}line {line}")?;
            separator = ", ";
        }
        if let Some(key) = self.key() {
            write!(f, "{separator}{key}")?;
            separator = ", ";
        }
        let colon = if separator.is_empty() { "" } else { ": " };
        write!(f, "{colon}{}", self.message())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} error: {}", self.class(), chain(self))
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

impl Classified for Error {
    fn class(&self) -> Class {
        self.0.class
    }
}

/// Adds context to the error of a [`Result`].
pub trait Context<T> {
    /// Names the file or folder concerned.
    fn in_file(self, path: impl AsRef<Path>) -> Result<T>;
    /// Names the operation that failed.
    fn while_doing(self, operation: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<Error>> Context<T> for Result<T, E> {
    fn in_file(self, path: impl AsRef<Path>) -> Result<T> {
        self.map_err(|error| error.into().in_file(path))
    }

    fn while_doing(self, operation: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| error.into().while_doing(operation()))
    }
}

/// Adds a file and an operation to the error of the operating system.
pub trait IoContext<T> {
    /// Names the operation that failed and the path that the user named.
    fn at_path(self, operation: &str, path: impl AsRef<Path>) -> Result<T>;
}

impl<T> IoContext<T> for io::Result<T> {
    fn at_path(self, operation: &str, path: impl AsRef<Path>) -> Result<T> {
        self.map_err(|error| Error::io(operation, path, error))
    }
}

/// An input or output error by itself is not one of the request; see [`class_of_path`] for paths that users name.
impl Classified for io::Error {
    fn class(&self) -> Class {
        Class::Failure
    }
}

/// Returns an error and its causes in one line. A cause that a message quotes is not repeated.
pub fn chain(error: &dyn StdError) -> String {
    let mut said = error.to_string();
    let (mut line, mut cause) = (said.clone(), error.source());
    while let Some(error) = cause {
        let text = error.to_string();
        if !said.contains(&text) {
            line.push_str(": ");
            line.push_str(&text);
            said = text;
        }
        cause = error.source();
    }
    line
}

/// Returns the class of an error of the operating system about a path that the user named.
pub fn class_of_path(kind: io::ErrorKind) -> Class {
    use io::ErrorKind as E;
    match kind {
        E::NotFound
        | E::AlreadyExists
        | E::PermissionDenied
        | E::ReadOnlyFilesystem
        | E::DirectoryNotEmpty
        | E::IsADirectory
        | E::NotADirectory
        | E::InvalidFilename
        // A path with a NUL byte.
        | E::InvalidInput => Class::Request,
        _ => Class::Failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_names_file_line_and_key_once() {
        let error =
            Error::damage("not a number").for_key("score").on_line(3).in_file("a.tsv").in_file("outer");
        assert_eq!(error.to_string(), "a.tsv, line 3, score: not a number");
        assert_eq!(
            (error.path(), error.line(), error.key()),
            (Some(Path::new("a.tsv")), Some(3), Some("score"))
        );
    }

    #[test]
    fn wrapping_keeps_the_class_and_the_cause() {
        let error = Error::io("could not open", "x", io::ErrorKind::NotFound.into()).while_doing("importing");
        assert_eq!((error.class(), error.io_kind()), (Class::Request, Some(io::ErrorKind::NotFound)));
        assert_eq!(chain(&error), "importing: x: could not open: entity not found");
    }

    #[test]
    fn a_converted_error_keeps_its_class_message_and_causes() {
        let inner = Error::damage("outer").caused_by(io::Error::other("inner"));
        let error = Error::of(inner);
        assert_eq!((error.class(), chain(&error)), (Class::Damage, "outer: inner".to_owned()));
    }

    #[test]
    fn context_converts_and_names_the_file() {
        let failed: Result<()> = Err(Error::failure("disk full"));
        let error = failed.in_file("out").while_doing(|| "writing".to_owned()).unwrap_err();
        assert_eq!(chain(&error), "writing: out: disk full");
    }
}
