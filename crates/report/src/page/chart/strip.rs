//! Values along one axis, a row for each group: a thin line for every value, and a named point for those that lead elsewhere.

use super::Scale;
use super::axis::AxisRange;
use crate::page::markup::escape;
use std::fmt::Write as _;

/// Rows of values along one axis.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Strip {
    /// Quantity and unit of the axis.
    pub across: String,
    /// Rows, from top to bottom.
    pub rows: Vec<StripRow>,
}

/// A row of values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StripRow {
    /// Name of the row.
    pub name: String,
    /// Values; those that are not finite are left out.
    pub values: Vec<f64>,
    /// Values with a name.
    pub marks: Vec<StripMark>,
}

/// A value with a name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StripMark {
    /// The value.
    pub value: f64,
    /// Text under the pointer.
    pub text: String,
    /// Address that it leads to, relative to the page; empty for none.
    pub link: String,
}

const WIDTH: f64 = 720.0;
const LEFT: f64 = 8.0;
const RIGHT: f64 = 712.0;
/// Height of a row, with its name above the values.
const ROW: f64 = 52.0;
/// Height of the lines.
const TALL: f64 = 22.0;

impl Strip {
    pub(in crate::page) fn draw(&self, out: &mut String) {
        let all = self
            .rows
            .iter()
            .flat_map(|row| row.values.iter().copied().chain(row.marks.iter().map(|mark| mark.value)));
        let Some(axis) = AxisRange::around(all.filter(|value| value.is_finite()), Scale::Linear) else {
            out.push_str("<p class=\"soft\">no values</p>\n");
            return;
        };
        let across = |value: f64| axis.position(value).map(|position| LEFT + position * (RIGHT - LEFT));
        let bottom = ROW * self.rows.len() as f64 + 4.0;
        let label = escape(&self.across);
        // Writing to a string cannot fail.
        writeln!(
            out,
            "<div class=\"scroll\"><svg class=\"strip\" viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{label}\">",
            bottom + 40.0
        )
        .ok();
        for (value, text) in axis.ticks(7) {
            let Some(x) = across(value) else { continue };
            write!(out, "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{bottom}\"/>").ok();
            let y = bottom + 15.0;
            writeln!(out, "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{text}</text>").ok();
        }
        for (index, row) in self.rows.iter().enumerate() {
            let top = ROW * index as f64 + 20.0;
            writeln!(
                out,
                "<text class=\"name\" x=\"{LEFT}\" y=\"{}\">{}</text>",
                top - 6.0,
                escape(&row.name)
            )
            .ok();
            // One path whatever the number of values; positions are tenths of a unit.
            let mut places: Vec<i64> = row
                .values
                .iter()
                .filter_map(|&value| across(value))
                .map(|x| (10.0 * x).round() as i64)
                .collect();
            places.sort_unstable();
            places.dedup();
            out.push_str("<path class=\"ticks\" d=\"");
            for place in places {
                write!(out, "M{}.{} {top}v{TALL}", place / 10, place % 10).ok();
            }
            out.push_str("\"/>\n");
            for mark in &row.marks {
                let Some(x) = across(mark.value) else { continue };
                let y = top + TALL / 2.0;
                let text = escape(&mark.text);
                let circle = format!(
                    "<circle class=\"mark\" cx=\"{x:.1}\" cy=\"{y}\" r=\"4\"><title>{text}</title></circle>"
                );
                if mark.link.is_empty() {
                    writeln!(out, "{circle}").ok();
                } else {
                    writeln!(out, "<a href=\"{}\" aria-label=\"{text}\">{circle}</a>", escape(&mark.link))
                        .ok();
                }
            }
        }
        let (x, y) = (f64::midpoint(LEFT, RIGHT), bottom + 34.0);
        writeln!(out, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{label}</text></svg></div>").ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_values_are_one_path_and_marks_are_links() {
        let mark = StripMark { value: -2.0, text: "a b".to_owned(), link: "set?genes=a,b".to_owned() };
        let values = (0..100_000).map(|i| f64::from(i % 977) / 977.0).collect();
        let strip = Strip {
            across: "score".to_owned(),
            rows: vec![StripRow { name: "measured".to_owned(), values, marks: vec![mark] }],
        };
        let mut out = String::new();
        strip.draw(&mut out);
        assert_eq!((out.matches("<path").count(), out.matches("<circle").count()), (1, 1));
        assert!(out.contains("<a href=\"set?genes=a,b\""), "{out}");
        assert!(out.len() < 60_000, "{} bytes", out.len());
        let mut none = String::new();
        Strip::default().draw(&mut none);
        assert!(none.contains("no values"));
    }
}
