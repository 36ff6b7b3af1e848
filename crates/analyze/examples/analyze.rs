//! Prints the findings of the given traces (one per rank) as JSON: `analyze [-tTHREADS] FILE…`.

#![allow(clippy::print_stdout, reason = "a program")]

use knockout_analyze::{Analysis, Collector, Options, Rules};
use knockout_trace::{ReadOptions, read};
use std::num::NonZeroUsize;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut threads = NonZeroUsize::MIN;
    let mut ranks = Vec::new();
    let rules = Rules::default_rules()?;
    for argument in std::env::args().skip(1) {
        if let Some(number) = argument.strip_prefix("-t") {
            threads = number.parse()?;
            continue;
        }
        let options = Options { threads: threads.get(), ..Options::default() };
        let mut collector = Collector::new(&rules, &options);
        let reading = ReadOptions { threads, ..ReadOptions::default() };
        let outcome = read(std::fs::File::open(&argument)?, reading, &mut collector)?;
        ranks.push(collector.finish(&argument, &outcome)?);
    }
    println!("{}", serde_json::to_string(&Analysis::of(ranks))?);
    Ok(())
}
