//! What all commands share: help, exit codes, quiet and verbose output, the demo.
#![cfg(feature = "lab")]

use crate::support::Home;

#[test]
fn usage_errors_are_2() {
    let home = Home::empty();
    home.fails("data synth", 2, &["Usage"]);
    home.fails("nonsense", 2, &["unrecognized subcommand"]);
    home.write("file", "precious");
    home.fails("man --out file/pages", 2, &["file"]);
}

#[test]
fn help_has_examples_and_exit_codes() {
    let home = Home::empty();
    for command in ["data synth", "evaluate"] {
        home.ok(&format!("{command} --help")).prints(&["EXAMPLES:"]);
    }
    home.ok("--help").prints(&["EXIT CODES:"]);
    assert!(home.ok("--version").stdout.starts_with(concat!("knockout ", env!("CARGO_PKG_VERSION"), " (")));
}

#[test]
fn quiet_prints_results_alone_and_verbose_the_time() {
    let home = Home::with_tiny();
    for (index, command) in [
        "train tiny --model dango --max-steps 1 --out",
        "profile tiny --model dango --steps 1 --no-trace --batch 50 --out",
        "baseline tiny --resamples 50 --out",
        "data split tiny --out",
        "data synth --preset tiny",
    ]
    .into_iter()
    .enumerate()
    {
        let quiet = home.ok(&format!("{command} q-{index} -q"));
        assert!(quiet.stderr.is_empty() && !quiet.stdout.is_empty(), "{command}: {}", quiet.stderr);
        home.ok(&format!("{command} v-{index} -v")).warns(&["s of CPU time"]);
    }
}

#[test]
fn the_demo_ends_in_the_report_of_an_experiment() {
    let home = Home::empty();
    let demo = home.ok("demo --preset tiny --json").warns(&["making a tiny synthetic yeast"]);
    let shown = demo.json();
    assert!(home.read(shown["report"].as_str().unwrap()).contains("Experiment on synthetic tiny"));
    assert!(!shown["insights"].as_array().unwrap().is_empty());
    assert_eq!(shown["deletion"]["genes"].as_array().unwrap().len(), 3);
}

#[test]
fn a_quiet_demo_prints_its_findings() {
    let home = Home::empty();
    let quiet = home.ok("demo --preset tiny --out again -q").prints(&[
        "deleting ",
        "what the experiment found",
        "again/experiment/report.html",
    ]);
    assert_eq!(quiet.stderr, "");
    home.fails("demo --out again", 2, &["again", "choose another name or remove it first"]);
}

#[test]
fn a_reader_that_goes_away_is_not_a_failure() {
    Home::with_tiny().shell("\"$knockout\" data show tiny --json | head -c 1; exit ${PIPESTATUS[0]}").ok();
}
