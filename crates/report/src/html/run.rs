//! A measured run as HTML: phases per batch and per sample, every step, memory, layers, the flame graph of what was recorded,
//! and another run beside it.

use super::compare::comparison_data;
use super::{Foot, data, page};
use crate::run::seconds;
use crate::sentence::{run_finding, run_warning};
use crate::units::{bytes, count, rate};
use knockout_analyze::Analysis;
use knockout_analyze::profile::{PhaseRow, RunComparison, RunProfile};
use serde_json::{Value, json};

const MAX_STEPS: usize = 2000;
const MAX_MEMORY: usize = 6000;

/// A run as one HTML file; `recorded` is the analysis of its trace, if there is one.
pub fn run_html(
    profile: &RunProfile,
    recorded: Option<&Analysis>,
    comparison: Option<&RunComparison>,
) -> String {
    let title = match profile.model.as_str() {
        "" => profile.mode.clone(),
        model => format!("{model}, {}", profile.mode),
    };
    let subtitle = format!(
        "batch {} · {} threads · {} steps measured · {}",
        count(profile.batch),
        profile.threads,
        count(profile.steps),
        profile.conditions.machine
    );
    let conditions: Vec<Value> = conditions(profile.conditions.entries());
    let document = json!({
        "kind": "run",
        "subtitle": subtitle,
        "verdicts": profile.verdict.iter().map(run_finding).collect::<Vec<_>>(),
        "facts": facts(profile),
        "warnings": profile.warnings.iter().map(run_warning).collect::<Vec<_>>(),
        "conditions": conditions,
        "run": sections(profile, recorded),
        "comparison": comparison.map(comparison_data),
    });
    let mut plain = crate::run_text(profile);
    if let Some(comparison) = comparison {
        plain.push('\n');
        plain.push_str(&crate::run_compare_text(comparison));
    }
    page(&title, &document, &plain, &Foot::Profile)
}

/// Conditions as rows; those without a value say nothing.
pub(super) fn conditions(entries: Vec<(&str, String)>) -> Vec<Value> {
    entries
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| json!([name, value]))
        .collect()
}

fn facts(profile: &RunProfile) -> Vec<Value> {
    let mut facts = vec![
        json!(["a step", seconds(profile.wall_s_per_step)]),
        json!(["median step", seconds(profile.step.median_s)]),
        json!(["CPU time of a step", seconds(profile.cpu_s_per_step)]),
        json!(["a sample", seconds(profile.wall_s_per_sample)]),
        json!(["samples per second", rate(profile.samples_per_s)]),
    ];
    facts.extend(profile.peak_rss_bytes.map(|peak| json!(["most memory", bytes(peak as i64)])));
    facts.extend(profile.pool_bytes.map(|pool| json!(["of it in buffers", bytes(pool as i64)])));
    facts
}

/// What the script draws of one run.
pub(super) fn sections(profile: &RunProfile, recorded: Option<&Analysis>) -> Value {
    let bars = profile.step_bars();
    let list: Vec<Value> = bars
        .iter()
        .take(MAX_STEPS)
        .map(|step| json!([format!("step {}", step.number), step.us, step.parts, [], u8::from(step.is_slow)]))
        .collect();
    let pool =
        profile.pool_bytes.map(|pool| format!(", of it {} in the engine's buffers", bytes(pool as i64)));
    json!({
        "phases": rows(&profile.phases),
        "parts": rows(&profile.parts),
        "background": rows(&profile.background),
        "steps": {
            "count": profile.steps,
            "list": list,
            "left_out": bars.len().saturating_sub(MAX_STEPS),
            "median": micros(profile.step.median_s),
            "names": profile.phases.iter().map(|row| &row.name).collect::<Vec<_>>(),
        },
        "memory": profile.memory_curve().iter().take(MAX_MEMORY).map(|point| {
            json!([point.at_us, point.bytes, point.phase])
        }).collect::<Vec<_>>(),
        "memory_text": format!(
            "Resident bytes of the process after every phase; most {}{}.",
            profile.peak_rss_bytes.map_or_else(|| "unknown".to_owned(), |peak| bytes(peak as i64)),
            pool.unwrap_or_default()
        ),
        "flame": recorded.map(data::flame_graph),
    })
}

fn rows(list: &[PhaseRow]) -> Vec<Value> {
    list.iter()
        .map(|row| {
            json!([
                row.name,
                micros(row.wall_s),
                row.share,
                micros(row.wall_s_per_sample),
                micros(row.spread.low_quartile_s),
                micros(row.spread.high_quartile_s),
                row.rss_bytes
            ])
        })
        .collect()
}

/// The unit the script speaks.
fn micros(seconds: f64) -> f64 {
    seconds * 1e6
}
