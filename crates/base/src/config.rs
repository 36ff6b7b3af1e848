//! Configuration: defaults in a struct, changes as `a.b=value`.
//!
//! The defaults are the schema: an override must name a key that exists and give a value of its type. The crate knows
//! no keys of its own.
//!
//! ```
//! #[derive(serde::Serialize, serde::Deserialize)]
//! struct Model { layers: u32, dropout: f64 }
//!
//! let model = knockout_base::config::resolve(&Model { layers: 3, dropout: 0.1 }, &["layers=2"])?;
//! assert_eq!(model.layers, 2);
//! let error = knockout_base::config::resolve(&model, &["layer=2"]).err().unwrap();
//! assert_eq!(error.to_string(), "there is no key \"layer\"; did you mean \"layers\"?");
//! # Ok::<(), knockout_base::config::OverrideError>(())
//! ```

use crate::error::{Class, Classified};
use serde::{Serialize, de::DeserializeOwned};
use toml::{Table, Value};

/// An override that cannot be applied.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OverrideError {
    /// Not of the form `key=value`.
    #[error("{text:?} is no override; write key=value, for example epochs=3")]
    NoEquals {
        /// The text given.
        text: String,
    },
    /// A key that does not exist.
    #[error("there is no key {key:?}{}", suggestion(nearest.as_deref()))]
    UnknownKey {
        /// The key given.
        key: String,
        /// The most similar key there is.
        nearest: Option<String>,
    },
    /// A key that names a section.
    #[error("{key:?} is a section, not a value; its keys are {}", keys.join(", "))]
    Section {
        /// The key given.
        key: String,
        /// The keys of the section.
        keys: Vec<String>,
    },
    /// A value of another type.
    #[error("{key} takes {expected}, not {value:?}")]
    WrongType {
        /// Full key, `section.name`.
        key: String,
        /// The type it takes.
        expected: &'static str,
        /// The value given.
        value: String,
    },
    /// The values are each fine, but not for the program.
    #[error("the configuration is refused: {message}")]
    Refused {
        /// Reason given by the program.
        message: String,
    },
}

impl Classified for OverrideError {
    fn class(&self) -> Class {
        Class::Request
    }
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(
        || "; `knockout config show` lists the keys".to_owned(),
        |key| format!("; did you mean {key:?}?"),
    )
}

/// Applies overrides in order, later ones winning.
pub fn resolve<T, S>(defaults: &T, overrides: &[S]) -> Result<T, OverrideError>
where
    T: Serialize + DeserializeOwned,
    S: AsRef<str>,
{
    let refused = |message: String| OverrideError::Refused { message };
    let mut table = Table::try_from(defaults).map_err(|error| refused(error.to_string()))?;
    apply(&mut table, overrides)?;
    table.try_into().map_err(|error: toml::de::Error| refused(reason(&error)))
}

/// Why a table is no value of the program's, in words of the command line, with the key at fault where it is known.
pub fn reason(error: &toml::de::Error) -> String {
    let mut text = error.message().to_owned();
    for number in ["u8", "u16", "u32", "u64", "usize"] {
        if let Some(start) = text.strip_suffix(&format!("expected {number}")) {
            text = format!("{start}expected a whole number from 0 up");
        }
    }
    // The library names the place in the second line of what it shows, and nowhere else.
    let shown = error.to_string();
    match shown.lines().find_map(|line| line.strip_prefix("in `")?.strip_suffix('`')) {
        Some(key) => format!("{key}: {text}"),
        None => text,
    }
}

/// Applies overrides to a table of defaults in order, later ones winning.
pub fn apply<S: AsRef<str>>(table: &mut Table, overrides: &[S]) -> Result<(), OverrideError> {
    overrides.iter().try_for_each(|text| apply_one(table, text.as_ref()))
}

fn apply_one(table: &mut Table, text: &str) -> Result<(), OverrideError> {
    let Some((key, value)) = text.split_once('=') else {
        return Err(OverrideError::NoEquals { text: text.to_owned() });
    };
    let (key, value) = (key.trim(), value.trim());
    let known = leaves(table);
    let Some(slot) = find(table, key) else {
        return Err(OverrideError::UnknownKey { key: key.to_owned(), nearest: nearest(key, &known) });
    };
    if let Value::Table(section) = slot {
        let keys = section.keys().cloned().collect();
        return Err(OverrideError::Section { key: key.to_owned(), keys });
    }
    *slot = parse_as(slot, value).ok_or_else(|| OverrideError::WrongType {
        key: key.to_owned(),
        expected: type_name(slot),
        value: value.to_owned(),
    })?;
    Ok(())
}

/// Whether a key names a value of a table.
pub fn has_key(table: &Table, key: &str) -> bool {
    leaves(table).iter().any(|leaf| leaf == key)
}

fn find<'a>(table: &'a mut Table, key: &str) -> Option<&'a mut Value> {
    match key.split_once('.') {
        None => table.get_mut(key),
        Some((section, rest)) => match table.get_mut(section)? {
            Value::Table(inner) => find(inner, rest),
            _ => None,
        },
    }
}

/// The text as a value of the same type as the default; a whole number will do for a fraction.
fn parse_as(default: &Value, text: &str) -> Option<Value> {
    let parsed = toml::from_str::<Table>(&format!("v = {text}")).ok().and_then(|mut table| table.remove("v"));
    match (default, parsed) {
        (Value::Float(_), Some(Value::Integer(number))) => Some(Value::Float(number as f64)),
        (Value::String(_), Some(Value::String(text))) => Some(Value::String(text)),
        // Words need no quotes on a command line.
        (Value::String(_), _) => Some(Value::String(text.to_owned())),
        (default, Some(value)) if default.same_type(&value) => Some(value),
        _ => None,
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a text",
        Value::Integer(_) => "a whole number",
        Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list, for example [1, 2]",
        Value::Table(_) => "a section",
    }
}

/// All keys that hold a value, in full.
fn leaves(table: &Table) -> Vec<String> {
    let mut keys = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) => keys.extend(leaves(inner).into_iter().map(|leaf| format!("{key}.{leaf}"))),
            _ => keys.push(key.clone()),
        }
    }
    keys
}

/// The known key most like the given one, if any is like it: by spelling, or by its last word alone.
fn nearest(key: &str, known: &[String]) -> Option<String> {
    let last = key.rsplit('.').next().unwrap_or(key);
    let same_last = |candidate: &&String| candidate.rsplit('.').next() == Some(last);
    let closest = known.iter().map(|candidate| (strsim::levenshtein(key, candidate), candidate)).min()?;
    if closest.0 <= 2.max(key.len() / 4) {
        return Some(closest.1.clone());
    }
    known.iter().find(same_last).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::Deserialize;

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Config {
        name: String,
        model: Model,
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Model {
        layers: u32,
        dropout: f64,
        residual: bool,
        networks: Vec<String>,
    }

    fn defaults() -> Config {
        let model = Model { layers: 3, dropout: 0.5, residual: true, networks: vec!["physical".to_owned()] };
        Config { name: "a".to_owned(), model }
    }

    fn message(text: &str) -> String {
        resolve(&defaults(), &[text]).unwrap_err().to_string()
    }

    #[test]
    fn overrides_change_exactly_what_they_name() {
        let config = resolve(
            &defaults(),
            &[
                "model.layers=2",
                "name=b c",
                "model.dropout = 0",
                "model.networks=[\"x\", \"y\"]",
                "model.layers=4",
            ],
        )
        .unwrap();
        let networks = vec!["x".to_owned(), "y".to_owned()];
        let model = Model { layers: 4, dropout: 0.0, residual: true, networks };
        assert_eq!(config, Config { name: "b c".to_owned(), model });
    }

    #[test]
    fn mistakes_are_named_with_a_way_out() {
        assert_eq!(
            message("model.layers"),
            "\"model.layers\" is no override; write key=value, for example epochs=3"
        );
        assert_eq!(
            message("model.layer=2"),
            "there is no key \"model.layer\"; did you mean \"model.layers\"?"
        );
        assert_eq!(message("layers=2"), "there is no key \"layers\"; did you mean \"model.layers\"?");
        assert_eq!(
            message("zzzzzzzz=2"),
            "there is no key \"zzzzzzzz\"; `knockout config show` lists the keys"
        );
        assert_eq!(message("name.x=2"), "there is no key \"name.x\"; did you mean \"name\"?");
        assert_eq!(message("model.layers=two"), "model.layers takes a whole number, not \"two\"");
        assert_eq!(message("model.layers=2.5"), "model.layers takes a whole number, not \"2.5\"");
        assert_eq!(message("model.residual=1"), "model.residual takes true or false, not \"1\"");
        assert_eq!(
            message("model=1"),
            "\"model\" is a section, not a value; its keys are layers, dropout, residual, networks"
        );
        assert_eq!(
            message("model.layers=-1"),
            "the configuration is refused: model.layers: invalid value: integer `-1`, expected a whole number from 0 up"
        );
        assert!(message("model.networks=[1]").starts_with("the configuration is refused: "));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,30}") {
            resolve(&defaults(), &[text]).ok();
        }

        #[test]
        fn near_misses_find_their_key(place in 0..12_usize) {
            let mut key = "model.dropout".to_owned();
            key.remove(place);
            prop_assert_eq!(nearest(&key, &leaves(&Table::try_from(defaults()).unwrap())), Some("model.dropout".to_owned()));
        }
    }
}
