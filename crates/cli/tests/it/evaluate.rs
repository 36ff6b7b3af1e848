//! `knockout evaluate`: runs, seeds and prediction files beside the stack and the additive ridge.
#![cfg(feature = "lab")]

use crate::support::{Home, texts};
use serde_json::{Value, json};
use std::fs;

/// A run of one step.
const STEP: &str = "-q train tiny --model dango model.width=16 --batch 100 --max-steps 1 --epochs 1";

#[test]
fn a_run_is_beside_the_stack_and_the_additive_ridge() {
    let home = Home::with_runs(&["seed-0"]);
    let evaluated = home.json("evaluate seed-0 --json -q");
    assert_eq!(texts(&evaluated["rows"], "name"), ["seed-0", "stack", "additive-ridge"]);
    assert!(evaluated.get("spread").is_none(), "a single run has no spread");
    // The predictions that it wrote have the same figures.
    let again = home.json("evaluate --predictions seed-0/predictions-test.parquet --json -q");
    assert_eq!(again["rows"][0]["pearson"], evaluated["rows"][0]["pearson"]);
}

#[test]
fn a_stack_is_not_beside_itself() {
    let evaluated = Home::with_runs(&["stack"]).json("evaluate stack --json --resamples 50");
    assert_eq!(texts(&evaluated["rows"], "name"), ["stack", "additive-ridge"]);
}

#[test]
fn a_stack_among_the_runs_is_the_one_others_are_compared_with() {
    let home = Home::with_runs(&["stack", "seed-0"]);
    home.ok(&format!("{STEP} --out wide --seed 2 model.width=32 model.heads=2"));
    let evaluated = home.json("evaluate wide seed-0 stack --state last --json -q --resamples 50");
    assert_eq!(texts(&evaluated["rows"], "name"), ["wide", "seed-0", "stack", "additive-ridge"]);
    let pairs = evaluated["comparisons"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let pairs: Vec<_> = pairs.map(|pair| [text(&pair["name"]), text(&pair["against"])]).collect();
    let ridge = ["wide", "seed-0", "stack"].map(|name| [name, "additive-ridge"]);
    let others = [["wide", "seed-0"], ["seed-0", "stack"], ["wide", "stack"]];
    assert_eq!(pairs, [others, ridge].concat());
}

#[test]
fn a_regime_has_the_same_interval_in_every_command() {
    let home = Home::with_runs(&["stack"]);
    let evaluated = home.json("evaluate stack --json -q");
    let predicted = home.json("predict stack --dataset-part test --top 1 --out top --json -q");
    let regimes = evaluated["regimes"].as_array().unwrap();
    assert!(!regimes.is_empty());
    for regime in regimes {
        let accuracy = predicted["accuracy"].as_array().unwrap().iter();
        let accuracy = accuracy.clone().find(|found| found["regime"] == regime["regime"]).unwrap();
        for figure in ["pearson", "low", "high"] {
            assert_eq!(accuracy[figure], regime["rows"][0][figure], "{figure}");
        }
    }
}

#[test]
fn seeds_have_a_spread_of_every_metric() {
    let home = Home::with_runs(&["seed-0", "seed-1", "seed-2"]);
    let shown = home.json("evaluate seed-0 seed-1 seed-2 --resamples 100 --json -q");
    let spread = shown["spread"].as_array().unwrap();
    assert_eq!(texts(&shown["spread"], "metric"), ["pearson", "spearman", "mse", "rmse", "mae"]);
    for of in spread {
        assert_eq!((&of["name"], &of["over"]), (&"dango".into(), &"weights".into()));
        assert_eq!(of["seeds"], json!([0, 1, 2]));
        let rows = &shown["rows"].as_array().unwrap()[..3];
        let values: Vec<f64> =
            rows.iter().map(|row| row[of["metric"].as_str().unwrap()].as_f64().unwrap()).collect();
        assert_eq!(of["values"], json!(values));
        let mean = values.iter().sum::<f64>() / 3.0;
        let sd = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 2.0).sqrt();
        let [low, high] = [f64::min, f64::max].map(|pick| values.iter().copied().reduce(pick).unwrap());
        for (key, expected) in [("mean", mean), ("sd", sd), ("low", low), ("high", high)] {
            let found = of[key].as_f64().unwrap();
            assert!((found - expected).abs() <= 1e-12 * expected.abs(), "{key}: {found} {expected}");
        }
        assert!(sd > 0.0, "another seed gives another model: {of}");
    }
}

#[test]
fn seeds_have_an_ensemble() {
    let home = Home::with_runs(&["seed-0", "seed-1", "seed-2"]);
    let shown = home.json("evaluate seed-0 seed-1 seed-2 --resamples 100 --json -q");
    let names = ["seed-0", "seed-1", "seed-2", "ensemble"];
    assert_eq!(texts(&shown["rows"], "name"), [&names[..], &["stack", "additive-ridge"]].concat());
    let mse = shown["rows"][3]["mse"].as_f64().unwrap();
    assert!(mse < shown["spread"][2]["mean"].as_f64().unwrap(), "averaging reduces the error");
    let comparisons = &shown["comparisons"];
    let pairs: Vec<_> = texts(comparisons, "name").into_iter().zip(texts(comparisons, "against")).collect();
    assert_eq!(pairs, names.map(|name| [(name, "stack"), (name, "additive-ridge")]).as_flattened());
    let text = home.ok("evaluate seed-0 seed-1 seed-2 --resamples 100").stdout;
    let line = |start: &str| text.lines().find(|line| line.starts_with(start)).unwrap();
    assert!(line("spread of").contains("mean") && line("ensemble ").contains('['), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("dango ")).count(), 5, "{text}");
}

#[test]
fn runs_on_other_records_are_7_before_any_prediction() {
    let home = Home::with_runs(&["seed-0"]);
    home.ok("-q data synth other --preset tiny --seed 9");
    home.ok(&format!("{STEP} --out split --seed 2 split.seed=7 --split gene-disjoint"));
    home.ok(&format!("{} --out data --seed 2", STEP.replace("tiny", "other")));
    for (other, words) in [
        ("split", "split.scheme (\"random\" against \"gene-disjoint\"), split.seed (0 against 7)"),
        ("data", "dataset ("),
    ] {
        let start = format!("seed-0 and {other} cannot be compared record by record: they differ in ");
        home.fails(&format!("evaluate seed-0 {other}"), 7, &[&start, words]);
        assert!(!home.exists("seed-0/predictions-test.parquet"));
    }
}

#[test]
fn runs_of_the_same_seed_are_7() {
    let home = Home::with_tiny();
    home.ok(&format!("{STEP} --out first --seed 1"));
    home.ok(&format!("{STEP} --out again --seed 1 run.checkpoint_every=3.0"));
    home.fails("evaluate first again", 7, &["the same seed, 1"]);
}

#[test]
fn unlike_models_are_compared_without_a_spread() {
    let home = Home::with_runs(&["seed-0"]);
    home.ok(&format!("{STEP} --out wide --seed 2 model.width=32 model.heads=2"));
    home.ok("-q train tiny --model hetero --out hetero --seed 2 model.layers=1 model.width=8 --max-steps 1");
    for other in ["wide", "hetero"] {
        let both = home.json(&format!("evaluate seed-0 {other} --json -q --resamples 50"));
        assert!(both.get("spread").is_none(), "{both}");
        assert_eq!(texts(&both["rows"], "name"), ["seed-0", other, "stack", "additive-ridge"]);
        let first = &both["comparisons"][0];
        assert_eq!((&first["name"], &first["against"]), (&"seed-0".into(), &other.into()));
    }
}

#[test]
fn seeds_of_unlike_lengths_are_averaged_with_a_warning() {
    let home = Home::with_runs(&["seed-0"]);
    let short = "-q train tiny --model dango model.width=16 --batch 200 --epochs 1 --seed 1 loader.depth=2";
    home.ok(&format!("{short} --out short"));
    home.ok("evaluate seed-0 short --state last").warns(&["unlike numbers of epochs: seed-0 2, short 1"]);
}

#[test]
fn a_folder_without_a_run_is_2() {
    let home = Home::empty();
    home.fails("evaluate nowhere", 2, &["not a run directory"]);
    home.fails("evaluate", 2, &["--predictions"]);
    let home = Home::with_tiny();
    home.fails("evaluate tiny", 2, &["it is a dataset", "train a model on it"]);
}

#[test]
fn two_prediction_files_are_compared() {
    let home = Home::with_tiny();
    home.ok("baseline tiny --out baselines --resamples 200");
    let evaluate =
        "evaluate --predictions baselines/ridge-pairs.parquet --against baselines/train-mean.parquet";
    let shown = home.json(&format!("{evaluate} --json --resamples 200"));
    assert_eq!(texts(&shown["rows"], "name"), ["ridge-pairs", "train-mean", "stack", "additive-ridge"]);
    assert_eq!(shown["rows"][1]["pearson"], Value::Null);
    let comparisons = shown["comparisons"].as_array().unwrap();
    assert_eq!(comparisons.len(), 5);
    assert!(comparisons[0]["pearson"].is_null(), "a constant has no correlation to compare");
    let ridge = &comparisons[2];
    assert_eq!((&ridge["name"], &ridge["against"]), (&"ridge-pairs".into(), &"additive-ridge".into()));
    let [low, difference, high] = ["low", "difference", "high"].map(|key| ridge["pearson"][key].as_f64());
    assert!(low.is_some() && low <= difference && difference <= high);
    // A moved dataset is missed, and found with --data.
    fs::rename(home.path("tiny"), home.path("moved")).unwrap();
    let gone = home.ok(evaluate).warns(&["give it with --data DIR to see the additive ridge"]);
    assert!(!gone.stdout.contains("additive-ridge"), "{}", gone.stdout);
    let found = home.ok(&format!("{evaluate} --data moved")).prints(&["additive-ridge"]);
    assert_eq!(found.stderr, "");
}

#[test]
fn the_ridges_own_file_has_its_figures() {
    let home = Home::with_tiny();
    home.ok("baseline tiny --out baselines --resamples 50");
    let text = home
        .ok("evaluate --predictions baselines/additive-ridge.parquet --part test --resamples 200")
        .prints(&["Pearson +0.0000 [+0.0000, +0.0000]: no significant difference"])
        .stdout;
    let figures = |start: &str| {
        let line = text.lines().find(|line| line.starts_with(start)).unwrap();
        line.split_whitespace().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(figures("baselines/additive-ridge.parquet "), figures("additive-ridge "));
}

#[test]
fn predictions_of_a_run_are_compared_with_a_baseline() {
    let home = Home::with_runs(&["seed-0"]);
    home.ok("evaluate seed-0 -q --resamples 50");
    home.ok("baseline tiny --split random --out baselines -q --resamples 50");
    let files = "--predictions seed-0/predictions-test.parquet --against baselines/gene-mlp.parquet";
    let compared = home.json(&format!("evaluate --json --resamples 50 {files}"));
    assert_eq!(compared["comparisons"][0]["against"], "gene-mlp");
}

#[test]
fn unlike_prediction_files_are_7() {
    let home = Home::with_tiny();
    home.ok("data synth other --preset tiny --seed 9");
    for (set, out, more) in [
        ("tiny", "a", ""),
        ("tiny", "val", "--part val"),
        ("tiny", "split", "--seed 9"),
        ("other", "data", ""),
    ] {
        home.ok(&format!("baseline {set} --out {out} {more} --resamples 20 -q"));
    }
    for (other, words) in [
        ("val", "part (test against val)"),
        ("split", "split (random val 0.1 test 0.1 seed 0 against random val 0.1 test 0.1 seed 9)"),
        ("data", "dataset ("),
    ] {
        let evaluate =
            format!("evaluate --predictions a/gene-mlp.parquet --against {other}/gene-mlp.parquet");
        home.fails(&evaluate, 7, &["cannot be compared record by record", words]);
    }
    let part = "evaluate --predictions a/gene-mlp.parquet --part val";
    home.fails(part, 2, &["holds predictions for the test part, not for the val part"]);
    let data = "evaluate --predictions a/gene-mlp.parquet --data other";
    home.fails(data, 3, &["gene-mlp.parquet", "belongs to another dataset"]);
}

#[test]
fn files_without_predictions_are_named() {
    let home = Home::with_tiny();
    home.write("bad.parquet", "nonsense");
    for (file, code, words) in [
        ("none.parquet", 2, "could not be read"),
        ("tiny/samples.parquet", 3, "column \"row\" is missing"),
        ("bad.parquet", 3, "is damaged"),
    ] {
        home.fails(&format!("evaluate --predictions {file}"), code, &[file, words]);
    }
}

/// A screen of genes in three groups: pairs of one group score high.
fn grouped_screen() -> Home {
    use std::fmt::Write as _;
    let home = Home::empty();
    let genes: Vec<String> = (0..36).map(|gene| format!("G{gene:02}")).collect();
    let (mut screen, mut terms, mut fitness) =
        ("gene_a\tgene_b\tscore\n".to_owned(), "gene\tterm\n".to_owned(), "gene\tfitness\n".to_owned());
    for (a, gene) in genes.iter().enumerate() {
        writeln!(terms, "{gene}\tgroup {}", a % 3).unwrap();
        writeln!(fitness, "{gene}\t{}", a % 7).unwrap();
        for (b, other) in genes.iter().enumerate().take(a) {
            let score = f64::from(u8::from(a % 3 == b % 3)) + 0.1 * ((a % 7) + (b % 7)) as f64;
            let noise = 0.05 * (((a * 31 + b * 17) % 11) as f64 - 5.0);
            writeln!(screen, "{gene}\t{other}\t{}", score + noise).unwrap();
        }
    }
    for (name, text) in [("screen.tsv", screen), ("terms.tsv", terms), ("fitness.tsv", fitness)] {
        home.write(name, text);
    }
    let annotations = "--annotations table:terms.tsv,name=groups --features table:fitness.tsv";
    home.ok(&format!("data import known --screen screen.tsv {annotations}"));
    home
}

#[test]
fn prior_knowledge_of_genes_is_named_beside_the_figures() {
    let home = grouped_screen();
    home.ok("train known --split gene-disjoint --out plain");
    let knowledge =
        r#"'model.network_kernel.annotations=["groups"]' 'model.low_rank.covariates=["fitness"]'"#;
    home.ok(&format!("train known --split gene-disjoint --out informed {knowledge} -v"))
        .warns(&["network_kernel.weight.annotations.groups", "additive.covariate.fitness"]);
    let pearson = |name: &str| {
        let shown = home.json(&format!("evaluate {name} --json"));
        (shown["rows"][0]["pearson"].as_f64().unwrap(), shown["prior_knowledge"].clone())
    };
    let ((plain, nothing), (informed, uses)) = (pearson("plain"), pearson("informed"));
    assert!(informed > plain + 0.2, "{informed} and {plain}");
    assert!(nothing.is_null(), "{nothing}");
    assert_eq!(uses, json!([{"name": "informed", "uses": ["annotations groups", "covariate fitness"]}]));
    home.ok("evaluate informed").prints(&[
        "informed: it also uses annotations groups, covariate fitness; such knowledge of genes may",
    ]);
    home.ok("predict informed --pairs --top 5 --out hits --html hits.html");
    assert!(home.read("hits.html").contains("it also uses annotations groups"));
}

#[test]
fn inputs_from_genetic_interactions_are_named() {
    let home = grouped_screen();
    home.write("links.tsv", "gene_a\tgene_b\nG00\tG03\nG01\tG04\nG02\tG05\n");
    let import = "data import DIR --screen screen.tsv --features table:fitness.tsv --network edges:links.tsv,name=costanzo_similarity \
                  --network edges:links.tsv,name=links --network edges:links.tsv,name=other";
    let import = |dir: &str, more: &str| format!("{} {more}", import.replace("DIR", dir));
    home.ok(&import("named", ""));
    home.ok(&import(
        "declared",
        "--from-interactions links --from-interactions fitness --independent costanzo_similarity",
    ));
    for (dir, shown) in [
        ("named", json!(["network costanzo_similarity"])),
        ("declared", json!(["network links", "feature fitness"])),
    ] {
        assert_eq!(home.json(&format!("data show {dir} --json"))["from_interactions"], shown);
    }
    home.ok("data show declared").prints(&["from genetic interactions", "network links, feature fitness"]);
    home.ok("data verify declared");
    let hash = |dir: &str| home.json(&format!("data show {dir} --json"))["data_hash"].clone();
    assert_eq!(hash("named"), hash("declared"), "a declaration is not data");
    let uses = |run: &str| home.json(&format!("evaluate {run} --json"))["prior_knowledge"][0]["uses"].clone();
    home.ok("train named --out all")
        .warns(&["it also uses network costanzo_similarity (from genetic interactions)"]);
    assert_eq!(uses("all"), json!(["network costanzo_similarity (from genetic interactions)"]));
    home.ok(
        r#"train named --out one 'model.network_kernel.networks=["other"]' 'model.parts=["network_kernel"]'"#,
    );
    assert!(uses("one").is_null());
    home.ok("train declared --out both 'model.low_rank.covariates=[\"fitness\"]'");
    // The stack expects amplitudes from fitness, too.
    let of = |input: &str| format!("{input} (from genetic interactions)");
    let expected = ["covariate fitness", "feature fitness", "network links"].map(of);
    assert_eq!(uses("both"), json!(expected));
    home.ok("predict both --pairs --top 5 --out hits --html hits.html");
    assert!(home.read("hits.html").contains("network links (from genetic interactions)"));
    home.fails(
        &import("bad", "--from-interactions nets"),
        2,
        &["\"nets\" is not a network, feature or set", "there are: costanzo_similarity, fitness"],
    );
    home.fails(&import("bad", "--from-interactions links --independent links"), 2, &["leave one out"]);
}

#[test]
fn knowledge_that_the_dataset_lacks_is_refused() {
    let home = grouped_screen();
    for (key, words) in [
        ("network_kernel.annotations=[\"go\"]", "the dataset has no annotations \"go\"; it has groups"),
        ("low_rank.covariates=[\"fit\"]", "the dataset has no feature \"fit\"; it has fitness"),
    ] {
        home.fails(&format!("train known --out refused 'model.{key}'"), 2, &[words]);
    }
}

#[test]
fn noise_has_no_signal_and_intervals_that_hold() {
    use std::fmt::Write as _;
    let home = Home::empty();
    let mut screen = "gene1\tgene2\tscore\n".to_owned();
    let mut state = 7_u64;
    // Sums of twelve uniform numbers are nearly normal.
    let mut normal = || -> f64 {
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        (0..12).map(|_| uniform()).sum::<f64>() - 6.0
    };
    for a in 0..40 {
        for b in a + 1..40 {
            writeln!(screen, "G{a:02}\tG{b:02}\t{:.4}", normal()).unwrap();
        }
    }
    home.write("noise.tsv", screen);
    home.ok("data import noise --screen noise.tsv");
    home.ok("train noise --out run").prints(&["no signal found"]);
    let coverage = &home.json("evaluate run --resamples 50 --json")["coverage"][0];
    let within = |name: &str| coverage[name].as_f64().unwrap();
    assert!((0.5..0.86).contains(&within("within_68")), "{coverage}");
    assert!(within("within_95") > 0.85, "{coverage}");
}
