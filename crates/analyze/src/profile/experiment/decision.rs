//! Questions that the figures answer: each with its figure, the threshold it was held against, and the answer. Values only:
//! the sentences are written in `knockout-report`.

use super::decompose;
use super::findings::Experiment;
use knockout_base::stats::{Estimate, relative_iqr, share};

/// Thresholds, as fractions.
const DATA: f64 = 0.15;
const UPDATE: f64 = 0.15;
const RECORDING: f64 = 0.02;
const UNSTEADY: f64 = 0.10;
const TIE: f64 = 0.10;

/// A question with what was measured.
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
pub struct Decision {
    /// Question, with the figures it is answered by.
    pub question: Question,
    /// The threshold, as a fraction (of a step, above 1 for ratios); `None` where an interval decides.
    pub threshold: Option<f64>,
    /// Whether the answer is yes.
    pub is_yes: bool,
}

impl Decision {
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

/// Returns all questions the experiment answers.
pub(super) fn all(experiment: &Experiment) -> Vec<Decision> {
    let mut out = Vec::new();
    let mut decide = |question, threshold, is_yes| out.push(Decision { question, threshold, is_yes });
    for parts in &experiment.decomposition {
        let model = &parts.name;
        let share_of = |name: &str| parts.component(name).map_or(0.0, |component| component.share);
        let data = share_of(decompose::DATA);
        decide(Question::DataHoldsBack { model: model.clone(), share: data }, Some(DATA), data > DATA);
        let update = share_of(decompose::UPDATING);
        decide(
            Question::UpdateHoldsBack { model: model.clone(), share: update },
            Some(UPDATE),
            update > UPDATE,
        );
        let apart = parts.components.iter().map(|component| component.disagreement_s.median.abs());
        let worst = apart.map(|seconds| share(seconds, parts.step_s.median)).fold(0.0, f64::max);
        let agrees = parts.components.iter().all(|component| component.agrees);
        decide(Question::WaysAgree { model: model.clone(), share: worst }, None, agrees);
    }
    for cost in &experiment.recording {
        let question = Question::RecordingDisturbs { model: cost.model.clone(), ratio: cost.ratio };
        decide(question, Some(RECORDING), cost.ratio.clears(1.0 + RECORDING));
    }
    for ratio in experiment.ratios.iter().filter(|ratio| ratio.vary == "model" && ratio.mode == "full") {
        let question = Question::IsSlower { a: ratio.a.clone(), b: ratio.b.clone(), ratio: ratio.per_sample };
        decide(question, Some(TIE), ratio.per_sample.clears(1.0 + TIE));
    }
    let noise = noise(experiment);
    decide(Question::RoundsAlike { share: noise }, Some(UNSTEADY), noise <= UNSTEADY);
    out
}

/// How much rounds of one cell differ: their interquartile range by their median, for the cell where it is largest.
pub(super) fn noise(experiment: &Experiment) -> f64 {
    // The data mode takes microseconds: its rounds differ by the clock's own grain.
    let cells = experiment.cells.iter().filter(|cell| cell.mode != "data");
    cells.map(|cell| relative_iqr(&cell.rounds)).fold(0.0, f64::max)
}
