//! Questions about an experiment: each with its figure, its threshold and its answer. Values only:
//! the sentences are written in `knockout-report`.

use knockout_base::stats::Estimate;

/// A question and the measured figure.
#[derive(Debug, Clone, PartialEq)]
pub enum Question {
    /// Does making batches hold the model back? Its share of a full step.
    DataHoldsBack {
        /// Name of the model.
        model: String,
        /// Measured share.
        share: f64,
    },
    /// Do clipping and the optimiser hold the model back? Their share of a full step.
    UpdateHoldsBack {
        /// Name of the model.
        model: String,
        /// Measured share.
        share: f64,
    },
    /// Do phases and differences of modes agree? The largest disagreement as a share of a step.
    WaysAgree {
        /// Name of the model.
        model: String,
        /// Measured share.
        share: f64,
    },
    /// Does recording spans disturb? Time of a step with recording by time without.
    RecordingDisturbs {
        /// Name of the model.
        model: String,
        /// Measured ratio.
        ratio: Estimate,
    },
    /// Is one cell slower per sample than another?
    IsSlower {
        /// Name of the cell it is compared with.
        a: String,
        /// Name of the cell in question.
        b: String,
        /// Time per sample, `b / a`.
        ratio: Estimate,
    },
    /// Were the rounds alike? Steady load of others slows all of them and is not seen here. Interquartile range of the rounds as a share of their median.
    RoundsAlike {
        /// Measured share.
        share: f64,
    },
}

/// One question and its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Question, with the figures it is answered by.
    pub question: Question,
    /// The threshold, as a fraction (of a step, above 1 for ratios); `None` where an interval decides.
    pub threshold: Option<f64>,
    /// Whether the answer is yes.
    pub is_yes: bool,
}

impl Answer {
    /// The figure that decides.
    pub fn figure(&self) -> f64 {
        match &self.question {
            Question::DataHoldsBack { share, .. }
            | Question::UpdateHoldsBack { share, .. }
            | Question::WaysAgree { share, .. }
            | Question::RoundsAlike { share } => *share,
            Question::RecordingDisturbs { ratio, .. } => ratio.median - 1.0,
            Question::IsSlower { ratio, .. } => ratio.median,
        }
    }
}
