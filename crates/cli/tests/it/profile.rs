//! `knockout profile`: its folder, its page, another run beside it, and delays put into phases.

#![cfg(feature = "lab")]

use crate::support::{Home, texts};
use serde_json::Value;

const PROFILE: &str = "profile tiny --model dango --steps 4 --batch 100 model.width=16 -q";

fn phases(profile: &Value) -> Vec<(&str, f64)> {
    let rows = profile["phases"].as_array().unwrap().iter();
    rows.map(|row| (row["name"].as_str().unwrap(), row["wall_s"].as_f64().unwrap())).collect()
}

#[test]
fn phases_of_every_mode_sum_to_the_step() {
    let home = Home::with_tiny();
    for (mode, computed) in [("data", 0), ("full", 5)] {
        let profile = home.json(&format!("{PROFILE} --mode {mode} --json"));
        assert_eq!(profile["steps"], 4);
        let sum: f64 = phases(&profile).iter().map(|phase| phase.1).sum();
        let step = profile["wall_s_per_step"].as_f64().unwrap();
        assert!((sum - step).abs() <= 0.01 * step, "{sum} {step}");
        let named = ["forward", "loss", "backward", "clip", "optimiser"];
        assert_eq!(
            phases(&profile).iter().filter(|phase| named.contains(&phase.0)).count(),
            computed,
            "{mode}"
        );
    }
}

#[test]
fn a_batch_larger_than_the_training_part_is_reported() {
    let words = "samples, so that is the batch that was measured, not 16,384";
    Home::with_tiny()
        .ok("profile tiny --model dango --steps 1 --no-trace --batch 16384 model.width=16")
        .warns(&[words]);
}

#[test]
fn the_page_has_the_figures_and_spans_of_the_run() {
    let home = Home::with_tiny();
    let profile = home.json(&format!("{PROFILE} --out a --html a.html --json"));
    let page = home.read("a.html");
    assert_eq!(page, home.read("a/report.html"));
    let start = page.find("id=\"data\">").unwrap() + 10;
    let end = start + page[start..].find("</script>").unwrap();
    let pictures: Value = serde_json::from_str(&page[start..end]).unwrap();
    let picture = |kind: &str| {
        let found = pictures.as_array().unwrap().iter().find(|picture| picture["kind"] == kind);
        found.unwrap_or_else(|| panic!("no {kind}"))["data"].clone()
    };
    let steps = picture("steps");
    assert_eq!(steps["steps"].as_array().unwrap().len(), 4);
    assert_eq!(texts(&steps["categories"], "name"), texts(&profile["phases"], "name"));
    let flame = picture("flame");
    for name in ["steps", "backward", "forward/network.string12_0_coexpression.sage1"] {
        assert!(flame["names"].as_array().unwrap().iter().any(|have| have == name), "{name}: {flame}");
    }
}

#[test]
fn spans_name_the_layer_the_network_and_the_term_of_the_loss() {
    let home = Home::with_tiny();
    home.ok("profile tiny --model hetero --steps 2 --batch 64 --out a -q model.layers=2 model.loss=mle_wass_supcr \
             model.mle_wass_supcr.lambda_supcr=0.1");
    let found = home.json("trace analyze a/trace.json.gz --json");
    let modules = found["modules"].as_array().unwrap();
    let calls = |name: &str| {
        let row = modules.iter().find(|row| row["name"] == name);
        row.unwrap_or_else(|| panic!("no {name}: {:?}", texts(&found["modules"], "name")))["calls"].as_u64()
    };
    for layer in 1..=2 {
        for network in ["physical", "regulatory", "string12_0_coexpression"] {
            for phase in ["forward", "backward"] {
                let name = format!("{phase}/layer{layer}.network.{network}.gin");
                assert_eq!(calls(&name), Some(2), "{name}: once a step");
            }
        }
    }
    for name in ["forward/layer2.aggregate", "loss/mse_loss", "loss/wasserstein_loss", "loss/supcr_loss"] {
        assert_eq!(calls(name), Some(2), "{name}");
    }
    let tree = found["module_tree"].as_array().unwrap();
    let term = tree.iter().find(|row| row["name"] == "loss/mse_loss").unwrap();
    let around = &tree[term["parent"].as_u64().unwrap() as usize];
    assert_eq!(around["name"], "loss/mle_wass_supcr");

    home.ok("trace convert a/trace.json.gz plain.json -q");
    let plain: Value = serde_json::from_str(&home.read("plain.json")).unwrap();
    let spans = plain["traceEvents"].as_array().unwrap();
    let gin = spans.iter().find(|span| span["name"] == "forward/layer1.network.physical.gin").unwrap();
    // The rows of the wild type, then those that the deletions of the samples change.
    let sizes = &gin["args"]["Output Dims"][0];
    assert!(sizes[0].as_u64() > Some(200) && sizes[1] == 64, "{gin}");
}

#[test]
fn buffers_are_counted_in_the_document_and_in_the_trace() {
    let home = Home::with_tiny();
    let profile = home.json(&format!("{PROFILE} --out a --json"));
    assert!(profile["pool_bytes"].as_u64().unwrap() > 0);
    assert_eq!(profile["per_step"]["pool_bytes"].as_array().unwrap().len(), 4);
    home.ok("trace convert a/trace.json.gz plain.json -q");
    let trace = home.read("plain.json");
    assert!(trace.contains("pool bytes") && trace.contains("rss bytes"));
    home.ok("trace analyze a/trace.json.gz -q");
}

#[test]
fn a_run_of_equal_conditions_has_ratios_beside_it() {
    let home = Home::with_tiny();
    home.ok(&format!("{PROFILE} --out a"));
    home.ok(&format!("{PROFILE} --html b.html --against a")).prints(&["Conditions are equal", "Per sample"]);
    let page = home.read("b.html");
    for part in ["id=\"comparison-samples\"", "a: a · b: ", "id=\"flame\""] {
        assert!(page.contains(part), "{part}");
    }
    home.ok(&format!("{PROFILE} --against a --no-trace")).prints(&["No ratio", "profiler"]);
}

#[test]
fn profiles_of_unlike_modes_are_7_unless_declared() {
    let home = Home::with_tiny();
    for mode in ["data", "full"] {
        home.ok(&format!("{PROFILE} --mode {mode} --out {mode}"));
    }
    home.fails("compare data full -q", 7, &["mode"]);
    home.ok("compare data full --vary mode -q");
}

#[test]
fn wrong_requests_are_2() {
    let home = Home::with_tiny();
    home.ok(&format!("{PROFILE} --no-trace --out a"));
    for (more, words) in [
        ("--against nowhere", "nowhere does not exist"),
        ("--out a", "choose another name or remove it first"),
        ("--steps 10 --wait 20 --active 5", "25"),
    ] {
        home.fails(&format!("profile tiny --model dango {more}"), 2, &[words]);
    }
}

#[test]
fn every_route_of_hetero_takes_its_processor() {
    let home = Home::with_tiny();
    home.ok("-q data precompute tiny --masks --samples 2000 --out masks");
    let small = "model.width=8 model.gin_hidden=8 model.gin_linears=2 model.layers=1 model.pair_hidden=4 model.local_heads=2";
    for (route, more, processor) in [
        ("changed-rows", "", "perturbation"),
        ("node-mask", "", "perturbation"),
        ("edge-mask", "", "mask"),
        ("edge-mask", "loader.processor=saved-masks loader.store=masks", "saved-masks"),
        ("rebuilt", "", "subgraph"),
    ] {
        let profile = format!("profile tiny --model hetero --steps 1 --batch 4 --json -q {small}");
        let profile = home.json(&format!("{profile} model.route={route} {more}"));
        assert_eq!(profile["conditions"]["processor"], processor);
        assert_eq!(profile["samples"], 4);
    }
}

/// A sleep in one phase of a real run is found in that phase, and in no other.
#[test]
fn a_delay_in_any_phase_is_found_in_that_phase() {
    const DELAY_S: f64 = 0.025;
    let home = Home::with_tiny();
    let plain = home.json(&format!("{PROFILE} --json"));
    for phase in
        ["fetch", "process", "collate", "wait", "forward", "loss", "backward", "clip", "optimiser", "logging"]
    {
        let delay = format!("{phase}:25");
        let slow = home.run_with(&format!("{PROFILE} --json"), ("KNOCKOUT_TEST_DELAY", &delay)).json();
        let seconds = |run: &Value, name: &str| {
            phases(run).into_iter().find(|row| row.0 == name).map_or(0.0, |row| row.1)
        };
        assert!(seconds(&slow, phase) >= DELAY_S, "{phase}: {slow:#}");
        let longest =
            slow["verdict"].as_array().unwrap().iter().find(|v| v["about"] == "longest_phase").unwrap();
        assert!(longest["text"].as_str().unwrap().starts_with(&format!("{phase} takes ")), "{longest}");
        let growth = |row: &(&str, f64)| row.1 - seconds(&plain, row.0);
        let most = phases(&slow).into_iter().max_by(|a, b| growth(a).total_cmp(&growth(b))).unwrap();
        assert_eq!(most.0, phase);
        let steps = slow["per_step"]["wall_nanos"].as_array().unwrap();
        for (step, wall) in steps.iter().enumerate() {
            let phases = slow["per_step"]["phases"].as_object().unwrap();
            let sum: u64 = phases.values().map(|all| all[step].as_u64().unwrap()).sum();
            assert_eq!(Some(sum), wall.as_u64(), "step {step}");
        }
    }
}

#[test]
fn spans_are_written_as_collapsed_stacks() {
    let home = Home::with_tiny();
    home.ok(&format!("{PROFILE} --collapsed stacks.txt"));
    let stacks = std::fs::read_to_string(home.path("stacks.txt")).unwrap();
    let lines: Vec<(&str, u64)> = stacks
        .lines()
        .map(|line| line.rsplit_once(' ').map(|(stack, time)| (stack, time.parse().unwrap())).unwrap())
        .collect();
    // Layers stand below their phase, and self times are nanoseconds.
    assert!(
        lines.iter().any(|(stack, _)| stack.split(';').any(|frame| frame.starts_with("forward"))),
        "{stacks}"
    );
    assert!(lines.iter().map(|(_, time)| time).sum::<u64>() > 1_000_000, "{stacks}");
    home.fails(&format!("{PROFILE} --collapsed stacks.txt --no-trace"), 2, &["--no-trace"]);
    home.fails(&format!("{PROFILE} --collapsed same.txt --html same.txt"), 2, &["choose two"]);
}

/// Puts a script in the place of `perf`, and returns the path of programs with it.
#[cfg(target_os = "linux")]
fn with_perf(home: &Home, script: &str) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::create_dir(home.path("bin")).unwrap();
    home.write("bin/perf", format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(home.path("bin/perf"), std::fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", home.path("bin").display(), std::env::var("PATH").unwrap())
}

#[cfg(target_os = "linux")]
#[test]
fn a_perf_that_cannot_sample_is_an_error_with_the_reason() {
    let command = format!("{PROFILE} --perf --out a");
    let answer = r"while read command; do printf 'ack\n\000'; [ $command = stop ] && exit 0; done";
    for (script, code, words) in [
        (
            "echo 'Consider adjusting /proc/sys/kernel/perf_event_paranoid' >&2; exit 255",
            2,
            "sysctl kernel.perf_event_paranoid=2",
        ),
        ("echo 'Error: no such thing' >&2; exit 129", 1, "perf record failed: Error: no such thing"),
        // `perf record` answers every command, and `perf script` prints nothing.
        (&format!("[ $1 = script ] && exit 0; {answer}"), 1, "perf took no samples"),
    ] {
        let home = Home::with_tiny();
        let path = with_perf(&home, script);
        home.run_with(&command, ("PATH", &path)).fails(code, &[words]);
        assert!(!home.exists("a"), "the folder is complete or absent");
    }
    let home = Home::with_tiny();
    let missing = home
        .run_with(&command, ("PATH", "/nowhere"))
        .fails(2, &["needs the program perf", "apt-get install linux-perf"]);
    assert!(missing.stdout.is_empty());
    assert!(!home.exists("a"));
}

#[test]
fn perf_needs_spans_and_one_process() {
    let home = Home::with_tiny();
    home.fails(&format!("{PROFILE} --perf --no-trace"), 2, &["--no-trace"]);
    home.fails(&format!("{PROFILE} --perf --ranks 2 --out a"), 2, &["leave out the ranks"]);
    assert!(!home.exists("a"));
}

#[test]
fn matrix_products_of_a_small_model_are_counted_as_its_equations_say() {
    const WIDTH: u64 = 16;
    const BATCH: u64 = 100;
    let home = Home::with_tiny();
    let shown = home.json("data show tiny --json");
    let genes = shown["genes"].as_u64().unwrap_or_else(|| panic!("{shown}"));
    // DANGO reads those of STRING.
    let names = texts(&shown["networks"], "name");
    let networks = names.iter().filter(|name| name.starts_with("string")).count() as u64;
    let profile = home.json(&format!("{PROFILE} --json"));
    let flop = |phase: &str| {
        let steps = profile["per_step"]["flop"][phase].as_array().unwrap_or_else(|| panic!("no {phase}"));
        steps.iter().map(|flop| flop.as_u64().unwrap()).collect::<Vec<u64>>()
    };
    // Gram matrices of embeddings and weights, of which half is computed, and a bias times weights.
    let loss = networks * genes * (2 * WIDTH * (WIDTH + 1) + 2 * WIDTH);
    assert_eq!(flop("loss"), [loss; 4]);
    // Two layers of two products each per network, and the hidden layer of the meta-embedding. Of each member of a set: a static map, and four in
    // each of two layers of attention.
    let embeddings = networks * genes * (2 * 2 * 2 * WIDTH * WIDTH + WIDTH * WIDTH);
    let member = (1 + 2 * 4) * 2 * WIDTH * WIDTH;
    for forward in flop("forward") {
        let sets = forward - embeddings;
        assert!(sets.is_multiple_of(member) && (2 * BATCH..=3 * BATCH).contains(&(sets / member)), "{sets}");
    }
    assert!(flop("backward")[0] > 2 * embeddings);
    let per_step = profile["per_step"]["flop"].as_object().unwrap();
    assert_eq!(per_step.keys().collect::<Vec<_>>(), ["backward", "forward", "loss"]);
    let products =
        &profile["phases"].as_array().unwrap().iter().find(|row| row["name"] == "loss").unwrap()["products"];
    assert_eq!(products["flop"].as_f64(), Some(loss as f64));
    if let Some(peak) = profile["peak_flop_per_s"].as_f64() {
        assert!((1e9..1e15).contains(&peak), "{peak}");
        assert_eq!(products["share_of_peak"].as_f64(), Some(products["flop_per_s"].as_f64().unwrap() / peak));
    }
}
