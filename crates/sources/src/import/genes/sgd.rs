//! SGD's `SGD_features.tab`: TAB, no header, 16 columns.

use super::ListedGene;
use super::list::is_name;
use crate::import::fault;
use crate::import::read::{Quotes, Row, Separator, Style, TextTable};
use crate::import::source::Source;
use knockout_base::error::Error;
use knockout_data::cell::{Gene, GenePosition};

const STYLE: Style =
    Style { format: "SGD_features.tab", separator: Some(Separator::Tab), quotes: Quotes::Plain };
const WIDTH: usize = 16;
const ID: usize = 0;
const TYPE: usize = 1;
const QUALIFIER: usize = 2;
const NAME: usize = 3;
const STANDARD: usize = 4;
const ALIASES: usize = 5;
const CHROMOSOME: usize = 8;
const START: usize = 9;
const STOP: usize = 10;

/// Reads the features of some types (`ORF` …) and, where any are named, qualifiers (`Verified` …), sorted by
/// systematic name. Also returns the number of rows.
pub fn read(
    source: &Source<'_>,
    types: &[String],
    qualifiers: &[String],
) -> Result<(Vec<ListedGene>, u64), Error> {
    let mut table = TextTable::without_header(source.input()?, STYLE, Separator::Tab, WIDTH)?;
    let mut genes = Vec::new();
    let mut rows = 0;
    while let Some(row) = table.next_row()? {
        rows += 1;
        // A shifted row shows here first.
        let id = row.text(ID)?;
        let is_id = id.len() > 3
            && matches!(&id.as_bytes()[..1], b"S" | b"L")
            && id[1..].bytes().all(|b| b.is_ascii_digit());
        if !is_id {
            return Err(row.bad(ID, "an SGD id such as S000002143"));
        }
        let kind = row.text(TYPE)?;
        if !types.iter().any(|wanted| wanted == kind) {
            continue;
        }
        // `Verified|silenced_gene` has two qualifiers.
        let has =
            |wanted: &String| row.text(QUALIFIER).is_ok_and(|text| text.split('|').any(|q| q == wanted));
        if !qualifiers.is_empty() && !qualifiers.iter().any(has) {
            continue;
        }
        let name = row.text(NAME)?;
        if !is_name(name) {
            return Err(row.bad(NAME, "a systematic gene name"));
        }
        let standard = row.text(STANDARD)?;
        let mut aliases: Vec<String> = row
            .text(ALIASES)?
            .split('|')
            .map(str::trim)
            .filter(|alias| !alias.is_empty())
            .map(str::to_owned)
            .collect();
        aliases.push(id.to_owned());
        genes.push(ListedGene {
            gene: Gene {
                systematic: name.to_owned(),
                standard: (!standard.is_empty()).then(|| standard.to_owned()),
            },
            aliases,
            position: position(&row)?,
        });
    }
    if genes.is_empty() {
        return Err(source.fail(fault::empty("feature of the wanted type")));
    }
    genes.sort_by(|a, b| a.gene.systematic.cmp(&b.gene.systematic));
    Ok((genes, rows))
}

/// The position of a feature; `None` where a part of it is empty.
fn position(row: &Row<'_>) -> Result<Option<GenePosition>, Error> {
    let (chromosome, start, stop) = (row.text(CHROMOSOME)?, row.text(START)?, row.text(STOP)?);
    if chromosome.is_empty() || start.is_empty() || stop.is_empty() {
        return Ok(None);
    }
    let base = |text: &str, column: usize| {
        text.parse::<u32>()
            .map_err(|_not_a_number| row.bad(column, "a position on a chromosome, a whole number"))
    };
    Ok(Some(GenePosition {
        chromosome: chromosome.to_owned(),
        start: base(start, START)?,
        stop: base(stop, STOP)?,
    }))
}
