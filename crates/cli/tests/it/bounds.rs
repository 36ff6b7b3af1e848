//! Costs grow with the input and nothing stays behind: traces that were quadratic once within a limit of memory and CPU time, and kills
//! in the middle of writing.
#![cfg(target_os = "linux")]

use crate::support::run_in;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const PROGRAM: &str = env!("CARGO_BIN_EXE_knockout");
/// Twenty thousand steps took 3.2 GB when their cost was quadratic.
const MOST_MEMORY_KIB: u32 = 2 << 20;
/// Overlapping and nested unlike names took more than 100 s.
const MOST_CPU_SECONDS: u32 = 60;
const EVENTS: usize = 30_000;

/// A trace whose events have these names, starts and durations, by their places.
fn trace(category: &str, event: impl Fn(usize) -> (String, usize, usize)) -> String {
    let mut out = String::from("{\"traceEvents\":[");
    for place in 0..EVENTS {
        let (name, start, duration) = event(place);
        let comma = if place > 0 { "," } else { "" };
        write!(
            out,
            r#"{comma}{{"ph":"X","cat":"{category}","name":"{name}","pid":1,"tid":1,"ts":{start},"dur":{duration}}}"#
        )
        .unwrap();
    }
    out + "]}"
}

#[test]
fn an_analysis_costs_what_its_trace_is_long() {
    let folder = tempfile::tempdir().unwrap();
    let op = |place: usize| format!("op{place}");
    for (what, text) in [
        ("steps", trace("user_annotation", |place| (format!("ProfilerStep#{place}"), 10 * place, 10))),
        ("names", trace("cpu_op", |place| (op(place), 10 * place, 5))),
        ("nested", trace("cpu_op", |place| (op(place), place, 2 * (EVENTS - place)))),
        ("overlapping", trace("cpu_op", |place| (op(place), place, EVENTS))),
    ] {
        fs::write(folder.path().join("trace.json"), text).unwrap();
        let limits = format!("ulimit -v {MOST_MEMORY_KIB}; ulimit -t {MOST_CPU_SECONDS}; exec \"$0\" \"$@\"");
        let args =
            ["--threads", "2", "trace", "analyze", "trace.json", "--html", "page.html", "--force", "-q"];
        let output = Command::new("sh")
            .args(["-c", &limits, PROGRAM])
            .args(args)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{what}: {:?} {}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

fn hidden(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with('.')).collect()
}

#[test]
fn a_kill_leaves_no_hidden_file() {
    let folder = tempfile::tempdir().unwrap();
    let text = trace("cpu_op", |place| (format!("op{}", place % 7), 10 * place, 5));
    fs::write(folder.path().join("trace.json"), text).unwrap();
    let convert = ["trace", "convert", "trace.json", "out.json.gz", "-q", "--force"];
    for round in 0..12 {
        let mut command = Command::new(PROGRAM);
        command.current_dir(folder.path()).args(convert).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(3 * round));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    run_in(folder.path(), &convert).ok();
    assert_eq!(hidden(folder.path()), [""; 0], "what a kill left is cleared by the next writer");
    run_in(folder.path(), &["trace", "analyze", "out.json.gz", "-q"]).ok();
}
