//! The SGA screens: Kuzmin 2018 and 2020 (pairs and triples), Costanzo 2016 (pairs).
//!
//! TAB text or xlsx, a header that may stand below a title, strain ids for genes. The digenic control rows of Kuzmin
//! carry the neutral marker YDL227C in place of the second query gene; it is dropped, and the number of genes that
//! remain must match the row.

use super::ScreenCounts;
use super::sink::{NumberColumns, ScreenSink};
use crate::import::fault;
use crate::import::read::{ColumnNames, Quotes, Row, Separator, Style};
use crate::import::source::Source;
use crate::import::strain::{Allele, Perturbation, StrainId};
use knockout_base::error::Error;
use smallvec::SmallVec;

/// The gene whose deletion stands for no deletion: ho.
pub(crate) const NEUTRAL: &str = "YDL227C";

/// Reads a Kuzmin table: Data S1 or S2 of 2018, table S1 or S3 of 2020.
pub fn read_kuzmin(source: &Source<'_>, mut sink: ScreenSink<'_>) -> Result<ScreenCounts, Error> {
    let style = Style { format: "a Kuzmin table", separator: Some(Separator::Tab), quotes: Quotes::Double };
    let columns = [
        ColumnNames::required(["Query strain ID"]),
        ColumnNames::required(["Query allele name"]),
        ColumnNames::required(["Array strain ID"]),
        ColumnNames::required(["Array allele name"]),
        ColumnNames::required(["Combined mutant type"]),
        ColumnNames::required(["Adjusted genetic interaction score (epsilon or tau)"]),
        ColumnNames::required(["P-value"]),
        ColumnNames::optional(["Combined mutant fitness", "Double/triple mutant fitness"]),
        ColumnNames::optional([
            "Combined mutant fitness standard deviation",
            "Double/triple mutant fitness standard deviation",
        ]),
    ];
    let (mut table, found) = source.table(style, &columns)?;
    let (
        &[Some(query), Some(query_allele), Some(array), Some(array_allele), Some(mutant), Some(score)],
        rest,
    ) = split_six(&found)
    else {
        return Err(source.fail(fault::empty("header line")));
    };
    let numbers = numbers(score, rest);
    while let Some(row) = table.next_row().map_err(|error| sink.ended_by(error))? {
        sink.row();
        let read = (|| {
            let order = match row.text(mutant)? {
                "digenic" => 2,
                "trigenic" => 3,
                _ => return Err(row.bad(mutant, "digenic or trigenic")),
            };
            let query_id = strain(&row, query)?;
            let array_id = strain(&row, array)?;
            let values = numbers.read(&row)?;
            let mut genes = SmallVec::<[&[u8]; 4]>::new();
            let mut alleles = SmallVec::<[Allele<'_>; 4]>::new();
            let mut allele_names = row.text(query_allele)?.split('+');
            for gene in query_id.genes.split('+') {
                let allele = allele_names.next().unwrap_or_default();
                if !gene.eq_ignore_ascii_case(NEUTRAL) {
                    genes.push(gene.as_bytes());
                    alleles.push(query_id.allele(allele));
                }
            }
            let query_count = genes.len();
            for gene in array_id.genes.split('+').filter(|gene| !gene.eq_ignore_ascii_case(NEUTRAL)) {
                genes.push(gene.as_bytes());
                alleles.push(array_id.allele(row.text(array_allele).unwrap_or_default()));
            }
            if genes.len() != order {
                sink.skip("the strains have a number of genes that differs from the type of the mutant");
                return Ok(());
            }
            sink.take(&row, &genes, query_count, Perturbation::Alleles(&alleles), values).map(drop)
        })();
        sink.note(read)?;
    }
    sink.finish()
}

/// Reads a Costanzo 2016 table: `SGA_NxN.txt` and its sisters.
pub fn read_costanzo(source: &Source<'_>, mut sink: ScreenSink<'_>) -> Result<ScreenCounts, Error> {
    let style =
        Style { format: "a Costanzo SGA table", separator: Some(Separator::Tab), quotes: Quotes::Double };
    let columns = [
        ColumnNames::required(["Query Strain ID"]),
        ColumnNames::required(["Query allele name"]),
        ColumnNames::required(["Array Strain ID"]),
        ColumnNames::required(["Array allele name"]),
        ColumnNames::required(["Arraytype/Temp"]),
        ColumnNames::required(["Genetic interaction score (ε)", "Genetic interaction score (eps)"]),
        ColumnNames::required(["P-value"]),
        ColumnNames::optional(["Double mutant fitness"]),
        ColumnNames::optional(["Double mutant fitness standard deviation"]),
    ];
    let (mut table, found) = source.table(style, &columns)?;
    let (
        &[Some(query), Some(query_allele), Some(array), Some(array_allele), Some(conditions), Some(score)],
        rest,
    ) = split_six(&found)
    else {
        return Err(source.fail(fault::empty("header line")));
    };
    let numbers = numbers(score, rest);
    while let Some(row) = table.next_row().map_err(|error| sink.ended_by(error))? {
        sink.row();
        let read = (|| {
            if !matches!(row.bytes(conditions), b"DMA26" | b"DMA30" | b"TSA26" | b"TSA30") {
                return Err(row.bad(conditions, "one of DMA26, DMA30, TSA26, TSA30"));
            }
            let strains = [(strain(&row, query)?, query_allele), (strain(&row, array)?, array_allele)];
            let values = numbers.read(&row)?;
            let [query_allele, array_allele] = strains.map(|(_, column)| row.text(column));
            let alleles = [strains[0].0.allele(query_allele?), strains[1].0.allele(array_allele?)];
            let genes = strains.map(|(id, _)| id.genes.as_bytes());
            sink.take(&row, &genes, 1, Perturbation::Alleles(&alleles), values).map(drop)
        })();
        sink.note(read)?;
    }
    sink.finish()
}

/// Returns the columns of the numbers: that of the score, and those of p-value, fitness and its deviation.
fn numbers(score: usize, rest: &[Option<usize>]) -> NumberColumns {
    NumberColumns {
        score,
        p_value: rest[0],
        fitness: rest[1],
        fitness_sd: rest[2],
        ..NumberColumns::default()
    }
}

/// The first six columns, which are required, and the others.
fn split_six(found: &[Option<usize>]) -> (&[Option<usize>; 6], &[Option<usize>]) {
    found.split_first_chunk().unwrap_or((&[None; 6], &[None; 3]))
}

fn strain<'r>(row: &Row<'r>, column: usize) -> Result<StrainId<'r>, Error> {
    StrainId::parse(row.text(column)?)
        .ok_or_else(|| row.bad(column, "a strain id such as YAL015C+YDL227C_tm461 or YBL007C_dma91"))
}
