//! Traces as other producers write them, made here: the device, the categories and the answer are known.

use knockout_analyze::{Collector, FileFindings, Limit, Options, Rules};
use knockout_trace::{ReadOptions, read};

fn findings(events: &[String]) -> FileFindings {
    let text = format!("{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[{}]}}", events.join(","));
    let mut collector = Collector::new(&Rules::default_rules().unwrap(), &Options::default());
    let outcome = read(text.as_bytes(), ReadOptions::default(), &mut collector).unwrap();
    collector.finish("made here", &outcome).unwrap()
}

/// Rows of the table of categories: name, whether it is the device's, microseconds.
fn categories(found: &FileFindings) -> Vec<(&str, bool, f64)> {
    found.categories.iter().map(|row| (row.name.as_str(), row.device, row.us)).collect()
}

fn process(pid: u32, name: &str) -> String {
    format!(r#"{{"ph":"M","pid":{pid},"name":"process_name","args":{{"name":"{name}"}}}}"#)
}

fn thread(pid: u32, tid: u32, name: &str) -> String {
    format!(r#"{{"ph":"M","pid":{pid},"tid":{tid},"name":"thread_name","args":{{"name":"{name}"}}}}"#)
}

/// An event of JAX: no `cat`, and numbers in `args` are texts.
fn jax(pid: u32, tid: u32, name: &str, start: u32, duration: u32, args: &str) -> String {
    format!(
        r#"{{"ph":"X","pid":{pid},"tid":{tid},"ts":{start}.0,"dur":{duration}.0,"name":"{name}","args":{{{args}}}}}"#
    )
}

#[test]
fn jax_on_a_gpu_has_its_device_on_the_streams_alone() {
    let found = findings(&[
        process(1, "/device:GPU:0 A100"),
        process(701, "/host:CPU"),
        thread(1, 14, "Stream #14(Compute,Memset)"),
        thread(1, 15, "Stream #15(MemcpyH2D)"),
        thread(1, 200, "XLA Modules"),
        thread(1, 201, "XLA Ops"),
        thread(701, 9, "python"),
        jax(701, 9, "$train.py:10 step", 0, 1200, ""),
        jax(701, 9, "cuLaunchKernel", 5, 10, r#""correlation_id":"1""#),
        jax(
            1,
            14,
            "fusion_12",
            20,
            500,
            r#""correlation_id":"1","hlo_op":"fusion.12","hlo_module":"jit_step""#,
        ),
        jax(1, 14, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 520, 200, r#""hlo_op":"all-reduce.1""#),
        jax(1, 14, "gemm_fusion_dot_3", 720, 380, r#""hlo_op":"gemm_fusion_dot.3""#),
        jax(1, 15, "MemcpyH2D", 1100, 60, ""),
        jax(1, 200, "jit_step(123)", 20, 1140, ""),
        jax(1, 201, "fusion.12", 20, 500, ""),
    ]);
    let expected = [
        ("kernels", true, 880.0),
        ("communication", true, 200.0),
        ("memory copies", true, 60.0),
        ("python", false, 1190.0),
        ("runtime", false, 10.0),
    ];
    let mut have = categories(&found);
    have.sort_by(|a, b| (b.1, b.2).partial_cmp(&(a.1, a.2)).unwrap());
    assert_eq!(have, expected);
    let gpu = found.gpu.as_ref().expect("a device");
    assert_eq!((gpu.times.compute_us, gpu.times.communication_us), (880.0, 200.0));
    assert_eq!(found.bound.limit, Limit::Device, "{:?}", found.bound);
    assert_eq!(found.bound.operation.as_ref().map(|(name, _)| name.as_str()), Some("fusion_12"));
}

#[test]
fn jax_on_a_cpu_is_bound_by_its_compiled_operations() {
    let found = findings(&[
        process(701, "/host:CPU"),
        thread(701, 9, "python"),
        thread(701, 20, "tf_XLATfrtCpuClient/20"),
        jax(701, 9, "PjitFunction(step)", 0, 10, ""),
        jax(701, 20, "dot.3", 10, 600, r#""hlo_op":"dot.3","hlo_module":"jit_step""#),
        jax(701, 20, "broadcast_add_fusion", 610, 300, r#""hlo_op":"broadcast_add_fusion""#),
    ]);
    assert!(found.gpu.is_none());
    assert!(
        categories(&found).contains(&("operators outside any phase", false, 900.0)),
        "{:?}",
        categories(&found)
    );
    assert_eq!(found.bound.limit, Limit::Operations);
    assert_eq!(found.bound.operation.as_ref().map(|(name, _)| name.as_str()), Some("dot.3"));
}

#[test]
fn xpu_calls_are_the_runtime_and_waits() {
    let span = |cat: &str, name: &str, pid: u32, start: u32, duration: u32, args: &str| {
        format!(
            r#"{{"ph":"X","cat":"{cat}","name":"{name}","pid":{pid},"tid":7,"ts":{start},"dur":{duration},"args":{{{args}}}}}"#
        )
    };
    let found = findings(&[
        span("user_annotation", "ProfilerStep#1", 100, 0, 1000, ""),
        span("xpu_runtime", "urEnqueueKernelLaunch", 100, 10, 20, r#""correlation":1"#),
        span("xpu_runtime", "urEnqueueUSMMemcpy", 100, 30, 10, r#""correlation":2"#),
        span("xpu_runtime", "urQueueFinish", 100, 50, 900, r#""correlation":3"#),
        span("kernel", "gemm_kernel", 0, 40, 800, r#""device":0,"stream":0,"correlation":1"#),
        span("gpu_memcpy", "Memcpy D2H", 0, 840, 100, r#""device":0,"stream":0,"correlation":2"#),
    ]);
    let have = categories(&found);
    for expected in [
        ("kernels", true, 800.0),
        ("memory copies", true, 100.0),
        ("waiting for the device", false, 900.0),
        ("runtime", false, 30.0),
    ] {
        assert!(have.contains(&expected), "{expected:?} in {have:?}");
    }
    assert_eq!(found.bound.limit, Limit::Device, "{:?}", found.bound);
}

#[test]
fn rocprof_has_its_device_in_processes_of_their_own() {
    // Every value of an event is a text there, numbers of labels are not.
    let event = |pid: u32, tid: u32, name: &str, start: u32, duration: u32| {
        format!(
            r#"{{"ph":"X","ts":"{start}","dur":"{duration}","pid":"{pid}","tid":"{tid}","name":"{name}","args":{{"BeginNs":"{start}000","DurationNs":"{duration}000"}}}}"#
        )
    };
    let found = findings(&[
        "{}".to_owned(),
        process(2, "CPU HIP API"),
        process(1, "COPY"),
        process(6, "GPU0"),
        event(2, 4242, "hipLaunchKernel", 0, 10),
        event(2, 4242, "hipDeviceSynchronize", 20, 950),
        event(6, 0, "Cijk_Ailk_Bljk", 15, 700),
        event(1, 0, "DeviceToHost", 715, 250),
    ]);
    let have = categories(&found);
    for expected in [
        ("kernels", true, 700.0),
        ("memory copies", true, 250.0),
        ("waiting for the device", false, 950.0),
        ("runtime", false, 10.0),
    ] {
        assert!(have.contains(&expected), "{expected:?} in {have:?}");
    }
    assert_eq!(found.bound.limit, Limit::Device, "{:?}", found.bound);
}
