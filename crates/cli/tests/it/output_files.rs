//! Outputs replace outputs of their kind and nothing else.

#![cfg(feature = "lab")]

use crate::support::Home;
use std::fs;
use std::process::Stdio;

const TRACE: &str =
    r#"{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"op","pid":1,"tid":1,"ts":1,"dur":5}]}"#;

fn with_traces(home: Home) -> Home {
    home.write("a.json", TRACE);
    home.write("b.json", TRACE);
    home
}

#[test]
fn an_output_never_replaces_an_input() {
    let home = with_traces(Home::empty());
    fs::hard_link(home.path("a.json"), home.path("also-a.json")).unwrap();
    for command in [
        "analyze --html a.json b.json a.json",
        "analyze a.json --html also-a.json --force",
        "analyze a.json --collapsed a.json --force",
        "compare a.json b.json --html b.json --force",
        "convert a.json b.json a.json --force",
    ] {
        home.fails(&format!("trace {command}"), 2, &["is an input of this command"]);
    }
    // A shell makes this of `--html a*.json`.
    home.fails("trace analyze --html a.json b.json", 2, &["a.json exists", "--force"]);
    assert!(home.read("a.json") == TRACE && home.read("b.json") == TRACE);
}

#[test]
fn another_file_is_replaced_only_with_force() {
    let home = with_traces(Home::empty());
    home.write("notes.txt", "precious");
    for option in ["--html", "--collapsed"] {
        let analyze = format!("trace analyze a.json {option} notes.txt");
        home.fails(&analyze, 2, &["notes.txt exists", "--force"]);
    }
    home.fails("trace analyze a.json --html .", 2, &["is"]);
    home.fails("trace analyze a.json --html x --collapsed x", 2, &["the same file"]);
    assert_eq!(home.read("notes.txt"), "precious");
    home.ok("trace analyze a.json --html notes.txt --force -q");
    assert!(home.read("notes.txt").starts_with("<!doctype html>"));
}

#[test]
fn an_output_of_the_same_kind_is_replaced() {
    let home = with_traces(Home::empty());
    for _ in 0..2 {
        home.ok("trace analyze a.json --html page.html --collapsed stacks.txt -q");
    }
    home.fails("trace analyze a.json --collapsed page.html", 2, &["--force"]);
}

#[test]
fn files_of_datasets_are_never_replaced() {
    let home = with_traces(Home::with_tiny());
    for file in ["tiny/samples.parquet", "tiny/networks/physical.parquet", "tiny/dataset.toml"] {
        let analyze = format!("trace analyze a.json --html {file} --force");
        home.fails(&analyze, 2, &["is a file of a dataset or a run"]);
    }
    let profile = "profile tiny --model dango --html tiny/samples.parquet --force";
    home.fails(profile, 2, &["is a file of a dataset or a run"]);
    home.ok("data verify tiny -q");
}

/// Every command makes the folders above its output, as `mkdir -p` does.
#[test]
fn folders_above_an_output_are_made() {
    let home = with_traces(Home::with_tiny());
    home.write("screen.tsv", "gene_a\tgene_b\tscore\nA\tB\t0.5\nA\tC\t-0.5\n");
    let dango = "--model dango model.width=8 --batch 200";
    for (command, made) in [
        ("data synth sets/yeast/tiny --preset tiny", "sets/yeast/tiny/dataset.toml"),
        ("data import g/h/set --screen screen.tsv", "g/h/set/dataset.toml"),
        ("data split tiny --out i/j/split.parquet", "i/j/split.parquet"),
        ("data precompute tiny --indices --samples 20 --out k/l/store", "k/l/store"),
        ("baseline tiny --resamples 20 --out m/n/baselines", "m/n/baselines/stack.parquet"),
        (&format!("train tiny {dango} --max-steps 1 --out a/b/run"), "a/b/run/manifest.json"),
        (&format!("profile tiny {dango} --steps 1 --no-trace --out c/d/profile"), "c/d/profile/profile.json"),
        (
            "experiment tiny --models dango --modes data --rounds 1 --steps 1 --warmup 0 --batch 50 --out e/f/experiment",
            "e/f/experiment/report.json",
        ),
        (
            "benchmark tiny --split random --models additive-ridge --resamples 20 --out o/p/bench",
            "o/p/bench/table.json",
        ),
        (
            "sweep tiny --model dango model.width=4,8 epochs=1 --budget 10s --out q/r/sweep",
            "q/r/sweep/report.html",
        ),
        ("runs a --html s/t/runs.html", "s/t/runs.html"),
        ("predict a/b/run --pairs --top 2 --out u/v/hits --html w/x/hits.html", "w/x/hits.html"),
        ("trace analyze a.json --html y/z/page.html --collapsed 1/2/stacks.txt", "1/2/stacks.txt"),
        ("trace compare a.json b.json --html 3/4/page.html", "3/4/page.html"),
        ("trace convert a.json 5/6/b.json.gz", "5/6/b.json.gz"),
        ("man --out 7/8", "7/8/knockout.1"),
    ] {
        home.ok(&format!("{command} -q"));
        assert!(home.exists(made), "{command} made no {made}");
    }
}

#[test]
fn a_file_above_an_output_stays() {
    let home = with_traces(Home::empty());
    home.fails("trace analyze b.json --html a.json/page.html", 2, &["a.json", "not a folder"]);
    assert_eq!(home.read("a.json"), TRACE);
}

#[cfg(unix)]
#[test]
fn devices_are_written_to() {
    use std::os::unix::fs::FileTypeExt as _;
    let home = with_traces(Home::empty());
    home.ok("trace analyze a.json --html /dev/null -q");
    home.ok("trace convert a.json /dev/null -q");
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    home.fails("trace analyze a.json --html /dev/full -q", 1, &["/dev/full"]);
}

/// `… | head` closes its end; the exit code stays that of the analysis.
#[test]
fn a_reader_that_goes_away_does_not_change_the_exit_code() {
    let home = Home::empty();
    home.write("cut.json", &TRACE[..TRACE.len() - 1]);
    let mut command = home.command("trace analyze cut.json -q");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(6));
}

#[cfg(unix)]
#[test]
fn a_link_to_nothing_stays_a_link() {
    let home = with_traces(Home::empty());
    std::os::unix::fs::symlink("real/page.html", home.path("link.html")).unwrap();
    home.ok("trace analyze a.json --html link.html -q");
    assert!(home.path("link.html").is_symlink());
    assert!(home.read("real/page.html").starts_with("<!doctype html>"));
}

#[test]
fn an_output_may_have_the_longest_name_that_there_is() {
    let home = with_traces(Home::empty());
    let name = |length: usize| format!("{}.html", "p".repeat(length - 5));
    home.ok(&format!("trace analyze a.json --html {} -q", name(255)));
    assert!(home.read(&name(255)).starts_with("<!doctype html>"));
    // One that is too long fails before the work.
    let ran = home.fails(&format!("trace analyze a.json --html {}", name(256)), 2, &["File name too long"]);
    assert_eq!(ran.stdout, "");
    home.ok(&format!("-q data synth {} --preset tiny", "d".repeat(255)));
}
