//! A page as text for a terminal.

use super::{Column, Page, Section, SectionItem, Table};
use std::fmt::Write as _;

impl Page {
    /// Renders the page as text: findings, facts, sections, warnings and the next commands.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        for finding in &self.findings {
            writeln!(out, "{finding}").ok();
        }
        if !self.facts.is_empty() {
            let rows = self.facts.iter().map(|fact| [&fact.name[..], &fact.value[..]]);
            let table = Table::new([Column::text(""), Column::text("")]).with_rows(rows);
            write!(out, "\n{}", table.to_text()).ok();
        }
        self.write_sections(&mut out, "");
        if !self.next.is_empty() {
            out.push('\n');
        }
        for next in &self.next {
            writeln!(out, "next: {}", next.replace('`', "")).ok();
        }
        out.trim_start_matches('\n').to_owned()
    }

    /// Renders the sections and the warnings as text below their headings.
    pub fn sections_to_text(&self) -> String {
        let mut out = String::new();
        self.write_sections(&mut out, "  ");
        out
    }

    fn write_sections(&self, out: &mut String, indent: &str) {
        for section in self.text_sections() {
            section.write_text(out, indent);
        }
        if !self.warnings.is_empty() {
            Section::new("", "Warnings").with(self.warnings.clone()).write_text(out, indent);
        }
    }
}

impl Section {
    fn write_text(&self, out: &mut String, indent: &str) {
        out.push('\n');
        if !self.title.is_empty() {
            writeln!(out, "{}", self.title).ok();
        }
        for block in &self.blocks {
            match block {
                SectionItem::Text(text) => writeln!(out, "{indent}{text}").ok(),
                SectionItem::List(items) => {
                    for item in items {
                        writeln!(out, "{indent}- {item}").ok();
                    }
                    None
                }
                SectionItem::Links(links) => {
                    for (name, path) in links {
                        writeln!(out, "{indent}{name}: {path}").ok();
                    }
                    None
                }
                SectionItem::Table(table) => {
                    if !table.title.is_empty() {
                        writeln!(out, "\n{indent}{}", table.title).ok();
                    }
                    out.push_str(&table.to_indented_text(indent));
                    None
                }
                SectionItem::Diagram(_)
                | SectionItem::HeatMap(_)
                | SectionItem::Plot(_)
                | SectionItem::Strip(_)
                | SectionItem::Form(_)
                | SectionItem::Interactive(_) => None,
            };
        }
    }
}
