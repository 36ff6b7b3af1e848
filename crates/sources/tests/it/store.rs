//! The Python system's dataset: a store made here comes over whole, and a store that is none is refused.

use crate::support::message;
use knockout_base::error::Class;
use knockout_data::lmdb::LmdbWriter;
use knockout_data::screen::{Dataset, Part, Split};
use knockout_sources::import::{Recipe, import};
use std::path::Path;

fn record(genes: &[&str], kind: &str, score: &str) -> String {
    let perturbations: Vec<String> = genes
        .iter()
        .map(|gene| format!("{{\"systematic_gene_name\": \"{gene}\", \"perturbation_type\": \"{kind}\"}}"))
        .collect();
    format!(
        "[{{\"experiment\": {{\"experiment_type\": \"gene interaction\", \"dataset_name\": \"TmiKuzmin2018Dataset\", \
          \"genotype\": {{\"perturbations\": [{}]}}, \"phenotype\": {{\"gene_interaction\": {score}, \
          \"gene_interaction_p_value\": 0.25}}}}, \"experiment_reference\": {{}}}}]",
        perturbations.join(", ")
    )
}

fn make(root: &Path, records: &[(String, String)]) {
    let folder = root.join("processed/lmdb");
    std::fs::create_dir_all(&folder).unwrap();
    let mut store = LmdbWriter::open(&folder, 1 << 24).unwrap();
    let mut transaction = store.begin().unwrap();
    for (key, value) in records {
        transaction.put(key.as_bytes(), value.as_bytes()).unwrap();
    }
    transaction.commit().unwrap();
    std::fs::write(
        root.join("processed/gene_set.json"),
        "[\"YAL001C\", \"YAL002W\", \"YAL003W\", \"YBR001C\"]",
    )
    .unwrap();
}

fn records() -> Vec<(String, String)> {
    // Twelve records, so that the store's order 0, 1, 10, 11, 2 differs from the numbers'.
    let pairs =
        [["YAL001C", "YAL002W"], ["YAL001C", "YAL003W"], ["YAL002W", "YAL003W"], ["YAL001C", "YBR001C"]];
    let kinds = ["sga_kanmx_deletion", "temperature_sensitive_allele", "damp"];
    (0..12).map(|i| (i.to_string(), record(&pairs[i % 4], kinds[i / 4], &format!("-0.{i:02}")))).collect()
}

fn recipe() -> Recipe {
    Recipe::from_toml("[[screens]]\nformat = \"torchcell\"\nfile = \"006\"\n").unwrap()
}

#[test]
fn a_dataset_comes_over_with_its_genes_order_and_splits() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("006");
    make(&root, &records());
    std::fs::create_dir(root.join("data_module_cache")).unwrap();
    let split = "{\"train\": [0, 1, 2, 3, 4, 5, 6, 7], \"val\": [8, 9], \"test\": [10, 11]}";
    std::fs::write(root.join("data_module_cache/index_seed_42.json"), split).unwrap();
    std::fs::write(root.join("data_module_cache/index_details_seed_42.json"), "{}").unwrap();

    let mut found = import(&recipe(), folder.path(), &|_| {}).unwrap();
    let out = folder.path().join("out");
    found.write(&out, &|_| {}).unwrap();
    let dataset = Dataset::open(&out).unwrap();
    let scores: Vec<f64> = (0..12).map(|i| -f64::from(i) / 100.0).collect();
    assert_eq!(dataset.samples.scores(), scores, "in the order of the numbers");
    assert_eq!(dataset.samples.get(5).kind, "ts");
    assert_eq!(dataset.samples.get(5).source, "TmiKuzmin2018Dataset");
    assert_eq!(dataset.cell.genes().len(), 4);
    let split = Split::load(&out.join("splits/index_seed_42.parquet"), &dataset.manifest).unwrap();
    assert_eq!(split.rows(Part::Val), [8, 9]);
    assert_eq!((split.rows(Part::Train).len(), split.rows(Part::Test)), (8, &[10, 11][..]));
    assert!(knockout_data::screen::verify(&out).unwrap().is_empty());
    assert!(out.join("import-report.json").is_file() && out.join("recipe.toml").is_file());
    assert!(!root.join("processed/lmdb/lock.mdb").exists() || root.join("processed/lmdb/lock.mdb").is_file());
}

#[test]
fn a_store_that_is_cut_off_or_something_else() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("006");
    make(&root, &records());
    let path = root.join("processed/lmdb/data.mdb");
    let whole = std::fs::read(&path).unwrap();
    let run = || message(&import(&recipe(), folder.path(), &|_| {}).unwrap_err());
    std::fs::write(&path, &whole[..whole.len() - 4096]).unwrap();
    assert!(run().contains("it is truncated"), "{}", run());
    for bytes in [&b"no store at all"[..], &[0; 10_000], &whole[..100]] {
        std::fs::write(&path, bytes).unwrap();
        assert!(run().contains("this is not an LMDB file; expected the data.mdb"), "{}", run());
    }
    std::fs::remove_file(&path).unwrap();
    let error = import(&recipe(), folder.path(), &|_| {}).unwrap_err();
    assert!(
        error.class() == Class::Request && message(&error).contains("there is no processed/lmdb/data.mdb")
    );
}

#[test]
fn records_that_are_none() {
    let cases = [
        (("x1".to_owned(), record(&["YAL001C"], "damp", "1")), "\"x1\" is not a decimal index"),
        (("007".to_owned(), record(&["YAL001C"], "damp", "1")), "\"007\" is not a decimal index"),
        (("0".to_owned(), "{".to_owned()), "record 0: the record's JSON cannot be decoded"),
        (("0".to_owned(), record(&["YAL001C"], "damp", "\"high\"")), "the record's JSON cannot be decoded"),
        (("0".to_owned(), record(&[], "damp", "1")), "is not a genotype with at least one perturbation"),
    ];
    for (bad, expected) in cases {
        let folder = tempfile::tempdir().unwrap();
        make(&folder.path().join("006"), &[bad]);
        let text = message(&import(&recipe(), folder.path(), &|_| {}).unwrap_err());
        assert!(text.contains(expected), "{text}");
    }
}
