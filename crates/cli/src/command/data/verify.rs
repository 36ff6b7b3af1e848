//! `knockout data verify`: everything the format promises.

use crate::exit;
use crate::failure::{Failure, Result};
use crate::ui::Ui;
use clap::Args;
use knockout_data::screen::{DatasetFinding, verify};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Check a dataset: checksums, index bounds, duplicates, everything the format promises
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout data verify yeast
  knockout data verify yeast --json | jq .ok")]
pub(crate) struct VerifyArgs {
    /// The dataset folder
    dir: PathBuf,
}

#[derive(Serialize)]
struct Verified<'a> {
    schema: u32,
    path: &'a Path,
    ok: bool,
    findings: Vec<VerifyRow>,
}

#[derive(Serialize)]
struct VerifyRow {
    fault: bool,
    text: String,
}

pub(crate) fn run(args: &VerifyArgs, ui: &Ui) -> Result<()> {
    let findings = verify(&args.dir)?;
    let rows: Vec<VerifyRow> = findings
        .iter()
        .map(|finding| VerifyRow { fault: finding.is_fault(), text: finding.to_string() })
        .collect();
    let faults = rows.iter().filter(|row| row.fault).count();
    let verified = Verified { schema: 1, path: &args.dir, ok: faults == 0, findings: rows };
    let text = || {
        let mut page = String::new();
        for row in &verified.findings {
            page.push_str(if row.fault { "FAULT   " } else { "remark  " });
            page.push_str(&row.text);
            page.push('\n');
        }
        if faults == 0 {
            let unlisted =
                findings.iter().filter(|finding| matches!(finding, DatasetFinding::Unlisted(_))).count();
            let beside = match unlisted {
                0 => String::new(),
                1 => "; 1 entry is not part of it and was not checked".to_owned(),
                _ => format!("; {unlisted} entries are not part of it and were not checked"),
            };
            writeln!(page, "{} is sound{beside}", args.dir.display()).ok();
        }
        page
    };
    ui.result(text, &verified)?;
    if faults > 0 {
        let message = format!(
            "{} has {faults} fault{}; rebuild it or restore the files named above",
            args.dir.display(),
            if faults == 1 { "" } else { "s" }
        );
        return Err(Failure::verdict(exit::DATA, message));
    }
    Ok(())
}
