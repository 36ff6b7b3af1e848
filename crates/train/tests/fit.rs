//! The promises of a run: the same bits for any number of threads and any interruption.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use knockout_screen::{Dataset, Part, Split};
use knockout_synth as synth;
use knockout_trace::{Meter, Recorder, Schedule};
use knockout_train::checkpoint::{Checkpoints, Contents, Slot};
use knockout_train::config::Config;
use knockout_train::fit::{End, EpochReport, Fit, FitError, Occasion, StepReport, Watch, Wish};
use knockout_train::run::Position;
use knockout_train::step::Mode;
use std::error::Error;
use std::path::Path;

fn dataset() -> Dataset {
    let config = synth::Config::preset("tiny").unwrap();
    synth::synthesise(&config, 3, "tiny", "test", &|_| ()).unwrap()
}

fn config(dataset: &Dataset, overrides: &[&str]) -> Config {
    let mut keys =
        vec!["batch=100", "epochs=2", "model.width=16", "model.transition_epoch=1", "run.checkpoint_every=0"];
    keys.extend(overrides);
    knockout_config::resolve(&Config::dango(&dataset.cell), &keys).unwrap()
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
    knockout_config::resolve(&Config::hetero(&dataset.cell), &keys).unwrap()
}

/// Stops after a number of steps; keeps states in a folder and hashes in memory.
struct Watcher<'a> {
    stop_after: Option<u64>,
    checkpoints: Option<Checkpoints>,
    hashes: Vec<String>,
    losses: Vec<f64>,
    on_step: &'a mut dyn FnMut(&StepReport<'_>),
}

impl Watch for Watcher<'_> {
    fn step(&mut self, report: &StepReport<'_>) -> Result<Wish, Box<dyn Error + Send + Sync>> {
        self.losses.push(report.outcome.loss);
        (self.on_step)(report);
        Ok(if self.stop_after.is_some_and(|stop| report.place.step >= stop) {
            Wish::Stop
        } else {
            Wish::GoOn
        })
    }

    fn epoch(&mut self, report: &EpochReport<'_>) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.hashes.push(report.weights_hash.clone());
        Ok(())
    }

    fn position(&mut self) -> Result<Position, Box<dyn Error + Send + Sync>> {
        Ok(Position::START)
    }

    fn keep(
        &mut self,
        occasion: Occasion,
        contents: &Contents<'_>,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        if let (Some(checkpoints), Occasion::Last) = (&self.checkpoints, occasion) {
            checkpoints.save(Slot::Last, contents)?;
        }
        Ok(())
    }
}

struct Outcome {
    end: End,
    hashes: Vec<String>,
    losses: Vec<f64>,
}

fn run(
    dataset: &Dataset,
    config: &Config,
    threads: usize,
    folder: Option<&Path>,
    stop_after: Option<u64>,
) -> Outcome {
    let split = Split::new(&dataset.samples, dataset.cell.genes(), config.split_spec()).unwrap();
    knockout_train::workers(threads).unwrap().install(|| {
        let mut fit = Fit::new(config, dataset, &split).unwrap();
        let checkpoints = folder.map(Checkpoints::at);
        if let Some((_, checkpoint)) = checkpoints.as_ref().and_then(|kept| kept.newest(Slot::Last).unwrap())
        {
            checkpoint.state.identity.check(&fit.identity()).unwrap();
            fit.restore(&checkpoint).unwrap();
        }
        let mut watcher =
            Watcher { stop_after, checkpoints, hashes: Vec::new(), losses: Vec::new(), on_step: &mut |_| () };
        let mut meter = Meter::new(&Recorder::default(), Schedule::default());
        let end = fit.run(&mut meter, &mut watcher).unwrap();
        Outcome { end, hashes: watcher.hashes, losses: watcher.losses }
    })
}

#[test]
fn threads_do_not_change_a_bit() {
    let dataset = dataset();
    let config = config(&dataset, &[]);
    let one = run(&dataset, &config, 1, None, None);
    assert_eq!(one.end, End::Epochs);
    assert_eq!(one.hashes.len(), 2);
    for threads in [2, 7] {
        assert_eq!(run(&dataset, &config, threads, None, None).hashes, one.hashes, "{threads} threads");
    }
}

#[test]
fn a_checkpoint_beyond_its_epoch_is_refused() {
    let dataset = dataset();
    let config = config(&dataset, &[]);
    let folder = tempfile::tempdir().unwrap();
    run(&dataset, &config, 1, Some(folder.path()), Some(2));
    let (_, mut checkpoint) = Checkpoints::at(folder.path()).newest(Slot::Last).unwrap().unwrap();
    let split = Split::new(&dataset.samples, dataset.cell.genes(), config.split_spec()).unwrap();
    let mut fit = Fit::new(&config, &dataset, &split).unwrap();
    fit.restore(&checkpoint).unwrap();
    checkpoint.state.place.batch = 10_000;
    let error = fit.restore(&checkpoint).unwrap_err().to_string();
    assert!(error.contains("at batch 10000 of an epoch that has"), "{error}");
}

#[test]
fn interruptions_do_not_change_a_bit() {
    let dataset = dataset();
    for overrides in [
        &["max_steps=20"][..],
        &["max_steps=20", "optimiser.accumulate=[\"0:3\"]", "optimiser.schedule=cosine"],
    ] {
        let config = config(&dataset, overrides);
        let whole = run(&dataset, &config, 2, None, None);
        assert_eq!((whole.end, whole.losses.len()), (End::Steps, 20));
        // 1,600 training samples make 16 batches: one stop is in the first epoch, the other at its end.
        for stop in [7, 16] {
            let folder = tempfile::tempdir().unwrap();
            let first = run(&dataset, &config, 1, Some(folder.path()), Some(stop));
            assert_eq!(first.end, End::Stopped);
            let second = run(&dataset, &config, 2, Some(folder.path()), None);
            let losses: Vec<f64> = first.losses.iter().chain(&second.losses).copied().collect();
            assert_eq!(losses, whole.losses, "stopped after {stop}, {overrides:?}");
            assert_eq!(second.hashes.last(), whole.hashes.last(), "stopped after {stop}, {overrides:?}");
        }
    }
}

#[test]
fn neither_threads_nor_interruptions_change_the_hetero_model() {
    let dataset = dataset();
    let config = hetero(&dataset);
    let whole = run(&dataset, &config, 2, None, None);
    assert_eq!((whole.end, whole.losses.len()), (End::Epochs, 16));
    assert_eq!(run(&dataset, &config, 7, None, None).hashes, whole.hashes);
    // After five batches the buffers are full and have wrapped around.
    let folder = tempfile::tempdir().unwrap();
    let first = run(&dataset, &config, 1, Some(folder.path()), Some(5));
    assert_eq!(first.end, End::Stopped);
    let second = run(&dataset, &config, 2, Some(folder.path()), None);
    let losses: Vec<f64> = first.losses.iter().chain(&second.losses).copied().collect();
    assert_eq!(losses, whole.losses);
    assert_eq!(second.hashes.last(), whole.hashes.last());
}

#[test]
fn a_model_learns_the_training_part() {
    let dataset = dataset();
    let config =
        config(&dataset, &["epochs=30", "optimiser.learning_rate=0.01", "optimiser.schedule=constant"]);
    let outcome = run(&dataset, &config, 2, None, None);
    let mean = |losses: &[f64]| losses.iter().sum::<f64>() / losses.len() as f64;
    let (early, late) = (mean(&outcome.losses[16..32]), mean(&outcome.losses[outcome.losses.len() - 16..]));
    assert!(late < 0.8 * early, "{early} {late}");
}

#[test]
fn modes_run_the_phases_they_name() {
    use knockout_meter::StepPhase as Phase;
    let dataset = dataset();
    let config = config(&dataset, &[]);
    let split = Split::new(&dataset.samples, dataset.cell.genes(), config.split_spec()).unwrap();
    let phases = [Phase::Forward, Phase::Loss, Phase::Backward, Phase::Clip, Phase::Optimiser];
    for (mode, reached) in Mode::ALL.into_iter().zip([0, 2, 3, 5]) {
        let mut fit = Fit::new(&config, &dataset, &split).unwrap();
        let before: Vec<f32> = fit.model().parameters().get(0).values().to_vec();
        let mut seen = [0u64; 5];
        let mut on_step = |report: &StepReport<'_>| {
            for (seen, &phase) in seen.iter_mut().zip(&phases) {
                *seen += report.times.phase(phase);
            }
        };
        let mut watcher = Watcher {
            stop_after: None,
            checkpoints: None,
            hashes: Vec::new(),
            losses: Vec::new(),
            on_step: &mut on_step,
        };
        let mut meter = Meter::new(&Recorder::default(), Schedule::default());
        fit.measure_steps(mode, 3, &mut meter, &mut watcher).unwrap();
        let count = watcher.losses.len();
        assert_eq!(count, 3);
        for (place, &time) in seen.iter().enumerate() {
            assert_eq!(time > 0, place < reached, "{mode:?}: phase {:?}", phases[place].name());
        }
        let changed = fit.model().parameters().get(0).values() != &before[..];
        assert_eq!(changed, mode == Mode::Full, "{mode:?}");
    }
}

#[test]
fn what_diverges_says_where() {
    let dataset = dataset();
    let config = config(
        &dataset,
        &["optimiser.learning_rate=1e30", "optimiser.clip_norm=0", "optimiser.schedule=constant"],
    );
    let split = Split::new(&dataset.samples, dataset.cell.genes(), config.split_spec()).unwrap();
    let mut fit = Fit::new(&config, &dataset, &split).unwrap();
    let mut watcher = Watcher {
        stop_after: None,
        checkpoints: None,
        hashes: Vec::new(),
        losses: Vec::new(),
        on_step: &mut |_| (),
    };
    let mut meter = Meter::new(&Recorder::default(), Schedule::default());
    let error = fit.run(&mut meter, &mut watcher).unwrap_err();
    assert!(matches!(error, FitError::Diverged { step: 2.., .. }), "{error}");
    assert!(error.to_string().contains("is not finite"), "{error}");
}

#[test]
fn empty_parts_are_refused() {
    let dataset = dataset();
    let config = config(&dataset, &["split.val=0.0"]);
    let split = Split::new(&dataset.samples, dataset.cell.genes(), config.split_spec());
    match split {
        Ok(split) => {
            assert!(split.rows(Part::Val).is_empty());
            assert!(matches!(Fit::new(&config, &dataset, &split), Err(FitError::EmptyPart { part: "val" })));
        }
        Err(error) => assert!(error.to_string().contains("val"), "{error}"),
    }
}
