//! Tasks of developers. `attack` tries for some minutes to lose, overwrite or crash something: it kills the program at random instants
//! and at chosen system calls, damages every kind of file, and gives it hostile traces, hostile imports and degenerate settings.
//!
//! It knows the program from outside only: its command line, its exit codes and its files.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for developers")]

mod hostile;
mod import;
mod kill;
mod mutate;
mod program;
mod random;
mod settings;
mod words;

use program::{Home, Program};
use random::Random;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const USAGE: &str = "cargo run -p xtask -- attack [--minutes N] [--seed S] [--program PATH] [--only kills|mutations|traces|imports|settings]
  Needs a built program: `cargo build -p knockout` makes target/debug/knockout, which is attacked unless --program names another.
cargo run -p xtask -- words [--all] [--tighten] [--root DIR]
  Lists phrases to replace in pages and sources, by crates/xtask/words.toml.";

/// What one try found: nothing, or what is wrong with it.
type Verdict = Result<(), String>;

/// One kind of attack.
struct Attack {
    name: &'static str,
    /// Tries in a round: what is quick is tried more often.
    tries: u32,
    once: fn(&Home, &mut Random) -> (&'static str, Verdict),
}

const ATTACKS: [Attack; 5] = [
    Attack { name: "kills", tries: 2, once: kill::once },
    Attack { name: "mutations", tries: 10, once: mutate::once },
    Attack { name: "traces", tries: 1, once: hostile::once },
    Attack { name: "imports", tries: 1, once: import::once },
    Attack { name: "settings", tries: 1, once: settings::once },
];

struct Options {
    minutes: f64,
    seed: u64,
    program: PathBuf,
    only: Option<String>,
}

fn options() -> Result<Options, String> {
    let mut args = std::env::args().skip(1);
    if args.next().as_deref() != Some("attack") {
        return Err(USAGE.to_owned());
    }
    let built = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/debug/knockout");
    let mut options = Options { minutes: 2.0, seed: 1, program: PathBuf::from(built), only: None };
    while let Some(name) = args.next() {
        let value = args.next().ok_or_else(|| format!("{name} needs a value\n{USAGE}"))?;
        let number = |error: &dyn std::fmt::Display| format!("{name} {value}: {error}\n{USAGE}");
        match name.as_str() {
            "--minutes" => options.minutes = value.parse().map_err(|error| number(&error))?,
            "--seed" => options.seed = value.parse().map_err(|error| number(&error))?,
            "--program" => options.program = PathBuf::from(value),
            "--only" if ATTACKS.iter().any(|attack| attack.name == value) => options.only = Some(value),
            _ => return Err(format!("{name} {value} is no option\n{USAGE}")),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let findings = match args.next().as_deref() {
        Some("words") => words::run(args),
        _ => options().and_then(|options| attack(&options)),
    };
    match findings {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

/// Attacks in turns until the time is over; gives the number of findings.
fn attack(options: &Options) -> Result<usize, String> {
    let program = Program::new(&options.program)?;
    let home = Home::make(program)?;
    import::check_sound(&home)?;
    let attacks: Vec<&Attack> = ATTACKS
        .iter()
        .filter(|attack| options.only.as_ref().is_none_or(|only| *only == attack.name))
        .collect();
    let end = Instant::now() + Duration::from_secs_f64(60.0 * options.minutes);
    let mut counts: BTreeMap<(&str, &str), (u64, u64)> = BTreeMap::new();
    let mut findings = Vec::new();
    let mut round = 0;
    while Instant::now() < end {
        let tries = attacks.iter().flat_map(|attack| (0..attack.tries).map(move |place| (attack, place)));
        for (attack, place) in tries {
            // A try has a stream of its own, so that a finding can be made again from its seed.
            let seed = options.seed.wrapping_mul(1 << 40).wrapping_add(round * 64 + u64::from(place));
            let (what, verdict) = (attack.once)(&home, &mut Random::new(seed));
            let count = counts.entry((attack.name, what)).or_default();
            count.0 += 1;
            if let Err(wrong) = verdict {
                count.1 += 1;
                eprintln!("FINDING {} (round {round}): {what}: {wrong}", attack.name);
                findings.push(wrong);
            }
        }
        round += 1;
    }
    println!("{:<10} {:<42} {:>7} {:>8}", "attack", "what", "tries", "findings");
    for ((attack, what), (tries, found)) in &counts {
        println!("{attack:<10} {what:<42} {tries:>7} {found:>8}");
    }
    for attack in &attacks {
        let tries: u64 =
            counts.iter().filter(|(key, _)| key.0 == attack.name).map(|(_, count)| count.0).sum();
        println!("{:<10} {:<42} {tries:>7}", attack.name, "all");
    }
    println!("{} findings, seed {}", findings.len(), options.seed);
    Ok(findings.len())
}
