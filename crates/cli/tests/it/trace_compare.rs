//! `knockout trace compare`: ratios, the gate `--fail-above` and refusals.

use crate::support::Home;
use crate::support::traces::{cut, event, steps, three_steps, trace};

/// Returns a folder with the traces `a.json` and `b.json`.
fn pair(a: &str, b: &str) -> Home {
    let home = Home::empty();
    home.write("a.json", a);
    home.write("b.json", b);
    home
}

fn twelve_steps(step_us: u32) -> String {
    steps((0, 1), 12, step_us)
}

/// A trace without steps.
fn stepless(duration_us: u32) -> String {
    trace(None, &[event("cpu_op", "aten::mul", 1, 0, duration_us)])
}

#[test]
fn a_slower_step_than_allowed_is_5() {
    let home = pair(&twelve_steps(1000), &twelve_steps(1200));
    let slower = home.fails("trace compare a.json b.json --fail-above 1.05 --json", 5, &["step takes 1.2"]);
    assert_eq!(slower.document()["comparable"], true, "the document is printed all the same");
    for passes in [
        "a.json a.json --fail-above 1.05",
        "b.json a.json --fail-above 1.05",
        "a.json b.json --fail-above 1.3",
    ] {
        home.ok(&format!("trace compare {passes}"));
    }
}

#[test]
fn too_few_steps_to_judge_are_7_and_never_5() {
    for (count, code) in [(1, 7), (4, 7), (5, 5)] {
        let home = pair(&steps((0, 1), count, 1000), &steps((0, 1), count, 1276));
        let ran = home.run("trace compare a.json b.json --fail-above 1.05").ends(code);
        assert_eq!(ran.stderr.contains("too few steps to judge"), code == 7, "{}", ran.stderr);
    }
}

#[test]
fn another_number_of_steps_is_not_another_condition() {
    let home = pair(&twelve_steps(1000), &steps((0, 1), 11, 1000));
    let ran = home.ok("trace compare a.json b.json --fail-above 1.05").prints(&["; a has 12 steps and b 11"]);
    assert!(!ran.stdout.contains("Conditions that differ"), "{}", ran.stdout);
}

#[test]
fn unlike_conditions_are_7_only_for_the_gate() {
    let home = pair(&twelve_steps(1000), &steps((0, 4), 12, 1000));
    home.fails("trace compare a.json b.json --fail-above 1.05", 7, &["world_size"]);
    assert_eq!(home.json("trace compare a.json b.json --json")["comparable"], false);
}

#[test]
fn a_damaged_trace_is_6_or_3_when_strict() {
    let home = pair(&twelve_steps(1000), cut(&twelve_steps(1000)));
    home.fails("trace compare a.json b.json --fail-above 1.05", 6, &["truncated"]);
    home.fails("trace compare a.json b.json --strict", 3, &[]);
}

#[test]
fn a_sentence_leads() {
    let home = pair(&three_steps(None, 0), &three_steps(None, 0).replace("\"dur\":100", "\"dur\":99"));
    let text = home.ok("trace compare a.json b.json").stdout;
    assert!(text.starts_with("A step of b takes 1.0 % less time than one of a (too few steps"), "{text}");
}

#[test]
fn samples_per_step_divide_the_ratio() {
    let home = pair(&three_steps(None, 0), &three_steps(None, 0).replace("\"dur\":100", "\"dur\":99"));
    let compared = home.json("trace compare a.json b.json --samples-per-step 10,20 --json");
    assert!((compared["rows"][0]["ratio"].as_f64().unwrap() - 0.495).abs() < 1e-9, "{compared}");
    for (samples, words) in [("10", "two numbers"), ("0,1", "is not a number of samples")] {
        home.fails(&format!("trace compare a.json b.json --samples-per-step {samples}"), 2, &[words]);
    }
}

#[test]
fn traces_without_steps_are_compared_whole() {
    let home = pair(&stepless(1000), &stepless(200));
    let text = home.ok("trace compare a.json b.json").stdout;
    assert!(text.starts_with("The whole trace of b takes 80.0 % less time than that of a"), "{text}");
    assert!(!text.to_lowercase().contains("per step"), "{text}");
    assert_eq!(home.json("trace compare a.json b.json --json")["per"], "trace");
    let samples = "trace compare a.json b.json --samples-per-step 64,128";
    home.fails(samples, 2, &["not both traces have steps"]);
}

#[test]
fn a_trace_with_steps_and_one_without_are_compared_whole() {
    let home = pair(&stepless(1000), &twelve_steps(1000));
    let text = home.ok("trace compare a.json b.json").stdout;
    let sentence = "Only one of the two has steps, so whole traces are compared. The whole";
    assert!(text.starts_with(sentence), "{text}");
}

/// Two ranks on each side; the second rank of `b` takes half as long again.
fn ranks() -> Home {
    let home = Home::empty();
    for (name, rank, step_us) in [("a0", 0, 1000), ("a1", 1, 1100), ("b0", 0, 1000), ("b1", 1, 1650)] {
        home.write(&format!("{name}.json"), steps((rank, 2), 12, step_us));
    }
    home
}

#[test]
fn the_slowest_rank_is_the_step() {
    let document = ranks().json("trace compare a0.json a1.json --against b0.json b1.json --json");
    let step = &document["rows"][0];
    assert_eq!(step["name"], "step");
    assert!((step["ratio"].as_f64().unwrap() - 1.5).abs() < 0.01, "{step}");
}

#[test]
fn unlike_numbers_of_ranks_are_7() {
    let ran = ranks().fails(
        "trace compare a0.json --against b0.json b1.json --fail-above 9",
        7,
        &["differ in ranks"],
    );
    let sentence = "Not comparable: a has 1 rank and b 2 ranks, so that a step does other work";
    assert!(ran.stdout.starts_with(sentence), "{}", ran.stdout);
    assert!(!ran.stdout.contains("What changed most"), "{}", ran.stdout);
}

#[test]
fn one_or_three_traces_are_2() {
    let home = ranks();
    home.fails("trace compare a0.json", 2, &[]);
    home.fails("trace compare a0.json a1.json b0.json", 2, &[]);
    home.fails("trace compare a0.json a1.json b0.json b1.json", 2, &["--against"]);
}
