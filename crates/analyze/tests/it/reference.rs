//! The reference's rules on traces whose answers are known beforehand.

use knockout_analyze::reference::{
    Reference, ReferenceCategory, ReferenceFinding, ReferenceSink, category_of,
};
use knockout_trace::{ReadOptions, read};

/// A trace with one event of each (name, cat, microseconds).
fn reference(events: &[(&str, &str, u32)]) -> Reference {
    let events: Vec<String> = events
        .iter()
        .map(|(name, cat, dur)| format!(r#"{{"ph":"X","name":"{name}","cat":"{cat}","ts":0,"dur":{dur}}}"#))
        .collect();
    let text = format!("[{}]", events.join(","));
    let mut sink = ReferenceSink::default();
    let outcome = read(text.as_bytes(), ReadOptions::default(), &mut sink).expect("a trace");
    let mut reference = Reference::new();
    reference.add("small.json", &sink, &outcome);
    reference
}

#[test]
fn rules_are_tried_in_order_with_their_known_flaws() {
    for (name, cat, category) in [
        ("enumerate(DataLoader)#__next__", "user_annotation", ReferenceCategory::DataLoading),
        ("aten::masked_fill", "cpu_op", ReferenceCategory::GraphProcessing),
        ("ncclKernel_AllReduce", "kernel", ReferenceCategory::DdpCommunication),
        // `gin` is in `engine`.
        ("autograd::engine::evaluate_function: AddBackward0", "cpu_op", ReferenceCategory::ModelForward),
        ("aten::mse_loss", "cpu_op", ReferenceCategory::LossComputation),
        ("AddmmBackward0", "cpu_op", ReferenceCategory::Backward),
        ("ProfilerStep#7", "user_annotation", ReferenceCategory::Optimizer),
        ("cudaMalloc", "cuda_runtime", ReferenceCategory::Memory),
        ("aten::mm", "cpu_op", ReferenceCategory::TensorOps),
        ("volta_sgemm", "Kernel", ReferenceCategory::CudaKernels),
        ("cudaLaunchKernel", "cuda_runtime", ReferenceCategory::CudaKernels),
        ("cuLaunchKernel", "other", ReferenceCategory::CudaKernels),
        ("cudaLaunchKernel", "", ReferenceCategory::Other),
        ("", "", ReferenceCategory::Other),
    ] {
        assert_eq!(category_of(name, cat), category, "{name:?} {cat:?}");
    }
}

#[test]
fn an_event_s_category_may_depend_on_its_cat_an_operation_s_never() {
    let reference = reference(&[("gemm", "kernel", 30), ("gemm", "cpu", 10), ("aten::mm", "cpu_op", 60)]);
    let categories: Vec<_> = reference.categories().iter().map(|row| (row.category, row.nanos)).collect();
    assert_eq!(
        categories,
        [
            (ReferenceCategory::TensorOps, 60_000),
            (ReferenceCategory::CudaKernels, 30_000),
            (ReferenceCategory::Other, 10_000)
        ]
    );
    let operations: Vec<_> = reference
        .operations()
        .into_iter()
        .map(|row| (row.name, row.category, row.count, row.nanos))
        .collect();
    assert_eq!(
        operations,
        [
            ("aten::mm".to_owned(), ReferenceCategory::TensorOps, 1, 60_000),
            ("gemm".to_owned(), ReferenceCategory::Other, 2, 40_000)
        ]
    );
}

#[test]
fn findings_follow_from_the_figures() {
    let slow_loading =
        reference(&[("DataLoader", "", 20), ("mask", "", 15), ("x", "kernel", 5), ("y", "", 60)]);
    assert_eq!(
        slow_loading.findings(),
        [
            ReferenceFinding::DataLoading(0.2),
            ReferenceFinding::GraphProcessing(0.15),
            ReferenceFinding::CpuOverhead { cpu: 0.2 + 0.15 + 0.0 + 0.0, gpu: 0.05 }
        ]
    );
    let device_bound = reference(&[("nccl", "", 20), ("x", "kernel", 60), ("forward", "", 20)]);
    assert_eq!(
        device_bound.findings(),
        [
            ReferenceFinding::Communication(0.2),
            ReferenceFinding::GpuBound(0.6),
            ReferenceFinding::DataLoadingOptimized(0.0)
        ]
    );
    // At the threshold is not above it.
    let at_limits =
        reference(&[("DataLoader", "", 15), ("mask", "", 10), ("x", "kernel", 50), ("y", "", 25)]);
    assert_eq!(at_limits.findings(), []);
}

#[test]
fn no_events_give_no_finding() {
    let empty = reference(&[]);
    assert_eq!((empty.findings(), empty.categories()), (vec![], vec![]));
    assert_eq!(empty.share_of(ReferenceCategory::Other), 0.0);
}

#[test]
fn two_files_add_up() {
    let mut both = Reference::new();
    for text in [r#"[{"ph":"X","name":"a","ts":5,"dur":1}]"#, r#"[{"ph":"X","name":"a","ts":0,"dur":2.5}]"#] {
        let mut sink = ReferenceSink::default();
        let outcome = read(text.as_bytes(), ReadOptions::default(), &mut sink).expect("a trace");
        both.add("file", &sink, &outcome);
    }
    assert_eq!((both.events(), both.total_nanos(), both.operations().len()), (2, 3500, 1));
}
