//! The page model: the content of a report, and its renderings as text, Markdown and HTML.
//!
//! A [`Page`] has findings, facts, a picture, sections of tables, and figures. The renderers depend on the model alone: nothing here
//! depends on traces, runs or models. Documents of `--json` are the findings themselves, not pages.

mod chart;
mod form;
mod frame;
mod html;
mod markdown;
mod markup;
mod palette;
mod table;
mod text;

pub use chart::{
    Chart, Diagram, DiagramNode, HeatMap, Plot, Scale, Scatter, Series, Strip, StripMark, StripRow,
    effect_colour,
};
pub use form::{Field, Form};
pub use frame::{Frame, FrameLink};
pub use markdown::markdown_cell;
pub use palette::colour;
#[cfg(all(test, feature = "lab"))]
pub(crate) use palette::colours;
pub use table::{Bar, BarSegment, Column, Mark, Table, TableCell};

use serde::Serialize;

/// A report, from top to bottom.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// Heading of the page.
    pub title: String,
    /// Line below the heading.
    pub subtitle: String,
    /// Command that made the page; it begins with `knockout`.
    pub made_by: String,
    /// Sentence in the last line of the page.
    pub footnote: String,
    /// Reasons to distrust the figures.
    pub warnings: Vec<String>,
    /// Figures to read first.
    pub facts: Vec<Fact>,
    /// Sentences to read first; the first one answers the question of the page. Text between backticks is code.
    pub findings: Vec<String>,
    /// Figure above the sections.
    pub picture: Option<Plot>,
    /// Cards above the sections, two beside each other where there is room.
    pub panels: Vec<Card>,
    /// Sections of tables and pictures.
    pub sections: Vec<Section>,
    /// Charts, two beside each other where there is room.
    pub figures: Vec<Plot>,
    /// Commands to run next, each with its purpose. Text between backticks is code.
    pub next: Vec<String>,
}

impl Page {
    /// Returns the sections that text and Markdown show, those of the panels first.
    fn text_sections(&self) -> impl Iterator<Item = &Section> {
        let panels = self.panels.iter().filter_map(|panel| match panel {
            Card::Section(section) => Some(section),
            Card::Plot(_) => None,
        });
        panels.chain(&self.sections).filter(|section| section.medium != Medium::Html)
    }
}

/// A card of a page that is read at one glance.
#[derive(Debug, Clone)]
pub enum Card {
    /// Tables and sentences, also in text and Markdown.
    Section(Section),
    /// A chart, in HTML.
    Plot(Plot),
}

/// A figure with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// Name of the figure, such as `best validation Pearson`.
    pub name: String,
    /// Formatted value.
    pub value: String,
}

impl Fact {
    /// Returns a fact.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into() }
    }
}

/// A part of a page with a heading of its own.
#[derive(Debug, Clone, Default)]
pub struct Section {
    /// Unique name in the page; links lead to it.
    pub id: String,
    /// Heading.
    pub title: String,
    /// Explanation below the heading.
    pub note: String,
    /// Content, in order.
    pub blocks: Vec<SectionItem>,
    /// Renderers that show the section.
    pub medium: Medium,
}

/// Renderers that show a section.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Medium {
    /// Text, Markdown and HTML.
    #[default]
    All,
    /// Text and Markdown.
    Text,
    /// HTML only.
    Html,
}

impl Section {
    /// Returns an empty section.
    pub fn new(id: impl Into<String>, title: impl Into<String>) -> Self {
        Self { id: id.into(), title: title.into(), ..Self::default() }
    }

    /// Sets the explanation below the heading.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// Sets the renderers that show the section.
    #[must_use]
    pub fn only(mut self, medium: Medium) -> Self {
        self.medium = medium;
        self
    }

    /// Appends content.
    #[must_use]
    pub fn with(mut self, block: impl Into<SectionItem>) -> Self {
        self.blocks.push(block.into());
        self
    }
}

/// A piece of a section.
#[derive(Debug, Clone)]
pub enum SectionItem {
    /// A sentence or two.
    Text(String),
    /// Sentences, one item each. Text between backticks is code.
    List(Vec<String>),
    /// Links to other files: name, and path relative to the page.
    Links(Vec<(String, String)>),
    /// A table.
    Table(Table),
    /// Nodes and edges.
    Diagram(Diagram),
    /// Shaded cells.
    HeatMap(HeatMap),
    /// A chart.
    Plot(Plot),
    /// Rows of values along one axis.
    Strip(Strip),
    /// Choices that lead to another view; in HTML only.
    Form(Form),
    /// A picture that the script of the page draws.
    Interactive(Interactive),
}

/// An interactive picture of an HTML page: data for the script.
#[derive(Debug, Clone, Serialize)]
pub struct Interactive {
    /// Name of the drawing function in `script/`.
    pub kind: &'static str,
    /// Unique name in the page; ids of its controls begin with it.
    pub id: String,
    /// Data, as named fields.
    pub data: serde_json::Value,
}

impl From<String> for SectionItem {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for SectionItem {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Vec<String>> for SectionItem {
    fn from(list: Vec<String>) -> Self {
        Self::List(list)
    }
}

impl From<Table> for SectionItem {
    fn from(table: Table) -> Self {
        Self::Table(table)
    }
}

impl From<Diagram> for SectionItem {
    fn from(diagram: Diagram) -> Self {
        Self::Diagram(diagram)
    }
}

impl From<HeatMap> for SectionItem {
    fn from(map: HeatMap) -> Self {
        Self::HeatMap(map)
    }
}

impl From<Plot> for SectionItem {
    fn from(plot: Plot) -> Self {
        Self::Plot(plot)
    }
}

impl From<Strip> for SectionItem {
    fn from(strip: Strip) -> Self {
        Self::Strip(strip)
    }
}

impl From<Form> for SectionItem {
    fn from(form: Form) -> Self {
        Self::Form(form)
    }
}

impl From<Interactive> for SectionItem {
    fn from(picture: Interactive) -> Self {
        Self::Interactive(picture)
    }
}
