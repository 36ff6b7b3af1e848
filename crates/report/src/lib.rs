//! Values of the libraries as text, Markdown, HTML and JSON.
//!
//! A value becomes a [`page::Page`]: one sentence that answers the question, a picture, tables and charts. The page renders itself with
//! [`to_text`](page::Page::to_text), [`to_markdown`](page::Page::to_markdown) and [`to_html`](page::Page::to_html), which returns one file that
//! loads nothing else.
//!
//! | source | pages |
//! |---|---|
//! | traces, profiles, experiments, logs | functions of this module, such as [`analysis_html`], [`run_text`] and [`experiment_markdown`] |
//! | datasets, runs, predictions, benchmarks | functions value to page in the module `lab`, with the feature `lab` |
//!
//! Functions that end in `_json` and structs that end in `Document` are the documents of `--json`, which are interface. Figures are computed
//! by the other crates; sentences about them are written here.
//!
//! ```
//! use knockout_report::page::{Column, Fact, Page, Section, Table};
//!
//! let table = Table::new([Column::text("model"), Column::number("Pearson")]).with_rows([["dango", "0.51"], ["stack", "0.55"]]);
//! assert_eq!(table.to_text(), "model  Pearson\ndango     0.51\nstack     0.55\n");
//! let page = Page {
//!     title: "Benchmark".to_owned(),
//!     facts: vec![Fact::new("best", "stack")],
//!     sections: vec![Section::new("models", "Models").with(table)],
//!     ..Page::default()
//! };
//! assert!(page.to_html().contains("<td class=\"num\">0.55</td>"));
//! ```

mod analysis;
mod collapsed;
mod compare;
mod document;
mod experiment;
mod functions;
mod job;
#[cfg(feature = "lab")]
pub mod lab;
mod logs;
mod modules;
mod operators;
mod overview;
pub mod page;
mod picture;
mod reference;
mod run;
mod sentence;
mod shapes;
pub mod units;

pub use analysis::{analysis_html, analysis_page, analysis_text};
pub use collapsed::collapsed;
pub use compare::{compare_html, compare_text};
pub use document::{
    analysis_json, compare_json, experiment_compare_json, experiment_json, run_compare_json, run_json,
};
pub use experiment::{
    experiment_compare_html, experiment_compare_text, experiment_html, experiment_markdown, experiment_text,
    own_breakdowns,
};
pub use functions::collapsed_functions;
pub use logs::logs_text;
pub use operators::{operators_compare_page, operators_page};
pub use overview::{Overview, TraceLine, overview_text};
pub use reference::{ReferenceDocument, reference_json, reference_text};
pub use run::{run_compare_html, run_compare_text, run_html, run_text};
pub use sentence::{trace_warning, trace_warnings};
