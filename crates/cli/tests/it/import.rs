//! `knockout data import`: exit codes, messages and what lies in the folder afterwards.
#![cfg(feature = "lab")]

use assert_cmd::cargo::cargo_bin_cmd;
use std::path::Path;

const GENES: &str = "YAL001C\nYAL002W\nYAL003W\n";
const SCORES: &str = "gene_a\tallele_a\tgene_b\tallele_b\ts_score\nYAL001C\tDELETION\tYAL002W\tDELETION\t-1.5\n\
                      YAL002W\tDELETION\tYAL001C\tDELETION\t-0.5\nYAL001C\tDELETION\tYAL003W\tDAMP\t0.25\n";

fn files() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("genes.txt"), GENES).unwrap();
    std::fs::write(folder.path().join("scores.tsv"), SCORES).unwrap();
    let recipe = "[[genes]]\nformat = \"list\"\nfile = \"genes.txt\"\n[[screens]]\nformat = \"emap\"\nfile = \"scores.tsv\"\n";
    std::fs::write(folder.path().join("recipe.toml"), recipe).unwrap();
    folder
}

fn run(folder: &Path, args: &[&str]) -> (i32, String, String) {
    let mut command = cargo_bin_cmd!("knockout");
    command.current_dir(folder).env_remove("KNOCKOUT_DATA").args(["data", "import", "out"]).args(args);
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn options_and_a_recipe_make_the_same_dataset() {
    let [one, two] = [files(), files()];
    let (code, text, _) = run(one.path(), &["--genes", "list:genes.txt", "--screen", "emap:scores.tsv"]);
    assert_eq!(code, 0);
    assert!(text.contains("2 samples (2 of 2 genes; deletion 1, mixed 1), 1 repeat merged"), "{text}");
    let (code, json, _) = run(two.path(), &["--recipe", "recipe.toml", "--json"]);
    assert_eq!(code, 0);
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&report["schema"], &report["samples"]["count"]), (&1.into(), &2.into()));
    let read = |folder: &Path, file: &str| std::fs::read(folder.join("out").join(file)).unwrap();
    for file in ["samples.parquet", "genes.parquet", "recipe.toml", "import-report.json"] {
        assert_eq!(read(one.path(), file), read(two.path(), file), "{file}");
    }
}

#[test]
fn a_bad_request_is_2() {
    let folder = files();
    let cases: [(&[&str], &str); 5] = [
        (&["--genes", "list:none.txt"], "there is no none.txt"),
        (&["--genes", "lst:genes.txt"], "unknown variant `lst`"),
        (&["--network", "edges:scores.tsv"], "knockout: there are no genes"),
        (&["--recipe", "none.toml"], "recipe none.toml"),
        (
            &["--genes", "list:genes.txt", "--network", "string:scores.tsv,channel=x"],
            "unknown field `channel`",
        ),
    ];
    for (args, expected) in cases {
        let (code, _, complaint) = run(folder.path(), args);
        assert_eq!(code, 2, "{complaint}");
        assert!(complaint.contains(expected), "{complaint}");
    }
    std::fs::create_dir(folder.path().join("out")).unwrap();
    assert_eq!(run(folder.path(), &["--recipe", "recipe.toml"]).0, 2, "nothing is overwritten");
}

#[test]
fn bad_input_is_3_and_leaves_nothing() {
    let folder = files();
    let shifted = SCORES.replace("-0.5", "-O.5");
    std::fs::write(folder.path().join("scores.tsv"), shifted).unwrap();
    let (code, _, complaint) = run(folder.path(), &["--recipe", "recipe.toml"]);
    assert_eq!(code, 3);
    assert_eq!(
        complaint.trim(),
        "knockout: scores.tsv, line 3, column \"s_score\": \"-O.5\" is not a score, a finite number"
    );
    assert!(!folder.path().join("out").exists());
}

/// An edge is one thing in every count: directed, as it is stored.
#[test]
fn edges_are_counted_alike_by_import_and_by_show() {
    let folder = files();
    let edges = "a\tb\nYAL001C\tYAL002W\nYAL002W\tYAL003W\nYAL003W\tYAL003W\n";
    std::fs::write(folder.path().join("edges.tsv"), edges).unwrap();
    let network = |more: &str| format!("edges:edges.tsv,source=a,target=b,name=n{more}");
    let base = ["--genes", "list:genes.txt", "--screen", "emap:scores.tsv", "--network"];
    let (code, text, _) = run(folder.path(), &[&base[..], &[&network("")]].concat());
    assert_eq!(code, 0);
    let said = "network n: 4 edges, both directions of 2 undirected ones, on 3 genes (1 self-loops dropped)";
    assert!(text.contains(said), "{text}");
    let show = cargo_bin_cmd!("knockout")
        .current_dir(folder.path())
        .args(["data", "show", "out", "--json"])
        .output();
    let shown: serde_json::Value = serde_json::from_slice(&show.unwrap().stdout).unwrap();
    assert_eq!(shown["networks"][0]["edges"], 4);
    for (more, said) in [(",entries=one", "2 edges on 3 genes"), (",directed=true", "2 edges on 3 genes")] {
        std::fs::remove_dir_all(folder.path().join("out")).unwrap();
        let (_, text, _) = run(folder.path(), &[&base[..], &[&network(more)]].concat());
        assert!(text.contains(said), "{text}");
    }
}
