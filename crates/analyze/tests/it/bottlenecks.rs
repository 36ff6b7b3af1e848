//! Programs whose bottleneck is planted: recordings as PyTorch's profiler writes them, and the answer that each must give.

use crate::recording::Recording;
use knockout_analyze::{Collector, Confidence, FileFindings, Limit, Options, Rules, TimeParts};
use knockout_trace::{ReadOptions, read};

const STEPS: i64 = 10;

fn analyze_with(recording: &Recording, rules: &Rules) -> FileFindings {
    let text = recording.to_json();
    let mut collector = Collector::new(rules, &Options::default());
    let outcome = read(text.as_bytes(), ReadOptions::default(), &mut collector).unwrap();
    let found = collector.finish("planted", &outcome).unwrap();
    for step in &found.steps {
        assert!((step.parts.total_us() - step.us).abs() < 0.01, "{}: the parts are the step", step.name);
    }
    found
}

fn analyze(recording: &Recording) -> FileFindings {
    analyze_with(recording, &Rules::default_rules().unwrap())
}

/// Records ten steps of a length.
fn steps(length: i64, mut step: impl FnMut(&mut Recording, i64)) -> Recording {
    let mut recording = Recording::default();
    for number in 0..STEPS {
        let at = 1_000_000 + number * length;
        recording.host("user_annotation", &format!("ProfilerStep#{number}"), at, length);
        step(&mut recording, at);
    }
    recording
}

/// Checks the answer, its share, its certainty, and that it names something.
fn expect(recording: &Recording, limit: Limit, share: f64, names: &str) -> FileFindings {
    let found = analyze(recording);
    let bound = &found.bound;
    assert_eq!(bound.limit, limit, "{bound:?}");
    assert!((bound.share - share).abs() < 0.005, "{bound:?}");
    let named = [&bound.largest, &bound.module, &bound.operation].map(Option::as_ref);
    let is_named = |word: &str| named.iter().flatten().any(|(name, _)| name.contains(word));
    assert!(names.is_empty() || is_named(names), "{names}: {bound:?}");
    for (name, share) in named.into_iter().flatten() {
        assert!(*share >= 0.05, "{name} is too small to be named");
    }
    for step in &found.steps {
        assert_eq!(step.limit, limit, "{}", step.name);
    }
    found
}

#[test]
fn a_slow_loader() {
    let recording = steps(50_000, |recording, at| {
        recording.host(
            "user_annotation",
            "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
            at,
            30_000,
        );
        recording.kernel("gemm", at + 30_000, at + 30_020, 18_000);
        recording.host("cuda_runtime", "cudaDeviceSynchronize", at + 30_050, 18_000);
    });
    let found = expect(&recording, Limit::Data, 0.6, "data loading");
    assert_eq!(found.bound.confidence, Confidence::Clear);
    assert!((found.bound.gain_us - 30_000.0).abs() < 1.0);
}

#[test]
fn synchronisation_in_the_loop() {
    let recording = steps(10_000, |recording, at| {
        for at in (at..at + 10_000).step_by(1000) {
            recording.kernel("gemm", at + 360, at + 380, 600);
            recording.host("cpu_op", "aten::item", at + 390, 600);
            recording.host("cuda_runtime", "cudaStreamSynchronize", at + 395, 590);
        }
    });
    // The first gap of the trace follows no wait.
    expect(&recording, Limit::Synchronisation, 0.396, "aten::item");
}

#[test]
fn small_kernels() {
    let recording = steps(20_000, |recording, at| {
        recording.host("user_annotation", "## forward ##", at, 20_000);
        for at in (at..at + 20_000).step_by(20) {
            recording.host("cpu_op", "aten::add", at, 19);
            recording.kernel("add_kernel", at + 12, at + 16, 4);
        }
    });
    expect(&recording, Limit::Launch, 0.8, "forward");
}

#[test]
fn launch_latency() {
    let recording = steps(10_000, |recording, at| {
        for at in (at..at + 10_000).step_by(500) {
            recording.kernel("gemm", at, at + 310, 180);
            recording.host("cuda_runtime", "cudaStreamSynchronize", at + 10, 485);
        }
    });
    expect(&recording, Limit::Launch, 0.6, "");
}

#[test]
fn a_slow_network() {
    let recording = steps(50_000, |recording, at| {
        recording.kernel("gemm", at, at + 100, 20_000);
        recording.kernel_on(20, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", at + 50, at + 19_000, 30_000);
        recording.host("cuda_runtime", "cudaDeviceSynchronize", at + 100, 49_000);
    });
    let found = expect(&recording, Limit::Communication, 0.578, "ncclDevKernel_AllReduce");
    let times = found.gpu.unwrap().times;
    assert!((times.comm_comp_overlap_us - 11_000.0).abs() < 1.0);
}

#[test]
fn a_slow_optimiser() {
    let recording = steps(10_000, |recording, at| {
        recording.host("user_annotation", "## forward ##", at, 3000);
        recording.kernel("gemm", at, at + 20, 3000);
        recording.host("cuda_runtime", "cudaStreamSynchronize", at + 100, 2890);
        recording.host("user_annotation", "Optimizer.step#AdamW.step", at + 3100, 6500);
        recording.host("cpu_op", "aten::sqrt", at + 3200, 6000);
    });
    expect(&recording, Limit::Host, 0.70, "optimiser");
}

#[test]
fn slow_python() {
    let recording = steps(10_000, |recording, at| {
        recording.host("python_function", "train.py(80): step", at, 9900);
        recording.host("python_function", "augment.py(12): augment", at + 100, 7000);
        recording.host("python_function", "augment.py(40): rotate", at + 200, 3000);
        recording.host("python_function", "nn.Module: Net_0", at + 7100, 2800);
        recording.kernel("gemm", at + 7150, at + 7200, 2700);
    });
    let found = expect(&recording, Limit::Host, 0.73, "augment.py(12): augment");
    assert!(found.bound.operation.is_some_and(|(_, share)| (share - 0.70).abs() < 0.01));
}

#[test]
fn computing_is_not_hidden_behind_a_small_cause() {
    // 49 % of the time is a kernel, 46 % has no event at all, and 5 % is a copy.
    let parts = TimeParts { compute_us: 49.0, unrecorded_us: 46.0, copies_us: 5.0, ..TimeParts::default() };
    assert_eq!(parts.limit(true), (Limit::Device, 0.49, Confidence::Mixed));
    let parts = TimeParts { compute_us: 40.0, unrecorded_us: 55.0, ..parts };
    assert_eq!(parts.limit(true), (Limit::Unrecorded, 0.55, Confidence::Mixed));
}

#[test]
fn work_side_by_side_takes_no_more_than_its_cause() {
    // Two streams compute at once.
    let recording = steps(10_000, |recording, at| {
        recording.kernel_on(7, "gemm", at, at + 20, 9_900);
        recording.kernel_on(8, "gemm", at, at + 20, 9_900);
    });
    let bound = expect(&recording, Limit::Device, 0.99, "gemm").bound;
    assert!(bound.operation.is_some_and(|(_, share)| (0.98..1.0).contains(&share)));
    // Computation hides the longer of two exchanges, so neither is named.
    let recording = steps(10_000, |recording, at| {
        recording.kernel_on(7, "gemm", at, at + 20, 5_980);
        recording.kernel_on(8, "ncclDevKernel_AllGather", at, at + 20, 5_900);
        recording.kernel_on(8, "ncclDevKernel_AllReduce", at, at + 6_000, 3_900);
    });
    let bound = analyze(&recording).bound;
    assert!(
        bound.operation.is_none_or(|(name, _)| name.contains("AllReduce")),
        "an exchange that costs nothing"
    );
}

#[test]
fn a_blocking_copy() {
    let recording = steps(50_000, |recording, at| {
        recording.host("cpu_op", "aten::copy_", at, 31_000);
        let name = "Memcpy HtoD (Pageable -> Device)";
        recording.copy(name, (at + 10, 30_500), (at + 100, 30_000));
        recording.kernel("gemm", at + 31_000, at + 31_020, 15_000);
        recording.host("cuda_runtime", "cudaDeviceSynchronize", at + 31_100, 15_000);
    });
    expect(&recording, Limit::Copies, 0.6, "Memcpy HtoD");
}

#[test]
fn a_kernel_that_moves_memory() {
    let recording = steps(10_000, |recording, at| {
        recording.kernel("vectorized_elementwise_kernel", at, at + 20, 8000);
        recording.kernel("gemm", at + 20, at + 8020, 1800);
        recording.host("cuda_runtime", "cudaDeviceSynchronize", at + 60, 9800);
    });
    let found = expect(&recording, Limit::Device, 0.98, "vectorized_elementwise_kernel");
    assert_eq!(found.bound.confidence, Confidence::Clear);
}

#[test]
fn the_profiler_itself() {
    let recording = steps(10_000, |recording, at| {
        recording.kernel("gemm", at, at + 20, 4000);
        recording.host("cpu_op", "aten::mm", at, 9000);
        recording.overhead("Activity Buffer Request", at + 4200, 5000);
    });
    expect(&recording, Limit::Profiler, 0.5, "Activity Buffer Request");
}

/// One rank of a job with a step of 60 ms that ends with an exchange.
fn rank(loading: i64, compute: i64) -> Recording {
    steps(60_000, |recording, at| {
        recording.host("user_annotation", "enumerate(DataLoader)#next", at, loading);
        let begin = at + loading;
        recording.kernel("gemm", begin, begin + 20, compute);
        recording.kernel_on(
            20,
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
            begin + 30,
            begin + 20 + compute,
            at + 59_900 - begin - 20 - compute,
        );
        recording.host("cuda_runtime", "cudaDeviceSynchronize", begin + 60, at + 59_950 - begin - 60);
    })
}

#[test]
fn ranks_that_wait_for_another_communicate_and_the_last_shows_why() {
    // By data: 5 ms of loading, and 35 ms on the last rank.
    expect(&rank(5000, 20_000), Limit::Communication, 0.581, "AllReduce");
    expect(&rank(35_000, 20_000), Limit::Data, 0.583, "data loading");
    // By computation: 20 ms, and 50 ms on the last rank.
    expect(&rank(2000, 20_000), Limit::Communication, 0.631, "AllReduce");
    expect(&rank(2000, 50_000), Limit::Device, 0.833, "gemm");
}

#[test]
fn a_device_that_is_fed_well() {
    let recording = steps(10_000, |recording, at| {
        recording.host("user_annotation", "## forward ##", at, 9000);
        for number in 0..10 {
            recording.kernel("gemm", at + 100 * number, at + 1000 * number + 20, 980);
        }
    });
    let found = expect(&recording, Limit::Device, 0.98, "gemm");
    assert!(found.findings.is_empty(), "{:?}", found.findings);
}

#[test]
fn a_background_thread_is_not_the_answer() {
    let mut recording = steps(10_000, |recording, at| {
        recording.host("user_annotation", "## forward ##", at, 9000);
        recording.host("cpu_op", "aten::mm", at, 8000);
    });
    recording.on_thread(77, "python_function", "telemetry.py(3): publish", 1_000_000, 100_000);
    let found = expect(&recording, Limit::Operations, 0.9, "forward");
    assert_eq!(found.bound.operation.unwrap().0, "aten::mm");
}

#[test]
fn a_thread_that_sleeps_is_not_a_share_of_the_work() {
    let mut recording = steps(10_000, |recording, at| {
        recording.host("user_annotation", "## forward ##", at, 9000);
        recording.host("python_function", "model.py(3): forward", at, 8000);
    });
    recording.on_thread(77, "python_function", "threading.py(359): wait", 1_000_000, 100_000);
    let found = analyze(&recording);
    let phases: Vec<(&str, f64)> = found.phases.iter().map(|row| (row.name.as_str(), row.us)).collect();
    assert_eq!(
        phases,
        [("waiting in python", 100_000.0), ("forward", 90_000.0), ("outside any phase", 10_000.0)]
    );
    let python: Vec<(&str, f64, Option<f64>)> =
        found.python.iter().map(|row| (row.name.as_str(), row.share, row.share_of_awake)).collect();
    assert_eq!(python, [("threading.py(359): wait", 0.5, None), ("model.py(3): forward", 0.4, Some(0.8))]);
}

/// Lightning's automatic optimisation runs forward inside `Optimizer.step`: its time is not the optimiser's.
#[test]
fn an_optimiser_around_the_closure_has_its_own_time_alone() {
    let recording = steps(10_000, |recording, at| {
        recording.host("user_annotation", "Optimizer.step#AdamW.step", at, 9500);
        recording.host(
            "user_annotation",
            "[pl][profile][Strategy]SingleDeviceStrategy.training_step",
            at,
            3500,
        );
        recording.host("cpu_op", "aten::mm", at, 3000);
        recording.host("cpu_op", "aten::sqrt", at + 4000, 2500);
        recording.host("cpu_op", "aten::div", at + 7000, 2500);
    });
    let found = expect(&recording, Limit::Operations, 0.6, "optimiser");
    assert_eq!(found.bound.operation, Some(("Optimizer.step#AdamW.step".to_owned(), 0.6)));
}

#[test]
fn steps_that_the_recording_cut_are_named() {
    let mut recording = Recording::default();
    for number in 0..4 {
        let at = 1_000_000 + number * 10_000;
        recording.host("user_annotation", &format!("ProfilerStep#{number}"), at, 10_000);
        if number > 0 {
            recording.host("user_annotation", "Optimizer.step#AdamW.step", at, 6000);
        }
        recording.host("cpu_op", "aten::sqrt", at + 10, 5000);
    }
    let warnings: Vec<String> =
        analyze(&recording).warnings.iter().map(|warning| format!("{warning:?}")).collect();
    assert_eq!(warnings, ["StepCut(\"ProfilerStep#0\", 5000.0)"]);
}

#[test]
fn communication_is_defined_by_the_rules() {
    let recording = steps(10_000, |recording, at| {
        recording.kernel("gemm", at, at + 20, 4000);
        recording.kernel_on(20, "void my_exchange::push<4>(int*)", at + 50, at + 3020, 6000);
    });
    let figures = |found: &FileFindings| {
        let in_table = found.categories.iter().filter(|row| row.device && row.name == "communication");
        let gpu = found.gpu.as_ref().unwrap();
        (in_table.map(|row| row.us).sum::<f64>(), gpu.times.communication_us, gpu.times.comm_comp_overlap_us)
    };
    let found = expect(&recording, Limit::Device, 0.9, "");
    assert_eq!(figures(&found), (0.0, 0.0, 0.0));
    let own = include_str!("../../src/collect/rules/default.toml")
        .replace("\"cross device reduce\"", "\"my exchange\"");
    let found = analyze_with(&recording, &Rules::from_toml("own.toml", &own).unwrap());
    assert_eq!(figures(&found), (60_000.0, 60_000.0, 10_000.0));
    assert_eq!(found.bound.limit, Limit::Communication);
    assert!((found.bound.share - 0.5).abs() < 0.005, "{:?}", found.bound);
}
