//! Any edge list: text with or without a header, a sheet, or Parquet, its columns given by name or number.

use super::{EdgeCollector, NetworkFile, Orientation};
use crate::import::fault;
use crate::import::names::Names;
use crate::import::read::{ColumnNames, Quotes, Row, Separator, Style, TextTable};
use crate::import::source::{RowTally, Source};
use knockout_base::error::Error;
use std::collections::BTreeMap;

/// Names under which the first gene is looked for when none is given, and the second under the name with the same index.
const SOURCES: [&str; 8] = ["source", "gene_a", "a", "tf", "protein1", "gene1", "item_id_a", "from"];
const TARGETS: [&str; 8] = ["target", "gene_b", "b", "target", "protein2", "gene2", "item_id_b", "to"];

/// Whether the first line names the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heading {
    /// It does.
    Named,
    /// It does not: columns are numbers from 1.
    Numbered,
}

/// How to read the list.
#[derive(Debug, Clone)]
pub struct EdgeTableOptions<'o> {
    /// The network's name.
    pub name: &'o str,
    /// Column of the first gene.
    pub source: Option<&'o str>,
    /// Column of the second gene.
    pub target: Option<&'o str>,
    /// Column of the weight; 1 for every edge without one.
    pub weight: Option<&'o str>,
    /// Whether there is a header.
    pub heading: Heading,
    /// Separator of cells; guessed if `None`.
    pub separator: Option<Separator>,
    /// Whether edges have a direction.
    pub orientation: Orientation,
    /// Only rows with these values in these columns.
    pub filter: &'o BTreeMap<String, String>,
    /// A prefix that every gene name carries, such as `4932.`.
    pub strip: &'o str,
    /// An ending that gene names may carry, such as the `p` of the protein `Ste12p`.
    pub strip_end: &'o str,
}

struct EdgeColumns {
    source: usize,
    target: usize,
    weight: Option<usize>,
    filter: Vec<(usize, String)>,
}

/// Reads the list.
pub fn read(
    source: &Source<'_>,
    names: &Names,
    options: &EdgeTableOptions<'_>,
) -> Result<NetworkFile, Error> {
    let (mut table, columns) = match options.heading {
        Heading::Named => with_header(source, options)?,
        Heading::Numbered => without_header(source, options)?,
    };
    let mut network = EdgeCollector::new(options.name, options.orientation);
    let mut tally = RowTally::default();
    while let Some(row) = table.next_row()? {
        tally.rows += 1;
        if columns.filter.iter().any(|(column, value)| row.bytes(*column) != value.as_bytes()) {
            tally.skip("filtered out");
            continue;
        }
        let weight = match columns.weight {
            None => 1.0,
            Some(column) => weight_of(&row, column)?,
        };
        let end = |column| {
            let name = row.bytes(column);
            let name = name.strip_prefix(options.strip.as_bytes()).unwrap_or(name);
            name.strip_suffix(options.strip_end.as_bytes()).unwrap_or(name)
        };
        if let Some([a, b]) = tally.ends(names, [end(columns.source), end(columns.target)], row.line()) {
            network.push(a, b, weight);
        }
    }
    Ok(NetworkFile { networks: vec![network], tally })
}

fn weight_of(row: &Row<'_>, column: usize) -> Result<f32, Error> {
    let expected = "a weight, a finite number";
    match row.number(column, expected)? {
        Some(weight) if (weight as f32).is_finite() => Ok(weight as f32),
        _ => Err(row.bad(column, expected)),
    }
}

fn with_header<'a>(
    source: &Source<'a>,
    options: &EdgeTableOptions<'_>,
) -> Result<(TextTable<'a>, EdgeColumns), Error> {
    let style = Style { format: "an edge list", separator: options.separator, quotes: Quotes::Double };
    let sources = options.source.map_or_else(|| SOURCES.to_vec(), |name| vec![name]);
    let targets = options.target.map_or_else(|| TARGETS.to_vec(), |name| vec![name]);
    let mut columns = vec![ColumnNames::required(sources), ColumnNames::required(targets)];
    columns.push(match options.weight {
        Some(name) => ColumnNames::required([name]),
        None => ColumnNames::optional(["weight"]),
    });
    columns.extend(options.filter.keys().map(|name| ColumnNames::required([name.as_str()])));
    let (table, found) = source.table(style, &columns)?;
    let (Some(first), Some(second)) = (found[0], found[1]) else {
        return Err(source.fail(fault::empty("header line")));
    };
    let filter = found[3..].iter().flatten().copied().zip(options.filter.values().cloned()).collect();
    Ok((table, EdgeColumns { source: first, target: second, weight: found[2], filter }))
}

fn without_header<'a>(
    source: &Source<'a>,
    options: &EdgeTableOptions<'_>,
) -> Result<(TextTable<'a>, EdgeColumns), Error> {
    let number = |what: &str, given: Option<&str>, usual: usize| match given.map(str::parse::<usize>) {
        None => Ok(usual),
        Some(Ok(number)) if (1..=10_000).contains(&number) => Ok(number),
        Some(_) => Err(source.fail(fault::request(format!(
            "without a header columns are numbers from 1, but {what} is {:?}",
            given.unwrap_or_default()
        )))),
    };
    let first = number("source", options.source, 1)? - 1;
    let second = number("target", options.target, 2)? - 1;
    let weight = match options.weight {
        None => None,
        given => Some(number("weight", given, 3)? - 1),
    };
    let filter = options
        .filter
        .iter()
        .map(|(column, value)| Ok((number("a filter", Some(column), 1)? - 1, value.clone())))
        .collect::<Result<Vec<_>, Error>>()?;
    let style = Style { format: "an edge list", separator: options.separator, quotes: Quotes::Double };
    let least = [first, second].into_iter().chain(weight).chain(filter.iter().map(|(column, _)| *column));
    let least = least.max().unwrap_or(0) + 1;
    let table = TextTable::like_first_row(source.input()?, style, least)?;
    Ok((table, EdgeColumns { source: first, target: second, weight, filter }))
}
