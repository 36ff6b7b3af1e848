//! `knockout explain`: parts of a prediction, networks left out and refusals.

#![cfg(feature = "lab")]

use crate::support::Home;
use serde_json::Value;
use std::fmt::Write as _;

/// Returns the highest prediction of the test part.
fn hit(home: &Home, run: &str) -> (Vec<String>, f64) {
    let tested = format!("predict {run} --dataset-part test --top 1 --out top --json -q --state last");
    let hit = home.json(&tested)["top"][0].clone();
    let genes =
        hit["genes"].as_array().unwrap().iter().map(|gene| gene.as_str().unwrap().to_owned()).collect();
    (genes, hit["prediction"].as_f64().unwrap())
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[test]
fn contributions_sum_to_the_prediction() {
    let home = Home::with_runs(&["seed-0"]);
    let (genes, predicted) = hit(&home, "seed-0");
    let explain = "explain seed-0 --neighbours 2 -q --state last --json --html why.html";
    let why = home.json(&format!("{explain} {}", genes.join(" ")));
    let prediction = number(&why["prediction"]);
    assert!((prediction - predicted).abs() < 1e-5);
    let parts = why["parts"].as_array().unwrap();
    assert_eq!(parts.len(), 8, "mean, three genes, three pairs, the triple");
    let sum: f64 = parts.iter().map(|part| number(&part["contribution"])).sum();
    assert!((sum - prediction).abs() < 1e-12, "{sum} {prediction}");
    let networks = why["networks"].as_array().unwrap();
    assert!(networks.iter().any(|network| number(&network["effect"]) != 0.0));
    for network in networks {
        assert!((prediction - number(&network["without"]) - number(&network["effect"])).abs() < 1e-12);
    }
    assert_eq!(why["neighbours"].as_array().unwrap().len(), 2);
    assert!(why["nearest"].as_array().unwrap().iter().all(|near| near["shared"].as_u64().unwrap() > 0));
    assert!(home.read("why.html").contains("<svg"));
}

#[test]
fn a_size_that_no_training_sample_has_is_warned_of() {
    let home = Home::with_runs(&["seed-0"]);
    home.ok("explain seed-0 ZAL001C ZAL002C").warns(&["no training sample has 2 genes"]);
}

#[test]
fn genes_that_are_unknown_or_repeated_are_2() {
    let home = Home::with_runs(&["seed-0"]);
    home.fails("explain seed-0 ZAL001C NOPE", 2, &["NOPE"]);
    home.fails("explain seed-0 ZAL001CX ZAL002C", 2, &["did you mean", "ZAL001C"]);
    home.fails("explain seed-0 ZAL001C ZAL001C", 2, &["twice"]);
}

#[test]
fn networks_of_a_solved_model_are_not_left_out() {
    let home = Home::with_runs(&["stack"]);
    let (genes, _) = hit(&home, "stack");
    let explained = home.json(&format!("explain stack {},{} --json -q", genes[0], genes[1]));
    assert_eq!(explained["not_left_out"], "solved");
    assert_eq!(explained["networks"].as_array().unwrap().len(), 0);
    let ran = home.ok(&format!("explain stack {} {}", genes[0], genes[1])).prints(&["not left out"]);
    assert!(!ran.stdout.contains("left out one at a time"), "{}", ran.stdout);
    ran.prints(&[
        "Parts of the model",
        "profile neighbours",
        "Networks of the network kernel",
        "accuracy (Pearson)",
    ]);
}

/// Explains a set of each part of the split and of an unmeasured one.
#[test]
fn the_parts_of_a_stack_sum_to_the_prediction_also_in_a_packed_model() {
    let home = Home::with_runs(&["stack"]);
    home.ok("-q pack stack --data tiny --out stack.knockout");
    let (genes, predicted) = hit(&home, "stack");
    let explain = |run: &str, genes: &[String]| {
        home.json(&format!("explain {run} {} --nearest 3 --neighbours 6 --json -q", genes.join(" ")))
    };
    let sets = [&genes[..], &genes[..2], &["ZAL001C".to_owned(), genes[0].clone(), genes[1].clone()]];
    for set in sets {
        let [folder, packed] = ["stack", "stack.knockout"].map(|run| explain(run, set));
        assert_eq!(folder["sum"], packed["sum"], "{set:?}");
        assert_eq!(folder["similar"], packed["similar"], "{set:?}");
        assert_eq!(folder["kernel_networks"], packed["kernel_networks"], "{set:?}");
        let sum = folder["sum"].as_array().unwrap();
        let contributions: f64 = sum.iter().map(|term| number(&term["contribution"])).sum();
        let prediction = number(&folder["prediction"]);
        assert!((contributions - prediction).abs() < 1e-5, "{set:?}: {contributions} {prediction}");
        for term in sum {
            assert!(
                (number(&term["weight"]) * number(&term["value"]) - number(&term["contribution"])).abs()
                    < 1e-12
            );
        }
        let parts: Vec<&str> = sum.iter().map(|term| term["part"].as_str().unwrap()).collect();
        assert_eq!(parts[..3], ["intercept", "additive", "low_rank"]);
    }
    let why = explain("stack", &genes);
    assert!((number(&why["prediction"]) - predicted).abs() < 1e-12);
    assert_eq!((&why["regime"], &why["accuracy"]["regime"]), (&"known".into(), &"known".into()));
    let networks: f64 =
        why["kernel_networks"].as_array().unwrap().iter().map(|network| number(&network["weight"])).sum();
    assert!((networks - 1.0).abs() < 1e-5, "{networks}");
}

/// The scores of similar profiles are those of the dataset, and their effects sum to the part that uses them.
#[test]
fn similar_profiles_have_measured_scores() {
    let home = Home::with_runs(&["stack"]);
    let (genes, _) = hit(&home, "stack");
    let why = home.json(&format!("explain stack {} --neighbours 100000 --json -q", genes.join(" ")));
    let part = |name: &str| {
        let terms = why["sum"].as_array().unwrap().iter();
        number(&terms.clone().find(|term| term["part"] == name).unwrap()["value"])
    };
    let similar = why["similar"].as_array().unwrap();
    if !similar.is_empty() {
        let effects: f64 = similar.iter().map(|profile| number(&profile["effect"])).sum();
        assert!((effects - part("profile_neighbours")).abs() < 1e-5, "{effects}");
    }
    for profile in similar.iter().take(3) {
        let set: Vec<&str> =
            profile["set"].as_array().unwrap().iter().map(|gene| gene.as_str().unwrap()).collect();
        let measured =
            home.json(&format!("explain stack {} --nearest 0 --neighbours 0 --json -q", set.join(" ")));
        assert_eq!(measured["measured"]["part"], "train");
        assert!((number(&measured["measured"]["score"]) - number(&profile["score"])).abs() < 1e-9);
    }
}

/// An explanation has the notes of a list of hits: here two linked genes, one of them essential.
#[test]
fn linked_and_essential_genes_are_noted() {
    let home = Home::empty();
    let genes: Vec<String> = (10..34).map(|number| format!("YAL0{number}W")).collect();
    let (mut features, mut scores) =
        (String::new(), "gene_a\tallele_a\tgene_b\tallele_b\ts_score\n".to_owned());
    for (i, a) in genes.iter().enumerate() {
        let start = 1 + 40_000 * i;
        let columns = format!("chromosome 1\t\t1\t{start}\t{}\tW\t\t\t\t\n", start + 900);
        write!(features, "S{i:09}\tORF\tVerified\t{a}\t\t\t{columns}").unwrap();
        for (j, b) in genes.iter().enumerate().skip(i + 1) {
            let score = (i * 7 % 5 + j * 7 % 5) as f64 + (i * j % 11) as f64 / 7.0;
            writeln!(scores, "{a}\tdeletion\t{b}\tdeletion\t{score}").unwrap();
        }
    }
    home.write("genes.tab", features);
    home.write("scores.tsv", scores);
    home.write("essential.tsv", "gene\tterm\nYAL011W\tessential\nYAL020W\tessential\n");
    let essential = "--annotations table:essential.tsv,name=essential";
    home.ok(&format!("data import pairs --genes sgd:genes.tab --screen emap:scores.tsv {essential} -q"));
    home.ok("train pairs -q --out stack");
    let noted = home.json("explain stack YAL010W YAL011W --html why.html --json -q");
    assert_eq!((&noted["linkage"], &noted["distance"]), (&"linked".into(), &40_000.into()));
    assert_eq!(noted["essential"], serde_json::json!(["YAL011W"]));
    let sentence = "before a test, consider: essential: YAL011W, linked: 40 kb";
    let printed = home.ok("explain stack YAL010W YAL011W -q").prints(&[sentence]);
    assert!(home.read("why.html").contains(sentence));
    assert!(
        !printed.stdout.contains("linkage: unknown") && !printed.stdout.contains("essential genes: unknown")
    );
    // A list of hits has the same notes.
    home.write("pair.tsv", "YAL010W\tYAL011W\n");
    let hit = home.json("predict stack --sets pair.tsv --top 1 --out hits --json -q")["top"][0].clone();
    for key in ["linkage", "distance", "essential", "regime"] {
        assert_eq!(hit[key], noted[key], "{key}");
    }
    let apart = home.ok("explain stack YAL010W YAL015W -q");
    assert!(!apart.stdout.contains("before a test"), "{}", apart.stdout);
}
