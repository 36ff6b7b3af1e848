//! A JSON object that has the list of its terms for every gene, as BIONIC's evaluation files do.

use super::AnnotationFile;
use crate::import::names::Names;
use crate::import::source::Source;
use knockout_base::error::Error;
use serde::de::{self, Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use std::collections::HashSet;
use std::fmt::{self, Formatter};

/// The entries of the object, in their order.
struct ListedTerms(Vec<(String, Vec<TermName>)>);

/// A term, which is not empty.
struct TermName(String);

/// Reads every gene; each counts as a row, and the position of an unknown name is the number of its entry.
pub fn read(source: &Source<'_>, names: &Names) -> Result<AnnotationFile, Error> {
    let ListedTerms(entries) = source.json("a JSON object of genes, each with a list of terms")?;
    let mut file = AnnotationFile::default();
    for (position, (gene, terms)) in (1..).zip(entries) {
        file.tally.rows += 1;
        if terms.is_empty() {
            file.tally.skip("no term");
            continue;
        }
        let Some(gene) = file.tally.gene(names, gene.trim().as_bytes(), position) else { continue };
        for TermName(term) in terms {
            file.put(gene, &term).map_err(|kind| source.fail(kind))?;
        }
    }
    Ok(file)
}

// Both are read by hand, so that what is wrong is refused where the reader stands, and its line is the right one.
impl<'de> Deserialize<'de> for ListedTerms {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TermEntries;

        impl<'de> Visitor<'de> for TermEntries {
            type Value = ListedTerms;

            fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
                f.write_str("an object such as {\"YAL001C\": [\"CPX-1\"]}")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ListedTerms, A::Error> {
                let mut entries = Vec::new();
                let mut seen = HashSet::new();
                while let Some(gene) = map.next_key::<String>()? {
                    // A map would silently keep the last of several entries.
                    if !seen.insert(gene.clone()) {
                        return Err(A::Error::custom(format_args!("gene {gene:?} has an entry above")));
                    }
                    entries.push((gene, map.next_value()?));
                }
                Ok(ListedTerms(entries))
            }
        }
        deserializer.deserialize_map(TermEntries)
    }
}

impl<'de> Deserialize<'de> for TermName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl Visitor<'_> for Text {
            type Value = TermName;

            fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
                f.write_str("a term, which is a string")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<TermName, E> {
                match text.trim() {
                    "" => Err(E::custom("a term is empty")),
                    term => Ok(TermName(term.to_owned())),
                }
            }
        }
        deserializer.deserialize_str(Text)
    }
}
