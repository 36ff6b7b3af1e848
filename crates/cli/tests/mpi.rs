//! Ranks as processes, started by a real launcher: `cargo test -p knockout --features mpi --test mpi`. `KNOCKOUT_MPIRUN` names another
//! launcher than `mpirun`, which must be of the MPI that the program was built with.
#![cfg(feature = "mpi")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Ranks of two tests at once would only wait for each other's cores.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

const HETERO: [&str; 8] = [
    "--model",
    "hetero",
    "--batch",
    "10",
    "model.width=8",
    "model.gin_hidden=8",
    "model.layers=1",
    "model.local_heads=2",
];

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_knockout"))
}

/// A launcher of as many ranks.
fn mpirun(ranks: usize) -> Command {
    let launcher = std::env::var("KNOCKOUT_MPIRUN").unwrap_or_else(|_| "mpirun".to_owned());
    let mut command = Command::new(launcher);
    command.args(["-n", &ranks.to_string()]);
    // Open MPI refuses to run as root, and more ranks than cores, unless told otherwise; others do not know these variables.
    command.envs([
        ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
        ("OMPI_MCA_hwloc_base_binding_policy", "none"),
    ]);
    command
}

fn knockout_on(ranks: usize, home: &Path, args: &[&str]) -> Command {
    let mut command = mpirun(ranks);
    command.arg(env!("CARGO_BIN_EXE_knockout")).args(args).current_dir(home);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let args = ["data", "synth", "tiny", "--preset", "tiny", "-q"];
    assert!(program().args(args).current_dir(home.path()).status().unwrap().success());
    home
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn trained(output: &Output) -> Value {
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output.stdout)))
}

/// Waits, but not for ever.
fn wait(mut child: Child) -> Output {
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > Duration::from_mins(4) {
            child.kill().unwrap();
            panic!("the ranks hang: {}", text(&child.wait_with_output().unwrap().stderr));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().unwrap()
}

/// Process numbers of the ranks of a launcher.
fn ranks_of(launcher: u32) -> Vec<u32> {
    let parents = |pid: u32| -> Option<u32> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    };
    let below = |mut pid: u32| {
        while let Some(parent) = parents(pid) {
            if parent == launcher {
                return true;
            }
            pid = parent;
        }
        false
    };
    let pids = std::fs::read_dir("/proc").unwrap();
    let pids = pids.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let is_rank = |pid: &u32| {
        std::fs::read_link(format!("/proc/{pid}/exe"))
            .is_ok_and(|exe| exe == Path::new(env!("CARGO_BIN_EXE_knockout")))
    };
    let mut pids: Vec<u32> = pids.filter(|pid| is_rank(pid) && below(*pid)).collect();
    pids.sort_unstable();
    pids
}

fn signal(pid: u32, name: &str) {
    Command::new("kill").args([format!("-{name}"), pid.to_string()]).status().unwrap();
}

/// Waits until a run has taken some steps.
fn wait_for_start(folder: &Path) {
    let began = Instant::now();
    while !folder.join("metrics.jsonl").exists() && began.elapsed() < Duration::from_mins(2) {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(400));
}

#[test]
fn the_weights_are_the_same_for_any_number_of_ranks() {
    let _guard = ONE_AT_A_TIME.lock();
    let home = home();
    let hash = |ranks: usize, out: &str, model: &[&str], shards: &str| {
        let mut args = vec!["--json", "-q", "train", "tiny", "--max-steps", "5", "--out", out, shards];
        args.extend(model);
        let command = if ranks == 1 {
            program().args(&args).current_dir(home.path()).output()
        } else {
            knockout_on(ranks, home.path(), &args).output()
        };
        let line = trained(&command.unwrap());
        (line["weights_hash"].clone(), line["val"].clone(), line["train_loss"].clone())
    };
    let dango = ["--model", "dango", "--batch", "101", "model.width=16", "model.heads=2"];
    for (name, model) in [("hetero", &HETERO[..]), ("dango", &dango[..])] {
        for (shards, ranks) in [(4, vec![2, 3, 4]), (6, vec![4])] {
            let key = format!("train.shards={shards}");
            let alone = hash(1, &format!("{name}-{shards}-1"), model, &key);
            for size in ranks {
                let out = format!("{name}-{shards}-{size}");
                assert_eq!(alone, hash(size, &out, model, &key), "{out}");
            }
        }
    }
}

#[test]
fn a_killed_job_goes_on_with_fewer_ranks_to_the_same_weights() {
    let _guard = ONE_AT_A_TIME.lock();
    let home = home();
    let args = |out: &'static str, more: &[&'static str]| {
        let mut args = vec!["--json", "-q", "train", "tiny", "--epochs", "2", "--out", out, "train.shards=4"];
        args.extend(HETERO);
        args.extend(["run.checkpoint_every=0", "split.subset=500"]);
        args.extend(more);
        args
    };
    let whole = trained(&knockout_on(2, home.path(), &args("whole", &[])).output().unwrap());
    let child = knockout_on(4, home.path(), &args("killed", &[])).spawn().unwrap();
    wait_for_start(&home.path().join("killed"));
    let ranks = ranks_of(child.id());
    if let Some(pid) = ranks.last() {
        signal(*pid, "KILL");
    }
    let killed = wait(child);
    assert!(!killed.status.success() || ranks.is_empty(), "a rank was killed: {}", text(&killed.stderr));
    let resumed = knockout_on(3, home.path(), &args("killed", &["--resume-or-start"])).output().unwrap();
    assert_eq!(whole["weights_hash"], trained(&resumed)["weights_hash"]);
}

#[test]
fn a_rank_that_hangs_ends_the_job_and_is_named() {
    let _guard = ONE_AT_A_TIME.lock();
    let home = home();
    let mut args = vec!["-q", "train", "tiny", "--epochs", "1000", "--out", "run", "train.shards=3"];
    args.extend(HETERO);
    let mut command = knockout_on(3, home.path(), &args);
    let child = command.env("KNOCKOUT_RANK_PATIENCE", "2").spawn().unwrap();
    wait_for_start(&home.path().join("run"));
    let ranks = ranks_of(child.id());
    assert_eq!(ranks.len(), 3);
    signal(ranks[1], "STOP");
    let ended = wait(child);
    let said = text(&ended.stderr);
    assert!(said.contains("knockout: rank 0 of 3 on ") && said.contains(", step "), "{said}");
    assert!(said.contains("has not answered for"), "{said}");
    assert_eq!(ended.status.code(), Some(1), "{said}");
}

#[test]
fn a_signal_saves_and_ends_with_8() {
    let _guard = ONE_AT_A_TIME.lock();
    let home = home();
    let mut args = vec!["-q", "train", "tiny", "--epochs", "1000", "--out", "run", "train.shards=2"];
    args.extend(HETERO);
    let child = knockout_on(2, home.path(), &args).spawn().unwrap();
    wait_for_start(&home.path().join("run"));
    let ranks = ranks_of(child.id());
    signal(ranks[1], "USR1");
    let ended = wait(child);
    let said = text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(8), "{said}");
    assert_eq!(said.matches("interrupted and saved").count(), 1, "{said}");
}

#[test]
fn wrong_requests_end_with_their_code_and_name_the_rank() {
    let _guard = ONE_AT_A_TIME.lock();
    let home = home();
    for (args, code, words) in [
        (vec!["train", "tiny", "--model", "dango"], 2, "set train.shards=2 or a multiple of it"),
        (vec!["train", "tiny"], 2, "solved by one process"),
        (vec!["train", "gone", "--model", "dango", "train.shards=2"], 2, "gone"),
        (
            vec![
                "train",
                "tiny",
                "--model",
                "dango",
                "train.shards=2",
                "optimiser.learning_rate=1e30",
                "--epochs",
                "3",
            ],
            4,
            "diverged",
        ),
    ] {
        let ended = wait(knockout_on(2, home.path(), &args).spawn().unwrap());
        let said = text(&ended.stderr);
        assert_eq!(ended.status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains(words), "{said}");
        assert!(said.contains("knockout: rank 0 of 2 on "), "{said}");
    }
}

#[test]
fn processes_that_do_not_know_of_each_other_are_refused() {
    let home = home();
    let lone = program()
        .args(["train", "tiny", "--model", "dango", "train.shards=4"])
        .current_dir(home.path())
        .env("SLURM_STEP_NUM_TASKS", "4")
        .output()
        .unwrap();
    assert_eq!(lone.status.code(), Some(2));
    let said = text(&lone.stderr);
    assert!(said.contains("SLURM_STEP_NUM_TASKS=4") && said.contains("another MPI"), "{said}");
}

#[test]
fn every_rank_leaves_a_trace_and_they_are_one_job() {
    let _guard = ONE_AT_A_TIME.lock();
    let home = home();
    let mut args =
        vec!["--json", "-q", "profile", "tiny", "--steps", "6", "--out", "profile", "train.shards=2"];
    args.extend(HETERO);
    let profile = trained(&knockout_on(2, home.path(), &args).output().unwrap());
    assert_eq!(profile["conditions"]["world"], 2);
    let phases = profile["phases"].as_array().unwrap();
    for name in ["barrier", "exchange"] {
        assert!(phases.iter().any(|phase| phase["name"] == name && phase["wall_s"].as_f64().unwrap() > 0.0));
    }
    let traces = ["profile/trace.rank0.json.gz", "profile/trace.rank1.json.gz"];
    let analysed =
        program().args(["trace", "analyze"]).args(traces).current_dir(home.path()).output().unwrap();
    let said = text(&analysed.stdout);
    assert!(analysed.status.success() && said.contains("rank"), "{said}");
}
