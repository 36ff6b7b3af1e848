//! Folders that come from somebody else: nothing in them leads elsewhere or is waited for, and edited figures are reported as damage.

#![cfg(all(feature = "lab", unix))]

use crate::support::run_in as run;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

const DANGO: [&str; 8] = ["-q", "train", "tiny", "--model", "dango", "model.width=8", "--batch", "200"];
const SWEEP: [&str; 10] =
    ["sweep", "tiny", "--model", "dango", "model.width=4", "epochs=1", "--budget", "1s", "--out", "out"];

fn tiny(folder: &Path) {
    run(folder, &["-q", "data", "synth", "tiny", "--preset", "tiny"]).ok();
}

fn trained(folder: &Path) {
    tiny(folder);
    run(folder, &[&DANGO[..], &["--epochs", "1", "--out", "run"]].concat()).ok();
}

/// Replaces a text in a file.
fn edit(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{from} in {}: {text}", path.display());
    fs::write(path, text.replace(from, to)).unwrap();
}

#[test]
fn nothing_is_read_through_links() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    trained(folder);
    let (evaluate, resume) = (["-q", "evaluate", "run"], ["-q", "train", "--resume", "run"]);
    let (show, verify) = (["-q", "data", "show", "tiny"], ["-q", "data", "verify", "tiny"]);
    let cases: [(&str, &[&str]); 8] = [
        ("tiny/genes.parquet", &show),
        ("tiny/dataset.toml", &verify),
        ("tiny/networks", &show),
        ("run/manifest.json", &evaluate),
        ("run/config.toml", &evaluate),
        ("run/metrics.jsonl", &evaluate),
        ("run/checkpoints", &evaluate),
        ("run/checkpoints/last-000001", &resume),
    ];
    for (name, command) in cases {
        let (path, moved) = (folder.join(name), folder.join("moved"));
        fs::rename(&path, &moved).unwrap();
        symlink(&moved, &path).unwrap();
        run(folder, command).fails(3, &[&format!("{name} is a symbolic link")]);
        fs::remove_file(&path).unwrap();
        fs::rename(&moved, &path).unwrap();
    }
    run(folder, &evaluate).ok();
}

#[test]
fn special_files_end_a_command_at_once() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    trained(folder);
    let evaluate = ["-q", "evaluate", "run"];
    let cases: [(&str, &[&str]); 5] = [
        ("tiny/genes.parquet", &["-q", "data", "show", "tiny"]),
        ("tiny/samples.parquet", &["-q", "data", "verify", "tiny"]),
        ("run/manifest.json", &["-q", "train", "--resume", "run"]),
        ("run/metrics.jsonl", &evaluate),
        ("run/split.parquet", &evaluate),
    ];
    for (name, command) in cases {
        let (path, moved) = (folder.join(name), folder.join("moved"));
        fs::rename(&path, &moved).unwrap();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let ran = run(folder, command);
        let shown = format!("{}{}", ran.stdout, ran.stderr);
        assert!(shown.contains(&format!("{name} is a device, a pipe or a socket")), "{name}: {shown}");
        ran.fails(3, &[]);
        fs::remove_file(&path).unwrap();
        fs::rename(&moved, &path).unwrap();
    }
}

#[test]
fn a_link_below_a_run_is_not_copied_by_building_on_it() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    tiny(folder);
    run(folder, &["-q", "train", "tiny", "--model", "low-rank", "--out", "base"]).ok();
    fs::write(folder.join("private"), "secret").unwrap();
    fs::create_dir(folder.join("base/from")).unwrap();
    symlink(folder.join("private"), folder.join("base/from/notes")).unwrap();
    run(folder, &[&DANGO[..], &["--on-residuals-of", "base", "--max-steps", "1", "--out", "run"]].concat())
        .fails(3, &["base/from/notes is a symbolic link"]);
    assert!(!folder.join("run").exists());
}

#[test]
fn a_sweep_creates_no_run_outside_its_folder() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    tiny(folder);
    run(folder, &SWEEP).ok();
    let path = folder.join("out/sweep.json");
    let sealed = fs::read_to_string(&path).unwrap();
    for elsewhere in ["../outside/evil".to_owned(), folder.join("outside/evil").display().to_string()] {
        fs::write(&path, &sealed).unwrap();
        edit(&path, "\"setting-000\"", &format!("{elsewhere:?}"));
        run(folder, &SWEEP).fails(3, &["sweep.json is damaged", "does not match its own checksum"]);
        // Without the seal, as earlier versions wrote it.
        let text = fs::read_to_string(&path).unwrap();
        let without = text.split(",\n  \"checksum\"").next().unwrap();
        fs::write(&path, format!("{without}\n}}\n")).unwrap();
        run(folder, &SWEEP).fails(3, &["sweep.json", "a run is in", "instead of \"setting-000\""]);
        assert!(!folder.join("outside").exists());
    }
    // The same figures without a seal are printed and marked.
    fs::write(&path, format!("{}\n}}\n", sealed.split(",\n  \"checksum\"").next().unwrap())).unwrap();
    run(folder, &SWEEP).ok().prints(&["unsealed", "sweep.json"]);
}

#[test]
fn edited_figures_are_damage() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    trained(folder);
    // Metrics.
    let metrics = folder.join("run/metrics.jsonl");
    let whole = fs::read_to_string(&metrics).unwrap();
    edit(&metrics, "\"pearson\":", "\"pearson\":0.999,\"was\":");
    run(folder, &["evaluate", "run"]).fails(3, &["run/metrics.jsonl", "does not match metrics.seal"]);
    run(folder, &["compare", "run", "run"]).fails(3, &["run/metrics.jsonl"]);
    let listed = run(folder, &["runs", ".", "--json"]).json();
    assert_eq!(listed["runs"].as_array().unwrap().len(), 0);
    assert!(listed["unreadable"][0]["why"].as_str().unwrap().contains("metrics.jsonl"), "{listed}");
    fs::write(&metrics, whole).unwrap();
    // Cells of a benchmark.
    let benchmark = [
        "-q",
        "benchmark",
        "tiny",
        "--split",
        "random",
        "--models",
        "additive-ridge",
        "--resamples",
        "20",
        "--out",
        "out",
    ];
    let table = run(folder, &[&benchmark[..], &["--json"]].concat()).json();
    let cell = folder.join("out/tiny/random-0/additive-ridge.json");
    let whole = fs::read_to_string(&cell).unwrap();
    edit(&cell, "\"pearson\": ", "\"pearson\": 0.999, \"was\": ");
    run(folder, &benchmark).fails(3, &["random-0/additive-ridge.json is damaged"]);
    fs::write(&cell, whole.replace("\"checksum\"", "\"sum\"")).unwrap();
    run(folder, &benchmark).fails(3, &["random-0/additive-ridge.json is damaged", "was renamed"]);
    let unsealed = whole.split(",\n  \"checksum\"").next().unwrap();
    fs::write(&cell, format!("{unsealed}\n}}\n")).unwrap();
    run(folder, &benchmark).fails(3, &["random-0/additive-ridge.json", "it lost its checksum"]);
    fs::write(&cell, &whole).unwrap();
    let predictions = cell.with_extension("parquet");
    let bytes = fs::read(&predictions).unwrap();
    fs::write(&predictions, [&bytes[..], b"x"].concat()).unwrap();
    run(folder, &benchmark).fails(3, &["random-0/additive-ridge.parquet", "does not match its checksum"]);
    fs::write(&predictions, bytes).unwrap();
    assert_eq!(run(folder, &[&benchmark[..], &["--json"]].concat()).json(), table);
    // A cell of an earlier version has no checksum, of its predictions neither: it is used and marked.
    let earlier = unsealed.split(",\n  \"predictions_blake3\"").next().unwrap();
    fs::write(&cell, format!("{earlier}\n}}\n")).unwrap();
    let table = run(folder, &[&benchmark[..], &["--json"]].concat()).json();
    assert_eq!(table["boards"][0]["rows"][0]["splits"][0]["unsealed"], true, "{table}");
    run(folder, &benchmark).ok().prints(&["unsealed", "additive-ridge on tiny, random-0"]);
    assert!(fs::read_to_string(folder.join("out/table.md")).unwrap().contains("unsealed"));
}

#[test]
fn a_run_without_a_seal_is_marked() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    trained(folder);
    let runs = || run(folder, &["runs", ".", "--json"]).json()["runs"][0].clone();
    assert_eq!(runs().get("unsealed"), None);
    fs::remove_file(folder.join("run/metrics.seal")).unwrap();
    assert_eq!(runs()["unsealed"], true);
    run(folder, &["runs", "."]).ok().prints(&["unsealed"]);
    run(folder, &["compare", "run", "run"]).ok().prints(&["unsealed"]);
    let ran = run(folder, &["evaluate", "run"]).ok();
    assert!(ran.stderr.contains("run is unsealed"), "{}", ran.stderr);
    // Resuming verifies the lines with the checkpoint and seals them again.
    run(folder, &["-q", "train", "--resume", "run", "--epochs", "2"]).ok();
    assert_eq!(runs().get("unsealed"), None);
}

#[test]
fn a_folder_that_only_looks_left_over_is_kept() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    let (backup, left) =
        (folder.join(".tiny.partial-mybackup"), folder.join(".tiny.partial-1-0-0123456789abcdef"));
    for path in [&backup, &left] {
        fs::create_dir(path).unwrap();
        fs::write(path.join("notes"), "precious").unwrap();
    }
    tiny(folder);
    assert!(backup.join("notes").exists() && !left.exists());
}

#[test]
fn a_line_added_to_the_metrics_is_reported() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    trained(folder);
    let metrics = folder.join("run/metrics.jsonl");
    let whole = fs::read_to_string(&metrics).unwrap();
    let line =
        whole.replace("\"epoch\":0", "\"epoch\":1").replace("\"pearson\":", "\"pearson\":0.999,\"was\":");
    fs::write(&metrics, format!("{whole}{line}")).unwrap();
    let listed = run(folder, &["runs", ".", "--json"]).json();
    assert_eq!(
        (&listed["runs"][0]["unsealed_line"], &listed["runs"][0]["epochs"]),
        (&true.into(), &1.into())
    );
    run(folder, &["evaluate", "run"]).ok().warns(&["run: the last line of metrics.jsonl is not sealed"]);
    // No kill leaves two.
    fs::write(&metrics, format!("{whole}{line}{line}")).unwrap();
    run(folder, &["evaluate", "run"]).fails(3, &["run/metrics.jsonl", "it has more lines than metrics.seal"]);
}

#[test]
fn an_edited_block_of_predictions_is_damage() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    trained(folder);
    let predict =
        ["-q", "predict", "run", "--pairs", "--genes", "all", "--full", "--top", "3", "--out", "hits"];
    let hits = run(folder, &[&predict[..], &["--json"]].concat()).json();
    assert_eq!(hits.get("unsealed"), None);
    let block = folder.join("hits/predictions/block-000000000.parquet");
    let mut bytes = fs::read(&block).unwrap();
    // A bit of a value, which every decoder accepts.
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&block, bytes).unwrap();
    run(folder, &predict).fails(3, &["block-000000000.parquet is damaged"]);
}

#[test]
fn a_run_that_may_only_be_read_is_evaluated() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    trained(folder);
    let modes = |mode: u32| {
        for path in [folder.to_owned(), folder.join("run")] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    modes(0o555);
    let program = assert_cmd::cargo::cargo_bin!("knockout");
    // Permissions do not hold root back: it becomes somebody else, who must reach the program too.
    let is_root =
        fs::metadata("/proc/self").is_ok_and(|found| std::os::unix::fs::MetadataExt::uid(&found) == 0);
    let copied = folder.join("../knockout-of-everybody");
    let mut command = if is_root {
        fs::copy(program, &copied).unwrap();
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&copied);
        command
    } else {
        Command::new(program)
    };
    let output = command.current_dir(folder).args(["evaluate", "run", "--resamples", "10"]).output();
    fs::remove_file(&copied).ok();
    modes(0o755);
    let ran = crate::support::Ran::new("evaluate run", output.unwrap());
    ran.ok().warns(&["the predictions are not kept", "Permission denied"]).prints(&["Pearson", "run"]);
}

#[test]
fn the_instruction_set_of_a_solved_run_is_the_one_that_was_used() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    tiny(folder);
    let instructions = |isa: Option<&str>, out: &str| {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("knockout"));
        command.current_dir(folder).args(["-q", "train", "tiny", "--model", "low-rank", "--out", out]);
        isa.map(|isa| command.env("KNOCKOUT_ISA", isa));
        assert!(command.status().unwrap().success());
        let text = fs::read_to_string(folder.join(out).join("manifest.json")).unwrap();
        let manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
        manifest["conditions"]["instructions"].clone()
    };
    assert_eq!(instructions(Some("portable"), "a"), instructions(None, "b"));
}

#[test]
fn a_folder_of_traces_is_not_left_through_links_and_nothing_in_it_is_waited_for() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    fs::create_dir(folder.join("traces")).unwrap();
    fs::write(folder.join("private.json"), "{\"traceEvents\":[]}").unwrap();
    let trap = folder.join("traces/rank0.json");
    symlink(folder.join("private.json"), &trap).unwrap();
    run(folder, &["trace", "analyze", "traces"]).fails(3, &["rank0.json is a symbolic link"]);
    fs::remove_file(&trap).unwrap();
    assert!(Command::new("mkfifo").arg(&trap).status().unwrap().success());
    run(folder, &["trace", "analyze", "traces"]).fails(3, &["rank0.json is a device, a pipe or a socket"]);
}

#[test]
fn the_findings_of_a_received_run_are_not_read_through_a_link_or_waited_for() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    fs::create_dir(folder.join("run")).unwrap();
    fs::write(folder.join("private.json"), "{}").unwrap();
    let trap = folder.join("run/profile.json");
    symlink(folder.join("private.json"), &trap).unwrap();
    run(folder, &["compare", "run", "run"]).fails(3, &["profile.json is a symbolic link"]);
    fs::remove_file(&trap).unwrap();
    assert!(Command::new("mkfifo").arg(&trap).status().unwrap().success());
    run(folder, &["compare", "run", "run"]).fails(3, &["profile.json is a device, a pipe or a socket"]);
}
