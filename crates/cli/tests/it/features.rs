//! Content features from a table and from a `NumPy` array: into a dataset, shown, verified, and read by a model.

#![cfg(feature = "lab")]

use crate::support::run_in as run;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const GENES: usize = 24;

/// A screen of all pairs, a table of two features, an array of three and the list of its genes.
fn sources(folder: &Path) {
    let value = |a: usize, b: usize| ((a * 7919 + b * 104_729) % 1009) as f32 / 1009.0 - 0.5;
    let (mut screen, mut table, mut list) =
        ("gene_a\tgene_b\tscore\n".to_owned(), "orf,fitness,length\n".to_owned(), String::new());
    let mut array = b"\x93NUMPY\x01\x00".to_vec();
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, 3), }}\n", GENES + 1);
    array.extend((header.len() as u16).to_le_bytes());
    array.extend(header.as_bytes());
    for a in 0..GENES {
        for b in 0..a {
            writeln!(screen, "G{a}\tG{b}\t{:.4}", value(a, 1) * value(b, 1)).unwrap();
        }
        // The last gene has no row, the first no length.
        if a + 1 < GENES {
            let length = if a == 0 { String::new() } else { (100 + a).to_string() };
            writeln!(table, "G{a},{},{length}", value(a, 1)).unwrap();
        }
    }
    // One gene that the screen does not know.
    for a in 0..=GENES {
        writeln!(list, "G{a}").unwrap();
        (0..3).for_each(|column| array.extend(value(a, 10 + column).to_le_bytes()));
    }
    fs::write(folder.join("screen.tsv"), screen).unwrap();
    fs::write(folder.join("table.csv"), table).unwrap();
    fs::write(folder.join("genes.txt"), list).unwrap();
    fs::write(folder.join("esm.npy"), array).unwrap();
}

#[test]
fn features_are_imported_shown_and_read() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    sources(folder);
    run(folder, &["-q", "data", "import", "plain", "--screen", "screen.tsv"]).ok();
    let import = [
        "--json",
        "data",
        "import",
        "rich",
        "--screen",
        "screen.tsv",
        "--features",
        "table:table.csv",
        "--features",
        "npy:esm.npy,gene-list=genes.txt,name=esm",
    ];
    let report = run(folder, &import).json();
    assert_eq!(report["features"][0]["genes"], GENES - 1);
    assert_eq!(
        (&report["features"][1]["columns"], &report["features"][1]["genes"]),
        (&3.into(), &GENES.into())
    );
    assert_eq!(report["features"][1]["rows"]["unknown_gene"], 1);

    let shown = run(folder, &["--json", "data", "show", "rich"]).json();
    assert_eq!(shown["features"]["first"].as_array().unwrap().len(), 5);
    assert_eq!((&shown["features"]["columns"], &shown["features"]["genes"]), (&5.into(), &GENES.into()));
    let said = run(folder, &["data", "show", "rich"]).ok().stdout;
    assert!(said.contains("5 of 24 genes: fitness, length, esm0, esm1, esm2"), "{said}");
    assert!(run(folder, &["--json", "data", "show", "plain"]).json()["features"].is_null());
    run(folder, &["data", "verify", "rich"]).ok();

    let train = |data: &'static str, features: &'static str, out: &'static str| {
        run(
            folder,
            &[
                "-q",
                "train",
                data,
                "--model",
                "transformer",
                "model.width=8",
                "model.heads=2",
                "model.layers=1",
                features,
                "--epochs",
                "2",
                "--out",
                out,
            ],
        )
    };
    train("rich", "model.features=beside", "beside").ok();
    train("rich", "model.features=instead", "instead").ok();
    let refused = train("plain", "model.features=beside", "none");
    assert!(refused.stderr.contains("the dataset has no features"), "{}", refused.stderr);
    run(folder, &["-q", "evaluate", "instead", "--resamples", "20"]).ok();
    let predict = ["-q", "predict", "beside", "--pairs", "--top", "5", "--data", "plain", "--out", "hits"];
    let other = run(folder, &predict);
    assert!(other.stderr.contains("is not the dataset"), "{}", other.stderr);
}

#[test]
fn a_table_that_is_wrong_is_refused_by_its_place() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    sources(folder);
    let refused = |table: &str| {
        fs::write(folder.join("bad.csv"), table).unwrap();
        let args = ["data", "import", "x", "--screen", "screen.tsv", "--features", "table:bad.csv"];
        run(folder, &args).stderr
    };
    let text = refused("orf,a\nG1,high\n");
    assert!(
        text.contains("bad.csv, line 2, column \"a\"") && text.contains("\"high\" is not a number"),
        "{text}"
    );
    assert!(refused("orf,a\nG1,1\nG1,2\n").contains("a gene that has no row above"));
    assert!(refused("orf,a\nX1,1\n").contains("row of a gene of the table"));
    assert!(refused("what,a\nG1,1\n").contains("missing column"));
    assert!(refused("orf,a,a\nG1,1,2\n").contains("occurs twice"));
    assert!(!folder.join("x").exists());
}
