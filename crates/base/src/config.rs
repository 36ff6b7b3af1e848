//! Configuration: defaults in a struct, changes as `a.b=value`.
//!
//! The defaults are the schema: an override must name a key that exists and give a value of its type. The module has no keys of
//! its own.
//!
//! ```
//! #[derive(serde::Serialize, serde::Deserialize)]
//! struct Model { layers: u32, dropout: f64 }
//!
//! let model = knockout_base::config::resolve(&Model { layers: 3, dropout: 0.1 }, &["layers=2"])?;
//! assert_eq!(model.layers, 2);
//! let error = knockout_base::config::resolve(&model, &["layer=2"]).err().unwrap();
//! assert_eq!(error.to_string(), "there is no key \"layer\"; did you mean \"layers\"?");
//! # Ok::<(), knockout_base::error::Error>(())
//! ```

use crate::error::{Error, Result};
use serde::{Serialize, de::DeserializeOwned};
use toml::{Table, Value};

/// Applies overrides in order, later ones winning.
pub fn resolve<T, S>(defaults: &T, overrides: &[S]) -> Result<T>
where
    T: Serialize + DeserializeOwned,
    S: AsRef<str>,
{
    let mut table = Table::try_from(defaults).map_err(|error| refused(&error.to_string()))?;
    apply(&mut table, overrides, |_| Vec::new())?;
    read(table)
}

/// Reads a table as a value; the error names the key at fault.
pub fn read<T: DeserializeOwned>(table: Table) -> Result<T> {
    serde_path_to_error::deserialize(Value::Table(table)).map_err(|error| {
        let mut reason = error.inner().message().to_owned();
        for number in ["u8", "u16", "u32", "u64", "usize"] {
            if let Some(start) = reason.strip_suffix(&format!("expected {number}")) {
                reason = format!("{start}expected a whole number from 0 up");
            }
        }
        match error.path().to_string().as_str() {
            "." => refused(&reason),
            key => refused(&format!("{key}: {reason}")),
        }
    })
}

fn refused(reason: &str) -> Error {
    Error::request(format!("the configuration is refused: {reason}"))
}

/// Applies overrides to a table of defaults in order, later ones winning.
///
/// An unknown key is an error that suggests a similar key. The keys that `synonyms` returns are tried first.
pub fn apply<S: AsRef<str>>(
    table: &mut Table,
    overrides: &[S],
    synonyms: impl Fn(&str) -> Vec<String>,
) -> Result<()> {
    overrides.iter().try_for_each(|text| apply_one(table, text.as_ref(), &synonyms))
}

fn apply_one(table: &mut Table, text: &str, synonyms: impl Fn(&str) -> Vec<String>) -> Result<()> {
    let Some((key, value)) = text.split_once('=') else {
        return Err(Error::request(format!(
            "{text:?} is not an override; write key=value, for example epochs=3"
        )));
    };
    let (key, value) = (key.trim(), value.trim());
    let known = leaves(table);
    let Some(slot) = find(table, key) else {
        let suggested =
            synonyms(key).into_iter().find(|key| known.contains(key)).or_else(|| nearest(key, &known));
        let help = suggested.map_or_else(
            || "`knockout config show` lists the keys".to_owned(),
            |key| format!("did you mean {key:?}?"),
        );
        return Err(Error::request(format!("there is no key {key:?}; {help}")));
    };
    if let Value::Table(section) = slot {
        let keys: Vec<&str> = section.keys().map(String::as_str).collect();
        let keys = keys.join(", ");
        return Err(Error::request(format!("{key:?} is a section, not a value; its keys are {keys}")));
    }
    *slot = parse_as(slot, value)
        .ok_or_else(|| Error::request(format!("{key} takes {}, not {value:?}", type_name(slot))))?;
    Ok(())
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

/// Parses a text as a value of the type of the default. A whole number is accepted for a fraction.
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

/// Returns all keys that hold a value, in full.
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

/// Returns the known key that is most similar to the given one, by spelling or else by its last word.
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
            "\"model.layers\" is not an override; write key=value, for example epochs=3"
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

    #[test]
    fn a_synonym_is_suggested_if_it_is_a_key() {
        let message = |text: &str, synonym: &str| {
            let mut table = Table::try_from(defaults()).unwrap();
            apply(&mut table, &[text], |_| vec![synonym.to_owned()]).unwrap_err().to_string()
        };
        assert_eq!(
            message("depth=2", "model.layers"),
            "there is no key \"depth\"; did you mean \"model.layers\"?"
        );
        assert_eq!(
            message("depth=2", "model.depth"),
            "there is no key \"depth\"; `knockout config show` lists the keys"
        );
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,30}") {
            resolve(&defaults(), &[text]).ok();
        }

        #[test]
        fn near_misses_find_their_key(index in 0..12_usize) {
            let mut key = "model.dropout".to_owned();
            key.remove(index);
            prop_assert_eq!(nearest(&key, &leaves(&Table::try_from(defaults()).unwrap())), Some("model.dropout".to_owned()));
        }
    }
}
