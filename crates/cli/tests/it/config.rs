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
    let key = |shown: &Value| (shown["batch"].clone(), shown["optimiser"]["learning_rate"].clone());
    assert_eq!(key(&resolved(&home, "").json()), (2048.into(), 0.003.into()));
    assert_eq!(key(&resolved(&home, "--experiment dango-reference").json()), (64.into(), 0.001.into()));
    assert_eq!(resolved(&home, "--experiment dango-short").json()["epochs"], 16);
}

#[test]
fn presets_of_hetero_differ_as_documented() {
    let home = Home::with_tiny();
    for (name, key, value) in [
        ("073", "batch", 28),
        ("077", "batch", 24),
        ("082", "batch", 18),
        ("083", "epochs", 1),
        ("084", "batch", 28),
        ("085", "epochs", 1),
        ("086", "max_steps", 100),
    ] {
        let shown =
            home.json(&format!("config show --model hetero --data tiny --experiment {name} --json -q"));
        assert_eq!(shown[key].as_i64(), Some(value), "{name}");
    }
}

#[test]
fn a_preset_of_another_model_or_an_unknown_one_is_2() {
    let home = Home::with_tiny();
    resolved(&home, "--experiment 086").fails(2, &["one of --model hetero"]);
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
