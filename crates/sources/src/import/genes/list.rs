//! A plain list: one gene name per line, the first cell where there are more; `#` starts a comment.

use super::ListedGene;
use crate::import::fault;
use crate::import::read::{Lines, shown};
use crate::import::source::Source;
use knockout_base::error::Error;
use knockout_data::cell::Gene;

/// Reads the names in their order; the order becomes the dataset's.
pub fn read(source: &Source<'_>) -> Result<Vec<ListedGene>, Error> {
    let mut lines = Lines::new(source.input()?, "a list of gene names")?;
    let mut genes = Vec::new();
    while let Some(line) = lines.next_text()? {
        let line = line.split('#').next().unwrap_or_default();
        let name = line.split(['\t', ',']).next().unwrap_or_default().trim().trim_matches('"');
        if name.is_empty() {
            continue;
        }
        if let Some(error) = name_fault(name.as_bytes()) {
            return Err(lines.error(error));
        }
        let gene = Gene { systematic: name.to_owned(), standard: None };
        genes.push(ListedGene { gene, aliases: Vec::new(), position: None });
    }
    if genes.is_empty() {
        return Err(source.fail(fault::empty("gene name")));
    }
    Ok(genes)
}

/// The most bytes of a gene name.
const MAX_NAME: usize = 40;

/// Whether a word can be a gene name.
pub(crate) fn is_name(word: &str) -> bool {
    fault_of(word).is_none()
}

/// Returns the error of a text that cannot be a gene name.
pub(crate) fn name_fault(word: &[u8]) -> Option<Error> {
    let found = match std::str::from_utf8(word) {
        Ok(text) => fault_of(text)?,
        Err(_) => "it is not UTF-8 text (Excel: save as CSV UTF-8)".to_owned(),
    };
    Some(fault::bad_value(shown(word), format!("a gene name: {found}")))
}

/// Returns the reason why a word cannot be a gene name.
fn fault_of(word: &str) -> Option<String> {
    if word.is_empty() {
        return Some("it is empty".to_owned());
    }
    if let Some(bad) = word.chars().find(|&c| !c.is_ascii_graphic() || c == '<' || c == '>') {
        return Some(match bad {
            ' ' => "it has a space; write one name in each cell".to_owned(),
            'Δ' | '∆' => {
                format!("it has {bad:?}, which marks a deletion; write the name of the gene alone")
            }
            _ => format!(
                "it has {bad:?}; names have letters, digits and signs of ASCII without spaces, \"<\" and \">\""
            ),
        });
    }
    (word.len() > MAX_NAME)
        .then(|| format!("it has {} characters, and at most {MAX_NAME} are allowed", word.len()))
}
