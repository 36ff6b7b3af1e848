//! Regulation matrices as YEASTRACT and the inferelator write them: a line per target, a column per regulator; 0 is no
//! edge, 1 and −1 are. The header may lack the cell above the row names.

use super::{EdgeCollector, NetworkFile, Orientation};
use crate::import::fault;
use crate::import::names::Names;
use crate::import::read::{Quotes, Row, Style, TextTable};
use crate::import::source::{RowTally, Source};
use knockout_base::error::Error;

const STYLE: Style = Style { format: "a regulation matrix", separator: None, quotes: Quotes::Double };

/// Reads the matrix; the value, sign included, becomes the weight. Only cells that are not 0 count as rows.
pub fn read(source: &Source<'_>, names: &Names, name: &str) -> Result<NetworkFile, Error> {
    let mut table = TextTable::unchecked(source.input()?, STYLE)?;
    let Some(header) = table.next_row()? else {
        return Err(source.fail(fault::empty("header line")));
    };
    let mut regulators: Vec<Vec<u8>> = (0..header.width()).map(|cell| header.bytes(cell).to_vec()).collect();
    let header_width = header.width();
    let mut network = EdgeCollector::new(name, Orientation::Directed);
    let mut tally = RowTally::default();
    let mut width = None;
    while let Some(row) = table.next_row()? {
        if width.is_none() {
            // The first row tells whether the header has a corner.
            if row.width() == header_width {
                regulators.remove(0);
            } else if row.width() != header_width + 1 {
                return Err(wrong_width(&row, header_width));
            }
            if regulators.is_empty() {
                return Err(source.fail(fault::empty("column of a regulator")));
            }
            width = Some(regulators.len() + 1);
        }
        if Some(row.width()) != width {
            return Err(wrong_width(&row, regulators.len() + 1));
        }
        let target = row.bytes(0);
        for (index, regulator) in regulators.iter().enumerate() {
            let weight = weight_of(&row, index + 1)?;
            if weight == 0.0 {
                continue;
            }
            tally.rows += 1;
            if let Some([tf, target]) = tally.ends(names, [regulator, target], row.line()) {
                network.push(tf, target, weight);
            }
        }
    }
    if width.is_none() {
        return Err(source.fail(fault::empty("row of a gene")));
    }
    Ok(NetworkFile { networks: vec![network], tally })
}

fn weight_of(row: &Row<'_>, column: usize) -> Result<f32, Error> {
    // Nearly every cell is this one.
    if row.bytes(column) == b"0" {
        return Ok(0.0);
    }
    let expected = "a number such as 0, 1 or -1";
    match row.number(column, expected)? {
        Some(weight) if (weight as f32).is_finite() => Ok(weight as f32),
        _ => Err(row.bad(column, expected)),
    }
}

fn wrong_width(row: &Row<'_>, expected: usize) -> Error {
    let hint = ": the row is shifted, cut off, or separated otherwise than the header";
    row.fail(None, fault::cell_count(row.width(), expected, hint))
}
