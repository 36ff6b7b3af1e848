//! TFLink's simple format: TAB, a header, `;` inside cells, `-` for missing values; regulator to target.
//!
//! There are no systematic names in it: a gene is found by its `UniProt` accession, where aliases hold these, and by its
//! name otherwise.

use super::{EdgeCollector, NetworkFile, Orientation};
use crate::import::fault;
use crate::import::names::{Meaning, Names};
use crate::import::read::{ColumnNames, Quotes, Row, Separator, Style};
use crate::import::source::{RowTally, Source};
use knockout_base::error::Error;

const STYLE: Style =
    Style { format: "TFLink simple format", separator: Some(Separator::Tab), quotes: Quotes::Plain };

/// Evidence that a row needs to count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EvidenceScale {
    /// All of them.
    #[default]
    All,
    /// Those with small-scale evidence.
    Small,
}

/// Reads the regulation.
pub fn read(
    source: &Source<'_>,
    names: &Names,
    name: &str,
    scale: EvidenceScale,
) -> Result<NetworkFile, Error> {
    let columns = [
        ColumnNames::required(["UniprotID.TF"]),
        ColumnNames::required(["UniprotID.Target"]),
        ColumnNames::required(["Name.TF"]),
        ColumnNames::required(["Name.Target"]),
        ColumnNames::required(["Small-scale.evidence"]),
    ];
    let (mut table, found) = source.table(STYLE, &columns)?;
    let found: Vec<usize> = found.into_iter().flatten().collect();
    let &[accession_tf, accession_target, name_tf, name_target, evidence] = found.as_slice() else {
        return Err(source.fail(fault::empty("header line")));
    };
    let mut network = EdgeCollector::new(name, Orientation::Directed);
    let mut tally = RowTally::default();
    while let Some(row) = table.next_row()? {
        tally.rows += 1;
        let is_small = match row.text(evidence)? {
            "Yes" => true,
            "No" => false,
            _ => return Err(row.bad(evidence, "Yes or No")),
        };
        if scale == EvidenceScale::Small && !is_small {
            tally.skip("no small-scale evidence");
            continue;
        }
        let ends =
            [find(&row, accession_tf, name_tf, names), find(&row, accession_target, name_target, names)];
        if let Some([tf, target]) = tally.ends(names, ends, row.line()) {
            network.push(tf, target, 1.0);
        }
    }
    Ok(NetworkFile { networks: vec![network], tally })
}

/// The word of a row that leads to a gene; the accession where none does.
fn find<'r>(row: &Row<'r>, accession: usize, name: usize, names: &Names) -> &'r [u8] {
    let words =
        [accession, name].into_iter().flat_map(|column| row.bytes(column).split(|&byte| byte == b';'));
    let is_gene = |word: &&[u8]| matches!(names.find(word.trim_ascii()), Meaning::Gene(_));
    words.into_iter().find(is_gene).map_or_else(|| row.bytes(accession), <[u8]>::trim_ascii)
}
