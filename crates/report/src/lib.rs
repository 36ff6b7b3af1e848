//! Findings become text, JSON and HTML. No arithmetic here: every figure was computed in [`knockout_profile`].

mod collapsed;
mod compare;
mod experiment;
mod html;
mod logs;
mod reference;
mod run;
mod table;
mod text;
pub mod training;
pub mod units;

pub use collapsed::collapsed;
pub use compare::compare_text;
pub use experiment::{experiment_markdown, experiment_text};
pub use html::{compare_html, experiment_html, html, run_compare_html, run_html};
pub use logs::logs_text;
pub use reference::{ReferenceDocument, reference_json, reference_text};
pub use run::{run_compare_text, run_text};
pub use text::text;
