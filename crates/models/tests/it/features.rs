//! Content features in every model that takes them: gradients, and that the default does not read them.

use knockout_data::batch::Graphs;
use knockout_data::cell::{Cell, Features, GeneSetsRef};
use knockout_engine::grad::{Parameters, Tape, Var, evaluate_loss, gradient_check};
use knockout_models::layer::{FeatureUse, GeneFeatures};
use knockout_models::loss::interaction_loss;
use knockout_models::{
    AggregationWeights, Dango, DangoNetwork, DangoOptions, Hetero, HeteroNetwork, HeteroOptions, HeteroParts,
    Input, ModelConfig, ModelOptions, SelfLoops, Transformer, TransformerOptions, TransformerSizes,
};
use knockout_sources::synth;

const OFFSETS: [u32; 4] = [0, 1, 3, 6];
const GENES: [u32; 6] = [0, 17, 90, 3, 150, 44];
const TARGETS: [f64; 3] = [0.3, -1.0, 0.7];
const COLUMNS: usize = 5;

#[expect(clippy::unwrap_used, reason = "part of a test")]
pub(crate) fn cell() -> Cell {
    let config = synth::Config::preset("tiny").unwrap();
    let dataset = synth::synthesise(&config, 3, "tiny", "test", &|_| ()).unwrap();
    let genes = dataset.cell.genes().len();
    let values = (0..genes * COLUMNS).map(|at| ((at * 37 % 101) as f32).sin()).collect();
    let names = (0..COLUMNS).map(|column| format!("f{column}")).collect();
    let features = Features::new(genes, names, values).unwrap();
    (*dataset.cell).clone().with_features(Some(features)).unwrap()
}

#[expect(clippy::unwrap_used, reason = "part of a test")]
fn features(cell: &Cell, has_table: bool) -> GeneFeatures {
    GeneFeatures { columns: COLUMNS, values: cell.features().unwrap().standardised(), has_table }
}

fn check<M>(
    what: &str,
    model: &M,
    parameters: &Parameters<f64>,
    predict: impl for<'a> Fn(&'a M, &mut Tape<'a, f64>) -> Var,
) {
    let mut parameters = parameters.clone();
    assert!(parameters.find("gene_features.weight").is_some(), "{what}");
    let worst = gradient_check(&mut parameters, 6, |parameters, gradients| {
        let mut tape = Tape::new(parameters);
        let predictions = predict(model, &mut tape);
        let loss = interaction_loss(&mut tape, predictions, &TARGETS);
        evaluate_loss(tape, loss, gradients)
    });
    assert!(worst.tolerances < 1.0, "{what}: {worst:?}");
}

#[test]
fn gradients_equal_differences_of_the_loss() {
    let cell = cell();
    let genes = cell.genes().len();
    for has_table in [false, true] {
        let of = |name: &str, parameters: &Parameters<f64>| {
            assert_eq!(parameters.find("gene_embedding").is_some(), has_table, "{name}");
            format!("{name}, table {has_table}")
        };
        let networks =
            cell.networks().iter().map(|network| DangoNetwork::of(network, SelfLoops::AsStored, 0.1));
        let features = || Some(features(&cell, has_table));
        let model = Dango::<f64>::with_features(genes, networks.collect(), features(), [8, 2], 1);
        check(&of("dango", model.parameters()), &model, model.parameters(), |model, tape| {
            model.forward(tape, GeneSetsRef::new(&OFFSETS, &GENES)).set.scores
        });
        let sizes = TransformerSizes { width: 8, layers: 1, heads: 2 };
        let model = Transformer::<f64>::with_features(genes, sizes, features(), 1);
        check(&of("transformer", model.parameters()), &model, model.parameters(), |model, tape| {
            model.forward(tape, GeneSetsRef::new(&OFFSETS, &GENES), None).scores
        });
        let options = HeteroOptions {
            width: 8,
            layers: 1,
            gin_linears: 1,
            gin_hidden: 8,
            pair_hidden: 4,
            local_heads: 2,
            ..HeteroOptions::default()
        };
        let networks = cell.networks().iter().enumerate();
        let networks =
            networks.map(|(place, network)| HeteroNetwork::of(network, place, SelfLoops::AsStored));
        let parts = HeteroParts { networks: networks.collect(), metabolism: None, features: features() };
        let model = Hetero::<f64>::with_parts(genes, parts, options, 1);
        check(&of("hetero", model.parameters()), &model, model.parameters(), |model, tape| {
            let input = Input::evaluated(GeneSetsRef::new(&OFFSETS, &GENES), &Graphs::None);
            model.forward(tape, input, AggregationWeights::Discard).readout.predictions
        });
    }
}

/// Parameters of a model with and without features in the cell; with them used, what is added and what is taken away.
fn names(config: &ModelConfig, cell: &Cell) -> Vec<String> {
    let model = config.build(cell, 1).expect("it can be built");
    model.parameters().iter().map(|entry| entry.name().to_owned()).collect()
}

#[test]
fn features_are_read_where_they_are_asked_for() {
    fn check<O: ModelOptions>(cell: &Cell, with: impl Fn(&mut O, FeatureUse)) {
        let config = |choice| {
            let mut options = O::defaults(cell);
            with(&mut options, choice);
            ModelConfig::new(options)
        };
        let bare = cell.clone().with_features(None).expect("no features are fine");
        let none = config(FeatureUse::None);
        assert_eq!(none, ModelConfig::new(O::defaults(&bare)), "{}: off by default", O::NAME);
        let (first, second) = (none.build(cell, 1), none.build(&bare, 1));
        let (first, second) = (first.expect("built"), second.expect("built"));
        for (one, two) in first.parameters().iter().zip(second.parameters().iter()) {
            assert_eq!(one.values(), two.values(), "{}: the same bits", O::NAME);
        }
        let plain = names(&none, cell);
        let beside = names(&config(FeatureUse::Beside), cell);
        assert_eq!(beside.len(), plain.len() + 2, "{}", O::NAME);
        assert!(!names(&config(FeatureUse::Instead), cell).contains(&"gene_embedding".to_owned()));
        let error = config(FeatureUse::Instead).build(&bare, 1).err().expect("refused").to_string();
        assert!(error.starts_with("model.features is instead, but the dataset has no features"), "{error}");
    }
    let cell = cell();
    check::<DangoOptions>(&cell, |options, choice| options.features = choice);
    check::<HeteroOptions>(&cell, |options, choice| options.features = choice);
    check::<TransformerOptions>(&cell, |options, choice| options.features = choice);
}
