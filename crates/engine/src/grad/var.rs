//! Variables of a tape.

/// A parameter, or the output of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Var(Source);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Parameter(usize),
    Value(usize),
}

impl Var {
    pub(crate) fn parameter(index: usize) -> Self {
        Self(Source::Parameter(index))
    }

    pub(crate) fn value(index: usize) -> Self {
        Self(Source::Value(index))
    }

    pub(crate) fn source(self) -> Source {
        self.0
    }

    pub(crate) fn as_parameter(self) -> Option<usize> {
        match self.0 {
            Source::Parameter(index) => Some(index),
            Source::Value(_) => None,
        }
    }

    pub(crate) fn as_value(self) -> usize {
        match self.0 {
            Source::Value(index) => index,
            Source::Parameter(_) => unreachable!("a parameter has no value on the tape"),
        }
    }
}
