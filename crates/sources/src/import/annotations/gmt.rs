//! GMT, as `MSigDB`, Enrichr and g:Profiler give gene sets: TAB, no header, a line per term with its description and its genes.

use super::AnnotationFile;
use crate::import::fault;
use crate::import::names::Names;
use crate::import::read::{Quotes, Separator, Style, TextTable};
use crate::import::source::Source;
use knockout_base::error::Error;
use std::collections::HashSet;

const STYLE: Style =
    Style { format: "gene sets as GMT", separator: Some(Separator::Tab), quotes: Quotes::Plain };
/// Term, description, and a gene at least.
const LEAST: usize = 3;

/// Reads every gene of every line; each counts as a row.
pub fn read(source: &Source<'_>, names: &Names) -> Result<AnnotationFile, Error> {
    let mut file = AnnotationFile::default();
    let mut seen = HashSet::new();
    let mut table = TextTable::unchecked(source.input()?, STYLE)?;
    while let Some(row) = table.next_row()? {
        if row.width() < LEAST {
            let hint = " or more: a term, its description and its genes, with TABs between them";
            let kind = fault::cell_count(row.width(), LEAST, hint);
            return Err(row.fail(None, kind));
        }
        let term = row.text(0)?;
        if term.is_empty() || !seen.insert(term.to_owned()) {
            return Err(row.bad(0, "a term that has no line above"));
        }
        // A line may end with TABs.
        for name in (2..row.width()).map(|cell| row.bytes(cell)).filter(|name| !name.is_empty()) {
            file.tally.rows += 1;
            if let Some(gene) = file.tally.gene(names, name, row.line()) {
                file.put(gene, term).map_err(|kind| row.fail(None, kind))?;
            }
        }
    }
    Ok(file)
}
