//! Costs grow with the input: traces whose analysis was quadratic once, within limits of memory and CPU time.
#![cfg(target_os = "linux")]

use crate::support::Home;
use crate::support::traces::{event, trace};
use std::time::Duration;

/// Twenty thousand steps took 3.2 GB when their cost was quadratic; overlapping and nested unlike names more than 100 s.
const LIMITS: &str = "ulimit -v 2097152; ulimit -t 60";
const EVENTS: u32 = 30_000;

/// Writes a trace whose events have the names, starts and durations that follow from their index.
fn home_with_trace(category: &str, span: impl Fn(u32) -> (String, u32, u32)) -> Home {
    let home = Home::empty();
    let events: Vec<String> = (0..EVENTS)
        .map(|index| {
            let (name, start, duration) = span(index);
            event(category, &name, 1, start, duration)
        })
        .collect();
    home.write("trace.json", trace(None, &events));
    home
}

fn is_analyzed(home: &Home) {
    let analyze = "--threads 2 trace analyze trace.json --html page.html --force -q";
    home.shell(&format!("{LIMITS}; exec \"$knockout\" {analyze}")).ok();
}

#[test]
fn many_steps_are_analyzed_within_limits() {
    is_analyzed(&home_with_trace("user_annotation", |i| (format!("ProfilerStep#{i}"), 10 * i, 10)));
}

#[test]
fn many_names_are_analyzed_within_limits() {
    is_analyzed(&home_with_trace("cpu_op", |i| (format!("op{i}"), 10 * i, 5)));
}

#[test]
fn deeply_nested_events_are_analyzed_within_limits() {
    is_analyzed(&home_with_trace("cpu_op", |i| (format!("op{i}"), i, 2 * (EVENTS - i))));
}

#[test]
fn overlapping_events_are_analyzed_within_limits() {
    is_analyzed(&home_with_trace("cpu_op", |i| (format!("op{i}"), i, EVENTS)));
}

#[test]
fn a_killed_conversion_leaves_no_hidden_file() {
    let home = home_with_trace("cpu_op", |i| (format!("op{}", i % 7), 10 * i, 5));
    let convert = "trace convert trace.json out.json.gz -q --force";
    for round in 0..12 {
        let mut child = home.start(convert);
        std::thread::sleep(Duration::from_millis(3 * round));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    home.ok(convert);
    assert_eq!(home.names("."), ["out.json.gz", "trace.json"], "the next writer removes what a kill left");
    home.ok("trace analyze out.json.gz -q");
}
