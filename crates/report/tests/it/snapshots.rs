//! Snapshots of every text and page. A change of an output is a change of its snapshot, which is reviewed with it:
//! `INSTA_UPDATE=always cargo test -p knockout-report --test it snapshots` rewrites them.
//!
//! Figures come from a fake clock and a trace of three steps, so they are the same everywhere.

use crate::fixtures::{analysis, experiment, findings, measured, trace};
use crate::skeleton::skeleton;
use insta::assert_snapshot;
use knockout_analyze::TraceComparison;
use knockout_analyze::logs::{LogReader, Logs};
use knockout_analyze::profile::experiment::{Experiment, ExperimentComparison, StoredExperiment};
use knockout_analyze::profile::{RunComparison, RunProfile};
use knockout_report::page::{
    Chart, Column, Diagram, DiagramNode, Fact, Page, Plot, Scatter, Section, Series, Table,
};

/// Returns the trace with a slower optimiser and without an operation.
fn later() -> String {
    trace()
        .replace(r#""name":"aten::linear""#, r#""name":"aten::addmm""#)
        .replace(r#""dur":300"#, r#""dur":330"#)
}

fn compared() -> TraceComparison {
    TraceComparison::of(&analysis("before.json", &trace()), &analysis("after.json", &later()))
}

fn run(forward_ms: u64) -> RunProfile {
    measured("dango", "full", false, [1, forward_ms, 20, 1])
}

fn run_compared() -> RunComparison {
    RunComparison::of(("before", &run(10)), ("after", &run(14)), &[]).unwrap()
}

#[test]
fn trace_analyze() {
    let found = analysis("three steps.json", &trace());
    assert_snapshot!("trace-analyze", knockout_report::analysis_text(&found));
    assert_snapshot!("page-trace-analyze", skeleton(&knockout_report::analysis_html(&found)));
}

#[test]
fn trace_analyze_of_a_folder() {
    let files = [findings("one.json", &trace()), findings("folder/two.json", &later())];
    assert_snapshot!(
        "trace-analyze-a-folder",
        knockout_report::overview_text(&knockout_report::Overview::of(&files))
    );
}

#[test]
fn trace_compare() {
    assert_snapshot!("trace-compare", knockout_report::compare_text(&compared()));
    assert_snapshot!("page-trace-compare", skeleton(&knockout_report::compare_html(&compared())));
}

#[test]
fn profile() {
    assert_snapshot!("profile", knockout_report::run_text(&run(10)));
    assert_snapshot!("page-profile", skeleton(&knockout_report::run_html(&run(10), None, None)));
}

#[test]
fn compare() {
    assert_snapshot!("compare", knockout_report::run_compare_text(&run_compared()));
    assert_snapshot!("page-compare", skeleton(&knockout_report::run_compare_html(&run_compared())));
}

#[test]
fn an_experiment() {
    let found = experiment();
    let files = [("page".to_owned(), "out/report.html".to_owned())];
    assert_snapshot!("experiment", knockout_report::experiment_text(&found, &files));
    assert_snapshot!("experiment-summary", knockout_report::experiment_markdown(&found));
    assert_snapshot!("page-experiment", skeleton(&knockout_report::experiment_html(&found, &[])));
}

#[test]
fn two_experiments() {
    let stored = |found: &Experiment| {
        let json = serde_json::to_vec(&knockout_report::experiment_json(found)).unwrap();
        StoredExperiment::from_json("report.json", &json).unwrap()
    };
    let (a, b) = (experiment(), experiment());
    let compared = ExperimentComparison::of(("before", &stored(&a)), ("after", &stored(&b)), &[]).unwrap();
    assert_snapshot!("compare-experiments", knockout_report::experiment_compare_text(&compared));
    assert_snapshot!(
        "page-compare-experiments",
        skeleton(&knockout_report::experiment_compare_html(&compared))
    );
}

#[test]
fn logs() {
    let bar = |count: u32| {
        format!(
            "\rEpoch 0: {:3}%|##  | {count}/40 [00:{:02}<00:10,  2.00it/s, v_num=0]",
            count * 100 / 40,
            count / 2
        )
    };
    let text: String = (0..=40).map(bar).collect();
    let mut reader = LogReader::default();
    reader.feed(text.as_bytes());
    assert_snapshot!("logs", knockout_report::logs_text(&Logs::of(vec![reader.finish("run.log").unwrap()])));
}

#[test]
fn page_of_training() {
    let table = Table::new([Column::number("epoch"), Column::text("note")]).with_rows([["1", "first"]]);
    let page = Page {
        title: "a run".to_owned(),
        subtitle: "dango on tiny".to_owned(),
        facts: vec![Fact::new("best validation Pearson", "0.5")],
        findings: vec!["Stopped before its end: `knockout train --resume runs/a`".to_owned()],
        sections: vec![Section::new("epochs", "Epochs").with(table)],
        figures: vec![
            Plot::Chart(Chart {
                title: "Loss".to_owned(),
                across: "epoch".to_owned(),
                counts_whole: true,
                series: vec![Series::new("training", [(1.0, 2.0), (2.0, 1.0)])],
                ..Chart::default()
            }),
            Plot::Scatter(Scatter {
                title: "Test part".to_owned(),
                caption: "Pearson 0.5".to_owned(),
                measured: vec![0.0, 1.0],
                predicted: vec![0.5, 0.75],
                unit: String::new(),
            }),
        ],
        made_by: "knockout train".to_owned(),
        ..Page::default()
    };
    assert_snapshot!("page-train", skeleton(&page.to_html()));
}

#[test]
fn page_of_predictions() {
    let node =
        |name: &str, is_deleted| DiagramNode { name: name.to_owned(), is_deleted, ..DiagramNode::default() };
    let nodes = vec![node("ARO4", true), node("ARO3", false)];
    let diagram = Diagram { nodes, edges: vec![(0, 1, 2)], ..Diagram::default() };
    let hits = Table::new([Column::text("genes")]).with_rows(vec![["ARO3 ARO4"]; 13]);
    let page = Page {
        title: "hits".to_owned(),
        subtitle: "2 pairs".to_owned(),
        made_by: "knockout predict".to_owned(),
        sections: vec![
            Section::new("genes", "ARO4 and its neighbours").with(diagram),
            Section::new("lowest", "Lowest").with(hits),
        ],
        ..Page::default()
    };
    assert_snapshot!("page-predict", skeleton(&page.to_html()));
}
