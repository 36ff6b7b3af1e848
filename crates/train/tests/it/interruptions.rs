//! Any sequence of stops, kills, limits and resumed sessions ends like the undisturbed run: with the same bytes of metrics,
//! newest state, both best states and reason of the end.

use super::home::DatasetFolder;
use knockout_train::checkpoint::{Checkpoint, Checkpoints, EpochSpent, LogPosition, Slot, State};
use knockout_train::config::Config;
use knockout_train::run::{End, EpochTimes, Event, Run, read_metrics};
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};

/// The end of a session before that of the run.
#[derive(Debug, Clone, Copy)]
enum Cut {
    /// A stop at the given check for requests: between steps, or inside of a validation.
    Stop(u32),
    /// `max_steps` is the given number of steps ahead.
    Limit(u64),
    /// Killed after the given number of events.
    Kill(usize),
}

fn cuts() -> impl Strategy<Value = Vec<(Cut, bool)>> {
    let cut = prop_oneof![
        (0..24_u32).prop_map(Cut::Stop),
        (0..9_u64).prop_map(Cut::Limit),
        (0..9_usize).prop_map(Cut::Kill)
    ];
    prop::collection::vec((cut, any::<bool>()), 1..7)
}

/// Four batches in an epoch, four batches of predictions in a validation.
const COMMON: [&str; 3] = ["batch=400", "run.predict_batch=50", "run.checkpoint_every=1000"];

const DANGO: [&str; 2] = ["model.width=8", "model.transition_epoch=1"];

const HETERO: [&str; 11] = [
    "model.width=8",
    "model.gin_hidden=8",
    "model.gin_linears=2",
    "model.layers=1",
    "model.pair_hidden=4",
    "model.local_heads=2",
    "model.dropout=0.1",
    "model.loss=mle_wass_supcr",
    "model.mle_wass_supcr.lambda_supcr=0.1",
    "model.mle_wass_supcr.buffer.size=600",
    "model.mle_wass_supcr.buffer.min_samples=500",
];

/// Both models, accumulation that ends with epochs and that does not, patience that ends a run, every schedule, a limit inside a group.
const CASES: [(&str, &[&str], &[&str]); 4] = [
    ("dango", &DANGO, &["epochs=5", "optimiser.accumulate=[\"0:3\"]", "optimiser.schedule=cosine"]),
    (
        "dango",
        &DANGO,
        &["epochs=40", "run.patience=1", "optimiser.learning_rate=0.05", "optimiser.schedule=plateau"],
    ),
    (
        "dango",
        &DANGO,
        &["max_steps=14", "optimiser.accumulate=[\"0:1\",\"1:4\"]", "optimiser.schedule=constant"],
    ),
    ("hetero", &HETERO, &["epochs=3", "optimiser.accumulate=[\"1:3\"]", "run.patience=2"]),
];

static HOME: LazyLock<DatasetFolder> = LazyLock::new(|| DatasetFolder::new(3));

fn create(folder: &Path, case: usize) -> Run {
    let (model, size, keys) = CASES[case];
    let keys = [&COMMON[..], size, keys].concat();
    let config = Config::of(model, &HOME.dataset.cell, &keys).unwrap();
    Run::create(folder, Arc::clone(&HOME.dataset), config, &HOME.context()).unwrap()
}

/// Drives a run until it ends or is cut; returns the reason of its end.
fn sit(mut run: Run, cut: Option<Cut>) -> Option<End> {
    if let Some(Cut::Stop(looks)) = cut {
        let count = AtomicU32::new(0);
        run.stop_when(move || count.fetch_add(1, Ordering::Relaxed) >= looks);
    }
    let events = if let Some(Cut::Kill(events)) = cut { events } else { usize::MAX };
    let mut end = None;
    for event in run.by_ref().take(events) {
        if let Event::End(why) = event.unwrap() {
            end = Some(why);
        }
    }
    end
}

/// The results of a run without times, number of checkpoints and length of single sessions.
#[derive(Debug, PartialEq)]
struct Left {
    end: Option<End>,
    metrics: String,
    /// Samples in the time of each epoch: all of them, for any number of sessions.
    timed_samples: Vec<u64>,
    states: Vec<Option<Checkpoint>>,
}

fn times(folder: &Path) -> Vec<EpochTimes> {
    read_metrics(folder).unwrap().into_iter().map(|line| line.times.unwrap()).collect()
}

fn left(folder: &Path, end: Option<End>) -> Left {
    let checkpoints = Checkpoints::at(&folder.join("checkpoints"));
    let newest = |slot| {
        let (_, checkpoint) = checkpoints.newest(slot).unwrap()?;
        let mut state = State { card: None, metrics: LogPosition::START, ..checkpoint.state };
        state.numbers.retain(|name, _| !name.ends_with("_seconds"));
        Some(Checkpoint { state, ..checkpoint })
    };
    Left {
        end,
        metrics: without_times(&fs::read_to_string(folder.join("metrics.jsonl")).unwrap()),
        timed_samples: times(folder)
            .iter()
            .map(|times| (times.samples_per_second * times.train_seconds).round() as u64)
            .collect(),
        states: [Slot::Last, Slot::BestPearson, Slot::BestMse].map(newest).into(),
    }
}

/// Lines of metrics without how long their epochs took, which no two runs share.
fn without_times(lines: &str) -> String {
    let line = |line: &str| {
        let mut line: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line).unwrap();
        assert!(line.remove("times").is_some(), "every epoch is timed");
        serde_json::to_string(&line).unwrap() + "\n"
    };
    lines.lines().map(line).collect()
}

static WHOLE: LazyLock<Vec<Left>> = LazyLock::new(|| {
    let whole = |case: usize| {
        let folder = HOME.path(&format!("whole-{case}"));
        let end = sit(create(&folder, case), None);
        left(&folder, end)
    };
    (0..CASES.len()).map(whole).collect()
});

#[test]
fn the_cases_end_as_they_are_meant_to() {
    let ends: Vec<_> = WHOLE.iter().map(|left| left.end).collect();
    assert_eq!(ends[..3], [Some(End::Epochs), Some(End::Patience), Some(End::Steps)]);
    assert!(ends[3].is_some());
    // The third ends inside a group of accumulated batches, in its fourth epoch: the best states are of the three before.
    let lines = WHOLE[2].metrics.lines().count();
    let best = WHOLE[2].states[1].as_ref().unwrap();
    assert_eq!((lines, best.state.position.step % 4), (4, 0));
}

fn same(found: &Left, expected: &Left, place: &str) {
    assert_eq!(found.end, expected.end, "{place}");
    assert_eq!(found.metrics, expected.metrics, "{place}");
    assert_eq!(found.timed_samples, expected.timed_samples, "{place}");
    for (found, expected) in found.states.iter().zip(&expected.states) {
        let state = |of: &Option<Checkpoint>| of.as_ref().map(|of| of.state.clone());
        assert_eq!(state(found), state(expected), "{place}");
        // Without the thousands of numbers in the message.
        assert!(found == expected, "tensors differ: {place}");
    }
}

fn check(case: usize, cuts: &[(Cut, bool)]) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("cut-{}", COUNT.fetch_add(1, Ordering::Relaxed));
    let folder: PathBuf = HOME.folder.path().join(name);
    let mut run = Some(create(&folder, case));
    for &(cut, saves) in cuts {
        let every = if saves { "run.checkpoint_every=0" } else { "run.checkpoint_every=1000" };
        let mut keys = vec![every.to_owned()];
        if let Cut::Limit(steps) = cut {
            let step = run.as_ref().map_or(0, Run::step_count);
            // Not beyond where the run ends by itself.
            let last = WHOLE[case].states[0].as_ref().map_or(1, |last| last.state.position.step);
            keys.push(format!("max_steps={}", (step + steps).clamp(1, last)));
        }
        drop(run.take());
        let sitting = Run::resume(&folder, &keys).unwrap();
        sit(sitting, Some(cut));
        run = Some(Run::resume(&folder, &[] as &[&str]).unwrap());
    }
    let end = sit(run.unwrap(), None);
    same(&left(&folder, end), &WHOLE[case], &format!("case {case}, cut at {cuts:?}"));
    // Resuming it once more changes nothing.
    let end = sit(Run::resume(&folder, &[] as &[&str]).unwrap(), None);
    same(&left(&folder, end), &WHOLE[case], &format!("case {case}, cut at {cuts:?}, resumed after its end"));
    fs::remove_dir_all(&folder).unwrap();
}

proptest! {
    // `PROPTEST_CASES` asks for more.
    #![proptest_config(ProptestConfig {
        cases: if std::env::var_os("PROPTEST_CASES").is_some() { ProptestConfig::default().cases } else { 12 },
        max_shrink_iters: 30,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_interruption_changes_a_run(case in 0..CASES.len(), cuts in cuts()) {
        check(case, &cuts);
    }
}

#[test]
fn every_limit_and_every_kill_inside_of_a_group_is_survived() {
    for at in 0..14 {
        check(2, &[(Cut::Limit(at), false)]);
        check(0, &[(Cut::Kill(at as usize), true), (Cut::Kill(2), false)]);
    }
}

/// A validation of a large model takes minutes; a stop inside of it waits for one batch of predictions at most.
#[test]
fn a_stop_inside_of_a_validation_predicts_no_further_batch() {
    let folder = HOME.path("stopped-in-validation");
    let mut run = create(&folder, 0);
    let validating = run.by_ref().map(Result::unwrap).find(|event| matches!(event, Event::Validation { .. }));
    assert!(matches!(validating, Some(Event::Validation { done: 50, total: 200 })), "{validating:?}");
    run.stop();
    assert!(
        matches!(run.next(), Some(Ok(Event::End(End::Stopped)))),
        "one more batch would be another event"
    );
    assert!(run.next().is_none());
    assert_eq!(
        fs::metadata(folder.join("metrics.jsonl")).map_or(0, |file| file.len()),
        0,
        "nothing was validated"
    );
    drop(run);
    let end = sit(Run::resume(&folder, &[] as &[&str]).unwrap(), None);
    same(&left(&folder, end), &WHOLE[0], "stopped inside of the first validation");
}

/// The time of an epoch is that of its training, over all sessions, without the time in between.
#[test]
fn an_interrupted_epoch_takes_the_time_of_all_its_sittings() {
    let folder = HOME.path("timed");
    assert_eq!(sit(create(&folder, 0), Some(Cut::Stop(3))), Some(End::Stopped));
    let (_, checkpoint) = Checkpoints::at(&folder.join("checkpoints")).newest(Slot::Last).unwrap().unwrap();
    let spent = EpochSpent::of(&checkpoint.state);
    let batches = f64::from(checkpoint.state.position.batch);
    assert!(
        batches > 0.0 && batches < 4.0 && spent.wall_seconds > 0.0 && spent.cpu_seconds > 0.0,
        "{spent:?}"
    );
    assert_eq!(spent.samples, 400.0 * batches);
    // Stopped again inside of the validation, which is not training and is repeated.
    let mut run = Run::resume(&folder, &[] as &[&str]).unwrap();
    run.by_ref().map(Result::unwrap).find(|event| matches!(event, Event::Validation { .. })).unwrap();
    run.stop();
    assert!(matches!(run.next(), Some(Ok(Event::End(End::Stopped)))));
    drop(run);
    let (_, checkpoint) = Checkpoints::at(&folder.join("checkpoints")).newest(Slot::Last).unwrap().unwrap();
    let trained = EpochSpent::of(&checkpoint.state);
    assert!(trained.wall_seconds > spent.wall_seconds && trained.cpu_seconds > spent.cpu_seconds);
    assert_eq!(sit(Run::resume(&folder, &[] as &[&str]).unwrap(), None), Some(End::Epochs));
    let times = times(&folder);
    assert_eq!(times.len(), 5);
    // Between the sitting's beginning and the validation nothing is trained any more.
    assert!(times[0].train_seconds >= trained.wall_seconds, "{:?} after {trained:?}", times[0]);
    assert!(times[0].cpu_seconds > trained.cpu_seconds, "{:?} after {trained:?}", times[0]);
    assert_eq!((times[0].train_seconds * times[0].samples_per_second).round(), 1600.0);
    let (_, end) = Checkpoints::at(&folder.join("checkpoints")).newest(Slot::Last).unwrap().unwrap();
    assert_eq!(EpochSpent::of(&end.state), EpochSpent::default(), "a new epoch has spent nothing");
}
