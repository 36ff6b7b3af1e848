//! Rows by columns, each cell shaded by its value.

use crate::page::markup::escape;
use std::fmt::Write as _;

/// A table of values as shaded cells.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HeatMap {
    /// Sentence below the picture.
    pub caption: String,
    /// Names of the rows.
    pub rows: Vec<String>,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Values by row and column; darkest is the largest.
    pub values: Vec<Vec<f64>>,
    /// Text of each value, in the same order.
    pub texts: Vec<Vec<String>>,
}

const LEFT: f64 = 70.0;
const WIDTH: f64 = 620.0;
const HEIGHT: f64 = 16.0;

impl HeatMap {
    pub(in crate::page) fn draw(&self, out: &mut String) {
        let most =
            self.values.iter().flatten().copied().filter(|value| value.is_finite()).fold(0.0, f64::max);
        let width = (WIDTH - LEFT) / self.columns.len().max(1) as f64;
        let height = HEIGHT * self.rows.len() as f64 + 20.0;
        writeln!(
            out,
            "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">",
            escape(&self.caption)
        )
        .ok();
        for (row, name) in self.rows.iter().enumerate() {
            let y = HEIGHT * row as f64;
            writeln!(
                out,
                "<text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 6.0,
                y + 12.0,
                escape(name)
            )
            .ok();
            let values = self.values.get(row).into_iter().flatten();
            let texts = self.texts.get(row).into_iter().flatten();
            for ((column, value), text) in values.enumerate().zip(texts) {
                let shade =
                    if most > 0.0 && value.is_finite() { (value / most).clamp(0.0, 1.0) } else { 0.0 };
                let of = self.columns.get(column).map_or("", String::as_str);
                write!(
                    out,
                    "<rect class=\"cell\" x=\"{:.2}\" y=\"{y:.1}\" width=\"{:.2}\" height=\"{:.1}\" fill-opacity=\"{:.3}\"><title>{}, {}: {}</title></rect>",
                    LEFT + width * column as f64,
                    (width - 0.5).max(0.2),
                    HEIGHT - 1.0,
                    0.04 + 0.96 * shade,
                    escape(name),
                    escape(of),
                    escape(text)
                )
                .ok();
            }
        }
        let (first, last) = (self.columns.first(), self.columns.last().filter(|_| self.columns.len() > 1));
        for (x, anchor, name) in [(LEFT, "start", first), (WIDTH, "end", last)] {
            if let Some(name) = name {
                let y = height - 6.0;
                writeln!(
                    out,
                    "<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
                    escape(name)
                )
                .ok();
            }
        }
        writeln!(out, "</svg>\n<p class=\"soft\">{}</p>", escape(&self.caption)).ok();
    }
}
