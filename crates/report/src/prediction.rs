//! Predictions as one self-contained HTML file: tables that can be searched, charts, a small drawing of genes and their edges.
//!
//! From plain data to text: the page loads nothing. Its one script hides the rows of tables that do not match the search. Every
//! figure was computed elsewhere; only places on the paper are computed here.

use crate::PageTable;
use crate::html::{STYLE, escape};
use crate::training::{Chart, Fact, Scatter, draw_facts, draw_figures, draw_notes};
use std::f64::consts::TAU;
use std::fmt::Write as _;

/// What a page shows, from top to bottom.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PredictionPage {
    /// Heading of the page.
    pub title: String,
    /// One line below it.
    pub subtitle: String,
    /// The command that made it.
    pub made_by: String,
    /// Figures to be seen first.
    pub facts: Vec<Fact>,
    /// Sentences to be read first.
    pub notes: Vec<String>,
    /// Curves.
    pub charts: Vec<Chart>,
    /// Predicted against measured.
    pub scatters: Vec<Scatter>,
    /// Genes and their edges.
    pub drawing: Option<Drawing>,
    /// Tables, in the order of the page.
    pub tables: Vec<PageTable>,
}

/// Nodes on a circle and the edges between them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drawing {
    /// What is drawn.
    pub title: String,
    /// Names; those of the set in the middle, neighbours around them.
    pub nodes: Vec<Node>,
    /// Ends as places among the nodes, and how many networks have the edge.
    pub edges: Vec<(usize, usize, usize)>,
}

/// A node of a drawing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    /// Text beside the node.
    pub name: String,
    /// Whether it belongs to the set.
    pub is_deleted: bool,
}

const CSS: &str = "
.search { width: 100%; box-sizing: border-box; padding: 7px 10px; font: inherit; margin: 4px 0 10px; }
.hits { max-height: 560px; overflow: auto; }
.hits thead th { position: sticky; top: 0; background: var(--card); }
.hits td { font-variant-numeric: tabular-nums; }
svg .edge { stroke: var(--soft); stroke-opacity: .55; }
svg .gene { fill: var(--s1); }
svg .deleted { fill: var(--s5); }
svg .name { paint-order: stroke; stroke: var(--card); stroke-width: 4px; stroke-linejoin: round; fill: var(--ink); }
";

const SCRIPT: &str = "
for (const field of document.querySelectorAll('.search')) {
  const rows = field.closest('section').querySelectorAll('tbody tr');
  field.addEventListener('input', () => {
    const words = field.value.toLowerCase().split(/\\s+/).filter(Boolean);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every(word => text.includes(word));
    }
  });
}
";

/// The page.
pub fn prediction_html(page: &PredictionPage) -> String {
    let mut out = String::with_capacity(1 << 16);
    let title = escape(&page.title);
    // Writing to a string cannot fail.
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title} – knockout</title>\n\
         <style>{STYLE}{}{CSS}</style>\n</head>\n<body>\n<header><h1>{title}</h1><p class=\"soft\">{}</p></header>\n<main>\n",
        crate::training::STYLE,
        escape(&page.subtitle),
    )
    .ok();
    draw_facts(&mut out, &page.facts);
    draw_notes(&mut out, &page.notes);
    if let Some(drawing) = &page.drawing {
        draw(&mut out, drawing);
    }
    page.tables.iter().for_each(|table| draw_table(&mut out, table));
    draw_figures(&mut out, &page.charts, &page.scatters);
    write!(
        out,
        "</main>\n<footer>Made by <b>{}</b>.</footer>\n<script>{SCRIPT}</script>\n</body>\n</html>\n",
        escape(&page.made_by)
    )
    .ok();
    out
}

fn draw_table(out: &mut String, table: &PageTable) {
    /// Tables below it need no search.
    const SEARCHED: usize = 12;
    writeln!(out, "<section><h2>{}</h2>", escape(&table.title)).ok();
    if table.rows.len() > SEARCHED {
        out.push_str(
            "<input class=\"search\" type=\"search\" placeholder=\"search\" aria-label=\"search\">\n",
        );
    }
    out.push_str("<div class=\"scroll hits\"><table><thead><tr>");
    for column in &table.columns {
        write!(out, "<th>{}</th>", escape(&column.name)).ok();
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for cell in row {
            write!(out, "<td>{}</td>", escape(cell)).ok();
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div></section>\n");
}

fn draw(out: &mut String, drawing: &Drawing) {
    const SIDE: f64 = 440.0;
    /// Radius of the inner circle, of the set, and of the outer one.
    const RADII: [f64; 2] = [60.0, 165.0];
    let count = |is_deleted: bool| drawing.nodes.iter().filter(|node| node.is_deleted == is_deleted).count();
    let mut seen = [0_usize; 2];
    let places: Vec<(f64, f64)> = drawing
        .nodes
        .iter()
        .map(|node| {
            let ring = usize::from(!node.is_deleted);
            let angle = TAU * seen[ring] as f64 / count(node.is_deleted).max(1) as f64 - TAU / 4.0;
            seen[ring] += 1;
            (SIDE / 2.0 + RADII[ring] * angle.cos(), SIDE / 2.0 + RADII[ring] * angle.sin())
        })
        .collect();
    let title = escape(&drawing.title);
    write!(out, "<section><h2>{title}</h2>\n<svg class=\"square\" viewBox=\"0 0 {SIDE} {SIDE}\" role=\"img\" aria-label=\"{title}\">\n").ok();
    for &(from, to, networks) in &drawing.edges {
        let (Some((x1, y1)), Some((x2, y2))) = (places.get(from), places.get(to)) else { continue };
        let width = 0.7 + 0.6 * networks as f64;
        writeln!(
            out,
            "<line class=\"edge\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke-width=\"{width:.1}\"/>"
        )
        .ok();
    }
    for (node, (x, y)) in drawing.nodes.iter().zip(&places) {
        let class = if node.is_deleted { "deleted" } else { "gene" };
        writeln!(out, "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"6\"/>").ok();
    }
    // Names last, so that no line crosses them, and on the side that edges do not leave to.
    for (node, (x, y)) in drawing.nodes.iter().zip(&places) {
        let aside = if *y > SIDE / 2.0 + 1.0 { 20.0 } else { -10.0 };
        let name = escape(&node.name);
        let y = y + aside;
        writeln!(out, "<text class=\"name\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{name}</text>")
            .ok();
    }
    out.push_str("</svg>\n<p class=\"soft\">Red: the set. Thicker lines: more networks.</p></section>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> PredictionPage {
        let hostile = || "</style><script>alert(1)</script>&\"".to_owned();
        PredictionPage {
            title: hostile(),
            subtitle: hostile(),
            made_by: hostile(),
            facts: vec![Fact { name: hostile(), value: hostile() }],
            notes: vec![hostile()],
            drawing: Some(Drawing {
                title: hostile(),
                nodes: vec![Node { name: hostile(), is_deleted: true }, Node::default()],
                edges: vec![(0, 1, 3), (0, 9, 1)],
            }),
            tables: vec![PageTable {
                title: hostile(),
                columns: vec![crate::Column::text(hostile())],
                rows: vec![vec![hostile()]; 20],
            }],
            ..PredictionPage::default()
        }
    }

    #[test]
    fn hostile_names_stay_text() {
        let text = prediction_html(&page());
        assert_eq!((text.matches("<script").count(), text.matches("</style>").count()), (1, 1));
        assert!(text.contains("&lt;script&gt;") && !text.contains("NaN"));
    }

    #[test]
    fn nothing_is_loaded_from_elsewhere() {
        let text = prediction_html(&page());
        for outside in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!text.contains(outside), "{outside} in the page");
        }
        assert!(prediction_html(&PredictionPage::default()).ends_with("</html>\n"));
    }
}
