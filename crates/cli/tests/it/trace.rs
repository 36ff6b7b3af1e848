//! `knockout trace` from outside: exit codes, warnings, documents and figures.

use assert_cmd::cargo::cargo_bin_cmd;
use serde_json::Value;
use std::fs;
use std::process::Output;

fn knockout(args: &[&str]) -> Output {
    cargo_bin_cmd!("knockout").args(args).output().unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("one JSON document on standard output")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn write(folder: &tempfile::TempDir, name: &str, text: &[u8]) -> String {
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

const SMALL: &str = r#"{"schemaVersion": 1, "distributedInfo": {"rank": 3, "world_size": 8}, "traceEvents": [
  {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "python"}},
  {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 1000, "dur": 100},
  {"ph": "X", "cat": "cpu_op", "name": "aten::mul", "pid": 1, "tid": 1, "ts": 1010, "dur": 20.5},
  {"ph": "X", "cat": "kernel", "name": "volta_sgemm", "pid": 0, "tid": 7, "ts": 1040, "dur": 30}]}"#;

fn cut(text: &str) -> &[u8] {
    &text.as_bytes()[..text.len() - 20]
}

#[test]
fn reference_report_has_its_sections_and_columns() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "small.json", SMALL.as_bytes());
    let output = knockout(&["trace", "analyze", "--rules", "reference", &path]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    for line in [
        "Total trace events: 4",
        "OPERATION CATEGORY BREAKDOWN",
        "optimizer                            0.10      66.4% Optimizer and whole steps     ",
        "cuda_kernels                         0.03      19.9% Kernels and launches          ",
        "Total time                           0.15 ms",
        "TOP 10 OPERATIONS PER CATEGORY",
        "--- TENSOR OPS ---",
        "aten::mul                                                                         0.02",
        "BOTTLENECK ANALYSIS",
        "CUDA Kernels:            19.9%  (0 ms)",
        "BOTTLENECK IDENTIFICATION:",
        "✅  DATA LOADING OPTIMIZED (0.0%)",
    ] {
        assert!(text.lines().any(|have| have == line), "no line {line:?} in\n{text}");
    }
    // Kernels are known by their category, operations by their name alone.
    assert!(!text.contains("--- CUDA KERNELS ---"));
}

#[test]
fn a_missing_file_is_a_request_that_cannot_be_carried_out() {
    let output = knockout(&["trace", "analyze", "no-such-file.json"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("no-such-file.json"));
}

#[test]
fn wrong_input_is_3() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("empty.json", &b""[..]), ("other.json", b"{\"a\": 1}"), ("text.json", b"hello")] {
        let path = write(&folder, name, text);
        for rules in ["default", "reference"] {
            let output = knockout(&["trace", "analyze", "--rules", rules, "--json", &path]);
            assert_eq!(output.status.code(), Some(3), "{name}");
            assert!(output.stdout.is_empty() && stderr(&output).contains(name));
        }
    }
}

#[test]
fn damaged_input_is_6_and_loud_or_3_when_strict() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "cut.json", cut(SMALL));
    for rules in ["default", "reference"] {
        let output = knockout(&["trace", "analyze", "--rules", rules, "--json", &path]);
        assert_eq!(output.status.code(), Some(6));
        assert!(stderr(&output).contains("truncated") && stderr(&output).contains("after 3 complete events"));
        let document = json(&output);
        assert_eq!(document["events"], 3);
        assert!(document["warnings"].to_string().contains("truncated"));
        let strict = knockout(&["trace", "analyze", "--rules", rules, "--strict", "--json", &path]);
        assert_eq!(strict.status.code(), Some(3));
        assert!(strict.stdout.is_empty() && stderr(&strict).contains("truncated"));
    }
}

#[test]
fn a_damaged_trace_in_a_folder_is_named_and_3_when_strict() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder, "cut.json", cut(&steps(0, 1, 1000)));
    write(&folder, "other.json", b"{\"a\": 1}");
    write(&folder, "whole.json", SMALL.as_bytes());
    let path = folder.path().to_str().unwrap();
    let strict = knockout(&["trace", "analyze", path, "--strict"]);
    assert_eq!(strict.status.code(), Some(3), "{}", stderr(&strict));
    assert!(stderr(&strict).contains("cut.json is damaged: the file is truncated"), "{}", stderr(&strict));
    assert!(!stderr(&strict).contains("2 JSON files"), "{}", stderr(&strict));
    let lenient = knockout(&["trace", "analyze", path]);
    assert_eq!(lenient.status.code(), Some(6), "{}", stderr(&lenient));
    assert!(stderr(&lenient).contains("-v explains why"), "{}", stderr(&lenient));
    let told = knockout(&["trace", "analyze", path, "-v"]);
    assert!(
        stderr(&told).contains("left out") && !stderr(&told).contains("-v explains why"),
        "{}",
        stderr(&told)
    );
    fs::remove_file(folder.path().join("cut.json")).unwrap();
    assert_eq!(knockout(&["trace", "analyze", path, "--strict"]).status.code(), Some(0));
}

#[test]
fn a_damaged_trace_says_so_first_and_not_that_it_has_no_device() {
    let folder = tempfile::tempdir().unwrap();
    let damaged = write(&folder, "cut.json", cut(&steps(0, 1, 1000)));
    let page = folder.path().join("page.html");
    let output = knockout(&["trace", "analyze", &damaged, "--html", page.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(6), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let second = text.lines().nth(1).unwrap();
    assert!(second.starts_with("the trace is damaged: 23 events could be read"), "{text}");
    assert!(text.contains("no device events in the part that could be read"), "{text}");
    assert!(!text.contains("there is no device in the trace"), "{text}");
    assert!(fs::read_to_string(page).unwrap().contains("the trace is damaged: 23 events could be read"));
}

/// A trace without steps.
fn stepless(micros: u32) -> String {
    let event = r#"{"ph":"X","cat":"cpu_op","name":"aten::mul","pid":1,"tid":1,"ts":0,"dur":"#;
    format!(r#"{{"traceEvents": [{event}{micros}}}]}}"#)
}

#[test]
fn traces_without_steps_are_compared_whole_and_said_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (stepless(1000), stepless(200));
    let (a, b) = (write(&folder, "a.json", a.as_bytes()), write(&folder, "b.json", b.as_bytes()));
    let compare = |args: &[&str]| knockout(&[&["trace", "compare"], args].concat());
    let text = String::from_utf8(compare(&[&a, &b]).stdout).unwrap();
    assert!(text.starts_with("The whole trace of b takes 80.0 % less time than that of a"), "{text}");
    assert!(!text.to_lowercase().contains("per step"), "{text}");
    assert_eq!(json(&compare(&[&a, &b, "--json"]))["per"], "trace");
    let samples = compare(&[&a, &b, "--samples-per-step", "64,128"]);
    assert_eq!(samples.status.code(), Some(2), "{}", stderr(&samples));
    assert!(stderr(&samples).contains("not both traces have steps"), "{}", stderr(&samples));
    let c = write(&folder, "c.json", steps(0, 1, 1000).as_bytes());
    let text = String::from_utf8(compare(&[&a, &c]).stdout).unwrap();
    assert!(
        text.starts_with("Only one of the two has steps, so whole traces are compared. The whole"),
        "{text}"
    );
}

#[test]
fn a_single_step_has_no_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "small.json", SMALL.as_bytes());
    let text = String::from_utf8(knockout(&["trace", "analyze", &path]).stdout).unwrap();
    assert!(text.contains("Steps: 1, 100.000 µs"), "{text}");
}

#[test]
fn a_launch_call_of_an_unknown_name_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let event = |cat: &str, name: &str, tid: u32, ts: u32, id: u32| {
        format!(
            r#"{{"ph":"X","cat":"{cat}","name":"{name}","pid":1,"tid":{tid},"ts":{ts},"dur":10,"args":{{"correlation":{id}{}}}}}"#,
            if cat == "kernel" { r#","stream":7,"device":0"# } else { "" }
        )
    };
    let events = [
        event("cuda_runtime", "cudaLaunchKernel", 1, 0, 1),
        event("kernel", "gemm", 7, 20, 1),
        event("cuda_driver", "cuLaunchKernelEx", 1, 30, 2),
        event("kernel", "triton", 7, 50, 2),
        event("kernel", "lost", 7, 70, 3),
        event("cpu_op", "aten::mul", 1, 500, 0),
    ];
    let text = format!(r#"{{"traceEvents": [{}]}}"#, events.join(","));
    let path = write(&folder, "launches.json", text.as_bytes());
    let text = String::from_utf8(knockout(&["trace", "analyze", &path]).stdout).unwrap();
    let said = "of 3 device events 1 have a launch call of a known name (calls 10.000 µs, device 10.000 µs, from call to start 10.000 µs on average of these), 1 another call, 1 none in the file";
    assert!(text.contains(said), "{text}");
    let idle = "the device is idle for 50.0 % of the time between its first and its last event, and for 94.1 % of the whole trace";
    assert!(text.contains(idle), "{text}");
}

#[test]
fn standard_input_is_read() {
    let mut command = cargo_bin_cmd!("knockout");
    let output = command.args(["trace", "analyze", "--rules", "reference", "--json", "-"]).write_stdin(SMALL);
    let output = output.output().unwrap();
    assert_eq!(json(&output)["events"], 4);
}

#[test]
fn threads_do_not_change_the_document() {
    let folder = tempfile::tempdir().unwrap();
    let events: Vec<String> = (0..20_000)
        .map(|i| {
            format!(
                r#"{{"ph":"X","cat":"cpu_op","name":"aten::op{}","pid":1,"tid":{},"ts":{i}.25,"dur":0.5}}"#,
                i % 37,
                i % 5
            )
        })
        .collect();
    let path = write(&folder, "many.json", format!("[{}]", events.join(",\n")).as_bytes());
    for rules in ["default", "reference"] {
        let one = knockout(&["trace", "analyze", "--rules", rules, "--json", "--threads", "1", &path]).stdout;
        for threads in ["2", "7"] {
            let more =
                knockout(&["trace", "analyze", "--rules", rules, "--json", "--threads", threads, &path]);
            assert!(more.stdout == one, "{threads} threads, rules {rules}");
        }
    }
}

#[test]
fn convert_filters_and_says_what_it_did() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "small.json", SMALL.as_bytes());
    let out = folder.path().join("out.json.gz");
    let out = out.to_str().unwrap();
    let convert = |filters: &[&str]| {
        let mut args = vec!["trace", "convert", "--force", "--json", &path, out];
        args.extend(filters);
        let output = knockout(&args);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let again = knockout(&["trace", "analyze", "--rules", "reference", "--json", out]);
        assert_eq!(json(&again)["events"], json(&output)["events_written"]);
        json(&output)["events_written"].as_u64().unwrap()
    };
    assert_eq!(convert(&[]), 4);
    assert_eq!(convert(&["--min-duration", "25"]), 3);
    assert_eq!(convert(&["--category", "KERNEL"]), 2);
    assert_eq!(convert(&["--from", "0.035"]), 3);
    assert_eq!(convert(&["--to", "0.005"]), 2);
    assert_eq!(convert(&["--rank", "3"]), 4);
    let none = knockout(&["trace", "convert", "--force", &path, out, "--rank", "1"]);
    assert_eq!(none.status.code(), Some(2));
    let kept = fs::read(out).unwrap();
    for (filters, said) in [
        (&["--category", "kernels"][..], "cpu_op, kernel, user_annotation"),
        (&["--from", "300", "--to", "100"], "--from 300 is not before --to 100"),
        (&["--from", "300"], "nothing is left of 4 events"),
    ] {
        let output = knockout(&[&["trace", "convert", "--force", &path, out], filters].concat());
        assert_eq!(output.status.code(), Some(2), "{filters:?}");
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
    assert_eq!(fs::read(out).unwrap(), kept, "a refusal leaves what was there");
}

#[test]
fn a_converted_trace_says_so_and_is_no_match_for_a_whole_one() {
    let folder = tempfile::tempdir().unwrap();
    let whole = write(&folder, "whole.json", steps(0, 1, 1000).as_bytes());
    let out = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (less, copy, mended, merged) =
        (out("less.json"), out("copy.json"), out("mended.json"), out("merged.json"));
    assert_eq!(
        knockout(&["trace", "convert", &whole, &less, "--min-duration", "600"]).status.code(),
        Some(0)
    );
    assert_eq!(knockout(&["trace", "convert", &whole, &copy]).status.code(), Some(0));
    let damaged = write(&folder, "damaged.json", cut(&steps(0, 1, 1000)));
    assert_eq!(knockout(&["trace", "convert", &damaged, &mended]).status.code(), Some(6));
    assert_eq!(knockout(&["trace", "convert", &whole, &whole, &merged]).status.code(), Some(0));
    for (file, said) in [
        (&less, "converted: `knockout trace convert` left events out (min_duration_us 600"),
        (&mended, "(recovered true)"),
        (&merged, "ranks_merged: 12 steps overlap"),
    ] {
        let output = knockout(&["trace", "analyze", file]);
        assert!(stderr(&output).contains(said), "{file}: {}", stderr(&output));
    }
    let plain = knockout(&["trace", "analyze", &copy]);
    assert!(!stderr(&plain).contains("convert"), "{}", stderr(&plain));
    let gate = |b: &str| knockout(&["trace", "compare", &whole, b, "--fail-above", "1.05"]);
    assert_eq!(gate(&copy).status.code(), Some(0));
    let refused = gate(&less);
    assert_eq!(refused.status.code(), Some(7), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("convert"), "{}", stderr(&refused));
}

#[test]
fn convert_replaces_only_when_told_and_leaves_nothing_half_done() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "small.json", SMALL.as_bytes());
    let out = write(&folder, "out.json", b"precious");
    assert_eq!(knockout(&["trace", "convert", &path, &out]).status.code(), Some(2));
    let other = write(&folder, "other.txt", b"no trace");
    assert_eq!(knockout(&["trace", "convert", "--force", &other, &out]).status.code(), Some(3));
    assert_eq!(fs::read(&out).unwrap(), b"precious");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "no partial file stays");
}

#[test]
fn convert_repairs_and_merges() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "small.json", SMALL.as_bytes());
    let bad = write(
        &folder,
        "bad.json",
        br#"[{"ph": "X", "name": "C:\Users", "pid": "CPU", "tid": 1, "ts": NaN, "dur": 1}]"#,
    );
    let out = folder.path().join("out.json");
    let output = knockout(&["trace", "convert", &path, &bad, out.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(6));
    let document: Value = serde_json::from_slice(&fs::read(&out).unwrap()).unwrap();
    let last = &document["traceEvents"][4];
    assert_eq!(
        (&last["name"], &last["pid"], &last["ts"]),
        (&"C:\\Users".into(), &"CPU (1)".into(), &Value::Null)
    );
    assert_eq!(document["schemaVersion"], 1);
}

/// Twelve steps of so many microseconds each, give or take one.
fn steps(rank: u32, world: u32, micros: u32) -> String {
    let events: Vec<String> = (0..12)
        .map(|step| {
            let (start, length) = (step * 10_000, micros + step % 3);
            format!(
                r#"{{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{step}","pid":1,"tid":1,"ts":{start},"dur":{length}}},
{{"ph":"X","cat":"cpu_op","name":"aten::mul","pid":1,"tid":1,"ts":{start},"dur":{}}}"#,
                length / 2
            )
        })
        .collect();
    let info = format!(r#"{{"rank": {rank}, "world_size": {world}}}"#);
    format!(r#"{{"distributedInfo": {info}, "traceEvents": [{}]}}"#, events.join(",\n"))
}

#[test]
fn slower_than_allowed_is_5_and_equal_is_0() {
    let folder = tempfile::tempdir().unwrap();
    let a = write(&folder, "a.json", steps(0, 1, 1000).as_bytes());
    let b = write(&folder, "b.json", steps(0, 1, 1200).as_bytes());
    let slower = knockout(&["trace", "compare", &a, &b, "--fail-above", "1.05", "--json"]);
    assert_eq!(slower.status.code(), Some(5), "{}", stderr(&slower));
    assert!(stderr(&slower).contains("step takes 1.2"), "{}", stderr(&slower));
    assert_eq!(json(&slower)["comparable"], true, "the document is printed all the same");
    for (one, other, allowed) in [(&a, &a, "1.05"), (&b, &a, "1.05"), (&a, &b, "1.3")] {
        let output = knockout(&["trace", "compare", one, other, "--fail-above", allowed]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
}

#[test]
fn too_few_steps_to_judge_are_7_and_never_5() {
    let folder = tempfile::tempdir().unwrap();
    // The first so many of the twelve steps: two events each.
    let first = |name: &str, count: usize, micros: u32| {
        let whole = steps(0, 1, micros);
        let (head, list) = whole.split_once('[').unwrap();
        let kept: Vec<&str> = list.split(",\n").take(2 * count).collect();
        let kept = kept.join(",\n").trim_end_matches("]}").to_owned();
        write(&folder, name, format!("{head}[{kept}]}}").as_bytes())
    };
    for (count, code) in [(1, 7), (4, 7), (5, 5)] {
        let (a, b) = (first("a.json", count, 1000), first("b.json", count, 1276));
        let output = knockout(&["trace", "compare", &a, &b, "--fail-above", "1.05"]);
        assert_eq!(output.status.code(), Some(code), "{count} steps: {}", stderr(&output));
        assert_eq!(stderr(&output).contains("too few steps to judge"), code == 7, "{}", stderr(&output));
    }
}

#[test]
fn another_number_of_steps_is_no_unlike_condition() {
    let folder = tempfile::tempdir().unwrap();
    let whole = steps(0, 1, 1000);
    let (eleven, _) = whole
        .split_once(
            r#",
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#11""#,
        )
        .unwrap();
    let a = write(&folder, "a.json", whole.as_bytes());
    let b = write(&folder, "b.json", format!("{eleven}]}}").as_bytes());
    let output = knockout(&["trace", "compare", &a, &b, "--fail-above", "1.05"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("; a has 12 steps and b 11") && !text.contains("Conditions that differ"), "{text}");
}

#[test]
fn unlike_conditions_are_7_when_a_gate_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let a = write(&folder, "a.json", steps(0, 1, 1000).as_bytes());
    let b = write(&folder, "b.json", steps(0, 4, 1000).as_bytes());
    let gate = knockout(&["trace", "compare", &a, &b, "--fail-above", "1.05"]);
    assert_eq!(gate.status.code(), Some(7));
    assert!(stderr(&gate).contains("world_size"), "{}", stderr(&gate));
    let look = knockout(&["trace", "compare", &a, &b, "--json"]);
    assert_eq!(look.status.code(), Some(0), "to look is always allowed");
    assert_eq!(json(&look)["comparable"], false);
}

#[test]
fn a_comparison_with_a_damaged_trace_is_6() {
    let folder = tempfile::tempdir().unwrap();
    let whole = steps(0, 1, 1000);
    let a = write(&folder, "a.json", whole.as_bytes());
    let b = write(&folder, "b.json", cut(&whole));
    let output = knockout(&["trace", "compare", &a, &b, "--fail-above", "1.05"]);
    assert_eq!(output.status.code(), Some(6));
    assert!(stderr(&output).contains("truncated"), "{}", stderr(&output));
    assert_eq!(knockout(&["trace", "compare", &a, &b, "--strict"]).status.code(), Some(3));
}

#[test]
fn each_side_of_a_comparison_may_have_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, rank, micros| write(&folder, name, steps(rank, 2, micros).as_bytes());
    let (a0, a1) = (file("a0.json", 0, 1000), file("a1.json", 1, 1100));
    let (b0, b1) = (file("b0.json", 0, 1000), file("b1.json", 1, 1650));
    let output = knockout(&["trace", "compare", &a0, &a1, "--against", &b0, &b1, "--json"]);
    let document = json(&output);
    let step = &document["rows"][0];
    assert_eq!(step["name"], "step");
    assert!((step["ratio"].as_f64().unwrap() - 1.5).abs() < 0.01, "the slowest rank is the step: {step}");
    let ranks = knockout(&["trace", "compare", &a0, "--against", &b0, &b1, "--fail-above", "9"]);
    assert_eq!(ranks.status.code(), Some(7), "one rank against two");
    assert!(stderr(&ranks).contains("differ in ranks"), "{}", stderr(&ranks));
    let text = String::from_utf8(ranks.stdout).unwrap();
    assert!(text.starts_with("Not comparable: a has 1 rank and b 2 ranks, and times are sums"), "{text}");
    assert!(!text.contains("What changed most"), "{text}");
    for wrong in [&[a0.as_str()][..], &[a0.as_str(), &a1, &b0]] {
        let output = knockout(&[&["trace", "compare"], wrong].concat());
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    }
    let against = knockout(&["trace", "compare", &a0, &a1, &b0, &b1]);
    assert!(stderr(&against).contains("--against"), "{}", stderr(&against));
}
