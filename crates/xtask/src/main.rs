//! Tasks of developers. `figures` prints the figures of the code base. `attack` tries for some minutes to lose, overwrite or crash something: it kills the program at random instants
//! and at chosen system calls, lets system calls fail, limits memory, files and handles, damages every kind of file, and gives it folders of
//! strangers, hostile traces, hostile imports and degenerate settings.
//!
//! The attack depends on the program's command line, exit codes and files only.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for developers")]

mod disturb;
mod disturbed;
mod hostile;
mod import;
mod mutate;
mod program;
mod random;
mod received;
mod settings;
mod words;

use disturb::Disturbance;
use program::{Home, TestedProgram};
use random::Random;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use xtask::figures::CodeFigures;

const USAGE: &str = "cargo run -p xtask -- attack [--minutes N] [--seed S] [--program PATH] [--only kills|resumes|faults|limits|received|mutations|traces|imports|settings]
cargo run -p xtask -- figures [--json] [--repo DIR]
cargo run -p xtask -- words [--all] [--in PATH] [--tighten] [--root DIR]
  The attack needs a built program: `cargo build -p knockout` makes target/debug/knockout, the default of --program.
  The figures are those of this checkout, or of the workspace in DIR. The words are those of crates/xtask/words.toml.";

/// Result of one try; the error describes the finding.
type Verdict = Result<(), String>;

/// One kind of attack.
struct Attack {
    name: &'static str,
    /// Tries in a round: what is quick is tried more often.
    tries: u32,
    /// Makes one try of the round with this index, and returns what was tried.
    once: fn(&Home, &mut Random, u64) -> (String, Verdict),
}

const ATTACKS: [Attack; 9] = [
    Attack {
        name: "kills",
        tries: 2,
        once: |home, random, _| named(disturbed::once(Disturbance::Kill, home, random)),
    },
    Attack { name: "resumes", tries: 1, once: disturbed::resumed },
    Attack {
        name: "faults",
        tries: 2,
        once: |home, random, _| named(disturbed::once(Disturbance::Fault, home, random)),
    },
    Attack {
        name: "limits",
        tries: 2,
        once: |home, random, _| named(disturbed::once(Disturbance::Limit, home, random)),
    },
    Attack { name: "received", tries: 6, once: |home, random, _| named(received::once(home, random)) },
    Attack { name: "mutations", tries: 10, once: |home, random, _| named(mutate::once(home, random)) },
    Attack { name: "traces", tries: 1, once: |home, random, _| named(hostile::once(home, random)) },
    Attack { name: "imports", tries: 1, once: |home, random, _| named(import::once(home, random)) },
    Attack { name: "settings", tries: 1, once: |home, random, _| named(settings::once(home, random)) },
];

fn named((what, verdict): (&str, Verdict)) -> (String, Verdict) {
    (what.to_owned(), verdict)
}

struct TaskOptions {
    minutes: f64,
    seed: u64,
    program: PathBuf,
    only: Option<String>,
}

fn options(mut args: impl Iterator<Item = String>) -> Result<TaskOptions, String> {
    let built = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/debug/knockout");
    let mut options = TaskOptions { minutes: 2.0, seed: 1, program: PathBuf::from(built), only: None };
    while let Some(name) = args.next() {
        let value = args.next().ok_or_else(|| format!("{name} needs a value\n{USAGE}"))?;
        let number = |error: &dyn std::fmt::Display| format!("{name} {value}: {error}\n{USAGE}");
        match name.as_str() {
            "--minutes" => options.minutes = value.parse().map_err(|error| number(&error))?,
            "--seed" => options.seed = value.parse().map_err(|error| number(&error))?,
            "--program" => options.program = PathBuf::from(value),
            "--only" if ATTACKS.iter().any(|attack| attack.name == value) => options.only = Some(value),
            _ => return Err(format!("unknown option {name} {value}\n{USAGE}")),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let findings = match args.next().as_deref() {
        Some("attack") => options(args).and_then(|options| attack(&options)),
        Some("words") => words::run(args),
        Some("figures") => figures(args).map(|()| 0),
        _ => Err(USAGE.to_owned()),
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

/// Prints the figures of a workspace, as text or as JSON.
fn figures(mut args: impl Iterator<Item = String>) -> Result<(), String> {
    let mut repo = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut is_json = false;
    while let Some(name) = args.next() {
        match name.as_str() {
            "--json" => is_json = true,
            "--repo" => {
                repo =
                    args.next().map(PathBuf::from).ok_or_else(|| format!("--repo needs a value\n{USAGE}"))?;
            }
            _ => return Err(format!("unknown option {name}\n{USAGE}")),
        }
    }
    let figures = CodeFigures::read(&repo)?;
    if is_json {
        println!("{}", serde_json::to_string_pretty(&figures).map_err(|error| error.to_string())?);
    } else {
        print!("{figures}");
    }
    Ok(())
}

/// Alternates the attacks until the time is over and returns the number of findings.
fn attack(options: &TaskOptions) -> Result<usize, String> {
    let program = TestedProgram::new(&options.program)?;
    let home = Home::make(program)?;
    import::check_sound(&home)?;
    let attacks: Vec<&Attack> = ATTACKS
        .iter()
        .filter(|attack| options.only.as_ref().is_none_or(|only| *only == attack.name))
        .collect();
    let end = Instant::now() + Duration::from_secs_f64(60.0 * options.minutes);
    let mut counts: BTreeMap<(&str, String), (u64, u64)> = BTreeMap::new();
    let mut findings = 0;
    let mut round = 0;
    while Instant::now() < end {
        let tries = attacks.iter().flat_map(|attack| (0..attack.tries).map(move |place| (attack, place)));
        for (attack, place) in tries {
            // A try has a stream of its own, so that a finding can be made again from its seed.
            let seed = options.seed.wrapping_mul(1 << 40).wrapping_add(round * 64 + u64::from(place));
            let (what, verdict) = (attack.once)(&home, &mut Random::new(seed), round);
            if let Err(wrong) = &verdict {
                eprintln!("FINDING {} (round {round}): {what}: {wrong}", attack.name);
                findings += 1;
            }
            let count = counts.entry((attack.name, what)).or_default();
            count.0 += 1;
            count.1 += u64::from(verdict.is_err());
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
    println!("{findings} findings, seed {}", options.seed);
    Ok(findings)
}
