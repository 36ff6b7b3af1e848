//! The program: see the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(knockout::run(std::env::args_os().skip(1)))
}
