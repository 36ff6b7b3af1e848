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
        if !is_name(name) {
            let value = shown(name.as_bytes());
            return Err(lines
                .error(fault::bad_value(value, "a gene name: no spaces, at most 40 characters".to_owned())));
        }
        let gene = Gene { systematic: name.to_owned(), standard: None };
        genes.push(ListedGene { gene, aliases: Vec::new(), position: None });
    }
    if genes.is_empty() {
        return Err(source.fail(fault::empty("gene name")));
    }
    Ok(genes)
}

/// Whether a word can be a gene name.
pub(crate) fn is_name(word: &str) -> bool {
    !word.is_empty() && word.len() <= 40 && word.chars().all(|c| c.is_ascii_graphic() && c != '<' && c != '>')
}
