//! The reference's report: its sections and columns over our figures. No arithmetic but units.

use crate::sentence::trace_warning;
use crate::units::count;
use knockout_analyze::EventCounts;
use knockout_analyze::reference::{Reference, ReferenceCategory, ReferenceFinding};
use serde::Serialize;
use std::fmt::Write as _;

/// Version of the JSON document.
const SCHEMA: u32 = 1;
/// Names longer than this end in dots.
const NAME_CHARS: usize = 70;

/// The report as text.
pub fn reference_text(reference: &Reference) -> String {
    let mut text = String::new();
    render(reference, &mut text).ok();
    text
}

fn render(reference: &Reference, out: &mut String) -> std::fmt::Result {
    for file in &reference.files {
        writeln!(out, "Loading trace file: {}", file.label)?;
    }
    writeln!(out, "\nTotal trace events: {}", count(u128::from(reference.events())))?;
    render_categories(reference, out)?;
    render_operations(reference, out)?;
    render_bottlenecks(reference, out)
}

fn heading(out: &mut String, title: &str) -> std::fmt::Result {
    let line = "=".repeat(80);
    writeln!(out, "\n{line}\n{title}\n{line}")
}

fn render_categories(reference: &Reference, out: &mut String) -> std::fmt::Result {
    heading(out, "OPERATION CATEGORY BREAKDOWN")?;
    writeln!(out, "{:<25} {:>15} {:>10} {:<30}", "Category", "Time (ms)", "%", "Description")?;
    writeln!(out, "{}", "-".repeat(80))?;
    for time in reference.categories() {
        let (name, percent) = (time.category.name(), 100.0 * time.share);
        let about = description(time.category);
        writeln!(out, "{name:<25} {:>15} {percent:>9.1}% {about:<30}", millis(time.nanos))?;
    }
    writeln!(out, "\n{:<25} {:>15} ms", "Total time", millis(reference.total_nanos()))
}

fn render_operations(reference: &Reference, out: &mut String) -> std::fmt::Result {
    heading(out, "TOP 10 OPERATIONS PER CATEGORY")?;
    let operations = reference.operations();
    // Of the five largest; events without a category have no section.
    for time in reference.categories().iter().take(5) {
        let mut largest =
            operations.iter().filter(|operation| operation.category == time.category).take(10).peekable();
        if time.category == ReferenceCategory::Other || largest.peek().is_none() {
            continue;
        }
        writeln!(out, "\n--- {} ---", time.category.name().to_uppercase().replace('_', " "))?;
        writeln!(out, "{:<70} {:>15}\n{}", "Operation", "Time (ms)", "-".repeat(86))?;
        for operation in largest {
            writeln!(out, "{:<70} {:>15}", shortened(&operation.name), millis(operation.nanos))?;
        }
    }
    Ok(())
}

fn render_bottlenecks(reference: &Reference, out: &mut String) -> std::fmt::Result {
    const ROWS: [(&str, ReferenceCategory); 8] = [
        ("Data Loading:", ReferenceCategory::DataLoading),
        ("Graph Processing:", ReferenceCategory::GraphProcessing),
        ("Model Forward:", ReferenceCategory::ModelForward),
        ("Loss Computation:", ReferenceCategory::LossComputation),
        ("Backward Pass:", ReferenceCategory::Backward),
        ("DDP Communication:", ReferenceCategory::DdpCommunication),
        ("Optimizer:", ReferenceCategory::Optimizer),
        ("CUDA Kernels:", ReferenceCategory::CudaKernels),
    ];
    heading(out, "BOTTLENECK ANALYSIS")?;
    let categories = reference.categories();
    for (label, category) in ROWS {
        let time = categories.iter().find(|time| time.category == category);
        let (percent, nanos) = time.map_or((0.0, 0), |time| (100.0 * time.share, time.nanos));
        writeln!(out, "{label:<22} {percent:>6.1}%  ({} ms)", whole_millis(nanos))?;
    }
    writeln!(out, "\nBOTTLENECK IDENTIFICATION:")?;
    for finding in reference.findings() {
        let (mark, title, rule) = words(finding);
        writeln!(out, "{mark}  {title}\n    → {rule}")?;
    }
    writeln!(out, "{}", "=".repeat(80))
}

/// Mark, title and the rule that fired.
fn words(finding: ReferenceFinding) -> (&'static str, String, &'static str) {
    const WARN: &str = "⚠️";
    let percent = |share: f64| format!("{:.1}%", 100.0 * share);
    match finding {
        ReferenceFinding::DataLoading(share) => (
            WARN,
            format!("DATA LOADING BOTTLENECK ({})", percent(share)),
            "data_loading takes more than 15% of the sum",
        ),
        ReferenceFinding::GraphProcessing(share) => (
            WARN,
            format!("GRAPH PROCESSING BOTTLENECK ({})", percent(share)),
            "graph_processing takes more than 10% of the sum",
        ),
        ReferenceFinding::Communication(share) => (
            WARN,
            format!("DDP COMMUNICATION BOTTLENECK ({})", percent(share)),
            "ddp_communication takes more than 15% of the sum",
        ),
        ReferenceFinding::CpuOverhead { cpu, gpu } => (
            WARN,
            format!("CPU OVERHEAD ({} CPU vs {} GPU)", percent(cpu), percent(gpu)),
            "data, graph, forward and backward together take more than twice cuda_kernels",
        ),
        ReferenceFinding::GpuBound(share) => {
            ("✅", format!("GPU BOUND ({})", percent(share)), "cuda_kernels takes more than half of the sum")
        }
        ReferenceFinding::DataLoadingOptimized(share) => (
            "✅",
            format!("DATA LOADING OPTIMIZED ({})", percent(share)),
            "data_loading and graph_processing take less than 5% each",
        ),
    }
}

fn description(category: ReferenceCategory) -> &'static str {
    match category {
        ReferenceCategory::DataLoading => "Loaders, batches, workers",
        ReferenceCategory::GraphProcessing => "Subgraphs and masks",
        ReferenceCategory::DdpCommunication => "Between processes",
        ReferenceCategory::ModelForward => "Forward pass",
        ReferenceCategory::LossComputation => "Losses",
        ReferenceCategory::Backward => "Backward pass",
        ReferenceCategory::Optimizer => "Optimizer and whole steps",
        ReferenceCategory::Memory => "Allocation",
        ReferenceCategory::TensorOps => "Tensor operations (aten::)",
        ReferenceCategory::CudaKernels => "Kernels and launches",
        ReferenceCategory::Other => "No rule matched",
    }
}

/// Nanoseconds as milliseconds with two decimals and grouped thousands, rounded half to even.
fn millis(nanos: u128) -> String {
    let hundredths = rounded(nanos, 10_000);
    format!("{}.{:02}", count(hundredths / 100), hundredths % 100)
}

fn whole_millis(nanos: u128) -> String {
    count(rounded(nanos, 1_000_000))
}

fn rounded(value: u128, unit: u128) -> u128 {
    let (whole, rest) = (value / unit, value % unit);
    let up = rest * 2 > unit || rest * 2 == unit && whole % 2 == 1;
    whole + u128::from(up)
}

fn shortened(name: &str) -> String {
    // One line per operation, whatever is in its name.
    let name: String = name.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    if name.chars().count() <= NAME_CHARS {
        return name;
    }
    name.chars().take(NAME_CHARS - 3).collect::<String>() + "..."
}

/// The report as a JSON document.
#[derive(Debug, Serialize)]
pub struct ReferenceDocument {
    schema: u32,
    rules: &'static str,
    files: Vec<FileRow>,
    events: u64,
    events_by_ph: std::collections::BTreeMap<String, u64>,
    complete_events: u64,
    complete_with_positive_dur: u64,
    complete_with_zero_dur: u64,
    complete_with_negative_dur: u64,
    complete_without_usable_times: u64,
    naive_sum_us: f64,
    span_us: f64,
    categories: Vec<CategoryRow>,
    event_categories: Vec<EventCategoryRow>,
    operations: Vec<OperationRow>,
    findings: Vec<String>,
    rescued: bool,
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct FileRow {
    file: String,
    events: u64,
    complete_events: u64,
    span_us: f64,
    rescued: bool,
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct CategoryRow {
    name: &'static str,
    us: f64,
    share: f64,
    count: u64,
}

#[derive(Debug, Serialize)]
struct EventCategoryRow {
    name: String,
    us: f64,
    count: u64,
}

/// `self_us` is null: the reference's rules have no self time.
#[derive(Debug, Serialize)]
struct OperationRow {
    name: String,
    category: &'static str,
    self_us: Option<f64>,
    total_us: f64,
    count: u64,
}

/// The report as a JSON document.
pub fn reference_json(reference: &Reference) -> ReferenceDocument {
    let micros = |nanos: u128| nanos as f64 / 1000.0;
    let files = &reference.files;
    let sum = |of: fn(&knockout_analyze::EventCounts) -> u64| files.iter().map(|file| of(&file.counts)).sum();
    let mut events_by_ph = std::collections::BTreeMap::new();
    for (event_type, count) in files.iter().flat_map(|file| file.counts.by_event_type()) {
        *events_by_ph.entry(event_type).or_insert(0) += count;
    }
    ReferenceDocument {
        schema: SCHEMA,
        rules: "reference",
        files: files
            .iter()
            .map(|file| FileRow {
                file: file.label.clone(),
                events: file.events,
                complete_events: file.counts.complete(),
                span_us: micros(u128::from(file.counts.wall_nanos())),
                rescued: file.rescued,
                warnings: file.warnings.iter().map(trace_warning).collect(),
            })
            .collect(),
        events: reference.events(),
        events_by_ph,
        complete_events: sum(EventCounts::complete),
        complete_with_positive_dur: sum(|counts| counts.positive),
        complete_with_zero_dur: sum(|counts| counts.zero),
        complete_with_negative_dur: sum(|counts| counts.negative),
        complete_without_usable_times: sum(|counts| counts.without_times),
        naive_sum_us: micros(reference.total_nanos()),
        // Clocks of several files need not agree: the longest of them.
        span_us: micros(files.iter().map(|file| u128::from(file.counts.wall_nanos())).max().unwrap_or(0)),
        categories: reference
            .categories()
            .iter()
            .map(|time| CategoryRow {
                name: time.category.name(),
                us: micros(time.nanos),
                share: time.share,
                count: time.count,
            })
            .collect(),
        event_categories: reference
            .event_categories()
            .iter()
            .map(|(name, count, nanos)| EventCategoryRow {
                name: (*name).to_owned(),
                us: micros(*nanos),
                count: *count,
            })
            .collect(),
        operations: reference
            .operations()
            .into_iter()
            .map(|operation| OperationRow {
                category: operation.category.name(),
                self_us: None,
                total_us: micros(operation.nanos),
                count: operation.count,
                name: operation.name,
            })
            .collect(),
        findings: reference.findings().into_iter().map(|finding| words(finding).1).collect(),
        rescued: files.iter().any(|file| file.rescued),
        warnings: files.iter().flat_map(|file| file.warnings.iter().map(trace_warning)).collect(),
    }
}
