//! `knockout data`, `config` and `demo` as a user runs them: results, exit codes, and nothing lost.
#![cfg(feature = "lab")]

use crate::support::{content, run_in};
use assert_cmd::cargo::cargo_bin;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

fn tiny(folder: &Path) {
    run_in(folder, &["data", "synth", "set", "--preset", "tiny"]).ok();
}

#[test]
fn a_dataset_is_made_shown_verified_and_divided() {
    let folder = tempfile::tempdir().unwrap();
    let made =
        run_in(folder.path(), &["data", "synth", "set", "--preset", "tiny", "--samples", "500", "--json"])
            .json();
    assert_eq!(made["samples"], 500);

    let shown = run_in(folder.path(), &["data", "show", "set", "--json"]).json();
    assert_eq!(shown["genes"], 200);
    assert_eq!(shown["networks"][0]["name"], "physical");
    assert_eq!(shown["networks"][0]["nodes"], 170);
    assert_eq!(shown["networks"][0]["edges"], 900);
    assert!(shown["metabolism"]["gpr"].as_u64().unwrap() > 50);
    assert_eq!(shown["samples"]["count"], 500);
    assert_eq!(shown["samples"]["orders"]["3"], 500);
    assert!(shown["samples"]["score"]["sd"].as_f64().unwrap() > 0.05);
    assert_eq!(shown["attainable_pearson"], made["attainable_pearson"]);
    let text = run_in(folder.path(), &["data", "show", "set"]).ok().stdout;
    for word in ["synthetic tiny", "coexpression", "attainable Pearson", "pair-disjoint", "█"] {
        assert!(text.contains(word), "{word:?} is not in\n{text}");
    }

    assert!(run_in(folder.path(), &["data", "verify", "set"]).ok().stdout.contains("set is sound"));
    let verified = run_in(folder.path(), &["data", "verify", "set", "--json"]).json();
    assert_eq!(verified["ok"], true);

    let divided = run_in(
        folder.path(),
        &["data", "split", "set", "--split", "pair-disjoint", "--out", "s.parquet", "--json"],
    )
    .json();
    assert_eq!(divided["test_with_seen_query"], 0);
    assert!(folder.path().join("s.parquet").exists());
    run_in(folder.path(), &["data", "split", "set", "--out", "s.parquet"])
        .fails(2, &["s.parquet exists already"]);
    run_in(folder.path(), &["data", "split", "set", "--out", "s.csv"])
        .fails(2, &["s.csv would hold a Parquet file", "name it s.parquet"]);
    assert!(!folder.path().join("s.csv").exists());
}

#[test]
fn bytes_do_not_depend_on_threads_or_on_the_run() {
    let folder = tempfile::tempdir().unwrap();
    for (name, threads) in [("a", "1"), ("b", "2"), ("c", "7"), ("d", "7")] {
        run_in(
            folder.path(),
            &["data", "synth", name, "--preset", "tiny", "--seed", "3", "--threads", threads],
        )
        .ok();
    }
    let first = content(&folder.path().join("a"));
    for name in ["b", "c", "d"] {
        assert!(first == content(&folder.path().join(name)), "{name} differs");
    }
    run_in(folder.path(), &["data", "synth", "e", "--preset", "tiny", "--seed", "4"]).ok();
    assert!(first != content(&folder.path().join("e")));
}

#[test]
fn these_bytes_are_the_same_on_every_machine() {
    // The hash of the data as first made; whatever changes it breaks everybody's synthetic results.
    let folder = tempfile::tempdir().unwrap();
    let made = run_in(folder.path(), &["data", "synth", "set", "--preset", "tiny", "--json"]).json();
    assert_eq!(made["data_hash"], "52918bbc0e1131f03b7c2c76faf30c03f251376f08f62aa663b5ad9c6625d10a");
}

#[test]
fn the_recorded_command_makes_the_same_data_again() {
    let folder = tempfile::tempdir().unwrap();
    let keys = ["synth.screen.share_pair=0.1", "synth.communities=5"];
    let made = run_in(
        folder.path(),
        &["data", "synth", "a", "--preset", "tiny", "--seed", "9", keys[0], keys[1], "--json"],
    )
    .json();
    let command = run_in(folder.path(), &["data", "show", "a", "--json"]).json()["command"]
        .as_str()
        .unwrap()
        .to_owned();
    let args: Vec<&str> = command
        .split(' ')
        .skip(1)
        .map(|word| if word == "OUT" { "b" } else { word })
        .chain(["--json"])
        .collect();
    assert_eq!(run_in(folder.path(), &args).json()["data_hash"], made["data_hash"]);
}

#[test]
fn configuration_is_resolved_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let shown = run_in(folder.path(), &["config", "show", "--preset", "tiny", "synth.genes=150"]).ok().stdout;
    assert!(shown.contains("genes = 150"), "{shown}");
    let json = run_in(folder.path(), &["config", "show", "--preset", "tiny", "--json"]).json();
    assert_eq!(json["synth"]["genes"], 200);
    run_in(folder.path(), &["config", "show", "synth.gene=1"])
        .fails(2, &["there is no key \"synth.gene\"; did you mean \"synth.genes\"?"]);
    run_in(folder.path(), &["data", "synth", "x", "synth.genes=many"]).fails(2, &["a whole number"]);
    run_in(folder.path(), &["data", "synth", "x", "synth.genes=5"]).fails(2, &["genes is 5"]);
    run_in(folder.path(), &["data", "synth", "x", "--preset", "tiny", "--samples", "999999"])
        .fails(2, &["lower screen.samples"]);
    run_in(folder.path(), &["data", "synth", "x", "--preset", "huge"]).fails(2, &["tiny, small, yeast"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn an_out_that_exists_or_cannot_be_made_is_refused_and_nothing_changes() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("set")).unwrap();
    run_in(folder.path(), &["data", "synth", "set", "--preset", "tiny"]).fails(2, &["set", "exists already"]);
    fs::write(folder.path().join("file"), "precious").unwrap();
    run_in(folder.path(), &["data", "synth", "file", "--preset", "tiny"])
        .fails(2, &["file", "exists already"]);
    run_in(folder.path(), &["data", "synth", "file/below", "--preset", "tiny"]).fails(2, &["file/below"]);
    // Root may write anywhere but here.
    if Path::new("/sys").exists() {
        run_in(folder.path(), &["data", "synth", "/sys/knockout-set", "--preset", "tiny"])
            .fails(2, &["/sys/knockout-set"]);
    }
    assert_eq!(fs::read_to_string(folder.path().join("file")).unwrap(), "precious");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn a_disk_that_fills_up_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    // A file size limit makes writes fail in the middle of a file, as a full disk does.
    let script = format!(
        "trap '' XFSZ; ulimit -f 8; exec {} data synth set --preset tiny",
        cargo_bin!("knockout").display()
    );
    let output = Command::new("bash").args(["-c", &script]).current_dir(folder.path()).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("could not be written; nothing was changed"), "{message}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{message}");
}

#[test]
fn kill_9_at_any_moment_leaves_no_dataset_or_a_complete_one() {
    let folder = tempfile::tempdir().unwrap();
    let (mut absent, mut complete) = (0, 0);
    // `small` takes a few hundred milliseconds: delays from the very start to beyond the end.
    for attempt in 0..24_u64 {
        let mut child = Command::new(cargo_bin!("knockout"))
            .args(["data", "synth", "set", "--preset", "small", "-q"])
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(attempt * attempt * 2));
        child.kill().unwrap();
        child.wait().unwrap();
        if folder.path().join("set").exists() {
            run_in(folder.path(), &["data", "verify", "set"]).ok();
            complete += 1;
            fs::remove_dir_all(folder.path().join("set")).unwrap();
        } else {
            absent += 1;
        }
    }
    println!("killed: {absent} times nothing was there, {complete} times a complete dataset");
    // What the killed runs left is cleaned up by the next.
    run_in(folder.path(), &["data", "synth", "set", "--preset", "tiny"]).ok();
    let names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["set"]);
    assert!(absent > 0, "no run was killed before its end");
}

#[test]
fn damage_is_found_named_and_classed() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    let file = folder.path().join("set/samples.parquet");
    let mut bytes = fs::read(&file).unwrap();
    let whole = bytes.clone();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    fs::write(&file, &bytes).unwrap();
    let words = ["set/samples.parquet", "does not match its checksum", "rebuild the dataset"];
    run_in(folder.path(), &["data", "show", "set"]).fails(3, &words);
    let verified = run_in(folder.path(), &["data", "verify", "set"]).fails(3, &["1 fault"]);
    assert!(verified.stdout.contains("FAULT"), "{}", verified.stdout);
    fs::write(&file, &whole[..100]).unwrap();
    run_in(folder.path(), &["data", "show", "set"]).fails(3, &words);
    fs::remove_file(&file).unwrap();
    run_in(folder.path(), &["data", "show", "set"]).fails(3, &["samples.parquet", "missing"]);
    fs::write(&file, &whole).unwrap();
    run_in(folder.path(), &["data", "verify", "set"]).ok();

    let manifest = folder.path().join("set/dataset.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("format = 1", "format = 7")).unwrap();
    run_in(folder.path(), &["data", "show", "set"])
        .fails(3, &["format version 7 is newer", "install a newer knockout"]);
    fs::write(&manifest, "nonsense").unwrap();
    run_in(folder.path(), &["data", "show", "set"]).fails(3, &["dataset.toml", "does not parse"]);
    fs::remove_file(&manifest).unwrap();
    run_in(folder.path(), &["data", "show", "set"]).fails(2, &["no dataset.toml"]);
    run_in(folder.path(), &["data", "show", "nowhere"]).fails(2, &["nowhere", "knockout data synth"]);
}

#[test]
fn quiet_is_quiet_and_json_is_alone_on_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let demo = run_in(folder.path(), &["demo", "--preset", "tiny", "--json"]);
    assert!(demo.stderr.contains("making a tiny synthetic yeast"));
    let shown = demo.json();
    // It ends in the report of an experiment.
    let report = folder.path().join(shown["report"].as_str().unwrap());
    assert!(fs::read_to_string(report).unwrap().contains("Experiment on synthetic tiny"));
    assert!(!shown["insights"].as_array().unwrap().is_empty());
    assert_eq!(shown["deletion"]["genes"].as_array().unwrap().len(), 3);
    let quiet = run_in(folder.path(), &["demo", "--preset", "tiny", "--out", "again", "-q"]).ok();
    assert_eq!(quiet.stderr, "");
    for part in ["deleting ", "what the experiment found", "again/experiment/report.html"] {
        assert!(quiet.stdout.contains(part), "{part} in\n{}", quiet.stdout);
    }
    run_in(folder.path(), &["demo", "--out", "again"])
        .fails(2, &["again", "choose another name or remove it first"]);
}

#[test]
fn usage_errors_are_2_help_and_version_are_0() {
    let folder = tempfile::tempdir().unwrap();
    run_in(folder.path(), &["data", "synth"]).fails(2, &["Usage"]);
    run_in(folder.path(), &["nonsense"]).fails(2, &["unrecognized subcommand"]);
    let help = run_in(folder.path(), &["data", "synth", "--help"]).ok().stdout;
    assert!(help.contains("EXAMPLES:"), "{help}");
    assert!(run_in(folder.path(), &["--help"]).ok().stdout.contains("EXIT CODES:"));
    assert!(run_in(folder.path(), &["--version"]).ok().stdout.starts_with("knockout 0.1.0 ("));
    fs::write(folder.path().join("file"), "precious").unwrap();
    run_in(folder.path(), &["man", "--out", "file/pages"]).fails(2, &["file"]);
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    let script = format!(
        "{} data show set --json | head -c 1; exit ${{PIPESTATUS[0]}}",
        cargo_bin!("knockout").display()
    );
    let output = Command::new("bash").args(["-c", &script]).current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn every_processor_is_measured_on_the_same_samples() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    let args = ["data", "bench", "set", "--batch", "7", "--samples", "20", "--threads", "2"];
    for (collate, first) in [("shared", 28.0), ("replicated", 2_700.0)] {
        let measured = run_in(folder.path(), &[&args[..], &["--collate", collate, "--json"]].concat()).json();
        let rows = measured["rows"].as_array().unwrap();
        let names: Vec<&str> = rows.iter().map(|row| row["processor"].as_str().unwrap()).collect();
        assert_eq!(names, ["perturbation", "mask", "resident-mask", "subgraph", "neighborhood"]);
        for row in rows {
            assert_eq!(
                (&row["collate"], &row["batch"], &row["threads"]),
                (&collate.into(), &7.into(), &2.into())
            );
            assert_eq!(row["samples"].as_u64().unwrap() % 10, 0, "each thread goes over its half");
            assert!(row["samples_per_s"].as_f64().unwrap() > 0.0);
            assert!(row["cpu_us_per_sample"].as_f64().unwrap() > 0.0);
            assert!(row["bytes_per_sample"].as_f64().unwrap() >= first, "{row}");
        }
    }
    let text = run_in(folder.path(), &args).ok().stdout;
    assert!(text.starts_with("processor ") && text.contains("resident-mask"), "{text}");
    run_in(folder.path(), &["data", "bench", "set", "--batch", "0"]).fails(2, &["at least 1"]);
}
