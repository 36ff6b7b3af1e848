//! Benchmarks and sweeps on the tiny yeast: interrupted, gone on with, refused where they are something else.

use knockout_base::error::Result;
use knockout_base::stats::bootstrap::Bootstrap;
use knockout_bench::trials::Stop;
use knockout_bench::trials::benchmark::{
    self, BenchmarkModel, BenchmarkOutcome, BenchmarkProgress, BenchmarkRequest,
};
use knockout_bench::trials::sweep::{self, SweepOutcome, SweepRequest};
use knockout_data::screen::Scheme;
use knockout_models::MODELS;
use knockout_sources::synth;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn tiny(folder: &Path) {
    let config = synth::SynthConfig::preset("tiny").unwrap();
    let mut dataset = synth::synthesise(&config, 3, "tiny", "test", &|_| ()).unwrap();
    dataset.write(&folder.join("tiny"), &|_| ()).unwrap();
}

fn request(folder: &Path) -> BenchmarkRequest {
    let setting = |key: &str| ("dango".to_owned(), key.to_owned());
    BenchmarkRequest {
        datasets: vec![folder.join("tiny")],
        schemes: vec![Scheme::Random],
        seeds: vec![0, 1],
        models: ["additive-ridge", "stack", "dango"].map(|name| BenchmarkModel::find(name).unwrap()).to_vec(),
        settings: ["model.width=16", "batch=200", "epochs=2"].map(setting).to_vec(),
        budget: None,
        out: folder.join("out"),
        version: "test".to_owned(),
        commit: "test".to_owned(),
        bootstrap: Bootstrap { resamples: 20, ..Bootstrap::default() },
    }
}

fn never() -> Stop {
    Arc::new(|| false)
}

fn compare(request: &BenchmarkRequest, stop: &Stop) -> Result<BenchmarkOutcome> {
    benchmark::run(request, stop, &mut |_| ())
}

#[test]
fn a_stopped_benchmark_resumes_without_repeating_cells() {
    let home = tempfile::tempdir().unwrap();
    tiny(home.path());
    let asked = request(home.path());
    // Stops in the middle of a network: it is asked after every step.
    let times = Arc::new(AtomicUsize::new(0));
    let stop: Stop = Arc::new(move || times.fetch_add(1, Ordering::Relaxed) > 8);
    let first = compare(&asked, &stop).unwrap();
    assert!(first.is_stopped);
    let whole = compare(&asked, &never()).unwrap();
    assert!(!whole.is_stopped);
    let board = &whole.boards[0];
    assert_eq!((board.rows.len(), board.seeds.len(), board.left_out.len()), (3, 2, 0));
    assert!(board.bounds.attainable_pearson.is_some());
    assert!(board.rows.is_sorted_by(|a, b| a.pearson >= b.pearson));
    let dango = board.rows.iter().find(|row| row.name == "dango").unwrap();
    assert!(dango.is_finished && dango.splits.iter().all(|cell| cell.epochs == Some(2)));
    assert!(dango.against_stack.is_some_and(|against| against.low <= against.difference));
    // Everything is done: no run is told of any more, and the figures are the same.
    let mut runs = 0;
    let again = benchmark::run(&asked, &never(), &mut |progress| {
        runs += usize::from(matches!(progress, BenchmarkProgress::Run(_)));
    });
    assert_eq!(runs, 0);
    let cells = |outcome: &BenchmarkOutcome| -> Vec<_> {
        outcome.boards[0].rows.iter().flat_map(|row| row.splits.clone()).collect()
    };
    assert_eq!(cells(&again.unwrap()), cells(&whole));

    // Elsewhere and undisturbed: the same figures.
    let other = BenchmarkRequest { out: home.path().join("other"), ..asked.clone() };
    let other = compare(&other, &never()).unwrap();
    let figures = |outcome: &BenchmarkOutcome| -> Vec<_> {
        cells(outcome)
            .into_iter()
            .map(|cell| (cell.name, cell.seed, cell.test, cell.validation_pearson))
            .collect()
    };
    assert_eq!(figures(&other), figures(&whole));

    // Other settings in the same folder are refused.
    let mut changed = asked.clone();
    changed.settings.push(("dango".to_owned(), "optimiser.learning_rate=0.5".to_owned()));
    let error = compare(&changed, &never()).unwrap_err().to_string();
    assert!(error.contains("choose another --out"), "{error}");
    // Figures that are damaged are named.
    std::fs::write(home.path().join("out/tiny/random-0/stack.json"), "{").unwrap();
    let error = compare(&asked, &never()).unwrap_err().to_string();
    assert!(error.contains("stack.json") && error.contains("move it away"), "{error}");
}

#[test]
fn a_budget_ends_training_and_a_larger_one_resumes_it() {
    let home = tempfile::tempdir().unwrap();
    tiny(home.path());
    let mut asked = BenchmarkRequest {
        models: vec![BenchmarkModel::find("dango").unwrap()],
        seeds: vec![0],
        settings: vec![("dango".to_owned(), "model.width=16".to_owned())],
        budget: Some(Duration::from_millis(1)),
        ..request(home.path())
    };
    let row = compare(&asked, &never()).unwrap().boards[0].rows[0].clone();
    assert!(
        !row.is_finished && row.splits[0].validation_pearson.is_some(),
        "validated where it stands: {row:?}"
    );
    asked.settings.push(("dango".to_owned(), "epochs=3".to_owned()));
    asked.budget = None;
    let row = compare(&asked, &never()).unwrap().boards[0].rows[0].clone();
    assert!(row.is_finished && row.splits[0].epochs == Some(3), "{row:?}");
}

fn search(folder: &Path, keys: &[&str], budget: u64, stop: &Stop) -> Result<SweepOutcome> {
    let request = SweepRequest {
        dataset: folder.join("tiny"),
        model: *MODELS.iter().find(|entry| entry.name == "dango").unwrap(),
        axes: keys.iter().map(|key| key.parse().unwrap()).collect(),
        budget: Duration::from_secs(budget),
        keep_one_of: 2,
        out: folder.join("sweep"),
        version: "test".to_owned(),
        commit: "test".to_owned(),
    };
    sweep::run(&request, stop, &mut |_| ())
}

#[test]
fn a_sweep_keeps_the_better_half_and_resumes() {
    let home = tempfile::tempdir().unwrap();
    tiny(home.path());
    let keys = ["model.width=16", "batch=200", "epochs=4", "optimiser.learning_rate=0.01,0.003,1e-9,1e-10"];
    let times = Arc::new(AtomicUsize::new(0));
    let stop: Stop = Arc::new(move || times.fetch_add(1, Ordering::Relaxed) > 20);
    assert!(search(home.path(), &keys, 600, &stop).unwrap().is_stopped);
    let found = search(home.path(), &keys, 600, &never()).unwrap();
    let sweep = &found.sweep;
    assert_eq!(sweep.rungs.iter().map(|rung| rung.settings).collect::<Vec<_>>(), [4, 2, 1]);
    let chosen = sweep.chosen.unwrap();
    assert!(chosen < 2, "a rate that moves nothing is not chosen: {sweep:?}");
    assert_eq!(found.ranking[0], chosen);
    let reached: Vec<usize> = sweep.candidates.iter().map(|candidate| candidate.trials.len()).collect();
    assert_eq!(reached.iter().sum::<usize>(), 4 + 2 + 1, "{reached:?}");
    assert_eq!(search(home.path(), &keys, 600, &never()).unwrap().sweep, *sweep, "nothing is done twice");
    let error = search(home.path(), &keys, 700, &never()).unwrap_err().to_string();
    assert!(error.contains("budget") && error.contains("600"), "{error}");
    let error = search(home.path(), &keys[..3], 600, &never()).unwrap_err().to_string();
    assert!(error.contains("choose another --out"), "{error}");
}
