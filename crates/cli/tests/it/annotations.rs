//! Annotations of genes: into a dataset by an option and by a recipe, shown and verified.

#![cfg(feature = "lab")]

use crate::support::run_in as run;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

fn sources(folder: &Path) {
    fs::write(folder.join("screen.tsv"), "gene_a\tgene_b\tscore\nYAL001C\tYAL002W\t0.5\nYAL001C\tHO\t0.1\n")
        .unwrap();
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
    fs::write(folder.join("sgd.gaf"), gaf.concat()).unwrap();
    fs::write(folder.join("complexes.json"), "{\"HO\": [\"CPX-1\"], \"YAL001C\": [\"CPX-1\"]}").unwrap();
}

#[test]
fn annotations_are_imported_shown_and_verified() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    sources(folder);
    run(folder, &["-q", "data", "import", "plain", "--screen", "screen.tsv"]).ok();
    let import = |out: &'static str, more: &[&'static str]| {
        let mut args = vec!["data", "import", out, "--screen", "screen.tsv"];
        args.extend(["--annotations", "gaf:sgd.gaf,name=go", "--annotations", "json:complexes.json"]);
        args.extend(more);
        run(folder, &args)
    };
    let said = import("rich", &[]).ok();
    let expected = "annotations go: 1 terms of 2 genes, 2 pairs (1 terms with too few genes and 0 with too many left out)";
    assert!(said.stdout.contains(expected), "{}", said.stdout);
    assert!(said.stderr.contains("sgd.gaf: 1 rows left out: evidence IGI"), "{}", said.stderr);
    let report = import("again", &["--json"]).json();
    assert_eq!(report["annotations"][0]["rows"]["unknown_names"]["X"]["rows"], 1);
    assert_eq!(report["annotations"][1]["name"], "complexes");
    run(folder, &["data", "verify", "rich"]).ok();

    let shown = run(folder, &["--json", "data", "show", "rich"]).json();
    let sets = serde_json::json!([
        {"name": "complexes", "terms": 1, "genes": 2, "pairs": 2},
        {"name": "go", "terms": 1, "genes": 2, "pairs": 2},
    ]);
    assert_eq!(shown["annotations"], sets);
    assert!(run(folder, &["--json", "data", "show", "plain"]).json()["annotations"].is_null());
    let page = run(folder, &["data", "show", "rich"]).ok().stdout;
    assert!(page.contains("annotations") && page.contains("complexes"), "{page}");
    let gene = run(folder, &["--json", "data", "show", "rich", "--gene", "YAL001C"]).json();
    assert_eq!(gene["annotations"][1]["terms"][0], "GO:0000001");
    let page = run(folder, &["data", "show", "rich", "--gene", "HO"]).ok().stdout;
    assert!(page.contains("CPX-1"), "{page}");

    // The recipe that was kept makes the same data.
    run(folder, &["-q", "data", "import", "same", "--recipe", "rich/recipe.toml"]).ok();
    let hash = |set: &str| run(folder, &["--json", "data", "show", set]).json()["data_hash"].clone();
    assert_eq!(hash("same"), hash("rich"));
    assert_ne!(hash("plain"), hash("rich"));
}

#[test]
fn sources_that_are_wrong_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    sources(folder);
    let refused = |source: &str| {
        run(folder, &["data", "import", "x", "--screen", "screen.tsv", "--annotations", source]).stderr
    };
    assert!(refused("gaf:sgd.gaf,evidence=IDB").contains("GO has no evidence code"));
    assert!(refused("gaf:sgd.gaf,name=../go").contains("cannot name annotations"));
    assert!(refused("gmt:sgd.gaf").contains("sgd.gaf, line 1: the row has 1 cells"));
    assert!(refused("obo:sgd.gaf").contains("unknown variant `obo`"));
    assert!(!folder.join("x").exists());
}

/// A screen of genes in three groups: pairs of one group score high.
fn grouped_screen(folder: &Path) {
    let genes: Vec<String> = (0..36).map(|gene| format!("G{gene:02}")).collect();
    let (mut screen, mut terms, mut fitness) =
        ("gene_a\tgene_b\tscore\n".to_owned(), "gene\tterm\n".to_owned(), "gene\tfitness\n".to_owned());
    for (a, gene) in genes.iter().enumerate() {
        writeln!(terms, "{gene}\tgroup {}", a % 3).unwrap();
        writeln!(fitness, "{gene}\t{}", a % 7).unwrap();
        for (b, other) in genes.iter().enumerate().take(a) {
            let score = f64::from(u8::from(a % 3 == b % 3)) + 0.1 * ((a % 7) + (b % 7)) as f64;
            // Something that no model can know.
            let noise = 0.05 * (((a * 31 + b * 17) % 11) as f64 - 5.0);
            writeln!(screen, "{gene}\t{other}\t{}", score + noise).unwrap();
        }
    }
    for (name, text) in [("screen.tsv", screen), ("terms.tsv", terms), ("fitness.tsv", fitness)] {
        fs::write(folder.join(name), text).unwrap();
    }
}

#[test]
fn what_a_model_knows_of_genes_stands_beside_its_figures() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    grouped_screen(folder);
    let import =
        ["data", "import", "known", "--screen", "screen.tsv", "--annotations", "table:terms.tsv,name=groups"];
    run(folder, &[&import[..], &["--features", "table:fitness.tsv"]].concat()).ok();
    let train = |name: &'static str, keys: &[&'static str]| {
        let begin = ["train", "known", "--split", "gene-disjoint", "--out", name];
        run(folder, &[&begin[..], keys].concat()).ok().stdout
    };
    train("plain", &[]);
    let annotations = "model.network_kernel.annotations=[\"groups\"]";
    let said = train("known-stack", &[annotations, "model.low_rank.covariates=[\"fitness\"]"]);
    for name in ["network_kernel.weight.annotations.groups 1", "additive.covariate.fitness"] {
        assert!(said.contains(name), "{said}");
    }
    let pearson = |name: &'static str| {
        let shown = run(folder, &["evaluate", name, "--json"]).json();
        (shown["rows"][0]["pearson"].as_f64().unwrap(), shown["prior_knowledge"].clone())
    };
    let ((plain, nothing), (known, uses)) = (pearson("plain"), pearson("known-stack"));
    assert!(known > plain + 0.2, "{known} and {plain}");
    assert!(nothing.is_null(), "{nothing}");
    let expected = serde_json::json!(["annotations groups", "covariate fitness"]);
    assert_eq!(uses, serde_json::json!([{"name": "known-stack", "uses": expected}]));
    let sentence =
        "known-stack: it also uses annotations groups, covariate fitness; such knowledge of genes may";
    let text = run(folder, &["evaluate", "known-stack"]).ok().stdout;
    assert!(text.contains(sentence), "{text}");
    // The page of hits is a report, too.
    run(folder, &["predict", "known-stack", "--pairs", "--top", "5", "--out", "hits", "--html", "hits.html"])
        .ok();
    let page = fs::read_to_string(folder.join("hits.html")).unwrap();
    assert!(page.contains("it also uses annotations groups"));

    let refused = |key: &str| run(folder, &["train", "known", "--out", "refused", key]).fails(2, &[]).stderr;
    let error = refused("model.network_kernel.annotations=[\"go\"]");
    assert!(error.contains("the dataset has no annotations \"go\"; it has groups"), "{error}");
    let error = refused("model.low_rank.covariates=[\"fit\"]");
    assert!(error.contains("the dataset has no feature \"fit\"; it has fitness"), "{error}");
}
