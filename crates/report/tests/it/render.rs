//! Text, collapsed stacks and HTML of a small trace: what is said, and that figures are those of the findings.

use knockout_analyze::profile::functions::{FunctionRow, FunctionSamples, SpanFunctions};
use knockout_analyze::profile::{NotCounted, ProductRates, ReadCounter, RunProfile};
use knockout_analyze::{Analysis, Collector, Options, Rules, TraceComparison};
use knockout_trace::{ReadOptions, read};

const TRACE: &str = r#"{"schemaVersion": 1, "distributedInfo": {"rank": 2, "world_size": 4}, "traceEvents": [
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#5", "pid": 1, "tid": 1, "ts": 0, "dur": 1000},
    {"ph": "X", "cat": "user_annotation", "name": "enumerate(DataLoader)#next", "pid": 1, "tid": 1, "ts": 10, "dur": 400},
    {"ph": "X", "cat": "cpu_op", "name": "aten::a;b", "pid": 1, "tid": 1, "ts": 500, "dur": 100.5},
    {"ph": "X", "cat": "cpu_op", "name": "aten::mul", "pid": 1, "tid": 1, "ts": 510, "dur": 50}]}"#;

fn analysis(text: &str) -> Analysis {
    let mut collector = Collector::new(&Rules::default_rules().unwrap(), &Options::default());
    let outcome = read(text.as_bytes(), ReadOptions::default(), &mut collector).unwrap();
    Analysis::of(vec![collector.finish("folder/small.json", &outcome).unwrap()])
}

#[test]
fn the_text_has_findings_and_their_figures() {
    let text = knockout_report::analysis_text(&analysis(TRACE));
    for expected in [
        "folder/small.json, rank 2 of 4",
        "data loading takes 40.0 % of the one step there is",
        "self time 1.000 ms (host 1.000 ms, device 0.000 µs); plain sum of durations 1.550 ms",
        "ProfilerStep#5",
        "Critical path of the slowest step",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in\n{text}");
    }
    assert!(!text.contains("Device"), "no device, no section about it:\n{text}");
}

#[test]
fn collapsed_stacks_sum_to_self_time() {
    let stacks = knockout_report::collapsed(&analysis(TRACE));
    let line = "pid 1 tid 1;ProfilerStep#5;aten::a:b;aten::mul 50000";
    assert!(stacks.lines().any(|have| have == line), "{stacks}");
    let sum: i64 = stacks.lines().map(|line| line.rsplit(' ').next().unwrap().parse::<i64>().unwrap()).sum();
    assert_eq!(sum, 1_000_000);
}

#[test]
fn a_run_that_multiplies_has_its_rates_and_the_share_of_the_multipliers() {
    let mut run = crate::fixtures::measured("dango", "full", false, [1, 10, 20, 1]);
    assert!(!knockout_report::run_text(&run).contains("Matrix products"));
    let products = ProductRates { flop: 3e8, flop_per_s: 3e10, share_of_peak: None };
    run.phases[1].products = Some(products);
    let line = |run: &RunProfile| {
        let text = knockout_report::run_text(run);
        let (_, section) = text.split_once("Matrix products").unwrap();
        section.lines().nth(2).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line(&run), "forward 300.0 M 30.0 G -");
    run.peak_flop_per_s = Some(1.2e11);
    run.phases[1].products = Some(ProductRates { share_of_peak: Some(0.25), ..products });
    assert_eq!(line(&run), "forward 300.0 M 30.0 G 25.0 %");
    assert!(knockout_report::run_html(&run, None, None).contains("The share is of 120.0 GFLOP/s"));
}

#[test]
fn reads_from_memory_have_rates_and_shares_or_the_reason_why_not() {
    let run = || crate::fixtures::measured("dango", "full", false, [1, 10, 20, 1]);
    assert!(!knockout_report::run_text(&run()).contains("Reads from memory"));

    let function = |name: &str, samples| FunctionRow { name: name.to_owned(), samples, share: 1.0 };
    let phase = |name: &str, samples| SpanFunctions {
        name: name.to_owned(),
        samples,
        share: 0.5,
        functions: vec![function("neighbour_sum", samples)],
    };
    let samples = FunctionSamples { phases: vec![phase("forward", 600)], ..FunctionSamples::default() };
    let counter = ReadCounter {
        event: "cache-misses".to_owned(),
        bytes_per_sample: 1_000_000,
        counted: 0.97,
        peak_bytes_per_s: 2e10,
    };
    let counted = run().with_memory_reads(Ok((counter, samples)));
    let forward = counted.phases.iter().find(|row| row.name == "forward").unwrap();
    let rate = 600e6 / 0.97 / counted.steps as f64 / forward.wall_s;
    let text = knockout_report::run_text(&counted);
    let (_, section) = text.split_once("Reads from memory").unwrap();
    let row: Vec<&str> = section.lines().nth(2).unwrap().split_whitespace().collect();
    assert_eq!((row[0], row[row.len() - 2], row[row.len() - 1]), ("forward", "600", "neighbour_sum"));
    let share = format!("{:.1} %", 100.0 * rate / 2e10);
    assert!(section.contains(&share), "{share} is not in\n{section}");
    assert!(knockout_report::run_html(&counted, None, None).contains("97.0 % of the bytes of that loop"));

    let event = || "page-faults".to_owned();
    for (reason, words) in [
        (NotCounted::Unsupported { event: event() }, "cannot sample page-faults here"),
        (NotCounted::Miscounts { event: event(), counted: 0.016 }, "page-faults counted 1.6 % of the bytes"),
        (
            NotCounted::CountsCached { event: event(), counted: 0.9 },
            "90.0 % of the bytes that a loop read from a cache",
        ),
    ] {
        let text = knockout_report::run_text(&run().with_memory_reads(Err(reason)));
        assert!(text.contains(words) && text.contains("--memory-event"), "{words:?} is not in\n{text}");
    }
}

#[test]
fn a_comparison_names_different_conditions_before_ratios() {
    let other = TRACE.replace(r#""world_size": 4"#, r#""world_size": 8"#).replace("aten::mul", "aten::add");
    let text = knockout_report::compare_text(&TraceComparison::of(&analysis(TRACE), &analysis(&other)));
    let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what:?} is not in\n{text}"));
    assert!(at("world_size") < at("Per step"));
    assert!(at("Operations only in b") < at("aten::add"));
    assert!(text.contains("one_step"), "{text}");
}
