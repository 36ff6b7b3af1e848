//! Findings of an experiment, answers to its questions, and next steps.

use super::ablation::Effect;
use super::answer::{Answer, Question};
use super::decompose::{self, Component, Decomposition};
use super::finding::{ExperimentFinding, NextStep};
use super::findings::Experiment;
use super::own_batch::ModelRow;
use crate::profile::PhaseRow;
use knockout_base::stats::{relative_iqr, share};

/// Thresholds, as fractions.
const DATA: f64 = 0.15;
const UPDATE: f64 = 0.15;
const RECORDING: f64 = 0.02;
const UNSTEADY: f64 = 0.10;
const TIE: f64 = 0.10;

/// Switches worth naming per model.
const SWITCHES: usize = 3;

/// Returns all questions the experiment answers.
pub(super) fn answers(experiment: &Experiment) -> Vec<Answer> {
    let mut out = Vec::new();
    let mut answer = |question, threshold, is_yes| out.push(Answer { question, threshold, is_yes });
    for parts in &experiment.decomposition {
        let model = &parts.name;
        let share_of = |name: &str| parts.component(name).map_or(0.0, |component| component.share);
        let data = share_of(decompose::DATA);
        answer(Question::DataHoldsBack { model: model.clone(), share: data }, Some(DATA), data > DATA);
        let update = share_of(decompose::UPDATING);
        answer(
            Question::UpdateHoldsBack { model: model.clone(), share: update },
            Some(UPDATE),
            update > UPDATE,
        );
        let apart = parts.components.iter().map(|component| component.disagreement_s.median.abs());
        let worst = apart.map(|seconds| share(seconds, parts.step_s.median)).fold(0.0, f64::max);
        let agrees = parts.components.iter().all(|component| component.agrees);
        answer(Question::WaysAgree { model: model.clone(), share: worst }, None, agrees);
    }
    for cost in &experiment.recording {
        let question = Question::RecordingDisturbs { model: cost.model.clone(), ratio: cost.ratio };
        answer(question, Some(RECORDING), cost.ratio.clears(1.0 + RECORDING));
    }
    for ratio in experiment.ratios.iter().filter(|ratio| ratio.vary == "model" && ratio.mode == "full") {
        let question = Question::IsSlower { a: ratio.a.clone(), b: ratio.b.clone(), ratio: ratio.per_sample };
        answer(question, Some(TIE), ratio.per_sample.clears(1.0 + TIE));
    }
    for (first, row) in rows_beside_first(experiment) {
        let named = |row: &ModelRow| format!("{} at batch {}", row.name, row.batch);
        let question = Question::IsSlower { a: named(first), b: named(row), ratio: row.ratio };
        answer(question, Some(TIE), row.ratio.clears(1.0 + TIE));
    }
    let noise = noise(experiment);
    answer(Question::RoundsAlike { share: noise }, Some(UNSTEADY), noise <= UNSTEADY);
    out
}

/// Models in full steps at their own batch, each with the first one of its ranks.
fn rows_beside_first(experiment: &Experiment) -> impl Iterator<Item = (&ModelRow, &ModelRow)> {
    let rows = experiment.model_rows.iter().filter(|row| row.is_own && row.mode == "full");
    rows.filter_map(|row| {
        let first = experiment.own_rows().find(|first| first.world == row.world)?;
        (first.model != row.model).then_some((first, row))
    })
}

/// How much rounds of one cell differ: their interquartile range by their median, for the cell where it is largest.
fn noise(experiment: &Experiment) -> f64 {
    // The data mode takes microseconds: its rounds differ by the clock's own grain.
    let cells = experiment.cells.iter().filter(|cell| cell.mode != "data");
    cells.map(|cell| relative_iqr(&cell.rounds)).fold(0.0, f64::max)
}

/// Returns the findings.
pub(super) fn findings(experiment: &Experiment) -> Vec<ExperimentFinding> {
    let mut out = Vec::new();
    for own in &experiment.own_batch {
        let (batch, own_s) = (own.cell.profile.batch, own.cell.s_per_sample.median);
        let (common, gain) = (own.common_batch, own.gain);
        let model = own.cell.model.clone();
        let common_s = own_s * gain.median;
        out.push(ExperimentFinding::OwnBatch { model, batch, common, own_s, common_s, gain });
    }
    for parts in &experiment.decomposition {
        out.extend(largest(parts));
        out.extend(disagreements(parts));
    }
    for ratio in experiment.ratios.iter().filter(|ratio| ratio.vary == "model") {
        out.push(ExperimentFinding::Models {
            a: ratio.a.clone(),
            b: ratio.b.clone(),
            ratio: ratio.per_sample,
        });
    }
    out.extend(difference_of_models(experiment));
    for ratio in experiment.ratios.iter().filter(|ratio| ratio.vary == "processor" && ratio.mode == "data") {
        out.push(ExperimentFinding::Processors {
            a: ratio.a.clone(),
            b: ratio.b.clone(),
            ratio: ratio.per_sample,
        });
    }
    let furthest = experiment.cells.iter().max_by_key(|cell| cell.ran.len()).map(|cell| cell.mode.as_str());
    for scaling in experiment.ranks.iter().filter(|scaling| Some(scaling.mode.as_str()) == furthest) {
        let from = scaling.rows.first().map_or(1, |row| row.world);
        out.extend(scaling.rows.iter().skip(1).map(|row| ExperimentFinding::Ranks {
            model: scaling.model.clone(),
            mode: scaling.mode.clone(),
            from,
            to: row.world,
            speedup: row.speedup,
            cpu: row.cpu_ratio,
        }));
    }
    for cost in &experiment.recording {
        let model = cost.model.clone();
        out.push(ExperimentFinding::Recording { model, wall: cost.ratio, cpu: cost.cpu_ratio });
    }
    for ablation in &experiment.ablation {
        // The table is in the order of CPU time; the sentence is about wall time.
        let faster = ablation.tried.iter().filter(|tried| tried.effect == Effect::Faster);
        let best = faster.max_by(|a, b| a.gain.median.total_cmp(&b.gain.median));
        out.extend(best.map(|best| ExperimentFinding::BestSwitch {
            model: ablation.model.clone(),
            tried: ablation.tried.len(),
            switch: best.name.clone(),
            gain: best.gain,
        }));
    }
    out
}

fn largest(parts: &Decomposition) -> Option<ExperimentFinding> {
    let most = parts.components.iter().max_by(|a, b| a.share.total_cmp(&b.share))?;
    let data = parts.component(decompose::DATA)?;
    Some(ExperimentFinding::LargestPart {
        model: parts.name.clone(),
        part: most.name,
        share: most.share,
        data: (most.name != data.name).then_some((data.name, data.share)),
    })
}

fn disagreements(parts: &Decomposition) -> impl Iterator<Item = ExperimentFinding> + '_ {
    // Few rounds give no interval: on a busy machine, three may deviate in the same direction by chance.
    let is_sure = |component: &&Component| !component.agrees && component.disagreement_s.is_interval();
    parts.components.iter().filter(is_sure).map(|component| ExperimentFinding::Disagreement {
        model: parts.name.clone(),
        part: component.name,
        share: share(component.disagreement_s.median, parts.step_s.median),
    })
}

/// The part of the step that accounts for the difference between two models.
fn difference_of_models(experiment: &Experiment) -> Option<ExperimentFinding> {
    let first = experiment.decomposition.first()?.world;
    let on_as_many: Vec<&Decomposition> =
        experiment.decomposition.iter().filter(|parts| parts.world == first).collect();
    let [a, b, ..] = on_as_many.as_slice() else { return None };
    let per_sample = |parts: &Decomposition, seconds: f64| {
        let full = experiment.cell(&parts.model, &parts.processor, "full");
        share(seconds, full.map_or(1.0, |cell| cell.profile.batch as f64))
    };
    let whole = per_sample(b, b.step_s.median) - per_sample(a, a.step_s.median);
    let moved = a.components.iter().zip(&b.components).map(|(a_part, b_part)| {
        let change = per_sample(b, b_part.by_phases_s.median) - per_sample(a, a_part.by_phases_s.median);
        (a_part.name, share(change * whole.signum(), whole.abs()))
    });
    let (part, share) = moved.max_by(|a, b| a.1.total_cmp(&b.1))?;
    (a.model != b.model && whole != 0.0).then(|| ExperimentFinding::DifferenceOfModels {
        a: a.model.clone(),
        b: b.model.clone(),
        part,
        share,
    })
}

/// Returns the next steps, the most promising first.
pub(super) fn next_steps(experiment: &Experiment) -> Vec<NextStep> {
    let mut out = Vec::new();
    for ablation in &experiment.ablation {
        let faster = ablation.tried.iter().filter(|tried| tried.effect == Effect::Faster);
        out.extend(faster.take(SWITCHES).map(|tried| NextStep::UseSwitch {
            model: ablation.model.clone(),
            keys: tried.keys.clone(),
            gain: tried.gain,
            note: tried.note.clone(),
        }));
    }
    for parts in &experiment.decomposition {
        // Advice is about the batch that the model trains with.
        let own = experiment.own_batch.iter().find(|own| own.cell.model == parts.model);
        let recorded = match own {
            Some(own) => own.recorded.as_ref(),
            None => experiment.recorded(&parts.model),
        };
        let Some(cell) = recorded else { continue };
        let name = own.map_or(&parts.name, |own| &own.name);
        // Where the two ways disagree one of them is wrong: no advice is given.
        let is_trusted = |layer: &&PhaseRow| {
            let phase = layer.name.split('/').next().unwrap_or_default();
            let of_phase = parts.components.iter().filter(|part| part.phases.iter().any(|own| own == phase));
            of_phase.into_iter().all(|part| part.agrees)
        };
        let layer = cell.profile.parts.iter().max_by(|a, b| a.share.total_cmp(&b.share)).filter(is_trusted);
        let layer = layer.filter(|_| cell.processor == parts.processor);
        out.extend(layer.map(|layer| NextStep::LargestLayer {
            model: name.clone(),
            layer: layer.name.clone(),
            share: layer.share,
            bound: share(1.0, 1.0 - layer.share),
        }));
        let data = parts.component(decompose::DATA).filter(|data| data.agrees).map(|data| data.share);
        let is_of = |row: &&ModelRow| row.model == parts.model && row.world == parts.world;
        let of_own = experiment.own_rows().find(is_of).and_then(|row| row.share_of(decompose::DATA));
        out.extend(data.map(|data| if own.is_some() { of_own.unwrap_or(data) } else { data }).map(|data| {
            NextStep::DataPipeline {
                model: name.clone(),
                share: data,
                bound: share(1.0, 1.0 - data),
                is_worth_it: data > DATA,
            }
        }));
    }
    for scaling in experiment.ranks.iter().filter(|scaling| scaling.mode == "full") {
        let from = scaling.rows.first().map_or(1, |row| row.world);
        out.extend(scaling.fastest().map(|row| NextStep::Ranks {
            model: scaling.model.clone(),
            from,
            to: row.world,
            speedup: row.speedup,
            is_worth_it: row.world != from && row.speedup.clears(1.0),
        }));
    }
    if !experiment.cells.iter().any(|cell| cell.mode == "full") {
        out.push(NextStep::FullSteps);
    }
    if experiment.ablation.is_empty() && experiment.ranks.is_empty() {
        out.push(NextStep::Ablate);
    }
    let noise = noise(experiment);
    if noise > UNSTEADY {
        out.push(NextStep::Quieter(noise));
    }
    out
}
