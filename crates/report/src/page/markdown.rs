//! Pages and tables as Markdown.

use super::table::ColumnKind;
use super::{Column, Mark, Page, SectionItem, Table, TableCell};
use std::fmt::Write as _;

impl Page {
    /// Renders the page as Markdown: the heading, findings, facts, sections, warnings and the next commands.
    pub fn to_markdown(&self) -> String {
        let mut out = format!("# {}\n\n", markdown_cell(&self.title));
        if !self.subtitle.is_empty() {
            writeln!(out, "{}\n", markdown_cell(&self.subtitle)).ok();
        }
        list(&mut out, &self.findings);
        if !self.facts.is_empty() {
            let rows = self.facts.iter().map(|fact| [&fact.name[..], &fact.value[..]]);
            let table = Table::new([Column::text(""), Column::text("")]).with_rows(rows);
            writeln!(out, "{}", table.to_markdown()).ok();
        }
        for section in self.text_sections() {
            if !section.title.is_empty() {
                writeln!(out, "## {}\n", markdown_cell(&section.title)).ok();
            }
            for block in &section.blocks {
                match block {
                    SectionItem::Text(text) => writeln!(out, "{}\n", markdown_cell(text)).unwrap_or_default(),
                    SectionItem::List(items) => list(&mut out, items),
                    SectionItem::Links(links) => {
                        let link = |(name, path): &(String, String)| format!("[{name}]({path})");
                        list(&mut out, &links.iter().map(link).collect::<Vec<_>>());
                    }
                    SectionItem::Table(table) => writeln!(out, "{}", table.to_markdown()).unwrap_or_default(),
                    SectionItem::Diagram(_)
                    | SectionItem::HeatMap(_)
                    | SectionItem::Plot(_)
                    | SectionItem::Strip(_)
                    | SectionItem::Form(_)
                    | SectionItem::Interactive(_) => {}
                }
            }
        }
        list(&mut out, &self.warnings);
        list(&mut out, &self.next);
        out.truncate(out.trim_end().len());
        out.push('\n');
        out
    }
}

fn list(out: &mut String, items: &[String]) {
    for item in items {
        writeln!(out, "- {}", markdown_cell(item)).ok();
    }
    if !items.is_empty() {
        out.push('\n');
    }
}

impl Table {
    /// Renders the table as Markdown, without columns of bars.
    pub fn to_markdown(&self) -> String {
        let is_shown = |column: &&Column| column.kind != ColumnKind::Bar;
        let columns = || self.columns.iter().filter(is_shown);
        let names: Vec<String> = columns().map(|column| markdown_cell(&column.name)).collect();
        let rule = |column: &Column| if column.kind == ColumnKind::Number { "---:" } else { "---" };
        let rules: Vec<&str> = columns().map(rule).collect();
        let mut text = format!("| {} |\n|{}|\n", names.join(" | "), rules.join("|"));
        for row in &self.rows {
            let cells = row.iter().zip(&self.columns).filter(|(_, column)| is_shown(column));
            let cells: Vec<String> = cells.map(|(cell, _)| markdown(cell)).collect();
            writeln!(text, "| {} |", cells.join(" | ")).ok();
        }
        text
    }
}

/// Returns the text of a cell; an important one is bold.
fn markdown(cell: &TableCell) -> String {
    let text = markdown_cell(&cell.text);
    if cell.mark == Some(Mark::Strong) { format!("**{text}**") } else { text }
}

/// Escapes text for a cell or a line of Markdown.
pub fn markdown_cell(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('|', "\\|").replace('*', "\\*").replace('<', "&lt;");
    text.replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::super::{Bar, Fact, Section};
    use super::*;

    #[test]
    fn a_page_has_everything_but_pictures() {
        let table = Table::new([Column::text("model"), Column::bar(), Column::number("Pearson")])
            .with_rows([[TableCell::from("a|b *"), Bar::of(1.0, "red").into(), "0.5".into()]]);
        let page = Page {
            title: "Models".to_owned(),
            findings: vec!["`a` leads".to_owned()],
            facts: vec![Fact::new("best", "a")],
            sections: vec![Section::new("models", "Table").with(table)],
            ..Page::default()
        };
        let expected = "# Models\n\n- `a` leads\n\n|  |  |\n|---|---|\n| best | a |\n\n## Table\n\n\
                        | model | Pearson |\n|---|---:|\n| a\\|b \\* | 0.5 |\n";
        assert_eq!(page.to_markdown(), expected);
    }
}
