//! Whose fault an error is.
//!
//! Every error that a library returns to the program says its [`Class`]; the program turns it into an exit code without
//! knowing the error's type. The crate knows no error but the operating system's.

use std::error::Error;
use std::io;

/// What the user has to change.
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

/// An error that knows its class.
pub trait Classified: Error {
    /// Returns the class; that of the cause where the cause decides.
    fn class(&self) -> Class;
}

/// An input or output error by itself says nothing about the request; see [`class_of_path`] for paths that users name.
impl Classified for io::Error {
    fn class(&self) -> Class {
        Class::Failure
    }
}

/// Returns an error and its causes in one line. A cause that a message quotes is not said again.
pub fn chain(error: &dyn Error) -> String {
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
        | E::NotADirectory => Class::Request,
        _ => Class::Failure,
    }
}
