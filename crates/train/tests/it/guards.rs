//! What a run refuses: states with numbers that are not finite, scores that cannot be learnt, settings that would make another run.

use super::home::DatasetFolder;
use knockout_base::error::{Class, Error};
use knockout_data::screen::{Dataset, Sample, SamplesBuilder};
use knockout_train::checkpoint::{Checkpoints, Slot};
use knockout_train::config::Config;
use knockout_train::run::{End, Event, Run, RunContext};
use std::fs;
use std::path::Path;
use std::sync::Arc;

fn create(home: &Path, dataset: Arc<Dataset>, keys: &[&str]) -> Result<Run, Error> {
    let common = ["batch=400", "epochs=2", "model.width=8", "run.checkpoint_every=0"];
    let config = Config::of("dango", &dataset.cell, &[&common, keys].concat()).unwrap();
    Run::create(&home.join("run"), dataset, config, &RunContext::new(home.join("data")))
}

#[test]
fn a_broken_state_is_never_kept() {
    for (rate, more) in [("1e300", "max_steps=0"), ("1e30", "max_steps=1"), ("1e30", "optimiser.clip_norm=0")]
    {
        let DatasetFolder { folder: home, dataset } = DatasetFolder::new(3);
        let rate = format!("optimiser.learning_rate={rate}");
        let mut run = create(home.path(), dataset, &[&rate, more, "optimiser.schedule=constant"]).unwrap();
        let error = run.find_map(Result::err).unwrap();
        assert_eq!(error.class(), Class::Diverged, "{rate} {more}: {error}");
        for slot in [Slot::Last, Slot::BestPearson, Slot::BestMse] {
            let newest = Checkpoints::at(&home.path().join("run/checkpoints")).newest(slot).unwrap();
            let tensors = newest.iter().flat_map(|(_, state)| {
                [&state.weights, &state.first_moments, &state.second_moments].into_iter().flatten()
            });
            let mut values = tensors.flat_map(|tensor| &tensor.values);
            assert!(values.all(|value| value.is_finite()), "{rate} {more}");
        }
    }
}

fn with_scores(dataset: &Dataset, score: impl Fn(usize, f64) -> f64) -> Arc<Dataset> {
    let mut samples = SamplesBuilder::new(dataset.cell.genes().len());
    for row in 0..dataset.samples.len() {
        let sample = dataset.samples.get(row);
        samples.push(Sample { score: score(row, sample.score), ..sample }).unwrap();
    }
    Arc::new(Dataset { samples: samples.finish(), ..dataset.clone() })
}

#[test]
fn scores_that_cannot_be_learnt_are_refused() {
    let refused = |score: &dyn Fn(usize, f64) -> f64| {
        let DatasetFolder { folder: home, dataset } = DatasetFolder::new(3);
        let error = create(home.path(), with_scores(&dataset, score), &[]).err().unwrap();
        assert!(!home.path().join("run").exists());
        (error.class(), error.to_string())
    };
    let (class, said) = refused(&|_, _| 0.25);
    assert!(class == Class::Request && said.contains("all equal"), "{said}");
    let (class, said) = refused(&|row, score| if row == 17 { 1e200 } else { score });
    assert!(class == Class::Damage && said.contains("sample 17 is 1e200"), "{said}");
}

#[test]
fn a_run_is_decided_before_its_first_step() {
    let DatasetFolder { folder: home, dataset } = DatasetFolder::new(3);
    drop(create(home.path(), dataset, &[]).unwrap());
    let folder = home.path().join("run");
    assert!(folder.join("split.parquet").exists());
    for key in ["split.seed=9", "seed=3", "model.width=16", "optimiser.learning_rate=0.5", "run.patience=7"] {
        let error = Run::resume(&folder, &[key]).err().unwrap();
        let name = key.split('=').next().unwrap();
        assert!(
            error.class() == Class::Request && error.to_string().contains(&format!("{name} is fixed at")),
            "{error}"
        );
    }
    // What may change is written down.
    let mut run = Run::resume(&folder, &["max_steps=1", "loader.threads=1"]).unwrap();
    assert!(matches!(run.by_ref().last().unwrap().unwrap(), Event::End(End::Steps)));
    let log = fs::read_to_string(folder.join("log.txt")).unwrap();
    assert!(log.contains("resumed after step 0 with max_steps=1 loader.threads=1"), "{log}");
    drop(run);
    // Edited files of the start of a run are refused.
    for name in ["config.toml", "split.parquet", "manifest.json"] {
        let before = fs::read(folder.join(name)).unwrap();
        let mut damaged = before.clone();
        let middle = damaged.len() / 2;
        damaged[middle] ^= 1;
        fs::write(folder.join(name), damaged).unwrap();
        let error = Run::resume(&folder, &[] as &[&str]).err().unwrap();
        assert_eq!(error.class(), Class::Damage, "{name}: {error}");
        fs::write(folder.join(name), before).unwrap();
    }
}

#[test]
fn another_instruction_set_is_refused_where_the_first_is_there() {
    let DatasetFolder { folder: home, dataset } = DatasetFolder::new(3);
    drop(create(home.path(), dataset, &[]).unwrap());
    let (folder, manifest) = (home.path().join("run"), home.path().join("run/manifest.json"));
    let text = fs::read_to_string(&manifest).unwrap();
    let mut document: serde_json::Map<_, _> = serde_json::from_str(&text).unwrap();
    // As an earlier version wrote it: without seal.
    document.remove("files").unwrap();
    document.remove("checksum").unwrap();
    let here = knockout_engine::kernel::Isa::current().name();
    let mut began = |instructions: &str| {
        document["conditions"]["instructions"] = instructions.into();
        fs::write(&manifest, serde_json::to_vec_pretty(&document).unwrap()).unwrap();
        Run::resume(&folder, &[] as &[&str])
    };
    assert_eq!(began(here).unwrap().other_instructions(), None);
    if here != "portable" {
        let error = began("portable").err().unwrap().to_string();
        assert!(error.contains("KNOCKOUT_ISA=portable"), "{error}");
    }
    assert_eq!(began("abacus").unwrap().other_instructions(), Some("abacus"));
}

#[test]
fn weights_from_elsewhere_become_a_run_or_are_refused_whole() {
    let DatasetFolder { folder: home, dataset } = DatasetFolder::new(3);
    let mut trained = create(home.path(), Arc::clone(&dataset), &[]).unwrap();
    assert!(trained.by_ref().all(|event| event.is_ok()));
    let newest = |run: &Run| {
        let checkpoints = Checkpoints::at(&run.folder().join("checkpoints"));
        [Slot::Last, Slot::BestPearson, Slot::BestMse]
            .map(|slot| checkpoints.newest(slot).unwrap().unwrap().1)
    };
    let weights = newest(&trained)[0].weights.clone();
    drop(trained);
    fs::rename(home.path().join("run"), home.path().join("elsewhere")).unwrap();

    let mut run = create(home.path(), dataset, &[]).unwrap();
    let mut wrong = [weights.clone(), weights.clone(), weights.clone(), weights.clone()];
    wrong[0].pop();
    wrong[1][0].shape.push(1);
    wrong[2][0].values[0] = f32::NAN;
    wrong[3].push(knockout_train::tensors::Tensor { name: "strange".to_owned(), ..weights[0].clone() });
    for wrong in wrong {
        assert_eq!(run.adopt(&wrong, 0.5).unwrap_err().class(), Class::Request);
    }
    run.stop_when(|| true);
    assert!(run.adopt(&weights, 0.5).unwrap().is_none(), "it was asked to stop");
    run.stop_when(|| false);
    let line = run.adopt(&weights, 0.5).unwrap().unwrap();
    assert_eq!((line.epoch, line.train_loss), (0, 0.5));
    for saved in newest(&run) {
        assert_eq!(saved.weights, weights);
    }
    drop(run);
    let resumed = Run::resume(&home.path().join("run"), &[] as &[&str]).unwrap();
    let epochs: Vec<u32> = resumed
        .filter_map(|event| if let Ok(Event::Epoch(line)) = event { Some(line.epoch) } else { None })
        .collect();
    assert_eq!(epochs, [1], "it goes on after the epoch that was taken over");
}
