//! Experiments whose answers are known: cells measured with a clock that obeys, of one model and of two.

use knockout_analyze::profile::experiment::{
    Answer, Effect, Experiment, ExperimentFinding, ExperimentPlan, ExperimentWarning, NextStep, Question,
    SwitchOutcome, SwitchResult, SwitchRuns,
};
use knockout_analyze::profile::{Conditions, RunProfile};
use knockout_trace::meter::{Meter, Schedule, StepPhase};
use knockout_trace::{Clock, FakeClock, Recorder, RecorderOptions};
use std::sync::Arc;
use std::time::Duration;

const BATCH: usize = 10;
const MODES: [&str; 4] = ["data", "forward", "backward", "full"];

fn plan() -> ExperimentPlan {
    ExperimentPlan { dataset: "fake".to_owned(), rounds: 5, steps: 2, warmup: 1, ..ExperimentPlan::default() }
}

fn conditions(model: &str, mode: &str) -> Conditions {
    Conditions {
        data: "abc".to_owned(),
        records: 1000,
        batch: BATCH as u64,
        threads: 1,
        model: model.to_owned(),
        mode: mode.to_owned(),
        processor: "perturbation".to_owned(),
        machine: "a fake one".to_owned(),
        ..Conditions::default()
    }
}

/// What each phase of a full step takes, in milliseconds.
type Costs = [(StepPhase, u64); 8];

const DANGO: Costs = [
    (StepPhase::Fetch, 1),
    (StepPhase::Process, 1),
    (StepPhase::Collate, 1),
    (StepPhase::Forward, 10),
    (StepPhase::Loss, 5),
    (StepPhase::Backward, 25),
    (StepPhase::Clip, 1),
    (StepPhase::Optimiser, 4),
];
const HETERO: Costs = [
    (StepPhase::Fetch, 1),
    (StepPhase::Process, 1),
    (StepPhase::Collate, 1),
    (StepPhase::Forward, 30),
    (StepPhase::Loss, 5),
    (StepPhase::Backward, 85),
    (StepPhase::Clip, 1),
    (StepPhase::Optimiser, 4),
];

/// The last phase a mode runs.
fn last(mode: &str) -> StepPhase {
    match mode {
        "data" => StepPhase::Wait,
        "forward" => StepPhase::Loss,
        "backward" => StepPhase::Backward,
        _ => StepPhase::Optimiser,
    }
}

/// Runs a mode's phases and 2 ms in none. Round 3 is disturbed: everything takes three times as long.
fn measured(
    costs: &Costs,
    conditions: Conditions,
    recorded: bool,
    extra: Option<(StepPhase, u64)>,
) -> RunProfile {
    let clock = Arc::new(FakeClock::new());
    let options =
        RecorderOptions { clock: Arc::clone(&clock) as Arc<dyn Clock>, ..RecorderOptions::default() };
    let recorder = if recorded { Recorder::new(options) } else { Recorder::off() };
    let schedule = Schedule::Window { wait: 0, warmup: 1, active: 2, repeat: 5 };
    let mut meter = Meter::with_clock(&recorder, schedule, Arc::clone(&clock) as Arc<dyn Clock>);
    let until = last(&conditions.mode);
    for step in 0..15 {
        let times = if step / 3 == 3 { 3 } else { 1 };
        for &(phase, ms) in costs.iter().filter(|(phase, _)| *phase <= until) {
            let more = extra.filter(|(slow, _)| *slow == phase).map_or(0, |(_, ms)| ms);
            meter.time(phase, || {
                let _layer = recorder.span(phase.part("layer"));
                clock.advance(Duration::from_millis(times * (ms + more)));
            });
        }
        clock.advance(Duration::from_millis(times * 2));
        meter.end_step(BATCH).unwrap();
    }
    let conditions = Conditions { profiler: recorded, ..conditions };
    RunProfile::of(&meter.finish().unwrap().0, conditions).unwrap()
}

fn cells(model: &str, costs: &Costs) -> Vec<RunProfile> {
    let mut out: Vec<RunProfile> =
        MODES.iter().map(|mode| measured(costs, conditions(model, mode), false, None)).collect();
    out.push(measured(costs, conditions(model, "full"), true, None));
    out
}

#[test]
fn phases_and_differences_of_modes_agree_to_the_nanosecond() {
    let found = Experiment::of(plan(), cells("dango", &DANGO), Vec::new()).unwrap();
    let parts = &found.decomposition[0];
    assert_eq!(parts.step_s.median, 0.050, "the disturbed round does not move it");
    let rows: Vec<(&str, f64, f64)> = parts
        .components
        .iter()
        .map(|part| (part.name, part.by_phases_s.median, part.by_difference_s.median))
        .collect();
    let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
    for ((name, phases, difference), (expected, seconds)) in rows.iter().zip([
        ("data pipeline", 0.003),
        ("loop and untracked", 0.002),
        ("forward and loss", 0.015),
        ("backward", 0.025),
        ("clip and optimiser", 0.005),
    ]) {
        assert_eq!(*name, expected);
        assert!(near(*phases, seconds) && near(*difference, seconds), "{rows:?}");
    }
    assert!(parts.components.iter().all(|part| part.agrees && part.disagreement_s.median.abs() < 1e-12));
    let sum: f64 = parts.components.iter().map(|part| part.share).sum();
    assert!(near(sum, 1.0), "{sum}");
    assert_eq!(found.recording[0].ratio.median, 1.0, "a fake clock does not see recording");
    let cell = found.cell("dango", "perturbation", "forward").unwrap();
    assert_eq!(cell.ran, ["fetch", "process", "collate", "forward", "loss"]);
    assert_eq!(cell.not_run, ["wait", "backward", "clip", "optimiser", "logging"]);
    assert_eq!((cell.s_per_batch.median, cell.s_per_sample.median), (0.020, 0.002));
    assert_eq!(cell.rounds.len(), 5);
    assert!(found.ratios.is_empty(), "one model has nothing to be compared with");
}

#[test]
fn a_delay_in_a_phase_is_found_in_its_part_by_both_ways() {
    for (slow, part) in [
        (StepPhase::Fetch, "data pipeline"),
        (StepPhase::Process, "data pipeline"),
        (StepPhase::Collate, "data pipeline"),
        (StepPhase::Forward, "forward and loss"),
        (StepPhase::Loss, "forward and loss"),
        (StepPhase::Backward, "backward"),
        (StepPhase::Clip, "clip and optimiser"),
        (StepPhase::Optimiser, "clip and optimiser"),
    ] {
        let profiles = MODES
            .iter()
            .map(|mode| measured(&DANGO, conditions("dango", mode), false, Some((slow, 100))))
            .collect();
        let found = Experiment::of(plan(), profiles, Vec::new()).unwrap();
        let plain = Experiment::of(plan(), cells("dango", &DANGO), Vec::new()).unwrap();
        let grown = |at: usize| {
            let (now, before) =
                (&found.decomposition[0].components[at], &plain.decomposition[0].components[at]);
            (
                now.by_phases_s.median - before.by_phases_s.median,
                now.by_difference_s.median - before.by_difference_s.median,
            )
        };
        for (at, component) in found.decomposition[0].components.iter().enumerate() {
            let expected = if component.name == part { 0.1 } else { 0.0 };
            let (phases, difference) = grown(at);
            assert!((phases - expected).abs() < 1e-9, "{slow}: {component:?}");
            assert!((difference - expected).abs() < 1e-9, "{slow}: {component:?}");
        }
        let first = &found.findings[0];
        assert!(
            matches!(first, ExperimentFinding::LargestPart { part: found, .. } if *found == part),
            "{slow}: {first:?}"
        );
    }
}

#[test]
fn a_mode_that_runs_too_much_is_reported() {
    // The data mode also runs a backward, as the Python system's did.
    let mut profiles = cells("dango", &DANGO);
    profiles[0] = measured(&DANGO, conditions("dango", "data"), false, Some((StepPhase::Collate, 25)));
    let found = Experiment::of(plan(), profiles, Vec::new()).unwrap();
    let parts = &found.decomposition[0];
    let wrong: Vec<&str> =
        parts.components.iter().filter(|part| !part.agrees).map(|part| part.name).collect();
    assert_eq!(wrong, ["data pipeline", "forward and loss"]);
    assert!((parts.components[0].disagreement_s.median - 0.025).abs() < 1e-12);
    let beyond = found.findings.iter().find(|finding| finding.about() == "disagreement").unwrap();
    assert!((beyond.figure() - 0.5).abs() < 1e-9, "{beyond:?}");
    let agree =
        |row: &&Answer| matches!(&row.question, Question::WaysAgree { model, .. } if model == "dango");
    assert!(!found.answers.iter().find(agree).unwrap().is_yes);
}

#[test]
fn a_layer_of_a_part_on_which_the_two_ways_disagree_is_not_advised() {
    // The longest layer is in the forward pass.
    let mut costs = DANGO;
    costs[3] = (StepPhase::Forward, 60);
    let advised = |profiles: Vec<RunProfile>| {
        let found = Experiment::of(plan(), profiles, Vec::new()).unwrap();
        found.next_steps.iter().any(|step| step.about() == "largest_layer")
    };
    assert!(advised(cells("dango", &costs)));
    let mut profiles = cells("dango", &costs);
    profiles[0] = measured(&costs, conditions("dango", "data"), false, Some((StepPhase::Collate, 25)));
    assert!(!advised(profiles));
}

#[test]
fn time_in_no_phase_is_not_the_data_pipelines() {
    // Of 8 ms one makes a batch, and two are in no phase.
    let costs = DANGO.map(|(phase, _)| (phase, u64::from(phase >= StepPhase::Collate)));
    let found = Experiment::of(plan(), cells("dango", &costs), Vec::new()).unwrap();
    let holds_back = |row: &&Answer| matches!(row.question, Question::DataHoldsBack { .. });
    let decision = found.answers.iter().find(holds_back).unwrap();
    assert!(!decision.is_yes && (decision.figure() - 0.125).abs() < 1e-9, "{decision:?}");
    let rest = found.decomposition[0].component("loop and untracked").unwrap();
    assert!((rest.share - 0.25).abs() < 1e-9 && rest.agrees, "{rest:?}");
    let advised = |found: &Experiment| found.next_steps.iter().any(|step| step.about() == "data_pipeline");
    assert!(advised(&found), "{:?}", found.next_steps);
    let mut wrong = cells("dango", &costs);
    wrong[0] = measured(&costs, conditions("dango", "data"), false, Some((StepPhase::Collate, 9)));
    let wrong = Experiment::of(plan(), wrong, Vec::new()).unwrap();
    assert!(!advised(&wrong), "no advice from a part on which the two ways disagree");
}

#[test]
fn two_models_are_compared_mode_by_mode_and_the_difference_is_located() {
    let mut profiles = cells("dango", &DANGO);
    profiles.extend(cells("hetero", &HETERO));
    let found = Experiment::of(plan(), profiles, Vec::new()).unwrap();
    assert_eq!(found.models, ["dango", "hetero"]);
    let ratios: Vec<(&str, f64)> =
        found.ratios.iter().map(|ratio| (ratio.mode.as_str(), ratio.per_sample.median)).collect();
    assert_eq!(ratios.len(), 4);
    assert_eq!(ratios[0], ("data", 1.0), "the data pipeline is the same for both");
    assert!((ratios[3].1 - 130.0 / 50.0).abs() < 1e-12, "{ratios:?}");
    let is_exact = |low: f64, median: f64| (low - median).abs() < 1e-9;
    assert!(found.ratios.iter().all(|ratio| is_exact(ratio.per_sample.low, ratio.per_sample.median)));
    let full = found.findings.iter().find_map(|finding| match finding {
        ExperimentFinding::Models { a, b, ratio } if a == "dango full" && b == "hetero full" => Some(ratio),
        _ => None,
    });
    assert!(full.is_some_and(|ratio| (ratio.median - 2.6).abs() < 1e-12 && ratio.is_interval()), "{full:?}");
    let located = found.findings.iter().find(|finding| finding.about() == "difference_of_models").unwrap();
    assert!(matches!(located, ExperimentFinding::DifferenceOfModels { part: "backward", .. }), "{located:?}");
    assert!((located.figure() - 0.75).abs() < 1e-9, "{located:?}");
    assert_eq!(found.breakdown.len(), 2);
    for breakdown in &found.breakdown {
        let at = |depth: usize| -> f64 {
            breakdown.rows.iter().filter(|row| row.depth == depth).map(|row| row.share).sum()
        };
        assert!((at(0) - 1.0).abs() < 1e-12 && (at(1) - 1.0).abs() < 1e-9 && (at(2) - 1.0).abs() < 1e-9);
    }
}

#[test]
fn switches_are_ranked_by_what_they_gain() {
    let full = |extra| measured(&DANGO, conditions("dango", "full"), false, extra);
    let switch = |name: &str, outcome| SwitchResult {
        name: name.to_owned(),
        keys: vec![format!("model.{name}=1")],
        note: String::new(),
        outcome,
    };
    let faster = {
        let mut costs = DANGO;
        costs[5].1 = 5;
        measured(&costs, conditions("dango", "full"), false, None)
    };
    let runs = SwitchRuns {
        baseline: full(None),
        switches: vec![
            switch("slower", SwitchOutcome::Measured(Box::new(full(Some((StepPhase::Loss, 50)))))),
            switch("nothing", SwitchOutcome::Measured(Box::new(full(None)))),
            switch("faster", SwitchOutcome::Measured(Box::new(faster))),
            switch("absent", SwitchOutcome::NotApplicable("there is no such thing".to_owned())),
        ],
    };
    let found = Experiment::of(plan(), cells("dango", &DANGO), vec![runs]).unwrap();
    let tried: Vec<(&str, Effect)> =
        found.ablation[0].tried.iter().map(|tried| (tried.name.as_str(), tried.effect)).collect();
    assert_eq!(
        tried,
        [("faster", Effect::Faster), ("nothing", Effect::NoDifference), ("slower", Effect::Slower)]
    );
    assert!((found.ablation[0].tried[0].gain.median - 50.0 / 30.0).abs() < 1e-12);
    assert_eq!(found.ablation[0].tried[2].gain.median, 0.5);
    assert_eq!(found.ablation[0].not_applicable[0].0, "absent");
    let switches: Vec<&Vec<String>> = found
        .next_steps
        .iter()
        .filter_map(|step| match step {
            NextStep::UseSwitch { keys, .. } => Some(keys),
            _ => None,
        })
        .collect();
    assert_eq!(switches, [&["model.faster=1"]], "the slower one is not recommended");
    assert!(!found.next_steps.contains(&NextStep::Ablate), "{:?}", found.next_steps);
}

/// The full step of a model in batches of 100: ten times the samples of the others, in twice the time.
fn in_own_batch(costs: &Costs, recorded: bool) -> RunProfile {
    let twice = costs.map(|(phase, ms)| (phase, 2 * ms));
    let conditions = Conditions { batch: 100, ..conditions("dango", "full") };
    let mut profile = measured(&twice, conditions, recorded, None);
    profile.per_step.samples.fill(100);
    profile
}

#[test]
fn a_model_is_judged_in_the_batch_that_it_trains_with() {
    let mut profiles = cells("dango", &DANGO);
    profiles.extend([in_own_batch(&DANGO, false), in_own_batch(&DANGO, true)]);
    profiles.extend(cells("hetero", &HETERO));
    let found = Experiment::of(plan(), profiles, Vec::new()).unwrap();
    assert_eq!(found.cells.len(), 10, "cells take one batch");
    let [own] = &found.own_batch[..] else { panic!("{:?}", found.own_batch) };
    assert_eq!(
        (&own.name[..], &own.cell.name[..], own.common_batch),
        ("dango, batch 100", "dango full, batch 100", 10)
    );
    // 50 ms for 10 samples; 96 ms of phases and 2 ms in none for 100.
    let gain = 5.0 / 0.98;
    assert!((own.gain.median - gain).abs() < 1e-9, "{:?}", own.gain);
    let rows: Vec<(&str, u64, bool, f64)> = found
        .model_rows
        .iter()
        .map(|row| (&row.model[..], row.batch, row.is_own, row.ratio.median))
        .collect();
    let slower = 130.0 / 50.0;
    let expected = [
        ("dango", 10, false, 1.0),
        ("hetero", 10, false, slower),
        ("dango", 100, true, 1.0),
        ("hetero", 10, true, slower * gain),
    ];
    for (row, expected) in rows.iter().zip(expected) {
        assert_eq!((row.0, row.1, row.2), (expected.0, expected.1, expected.2));
        assert!((row.3 - expected.3).abs() < 1e-9, "{rows:?}");
    }
    assert_eq!(rows.len(), 4);
    assert!(
        matches!(
            &found.findings[0],
            ExperimentFinding::OwnBatch { model, batch: 100, common: 10, common_s, .. } if model == "dango" && (common_s - 0.005).abs() < 1e-12
        ),
        "{:?}",
        found.findings
    );
    let advice: Vec<&String> = found
        .next_steps
        .iter()
        .filter_map(|step| match step {
            NextStep::LargestLayer { model, .. } => Some(model),
            _ => None,
        })
        .collect();
    assert_eq!(advice, ["dango, batch 100", "hetero"]);
    let parts: f64 = found.model_rows.iter().flat_map(|row| &row.parts).map(|part| part.share).sum();
    assert!((parts - 4.0).abs() < 1e-9, "the parts of each row are a whole step: {parts}");
}

#[test]
fn a_batch_of_its_own_needs_the_same_conditions() {
    let with = |change: fn(&mut RunProfile)| {
        let mut own = in_own_batch(&DANGO, false);
        change(&mut own);
        let mut profiles = cells("dango", &DANGO);
        profiles.push(own);
        Experiment::of(plan(), profiles, Vec::new()).unwrap_err().to_string()
    };
    assert!(with(|own| own.conditions.threads = 2).contains("differs in threads"));
    assert!(
        with(|own| "hetero".clone_into(&mut own.conditions.model)).contains("no cell at the common batch")
    );
    assert!(with(|own| own.steps = 3).contains("another number of steps"));
}

#[test]
fn three_rounds_have_ranges_and_decide_by_them() {
    let few = ExperimentPlan { rounds: 3, ..plan() };
    let mut profiles = cells("dango", &DANGO);
    profiles.extend(cells("hetero", &HETERO));
    for profile in &mut profiles {
        profile.steps = 6;
        let steps = &mut profile.per_step;
        [&mut steps.samples, &mut steps.wall_nanos, &mut steps.cpu_nanos]
            .into_iter()
            .chain(steps.phases.values_mut())
            .for_each(|column| column.truncate(6));
    }
    let found = Experiment::of(few, profiles, Vec::new()).unwrap();
    assert_eq!(found.warnings, [ExperimentWarning::FewRounds(3)]);
    let ratio = found.ratios.iter().find(|ratio| ratio.mode == "full").unwrap().per_sample;
    assert!(!ratio.is_interval() && ratio.low > 0.0, "{ratio:?}");
    let slower = |row: &&Answer| matches!(row.question, Question::IsSlower { .. });
    assert!(found.answers.iter().find(slower).unwrap().is_yes, "every round says so: {ratio:?}");
}

#[test]
fn measurements_of_different_experiments_are_rejected() {
    let refusal = |profiles: Vec<RunProfile>| Experiment::of(plan(), profiles, Vec::new()).unwrap_err();
    assert!(refusal(Vec::new()).to_string().contains("no cell was measured"));
    let mut other = cells("dango", &DANGO);
    other[1].conditions.data = "def".to_owned();
    let said = refusal(other).to_string();
    assert!(
        said.contains("dango data") && said.contains("dango forward") && said.contains("differ in data"),
        "{said}"
    );
    let mut short = cells("dango", &DANGO);
    short[2].steps = 9;
    assert!(
        refusal(short).to_string().contains("dango backward has 9 steps, but the plan has 5 rounds of 2")
    );
    let mut unlike = cells("dango", &DANGO);
    unlike[3].per_step.samples[0] = 7;
    assert!(refusal(unlike).to_string().contains("did not see the same records"));
}
