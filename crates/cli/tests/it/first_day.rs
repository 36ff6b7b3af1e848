//! What a newcomer does on the first day, from the command line: what they stumbled over stays mended.

#![cfg(feature = "lab")]

use crate::support::{run_in as run, run_with};
use serde_json::Value;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

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
    run(folder.path(), &["train", "elsewhere/tiny", "--resume", "elsewhere/run"])
        .fails(2, &["write --data elsewhere/tiny"]);
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
    assert_eq!(run(folder.path(), &alone).json()["rows"][2]["name"], "additive-ridge");
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
    run(folder.path(), &["train", "tiny", "--config", "bad.toml"]).fails(2, &["bad.toml is not TOML"]);
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

#[test]
fn many_runs_are_listed_and_two_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    train(folder.path(), "runs/narrow", &[]);
    train(folder.path(), "runs/deeper/wide", &["model.width=32", "--seed", "1"]);
    train(folder.path(), "runs/other", &["split.seed=5"]);
    run(folder.path(), &["train", "tiny", "--model", "low-rank", "--out", "runs/solved", "-q"]).ok();
    // A run of a model that this program does not have, one that was never trained, and one that cannot be read.
    let copy = |name: &str| {
        fs::create_dir(folder.path().join("runs").join(name)).unwrap();
        for file in ["manifest.json", "config.toml", "metrics.jsonl"] {
            fs::copy(
                folder.path().join("runs/narrow").join(file),
                folder.path().join("runs").join(name).join(file),
            )
            .unwrap();
        }
    };
    ["strange", "empty", "broken", "stopped"].into_iter().for_each(copy);
    let file = |name: &str| folder.path().join("runs").join(name);
    let config = fs::read_to_string(file("narrow/config.toml")).unwrap();
    let strange =
        config.replace("name = \"dango\"", "name = \"telepathy\"").replace("epochs = 1", "epochs = 7");
    fs::write(file("strange/config.toml"), strange).unwrap();
    fs::write(file("empty/metrics.jsonl"), "").unwrap();
    // Stopped in its first epoch: nothing was validated, but there is something to go on from.
    fs::write(file("stopped/metrics.jsonl"), "").unwrap();
    fs::create_dir_all(file("stopped/checkpoints/last-000001")).unwrap();
    fs::write(file("broken/manifest.json"), "{").unwrap();
    let ran = run(folder.path(), &["runs", "runs", "--json", "--html", "runs.html"]);
    assert!(ran.stderr.contains("left out runs/broken"), "{}", ran.stderr);
    let listed = ran.json();
    let of = |key: &str| -> Vec<Value> {
        listed["runs"].as_array().unwrap().iter().map(|run| run[key].clone()).collect()
    };
    assert_eq!(
        of("folder"),
        ["deeper/wide", "empty", "narrow", "other", "solved", "stopped", "strange"]
            .map(|name| format!("runs/{name}"))
    );
    assert_eq!(of("model"), ["dango", "dango", "dango", "dango", "low-rank", "dango", "telepathy"]);
    assert_eq!(of("state"), ["done", "empty", "done", "done", "done", "unfinished", "unfinished"]);
    assert!(listed["runs"][0]["cpu_seconds"].as_f64().unwrap() > 0.0);
    let page = fs::read_to_string(folder.path().join("runs.html")).unwrap();
    assert!(
        page.contains("Validation Pearson") && page.contains("deeper/wide") && page.contains("telepathy")
    );
    let text = run(folder.path(), &["runs", "runs", "--sort", "best", "-q"]).ok().stdout;
    let best: Vec<f64> = text
        .lines()
        .filter_map(|line| line.split(" (epoch").next()?.rsplit(' ').next()?.parse().ok())
        .collect();
    assert!(best.len() == 5 && best.is_sorted_by(|a, b| a >= b), "{text}");
    assert!(text.contains("are not comparable"), "{text}");
    run(folder.path(), &["runs", "nowhere"]).fails(2, &["nowhere is not a folder"]);

    let compared = run(folder.path(), &["compare", "runs/narrow", "runs/deeper/wide", "--json"]).json();
    assert_eq!((&compared["kind"], &compared["comparable"]), (&"trained".into(), &true.into()));
    let keys: Vec<&Value> =
        compared["settings"].as_array().unwrap().iter().map(|setting| &setting["key"]).collect();
    assert_eq!(keys, ["model.width", "seed"]);
    let text = run(folder.path(), &["compare", "runs/narrow", "runs/deeper/wide"]).ok().stdout;
    assert!(
        text.contains("best validation Pearson, by") && text.contains("next: knockout evaluate"),
        "{text}"
    );
    run(folder.path(), &["compare", "runs/narrow", "runs/other"]).fails(7, &["different records"]);
    run(folder.path(), &["compare", "runs/narrow", "runs/other", "--fail-above", "1.1"])
        .fails(2, &["these were trained"]);
}

#[test]
fn a_gene_is_looked_up_and_deleted() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    let demo = run(folder.path(), &["data", "show", "tiny", "--json"]).json();
    let networks = demo["networks"].as_array().unwrap().len();
    let gene = run(folder.path(), &["data", "show", "tiny", "--gene", "ZAL001C", "--json"]).json();
    assert_eq!(gene["networks"].as_array().unwrap().len(), networks);
    let systematic = gene["systematic"].as_str().unwrap();
    let text = run(folder.path(), &["data", "show", "tiny", "--gene", &systematic.to_lowercase()]).ok();
    assert!(text.stdout.contains(systematic) && text.stdout.contains("it is deleted in"), "{}", text.stdout);
    let deleted = run(folder.path(), &["data", "delete", "tiny", systematic, "--json"]).json();
    for (removed, network) in
        deleted["edges"].as_array().unwrap().iter().zip(gene["networks"].as_array().unwrap())
    {
        assert_eq!(
            (&removed[0], &removed[1]),
            (&network["network"], &network["edges"]),
            "what goes is what it has"
        );
    }
    assert_eq!(deleted["reactions_stopped"], gene["reactions_stopped"]);
    run(folder.path(), &["data", "show", "tiny", "--gene", &format!("{systematic}X")])
        .fails(2, &["did you mean", systematic]);
    run(folder.path(), &["data", "delete", "tiny", "telepathy"]).fails(2, &["has no gene \"telepathy\""]);
    run(folder.path(), &["data", "delete", "tiny", systematic, systematic])
        .fails(2, &["cannot delete", "is named twice"]);
}

/// A trace with steps of 100 µs, of which most is one operation.
fn trace(rank: Option<(u32, u32)>, start: u32, step: &str) -> String {
    let job = rank.map_or_else(String::new, |(rank, world)| {
        format!("\"distributedInfo\":{{\"rank\":{rank},\"world_size\":{world}}},")
    });
    let mut events = Vec::new();
    for place in 0..3 {
        let at = start + 100 * place;
        events.push(format!(
            "{{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"{step}{place}\",\"pid\":1,\"tid\":1,\"ts\":{at},\"dur\":100}}"
        ));
        events.push(format!(
            "{{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":1,\"ts\":{},\"dur\":80}}",
            at + 10
        ));
    }
    format!("{{{job}\"traceEvents\":[{}]}}", events.join(","))
}

#[test]
fn traces_of_a_folder_have_a_line_each_and_are_summed_only_as_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let traces = folder.path().join("traces");
    fs::create_dir_all(traces.join("older")).unwrap();
    let write = |name: &str, text: String| fs::write(traces.join(name), text).unwrap();
    write("rank0.json", trace(Some((0, 2)), 0, "ProfilerStep#"));
    write("rank1.json", trace(Some((1, 2)), 50, "ProfilerStep#"));
    write("later.json", trace(Some((1, 2)), 900_000, "ProfilerStep#"));
    write("older/alone.json", trace(None, 0, "ProfilerStep#"));
    write("notes.json", "not a trace".to_owned());
    let ran = run(folder.path(), &["trace", "analyze", "traces", "--json"]);
    assert!(
        ran.stderr.contains("1 JSON file is not a trace and left out; -v explains why"),
        "{}",
        ran.stderr
    );
    let loud = run(folder.path(), &["trace", "analyze", "traces", "-v"]);
    assert!(loud.stderr.contains("left out traces/notes.json"), "{}", loud.stderr);
    let found = ran.json();
    assert_eq!(found["kind"], "overview");
    let lines: Vec<(&str, &Value)> = found["traces"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| (line["file"].as_str().unwrap(), &line["job"]))
        .collect();
    let (one, none) = (Value::from(1), Value::Null);
    assert_eq!(
        lines,
        [
            ("traces/later.json", &none),
            ("traces/older/alone.json", &none),
            ("traces/rank0.json", &one),
            ("traces/rank1.json", &one),
        ]
    );
    let first = &found["traces"][0];
    assert_eq!((&first["bound"]["limit"], &first["steps"]), (&"operations".into(), &3.into()));
    assert_eq!(first["bound"]["operation"][0], "aten::mm");
    let text = run(folder.path(), &["trace", "analyze", "traces", "-q"]).ok().stdout;
    assert!(text.contains("host operations") && text.contains("1, rank 0"), "{text}");
    // Files that belong together are shown together, others never summed.
    let together = run(folder.path(), &["trace", "analyze", "traces/rank0.json", "traces/rank1.json"]).ok();
    assert!(together.stdout.contains("rank 1: a step is bound by host operations"), "{}", together.stdout);
    let apart = run(folder.path(), &["trace", "analyze", "traces/rank0.json", "traces/later.json", "--json"]);
    assert_eq!(apart.json()["kind"], "overview");
    let page = ["trace", "analyze", "traces", "--html", "page.html", "-q"];
    let command = "knockout trace analyze traces/rank0.json traces/rank1.json --html";
    run(folder.path(), &page).fails(2, &["name the files that belong together", command]);
    // A folder of one job, beside what this program wrote, is that job.
    fs::create_dir(folder.path().join("job")).unwrap();
    for (name, rank) in [("rank0.json", 0), ("rank1.json", 1)] {
        fs::write(folder.path().join("job").join(name), trace(Some((rank, 2)), 0, "ProfilerStep#")).unwrap();
    }
    fs::write(folder.path().join("job/profile.json"), "{}").unwrap();
    let job = run(folder.path(), &["trace", "analyze", "job", "--html", "job.html"]).ok();
    assert!(job.stdout.contains("rank 1: a step is bound by host operations"), "{}", job.stdout);
    assert!(folder.path().join("job.html").is_file() && !job.stderr.contains("left out"), "{}", job.stderr);
    fs::create_dir(folder.path().join("nothing")).unwrap();
    run(folder.path(), &["trace", "analyze", "nothing"]).fails(2, &["no traces in nothing"]);

    // A comparison leads with a sentence; per sample, a batch twice as large is no slower.
    write("double.json", trace(None, 0, "ProfilerStep#").replace("\"dur\":100", "\"dur\":99"));
    let pair = ["trace", "compare", "traces/older/alone.json", "traces/double.json"];
    let text = run(folder.path(), &pair).ok().stdout;
    assert!(text.starts_with("A step of b takes 1.0 % less time than one of a (too few steps"), "{text}");
    let samples = [&pair[..], &["--samples-per-step", "10,20", "--json"]].concat();
    let compared = run(folder.path(), &samples).json();
    assert!((compared["rows"][0]["ratio"].as_f64().unwrap() - 0.495).abs() < 1e-9, "{compared}");
    run(folder.path(), &[&pair[..], &["--samples-per-step", "10"]].concat()).fails(2, &["two numbers"]);
    run(folder.path(), &[&pair[..], &["--samples-per-step", "0,1"]].concat())
        .fails(2, &["is not a number of samples"]);
}

#[test]
fn waiting_for_autograd_is_told_from_work() {
    let folder = tempfile::tempdir().unwrap();
    let event = |cat: &str, name: &str, tid: u32, at: u32, dur: u32| {
        format!(
            "{{\"ph\":\"X\",\"cat\":\"{cat}\",\"name\":\"{name}\",\"pid\":1,\"tid\":{tid},\"ts\":{at},\"dur\":{dur}}}"
        )
    };
    let engine = "autograd::engine::evaluate_function: MmBackward0";
    let events = [event("user_annotation", "## backward ##", 1, 0, 100), event("cpu_op", engine, 2, 10, 60)];
    let text = format!("{{\"traceEvents\":[{}]}}", events.join(","));
    fs::write(folder.path().join("trace.json"), text).unwrap();
    let found = run(folder.path(), &["trace", "analyze", "trace.json", "--json"]).json();
    assert_eq!(found["ranks"][0]["autograd_wait_us"], 100.0);
    let text = run(folder.path(), &["trace", "analyze", "trace.json"]).ok().stdout;
    assert!(
        text.contains(
            "backward: 100.000 µs of it are a thread that waits for autograd's threads, 60.000 µs are work"
        ),
        "{text}"
    );
}

#[test]
fn a_long_run_says_how_long_before_it_is_long() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("knockout"))
        .current_dir(folder.path())
        .args(["train", "tiny", "--model", "dango", "--epochs", "1000000", "--out", "run"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let said = lines.by_ref().map(Result::unwrap).find(|line| line.contains(" per epoch on "));
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    lines.for_each(drop);
    assert_eq!(child.wait().unwrap().code(), Some(8));
    let said = said.unwrap();
    assert!(said.starts_with("about ") && said.contains("the run takes about"), "{said}");
}

#[test]
fn commands_that_are_named_can_be_typed_and_large_requests_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    let bench = run(folder.path(), &["data", "bench", "tiny", "--samples", "40", "--threads", "1"]).ok();
    let note = bench.stderr.lines().find(|line| line.starts_with("saved-masks")).unwrap();
    assert!(note.contains("there is no store; `knockout data precompute tiny --masks --samples"), "{note}");
    let stored =
        run(folder.path(), &["data", "precompute", "tiny", "--masks", "--samples", "40"]).ok().stdout;
    assert!(stored.contains("`knockout data bench tiny --processor saved-masks"), "{stored}");
    train(folder.path(), "run", &[]);
    let predict = run(folder.path(), &["predict", "run", "--pairs", "--top", "3", "--out", "hits"]).ok();
    assert!(
        predict.stderr.contains("hits: 19,900 candidates: sets of 2 genes out of 200"),
        "{}",
        predict.stderr
    );
}

#[test]
fn what_cannot_be_solved_leaves_no_run_in_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<String> = (0..12).map(|row| format!("G{}\tH{}\t0.{row}\n", row % 4, row / 4)).collect();
    let rows = rows.concat();
    fs::write(folder.path().join("mini.tsv"), format!("gene_a\tgene_b\tscore\n{rows}KRAS\tkras\t0.1\n"))
        .unwrap();
    let imported = run(folder.path(), &["data", "import", "mini", "--screen", "mini.tsv"]).ok();
    // A gene that is only ever paired with itself is no unknown gene.
    let said = format!("{}{}", imported.stdout, imported.stderr);
    assert!(said.contains("a gene with itself") && !said.contains("genes not in the table"), "{said}");
    run(folder.path(), &["train", "mini", "--out", "run", "split.val=0.01"]).fails(2, &["raise split.val"]);
    assert!(!folder.path().join("run").exists());
    run(folder.path(), &["-q", "train", "mini", "--out", "run", "split.val=0.3"]).ok();
    run(folder.path(), &["train", "mini", "--out", "run", "split.val=0.3"]).fails(2, &["--resume", "--out"]);
}

#[test]
fn a_stack_stands_by_itself_and_explains_what_it_can() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    let solved = run(folder.path(), &["train", "tiny", "--out", "stack"]).ok();
    // The additive ridge is the baseline's, of genes alone; the stack's has query pairs too and another name.
    assert!(solved.stderr.contains("ridge of genes and query pairs, alpha"), "{}", solved.stderr);
    assert!(!solved.stderr.contains("additive ridge"), "{}", solved.stderr);
    let evaluated = run(folder.path(), &["evaluate", "stack", "--json", "--resamples", "50"]).json();
    let rows = evaluated["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "the stack and the additive ridge: {rows:?}");
    let gene = |row: usize| {
        let sets = run(
            folder.path(),
            &[
                "predict",
                "stack",
                "--dataset-part",
                "test",
                "--top",
                "1",
                "--json",
                "-q",
                "--out",
                &format!("hit{row}"),
            ],
        )
        .json();
        sets["top"][0]["genes"][row].as_str().unwrap().to_owned()
    };
    let (a, b) = (gene(0), gene(1));
    let explained = run(folder.path(), &["explain", "stack", &format!("{a},{b}"), "--json", "-q"]).json();
    assert_eq!(explained["not_left_out"], "solved");
    assert_eq!(explained["networks"].as_array().unwrap().len(), 0);
    let text = run(folder.path(), &["explain", "stack", &a, &b]).ok().stdout;
    assert!(text.contains("not left out") && !text.contains("left out one at a time"), "{text}");
    run(folder.path(), &["explain", "stack", &format!("{a}X"), &b]).fails(2, &["did you mean", &a]);
    run(folder.path(), &["predict", "stack", "--with", &a, "--out", "x"])
        .fails(2, &["add --pairs or --triples"]);
    // Who is to blame is who is missing, and who is of another kind.
    run(folder.path(), &["compare", "stack", "nowhere"]).fails(2, &["nowhere does not exist"]);
    fs::create_dir(folder.path().join("empty")).unwrap();
    run(folder.path(), &["compare", "empty", "stack"]).fails(2, &["stack was trained and empty was not"]);
}

#[test]
fn a_run_that_was_stopped_says_so_until_it_is_resumed() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    let short =
        ["--out", "run", "model.width=16", "--batch", "200", "--epochs", "3", "--max-steps", "8", "-q"];
    run(folder.path(), &[&["train", "tiny", "--model", "dango"], &short[..]].concat()).ok();
    let evaluated = run(folder.path(), &["evaluate", "run", "--resamples", "50"]).ok();
    assert!(evaluated.stderr.contains("predicted by state"), "{}", evaluated.stderr);
    run(folder.path(), &["train", "--resume", "run", "--max-steps", "0", "--epochs", "4", "-q"]).ok();
    let listed = run(folder.path(), &["runs", ".", "--json"]).json();
    assert_eq!((&listed["runs"][0]["epochs"], &listed["runs"][0]["epochs_wanted"]), (&4.into(), &4.into()));
}

#[test]
fn a_recipe_finds_files_that_are_gzipped_and_names_all_that_are_missing() {
    let folder = tempfile::tempdir().unwrap();
    let table = "gene_a\tgene_b\tscore\nA1\tB1\t0.5\nA2\tB2\t-0.5\n";
    fs::write(folder.path().join("screen.tsv"), table).unwrap();
    let packed = Command::new("gzip").arg("screen.tsv").current_dir(folder.path()).status();
    assert!(packed.is_ok_and(|status| status.success()), "gzip packs a file");
    run(folder.path(), &["data", "import", "set", "--screen", "screen.tsv"]).ok();
    run(folder.path(), &["data", "import", "other", "--screen", "one.tsv", "--network", "edges:two.tsv"])
        .fails(2, &["no one.tsv", "no two.tsv"]);
}
