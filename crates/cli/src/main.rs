//! The program: see the library.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: knockout::limits::RecordingAllocator = knockout::limits::RecordingAllocator;

fn main() -> ExitCode {
    knockout::limits::install();
    ExitCode::from(knockout::run(std::env::args_os().skip(1)))
}
