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

/// Terms of a column that tells whether a gene is meant.
const YES: [&str; 3] = ["1", "true", "yes"];
const NO: [&str; 3] = ["0", "false", "no"];

/// Reads two columns of a table: text, a sheet or Parquet. A row without a term is left out.
///
/// # Errors
///
/// Refuses a column of yes and no, which would annotate every gene.
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
    let (mut is_answer, mut has_no) = (true, false);
    while let Some(row) = table.next_row()? {
        file.tally.rows += 1;
        let text = row.text(term)?;
        if is_missing(text) {
            file.tally.skip("no term");
            continue;
        }
        let is_one_of = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
        let is_no = is_one_of(&NO);
        has_no |= is_no;
        is_answer &= is_no || is_one_of(&YES);
        if let Some(found) = file.tally.gene(names, row.bytes(gene), row.line()) {
            file.put(found, text).map_err(|kind| row.fail(Some(term), kind))?;
        }
    }
    if is_answer && has_no {
        let text = "the column of terms holds yes and no only, so every gene would be annotated; keep the rows of genes that are \
                    meant, with the term itself, such as `essential`";
        return Err(source.fail(fault::request(text)));
    }
    Ok(file)
}
