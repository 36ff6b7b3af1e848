//! `knockout baseline` and `knockout evaluate` as a user runs them: tables, files, refusals.
#![cfg(feature = "lab")]

use crate::support::{content, run_in};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const QUICK: [&str; 2] = ["--resamples", "200"];

fn tiny(folder: &Path) {
    run_in(folder, &["data", "synth", "set", "--preset", "tiny"]).ok();
}

/// Pairs of genes with scores but without queries.
fn pairs(folder: &Path) {
    let mut scores = "gene_a\tallele_a\tgene_b\tallele_b\ts_score\n".to_owned();
    let genes: Vec<String> = (10..34).map(|number| format!("YAL0{number}W")).collect();
    for (i, a) in genes.iter().enumerate() {
        for (j, b) in genes.iter().enumerate().skip(i + 1) {
            let score = (i * 7 % 5) as f64 + (j * 7 % 5) as f64 + (i * j % 11) as f64 / 7.0;
            writeln!(scores, "{a}\tdeletion\t{b}\tdeletion\t{score}").unwrap();
        }
    }
    fs::write(folder.join("genes.txt"), genes.join("\n") + "\n").unwrap();
    fs::write(folder.join("scores.tsv"), scores).unwrap();
    run_in(folder, &["data", "import", "pairs", "--genes", "list:genes.txt", "--screen", "emap:scores.tsv"])
        .ok();
}

#[test]
fn the_ladder_is_one_table_and_one_document() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    let text = run_in(folder.path(), &[&["baseline", "set"], &QUICK[..]].concat()).ok().stdout;
    for word in [
        "test part of the random split (seed 0): 200 samples",
        "attainable Pearson 0.7261",
        "alpha 10 chosen",
    ] {
        assert!(text.contains(word), "{word:?} is not in\n{text}");
    }
    let mean = text.lines().find(|line| line.starts_with("train-mean")).unwrap();
    assert!(mean.contains('–'), "an undefined correlation is a dash: {mean}");

    let shown = run_in(
        folder.path(),
        &[
            &["baseline", "set", "--split", "pair-disjoint", "--seeds", "2", "--splits", "2", "--json"],
            &QUICK[..],
        ]
        .concat(),
    )
    .json();
    let rows = shown["rows"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
    let all = [
        "train-mean",
        "query-pair-mean",
        "hierarchical-mean",
        "additive-ridge",
        "ridge-pairs",
        "gene-mlp",
        "low-rank",
        "network-kernel",
        "stack",
    ];
    assert_eq!(names, all);
    for row in rows {
        assert_eq!((&row["split"], &row["part"]), (&"pair-disjoint".into(), &"test".into()));
        assert!(row["mse"].is_f64() && row["rmse"].is_f64() && row["mae"].is_f64());
        let is_constant = row["name"] == "train-mean" || row["name"] == "query-pair-mean";
        for key in ["pearson", "spearman", "low", "high"] {
            assert_eq!(row[key].is_null(), is_constant, "{key} of {row}");
        }
        if !is_constant {
            assert!(
                row["low"].as_f64() < row["pearson"].as_f64()
                    && row["pearson"].as_f64() < row["high"].as_f64()
            );
        }
    }
    let spread = shown["spread"].as_array().unwrap();
    assert_eq!(spread.len(), 1 + all.len(), "of the MLP over weights, of everything over splits");
    assert_eq!((&spread[0]["over"], &spread[0]["seeds"]), (&"weights".into(), &serde_json::json!([0, 1])));
    assert!(shown["unseen_genes"].is_u64() && shown["attainable_pearson"].is_f64());
}

#[test]
fn without_queries_pair_baselines_are_left_out_and_pair_splits_refused() {
    let folder = tempfile::tempdir().unwrap();
    pairs(folder.path());
    let ran =
        run_in(folder.path(), &[&["baseline", "pairs", "--split", "gene-disjoint"], &QUICK[..]].concat())
            .ok();
    assert!(
        ran.stdout.contains("left out: query-pair-mean, ridge-pairs (no training sample has a query pair)")
    );
    assert!(!ran.stdout.contains("attainable"), "{}", ran.stdout);
    run_in(folder.path(), &["baseline", "pairs", "--split", "pair-disjoint"])
        .fails(2, &["cannot split pairs", "has no query pair", "use the scheme random or gene-disjoint"]);
}

#[test]
fn a_part_without_samples_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    run_in(folder.path(), &["data", "synth", "few", "--preset", "tiny", "--samples", "2"]).ok();
    run_in(folder.path(), &["baseline", "few", "--split", "random"])
        .fails(2, &["part of the random split is empty"]);
    run_in(folder.path(), &["baseline", "nowhere"]).fails(2, &["nowhere", "no such folder"]);
    run_in(folder.path(), &["baseline", "few", "--seeds", "0"]).fails(2, &["0 is not in 1..=1000"]);
    run_in(folder.path(), &["baseline", "few", "--part", "all"]).fails(2, &["invalid value 'all'"]);
}

#[test]
fn prediction_files_do_not_depend_on_threads_and_are_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    for (out, threads) in [("one", "1"), ("two", "2"), ("seven", "7")] {
        let args = ["baseline", "set", "--seeds", "2", "--threads", threads, "--out", out];
        run_in(folder.path(), &[&args[..], &QUICK[..]].concat()).ok();
    }
    let first = content(&folder.path().join("one"));
    assert!(first == content(&folder.path().join("two")) && first == content(&folder.path().join("seven")));
    let names: Vec<String> = first.iter().map(|(path, _)| path.display().to_string()).collect();
    assert_eq!(
        names,
        [
            "additive-ridge.parquet",
            "gene-mlp-seed-1.parquet",
            "gene-mlp.parquet",
            "hierarchical-mean.parquet",
            "low-rank.parquet",
            "network-kernel.parquet",
            "query-pair-mean.parquet",
            "ridge-pairs.parquet",
            "stack.parquet",
            "train-mean.parquet"
        ]
    );
    run_in(folder.path(), &["baseline", "set", "--out", "one"]).fails(2, &["one", "exists already"]);
    assert!(first == content(&folder.path().join("one")));
}

#[test]
fn two_files_are_compared_and_the_ridge_stands_beside_them() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    run_in(folder.path(), &[&["baseline", "set", "--out", "ladder"], &QUICK[..]].concat()).ok();
    let args =
        ["evaluate", "--predictions", "ladder/ridge-pairs.parquet", "--against", "ladder/train-mean.parquet"];
    let shown = run_in(folder.path(), &[&args[..], &["--json"], &QUICK[..]].concat()).json();
    let names: Vec<&str> =
        shown["rows"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["ridge-pairs", "train-mean", "stack", "additive-ridge"]);
    assert_eq!(shown["rows"][1]["pearson"], serde_json::Value::Null);
    let comparisons = shown["comparisons"].as_array().unwrap();
    assert_eq!(comparisons.len(), 5);
    assert!(comparisons[0]["pearson"].is_null(), "a constant has no correlation to compare");
    let against_ridge = &comparisons[2];
    assert_eq!(
        (&against_ridge["name"], &against_ridge["against"]),
        (&"ridge-pairs".into(), &"additive-ridge".into())
    );
    let [low, difference, high] =
        ["low", "difference", "high"].map(|key| against_ridge["pearson"][key].as_f64().unwrap());
    assert!(low <= difference && difference <= high);

    // The ridge's own file gives the ridge's numbers, under another name.
    let text = run_in(
        folder.path(),
        &[&["evaluate", "--predictions", "ladder/additive-ridge.parquet", "--part", "test"], &QUICK[..]]
            .concat(),
    )
    .ok()
    .stdout;
    let figures = |start: &str| {
        let line = text.lines().find(|line| line.starts_with(start)).unwrap();
        line.split_whitespace().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(figures("ladder/additive-ridge.parquet "), figures("additive-ridge "));
    assert!(text.contains("Pearson +0.0000 [+0.0000, +0.0000]: no significant difference"), "{text}");

    // Where the dataset has gone, the user hears what is missing, and how to get it back.
    fs::rename(folder.path().join("set"), folder.path().join("moved")).unwrap();
    let gone = run_in(folder.path(), &args).ok();
    assert!(gone.stderr.contains("give it with --data DIR to see the additive ridge"), "{}", gone.stderr);
    assert!(!gone.stdout.contains("additive-ridge"), "{}", gone.stdout);
    let found = run_in(folder.path(), &[&args[..], &["--data", "moved"]].concat()).ok();
    assert!(found.stdout.contains("additive-ridge") && found.stderr.is_empty());
}

#[test]
fn unlike_files_are_7_and_damaged_ones_3() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    run_in(folder.path(), &["data", "synth", "other", "--preset", "tiny", "--seed", "9"]).ok();
    let make = |set: &str, out: &str, more: &[&str]| {
        run_in(folder.path(), &[&["baseline", set, "--out", out], more, &QUICK[..]].concat()).ok();
    };
    make("set", "a", &[]);
    make("set", "val", &["--part", "val"]);
    make("set", "split", &["--seed", "7"]);
    make("other", "data", &[]);
    let file = |folder: &str| format!("{folder}/gene-mlp.parquet");
    for (other, word) in [("val", "part (test against val)"), ("split", "split ("), ("data", "dataset (")] {
        run_in(folder.path(), &["evaluate", "--predictions", &file("a"), "--against", &file(other)])
            .fails(7, &["cannot be compared record by record", word]);
    }
    run_in(folder.path(), &["evaluate", "--predictions", &file("a"), "--part", "val"])
        .fails(2, &["holds predictions for the test part, not for the val part"]);
    run_in(folder.path(), &["evaluate", "--predictions", &file("a"), "--data", "other"])
        .fails(3, &["gene-mlp.parquet", "belongs to another dataset"]);
    run_in(folder.path(), &["evaluate", "--predictions", "none.parquet"])
        .fails(2, &["none.parquet", "could not be read"]);
    run_in(folder.path(), &["evaluate", "--predictions", "set/samples.parquet"])
        .fails(3, &["set/samples.parquet", "column \"row\" is missing"]);
    fs::write(folder.path().join("bad.parquet"), "nonsense").unwrap();
    run_in(folder.path(), &["evaluate", "--predictions", "bad.parquet"])
        .fails(3, &["bad.parquet", "is damaged"]);
    run_in(folder.path(), &["evaluate"]).fails(2, &["--predictions"]);
    let help = run_in(folder.path(), &["evaluate", "--help"]).ok().stdout;
    assert!(help.contains("EXAMPLES:"), "{help}");
}
