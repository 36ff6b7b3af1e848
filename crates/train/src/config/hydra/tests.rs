//! Configurations of the shape of the Python system's, written for these tests.

use super::table::Table;
use super::{Translated, read};
use crate::config::Config;
use knockout_base::error::Result;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

const HETERO: &str = "
defaults:
  - base
  - _self_
wandb: {project: mine, tags: []}
cell_dataset:
  graphs: [physical, string12_0_coexpression]
  node_embeddings:
    - learnable
  learnable_embedding_input_channels: 16
  incidence_graphs: []
transforms:
  use_transforms: true
data_module:
  is_perturbation_subset: false
  perturbation_subset_size: 1000
  batch_size: 28
trainer:
  max_epochs: 3
  strategy: ddp
  devices: 4
  precision: bf16-mixed
heads: 8
norms: layer
model:
  checkpoint_path: null
  hidden_channels: 16
  num_layers: 2
  norm: ${norms}
  activation: gelu
  dropout: 0.0
  gene_encoder_config:
    encoder_type: gin
    graph_aggregation_method: pairwise_interaction
    graph_aggregation_config: {aggregation_norm: layer, pairwise_num_layers: 2, pairwise_hidden_dim: 8, dropout: 0.0}
    heads: ${heads}
    gin_num_layers: 3
    gin_hidden_dim: null
  gpr_conv_config:
    heads: ${heads}
  local_predictor_config: {num_attention_layers: 2, num_heads: 8, combination_method: concat}
regression_task:
  loss: mle_wass_supcr
  lambda_mse: 1.0
  lambda_supcr: 0.0
  loss_config: {buffer_size: 140, min_samples_for_wasserstein: 140, use_ddp_gather: false, gather_interval: 1}
  optimizer: {type: AdamW, lr: 1e-4, weight_decay: 1e-12}
  lr_scheduler: {type: CosineAnnealingWarmupRestarts, first_cycle_steps: 300, max_lr: 5e-4, min_lr: 1e-6}
  clip_grad_norm: true
  clip_grad_norm_max_norm: 10.0
  grad_accumulation_schedule: {0: 5, 10: 2}
";

/// Writes files and reads the first of them.
fn translated(files: &[(&str, &str)], model: Option<&str>) -> Result<Translated> {
    let home = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = home.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    read(&home.path().join(files[0].0), model)
}

fn hetero() -> Translated {
    translated(&[("mine.yaml", HETERO), ("base.yaml", "trainer: {max_epochs: 9}\n")], None).unwrap()
}

/// Returns the message of a refusal, with file and line but without the folder.
fn refusal(files: &[(&str, &str)]) -> String {
    let error = translated(files, None).unwrap_err();
    let file = error.path().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
    let line = error.line().map_or_else(String::new, |line| format!(":{line}"));
    let text = knockout_base::error::chain(&error);
    format!("{file}{line} {text}")
}

#[test]
fn keys_are_translated_by_the_table() {
    let read = hetero();
    assert_eq!(read.model.as_deref(), Some("hetero"));
    let keys: BTreeSet<&str> = read.keys.iter().map(String::as_str).collect();
    for key in [
        "batch=112",
        "train.shards=4",
        "epochs=3",
        "model.width=16",
        "model.gin_hidden=16",
        "model.gin_linears=3",
        "model.norm=node",
        "model.networks=[\"physical\", \"string12_0_coexpression\"]",
        "model.loss=mle_wass_supcr",
        "model.mle_wass_supcr.buffer.size=140",
        // A shard that gathers nothing compares its own samples.
        "model.mle_wass_supcr.buffer.min_samples=28",
        "train.gather_every=never",
        "optimiser.learning_rate=0.0005",
        "optimiser.schedule=cosine",
        "optimiser.accumulate=[\"0:5\", \"10:2\"]",
    ] {
        assert!(keys.contains(key), "{key} is not in {keys:#?}");
    }
    // The rate of the optimiser is replaced by that of the schedule; the batch of a subset that is off counts for nothing.
    assert!(
        !read
            .keys
            .iter()
            .any(|key| key == "optimiser.learning_rate=0.0001" || key.starts_with("split.subset"))
    );
    let unused: Vec<&str> = read.unused.iter().map(|(key, _)| &key[..]).collect();
    for key in ["wandb", "model.gpr_conv_config", "trainer.strategy", "regression_task.optimizer.lr"] {
        assert!(unused.contains(&key), "{unused:?}");
    }
    assert!(read.differs.iter().any(|(key, _)| key == "trainer.precision"));
}

#[test]
fn our_configuration_takes_what_was_translated() {
    let preset = knockout_sources::synth::SynthConfig::preset("tiny").unwrap();
    let dataset = knockout_sources::synth::synthesise(&preset, 0, "tiny", "test", &|_| ()).unwrap();
    let config = Config::of("hetero", &dataset.cell, &hetero().keys).unwrap();
    config.check(&dataset.cell).unwrap();
    assert_eq!((config.batch, config.train.shards, config.epochs), (112, 4, 3));
    // It reads back what it writes.
    assert_eq!(Config::from_toml(&config.to_toml().unwrap(), knockout_models::MODELS).unwrap(), config);
}

#[test]
fn later_files_of_the_defaults_win_over_earlier_ones() {
    let list = |list: &str| {
        format!("defaults: [{list}]\ntrainer: {{max_epochs: 1}}\nregression_task: {{loss: dango}}\n")
    };
    let base = ("base.yaml", "trainer: {max_epochs: 2, max_steps: 7}\n");
    let epochs = |text: &str, files: &[(&str, &str)]| {
        let files: Vec<(&str, &str)> = [("a.yaml", text)].into_iter().chain(files.iter().copied()).collect();
        translated(&files, None).unwrap().keys
    };
    let own_wins = epochs(&list("base, _self_"), &[base]);
    assert_eq!(own_wins, ["epochs=1", "max_steps=7"]);
    assert_eq!(epochs(&list("_self_, base"), &[base])[0], "epochs=2");
    // A group's file goes into the section of the group, or into its package.
    let group = epochs(&list("_self_, trainer: quick"), &[("trainer/quick.yaml", "max_epochs: 5\n")]);
    assert_eq!(group, ["epochs=5"]);
    let global = ("trainer/quick.yaml", "# @package _global_\ntrainer: {max_epochs: 6}\n");
    assert_eq!(epochs(&list("_self_, trainer: quick"), &[global]), ["epochs=6"]);
    // What Hydra is told of itself, and what is optional, may be absent.
    assert_eq!(
        epochs(&list("_self_, optional trainer: none, override hydra/launcher: slurm"), &[]),
        ["epochs=1"]
    );
}

#[test]
fn interpolations_are_resolved_or_refused_with_their_place() {
    let text =
        "regression_task: {loss: dango}\nn: 3\ntrainer:\n  max_epochs: ${..n}\n  max_steps: ${.max_epochs}\n";
    assert_eq!(translated(&[("a.yaml", text)], None).unwrap().keys, ["epochs=3", "max_steps=3"]);
    for (value, words) in [
        ("${oc.env:EPOCHS}", "a.yaml:3 "),
        ("${oc.env:EPOCHS}", "the resolver ${oc.env:EPOCHS} is not supported"),
        ("${nothing}", "names no key of this configuration"),
        ("${trainer.max_epochs}", "leads in a circle"),
        ("${nothing", "has no end"),
        ("???", "has no value"),
    ] {
        let text = format!("regression_task: {{loss: dango}}\ntrainer:\n  max_epochs: {value}\n");
        let refused = refusal(&[("a.yaml", &text)]);
        assert!(refused.contains(words), "{value}: {refused}");
    }
}

#[test]
fn what_would_change_the_result_is_refused_with_its_place() {
    let with = |find: &str, replacement: &str| {
        let text = HETERO.replace(find, replacement);
        assert_ne!(text, HETERO, "{find}");
        refusal(&[("mine.yaml", &text), ("base.yaml", "")])
    };
    for (find, replacement, words) in [
        ("  activation: gelu", "  activatoin: gelu", "mine.yaml:30 "),
        ("  activation: gelu", "  activatoin: gelu", "model.activatoin is unknown"),
        ("encoder_type: gin", "encoder_type: gatv2", "only GIN is translated"),
        ("loss: mle_wass_supcr", "loss: icloss", "regression_task.loss is icloss"),
        ("norms: layer", "norms: batch", "model.norm is batch"),
        ("aggregation_norm: layer", "aggregation_norm: batch", "but model.norm is layer"),
        ("devices: 4", "devices: auto", "trainer.devices is auto"),
        ("type: AdamW", "type: SGD", "the optimiser is AdamW"),
        ("    - learnable", "    - codon_frequency", "content features"),
        ("input_channels: 16", "input_channels: 32", "but model.hidden_channels is 16"),
        ("grad_accumulation_schedule: {0: 5, 10: 2}", "grad_accumulation_schedule: 5", "by epoch"),
        ("checkpoint_path: null", "checkpoint_path: last.ckpt", "Lightning checkpoint"),
        ("  - base", "  - bases", "the file bases.yaml of this list is not there"),
        ("  - _self_\n", "", "no _self_"),
        ("  - base", "  - ../base", "is not a file below this one"),
    ] {
        let refused = with(find, replacement);
        assert!(refused.contains(words), "{replacement}: {refused}");
    }
    assert!(refusal(&[("a.yaml", "defaults: [a, _self_]\n")]).contains("includes itself"));
    let many = format!("defaults: [{}_self_]\n", "b, ".repeat(30));
    let files = [("a.yaml", &many[..]), ("b.yaml", &many.replace('b', "c")), ("c.yaml", "x: 1\n")];
    assert!(refusal(&files).contains("more than 256 files"));
    let long = format!("x: {}\ny: {}\n", "a".repeat(100_000), "${x}".repeat(10_000));
    assert!(refusal(&[("a.yaml", &long)]).contains("too long values"));
    assert!(refusal(&[("a.yaml", "trainer: {max_epochs: 1}\n")]).contains("do not name the model"));
    assert!(refusal(&[("a.yaml", "a: [1\n")]).contains("a.yaml"));
    assert!(refusal(&[("a.yaml", "a: 1\na: 2\n")]).contains("a.yaml:2"));
}

#[test]
fn hostile_files_are_refused() {
    let deep = format!("a: {}{}", "[".repeat(2000), "]".repeat(2000));
    let mut bomb = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n".to_owned();
    for level in 1..9 {
        let below = format!("*a{}, ", level - 1).repeat(10);
        writeln!(bomb, "a{level}: &a{level} [{below}]").unwrap();
    }
    let mut chain = "a0: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n".to_owned();
    for level in 1..9 {
        let below = format!("\n  - ${{a{}}}", level - 1).repeat(10);
        writeln!(chain, "a{level}:{below}").unwrap();
    }
    let large = format!("a: \"{}\"\n", "x".repeat(2 << 20));
    for text in [deep, bomb, chain, large] {
        let refused = refusal(&[("a.yaml", &text)]);
        assert!(!refused.contains("do not name the model"), "{refused}");
    }
}

#[test]
fn every_row_leads_to_a_key_of_its_models_or_has_a_reason() {
    let preset = knockout_sources::synth::SynthConfig::preset("tiny").unwrap();
    let dataset = knockout_sources::synth::synthesise(&preset, 0, "tiny", "test", &|_| ()).unwrap();
    let known: BTreeSet<String> = ["hetero", "dango", "transformer"]
        .into_iter()
        .flat_map(|model| Config::of::<&str>(model, &dataset.cell, &[]).unwrap().flat().into_keys())
        .collect();
    for row in Table::shipped().row {
        if let Some(to) = &row.to {
            // Options of a loss stand below its key.
            assert!(known.contains(to) || to.starts_with("model.loss"), "{} leads to {to}", row.key);
            assert!(row.unused.is_none(), "{} has a key and is unused", row.key);
        }
    }
}
