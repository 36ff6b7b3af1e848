//! Variables of a tape.

/// A parameter, or the output of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Var(VarSource);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VarSource {
    Parameter(usize),
    Value(usize),
}

impl Var {
    pub(crate) fn parameter(index: usize) -> Self {
        Self(VarSource::Parameter(index))
    }

    pub(crate) fn value(index: usize) -> Self {
        Self(VarSource::Value(index))
    }

    pub(crate) fn source(self) -> VarSource {
        self.0
    }

    pub(crate) fn as_parameter(self) -> Option<usize> {
        match self.0 {
            VarSource::Parameter(index) => Some(index),
            VarSource::Value(_) => None,
        }
    }

    pub(crate) fn as_value(self) -> usize {
        match self.0 {
            VarSource::Value(index) => index,
            VarSource::Parameter(_) => unreachable!("a parameter has no value on the tape"),
        }
    }
}
