//! `knockout train`: what a run leaves, what it prints, and what is refused before it begins.

#![cfg(feature = "lab")]

use crate::support::{Home, signal};
use std::io::{BufRead as _, BufReader};
use std::time::{Duration, Instant};

/// A short training of `tiny`.
const SHORT: &str = "train tiny --model dango model.width=16 --batch 200 --epochs 2";

#[test]
fn a_run_has_all_its_files() {
    let home = Home::with_runs(&["seed-0"]);
    for name in [
        "config.toml",
        "overrides.txt",
        "manifest.json",
        "metrics.jsonl",
        "checkpoints",
        "log.txt",
        "split.parquet",
        "report.html",
    ] {
        assert!(home.exists(&format!("seed-0/{name}")), "{name}");
    }
}

#[test]
fn the_document_is_the_last_line_of_the_metrics() {
    let home = Home::with_tiny();
    let trained = home.json(&format!("{SHORT} --out run --json -q"));
    assert_eq!((trained["step"].as_u64(), trained["epoch"].as_u64()), (Some(16), Some(1)));
    assert!(trained["val"]["pearson"].is_number() && trained["weights_hash"].is_string());
    assert_eq!(home.weights("run"), trained["weights_hash"]);
}

#[test]
fn epochs_are_printed_from_1_and_stored_from_0() {
    let home = Home::with_tiny();
    let parts = ["epoch 1/2: train loss", "interaction ", "reconstruction ", "alpha ", "samples/s"];
    home.ok(&format!("{SHORT} --out run")).warns(&parts).prints(&["epoch 2 step 16"]);
    let lines = home.metrics("run");
    assert_eq!((lines.len(), &lines[1]["epoch"]), (2, &1.into()));
    assert!(home.read("run/log.txt").starts_with("epoch 1 step 8: train loss "));
}

#[test]
fn the_parts_of_the_loss_sum_to_it() {
    let line = &Home::with_runs(&["seed-0"]).metrics("seed-0")[0];
    let (parts, loss) = (&line["loss_parts"], line["train_loss"].as_f64().unwrap());
    let part = |name: &str| parts[name].as_f64().unwrap();
    let alpha = part("alpha");
    let total = alpha * part("reconstruction") + (1.0 - alpha) * part("interaction");
    assert!((total - loss).abs() < 1e-3 * loss.abs(), "{parts} make {loss}");
}

#[test]
fn times_are_in_the_metrics_the_page_and_the_event_file() {
    let home = Home::with_runs(&["seed-0"]);
    let times = &home.metrics("seed-0")[1]["times"];
    for time in ["train_seconds", "validation_seconds", "cpu_seconds", "samples_per_second"] {
        assert!(times[time].as_f64().unwrap() > 0.0, "{time} of {times}");
    }
    let page = home.read("seed-0/report.html");
    for part in ["Time of an epoch", "reconstruction", "additive ridge", "(epoch ", "CPU time"] {
        assert!(page.contains(part), "{part:?} is not in the page");
    }
    let events = home.names("seed-0").into_iter().find(|name| name.starts_with("events.")).unwrap();
    let events = std::fs::read(home.path("seed-0").join(events)).unwrap();
    let events = String::from_utf8_lossy(&events);
    for tag in ["time/samples_per_second", "epoch/reconstruction", "time/validation_seconds"] {
        assert!(events.contains(tag), "{tag}");
    }
}

#[test]
fn a_long_run_estimates_its_time_at_once() {
    let home = Home::with_tiny();
    let mut child = home.start("train tiny --model dango --epochs 1000000 --out run");
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let estimate = lines.by_ref().map(Result::unwrap).find(|line| line.contains(" per epoch on "));
    // The program ends when it has written the rest of its messages.
    let rest = std::thread::spawn(move || lines.for_each(drop));
    signal(child, "-TERM").ends(8);
    rest.join().unwrap();
    let estimate = estimate.unwrap();
    assert!(estimate.starts_with("about ") && estimate.contains("the run takes about"), "{estimate}");
}

#[test]
fn a_signal_saves_and_prints_the_command_that_resumes() {
    let home = Home::with_tiny();
    let child = home.start("train tiny --model dango --out run --epochs 100000 model.width=16 --batch 100");
    let deadline = Instant::now() + Duration::from_mins(1);
    while Instant::now() < deadline
        && std::fs::metadata(home.path("run/metrics.jsonl")).map_or(0, |file| file.len()) == 0
    {
        std::thread::sleep(Duration::from_millis(5));
    }
    signal(child, "-TERM").fails(8, &["knockout train --resume run"]);
    // Nothing is predicted for the page of a run that was stopped: for a large model that takes minutes.
    let page = home.read("run/report.html");
    assert!(page.contains("stopped before its end, after step ") && page.contains("validation Pearson"));
    assert!(!page.contains("Validation part, last state"));
    home.fails("train --resume run --max-time 0s -q", 8, &["--resume run"]);
}

#[test]
fn a_run_that_is_stopped_in_its_first_epoch_states_its_steps_and_their_time() {
    let home = Home::with_tiny();
    let epoch = "train tiny --model dango --epochs 1 --batch 2 model.width=256 --threads 1";
    let stopped =
        home.fails(&format!("{epoch} --out run --max-time 1s"), 8, &["knockout train --resume run"]);
    let newest = home.names("run/checkpoints").pop().unwrap();
    let state = home.document(&format!("run/checkpoints/{newest}/state.json"));
    let steps = state["state"]["place"]["step"].as_u64().unwrap();
    assert!(steps > 0, "{state}");
    assert_eq!(home.metrics("run"), Vec::<serde_json::Value>::new(), "the epoch has not ended");
    let line = stopped.stdout.lines().find(|line| line.starts_with("steps ")).unwrap();
    assert_eq!(line.split_whitespace().last().unwrap(), steps.to_string());
    stopped.prints(&["CPU time"]);
    let run = &home.json("runs run --json")["runs"][0];
    assert_eq!(run["steps"], steps);
    assert!(run["cpu_seconds"].as_f64().unwrap() > 0.0, "{run}");
}

#[test]
fn a_validation_inside_an_epoch_is_not_the_best() {
    let home = Home::with_tiny();
    // Seven steps are an epoch. The rate makes every step better than the one before.
    let ran =
        home.ok("train tiny --model dango --epochs 3 --batch 256 --max-steps 10 model.width=64 --out run");
    let lines = home.metrics("run");
    assert_eq!(lines.iter().map(|line| line["step"].as_u64().unwrap()).collect::<Vec<_>>(), [7, 10]);
    let of_best = |document: &serde_json::Value| document["best_epoch"].clone();
    let run = &home.json("runs run --json")["runs"][0];
    assert_eq!((of_best(run), &run["best_pearson"]), (1.into(), &lines[0]["val"]["pearson"]));
    ran.prints(&["(epoch 1, the best)"]);
    // The state that is packed has its own figure.
    for (state, line) in [("best-pearson", &lines[0]), ("last", &lines[1])] {
        let pack =
            home.json(&format!("-q pack run --data tiny --state {state} --out {state}.knockout --json"));
        assert_eq!(pack["validation_pearson"], line["val"]["pearson"], "{pack}");
    }
}

#[test]
fn a_diverging_run_is_4() {
    let train = "train tiny --model dango -q optimiser.learning_rate=1e30 optimiser.clip_norm=0";
    Home::with_tiny().fails(train, 4, &["diverged", "is not finite"]);
}

#[test]
fn wrong_settings_are_2_and_leave_no_run() {
    let home = Home::with_tiny();
    for (settings, words) in [
        ("optimiser.learning_rte=1", "did you mean \"optimiser.learning_rate\""),
        (r#"'model.networks=[{name="telepathy",lambda=1.0}]'"#, "no network \"telepathy\""),
        ("model.networks=[]", "no network is configured"),
        (r#"'model.networks=[{name="physical",lambda=1.0},{name="physical",lambda=1.0}]'"#, "twice"),
        ("model.heads=3", "model.width"),
        ("split.val=0.0", "val"),
        ("split.fold=five", "0/5"),
        ("split.fold=5/5", "fold 5 of 5"),
        ("split.file=nowhere.parquet", "nowhere.parquet"),
        // Keys of other programs.
        ("lr=0.1", "did you mean \"optimiser.learning_rate\"?"),
        ("batch_size=8", "did you mean \"batch\"?"),
        ("optimizer.lr=0.1", "did you mean \"optimiser.learning_rate\"?"),
        ("optimizer.weight_decay=0", "did you mean \"optimiser.weight_decay\"?"),
        ("+trainer.max_epochs=3", "did you mean \"epochs\"?"),
        ("data_module.num_workers=2", "did you mean \"loader.threads\"?"),
        ("--lr 0.1", "optimiser.learning_rate=VALUE"),
    ] {
        home.fails(&format!("train tiny --model dango {settings}"), 2, &[words]);
    }
    for (settings, words) in [
        ("model.route=rebuilt model.norm=graph", "use node-mask"),
        ("model.route=edge-mask model.self_loops=add", "as-stored"),
        (r#"'model.networks=["physical", "nothing"]'"#, "no network \"nothing\""),
        ("model.local_heads=7", "heads must divide"),
        ("model.dropout=1.0", "less than 1"),
        ("model.rute=rebuilt", "did you mean \"model.route\""),
    ] {
        home.fails(&format!("train tiny --model hetero -q {settings}"), 2, &[words]);
    }
    assert!(!home.exists("runs"));
}

#[test]
fn sizes_that_no_memory_holds_are_2() {
    let home = Home::with_tiny();
    for model in ["dango", "hetero"] {
        for (setting, words) in [
            ("model.width=1000000", ["needs about", "available"]),
            ("model.width=9223372036854775807", ["model.width", "1048576"]),
            ("loader.depth=1000000000", ["loader.depth", "4096"]),
            ("batch=9223372036854775807", ["batch", "2147483647"]),
        ] {
            home.fails(&format!("train tiny --model {model} --max-steps 1 -q {setting}"), 2, &words);
        }
    }
    assert!(!home.exists("runs"));
}

#[test]
fn a_run_is_not_overwritten() {
    let home = Home::with_runs(&["seed-0"]);
    home.fails("train tiny --model dango --out seed-0", 2, &["exists already", "--resume", "--out"]);
}

#[test]
fn what_cannot_be_solved_leaves_no_run() {
    let home = Home::empty();
    let rows: Vec<String> = (0..12).map(|row| format!("G{}\tH{}\t0.{row}\n", row % 4, row / 4)).collect();
    home.write("mini.tsv", format!("gene_a\tgene_b\tscore\n{}", rows.concat()));
    home.ok("-q data import mini --screen mini.tsv");
    home.fails("train mini --out run split.val=0.01", 2, &["raise split.val"]);
    assert!(!home.exists("run"));
    home.ok("-q train mini --out run split.val=0.3");
}

#[test]
fn the_ridge_inside_a_stack_is_not_called_the_additive_ridge() {
    // The baseline of that name has no query pairs.
    let ran =
        Home::with_tiny().ok("train tiny --out stack").warns(&["ridge of genes and query pairs, alpha"]);
    assert!(!ran.stderr.contains("additive ridge"), "{}", ran.stderr);
}

#[test]
fn fast_solves_the_stack_without_trees() {
    let home = Home::with_tiny();
    home.ok("-q train tiny --out whole");
    home.ok("-q train tiny --fast --out fast");
    assert!(home.read("whole/config.toml").contains("\"trees\""));
    assert!(!home.read("fast/config.toml").contains("\"trees\""));
    home.fails("train tiny --model low-rank --fast --out other", 2, &["low-rank has no --fast"]);
    assert!(!home.exists("other"));
}

#[test]
fn an_ensemble_is_runs_of_consecutive_seeds() {
    let home = Home::with_tiny();
    let ran = home.ok(&format!("{SHORT} --out run --seed 4 --ensemble 2"));
    assert!(ran.stdout.contains("knockout evaluate run-4 run-5"), "{}", ran.stdout);
    home.ok(&format!("{SHORT} -q --out alone --seed 5"));
    assert_eq!(home.weights("run-5"), home.weights("alone"));
    assert_ne!(home.weights("run-4"), home.weights("run-5"));
    let rows = home.json("evaluate run-4 run-5 --json --resamples 50")["rows"].clone();
    let names: Vec<_> = rows.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"ensemble"), "{names:?}");
    let again = home.json(&format!("{SHORT} --out run --seed 4 --ensemble 2 --resume-or-start --json"));
    assert_eq!(again["runs"], serde_json::json!(["run-4", "run-5"]));
    home.fails(
        &format!("{SHORT} --out run --seed 3 --ensemble 2"),
        2,
        &["run-4 exists already", "--resume-or-start"],
    );
    assert!(!home.exists("run-3"), "nothing is trained before the conflict is found");
    home.fails(&format!("{SHORT} --ensemble 2 --max-time 9s"), 2, &["cannot be used with"]);
    home.fails("train tiny --ensemble 2 --out stack", 2, &["stack does not depend on the seed"]);
    assert!(!home.exists("stack-0"));
}

#[test]
fn a_run_keeps_a_copy_of_its_split_file() {
    let home = Home::with_tiny();
    home.ok("data split tiny --split pair-disjoint --folds 5 --fold 2 -q --out fold.parquet");
    home.ok(&format!("{SHORT} -q --out file split.file=fold.parquet"));
    home.ok(&format!("{SHORT} -q --out fold split.fold=2/5 --split pair-disjoint"));
    assert_eq!(home.weights("file"), home.weights("fold"), "the same rows give the same weights");
    let config = home.read("file/config.toml");
    assert!(config.contains("fold = \"2/5\"") && config.contains("scheme = \"pair-disjoint\""), "{config}");
    std::fs::remove_file(home.path("fold.parquet")).unwrap();
    home.ok("evaluate file -q --resamples 50");
    let alone = home.json("evaluate --predictions file/predictions-test.parquet --json --resamples 50");
    assert_eq!(alone["rows"][2]["name"], "additive-ridge");
    home.ok("train --resume file --epochs 3 -q");
}

#[test]
fn settings_that_contradict_a_split_file_are_refused() {
    let home = Home::with_tiny();
    home.ok("data split tiny --split pair-disjoint --folds 5 --fold 2 -q --out fold.parquet");
    for (more, words) in [
        ("--split gene-disjoint", "made with split.scheme=pair-disjoint"),
        ("split.fold=1/5", "made with split.fold=2/5, not 1/5"),
    ] {
        home.fails(&format!("train tiny --model dango split.file=fold.parquet {more}"), 2, &[words]);
    }
    home.fails("train tiny --model dango split.file=tiny/samples.parquet", 3, &["split file"]);
}

#[test]
fn the_configuration_of_a_run_trains_the_same_run() {
    let home = Home::with_tiny();
    home.ok(&format!(r#"{SHORT} -q --out first --seed 3 'model.networks=[{{name="physical",lambda=0.5}}]'"#));
    home.ok("train tiny --config first/config.toml --out second -q");
    assert_eq!(home.weights("first"), home.weights("second"));
    assert_eq!(home.read("first/config.toml"), home.read("second/config.toml"));
}

#[test]
fn a_wrong_configuration_file_is_2() {
    let home = Home::with_tiny();
    home.write("dango.toml", "[model]\nname = \"dango\"\n");
    home.write("bad.toml", "batch = \n");
    home.fails("train tiny --model hetero --config dango.toml", 2, &["one of --model dango, not of hetero"]);
    home.fails("train tiny --config nowhere.toml", 2, &["nowhere.toml"]);
    home.fails("train tiny --config bad.toml", 2, &["bad.toml is not TOML"]);
}

#[test]
fn a_model_on_stored_masks_or_indices_becomes_the_same() {
    let home = Home::with_tiny();
    home.ok("-q data precompute tiny --indices");
    home.ok("-q data precompute tiny --masks --out elsewhere");
    let train = |out: &str, keys: &str| {
        home.ok(&format!("train tiny --model dango --max-steps 4 --batch 50 -q --out {out} {keys}"));
        home.weights(out)
    };
    let plain = train("plain", "");
    assert_eq!(train("indices", "loader.processor=saved-indices loader.threads=2"), plain);
    assert_eq!(train("masks", "loader.processor=saved-masks loader.store=elsewhere"), plain);
    // A run may be resumed with another processor.
    home.ok("-q train --resume indices --max-steps 8");
    home.ok("-q train --resume plain --max-steps 8 loader.processor=saved-indices");
    assert_eq!(home.weights("indices"), home.weights("plain"));
}

#[test]
fn networks_are_required_by_models_that_use_them() {
    let home = Home::empty();
    home.write("t.tsv", "gene_a\tgene_b\tscore\nA\tB\t0.1\nA\tC\t0.2\n");
    home.ok("-q data import set --screen t.tsv");
    for model in ["dango", "hetero"] {
        home.fails(&format!("train set --model {model}"), 2, &["no networks", "--network"]);
    }
}

#[test]
fn hetero_trains() {
    let small = "model.width=8 model.gin_hidden=8 model.gin_linears=2 model.layers=1 model.pair_hidden=4 model.local_heads=2";
    let train = format!("train tiny --model hetero --epochs 1 --batch 100 --json -q {small}");
    assert_eq!(Home::with_tiny().json(&train)["step"].as_u64(), Some(16));
}

#[test]
fn verbose_prints_changed_settings() {
    Home::with_tiny()
        .ok("train tiny --model dango --max-steps 1 model.width=32 -v")
        .warns(&["set model.width=32"]);
}
