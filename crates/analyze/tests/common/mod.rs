//! Where the shared traces are, and comparing figures with a tolerance.

#![allow(dead_code, clippy::unwrap_used, clippy::print_stdout, reason = "each test binary uses its part")]

use knockout_analyze::{Collector, FileFindings, Options, Rules};
use knockout_trace::{ReadOptions, read};
use serde_json::Value;
use std::fs::File;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// The folder with the shared traces; prints that tests were skipped when there is none.
pub(crate) fn traces() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let folder = std::env::var_os("KNOCKOUT_TRACES").map_or(beside, PathBuf::from);
    if folder.join("expected").is_dir() {
        return Some(folder);
    }
    println!("SKIPPED: no traces in {} (set KNOCKOUT_TRACES to their folder)", folder.display());
    None
}

/// Analyses one of the shared traces.
pub(crate) fn analyze(name: &str, threads: usize) -> Option<FileFindings> {
    let file = File::open(traces()?.join(name)).unwrap();
    let options = Options { threads, ..Options::default() };
    let mut collector = Collector::new(&Rules::default_rules().unwrap(), &options);
    let reading = ReadOptions { threads: NonZeroUsize::new(threads).unwrap(), block_bytes: 1 << 18 };
    let outcome = read(file, reading, &mut collector).unwrap();
    Some(collector.finish(name, &outcome).unwrap())
}

/// Counts comparisons and collects differences, so that one run shows all of them.
#[derive(Default)]
pub(crate) struct Check {
    at: String,
    compared: usize,
    wrong: Vec<String>,
}

impl Check {
    pub(crate) fn enter(&mut self, name: &str) {
        name.clone_into(&mut self.at);
    }

    pub(crate) fn fail(&mut self, what: &str) {
        self.wrong.push(format!("{}: {what}", self.at));
    }

    /// Equal, or for numbers within 0.001 and one part in 10^9.
    pub(crate) fn same(&mut self, what: &str, expected: &Value, actual: &Value) {
        self.compared += 1;
        let close = match (expected.as_f64(), actual.as_f64()) {
            (Some(a), Some(b)) => (a - b).abs() <= 0.001_000_1_f64.max(a.abs() * 1e-9),
            _ => expected == actual,
        };
        if !close {
            self.fail(&format!("{what}: expected {expected}, got {actual}"));
        }
    }

    /// What differs so far.
    pub(crate) fn wrong(self) -> Vec<String> {
        self.wrong
    }

    /// Fails with everything that differs, or when too little was compared.
    pub(crate) fn done(&self, at_least: usize) {
        println!("{} figures compared", self.compared);
        assert!(
            self.wrong.is_empty(),
            "{} of {} figures differ:\n{}",
            self.wrong.len(),
            self.compared,
            self.wrong.join("\n")
        );
        assert!(self.compared >= at_least, "only {} figures compared", self.compared);
    }
}
