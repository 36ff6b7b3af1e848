//! The first page: what the folder contains.

use super::shared::empty_page;
use crate::catalog::SourceKind;
use crate::explorer::Explorer;
use crate::query::address;
use knockout_report::page::{Column, Page, Section, Table, TableCell};

/// Rows of a table before it is expanded.
const SHOWN: usize = 20;

pub(super) fn page(explorer: &Explorer) -> Page {
    let catalog = &explorer.catalog;
    let mut page = empty_page(format!("Exploring {}", catalog.title()), catalog.summary());
    let columns = ["run or dataset", "genes", "hits", "training"].map(Column::text);
    let rows = catalog.sources().iter().map(|source| {
        let to =
            |text: &str, view: &str| TableCell::from(text).linked(address(view, &[("of", &source.label)]));
        match source.kind {
            SourceKind::Run(_) => {
                [to(&source.label, "gene"), to("genes", "gene"), to("hits", "hits"), to("curves", "run")]
            }
            SourceKind::Dataset(_) => [to(&source.label, "gene"), to("genes", "gene"), "".into(), "".into()],
        }
    });
    if !catalog.sources().is_empty() {
        let table = Table::new(columns).with_rows(rows).limited(SHOWN, SHOWN);
        page.sections.push(
            Section::new(
                "sources",
                "Runs and datasets, by validation Pearson, which compares runs of one dataset and split only",
            )
            .with(table),
        );
    }
    if !catalog.traces.is_empty() {
        page.sections.push(super::traces::section(explorer));
    }
    page.next = vec![
        "The address of every page keeps the choices on it, and can be kept while this program runs."
            .to_owned(),
        "Nothing here changes a file. Ctrl-C in the terminal ends it.".to_owned(),
    ];
    page
}
