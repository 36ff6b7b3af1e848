//! A text table of features: a column of genes, and columns of numbers.

use super::FeatureFile;
use crate::import::fault;
use crate::import::names::Names;
use crate::import::read::{ColumnNames, Quotes, Separator, Style, TextTable};
use crate::import::source::Source;
use knockout_base::error::Error;

/// Names that the column of genes usually has.
pub(crate) const GENE: [&str; 6] = ["gene", "systematic", "systematic_name", "orf", "locus", "name"];

/// Reads the columns of a table; all but that of the genes if none is named. An empty cell is unknown.
pub fn read(
    source: &Source<'_>,
    names: &Names,
    gene_count: usize,
    gene: Option<&str>,
    columns: &[String],
    separator: Option<Separator>,
) -> Result<FeatureFile, Error> {
    let style = Style { format: "a table of features", separator, quotes: Quotes::Double };
    let wanted = gene.map_or_else(|| GENE.to_vec(), |gene| vec![gene]);
    let mut wanted = vec![ColumnNames::required(wanted)];
    wanted.extend(columns.iter().map(|column| ColumnNames::required([column.as_str()])));
    let (mut table, found) = TextTable::with_header(source.input()?, style, &wanted)?;
    let mut found = found.into_iter().flatten();
    let gene = found.next().unwrap_or_default();
    let mut indices: Vec<usize> = found.collect();
    let header = table.header().names().to_vec();
    if columns.is_empty() {
        indices = (0..header.len()).filter(|&index| index != gene).collect();
    }
    if indices.is_empty() {
        return Err(source.fail(fault::empty("column of numbers")));
    }
    let names_of = indices.iter().map(|&index| header[index].trim().to_owned()).collect();
    let mut file = FeatureFile::new(names_of, gene_count);
    while let Some(row) = table.next_row()? {
        file.tally.rows += 1;
        let mut values = Vec::with_capacity(indices.len());
        for &index in &indices {
            let expected = "a number (an empty cell is unknown)";
            let value = row.number(index, expected)?.map_or(f32::NAN, |value| value as f32);
            if value.is_infinite() {
                return Err(row.bad(index, expected));
            }
            values.push(value);
        }
        let Some(found) = file.tally.gene(names, row.bytes(gene), row.line()) else { continue };
        if !file.put(found, values) {
            return Err(row.bad(gene, "a gene that has no row above"));
        }
    }
    if file.genes() == 0 {
        return Err(source.fail(fault::empty("row of a gene of the table")));
    }
    Ok(file)
}
