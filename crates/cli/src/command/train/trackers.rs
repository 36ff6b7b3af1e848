//! Keys of experiment trackers, which only the Python package has: the command in Python that takes them.

use crate::failure::{Failure, request_error};
use std::path::Path;

/// The keys of the package's callback.
const KEYS: [&str; 7] =
    ["run.wandb", "run.mlflow", "run.project", "run.group", "run.tags", "run.log_every", "run.plot_every"];

/// Refuses keys of trackers; the message has the command that works.
pub(super) fn check(keys: &[String], dataset: &Path, model: &str, out: Option<&Path>) -> Result<(), Failure> {
    let name = |key: &str| key.split('=').next().unwrap_or(key).trim().to_owned();
    let Some(tracked) = keys.iter().map(|key| name(key)).find(|key| KEYS.contains(&&key[..])) else {
        return Ok(());
    };
    let text = |path: &Path| literal(&path.display().to_string());
    let mut settings: Vec<String> = Vec::new();
    for key in keys {
        let (name, value) = key.split_once('=').unwrap_or((key, ""));
        settings.push(format!("{}: {}", literal(name.trim()), literal(value.trim())));
    }
    let out = out.map_or_else(String::new, |out| format!(", out={}", text(out)));
    let call = format!(
        "import knockout; knockout.train({}, {}{out}, settings={{{}}})",
        text(dataset),
        literal(model),
        settings.join(", ")
    );
    Err(request_error(format!(
        "{tracked} is a key of the Python package, which logs while it trains (pip install \"knockout[trackers]\"): python -c {}",
        shell(&call)
    )))
}

/// A text in Python.
fn literal(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// A word of a shell.
fn shell(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
