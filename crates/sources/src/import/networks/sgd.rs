//! SGD's `interaction_data.tab`: TAB, no header, 12 columns, physical and genetic interactions in one file.

use super::{EdgeCollector, Evidence, NetworkFile, Orientation};
use crate::import::names::Names;
use crate::import::read::{Quotes, Separator, Style, TextTable, is_missing};
use crate::import::source::{RowTally, Source};
use knockout_base::error::Error;
use knockout_data::cell::Entries;

const STYLE: Style =
    Style { format: "SGD interaction_data.tab", separator: Some(Separator::Tab), quotes: Quotes::Plain };
const WIDTH: usize = 12;
/// Systematic and standard name of bait and hit.
const ENDS: [(usize, usize); 2] = [(0, 1), (2, 3)];
const EVIDENCE: usize = 5;

/// Reads the interactions of one kind.
pub fn read(
    source: &Source<'_>,
    names: &Names,
    name: &str,
    evidence: Evidence,
    entries: Entries,
) -> Result<NetworkFile, Error> {
    let mut network = EdgeCollector::new(name, Orientation::Undirected(entries));
    let mut tally = RowTally::default();
    let mut table = TextTable::without_header(source.input()?, STYLE, Separator::Tab, WIDTH)?;
    while let Some(row) = table.next_row()? {
        tally.rows += 1;
        let found = match row.text(EVIDENCE)? {
            "physical interactions" => Evidence::Physical,
            "genetic interactions" => Evidence::Genetic,
            _ => return Err(row.bad(EVIDENCE, "\"physical interactions\" or \"genetic interactions\"")),
        };
        if found != evidence {
            tally.skip("evidence of the other kind");
            continue;
        }
        let end = |(systematic, standard): (usize, usize)| match std::str::from_utf8(row.bytes(systematic)) {
            Ok(text) if is_missing(text) => row.bytes(standard),
            _ => row.bytes(systematic),
        };
        if let Some([bait, hit]) = tally.ends(names, ENDS.map(end), row.line()) {
            network.push(bait, hit, 1.0);
        }
    }
    Ok(NetworkFile { networks: vec![network], tally })
}
