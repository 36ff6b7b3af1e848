//! A page as text for a terminal.

use super::{Block, Medium, Page, Section};
use std::fmt::Write as _;

impl Page {
    /// Renders the sections and the warnings as text, with their headings.
    pub fn sections_to_text(&self) -> String {
        let mut out = String::new();
        for section in self.sections.iter().filter(|section| section.medium != Medium::Html) {
            section.write_text(&mut out);
        }
        if !self.warnings.is_empty() {
            Section::new("", "Warnings").with(self.warnings.clone()).write_text(&mut out);
        }
        out
    }
}

impl Section {
    fn write_text(&self, out: &mut String) {
        writeln!(out, "\n{}", self.title).ok();
        for block in &self.blocks {
            match block {
                Block::Text(text) => writeln!(out, "  {text}").ok(),
                Block::List(items) => {
                    for item in items {
                        writeln!(out, "  - {item}").ok();
                    }
                    None
                }
                Block::Table(table) => {
                    if !table.title.is_empty() {
                        writeln!(out, "\n  {}", table.title).ok();
                    }
                    out.push_str(&table.to_indented_text("  "));
                    None
                }
                Block::Diagram(_) | Block::Interactive(_) => None,
            };
        }
    }
}
