//! Findings become text, JSON and HTML. No arithmetic here: every figure was computed in [`knockout_analyze::profile`] or
//! [`knockout_analyze`]. Every sentence about a figure is written here.

mod analysis;
mod collapsed;
mod compare;
mod document;
mod experiment;
mod html;
mod logs;
mod overview;
mod page_table;
pub mod prediction;
mod reference;
mod run;
mod sentence;
mod table;
pub mod training;
pub mod units;

pub use analysis::analysis_text;
pub use collapsed::collapsed;
pub use compare::compare_text;
pub use document::{
    analysis_json, compare_json, experiment_json, insight_texts, next_step_texts, run_compare_json, run_json,
};
pub use experiment::{experiment_markdown, experiment_text};
pub use html::{analysis_html, compare_html, experiment_html, run_compare_html, run_html};
pub use logs::logs_text;
pub use overview::{Overview, TraceLine, overview_text};
pub use page_table::{Column, ColumnKind, PageTable};
pub use reference::{ReferenceDocument, reference_json, reference_text};
pub use run::{run_compare_text, run_text};
pub use sentence::{trace_warning, trace_warnings};
