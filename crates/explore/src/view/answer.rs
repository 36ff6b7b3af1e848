//! The answer to a request, and the problem of one that has no page.

use crate::catalog::{Catalog, Source};
use crate::query::address;
use crate::random;
use knockout_base::error::{Class, Error, chain};
use knockout_predict::CsvTable;
use knockout_report::page::{Frame, FrameLink, Page, Section, SectionItem};
use serde::Serialize;
use std::io;

/// The script of the application, behind that of every page.
const SCRIPT: &str = include_str!("explore.js");

/// Random bytes that name the script of a page.
const NONCE_BYTES: usize = 12;

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct HttpAnswer {
    /// Status of HTTP.
    pub(crate) status: u16,
    /// The content.
    pub(crate) reply: Reply,
    /// Number that the script of the page must have; empty where no script may run.
    pub(crate) nonce: String,
}

/// Content of an answer.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    Html(String),
    Json(String),
    /// A file to keep.
    File {
        name: String,
        kind: &'static str,
        bytes: Vec<u8>,
    },
    Text(String),
}

/// The views in the navigation, with their addresses.
const VIEWS: [(&str, &str); 5] =
    [("Gene", "gene"), ("Set", "set"), ("Hits", "hits"), ("Runs", "runs"), ("Traces", "traces")];

impl HttpAnswer {
    /// Returns plain text.
    pub(crate) fn text(text: String) -> Self {
        Self { status: 200, reply: Reply::Text(text), nonce: String::new() }
    }

    /// Returns a page with the navigation. `of` is the label of the run or dataset that is shown.
    pub(crate) fn page(page: &Page, view: &str, of: &str) -> Self {
        let link = |&(name, target): &(&str, &str)| FrameLink {
            name: name.to_owned(),
            address: address(target, &[("of", of)]),
            is_current: target == view,
        };
        let home =
            FrameLink { name: "knockout".to_owned(), address: "./".to_owned(), is_current: view.is_empty() };
        // Without random numbers no script runs.
        let nonce = random::digits::<NONCE_BYTES>().unwrap_or_default();
        let frame = Frame {
            links: std::iter::once(home).chain(VIEWS.iter().map(link)).collect(),
            search: "gene".to_owned(),
            script: SCRIPT,
            nonce: nonce.clone(),
        };
        Self { status: 200, reply: Reply::Html(page.to_html_in(&frame)), nonce }
    }

    /// Returns a document.
    pub(crate) fn json(document: &impl Serialize) -> Self {
        match serde_json::to_string(document) {
            Ok(text) => Self { status: 200, reply: Reply::Json(text), nonce: String::new() },
            Err(error) => Self { status: 500, ..Self::text(format!("{error}\n")) },
        }
    }

    /// Returns a table as a file to keep.
    pub(crate) fn csv<R: AsRef<[CsvCell]>>(
        name: &'static str,
        columns: &[&str],
        rows: impl IntoIterator<Item = R>,
    ) -> Self {
        let mut bytes = Vec::new();
        let written = (|| -> io::Result<()> {
            let mut table = CsvTable::new(&mut bytes);
            columns.iter().try_for_each(|column| table.text(column))?;
            table.end_row()?;
            for row in rows {
                for cell in row.as_ref() {
                    match cell {
                        CsvCell::Text(text) => table.text(text)?,
                        CsvCell::Number(number) => table.number(*number)?,
                    }
                }
                table.end_row()?;
            }
            table.finish()
        })();
        match written {
            Ok(()) => Self::file(format!("{name}.csv"), "text/csv; charset=utf-8", bytes),
            Err(error) => Self { status: 500, ..Self::text(format!("{error}\n")) },
        }
    }

    /// Returns a file to keep.
    pub(crate) fn file(name: String, kind: &'static str, bytes: Vec<u8>) -> Self {
        Self { status: 200, reply: Reply::File { name, kind, bytes }, nonce: String::new() }
    }
}

/// A cell of a table to keep.
#[derive(Debug, Clone)]
pub(crate) enum CsvCell {
    Text(String),
    Number(Option<f64>),
}

impl From<String> for CsvCell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for CsvCell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<f64> for CsvCell {
    fn from(number: f64) -> Self {
        Self::Number(Some(number))
    }
}

impl From<Option<f64>> for CsvCell {
    fn from(number: Option<f64>) -> Self {
        Self::Number(number)
    }
}

/// A request that cannot be answered with a page: status, message and links to similar names.
#[derive(Debug)]
pub(crate) struct Problem {
    status: u16,
    message: String,
    links: Vec<(String, String)>,
}

impl Problem {
    /// Something that does not exist.
    pub(crate) fn missing(message: impl Into<String>) -> Self {
        Self { status: 404, message: message.into(), links: Vec::new() }
    }

    /// A request that cannot be understood.
    pub(crate) fn wrong(message: impl Into<String>) -> Self {
        Self { status: 400, message: message.into(), links: Vec::new() }
    }

    /// Adds addresses that lead on.
    pub(crate) fn with_links(mut self, links: impl IntoIterator<Item = (String, String)>) -> Self {
        self.links.extend(links);
        self
    }

    /// Returns the page of the problem.
    pub(crate) fn answer(&self, view: &str, of: &str) -> HttpAnswer {
        let page = Page {
            title: if self.status == 404 { "Not found" } else { "This page cannot be shown" }.to_owned(),
            made_by: "knockout explore".to_owned(),
            warnings: vec![self.message.clone()],
            sections: match &self.links[..] {
                [] => Vec::new(),
                links => vec![Section::new("instead", "Instead").with(SectionItem::Links(links.to_vec()))],
            },
            ..Page::default()
        };
        HttpAnswer { status: self.status, ..HttpAnswer::page(&page, view, of) }
    }

    /// Returns the problem as text, for documents and tables.
    pub(crate) fn plain(&self) -> HttpAnswer {
        HttpAnswer { status: self.status, ..HttpAnswer::text(format!("{}\n", self.message)) }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let status = if error.class() == Class::Request { 400 } else { 500 };
        Self { status, message: chain(&error), links: Vec::new() }
    }
}

/// Returns the source that a query names.
pub(crate) fn source(catalog: &Catalog, of: &str) -> Result<Source, Problem> {
    catalog.source(of).ok_or_else(|| {
        if of.is_empty() {
            return Problem::missing("there is no run and no dataset in this folder, only traces");
        }
        let known = catalog.sources().iter().take(50);
        let links = known.map(|source| (source.label.clone(), address("gene", &[("of", &source.label)])));
        Problem::missing(format!("{of} is not a run or dataset of this folder")).with_links(links)
    })
}
