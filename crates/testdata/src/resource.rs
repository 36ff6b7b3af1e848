//! Resources of tests that a checkout does not contain: files of others, a browser, and a profiler.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Something outside of the repository that a test needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// The full set of golden cases; a small one is in the repository.
    Golden,
    /// Public genome, network and screen files.
    Data,
    /// Traces recorded by other programs, with expected figures.
    Traces,
    /// The notes whose logs are quoted in the documentation.
    Seeds,
    /// Chromium.
    Browser,
    /// Linux's `perf`, where the kernel lets it sample.
    Perf,
}

impl Resource {
    /// The name that `KNOCKOUT_REQUIRE` and the tests' listing use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Golden => "golden",
            Self::Data => "data",
            Self::Traces => "traces",
            Self::Seeds => "seeds",
            Self::Browser => "browser",
            Self::Perf => "perf",
        }
    }

    /// The environment variable with its path.
    fn variable(self) -> &'static str {
        match self {
            Self::Golden => "KNOCKOUT_GOLDEN",
            Self::Data => "KNOCKOUT_DATA",
            Self::Traces => "KNOCKOUT_TRACES",
            Self::Seeds => "KNOCKOUT_SEEDS",
            Self::Browser => "CHROMIUM",
            Self::Perf => "PATH",
        }
    }

    /// Its path: the value of the variable, else the folder `../shared/<name>` beside the checkout or a program on the path.
    pub fn locate(self) -> Result<PathBuf, String> {
        let named = std::env::var_os(self.variable()).map(PathBuf::from);
        let (path, proof) = match self {
            Self::Browser => {
                (named.or_else(|| on_path(&["chromium", "chromium-browser", "google-chrome"])), "")
            }
            // Only by its name: the program looks for it on the path, too.
            Self::Perf => (on_path(&["perf"]).filter(|perf| can_sample(perf)), ""),
            _ => (named.or_else(|| Some(self.beside_checkout())), self.proof()),
        };
        match path {
            Some(path) if path.join(proof).exists() || path.is_file() => Ok(path),
            Some(path) => Err(format!("no {} in {} (set {})", self.name(), path.display(), self.variable())),
            None if self == Self::Perf => Err("no perf on the path that the kernel lets sample".to_owned()),
            None => Err(format!("no {} found (set {})", self.name(), self.variable())),
        }
    }

    /// Whether `KNOCKOUT_REQUIRE`, a comma-separated list of names or `all`, demands it.
    pub fn is_required(self) -> bool {
        let required = std::env::var("KNOCKOUT_REQUIRE").unwrap_or_default();
        required.split(',').any(|name| name == "all" || name == self.name())
    }

    fn beside_checkout(self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(self.name())
    }

    /// A file or folder without which the folder is not what it should be.
    fn proof(self) -> &'static str {
        match self {
            Self::Golden => "index.json",
            Self::Data => "STATS.tsv",
            Self::Traces => "expected",
            Self::Seeds | Self::Browser | Self::Perf => "",
        }
    }
}

/// Returns whether a recording works: containers and strict kernels forbid it.
fn can_sample(perf: &Path) -> bool {
    let mut record = Command::new(perf);
    record.args(["record", "--quiet", "--event", "cpu-clock", "--output", "/dev/null", "--", "true"]);
    record.stdout(Stdio::null()).stderr(Stdio::null());
    record.status().is_ok_and(|status| status.success())
}

/// Finds a program by one of its names.
fn on_path(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let files = std::env::split_paths(&path).flat_map(|dir| names.iter().map(move |name| dir.join(name)));
    files.into_iter().find(|file| file.is_file())
}
