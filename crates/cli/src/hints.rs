//! What to write instead of an option that other programs have.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// For an option that is not ours but means one of our settings: how to write it.
pub(crate) fn of_unknown_option(error: &clap::Error) -> Option<String> {
    let (ErrorKind::UnknownArgument, Some(ContextValue::String(option))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
    else {
        return None;
    };
    let name = option.trim_start_matches('-').split('=').next()?;
    let key = knockout_train::config::synonym(name)?;
    Some(format!("\n  tip: settings are written key=value, without dashes: {key}=VALUE"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::Parser as _;

    #[test]
    fn habits_from_other_programs_are_translated() {
        let hint = |args: &[&str]| of_unknown_option(&Cli::try_parse_from(args).unwrap_err());
        let base = ["knockout", "train", "yeast", "--model", "dango"];
        let said = |option: &str| hint(&[&base[..], &[option]].concat());
        assert!(said("--lr").unwrap().contains("optimiser.learning_rate=VALUE"));
        assert!(said("--num-workers=4").unwrap().contains("loader.threads=VALUE"));
        assert_eq!(said("--telepathy"), None);
        assert_eq!(hint(&["knockout", "train", "yeast", "--seed", "x"]), None);
    }
}
