//! What stands out in an experiment, and what to do next. Every sentence rests on a figure of this experiment and says it.

use super::decision::{noise, percent};
use super::decompose::{self, Decomposition};
use super::findings::Experiment;
use crate::run::RunVerdict;
use knockout_stats::share;

fn verdict(about: &str, figure: f64, text: String) -> RunVerdict {
    RunVerdict { about: about.to_owned(), figure, text }
}

fn times(ratio: f64) -> String {
    format!("{ratio:.2}")
}

/// What stands out.
pub(super) fn insights(experiment: &Experiment) -> Vec<RunVerdict> {
    let mut out = Vec::new();
    for parts in &experiment.decomposition {
        out.extend(largest(parts));
        out.extend(disagreements(parts));
    }
    for ratio in experiment.ratios.iter().filter(|ratio| ratio.vary == "model") {
        let times = ratio.per_sample.spelt(times);
        let text = format!("{} takes {times} times as long per sample as {}", ratio.b, ratio.a);
        out.push(verdict("models", ratio.per_sample.median, text));
    }
    out.extend(difference_of_models(experiment));
    for ratio in experiment.ratios.iter().filter(|ratio| ratio.vary == "processor" && ratio.mode == "data") {
        out.push(verdict(
            "processors",
            ratio.per_sample.median,
            format!(
                "making a batch as {} takes {} times as long as {}",
                ratio.b,
                ratio.per_sample.spelt(times),
                ratio.a
            ),
        ));
    }
    for cost in &experiment.recording {
        let figure = cost.ratio.median - 1.0;
        let three = |ratio: f64| format!("{ratio:.3}");
        let text = format!(
            "recording spans makes a step of {} {} times as long and takes {} times the processor time",
            cost.model,
            cost.ratio.spelt(three),
            cost.cpu_ratio.spelt(three)
        );
        out.push(verdict("recording", figure, text));
    }
    for ablation in &experiment.ablation {
        if let Some(best) = ablation.tried.first().filter(|tried| tried.verdict == "faster") {
            let text = format!(
                "of {} switches tried on {}, {:?} gains most: {} times as fast per sample",
                ablation.tried.len(),
                ablation.model,
                best.name,
                best.gain.spelt(times)
            );
            out.push(verdict("best_switch", best.gain.median, text));
        }
    }
    out
}

fn largest(parts: &Decomposition) -> Option<RunVerdict> {
    let most = parts.components.iter().max_by(|a, b| a.share.total_cmp(&b.share))?;
    let data = parts.component(decompose::DATA)?;
    let text = if most.name == data.name {
        format!(
            "{}: {} takes {} of a full step, more than anything else",
            parts.model,
            most.name,
            percent(most.share)
        )
    } else {
        format!(
            "{}: {} takes {} of a full step, more than anything else; {} takes {}",
            parts.model,
            most.name,
            percent(most.share),
            data.name,
            percent(data.share)
        )
    };
    Some(verdict("largest_part", most.share, text))
}

fn disagreements(parts: &Decomposition) -> impl Iterator<Item = RunVerdict> + '_ {
    parts.components.iter().filter(|component| !component.agrees).map(|component| {
        let figure = share(component.disagreement_s.median, parts.step_s.median);
        let text = format!(
            "{}: {} by differences of modes is {} of a step {} than by its phases, beyond their spread",
            parts.model,
            component.name,
            percent(figure.abs()),
            if figure > 0.0 { "more" } else { "less" }
        );
        verdict("disagreement", figure, text)
    })
}

/// Which part of the step accounts for the difference between two models.
fn difference_of_models(experiment: &Experiment) -> Option<RunVerdict> {
    let [a, b, ..] = experiment.decomposition.as_slice() else { return None };
    let per_sample = |parts: &Decomposition, seconds: f64| {
        let full = experiment.cell(&parts.model, &parts.processor, "full");
        share(seconds, full.map_or(1.0, |cell| cell.profile.batch as f64))
    };
    let whole = per_sample(b, b.step_s.median) - per_sample(a, a.step_s.median);
    let moved = a.components.iter().zip(&b.components).map(|(a_part, b_part)| {
        let change = per_sample(b, b_part.by_phases_s.median) - per_sample(a, a_part.by_phases_s.median);
        (a_part.name, share(change * whole.signum(), whole.abs()))
    });
    let (name, figure) = moved.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let text = format!(
        "{} of the difference per sample between {} and {} is in {name}",
        percent(figure),
        b.model,
        a.model
    );
    (a.model != b.model && whole != 0.0).then(|| verdict("difference_of_models", figure, text))
}

/// What to do, the most promising first.
pub(super) fn next_steps(experiment: &Experiment) -> Vec<RunVerdict> {
    let mut out = Vec::new();
    for ablation in &experiment.ablation {
        for tried in ablation.tried.iter().filter(|tried| tried.verdict == "faster").take(3) {
            let besides = if tried.note.is_empty() { String::new() } else { format!("; but {}", tried.note) };
            let text = format!(
                "{}: `{}` makes it {} times as fast{besides}",
                ablation.model,
                tried.keys.join(" "),
                tried.gain.spelt(times)
            );
            out.push(verdict("use_switch", tried.gain.median, text));
        }
    }
    for parts in &experiment.decomposition {
        let Some(cell) = experiment.recorded(&parts.model) else { continue };
        if let Some(part) = cell.profile.parts.iter().max_by(|a, b| a.share.total_cmp(&b.share)) {
            let text = format!(
                "{}: look at {} first, {} of a step; without it a step would be {} times as fast at most",
                parts.model,
                part.name,
                percent(part.share),
                times(share(1.0, 1.0 - part.share))
            );
            out.push(verdict("largest_layer", part.share, text));
        }
        let data = parts.component(decompose::DATA).map_or(0.0, |component| component.share);
        let bound = share(1.0, 1.0 - data);
        let advice = if data > 0.15 {
            "try loader.threads and another processor"
        } else {
            "leave the data pipeline as it is"
        };
        let text = format!(
            "{}: {advice}; with batches for nothing a step would be {} times as fast at most",
            parts.model,
            times(bound)
        );
        out.push(verdict("data_pipeline", data, text));
    }
    if experiment.ablation.is_empty() {
        out.push(verdict("ablate", 0.0, "measure the switches: say the same with --ablate".to_owned()));
    }
    let noise = noise(experiment);
    if noise > 0.10 {
        let text = format!(
            "measure again on a quieter machine or with more rounds: rounds differ by {}",
            percent(noise)
        );
        out.push(verdict("quieter", noise, text));
    }
    out
}
