//! The adjacency text of the DANGO repository: TAB, no header, `i j weight`; i and j are line numbers, from 1, of the
//! gene list beside it.

use super::{EdgeCollector, NetworkFile, Orientation, name_of};
use crate::import::genes::list;
use crate::import::names::Names;
use crate::import::read::{Quotes, Row, Separator, Style, TextTable};
use crate::import::source::{RowTally, Source};
use knockout_base::error::Error;
use knockout_data::cell::Entries;
use std::path::Path;

const STYLE: Style =
    Style { format: "a DANGO adjacency", separator: Some(Separator::Tab), quotes: Quotes::Plain };

/// Reads the adjacency with its gene list.
pub fn read(
    source: &Source<'_>,
    gene_list: &Source<'_>,
    names: &Names,
    name: Option<&str>,
    entries: Entries,
) -> Result<NetworkFile, Error> {
    let genes: Vec<String> =
        list::read(gene_list)?.into_iter().map(|listed| listed.gene.systematic).collect();
    let name = name.map_or_else(|| default_name(source.path()), str::to_owned);
    let mut network = EdgeCollector::new(name, Orientation::Undirected(entries));
    let mut tally = RowTally::default();
    let mut table = TextTable::without_header(source.input()?, STYLE, Separator::Tab, 3)?;
    while let Some(row) = table.next_row()? {
        tally.rows += 1;
        let (a, b) = (gene_at(&row, 0, &genes)?, gene_at(&row, 1, &genes)?);
        let expected = "a weight above 0, at most 1";
        let weight = row.number(2, expected)?.filter(|weight| *weight > 0.0 && *weight <= 1.0);
        let Some(weight) = weight else { return Err(row.bad(2, expected)) };
        if let Some([a, b]) = tally.ends(names, [a.as_bytes(), b.as_bytes()], row.line()) {
            network.push(a, b, weight as f32);
        }
    }
    Ok(NetworkFile { networks: vec![network], tally })
}

fn gene_at<'g>(row: &Row<'_>, column: usize, genes: &'g [String]) -> Result<&'g str, Error> {
    let expected = || format!("a line number of the gene list, from 1 to {}", genes.len());
    let line = row.whole(column, &expected())? as usize;
    let gene = line.checked_sub(1).and_then(|row| genes.get(row));
    gene.map(String::as_str).ok_or_else(|| row.bad(column, &expected()))
}

/// `string9_1_fusion` from `yeast_string_fusion_adjacency.txt`: the repository holds STRING 9.1.
fn default_name(path: &Path) -> String {
    let name = name_of(path);
    match name.strip_prefix("yeast_string_").and_then(|rest| rest.strip_suffix("_adjacency")) {
        Some(channel) => format!("string9_1_{channel}"),
        None => name,
    }
}
