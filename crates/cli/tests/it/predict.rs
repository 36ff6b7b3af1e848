//! `predict` and `explain` from the command line, on the tiny yeast: killed at random instants, asked for impossible things.

#![cfg(feature = "lab")]

use crate::support::{content, run_in as run};
use assert_cmd::cargo::cargo_bin;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

fn trained(folder: &Path) {
    run(folder, &["-q", "data", "synth", "tiny", "--preset", "tiny"]).ok();
    let train =
        ["-q", "train", "tiny", "--model", "dango", "--max-steps", "6", "model.width=32", "--batch", "100"];
    for seed in ["0", "1"] {
        run(folder, &[&train[..], &["--seed", seed, "--out", &format!("run-{seed}")]].concat()).ok();
    }
}

/// `KNOCKOUT_KILLS` makes it as many as wanted; 200 were done by hand.
#[test]
fn kills_at_random_instants_lose_nothing() {
    let kills: u64 = std::env::var("KNOCKOUT_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(6);
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    trained(folder);
    let command = [
        "-q",
        "predict",
        "run-0",
        "--triples",
        "--full",
        "--top",
        "7",
        "--bottom",
        "3",
        "--csv",
        "--block",
        "3000",
    ];
    run(folder, &[&command[..], &["--out", "whole"]].concat()).ok();
    let whole = content(&folder.join("whole"));
    let start = || {
        Command::new(cargo_bin!("knockout"))
            .current_dir(folder)
            .args(command)
            .args(["--out", "killed"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let (mut state, mut killed) = (7_u64, 0);
    while killed < kills {
        let mut child = start();
        // Anywhere between the start and some blocks later.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_millis(state >> 33 & 0x1ff));
        child.kill().unwrap();
        killed += u64::from(!child.wait().unwrap().success());
        if folder.join("killed/predictions.csv").exists() {
            assert_eq!(content(&folder.join("killed")), whole);
            fs::remove_dir_all(folder.join("killed")).unwrap();
        }
    }
    assert!(start().wait().unwrap().success());
    assert_eq!(content(&folder.join("killed")), whole, "after {killed} kills");
}

#[test]
fn wrong_requests_say_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    trained(folder);
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    let genes = fs::read_dir(folder.join("tiny")).unwrap().count();
    assert!(genes > 0);
    let listed = run(
        folder,
        &["predict", "run-0", "--dataset-part", "test", "--out", "part", "--csv", "--json", "-q"],
    )
    .json();
    assert_eq!(listed["scored"], 200);
    let csv = fs::read_to_string(folder.join("part/predictions.csv")).unwrap();
    let row: Vec<&str> = csv.lines().nth(1).unwrap().split(',').collect();
    let [a, b, c] = [row[1], row[2], row[3]];
    write("unknown.tsv", &format!("{a}\tNOPE1\n{b}\tNOPE2\n"));
    write("repeated.csv", &format!("gene_1,gene_2\n{a},{b}\n{c},{c}\n"));
    write("good.csv", &format!("gene_1,gene_2,gene_3\n{a},{b},{c}\n{a},{b},\n"));
    let predict = |more: &[&str]| run(folder, &[&["predict", "run-0", "-q"], more].concat());
    predict(&["--sets", "unknown.tsv", "--out", "x"]).fails(2, &["2 names", "NOPE1, NOPE2"]);
    predict(&["--sets", "repeated.csv", "--out", "x"]).fails(2, &["line 3", "twice"]);
    predict(&["--sets", "nowhere.tsv", "--out", "x"]).fails(2, &["nowhere.tsv: could not be opened"]);
    predict(&["--out", "x"]).fails(2, &["choose what to predict"]);
    predict(&["--with", &format!("{a},{b}"), "--pairs", "--out", "x"])
        .fails(2, &["leaves nothing to choose"]);
    predict(&["--with", "NOPE", "--pairs", "--out", "x"]).fails(2, &["--with", "NOPE"]);
    predict(&["--pairs", "--part", "4/3", "--out", "x"]).fails(2, &["4/3"]);
    predict(&["--pairs", "--out", "run-1"]).fails(2, &["exists and holds no predictions"]);
    predict(&["--pairs", "--out", "part"]).fails(2, &["another request: the candidates differ"]);
    run(folder, &["predict", "nowhere", "--pairs", "--out", "x"]).fails(2, &["nowhere"]);
    assert!(!folder.join("x").exists());
    run(folder, &["-q", "data", "synth", "other", "--preset", "tiny", "--seed", "9"]).ok();
    predict(&["--pairs", "--out", "x", "--data", "other"]).fails(2, &["other"]);
    // Whoever asks for pairs of a model that saw triples alone hears it.
    let pairs = run(folder, &["predict", "run-0", "--pairs", "--top", "1", "--out", "pairs"]).ok();
    assert!(pairs.stderr.contains("no training sample has 2 genes"), "{}", pairs.stderr);
    // Sets of both sizes, in the file's order, and the second without a third gene.
    let shown = predict(&["--sets", "good.csv", "--out", "good", "--csv", "--json"]).json();
    assert_eq!((&shown["scored"], &shown["candidates"]), (&2.into(), &2.into()));
    let good = fs::read_to_string(folder.join("good/predictions.csv")).unwrap();
    assert!(good.lines().nth(2).unwrap().starts_with(&format!("1,{a},{b},,")), "{good}");
    // What predict wrote is a list of sets itself.
    let again =
        predict(&["--sets", "good/predictions/block-000000000.parquet", "--out", "again", "--csv", "--json"])
            .json();
    assert_eq!(again["scored"], 2);
    assert_eq!(fs::read_to_string(folder.join("again/predictions.csv")).unwrap(), good);
}

/// A disk that is full refuses a block's bytes; here a limit on the size of files does.
#[cfg(unix)]
#[test]
fn a_block_that_cannot_be_written_loses_nothing() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    trained(folder);
    let command = ["-q", "predict", "run-0", "--pairs", "--block", "3000"];
    run(folder, &[&command[..], &["--out", "whole"]].concat()).ok();
    // The manifest has its place, a block has not; without the trap the signal would end the program before it can say so.
    let limited = format!(
        "trap '' XFSZ; ulimit -f 8; exec {} {} --out full",
        cargo_bin!("knockout").display(),
        command.join(" ")
    );
    let output = Command::new("sh").arg("-c").arg(limited).current_dir(folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("the blocks before are kept; run the same command again"), "{said}");
    run(folder, &[&command[..], &["--out", "full"]].concat()).ok();
    assert_eq!(content(&folder.join("full")), content(&folder.join("whole")));
}

#[test]
fn ensembles_parts_and_pages() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    trained(folder);
    let both =
        ["predict", "run-0", "run-1", "--pairs", "--not-measured", "--top", "20", "--block", "999", "-q"];
    let whole =
        run(folder, &[&both[..], &["--out", "whole", "--json", "--html", "hits.html"]].concat()).json();
    assert_eq!(whole["top"].as_array().unwrap().len(), 20);
    assert!(whole["top"][0]["sd"].as_f64().unwrap() > 0.0);
    let page = fs::read_to_string(folder.join("hits.html")).unwrap();
    assert!(
        page.contains(whole["top"][19]["genes"][0].as_str().unwrap())
            && page.contains("Pearson on the test part")
    );
    for part in ["1/2", "2/2"] {
        run(folder, &[&both[..], &["--part", part, "--out", &part.replace('/', "-of-")]].concat()).ok();
    }
    run(folder, &["predict", "merge", "alone", "1-of-2"]).fails(2, &["part 2 of 2 missing"]);
    let merged = run(folder, &["predict", "merge", "merged", "2-of-2", "1-of-2", "--json"]).json();
    assert_eq!(merged["top"], whole["top"]);
    let without_page = |name: &str| content(&folder.join(name));
    let [a, b] = ["merged", "whole"].map(|name| {
        without_page(name)
            .into_iter()
            .filter(|(path, _)| path.extension().is_some_and(|end| end != "json"))
            .collect::<Vec<_>>()
    });
    assert_eq!(a, b);
}

#[test]
fn an_explanation_adds_up() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    trained(folder);
    let tested = [
        "predict",
        "run-0",
        "--dataset-part",
        "test",
        "--top",
        "1",
        "--out",
        "top",
        "--json",
        "-q",
        "--state",
        "last",
    ];
    let hit = run(folder, &tested).json()["top"][0].clone();
    let genes: Vec<&str> =
        hit["genes"].as_array().unwrap().iter().map(|gene| gene.as_str().unwrap()).collect();
    let explain = ["explain", "run-0", "--neighbours", "2", "-q", "--state", "last"];
    let why = run(folder, &[&explain[..], &genes, &["--json", "--html", "why.html"]].concat()).json();
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    let prediction = number(&why["prediction"]);
    assert!((prediction - number(&hit["prediction"])).abs() < 1e-5);
    let parts = why["parts"].as_array().unwrap();
    assert_eq!(parts.len(), 8, "mean, three genes, three pairs, the triple");
    let sum: f64 = parts.iter().map(|part| number(&part["contribution"])).sum();
    assert!((sum - prediction).abs() < 1e-12, "{sum} {prediction}");
    let networks = why["networks"].as_array().unwrap();
    assert!(!networks.is_empty() && networks.iter().any(|network| number(&network["effect"]) != 0.0));
    for network in networks {
        assert!((prediction - number(&network["without"]) - number(&network["effect"])).abs() < 1e-12);
    }
    assert_eq!(why["neighbours"].as_array().unwrap().len(), 2);
    assert!(why["nearest"].as_array().unwrap().iter().all(|near| near["shared"].as_u64().unwrap() > 0));
    assert!(fs::read_to_string(folder.join("why.html")).unwrap().contains("<svg"));
    let pair = run(folder, &["explain", "run-0", genes[0], genes[1]]).ok();
    assert!(pair.stderr.contains("no training sample has 2 genes"), "{}", pair.stderr);
    run(folder, &["explain", "run-0", genes[0], "NOPE"]).fails(2, &["NOPE"]);
    run(folder, &["explain", "run-0", genes[0], genes[0]]).fails(2, &["twice"]);
}
