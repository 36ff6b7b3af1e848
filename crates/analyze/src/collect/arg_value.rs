//! Values of arguments as keys of tables.

use knockout_trace::{ArgValue, Symbol};

/// [`ArgValue`] that can be a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ArgValueKey {
    Number(i64),
    Text(Symbol),
}

impl From<ArgValue> for ArgValueKey {
    fn from(value: ArgValue) -> Self {
        match value {
            ArgValue::Number(number) => Self::Number(number),
            ArgValue::Text(text) => Self::Text(text),
        }
    }
}
