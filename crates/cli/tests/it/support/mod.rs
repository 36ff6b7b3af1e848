//! Running the program as a user would.
#![allow(dead_code, reason = "not every test file uses all of it")]

use assert_cmd::cargo::cargo_bin_cmd;
use std::path::{Path, PathBuf};

pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) fn run_in(folder: &Path, args: &[&str]) -> Ran {
    run_with(folder, args, &[])
}

/// The same with variables in the environment.
pub(crate) fn run_with(folder: &Path, args: &[&str], environment: &[(&str, String)]) -> Ran {
    let variables = environment.iter().map(|(name, value)| (name, value));
    let output = cargo_bin_cmd!("knockout").current_dir(folder).args(args).envs(variables).output().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Ran {
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{}", self.stderr);
        self
    }

    pub(crate) fn json(self) -> serde_json::Value {
        let value: serde_json::Value = serde_json::from_str(&self.ok().stdout).unwrap();
        assert!(value["schema"].is_number());
        value
    }

    /// The command failed with this code, one line on standard error that holds all the words, and no panic.
    pub(crate) fn fails(self, code: i32, words: &[&str]) -> Self {
        assert_eq!(self.code, code, "{}", self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} is not in {:?}", self.stderr);
        }
        self
    }
}

/// All files below a folder with their content, by relative path.
pub(crate) fn content(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    fn walk(root: &Path, dir: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(root, &path, found);
            } else {
                found.push((path.strip_prefix(root).unwrap().to_owned(), std::fs::read(&path).unwrap()));
            }
        }
    }
    let mut found = Vec::new();
    walk(dir, dir, &mut found);
    found.sort();
    found
}
