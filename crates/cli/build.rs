//! Puts the commit into `--version`; a build outside a checkout says so.
use std::process::Command;

fn main() {
    let commit = Command::new("git")
        .args(["rev-parse", "--short=12", "HEAD"])
        .output()
        .ok()
        .filter(|out| out.status.success())
        .and_then(|out| String::from_utf8(out.stdout).ok())
        .map_or_else(|| "no commit".to_owned(), |text| text.trim().to_owned());
    println!("cargo:rustc-env=KNOCKOUT_COMMIT={commit}");
    // HEAD's log grows with every commit and checkout; absent in a source archive, which is fine.
    println!("cargo:rerun-if-changed=../../.git/logs/HEAD");
}
