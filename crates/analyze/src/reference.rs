//! The analysis of the reference script, with its flaws: each event goes to the first rule with a word in its name, and durations
//! are summed without regard to nesting. Reproduces old reports; the other modules compute exact figures.

use crate::collect::counts::EventCounts;
use crate::findings::warning::{self, Counted, TraceWarning};
use knockout_trace::{EventType, ReadOutcome, Sink, Symbol, Symbols, TraceEvent};
use serde::Serialize;
use std::collections::BTreeMap;

/// A category of the reference, in the order its rules are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the reference's own names")]
pub enum ReferenceCategory {
    DataLoading,
    GraphProcessing,
    DdpCommunication,
    ModelForward,
    LossComputation,
    Backward,
    Optimizer,
    Memory,
    TensorOps,
    CudaKernels,
    Other,
}

impl ReferenceCategory {
    /// All categories, in the order their rules are tried.
    pub const ALL: [Self; 11] = [
        Self::DataLoading,
        Self::GraphProcessing,
        Self::DdpCommunication,
        Self::ModelForward,
        Self::LossComputation,
        Self::Backward,
        Self::Optimizer,
        Self::Memory,
        Self::TensorOps,
        Self::CudaKernels,
        Self::Other,
    ];

    /// The reference's name for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::DataLoading => "data_loading",
            Self::GraphProcessing => "graph_processing",
            Self::DdpCommunication => "ddp_communication",
            Self::ModelForward => "model_forward",
            Self::LossComputation => "loss_computation",
            Self::Backward => "backward",
            Self::Optimizer => "optimizer",
            Self::Memory => "memory",
            Self::TensorOps => "tensor_ops",
            Self::CudaKernels => "cuda_kernels",
            Self::Other => "other",
        }
    }
}

/// The words of the rules that look at the name, in the order they are tried.
const WORDS: [(ReferenceCategory, &[&str]); 9] = [
    (ReferenceCategory::DataLoading, &["dataloader", "getitem", "collate", "worker"]),
    (ReferenceCategory::GraphProcessing, &["lazysubgraph", "subgraph", "process_gene", "mask"]),
    (ReferenceCategory::DdpCommunication, &["nccl", "allreduce", "allgather", "broadcast", "dist"]),
    (ReferenceCategory::ModelForward, &["forward", "conv", "gin", "gat", "attention", "embedding"]),
    (ReferenceCategory::LossComputation, &["loss", "mse", "wasserstein", "supcr", "criterion"]),
    (ReferenceCategory::Backward, &["backward", "autograd", "accumulategrad"]),
    (ReferenceCategory::Optimizer, &["optimizer", "adamw", "step"]),
    (ReferenceCategory::Memory, &["cudamalloc", "cudafree", "allocat"]),
    (ReferenceCategory::TensorOps, &["aten::", "matmul", "mul", "add", "gather", "scatter", "index"]),
];

/// Returns the category of a name; `None` when the event's `cat` decides between kernels and the rest.
fn category_of_name(name: &str) -> Option<ReferenceCategory> {
    let name = name.to_lowercase();
    let by_word = WORDS.iter().find(|(_, words)| words.iter().any(|word| name.contains(word)));
    match by_word {
        Some((category, _)) => Some(*category),
        None => name.contains("culaunch").then_some(ReferenceCategory::CudaKernels),
    }
}

fn is_kernel_category(category: &str) -> bool {
    let category = category.to_lowercase();
    category.contains("cuda") || category.contains("kernel")
}

/// The category of an event by the reference's rules.
pub fn category_of(name: &str, category: &str) -> ReferenceCategory {
    category_of_name(name).unwrap_or(if is_kernel_category(category) {
        ReferenceCategory::CudaKernels
    } else {
        ReferenceCategory::Other
    })
}

/// A count and a sum of durations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    count: u64,
    nanos: u128,
}

impl Sum {
    #[inline]
    fn add(&mut self, nanos: u64) {
        self.count += 1;
        self.nanos += u128::from(nanos);
    }

    fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.nanos += other.nanos;
    }
}

/// Sums of one symbol, as the name and as the `cat` of events.
#[derive(Clone, Copy, Debug, Default)]
struct SymbolSums {
    as_name: Sum,
    as_cat: Sum,
    /// Of the events of this name, those whose `cat` contains `kernel`.
    in_kernel_cat: Sum,
    is_kernel_cat: bool,
}

/// Receives the events of one file. Memory grows with the number of distinct texts only.
#[derive(Debug, Default)]
pub struct ReferenceSink {
    counts: EventCounts,
    rows: Vec<SymbolSums>,
}

impl Sink for ReferenceSink {
    #[inline]
    fn event(&mut self, event: &TraceEvent<'_>) {
        let Some((start, end)) = self.counts.event(event) else { return };
        if event.symbols.len() > self.rows.len() {
            self.grow(event.symbols);
        }
        let nanos = end.abs_diff(start);
        let cat = &mut self.rows[event.category.index()];
        cat.as_cat.add(nanos);
        let in_kernel_cat = cat.is_kernel_cat;
        let name = &mut self.rows[event.name.index()];
        name.as_name.add(nanos);
        if in_kernel_cat {
            name.in_kernel_cat.add(nanos);
        }
    }
}

impl ReferenceSink {
    fn grow(&mut self, symbols: &Symbols) {
        for index in self.rows.len()..symbols.len() {
            let is_kernel_cat = is_kernel_category(symbols.text(Symbol::from_index(index)));
            self.rows.push(SymbolSums { is_kernel_cat, ..SymbolSums::default() });
        }
    }
}

/// The findings of the reference's analysis over one file or several.
#[derive(Clone, Debug, Default)]
pub struct Reference {
    /// The files, in the order read.
    pub files: Vec<ReferenceFile>,
    names: BTreeMap<String, (Sum, Sum)>,
    cats: BTreeMap<String, Sum>,
}

/// One file of a [`Reference`].
#[derive(Clone, Debug)]
pub struct ReferenceFile {
    /// The file, as it was named.
    pub label: String,
    /// Number of events in the file.
    pub events: u64,
    /// Events by event type and by usable duration.
    pub counts: EventCounts,
    /// Whether it is damaged, so that the figures are those of a rescued part.
    pub rescued: bool,
    /// Reasons to distrust the figures.
    pub warnings: Vec<TraceWarning>,
}

/// Time of a category: durations summed, nested ones counted again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CategoryTime {
    /// Category of the events.
    pub category: ReferenceCategory,
    /// Number of events in the category.
    pub count: u64,
    /// Sum of their durations.
    pub nanos: u128,
    /// Of the sum over all categories, from 0 to 1.
    pub share: f64,
}

/// Time of all events of one name: durations summed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationTime {
    /// Name of the events.
    pub name: String,
    /// The category by the name alone.
    pub category: ReferenceCategory,
    /// Events of that name.
    pub count: u64,
    /// Sum of their durations.
    pub nanos: u128,
}

/// Findings that stand out, by the reference's thresholds. Shares are fractions of the sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReferenceFinding {
    /// Data loading is above 15 %.
    DataLoading(f64),
    /// Graph processing is above 10 %.
    GraphProcessing(f64),
    /// Communication is above 15 %.
    Communication(f64),
    /// Data, graph, forward and backward together are above twice the kernels.
    CpuOverhead {
        /// Share of the four together.
        cpu: f64,
        /// Share of the kernels.
        gpu: f64,
    },
    /// Kernels are above 50 %.
    GpuBound(f64),
    /// Data loading and graph processing are each below 5 %; their sum.
    DataLoadingOptimized(f64),
}

impl Reference {
    /// No file yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds what a sink received from one file.
    pub fn add(&mut self, label: &str, sink: &ReferenceSink, outcome: &ReadOutcome) {
        for (row, (_, text)) in sink.rows.iter().zip(outcome.symbols.iter()) {
            if row.as_name.count > 0 {
                let (sum, in_kernel_cat) = self.names.entry(text.to_owned()).or_default();
                sum.merge(row.as_name);
                in_kernel_cat.merge(row.in_kernel_cat);
            }
            if row.as_cat.count > 0 {
                self.cats.entry(text.to_owned()).or_default().merge(row.as_cat);
            }
        }
        let mut warnings = warning::of_reading(outcome, &sink.counts);
        let pairs = sink.counts.of_event_type(EventType::BEGIN) + sink.counts.of_event_type(EventType::END);
        warning::extend_counted(&mut warnings, [(Counted::BeginEndNotUsed, pairs)]);
        self.files.push(ReferenceFile {
            label: label.to_owned(),
            events: outcome.events,
            counts: sink.counts.clone(),
            rescued: outcome.is_rescued(),
            warnings,
        });
    }

    /// Events of all files.
    pub fn events(&self) -> u64 {
        self.files.iter().map(|file| file.events).sum()
    }

    /// Sum of all durations.
    pub fn total_nanos(&self) -> u128 {
        self.names.values().map(|(sum, _)| sum.nanos).sum()
    }

    /// Categories that occur, by falling sum.
    pub fn categories(&self) -> Vec<CategoryTime> {
        let mut sums = [Sum::default(); ReferenceCategory::ALL.len()];
        for (name, (sum, in_kernel_cat)) in &self.names {
            if let Some(category) = category_of_name(name) {
                sums[category as usize].merge(*sum);
                continue;
            }
            sums[ReferenceCategory::CudaKernels as usize].merge(*in_kernel_cat);
            sums[ReferenceCategory::Other as usize].merge(Sum {
                count: sum.count - in_kernel_cat.count,
                nanos: sum.nanos - in_kernel_cat.nanos,
            });
        }
        let total = self.total_nanos();
        let mut categories: Vec<_> = ReferenceCategory::ALL
            .iter()
            .zip(sums)
            .filter(|(_, sum)| sum.count > 0)
            .map(|(category, sum)| CategoryTime {
                category: *category,
                count: sum.count,
                nanos: sum.nanos,
                share: share(sum.nanos, total),
            })
            .collect();
        categories.sort_by(|a, b| b.nanos.cmp(&a.nanos).then(a.category.name().cmp(b.category.name())));
        categories
    }

    /// Operations by falling sum, equal sums by name.
    pub fn operations(&self) -> Vec<OperationTime> {
        let mut operations: Vec<_> = self
            .names
            .iter()
            .map(|(name, (sum, _))| OperationTime {
                name: name.clone(),
                category: category_of_name(name).unwrap_or(ReferenceCategory::Other),
                count: sum.count,
                nanos: sum.nanos,
            })
            .collect();
        operations.sort_by(|a, b| b.nanos.cmp(&a.nanos).then_with(|| a.name.cmp(&b.name)));
        operations
    }

    /// Count and sum by the `cat` field as it is written, by falling sum, equal sums by name.
    pub fn event_categories(&self) -> Vec<(&str, u64, u128)> {
        let mut cats: Vec<_> =
            self.cats.iter().map(|(cat, sum)| (cat.as_str(), sum.count, sum.nanos)).collect();
        cats.sort_by(|a, b| b.2.cmp(&a.2).then(a.0.cmp(b.0)));
        cats
    }

    /// The share of a category, 0 if it does not occur.
    pub fn share_of(&self, category: ReferenceCategory) -> f64 {
        self.categories().iter().find(|time| time.category == category).map_or(0.0, |time| time.share)
    }

    /// Returns the findings by the reference's thresholds.
    pub fn findings(&self) -> Vec<ReferenceFinding> {
        let categories = self.categories();
        if categories.is_empty() {
            return Vec::new();
        }
        let share_of = |category| {
            categories.iter().find(|time| time.category == category).map_or(0.0, |time| time.share)
        };
        let data = share_of(ReferenceCategory::DataLoading);
        let graph = share_of(ReferenceCategory::GraphProcessing);
        let communication = share_of(ReferenceCategory::DdpCommunication);
        let gpu = share_of(ReferenceCategory::CudaKernels);
        let cpu =
            data + graph + share_of(ReferenceCategory::ModelForward) + share_of(ReferenceCategory::Backward);
        let candidates = [
            (data > 0.15, ReferenceFinding::DataLoading(data)),
            (graph > 0.10, ReferenceFinding::GraphProcessing(graph)),
            (communication > 0.15, ReferenceFinding::Communication(communication)),
            (cpu > 2.0 * gpu, ReferenceFinding::CpuOverhead { cpu, gpu }),
            (gpu > 0.50, ReferenceFinding::GpuBound(gpu)),
            (data < 0.05 && graph < 0.05, ReferenceFinding::DataLoadingOptimized(data + graph)),
        ];
        candidates.into_iter().filter(|(holds, _)| *holds).map(|(_, finding)| finding).collect()
    }
}

fn share(part: u128, whole: u128) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
