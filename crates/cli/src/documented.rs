//! Every command line in the README, the documentation and the examples of `--help` is one that the program accepts.

use crate::command::Cli;
use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser as _};
use std::path::{Path, PathBuf};

/// A command line and where it stands.
struct Documented {
    location: String,
    words: Vec<String>,
    is_mention: bool,
}

/// The words of the part of `line` that is one call of the program: no comment or explanation, no pipe, no shell around it.
fn words_of(line: &str) -> Vec<String> {
    let start = line.find("knockout ").expect("a call");
    let ends = [";", ">", " | ", " && ", "   "];
    let call = ends.iter().fold(&line[start..], |call, end| call.split(end).next().unwrap_or(call));
    // The one shell variable that is used is a number.
    shlex::split(&call.replace("$seed", "0")).unwrap_or_else(|| panic!("unbalanced quotes in {line:?}"))
}

/// Blocks of `text` that are indented or fenced, with backslashes at line ends resolved, and calls mentioned in running text.
fn documented_in(location: &str, text: &str) -> Vec<Documented> {
    let mut found = Vec::new();
    let mut fenced = false;
    let joined = text.replace("\\\n", " ");
    for line in joined.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        let code = line.trim_start().trim_start_matches("- run: ").trim_start_matches("$ ");
        let is_call =
            ["knockout ", "KNOCKOUT_", "mpirun ", "srun "].iter().any(|start| code.starts_with(start))
                || code.contains("; do knockout ");
        if (fenced || line.starts_with("  ")) && is_call {
            found.push(Documented {
                location: location.to_owned(),
                words: words_of(code),
                is_mention: false,
            });
        } else if !fenced {
            let mentions = line.split('`').skip(1).step_by(2).filter(|code| code.starts_with("knockout "));
            found.extend(mentions.map(|code| Documented {
                location: location.to_owned(),
                words: words_of(code),
                is_mention: true,
            }));
        }
    }
    found
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn documents() -> Vec<Documented> {
    let folders = [root().join("docs"), root().join("docs/results")];
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("a folder"));
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect();
    paths.push(root().join("README.md"));
    paths.sort();
    paths
        .iter()
        .flat_map(|path| {
            documented_in(&path.display().to_string(), &std::fs::read_to_string(path).expect("text"))
        })
        .collect()
}

fn examples(command: &clap::Command) -> Vec<Documented> {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let location = format!("{} --help", command.get_name());
    let own = help
        .split_once("EXAMPLES:")
        .map(|(_, examples)| documented_in(&location, examples))
        .unwrap_or_default();
    own.into_iter().chain(command.get_subcommands().flat_map(examples)).collect()
}

/// In running text a command may be named without its arguments, and a value may be a placeholder in capitals.
fn is_accepted(documented: &Documented) -> Result<(), clap::Error> {
    let is_placeholder =
        |word: &String| word.chars().all(|c| c.is_ascii_uppercase() || c == '|') || word.contains('|');
    match Cli::try_parse_from(&documented.words) {
        Err(error) if documented.is_mention => match error.kind() {
            ErrorKind::MissingRequiredArgument | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                Ok(())
            }
            ErrorKind::InvalidValue | ErrorKind::UnknownArgument
                if documented.words.iter().any(is_placeholder) =>
            {
                Ok(())
            }
            _ => Err(error),
        },
        parsed => parsed.map(|_| ()),
    }
}

fn check(all: &[Documented], at_least: usize) {
    assert!(all.len() >= at_least, "only {} command lines were found", all.len());
    let wrong: Vec<String> = all
        .iter()
        .filter_map(|one| {
            is_accepted(one).err().map(|error| format!("{}: {}\n{error}", one.location, one.words.join(" ")))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_command_line_of_the_documentation_is_accepted() {
    check(&documents(), 80);
}

#[test]
fn every_example_of_the_help_is_accepted() {
    check(&examples(&Cli::command()), 50);
}
