//! Names of spans: made without allocating; their text is made when the trace is written.

use std::fmt;
use std::sync::Arc;

/// Name of a span.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpanName {
    /// A fixed text.
    Fixed(&'static str),
    /// A part of a whole, written `whole/part`.
    Part(&'static str, &'static str),
    /// An operation of a named part of a whole, written `whole/part.operation`.
    Inside(&'static str, Arc<str>, &'static str),
    /// A text with a number after it, as in `ProfilerStep#7`.
    Numbered(&'static str, u64),
    /// A text made once and shared, for names known only at run time (`epoch 7`).
    Shared(Arc<str>),
}

impl fmt::Display for SpanName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(text) => f.write_str(text),
            Self::Part(whole, part) => write!(f, "{whole}/{part}"),
            Self::Inside(whole, part, operation) => write!(f, "{whole}/{part}.{operation}"),
            Self::Numbered(text, number) => write!(f, "{text}{number}"),
            Self::Shared(text) => f.write_str(text),
        }
    }
}

impl From<&'static str> for SpanName {
    fn from(text: &'static str) -> Self {
        Self::Fixed(text)
    }
}

impl From<Arc<str>> for SpanName {
    fn from(text: Arc<str>) -> Self {
        Self::Shared(text)
    }
}

impl From<&Arc<str>> for SpanName {
    fn from(text: &Arc<str>) -> Self {
        Self::Shared(Arc::clone(text))
    }
}
