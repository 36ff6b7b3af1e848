//! `knockout config show`: keys, files and presets.

#![cfg(feature = "lab")]

use crate::support::{Home, Ran};
use serde_json::Value;

fn resolved(home: &Home, more: &str) -> Ran {
    home.run(&format!("config show --model dango --data tiny --json -q {more}"))
}

#[test]
fn keys_of_synthesis_are_shown() {
    let home = Home::empty();
    home.ok("config show --preset tiny synth.genes=150").prints(&["genes = 150"]);
    assert_eq!(home.json("config show --preset tiny --json")["synth"]["genes"], 200);
}

#[test]
fn an_unknown_key_has_a_suggestion() {
    let words = "there is no key \"synth.gene\"; did you mean \"synth.genes\"?";
    Home::empty().fails("config show synth.gene=1", 2, &[words]);
}

#[test]
fn keys_of_a_model_are_shown_for_a_dataset() {
    let home = Home::with_tiny();
    let shown = resolved(&home, "model.width=32").json();
    assert_eq!((&shown["model"]["name"], &shown["model"]["width"]), (&"dango".into(), &32.into()));
    let networks = shown["model"]["networks"].as_array().unwrap();
    assert!(networks.iter().all(|network| network["lambda"].is_number()));
    home.fails("config show --model dango", 2, &["--data"]);
}

#[test]
fn a_file_may_have_a_part_of_the_keys() {
    let home = Home::with_tiny();
    home.write("part.toml", "batch = 300\n[model]\nname = \"dango\"\nwidth = 8\n");
    let shown = resolved(&home, "--config part.toml").json();
    assert_eq!((&shown["batch"], &shown["model"]["width"]), (&300.into(), &8.into()));
}

#[test]
fn presets_of_dango_differ_as_documented() {
    let home = Home::with_tiny();
    let keys = |more: &str| {
        let shown = resolved(&home, more).json();
        let [rate, schedule] = ["learning_rate", "schedule"].map(|key| &shown["optimiser"][key]);
        format!("{} {} {rate} {schedule}", shown["batch"], shown["epochs"])
    };
    assert_eq!(keys(""), "2048 100 0.003 \"constant\"");
    assert_eq!(keys("--experiment dango-reference"), "64 100 0.001 \"plateau\"");
    assert_eq!(keys("--experiment dango-short"), "2048 16 0.003 \"plateau\"");
    assert_eq!(keys("--experiment 086"), "64 1 0.00001 \"constant\"");
}

#[test]
fn presets_of_hetero_differ_as_documented() {
    let home = Home::with_tiny();
    for (name, key, value) in [
        ("073", "batch", 112),
        ("077", "batch", 96),
        ("082", "batch", 72),
        ("083", "epochs", 1),
        ("084", "batch", 112),
        ("085", "epochs", 1),
        ("086", "max_steps", 100),
    ] {
        let shown =
            home.json(&format!("config show --model hetero --data tiny --experiment {name} --json -q"));
        assert_eq!(shown[key].as_i64(), Some(value), "{name}");
    }
}

#[test]
fn the_experiment_086_has_two_halves() {
    let home = Home::with_tiny();
    let shown =
        |model: &str| home.json(&format!("config show --model {model} --data tiny --preset 086 --json -q"));
    let key = |shown: &Value| {
        (shown["batch"].clone(), shown["max_steps"].clone(), shown["split"]["subset"].clone())
    };
    assert_eq!(key(&shown("hetero")), (28.into(), 100.into(), 10_000.into()));
    assert_eq!(key(&shown("dango")), (64.into(), 100.into(), 10_000.into()));
    home.fails("config show --model transformer --data tiny --preset 086", 2, &["one of --model hetero"]);
}

/// A configuration as the Python system's 084, on two devices and with the networks of the tiny yeast.
const HYDRA: &str = r"# Mine
defaults:
  - default
  - _self_
wandb: {project: mine, tags: []}
cell_dataset:
  graphs: [physical, regulatory, string12_0_coexpression]
  node_embeddings: [learnable]
  incidence_graphs: []
data_module: {is_perturbation_subset: false, perturbation_subset_size: 1000, batch_size: 28, num_workers: 4}
trainer: {max_epochs: 1, strategy: ddp, num_nodes: 2, devices: 2, precision: bf16-mixed}
heads: 8
model:
  hidden_channels: 64
  num_layers: 3
  norm: layer
  activation: gelu
  dropout: 0.0
  gene_encoder_config:
    encoder_type: gin
    graph_aggregation_method: pairwise_interaction
    heads: ${heads}
    gin_num_layers: 4
    gin_hidden_dim: null
regression_task:
  loss: mle_wass_supcr
  lambda_supcr: 0.0
  loss_config: {min_samples_for_wasserstein: 140, use_buffer: true, buffer_size: 140, use_ddp_gather: false, gather_interval: 1}
  optimizer: {type: AdamW, lr: 1e-4, weight_decay: 1e-12}
  grad_accumulation_schedule: {0: 5}
";

#[test]
fn a_hydra_configuration_gives_the_same_as_its_preset() {
    let home = Home::with_tiny();
    let show = "config show --data tiny --config conf/mine.yaml --json -q";
    std::fs::create_dir(home.path("conf")).unwrap();
    home.write("conf/mine.yaml", HYDRA);
    home.fails(show, 2, &["mine.yaml, line 3", "default.yaml"]);
    home.write("conf/default.yaml", "");
    let shown = home.json(show);
    let networks = shown["model"]["networks"].clone();
    let mut preset = home.json("config show --data tiny --preset 084 --json -q");
    // Without a scheduler the rate is that of the optimiser.
    preset["optimiser"]["learning_rate"] = 0.0001.into();
    preset["model"]["networks"] = networks;
    assert_eq!(shown, preset);
}

#[test]
fn a_hydra_configuration_trains_and_is_written_back_as_ours() {
    let home = Home::with_tiny();
    let text = HYDRA
        .replace(
            "defaults:
  - default
  - _self_
",
            "",
        )
        .replace("hidden_channels: 64", "hidden_channels: 16");
    home.write("mine.yaml", &text);
    let few = "--max-steps 1 split.subset=200 model.layers=1 model.gin_linears=2";
    home.ok(&format!("train tiny --config mine.yaml {few} --out first")).warns(&[
        "mine.yaml: a configuration of the Python system",
        "without meaning here: wandb",
        "differs here: trainer.precision (all numbers are f32)",
    ]);
    // The run's own file starts the same run.
    home.ok("train tiny --config first/config.toml --out second");
    let weights = |run: &str| {
        let line = std::fs::read_to_string(home.path(&format!("{run}/metrics.jsonl"))).unwrap();
        serde_json::from_str::<Value>(line.lines().next().unwrap()).unwrap()["weights_hash"].clone()
    };
    assert_eq!(weights("first"), weights("second"));
    home.write("mine.yaml", text.replace("gin_num_layers", "gin_layers"));
    home.fails("train tiny --config mine.yaml", 2, &["mine.yaml, line 20", "gin_layers is unknown"]);
    home.fails("train tiny --model dango --config mine.yaml", 2, &["gin_layers is unknown"]);
    home.fails("train tiny --config none.yaml", 2, &["none.yaml"]);
}

#[test]
fn keys_of_trackers_name_the_python_command() {
    let home = Home::with_tiny();
    home.fails(
        "train tiny --model dango --seed 3 run.wandb=offline model.width=16",
        2,
        &[
            "run.wandb is a key of the Python package",
            "knockout.train(\"tiny\", \"dango\", settings={\"seed\": \"3\", \"run.wandb\": \"offline\", \"model.width\": \"16\"})",
        ],
    );
    assert!(!home.exists("runs"));
}

#[test]
fn merged_networks_are_of_the_hetero_model() {
    let home = Home::with_tiny();
    let few = "model.merge_networks=true model.layers=1 model.gin_linears=2 model.width=8 split.subset=200";
    home.ok(&format!("train tiny --model hetero --max-steps 2 --batch 40 {few} --out merged"));
    home.ok("evaluate merged");
    home.fails("train tiny --model dango model.merge_networks=true", 2, &["reads each network by itself"]);
    home.fails("train tiny --model stack model.merge_networks=true", 2, &["reads each network by itself"]);
    let masked = "train tiny --model hetero model.merge_networks=true model.route=edge-mask";
    home.fails(masked, 2, &["use node-mask, or model.merge_networks=false"]);
}

#[test]
fn shards_need_not_gather() {
    let home = Home::with_tiny();
    let shown = home.json("config show --model hetero --data tiny train.gather_every=never --json -q");
    assert_eq!(shown["train"]["gather_every"], "never");
    home.fails(
        "config show --model hetero --data tiny train.gather_every=often",
        2,
        &["train.gather_every takes a whole number"],
    );
    home.fails("config show --model hetero --data tiny train.gather_every=0", 2, &["train.gather_every"]);
}

#[test]
fn a_preset_of_another_model_or_an_unknown_one_is_2() {
    let home = Home::with_tiny();
    resolved(&home, "--experiment 085").fails(2, &["one of --model hetero"]);
    resolved(&home, "--experiment yours").fails(2, &["dango-reference", "presets/yours.toml"]);
    home.fails("config show --model hetero --data tiny --experiment 099", 2, &["choose from 073"]);
}

const PRESET: &str = "about = \"mine\"\nmodel = \"dango\"\n[keys]\n\"model.width\" = 16\n\"epochs\" = 1\n";

#[test]
fn a_preset_of_the_working_folder_trains() {
    let home = Home::with_tiny();
    std::fs::create_dir(home.path("presets")).unwrap();
    home.write("presets/mine.toml", PRESET);
    home.ok("train tiny --preset mine --batch 500").warns(&["preset mine: mine"]);
    assert!(home.exists("runs/dango-tiny-0"));
}

#[test]
fn a_variable_names_the_folder_of_presets() {
    let home = Home::with_tiny();
    std::fs::create_dir(home.path("others")).unwrap();
    home.write("others/mine.toml", PRESET);
    let folder = home.path("others");
    let show = "config show --model dango --data tiny --experiment mine --json -q";
    let shown = home.run_with(show, ("KNOCKOUT_PRESETS", folder.to_str().unwrap())).json();
    assert_eq!(shown["model"]["width"], 16);
}
