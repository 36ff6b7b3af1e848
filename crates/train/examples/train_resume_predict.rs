//! Trains, resumes and predicts without the command line:
//! `cargo run --release -p knockout-train --example train_resume_predict`. It also runs as a test.

#![allow(clippy::print_stdout, reason = "it prints what it found")]

use knockout_data::cell::GeneSets;
use knockout_sources::synth::{SynthConfig as Yeast, synthesise};
use knockout_train::checkpoint::{Checkpoints, Slot};
use knockout_train::config::Config;
use knockout_train::predictor::Predictor;
use knockout_train::run::{Event, Run, RunContext};
use std::sync::Arc;

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let home = tempfile::tempdir()?;
    let (data, folder) = (home.path().join("yeast"), home.path().join("run"));
    let mut yeast = synthesise(&Yeast::preset("tiny").ok_or("no preset")?, 0, "tiny", "example", &|_| ())?;
    yeast.write(&data, &|_| ())?;
    let yeast = Arc::new(yeast);

    let config = Config::of("dango", &yeast.cell, &["epochs=2", "batch=200", "model.width=16"])?;
    let mut run = Run::create(&folder, Arc::clone(&yeast), config, &RunContext::new(&data))?;
    run.by_ref().take(5).try_for_each(|event| event.map(drop))?; // five steps,
    run.stop(); // then save and end
    run.by_ref().try_for_each(|event| event.map(drop))?;
    drop(run);

    for event in Run::resume(&folder, &[] as &[&str])? {
        if let Event::Epoch(line) = event? {
            println!("epoch {}: validation Pearson {:?}", line.epoch, line.val.pearson);
        }
    }

    let newest = Checkpoints::at(&folder.join("checkpoints")).paths(Slot::BestPearson)?.remove(0);
    let sets: GeneSets = [&[3, 14, 15][..], &[9, 26]].into_iter().collect();
    println!("{:?}", Predictor::open(&newest, &yeast.cell)?.predict(sets.view())?);
    Ok(())
}
