//! `--ranks`: processes of one machine share every step, compute what one process computes, and end together.

#![cfg(all(feature = "lab", target_os = "linux"))]

use crate::support::{Home, Ran, signal};
use std::fs;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

const HETERO: &str =
    "--model hetero --batch 10 model.width=8 model.gin_hidden=8 model.layers=1 model.local_heads=2";

/// A run that no test waits for.
const LONG: &str = "train tiny --epochs 100000 --out run --ranks 3 -q";

/// Returns the processes that a process started.
fn started_by(parent: u32) -> Vec<u32> {
    let parent_of = |pid: u32| -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    };
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut pids: Vec<u32> = pids.filter(|pid| parent_of(*pid) == Some(parent)).collect();
    pids.sort_unstable();
    pids
}

fn is_running(pid: u32) -> bool {
    // A process that ended and was not waited for has no command line.
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|words| !words.is_empty())
}

/// Waits for something that must happen soon.
fn wait_until(what: &str, mut happens: impl FnMut() -> bool) {
    let began = Instant::now();
    while !happens() {
        assert!(began.elapsed() < Duration::from_mins(2), "{what} did not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Starts a long run of three ranks; returns it with the other two once it has taken a step.
fn long_run(home: &Home) -> (Child, Vec<u32>) {
    let child = home.start(&format!("{LONG} {HETERO} run.checkpoint_every=0"));
    wait_until("the first epoch", || {
        fs::read(home.path("run/metrics.jsonl")).is_ok_and(|bytes| !bytes.is_empty())
    });
    let others = started_by(child.id());
    assert_eq!(others.len(), 2);
    (child, others)
}

fn kill(pid: u32, name: &str) {
    assert!(Command::new("kill").args([name, &pid.to_string()]).status().unwrap().success());
}

#[test]
fn the_weights_are_those_of_one_process() {
    let home = Home::with_tiny();
    let dango = "--model dango --batch 101 model.width=16 model.heads=2";
    for (name, model) in [("hetero", HETERO), ("dango", dango)] {
        let hash = |ranks: usize| {
            let out = format!("{name}-{ranks}");
            let found = home.json(&format!(
                "train tiny {model} --max-steps 4 --ranks {ranks} --out {out} --json -q train.shards=4"
            ));
            ["weights_hash", "val", "train_loss"].map(|key| found[key].clone())
        };
        let alone = hash(1);
        assert!(alone[0].is_string());
        for ranks in [2, 3, 4] {
            assert_eq!(hash(ranks), alone, "{name} on {ranks} ranks");
        }
    }
}

#[test]
fn a_run_gets_a_shard_for_every_rank_and_continues_on_another_number_of_ranks() {
    let home = Home::with_tiny();
    let train = format!("train tiny {HETERO} --out run --max-steps 2");
    home.ok(&format!("{train} --ranks 2")).warns(&["train.shards=2", "2 ranks on 1 machine(s)"]);
    assert!(home.read("run/config.toml").contains("shards = 2"));
    let resumed = home.json("train --resume run --max-steps 4 --json -q");
    home.ok(&format!("{train} --ranks 2 -q --max-steps 4")
        .replace("--max-steps 2 ", "")
        .replace("run", "other"));
    assert_eq!(resumed["weights_hash"], home.weights("other"));
    home.fails("train --resume run --max-steps 6 --ranks 3", 2, &["3 ranks share the work of 2 shard(s)"]);
}

#[test]
fn wrong_numbers_of_ranks_are_refused() {
    let home = Home::with_tiny();
    for (line, words) in [
        ("train tiny --model dango --ranks 0", "0 ranks cannot be started on one machine: take 1 to 64"),
        ("train tiny --model dango --ranks 65", "65 ranks cannot be started on one machine"),
        ("train tiny --model dango --ranks 4 train.shards=2", "4 ranks share the work of 2 shard(s)"),
        ("train tiny --model stack --ranks 2", "solved by one process"),
        ("train nowhere --model dango --ranks 2", "nowhere"),
        ("experiment tiny --ranks 0 --out e", "--ranks"),
        ("experiment tiny --ranks 2,2 --out e", "--ranks names 2 twice"),
        ("experiment tiny --ranks 1,65 --modes data --models dango --out e", "65 ranks cannot be started"),
    ] {
        let failed = home.fails(line, 2, &[words]);
        assert_eq!(failed.stderr.matches("knockout: ").count().max(1), 1, "{line}: {}", failed.stderr);
    }
    let launched = home.run_with("train tiny --model dango --ranks 2", ("OMPI_COMM_WORLD_SIZE", "2"));
    launched.fails(2, &["leave out the launcher, or --ranks"]);
    let forged = home.run_with("train tiny --model dango", ("KNOCKOUT_LOCAL_RANK", "one"));
    forged.fails(2, &["KNOCKOUT_LOCAL_RANK=one is not a rank"]);
}

#[test]
fn a_rank_that_is_killed_ends_the_others_and_is_named() {
    let home = Home::with_tiny();
    let (child, others) = long_run(&home);
    kill(others[1], "-KILL");
    let ended = Ran::new(LONG, child.wait_with_output().unwrap());
    ended.fails(1, &["knockout: rank 2 of 3 was killed by signal 9"]);
    wait_until("the end of the other rank", || !is_running(others[0]));
}

#[test]
fn no_rank_outlives_the_first_one() {
    let home = Home::with_tiny();
    let (child, others) = long_run(&home);
    signal(child, "-KILL");
    wait_until("the end of all ranks", || others.iter().all(|pid| !is_running(*pid)));
}

#[test]
fn an_interrupted_run_is_saved_by_the_first_rank() {
    let home = Home::with_tiny();
    let (child, others) = long_run(&home);
    // Any rank may receive it.
    kill(others[0], "-USR1");
    let ended = Ran::new(LONG, child.wait_with_output().unwrap()).fails(8, &["interrupted and saved"]);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    wait_until("the end of all ranks", || others.iter().all(|pid| !is_running(*pid)));
}

#[test]
fn a_rank_that_panics_ends_the_others_and_is_named() {
    let home = Home::with_tiny();
    let ended = home.run_with(&format!("{LONG} {HETERO}"), ("KNOCKOUT_TEST_PANIC", "1:3"));
    ended.ends(1).warns(&["knockout: rank 1 of 3 on this machine, step 3: ", "a test requested it"]);
}

#[test]
fn a_rank_that_hangs_ends_the_others_and_is_named() {
    let home = Home::with_tiny();
    let mut command = home.command(&format!("{LONG} {HETERO} run.checkpoint_every=0"));
    command.env("KNOCKOUT_RANK_PATIENCE", "2").stderr(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    wait_until("the first epoch", || {
        fs::read(home.path("run/metrics.jsonl")).is_ok_and(|bytes| !bytes.is_empty())
    });
    let others = started_by(child.id());
    kill(others[0], "-STOP");
    let ended = Ran::new(LONG, child.wait_with_output().unwrap());
    ended.fails(1, &["knockout: rank 0 of 3 on this machine", "rank 1 on this machine has not answered"]);
    wait_until("the end of all ranks", || others.iter().all(|pid| !is_running(*pid)));
}

#[test]
fn every_rank_leaves_a_trace_and_a_folder_of_them_is_a_job() {
    let home = Home::with_tiny();
    let found = home.json(&format!("profile tiny {HETERO} --steps 6 --ranks 2 --out profile --json -q"));
    assert_eq!(found["conditions"]["world"], 2);
    let phases = found["phases"].as_array().unwrap();
    for name in ["barrier", "exchange"] {
        assert!(phases.iter().any(|phase| phase["name"] == name && phase["wall_s"].as_f64().unwrap() > 0.0));
    }
    let folder = home.json("trace analyze profile --json");
    let files = ["profile/trace.rank0.json.gz", "profile/trace.rank1.json.gz"];
    assert_eq!(folder, home.json(&format!("trace analyze {} --json", files.join(" "))));
    let ranks: Vec<u64> =
        folder["ranks"].as_array().unwrap().iter().map(|rank| rank["rank"].as_u64().unwrap()).collect();
    assert_eq!(ranks, [0, 1]);
}

#[test]
fn an_experiment_compares_numbers_of_ranks() {
    let home = Home::with_tiny();
    let experiment = "experiment tiny --models dango --steps 2 --batch 20 model.width=16 -q --json";
    let found = home.json(&format!("{experiment} --modes data,full --rounds 3 --ranks 1,2 --out e"));
    assert_eq!(found["worlds"], serde_json::json!([1, 2]));
    let cells = found["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 4);
    for cell in cells {
        assert_eq!(cell["rounds"].as_array().unwrap().len(), 3);
        assert_eq!(cell["profile"]["conditions"]["settings"]["train.shards"], "2");
        assert_eq!(cell["profile"]["per_step"]["samples"], serde_json::json!([20, 20, 20, 20, 20, 20]));
    }
    let rows = found["ranks"][1]["rows"].as_array().unwrap();
    assert!(rows[1]["exchange_share"].as_f64().unwrap() > 0.0);
    assert!(home.exists("e/dango-full-2-ranks/profile.json") && !home.exists("e/rounds"));
    // A time that no round fits into.
    home.fails(
        &format!("{experiment} --ranks 1,2 --max-time 0.000001 --out f"),
        2,
        &["not one round was finished"],
    );
}
