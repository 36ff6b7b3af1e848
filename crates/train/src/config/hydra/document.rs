//! A YAML file as a tree of values with their files and lines. The file may be hostile: size, nesting and aliases are bounded.

use knockout_base::error::{Class, Error, Result, class_of_path};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy};
use serde_saphyr::{Spanned, alias_limits, budget, options};
use std::collections::BTreeMap;
use std::fmt;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

/// Bytes of a configuration file at most; the largest of the Python system has eight thousand.
const MOST_BYTES: u64 = 1 << 20;
/// Nesting of sections at most.
const MOST_DEPTH: usize = 24;
/// Values of a file at most, aliases replaced by what they stand for.
const MOST_NODES: usize = 20_000;

/// A value with its file and line.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) value: Value,
}

/// File and line of a value.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) file: Arc<Path>,
    pub(super) line: u64,
}

#[derive(Debug, Clone)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Integer(i64),
    Number(f64),
    Text(String),
    List(Vec<Node>),
    Section(Section),
}

/// The keys of a section.
pub(super) type Section = BTreeMap<String, Node>;

impl Place {
    /// Refuses the value at this line.
    pub(super) fn refuse(&self, why: impl Into<String>) -> Error {
        Error::request(why).in_file(&self.file).on_line(self.line)
    }
}

impl Node {
    /// Returns a value as it would be typed; sections and lists have no such form.
    pub(super) fn text(&self) -> Option<String> {
        match &self.value {
            Value::Null => Some("null".to_owned()),
            Value::Bool(value) => Some(value.to_string()),
            Value::Integer(value) => Some(value.to_string()),
            Value::Number(value) => Some(toml::Value::Float(*value).to_string()),
            Value::Text(value) => Some(value.clone()),
            Value::List(_) | Value::Section(_) => None,
        }
    }

    /// Returns a value for messages.
    pub(super) fn shown(&self) -> String {
        match &self.value {
            Value::List(list) => {
                let entries: Vec<String> = list.iter().map(Self::shown).collect();
                format!("[{}]", entries.join(", "))
            }
            Value::Section(_) => "a section".to_owned(),
            _ => self.text().unwrap_or_default(),
        }
    }

    pub(super) fn number(&self) -> Option<f64> {
        match self.value {
            Value::Integer(value) => Some(value as f64),
            Value::Number(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the value of a dotted key.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        key.split('.').try_fold(self, |node, part| match &node.value {
            Value::Section(section) => section.get(part),
            Value::List(list) => list.get(part.parse::<usize>().ok()?),
            _ => None,
        })
    }
}

/// Reads a file.
pub(super) fn read(path: &Path) -> Result<(String, Node)> {
    let read = || -> std::io::Result<String> {
        let mut text = String::new();
        std::fs::File::open(path)?.take(MOST_BYTES + 1).read_to_string(&mut text)?;
        Ok(text)
    };
    let text = read().map_err(|error| {
        Error::new(class_of_path(error.kind()), "could not read the configuration")
            .in_file(path)
            .caused_by(error)
    })?;
    if text.len() as u64 > MOST_BYTES {
        return Err(Error::request(format!("a configuration has at most {MOST_BYTES} bytes")).in_file(path));
    }
    let node = parse(&text, path)?;
    Ok((text, node))
}

fn parse(text: &str, path: &Path) -> Result<Node> {
    let settings = options! {
        budget: budget! {
            max_depth: MOST_DEPTH,
            max_nodes: MOST_NODES,
            max_events: 4 * MOST_NODES,
            max_aliases: 1000,
            max_anchors: 1000,
        },
        alias_limits: alias_limits! { max_total_replayed_events: MOST_NODES },
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Merge,
        with_snippet: false,
    };
    let file: Arc<Path> = path.into();
    match serde_saphyr::from_str_with_options::<Option<Raw>>(text, settings) {
        Ok(Some(raw)) => Ok(raw.placed(&file, 0)),
        Ok(None) => Ok(Node { place: Place { file, line: 1 }, value: Value::Section(Section::new()) }),
        Err(error) => {
            let line = error.location().map(|location| location.line());
            let refused = Error::new(Class::Request, format!("this is not YAML that can be read: {error}"));
            let refused = refused.in_file(path);
            Err(match line {
                Some(line) => refused.on_line(line),
                None => refused,
            })
        }
    }
}

/// A value as it is parsed.
#[derive(Deserialize)]
struct Raw(Spanned<Content>);

enum Content {
    Plain(Value),
    List(Vec<Raw>),
    Section(Vec<(String, Raw)>),
}

impl Raw {
    /// Adds the file; a value without a line has that of its section.
    fn placed(self, file: &Arc<Path>, above: u64) -> Node {
        let line = self.0.referenced.line().max(above);
        let value = match self.0.value {
            Content::Plain(value) => value,
            Content::List(list) => Value::List(list.into_iter().map(|raw| raw.placed(file, line)).collect()),
            Content::Section(entries) => {
                Value::Section(entries.into_iter().map(|(key, raw)| (key, raw.placed(file, line))).collect())
            }
        };
        Node { place: Place { file: Arc::clone(file), line }, value }
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a value, a list or a section")
    }

    fn visit_unit<E>(self) -> Result<Content, E> {
        Ok(Content::Plain(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Content, E> {
        Ok(Content::Plain(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Content, E> {
        Ok(Content::Plain(Value::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Content, E> {
        Ok(Content::Plain(Value::Integer(value)))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Content, E> {
        let value = i64::try_from(value).ok().ok_or_else(|| E::custom("a number is too large"))?;
        Ok(Content::Plain(Value::Integer(value)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Content, E> {
        Ok(Content::Plain(Value::Number(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Content, E> {
        Ok(Content::Plain(Value::Text(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Content, A::Error> {
        let mut list = Vec::new();
        while let Some(entry) = entries.next_element()? {
            list.push(entry);
        }
        Ok(Content::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Content, A::Error> {
        let mut section: Vec<(String, Raw)> = Vec::new();
        while let Some((key, value)) = entries.next_entry::<String, Raw>()? {
            if key.contains('.') {
                return Err(A::Error::custom(format!("a key has no dot, but one is {key:?}")));
            }
            section.push((key, value));
        }
        Ok(Content::Section(section))
    }
}
