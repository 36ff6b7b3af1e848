//! `knockout trace convert`: filters, repairs, merges and what a converted trace is good for.

use crate::support::Home;
use crate::support::traces::{SMALL, cut, steps};
use serde_json::Value;

fn small() -> Home {
    let home = Home::empty();
    home.write("small.json", SMALL);
    home
}

#[test]
fn filters_keep_what_they_name() {
    let home = small();
    for (filter, kept) in [
        ("", 4),
        ("--min-duration 25", 3),
        ("--category KERNEL", 2),
        ("--from 0.035", 3),
        ("--to 0.005", 2),
        ("--rank 3", 4),
    ] {
        let written = home.json(&format!("trace convert --force --json small.json out.json.gz {filter}"));
        assert_eq!(written["events_written"], kept, "{filter}");
        let again = home.json("trace analyze --rules reference --json out.json.gz");
        assert_eq!(again["events"], kept, "{filter}");
    }
}

#[test]
fn filters_that_keep_nothing_are_2_and_leave_the_output() {
    let home = small();
    home.write("out.json", "precious");
    for (filter, words) in [
        ("--rank 1", ""),
        ("--category kernels", "cpu_op, kernel, user_annotation"),
        ("--from 300 --to 100", "--from 300 is not before --to 100"),
        ("--from 300", "nothing is left of 4 events"),
    ] {
        home.fails(&format!("trace convert --force small.json out.json {filter}"), 2, &[words]);
    }
    assert_eq!(home.read("out.json"), "precious");
}

#[test]
fn an_output_is_replaced_only_with_force() {
    let home = small();
    home.write("out.json", "precious");
    home.write("other.txt", "no trace");
    home.fails("trace convert small.json out.json", 2, &[]);
    home.fails("trace convert --force other.txt out.json", 3, &[]);
    assert_eq!(home.read("out.json"), "precious");
    assert_eq!(home.names("."), ["other.txt", "out.json", "small.json"], "no partial file stays");
}

#[test]
fn damage_is_repaired_and_files_are_merged() {
    let home = small();
    home.write(
        "bad.json",
        r#"[{"ph": "X", "name": "C:\Users", "pid": "CPU", "tid": 1, "ts": NaN, "dur": 1}]"#,
    );
    home.fails("trace convert small.json bad.json out.json", 6, &[]);
    let document = home.document("out.json");
    let last = &document["traceEvents"][4];
    assert_eq!(
        (&last["name"], &last["pid"], &last["ts"]),
        (&"C:\\Users".into(), &"CPU (1)".into(), &Value::Null)
    );
    assert_eq!(document["schemaVersion"], 1);
}

/// Returns a folder with a whole trace, a plain copy of it and one without short events.
fn converted() -> Home {
    let home = Home::empty();
    home.write("whole.json", steps((0, 1), 12, 1000));
    home.ok("trace convert whole.json copy.json");
    home.ok("trace convert whole.json less.json --min-duration 600");
    home
}

#[test]
fn an_analysis_names_what_a_conversion_changed() {
    let home = converted();
    home.write("damaged.json", cut(&steps((0, 1), 12, 1000)));
    home.fails("trace convert damaged.json mended.json", 6, &[]);
    home.ok("trace convert whole.json whole.json merged.json");
    for (file, words) in [
        ("less.json", "converted: `knockout trace convert` left events out (min_duration_us 600"),
        ("mended.json", "(recovered true)"),
        ("merged.json", "ranks_merged: 12 steps overlap"),
    ] {
        home.run(&format!("trace analyze {file}")).warns(&[words]);
    }
    let copy = home.ok("trace analyze copy.json");
    assert!(!copy.stderr.contains("convert"), "{}", copy.stderr);
}

#[test]
fn a_trace_without_some_events_is_not_comparable_with_a_whole_one() {
    let home = converted();
    home.ok("trace compare whole.json copy.json --fail-above 1.05");
    home.fails("trace compare whole.json less.json --fail-above 1.05", 7, &["convert"]);
}
