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
        for shards in [4, 6] {
            let key = format!("train.shards={shards}");
            let alone = hash(1, &format!("{name}-{shards}-1"), model, &key);
            for size in [2, 3, 4] {
                let out = format!("{name}-{shards}-{size}");
                assert_eq!(alone, hash(size, &out, model, &key), "{out}");
            }
        }
    }
}

/// Random numbers of an index: the same ones in every run of the test.
fn random(index: u64) -> u64 {
    let mut bits = index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Waits for all ranks of a launcher to be there, and says which.
fn wait_for_ranks(launcher: u32, size: usize) -> Vec<u32> {
    let began = Instant::now();
    loop {
        let ranks = ranks_of(launcher);
        if ranks.len() == size || began.elapsed() > Duration::from_mins(1) {
            return ranks;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Kills once, or as often as `KNOCKOUT_KILLS` says: `kill -9` of any rank at any instant of the run.
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
    let figures = |output: &Output| {
        let line = trained(output);
        ["weights_hash", "val", "train_loss", "step"].map(|key| line[key].clone())
    };
    let child = knockout_on(4, home.path(), &args("whole", &[])).spawn().unwrap();
    wait_for_ranks(child.id(), 4);
    let began = Instant::now();
    let whole = figures(&wait(child));
    let length = began.elapsed();
    let wanted = std::env::var("KNOCKOUT_KILLS").map_or(1, |text| text.parse().unwrap());
    let (mut kills, mut tries) = (0, 0);
    while kills < wanted {
        let rest = random(tries);
        tries += 1;
        let child = knockout_on(4, home.path(), &args("killed", &[])).spawn().unwrap();
        let ranks = wait_for_ranks(child.id(), 4);
        let instant = length.mul_f64((rest % 1000) as f64 / 1000.0);
        std::thread::sleep(instant);
        // Those that are still there: a run may have been quicker than the first.
        let alive = ranks_of(child.id()).len() == ranks.len();
        if alive {
            signal(ranks[(rest >> 32) as usize % ranks.len()], "KILL");
        }
        let killed_at = Instant::now();
        let killed = wait(child);
        assert!(killed_at.elapsed() < Duration::from_secs(30), "try {tries}: the others went on");
        if alive && !killed.status.success() {
            let resumed =
                knockout_on(2, home.path(), &args("killed", &["--resume-or-start"])).output().unwrap();
            assert_eq!(whole, figures(&resumed), "try {tries}, killed after {instant:?}");
            kills += 1;
        }
        std::fs::remove_dir_all(home.path().join("killed")).ok();
        assert!(tries < 20 + 4 * wanted, "{kills} kills in {tries} tries");
    }
    println!("{kills} kills in {tries} tries, at random instants of {length:?}");
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
fn a_rank_that_panics_ends_the_job_and_is_named() {
    let _guard = ONE_AT_A_TIME.lock();
    let home = home();
    let mut args = vec!["-q", "train", "tiny", "--epochs", "1000", "--out", "run", "train.shards=3"];
    args.extend(HETERO);
    let began = Instant::now();
    let ended = wait(knockout_on(3, home.path(), &args).env("KNOCKOUT_TEST_PANIC", "1:3").spawn().unwrap());
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    let said = text(&ended.stderr);
    assert!(said.contains("knockout: rank 1 of 3 on ") && said.contains(", step 3: "), "{said}");
    assert!(said.contains("a test requested it") && said.contains("please report it"), "{said}");
    assert_eq!(ended.status.code(), Some(1), "{said}");
}

/// Ranks of which the second reads another dataset than the first.
fn on_unlike_data(home: &Path, other: &str) -> Output {
    let mut command = mpirun(1);
    let train = |data: &str| {
        let args = ["-q", "train", data, "--out", "run", "--epochs", "1000", "train.shards=2"];
        let args = args.into_iter().chain(HETERO).map(str::to_owned);
        [env!("CARGO_BIN_EXE_knockout").to_owned()].into_iter().chain(args).collect::<Vec<_>>()
    };
    command.args(train("tiny")).args([":", "-n", "1"]).args(train(other)).current_dir(home);
    wait(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

#[test]
fn a_rank_that_errs_ends_the_job_and_is_named() {
    let _guard = ONE_AT_A_TIME.lock();
    let home = home();
    let copy = Command::new("cp").args(["-r", "tiny", "damaged"]).current_dir(home.path()).status().unwrap();
    assert!(copy.success());
    let samples = home.path().join("damaged/samples.parquet");
    let mut bytes = std::fs::read(&samples).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    std::fs::write(&samples, bytes).unwrap();
    let synth = ["data", "synth", "other", "--preset", "tiny", "--seed", "9", "-q"];
    assert!(program().args(synth).current_dir(home.path()).status().unwrap().success());
    for (data, rank, code, words) in [
        ("damaged", "rank 1 of 2 on ", 3, "samples.parquet"),
        ("other", "rank 0 of 2 on ", 2, "another dataset"),
    ] {
        let began = Instant::now();
        let ended = on_unlike_data(home.path(), data);
        assert!(began.elapsed() < Duration::from_secs(30), "{data}: {:?}", began.elapsed());
        let said = text(&ended.stderr);
        assert!(said.contains(&format!("knockout: {rank}")) && said.contains(words), "{data}: {said}");
        assert_eq!(ended.status.code(), Some(code), "{data}: {said}");
    }
}

#[test]
fn threads_that_the_launcher_bound_to_one_core_are_warned_of() {
    let _guard = ONE_AT_A_TIME.lock();
    if std::thread::available_parallelism().unwrap().get() < 2 {
        return;
    }
    let home = home();
    let mut args =
        vec!["--threads", "2", "train", "tiny", "--max-steps", "1", "--out", "run", "train.shards=2"];
    args.extend(HETERO);
    let mut command = knockout_on(2, home.path(), &args);
    command.env("OMPI_MCA_hwloc_base_binding_policy", "core");
    let ended = wait(command.spawn().unwrap());
    let said = text(&ended.stderr);
    assert!(ended.status.success(), "{said}");
    let is_warned = said.contains("cores, which its 2 threads share; add --bind-to none to mpirun");
    // MPICH does not read Open MPI's variable, and binds nothing.
    assert_eq!(is_warned, said.contains("2 thread(s) each, bound to 1 of "), "{said}");
    assert!(is_warned || std::env::var_os("KNOCKOUT_MPIRUN").is_some(), "{said}");
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

#[test]
fn an_experiment_runs_over_ranks() {
    let _guard = ONE_AT_A_TIME.lock();
    let home = home();
    let args = [
        "--json",
        "-q",
        "experiment",
        "tiny",
        "--models",
        "dango",
        "--rounds",
        "3",
        "--steps",
        "2",
        "--batch",
        "20",
        "--out",
        "e",
        "train.shards=2",
        "model.width=16",
    ];
    let found = trained(&knockout_on(2, home.path(), &args).output().unwrap());
    let cells = found["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 5);
    for cell in cells {
        assert_eq!(cell["world"], 2);
        let ran = cell["ran"].to_string();
        assert!(ran.contains("barrier"), "{ran}");
        assert_eq!(ran.contains("exchange"), ["backward", "full"].contains(&cell["mode"].as_str().unwrap()));
    }
    for rank in 0..2 {
        assert!(home.path().join(format!("e/dango-full-recorded/trace.rank{rank}.json.gz")).exists());
    }
}

#[test]
fn one_command_compares_several_numbers_of_ranks() {
    let _guard = ONE_AT_A_TIME.lock();
    let home = home();
    let launcher = std::env::var("KNOCKOUT_MPIRUN").unwrap_or_else(|_| "mpirun".to_owned());
    let command = |more: &[&str]| {
        let mut command = program();
        command.args(["--json", "-q", "experiment", "tiny", "--models", "dango,hetero", "--modes", "data"]);
        command.args(["--steps", "2", "--batch", "20", "--rounds", "3", "--launcher", &launcher]).args(more);
        command.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
        command.current_dir(home.path()).output().unwrap()
    };
    let found = trained(&command(&["--ranks", "1,2,4", "--out", "e"]));
    assert_eq!(found["worlds"], serde_json::json!([1, 2, 4]));
    let names: Vec<&str> =
        found["cells"].as_array().unwrap().iter().map(|cell| cell["name"].as_str().unwrap()).collect();
    assert_eq!(names[..3], ["dango data, 1 rank", "dango data, 2 ranks", "dango data, 4 ranks"]);
    assert_eq!(names.len(), 6);
    for cell in found["cells"].as_array().unwrap() {
        assert_eq!(cell["rounds"].as_array().unwrap().len(), 3);
        assert_eq!(cell["profile"]["conditions"]["settings"]["train.shards"], "4");
        assert_eq!(
            cell["profile"]["conditions"]["threads"],
            found["cells"][0]["profile"]["conditions"]["threads"]
        );
        assert_eq!(cell["profile"]["per_step"]["samples"], serde_json::json!([20, 20, 20, 20, 20, 20]));
    }
    let rows = found["ranks"][1]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    assert!(rows[2]["barrier_share"].as_f64().unwrap() > 0.0 && rows[2]["speedup"]["low"].is_number());
    let report = std::fs::read_to_string(home.path().join("e/report.txt")).unwrap();
    for part in [
        "RANKS",
        "DATA: data only",
        "hetero data, 4 ranks / dango data, 4 ranks",
        "interleaved, each restarted in",
    ] {
        assert!(report.contains(part), "{part:?} is not in\n{report}");
    }
    assert!(home.path().join("e/hetero-data-4-ranks/profile.json").exists());
    assert!(!home.path().join("e/rounds").exists());
    let twice = command(&["--ranks", "2,2", "--out", "f"]);
    assert_eq!(twice.status.code(), Some(2));
    assert!(text(&twice.stderr).contains("--ranks names 2 twice"));
    let absent = program()
        .args(["experiment", "tiny", "--models", "dango", "--ranks", "2", "--launcher", "no-such-launcher"])
        .current_dir(home.path())
        .output()
        .unwrap();
    assert_eq!(absent.status.code(), Some(2));
    assert!(text(&absent.stderr).contains("name its launcher with --launcher"));
}
