//! A model is one folder and one line of the registry: this one is trained, resumed and asked for predictions without a change
//! anywhere else.

use knockout_data::cell::{Cell, GeneSetsRef};
use knockout_engine::grad::{Parameters, Tape, Var};
use knockout_engine::kernel::{Activation, Pool};
use knockout_models::layer::{SetScorer, gather, interaction_loss};
use knockout_models::{
    Forward, Init, Input, Loss, LossAt, MODELS, Model, ModelEntry, ModelOptions, OptionsError, SizeEstimate,
};
use knockout_sources::synth;
use knockout_train::checkpoint::{Checkpoints, Slot};
use knockout_train::config::Config;
use knockout_train::predictor::{Predictor, PredictorError};
use knockout_train::run::{End, Event, Run, RunContext};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A gene table and a scorer of sets of its rows; it reads no network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TableOptions {
    /// Numbers of a gene's row.
    width: usize,
}

impl ModelOptions for TableOptions {
    const NAME: &'static str = "table";
    const SUMMARY: &'static str = "A gene table and nothing else";
    const TRAINING: &'static [&'static str] = &["batch=200", "optimiser.learning_rate=0.01"];

    fn defaults(_: &Cell) -> Self {
        Self { width: 8 }
    }

    fn check(&self, _: &Cell) -> Result<(), OptionsError> {
        OptionsError::size("model.width", self.width)
    }

    fn size_estimate(&self, cell: &Cell) -> SizeEstimate {
        let numbers = cell.genes().len() as f64 * self.width as f64;
        SizeEstimate { parameters: numbers, activations: 0.0 }
    }

    fn build(&self, cell: &Cell, seed: u64) -> Result<Box<dyn Model>, OptionsError> {
        let (mut parameters, mut init) = (Parameters::new(&Pool::new()), Init::new(seed));
        let table = parameters.add("table", &[cell.genes().len(), self.width], || init.normal(0.1));
        let scorer = SetScorer::new(&mut parameters, "set", self.width, 2, 1, Activation::Relu, &mut init);
        Ok(Box::new(Table { parameters, rows: table, scorer, width: self.width }))
    }
}

struct Table {
    parameters: Parameters<f32>,
    rows: Var,
    scorer: SetScorer,
    width: usize,
}

impl Model for Table {
    fn name(&self) -> &'static str {
        TableOptions::NAME
    }

    fn gene_table(&self) -> Option<&'static str> {
        Some("table")
    }

    fn parameters(&self) -> &Parameters<f32> {
        &self.parameters
    }

    fn parameters_mut(&mut self) -> &mut Parameters<f32> {
        &mut self.parameters
    }

    fn forward<'a>(&'a self, tape: &mut Tape<'a, f32>, input: Input<'a, '_>) -> Forward {
        let members = gather(tape, self.rows, input.sets.genes(), self.width);
        let scores = self.scorer.forward(tape, members, input.sets, None).scores;
        Forward { predictions: scores, hidden: Vec::new() }
    }

    fn loss<'a>(
        &'a self,
        tape: &mut Tape<'a, f32>,
        forward: &Forward,
        targets: &'a [f32],
        _: LossAt,
    ) -> Loss {
        Loss { total: interaction_loss(tape, forward.predictions, targets), parts: Vec::new() }
    }
}

/// The one line.
const REGISTRY: &[ModelEntry] = &[MODELS[0], MODELS[1], ModelEntry::of::<TableOptions>()];

#[test]
fn a_toy_model_trains_resumes_and_predicts() {
    let home = tempfile::tempdir().unwrap();
    let (data, folder) = (home.path().join("data"), home.path().join("run"));
    let mut dataset =
        synth::synthesise(&synth::Config::preset("tiny").unwrap(), 3, "tiny", "test", &|_| ()).unwrap();
    dataset.write(&data, &|_| ()).unwrap();
    let dataset = Arc::new(dataset);
    let config = Config::defaults(&REGISTRY[2], &dataset.cell).unwrap();
    assert_eq!((config.batch, config.model.name()), (200, "table"));
    let config = config.with(&["epochs=2", "model.width=16"]).unwrap();
    assert_eq!(Config::from_toml(&config.to_toml().unwrap(), REGISTRY).unwrap(), config);
    let error = Config::from_toml(&config.to_toml().unwrap(), MODELS).unwrap_err().to_string();
    let known = MODELS.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", ");
    assert!(error.contains(&format!("there is no model \"table\"; choose from {known}")), "{error}");
    let error = config.with(&["model.widht=3"]).unwrap_err().to_string();
    assert_eq!(error, "there is no key \"model.widht\"; did you mean \"model.width\"?");

    let mut run = Run::create(&folder, Arc::clone(&dataset), config, &RunContext::new(&data)).unwrap();
    for _ in 0..3 {
        assert!(matches!(run.next(), Some(Ok(Event::Step(_)))));
    }
    run.stop();
    assert!(matches!(run.next(), Some(Ok(Event::End(End::Stopped)))));
    assert!(run.next().is_none());
    drop(run);
    let mut run = Run::resume_with(&folder, &[] as &[&str], None, REGISTRY).unwrap();
    assert_eq!(run.resumed_from(), Some(3));
    let last = run.by_ref().last().unwrap().unwrap();
    assert!(matches!(last, Event::End(End::Epochs)), "{last:?}");

    let checkpoints = Checkpoints::at(&folder.join("checkpoints"));
    let (path, checkpoint) = checkpoints.newest(Slot::Last).unwrap().unwrap();
    let predictor = Predictor::new(&checkpoint, &dataset.cell, REGISTRY).unwrap();
    let rows = run.fit().split().rows(knockout_data::screen::Part::Test);
    let sets = rows
        .iter()
        .map(|&row| dataset.samples.genes(row as usize))
        .collect::<knockout_data::cell::GeneSets>();
    assert_eq!(predictor.predict(sets.view()).unwrap(), run.fit().predict(knockout_data::screen::Part::Test));
    let beyond = predictor.predict(GeneSetsRef::new(&[0, 2], &[1, 200])).unwrap_err();
    assert!(matches!(beyond, PredictorError::UnknownGene { set: 0, gene: 200, count: 200 }), "{beyond}");
    // The standard registry does not know the model, and another cell is refused.
    assert!(Predictor::open(&path, &dataset.cell).is_err());
    let other =
        synth::synthesise(&synth::Config::preset("tiny").unwrap(), 4, "tiny", "test", &|_| ()).unwrap();
    let error = Predictor::new(&checkpoint, &other.cell, REGISTRY).err().unwrap().to_string();
    assert!(error.contains("genes") || error.contains("networks"), "{error}");
}
