//! The files generated from the command definitions are committed; this keeps them true.
//!
//! `KNOCKOUT_BLESS=1 cargo test -p knockout --test it generated` writes them again.
#![cfg(feature = "lab")]

use assert_cmd::cargo::cargo_bin_cmd;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn output_of(args: &[&str]) -> Vec<u8> {
    cargo_bin_cmd!("knockout").args(args).assert().success().get_output().stdout.clone()
}

/// Compares a folder of generated files with the committed one, or writes it when blessing.
fn check(folder: &Path, expected: &BTreeMap<String, Vec<u8>>) {
    if std::env::var_os("KNOCKOUT_BLESS").is_some() {
        if folder.exists() {
            fs::remove_dir_all(folder).unwrap();
        }
        fs::create_dir_all(folder).unwrap();
        for (name, bytes) in expected {
            fs::write(folder.join(name), bytes).unwrap();
        }
    }
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        found.insert(entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap());
    }
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    let hint = "run `KNOCKOUT_BLESS=1 cargo test -p knockout --test it generated` and commit the result";
    assert_eq!(names(&found), names(expected), "{} has other files; {hint}", folder.display());
    for (name, bytes) in expected {
        assert!(&found[name] == bytes, "{}/{name} is out of date; {hint}", folder.display());
    }
}

#[test]
fn man_pages_are_up_to_date() {
    let scratch = tempfile::tempdir().unwrap();
    output_of(&["man", "--out", scratch.path().to_str().unwrap()]);
    let mut pages = BTreeMap::new();
    for entry in fs::read_dir(scratch.path()).unwrap() {
        let entry = entry.unwrap();
        pages.insert(entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap());
    }
    assert!(pages.contains_key("knockout.1"));
    check(&docs().join("man"), &pages);
}

#[test]
fn completions_are_up_to_date() {
    let shells = ["bash", "elvish", "fish", "powershell", "zsh"];
    let scripts = shells.map(|shell| (format!("knockout.{shell}"), output_of(&["completions", shell])));
    check(&docs().join("completions"), &BTreeMap::from(scripts));
}

#[test]
fn help_page_is_up_to_date() {
    let page = BTreeMap::from([("commands.md".to_owned(), output_of(&["man", "--markdown"]))]);
    check(&docs().join("cli"), &page);
}
