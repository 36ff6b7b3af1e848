//! A page as one self-contained HTML file: no network, light and dark, readable on a phone and on paper.
//!
//! Text, tables and charts are written here and need no script. The script sorts and searches tables, and draws the pictures
//! ([`Interactive`](super::Interactive)) from one JSON document inside the page.

use super::markup::escape;
use super::table::{Bar, ColumnKind, Mark};
use super::{Card, Column, Frame, Interactive, Medium, Page, Section, SectionItem, Table, TableCell};
use std::fmt::Write as _;

const STYLE: [&str; 2] = [include_str!("page.css"), include_str!("charts.css")];
/// The script's parts; the first defines what the others use.
const SCRIPT: [&str; 5] = [
    include_str!("script/base.js"),
    include_str!("script/tables.js"),
    include_str!("script/pictures.js"),
    include_str!("script/timeline.js"),
    include_str!("script/export.js"),
];
/// The script's end, which begins.
const START: &str = include_str!("script/start.js");
/// Tables with more rows can be searched.
const SEARCHED: usize = 8;
/// Pages with more sections have a list of them.
const LISTED: usize = 9;

impl Page {
    /// Renders the page as HTML.
    pub fn to_html(&self) -> String {
        self.render(&Frame::default())
    }

    /// Renders the page as HTML inside an application.
    pub fn to_html_in(&self, frame: &Frame) -> String {
        self.render(frame)
    }

    fn render(&self, frame: &Frame) -> String {
        let title = escape(&self.title);
        let maker: Vec<&str> = self.made_by.split(' ').take(2).collect();
        let mut out = String::with_capacity(1 << 17);
        // Writing to a string cannot fail.
        write!(
            out,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title} – {}</title>\n<style>{}</style>\n</head>\n\
             <body>\n{}<header><h1>{title}</h1><p class=\"soft\">{}</p></header>\n<main>\n",
            escape(&maker.join(" ")),
            STYLE.concat(),
            frame.navigation(),
            escape(&self.subtitle)
        )
        .ok();
        let sections: Vec<&Section> =
            self.sections.iter().filter(|section| section.medium != Medium::Text).collect();
        contents(&mut out, &sections);
        self.summary(&mut out);
        if !self.warnings.is_empty() {
            out.push_str("<section id=\"warnings\"><h2>Warnings</h2>\n");
            list(&mut out, &self.warnings);
            out.push_str("</section>\n");
        }
        if let Some(picture) = &self.picture {
            write!(out, "<div class=\"picture\">\n{}</div>\n", picture.draw()).ok();
        }
        if !self.panels.is_empty() {
            out.push_str("<div class=\"figures\">\n");
            for panel in &self.panels {
                match panel {
                    Card::Section(section) => draw_section(&mut out, section),
                    Card::Plot(figure) => out.push_str(&figure.draw()),
                }
            }
            out.push_str("</div>\n");
        }
        for section in &sections {
            draw_section(&mut out, section);
        }
        if !self.figures.is_empty() {
            out.push_str("<div class=\"figures\">\n");
            self.figures.iter().for_each(|figure| out.push_str(&figure.draw()));
            out.push_str("</div>\n");
        }
        if !self.next.is_empty() {
            out.push_str("<section id=\"next\"><h2>Next</h2>\n");
            list(&mut out, &self.next);
            out.push_str("</section>\n");
        }
        write!(
            out,
            "</main>\n<footer>Made by <b>{}</b>. {}</footer>\n<div id=\"tip\" role=\"status\" hidden></div>\n\
             <script type=\"application/json\" id=\"data\">{}</script>\n",
            escape(&self.made_by),
            escape(&self.footnote),
            pictures(&sections)
        )
        .ok();
        // In a function of its own, so that its names do not meet those of the document's elements.
        write!(
            out,
            "<script{}>(function () {{\n'use strict';\n{}{}{START}}})();\n</script>\n</body>\n</html>\n",
            frame.nonce_attribute(),
            SCRIPT.concat(),
            frame.script
        )
        .ok();
        out
    }

    fn summary(&self, out: &mut String) {
        if self.facts.is_empty() && self.findings.is_empty() {
            return;
        }
        out.push_str("<section id=\"summary\">\n");
        list(out, &self.findings);
        if !self.facts.is_empty() {
            out.push_str("<div class=\"facts\">");
            for fact in &self.facts {
                write!(out, "<div><b>{}</b><span>{}</span></div>", escape(&fact.value), escape(&fact.name))
                    .ok();
            }
            out.push_str("</div>\n");
        }
        out.push_str("</section>\n");
    }
}

/// Links to the sections of a long page.
fn contents(out: &mut String, sections: &[&Section]) {
    if sections.len() <= LISTED {
        return;
    }
    out.push_str("<nav class=\"contents\" aria-label=\"contents\">");
    let mut listed = Vec::new();
    for section in sections {
        // Titles hold details behind a mark; of those that differ in nothing else, the first is listed.
        let title = section.title.split([':', ',', '(']).next().unwrap_or_default().trim();
        if listed.contains(&title) {
            continue;
        }
        listed.push(title);
        write!(out, "<a href=\"#{}\">{}</a>", escape(&section.id), escape(title)).ok();
    }
    out.push_str("</nav>\n");
}

/// The data of all pictures. Inside a script element only `<` could end it early.
fn pictures(sections: &[&Section]) -> String {
    let blocks = sections.iter().flat_map(|section| &section.blocks);
    let pictures: Vec<&Interactive> = blocks
        .filter_map(|block| match block {
            SectionItem::Interactive(picture) => Some(picture),
            _ => None,
        })
        .collect();
    // Names are text and values are finite, so that nothing here fails.
    serde_json::to_string(&pictures).unwrap_or_default().replace('<', "\\u003c")
}

fn draw_section(out: &mut String, section: &Section) {
    write!(out, "<section id=\"{}\">", escape(&section.id)).ok();
    if !section.title.is_empty() {
        writeln!(out, "<h2>{}</h2>", escape(&section.title)).ok();
    }
    if !section.note.is_empty() {
        writeln!(out, "<p class=\"soft\">{}</p>", escape(&section.note)).ok();
    }
    for block in &section.blocks {
        match block {
            SectionItem::Text(text) => {
                writeln!(out, "<p class=\"soft\">{}</p>", escape(text)).ok();
            }
            SectionItem::List(items) => list(out, items),
            SectionItem::Links(links) => {
                out.push_str("<ul class=\"plain\">");
                for (name, path) in links {
                    write!(out, "<li><a href=\"{}\">{}</a></li>", escape(path), escape(name)).ok();
                }
                out.push_str("</ul>\n");
            }
            SectionItem::Table(table) => draw_table(out, table),
            SectionItem::Diagram(diagram) => diagram.draw(out),
            SectionItem::HeatMap(map) => map.draw(out),
            SectionItem::Plot(plot) => out.push_str(&plot.draw()),
            SectionItem::Strip(strip) => strip.draw(out),
            SectionItem::Form(form) => form.draw(out),
            SectionItem::Interactive(picture) => {
                writeln!(
                    out,
                    "<div id=\"{}-picture\"><noscript>A script draws this picture.</noscript></div>",
                    escape(&picture.id)
                )
                .ok();
            }
        }
    }
    out.push_str("</section>\n");
}

fn list(out: &mut String, items: &[String]) {
    if items.is_empty() {
        return;
    }
    out.push_str("<ul class=\"plain\">");
    for item in items {
        out.push_str("<li>");
        for (index, part) in item.split('`').enumerate() {
            let part = escape(part);
            if index % 2 == 1 {
                write!(out, "<code>{part}</code>").ok()
            } else {
                write!(out, "{part}").ok()
            };
        }
        out.push_str("</li>");
    }
    out.push_str("</ul>\n");
}

fn draw_table(out: &mut String, table: &Table) {
    let id = escape(&table.id);
    out.push_str("<div class=\"table\">\n");
    if !table.title.is_empty() {
        writeln!(out, "<div class=\"side\">{}</div>", escape(&table.title)).ok();
    }
    if table.rows.len() > SEARCHED {
        out.push_str(
            "<div class=\"tools\"><input type=\"search\" placeholder=\"search\" aria-label=\"search\"",
        );
        if !id.is_empty() {
            write!(out, " id=\"{id}-search\"").ok();
        }
        out.push_str("><span class=\"soft found\"></span></div>\n");
    }
    out.push_str("<div class=\"scroll\"><table");
    if !id.is_empty() {
        write!(out, " id=\"{id}\"").ok();
    }
    if let Some(limit) = table.html_rows.filter(|limit| table.rows.len() > *limit) {
        write!(out, " data-limit=\"{limit}\"").ok();
    }
    out.push_str("><thead><tr>");
    for column in &table.columns {
        let name = escape(&column.name);
        write!(out, "<th scope=\"col\"{}><button type=\"button\">{name}</button></th>", class(column)).ok();
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for (cell, column) in row.iter().zip(&table.columns) {
            draw_cell(out, cell, column);
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n</div>\n");
}

fn class(column: &Column) -> String {
    let kind = match column.kind {
        ColumnKind::Text => "",
        ColumnKind::Name => "name",
        ColumnKind::Number => "num",
        ColumnKind::Bar => "bars",
    };
    let wide = if column.is_wide_only { "roomy" } else { "" };
    match [kind, wide].join(" ").trim() {
        "" => String::new(),
        classes => format!(" class=\"{classes}\""),
    }
}

fn draw_cell(out: &mut String, cell: &TableCell, column: &Column) {
    write!(out, "<td{}", class(column)).ok();
    if let Some(value) = cell.value.filter(|value| value.is_finite()) {
        write!(out, " data-value=\"{value}\"").ok();
    }
    out.push('>');
    if let Some(bar) = &cell.bar {
        draw_bar(out, bar);
    }
    if let Some(colour) = &cell.colour {
        write!(out, "<i class=\"dot\" style=\"background:{colour}\"></i>").ok();
    }
    let mut text = escape(&cell.text);
    if let Some(link) = &cell.link {
        text = format!("<a href=\"{}\">{text}</a>", escape(link));
    }
    match cell.mark {
        None => write!(out, "{text}"),
        Some(Mark::Strong) => write!(out, "<b>{text}</b>"),
        Some(Mark::Good) => write!(out, "<span class=\"fast\">{text}</span>"),
        Some(Mark::Bad) => write!(out, "<span class=\"slow\">{text}</span>"),
    }
    .ok();
    out.push_str("</td>");
}

fn draw_bar(out: &mut String, bar: &Bar) {
    let percent = |fraction: f64| 100.0 * fraction.clamp(0.0, 1.0);
    out.push_str("<div class=\"track\">");
    let mut left = bar.start;
    for segment in &bar.segments {
        write!(
            out,
            "<div class=\"fill\" style=\"left:{:.2}%;width:{:.2}%;background:{}\" title=\"{}\"></div>",
            percent(left),
            percent(segment.length),
            segment.colour,
            escape(&segment.title)
        )
        .ok();
        left += segment.length.max(0.0);
    }
    if let Some((low, high)) = bar.interval {
        write!(out, "<i style=\"left:{:.2}%;width:{:.2}%\"></i>", percent(low), percent(high - low)).ok();
    }
    if let Some(at) = bar.reference {
        write!(out, "<b style=\"left:{:.2}%\"></b>", percent(at)).ok();
    }
    out.push_str("</div>");
}

#[cfg(test)]
mod tests {
    use super::super::{
        Chart, Diagram, DiagramNode, Fact, Field, Form, FrameLink, HeatMap, Interactive, Plot, Scale,
        Scatter, Series, Strip, StripMark, StripRow,
    };
    use super::*;

    const HOSTILE: &str = "</style></script><script>alert(1)</script>&\"";

    fn page() -> Page {
        let text = || HOSTILE.to_owned();
        let table = Table::new([Column::text(HOSTILE), Column::bar()])
            .id("t")
            .titled(HOSTILE)
            .with_rows([[TableCell::from(HOSTILE).marked(Some(Mark::Bad)), Bar::of(0.5, "red").into()]]);
        let diagram = Diagram {
            nodes: vec![
                DiagramNode { name: text(), is_deleted: true, ..DiagramNode::default() },
                DiagramNode { name: text(), link: text(), colour: text(), ..DiagramNode::default() },
            ],
            edges: vec![(0, 1, 3), (0, 9, 1)],
            ..Diagram::default()
        };
        let mark = StripMark { value: 0.5, text: text(), link: text() };
        let strip = Strip {
            across: text(),
            rows: vec![StripRow { name: text(), values: vec![0.1, f64::NAN], marks: vec![mark] }],
        };
        let choices = vec![(text(), text())];
        let form = Form {
            action: text(),
            hidden: vec![(text(), text())],
            fields: vec![
                Field::Text { name: text(), label: text(), value: text(), suggestions: text() },
                Field::Choice { name: text(), label: text(), choices, chosen: text() },
                Field::Switch { name: text(), label: text(), value: text(), is_on: true },
            ],
            submit: text(),
        };
        Page {
            title: text(),
            subtitle: text(),
            made_by: text(),
            footnote: text(),
            facts: vec![Fact::new(HOSTILE, HOSTILE)],
            findings: vec![text()],
            warnings: vec![text()],
            sections: vec![
                Section::new("a", HOSTILE)
                    .note(HOSTILE)
                    .with(HOSTILE)
                    .with(vec![text()])
                    .with(SectionItem::Links(vec![(text(), text())]))
                    .with(table)
                    .with(diagram)
                    .with(strip)
                    .with(form)
                    .with(HeatMap {
                        caption: text(),
                        rows: vec![text()],
                        columns: vec![text(), text()],
                        values: vec![vec![f64::NAN, 0.0]],
                        texts: vec![vec![text(), text()]],
                    })
                    .with(Interactive {
                        kind: "flame",
                        id: "p".to_owned(),
                        data: serde_json::json!({"name": HOSTILE}),
                    }),
            ],
            figures: vec![
                Plot::Chart(Chart {
                    title: text(),
                    across: text(),
                    scale: Scale::Log,
                    up: text(),
                    series: vec![Series::new(text(), [(0.0, 1.0), (1.0, 0.0), (2.0, 0.1)])],
                    ..Chart::default()
                }),
                Plot::Scatter(Scatter {
                    title: text(),
                    caption: text(),
                    measured: vec![0.0, 1.0],
                    predicted: vec![0.5, 0.5],
                    unit: text(),
                }),
            ],
            picture: Some(Plot::Chart(Chart { title: text(), ..Chart::default() })),
            panels: vec![Card::Section(Section::new("panel", HOSTILE).with(HOSTILE))],
            next: vec![text()],
        }
    }

    #[test]
    fn hostile_names_stay_text() {
        let html = page().to_html();
        assert!(!html.contains("alert(1)</script>"), "no script element ends early");
        assert_eq!((html.matches("<script").count(), html.matches("</style>").count()), (2, 1));
        assert!(!html.contains("NaN") && !html.contains("inf\""));
    }

    #[test]
    fn hostile_names_stay_text_inside_an_application() {
        let text = || HOSTILE.to_owned();
        let frame = Frame {
            links: vec![FrameLink { name: text(), address: text(), is_current: true }],
            search: text(),
            nonce: "n0nce".to_owned(),
            script: "const mine = 1;",
        };
        let html = page().to_html_in(&frame);
        assert!(!html.contains("alert(1)</script>"), "no script element ends early");
        assert_eq!((html.matches("<script").count(), html.matches("</style>").count()), (2, 1));
        assert!(html.contains("<script nonce=\"n0nce\">") && html.contains("const mine = 1;"));
    }

    #[test]
    fn nothing_is_loaded_from_elsewhere() {
        let html = page().to_html();
        for outside in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!html.contains(outside), "{outside} in the page");
        }
    }

    #[test]
    fn an_empty_page_is_complete() {
        let html = Page::default().to_html();
        assert!(html.starts_with("<!doctype html>") && html.ends_with("</html>\n"));
    }
}
