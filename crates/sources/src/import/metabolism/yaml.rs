//! yeast-GEM's YAML, as RAVEN and cobrapy write it: sections of items, each an `!!omap`, that is a list of single-key maps.

use super::{MetabolicModel, MetabolismFile, ModelReaction};
use crate::import::fault;
use crate::import::names::Names;
use crate::import::read::shown;
use crate::import::source::Source;
use knockout_base::error::Error;
use knockout_data::cell::{Metabolite, Rule};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;
use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;

/// Reads a model.
pub fn read(source: &Source<'_>, names: &Names, gene_count: usize) -> Result<MetabolismFile, Error> {
    let Omap(document) = source.yaml::<Omap<Document>>("a yeast-GEM YAML file")?;
    let Some(reactions) = document.reactions else {
        return Err(source.fail(fault::something_else(
            "not yeast-GEM YAML: it has no \"- reactions:\"".to_owned(),
            "the sections metabolites and reactions".to_owned(),
        )));
    };
    let mut model = MetabolicModel::default();
    for Spanned { value: Omap(item), referenced, .. } in document.metabolites.unwrap_or_default() {
        let metabolite = item.into_metabolite();
        model.metabolites.push(metabolite.map_err(|error| source.fail(error.on_line(referenced.line())))?);
    }
    for Spanned { value: Omap(item), referenced, .. } in reactions {
        let reaction = item.into_reaction(referenced.line());
        model.reactions.push(reaction.map_err(|error| source.fail(error.on_line(referenced.line())))?);
    }
    model.build(source, names, gene_count)
}

/// Keys and values that are written as an `!!omap` or as a map.
#[derive(Default)]
struct Omap<T>(T);

/// The target of the entries of an [`Omap`].
trait Entries: Default {
    /// Reads the value of a key.
    fn read<'de, A: MapAccess<'de>>(&mut self, key: String, entries: &mut A) -> Result<(), A::Error>;
}

impl<'de, T: Entries> Deserialize<'de> for Omap<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OmapVisitor(PhantomData))
    }
}

struct OmapVisitor<T>(PhantomData<T>);

impl<'de, T: Entries> Visitor<'de> for OmapVisitor<T> {
    type Value = Omap<T>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a list of entries of the form \"key: value\"")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Omap<T>, A::Error> {
        let mut target = T::default();
        while list.next_element_seed(EntrySeed(&mut target))?.is_some() {}
        Ok(Omap(target))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Omap<T>, A::Error> {
        let mut target = T::default();
        EntrySeed(&mut target).visit_map(map)?;
        Ok(Omap(target))
    }

    fn visit_unit<E>(self) -> Result<Omap<T>, E> {
        Ok(Omap(T::default()))
    }
}

/// Reads the entries of one map into a target.
struct EntrySeed<'t, T>(&'t mut T);

impl<'de, T: Entries> serde::de::DeserializeSeed<'de> for EntrySeed<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, T: Entries> Visitor<'de> for EntrySeed<'_, T> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an entry of the form \"key: value\"")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            self.0.read(key, &mut map)?;
        }
        Ok(())
    }
}

/// Reads the value of a key that may occur once.
fn once<'de, A: MapAccess<'de>, T: Deserialize<'de>>(
    slot: &mut Option<T>,
    key: &'static str,
    entries: &mut A,
) -> Result<(), A::Error> {
    if slot.is_some() {
        return Err(A::Error::duplicate_field(key));
    }
    *slot = entries.next_value()?;
    Ok(())
}

#[derive(Default)]
struct Document {
    metabolites: Option<Vec<Spanned<Omap<Item>>>>,
    reactions: Option<Vec<Spanned<Omap<Item>>>>,
}

impl Entries for Document {
    fn read<'de, A: MapAccess<'de>>(&mut self, key: String, entries: &mut A) -> Result<(), A::Error> {
        match key.as_str() {
            "metabolites" => once(&mut self.metabolites, "metabolites", entries),
            "reactions" => once(&mut self.reactions, "reactions", entries),
            _ => entries.next_value::<IgnoredAny>().map(drop),
        }
    }
}

/// The fields of a metabolite or a reaction that are used.
#[derive(Default)]
struct Item {
    id: Option<String>,
    name: Option<String>,
    compartment: Option<String>,
    lower_bound: Option<f64>,
    rule: Option<Spanned<String>>,
    subsystem: Option<OneOrMany>,
    metabolites: Option<Omap<Coefficients>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl Entries for Item {
    fn read<'de, A: MapAccess<'de>>(&mut self, key: String, entries: &mut A) -> Result<(), A::Error> {
        match key.as_str() {
            "id" => once(&mut self.id, "id", entries),
            "name" => once(&mut self.name, "name", entries),
            "compartment" => once(&mut self.compartment, "compartment", entries),
            "lower_bound" => once(&mut self.lower_bound, "lower_bound", entries),
            "gene_reaction_rule" => once(&mut self.rule, "gene_reaction_rule", entries),
            "subsystem" => once(&mut self.subsystem, "subsystem", entries),
            "metabolites" => once(&mut self.metabolites, "metabolites", entries),
            _ => entries.next_value::<IgnoredAny>().map(drop),
        }
    }
}

impl Item {
    fn take_id(&mut self) -> Result<String, Error> {
        self.id.take().filter(|id| !id.is_empty()).ok_or_else(|| bad("", "an item with an id"))
    }

    fn into_metabolite(mut self) -> Result<Metabolite, Error> {
        Ok(Metabolite {
            id: self.take_id()?,
            name: self.name.unwrap_or_default(),
            compartment: self.compartment.unwrap_or_default(),
        })
    }

    fn into_reaction(mut self, line: u64) -> Result<ModelReaction, Error> {
        let id = self.take_id()?;
        let lower_bound = self.lower_bound.filter(|bound| bound.is_finite());
        let lower_bound = lower_bound.ok_or_else(|| bad(&id, "a reaction with a finite lower bound"))?;
        let rule = match &self.rule {
            Some(Spanned { value, referenced, .. }) => Rule::parse(value)
                .map_err(|source| fault::rule(shown(value.as_bytes()), source).on_line(referenced.line()))?,
            None => None,
        };
        // Several subsystems: the first is the one the reference takes.
        let subsystem = match self.subsystem {
            Some(OneOrMany::One(name)) => Some(name),
            Some(OneOrMany::Many(names)) => names.into_iter().next(),
            None => None,
        };
        let Omap(Coefficients(stoichiometry)) = self.metabolites.unwrap_or_default();
        let mut known = HashSet::new();
        for (metabolite, coefficient) in &stoichiometry {
            if *coefficient == 0.0 || !coefficient.is_finite() || !known.insert(metabolite) {
                let expected = "a metabolite once, with a finite coefficient other than 0";
                return Err(bad(&format!("{metabolite}: {coefficient}"), expected));
            }
        }
        Ok(ModelReaction {
            id,
            subsystem: subsystem.unwrap_or_default(),
            rule,
            is_reversible: lower_bound < 0.0,
            stoichiometry,
            line,
        })
    }
}

/// Metabolites by id with their coefficients.
#[derive(Default)]
struct Coefficients(Vec<(String, f64)>);

impl Entries for Coefficients {
    fn read<'de, A: MapAccess<'de>>(&mut self, key: String, entries: &mut A) -> Result<(), A::Error> {
        self.0.push((key, entries.next_value()?));
        Ok(())
    }
}

fn bad(value: &str, expected: &str) -> Error {
    fault::bad_value(shown(value.as_bytes()), expected.to_owned())
}
