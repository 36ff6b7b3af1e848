//! The documents of `--json`: findings with the sentences that people read beside the figures. No figure is computed here.

use crate::sentence::{
    bounds, decision_texts, experiment_warning, headline, insight, next_step, run_comparison_warning,
    run_finding, run_warning, sourced_finding, sourced_warning, trace_comparison_warning, trace_warning,
};
use knockout_analyze::profile::experiment::{CellFindings, Experiment, ExperimentComparison, OwnBatch};
use knockout_analyze::profile::{RunComparison, RunProfile};
use knockout_analyze::{Analysis, Bound, FileFindings, Sourced, Stragglers, TraceComparison};
use serde::Serialize;

/// A finding with its sentence.
#[derive(Serialize)]
struct FindingText {
    about: &'static str,
    figure: f64,
    text: String,
}

/// Returns the document of `profile`.
pub fn run_json(profile: &RunProfile) -> impl Serialize + '_ {
    run_document(profile)
}

#[derive(Serialize)]
struct RunDocument<'a> {
    #[serde(flatten)]
    profile: &'a RunProfile,
    verdict: Vec<FindingText>,
    warnings: Vec<String>,
}

fn run_document(profile: &RunProfile) -> RunDocument<'_> {
    let findings = profile.findings.iter().map(|found| FindingText {
        about: found.about(),
        figure: found.figure(),
        text: run_finding(found),
    });
    RunDocument {
        profile,
        verdict: findings.collect(),
        warnings: profile.warnings.iter().map(run_warning).collect(),
    }
}

/// Returns the document of `compare`.
pub fn run_compare_json(comparison: &RunComparison) -> impl Serialize + '_ {
    Warned {
        findings: comparison,
        warnings: comparison.warnings.iter().map(run_comparison_warning).collect(),
    }
}

/// Returns the document of `compare` of two experiments.
pub fn experiment_compare_json(comparison: &ExperimentComparison) -> impl Serialize + '_ {
    comparison
}

/// Returns the document of `trace compare`.
pub fn compare_json(comparison: &TraceComparison) -> impl Serialize + '_ {
    ComparisonDocument {
        headline: crate::compare::trace_headline(comparison),
        findings: Warned {
            findings: comparison,
            warnings: comparison.warnings.iter().map(trace_comparison_warning).collect(),
        },
    }
}

#[derive(Serialize)]
struct ComparisonDocument<'a> {
    headline: String,
    #[serde(flatten)]
    findings: Warned<'a, TraceComparison>,
}

/// Findings with the sentences of their warnings.
#[derive(Serialize)]
struct Warned<'a, T> {
    #[serde(flatten)]
    findings: &'a T,
    warnings: Vec<String>,
}

/// Returns the document of `trace analyze`.
pub fn analysis_json(analysis: &Analysis) -> impl Serialize + '_ {
    AnalysisDocument {
        bound: analysis.ranks.iter().zip(bounds(analysis)).map(bound_text).collect(),
        analysis,
        stragglers: analysis.stragglers.as_ref().map(|stragglers| StragglersDocument {
            stragglers,
            verdict: stragglers.finding.as_ref().map(finding_text),
        }),
        verdicts: analysis.findings.iter().map(sourced).collect(),
        warnings: analysis.warnings.iter().map(sourced_warning).collect(),
        ranks: analysis.ranks.iter().map(rank).collect(),
    }
}

fn bound_text((file, text): (&FileFindings, String)) -> BoundText<'_> {
    BoundText { rank: file.rank, bound: &file.bound, text }
}

#[derive(Serialize)]
struct BoundText<'a> {
    text: String,
    rank: Option<i64>,
    #[serde(flatten)]
    bound: &'a Bound,
}

#[derive(Serialize)]
struct AnalysisDocument<'a> {
    bound: Vec<BoundText<'a>>,
    #[serde(flatten)]
    analysis: &'a Analysis,
    stragglers: Option<StragglersDocument<'a>>,
    verdicts: Vec<FindingText>,
    warnings: Vec<String>,
    ranks: Vec<RankDocument<'a>>,
}

#[derive(Serialize)]
struct StragglersDocument<'a> {
    #[serde(flatten)]
    stragglers: &'a Stragglers,
    verdict: Option<FindingText>,
}

#[derive(Serialize)]
struct RankDocument<'a> {
    #[serde(flatten)]
    file: &'a FileFindings,
    verdicts: Vec<FindingText>,
    warnings: Vec<String>,
}

fn rank(file: &FileFindings) -> RankDocument<'_> {
    RankDocument {
        file,
        verdicts: file.findings.iter().map(finding_text).collect(),
        warnings: file.warnings.iter().map(trace_warning).collect(),
    }
}

fn finding_text(what: &knockout_analyze::TraceFinding) -> FindingText {
    sourced(&Sourced { source: None, what: what.clone() })
}

fn sourced(found: &Sourced<knockout_analyze::TraceFinding>) -> FindingText {
    FindingText { about: found.what.about(), figure: found.what.figure(), text: sourced_finding(found) }
}

/// Returns the document of `experiment`.
pub fn experiment_json(experiment: &Experiment) -> impl Serialize + '_ {
    let insights = experiment.findings.iter().map(|found| FindingText {
        about: found.about(),
        figure: found.figure(),
        text: insight(found),
    });
    let next_steps = experiment.next_steps.iter().map(|step| FindingText {
        about: step.about(),
        figure: step.figure(),
        text: next_step(step),
    });
    let decisions = experiment.answers.iter().map(|decision| {
        let [question, measured, rule] = decision_texts(decision);
        DecisionDocument {
            question,
            figure: decision.figure(),
            measured,
            rule,
            answer: answer(decision.is_yes),
        }
    });
    ExperimentDocument {
        experiment,
        cells: experiment
            .cells
            .iter()
            .map(|cell| CellDocument { cell, profile: run_document(&cell.profile) })
            .collect(),
        own_batch: experiment
            .own_batch
            .iter()
            .map(|own| OwnBatchDocument {
                own,
                cell: CellDocument { cell: &own.cell, profile: run_document(&own.cell.profile) },
            })
            .collect(),
        answer: headline(experiment),
        decisions: decisions.collect(),
        insights: insights.collect(),
        next_steps: next_steps.collect(),
        warnings: experiment.warnings.iter().copied().map(experiment_warning).collect(),
    }
}

#[derive(Serialize)]
struct ExperimentDocument<'a> {
    #[serde(flatten)]
    experiment: &'a Experiment,
    cells: Vec<CellDocument<'a>>,
    own_batch: Vec<OwnBatchDocument<'a>>,
    answer: String,
    decisions: Vec<DecisionDocument>,
    insights: Vec<FindingText>,
    next_steps: Vec<FindingText>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct CellDocument<'a> {
    #[serde(flatten)]
    cell: &'a CellFindings,
    profile: RunDocument<'a>,
}

#[derive(Serialize)]
struct OwnBatchDocument<'a> {
    #[serde(flatten)]
    own: &'a OwnBatch,
    #[serde(flatten)]
    cell: CellDocument<'a>,
}

#[derive(Serialize)]
struct DecisionDocument {
    question: String,
    figure: f64,
    measured: String,
    rule: String,
    answer: &'static str,
}

/// Returns `yes` or `no`.
pub(crate) fn answer(is_yes: bool) -> &'static str {
    if is_yes { "yes" } else { "no" }
}
