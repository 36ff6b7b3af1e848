//! `knockout experiment --ranks 1,2,4`: the same experiment on several numbers of ranks.
//!
//! How many ranks there are is decided when they are started, so every round on every number of ranks is a launch of its own: this program
//! starts itself, once for each number in every round, and makes one report of what the launches wrote. What is started is the command as it
//! was typed, with a few options more; nothing goes through the environment, which launchers do not all pass on. Without `--launcher`, what
//! is started is the first rank of a round, which starts the others.

use super::{Finished, prepare, take_rounds, write, write_profiles};
use crate::args;
use crate::command::experiment::ExperimentArgs;
use crate::command::train::on_threads;
use crate::exit;
use crate::failure::{Failure, FailureContext as _, Result, Unexpected as _, request_error};
use crate::interrupt::Interrupt;
use crate::ranks::RanksArg;
use crate::ui::{Ui, Unit};
use knockout_analyze::profile::RunProfile;
use knockout_analyze::profile::experiment::{Crowd, ExperimentPlan};
use knockout_base::files::{NewFolder, create_folder, replace};
use knockout_bench::measure::{ExperimentOutcome, Stopwatch, WorldRound, assembled, has_no_time_for_another};
use knockout_ranks::ProcessRank;
use knockout_train::config::Config;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

/// Folder of the launches' results, inside of the experiment's while it is measured.
const ROUNDS: &str = "rounds";
/// File that a launch writes.
const ROUND_FILE: &str = "round.json";
/// How Open MPI would otherwise bind ranks with several threads to one core each, and refuse more ranks than cores. Other launchers do
/// neither, and do not know these variables.
const OPEN_MPI: [(&str, &str); 2] =
    [("OMPI_MCA_hwloc_base_binding_policy", "none"), ("OMPI_MCA_rmaps_base_oversubscribe", "1")];

/// A configuration that as many ranks can share: on all of them batches are cut into the same shards, so that all compute the same.
pub(super) fn with_shards(config: Config, ranks: &[u64]) -> Result<Config> {
    let most = ranks.iter().copied().max().unwrap_or(1);
    if config.train.shards as u64 >= most {
        return Ok(config);
    }
    Ok(config.with(&[format!("train.shards={most}")])?)
}

/// Threads of every rank: as many as all ranks of the largest number have on one machine, so that numbers of ranks differ in nothing else.
fn threads(args: &ExperimentArgs, ui: &Ui) -> usize {
    let most = args.ranks.iter().copied().max().unwrap_or(1) as usize;
    match ui.threads() {
        0 => (cores(args) / most).max(1),
        asked => asked,
    }
}

/// Cores that ranks on this machine share: a launcher may bind this process to one of them.
fn cores(args: &ExperimentArgs) -> usize {
    if args.launcher.is_some() { crate::ranks::cores() } else { crate::ranks::available() }
}

/// Measures the numbers of ranks alternately and writes the folder.
pub(super) fn measure(args: &ExperimentArgs, ui: &Ui) -> Result<Finished> {
    check(args)?;
    // What can be refused is refused before the first launch; the dataset is not kept.
    let request = prepare(args, None, ui)?.1;
    let folder = request.out.clone();
    let rounds_folder = folder.join(ROUNDS);
    let interrupt = Interrupt::install()?;
    let made = NewFolder::create(&folder)?;
    create_folder(&rounds_folder)?;
    let watch = Stopwatch::start();
    let launches = args.rounds * args.ranks.len() as u64;
    let bar = ui.progress("measuring", launches, Unit::Items);
    let is_late = || args.max_time.is_some_and(|limit| watch.elapsed() > limit);
    let wants_stop = || interrupt.is_asked() || is_late();
    let mut worlds: Vec<Vec<WorldRound>> = vec![Vec::new(); args.ranks.len()];
    'rounds: for round in 0..args.rounds {
        if args.max_time.is_some_and(|limit| has_no_time_for_another(limit, watch.elapsed(), round)) {
            break;
        }
        let mut turns: Vec<(&u64, &mut Vec<WorldRound>)> = args.ranks.iter().zip(&mut worlds).collect();
        // As with cells: what a launch leaves behind must not meet the same one in every round.
        if round % 2 == 1 {
            turns.reverse();
        }
        for (&ranks, rounds) in turns {
            let Some(measured) = launch(args, ranks, round, &rounds_folder, &wants_stop)? else {
                break 'rounds;
            };
            rounds.push(measured);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    // A round that was broken off does not count.
    let whole = worlds.iter().map(Vec::len).min().unwrap_or(0);
    for rounds in &mut worlds {
        rounds.truncate(whole);
    }
    if whole == 0 {
        let seconds = watch.elapsed().as_secs_f64();
        let message = format!(
            "not one round was finished in {seconds:.0} s; allow more time, or measure fewer models or modes"
        );
        let code = if interrupt.is_asked() { exit::INTERRUPTED } else { exit::REQUEST };
        return Err(Failure::verdict(code, message));
    }
    let plan = ExperimentPlan { measured: Some(watch.measured()), ..request.plan };
    let ExperimentOutcome { findings, profiles, .. } = assembled(plan, &worlds)?;
    for (name, _) in &profiles {
        let cell = folder.join(name);
        std::fs::create_dir(&cell).with_context(|| format!("could not make {}", cell.display()))?;
    }
    write_profiles(&folder, &profiles)?;
    write(&folder, &findings, &[])?;
    std::fs::remove_dir_all(&rounds_folder)
        .with_context(|| format!("could not remove {}", rounds_folder.display()))?;
    made.keep();
    ui.note(&format!("wrote {}; open report.html in a browser", folder.display()));
    Ok(Finished { experiment: findings, folder, is_interrupted: interrupt.is_asked() })
}

/// Refuses what no launch could do.
fn check(args: &ExperimentArgs) -> Result<()> {
    if let Some(launch) = knockout_ranks::launched() {
        return Err(crate::ranks::launched_twice(launch));
    }
    if !cfg!(feature = "mpi") && args.launcher.is_some() {
        return Err(request_error(
            "this knockout was built without MPI, which --launcher needs: leave it out for ranks on this machine, or build with `cargo \
             build --release --features mpi`",
        ));
    }
    if args.launcher.is_none() {
        args.ranks.iter().try_for_each(|&ranks| ProcessRank::check(ranks as usize))?;
    }
    let mut seen = BTreeSet::new();
    match args.ranks.iter().find(|ranks| !seen.insert(**ranks)) {
        Some(twice) => Err(request_error(format!("--ranks names {twice} twice"))),
        None => Ok(()),
    }
}

/// Starts ranks for one round and reads what they measured; `None` if a stop was requested meanwhile.
fn launch(
    args: &ExperimentArgs,
    ranks: u64,
    round: u64,
    folder: &Path,
    wants_stop: &dyn Fn() -> bool,
) -> Result<Option<WorldRound>> {
    let out = folder.join(format!("{}-on-{ranks}", round + 1));
    let words =
        of_one_round(args::all().iter().cloned(), round, &out, args.launcher.is_none().then_some(ranks));
    let mut command =
        args::command_of_this_program(words).unexpected("could not find out where this program is")?;
    let mut by = "this program";
    if let Some(typed) = &args.launcher {
        by = typed;
        command = of_launcher(typed, ranks, &command)?;
    } else {
        // The process ends with this one, which holds the other end.
        command.stdin(Stdio::piped());
    }
    let log = folder.join(format!("{}-on-{ranks}.log", round + 1));
    let stderr = File::create(&log).with_context(|| format!("could not write {}", log.display()))?;
    let started = command.stdout(Stdio::null()).stderr(stderr).spawn();
    let mut process = started.map_err(|error| match &args.launcher {
        None => request_error(format!("could not start {ranks} rank(s): {error}")),
        Some(launcher) => request_error(format!(
            "could not start {launcher:?}: {error}; install the MPI that this program was built with, or name its launcher with --launcher"
        )),
    })?;
    let status = loop {
        if let Some(status) = process.try_wait().unexpected("could not wait for the ranks")? {
            break status;
        }
        if wants_stop() {
            process.kill().ok();
            process.wait().ok();
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    if wants_stop() {
        return Ok(None);
    }
    if !status.success() {
        let stderr = std::fs::read(&log).unwrap_or_default();
        return Err(failure(by, ranks, round, status, &stderr));
    }
    let path = out.join(ROUND_FILE);
    let bytes = std::fs::read(&path).with_context(|| format!("could not read {}", path.display()))?;
    read_round(&path.display().to_string(), ranks, &bytes).map(Some)
}

/// Returns a command that starts ranks of another one with the launcher that was typed.
fn of_launcher(typed: &str, ranks: u64, program: &Command) -> Result<Command> {
    let mut words = typed.split_whitespace();
    let launcher = words.next().ok_or_else(|| request_error("--launcher names no program"))?;
    let mut command = Command::new(launcher);
    command.args(words).arg("-n").arg(ranks.to_string()).arg(program.get_program()).args(program.get_args());
    let own = OPEN_MPI.into_iter().filter(|(name, _)| std::env::var_os(name).is_none());
    command.envs(own).stdin(Stdio::null());
    Ok(command)
}

/// The command as it was typed, as a part of it: behind the command's name options more.
fn of_one_round(
    typed: impl Iterator<Item = OsString>,
    round: u64,
    out: &Path,
    ranks: Option<u64>,
) -> Vec<OsString> {
    let mut command = Vec::new();
    let mut is_said = false;
    for word in typed {
        let is_command = !is_said && word == "experiment";
        command.push(word);
        if is_command {
            is_said = true;
            command.extend(["--round".into(), round.to_string().into(), "--round-out".into(), out.into()]);
            let ranks = ranks.map(|ranks| ["--round-ranks".into(), ranks.to_string().into()]);
            command.extend(ranks.into_iter().flatten());
        }
    }
    command
}

/// Returns the failure of a launch, with the exit code and the messages of its ranks.
fn failure(by: &str, ranks: u64, round: u64, status: ExitStatus, stderr: &[u8]) -> Failure {
    let stderr = String::from_utf8_lossy(stderr);
    let lines = || stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let own: Vec<&str> = lines().filter_map(|line| line.strip_prefix("knockout: ")).collect();
    let words = match own.first() {
        Some(first) => (*first).to_owned(),
        None => lines().collect::<Vec<_>>().join(" "),
    };
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    let code = code.filter(|code| (exit::FAILED..=exit::INTERRUPTED).contains(code)).unwrap_or(exit::FAILED);
    Failure::verdict(code, words)
        .context(format!("round {} on {ranks} rank(s), started by {by:?}", round + 1))
}

/// Measures one round, as one of the ranks of a launch.
pub(super) fn measure_round(args: &ExperimentArgs, round: u64, out: &Path, ui: &Ui) -> Result<()> {
    if args.round_ranks.is_some() {
        knockout_ranks::end_with_parent();
    }
    let ranks = crate::ranks::join(RanksArg::of(args.round_ranks), ui)?;
    let (mut subject, request) = prepare(args, Some((round, out)), ui)?;
    subject = subject.on_ranks(&ranks);
    let threads = threads(args, ui);
    let interrupt = Interrupt::install_on(&ranks)?;
    let outcome = on_threads(threads, || take_rounds(&request, &mut subject, &interrupt, ui))?;
    if !ranks.is_first() {
        return Ok(());
    }
    let cells = outcome.profiles.iter().map(|(folder, profile)| {
        let profile = serde_json::to_value(knockout_report::run_json(profile));
        profile.map(|profile| json!({ "folder": folder, "profile": profile }))
    });
    let cells = cells.collect::<Result<Vec<Value>, _>>().unexpected("could not write a round as JSON")?;
    let document = json!({
        "threads": threads * ranks.on_this_host(),
        "cores": cores(args),
        "cells": cells,
    });
    let path = out.join(ROUND_FILE);
    replace(&path, |file| file.write_all(document.to_string().as_bytes()))
        .with_context(|| format!("could not write {}", path.display()))?;
    outcome.folder.into_iter().for_each(NewFolder::keep);
    Ok(())
}

/// Reads the output of a launch.
fn read_round(name: &str, ranks: u64, bytes: &[u8]) -> Result<WorldRound> {
    let damaged =
        || Failure::verdict(exit::DATA, format!("{name} is not what a launch of this program writes"));
    let document: Value = serde_json::from_slice(bytes).ok().ok_or_else(damaged)?;
    let number = |key: &str| document[key].as_u64().ok_or_else(damaged);
    let (threads, cores) = (number("threads")?, number("cores")?);
    let cells = document["cells"].as_array().ok_or_else(damaged)?.iter().map(|cell| {
        let folder = cell["folder"].as_str().ok_or_else(damaged)?;
        let profile = RunProfile::from_json(name, cell["profile"].to_string().as_bytes())?;
        if profile.conditions.world != ranks {
            return Err(request_error(format!(
                "the launcher started {} rank(s) instead of {ranks}; see --launcher",
                profile.conditions.world
            )));
        }
        Ok((folder.to_owned(), profile))
    });
    let crowd = (threads > cores).then_some(Crowd { world: ranks, threads, cores });
    Ok(WorldRound { cells: cells.collect::<Result<_>>()?, crowd })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt as _;

    #[test]
    fn a_launch_is_the_command_as_it_was_typed_with_its_round() {
        let typed = ["-q", "experiment", "--ranks", "1,2", "experiment", "--", "batch=8"].map(OsString::from);
        let command = of_one_round(typed.clone().into_iter(), 3, Path::new("out/rounds/4-on-2"), None);
        let expected =
            "-q experiment --round 3 --round-out out/rounds/4-on-2 --ranks 1,2 experiment -- batch=8";
        assert_eq!(command.join(" ".as_ref()), OsString::from(expected));
        let command = of_one_round(typed.into_iter(), 3, Path::new("out"), Some(2));
        let expected =
            "-q experiment --round 3 --round-out out --round-ranks 2 --ranks 1,2 experiment -- batch=8";
        assert_eq!(command.join(" ".as_ref()), OsString::from(expected));
    }

    #[test]
    fn a_launch_that_fails_says_why_and_keeps_its_code() {
        let ended = |code: i32, stderr: &str| {
            let failure = failure("mpirun", 4, 1, ExitStatus::from_raw(code << 8), stderr.as_bytes());
            (failure.code(), failure.to_string())
        };
        let (code, message) = ended(3, "note\nknockout: rank 2 of 4 on a: damaged\nmpirun noticed\n");
        assert_eq!(code, exit::DATA);
        assert_eq!(message, "round 2 on 4 rank(s), started by \"mpirun\": rank 2 of 4 on a: damaged");
        let (code, message) = ended(213, "There are not enough slots\n\nin the system\n");
        assert_eq!(code, exit::FAILED);
        assert!(message.ends_with("There are not enough slots in the system"), "{message}");
    }

    #[test]
    fn a_round_that_is_not_one_is_refused() {
        for bytes in [
            "",
            "[]",
            "{\"threads\":1,\"cores\":2}",
            "{\"threads\":1,\"cores\":2,\"cells\":[{\"folder\":\"a\"}]}",
        ] {
            let refused = read_round("round.json", 2, bytes.as_bytes()).unwrap_err();
            assert_eq!(refused.code(), exit::DATA, "{bytes}: {refused}");
        }
    }
}
