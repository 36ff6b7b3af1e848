//! A model is one folder and one line of a registry, and so is a loss: both are trained here without a change anywhere else.

use super::home::{DatasetFolder, tiny};
use knockout_base::error::Result;
use knockout_data::cell::{Cell, GeneSetsRef};
use knockout_engine::grad::{Parameters, Tape, Var, evaluate_loss, gradient_check};
use knockout_engine::kernel::{Activation, Pool, Real, Scalar};
use knockout_models::layer::{SetScorer, gather};
use knockout_models::loss::{
    BatchRows, LOSSES, Loss, LossConfig, LossEntry, LossGradients, LossOptions, LossPrecision, LossShape,
    ScoreLoss, ScoredRows, Terms,
};
use knockout_models::{
    Forward, Init, Input, LossPosition, MODELS, Model, ModelEntry, ModelOptions, SizeEstimate, limits,
};
use knockout_train::checkpoint::{Checkpoints, Slot};
use knockout_train::config::Config;
use knockout_train::predictor::Predictor;
use knockout_train::run::{End, Event, Run};
use serde::{Deserialize, Deserializer, Serialize};
use std::sync::Arc;

/// A gene table and a scorer of sets of its rows; it reads no network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TableOptions {
    /// Numbers of a gene's row.
    width: usize,
    /// Loss of the scores.
    #[serde(deserialize_with = "read_loss")]
    loss: LossConfig,
}

fn read_loss<'de, D: Deserializer<'de>>(deserializer: D) -> Result<LossConfig, D::Error> {
    LossConfig::read(toml::Value::deserialize(deserializer)?, LOSS_REGISTRY).map_err(serde::de::Error::custom)
}

impl ModelOptions for TableOptions {
    const NAME: &'static str = "table";
    const SUMMARY: &'static str = "A gene table and nothing else";
    const TRAINING: &'static [&'static str] = &["batch=200", "optimiser.learning_rate=0.01"];

    fn defaults(_: &Cell) -> Self {
        Self { width: 8, loss: LossConfig::default() }
    }

    fn check(&self, _: &Cell) -> Result<()> {
        limits::size("model.width", self.width)?;
        self.loss.check(Self::NAME, false)
    }

    fn loss(&self) -> LossConfig {
        self.loss.clone()
    }

    fn size_estimate(&self, cell: &Cell, _members: usize) -> SizeEstimate {
        let numbers = cell.genes().len() as f64 * self.width as f64;
        SizeEstimate { parameters: numbers, activations: 0.0 }
    }

    fn build<T: LossPrecision>(&self, cell: &Cell, seed: u64) -> Result<Box<dyn Model<T>>> {
        let (mut parameters, mut init) = (Parameters::new(&Pool::new()), Init::new(seed));
        let table = parameters.add("table", &[cell.genes().len(), self.width], || init.normal(0.1));
        let scorer = SetScorer::new(&mut parameters, "set", self.width, 2, 1, Activation::Relu, &mut init);
        let loss = self.loss.build(LossShape { width: 0, seed });
        Ok(Box::new(ToyModel { parameters, rows: table, scorer, width: self.width, loss }))
    }
}

struct ToyModel<T: Scalar> {
    parameters: Parameters<T>,
    rows: Var,
    scorer: SetScorer,
    width: usize,
    loss: ScoreLoss<T>,
}

impl<T: Scalar> Model<T> for ToyModel<T> {
    fn name(&self) -> &'static str {
        TableOptions::NAME
    }

    fn gene_table(&self) -> Option<&'static str> {
        Some("table")
    }

    fn parameters(&self) -> &Parameters<T> {
        &self.parameters
    }

    fn parameters_mut(&mut self) -> &mut Parameters<T> {
        &mut self.parameters
    }

    fn forward<'a>(&'a self, tape: &mut Tape<'a, T>, input: Input<'a, '_>) -> Forward {
        let members = gather(tape, self.rows, input.sets.genes(), self.width);
        let scores = self.scorer.forward(tape, members, input.sets, None).scores;
        Forward::scores(scores)
    }

    fn score_loss(&self) -> &ScoreLoss<T> {
        &self.loss
    }
}

/// Options of a loss that is quadratic near 0 and linear from `delta` on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct HuberOptions {
    delta: f64,
}

impl Default for HuberOptions {
    fn default() -> Self {
        Self { delta: 1.0 }
    }
}

impl LossOptions for HuberOptions {
    const NAME: &'static str = "huber";

    fn check(&self) -> Result<()> {
        limits::not_negative("the loss: delta", self.delta)
    }

    fn build<T: Real>(&self, _: LossShape) -> Box<dyn Loss<T>> {
        Box::new(Huber { delta: self.delta })
    }
}

#[derive(Debug)]
struct Huber {
    delta: f64,
}

impl<T: Real> Loss<T> for Huber {
    fn operation(&self) -> &'static str {
        "loss.huber"
    }

    fn add_terms(
        &mut self,
        batch: &BatchRows<'_, T>,
        gradients: &mut LossGradients<'_, T>,
        terms: &mut Terms<'_>,
    ) {
        let count = batch.targets.iter().filter(|target| !target.is_nan()).count().max(1) as f64;
        let mut sum = 0.0;
        let pairs = batch.predictions.iter().zip(batch.targets);
        for ((&prediction, &target), gradient) in pairs.zip(&mut *gradients.predictions) {
            if target.is_nan() {
                *gradient = T::ZERO;
                continue;
            }
            let error = prediction.to_f64() - target.to_f64();
            let clipped = error.clamp(-self.delta, self.delta);
            sum += clipped * (error - 0.5 * clipped);
            *gradient = T::of(clipped / count);
        }
        terms.unweighted("huber_loss", sum / count);
    }
}

/// The one line of the loss.
const LOSS_REGISTRY: &[LossEntry] = &[LOSSES[0], LOSSES[1], LOSSES[4], LossEntry::of::<HuberOptions>()];

/// The one line of the model.
static REGISTRY: &[ModelEntry] = &[MODELS[0], MODELS[1], ModelEntry::of::<TableOptions>()];

#[test]
fn a_toy_model_trains_resumes_and_predicts() {
    let home = DatasetFolder::new(3);
    let (dataset, folder) = (Arc::clone(&home.dataset), home.path("run"));
    let config = Config::defaults(&REGISTRY[2], &dataset.cell).unwrap();
    assert_eq!((config.batch, config.model.name()), (200, "table"));
    let config = config.with(&["epochs=2", "model.width=16"]).unwrap();
    assert_eq!(Config::from_toml(&config.to_toml().unwrap(), REGISTRY).unwrap(), config);
    let error = Config::from_toml(&config.to_toml().unwrap(), MODELS).unwrap_err().to_string();
    let known = MODELS.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", ");
    assert!(error.contains(&format!("there is no model \"table\"; choose from {known}")), "{error}");
    let error = config.with(&["model.widht=3"]).unwrap_err().to_string();
    assert_eq!(error, "there is no key \"model.widht\"; did you mean \"model.width\"?");

    let mut run = Run::create(&folder, Arc::clone(&dataset), config, &home.context()).unwrap();
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
    let rows = run.split().rows(knockout_data::screen::Part::Test);
    let sets = rows
        .iter()
        .map(|&row| dataset.samples.genes(row as usize))
        .collect::<knockout_data::cell::GeneSets>();
    assert_eq!(
        predictor.predict(sets.view()).unwrap(),
        run.fit().unwrap().predict(knockout_data::screen::Part::Test)
    );
    let beyond = predictor.predict(GeneSetsRef::new(&[0, 2], &[1, 200])).unwrap_err();
    assert_eq!(beyond.to_string(), "set 0 names gene 200, but the cell has 200");
    // The standard registry does not know the model, and another cell is refused.
    assert!(Predictor::open(&path, &dataset.cell).is_err());
    let error = Predictor::new(&checkpoint, &tiny(4).cell, REGISTRY).err().unwrap().to_string();
    assert!(error.contains("genes") || error.contains("networks"), "{error}");
}

#[test]
fn a_toy_loss_trains_by_its_name_with_its_options() {
    let home = DatasetFolder::new(3);
    let (dataset, folder) = (Arc::clone(&home.dataset), home.path("run"));
    let config = Config::defaults(&REGISTRY[2], &dataset.cell).unwrap();
    let config = config.with(&["epochs=1", "model.loss=huber", "model.loss.delta=0.5"]).unwrap();
    assert!(config.to_toml().unwrap().contains("[model.loss]\nname = \"huber\"\ndelta = 0.5"));
    assert_eq!(Config::from_toml(&config.to_toml().unwrap(), REGISTRY).unwrap(), config);
    let error = config.with(&["model.loss.delta=-1"]).unwrap().check(&dataset.cell).unwrap_err().to_string();
    assert_eq!(error, "the loss: delta is -1, but it must be a number from 0 up");

    let mut run = Run::create(&folder, dataset, config, &home.context()).unwrap();
    let Some(Ok(Event::Step(step))) = run.next() else { panic!("a step") };
    assert!(step.outcome.parts.iter().any(|(name, value)| name == "huber_loss" && *value > 0.0));
    assert!(run.all(|event| event.is_ok()));
}

#[test]
fn the_gradient_of_the_toy_loss_equals_differences() {
    let loss: ScoreLoss<f64> = LossConfig::new(HuberOptions { delta: 0.7 }).build(LossShape::default());
    let mut parameters = Parameters::new(&Pool::new());
    let mut next = -1.5;
    let predictions = parameters.add("predictions", &[6], || {
        next += 0.6;
        next
    });
    let worst = gradient_check(&mut parameters, 6, |parameters, gradients| {
        let mut tape = Tape::new(parameters);
        let rows = ScoredRows { predictions, representation: None };
        let recorded = loss.record(&mut tape, rows, &[0.1; 6], LossPosition::default(), None);
        evaluate_loss(tape, recorded.total, gradients)
    });
    assert!(worst.tolerances < 1.0, "{worst:?}");
}

#[test]
fn a_loss_of_representations_is_refused_by_a_model_without_any() {
    let dataset = tiny(3);
    let config = Config::defaults(&REGISTRY[2], &dataset.cell).unwrap();
    let config = config.with(&["model.loss=mle_wass_supcr"]).unwrap();
    config.check(&dataset.cell).unwrap();
    let error = config.with(&["model.loss.lambda_supcr=0.1"]).unwrap().check(&dataset.cell).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("the loss mle_wass_supcr compares representations of samples, and table has none"),
        "{error}"
    );
}
