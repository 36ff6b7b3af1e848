//! Runs that build on other runs: residuals, starts from factors, stacks with trained runs.

use super::home::DatasetFolder;
use knockout_base::random::Rng;
use knockout_base::stats::pearson;
use knockout_data::cell::GeneSets;
use knockout_data::screen::{Dataset, Part};
use knockout_models::MODELS;
use knockout_train::checkpoint::Checkpoints;
use knockout_train::config::Config;
use knockout_train::predictor::Predictor;
use knockout_train::run::{End, Event, Run, RunDescription, read_metrics};
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl DatasetFolder {
    fn solve(&self, name: &str, model: &str, keys: &[String]) -> PathBuf {
        let config = Config::of(model, &self.dataset.cell, keys).unwrap();
        self.finish(name, config)
    }

    /// Creates a run and takes all its events.
    fn finish(&self, name: &str, config: Config) -> PathBuf {
        let run = Run::create(&self.path(name), Arc::clone(&self.dataset), config, &self.context());
        for event in run.unwrap() {
            event.unwrap();
        }
        self.path(name)
    }

    fn config(&self, keys: &[String]) -> Config {
        let usual = ["model.width=16", "batch=200", "epochs=2"].map(str::to_owned);
        Config::of("dango", &self.dataset.cell, &[&usual[..], keys].concat()).unwrap()
    }

    fn train(&self, name: &str, keys: &[String]) -> PathBuf {
        self.finish(name, self.config(keys))
    }

    /// Predictions for the validation part, through the run and through its checkpoint alone.
    fn predictions(&self, run: &Path) -> (Vec<f64>, Vec<f64>) {
        let description = RunDescription::read(run, &[] as &[&str], MODELS).unwrap();
        let split = description.split_of(&self.dataset).unwrap();
        let (_, path, checkpoint) = Checkpoints::of_run(run).choose(None).unwrap().unwrap();
        let rows = split.rows(Part::Val);
        let sets: GeneSets = rows.iter().map(|&row| self.dataset.samples.genes(row as usize)).collect();
        let by_run = description.predictor(&checkpoint, &self.dataset, &split).unwrap();
        let alone = Predictor::open(&path, &self.dataset.cell).unwrap();
        let scores = rows.iter().map(|&row| self.dataset.samples.scores()[row as usize]).collect();
        let predicted = by_run.predict(sets.view()).unwrap();
        assert_eq!(
            predicted,
            alone.predict(sets.view()).unwrap(),
            "a checkpoint finds what its run builds on"
        );
        (predicted, scores)
    }
}

#[test]
fn residuals_are_trained_on_and_added_again() {
    let home = DatasetFolder::new(3);
    let base = home.solve("base", "stack", &[]);
    let key = format!("from.residuals_of={}", base.display());
    let run = home.train("residuals", std::slice::from_ref(&key));
    let (sum, scores) = home.predictions(&run);
    let lines = read_metrics(&run).unwrap();
    let best = lines.iter().filter_map(|line| line.val.pearson).reduce(f64::max).unwrap();
    assert!((pearson(&sum, &scores).unwrap() - best).abs() < 1e-9, "validation is of the sum");
    let (alone, _) = home.predictions(&base);
    assert!(best > pearson(&alone, &scores).unwrap() - 0.05, "two epochs cannot lose what the base knows");
    assert!(
        sum.iter().zip(&alone).any(|(sum, base)| (sum - base).abs() > 1e-6),
        "and the network adds something"
    );

    // The base may go: the run has its own copy.
    std::fs::remove_dir_all(&base).unwrap();
    assert_eq!(home.predictions(&run).0, sum);

    // A copy that was changed is noticed.
    let copy = run.join("from/residuals_of/weights.safetensors");
    let mut bytes = std::fs::read(&copy).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&copy, bytes).unwrap();
    let description = RunDescription::read(&run, &[] as &[&str], MODELS).unwrap();
    let split = description.split_of(&home.dataset).unwrap();
    let (_, _, checkpoint) = Checkpoints::of_run(&run).choose(None).unwrap().unwrap();
    assert!(description.predictor(&checkpoint, &home.dataset, &split).is_err());
}

#[test]
fn an_interrupted_run_resumes_to_the_same_bits() {
    let home = DatasetFolder::new(3);
    let base = home.solve("base", "low-rank", &[]);
    let keys = [format!("from.residuals_of={}", base.display()), format!("model.start={}", base.display())];
    let whole = home.train("whole", &keys);
    let plain = home.train("plain", &keys[..1]);
    let mut cut =
        Run::create(&home.path("cut"), Arc::clone(&home.dataset), home.config(&keys), &home.context())
            .unwrap();
    let first = cut.next().unwrap().unwrap();
    assert!(matches!(first, Event::Step(_)));
    cut.stop();
    cut.by_ref().for_each(|event| {
        event.unwrap();
    });
    drop(cut);
    std::fs::remove_dir_all(&base).unwrap();
    for event in Run::resume(&home.path("cut"), &[] as &[&str]).unwrap() {
        event.unwrap();
    }
    let hashes = |run: &Path| -> Vec<String> {
        read_metrics(run).unwrap().into_iter().map(|line| line.weights_hash).collect()
    };
    assert_eq!(hashes(&whole), hashes(&home.path("cut")));
    assert_ne!(hashes(&plain), hashes(&whole), "the start is another one");
}

/// Whether an event is a step of this fold.
fn is_of_fold(event: &Event, fold: &str) -> bool {
    matches!(event, Event::Solving { what, .. } if what.starts_with(fold))
}

/// Predictions for training records that the model was not fitted to.
fn held_out(run: &Path) -> Vec<f32> {
    let (_, _, checkpoint) = Checkpoints::of_run(run).choose(None).unwrap().unwrap();
    checkpoint.weights.iter().find(|tensor| tensor.name == "residuals.held_out").unwrap().values.clone()
}

#[test]
fn folds_give_residuals_of_records_that_were_not_fitted_to() {
    let home = DatasetFolder::new(3);
    let plain = home.solve("plain", "stack", &[]);
    let folds = home.solve("folds", "stack", &["residuals.folds=3".to_owned()]);
    let ((of_plain, _), (of_folds, _)) = (home.predictions(&plain), home.predictions(&folds));
    assert_eq!(of_plain, of_folds, "what the run itself says is the same");
    let last = |base: &Path, name: &str| {
        let run = home.train(name, &[format!("from.residuals_of={}", base.display())]);
        read_metrics(&run).unwrap().pop().unwrap().weights_hash
    };
    assert_ne!(last(&plain, "on-plain"), last(&folds, "on-folds"), "a network learns from other residuals");
    // Killed between two folds, it resumes to the same bits.
    let config = Config::of("stack", &home.dataset.cell, &["residuals.folds=3"]).unwrap();
    let run = Run::create(&home.path("cut"), Arc::clone(&home.dataset), config, &home.context());
    let mut run = run.unwrap();
    assert!(run.any(|event| is_of_fold(&event.unwrap(), "fold 2 of 3")));
    drop(run);
    assert!(home.path("cut/solving/fold-1.tensors").exists());
    let mut run = Run::resume(&home.path("cut"), &[] as &[&str]).unwrap();
    let is_repeated = run.any(|event| is_of_fold(&event.unwrap(), "fold 1 of 3"));
    assert!(!is_repeated, "the first fold is not solved again");
    assert_eq!(held_out(&home.path("cut")), held_out(&folds));
}

#[test]
fn a_solver_ends_when_it_is_stopped_and_resumes_to_the_same_bits() {
    let home = DatasetFolder::new(3);
    let whole = home.solve("whole", "low-rank", &[]);
    let config = Config::of("low-rank", &home.dataset.cell, &[] as &[&str]).unwrap();
    let run = Run::create(&home.path("cut"), Arc::clone(&home.dataset), config, &home.context());
    let mut run = run.unwrap();
    run.next().unwrap().unwrap();
    run.stop();
    let last = run.by_ref().last().unwrap().unwrap();
    assert!(matches!(last, Event::End(End::Stopped)), "{last:?}");
    drop(run);
    for event in Run::resume(&home.path("cut"), &[] as &[&str]).unwrap() {
        event.unwrap();
    }
    let hash = |run: &Path| read_metrics(run).unwrap().pop().unwrap().weights_hash;
    assert_eq!(hash(&home.path("cut")), hash(&whole));
}

/// Scores that no gene decides: whatever is predicted of a record without its own score has nothing to do with it.
#[test]
fn no_record_tells_of_itself() {
    let home = DatasetFolder::new(3);
    let mut rng = Rng::new(0, "noise");
    let noise: Vec<f64> = (0..home.dataset.samples.len()).map(|_| rng.normal()).collect();
    let samples = home.dataset.samples.clone().with_scores(noise);
    let (manifest, cell) = (home.dataset.manifest.clone(), Arc::clone(&home.dataset.cell));
    let dataset = Arc::new(Dataset { manifest, cell, samples });
    let config = Config::of("network-kernel", &dataset.cell, &["residuals.folds=5"]).unwrap();
    let mut run = Run::create(&home.path("noise"), Arc::clone(&dataset), config, &home.context()).unwrap();
    let last = run.by_ref().last().unwrap().unwrap();
    assert!(matches!(last, Event::End(End::Solved)), "{last:?}");
    let found = run.choices().iter().find(|choice| choice.name == "residuals.held_out_pearson").unwrap();
    // 1,600 records: the deviation of a correlation of nothing is 0.025.
    assert!(found.value.abs() < 0.1, "{}", found.value);
}

#[test]
fn a_network_starts_from_the_directions_of_the_kernel_too() {
    let home = DatasetFolder::new(3);
    let kernel = home.solve("kernel", "network-kernel", &[]);
    let first = |run: &Path| read_metrics(run).unwrap().remove(0).weights_hash;
    let started = home.train("started", &[format!("model.start={}", kernel.display())]);
    assert_ne!(first(&started), first(&home.train("plain", &[])));
}

#[test]
fn a_stack_with_a_run_is_no_worse_where_it_was_weighted() {
    let home = DatasetFolder::new(3);
    let trained = home.train("dango", &[]);
    let base = home.solve("base", "stack", &[]);
    let with = home.solve("with", "stack", &[format!("from.with=[\"{}\"]", trained.display())]);
    let (alone, scores) = home.predictions(&base);
    let (stacked, _) = home.predictions(&with);
    let error = |predictions: &[f64]| -> f64 {
        predictions.iter().zip(&scores).map(|(prediction, score)| (prediction - score).powi(2)).sum()
    };
    assert!(error(&stacked) <= error(&alone) * (1.0 + 1e-9), "least squares on this very part");
    let line = read_metrics(&with).unwrap().pop().unwrap();
    assert!((line.val.pearson.unwrap() - pearson(&stacked, &scores).unwrap()).abs() < 1e-9);
}

#[test]
fn runs_that_would_leak_or_mean_nothing_are_refused() {
    let home = DatasetFolder::new(3);
    let other = home.solve("other", "low-rank", &["split.seed=5".to_owned()]);
    let refused = |keys: &[String]| {
        let run =
            Run::create(&home.path("refused"), Arc::clone(&home.dataset), home.config(keys), &home.context());
        let error = run.err().unwrap().to_string();
        assert!(!home.path("refused").exists(), "nothing is left of a run that did not begin");
        error
    };
    let error = refused(&[format!("from.residuals_of={}", other.display())]);
    assert!(error.contains("another split") && error.contains("held out"), "{error}");
    let error = refused(&["from.residuals_of=nowhere".to_owned()]);
    assert!(error.contains("nowhere"), "{error}");
    let network = home.train("network", &[]);
    let error = refused(&[format!("model.start={}", network.display())]);
    assert!(error.contains("found no factors of genes"), "{error}");
    let cell = &home.dataset.cell;
    let check = |model: &str, key: &str| {
        Config::of(model, cell, &[key]).unwrap().check(cell).unwrap_err().to_string()
    };
    assert!(check("stack", "from.start=x").contains("from.start has no effect on stack"));
    assert!(check("dango", "from.with=[\"x\"]").contains("--with"));
    assert!(check("dango", "residuals.folds=5").contains("only solved models"));
    assert!(check("stack", "residuals.folds=1").contains("from 2 to 100"));
    let with = Config::of("stack", cell, &["residuals.folds=5", "from.with=[\"x\"]"]).unwrap();
    assert!(with.check(cell).unwrap_err().to_string().contains("stacked with other runs"));
    // The hash of what it builds on is part of what a run is; a path is not.
    let genes = cell.genes().hash().to_hex().to_string();
    let one = Config::of("dango", cell, &["from.start=a"]).unwrap().identity(&genes);
    let two = Config::of("dango", cell, &["from.start=b"]).unwrap().identity(&genes);
    assert!(one.differences(&two).is_empty());
    let mut hashed = Config::of("dango", cell, &["from.start=a"]).unwrap();
    hashed.from.weights.insert("start".to_owned(), "hash".to_owned());
    assert!(!hashed.identity(&genes).differences(&one).is_empty());
}
