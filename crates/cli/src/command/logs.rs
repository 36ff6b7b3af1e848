//! `knockout logs`: rates out of the progress bars of a training log. Always compiled in: it needs no model code.

use crate::failure::{FailureContext as _, Result, request_error};
use crate::ui::Ui;
use clap::Args;
use knockout_analyze::logs::{Log, LogReader, Logs};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Read iterations per second from Lightning and tqdm logs, separately for each bar
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:
  knockout logs run.log
  knockout logs before.log after.log --json
  python train.py 2>&1 | tee run.log; knockout logs run.log

Rates come from the counts and the clock of each bar, not from the figure it prints. After the
bars comes what an average over the printed figures would have contained.")]
pub(crate) struct LogsArgs {
    /// Logs of training runs; - is standard input
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<PathBuf>,
    /// MiB that are read of each log; a longer one is refused
    #[arg(long, value_name = "N", default_value_t = 16_384)]
    read_mib: u64,
}

pub(crate) fn run(args: &LogsArgs, ui: &Ui) -> Result<()> {
    let logs: Vec<Log> = args.logs.iter().map(|path| read(path, args.read_mib)).collect::<Result<_>>()?;
    let logs = Logs::of(logs);
    ui.result(|| knockout_report::logs_text(&logs), &logs)
}

fn read(path: &Path, limit_mib: u64) -> Result<Log> {
    let mut source = open(path)?;
    let mut reader = LogReader::default();
    let mut piece = vec![0; 1 << 16];
    let mut bytes = 0;
    while !reader.is_hopeless() {
        match source.read(&mut piece) {
            Ok(0) => break,
            Ok(len) => {
                bytes += len as u64;
                if bytes > limit_mib.saturating_mul(1 << 20) {
                    let name = path.display();
                    return Err(request_error(format!(
                        "{name} has more than {limit_mib} MiB; if it is a log, raise the limit with --read-mib"
                    )));
                }
                reader.feed(piece.get(..len).unwrap_or_default());
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error).with_context(|| format!("could not read {}", path.display())),
        }
    }
    let name = path.display().to_string();
    reader.finish(&name).with_context(|| format!("no rates in {name}"))
}

fn open(path: &Path) -> Result<Box<dyn Read>> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin()));
    }
    if path.is_dir() {
        return Err(request_error(format!("{} is a folder; name the logs in it", path.display())));
    }
    match File::open(path) {
        Ok(file) => Ok(Box::new(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(request_error(format!("{} does not exist", path.display())))
        }
        Err(error) => Err(error).with_context(|| format!("could not open {}", path.display())),
    }
}
