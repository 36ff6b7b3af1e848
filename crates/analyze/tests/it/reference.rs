//! The reference's rules on traces whose answers are known beforehand.

use knockout_analyze::reference::{Category, Finding, Reference, ReferenceSink, category_of};
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
        ("enumerate(DataLoader)#__next__", "user_annotation", Category::DataLoading),
        ("aten::masked_fill", "cpu_op", Category::GraphProcessing),
        ("ncclKernel_AllReduce", "kernel", Category::DdpCommunication),
        // `gin` is in `engine`.
        ("autograd::engine::evaluate_function: AddBackward0", "cpu_op", Category::ModelForward),
        ("aten::mse_loss", "cpu_op", Category::LossComputation),
        ("AddmmBackward0", "cpu_op", Category::Backward),
        ("ProfilerStep#7", "user_annotation", Category::Optimizer),
        ("cudaMalloc", "cuda_runtime", Category::Memory),
        ("aten::mm", "cpu_op", Category::TensorOps),
        ("volta_sgemm", "Kernel", Category::CudaKernels),
        ("cudaLaunchKernel", "cuda_runtime", Category::CudaKernels),
        ("cuLaunchKernel", "other", Category::CudaKernels),
        ("cudaLaunchKernel", "", Category::Other),
        ("", "", Category::Other),
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
        [(Category::TensorOps, 60_000), (Category::CudaKernels, 30_000), (Category::Other, 10_000)]
    );
    let operations: Vec<_> = reference
        .operations()
        .into_iter()
        .map(|row| (row.name, row.category, row.count, row.nanos))
        .collect();
    assert_eq!(
        operations,
        [
            ("aten::mm".to_owned(), Category::TensorOps, 1, 60_000),
            ("gemm".to_owned(), Category::Other, 2, 40_000)
        ]
    );
}

#[test]
fn findings_follow_the_figures() {
    let slow_loading =
        reference(&[("DataLoader", "", 20), ("mask", "", 15), ("x", "kernel", 5), ("y", "", 60)]);
    assert_eq!(
        slow_loading.findings(),
        [
            Finding::DataLoading(0.2),
            Finding::GraphProcessing(0.15),
            Finding::CpuOverhead { cpu: 0.2 + 0.15 + 0.0 + 0.0, gpu: 0.05 }
        ]
    );
    let device_bound = reference(&[("nccl", "", 20), ("x", "kernel", 60), ("forward", "", 20)]);
    assert_eq!(
        device_bound.findings(),
        [Finding::Communication(0.2), Finding::GpuBound(0.6), Finding::DataLoadingOptimized(0.0)]
    );
    // At the threshold is not above it.
    let at_limits =
        reference(&[("DataLoader", "", 15), ("mask", "", 10), ("x", "kernel", 50), ("y", "", 25)]);
    assert_eq!(at_limits.findings(), []);
}

#[test]
fn nothing_gives_no_finding_and_no_division_by_zero() {
    let empty = reference(&[]);
    assert_eq!((empty.findings(), empty.categories()), (vec![], vec![]));
    assert_eq!(empty.share_of(Category::Other), 0.0);
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
