//! `knockout trace analyze`: exit codes, warnings, documents and figures.

use crate::support::traces::{SMALL, cut, event, steps, three_steps, trace};
use crate::support::{Home, Ran};
use serde_json::Value;
use std::fs;
use std::io::Write as _;
use std::process::Stdio;

/// Runs on one trace.
fn analyze(contents: &str, options: &str) -> Ran {
    let home = Home::empty();
    home.write("trace.json", contents);
    home.run(&format!("trace analyze trace.json {options}"))
}

#[test]
fn reference_report_has_its_sections_and_columns() {
    let text = analyze(SMALL, "--rules reference").ok().stdout;
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
    // The reference knows kernels by their category and operations by their name alone.
    assert!(!text.contains("--- CUDA KERNELS ---"));
}

#[test]
fn a_missing_file_is_2() {
    Home::empty().fails("trace analyze no-such-file.json", 2, &["no-such-file.json"]);
}

#[test]
fn a_file_that_is_not_a_trace_is_3() {
    for contents in ["", "{\"a\": 1}", "hello"] {
        for rules in ["default", "reference"] {
            let ran = analyze(contents, &format!("--rules {rules} --json")).fails(3, &["trace.json"]);
            assert_eq!(ran.stdout, "", "{contents}");
        }
    }
}

#[test]
fn a_damaged_trace_is_6_with_the_events_before_the_damage() {
    for rules in ["default", "reference"] {
        let ran = analyze(cut(SMALL), &format!("--rules {rules} --json"))
            .fails(6, &["truncated", "after 3 complete events"]);
        let document = ran.document();
        assert_eq!(document["events"], 3);
        assert!(document["warnings"].to_string().contains("truncated"));
    }
}

#[test]
fn the_last_step_of_a_truncated_trace_is_cut_and_its_bound_is_not_clear() {
    let whole = steps((0, 1), 4, 1000);
    let truncated = &whole[..whole.rfind("aten::mul").unwrap()];
    let document = analyze(truncated, "--json").fails(6, &["truncated"]).document();
    let file = &document["ranks"][0];
    let is_cut: Vec<bool> =
        file["steps"].as_array().unwrap().iter().map(|step| step["is_cut"].as_bool().unwrap()).collect();
    assert_eq!(is_cut, [false, false, false, true], "{file}");
    assert_eq!(document["bound"][0]["confidence"], "incomplete");
    analyze(truncated, "").fails(6, &["is the last step of a file that ends early"]);
    let document = analyze(&whole, "--json").ok().document();
    assert_eq!(document["bound"][0]["confidence"], "clear");
}

#[test]
fn strict_refuses_a_damaged_trace() {
    for rules in ["default", "reference"] {
        let ran = analyze(cut(SMALL), &format!("--rules {rules} --json --strict")).fails(3, &["truncated"]);
        assert_eq!(ran.stdout, "");
    }
}

#[test]
fn damage_is_reported_before_figures() {
    let home = Home::empty();
    home.write("cut.json", cut(&steps((0, 1), 12, 1000)));
    let text = home.run("trace analyze cut.json --html page.html").ends(6).stdout;
    let second = text.lines().nth(1).unwrap();
    assert!(second.starts_with("the trace is damaged: 23 events could be read"), "{text}");
    assert!(home.read("page.html").contains("the trace is damaged: 23 events could be read"));
    // The device may be in the missing part.
    assert!(text.contains("no device events in the part that could be read"), "{text}");
    assert!(!text.contains("the trace has no device"), "{text}");
}

#[test]
fn a_single_step_has_no_trend() {
    analyze(SMALL, "").ok().prints(&["Steps: 1, 100.000 µs"]);
}

#[test]
fn device_events_are_counted_by_how_they_were_launched() {
    let call = |category: &str, name: &str, thread: u32, start: u32, id: u32| {
        let stream = if category == "kernel" { r#","stream":7,"device":0"# } else { "" };
        event(category, name, thread, start, 10)
            .replace(r#""dur":10"#, &format!(r#""dur":10,"args":{{"correlation":{id}{stream}}}"#))
    };
    let launches = [
        call("cuda_runtime", "cudaLaunchKernel", 1, 0, 1),
        call("kernel", "gemm", 7, 20, 1),
        call("cuda_driver", "cuLaunchKernelEx", 1, 30, 2),
        call("kernel", "triton", 7, 50, 2),
        call("kernel", "lost", 7, 70, 3),
        call("cpu_op", "aten::mul", 1, 500, 0),
    ];
    analyze(&trace(None, &launches), "").ok().prints(&[
        "1 of 3 device events have a launch call of a known name (calls 10.000 µs, device 10.000 µs, from call to start 10.000 µs on average of these); 1 have another call, 1 none in the file",
        "the device is idle for 94.1 % of the time (480.000 µs of 510.000 µs)",
    ]);
}

#[test]
fn waiting_for_autograd_is_separate_from_work() {
    let engine = "autograd::engine::evaluate_function: MmBackward0";
    let waiting = trace(
        None,
        &[event("user_annotation", "## backward ##", 1, 0, 100), event("cpu_op", engine, 2, 10, 60)],
    );
    assert_eq!(analyze(&waiting, "--json").json()["ranks"][0]["autograd_wait_us"], 100.0);
    analyze(&waiting, "").ok().prints(&[
        "backward: 100.000 µs of it are a thread that waits for autograd's threads, 60.000 µs are work",
    ]);
}

#[test]
fn standard_input_is_read() {
    let home = Home::empty();
    let mut command = home.command("trace analyze --rules reference --json -");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(SMALL.as_bytes()).unwrap();
    let document: Value = serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(document["events"], 4);
}

#[test]
fn threads_do_not_change_the_document() {
    let home = Home::empty();
    let events: Vec<String> =
        (0..20_000).map(|i| event("cpu_op", &format!("aten::op{}", i % 37), i % 5, i, 1)).collect();
    home.write("many.json", trace(None, &events));
    for rules in ["default", "reference"] {
        let with = |threads: u32| {
            home.ok(&format!("trace analyze --rules {rules} --json --threads {threads} many.json")).stdout
        };
        let one = with(1);
        assert!(with(2) == one && with(7) == one, "rules {rules}");
    }
}

/// A folder with two ranks of a job, a later trace of a rank, a trace without a rank and a file that is not a trace.
fn folder_of_traces() -> Home {
    let home = Home::empty();
    fs::create_dir_all(home.path("traces/older")).unwrap();
    home.write("traces/rank0.json", three_steps(Some((0, 2)), 0));
    home.write("traces/rank1.json", three_steps(Some((1, 2)), 50));
    home.write("traces/later.json", three_steps(Some((1, 2)), 900_000));
    home.write("traces/older/alone.json", three_steps(None, 0));
    home.write("traces/notes.json", "not a trace");
    home
}

#[test]
fn a_folder_has_a_line_for_each_trace() {
    let home = folder_of_traces();
    let found = home.json("trace analyze traces --json");
    assert_eq!(found["kind"], "overview");
    let lines: Vec<(&str, Option<u64>)> = (found["traces"].as_array().unwrap().iter())
        .map(|line| (line["file"].as_str().unwrap(), line["job"].as_u64()))
        .collect();
    let expected = [
        ("traces/later.json", None),
        ("traces/older/alone.json", None),
        ("traces/rank0.json", Some(1)),
        ("traces/rank1.json", Some(1)),
    ];
    assert_eq!(lines, expected);
    let first = &found["traces"][0];
    assert_eq!((&first["bound"]["limit"], &first["steps"]), (&"operations".into(), &3.into()));
    assert_eq!(first["bound"]["operation"][0], "aten::mm");
    home.ok("trace analyze traces -q").prints(&["host operations", "1, rank 0"]);
}

#[test]
fn files_of_a_folder_that_are_not_traces_are_left_out() {
    let home = folder_of_traces();
    home.ok("trace analyze traces").warns(&["1 JSON file is not a trace and left out; -v explains why"]);
    let verbose = home.ok("trace analyze traces -v").warns(&["left out traces/notes.json"]);
    assert!(!verbose.stderr.contains("-v explains why"), "{}", verbose.stderr);
    // Nor does a strict analysis refuse them.
    home.ok("trace analyze traces --strict");
}

#[test]
fn ranks_of_a_job_are_shown_together_and_other_traces_are_not() {
    let home = folder_of_traces();
    home.ok("trace analyze traces/rank0.json traces/rank1.json")
        .prints(&["rank 1: a step is bound by host operations"]);
    let unrelated = home.json("trace analyze traces/rank0.json traces/later.json --json");
    assert_eq!(unrelated["kind"], "overview");
}

#[test]
fn a_page_of_unrelated_traces_is_refused() {
    let command = "knockout trace analyze traces/rank0.json traces/rank1.json --html";
    folder_of_traces().fails(
        "trace analyze traces --html page.html -q",
        2,
        &["name the files that belong together", command],
    );
}

#[test]
fn a_folder_of_one_job_is_that_job() {
    let home = Home::empty();
    fs::create_dir(home.path("job")).unwrap();
    for rank in [0, 1] {
        home.write(&format!("job/rank{rank}.json"), three_steps(Some((rank, 2)), 0));
    }
    // A file of this program beside the traces.
    home.write("job/profile.json", "{}");
    let job =
        home.ok("trace analyze job --html job.html").prints(&["rank 1: a step is bound by host operations"]);
    assert!(home.path("job.html").is_file() && !job.stderr.contains("left out"), "{}", job.stderr);
}

#[test]
fn a_folder_without_traces_is_2() {
    let home = Home::empty();
    fs::create_dir(home.path("nothing")).unwrap();
    home.fails("trace analyze nothing", 2, &["no traces in nothing"]);
}

#[test]
fn a_damaged_trace_in_a_folder_is_named() {
    let home = Home::empty();
    fs::create_dir(home.path("traces")).unwrap();
    home.write("traces/cut.json", cut(&steps((0, 1), 12, 1000)));
    home.write("traces/whole.json", SMALL);
    home.write("traces/other.json", "{\"a\": 1}");
    home.fails("trace analyze traces", 6, &["-v explains why"]);
    let strict =
        home.fails("trace analyze traces --strict", 3, &["cut.json is damaged: the file is truncated"]);
    assert!(!strict.stderr.contains("2 JSON files"), "{}", strict.stderr);
}

/// Writes the traces of ranks that wait in collectives for the last one, for half of each step.
fn write_ranks(home: &Home, ranks: u32) -> String {
    for rank in 0..ranks {
        let step = |step: u32| {
            let start = 1000 * step;
            let arrival = start + if rank + 1 < ranks { 100 } else { 600 };
            [
                event("user_annotation", &format!("ProfilerStep#{step}"), 1, start, 1000),
                event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 7, arrival, start + 700 - arrival),
            ]
        };
        let events: Vec<String> = (0..4).flat_map(step).collect();
        home.write(&format!("rank{rank}.json"), trace(Some((rank, ranks)), &events));
    }
    (0..ranks).fold(String::new(), |files, rank| format!("{files} rank{rank}.json"))
}

#[test]
fn a_job_whose_ranks_wait_for_one_of_them_is_answered_by_that_rank() {
    let home = Home::empty();
    let files = write_ranks(&home, 2);
    let text = home.ok(&format!("trace analyze{files}")).stdout;
    let job = text.find("the job: rank 1 arrives last in 4 of 4 collectives");
    assert!(job.is_some_and(|job| Some(job) < text.find("rank 0: a step is bound by")), "{text}");
    assert_eq!(text.matches("rank 1 arrives last").count(), 1, "{text}");
}

#[test]
fn ranks_of_a_large_job_are_grouped_by_what_bounds_them() {
    let home = Home::empty();
    let files = write_ranks(&home, 12);
    let text = home.ok(&format!("trace analyze{files}")).stdout;
    for line in [
        "rank0.json, rank 0 of 12\n… 10 more\nrank11.json, rank 11 of 12\n",
        "ranks 0 to 10 (11 ranks): a step is bound by waiting for rank 11, for 50.0 % of it; removing that would save at most 500.000 µs\n",
        "rank 11: a step is bound by",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
    // Of the others, the page and the text have a row each.
    assert_eq!(text.matches("\nDevice of rank ").count(), 2, "{text}");
    assert!(text.contains("\nDevice of rank 0, ") && text.contains("\nDevice of rank 11, "), "{text}");
    assert!(text.contains("  rank 11        4"), "the rank that arrives last comes first: {text}");
    let document = home.json(&format!("trace analyze{files} --json --html page.html"));
    assert_eq!(document["bound"].as_array().unwrap().len(), 12);
    assert_eq!(document["critical_path"]["rank"], 11);
    let page = home.read("page.html");
    let pictures = page.split(r#"id="data">"#).nth(1).unwrap().split("</script>").next().unwrap();
    let pictures: serde_json::Value = serde_json::from_str(pictures).unwrap();
    for kind in ["timeline", "flame"] {
        let picture = pictures.as_array().unwrap().iter().find(|picture| picture["kind"] == kind).unwrap();
        let lanes = picture["data"]["lanes"].as_array().unwrap();
        let is_shown = |lane: &serde_json::Value| {
            let label = lane["label"].as_str().unwrap();
            label.starts_with("rank 0,") || label.starts_with("rank 11,")
        };
        assert!(!lanes.is_empty() && lanes.iter().all(is_shown), "{lanes:?}");
    }
    assert!(page.contains("device figures are shown of rank 0, 11"));
}
