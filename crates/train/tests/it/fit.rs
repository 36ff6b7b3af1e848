//! The promises of a run: the same bits for any number of threads and any interruption.

use super::home::{DatasetFolder, tiny};
use knockout_base::error::{Class, Result};
use knockout_data::screen::{Dataset, Part, Split};
use knockout_trace::Recorder;
use knockout_trace::meter::{Meter, Schedule};
use knockout_train::checkpoint::{Checkpoints, Slot};
use knockout_train::config::Config;
use knockout_train::fit::Fit;
use knockout_train::run::{End, Event, Run, RunContext, read_metrics};
use knockout_train::step::Mode;
use std::path::Path;
use std::sync::Arc;

fn dataset() -> Arc<Dataset> {
    Arc::new(tiny(3))
}

fn config(dataset: &Dataset, overrides: &[&str]) -> Config {
    let mut keys =
        vec!["batch=100", "epochs=2", "model.width=16", "model.transition_epoch=1", "run.checkpoint_every=0"];
    keys.extend(overrides);
    Config::of("dango", &dataset.cell, &keys).unwrap()
}

/// A small hetero model with dropout, whose loss remembers earlier batches.
fn hetero(dataset: &Dataset) -> Config {
    let keys = [
        "batch=200",
        "epochs=2",
        "model.width=8",
        "model.gin_hidden=8",
        "model.gin_linears=2",
        "model.layers=1",
        "model.pair_hidden=4",
        "model.local_heads=2",
        "model.dropout=0.1",
        "model.loss=mle_wass_supcr",
        "model.mle_wass_supcr.lambda_supcr=0.1",
        "model.mle_wass_supcr.buffer.size=300",
        "model.mle_wass_supcr.buffer.min_samples=300",
        "run.checkpoint_every=0",
        "run.predict_batch=200",
    ];
    Config::of("hetero", &dataset.cell, &keys).unwrap()
}

struct TrainedFit {
    end: End,
    hashes: Vec<String>,
    losses: Vec<f64>,
}

/// Trains in a folder, from its start or from where it was left; stops after a number of steps.
fn train(
    dataset: &Arc<Dataset>,
    config: &Config,
    threads: usize,
    folder: &Path,
    stop_after: Option<u64>,
) -> TrainedFit {
    let mut outcome = TrainedFit { end: End::Stopped, hashes: Vec::new(), losses: Vec::new() };
    knockout_train::workers(threads).unwrap().install(|| {
        let mut run = if folder.exists() {
            Run::resume(folder, &[] as &[&str]).unwrap()
        } else {
            let context = RunContext::new(folder.with_file_name("data"));
            Run::create(folder, Arc::clone(dataset), config.clone(), &context).unwrap()
        };
        while let Some(event) = run.next() {
            match event.unwrap() {
                Event::Step(report) => {
                    outcome.losses.push(report.outcome.loss);
                    if stop_after.is_some_and(|stop| report.position.step >= stop) {
                        run.stop();
                    }
                }
                Event::Epoch(line) => outcome.hashes.push(line.weights_hash),
                Event::Validation { .. } | Event::Tried(_) | Event::Solving { .. } => {}
                Event::End(end) => outcome.end = end,
            }
        }
    });
    outcome
}

fn run(dataset: &Arc<Dataset>, config: &Config, threads: usize) -> TrainedFit {
    let home = tempfile::tempdir().unwrap();
    train(dataset, config, threads, &home.path().join("run"), None)
}

fn fit(config: &Config, dataset: &Arc<Dataset>) -> Result<Fit> {
    let split = Split::new(&dataset.samples, dataset.cell.genes(), config.split.spec()).unwrap();
    Fit::new(config.clone(), Arc::clone(dataset), Arc::new(split))
}

#[test]
fn threads_do_not_change_a_bit() {
    let dataset = dataset();
    let config = config(&dataset, &[]);
    let one = run(&dataset, &config, 1);
    assert_eq!(one.end, End::Epochs);
    assert_eq!(one.hashes.len(), 2);
    for threads in [2, 7] {
        assert_eq!(run(&dataset, &config, threads).hashes, one.hashes, "{threads} threads");
    }
}

#[test]
fn a_checkpoint_beyond_its_epoch_is_refused() {
    let dataset = dataset();
    let config = config(&dataset, &[]);
    let DatasetFolder { folder: home, dataset } = DatasetFolder::new(3);
    let folder = home.path().join("run");
    train(&dataset, &config, 1, &folder, Some(2));
    let checkpoints = Checkpoints::at(&folder.join("checkpoints"));
    let (_, mut checkpoint) = checkpoints.newest(Slot::Last).unwrap().unwrap();
    let mut fit = fit(&config, &dataset).unwrap();
    fit.restore(&checkpoint).unwrap();
    checkpoint.state.position.batch = 10_000;
    let error = fit.restore(&checkpoint).unwrap_err().to_string();
    assert!(error.contains("at batch 10000 of an epoch that has"), "{error}");
}

#[test]
fn neither_threads_nor_interruptions_change_the_hetero_model() {
    let dataset = dataset();
    let config = hetero(&dataset);
    let whole = run(&dataset, &config, 2);
    assert_eq!((whole.end, whole.losses.len()), (End::Epochs, 16));
    assert_eq!(run(&dataset, &config, 7).hashes, whole.hashes);
    // After five batches the buffers are full and have wrapped around.
    let DatasetFolder { folder: home, dataset } = DatasetFolder::new(3);
    let folder = home.path().join("run");
    let first = train(&dataset, &config, 1, &folder, Some(5));
    assert_eq!(first.end, End::Stopped);
    let second = train(&dataset, &config, 2, &folder, None);
    let losses: Vec<f64> = first.losses.iter().chain(&second.losses).copied().collect();
    assert_eq!(losses, whole.losses);
    assert_eq!(second.hashes.last(), whole.hashes.last());
}

#[test]
fn a_model_learns_the_training_part() {
    let dataset = dataset();
    let config =
        config(&dataset, &["epochs=30", "optimiser.learning_rate=0.01", "optimiser.schedule=constant"]);
    let outcome = run(&dataset, &config, 2);
    let mean = |losses: &[f64]| losses.iter().sum::<f64>() / losses.len() as f64;
    let (early, late) = (mean(&outcome.losses[16..32]), mean(&outcome.losses[outcome.losses.len() - 16..]));
    assert!(late < 0.8 * early, "{early} {late}");
}

#[test]
fn modes_run_the_phases_they_name() {
    use knockout_trace::meter::StepPhase as Phase;
    let dataset = dataset();
    let config = config(&dataset, &[]);
    let phases = [Phase::Forward, Phase::Loss, Phase::Backward, Phase::Clip, Phase::Optimiser];
    for (mode, reached) in Mode::ALL.into_iter().zip([0, 2, 3, 5]) {
        let mut fit = fit(&config, &dataset).unwrap();
        let before: Vec<f32> = fit.model().parameters().get(0).values().to_vec();
        let (mut seen, mut count) = ([0u64; 5], 0);
        let mut meter = Meter::new(&Recorder::default(), Schedule::default());
        let flow = fit
            .measure_steps(mode, 3, &mut meter, |report| {
                count += 1;
                for (seen, &phase) in seen.iter_mut().zip(&phases) {
                    *seen += report.times.phase(phase);
                }
                std::ops::ControlFlow::Continue(())
            })
            .unwrap();
        assert!(flow.is_continue());
        assert_eq!(count, 3);
        for (place, &time) in seen.iter().enumerate() {
            assert_eq!(time > 0, place < reached, "{mode:?}: phase {:?}", phases[place].name());
        }
        let changed = fit.model().parameters().get(0).values() != &before[..];
        assert_eq!(changed, mode == Mode::Full, "{mode:?}");
    }
}

#[test]
fn divergence_names_its_step() {
    let dataset = dataset();
    let config = config(
        &dataset,
        &["optimiser.learning_rate=1e30", "optimiser.clip_norm=0", "optimiser.schedule=constant"],
    );
    let home = tempfile::tempdir().unwrap();
    let context = RunContext::new(home.path().join("data"));
    let mut run = Run::create(&home.path().join("run"), dataset, config, &context).unwrap();
    let error = run.find_map(Result::err).unwrap();
    assert!(run.next().is_none(), "nothing follows an error");
    assert_eq!(error.class(), Class::Diverged);
    assert!(!error.to_string().starts_with("step 1 "), "{error}");
    assert!(error.to_string().contains("is not finite"), "{error}");
}

#[test]
fn empty_parts_are_refused() {
    let dataset = dataset();
    let config = config(&dataset, &["split.val=0.0"]);
    let split = Split::new(&dataset.samples, dataset.cell.genes(), config.split.spec());
    match split {
        Ok(split) => {
            assert!(split.rows(Part::Val).is_empty());
            let fit = Fit::new(config, dataset, Arc::new(split));
            let error = fit.err().unwrap().to_string();
            assert!(error.starts_with("the val part of the split has no samples"), "{error}");
        }
        Err(error) => assert!(error.to_string().contains("val"), "{error}"),
    }
}

#[test]
fn metrics_lost_on_resuming_are_reported() {
    let DatasetFolder { folder: home, dataset } = DatasetFolder::new(3);
    let config = config(&dataset, &[]);
    let folder = home.path().join("run");
    train(&dataset, &config, 1, &folder, Some(20));
    let metrics = folder.join("metrics.jsonl");
    let text = std::fs::read_to_string(&metrics).unwrap();
    assert_eq!((text.lines().count(), read_metrics(&folder).unwrap().len()), (1, 1));
    std::fs::write(&metrics, format!("{text}nonsense\n")).unwrap();
    assert_eq!(read_metrics(&folder).unwrap().len(), 1, "a line behind the seal is not complete");
    std::fs::remove_file(folder.join("metrics.seal")).unwrap();
    let error = format!("{:?}", read_metrics(&folder).unwrap_err());
    assert!(error.contains("line 2 is damaged"), "{error}");
    std::fs::write(&metrics, "").unwrap();
    let error = Run::resume(&folder, &[] as &[&str]).err().unwrap();
    assert_eq!(error.class(), Class::Damage, "{error:?}");
    std::fs::remove_file(&metrics).unwrap();
    let run = Run::resume(&folder, &[] as &[&str]).unwrap();
    assert_eq!(run.resumed_metrics().missing_lines, 1);
    let log = std::fs::read_to_string(folder.join("log.txt")).unwrap();
    assert!(log.contains("metrics.jsonl lacks 1 lines"), "{log}");
}

#[test]
fn checkpoints_have_their_phase_and_buffers_are_all_counted() {
    let dataset = dataset();
    let home = tempfile::tempdir().unwrap();
    let context = RunContext::new(home.path().join("data"));
    let config = hetero(&dataset).with(&["max_steps=3"]).unwrap();
    let mut run = Run::create(&home.path().join("run"), dataset, config, &context).unwrap();
    let mut saving = Vec::new();
    for event in run.by_ref() {
        if let Event::Step(report) = event.unwrap() {
            saving.push(report.times.phase(knockout_trace::meter::StepPhase::Checkpoint));
        }
    }
    // A checkpoint after every step is part of the next one.
    assert_eq!(saving[0], 0);
    assert!(saving[1] > 0 && saving[2] > 0, "{saving:?}");
    let model = run.fit().unwrap().model().parameters().allocated_bytes() as u64;
    assert!(run.fit().unwrap().buffer_bytes() > model, "kernels have buffers of their own");
}

#[test]
fn differences_from_the_defaults_are_listed() {
    let dataset = dataset();
    let cell = &dataset.cell;
    let plain = Config::of("hetero", cell, &["seed=3", "batch=7", "model.layers=3", "split.seed=1"]).unwrap();
    assert!(plain.conditions(cell).unwrap().is_empty(), "none of these changes what a step costs");
    let changed = plain.with(&["model.layers=1", "model.norm=none", "loader.threads=1"]).unwrap();
    let changed = changed.conditions(cell).unwrap();
    let found: Vec<(&str, &str)> = changed.iter().map(|(key, value)| (&key[..], &value[..])).collect();
    assert_eq!(found, [("loader.threads", "1"), ("model.layers", "1"), ("model.norm", "none")]);
}
