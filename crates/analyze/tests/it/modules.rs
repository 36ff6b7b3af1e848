//! Modules and annotations of recordings whose answer is known.

use knockout_analyze::{Analysis, Collector, ModuleRow, Options, Rules};
use knockout_trace::{ReadOptions, read};

/// Events of a recording. Times are microseconds.
#[derive(Default)]
struct Events(Vec<String>);

impl Events {
    fn add(&mut self, cat: &str, name: &str, tid: u32, (start, end): (i64, i64), args: &str) {
        let duration = end - start;
        self.0.push(format!(
            r#"{{"ph":"X","cat":"{cat}","name":"{name}","pid":1,"tid":{tid},"ts":{start},"dur":{duration},"args":{{{args}}}}}"#
        ));
    }

    /// Adds an operator with its sequence number.
    fn operator(&mut self, name: &str, tid: u32, span: (i64, i64), sequence: i64) {
        self.add("cpu_op", name, tid, span, &format!(r#""Sequence number":{sequence},"Fwd thread id":0"#));
    }

    /// Adds a function that autograd evaluates, with the function's own span inside.
    fn function(&mut self, name: &str, tid: u32, (start, end): (i64, i64), sequence: i64) {
        let args = format!(r#""Sequence number":{sequence},"Fwd thread id":1"#);
        self.add("cpu_op", &format!("autograd::engine::evaluate_function: {name}"), tid, (start, end), &args);
        self.add("cpu_op", name, tid, (start + 1, end - 1), &args);
    }

    /// Adds a kernel, and a call of 2 microseconds that launches it.
    fn kernel(&mut self, tid: u32, call: i64, span: (i64, i64)) {
        let correlation = self.0.len();
        self.add(
            "cuda_runtime",
            "cudaLaunchKernel",
            tid,
            (call, call + 2),
            &format!(r#""correlation":{correlation}"#),
        );
        self.add("kernel", "gemm", 9, span, &format!(r#""device":0,"stream":7,"correlation":{correlation}"#));
    }

    fn analysis(&self) -> Analysis {
        self.with_threads(1)
    }

    fn with_threads(&self, threads: usize) -> Analysis {
        let text = format!(r#"{{"traceEvents":[{}]}}"#, self.0.join(","));
        let options = Options { threads, ..Options::default() };
        let mut collector = Collector::new(&Rules::default_rules().unwrap(), &options);
        let outcome = read(text.as_bytes(), ReadOptions::default(), &mut collector).unwrap();
        Analysis::of(vec![collector.finish("made here", &outcome).unwrap()])
    }
}

fn row<'a>(analysis: &'a Analysis, name: &str) -> &'a ModuleRow {
    analysis.modules.iter().find(|row| row.name == name).unwrap()
}

/// Calls; host time, self time and backward time of the host; the same of the device.
fn figures(row: &ModuleRow) -> (u64, [f64; 3], [f64; 3]) {
    (
        row.calls,
        [row.host_us, row.host_self_us, row.backward_host_us],
        [row.device_us, row.device_self_us, row.backward_device_us],
    )
}

const MODEL: &str = "nn.Module: Model_0";
const FIRST: &str = "nn.Module: Linear_0";
const SECOND: &str = "nn.Module: Linear_1";

/// Two steps of 1000: a model of two layers forward on thread 1, backward on thread 2, and an optimiser.
fn two_steps() -> Events {
    let mut events = Events::default();
    for step in 0..2 {
        let at = |from: i64, to: i64| (1000 * step + from, 1000 * step + to);
        let time = |time: i64| 1000 * step + time;
        events.add("user_annotation", &format!("ProfilerStep#{step}"), 1, at(0, 1000), "");
        events.add("python_function", "train.py(7): main", 1, at(1, 999), "");
        events.add("python_function", MODEL, 1, at(100, 300), "");
        events.add("python_function", FIRST, 1, at(110, 190), "");
        // The outer operator has the number of the first function that is created inside it.
        events.operator("aten::linear", 1, at(120, 180), 10 * step);
        events.operator("aten::t", 1, at(122, 130), 10 * step);
        events.operator("aten::addmm", 1, at(132, 178), 10 * step + 1);
        events.kernel(1, time(140), at(150, 180));
        events.add("python_function", SECOND, 1, at(200, 250), "");
        events.operator("aten::addmm", 1, at(210, 240), 10 * step + 2);
        events.kernel(1, time(215), at(220, 260));
        // After the last module: what the model does itself.
        events.operator("aten::sum", 1, at(260, 290), 10 * step + 3);
        events.kernel(1, time(265), at(270, 280));
        events.function("SumBackward0", 2, at(400, 420), 10 * step + 3);
        events.kernel(2, time(405), at(410, 417));
        events.function("AddmmBackward0", 2, at(430, 480), 10 * step + 2);
        events.kernel(2, time(440), at(445, 505));
        events.function("AddmmBackward0", 2, at(490, 540), 10 * step + 1);
        events.kernel(2, time(500), at(510, 580));
        events.function("TBackward0", 2, at(545, 555), 10 * step);
        events.add(
            "cpu_op",
            "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
            2,
            at(560, 570),
            "",
        );
        events.kernel(2, time(562), at(600, 603));
        events.add("user_annotation", "Optimizer.step#SGD.step", 1, at(700, 900), "");
        events.kernel(1, time(710), at(720, 820));
        // Has the number of the next step's first function, and creates none.
        events.operator("aten::add_", 1, at(800, 820), 10 * step + 10);
    }
    events
}

#[test]
fn kernels_belong_to_the_layer_that_launched_them_and_backward_to_its_forward() {
    let found = two_steps().analysis();
    assert_eq!(figures(row(&found, FIRST)), (2, [160.0, 160.0, 120.0], [60.0, 60.0, 140.0]));
    assert_eq!(figures(row(&found, SECOND)), (2, [100.0, 100.0, 100.0], [80.0, 80.0, 120.0]));
    assert_eq!(figures(row(&found, MODEL)), (2, [400.0, 140.0, 260.0], [160.0, 20.0, 274.0]));
    let optimiser = row(&found, "Optimizer.step#SGD.step");
    assert_eq!(figures(optimiser), (2, [400.0, 400.0, 0.0], [200.0, 200.0, 0.0]));
    assert_eq!((row(&found, MODEL).host_share, row(&found, MODEL).device_share), (0.2, 0.217));
    assert!(row(&found, MODEL).is_module && !optimiser.is_module);
    assert_eq!(found.modules.len(), 4, "neither steps nor Python functions");
    let tree: Vec<_> = found.module_tree.iter().map(|row| (row.name.as_str(), row.parent)).collect();
    assert_eq!(tree, [(MODEL, None), (FIRST, Some(0)), (SECOND, Some(0)), ("Optimizer.step#SGD.step", None)]);
}

#[test]
fn modules_do_not_depend_on_the_number_of_threads() {
    let one = two_steps().analysis();
    for threads in [2, 7] {
        let many = two_steps().with_threads(threads);
        assert_eq!((&one.modules, &one.module_tree), (&many.modules, &many.module_tree));
    }
}

#[test]
fn a_backward_pass_inside_the_same_annotation_counts_once() {
    let mut events = Events::default();
    events.add("user_annotation", "train", 1, (0, 100), "");
    events.add("user_annotation", "model", 1, (10, 40), "");
    events.operator("aten::mm", 1, (15, 35), 1);
    events.add("user_annotation", "loss.backward()", 1, (50, 90), "");
    events.function("MmBackward0", 1, (55, 85), 1);
    events.kernel(1, 60, (62, 82));
    let found = events.analysis();
    assert_eq!(figures(row(&found, "train")), (1, [100.0, 30.0, 0.0], [20.0, 0.0, 0.0]));
    assert_eq!(figures(row(&found, "model")), (1, [30.0, 30.0, 30.0], [0.0, 0.0, 20.0]));
    assert_eq!(figures(row(&found, "loss.backward()")), (1, [40.0, 40.0, 0.0], [20.0, 20.0, 0.0]));
    assert_eq!(row(&found, "train").device_share, 0.2, "of the trace, which has no steps");
}

#[test]
fn an_annotation_around_backward_has_what_autograds_thread_launches_meanwhile() {
    let mut events = Events::default();
    events.add("user_annotation", "ProfilerStep#0", 1, (0, 200), "");
    events.add("user_annotation", "model", 1, (10, 40), "");
    events.operator("aten::mm", 1, (15, 35), 1);
    events.add("user_annotation", "## backward ##", 1, (50, 120), "");
    events.function("MmBackward0", 2, (60, 90), 1);
    events.kernel(2, 65, (70, 95));
    events.function("LateBackward0", 2, (150, 160), 2);
    events.kernel(2, 152, (155, 165));
    let found = events.analysis();
    assert_eq!(figures(row(&found, "## backward ##")), (1, [70.0, 70.0, 0.0], [25.0, 25.0, 0.0]));
    assert_eq!(figures(row(&found, "model")), (1, [30.0, 30.0, 30.0], [0.0, 0.0, 25.0]));
}

#[test]
fn a_layer_that_backward_recomputes_has_that_time_as_a_call() {
    let mut events = Events::default();
    events.add("python_function", FIRST, 1, (0, 50), "");
    events.operator("CheckpointFunction", 1, (10, 40), 5);
    events.function("CheckpointFunctionBackward", 2, (100, 200), 5);
    events.add("python_function", SECOND, 2, (110, 140), "");
    events.kernel(2, 120, (125, 135));
    events.function("MmBackward0", 2, (150, 190), 6);
    let found = events.analysis();
    assert_eq!(figures(row(&found, SECOND)), (1, [30.0, 30.0, 0.0], [10.0, 10.0, 0.0]));
    assert_eq!(
        figures(row(&found, FIRST)),
        (1, [50.0, 50.0, 30.0], [0.0, 0.0, 0.0]),
        "without the layer and the inner function"
    );
}

#[test]
fn a_sequence_number_of_two_threads_belongs_to_neither() {
    let mut events = Events::default();
    for (thread, layer) in [(1, FIRST), (3, SECOND)] {
        events.add("python_function", layer, thread, (0, 50), "");
        events.operator("aten::mm", thread, (10, 40), 5);
    }
    events.operator("aten::mm", 3, (41, 45), 6);
    events.function("MmBackward0", 2, (100, 120), 5);
    events.function("MmBackward0", 2, (120, 150), 6);
    let found = events.analysis();
    assert_eq!(row(&found, FIRST).backward_host_us, 0.0);
    assert_eq!(row(&found, SECOND).backward_host_us, 30.0);
}

#[test]
fn a_module_inside_itself_is_inside_once_and_ranks_are_summed() {
    let mut events = Events::default();
    events.add("python_function", MODEL, 1, (0, 100), "");
    events.add("python_function", MODEL, 1, (20, 60), "");
    let one = events.analysis();
    assert_eq!(figures(row(&one, MODEL)), (2, [100.0, 100.0, 0.0], [0.0; 3]));
    assert_eq!(one.module_tree.iter().map(|row| row.host_us).collect::<Vec<_>>(), [100.0, 40.0]);
    let both = Analysis::of([&one, &one].iter().flat_map(|analysis| analysis.ranks.clone()).collect());
    assert_eq!(figures(row(&both, MODEL)), (4, [200.0, 200.0, 0.0], [0.0; 3]));
    assert_eq!(row(&both, MODEL).host_share, 1.0);
}
