//! Values of arguments as keys of tables.

use knockout_trace::{ArgValue, Symbol, Symbols};

/// [`ArgValue`] that can be a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ArgValueKey {
    Number(i64),
    Text(Symbol),
}

impl ArgValueKey {
    /// Returns the value as the trace spells it.
    pub(crate) fn spelt(self, symbols: &Symbols) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => symbols.text(text).to_owned(),
        }
    }
}

impl From<ArgValue> for ArgValueKey {
    fn from(value: ArgValue) -> Self {
        match value {
            ArgValue::Number(number) => Self::Number(number),
            ArgValue::Text(text) => Self::Text(text),
        }
    }
}
