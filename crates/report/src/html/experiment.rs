//! An experiment as HTML: what stands out, every cell, the parts of a step found out in two ways, switches that were tried,
//! and the recorded run of each model.

use super::{Foot, page, run};
use crate::document::answer;
use crate::experiment::{effect, experiment_text, ranks_line, subtitle};
use crate::sentence::{decision_texts, estimate, experiment_warning};
use crate::units::{bytes, count, rate};
use knockout_analyze::Analysis;
use knockout_analyze::profile::experiment::{Ablation, Decomposition, Experiment};
use knockout_base::stats::Estimate;
use serde_json::{Value, json};

/// An experiment as one HTML file. `recorded` are the analyses of the models' traces, by model.
pub fn experiment_html(experiment: &Experiment, recorded: &[(String, Analysis)]) -> String {
    let runs = experiment.models.iter().filter_map(|model| {
        let cell = experiment.recorded(model)?;
        let trace = recorded.iter().find(|(name, _)| name == model).map(|(_, trace)| trace);
        Some(json!({ "model": model, "run": run::sections(&cell.profile, trace) }))
    });
    let ranks = ranks_line(experiment).map(|line| ("ranks".to_owned(), line));
    let conditions: Vec<(String, String)> = experiment.conditions.iter().cloned().chain(ranks).collect();
    let data = json!({
        "kind": "experiment",
        "subtitle": subtitle(experiment),
        "verdicts": crate::insight_texts(experiment),
        "facts": facts(experiment),
        "warnings": experiment.warnings.iter().copied().map(experiment_warning).collect::<Vec<_>>(),
        "cells": experiment.cells.iter().map(|cell| json!([
            cell.name,
            cell.mode,
            figure(&cell.iterations_per_s),
            micros(&cell.s_per_batch),
            micros(&cell.s_per_sample),
            micros(&cell.cpu_s_per_sample),
        ])).collect::<Vec<_>>(),
        "ratios": experiment.ratios.iter().map(|ratio| json!([
            format!("{} / {}", ratio.b, ratio.a), ratio.mode, figure(&ratio.per_batch), figure(&ratio.per_sample), figure(&ratio.cpu_per_sample),
        ])).collect::<Vec<_>>(),
        "ranks": experiment.ranks.iter().flat_map(|scaling| scaling.rows.iter().map(move |row| json!([
            format!("{} {}, {}", scaling.model, scaling.mode, scaling.processor),
            row.world,
            figure(&row.samples_per_s),
            figure(&row.speedup),
            micros(&row.cpu_s_per_sample),
            figure(&row.cpu_ratio),
            row.barrier_share,
            row.exchange_share,
        ]))).collect::<Vec<_>>(),
        "decomposition": experiment.decomposition.iter().map(decomposition).collect::<Vec<_>>(),
        "breakdown": experiment.breakdown.iter().map(|breakdown| json!({
            "model": breakdown.name,
            "rows": breakdown.rows.iter().map(|row| {
                json!([row.depth, row.name, row.s * 1e6, row.s_per_sample * 1e6, row.share])
            }).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "ablation": experiment.ablation.iter().map(ablation).collect::<Vec<_>>(),
        "decisions": experiment.decisions.iter().map(|row| {
            let [question, measured, rule] = decision_texts(row);
            json!([question, measured, rule, answer(row.is_yes)])
        }).collect::<Vec<_>>(),
        "next_steps": crate::next_step_texts(experiment),
        "conditions": conditions,
        "runs": runs.collect::<Vec<_>>(),
    });
    let title = format!("Experiment on {}", experiment.plan.dataset);
    page(&title, &data, &experiment_text(experiment, &[]), &Foot::Experiment)
}

fn facts(experiment: &Experiment) -> Vec<Value> {
    let mut facts = vec![
        json!(["models", experiment.models.join(", ")]),
        json!(["cells", count(experiment.cells.len() as u64)]),
        json!(["rounds", count(experiment.plan.rounds)]),
    ];
    let full = experiment.cells.iter().filter(|cell| cell.mode == "full" && !cell.recorded);
    facts.extend(full.map(|cell| {
        let name = if experiment.worlds.len() > 1 { &cell.name } else { &cell.model };
        json!([format!("samples per second, {name}"), rate(cell.samples_per_s.median)])
    }));
    facts.extend(experiment.recording.iter().map(|cost| {
        let text = estimate(&cost.ratio, |ratio| format!("{ratio:.3}"));
        json!([format!("times a step with recording, {}", cost.model), text])
    }));
    facts
}

fn decomposition(parts: &Decomposition) -> Value {
    json!({
        "model": parts.name,
        "processor": parts.processor,
        "step": micros(&parts.step_s),
        "components": parts.components.iter().map(|part| json!([
            part.name,
            part.share,
            micros(&part.by_phases_s),
            micros(&part.by_difference_s),
            part.modes,
            micros(&part.disagreement_s),
            part.agrees,
        ])).collect::<Vec<_>>(),
    })
}

fn ablation(ablation: &Ablation) -> Value {
    json!({
        "model": ablation.model,
        "baseline": micros(&ablation.baseline_s_per_sample),
        "tried": ablation.tried.iter().map(|tried| json!([
            tried.name,
            tried.keys.join(" "),
            figure(&tried.gain),
            micros(&tried.s_per_sample),
            effect(tried.verdict),
            tried.pool_bytes.map(|pool| bytes(pool as i64)),
            tried.note,
            figure(&tried.cpu_gain),
        ])).collect::<Vec<_>>(),
        "not_applicable": ablation.not_applicable,
    })
}

fn figure(of: &Estimate) -> [f64; 3] {
    [of.median, of.low, of.high]
}

/// Seconds in the unit the script speaks.
fn micros(of: &Estimate) -> [f64; 3] {
    figure(of).map(|seconds| seconds * 1e6)
}
