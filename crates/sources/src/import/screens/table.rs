//! Any table of scores: text, a sheet or Parquet, its columns given by name.

use super::ScreenCounts;
use super::sink::{NumberColumns, ScreenSink};
use crate::import::fault;
use crate::import::names::{Meaning, Names};
use crate::import::read::{ColumnNames, DecimalMark, Quotes, Row, Separator, Style, is_missing};
use crate::import::source::Source;
use crate::import::strain::{
    Allele, NamedAllele, Perturbation, PerturbationKind, kind_of_allele, kind_of_column, name_of_column,
};
use knockout_base::error::Error;
use std::collections::BTreeMap;

/// Columns of a table of scores.
#[derive(Debug, Clone)]
pub struct ScoreTableOptions<'o> {
    /// Columns of genes. A cell may hold several, separated by `,`, `;`, `|` or `+`; an empty one holds none. Where none is named
    /// they are [`USUAL`], with one gene in each cell, and only the third may be missing or empty.
    pub genes: &'o [String],
    /// How many of these columns, the first ones, are the query strain's.
    pub query: usize,
    /// Column of the score.
    pub score: &'o str,
    /// Column of the score's standard error.
    pub standard_error: Option<&'o str>,
    /// Column of the p-value.
    pub p_value: Option<&'o str>,
    /// Column of the fitness.
    pub fitness: Option<&'o str>,
    /// Column of its standard deviation.
    pub fitness_sd: Option<&'o str>,
    /// Column of the kind of perturbation.
    pub kind_column: Option<&'o str>,
    /// The kind of all rows without such a column, if it is stated.
    pub kind: Option<&'o str>,
    /// Columns of alleles: one for each column of genes, in their order; empty for none.
    pub alleles: &'o [String],
    /// Separator of cells; guessed if `None`.
    pub separator: Option<Separator>,
    /// Decimal mark; the numbers decide if `None`.
    pub decimal: Option<DecimalMark>,
    /// Only rows with these values in these columns.
    pub filter: &'o BTreeMap<String, String>,
}

/// Names that columns of genes usually have, in this order.
pub const USUAL: [[&str; 4]; 3] = [
    ["gene_a", "gene_1", "gene1", "gene a"],
    ["gene_b", "gene_2", "gene2", "gene b"],
    ["gene_c", "gene_3", "gene3", "gene c"],
];

/// Whether cells of genes may hold several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InCell {
    One,
    Several,
}

/// Reads the table.
pub fn read(
    source: &Source<'_>,
    mut sink: ScreenSink<'_>,
    options: &ScoreTableOptions<'_>,
) -> Result<ScreenCounts, Error> {
    let style = Style { format: "a table of scores", separator: options.separator, quotes: Quotes::Double };
    let usual = options.genes.is_empty();
    let column_count = if usual { USUAL.len() } else { options.genes.len() };
    if options.query > column_count {
        let text = "name the gene columns (genes=…), at least as many as the query has";
        return Err(source.fail(fault::request(text)));
    }
    if !options.alleles.is_empty()
        && options.alleles.len() != column_count
        && !(usual && options.alleles.len() == 2)
    {
        let text =
            "name a column of alleles for each column of genes (allele-columns=…), in the order of the genes";
        return Err(source.fail(fault::request(text)));
    }
    let mut columns = vec![
        ColumnNames::required([options.score]),
        maybe(options.standard_error),
        maybe(options.p_value),
        maybe(options.fitness),
        maybe(options.fitness_sd),
        maybe(options.kind_column),
    ];
    if usual {
        columns.extend([
            ColumnNames::required(USUAL[0]),
            ColumnNames::required(USUAL[1]),
            ColumnNames::optional(USUAL[2]),
        ]);
    }
    columns.extend(options.genes.iter().map(|name| ColumnNames::required([name.as_str()])));
    columns.extend(options.alleles.iter().map(|name| ColumnNames::required([name.as_str()])));
    columns.extend(options.filter.keys().map(|name| ColumnNames::required([name.as_str()])));
    let help = "; name the columns, such as --screen FILE,genes=A+B,score=S";
    let columns: Vec<ColumnNames<'_>> = columns.into_iter().map(|column| column.with_help(help)).collect();
    let (mut table, found) = source.table(style, &columns)?;
    table.expect_decimal(options.decimal);
    let Some(score) = found[0] else {
        return Err(source.fail(fault::empty("header line")));
    };
    let numbers = NumberColumns {
        score,
        standard_error: found[1],
        p_value: found[2],
        fitness: found[3],
        fitness_sd: found[4],
    };
    let (genes, rest) = found[6..].split_at(column_count);
    let (alleles, filter) = rest.split_at(options.alleles.len());
    let genes: Vec<usize> = genes.iter().flatten().copied().collect();
    let columns = RowColumns {
        options,
        numbers,
        kind: found[5],
        alleles: alleles.iter().flatten().copied().collect(),
        filter: filter.iter().flatten().copied().zip(options.filter.values()).collect(),
        is_usual: usual,
        // Without a table of genes it is unknown whether a cell is one name as a whole; only a lone column must hold several.
        in_cell: if usual || !alleles.is_empty() || (sink.names().is_none() && genes.len() > 1) {
            InCell::One
        } else {
            InCell::Several
        },
        genes,
    };
    while let Some(row) = table.next_row().map_err(|error| sink.ended_by(error))? {
        sink.row();
        let read = columns.read(&row, &mut sink);
        sink.note(read)?;
    }
    sink.finish()
}

/// Indices of the columns of a table.
struct RowColumns<'o> {
    options: &'o ScoreTableOptions<'o>,
    numbers: NumberColumns,
    kind: Option<usize>,
    genes: Vec<usize>,
    alleles: Vec<usize>,
    filter: Vec<(usize, &'o String)>,
    is_usual: bool,
    in_cell: InCell,
}

impl RowColumns<'_> {
    /// Reads a row into the sink.
    fn read(&self, row: &Row<'_>, sink: &mut ScreenSink<'_>) -> Result<(), Error> {
        if self.filter.iter().any(|(column, value)| row.bytes(*column) != value.as_bytes()) {
            sink.skip("filtered out");
            return Ok(());
        }
        let values = self.numbers.read(row)?;
        let stated = match self.kind {
            Some(column) => Perturbation::Kind(kind_word(row.text(column)?)),
            None => {
                self.options.kind.map_or(Perturbation::Unstated, |kind| Perturbation::OfAll(kind_word(kind)))
            }
        };
        if stated.kind().is_empty() || stated.kind().len() > 40 {
            return Err(match self.kind {
                Some(column) => row.bad(column, "a kind of perturbation such as deletion"),
                None => fault::request("kind must be a word".to_owned()),
            });
        }
        let mut words = Vec::with_capacity(self.genes.len());
        let mut alleles = Vec::with_capacity(self.alleles.len());
        let mut query = 0;
        for (index, &column) in self.genes.iter().enumerate() {
            let before = words.len();
            push_genes(row, column, self.in_cell, sink.names(), &mut words)?;
            if self.is_usual && index < 2 && words.len() == before {
                return Err(row.bad(column, "a gene; only the third column of genes may be empty"));
            }
            if let Some(&column) = self.alleles.get(index)
                && words.len() > before
            {
                let name = name_of_column(row.text(column)?);
                alleles.push(Allele { kind: kind_of_cell(name), name });
            }
            if index < self.options.query {
                query = words.len();
            }
        }
        if words.is_empty() {
            return Err(row.bad(self.genes[0], "at least one gene"));
        }
        let perturbation = if self.alleles.is_empty() {
            stated
        } else {
            alleles.resize(words.len(), Allele { kind: kind_of_cell(""), name: "" });
            stated.with_alleles(&alleles)
        };
        sink.take(row, &words, query, perturbation, values).map(drop)
    }
}

/// Returns the usual word for a kind, or the word itself if there is none.
fn kind_word(word: &str) -> &str {
    PerturbationKind::of_word(word).map_or(word, |kind| kind.name())
}

/// Returns the kind of an allele in a cell: a word for it, or its name.
fn kind_of_cell(name: &str) -> PerturbationKind {
    match kind_of_column(name) {
        PerturbationKind::Allele => {
            NamedAllele::split(name).map_or_else(|| kind_of_allele(name), |found| found.allele.kind)
        }
        kind => kind,
    }
}

/// A column that must be there if it was named; without a name it is looked for under none, and so not found.
fn maybe(name: Option<&str>) -> ColumnNames<'_> {
    match name {
        Some(name) => ColumnNames::required([name]),
        None => ColumnNames::optional([]),
    }
}

/// The genes of a cell. `DUR1,2` is a gene: a cell is split only if it is not a name as a whole.
fn push_genes<'r>(
    row: &Row<'r>,
    column: usize,
    in_cell: InCell,
    names: Option<&Names>,
    words: &mut Vec<&'r [u8]>,
) -> Result<(), Error> {
    let cell = row.text(column)?;
    let has_gene = |name: &str| names.is_some_and(|names| names.find(name.as_bytes()) != Meaning::Unknown);
    let is_name = has_gene(cell) || NamedAllele::split(cell).is_some_and(|found| has_gene(found.gene));
    if in_cell == InCell::Several && !is_name && cell.contains([',', ';', '|', '+']) {
        words.extend(cell.split([',', ';', '|', '+']).map(|word| word.trim().as_bytes()));
    } else if is_name || !is_missing(cell) {
        words.push(cell.as_bytes());
    }
    Ok(())
}
