//! Numbers, bars and tables as text.

use comfy_table::{CellAlignment, ContentArrangement, presets};
use knockout_report::units;
use std::time::Duration;

/// A figure that may not be defined.
pub(crate) fn figure(value: Option<f64>) -> String {
    value.map_or_else(|| "undefined".to_owned(), |value| format!("{value:.4}"))
}

/// A whole number with thousands apart: 2,423,370.
pub(crate) fn grouped(number: usize) -> String {
    units::count(number as u64)
}

/// A number of bytes with a fitting unit.
pub(crate) fn size(bytes: u64) -> String {
    units::bytes(i64::try_from(bytes).unwrap_or(i64::MAX))
}

/// A time for people.
pub(crate) fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        ..10.0 => format!("{seconds:.1} s"),
        ..120.0 => format!("{seconds:.0} s"),
        ..7_200.0 => format!("{:.0} min", seconds / 60.0),
        ..172_800.0 => format!("{:.1} h", seconds / 3_600.0),
        _ => format!("{:.1} days", seconds / 86_400.0),
    }
}

/// A horizontal bar of a share of `width` columns, to an eighth of a column.
pub(crate) fn bar(share: f64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * (8 * width) as f64).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// How a column is aligned.
#[derive(Clone, Copy)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Columns of the same table in an HTML report; those set to the right hold numbers.
#[cfg(feature = "lab")]
pub(crate) fn page_columns(columns: &[(&str, Align)]) -> Vec<knockout_report::Column> {
    let column = |&(name, align): &(&str, Align)| match align {
        Align::Left => knockout_report::Column::text(name),
        Align::Right => knockout_report::Column::number(name),
    };
    columns.iter().map(column).collect()
}

/// A plain table: a header, a rule, rows.
pub(crate) struct Table(comfy_table::Table);

impl Table {
    pub(crate) fn new(columns: &[(&str, Align)]) -> Self {
        let mut table = comfy_table::Table::new();
        // Never wrapped: scripts and terminals alike get one row a line.
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(columns.iter().map(|(name, _)| *name));
        for (index, (_, align)) in columns.iter().enumerate() {
            if let Some(column) = table.column_mut(index) {
                column.set_padding((0, 2));
                column.set_cell_alignment(match align {
                    Align::Left => CellAlignment::Left,
                    Align::Right => CellAlignment::Right,
                });
            }
        }
        Self(table)
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.0.add_row(cells);
    }

    pub(crate) fn to_text(&self) -> String {
        let mut text = String::new();
        for line in self.0.lines() {
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_share() {
        assert_eq!(bar(1.0, 3), "███");
        assert_eq!(bar(0.5, 3), "█▌");
        assert_eq!(bar(0.0, 3), "");
        assert_eq!(bar(7.0, 2), "██");
    }
}
