//! The hetero model from the command line, on the tiny yeast.

#![cfg(feature = "lab")]

use crate::support::run_in as run;
use std::path::Path;

fn tiny(folder: &Path) {
    run(folder, &["-q", "data", "synth", "tiny", "--preset", "tiny"]).ok();
}

const SMALL: [&str; 6] = [
    "model.width=8",
    "model.gin_hidden=8",
    "model.gin_linears=2",
    "model.layers=1",
    "model.pair_hidden=4",
    "model.local_heads=2",
];

#[test]
fn it_trains_and_is_evaluated_beside_the_ridge() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    let mut args =
        vec!["train", "tiny", "--model", "hetero", "--epochs", "1", "--batch", "100", "--json", "-q"];
    args.extend(SMALL);
    let trained = run(folder.path(), &args).json();
    assert_eq!(trained["step"].as_u64(), Some(16));
    let evaluated = run(folder.path(), &["evaluate", "runs/hetero-tiny-0", "--json", "-q"]).json();
    let names: Vec<&str> =
        evaluated["rows"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["hetero-tiny-0", "stack", "additive-ridge"]);
}

#[test]
fn every_route_and_processor_can_be_profiled() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    let mut samples = Vec::new();
    for (route, processor) in [
        ("changed-rows", "perturbation"),
        ("node-mask", "perturbation"),
        ("edge-mask", "mask"),
        ("rebuilt", "subgraph"),
    ] {
        let route = format!("model.route={route}");
        let mut args =
            vec!["profile", "tiny", "--model", "hetero", "--steps", "1", "--batch", "4", "--json", "-q"];
        args.extend(SMALL.iter().copied().chain([&route[..]]));
        let profile = run(folder.path(), &args).json();
        assert_eq!(profile["conditions"]["processor"].as_str(), Some(processor));
        samples.push(profile["samples"].as_u64());
    }
    assert_eq!(samples, [samples[0]; 4]);
}

#[test]
fn every_experiment_sets_keys_that_exist() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    for (name, key, value) in [
        ("073", "batch", 28),
        ("077", "batch", 24),
        ("082", "batch", 18),
        ("083", "epochs", 1),
        ("084", "batch", 28),
        ("085", "epochs", 1),
        ("086", "max_steps", 100),
    ] {
        let shown = run(
            folder.path(),
            &["config", "show", "--model", "hetero", "--data", "tiny", "--experiment", name, "--json", "-q"],
        )
        .json();
        assert_eq!(shown[key].as_i64(), Some(value), "{name}");
    }
    let wrong = ["config", "show", "--model", "hetero", "--data", "tiny", "--experiment", "099"];
    run(folder.path(), &wrong).fails(2, &["choose from 073"]);
}

#[test]
fn what_it_cannot_do_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    for (keys, message) in [
        (&["model.route=rebuilt", "model.norm=graph"][..], "use node-mask"),
        (&["model.route=edge-mask", "model.self_loops=add"], "as-stored"),
        (&["model.networks=[\"physical\", \"nothing\"]"], "no network \"nothing\""),
        (&["model.local_heads=7"], "heads must divide"),
        (&["model.dropout=1.0"], "less than 1"),
        (&["model.rute=rebuilt"], "did you mean \"model.route\""),
    ] {
        let mut args = vec!["train", "tiny", "--model", "hetero", "-q"];
        args.extend(keys);
        run(folder.path(), &args).fails(2, &[message]);
    }
}
