//! Any table with a column of genes and a column of terms, one of each in a row.

use super::AnnotationFile;
use crate::import::fault;
use crate::import::features::table::GENE;
use crate::import::names::Names;
use crate::import::read::{ColumnNames, Quotes, Separator, Style, is_missing};
use crate::import::source::Source;
use knockout_base::error::Error;

/// Names that the column of terms usually has.
const TERM: [&str; 5] = ["term", "annotation", "go_id", "complex", "pathway"];

/// Reads two columns of a table: text, a sheet or Parquet. A row without a term is left out.
pub fn read(
    source: &Source<'_>,
    names: &Names,
    gene: Option<&str>,
    term: Option<&str>,
    separator: Option<Separator>,
) -> Result<AnnotationFile, Error> {
    let style = Style { format: "a table of annotations", separator, quotes: Quotes::Double };
    let gene = gene.map_or_else(|| GENE.to_vec(), |gene| vec![gene]);
    let term = term.map_or_else(|| TERM.to_vec(), |term| vec![term]);
    let (mut table, found) =
        source.table(style, &[ColumnNames::required(gene), ColumnNames::required(term)])?;
    let [Some(gene), Some(term)] = found[..] else {
        return Err(source.fail(fault::empty("header line")));
    };
    let mut file = AnnotationFile::default();
    while let Some(row) = table.next_row()? {
        file.tally.rows += 1;
        let text = row.text(term)?;
        if is_missing(text) {
            file.tally.skip("no term");
            continue;
        }
        if let Some(found) = file.tally.gene(names, row.bytes(gene), row.line()) {
            file.put(found, text).map_err(|kind| row.fail(Some(term), kind))?;
        }
    }
    Ok(file)
}
