//! Puts the commit into `--version`; a build outside a checkout says so.
use std::path::Path;
use std::process::Command;

fn main() {
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "no commit".to_owned());
    println!("cargo:rustc-env=KNOCKOUT_COMMIT={commit}");
    // HEAD's log grows with every commit and checkout, and lies elsewhere in a worktree. A file that is not there would count as changed in
    // every build, so a source archive watches this script alone.
    let watched = git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|log| Path::new(log).exists());
    println!("cargo:rerun-if-changed={}", watched.as_deref().unwrap_or("build.rs"));
}

/// What `git` prints, or nothing where there is no checkout or no git.
fn git(arguments: &[&str]) -> Option<String> {
    let out = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(out.stdout).ok().filter(|_| out.status.success())?;
    Some(text.trim().to_owned())
}
