//! Every registered loss on a tape and in every network, and the forms of `model.loss`.

use super::networks::{AT, NETWORKS, TARGETS, cell};
use knockout_base::error::Class;
use knockout_engine::grad::{Parameters, Tape, evaluate_loss, gradient_check};
use knockout_engine::kernel::{Activation, Pool};
use knockout_models::layer::Linear;
use knockout_models::loss::{LOSSES, LossConfig, LossShape, Penalty, ScoreLoss, ScoredRows};
use knockout_models::{DangoOptions, HeteroOptions, Init, TransformerOptions};
use toml::{Table, Value};

fn loss(text: &str) -> LossConfig {
    let mut table: Table = toml::from_str(&format!("loss = {text}")).unwrap();
    LossConfig::read(table.remove("loss").unwrap(), LOSSES).unwrap()
}

/// Every loss with options that make its gradient exact.
fn configured(name: &str) -> LossConfig {
    loss(&match name {
        "wasserstein" => format!("{{name = \"{name}\", transport = \"exact\"}}"),
        "supcr" => format!("{{name = \"{name}\", temperature = {{name = \"constant\", first = 0.7}}}}"),
        "mle_wass_supcr" => format!(
            "{{name = \"{name}\", transport = \"exact\", lambda_supcr = 0.3, buffer = {{min_samples = 1}}}}"
        ),
        "point_dist" => format!("{{name = \"{name}\", transport = \"exact\", lambda_dist = 0.5}}"),
        _ => format!("\"{name}\""),
    })
}

#[test]
fn gradients_of_every_loss_equal_differences() {
    for entry in LOSSES {
        let loss: ScoreLoss<f64> = configured(entry.name).build(LossShape { width: 3, seed: 4 });
        let (mut parameters, mut init) = (Parameters::new(&Pool::new()), Init::new(6));
        let rows = parameters.add("rows", &[5, 2], || init.normal(1.0));
        let hidden = Linear::new(&mut parameters, "hidden", 2, 3, &mut init);
        let score = Linear::new(&mut parameters, "score", 3, 1, &mut init);
        let weight = parameters.add("penalty", &[1], || init.normal(1.0));
        let worst = gradient_check(&mut parameters, 20, |parameters, gradients| {
            let mut tape = Tape::new(parameters);
            let representation = hidden.forward(&mut tape, "hidden", rows, Activation::Tanh);
            let predictions = score.forward(&mut tape, "score", representation, Activation::None);
            let rows = ScoredRows { predictions, representation: Some(representation) };
            let penalty = Penalty { name: "penalty", value: Some(weight), weight: 0.6 };
            let recorded = loss.record(&mut tape, rows, &TARGETS, AT, Some(penalty));
            assert!(recorded.parts.iter().any(|(name, _)| name == "weighted_penalty"), "{recorded:?}");
            evaluate_loss(tape, recorded.total, gradients)
        });
        assert!(worst.tolerances < 1.0, "{}: {worst:?}", entry.name);
    }
}

#[test]
fn every_network_has_the_gradient_of_every_loss_or_refuses_it() {
    let cell = cell();
    let mut refused = Vec::new();
    for network in NETWORKS {
        for entry in LOSSES {
            let loss = Value::Table(configured(entry.name).table().unwrap());
            let what = format!("{} with {}", network.name, entry.name);
            if let Err(error) = network.with(&cell, "loss", loss.clone()).check(&cell) {
                refused.push((network.name, entry.name));
                assert_eq!(error.class(), Class::Request, "{what}");
                assert!(
                    error.to_string().contains("compares representations of samples, and dango has none"),
                    "{what}: {error}"
                );
                continue;
            }
            let worst = network.worst_gradient(&cell, "loss", loss, 3);
            assert!(worst.tolerances < 1.0, "{what}: {worst:?}");
        }
    }
    assert!(refused.starts_with(&[("dango", "supcr"), ("dango", "mle_wass_supcr")]), "{refused:?}");
}

#[test]
fn a_default_loss_is_written_as_before() {
    let cell = cell();
    let [dango, hetero, transformer] = NETWORKS.map(|network| network.defaults(&cell));
    assert!(!dango.contains_key("loss"));
    assert_eq!(hetero["loss"].as_str(), Some("log_cosh"));
    assert_eq!(hetero["mle_wass_supcr"]["lambda_wasserstein"].as_float(), Some(0.1));
    let keys: Vec<&str> = transformer["loss"].as_table().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        ["point", "lambda_point", "lambda_dist", "lambda_graph", "dimension_weights", "transport"]
    );
}

#[test]
fn both_forms_of_a_loss_are_read() {
    let cell = cell();
    let [dango, hetero, transformer] = NETWORKS;
    let config = dango.with(&cell, "loss", "mse".into());
    assert_eq!(config.options::<DangoOptions>().unwrap().loss.name(), "mse");
    let table = configured("mle_wass_supcr").table().unwrap();
    let config = hetero.with(&cell, "loss", table.into());
    let options = config.options::<HeteroOptions>().unwrap();
    assert_eq!((options.loss.name(), options.mle_wass_supcr.lambda_supcr), ("mle_wass_supcr", 0.3));
    let config = transformer.with(&cell, "loss", "log_cosh".into());
    let options = config.options::<TransformerOptions>().unwrap();
    assert_eq!((options.loss.scores.name(), options.loss.lambda_graph), ("log_cosh", 0.1));
}

#[test]
fn an_unknown_loss_is_refused_with_the_known_ones() {
    let error = LossConfig::read("nonsense".into(), LOSSES).unwrap_err().to_string();
    let names: Vec<&str> = LOSSES.iter().map(|entry| entry.name).collect();
    assert_eq!(error, format!("there is no loss \"nonsense\"; choose from {}", names.join(", ")));
}
