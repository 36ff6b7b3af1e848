//! `knockout data import`: reports, exit codes and what lies in the folder afterwards.
#![cfg(feature = "lab")]

use crate::support::{Home, texts};
use serde_json::json;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;

const SCORES: &str = "gene_a\tallele_a\tgene_b\tallele_b\ts_score\nYAL001C\tDELETION\tYAL002W\tDELETION\t-1.5\n\
                      YAL002W\tDELETION\tYAL001C\tDELETION\t-0.5\nYAL001C\tDELETION\tYAL003W\tDAMP\t0.25\n";
const FILES: &str = "--genes list:genes.txt --screen emap:scores.tsv";

/// Returns a folder with genes, scores and a recipe of them.
fn files() -> Home {
    let home = Home::empty();
    home.write("genes.txt", "YAL001C\nYAL002W\nYAL003W\n");
    home.write("scores.tsv", SCORES);
    let recipe = "[[genes]]\nformat = \"list\"\nfile = \"genes.txt\"\n[[screens]]\nformat = \"emap\"\nfile = \"scores.tsv\"\n";
    home.write("recipe.toml", recipe);
    home
}

#[test]
fn options_and_a_recipe_make_the_same_dataset() {
    let [one, two] = [files(), files()];
    one.ok(&format!("data import out {FILES}"))
        .prints(&["2 samples (2 of 2 genes; deletion 1, mixed 1), 1 repeat merged"]);
    let report = two.json("data import out --recipe recipe.toml --json");
    assert_eq!((&report["schema"], &report["samples"]["count"]), (&1.into(), &2.into()));
    for file in ["samples.parquet", "genes.parquet", "recipe.toml", "import-report.json"] {
        let read = |home: &Home| fs::read(home.path("out").join(file)).unwrap();
        assert_eq!(read(&one), read(&two), "{file}");
    }
}

#[test]
fn a_wrong_request_is_2() {
    let home = files();
    for (request, words) in [
        ("--genes list:none.txt", "there is no none.txt"),
        ("--genes lst:genes.txt", "unknown variant `lst`"),
        ("--network edges:scores.tsv", "knockout: there are no genes"),
        ("--recipe none.toml", "recipe none.toml"),
        ("--genes list:genes.txt --network string:scores.tsv,channel=x", "unknown field `channel`"),
    ] {
        home.fails(&format!("data import out {request}"), 2, &[words]);
    }
    fs::create_dir(home.path("out")).unwrap();
    home.fails("data import out --recipe recipe.toml", 2, &["out"]);
}

#[test]
fn missing_files_are_all_named() {
    Home::empty().fails(
        "data import set --screen one.tsv --network edges:two.tsv",
        2,
        &["no one.tsv", "no two.tsv"],
    );
}

#[test]
fn a_gzipped_file_is_found_by_its_plain_name() {
    let home = Home::empty();
    home.write("screen.tsv", "gene_a\tgene_b\tscore\nA1\tB1\t0.5\nA2\tB2\t-0.5\n");
    let packed = Command::new("gzip").arg(home.path("screen.tsv")).status();
    assert!(packed.is_ok_and(|status| status.success()), "gzip packs a file");
    home.ok("data import set --screen screen.tsv");
}

#[test]
fn wrong_input_is_3_with_line_and_column_and_leaves_nothing() {
    let home = files();
    home.write("scores.tsv", SCORES.replace("-0.5", "-O.5"));
    let ran = home.fails("data import out --recipe recipe.toml", 3, &[]);
    assert_eq!(
        ran.stderr.trim(),
        "knockout: scores.tsv, line 3, column \"s_score\": \"-O.5\" is not a score, a finite number"
    );
    assert!(!home.exists("out"));
}

/// An edge is directed in every count, as it is stored.
#[test]
fn edges_are_counted_alike_by_import_and_by_show() {
    let home = files();
    home.write("edges.tsv", "a\tb\nYAL001C\tYAL002W\nYAL002W\tYAL003W\nYAL003W\tYAL003W\n");
    for (out, more, words, edges) in [
        ("both", "", "4 edges, both directions of 2 undirected ones, on 3 genes (1 self-loop dropped)", 4),
        ("one", ",entries=one", "2 edges on 3 genes", 2),
        ("directed", ",directed=true", "2 edges on 3 genes", 2),
    ] {
        let network = format!("--network edges:edges.tsv,source=a,target=b,name=n{more}");
        home.ok(&format!("data import {out} {FILES} {network}")).prints(&["network n: ", words]);
        assert_eq!(home.json(&format!("data show {out} --json"))["networks"][0]["edges"], edges);
    }
}

/// Pairs of 40 human genes whose scores are additive, of rank 1, and a little noisy; every fifth pair is measured again.
fn human_screen(genes: [&str; 2], score: &str, separator: char) -> String {
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

/// Returns a folder with the dataset `k562` of a screen without a gene table and without networks.
fn screen_alone() -> Home {
    let home = Home::empty();
    home.write("k562.tsv", human_screen(["gene_a", "gene_b"], "score", '\t'));
    let report = home.json("--json data import k562 --screen k562.tsv");
    assert_eq!((report["genes"].as_u64(), report["samples"]["count"].as_u64()), (Some(40), Some(780)));
    assert_eq!(report["samples"]["merged"], 156);
    home
}

#[test]
fn repeated_measurements_give_a_ceiling() {
    let home = screen_alone();
    let shown = home.json("--json data show k562");
    assert_eq!(shown["networks"].as_array().unwrap().len(), 0);
    let repeats = &shown["repeats"][0];
    assert_eq!((repeats["first"].as_str(), repeats["sets"].as_u64()), (Some("k562"), Some(156)));
    let again = shown["ceiling"]["repeat_pearson"].as_f64().unwrap();
    assert!(again > 0.8 && again < 1.0, "{again}");
    assert_eq!(repeats["alleles"], "unstated", "the table states no kind");
    let text = home
        .ok("data show k562")
        .prints(&["itself again", "ceiling: measuring again", "some may differ"])
        .stdout;
    assert!(!text.contains("density") && !text.contains("hops"), "{text}");
    home.ok("data verify k562");
    let baselines = home.json("--json -q baseline k562 --resamples 20");
    assert!(baselines["ceiling"]["model_pearson"].as_f64().unwrap() > again);
}

#[test]
fn standard_errors_give_a_ceiling() {
    let home = Home::empty();
    let mut text = "gene_a\tgene_b\tscore\tse\n".to_owned();
    let (mut scores, mut squared_errors) = (Vec::new(), 0.0);
    for a in 0..40 {
        for b in 0..a {
            let score = f64::from((a * 7919 + b * 104_729 + a * b * 31) % 1009) / 1009.0;
            let error = if (a + b) % 2 == 0 { 0.2 } else { 0.05 };
            writeln!(text, "KIN{a}\tKIN{b}\t{score:.6}\t{error}").unwrap();
            scores.push(score);
            squared_errors += error * error;
        }
    }
    home.write("k562.tsv", &text);
    home.ok("-q data import k562 --screen k562.tsv,standard-error=se");
    let shown = home.json("--json data show k562");
    let ceiling = &shown["ceiling"];
    assert_eq!((ceiling["basis"].as_str(), ceiling["sets"].as_u64()), (Some("standard-errors"), Some(780)));
    let figure = |name: &str| ceiling[name].as_f64().unwrap();
    let mean = scores.iter().sum::<f64>() / 780.0;
    let squares: f64 = scores.iter().map(|score| (score - mean).powi(2)).sum();
    assert!((figure("repeat_pearson") - (1.0 - squared_errors / squares)).abs() < 1e-5, "{ceiling}");
    assert!(
        figure("low") < figure("repeat_pearson") && figure("repeat_pearson") < figure("high"),
        "{ceiling}"
    );
    assert!((figure("model_pearson").powi(2) - figure("repeat_pearson")).abs() < 1e-9, "{ceiling}");
    home.ok("data show k562")
        .prints(&["ceiling: measuring again gives Pearson 0.7", "from the standard errors of 780 scores"]);
    home.ok("data verify k562");

    // An error of 0 is not known.
    home.write("zeros.tsv", text.replace("\t0.05\n", "\t0\n"));
    home.ok("-q data import zeros --screen zeros.tsv,standard-error=se");
    assert_eq!(home.json("--json data show zeros")["ceiling"]["sets"], 380);
    home.write("bad.tsv", text.replacen("\t0.2\n", "\t-0.2\n", 1));
    home.fails(
        "data import bad --screen bad.tsv,standard-error=se",
        3,
        &["bad.tsv", "se", "-0.2", "not below 0"],
    );
    home.fails("data import bad --screen k562.tsv,standard-error=sem", 3, &["k562.tsv", "sem"]);
    home.ok("-q data import without --screen k562.tsv");
    assert!(home.json("--json data show without")["ceiling"].is_null());
}

#[test]
fn a_screen_alone_is_enough_for_models_without_networks() {
    let home = screen_alone();
    home.ok("-q train k562 --out stack");
    assert!(home.read("stack/report.html").contains("measuring again"));
    let evaluated = home.json("--json -q evaluate stack --resamples 50");
    assert!(evaluated["rows"][0]["pearson"].as_f64().unwrap() > 0.7, "{evaluated}");
    assert_eq!(evaluated["ceiling"]["sets"], 156);
    let baselines = home.json("--json -q baseline k562 --resamples 20");
    let names = texts(&baselines["rows"], "name");
    assert!(names.contains(&"stack") && !names.contains(&"network-kernel"), "{names:?}");
    home.ok("-q predict stack --pairs --top 5 --out hits");
}

#[test]
fn columns_are_named_behind_the_file() {
    let home = Home::empty();
    home.write("t.csv", human_screen(["Gene 1", "Gene 2"], "GI", ','));
    let words = ["t.csv", "line 1", "gene_a", "Gene 1", "genes=A+B,score=S"];
    home.fails("data import wrong --screen t.csv", 3, &words);
    assert!(!home.exists("wrong"));
    let report = home.json("--json data import right --screen 't.csv,genes=Gene 1+Gene 2,score=GI,name=lab'");
    assert_eq!((report["genes"].as_u64(), report["samples"]["count"].as_u64()), (Some(40), Some(780)));
}

#[test]
fn a_third_gene_may_be_missing() {
    let home = Home::empty();
    home.write("t.tsv", "gene_a\tgene_b\tgene_c\tscore\nA\tB\tC\t0.1\nA\tB\t\t0.2\nA\tA\tD\t0.5\n");
    let report = home.json("--json data import mixed --screen t.tsv");
    assert_eq!(report["genes"], 3, "a row that is not a sample names no gene: {report}");
    assert_eq!(report["samples"]["orders"], json!({"2": 1, "3": 1}));
}

#[test]
fn a_gene_may_be_called_nan() {
    let home = Home::empty();
    home.write("nan.tsv", "gene_a\tgene_b\tgene_c\tscore\nA\tB\tNAN\t0.1\nA\tB\tC\t0.2\n");
    home.write("fly.txt", "A\nB\nC\nNAN\n");
    let orders = |request: &str| {
        home.json(&format!("--json data import {request} --screen nan.tsv"))["samples"]["orders"].clone()
    };
    assert_eq!(orders("without"), json!({"2": 1, "3": 1}), "the cell means that there is no third gene");
    assert_eq!(orders("with --genes list:fly.txt"), json!({"3": 2}));
}

#[test]
fn wrong_rows_of_a_screen_are_3_and_leave_nothing() {
    let home = Home::empty();
    for (rows, words) in [
        ("A\tB\t0.1\nA\t\t0.1\n", &["line 3", "gene_b", "a gene"][..]),
        ("A\tB\thigh\n", &["line 2", "score", "high"]),
        ("A\ttwo words\t0.1\n", &["line 2", "two words", "a gene name"]),
        ("", &["row with a score"]),
        ("A\tB\t0.1\t7\n", &["line 2", "cells"]),
    ] {
        home.write("bad.tsv", format!("gene_a\tgene_b\tscore\n{rows}"));
        home.fails("data import bad --screen bad.tsv", 3, words);
        assert!(!home.exists("bad"));
    }
}

#[test]
fn a_gene_paired_only_with_itself_is_not_unknown() {
    let home = Home::empty();
    home.write("mini.tsv", "gene_a\tgene_b\tscore\nA\tB\t0.1\nKRAS\tkras\t0.1\n");
    let imported = home.ok("data import mini --screen mini.tsv");
    let printed = format!("{}{}", imported.stdout, imported.stderr);
    assert!(printed.contains("a gene with itself"), "{printed}");
    assert!(!printed.contains("genes not in the table"), "{printed}");
}

/// Returns a folder with a screen in which a spreadsheet made gene names into dates, numbers and truth values.
fn spreadsheet() -> Home {
    let home = Home::empty();
    let rows = "gene_a,gene_b,score\nSEPT1,TP53,0.5\n1-Sep,TP53,0.5\n1-Mar,BRCA1,0.1\n1E5,TP53,0.2\nTRUE,BRCA1,0.3\nSEPT1,BRCA1,0.4\n\
                TP53,BRCA1,0.1\nTP53,KRAS,0.1\nKRAS,BRCA1,0.1\nKRAS,SEPT1,0.1\n";
    home.write("screen.csv", rows);
    home.write("genes.txt", "SEPT1\nTP53\nBRCA1\nKRAS\nMARCH1\n");
    home
}

#[test]
fn names_that_a_spreadsheet_altered_are_warned_of() {
    let home = spreadsheet();
    let imported = home.ok("data import alone --screen screen.csv").warns(&[
        "look like dates (2: \"1-Mar\", \"1-Sep\")",
        "numbers (1: \"1E5\")",
        "truth values (1: \"TRUE\")",
        "as it was published",
    ]);
    assert!(!imported.stderr.contains("SEPT1\""), "a gene's own name: {}", imported.stderr);
    let report = home.document("alone/import-report.json");
    assert_eq!(report["gene_sources"][0]["altered_names"]["1-Sep"], "date");
}

#[test]
fn altered_names_that_a_gene_table_lacks_are_left_out() {
    let home = spreadsheet();
    let table = "--screen screen.csv --genes list:genes.txt";
    home.fails(&format!("data import few {table}"), 3, &["40 %", "look like", "as it was published"]);
    home.ok(&format!("data import left --allow-missing {table}"))
        .warns(&["of the names not in the table, some look like dates (2: "]);
    let names = &home.document("left/import-report.json")["screens"][0]["rows"]["unknown_names"];
    assert_eq!((&names["1-Mar"]["looks_like"], &names["1-Mar"]["first_line"]), (&"date".into(), &4.into()));
}

#[test]
fn aliases_give_altered_names_their_genes() {
    let home = spreadsheet();
    home.write("names.tsv", "gene\twas\nSEPT1\t1-Sep\nMARCH1\t1-Mar\n");
    let aliases = "--allow-missing --aliases table:names.tsv,gene=gene,alias=was";
    home.ok(&format!("data import mended --screen screen.csv --genes list:genes.txt {aliases}"))
        .warns(&["some look like numbers (1: "]);
}

#[test]
fn tables_of_laboratories_are_imported_with_warnings() {
    let home = Home::empty();
    let rows = "HTZ1;YOL012C;0,5\nHTZ1-DAmP;CDC48;-1,25\ncdc48-3;yml090wΔ;n.d.\nYML090W;CDC48;1,234\n;;\n";
    home.write("lab.csv", format!("Gene A;Gene B;score\n{rows}"));
    home.ok("data import lab --screen lab.csv")
        .warns(&[
            "2 systematic and 2 other names (e.g. YML090W, YOL012C, CDC48, HTZ1)",
            "--genes sgd:SGD_features.tab",
            "1 row left out: no score",
        ])
        .prints(&["3 of 4 rows, 1 with an allele in the name of a gene", "deletion 2, mixed 1"]);
    home.write("matrix.csv", ",AA1,BB1,CC1\nAA1,,-0.5,0.2\nBB1,-0.5,,0.1\nCC1,0.2,0.1,\n");
    home.ok("data import matrix --screen matrix:matrix.csv")
        .prints(&["3 of 9 rows", "3 samples (3 of 2 genes; deletion 3), 0 repeats"]);
    home.write("unclear.csv", "gene_a;gene_b;score\nAA1;BB1;1,234\n");
    home.fails("data import unclear --screen unclear.csv", 3, &["line 2", "decimal=comma"]);
    home.ok("data import unclear --screen unclear.csv,decimal=comma");
    home.write("bad.csv", "gene_a;gene_b;score\nAA1;BB1;x\nAA1;C 1;2,5\n");
    home.fails(
        "data import bad --screen bad.csv",
        3,
        &["2 rows cannot be read: line 2", "; line 3: \"C 1\" is not a gene name: it has a space"],
    );
    home.fails(
        "data import bad --screen matrix:matrix.csv,shape=square",
        2,
        &["expected one of `symmetric`"],
    );
}

const ANNOTATIONS: &str =
    "--screen screen.tsv --annotations gaf:sgd.gaf,name=go --annotations json:complexes.json";

/// Returns a folder with a screen and two files of annotations.
fn annotations() -> Home {
    let home = Home::empty();
    home.write("screen.tsv", "gene_a\tgene_b\tscore\nYAL001C\tYAL002W\t0.5\nYAL001C\tHO\t0.1\n");
    let line = |gene: &str, term: &str, code: &str| {
        format!(
            "SGD\tS1\tX\t\t{term}\tPMID:1\t{code}\t\tP\tname\t{gene}|Y\tprotein\ttaxon:559292\t20250101\tSGD\t\t\n"
        )
    };
    let gaf = [
        "!gaf-version: 2.2\n".to_owned(),
        line("YAL001C", "GO:0000001", "IDA"),
        line("YAL002W", "GO:0000001", "IEA"),
        line("YAL001C", "GO:0000002", "IDA"),
        line("HO", "GO:0000002", "IGI"),
        line("YZZ001C", "GO:0000001", "IDA"),
    ];
    home.write("sgd.gaf", gaf.concat());
    home.write("complexes.json", "{\"HO\": [\"CPX-1\"], \"YAL001C\": [\"CPX-1\"]}");
    home
}

#[test]
fn annotations_are_reported_with_what_was_left_out() {
    let home = annotations();
    let words =
        "annotations go: 1 term of 2 genes, 2 pairs (1 term with too few genes and 0 with too many left out)";
    home.ok(&format!("data import rich {ANNOTATIONS}"))
        .prints(&[words])
        .warns(&["sgd.gaf: 1 row left out: evidence IGI"]);
    let report = home.document("rich/import-report.json");
    assert_eq!(report["annotations"][0]["rows"]["unknown_names"]["X"]["rows"], 1);
    assert_eq!(report["annotations"][1]["name"], "complexes");
}

#[test]
fn annotations_are_shown_and_verified() {
    let home = annotations();
    home.ok(&format!("-q data import rich {ANNOTATIONS}"));
    home.ok("data verify rich");
    let sets = json!([
        {"name": "complexes", "terms": 1, "genes": 2, "pairs": 2},
        {"name": "go", "terms": 1, "genes": 2, "pairs": 2},
    ]);
    assert_eq!(home.json("--json data show rich")["annotations"], sets);
    home.ok("data show rich").prints(&["annotations", "complexes"]);
    let gene = home.json("--json data show rich --gene YAL001C");
    assert_eq!(gene["annotations"][1]["terms"][0], "GO:0000001");
    home.ok("data show rich --gene HO").prints(&["CPX-1"]);
}

#[test]
fn the_kept_recipe_makes_the_same_data() {
    let home = annotations();
    home.ok(&format!("-q data import rich {ANNOTATIONS}"));
    home.ok("-q data import plain --screen screen.tsv");
    home.ok("-q data import same --recipe rich/recipe.toml");
    let hash = |set: &str| home.json(&format!("--json data show {set}"))["data_hash"].clone();
    assert_eq!(hash("same"), hash("rich"));
    assert_ne!(hash("plain"), hash("rich"));
    assert!(home.json("--json data show plain")["annotations"].is_null());
}

#[test]
fn wrong_sources_of_annotations_are_refused() {
    let home = annotations();
    for (source, words) in [
        ("gaf:sgd.gaf,evidence=IDB", "GO has no evidence code"),
        ("gaf:sgd.gaf,name=../go", "cannot name annotations"),
        ("gmt:sgd.gaf", "sgd.gaf, line 1: the row has 1 cells"),
        ("obo:sgd.gaf", "unknown variant `obo`"),
    ] {
        home.run(&format!("data import x --screen screen.tsv --annotations {source}")).warns(&[words]);
    }
    assert!(!home.exists("x"));
}

const GENES: usize = 24;

/// Returns a folder with a screen of all pairs, a table of two features, an array of three and the list of its genes.
fn features() -> Home {
    let home = Home::empty();
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
    // The screen lacks one of these genes.
    for a in 0..=GENES {
        writeln!(list, "G{a}").unwrap();
        (0..3).for_each(|column| array.extend(value(a, 10 + column).to_le_bytes()));
    }
    home.write("screen.tsv", screen);
    home.write("table.csv", table);
    home.write("genes.txt", list);
    home.write("esm.npy", array);
    home
}

const FEATURES: &str =
    "--screen screen.tsv --features table:table.csv --features npy:esm.npy,gene-list=genes.txt,name=esm";

#[test]
fn features_of_a_table_and_an_array_are_imported() {
    let home = features();
    let report = home.json(&format!("--json data import rich {FEATURES}"));
    assert_eq!(report["features"][0]["genes"], GENES - 1);
    let esm = &report["features"][1];
    assert_eq!((&esm["columns"], &esm["genes"]), (&3.into(), &GENES.into()));
    assert_eq!(esm["rows"]["unknown_gene"], 1);
    let shown = &home.json("--json data show rich")["features"];
    assert_eq!((&shown["columns"], &shown["genes"]), (&5.into(), &GENES.into()));
    assert_eq!(shown["first"].as_array().unwrap().len(), 5);
    home.ok("data show rich").prints(&["5 columns for 24 genes: fitness, length, esm0, esm1, esm2"]);
    home.ok("data verify rich");
}

#[test]
fn a_model_reads_features() {
    let home = features();
    home.ok(&format!("-q data import rich {FEATURES}"));
    home.ok("-q data import plain --screen screen.tsv");
    assert!(home.json("--json data show plain")["features"].is_null());
    let train = |data: &str, features: &str| {
        let model = "--model transformer model.width=8 model.heads=2 model.layers=1 --epochs 2";
        home.run(&format!("-q train {data} {model} model.features={features} --out {features}"))
    };
    train("plain", "beside").warns(&["the dataset has no features"]);
    train("rich", "beside").ok();
    train("rich", "instead").ok();
    home.ok("-q evaluate instead --resamples 20");
    home.run("-q predict beside --pairs --top 5 --data plain --out hits").warns(&["is not the dataset"]);
}

#[test]
fn wrong_tables_of_features_are_refused_by_line_and_column() {
    let home = features();
    for (table, words) in [
        ("orf,a\nG1,high\n", "bad.csv, line 2, column \"a\": \"high\" is not a number"),
        ("orf,a\nG1,1\nG1,2\n", "a gene that has no row above"),
        ("orf,a\nX1,1\n", "row of a gene of the table"),
        ("what,a\nG1,1\n", "missing column"),
        ("orf,a,a\nG1,1,2\n", "occurs twice"),
    ] {
        home.write("bad.csv", table);
        home.run("data import x --screen screen.tsv --features table:bad.csv").warns(&[words]);
    }
    assert!(!home.exists("x"));
}

#[test]
fn copies_of_a_pair_measure_no_error() {
    let home = Home::empty();
    let (mut mirrored, mut names) = ("gene_a\tgene_b\tscore\n".to_owned(), Vec::new());
    for a in 0..20 {
        names.push(format!("YAL{a:03}W"));
        for b in 0..a {
            let score = f64::from((a * 7 + b * 13) % 29) / 10.0 - 1.4;
            writeln!(mirrored, "YAL{a:03}W\tYAL{b:03}W\t{score}\nYAL{b:03}W\tYAL{a:03}W\t{score}").unwrap();
        }
    }
    home.write("genes.txt", names.join("\n") + "\n");
    home.write("mirrored.tsv", mirrored);
    home.ok("data import twice --genes list:genes.txt --screen mirrored.tsv")
        .prints(&["190 measurements merged", "warning: 190 of them have the score of the earlier one"]);
    let shown = home.ok("data show twice");
    assert!(!shown.stdout.contains("ceiling"), "{}", shown.stdout);
}

#[test]
fn marks_of_missing_alleles_and_words_for_kinds_in_any_case_are_understood() {
    let home = Home::empty();
    home.write("genes.txt", "YAL001W\nYAL002W\nYAL003W\n");
    home.write(
        "alleles.tsv",
        "a\tal_a\tb\tal_b\tscore\nYAL001W\tNA\tYAL002W\t-\t0.5\nYAL001W\tDeletion\tYAL003W\tKO\t0.25\n",
    );
    let import = "data import out-alleles --genes list:genes.txt --screen table:alleles.tsv,genes=a+b,allele-columns=al_a+al_b";
    home.ok(import).prints(&["deletion 1", "unspecified 1"]);
    home.write(
        "kinds.tsv",
        "a\tb\thow\tscore\nYAL001W\tYAL002W\tDeletion\t0.5\nYAL001W\tYAL002W\tdeletion\t0.75\nYAL001W\tYAL003W\tDAmP\t0.25\n",
    );
    home.ok(
        "data import out-kinds --genes list:genes.txt --screen table:kinds.tsv,genes=a+b,kind-column=how",
    )
    .prints(&["deletion 1", "damp 1", "1 repeat merged"]);
}
