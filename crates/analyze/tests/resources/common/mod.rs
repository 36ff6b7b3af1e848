//! Where the shared traces are, and comparing figures with a tolerance.

#![allow(dead_code, clippy::unwrap_used, clippy::print_stdout, reason = "each test binary uses its part")]

use knockout_analyze::{Collector, FileFindings, Options, Rules};
use knockout_trace::{ReadOptions, read};
use serde_json::Value;
use std::fs::File;
use std::num::NonZeroUsize;
use std::path::Path;

/// Analyses a trace file; the findings bear its file name.
pub(crate) fn analyze(path: &Path, threads: usize) -> FileFindings {
    let file = File::open(path).unwrap();
    let options = Options { threads, ..Options::default() };
    let mut collector = Collector::new(&Rules::default_rules().unwrap(), &options);
    let reading = ReadOptions { threads: NonZeroUsize::new(threads).unwrap(), block_bytes: 1 << 18 };
    let outcome = read(file, reading, &mut collector).unwrap();
    collector.finish(path.file_name().unwrap().to_str().unwrap(), &outcome).unwrap()
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
