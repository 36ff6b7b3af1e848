//! Findings that stand out in a run, and reasons to distrust its figures. Values only: the sentences are written in
//! `knockout-report`.

/// Something that stands out in a run. Shares are of a step's wall time.
#[derive(Debug, Clone, PartialEq)]
pub enum RunFinding {
    /// The phase that takes longest.
    LongestPhase {
        /// Name of the phase.
        phase: String,
        /// The phase's share of a step.
        share: f64,
        /// Whether the share is one of medians; else of means.
        of_median: bool,
    },
    /// Making batches takes long.
    Data {
        /// Share of loading and of waiting for it.
        share: f64,
        /// Share of waiting alone.
        wait: f64,
        /// Work of background threads as a multiple of the step; `None` when batches are made on the training thread.
        background: Option<f64>,
    },
    /// Clipping and the optimiser take long.
    Optimiser {
        /// Share of both.
        share: f64,
    },
    /// The process leaves its threads idle.
    IdleThreads {
        /// Unused share of the threads' time.
        share: f64,
        /// Number of threads.
        threads: u64,
    },
}

impl RunFinding {
    /// Stable name for scripts.
    pub fn about(&self) -> &'static str {
        match self {
            Self::LongestPhase { .. } => "longest_phase",
            Self::Data { .. } => "data",
            Self::Optimiser { .. } => "optimiser",
            Self::IdleThreads { .. } => "idle_threads",
        }
    }

    /// The figure it rests on.
    pub fn figure(&self) -> f64 {
        match self {
            Self::LongestPhase { share, .. }
            | Self::Data { share, .. }
            | Self::Optimiser { share }
            | Self::IdleThreads { share, .. } => *share,
        }
    }
}

/// A reason to distrust a run's figures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RunWarning {
    /// Too few steps to predict the next one.
    FewSteps(u64),
    /// Share of a step that is in no phase.
    Untracked(f64),
    /// Sum of the phases' shares where it is above the whole: some overlap.
    Overlap(f64),
    /// Interquartile range of the steps as a share of their median.
    Unsteady(f64),
    /// Mean step by the median step, where single steps are far longer than the others.
    Uneven(f64),
    /// A trace was recorded meanwhile.
    Profiler,
}

impl RunWarning {
    /// Stable name for scripts.
    pub fn code(&self) -> &'static str {
        match self {
            Self::FewSteps(_) => "few_steps",
            Self::Untracked(_) => "untracked",
            Self::Overlap(_) => "overlap",
            Self::Unsteady(_) => "unsteady",
            Self::Uneven(_) => "uneven",
            Self::Profiler => "profiler",
        }
    }
}
