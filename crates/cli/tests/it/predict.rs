//! `knockout predict` and `knockout predict merge`: candidates, interruptions, parts and refusals.

#![cfg(feature = "lab")]

use crate::support::Home;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

/// `KNOCKOUT_KILLS` sets their number; 200 were done by hand.
#[test]
fn kills_at_random_instants_lose_nothing() {
    let kills: u64 = std::env::var("KNOCKOUT_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(6);
    let home = Home::with_runs(&["seed-0"]);
    home.ok("-q predict seed-0 --dataset-part test --csv --out part");
    let genes: BTreeSet<String> = home
        .read("part/predictions.csv")
        .lines()
        .skip(1)
        .map(|row| row.split(',').nth(1).unwrap().to_owned())
        .collect();
    home.write("genes.txt", genes.into_iter().take(100).collect::<Vec<_>>().join("\n"));
    let predict =
        "-q predict seed-0 --triples --genes genes.txt --full --top 7 --bottom 3 --csv --block 3000";
    home.ok(&format!("{predict} --out whole"));
    let whole = home.content("whole");
    let (mut state, mut killed) = (7_u64, 0);
    while killed < kills {
        let mut child = home.start(&format!("{predict} --out killed"));
        // Anywhere between the start and some blocks later.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_millis(state >> 33 & 0x1ff));
        child.kill().unwrap();
        killed += u64::from(!child.wait().unwrap().success());
        if home.exists("killed/predictions.csv") {
            assert_eq!(home.content("killed"), whole);
            fs::remove_dir_all(home.path("killed")).unwrap();
        }
    }
    home.ok(&format!("{predict} --out killed"));
    assert_eq!(home.content("killed"), whole, "after {killed} kills");
}

/// A full disk refuses the bytes of a block; here a limit on the size of files does.
#[cfg(unix)]
#[test]
fn a_block_that_cannot_be_written_loses_nothing() {
    let home = Home::with_runs(&["seed-0"]);
    let predict = "-q predict seed-0 --pairs --block 3000";
    home.ok(&format!("{predict} --out whole"));
    // The manifest fits and a block does not; without the trap the signal would end the program before its message.
    home.shell(&format!("trap '' XFSZ; ulimit -f 8; exec \"$knockout\" {predict} --out full"))
        .fails(1, &["the blocks before are kept; run the same command again"]);
    home.ok(&format!("{predict} --out full"));
    assert_eq!(home.content("full"), home.content("whole"));
}

/// Returns the genes of the first sample of the test part.
fn genes_of_a_sample(home: &Home) -> [String; 3] {
    let scored = home.json("predict seed-0 --dataset-part test --out part --csv --json -q")["scored"].clone();
    assert_eq!(scored, 200);
    let csv = home.read("part/predictions.csv");
    let row: Vec<&str> = csv.lines().nth(1).unwrap().split(',').collect();
    [row[1].to_owned(), row[2].to_owned(), row[3].to_owned()]
}

#[test]
fn lists_of_sets_are_predicted_in_their_order() {
    let home = Home::with_runs(&["seed-0"]);
    let [a, b, c] = genes_of_a_sample(&home);
    home.write("good.csv", format!("gene_1,gene_2,gene_3\n{a},{b},{c}\n{a},{b},\n"));
    let shown = home.json("predict seed-0 -q --sets good.csv --out good --csv --json");
    assert_eq!((&shown["scored"], &shown["candidates"]), (&2.into(), &2.into()));
    let good = home.read("good/predictions.csv");
    assert!(good.lines().nth(2).unwrap().starts_with(&format!("1,{a},{b},,")), "{good}");
    // A file of predictions is a list of sets itself.
    let block = "good/predictions/block-000000000.parquet";
    assert_eq!(home.json(&format!("predict seed-0 -q --sets {block} --out again --csv --json"))["scored"], 2);
    assert_eq!(home.read("again/predictions.csv"), good);
}

#[test]
fn the_rows_of_a_list_keep_their_columns_and_their_order() {
    let home = Home::with_runs(&["seed-0"]);
    let [a, b, c] = genes_of_a_sample(&home);
    let [low_a, low_c] = [&a, &c].map(|name| name.to_lowercase());
    home.write(
        "mine.csv",
        format!(
            "note,Query,Array,third,fold\n\"x, y\",{c},{low_a},{b},-1.5\n=1,{b},{a},,7\n,{low_c},{b},{a},\n"
        ),
    );
    home.write("out.txt", format!("{c}\n"));
    // The third column has no name of a gene column.
    let shown = home.json("predict seed-0 -q --sets mine.csv --out mine --csv --json");
    assert!(shown["files"].to_string().contains("sets.csv"), "{shown}");
    let rows = |folder: &str| -> Vec<Vec<String>> {
        let text = home.read(&format!("{folder}/sets.csv"));
        text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
    };
    let found = rows("mine");
    let header = "note,Query,Array,third,fold,prediction,measured_score,measured_part,samples".split(',');
    let header: Vec<String> = header.map(str::to_owned).collect();
    assert_eq!(found[0], header);
    assert_eq!(found[1][..7], ["\"x", " y\"", &c, &low_a, &b, "-1.5", &found[1][6]].map(str::to_owned)[..]);
    assert_eq!(found[2][..5], ["'=1", &b, &a, "", "7"]);
    assert_eq!(found[3][1..3], [low_c, b.clone()]);
    // The predictions are those of the blocks.
    let csv = home.read("mine/predictions.csv");
    let predictions: Vec<&str> = csv.lines().skip(1).map(|line| line.rsplit(',').next().unwrap()).collect();
    let predicted = |rows: &[Vec<String>]| -> Vec<String> {
        rows[1..].iter().map(|row| row[row.len() - 4].clone()).collect()
    };
    assert_eq!(predicted(&found), predictions);
    // The screen has triples alone.
    assert!(found[1..].iter().all(|row| row[row.len() - 3..].concat().is_empty()), "{found:?}");
    // What a filter leaves out has a row without a prediction, and a part of the predictions has no table.
    home.ok("predict seed-0 -q --sets mine.csv --exclude out.txt --out less");
    assert_eq!(predicted(&rows("less")), ["", predictions[1], ""]);
    home.ok("predict seed-0 -q --sets mine.csv --top 1 --out best");
    assert!(!home.exists("best/sets.csv"));
}

#[test]
fn wrong_lists_are_refused() {
    let home = Home::with_runs(&["seed-0"]);
    let [a, b, c] = genes_of_a_sample(&home);
    home.write("unknown.tsv", format!("{a}\tNOPE1\n{b}\tNOPE2\n"));
    home.write("repeated.csv", format!("gene_1,gene_2\n{a},{b}\n{c},{c}\n"));
    for (list, words) in [
        ("unknown.tsv", ["2 names", "NOPE1, NOPE2"]),
        ("repeated.csv", ["line 3", "twice"]),
        ("nowhere.tsv", ["nowhere.tsv", "could not be opened"]),
    ] {
        home.fails(&format!("predict seed-0 -q --sets {list} --out x"), 2, &words);
    }
    let with = format!("predict seed-0 -q --with {a},{b} --pairs --out x");
    home.fails(&with, 2, &["leaves nothing to choose"]);
    home.fails(&format!("predict seed-0 -q --with {a} --out x"), 2, &["add --pairs or --triples"]);
    assert!(!home.exists("x"));
}

#[test]
fn wrong_requests_are_2() {
    let home = Home::with_runs(&["seed-0", "seed-1"]);
    home.ok("-q data synth other --preset tiny --seed 9");
    home.ok("predict seed-0 --dataset-part test --out part -q");
    for (request, words) in [
        ("seed-0 --out x", "choose what to predict"),
        ("seed-0 --with NOPE --pairs --out x", "NOPE"),
        ("seed-0 --pairs --part 4/3 --out x", "4/3"),
        ("seed-0 --pairs --out seed-1", "exists and holds no predictions"),
        ("seed-0 --pairs --out part", "another request: the candidates differ"),
        ("seed-0 --pairs --out x --data other", "other"),
        ("nowhere --pairs --out x", "nowhere"),
    ] {
        home.fails(&format!("predict -q {request}"), 2, &[words]);
    }
    assert!(!home.exists("x"));
}

#[test]
fn candidates_are_counted_before_they_are_predicted() {
    Home::with_runs(&["seed-0"])
        .ok("predict seed-0 --pairs --top 3 --out hits")
        .warns(&["hits: 13,530 candidates: sets of 2 genes out of 165"]);
}

#[test]
fn sizes_that_no_training_sample_has_are_warned_of() {
    Home::with_runs(&["seed-0"])
        .ok("predict seed-0 --pairs --top 1 --out pairs")
        .warns(&["no training sample has 2 genes"]);
}

#[test]
fn sets_of_the_trained_size_have_the_accuracy_of_the_test_part() {
    let home = Home::with_runs(&["seed-0", "seed-1"]);
    let found = home.json("predict seed-0 seed-1 --dataset-part test --top 3 --out hits --json -q");
    assert_eq!(found["accuracy"][0]["source"], "test-part");
    assert_eq!(found["accuracy"][0]["genes"], 3);
    assert_eq!(found["accuracy"][1]["source"], "unknown", "an ensemble has no folds of its own");
}

#[test]
fn a_solved_run_of_triples_knows_no_accuracy_or_deviation_of_pairs() {
    let home = Home::with_tiny();
    home.ok("-q train tiny --model stack --out stack");
    let found = home.json("predict stack --pairs --bottom 2 --out pairs --json -q");
    assert!(found["bottom"][0].get("sd").is_none(), "{found}");
    assert_eq!(found["accuracy"][0]["source"], "other-sizes");
    home.ok("predict stack --pairs --bottom 2 --out again")
        .prints(&["sets of 2 genes: unknown; no training sample has 2 genes"]);
    let triples = home.json("predict stack --dataset-part test --bottom 2 --out triples --json -q");
    assert!(triples["bottom"][0]["sd"].as_f64().unwrap() > 0.0);
    let genes: Vec<&str> =
        found["bottom"][0]["genes"].as_array().unwrap().iter().filter_map(|gene| gene.as_str()).collect();
    let explained = home.json(&format!("explain stack {} --json -q", genes.join(" ")));
    assert_eq!(explained["overall"]["count"], 0, "{explained}");
    assert_eq!(explained["sd"], serde_json::Value::Null);
}

#[test]
fn hits_have_an_expected_share_of_false_ones() {
    let home = Home::with_runs(&["stack"]);
    let predict = "predict stack --triples --not-measured --top 30 --bottom 30 -q";
    let found = home.json(&format!("{predict} --out hits --json --html hits.html"));
    assert_eq!(
        (&found["cut_offs"]["negative"], &found["cut_offs"]["positive"]),
        (&(-0.08).into(), &0.08.into())
    );
    for list in ["top", "bottom"] {
        let shares: Vec<f64> = found[list]
            .as_array()
            .unwrap()
            .iter()
            .map(|hit| hit["false_share"]["share"].as_f64().unwrap())
            .collect();
        assert_eq!(shares.len(), 30);
        assert!(
            shares.windows(2).all(|pair| pair[0] <= pair[1] + 1e-9)
                && shares.iter().all(|share| (0.0..=1.0).contains(share)),
            "{list}: {shares:?}"
        );
    }
    assert!(home.read("hits.html").contains("expected share of hits up to this one"));
    // The score of a measured set is known: it is counted, not estimated.
    let measured = "predict stack --dataset-part test --top 30 --bottom 30 -q";
    let known = home.json(&format!("{measured} --out known --json --html known.html"));
    let low = known["bottom"].as_array().unwrap();
    assert!(low.iter().all(|hit| hit["false_share"].is_null() && hit["measured_part"] == "test"), "{low:?}");
    let strong = low.iter().filter(|hit| hit["measured_score"].as_f64().unwrap() < -0.08).count();
    let sentence =
        format!("30 of the 30 lowest predictions are measured; {strong} of them have a score below -0.08.");
    assert!(home.read("known.html").contains(&sentence), "{sentence}");
    // Nearly every score is below a high cut-off, and none below a very low one.
    for (cut_off, share) in [("100", 0.0), ("-100", 1.0)] {
        let found = home.json(&format!("{predict} --negative-below {cut_off} --out at{cut_off} --json"));
        assert_eq!(found["bottom"][29]["false_share"]["share"], share, "{cut_off}");
    }
    home.fails(&format!("{predict} --negative-below nan --out bad"), 2, &["is not a score"]);
    home.fails("predict stack --dataset-part test --xlsx --out bad", 2, &["add --top K or --bottom K"]);
    assert!(!home.exists("bad"));
}

/// Returns the name of a gene of the planted screen.
fn planted_gene(gene: usize) -> String {
    format!("YAL{:03}C", gene + 1)
}

/// Returns a folder with a run on a screen of pairs in which genes 0 to 7, one complex, interact with genes 8 to 19.
fn planted_screen() -> Home {
    let home = Home::empty();
    let (mut table, mut state) = ("gene_a\tgene_b\tscore\n".to_owned(), 7_u64);
    for b in 0..60 {
        for a in (0..b).filter(|a| (a * 7 + b * 11) % 5 > 0) {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let noise = (state >> 40) as f64 / f64::from(1 << 24) - 0.5;
            let effect = if a < 8 && (8..20).contains(&b) { -1.0 } else { 0.0 };
            let score = 0.2 * noise + effect;
            writeln!(table, "{}\t{}\t{score:.4}", planted_gene(a), planted_gene(b)).unwrap();
        }
    }
    home.write("screen.tsv", table);
    let complexes: Vec<String> =
        (0..60).map(|gene| format!("{:?}: [\"complex {:02}\"]", planted_gene(gene), gene / 8)).collect();
    home.write("complexes.json", format!("{{{}}}", complexes.join(", ")));
    home.ok("-q data import screen --screen screen.tsv --annotations json:complexes.json,name=complexes");
    home.ok("-q train screen --model low-rank --out run");
    home
}

#[test]
fn a_planted_complex_is_enriched_and_kept_for_other_programs() {
    let home = planted_screen();
    let predict = "predict run --pairs --not-measured --bottom 12";
    let found = home.json(&format!("{predict} --out hits --json -q --xlsx --cytoscape --html hits.html"));
    let terms = &found["enrichment"]["bottom"];
    assert_eq!(
        (&terms["terms"][0]["term"], &terms["candidates"]),
        (&"complex 00".into(), &60.into()),
        "{terms}"
    );
    let first = &terms["terms"][0];
    assert_eq!((&first["annotations"], &first["candidates"]), (&"complexes".into(), &8.into()));
    assert!(first["q"].as_f64().unwrap() < 0.05 && first["q"].as_f64() >= first["p"].as_f64(), "{first}");
    assert_eq!(first["hits"].as_u64().unwrap() as usize, first["genes"].as_array().unwrap().len());
    assert!(home.read("hits.html").contains("Terms enriched in the lowest predictions"));
    // A pair is an edge with its prediction.
    let network = home.document("hits/hits.cyjs");
    let edges = network["elements"]["edges"].as_array().unwrap();
    assert_eq!(edges.len(), 12);
    for (edge, hit) in edges.iter().zip(found["bottom"].as_array().unwrap()) {
        let data = &edge["data"];
        assert_eq!([&data["source"], &data["target"]], [&hit["genes"][0], &hit["genes"][1]]);
        assert_eq!(data["prediction"], hit["prediction"]);
    }
    let ids: BTreeSet<&str> = network["elements"]["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| node["data"]["id"].as_str().unwrap())
        .collect();
    assert!(edges.iter().all(|edge| ids.contains(edge["data"]["source"].as_str().unwrap())));
    // The program reads its own workbook as a list of sets.
    assert!(home.names("hits").contains(&"hits.xlsx".to_owned()));
    let shown = home
        .ok(&format!("{predict} --out again"))
        .prints(&["Terms enriched in the lowest predictions", "complex 00"]);
    assert!(shown.stdout.contains("false"), "{}", shown.stdout);
}

const ENSEMBLE: &str = "predict seed-0 seed-1 --pairs --not-measured --top 20 --block 999 -q";

#[test]
fn an_ensemble_has_a_standard_deviation_and_a_page() {
    let home = Home::with_runs(&["seed-0", "seed-1"]);
    let whole = home.json(&format!("{ENSEMBLE} --out whole --json --html hits.html"));
    assert_eq!(whole["top"].as_array().unwrap().len(), 20);
    assert!(whole["top"][0]["sd"].as_f64().unwrap() > 0.0);
    // By default only measured genes are candidates, so that no hit has a new gene.
    assert!(whole["top"].as_array().unwrap().iter().all(|hit| hit["regime"] == "known"), "{whole}");
    assert_eq!(whole["top"][0]["essential"], serde_json::Value::Null, "the dataset does not tell");
    // The runs were trained and tested on triples; their accuracy is not that of pairs.
    for regime in whole["accuracy"].as_array().unwrap() {
        assert_eq!((&regime["genes"], &regime["source"]), (&2.into(), &"other-sizes".into()), "{regime}");
        assert_eq!(regime["pearson"], serde_json::Value::Null);
    }
    let page = home.read("hits.html");
    for part in [
        whole["top"][19]["genes"][0].as_str().unwrap(),
        "sets of 2 genes: unknown; no training sample has 2 genes",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn runs_of_different_splits_are_tested_on_what_all_of_them_hold_back() {
    let home = Home::with_tiny();
    for seed in 0..2 {
        home.ok(&format!("-q train tiny --model low-rank split.seed={seed} split.test=0.4 --out run-{seed}"));
    }
    let [first, second] = [0, 1].map(|seed| {
        let shown = home.json(&format!("-q evaluate run-{seed} --json"));
        shown["rows"][0]["pearson"].as_f64().unwrap()
    });
    let predict = "predict run-0 run-1 --triples --top 5 --out hits --json";
    let ran = home.run(predict);
    assert!(ran.stderr.contains("warning: the runs have different splits"), "{}", ran.stderr);
    let known = &ran.json()["accuracy"][0];
    // A record that one of them was fitted to would raise the correlation: two fifths of two fifths are left.
    let records = known["records"].as_u64().unwrap();
    assert!((250..390).contains(&records), "{known}");
    let pearson = known["pearson"].as_f64().unwrap();
    assert!(pearson < first.max(second) + 0.15, "{pearson} beside {first} and {second}");

    home.fails(
        "predict run-0 run-0 --triples --top 5 --out twice",
        2,
        &["the same weights", "name each run once"],
    );
    assert!(!home.exists("twice"));
}

#[test]
fn parts_merge_to_the_whole() {
    let home = Home::with_runs(&["seed-0", "seed-1"]);
    let whole = home.json(&format!("{ENSEMBLE} --out whole --json"));
    for (part, out) in [("1/2", "first"), ("2/2", "second")] {
        home.ok(&format!("{ENSEMBLE} --part {part} --out {out}"));
    }
    home.fails("predict merge alone first", 2, &["part 2 of 2 missing"]);
    assert_eq!(home.json("predict merge merged second first --json")["top"], whole["top"]);
    let files = |name: &str| {
        let mut files = home.content(name);
        files.retain(|(path, _)| path.extension().is_some_and(|end| end != "json"));
        files
    };
    assert_eq!(files("merged"), files("whole"));
}
