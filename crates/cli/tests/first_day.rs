//! What a newcomer does on the first day, from the command line: what they stumbled over stays mended.

#![cfg(feature = "lab")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use serde_json::Value;
use std::fs;
use std::path::Path;
use support::{run_in as run, run_with};

fn tiny(folder: &Path) {
    run(folder, &["-q", "data", "synth", "tiny", "--preset", "tiny"]).ok();
}

const SHORT: [&str; 6] = ["model.width=16", "--batch", "200", "--epochs", "1", "-q"];

fn train(folder: &Path, out: &str, more: &[&str]) {
    let args = [&["train", "tiny", "--model", "dango", "--out", out], &SHORT[..], more].concat();
    run(folder, &args).ok();
}

fn lines(folder: &Path, run: &str) -> Vec<Value> {
    let text = fs::read_to_string(folder.join(run).join("metrics.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_command_divides_alike_where_no_seed_is_named() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    let baseline =
        ["baseline", "tiny", "--split", "random", "--out", "ladder", "--json", "-q", "--resamples", "50"];
    let baseline = run(folder.path(), &baseline).json();
    let split = run(folder.path(), &["data", "split", "tiny", "--json"]).json();
    let shown = run(folder.path(), &["data", "show", "tiny", "--json"]).json();
    assert_eq!((&baseline["split_seed"], &split["seed"]), (&shown["splits"][0]["seed"], &0.into()));
    train(folder.path(), "run", &[]);
    run(folder.path(), &["evaluate", "run", "-q", "--resamples", "50"]).ok();
    // The documented way: a run's predictions against a rung of the ladder.
    let against = ["--predictions", "run/predictions-test.parquet", "--against", "ladder/gene-mlp.parquet"];
    let compared =
        run(folder.path(), &[&["evaluate", "--json", "--resamples", "50"], &against[..]].concat()).json();
    assert_eq!(compared["comparisons"][0]["against"], "gene-mlp");
    // Of another split there is no comparison, and the message is for people.
    run(folder.path(), &["baseline", "tiny", "--seed", "9", "--out", "other", "-q"]).ok();
    let other = ["--predictions", "run/predictions-test.parquet", "--against", "other/gene-mlp.parquet"];
    let refused = run(folder.path(), &[&["evaluate"], &other[..]].concat())
        .fails(7, &["random val 0.1 test 0.1 seed 0 against random val 0.1 test 0.1 seed 9"]);
    assert!(!refused.stderr.contains("Shares"), "{}", refused.stderr);
}

#[test]
fn runs_and_datasets_move() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    train(folder.path(), "run", &[]);
    fs::create_dir(folder.path().join("elsewhere")).unwrap();
    fs::rename(folder.path().join("tiny"), folder.path().join("elsewhere/tiny")).unwrap();
    fs::rename(folder.path().join("run"), folder.path().join("elsewhere/run")).unwrap();
    run(folder.path(), &["evaluate", "elsewhere/run"]).fails(2, &["is gone", "--data DIR"]);
    run(folder.path(), &["train", "--resume", "elsewhere/run"]).fails(2, &["is gone", "--data DIR"]);
    let here = ["--data", "elsewhere/tiny"];
    let evaluated = ["evaluate", "elsewhere/run", "--json", "-q", "--resamples", "50"];
    let evaluated = run(folder.path(), &[&evaluated[..], &here].concat()).json();
    assert_eq!(evaluated["rows"][0]["name"], "run");
    let resumed = ["train", "--resume", "elsewhere/run", "--epochs", "2", "--json", "-q"];
    let resumed = run(folder.path(), &[&resumed[..], &here].concat()).json();
    assert_eq!(resumed["epoch"], 1);
    // Another dataset is refused by its contents.
    run(folder.path(), &["-q", "data", "synth", "other", "--preset", "tiny", "--seed", "3"]).ok();
    for command in [&["evaluate", "elsewhere/run"][..], &["train", "--resume", "elsewhere/run"]] {
        run(folder.path(), &[command, &["--data", "other"]].concat()).fails(2, &["its contents differ"]);
    }
}

#[test]
fn a_split_file_trains_and_its_copy_is_the_runs() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    let split = ["data", "split", "tiny", "--split", "pair-disjoint", "--folds", "5", "--fold", "2", "-q"];
    run(folder.path(), &[&split[..], &["--out", "fold.parquet"]].concat()).ok();
    train(folder.path(), "file", &["split.file=fold.parquet"]);
    train(folder.path(), "fold", &["split.fold=2/5", "--split", "pair-disjoint"]);
    let hash = |run: &str| lines(folder.path(), run)[0]["weights_hash"].clone();
    assert_eq!(hash("file"), hash("fold"), "the same rows, the same weights");
    let config = fs::read_to_string(folder.path().join("file/config.toml")).unwrap();
    assert!(config.contains("fold = \"2/5\"") && config.contains("scheme = \"pair-disjoint\""), "{config}");
    let ladder = ["baseline", "tiny", "--split-file", "fold.parquet", "--out", "ladder", "-q"];
    run(folder.path(), &ladder).ok();
    // The file may go: the run has its own copy. Evaluated, resumed and compared as any other.
    fs::copy(folder.path().join("fold.parquet"), folder.path().join("kept.parquet")).unwrap();
    fs::remove_file(folder.path().join("fold.parquet")).unwrap();
    run(folder.path(), &["evaluate", "file", "fold", "-q", "--resamples", "50"]).fails(7, &["the same seed"]);
    run(folder.path(), &["evaluate", "file", "-q", "--resamples", "50"]).ok();
    let alone = ["evaluate", "--predictions", "file/predictions-test.parquet", "--json", "--resamples", "50"];
    assert_eq!(run(folder.path(), &alone).json()["rows"][1]["name"], "additive-ridge");
    run(folder.path(), &["train", "--resume", "file", "--epochs", "2", "-q"]).ok();
    // What contradicts the file is refused, and so is a file that is none.
    let base = ["train", "tiny", "--model", "dango"];
    for (more, said) in [
        (
            &["split.file=kept.parquet", "--split", "gene-disjoint"][..],
            "made with split.scheme=pair-disjoint",
        ),
        (&["split.file=kept.parquet", "split.fold=1/5"], "made with split.fold=2/5, not 1/5"),
        (&["split.file=nowhere.parquet"], "nowhere.parquet"),
        (&["split.fold=five"], "0/5"),
        (&["split.fold=5/5"], "fold 5 of 5"),
    ] {
        run(folder.path(), &[&base[..], more].concat()).fails(2, &[said]);
    }
    run(folder.path(), &[&base[..], &["split.file=tiny/samples.parquet"]].concat()).fails(3, &["split file"]);
}

#[test]
fn a_runs_configuration_goes_in_again() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    train(folder.path(), "first", &["--seed", "3", "model.networks=[{name=\"physical\",lambda=0.5}]"]);
    run(folder.path(), &["train", "tiny", "--config", "first/config.toml", "--out", "second", "-q"]).ok();
    assert_eq!(
        lines(folder.path(), "first")[0]["weights_hash"],
        lines(folder.path(), "second")[0]["weights_hash"]
    );
    let text = |run: &str| fs::read_to_string(folder.path().join(run).join("config.toml")).unwrap();
    assert_eq!(text("first"), text("second"));
    // A part of a configuration will do, options win over it, and a model must fit.
    fs::write(folder.path().join("part.toml"), "batch = 300\n[model]\nname = \"dango\"\nwidth = 8\n")
        .unwrap();
    let shown = ["config", "show", "--model", "dango", "--data", "tiny", "--config", "part.toml", "--json"];
    let shown = run(folder.path(), &shown).json();
    assert_eq!((&shown["batch"], &shown["model"]["width"]), (&300.into(), &8.into()));
    let wrong = ["train", "tiny", "--model", "hetero", "--config", "part.toml"];
    run(folder.path(), &wrong).fails(2, &["one of --model dango, not of hetero"]);
    run(folder.path(), &["train", "tiny", "--config", "nowhere.toml"]).fails(2, &["nowhere.toml"]);
    fs::write(folder.path().join("bad.toml"), "batch = \n").unwrap();
    run(folder.path(), &["train", "tiny", "--config", "bad.toml"]).fails(2, &["bad.toml is no TOML"]);
    run(folder.path(), &["train", "tiny"]).fails(2, &["name the model: --model dango"]);
}

#[test]
fn presets_ship_and_are_written_by_users() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    let resolved = |more: &[&str]| {
        let show = ["config", "show", "--model", "dango", "--data", "tiny", "--json", "-q"];
        run(folder.path(), &[&show[..], more].concat())
    };
    // DANGO's defaults are those that its page recommends; the reference's are a preset.
    let (own, reference) = (resolved(&[]).json(), resolved(&["--experiment", "dango-reference"]).json());
    assert_eq!((&own["batch"], &own["optimiser"]["learning_rate"]), (&2048.into(), &0.003.into()));
    assert_eq!((&reference["batch"], &reference["optimiser"]["learning_rate"]), (&64.into(), &0.001.into()));
    assert_eq!(resolved(&["--experiment", "dango-short"]).json()["epochs"], 16);
    resolved(&["--experiment", "086"]).fails(2, &["one of --model hetero"]);
    // One of the user's own, in the working folder or where the variable says.
    fs::create_dir(folder.path().join("presets")).unwrap();
    let preset = "about = \"mine\"\nmodel = \"dango\"\n[keys]\n\"model.width\" = 16\n\"epochs\" = 1\n";
    fs::write(folder.path().join("presets/mine.toml"), preset).unwrap();
    let ran = run(folder.path(), &["train", "tiny", "--preset", "mine", "--batch", "500"]).ok();
    assert!(ran.stderr.contains("preset mine: mine") && folder.path().join("runs/dango-tiny-0").exists());
    resolved(&["--experiment", "yours"]).fails(2, &["dango-reference", "presets/yours.toml"]);
    fs::rename(folder.path().join("presets"), folder.path().join("others")).unwrap();
    let environment = [("KNOCKOUT_PRESETS", folder.path().join("others").display().to_string())];
    let show =
        ["config", "show", "--model", "dango", "--data", "tiny", "--experiment", "mine", "--json", "-q"];
    assert_eq!(run_with(folder.path(), &show, &environment).json()["model"]["width"], 16);
}

#[test]
fn an_experiment_takes_presets_and_modes() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    let base = ["experiment", "tiny", "--rounds", "1", "--steps", "1", "--warmup", "0", "--json", "-q"];
    let preset = ["--preset", "086", "split.subset=200", "model.layers=1", "model.width=8"];
    let found = [&base[..], &["--modes", "data,forward", "--out", "two"], &preset].concat();
    let found = run(folder.path(), &found).json();
    assert_eq!(found["models"], serde_json::json!(["hetero"]), "the preset's model alone");
    let modes: Vec<&Value> = found["cells"].as_array().unwrap().iter().map(|cell| &cell["mode"]).collect();
    assert_eq!(modes, ["data", "forward"]);
    assert!(folder.path().join("two/report.html").exists());
    // By itself the folder is named after the dataset's, with nothing that a shell takes apart.
    fs::rename(folder.path().join("tiny"), folder.path().join("my tiny yeast")).unwrap();
    let data = ["experiment", "my tiny yeast", "--modes", "data", "--rounds", "1", "--steps", "1", "-q"];
    run(folder.path(), &data).ok();
    assert!(folder.path().join("runs/experiment-my-tiny-yeast/report.html").exists());
}

#[test]
fn time_and_the_parts_of_the_loss_are_seen_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    let args = ["train", "tiny", "--model", "dango", "--out", "run", "--epochs", "2", "--batch", "200"];
    let ran = run(folder.path(), &[&args[..], &["model.width=16"]].concat()).ok();
    for part in ["epoch 1/2: train loss", "interaction ", "reconstruction ", "alpha ", "samples/s"] {
        assert!(ran.stderr.contains(part), "{part:?} is not in {}", ran.stderr);
    }
    // Epochs are counted from 1 for people, as ever from 0 in JSON.
    assert!(ran.stdout.contains("epoch 2 step 16"), "{}", ran.stdout);
    let lines = lines(folder.path(), "run");
    assert_eq!((lines.len(), &lines[1]["epoch"]), (2, &1.into()));
    let (parts, loss) = (&lines[0]["loss_parts"], lines[0]["train_loss"].as_f64().unwrap());
    let part = |name: &str| parts[name].as_f64().unwrap();
    let alpha = part("alpha");
    let total = alpha * part("reconstruction") + (1.0 - alpha) * part("interaction");
    assert!((total - loss).abs() < 1e-3 * loss.abs(), "{parts} make {loss}");
    let times = &lines[1]["times"];
    for time in ["train_seconds", "validation_seconds", "cpu_seconds", "samples_per_second"] {
        assert!(times[time].as_f64().unwrap() > 0.0, "{time} of {times}");
    }
    let read = |name: &str| fs::read(folder.path().join("run").join(name)).unwrap();
    let page = String::from_utf8(read("report.html")).unwrap();
    for part in ["Time of an epoch", "reconstruction", "additive ridge", "(epoch ", "CPU time"] {
        assert!(page.contains(part), "{part:?} is not in the page");
    }
    assert!(String::from_utf8(read("log.txt")).unwrap().starts_with("epoch 1 step 8: train loss "));
    let names = fs::read_dir(folder.path().join("run")).unwrap().map(|entry| entry.unwrap().file_name());
    let events = names.filter_map(|name| name.into_string().ok()).find(|name| name.starts_with("events."));
    let events = String::from_utf8_lossy(&read(&events.unwrap())).into_owned();
    for tag in ["time/samples_per_second", "epoch/reconstruction", "time/validation_seconds"] {
        assert!(events.contains(tag), "{tag}");
    }
}

#[test]
fn habits_are_understood_and_quiet_is_quiet() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    let base = ["train", "tiny", "--model", "dango"];
    for (habit, key) in [
        ("lr=0.1", "optimiser.learning_rate"),
        ("batch_size=8", "batch"),
        ("optimizer.lr=0.1", "optimiser.learning_rate"),
        ("optimizer.weight_decay=0", "optimiser.weight_decay"),
        ("+trainer.max_epochs=3", "epochs"),
        ("data_module.num_workers=2", "loader.threads"),
    ] {
        let said = format!("did you mean {key:?}?");
        run(folder.path(), &[&base[..], &[habit]].concat()).fails(2, &[&said]);
    }
    run(folder.path(), &[&base[..], &["--lr", "0.1"]].concat()).fails(2, &["optimiser.learning_rate=VALUE"]);
    // Quiet: results and nothing else. Verbose: what was set, and what it took.
    let commands: [&[&str]; 5] = [
        &["train", "tiny", "--model", "dango", "--max-steps", "1", "--out"],
        &["profile", "tiny", "--model", "dango", "--steps", "1", "--no-trace", "--batch", "50", "--out"],
        &["baseline", "tiny", "--resamples", "50", "--out"],
        &["data", "split", "tiny", "--out"],
        &["data", "synth", "--preset", "tiny"],
    ];
    for (place, command) in commands.into_iter().enumerate() {
        let [quiet, verbose] = ["q", "v"].map(|name| format!("{name}-{place}"));
        let ran = run(folder.path(), &[command, &[&quiet, "-q"]].concat()).ok();
        assert_eq!(ran.stderr, "", "{command:?}");
        assert!(!ran.stdout.is_empty(), "{command:?}");
        let ran = run(folder.path(), &[command, &[&verbose, "-v"]].concat()).ok();
        assert!(ran.stderr.contains("s of CPU time"), "{command:?}: {}", ran.stderr);
    }
    let verbose = ["train", "tiny", "--model", "dango", "--max-steps", "1", "model.width=32", "-v"];
    assert!(run(folder.path(), &verbose).ok().stderr.contains("set model.width=32"));
}
