//! An experiment of two models as text and summary: both say what the document says.

use crate::fixtures::experiment;
use knockout_report::{experiment_markdown, experiment_text};

#[test]
fn text_and_summary_say_what_the_document_says() {
    let experiment = experiment();
    let text = experiment_text(&experiment, &[("page".to_owned(), "x/report.html".to_owned())]);
    for part in [
        "DATA: data only",
        "FULL: a full training step",
        "DECOMPOSITION ANALYSIS",
        "INSIGHTS",
        "OPTIONS TRIED",
        "NEXT STEPS BASED ON RESULTS",
        "NOT RUN: process, collate, wait, loss, clip, optimiser, logging",
        "hetero full takes 3.19 (3.19 to 3.19) times as long per sample as dango full",
        "x/report.html",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    let summary = experiment_markdown(&experiment);
    for part in [
        "# Experiment on a\\|&lt;b>",
        "## Executive summary",
        "## Time breakdown",
        "├─ model compute                      30.000 ms   93.8 %",
        "│  └─ backward                        20.000 ms   62.5 %",
        "## Decisions",
        "### Models beside each other, per sample",
        "## Options tried, dango",
        "- gone: dango has no key model.y",
        "## Next steps",
    ] {
        assert!(summary.contains(part), "{part:?} is not in\n{summary}");
    }
    // Every table is whole: as many cells in each row as in its head.
    let cells = |line: &str| line.replace("\\|", "").matches('|').count();
    let lines: Vec<&str> = summary.lines().collect();
    for pair in lines.windows(2).filter(|pair| pair[0].starts_with('|') && pair[1].starts_with('|')) {
        assert_eq!(cells(pair[0]), cells(pair[1]), "{pair:?}");
    }
}
