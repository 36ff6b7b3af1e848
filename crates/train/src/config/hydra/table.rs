//! The table of keys, and a configuration translated by it.

use super::Translated;
use super::compose::Composed;
use super::document::{Node, Section, Value};
use knockout_base::error::{Error, Result};
use knockout_models::string_lambda;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

const ROWS: &str = include_str!("keys.toml");

/// The table of keys.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    model: Vec<ModelMark>,
    pub(super) row: Vec<Row>,
}

/// A key that identifies a model.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelMark {
    name: String,
    key: String,
    /// The value, if the key alone does not identify it.
    #[serde(default)]
    is: Option<String>,
}

/// The translation of a key. The first row that fits a key counts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    /// The key; `a.*` is everything in the section `a`.
    pub(super) key: String,
    /// The models that have it; empty: all.
    #[serde(default)]
    models: Vec<String>,
    /// Values that other keys must have.
    #[serde(default)]
    when: Vec<Condition>,
    /// Our key.
    #[serde(default)]
    pub(super) to: Option<String>,
    /// Keys whose numbers multiply it.
    #[serde(default)]
    times: Vec<String>,
    /// The key whose value is taken instead of its own.
    #[serde(default)]
    value_of: Option<String>,
    /// The key whose value is taken where this one is null.
    #[serde(default)]
    null: Option<String>,
    /// Our words for its words; a word that is missing is refused.
    #[serde(default)]
    values: BTreeMap<String, String>,
    #[serde(default)]
    form: Form,
    /// Values that it may have.
    #[serde(default)]
    only: Vec<String>,
    /// The key whose value it must have.
    #[serde(default)]
    equals: Option<String>,
    /// Why other values are refused.
    #[serde(default)]
    why: Option<String>,
    /// Why it has no meaning here.
    #[serde(default)]
    pub(super) unused: Option<String>,
    /// The difference from the Python system.
    #[serde(default)]
    differs: Option<String>,
    /// Values for which nothing is different.
    #[serde(default)]
    same: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Condition {
    key: String,
    #[serde(default)]
    is: Vec<String>,
    #[serde(default)]
    not: Vec<String>,
}

/// Form of a value that is more than one number or word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Form {
    #[default]
    Plain,
    /// A whole number, also where it is written `2.5e4`.
    Whole,
    /// A list of networks.
    Networks,
    /// A list of networks with the λ of each.
    WeightedNetworks,
    /// Numbers by epoch.
    ByEpoch,
    /// The networks that heads of attention are pulled towards, by head.
    Heads,
}

impl Table {
    /// The table that ships with the program.
    pub(super) fn shipped() -> Self {
        toml::from_str(ROWS).expect("the table of keys is well formed")
    }

    pub(super) fn translate(
        &self,
        composed: &Composed,
        path: &Path,
        model: Option<&str>,
    ) -> Result<Translated> {
        let own = self.model_of(&composed.root, path)?;
        let model = own.or(model).ok_or_else(|| {
            let names: Vec<String> = self.model.iter().map(|mark| format!("--model {}", mark.name)).collect();
            let message = format!("its keys do not name the model; add {}", names.join(" or "));
            Error::request(message).in_file(path)
        })?;
        let mut out = Translation {
            table: self,
            composed,
            model,
            keys: Vec::new(),
            unused: Vec::new(),
            differs: Vec::new(),
            unknown: Vec::new(),
        };
        let Value::Section(section) = &composed.root.value else {
            unreachable!("a composed file is a section")
        };
        out.section("", section)?;
        out.finish(own)
    }

    fn model_of(&self, root: &Node, path: &Path) -> Result<Option<&str>> {
        let fits = |mark: &&ModelMark| {
            root.get(&mark.key).is_some_and(|node| mark.is.is_none() || node.text() == mark.is)
        };
        let mut found: Vec<&str> = self.model.iter().filter(fits).map(|mark| &mark.name[..]).collect();
        found.dedup();
        match found[..] {
            [] => Ok(None),
            [one] => Ok(Some(one)),
            _ => Err(Error::request(format!("its keys are those of several models: {}", found.join(", ")))
                .in_file(path)),
        }
    }
}

struct Translation<'a> {
    table: &'a Table,
    composed: &'a Composed,
    model: &'a str,
    keys: Vec<String>,
    unused: Vec<(String, String)>,
    differs: Vec<(String, String)>,
    unknown: Vec<(String, &'a Node)>,
}

impl<'a> Translation<'a> {
    fn section(&mut self, prefix: &str, section: &'a Section) -> Result<()> {
        for (name, node) in section {
            let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
            match (self.row(&key), &node.value) {
                (Some(row), _) => self.add(&key, node, row)?,
                (None, Value::Section(inner)) => self.section(&key, inner)?,
                (None, _) if self.is_read_by_others(&key) => {}
                (None, _) => self.unknown.push((key, node)),
            }
        }
        Ok(())
    }

    fn row(&self, key: &str) -> Option<&'a Row> {
        self.table.row.iter().find(|row| {
            let names = match row.key.strip_suffix(".*") {
                Some(section) => {
                    key == section || key.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'))
                }
                None => row.key == key,
            };
            let has_model = row.models.is_empty() || row.models.iter().any(|model| model == self.model);
            names && has_model && row.when.iter().all(|condition| self.holds(condition))
        })
    }

    /// The value of a key as it would be typed; a key that is not there has none.
    fn typed(&self, key: &str) -> String {
        self.composed.root.get(key).and_then(Node::text).unwrap_or_default()
    }

    fn holds(&self, condition: &Condition) -> bool {
        let value = self.typed(&condition.key);
        (condition.is.is_empty() || condition.is.contains(&value)) && !condition.not.contains(&value)
    }

    fn is_read_by_others(&self, key: &str) -> bool {
        self.composed.read_by_others.iter().any(|read| {
            read == key || key.strip_prefix(read.as_str()).is_some_and(|rest| rest.starts_with('.'))
        })
    }

    fn add(&mut self, key: &str, node: &'a Node, row: &Row) -> Result<()> {
        let why = row.why.as_deref().unwrap_or("it has no such value here");
        let refuse = || node.place.refuse(format!("{key} is {}: {why}", node.shown()));
        let text = node.text().unwrap_or_else(|| node.shown());
        if !row.only.is_empty() && !row.only.contains(&text) {
            return Err(refuse());
        }
        if let Some(other) = &row.equals
            && self.typed(other) != text
        {
            return Err(node
                .place
                .refuse(format!("{key} is {text}, but {other} is {}: {why}", self.typed(other))));
        }
        if let Some(reason) = &row.unused {
            self.unused.push((key.to_owned(), reason.clone()));
        }
        if let Some(difference) = &row.differs
            && !row.same.contains(&text)
        {
            self.differs.push((key.to_owned(), difference.clone()));
        }
        if let Some(to) = &row.to
            && let Some(value) = self.value(key, node, row)?
        {
            self.keys.push(format!("{to}={value}"));
        }
        Ok(())
    }

    /// The value of our key; `None` leaves our default.
    fn value(&self, key: &str, node: &Node, row: &Row) -> Result<Option<String>> {
        let why = row.why.as_deref().unwrap_or("it has no such value here");
        let refuse = || node.place.refuse(format!("{key} is {}: {why}", node.shown()));
        let other = match (&row.value_of, &row.null, &node.value) {
            (Some(other), ..) | (None, Some(other), Value::Null) => Some(other),
            _ => None,
        };
        let node = match other {
            None => node,
            Some(other) => self.composed.root.get(other).ok_or_else(|| {
                node.place
                    .refuse(format!("{key} takes the value of {other}, which is not in this configuration"))
            })?,
        };
        if !row.values.is_empty() {
            let word = node.text().and_then(|text| row.values.get(&text));
            return word.map(|word| Some(word.clone())).ok_or_else(refuse);
        }
        if !row.times.is_empty() || row.form == Form::Whole {
            let mut product = node.number().ok_or_else(refuse)?;
            for other in &row.times {
                // A key that is left out is 1, as it is for the trainer.
                let Some(other_node) = self.composed.root.get(other) else { continue };
                let number = other_node.number().filter(|number| *number >= 1.0).ok_or_else(|| {
                    let shown = other_node.shown();
                    other_node
                        .place
                        .refuse(format!("{other} is {shown}: {key} is multiplied with it, so write a number"))
                })?;
                product *= number;
            }
            let is_whole = product.fract() == 0.0 && (0.0..9e15).contains(&product);
            return if is_whole { Ok(Some(format!("{product}"))) } else { Err(refuse()) };
        }
        match (row.form, &node.value) {
            (Form::Networks, Value::List(list)) => Ok(Some(format!("{:?}", names(list).ok_or_else(refuse)?))),
            (Form::WeightedNetworks, Value::List(list)) => {
                let names = names(list).ok_or_else(refuse)?;
                let lambda = |name: &str| string_lambda(name).unwrap_or(1.0);
                let entries: Vec<String> =
                    names.iter().map(|name| format!("{{name={name:?},lambda={:?}}}", lambda(name))).collect();
                Ok(Some(format!("[{}]", entries.join(","))))
            }
            (Form::ByEpoch, Value::Null) => Ok(None),
            (Form::ByEpoch, Value::Section(section)) => {
                let mut entries = Vec::new();
                for (epoch, batches) in section {
                    let epoch: u32 = epoch.parse().ok().ok_or_else(refuse)?;
                    let Value::Integer(batches) = batches.value else { return Err(refuse()) };
                    entries.push((epoch, batches));
                }
                entries.sort_unstable();
                let entries: Vec<String> =
                    entries.into_iter().map(|(epoch, batches)| format!("{epoch}:{batches}")).collect();
                Ok(Some(format!("{entries:?}")))
            }
            (Form::Heads, Value::Section(section)) => heads(section).map(|names| Some(format!("{names:?}"))),
            (Form::Plain, Value::Null | Value::List(_) | Value::Section(_)) => Err(refuse()),
            (Form::Plain, _) => Ok(node.text()),
            _ => Err(refuse()),
        }
    }

    fn finish(self, own: Option<&str>) -> Result<Translated> {
        let Some((first, node)) = self.unknown.iter().min_by_key(|(_, node)| node.place.line) else {
            let (keys, unused, differs) = (self.keys, self.unused, self.differs);
            return Ok(Translated { model: own.map(str::to_owned), keys, unused, differs });
        };
        let others: Vec<&str> =
            self.unknown.iter().map(|(key, _)| &key[..]).filter(|key| key != first).collect();
        let others = match &others[..] {
            [] => String::new(),
            some => format!(" (so are {})", some.join(", ")),
        };
        Err(node.place.refuse(format!(
            "{first} is unknown{others}, and might change the result; take it out, and set what it does with one of our keys (`knockout config \
             show --model {} --data DIR` lists them)",
            self.model
        )))
    }
}

fn names(list: &[Node]) -> Option<Vec<&str>> {
    list.iter()
        .map(|node| match &node.value {
            Value::Text(name) => Some(&name[..]),
            _ => None,
        })
        .collect()
}

/// Networks in the order of their heads: one head of one layer each, from 0.
fn heads(section: &Section) -> Result<Vec<&str>> {
    let mut found: Vec<(i64, &str)> = Vec::new();
    let mut first_layer = None;
    for (name, node) in section {
        let number = |key: &str| match node.get(key).map(|node| &node.value) {
            Some(Value::Integer(number)) => Some(*number),
            _ => None,
        };
        let (Some(layer), Some(head)) = (number("layer"), number("head")) else {
            return Err(node.place.refuse(format!("{name} needs one layer and one head, each a number")));
        };
        if *first_layer.get_or_insert(layer) != layer {
            return Err(node
                .place
                .refuse("networks of several layers are not supported: here all heads are of one layer"));
        }
        found.push((head, name));
    }
    found.sort_unstable();
    match found.iter().enumerate().find(|(index, (head, _))| *index as i64 != *head) {
        None => Ok(found.into_iter().map(|(_, name)| name).collect()),
        Some((index, (_, name))) => {
            let node = &section[*name];
            Err(node.place.refuse(format!(
                "heads are taken from 0 on without a gap, but {name} is not at head {index}"
            )))
        }
    }
}
