//! `knockout`: arguments become calls into the libraries; results become text or JSON; errors become exit codes.
//!
//! Nothing is computed here. A new command is a module in `command/`, an arm in `command::Command` and nothing else. The program
//! (`main.rs`) and the `knockout` of the Python package both call [`run`].

mod args;
#[cfg(feature = "lab")]
mod choice;
mod command;
#[cfg(all(test, feature = "lab"))]
mod documented;
mod exit;
mod failure;
mod hints;
#[cfg(feature = "lab")]
mod interrupt;
pub mod limits;
mod output;
#[cfg(feature = "lab")]
mod presets;
#[cfg(feature = "lab")]
mod ranks;
mod ui;

use clap::Parser as _;
use knockout_trace::Clock as _;
use std::ffi::OsString;

/// Commit that the program was built from, or `no commit` outside of a checkout.
pub const COMMIT: &str = env!("KNOCKOUT_COMMIT");

/// Runs the program with the arguments after its name, and returns its exit code. To be called once in a process: it takes over the
/// worker threads, the log and, for long commands, the signals.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    args::remember(arguments);
    let words = [OsString::from("knockout")].into_iter().chain(args::all().iter().cloned());
    let cli = match command::Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(mut error) => {
            hints::without_wrong_ones(&mut error);
            // clap prints help and version to stdout with code 0, usage errors to stderr with code 2.
            let code = if error.use_stderr() { exit::REQUEST } else { exit::OK };
            return match error.print() {
                Ok(()) => {
                    ui::hint(hints::of(&error));
                    code
                }
                Err(_) => exit::FAILED,
            };
        }
    };
    let ui = ui::Ui::new(&cli.global);
    let clock = knockout_trace::SystemClock::new();
    let run = || ui.set_up_threads(cli.global.threads).and_then(|()| command::run(cli.command, &ui));
    let outcome = failure::with_panics_as_errors(run);
    // Without its threads, reading their number would start them again.
    if outcome.is_ok() {
        ui.detail(&format!(
            "took {:.2} s of wall and {:.2} s of CPU time on {} threads; knockout {}",
            clock.now_nanos() as f64 / 1e9,
            clock.cpu_nanos() as f64 / 1e9,
            rayon::current_num_threads(),
            args::VERSION
        ));
    }
    let code = match outcome {
        Ok(()) => exit::OK,
        Err(failure) => {
            let code = failure.code();
            if code != exit::OK {
                ui.fail(&failure);
            }
            code
        }
    };
    ui.leave();
    code
}
