//! SBML level 3 with the fbc package (gene products, bounds) and the groups package (subsystems).

use super::{MetabolicModel, MetabolismFile, ModelReaction};
use crate::import::fault::{self, BoxedError};
use crate::import::names::{Meaning, Names};
use crate::import::read::shown;
use crate::import::source::Source;
use knockout_base::error::Error;
use knockout_data::cell::{Metabolite, Rule};
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead, Read};
use std::rc::Rc;

/// The deepest nesting of a rule.
const MAX_DEPTH: usize = 64;

/// The most bytes one tag or text may take: notes are the longest.
const MAX_EVENT: usize = 16 << 20;

/// Reads a model.
pub fn read(source: &Source<'_>, names: &Names, gene_count: usize) -> Result<MetabolismFile, Error> {
    let (path, stream) = source.input()?.expect_text("an SBML file")?;
    let progress = Rc::new(ReadPosition::default());
    let counted = LineCountingReader {
        inner: io::BufReader::with_capacity(1 << 16, stream),
        progress: progress.clone(),
    };
    let mut reader = Reader::from_reader(counted);
    let mut parser = SbmlParser::default();
    let mut buffer = Vec::new();
    loop {
        let line = progress.line.get() + 1;
        let at = |error: Error| error.in_file(&path).on_line(line);
        buffer.clear();
        progress.event.set(0);
        match reader.read_event_into(&mut buffer) {
            Ok(Event::Start(tag)) => parser.open(&tag, line).map_err(at)?,
            Ok(Event::Empty(tag)) => {
                parser.open(&tag, line).map_err(at)?;
                parser.close(tag.local_name().as_ref()).map_err(at)?;
            }
            Ok(Event::End(tag)) => parser.close(tag.local_name().as_ref()).map_err(at)?,
            Ok(Event::Eof) => break,
            Ok(_) => {}
            Err(quick_xml::Error::Io(error)) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(at(fault::compressed(error)));
            }
            Err(error) => return Err(at(xml(error))),
        }
    }
    if !parser.is_sbml {
        return Err(source.fail(fault::something_else(
            "not SBML: it has no <sbml> element".to_owned(),
            "an SBML file".to_owned(),
        )));
    }
    if parser.depth > 0 {
        return Err(xml("it ends before its elements do").in_file(&path).on_line(progress.line.get() + 1));
    }
    parser.finish(names).build(source, names, gene_count)
}

fn xml(error: impl Into<BoxedError>) -> Error {
    fault::decode("the XML", error)
}

#[derive(Debug, Default)]
struct ReadPosition {
    line: Cell<u64>,
    event: Cell<usize>,
}

/// Counts lines, and stops a single tag or text from filling the memory.
struct LineCountingReader<R> {
    inner: R,
    progress: Rc<ReadPosition>,
}

impl<R: BufRead> Read for LineCountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for LineCountingReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.progress.event.get() > MAX_EVENT {
            return Err(io::Error::other(format!("a tag or text is longer than {MAX_EVENT} bytes")));
        }
        self.inner.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        if let Ok(bytes) = self.inner.fill_buf() {
            let lines = memchr::memchr_iter(b'\n', &bytes[..count.min(bytes.len())]).count();
            self.progress.line.set(self.progress.line.get() + lines as u64);
        }
        self.progress.event.set(self.progress.event.get() + count);
        self.inner.consume(count);
    }
}

#[derive(Debug, Default)]
struct SbmlParser {
    is_sbml: bool,
    depth: usize,
    model: MetabolicModel,
    parameters: HashMap<String, f64>,
    /// Candidates for the name of a gene product: label, name, id.
    products: HashMap<String, Vec<String>>,
    /// The lower bound of each reaction: a parameter's name.
    bounds: HashMap<String, String>,
    subsystems: BTreeMap<String, String>,
    group: Option<String>,
    reaction: Option<ModelReaction>,
    /// Where each species stands in the stoichiometry of the open reaction.
    species: HashMap<String, usize>,
    side: f64,
    /// Open `and`, `or` and association elements with their parts.
    rules: Vec<(Connective, Vec<Rule>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Connective {
    Association,
    And,
    Or,
}

impl SbmlParser {
    fn open(&mut self, tag: &BytesStart<'_>, line: u64) -> Result<(), Error> {
        self.depth += 1;
        let name = tag.local_name();
        match name.as_ref() {
            "sbml" => self.is_sbml = true,
            "species" => {
                let id = required(tag, "id")?;
                self.model.metabolites.push(Metabolite {
                    id: bare(&id, "M_"),
                    name: attribute(tag, "name")?.unwrap_or_default(),
                    compartment: attribute(tag, "compartment")?.unwrap_or_default(),
                });
            }
            "parameter" if self.reaction.is_none() => {
                if let Some(value) = attribute(tag, "value")? {
                    let value = value
                        .parse::<f64>()
                        .map_err(|_not_a_number| bad(&value, "a parameter's value, a number"))?;
                    self.parameters.insert(required(tag, "id")?, value);
                }
            }
            "reaction" => self.open_reaction(tag, line)?,
            "listOfReactants" => self.side = -1.0,
            "listOfProducts" => self.side = 1.0,
            "listOfModifiers" => self.side = 0.0,
            "speciesReference" => self.reference(tag)?,
            "geneProductAssociation" => self.rules = vec![(Connective::Association, Vec::new())],
            "and" | "or" if !self.rules.is_empty() => {
                if self.rules.len() > MAX_DEPTH {
                    return Err(bad("fbc:and", "a rule nested at most 64 deep"));
                }
                let connective = if name.as_ref() == "and" { Connective::And } else { Connective::Or };
                self.rules.push((connective, Vec::new()));
            }
            "geneProductRef" => {
                let gene = required(tag, "geneProduct")?;
                if let Some((_, parts)) = self.rules.last_mut() {
                    parts.push(Rule::Gene(gene));
                }
            }
            "geneProduct" => {
                let id = required(tag, "id")?;
                let words = [attribute(tag, "label")?, attribute(tag, "name")?, Some(id.clone())];
                let words = words.into_iter().flatten().map(|word| bare(&word, "G_")).collect();
                self.products.insert(id, words);
            }
            "group" => self.group = attribute(tag, "name")?.or(attribute(tag, "id")?),
            "member" => {
                if let (Some(group), Some(member)) = (&self.group, attribute(tag, "idRef")?) {
                    // The first group is the one the reference takes.
                    self.subsystems.entry(bare(&member, "R_")).or_insert_with(|| group.clone());
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn open_reaction(&mut self, tag: &BytesStart<'_>, line: u64) -> Result<(), Error> {
        if self.reaction.is_some() {
            return Err(bad("reaction", "outside another reaction"));
        }
        let id = bare(&required(tag, "id")?, "R_");
        if let Some(bound) = attribute(tag, "lowerFluxBound")? {
            self.bounds.insert(id.clone(), bound);
        }
        self.species.clear();
        self.reaction = Some(ModelReaction {
            id,
            subsystem: String::new(),
            rule: None,
            is_reversible: attribute(tag, "reversible")?.is_some_and(|word| word == "true" || word == "1"),
            stoichiometry: Vec::new(),
            line,
        });
        Ok(())
    }

    fn reference(&mut self, tag: &BytesStart<'_>) -> Result<(), Error> {
        let Some(reaction) = &mut self.reaction else { return Ok(()) };
        if self.side == 0.0 {
            return Ok(());
        }
        let id = bare(&required(tag, "species")?, "M_");
        let text = attribute(tag, "stoichiometry")?.unwrap_or_else(|| "1".to_owned());
        let value = text.parse::<f64>().ok().filter(|value| value.is_finite());
        let value = self.side * value.ok_or_else(|| bad(&text, "a stoichiometry, a finite number"))?;
        // A species on both sides counts with the difference.
        let index = *self.species.entry(id.clone()).or_insert(reaction.stoichiometry.len());
        match reaction.stoichiometry.get_mut(index) {
            Some((_, sum)) => *sum += value,
            None => reaction.stoichiometry.push((id, value)),
        }
        Ok(())
    }

    fn close(&mut self, name: &str) -> Result<(), Error> {
        self.depth = self.depth.saturating_sub(1);
        match name {
            "and" | "or" | "geneProductAssociation" => self.close_rule(),
            "group" => {
                self.group = None;
                Ok(())
            }
            "reaction" => {
                if let Some(mut reaction) = self.reaction.take() {
                    reaction.stoichiometry.retain(|(_, value)| *value != 0.0);
                    self.model.reactions.push(reaction);
                }
                self.rules.clear();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn close_rule(&mut self) -> Result<(), Error> {
        let Some((connective, mut parts)) = self.rules.pop() else { return Ok(()) };
        let rule = match (connective, parts.len()) {
            (_, 0) => return Err(bad("", "a rule that names a gene")),
            (_, 1) => parts.remove(0),
            (Connective::And, _) => Rule::And(parts),
            (Connective::Or, _) => Rule::Or(parts),
            (Connective::Association, _) => {
                return Err(bad("geneProductAssociation", "one rule per reaction"));
            }
        };
        match (connective, self.rules.last_mut(), &mut self.reaction) {
            (Connective::Association, _, Some(reaction)) => reaction.rule = Some(rule),
            (_, Some((_, parts)), _) => parts.push(rule),
            _ => {}
        }
        Ok(())
    }

    /// Replaces references to gene products, bounds and subsystems by their names and values.
    fn finish(self, names: &Names) -> MetabolicModel {
        let Self { mut model, parameters, products, bounds, subsystems, .. } = self;
        let gene = |id: &str| {
            let words = products.get(id).cloned().unwrap_or_else(|| vec![bare(id, "G_")]);
            let is_known = |word: &&String| matches!(names.find(word.as_bytes()), Meaning::Gene(_));
            words.iter().find(is_known).or(words.first()).cloned().unwrap_or_default()
        };
        for reaction in &mut model.reactions {
            if let Some(lower) = bounds.get(&reaction.id).and_then(|name| parameters.get(name)) {
                reaction.is_reversible = *lower < 0.0;
            }
            if let Some(subsystem) = subsystems.get(&reaction.id) {
                reaction.subsystem.clone_from(subsystem);
            }
            if let Some(rule) = &mut reaction.rule {
                rename(rule, &gene);
            }
        }
        model
    }
}

fn rename(rule: &mut Rule, gene: &impl Fn(&str) -> String) {
    match rule {
        Rule::Gene(name) => *name = gene(name),
        Rule::And(parts) | Rule::Or(parts) => parts.iter_mut().for_each(|part| rename(part, gene)),
    }
}

/// An id without the prefix that SBML writers add, and with their `__45__` turned back into `-`.
fn bare(id: &str, prefix: &str) -> String {
    let mut rest = id.strip_prefix(prefix).unwrap_or(id);
    let mut text = String::with_capacity(rest.len());
    while let Some((before, behind)) = rest.split_once("__") {
        let code = behind.split_once("__").and_then(|(code, rest)| {
            let letter = code.parse::<u8>().ok().filter(u8::is_ascii_graphic)?;
            Some((char::from(letter), rest))
        });
        text.push_str(before);
        if let Some((letter, behind)) = code {
            text.push(letter);
            rest = behind;
        } else {
            text.push_str("__");
            rest = behind;
        }
    }
    text.push_str(rest);
    text
}

fn required(tag: &BytesStart<'_>, name: &str) -> Result<String, Error> {
    attribute(tag, name)?
        .ok_or_else(|| bad(tag.name().as_ref(), &format!("an element with the attribute {name:?}")))
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Result<Option<String>, Error> {
    for attribute in tag.attributes() {
        let attribute = attribute.map_err(xml)?;
        if attribute.key.local_name().as_ref() == name {
            let value = attribute.normalized_value(quick_xml::XmlVersion::Implicit1_0);
            return Ok(Some(value.map_err(xml)?.into_owned()));
        }
    }
    Ok(None)
}

fn bad(value: &str, expected: &str) -> Error {
    fault::bad_value(shown(value.as_bytes()), expected.to_owned())
}
