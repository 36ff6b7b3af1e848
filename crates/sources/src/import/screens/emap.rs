//! E-MAP pair tables, as derived from Schuldiner 2005 and Collins 2007: `gene_a allele_a gene_b allele_b s_score`.
//!
//! The matrix is symmetric, so no gene is the query. An empty allele leaves the kind of perturbation open.

use super::ScreenCounts;
use super::sink::{NumberColumns, ScreenSink};
use crate::import::fault;
use crate::import::read::{ColumnNames, Quotes, Style};
use crate::import::source::Source;
use crate::import::strain::{Allele, Perturbation, kind_of_column, name_of_column};
use knockout_base::error::Error;

/// Reads the pairs.
pub fn read(source: &Source<'_>, mut sink: ScreenSink<'_>) -> Result<ScreenCounts, Error> {
    let style = Style { format: "an E-MAP pair table", separator: None, quotes: Quotes::Double };
    let columns =
        ["gene_a", "allele_a", "gene_b", "allele_b", "s_score"].map(|name| ColumnNames::required([name]));
    let (mut table, found) = source.table(style, &columns)?;
    let found: Vec<usize> = found.into_iter().flatten().collect();
    let &[gene_a, allele_a, gene_b, allele_b, score] = found.as_slice() else {
        return Err(source.fail(fault::empty("header line")));
    };
    let numbers = NumberColumns { score, ..NumberColumns::default() };
    while let Some(row) = table.next_row().map_err(|error| sink.ended_by(error))? {
        sink.row();
        let read = (|| {
            let values = numbers.read(&row)?;
            let alleles = [row.text(allele_a)?, row.text(allele_b)?]
                .map(|name| Allele { kind: kind_of_column(name), name: name_of_column(name) });
            let genes = [row.bytes(gene_a), row.bytes(gene_b)];
            sink.take(&row, &genes, 0, Perturbation::Alleles(&alleles), values).map(drop)
        })();
        sink.note(read)?;
    }
    sink.finish()
}
