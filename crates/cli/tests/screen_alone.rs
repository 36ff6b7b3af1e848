//! A screen and nothing else: a table of scores becomes a dataset without a gene table and without networks, and everything that
//! needs none works on it.

#![cfg(feature = "lab")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::fmt::Write as _;
use std::fs;
use support::run_in as run;

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
