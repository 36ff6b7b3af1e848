//! Switches of a configuration, and what two of them do to a model.

use super::home::tiny;
use knockout_models::{DangoNetwork, SelfLoopChoice};
use knockout_train::config::Config;
use knockout_train::switches::{BuiltModel, Switch, switches};
use std::collections::BTreeSet;

const BUILT: BuiltModel = BuiltModel { buffer_bytes: 1 << 20, free_bytes: 1 << 30, couples_samples: false };

fn named(all: &[Switch], name: &str) -> Switch {
    all.iter().find(|switch| switch.name == name).unwrap().clone()
}

#[test]
fn every_switch_is_a_configuration_or_has_a_reason() {
    let data = tiny(3);
    let networks =
        "model.networks=[{name=\"physical\",lambda=1.0},{name=\"string12_0_coexpression\",lambda=0.1}]";
    let config = Config::of("dango", &data.cell, &[networks]).unwrap();
    let all = switches(&config, &data.cell, BUILT);
    for switch in &all {
        match &switch.keys {
            Ok(keys) => {
                let changed = config.with(keys).unwrap();
                assert_ne!(changed, config, "{} changes nothing", switch.name);
                changed.check(&data.cell).unwrap();
            }
            Err(reason) => assert!(!reason.is_empty(), "{}", switch.name),
        }
    }
    assert!(named(&all, "no metabolism").keys.unwrap_err().contains("dango has no key model.metabolism"));
    let tight = switches(&config, &data.cell, BuiltModel { free_bytes: 1 << 20, ..BUILT });
    assert!(named(&tight, "larger batch").keys.unwrap_err().contains("are free"));
    let applied = config.with(&named(&all, "one network").keys.unwrap()).unwrap();
    let again = switches(&applied, &data.cell, BUILT);
    assert!(named(&again, "one network").keys.unwrap_err().contains("one network already"));
}

#[test]
fn the_metabolism_is_a_switch_where_it_is_read() {
    let data = tiny(3);
    let on = Config::of("hetero", &data.cell, &["model.metabolism=on"]).unwrap();
    let keys = named(&switches(&on, &data.cell, BUILT), "no metabolism").keys.unwrap();
    assert_eq!(keys, ["model.metabolism=off"]);
    let off = on.with(&keys).unwrap();
    assert!(
        named(&switches(&off, &data.cell, BUILT), "no metabolism").keys.unwrap_err().contains("off already")
    );
    // A run from before it was a key is still itself.
    let settings = |config: &Config| config.identity("genes").config;
    assert!(
        !settings(&off).contains_key("model.metabolism") && !settings(&off).contains_key("model.features")
    );
    assert_eq!(settings(&on)["model.metabolism"], "\"on\"");
}

#[test]
fn a_loss_that_couples_samples_may_gather_seldom() {
    let data = tiny(3);
    for (model, keys) in [
        ("hetero", ["train.shards=2"].as_slice()),
        ("transformer", &["train.shards=2", "model.loss.lambda_dist=0.1"]),
    ] {
        let config = Config::of(model, &data.cell, keys).unwrap();
        let of = |couples_samples| {
            let built = BuiltModel { couples_samples, ..BUILT };
            named(&switches(&config, &data.cell, built), "no gather across shards").keys
        };
        config.with(&of(true).unwrap()).unwrap().check(&data.cell).unwrap();
        assert!(of(false).unwrap_err().contains("a mean over samples"), "{model}");
    }
}

#[test]
fn merged_channels_have_each_edge_of_all_once() {
    let data = tiny(3);
    let networks: Vec<_> = data.cell.networks().iter().collect();
    let merged = DangoNetwork::merged("string", &networks, SelfLoopChoice::AsStored, 0.1);
    let genes = data.cell.genes().len();
    let edges: BTreeSet<(usize, u32)> = networks
        .iter()
        .flat_map(|network| {
            (0..genes).flat_map(|gene| network.outgoing().row(gene).iter().map(move |to| (gene, *to)))
        })
        .collect();
    assert_eq!((merged.graph.row_count(), merged.name.as_str()), (genes, "string"));
    assert_eq!(merged.graph.outgoing.entry_count(), edges.len());
    let with_loops = DangoNetwork::merged("string", &networks, SelfLoopChoice::Add, 0.1);
    assert_eq!(with_loops.graph.outgoing.entry_count(), edges.len() + genes);
}
