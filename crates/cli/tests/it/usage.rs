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

/// Headings of the sections and columns of a page.
fn labels(page: &str) -> Vec<String> {
    let inside = |text: &str, end: &str| text.split(end).next().unwrap_or_default().to_owned();
    let headings = page.split("<h2>").skip(1).map(|rest| inside(rest, "</h2>"));
    let columns = page.split("<th scope").skip(1).map(|rest| {
        let button = rest.split("<button type=\"button\">").nth(1).unwrap_or_default();
        inside(button, "</button>")
    });
    headings.chain(columns).collect()
}

#[test]
fn the_demo_has_the_panels_of_the_picture_in_the_readme() {
    let home = Home::empty();
    let demo =
        home.ok("demo --preset tiny --json").warns(&["$ knockout train demo/yeast --out demo/stack-0"]);
    let shown = demo.json();
    let page = home.read(shown["report"].as_str().unwrap());
    // Written with the picture by docs/images/make; the end of a scale is a figure.
    let pictured = include_str!("../../../../docs/images/demo.txt");
    let without_figures = |label: &str| label.split(", 0 to").next().unwrap_or_default().to_owned();
    let expected: Vec<String> = pictured.lines().map(without_figures).collect();
    assert_eq!(labels(&page).iter().map(|label| without_figures(label)).collect::<Vec<_>>(), expected);
    for detail in shown["details"].as_array().unwrap() {
        assert!(home.read(&format!("demo/{}", detail[1].as_str().unwrap())).starts_with("<!doctype html>"));
    }
}

#[test]
fn the_demo_shows_accuracy_hits_and_times() {
    let home = Home::empty();
    let shown = home.ok("demo --preset tiny --json -q").json();
    let models =
        shown["evaluation"]["rows"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap());
    assert_eq!(models.collect::<Vec<_>>(), ["stack-0", "dango-0", "additive-ridge"]);
    assert!(shown["evaluation"]["attainable_pearson"].as_f64().unwrap() > 0.5);
    let hits = shown["hits"]["bottom"].as_array().unwrap();
    assert!(hits.len() == 5 && hits.iter().all(|hit| hit["measured"] == false), "{hits:?}");
    assert_eq!(shown["explanation"]["prediction"], hits[0]["prediction"]);
    for model in shown["breakdown"].as_array().unwrap() {
        let rows = model["rows"].as_array().unwrap();
        let phases = rows.iter().filter(|row| row["depth"] == 2).map(|row| row["share"].as_f64().unwrap());
        assert!((phases.sum::<f64>() - 1.0).abs() < 0.02, "the phases of {} are a step", model["model"]);
    }
}

#[test]
fn a_quiet_demo_prints_less_than_forty_lines() {
    let home = Home::empty();
    let quiet = home.ok("demo --preset tiny --out again -q").prints(&[
        "held-out scores with Pearson",
        "Which interactions to measure next?",
        "page: again/report.html",
    ]);
    assert_eq!(quiet.stderr, "");
    assert!(quiet.stdout.lines().count() < 40, "{}", quiet.stdout);
    home.fails("demo --out again", 2, &["again", "choose another name or remove it first"]);
}

#[test]
fn a_reader_that_goes_away_is_not_a_failure() {
    Home::with_tiny().shell("\"$knockout\" data show tiny --json | head -c 1; exit ${PIPESTATUS[0]}").ok();
}
