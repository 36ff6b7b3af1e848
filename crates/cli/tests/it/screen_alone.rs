//! A screen and nothing else: a table of scores becomes a dataset without a gene table and without networks, and everything that
//! needs none works on it.

#![cfg(feature = "lab")]

use crate::support::run_in as run;
use std::fmt::Write as _;
use std::fs;

/// Pairs of 40 human genes whose scores are additive, of rank 1, and a little noisy; every fifth pair is measured again.
fn table(genes: [&str; 2], score: &str, separator: char) -> String {
    let mut text = format!("{}{separator}{}{separator}{score}\n", genes[0], genes[1]);
    let hash = |a: usize, b: usize| ((a * 7919 + b * 104_729) % 1009) as f64 / 1009.0 - 0.5;
    for a in 0..40 {
        for b in 0..a {
            let truth = hash(a, 1) + hash(b, 1) + 4.0 * hash(a, 2) * hash(b, 2);
            let mut row = |noise: f64| {
                writeln!(text, "KIN{a}{separator}kin{b}{separator}{:.6}", truth + 0.2 * noise).unwrap();
            };
            row(hash(a, b + 50));
            if (a + b) % 5 == 0 {
                row(hash(b, a + 90));
            }
        }
    }
    text
}

#[test]
fn a_table_is_enough_for_everything_that_needs_no_networks() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    fs::write(folder.join("k562.tsv"), table(["gene_a", "gene_b"], "score", '\t')).unwrap();
    let report = run(folder, &["--json", "data", "import", "k562", "--screen", "k562.tsv"]).json();
    assert_eq!((report["genes"].as_u64(), report["samples"]["count"].as_u64()), (Some(40), Some(780)));
    assert_eq!(report["samples"]["merged"], 156);
    let shown = run(folder, &["--json", "data", "show", "k562"]).json();
    assert_eq!(shown["networks"].as_array().unwrap().len(), 0);
    let repeats = &shown["repeats"][0];
    assert_eq!((repeats["first"].as_str(), repeats["sets"].as_u64()), (Some("k562"), Some(156)));
    let again = shown["ceiling"]["repeat_pearson"].as_f64().unwrap();
    assert!(again > 0.8 && again < 1.0, "{again}");
    let said = run(folder, &["data", "show", "k562"]).ok().stdout;
    assert!(said.contains("itself again") && said.contains("ceiling: measuring again"), "{said}");
    assert!(!said.contains("density") && !said.contains("hops"), "{said}");
    run(folder, &["data", "verify", "k562"]).ok();

    run(folder, &["-q", "train", "k562", "--out", "stack"]).ok();
    let evaluated = run(folder, &["--json", "-q", "evaluate", "stack", "--resamples", "50"]).json();
    assert!(evaluated["rows"][0]["pearson"].as_f64().unwrap() > 0.7, "{evaluated}");
    assert_eq!(evaluated["ceiling"]["sets"], 156);
    let ladder = run(folder, &["--json", "-q", "baseline", "k562", "--resamples", "20"]).json();
    let names: Vec<&str> =
        ladder["rows"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"stack") && !names.contains(&"network-kernel"), "{names:?}");
    assert!(ladder["ceiling"]["model_pearson"].as_f64().unwrap() > again);
    run(folder, &["-q", "predict", "stack", "--pairs", "--top", "5", "--out", "hits"]).ok();
    let page = fs::read_to_string(folder.join("stack/report.html")).unwrap();
    assert!(page.contains("measuring again"), "the page of a run says how good the scores are");
    run(folder, &["train", "k562", "--model", "dango"]).fails(2, &["no networks", "--network"]);
    run(folder, &["train", "k562", "--model", "hetero"]).fails(2, &["no networks", "--network"]);
}

#[test]
fn columns_are_named_behind_the_file() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    fs::write(folder.join("t.csv"), table(["Gene 1", "Gene 2"], "GI", ',')).unwrap();
    run(folder, &["data", "import", "wrong", "--screen", "t.csv"])
        .fails(3, &["t.csv", "line 1", "gene_a", "Gene 1", "genes=A+B,score=S"]);
    let source = "t.csv,genes=Gene 1+Gene 2,score=GI,name=lab";
    let report = run(folder, &["--json", "data", "import", "right", "--screen", source]).json();
    assert_eq!((report["genes"].as_u64(), report["samples"]["count"].as_u64()), (Some(40), Some(780)));
    assert!(!folder.join("wrong").exists(), "nothing is left of an import that failed");
}

#[test]
fn a_third_gene_may_be_missing_and_the_others_may_not() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    let rows = "gene_a\tgene_b\tgene_c\tscore\nA\tB\tC\t0.1\nA\tB\t\t0.2\nA\tA\tD\t0.5\n";
    fs::write(folder.join("t.tsv"), rows).unwrap();
    let report = run(folder, &["--json", "data", "import", "mixed", "--screen", "t.tsv"]).json();
    assert_eq!(report["genes"], 3, "a row that is no sample names no gene: {report}");
    assert_eq!(report["samples"]["orders"]["2"], 1);
    assert_eq!(report["samples"]["orders"]["3"], 1);
    for (rows, words) in [
        ("gene_a\tgene_b\tscore\nA\tB\t0.1\nA\t\t0.1\n", vec!["line 3", "gene_b", "a gene"]),
        ("gene_a\tgene_b\tscore\nA\tB\thigh\n", vec!["line 2", "score", "high"]),
        ("gene_a\tgene_b\tscore\nA\ttwo words\t0.1\n", vec!["line 2", "two words", "a gene name"]),
        ("gene_a\tgene_b\tscore\n", vec!["row with a score"]),
        ("gene_a\tgene_b\tscore\nA\tB\t0.1\t7\n", vec!["line 2", "cells"]),
    ] {
        fs::write(folder.join("bad.tsv"), rows).unwrap();
        run(folder, &["data", "import", "bad", "--screen", "bad.tsv"]).fails(3, &words);
        assert!(!folder.join("bad").exists());
    }
}

/// Names that a spreadsheet made into dates and numbers are named with what to do about it, whether there is a gene table or not.
#[test]
fn names_that_a_spreadsheet_altered_are_not_silently_genes() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    let rows = "gene_a,gene_b,score\nSEPT1,TP53,0.5\n1-Sep,TP53,0.5\n1-Mar,BRCA1,0.1\n1E5,TP53,0.2\nTRUE,BRCA1,0.3\nSEPT1,BRCA1,0.4\n\
                TP53,BRCA1,0.1\nTP53,KRAS,0.1\nKRAS,BRCA1,0.1\nKRAS,SEPT1,0.1\n";
    fs::write(folder.join("screen.csv"), rows).unwrap();
    let imported = run(folder, &["data", "import", "alone", "--screen", "screen.csv"]).ok();
    for said in [
        "look like dates (2: \"1-Mar\", \"1-Sep\")",
        "numbers (1: \"1E5\")",
        "truth values (1: \"TRUE\")",
        "as it was published",
    ] {
        assert!(imported.stderr.contains(said), "{said:?} is not in {}", imported.stderr);
    }
    assert!(!imported.stderr.contains("SEPT1\""), "a gene's own name is none: {}", imported.stderr);
    let report = fs::read_to_string(folder.join("alone/import-report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["gene_sources"][0]["altered_names"]["1-Sep"], "date");
    // With a gene table such rows are left out, and the reason is said too.
    fs::write(folder.join("genes.txt"), "SEPT1\nTP53\nBRCA1\nKRAS\nMARCH1\n").unwrap();
    let table = ["--screen", "screen.csv", "--genes", "list:genes.txt"];
    run(folder, &[&["data", "import", "few"], &table[..]].concat())
        .fails(3, &["40 %", "look like", "as it was published"]);
    let imported = run(folder, &[&["data", "import", "left", "--allow-missing"], &table[..]].concat()).ok();
    assert!(
        imported.stderr.contains("of the names not in the table, some look like dates (2: "),
        "{}",
        imported.stderr
    );
    let report = fs::read_to_string(folder.join("left/import-report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let names = &report["screens"][0]["rows"]["unknown_names"];
    assert_eq!((&names["1-Mar"]["looks_like"], &names["1-Mar"]["first_line"]), (&"date".into(), &4.into()));
    // Unless somebody says what they were.
    fs::write(folder.join("names.tsv"), "gene\twas\nSEPT1\t1-Sep\nMARCH1\t1-Mar\n").unwrap();
    let aliases = ["--allow-missing", "--aliases", "table:names.tsv,gene=gene,alias=was"];
    let imported = run(folder, &[&["data", "import", "mended"], &table[..], &aliases].concat()).ok();
    assert!(
        imported.stderr.contains("some look like numbers (1: "),
        "no dates any more: {}",
        imported.stderr
    );
    // A gene may be called NAN where the table has it; otherwise the third column says that there is no third gene.
    fs::write(folder.join("nan.tsv"), "gene_a\tgene_b\tgene_c\tscore\nA\tB\tNAN\t0.1\nA\tB\tC\t0.2\n")
        .unwrap();
    fs::write(folder.join("fly.txt"), "A\nB\nC\nNAN\n").unwrap();
    let of = |out: &str, more: &[&str]| {
        let report = run(folder, &[&["--json", "data", "import", out, "--screen", "nan.tsv"], more].concat());
        report.json()["samples"]["orders"].clone()
    };
    assert_eq!(of("without", &[]), serde_json::json!({"2": 1, "3": 1}));
    assert_eq!(of("with", &["--genes", "list:fly.txt"]), serde_json::json!({"3": 2}));
}
