//! A training run as one self-contained HTML file: curves and predicted against measured, as inline SVG.
//!
//! From plain data to text: the page loads nothing, runs no script, and is light or dark as the reader's system is. Every
//! figure was computed elsewhere; only places on the paper are computed here. All points are drawn: many become a density.

mod axis;
mod curves;
mod labels;
mod scatter;

use crate::html::{STYLE as PAGE_STYLE, escape};
use crate::{ColumnKind, PageTable};
use std::fmt::Write as _;

/// The style sheet of charts.
pub(crate) const STYLE: &str = include_str!("training.css");

/// What a page shows, from top to bottom.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrainingPage {
    /// The run's name.
    pub title: String,
    /// One line below it: model, dataset, how it was started.
    pub subtitle: String,
    /// Figures to be seen first.
    pub facts: Vec<Fact>,
    /// Sentences to be read first: warnings, the comparison with the additive baseline.
    pub notes: Vec<String>,
    /// A table below them.
    pub table: Option<PageTable>,
    /// Curves, two beside each other where there is room.
    pub charts: Vec<Chart>,
    /// Predicted against measured, one for each part.
    pub scatters: Vec<Scatter>,
    /// The command that made the page.
    pub made_by: String,
}

/// A figure with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// Such as `best Pearson in validation`.
    pub name: String,
    /// As it is to be read.
    pub value: String,
}

/// How values become heights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// As they are.
    #[default]
    Linear,
    /// By their logarithm; values that have none are left out.
    Log,
}

/// Curves over a common axis.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chart {
    /// What is shown.
    pub title: String,
    /// What the horizontal axis counts: `epoch`, `step`.
    pub across: String,
    /// Whether it counts whole things: the numbers below it are whole ones.
    pub counts_whole: bool,
    /// The horizontal scale.
    pub across_scale: Scale,
    /// The vertical scale.
    pub scale: Scale,
    /// Curves over the horizontal axis.
    pub series: Vec<Series>,
}

/// One curve.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    /// Text in the legend.
    pub name: String,
    /// From left to right; a value that is not finite is a gap.
    pub points: Vec<(f64, f64)>,
}

/// Predicted against measured values of one part of the samples.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scatter {
    /// Heading: the part of the samples.
    pub title: String,
    /// Metrics over the whole part, as they are to be read.
    pub caption: String,
    /// One for each sample.
    pub measured: Vec<f32>,
    /// One for each sample, in the same order.
    pub predicted: Vec<f32>,
}

/// The page.
pub fn training_html(page: &TrainingPage) -> String {
    let mut out = String::with_capacity(1 << 16);
    let title = escape(&page.title);
    // Writing to a string cannot fail.
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title} – {made_by}</title>\n\
         <style>{PAGE_STYLE}{}</style>\n</head>\n<body>\n<header><h1>{title}</h1><p class=\"soft\">{}</p></header>\n<main>\n",
        self::STYLE,
        escape(&page.subtitle),
        made_by = escape(&page.made_by),
    )
    .ok();
    draw_facts(&mut out, &page.facts);
    draw_notes(&mut out, &page.notes);
    page.table.iter().for_each(|shown| table(&mut out, shown));
    draw_figures(&mut out, &page.charts, &page.scatters);
    writeln!(
        out,
        "</main>\n<footer>Made by <b>{}</b>. Metrics are over whole parts, never over a sample.</footer>\n</body>\n</html>",
        escape(&page.made_by)
    )
    .ok();
    out
}

pub(crate) fn draw_facts(out: &mut String, facts: &[Fact]) {
    if facts.is_empty() {
        return;
    }
    out.push_str("<section class=\"facts\">");
    for fact in facts {
        write!(out, "<div><b>{}</b><span>{}</span></div>", escape(&fact.value), escape(&fact.name)).ok();
    }
    out.push_str("</section>\n");
}

pub(crate) fn draw_notes(out: &mut String, notes: &[String]) {
    if notes.is_empty() {
        return;
    }
    out.push_str("<section><ul class=\"plain\">");
    for note in notes {
        out.push_str("<li>");
        // A command stands between backticks, as in the text.
        for (place, part) in note.split('`').enumerate() {
            let part = escape(part);
            if place % 2 == 1 {
                write!(out, "<code>{part}</code>").ok()
            } else {
                write!(out, "{part}").ok()
            };
        }
        out.push_str("</li>");
    }
    out.push_str("</ul></section>\n");
}

fn table(out: &mut String, table: &PageTable) {
    let class = |column: usize| match table.columns.get(column).map(|column| column.kind) {
        Some(ColumnKind::Number) => " class=\"num\"",
        _ => "",
    };
    out.push_str("<section>");
    if !table.title.is_empty() {
        write!(out, "<h2>{}</h2>", escape(&table.title)).ok();
    }
    out.push_str("<div class=\"scroll\"><table class=\"cards\"><tr class=\"head\">");
    for (place, column) in table.columns.iter().enumerate() {
        write!(out, "<th{}>{}</th>", class(place), escape(&column.name)).ok();
    }
    out.push_str("</tr>");
    for row in &table.rows {
        out.push_str("<tr>");
        for (place, cell) in row.iter().enumerate() {
            let label = table.columns.get(place).map_or("", |column| &column.name);
            write!(out, "<td{} data-label=\"{}\">{}</td>", class(place), escape(label), escape(cell)).ok();
        }
        out.push_str("</tr>");
    }
    out.push_str("</table></div></section>\n");
}

pub(crate) fn draw_figures(out: &mut String, charts: &[Chart], scatters: &[Scatter]) {
    grid(out, charts.iter().map(curves::draw));
    grid(out, scatters.iter().map(scatter::draw));
}

fn grid(out: &mut String, figures: impl Iterator<Item = String>) {
    out.push_str("<div class=\"figures\">\n");
    for figure in figures {
        out.push_str(&figure);
    }
    out.push_str("</div>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> TrainingPage {
        let hostile = "</style><script>alert(1)</script>&\"";
        TrainingPage {
            title: hostile.into(),
            subtitle: hostile.into(),
            facts: vec![Fact { name: hostile.into(), value: hostile.into() }],
            notes: vec![hostile.into()],
            table: Some(PageTable {
                title: String::new(),
                columns: vec![crate::Column::number(hostile)],
                rows: vec![vec![hostile.into()]],
            }),
            made_by: hostile.into(),
            charts: vec![Chart {
                title: hostile.into(),
                across: hostile.into(),
                counts_whole: false,
                across_scale: Scale::Linear,
                scale: Scale::Log,
                series: vec![Series {
                    name: hostile.into(),
                    points: vec![(0.0, 1.0), (1.0, 0.0), (2.0, 0.1)],
                }],
            }],
            scatters: vec![Scatter {
                title: hostile.into(),
                caption: hostile.into(),
                measured: vec![0.0, 1.0],
                predicted: vec![0.5, 0.5],
            }],
        }
    }

    #[test]
    fn hostile_names_stay_text() {
        let text = training_html(&page());
        assert!(!text.contains("<script") && text.contains("&lt;script&gt;"));
        assert_eq!(text.matches("</style>").count(), 1);
        assert!(!text.contains("NaN") && !text.contains("inf\""));
    }

    #[test]
    fn nothing_is_loaded_from_elsewhere() {
        let text = training_html(&page());
        for outside in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!text.contains(outside), "{outside} in the page");
        }
    }

    #[test]
    fn a_run_without_values_has_a_page() {
        assert!(training_html(&TrainingPage::default()).ends_with("</html>\n"));
    }
}
