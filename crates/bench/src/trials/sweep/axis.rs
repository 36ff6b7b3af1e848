//! `key=a,b,c`: a key and the values to try, and the grid of several.

use knockout_base::error::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// A key with the values to try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axis {
    /// The key of the configuration.
    pub key: String,
    /// The values as they are written.
    pub values: Vec<String>,
}

impl FromStr for Axis {
    type Err = Error;

    /// Values are separated by commas; those inside of brackets, braces or quotes belong to a value.
    fn from_str(text: &str) -> Result<Self> {
        let refuse = |why: &str| Error::request(format!("{text:?}: {why}"));
        let (key, values) =
            text.split_once('=').ok_or_else(|| refuse("write key=value, or key=a,b,c to try several"))?;
        let values = separated(values);
        if key.is_empty() || values.iter().any(String::is_empty) {
            return Err(refuse("the key or a value is empty; write key=a,b,c"));
        }
        for (place, value) in values.iter().enumerate() {
            if values[..place].contains(value) {
                return Err(refuse(&format!("the value {value} stands there twice")));
            }
        }
        Ok(Self { key: key.to_owned(), values })
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}={}", self.key, self.values.join(","))
    }
}

fn separated(text: &str) -> Vec<String> {
    let (mut parts, mut depth, mut is_quoted) = (vec![String::new()], 0_usize, false);
    for c in text.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            '[' | '{' if !is_quoted => depth += 1,
            ']' | '}' if !is_quoted => depth = depth.saturating_sub(1),
            ',' if !is_quoted && depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push(c);
        }
    }
    parts
}

/// Returns all combinations as `key=value` lists; the last axis changes fastest.
pub(super) fn grid(axes: &[Axis]) -> Vec<Vec<String>> {
    axes.iter().fold(vec![Vec::new()], |settings, axis| {
        let extended = |keys: &Vec<String>, value: &String| {
            keys.iter().cloned().chain([format!("{}={value}", axis.key)]).collect()
        };
        settings.iter().flat_map(|keys| axis.values.iter().map(move |value| extended(keys, value))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_has_every_combination() {
        let axes: Vec<Axis> = ["batch=32,64", "model.width=16", "optimiser.learning_rate=0.1,0.01"]
            .map(|text| text.parse().unwrap())
            .to_vec();
        let settings = grid(&axes);
        assert_eq!(settings.len(), 4);
        assert_eq!(settings[1], ["batch=32", "model.width=16", "optimiser.learning_rate=0.01"]);
        assert_eq!(settings[3][0], "batch=64");
        assert_eq!(grid(&[]), [Vec::<String>::new()], "without axes there is one setting: the defaults");
    }

    #[test]
    fn lists_are_values() {
        let axis: Axis = "model.networks=[\"a\",\"b\"],[\"c\"]".parse().unwrap();
        assert_eq!(axis.values, ["[\"a\",\"b\"]", "[\"c\"]"]);
    }

    #[test]
    fn errors_name_the_mistake() {
        for (text, why) in
            [("batch", "key=a,b,c"), ("batch=32,,64", "empty"), ("batch=3,3", "twice"), ("=3", "empty")]
        {
            let error = text.parse::<Axis>().unwrap_err().to_string();
            assert!(error.contains(text) && error.contains(why), "{error}");
        }
    }
}
