//! `knockout data show`, `verify`, `delete`, `split` and `bench`.
#![cfg(feature = "lab")]

use crate::support::{Home, texts};
use std::fs;

#[test]
fn the_document_describes_genes_networks_and_samples() {
    let home = Home::with_tiny();
    let shown = home.json("data show tiny --json");
    assert_eq!(shown["genes"], 200);
    let physical = &shown["networks"][0];
    assert_eq!(
        (&physical["name"], &physical["nodes"], &physical["edges"]),
        (&"physical".into(), &170.into(), &900.into())
    );
    assert!(shown["metabolism"]["gpr"].as_u64().unwrap() > 50);
    let samples = &shown["samples"];
    assert_eq!((&samples["count"], &samples["orders"]["3"]), (&2000.into(), &2000.into()));
    assert!(samples["score"]["sd"].as_f64().unwrap() > 0.05);
    assert!(shown["attainable_pearson"].is_number());
    home.ok("data show tiny").prints(&[
        "synthetic tiny",
        "coexpression",
        "attainable Pearson",
        "pair-disjoint",
        "█",
    ]);
}

#[test]
fn an_intact_dataset_is_verified() {
    let home = Home::with_tiny();
    home.ok("data verify tiny").prints(&["tiny is sound"]);
    assert_eq!(home.json("data verify tiny --json")["ok"], true);
}

#[test]
fn damage_is_3_and_names_the_file() {
    let home = Home::with_tiny();
    let whole = fs::read(home.path("tiny/samples.parquet")).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 0x10;
    let words = ["tiny/samples.parquet", "does not match its checksum", "rebuild the dataset"];
    for damaged in [&flipped[..], &whole[..100]] {
        home.write("tiny/samples.parquet", damaged);
        home.fails("data show tiny", 3, &words);
        home.fails("data verify tiny", 3, &["1 fault"]).prints(&["FAULT"]);
    }
    fs::remove_file(home.path("tiny/samples.parquet")).unwrap();
    home.fails("data show tiny", 3, &["samples.parquet", "missing"]);
}

#[test]
fn a_manifest_of_another_format_is_3() {
    let home = Home::with_tiny();
    let text = home.read("tiny/dataset.toml");
    home.write("tiny/dataset.toml", text.replace("format = 1", "format = 7"));
    home.fails("data show tiny", 3, &["format version 7 is newer", "install a newer knockout"]);
    home.write("tiny/dataset.toml", "nonsense");
    home.fails("data show tiny", 3, &["dataset.toml", "does not parse"]);
}

#[test]
fn a_folder_without_a_dataset_is_2() {
    let home = Home::empty();
    home.fails("data show .", 2, &["no dataset.toml"]);
    home.fails("data show nowhere", 2, &["nowhere", "knockout data synth"]);
}

#[test]
fn a_gene_is_found_by_any_case_of_its_name() {
    let home = Home::with_tiny();
    let networks = home.json("data show tiny --json")["networks"].as_array().unwrap().len();
    let gene = home.json("data show tiny --gene ZAL001C --json");
    assert_eq!(gene["networks"].as_array().unwrap().len(), networks);
    let systematic = gene["systematic"].as_str().unwrap();
    home.ok(&format!("data show tiny --gene {}", systematic.to_lowercase()))
        .prints(&[systematic, "it is perturbed in"]);
    home.fails("data show tiny --gene ZAL001CX", 2, &["did you mean", "ZAL001C"]);
}

#[test]
fn a_deletion_removes_the_edges_of_the_gene() {
    let home = Home::with_tiny();
    let gene = home.json("data show tiny --gene ZAL001C --json");
    let deleted = home.json("data delete tiny ZAL001C --json");
    for (removed, network) in
        deleted["edges"].as_array().unwrap().iter().zip(gene["networks"].as_array().unwrap())
    {
        assert_eq!((&removed[0], &removed[1]), (&network["network"], &network["edges"]));
    }
    assert_eq!(deleted["reactions_stopped"], gene["reactions_stopped"]);
}

#[test]
fn deletions_of_unknown_or_repeated_genes_are_2() {
    let home = Home::with_tiny();
    home.fails("data delete tiny telepathy", 2, &["has no gene \"telepathy\""]);
    home.fails("data delete tiny ZAL001C ZAL001C", 2, &["cannot delete", "is named twice"]);
}

#[test]
fn a_split_keeps_query_pairs_apart() {
    let home = Home::with_tiny();
    let divided = home.json("data split tiny --split pair-disjoint --out s.parquet --json");
    assert_eq!(divided["test_with_seen_query"], 0);
    assert!(home.exists("s.parquet"));
}

#[test]
fn a_split_file_is_parquet_and_not_overwritten() {
    let home = Home::with_tiny();
    home.write("s.parquet", "precious");
    home.fails("data split tiny --out s.parquet", 2, &["s.parquet exists already"]);
    home.fails("data split tiny --out s.csv", 2, &["s.csv would hold a Parquet file", "name it s.parquet"]);
    assert!(home.read("s.parquet") == "precious" && !home.exists("s.csv"));
}

#[test]
fn every_processor_is_measured_on_the_same_samples() {
    let home = Home::with_tiny();
    let bench = "data bench tiny --batch 7 --samples 20 --threads 2";
    for (collate, least_bytes) in [("shared", 28.0), ("replicated", 2_700.0)] {
        let measured = home.json(&format!("{bench} --collate {collate} --json"));
        let names = ["perturbation", "mask", "resident-mask", "subgraph", "neighborhood"];
        assert_eq!(texts(&measured["rows"], "processor"), names);
        for row in measured["rows"].as_array().unwrap() {
            assert_eq!(
                (&row["collate"], &row["batch"], &row["threads"]),
                (&collate.into(), &7.into(), &2.into())
            );
            assert_eq!(row["samples"].as_u64().unwrap() % 10, 0, "each thread goes over its half");
            for key in ["samples_per_s", "cpu_us_per_sample"] {
                assert!(row[key].as_f64().unwrap() > 0.0, "{key}");
            }
            assert!(row["bytes_per_sample"].as_f64().unwrap() >= least_bytes, "{row}");
        }
    }
    let text = home.ok(bench).prints(&["resident-mask"]).stdout;
    assert!(text.starts_with("processor "), "{text}");
    home.fails("data bench tiny --batch 0", 2, &["at least 1"]);
}
