//! The networks of the registry, small and in `f64`.

use knockout_data::batch::Graphs;
use knockout_data::cell::{Cell, Features, GeneSetsRef};
use knockout_engine::grad::{Mismatch, Tape, evaluate_loss, gradient_check};
use knockout_models::{
    DangoOptions, HeteroOptions, Input, LossPosition, MODELS, Model, ModelConfig, ModelOptions, ShardAt,
    TransformerOptions,
};
use knockout_sources::synth;
use toml::{Table, Value};

/// A position in training that reads the buffers of a loss without writing to them.
pub(crate) const AT: LossPosition =
    LossPosition { epoch: 1, step: 2, shard: ShardAt { first_sample: 0, first_member: 0, is_part: true } };
const OFFSETS: [u32; 6] = [0, 1, 3, 6, 8, 9];
const GENES: [u32; 9] = [0, 17, 90, 3, 150, 44, 8, 120, 71];
pub(crate) const TARGETS: [f64; 5] = [0.4, -0.9, f64::NAN, 1.3, -0.2];
const COLUMNS: usize = 5;

/// Returns a synthetic cell with content features.
#[expect(clippy::unwrap_used, reason = "part of a test")]
pub(crate) fn cell() -> Cell {
    let config = synth::SynthConfig::preset("tiny").unwrap();
    let dataset = synth::synthesise(&config, 3, "tiny", "test", &|_| ()).unwrap();
    let genes = dataset.cell.genes().len();
    let values = (0..genes * COLUMNS).map(|at| ((at * 37 % 101) as f32).sin()).collect();
    let names = (0..COLUMNS).map(|column| format!("f{column}")).collect();
    let features = Features::new(genes, names, values).unwrap();
    (*dataset.cell).clone().with_features(Some(features)).unwrap()
}

/// A network of the registry.
pub(crate) struct RegisteredNetwork {
    pub name: &'static str,
    sizes: &'static [(&'static str, i64)],
    build: fn(&ModelConfig, &Cell) -> Box<dyn Model<f64>>,
}

pub(crate) const NETWORKS: [RegisteredNetwork; 3] = [
    RegisteredNetwork::of::<DangoOptions>(&[("width", 8), ("heads", 2)]),
    RegisteredNetwork::of::<HeteroOptions>(&[
        ("width", 8),
        ("layers", 1),
        ("gin_linears", 1),
        ("gin_hidden", 8),
        ("pair_hidden", 4),
        ("local_heads", 2),
    ]),
    RegisteredNetwork::of::<TransformerOptions>(&[
        ("width", 8),
        ("layers", 2),
        ("heads", 2),
        ("penalty_layer", 0),
    ]),
];

#[expect(clippy::unwrap_used, reason = "part of a test")]
impl RegisteredNetwork {
    const fn of<O: ModelOptions>(sizes: &'static [(&'static str, i64)]) -> Self {
        Self {
            name: O::NAME,
            sizes,
            build: |config, cell| config.options::<O>().unwrap().build(cell, 1).unwrap(),
        }
    }

    /// Returns the defaults as a table.
    pub(crate) fn defaults(&self, cell: &Cell) -> Table {
        let entry = MODELS.iter().find(|entry| entry.name == self.name).unwrap();
        Table::try_from(entry.defaults(cell)).unwrap()
    }

    /// Returns the defaults with one other value.
    pub(crate) fn with(&self, cell: &Cell, key: &str, value: Value) -> ModelConfig {
        let mut section = self.defaults(cell);
        section.insert(key.to_owned(), value);
        ModelConfig::read(section, MODELS).unwrap()
    }

    /// Compares the gradients of a small network, which has one value other than its default, with differences of its loss.
    pub(crate) fn worst_gradient(&self, cell: &Cell, key: &str, value: Value, most: usize) -> Mismatch {
        let mut section = self.defaults(cell);
        section.extend(self.sizes.iter().map(|&(key, size)| (key.to_owned(), Value::Integer(size))));
        section.insert(key.to_owned(), value);
        let config = ModelConfig::read(section, MODELS).unwrap();
        config.check(cell).unwrap();
        let model = (self.build)(&config, cell);
        let mut parameters = model.parameters().clone();
        let sets = GeneSetsRef::new(&OFFSETS, &GENES);
        gradient_check(&mut parameters, most, |parameters, gradients| {
            let mut tape = Tape::new(parameters);
            let input = Input { sets, graphs: &Graphs::None, training: Some(AT) };
            let forward = model.forward(&mut tape, input);
            let loss = model.loss(&mut tape, &forward, &TARGETS, AT);
            evaluate_loss(tape, loss.total, gradients)
        })
    }
}

#[test]
fn all_registered_networks_are_listed() {
    let registered = MODELS.iter().filter(|entry| entry.has_epochs()).map(|entry| entry.name);
    assert!(registered.eq(NETWORKS.iter().map(|network| network.name)));
}
