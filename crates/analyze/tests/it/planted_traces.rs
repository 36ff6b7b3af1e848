//! Small traces made here, whose answers are known: categories by what encloses, findings, ranks, hostile input.

use knockout_analyze::{
    Analysis, Collector, FileFindings, Limit, Options, Rules, TraceComparison, TraceFinding,
};
use knockout_trace::{ReadOptions, read};
use proptest::prelude::*;
use std::fmt::Write as _;

fn findings_of(text: &str, options: &Options, rules: &Rules) -> FileFindings {
    let mut collector = Collector::new(rules, options);
    let outcome = read(text.as_bytes(), ReadOptions::default(), &mut collector).unwrap();
    collector.finish("made here", &outcome).unwrap()
}

fn findings(text: &str) -> FileFindings {
    findings_of(text, &Options::default(), &Rules::default_rules().unwrap())
}

#[test]
fn the_rules_in_the_guide_are_a_valid_file() {
    let guide = include_str!("../../../../docs/trace.md");
    let (_, rest) = guide.split_once("```toml\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let rules = Rules::from_toml("example.toml", example).unwrap();
    let text = trace(&[
        span("cpu_op", "tokenize", 1, 0, 10, ""),
        span("cpu_op", "aten::mul", 1, 2, 5, ""),
        span("cpu_op", "forward", 1, 20, 10, ""),
        span("cpu_op", "tokenize", 1, 22, 5, ""),
    ]);
    let found = findings_of(&text, &Options::default(), &rules);
    assert_eq!((category(&found, "tokeniser"), category(&found, "forward")), (10.0, 10.0));
    let text = trace(&[
        span("cpu_op", "forward", 1, 0, 10, ""),
        span("cuda_runtime", "cudaLaunchKernel", 1, 2, 5, "\"correlation\":7"),
        span("gpu_user_annotation", "forward", 9, 20, 50, "\"stream\":7,\"device\":0"),
        span("kernel", "gemm", 9, 20, 30, "\"stream\":7,\"device\":0,\"correlation\":7"),
        span("gpu_memcpy", "Memcpy HtoD", 9, 80, 10, "\"stream\":7,\"device\":0"),
    ]);
    let found = findings_of(&text, &Options::default(), &rules);
    assert_eq!((found.host_us, found.device_us), (10.0, 60.0), "the device's time is the device's");
    let sides: Vec<_> = found.categories.iter().map(|row| (row.name.as_str(), row.device, row.us)).collect();
    assert_eq!(sides, [("forward", true, 50.0), ("forward", false, 10.0), ("unattributed", true, 10.0)]);
    let part = Rules::from_toml("part.toml", "[[rule]]\ncategory = \"a\"\n").unwrap_err().to_string();
    assert!(part.contains("begin with a copy of"), "{part}");
}

#[test]
fn a_host_call_that_names_its_stream_launches_from_its_phase_and_step() {
    for stream in ["\"stream\":\"0x0\",", ""] {
        let found = findings(&trace(&[
            span("user_annotation", "ProfilerStep#1", 1, 0, 100, ""),
            span("user_annotation", "## forward ##", 1, 10, 50, ""),
            span("cuda_runtime", "hipLaunchKernel", 1, 20, 5, &format!("{stream}\"correlation\":7")),
            span("kernel", "gemm", 9, 40, 30, "\"stream\":0,\"device\":0,\"correlation\":7"),
        ]));
        let by_phase = &found.gpu.as_ref().unwrap().by_phase;
        assert_eq!((by_phase[0].name.as_str(), by_phase[0].us), ("forward", 30.0), "{stream}");
        assert_eq!(found.steps[0].device[0].us, 30.0, "{stream}");
    }
}

#[test]
fn sleeping_threads_do_not_bound_a_trace() {
    let found = findings(&trace(&[
        span("user_annotation", "ProfilerStep#1", 1, 0, 1000, ""),
        span("cpu_op", "aten::mm", 1, 0, 600, ""),
        span("cpu_op", "aten::add", 1, 600, 300, ""),
        span("python_function", "threading.py(359): wait", 2, 0, 1000, ""),
    ]));
    let bound = found.bound.clone();
    assert_eq!(bound.limit, Limit::Operations);
    assert_eq!(bound.largest, Some(("operators outside any phase".to_owned(), 0.9)));
    assert_eq!(bound.operation, Some(("aten::mm".to_owned(), 0.6)));
    let asleep = found.categories.iter().find(|row| row.name == "waiting in python").unwrap();
    assert!(asleep.is_asleep() && asleep.share_of_side == 0.5);
}

#[test]
fn the_named_operation_is_of_the_named_category_and_not_a_wait() {
    let kernel = |name: &str, start, duration| {
        span("kernel", name, 9, start, duration, "\"stream\":7,\"device\":0,\"correlation\":1")
    };
    let found = findings(&trace(&[
        kernel("event_wait", 0, 300),
        kernel("ncclKernel_SendRecv", 300, 210),
        kernel("gemm", 510, 200),
        kernel("gelu", 710, 190),
    ]));
    let bound = found.bound.clone();
    assert_eq!(bound.limit, Limit::Device);
    assert_eq!(bound.operation.unwrap().0, "gemm", "neither the wait nor what is listed as communication");
    assert_eq!(found.device_us, 900.0);
}

#[test]
fn without_a_device_communication_can_bound_a_step() {
    let found = findings(&trace(&[
        span("user_annotation", "ProfilerStep#1", 1, 0, 100, ""),
        span("cpu_op", "gloo:all_reduce", 1, 10, 60, ""),
        span("cpu_op", "aten::mm", 1, 75, 20, ""),
    ]));
    let bound = found.bound.clone();
    assert_eq!((bound.limit, bound.share), (Limit::Communication, 0.6));
    assert_eq!(bound.largest.unwrap().0, "communication");
}

#[test]
fn common_names_of_loading_are_data_loading() {
    for name in ["## data_load ##", "load_data", "LoadBatch", "data loading"] {
        let found = findings(&trace(&[span("user_annotation", name, 1, 0, 10, "")]));
        assert_eq!(category(&found, "data loading"), 10.0, "{name}");
    }
}

/// Backward on a thread of autograd's own, from 300 to 800, while the thread with the steps waits.
fn with_autograd(more: &[String]) -> FileFindings {
    let engine = |name: &str, start, duration| {
        span("cpu_op", &format!("autograd::engine::evaluate_function: {name}"), 2, start, duration, "")
    };
    let events = [
        span("user_annotation", "ProfilerStep#1", 1, 0, 1000, ""),
        span("user_annotation", "forward", 1, 0, 250, ""),
        span("user_annotation", "Optimizer.step#Adam.step", 1, 900, 50, ""),
        engine("MmBackward0", 300, 200),
        engine("AddBackward0", 520, 280),
    ];
    findings(&trace(&[&events[..], more].concat()))
}

fn share_of_work(findings: &FileFindings, name: &str) -> f64 {
    findings.categories.iter().find(|row| row.name == name).and_then(|row| row.share_of_work).unwrap()
}

#[test]
fn a_thread_that_waits_for_autograd_does_no_work_of_the_host() {
    // In a span of its own: backward's time, and none of its work.
    let found = with_autograd(&[span("user_annotation", "## backward ##", 1, 290, 520, "")]);
    assert_eq!((category(&found, "backward"), found.autograd_wait_us), (1000.0, 520.0));
    assert_eq!((category(&found, "unattributed"), found.autograd_wait_unnamed_us), (180.0, 0.0));
    let work = 480.0 + 250.0 + 50.0 + 180.0;
    assert!((share_of_work(&found, "backward") - 480.0 / work).abs() < 1e-12);
    assert!((share_of_work(&found, "forward") - 250.0 / work).abs() < 1e-12);
    assert_eq!(found.bound.largest, Some(("backward".to_owned(), 0.52)), "of the step, waiting included");
    // Without one, the waiting is what nothing names, from the first function of autograd's to the last.
    let found = with_autograd(&[]);
    assert_eq!((found.autograd_wait_us, found.autograd_wait_unnamed_us), (0.0, 500.0));
    assert_eq!((category(&found, "unattributed"), category(&found, "backward")), (700.0, 480.0));
    assert!((share_of_work(&found, "unattributed") - 200.0 / (480.0 + 250.0 + 50.0 + 200.0)).abs() < 1e-12);
    let about = |found: &FileFindings| found.findings.iter().map(TraceFinding::about).collect::<Vec<_>>();
    assert!(!about(&found).contains(&"unattributed"), "{:?}", found.findings);
    assert_eq!(
        found.bound.largest,
        Some(("backward".to_owned(), 0.48)),
        "what autograd's thread does meanwhile"
    );
}

#[test]
fn waiting_for_autograd_is_reported_only_where_it_is_certain() {
    // The thread does something beside: before it, some functions may be another thread's.
    let found = with_autograd(&[span("cpu_op", "aten::add", 1, 700, 10, "")]);
    assert_eq!(found.autograd_wait_unnamed_us, 200.0);
    // Two threads with steps: nobody knows which of them waits.
    let found = with_autograd(&[span("user_annotation", "ProfilerStep#1", 3, 0, 1000, "")]);
    assert_eq!(found.autograd_wait_unnamed_us, 0.0);
    let said = found.findings.iter().find(|finding| finding.about() == "unattributed").unwrap();
    assert!(matches!(said, TraceFinding::Unattributed { autograd_us: 480.0, .. }), "{said:?}");
}

/// One complete event.
fn span(cat: &str, name: &str, tid: u32, start: i64, duration: i64, args: &str) -> String {
    format!(
        r#"{{"ph":"X","cat":"{cat}","name":"{name}","pid":1,"tid":{tid},"ts":{start},"dur":{duration},"args":{{{args}}}}}"#
    )
}

fn trace(events: &[String]) -> String {
    format!(r#"{{"traceEvents":[{}]}}"#, events.join(","))
}

fn category(findings: &FileFindings, name: &str) -> f64 {
    findings.categories.iter().filter(|row| row.name == name).map(|row| row.us).sum()
}

#[test]
fn the_same_operator_belongs_to_what_encloses_it() {
    let found = findings(&trace(&[
        span("user_annotation", "ProfilerStep#1", 1, 0, 1000, ""),
        span("user_annotation", "enumerate(DataLoader)#next", 1, 0, 100, ""),
        span("cpu_op", "aten::copy_", 1, 10, 50, ""),
        span("user_annotation", "## forward ##", 1, 100, 200, ""),
        span("cpu_op", "aten::copy_", 1, 110, 60, ""),
        span("cpu_op", "aten::cross_entropy_loss", 1, 200, 40, ""),
        span("cpu_op", "autograd::engine::evaluate_function: CopyBackward0", 2, 300, 100, ""),
        span("cpu_op", "aten::copy_", 2, 310, 70, ""),
        span("cpu_op", "Optimizer.step#AdamW.step", 1, 500, 300, ""),
        span("cpu_op", "aten::copy_", 1, 510, 80, ""),
        span("cpu_op", "aten::copy_", 1, 900, 90, ""),
    ]));
    assert_eq!(category(&found, "data loading"), 100.0);
    assert_eq!(category(&found, "forward"), 160.0);
    assert_eq!(category(&found, "loss"), 40.0);
    assert_eq!(category(&found, "backward"), 100.0);
    assert_eq!(category(&found, "optimiser"), 300.0);
    assert_eq!(category(&found, "operators outside any phase"), 90.0);
    assert_eq!(
        category(&found, "unattributed"),
        310.0,
        "the step's own time is nobody's, least of all the optimiser's"
    );
    let copies = found.operations.iter().find(|op| op.name == "aten::copy_").unwrap();
    assert_eq!((copies.self_us, copies.count, copies.by_category.len()), (350.0, 5, 5));
    assert_eq!(found.steps[0].us, 1000.0);
    let in_step: f64 = found.steps[0].host.iter().map(|row| row.us).sum();
    assert_eq!(in_step, 1100.0, "both threads inside the step");
}

/// Names that Lightning and PyTorch give to the spans of a step.
const TRAINING_STEP: &str = "[pl][profile][Strategy]SingleDeviceStrategy.training_step";
const STRATEGY_BACKWARD: &str = "[pl][profile][Strategy]SingleDeviceStrategy.backward";
const LAYER: &str = "[pl][module]torch.nn.modules.linear.Linear: a";
const OPTIMIZER_STEP: &str = "Optimizer.step#AdamW.step";
const ZERO_GRAD: &str = "Optimizer.zero_grad#AdamW.zero_grad";
const MM_BACKWARD: &str = "autograd::engine::evaluate_function: MmBackward0";

/// Time in forward, backward, the optimiser and everything else of the host.
fn forward_backward_optimiser_rest(found: &FileFindings) -> [f64; 4] {
    let [forward, backward, optimiser] =
        ["forward", "backward", "optimiser"].map(|name| category(found, name));
    [forward, backward, optimiser, found.host_us - forward - backward - optimiser]
}

#[test]
fn an_optimiser_that_training_step_calls_is_not_forward() {
    let found = findings(&trace(&[
        span("user_annotation", "ProfilerStep#1", 1, 0, 1000, ""),
        span("user_annotation", TRAINING_STEP, 1, 50, 900, ""),
        span("user_annotation", LAYER, 1, 60, 100, ""),
        span("cpu_op", "aten::addmm", 1, 70, 80, r#""Sequence number":1"#),
        span("user_annotation", ZERO_GRAD, 1, 170, 30, ""),
        span("cpu_op", "aten::zero_", 1, 175, 20, r#""Sequence number":2"#),
        span("cpu_op", MM_BACKWARD, 1, 210, 190, ""),
        span("cpu_op", "aten::mm", 1, 220, 170, ""),
        span("user_annotation", "[pl][profile]optimizer_step", 1, 410, 530, ""),
        span("user_annotation", OPTIMIZER_STEP, 1, 420, 510, ""),
        span("cpu_op", "aten::sqrt", 1, 430, 400, ""),
    ]));
    // Layer 100 and the 50 that `training_step` has for itself; `zero_grad` 30 and the step 530.
    assert_eq!(forward_backward_optimiser_rest(&found), [150.0, 190.0, 560.0, 100.0]);
}

#[test]
fn forward_and_backward_in_an_optimisers_closure_are_not_the_optimisers() {
    let found = findings(&trace(&[
        span("user_annotation", "ProfilerStep#1", 1, 0, 1000, ""),
        span("user_annotation", OPTIMIZER_STEP, 1, 50, 900, ""),
        span("user_annotation", TRAINING_STEP, 1, 60, 140, ""),
        span("user_annotation", LAYER, 1, 70, 100, ""),
        span("cpu_op", "aten::addmm", 1, 80, 80, r#""Sequence number":1"#),
        span("user_annotation", ZERO_GRAD, 1, 210, 30, ""),
        span("cpu_op", "aten::zero_", 1, 215, 20, r#""Sequence number":2"#),
        span("user_annotation", STRATEGY_BACKWARD, 1, 250, 200, ""),
        span("cpu_op", MM_BACKWARD, 1, 260, 180, ""),
        span("cpu_op", "aten::add_", 1, 460, 20, r#""Sequence number":3"#),
        span("cpu_op", "aten::sqrt", 1, 500, 400, ""),
    ]));
    assert_eq!(forward_backward_optimiser_rest(&found), [140.0, 200.0, 560.0, 100.0]);
}

#[test]
fn of_nested_phases_the_innermost_wins_and_forward_inside_backward_is_recomputation() {
    let found = findings(&trace(&[
        span("user_annotation", TRAINING_STEP, 1, 0, 1000, ""),
        span("user_annotation", OPTIMIZER_STEP, 1, 100, 800, ""),
        span("user_annotation", LAYER, 1, 200, 100, ""),
        span("user_annotation", STRATEGY_BACKWARD, 1, 400, 300, ""),
        span("user_annotation", LAYER, 1, 450, 50, ""),
        // An optimiser that a hook calls as soon as a gradient is there.
        span("user_annotation", OPTIMIZER_STEP, 1, 600, 40, ""),
    ]));
    assert_eq!(forward_backward_optimiser_rest(&found), [300.0, 260.0, 440.0, 0.0]);
}

#[test]
fn what_autograds_thread_does_for_a_training_step_is_backward() {
    let kernel = |start, correlation: u32| {
        let args = format!(r#""device":0,"stream":7,"correlation":{correlation}"#);
        span("kernel", "gemm", 9, start, 30, &args)
    };
    let launch = |tid, start, correlation: u32| {
        span("cuda_runtime", "cudaLaunchKernel", tid, start, 5, &format!(r#""correlation":{correlation}"#))
    };
    let found = findings(&trace(&[
        span("user_annotation", TRAINING_STEP, 1, 0, 1000, ""),
        span("user_annotation", LAYER, 1, 10, 90, ""),
        launch(1, 20, 1),
        span("cpu_op", MM_BACKWARD, 2, 200, 300, ""),
        launch(2, 210, 2),
        launch(2, 220, 3),
        span("user_annotation", OPTIMIZER_STEP, 1, 600, 300, ""),
        launch(1, 610, 4),
        launch(1, 620, 5),
        launch(1, 630, 6),
        kernel(100, 1),
        kernel(300, 2),
        kernel(350, 3),
        kernel(700, 4),
        kernel(750, 5),
        kernel(800, 6),
    ]));
    let phase = |name: &str| found.phases.iter().find(|row| row.name == name).unwrap().us;
    // The function's 300, and as many in which the training step waits for it.
    assert_eq!((phase("backward"), phase("optimiser")), (600.0, 300.0));
    assert_eq!(found.autograd_wait_us, 300.0);
    let device: Vec<_> = found.gpu.unwrap().by_phase.into_iter().map(|row| (row.name, row.us)).collect();
    let wanted = [("optimiser", 90.0), ("backward", 60.0), ("forward", 30.0)];
    assert_eq!(device, wanted.map(|(name, us)| (name.to_owned(), us)));
}

#[test]
fn a_training_step_that_waits_for_autograds_thread_is_backward_meanwhile() {
    let found = findings(&trace(&[
        span("user_annotation", "ProfilerStep#1", 1, 0, 1000, ""),
        span("user_annotation", TRAINING_STEP, 1, 100, 800, ""),
        span("user_annotation", LAYER, 1, 110, 90, ""),
        span("cpu_op", MM_BACKWARD, 2, 300, 100, ""),
        span("cpu_op", MM_BACKWARD, 2, 420, 180, ""),
        span("user_annotation", OPTIMIZER_STEP, 1, 700, 150, ""),
        // A thread of the loader does not wait for autograd.
        span("user_annotation", "enumerate(DataLoader)#next", 3, 100, 800, ""),
    ]));
    // Of 800, the optimiser has 150, and the thread waits from 300 to 600.
    let of_thread = 280.0;
    assert_eq!(category(&found, "backward"), 300.0 + of_thread);
    assert_eq!((category(&found, "forward"), category(&found, "optimiser")), (350.0, 150.0));
    assert_eq!((found.autograd_wait_us, category(&found, "data loading")), (300.0, 800.0));
    let step = found.operations.iter().find(|row| row.name == TRAINING_STEP).unwrap();
    assert_eq!((step.self_us, step.total_us, step.count), (560.0, 800.0, 1));
    let host = &found.steps[0].host;
    assert_eq!(host.iter().find(|row| row.name == "backward").unwrap().us, 300.0 + of_thread);
    let modules = &found.module_tree;
    let names: Vec<_> =
        modules.iter().map(|row| (row.name.as_str(), row.host_us, row.host_self_us)).collect();
    assert_eq!(names[..2], [(TRAINING_STEP, 800.0, 560.0), (OPTIMIZER_STEP, 150.0, 150.0)]);
}

#[test]
fn a_span_that_outlives_its_step_belongs_to_both_steps() {
    let found = findings(&trace(&[
        span("user_annotation", "ProfilerStep#1", 1, 0, 100, ""),
        span("user_annotation", "ProfilerStep#2", 1, 110, 90, ""),
        // Lightning ends the step in the middle of its batch.
        span("user_annotation", "[pl][profile]run_training_batch", 1, 80, 100, ""),
        span("user_annotation", OPTIMIZER_STEP, 1, 90, 60, ""),
        span("cpu_op", "aten::sqrt", 1, 120, 20, ""),
    ]));
    assert_eq!(category(&found, "optimiser"), 60.0);
    let of = |name: &str| found.operations.iter().find(|row| row.name == name).unwrap();
    let batch = of("[pl][profile]run_training_batch");
    assert_eq!((batch.self_us, batch.total_us, batch.count), (40.0, 100.0, 1));
    assert_eq!((of(OPTIMIZER_STEP).self_us, of(OPTIMIZER_STEP).total_us), (40.0, 60.0));
    let optimiser =
        |step: usize| found.steps[step].host.iter().find(|row| row.name == "optimiser").unwrap().us;
    assert_eq!((optimiser(0), optimiser(1)), (10.0, 40.0), "10 are between the steps");
    let batch = &found.module_tree[0];
    assert_eq!((batch.host_us, batch.calls), (100.0, 1));
    assert!((batch.host_share - 90.0 / 190.0).abs() < 1e-12);
    assert_eq!(found.module_tree[1].parent, Some(0));
}

#[test]
fn an_operation_inside_itself_is_inside_once() {
    let found = findings(&trace(&[
        span("python_function", "f.py(1): walk", 1, 0, 100, ""),
        span("python_function", "f.py(1): walk", 1, 10, 50, ""),
        span("cpu_op", "aten::mul", 1, 20, 10, ""),
    ]));
    let walk = &found.operations[0];
    assert_eq!((walk.self_us, walk.total_us, walk.sum_us), (90.0, 100.0, 150.0));
    assert_eq!((found.python[0].us, found.python[0].python_us, found.python[0].count), (100.0, 90.0, 2));
}

#[test]
fn findings_have_their_figure_and_are_absent_below_thresholds() {
    let step = |loading: i64| {
        findings(&trace(&[
            span("user_annotation", "ProfilerStep#1", 1, 0, 1000, ""),
            span("user_annotation", "enumerate(DataLoader)#next", 1, 0, loading, ""),
            span("user_annotation", "## forward ##", 1, 500, 500, ""),
            span("cpu_op", "aten::mm", 1, loading, 500 - loading, ""),
        ]))
    };
    assert!(step(50).findings.is_empty(), "{:?}", step(50).findings);
    let loud = step(300);
    assert_eq!(loud.findings.len(), 1, "{:?}", loud.findings);
    assert!((loud.findings[0].figure() - 0.3).abs() < 1e-9, "{:?}", loud.findings[0]);
    let louder = step(400);
    assert!(
        (louder.findings[0].figure() - 0.4).abs() < 1e-9,
        "computed, not fixed: {:?}",
        louder.findings[0]
    );
}

#[test]
fn begin_and_end_make_spans_and_unpaired_events_are_reported() {
    let mark = |ph: &str, name: &str, ts: u32| {
        format!(r#"{{"ph":"{ph}","name":"{name}","pid":1,"tid":1,"ts":{ts}}}"#)
    };
    let found = findings(&trace(&[
        mark("B", "a", 0),
        mark("B", "b", 10),
        mark("E", "", 30),
        mark("E", "", 100),
        mark("E", "", 120),
        mark("B", "open", 130),
    ]));
    let own = |name: &str| found.operations.iter().find(|op| op.name == name).map(|op| op.self_us);
    assert_eq!((own("a"), own("b"), own("open")), (Some(80.0), Some(20.0), None));
    assert_eq!((found.naive_sum_us, found.complete_with_positive_dur), (120.0, 2));
    assert!(
        found.warnings.iter().any(|warning| warning.code() == "unmatched_begin_end"),
        "{:?}",
        found.warnings
    );
}

#[test]
fn a_kernel_belongs_to_the_phase_that_launched_it() {
    let found = findings(&trace(&[
        span("cpu_op", "Optimizer.step#SGD.step", 1, 0, 50, ""),
        span("cuda_runtime", "cudaLaunchKernel", 1, 10, 5, r#""correlation":7"#),
        span("kernel", "add_kernel", 9, 40, 30, r#""device":0,"stream":7,"correlation":7"#),
    ]));
    let gpu = found.gpu.unwrap();
    assert_eq!((gpu.by_phase[0].name.as_str(), gpu.by_phase[0].us), ("optimiser", 30.0));
    assert_eq!((gpu.launch.rows, gpu.launch.delay_us), (1, 25.0));
}

#[test]
fn own_rules_replace_the_built_in_ones() {
    let rules = Rules::from_toml(
        "mine.toml",
        "version = 1\n[[rule]]\ncategory = \"mine\"\nclaims = \"inside\"\nwords = [\"copy\"]\n[otherwise]\nother = \"rest\"\n",
    );
    let found = findings_of(
        &trace(&[span("cpu_op", "aten::copy_", 1, 0, 10, ""), span("cpu_op", "aten::mul", 1, 20, 5, "")]),
        &Options::default(),
        &rules.unwrap(),
    );
    assert_eq!((category(&found, "mine"), category(&found, "rest")), (10.0, 5.0));
}

/// Steps of training with jitter; `slow` stretches everything.
fn run(slow: f64) -> Analysis {
    let mut events = Vec::new();
    for step in 0..8_i64 {
        let length = (slow * f64::from(1000 + (step * 37 % 11) as i32)) as i64;
        let at = 10_000 * step;
        events.push(span("user_annotation", &format!("ProfilerStep#{step}"), 1, at, length, ""));
        events.push(span("cpu_op", "aten::mm", 1, at + 1, length - 100, ""));
    }
    Analysis::of(vec![findings(&trace(&events))])
}

#[test]
fn equal_runs_pass_the_gate_and_slow_ones_fail() {
    let (base, same, slow) = (run(1.0), run(1.0), run(1.3));
    assert!(TraceComparison::of(&base, &same).slower_than(1.05).is_empty());
    let comparison = TraceComparison::of(&base, &slow);
    assert!(comparison.comparable);
    let low = comparison.slower_than(1.05)[0].low.unwrap();
    assert!(low > 1.25 && low <= 1.3, "{low}");
    assert!(comparison.slower_than(1.31).is_empty(), "the threshold is above the slowdown");
}

/// Many lanes, overlaps, device rows: the same findings in memory, through the file and in any order.
fn busy(seed: u64) -> Vec<String> {
    let mut state = seed;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    (0..4000)
        .map(|index| {
            let (tid, start, length) = (random(5) as u32, random(100_000) as i64, random(3000) as i64);
            if random(4) == 0 {
                let args = format!(r#""device":0,"stream":{},"correlation":{}"#, random(3), random(900));
                span("kernel", &format!("k{}", random(9)), 50 + tid, start, length, &args)
            } else {
                let args = format!(r#""correlation":{}"#, random(900));
                span(
                    "cuda_runtime",
                    if index % 3 == 0 { "cudaLaunchKernel" } else { "other" },
                    tid,
                    start,
                    length,
                    &args,
                )
            }
        })
        .collect()
}

#[test]
fn memory_budget_and_threads_change_nothing() {
    let text = trace(&busy(11));
    let rules = Rules::default_rules().unwrap();
    let plain = serde_json::to_value(findings_of(&text, &Options::default(), &rules)).unwrap();
    for (threads, memory_budget_bytes) in [(1, 0), (2, 2000), (7, 1 << 20)] {
        let options = Options { threads, memory_budget_bytes, ..Options::default() };
        let found = findings_of(&text, &options, &rules);
        assert!(memory_budget_bytes > 0 || found.spilled_bytes > 10_000);
        let mut value = serde_json::to_value(FileFindings { spilled_bytes: 0, ..found }).unwrap();
        value["spilled_bytes"] = plain["spilled_bytes"].clone();
        assert_eq!(plain, value, "{threads} threads, {memory_budget_bytes} bytes");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_numbers_give_findings_whose_parts_add_up(
        rows in proptest::collection::vec(
            (0_u32..3, any::<i64>(), any::<i64>(), any::<i64>(), any::<i64>(), 0_usize..8), 0..40)
    ) {
        const KINDS: [(&str, &str); 8] = [
            ("kernel", "k"), ("cpu_op", "aten::mul"), ("user_annotation", "ProfilerStep#1"), ("cuda_runtime", "cudaLaunchKernel"),
            ("gpu_memcpy", "Memcpy DtoH"), ("cuda_sync", "Event Sync"), ("Trace", "x"), ("gpu_user_annotation", "ProfilerStep#2"),
        ];
        let events: Vec<String> = rows.iter().map(|&(tid, start, length, correlation, stream, kind)| {
            let (cat, name) = KINDS[kind];
            let mut args = String::new();
            if correlation % 3 != 0 { write!(args, r#""correlation":{}"#, correlation % 5).unwrap(); }
            if stream % 2 != 0 { write!(args, r#"{}"stream":{stream}"#, if args.is_empty() { "" } else { "," }).unwrap(); }
            // Half of them small, so that events also meet.
            let (start, length) = if correlation % 2 == 0 { (start % 100, length % 50) } else { (start / 1000, length / 1000) };
            span(cat, name, tid, start, length, &args)
        }).collect();
        let found = findings(&trace(&events));
        for lane in &found.lanes {
            prop_assert!((lane.busy_us - lane.self_us).abs() <= 0.001 + lane.busy_us * 1e-12);
        }
        let parts: f64 = found.categories.iter().map(|row| row.us).sum();
        prop_assert!((parts - found.self_us).abs() <= 0.001 + parts * 1e-9);
        serde_json::to_string(&Analysis::of(vec![found])).unwrap();
    }
}
