//! Alleles of one gene, measured apart: every command treats them as samples of one gene set.
#![cfg(feature = "lab")]

use crate::support::Home;
use serde_json::Value;
use std::fmt::Write as _;

/// Returns a folder with the datasets `apart` and `merged` of pairs of 24 genes; the first gene has two alleles with other effects.
fn screens() -> Home {
    let home = Home::empty();
    let mut scores = "gene_a\tallele_a\tgene_b\tallele_b\ts_score\n".to_owned();
    let genes: Vec<String> = (10..34).map(|number| format!("YAL0{number}W")).collect();
    for (i, a) in genes.iter().enumerate() {
        // The last pair is not measured.
        for (j, b) in genes.iter().enumerate().skip(i + 1).filter(|(j, _)| i + j < 45) {
            let score = (i * 7 % 5) as f64 + (j * 7 % 5) as f64 + (i * j % 11) as f64 / 7.0;
            let planted = if i == 0 {
                vec![("x-1", score + 2.0), ("x-2", score - 2.5)]
            } else {
                vec![("deletion", score)]
            };
            for (allele, score) in planted {
                writeln!(scores, "{a}\t{allele}\t{b}\tdeletion\t{score}").unwrap();
            }
        }
    }
    home.write("genes.txt", genes.join("\n") + "\n");
    home.write("scores.tsv", scores);
    let apart = home.ok("data import apart --genes list:genes.txt --screen emap:scores.tsv");
    apart.prints(&["298 samples", "0 repeats merged", "23 gene sets have several samples"]);
    let merged =
        home.ok("data import merged --alleles merge --genes list:genes.txt --screen emap:scores.tsv");
    merged.prints(&[
        "275 samples",
        "23 measurements merged into others: 23 of other alleles of the same genes",
    ]);
    home
}

/// Predicts a measured pair: every table has its score and those of its alleles.
fn hits_have_the_alleles(home: &Home, score: &Value, (first, second): (&Value, &Value)) {
    home.write("pairs.tsv", "YAL010W\tYAL011W\nYAL032W\tYAL033W\n");
    let hits = home.json("predict of-apart --sets pairs.tsv --top 2 --full --xlsx --out hits --json -q");
    let hit = |measured: bool| {
        hits["top"].as_array().unwrap().iter().find(|hit| hit["measured"] == measured).unwrap().clone()
    };
    assert_eq!(&hit(true)["measured_score"], score);
    assert_eq!(hit(true)["samples"][1]["perturbation"], "x-2+deletion");
    assert!(hit(false)["measured_score"].is_null() && hit(false)["samples"].is_null());
    let [mean, one, two] = [score, first, second].map(|score| score.as_f64().unwrap());
    let part = hit(true)["measured_part"].as_str().unwrap().to_owned();
    let cell = format!("{mean},{part},x-1+deletion: {one}; x-2+deletion: {two}");
    for table in ["hits/top.csv", "hits/sets.csv"] {
        let text = home.read(table);
        assert!(text.lines().next().unwrap().ends_with("measured_score,measured_part,samples"), "{text}");
        assert!(
            text.lines().any(|line| line.ends_with(&cell)) && text.lines().any(|line| line.ends_with(",,,")),
            "{text}"
        );
    }
    home.ok("predict of-apart --sets pairs.tsv --top 2 --full --xlsx --out hits -q").prints(&[&format!(
        "measured ({part} part): {mean:.4} (x-1+deletion {one:.4}, x-2+deletion {two:.4})"
    )]);
    home.ok("explain of-apart YAL032W YAL033W -q").prints(&[
        ", not measured",
        "essential genes: unknown, the dataset has no annotations called \"essential\"",
        "linkage: unknown",
    ]);
}

#[test]
fn commands_treat_the_alleles_of_a_set_together() {
    let home = screens();
    home.ok("data verify apart");
    home.ok("data show apart").prints(&["23 gene sets have several samples"]);
    // The earlier word for merged alleles gives the same bytes.
    home.ok("data import earlier --alleles all --genes list:genes.txt --screen emap:scores.tsv");
    let samples = |name: &str| std::fs::read(home.path(name).join("samples.parquet")).unwrap();
    assert_eq!(samples("earlier"), samples("merged"));
    for name in ["apart", "merged"] {
        home.ok(&format!("train {name} -q --out of-{name}"));
    }
    let explained = |name: &str| home.json(&format!("explain of-{name} YAL010W YAL011W --json -q"));
    let (apart, merged) = (explained("apart"), explained("merged"));
    assert_eq!(apart["prediction"], merged["prediction"], "both were solved from the same means");
    assert_eq!(apart["measured"], merged["measured"]);
    let of_set = apart["samples"].as_array().unwrap();
    let names: Vec<_> = of_set.iter().map(|sample| sample["perturbation"].as_str().unwrap()).collect();
    assert_eq!(names, ["x-1+deletion", "x-2+deletion"]);
    let scores: Vec<_> = of_set.iter().map(|sample| sample["score"].as_f64().unwrap()).collect();
    assert!((scores[0] - scores[1] - 4.5).abs() < 1e-9 && merged["samples"].is_null());
    home.ok("explain of-apart YAL010W YAL011W -q").prints(&["x-2+deletion"]);
    let scores = (&of_set[0]["score"], &of_set[1]["score"]);
    hits_have_the_alleles(&home, &apart["measured"]["score"], scores);
    let evaluated = home.json("evaluate of-apart --json -q --resamples 20");
    let sets = evaluated["repeated_sets"].as_u64().unwrap();
    let rows = |evaluated: &serde_json::Value| evaluated["rows"][0]["count"].as_u64().unwrap();
    let of_merged = home.json("evaluate of-merged --json -q --resamples 20");
    assert_eq!(
        rows(&evaluated),
        rows(&of_merged) + sets,
        "each allele is compared with the prediction of its set"
    );
    assert!(sets > 0 && of_merged["repeated_sets"].is_null(), "{sets}");
    // A set counts as measured whichever allele was.
    let rest = home.json("predict of-apart --pairs --not-measured --top 3 --out rest --json -q");
    assert_eq!((rest["scored"].as_u64(), rest["top"].as_array().map(Vec::len)), (Some(1), Some(1)));
    home.ok("baseline apart -q --resamples 20");
}
