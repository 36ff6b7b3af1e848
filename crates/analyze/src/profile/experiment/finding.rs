//! Findings that stand out in an experiment, and next steps. Values only: `knockout-report` writes the sentences.

use knockout_base::stats::Estimate;

/// Something that stands out in an experiment.
#[derive(Debug, Clone, PartialEq)]
pub enum ExperimentFinding {
    /// The largest part of a model's step.
    LargestPart {
        /// Name of the model.
        model: String,
        /// Name of the part.
        part: &'static str,
        /// Its share of a full step.
        share: f64,
        /// The data pipeline's name and share, where that is another part.
        data: Option<(&'static str, f64)>,
    },
    /// A model at its own batch and at the common one.
    OwnBatch {
        /// Name of the model.
        model: String,
        /// Its own batch.
        batch: u64,
        /// The batch of all models.
        common: u64,
        /// Wall time of a sample at its own batch.
        own_s: f64,
        /// Wall time of a sample at the common batch.
        common_s: f64,
        /// How many times as fast it is at its own.
        gain: Estimate,
    },
    /// Phases and differences of modes disagree beyond their spread.
    Disagreement {
        /// Name of the model.
        model: String,
        /// Name of the part.
        part: &'static str,
        /// Difference of modes minus phases, as a share of a step.
        share: f64,
    },
    /// Time per sample of one cell by another's, which has another model.
    Models {
        /// The cell it is compared with.
        a: String,
        /// Name of the cell in question.
        b: String,
        /// Time per sample, `b / a`.
        ratio: Estimate,
    },
    /// The part of the step that holds most of the difference between two models.
    DifferenceOfModels {
        /// The model it is compared with.
        a: String,
        /// Name of the model in question.
        b: String,
        /// Name of the part.
        part: &'static str,
        /// Its share of the difference per sample.
        share: f64,
    },
    /// Time per sample of the data mode of one cell by another's, which has another representation.
    Processors {
        /// The cell it is compared with.
        a: String,
        /// Name of the cell in question.
        b: String,
        /// Time per sample, `b / a`.
        ratio: Estimate,
    },
    /// Gain by more ranks.
    Ranks {
        /// Name of the model.
        model: String,
        /// Name of the mode.
        mode: String,
        /// Ranks it is compared with.
        from: u64,
        /// Ranks of the faster run.
        to: u64,
        /// How many times as fast per sample.
        speedup: Estimate,
        /// CPU time of a sample, of all ranks, by that on `from`.
        cpu: Estimate,
    },
    /// Cost of recording spans.
    Recording {
        /// Name of the model.
        model: String,
        /// Wall time of a step with recording by time without.
        wall: Estimate,
        /// Ratio of the CPU times.
        cpu: Estimate,
    },
    /// The switch that gained most.
    BestSwitch {
        /// Name of the model.
        model: String,
        /// Number of switches tried.
        tried: usize,
        /// Name of the switch.
        switch: String,
        /// How many times as fast per sample.
        gain: Estimate,
    },
}

impl ExperimentFinding {
    /// Stable name for scripts.
    pub fn about(&self) -> &'static str {
        match self {
            Self::LargestPart { .. } => "largest_part",
            Self::OwnBatch { .. } => "own_batch",
            Self::Disagreement { .. } => "disagreement",
            Self::Models { .. } => "models",
            Self::DifferenceOfModels { .. } => "difference_of_models",
            Self::Processors { .. } => "processors",
            Self::Ranks { .. } => "ranks",
            Self::Recording { .. } => "recording",
            Self::BestSwitch { .. } => "best_switch",
        }
    }

    /// The figure it rests on.
    pub fn figure(&self) -> f64 {
        match self {
            Self::LargestPart { share, .. }
            | Self::Disagreement { share, .. }
            | Self::DifferenceOfModels { share, .. } => *share,
            Self::Models { ratio, .. } | Self::Processors { ratio, .. } => ratio.median,
            Self::Recording { wall, .. } => wall.median - 1.0,
            Self::BestSwitch { gain, .. } | Self::OwnBatch { gain, .. } => gain.median,
            Self::Ranks { speedup, .. } => speedup.median,
        }
    }
}

/// A next step after an experiment.
#[derive(Debug, Clone, PartialEq)]
pub enum NextStep {
    /// Turn a switch on.
    UseSwitch {
        /// Name of the model.
        model: String,
        /// Overrides that turn it on.
        keys: Vec<String>,
        /// How many times as fast per sample.
        gain: Estimate,
        /// Effects other than on time; empty if none.
        note: String,
    },
    /// Look at a layer first.
    LargestLayer {
        /// Name of the model.
        model: String,
        /// Name of the layer.
        layer: String,
        /// Its share of a step.
        share: f64,
        /// How many times as fast a step would be without it.
        bound: f64,
    },
    /// Improve the data pipeline, or leave it.
    DataPipeline {
        /// Name of the model.
        model: String,
        /// Share of making batches.
        share: f64,
        /// Factor by which a step would be faster without the time to make batches.
        bound: f64,
        /// Whether it is worth work.
        is_worth_it: bool,
    },
    /// Train on more ranks, or leave it.
    Ranks {
        /// Name of the model.
        model: String,
        /// Ranks it is compared with.
        from: u64,
        /// The number of ranks that was fastest.
        to: u64,
        /// How many times as fast per sample.
        speedup: Estimate,
        /// Whether that is surely faster.
        is_worth_it: bool,
    },
    /// Measure full steps too.
    FullSteps,
    /// Measure the switches.
    Ablate,
    /// Measure again on a quieter machine; by how much rounds differ.
    Quieter(f64),
}

impl NextStep {
    /// Stable name for scripts.
    pub fn about(&self) -> &'static str {
        match self {
            Self::UseSwitch { .. } => "use_switch",
            Self::LargestLayer { .. } => "largest_layer",
            Self::DataPipeline { .. } => "data_pipeline",
            Self::Ranks { .. } => "ranks",
            Self::FullSteps => "full_steps",
            Self::Ablate => "ablate",
            Self::Quieter(_) => "quieter",
        }
    }

    /// The figure it rests on.
    pub fn figure(&self) -> f64 {
        match self {
            Self::UseSwitch { gain, .. } => gain.median,
            Self::LargestLayer { share, .. } | Self::DataPipeline { share, .. } | Self::Quieter(share) => {
                *share
            }
            Self::Ranks { speedup, .. } => speedup.median,
            Self::FullSteps | Self::Ablate => 0.0,
        }
    }
}
