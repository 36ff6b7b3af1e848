//! Suggestions for arguments that were not understood: options of other programs, commands of a group without its name.

use crate::command::Cli;
use clap::CommandFactory as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Returns what to write instead, where that is known.
pub(crate) fn of(error: &clap::Error) -> Option<String> {
    of_unknown_option(error).or_else(|| of_unknown_command(error))
}

/// Removes the suggestion of clap to write unknown options behind `--`: none of them is a value.
pub(crate) fn without_wrong_ones(error: &mut clap::Error) {
    if error.kind() == ErrorKind::UnknownArgument {
        error.remove(ContextKind::Suggested);
    }
}

/// Hint for an unknown command: the group that has one of that name, or how to analyse the trace that it is.
fn of_unknown_command(error: &clap::Error) -> Option<String> {
    let (ErrorKind::InvalidSubcommand, Some(ContextValue::String(word))) =
        (error.kind(), error.get(ContextKind::InvalidSubcommand))
    else {
        return None;
    };
    let root = Cli::command();
    let group = root.get_subcommands().find(|group| group.find_subcommand(word).is_some());
    let instead = match group {
        Some(group) => format!("{} {word}", group.get_name()),
        None if word.contains(".json") => format!("trace analyze {word}"),
        None => return None,
    };
    Some(format!("\n  tip: knockout {instead}"))
}

/// For an option that is not ours but means one of our settings: how to write it.
#[cfg(feature = "lab")]
fn of_unknown_option(error: &clap::Error) -> Option<String> {
    let (ErrorKind::UnknownArgument, Some(ContextValue::String(option))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
    else {
        return None;
    };
    let name = option.trim_start_matches('-').split('=').next()?;
    let key = knockout_train::config::synonym(name)?;
    Some(format!("\n  tip: settings are written key=value, without dashes: {key}=VALUE"))
}

/// Without training there are no settings.
#[cfg(not(feature = "lab"))]
fn of_unknown_option(_: &clap::Error) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    #[test]
    fn a_command_without_its_group_is_found() {
        let hint = |args: &[&str]| of(&Cli::try_parse_from(args).unwrap_err());
        assert!(hint(&["knockout", "analyze", "x"]).unwrap().contains("knockout trace analyze"));
        let trace = hint(&["knockout", "trace", "run/trace.json.gz"]);
        assert!(trace.unwrap().contains("knockout trace analyze run/trace.json.gz"));
        assert_eq!(hint(&["knockout", "levitate"]), None);
        #[cfg(feature = "lab")]
        assert!(hint(&["knockout", "show", "yeast"]).unwrap().contains("knockout data show"));
    }

    #[cfg(feature = "lab")]
    #[test]
    fn habits_from_other_programs_are_translated() {
        let hint = |args: &[&str]| of(&Cli::try_parse_from(args).unwrap_err());
        let base = ["knockout", "train", "yeast", "--model", "dango"];
        let hint_for = |option: &str| hint(&[&base[..], &[option]].concat());
        assert!(hint_for("--lr").unwrap().contains("optimiser.learning_rate=VALUE"));
        assert!(hint_for("--num-workers=4").unwrap().contains("loader.threads=VALUE"));
        assert_eq!(hint_for("--telepathy"), None);
        let mut error = Cli::try_parse_from([&base[..], &["--lr", "0.1"]].concat()).unwrap_err();
        without_wrong_ones(&mut error);
        assert!(!error.to_string().contains("-- --lr"), "{error}");
        assert_eq!(hint(&["knockout", "train", "yeast", "--seed", "x"]), None);
    }
}
