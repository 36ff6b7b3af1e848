//! Any table with a column of genes and a column of terms, one of each in a row.

use super::AnnotationFile;
use crate::import::fault;
use crate::import::features::table::GENE;
use crate::import::names::Names;
use crate::import::read::{ColumnNames, Quotes, Separator, Style, is_missing};
use crate::import::source::Source;
use knockout_base::error::Error;
use std::collections::BTreeSet;

/// Names that the column of terms usually has.
const TERM: [&str; 5] = ["term", "annotation", "go_id", "complex", "pathway"];

/// Terms of a column that tells whether a gene is meant.
const YES: [&str; 5] = ["1", "true", "yes", "t", "y"];
const NO: [&str; 5] = ["0", "false", "no", "f", "n"];
/// A term and the one that denies it, where that is not `non` or `not` before it.
const OPPOSITES: [(&str, &str); 5] =
    [("essential", "dispensable"), ("lethal", "viable"), ("inviable", "viable"), ("e", "ne"), ("e", "v")];

/// Reads two columns of a table: text, a sheet or Parquet. A row without a term is left out.
///
/// # Errors
///
/// Refuses a column of yes and no, or of a term and its opposite, which would annotate every gene.
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
    // The first three: of a term and its opposite there are two.
    let mut terms = BTreeSet::new();
    while let Some(row) = table.next_row()? {
        file.tally.rows += 1;
        let text = row.text(term)?;
        if is_missing(text) {
            file.tally.skip("no term");
            continue;
        }
        if terms.len() < 3 {
            terms.insert(text.trim().to_ascii_lowercase());
        }
        // Spreadsheets write 1.0.
        let answer = text.strip_suffix(".0").unwrap_or(text);
        let is_one_of = |words: &[&str]| words.iter().any(|word| answer.eq_ignore_ascii_case(word));
        let is_no = is_one_of(&NO);
        has_no |= is_no;
        is_answer &= is_no || is_one_of(&YES);
        if let Some(found) = file.tally.gene(names, row.bytes(gene), row.line()) {
            file.put(found, text).map_err(|kind| row.fail(Some(term), kind))?;
        }
    }
    let terms: Vec<&String> = terms.iter().collect();
    let has_opposite = matches!(terms[..], [a, b] if denies(a, b) || denies(b, a));
    if is_answer && has_no || has_opposite {
        let what = if has_opposite { "a term and its opposite" } else { "yes and no" };
        let text = format!(
            "the column of terms holds {what} only, so every gene would be annotated; keep the rows of genes that are meant, with the \
             term itself, such as `essential`"
        );
        return Err(source.fail(fault::request(text)));
    }
    Ok(file)
}

/// Whether a term is the opposite of another one.
fn denies(term: &str, other: &str) -> bool {
    let rest = term.strip_prefix("non").or_else(|| term.strip_prefix("not"));
    rest.is_some_and(|rest| rest.trim_start_matches(['-', '_', ' ']) == other)
        || OPPOSITES.contains(&(other, term))
}
