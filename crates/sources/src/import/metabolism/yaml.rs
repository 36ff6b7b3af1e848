//! yeast-GEM's YAML: a list of sections, each a list of `!!omap` items, each a list of single-key maps.
//!
//! This is the subset that RAVEN and cobrapy write, read line by line; anything else in a field that matters is an
//! error, never a guess.

use super::{MetabolicModel, MetabolismFile, ModelReaction};
use crate::import::fault;
use crate::import::names::Names;
use crate::import::read::{Lines, shown};
use crate::import::source::Source;
use knockout_base::error::Error;
use knockout_data::cell::{Metabolite, Rule};
use std::collections::HashSet;

/// Reads a model.
pub fn read(source: &Source<'_>, names: &Names, gene_count: usize) -> Result<MetabolismFile, Error> {
    parse(source)?.build(source, names, gene_count)
}

fn parse(source: &Source<'_>) -> Result<MetabolicModel, Error> {
    let mut lines = Lines::new(source.input()?, "a yeast-GEM YAML file")?;
    let mut parser = YamlParser::default();
    while let Some(line) = lines.next_text()? {
        let line = line.trim_end();
        let step = parser.line(line);
        if let Err(kind) = step {
            return Err(lines.error(kind));
        }
        parser.number += 1;
    }
    parser.end_item().map_err(|kind| lines.error(kind))?;
    if !parser.has_section {
        return Err(source.fail(fault::something_else(
            "no yeast-GEM YAML: no \"- reactions:\" stands in it".to_owned(),
            "the sections metabolites and reactions".to_owned(),
        )));
    }
    Ok(parser.model)
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum YamlSection {
    Metabolites,
    Reactions,
    #[default]
    Other,
}

/// An item's keys with their values: one scalar, or a list of them, or a list of single-key maps.
#[derive(Debug, Default)]
struct Item {
    line: u64,
    fields: Vec<ItemField>,
}

#[derive(Debug)]
struct ItemField {
    key: String,
    scalar: Option<String>,
    /// Nested entries at the first depth; a map's key, empty for a plain entry.
    nested: Vec<(String, String)>,
}

#[derive(Debug, Default)]
struct YamlParser {
    model: MetabolicModel,
    section: YamlSection,
    has_section: bool,
    number: u64,
    item: Option<Item>,
    item_indent: usize,
    key_indent: Option<usize>,
    nested_indent: Option<usize>,
}

impl YamlParser {
    fn line(&mut self, line: &str) -> Result<(), Error> {
        let content = line.trim_start_matches(' ');
        if content.is_empty()
            || content.starts_with('#')
            || matches!(line, "---" | "!!omap" | "--- !!omap" | "...")
        {
            return Ok(());
        }
        if content.starts_with('\t') {
            return Err(bad(line, "indented with spaces"));
        }
        let indent = line.len() - content.len();
        let entry = content.strip_prefix("- ").map(str::trim_start);
        if indent == 0 {
            let key = entry.and_then(|entry| entry.strip_suffix(':'));
            if let Some(key) = key {
                self.end_item()?;
                self.item_indent = 0;
                self.section = match key {
                    "metabolites" => YamlSection::Metabolites,
                    "reactions" => YamlSection::Reactions,
                    _ => YamlSection::Other,
                };
                self.has_section |= self.section == YamlSection::Reactions;
                return Ok(());
            }
            if entry.is_none_or(|entry| entry != "!!omap" && split_key(entry).is_none()) {
                return Err(bad(line, "a section of a yeast-GEM YAML file, such as \"- reactions:\""));
            }
            if self.item_indent == 0 && entry != Some("!!omap") && self.item.is_none() {
                // A scalar section such as `- id: yeastGEM`.
                self.section = YamlSection::Other;
                return Ok(());
            }
        }
        if self.section == YamlSection::Other {
            return Ok(());
        }
        match entry {
            Some("!!omap") if self.item.is_none() || indent == self.item_indent => self.start_item(indent),
            _ if self.item.is_none() => Err(bad(line, "an item that starts with \"- !!omap\"")),
            Some(entry) if indent == *self.key_indent.get_or_insert(indent) => self.key(entry),
            Some(entry) if self.key_indent.is_some_and(|key| indent > key) => self.nested(indent, entry),
            None if self.key_indent.is_some_and(|key| indent > key) => self.continuation(content),
            _ => Err(bad(line, "indented like the lines above it")),
        }
    }

    fn start_item(&mut self, indent: usize) -> Result<(), Error> {
        self.end_item()?;
        self.item_indent = indent;
        self.item = Some(Item { line: self.number + 1, fields: Vec::new() });
        Ok(())
    }

    fn key(&mut self, entry: &str) -> Result<(), Error> {
        let (key, value) = split_key(entry).ok_or_else(|| bad(entry, "of the form \"key: value\""))?;
        self.nested_indent = None;
        let scalar = if value.is_empty() || value == "!!omap" { None } else { Some(scalar(value)?) };
        if let Some(item) = &mut self.item {
            item.fields.push(ItemField { key: key.to_owned(), scalar, nested: Vec::new() });
        }
        Ok(())
    }

    fn nested(&mut self, indent: usize, entry: &str) -> Result<(), Error> {
        let field = self.item.as_mut().and_then(|item| item.fields.last_mut());
        let Some(field) = field else { return Err(bad(entry, "below a key")) };
        // Deeper lists stand in annotations only, which are not read.
        if indent > *self.nested_indent.get_or_insert(indent) || field.key == "annotation" {
            return Ok(());
        }
        let (key, value) = match split_key(entry).filter(|_| !entry.starts_with(['"', '\''])) {
            Some((key, value)) => (key, value),
            None => ("", entry),
        };
        field.nested.push((key.to_owned(), scalar(value)?));
        Ok(())
    }

    fn continuation(&mut self, content: &str) -> Result<(), Error> {
        let field = self.item.as_mut().and_then(|item| item.fields.last_mut());
        match field.and_then(|field| field.scalar.as_mut()) {
            Some(value) => {
                value.push(' ');
                value.push_str(content);
                Ok(())
            }
            None => Err(bad(content, "of the form \"- key: value\"")),
        }
    }

    fn end_item(&mut self) -> Result<(), Error> {
        self.key_indent = None;
        self.nested_indent = None;
        let Some(item) = self.item.take() else { return Ok(()) };
        match self.section {
            YamlSection::Metabolites => self.model.metabolites.push(item.into_metabolite()?),
            YamlSection::Reactions => self.model.reactions.push(item.into_reaction()?),
            YamlSection::Other => {}
        }
        Ok(())
    }
}

impl Item {
    fn field(&self, key: &str) -> Result<Option<&ItemField>, Error> {
        let mut found = self.fields.iter().filter(|field| field.key == key);
        let first = found.next();
        if found.next().is_some() {
            return Err(bad(key, "a key that the item has once"));
        }
        Ok(first)
    }

    fn text(&self, key: &str) -> Result<&str, Error> {
        Ok(self.field(key)?.and_then(|field| field.scalar.as_deref()).unwrap_or_default())
    }

    fn id(&self) -> Result<String, Error> {
        match self.text("id")? {
            "" => Err(bad("", "an item with an id")),
            id => Ok(id.to_owned()),
        }
    }

    fn into_metabolite(self) -> Result<Metabolite, Error> {
        Ok(Metabolite {
            id: self.id()?,
            name: self.text("name")?.to_owned(),
            compartment: self.text("compartment")?.to_owned(),
        })
    }

    fn into_reaction(self) -> Result<ModelReaction, Error> {
        let lower = self.text("lower_bound")?;
        let lower_bound = number(lower, "a lower bound, a number")?;
        let rule = self.text("gene_reaction_rule")?;
        let subsystem = self.field("subsystem")?;
        // Several subsystems: the first is the one the reference takes.
        let subsystem = subsystem.and_then(|field| {
            field.scalar.as_deref().or_else(|| field.nested.first().map(|(_, value)| value.as_str()))
        });
        let mut stoichiometry = Vec::new();
        let mut known = HashSet::new();
        for (id, value) in self.field("metabolites")?.map_or(&[][..], |field| &field.nested) {
            if id.is_empty() {
                return Err(bad(value, "of the form \"metabolite: coefficient\""));
            }
            let coefficient = number(value, "a coefficient, a number other than 0")?;
            if coefficient == 0.0 || !known.insert(id) {
                return Err(bad(
                    &format!("{id}: {value}"),
                    "a metabolite once, with a coefficient other than 0",
                ));
            }
            stoichiometry.push((id.clone(), coefficient));
        }
        Ok(ModelReaction {
            id: self.id()?,
            subsystem: subsystem.unwrap_or_default().to_owned(),
            rule: Rule::parse(rule).map_err(|source| fault::rule(shown(rule.as_bytes()), source))?,
            is_reversible: lower_bound < 0.0,
            stoichiometry,
            line: self.line,
        })
    }
}

/// `key: value`, `key:`; the key has no space in it.
fn split_key(entry: &str) -> Option<(&str, &str)> {
    let (key, value) = entry.split_once(':')?;
    let is_key = !key.is_empty() && !key.contains([' ', '"', '\'']);
    let is_separate = value.is_empty() || value.starts_with(' ');
    (is_key && is_separate).then(|| (key, value.trim()))
}

fn scalar(value: &str) -> Result<String, Error> {
    let value = value.trim();
    let expected = "a plain or quoted value on one line";
    match value.chars().next() {
        Some('"') => double_quoted(value).ok_or_else(|| bad(value, expected)),
        Some('\'') => {
            let inner = value.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
            let inner = inner.filter(|inner| !inner.replace("''", "").contains('\''));
            inner.map(|inner| inner.replace("''", "'")).ok_or_else(|| bad(value, expected))
        }
        Some('[') if value == "[]" => Ok(String::new()),
        Some('{') if value == "{}" => Ok(String::new()),
        Some('|' | '>' | '&' | '*' | '{' | '[' | '!') => Err(bad(value, expected)),
        _ => Ok(value.to_owned()),
    }
}

fn double_quoted(value: &str) -> Option<String> {
    let mut letters = value.strip_prefix('"')?.chars();
    let mut text = String::new();
    loop {
        match letters.next()? {
            '"' => return letters.as_str().trim().is_empty().then_some(text),
            '\\' => text.push(match letters.next()? {
                'n' => '\n',
                't' => '\t',
                other => other,
            }),
            letter => text.push(letter),
        }
    }
}

fn number(text: &str, expected: &str) -> Result<f64, Error> {
    text.parse::<f64>().ok().filter(|value| value.is_finite()).ok_or_else(|| bad(text, expected))
}

fn bad(value: &str, expected: &str) -> Error {
    fault::bad_value(shown(value.as_bytes()), expected.to_owned())
}
