//! A library that is loaded before the system's and lets calls of the file system fail.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The library, in C. The variable `KNOCKOUT_FAULT` has a call, its errno and the number of the call: `fsync 5 3`.
const SOURCE: &str = include_str!("faults.c");

/// Compiles the library into a folder, with the C compiler that Rust links with, and returns its path for `LD_PRELOAD`.
pub fn compile(folder: &Path) -> Result<PathBuf, String> {
    let (source, library) = (folder.join("faults.c"), folder.join("faults.so"));
    fs::write(&source, SOURCE).map_err(|error| error.to_string())?;
    let compiled =
        Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).args([&library, &source]).output();
    let compiled = compiled.map_err(|error| format!("cc: {error}; install a C compiler"))?;
    if compiled.status.success() {
        Ok(library)
    } else {
        Err(format!("cc: {}", String::from_utf8_lossy(&compiled.stderr)))
    }
}
