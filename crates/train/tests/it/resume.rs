//! A run of twenty steps is the same as one of seven that ends, and one of thirteen that goes on: weights, metrics, bits.
//!
//! The model is a toy; the parts around it are those of the real loop: buffered loss, schedules, metrics, checkpoints.

use knockout_models::loss::{
    BatchRows, BufferOptions, BufferWeight, Loss, LossGradients, LossPhase, MleWassSupCr,
    MleWassSupCrOptions, Restored, Temperature,
};
use knockout_train::checkpoint::{Checkpoint, Checkpoints, Contents, LogPosition, Number, Slot, State};
use knockout_train::config::Identity;
use knockout_train::fit::Position;
use knockout_train::run::{Inputs, Manifest, RunFolder, Start};
use knockout_train::schedule::{Best, Better, Cosine, CosineOptions, EarlyStopping, LearningRate, Progress};
use knockout_train::tensors::{Tensor, TensorRef};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const BATCH: usize = 4;
const WIDTH: usize = 3;
const BATCHES_PER_EPOCH: u32 = 6;

/// One embedding of three numbers a sample, scaled by the weights; the prediction is their sum.
struct Toy {
    weights: [f32; WIDTH],
    momentum: [f32; WIDTH],
    loss: MleWassSupCr<f32>,
    state: State,
}

fn loss() -> MleWassSupCr<f32> {
    let buffer = BufferOptions {
        size: 10,
        min_samples: 6,
        weight: BufferWeight::Constant { weight: 0.5 },
        ..Default::default()
    };
    let options = MleWassSupCrOptions {
        lambda_supcr: 0.2,
        temperature: Temperature::Cosine { first: 1.0, last: 0.1, epochs: 4 },
        buffer: Some(buffer),
        ..MleWassSupCrOptions::default()
    };
    MleWassSupCr::new(options, WIDTH, 11)
}

fn identity() -> Identity {
    Identity {
        model: "toy".into(),
        gene_table: "genes".into(),
        config: BTreeMap::from([("train.batch".to_owned(), BATCH.to_string())]),
    }
}

impl Toy {
    fn start() -> Self {
        let cosine =
            CosineOptions { first_cycle: 3, cycle_factor: 2.0, lowest: 0.001, warmup: 1, gamma: 0.7 };
        let state = State {
            identity: identity(),
            position: Position::default(),
            seed: 11,
            learning_rate: LearningRate::Cosine(Cosine::new(0.05, &cosine).unwrap()),
            early_stopping: Some(EarlyStopping::new(Better::Min, 50, 0.0)),
            best: BTreeMap::from([("mse".to_owned(), Best::new(Better::Min))]),
            loss_buffers: BTreeMap::new(),
            metrics: LogPosition::START,
            numbers: BTreeMap::from([("epoch.loss".to_owned(), Number(0.0))]),
            card: None,
        };
        Self { weights: [0.3, -0.2, 0.9], momentum: [0.0; WIDTH], loss: loss(), state }
    }

    fn resume(checkpoint: Checkpoint) -> Self {
        checkpoint.state.identity.check(&identity()).unwrap();
        let mut loss = loss();
        let find = |name: String| checkpoint.buffers.iter().find(|tensor| tensor.name == name).unwrap();
        for (name, state) in &checkpoint.state.loss_buffers {
            let (features, labels) = (find(format!("{name}.features")), find(format!("{name}.labels")));
            assert_eq!(
                loss.restore(name, *state, &features.values, &labels.values).unwrap(),
                Restored::Taken
            );
        }
        let of = |tensors: &[Tensor]| tensors[0].values.as_slice().try_into().unwrap();
        Self {
            weights: of(&checkpoint.weights),
            momentum: of(&checkpoint.first_moments),
            loss,
            state: checkpoint.state,
        }
    }

    fn save(&mut self, store: &Checkpoints, slot: Slot, metrics: LogPosition) -> String {
        self.state.metrics = metrics;
        self.state.loss_buffers =
            self.loss.buffers().iter().map(|(name, buffer)| ((*name).to_owned(), buffer.state())).collect();
        let rows: Vec<(String, [usize; 2], &[f32])> = self
            .loss
            .buffers()
            .into_iter()
            .flat_map(|(name, buffer)| {
                let state = buffer.state();
                [
                    (format!("{name}.features"), [state.capacity, state.feature_width], buffer.features()),
                    (format!("{name}.labels"), [state.capacity, state.label_width], buffer.labels()),
                ]
            })
            .collect();
        let buffers: Vec<TensorRef<'_>> =
            rows.iter().map(|(name, shape, values)| TensorRef { name, shape, values }).collect();
        let contents = Contents {
            weights: &[TensorRef { name: "w", shape: &[WIDTH], values: &self.weights }],
            first_moments: &[TensorRef { name: "w", shape: &[WIDTH], values: &self.momentum }],
            second_moments: &[],
            buffers: &buffers,
            state: &self.state,
        };
        store.save(slot, &contents).unwrap().weights_hash
    }

    fn step(&mut self) -> f64 {
        let place = self.state.position;
        let noise = |i: usize| ((place.step * 31 + i as u64 * 17) % 23) as f32 / 23.0 - 0.5;
        let inputs: Vec<f32> = (0..BATCH * WIDTH).map(noise).collect();
        let targets: Vec<f32> =
            inputs.chunks(WIDTH).map(|row| row[0] - 2.0 * row[1] + 0.5 * row[2]).collect();
        let embeddings: Vec<f32> =
            inputs.iter().enumerate().map(|(i, input)| input * self.weights[i % WIDTH]).collect();
        let predictions: Vec<f32> = embeddings.chunks(WIDTH).map(|row| row.iter().sum()).collect();
        let (mut slope, mut pull) = ([0.0; BATCH], [0.0; BATCH * WIDTH]);
        let rows = BatchRows {
            predictions: &predictions,
            targets: &targets,
            embeddings: &embeddings,
            epoch: place.epoch,
            step: place.step,
            phase: LossPhase::Train,
        };
        let value =
            self.loss.evaluate(&rows, &mut LossGradients { predictions: &mut slope, embeddings: &mut pull });
        for (i, &input) in inputs.iter().enumerate() {
            let gradient = (slope[i / WIDTH] + pull[i]) * input;
            self.momentum[i % WIDTH] += 0.1 * gradient;
        }
        let rate = self.state.learning_rate.rate() as f32;
        for (weight, momentum) in self.weights.iter_mut().zip(&mut self.momentum) {
            *weight -= rate * *momentum;
            *momentum *= 0.9;
        }
        value.total
    }
}

/// Trains up to a step, from the newest checkpoint if there is one; gives the hash of the weights.
fn train(folder: &Path, until: u64, checkpoint_every: u64) -> String {
    let run = RunFolder::open(folder).unwrap();
    let store = Checkpoints::at(&run.checkpoints());
    store.clean().unwrap();
    let mut toy =
        store.newest(Slot::Last).unwrap().map_or_else(Toy::start, |(_, checkpoint)| Toy::resume(checkpoint));
    let (mut metrics, _) = run.metrics(toy.state.metrics).unwrap();
    let mut hash = String::new();
    while toy.state.position.step < until {
        let loss = toy.step();
        let epoch_loss = toy.state.numbers["epoch.loss"].0 + loss;
        toy.state.numbers.insert("epoch.loss".to_owned(), Number(epoch_loss));
        let place = &mut toy.state.position;
        place.step += 1;
        place.optimiser_step += 1;
        place.batch += 1;
        let rate = toy.state.learning_rate.rate();
        metrics.append(&serde_json::json!({"step": place.step, "loss": loss, "rate": rate})).unwrap();
        if place.batch == BATCHES_PER_EPOCH {
            let epoch = place.epoch;
            (place.epoch, place.batch) = (epoch + 1, 0);
            toy.state.learning_rate.end_epoch(epoch_loss);
            toy.state.early_stopping.as_mut().unwrap().observe(epoch, epoch_loss);
            let improved = toy.state.best.get_mut("mse").unwrap().observe(epoch, epoch_loss);
            toy.state.numbers.insert("epoch.loss".to_owned(), Number(0.0));
            metrics
                .append(&serde_json::json!({"step": toy.state.position.step, "epoch_loss": epoch_loss}))
                .unwrap();
            if improved == Progress::Improved {
                let position = metrics.sync().unwrap();
                toy.save(&store, Slot::BestMse, position);
            }
        }
        if toy.state.position.step.is_multiple_of(checkpoint_every) || toy.state.position.step == until {
            let position = metrics.sync().unwrap();
            hash = toy.save(&store, Slot::Last, position);
        }
    }
    hash
}

fn new_run(folder: &Path) {
    let manifest = Manifest {
        schema: 1,
        version: "0".into(),
        commit: "0".into(),
        seed: 11,
        host: "h".into(),
        inputs: Inputs { dataset: "d".into(), gene_table: "genes".into(), cell: "c".into() },
        conditions: BTreeMap::new(),
    };
    RunFolder::create(folder, Start { config: "", overrides: &[], manifest: &manifest }).unwrap();
}

#[test]
fn twenty_steps_are_seven_and_thirteen() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole");
    new_run(&whole);
    let expected = train(&whole, 20, 5);
    let metrics = |run: &Path| fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    // In the first epoch, at its end, in the middle of one, before the last step.
    for first in [1, 6, 7, 13, 19] {
        let parts = folder.path().join(format!("parts-{first}"));
        new_run(&parts);
        train(&parts, first, 100);
        // What a run wrote after its last checkpoint before it was killed.
        let mut torn = metrics(&parts);
        torn.push_str("{\"step\":99,\"loss\":1.0}\n{\"step\":100,\"lo");
        fs::write(parts.join("metrics.jsonl"), torn).unwrap();
        assert_eq!(train(&parts, 20, 5), expected, "resumed at {first}");
        assert_eq!(metrics(&parts), metrics(&whole), "resumed at {first}");
        let state =
            |run: &Path| Checkpoints::at(&run.join("checkpoints")).newest(Slot::Last).unwrap().unwrap().1;
        assert_eq!(state(&parts), state(&whole));
    }
}
