//! `knockout explain`: parts of a prediction, networks left out and refusals.

#![cfg(feature = "lab")]

use crate::support::Home;
use serde_json::Value;

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
}
