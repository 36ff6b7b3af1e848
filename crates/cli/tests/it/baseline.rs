//! `knockout baseline`: the baselines as a table, a document and files.
#![cfg(feature = "lab")]

use crate::support::{Home, texts};
use std::fmt::Write as _;

const ALL: [&str; 9] = [
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

/// Returns a folder with `pairs`: pairs of genes with scores but without queries.
fn pairs() -> Home {
    let home = Home::empty();
    let mut scores = "gene_a\tallele_a\tgene_b\tallele_b\ts_score\n".to_owned();
    let genes: Vec<String> = (10..34).map(|number| format!("YAL0{number}W")).collect();
    for (i, a) in genes.iter().enumerate() {
        for (j, b) in genes.iter().enumerate().skip(i + 1) {
            let score = (i * 7 % 5) as f64 + (j * 7 % 5) as f64 + (i * j % 11) as f64 / 7.0;
            writeln!(scores, "{a}\tdeletion\t{b}\tdeletion\t{score}").unwrap();
        }
    }
    home.write("genes.txt", genes.join("\n") + "\n");
    home.write("scores.tsv", scores);
    home.ok("data import pairs --genes list:genes.txt --screen emap:scores.tsv");
    home
}

#[test]
fn the_table_names_the_split_the_ceiling_and_the_choices() {
    let text = Home::with_tiny()
        .ok("baseline tiny --resamples 200")
        .prints(&[
            "test part of the random split (seed 0): 200 samples",
            "attainable Pearson 0.7261",
            "alpha 10 chosen",
        ])
        .stdout;
    let mean = text.lines().find(|line| line.starts_with("train-mean")).unwrap();
    assert!(mean.contains('–'), "an undefined correlation is a dash: {mean}");
}

#[test]
fn the_document_has_every_baseline_with_interval_and_spread() {
    let shown = Home::with_tiny()
        .json("baseline tiny --split pair-disjoint --seeds 2 --splits 2 --json --resamples 200");
    assert_eq!(texts(&shown["rows"], "name"), ALL);
    for row in shown["rows"].as_array().unwrap() {
        assert_eq!((&row["split"], &row["part"]), (&"pair-disjoint".into(), &"test".into()));
        assert!(row["mse"].is_f64() && row["rmse"].is_f64() && row["mae"].is_f64());
        let is_constant = row["name"] == "train-mean" || row["name"] == "query-pair-mean";
        for key in ["pearson", "spearman", "low", "high"] {
            assert_eq!(row[key].is_null(), is_constant, "{key} of {row}");
        }
        if !is_constant {
            let [low, pearson, high] = ["low", "pearson", "high"].map(|key| row[key].as_f64());
            assert!(low < pearson && pearson < high, "{row}");
        }
    }
    let spread = shown["spread"].as_array().unwrap();
    assert_eq!(spread.len(), 1 + ALL.len(), "of the MLP over weights, of everything over splits");
    assert_eq!((&spread[0]["over"], &spread[0]["seeds"]), (&"weights".into(), &serde_json::json!([0, 1])));
    assert!(shown["unseen_genes"].is_u64() && shown["attainable_pearson"].is_f64());
}

#[test]
fn the_default_seed_of_the_split_is_the_same_in_every_command() {
    let home = Home::with_tiny();
    let baseline = home.json("baseline tiny --split random --json -q --resamples 50");
    let split = home.json("data split tiny --json");
    let shown = home.json("data show tiny --json");
    assert_eq!((&baseline["split_seed"], &split["seed"]), (&shown["splits"][0]["seed"], &0.into()));
}

#[test]
fn baselines_of_query_pairs_are_left_out_without_queries() {
    let ran = pairs()
        .ok("baseline pairs --split gene-disjoint --resamples 200")
        .prints(&["left out: query-pair-mean, ridge-pairs (no training sample has a query pair)"]);
    assert!(!ran.stdout.contains("attainable"), "{}", ran.stdout);
}

#[test]
fn a_split_of_query_pairs_is_refused_without_queries() {
    let words = ["cannot split pairs", "has no query pair", "use the scheme random or gene-disjoint"];
    pairs().fails("baseline pairs --split pair-disjoint", 2, &words);
}

#[test]
fn wrong_requests_are_2() {
    let home = Home::empty();
    home.ok("data synth few --preset tiny --samples 2");
    for (request, words) in [
        ("few --split random", "part of the random split is empty"),
        ("nowhere", "no such folder"),
        ("few --seeds 0", "0 is not in 1..=1000"),
        ("few --part all", "invalid value 'all'"),
    ] {
        home.fails(&format!("baseline {request}"), 2, &[words]);
    }
}

#[test]
fn prediction_files_do_not_depend_on_threads() {
    let home = Home::with_tiny();
    for (out, threads) in [("one", 1), ("two", 2), ("seven", 7)] {
        home.ok(&format!("baseline tiny --seeds 2 --threads {threads} --out {out} --resamples 50"));
    }
    assert!(home.content("one") == home.content("two") && home.content("one") == home.content("seven"));
    let mut expected = ALL.map(|name| format!("{name}.parquet")).to_vec();
    expected.push("gene-mlp-seed-1.parquet".to_owned());
    expected.sort();
    assert_eq!(home.names("one"), expected);
}

#[test]
fn prediction_files_are_not_overwritten() {
    let home = Home::with_tiny();
    std::fs::create_dir(home.path("one")).unwrap();
    home.write("one/notes.txt", "precious");
    home.fails("baseline tiny --out one", 2, &["one", "exists already"]);
    assert_eq!(home.names("one"), ["notes.txt"]);
}
