//! Names from other people's files: on a terminal they have no effect, and in a CSV table they are one cell.

#![cfg(feature = "lab")]

use crate::support::Home;
use crate::support::traces::event;
use std::fmt::Write as _;

/// Splits a CSV table by RFC 4180.
fn cells(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell) = (Vec::new(), Vec::new(), String::new());
    let mut rest = text.chars().peekable();
    let mut is_quoted = false;
    while let Some(c) = rest.next() {
        match c {
            '"' if is_quoted && rest.peek() == Some(&'"') => cell.push(rest.next().unwrap()),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => row.push(std::mem::take(&mut cell)),
            '\n' if !is_quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            c => cell.push(c),
        }
    }
    assert!(!is_quoted && row.is_empty() && cell.is_empty(), "the table ends with a whole row");
    rows
}

/// A folder with the dataset `set` of pairs of genes with these names, and the run `run` on it.
fn home_with_genes(names: &[&str]) -> Home {
    let home = Home::empty();
    let mut table = "gene_a\tgene_b\tscore\n".to_owned();
    for (i, a) in names.iter().enumerate() {
        for (j, b) in names.iter().enumerate().skip(i + 1) {
            writeln!(table, "{a}\t{b}\t{}", (i * j % 7) as f64 / 7.0 - 0.4).unwrap();
        }
    }
    home.write("screen.tsv", table);
    home.ok("-q data import set --screen table:screen.tsv,separator=tab");
    home.ok("-q train set --model low-rank --out run");
    home
}

#[test]
fn names_with_separators_quotes_and_formulas_are_one_cell() {
    let names = ["a,b", "it\"q\"", "=1+1", "@x", "+y", "A1", "A2", "A3", "A4", "A5", "A6", "A7"];
    let home = home_with_genes(&names);
    home.ok("-q predict run --pairs --genes all --top 20 --full --csv --out hits");
    for table in ["top.csv", "predictions.csv"] {
        let rows = cells(&home.read(&format!("hits/{table}")));
        assert!(rows.len() > 20 && rows.iter().all(|row| row.len() == rows[0].len()), "{rows:?}");
        let genes: Vec<&str> = rows[1..].iter().flat_map(|row| [&row[1][..], &row[2]]).collect();
        assert!(genes.iter().all(|gene| !gene.starts_with(['=', '+', '-', '@'])), "{genes:?}");
        if table == "predictions.csv" {
            for name in ["a,b", "it\"q\"", "'=1+1", "'@x", "'+y", "A1"] {
                assert!(genes.contains(&name), "{name} in {genes:?}");
            }
        }
    }
}

#[test]
fn genes_with_control_characters_are_refused() {
    let home = Home::empty();
    home.write("screen.tsv", "gene_a\tgene_b\tscore\nYAL001C\tYAL\u{1b}[2J002W\t0.5\n");
    let import = "data import set --screen table:screen.tsv,separator=tab";
    let ran = home.fails(import, 3, &["screen.tsv, line 2", "is not a gene name"]);
    assert!(!ran.stderr.contains('\u{1b}') && !home.exists("set"));
}

#[test]
fn a_dataset_with_control_characters_in_its_name_is_refused() {
    let home = Home::empty();
    home.write("genes.txt", "YAL001C\nYAL002W\n");
    home.write("edges.tsv", "source\ttarget\nYAL001C\tYAL002W\n");
    let import = "data import set --genes list:genes.txt --network edges:edges.tsv";
    home.fails(
        &format!("{import} --name 'a\u{1b}[2J'"),
        2,
        &["the name of the dataset, \"a\\u001b[2J\", has control"],
    );
    assert!(!home.exists("set"));
}

#[test]
fn the_name_of_a_run_has_no_effect_on_the_terminal() {
    let home = Home::with_runs(&["stack"]);
    let name = "run\u{1b}]0;title\u{7}\n\u{202e}end";
    std::fs::rename(home.path("stack"), home.path(name)).unwrap();
    for command in ["runs .", "runs . --json"] {
        let ran = home.ok(command);
        assert!(ran.stdout.contains("run\\u001b]0;title\\u0007"), "{}", ran.stdout);
        assert!(!ran.stdout.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{}", ran.stdout);
    }
    assert_eq!(
        home.json("runs . --json")["runs"][0]["folder"].as_str().map(|folder| folder.ends_with(name)),
        Some(true)
    );
    let ran = home.fails(&format!("evaluate 'no{name}'"), 2, &["norun\\u001b]0;title"]);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
}

#[test]
fn the_name_of_a_device_has_no_effect_on_the_terminal() {
    let home = Home::empty();
    let kernel = event("kernel", "k\\u001b[2J", 7, 10, 5)
        .replace("\"args\":{", "\"args\":{\"device\":0,\"stream\":7,");
    let op = event("cpu_op", "aten::mm\\u001b[31m", 1, 0, 20);
    let device = r#"{"id":0,"name":"GPU \u001b]0;owned\u0007","totalGlobalMem":1}"#;
    home.write("trace.json", format!("{{\"deviceProperties\":[{device}],\"traceEvents\":[{op},{kernel}]}}"));
    for command in ["trace analyze trace.json", "trace analyze trace.json --json"] {
        let ran = home.ok(command);
        let shown = format!("{}{}", ran.stdout, ran.stderr);
        assert!(shown.contains("\\u001b[31m") && !shown.contains(['\u{1b}', '\u{7}']), "{shown}");
    }
}
