//! `knockout profile --perf` with the real `perf`.

use crate::support::Home;
use serde_json::Value;
use std::path::Path;

/// Wide enough for some hundred samples.
const PROFILE: &str =
    "-q profile tiny --model dango --steps 10 --batch 100 --threads 2 model.width=512 --perf";

fn samples(spans: &Value) -> u64 {
    spans.as_array().unwrap().iter().map(|span| span["samples"].as_u64().unwrap()).sum()
}

pub(crate) fn functions_of_every_phase_are_sampled(_perf: &Path) {
    let home = Home::with_tiny();
    let profile = home.json(&format!("{PROFILE} --out a --json"));
    let found = &profile["functions"];
    assert!(["cycles", "cpu-clock"].contains(&found["event"].as_str().unwrap()), "{found}");
    let all = found["samples"].as_u64().unwrap();
    assert!(all >= 50, "{found}");
    assert_eq!(samples(&found["phases"]) + samples(&found["background"]), all);
    // A warm-up step is sampled, too, as the switch is in it; nothing else is.
    assert!(found["unmeasured"].as_u64().unwrap() < all, "{found}");

    // A phase has as many samples as it takes time, roughly: other programs may use the cores.
    let share = |list: &Value, name: &str| {
        let row = list.as_array().unwrap().iter().find(|row| row["name"] == name);
        row.unwrap_or_else(|| panic!("no {name} in {list}"))["share"].as_f64().unwrap()
    };
    let backward = [&profile["phases"], &found["phases"]].map(|list| share(list, "backward"));
    assert!((backward[0] - backward[1]).abs() < 0.25, "{backward:?}");

    // The products of the layers are in the kernel of matrix products.
    let parts = found["parts"].as_array().unwrap();
    let sage = parts.iter().find(|part| part["name"].as_str().unwrap().ends_with("sage2"));
    let sage = sage.unwrap_or_else(|| panic!("{found}"));
    let names: Vec<&str> =
        sage["functions"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert!(names.iter().any(|name| name.contains("gemm")), "{names:?}");
    let kernel = |name: &&str| name.contains("knockout_engine") || name.starts_with("_ZN");
    assert!(!names.iter().any(kernel), "{names:?}");

    assert!(home.exists("a/perf.data"));
    let page = home.read("a/report.html");
    assert!(page.contains("Functions of the phases") && page.contains("gemm"));
    home.ok("compare a a").prints(&["Conditions are equal"]);
    home.ok("-q profile tiny --model dango --steps 10 --batch 100 --threads 2 model.width=512 --against a")
        .prints(&["No ratio", "perf"]);
}

pub(crate) fn samples_become_collapsed_stacks_without_a_folder(_perf: &Path) {
    let home = Home::with_tiny();
    let ran = home.ok(&format!("{PROFILE} --collapsed stacks.txt"));
    ran.prints(&["Functions of the phases", "Self time"]);
    let stacks = home.read("stacks.txt");
    let is_of_a_layer = |line: &str| {
        let frames: Vec<&str> = line.split(';').collect();
        frames.len() > 2
            && frames[0] == "forward"
            && frames[1].starts_with("forward/")
            && line.contains("gemm")
    };
    assert!(stacks.lines().any(is_of_a_layer), "{stacks}");
    assert_eq!(home.names(""), ["stacks.txt", "tiny"]);
}

pub(crate) fn an_event_that_counts_something_else_is_not_used_for_reads_from_memory(_perf: &Path) {
    let home = Home::with_tiny();
    let of = |event: &str| {
        let profile = home.json(&format!("{PROFILE} --json --memory-event {event}"));
        assert!(profile["functions"]["samples"].as_u64().unwrap() >= 50, "{event}");
        profile["memory_reads"]["not_counted"].clone()
    };
    // Sampled by the same options as an event of the hardware. A page has been written before it is read.
    let faults = of("page-faults");
    assert_eq!((&faults["reason"], &faults["event"]), (&"miscounts".into(), &"page-faults".into()));
    assert!(faults["counted"].as_f64().unwrap() < 0.1, "{faults}");
    // Nanoseconds of CPU time: far more than bytes.
    let clock = of("cpu-clock");
    assert_eq!(clock["reason"], "miscounts");
    assert!(clock["counted"].as_f64().unwrap() > 1.4, "{clock}");
    assert_eq!(of("no-such-event")["reason"], "unsupported");
    home.ok(&format!("{PROFILE} --memory-event no-such-event"))
        .prints(&["Reads from memory", "perf cannot sample no-such-event here"]);
}
