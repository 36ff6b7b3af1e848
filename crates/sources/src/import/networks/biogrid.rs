//! BioGRID tab3 (and tab2): TAB, a header that starts with `#`, `-` for missing values, no quoting.

use super::{EdgeCollector, Evidence, NetworkFile, Orientation};
use crate::import::fault;
use crate::import::names::Names;
use crate::import::read::{ColumnNames, Quotes, Row, Separator, Style, is_missing};
use crate::import::source::{RowTally, Source};
use knockout_base::error::Error;
use knockout_data::cell::Entries;

const STYLE: Style = Style { format: "BioGRID tab3", separator: Some(Separator::Tab), quotes: Quotes::Plain };

/// Reads the interactions of one kind within one organism (559292 is S. cerevisiae S288C).
pub fn read(
    source: &Source<'_>,
    names: &Names,
    name: &str,
    evidence: Evidence,
    organism: u32,
    entries: Entries,
) -> Result<NetworkFile, Error> {
    let columns = [
        ColumnNames::required(["Systematic Name Interactor A"]),
        ColumnNames::required(["Systematic Name Interactor B"]),
        ColumnNames::required(["Official Symbol Interactor A"]),
        ColumnNames::required(["Official Symbol Interactor B"]),
        ColumnNames::required(["Experimental System Type"]),
        // The name in tab2 is `Organism Interactor`.
        ColumnNames::required(["Organism ID Interactor A", "Organism Interactor A"]),
        ColumnNames::required(["Organism ID Interactor B", "Organism Interactor B"]),
    ];
    let (mut table, found) = source.table(STYLE, &columns)?;
    let found: Vec<usize> = found.into_iter().flatten().collect();
    let &[systematic_a, systematic_b, symbol_a, symbol_b, system, organism_a, organism_b] = found.as_slice()
    else {
        return Err(source.fail(fault::empty("header line")));
    };
    let mut network = EdgeCollector::new(name, Orientation::Undirected(entries));
    let mut tally = RowTally::default();
    let organism = organism.to_string();
    while let Some(row) = table.next_row()? {
        tally.rows += 1;
        let found = match row.text(system)? {
            "physical" => Evidence::Physical,
            "genetic" => Evidence::Genetic,
            _ => return Err(row.bad(system, "\"physical\" or \"genetic\"")),
        };
        for column in [organism_a, organism_b] {
            row.whole(column, "a taxonomy id, a whole number")?;
        }
        if [organism_a, organism_b].iter().any(|&column| row.bytes(column) != organism.as_bytes()) {
            tally.skip("another organism");
            continue;
        }
        if found != evidence {
            tally.skip("evidence of the other kind");
            continue;
        }
        let ends = [end(&row, systematic_a, symbol_a), end(&row, systematic_b, symbol_b)];
        if let Some([a, b]) = tally.ends(names, ends, row.line()) {
            network.push(a, b, 1.0);
        }
    }
    Ok(NetworkFile { networks: vec![network], tally })
}

fn end<'r>(row: &Row<'r>, systematic: usize, symbol: usize) -> &'r [u8] {
    match std::str::from_utf8(row.bytes(systematic)) {
        Ok(text) if is_missing(text) => row.bytes(symbol),
        _ => row.bytes(systematic),
    }
}
