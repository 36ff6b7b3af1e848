//! Findings as one self-contained HTML file: no network, light and dark, readable on a phone and on paper.
//!
//! The page is a fixed template with one JSON document inside; a small hand-written script draws it. The document's
//! size is bounded whatever the trace: timelines come in intervals, stacks and operations are cut to the largest.

mod compare;
mod data;
mod experiment;
mod run;

pub use compare::{compare_html, run_compare_html};
pub use experiment::experiment_html;
pub use run::run_html;

use knockout_analyze::Analysis;

const PAGE: &str = include_str!("page.html");
pub(crate) const STYLE: &str = include_str!("page.css");
/// The script's parts; the first defines what the others use, the last begins.
const SCRIPT: [&str; 7] = [
    include_str!("script/base.js"),
    include_str!("script/charts.js"),
    include_str!("script/analysis.js"),
    include_str!("script/comparison.js"),
    include_str!("script/run.js"),
    include_str!("script/experiment.js"),
    include_str!("script/start.js"),
];

/// Whose page it is, for the title and the last line.
enum Foot {
    Trace,
    Profile,
    Experiment,
}

impl Foot {
    fn maker(&self) -> &'static str {
        match self {
            Self::Trace => "knockout trace",
            Self::Profile => "knockout profile",
            Self::Experiment => "knockout experiment",
        }
    }

    fn note(&self) -> &'static str {
        match self {
            Self::Trace => "Self time counts every instant of a thread or stream once.",
            Self::Experiment => {
                "All cells took the same batches in turns; intervals are judged by the rounds."
            }
            Self::Profile => "Phases of a step sum to its wall time; what is in none is called untracked.",
        }
    }
}

/// The analysis as one HTML file.
pub fn analysis_html(analysis: &Analysis) -> String {
    let title = match analysis.files.as_slice() {
        [only] => file_name(only).to_owned(),
        files => format!("{} ranks", files.len()),
    };
    page(&title, &data::of(analysis), &crate::analysis::analysis_text(analysis), &Foot::Trace)
}

/// The last part of a path; the whole one stands below the heading.
fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Fills the template; `plain` is shown where scripts do not run.
fn page(title: &str, data: &serde_json::Value, plain: &str, foot: &Foot) -> String {
    // Inside a script element only `<` could end it early.
    let json = data.to_string().replace('<', "\\u003c");
    let script = SCRIPT.concat();
    let mut out = String::with_capacity(PAGE.len() + STYLE.len() + script.len() + json.len() + plain.len());
    let mut rest = PAGE;
    // One pass over the template, so that nothing inside a value is taken for a place to fill.
    while let Some(at) = rest.find("@@") {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        let Some(end) = after.get(2..).and_then(|tail| tail.find("@@")) else { break };
        match after.get(2..2 + end) {
            Some("TITLE") => out.push_str(&escape(title)),
            Some("STYLE") => out.push_str(STYLE),
            Some("MAKER") => out.push_str(foot.maker()),
            Some("FOOT") => out.push_str(foot.note()),
            // In a function of its own, so that its names do not meet those of the document's elements.
            Some("SCRIPT") => {
                out.push_str("(function () {\n'use strict';\n");
                out.push_str(&script);
                out.push_str("})();\n");
            }
            Some("DATA") => out.push_str(&json),
            Some("PLAIN") => out.push_str(&escape(plain)),
            _ => {}
        }
        rest = after.get(end + 4..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_stay_text() {
        let data = serde_json::json!({"name": "</script><script>alert(1)</script>@@PLAIN@@"});
        let page = page("<b>@@DATA@@", &data, "a & <b>", &Foot::Trace);
        assert!(!page.contains("alert(1)</script>"), "the script element must not end early");
        assert!(page.contains("&lt;b&gt;@@DATA@@"));
        assert!(page.contains("a &amp; &lt;b&gt;"));
    }

    #[test]
    fn nothing_is_loaded_from_elsewhere() {
        let page = page("t", &serde_json::json!({}), "", &Foot::Profile);
        for outside in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!page.contains(outside), "{outside} in the page");
        }
    }
}
