//! Findings from the bytes of a document: of this version, whole, and of the right kind, or a clear refusal.

use super::RUN_SCHEMA;
use super::profile::{PerStep, RunProfile};
use knockout_base::error::{Class, Classified};
use serde_json::Value;

/// A document that is not the findings of a run.
#[derive(Debug, thiserror::Error)]
#[error("could not use {name}")]
pub struct RunDocumentError {
    name: String,
    #[source]
    kind: RunDocumentErrorKind,
}

/// What is wrong with it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunDocumentErrorKind {
    /// Not JSON.
    #[error("it is not a whole JSON document; was the run that wrote it interrupted?")]
    Syntax(#[source] serde_json::Error),
    /// JSON of something else.
    #[error("it is JSON, but not what `knockout profile --json` writes ({0})")]
    Kind(String),
    /// A trace.
    #[error(
        "it is a trace, not what `knockout profile` measured; compare traces with `knockout trace compare A B`"
    )]
    Trace,
    /// Another version.
    #[error("its schema is {found}, this program reads {RUN_SCHEMA}; measure again with this version")]
    Schema {
        /// What the document says.
        found: String,
    },
    /// A key is missing or wrong.
    #[error("it does not hold what its schema promises")]
    Content(#[source] serde_json::Error),
    /// Figures that contradict each other.
    #[error("its figures contradict each other: {0}")]
    Figures(String),
}

impl RunProfile {
    /// Reads the document of `profile --json`; `name` only names it in messages.
    pub fn from_json(name: &str, bytes: &[u8]) -> Result<Self, RunDocumentError> {
        parse(bytes).map_err(|kind| RunDocumentError { name: name.to_owned(), kind })
    }
}

fn parse(bytes: &[u8]) -> Result<RunProfile, RunDocumentErrorKind> {
    if looks_like_trace(bytes) {
        return Err(RunDocumentErrorKind::Trace);
    }
    let value: Value = serde_json::from_slice(bytes).map_err(RunDocumentErrorKind::Syntax)?;
    let Some(object) = value.as_object() else {
        return Err(RunDocumentErrorKind::Kind("no object".to_owned()));
    };
    if object.contains_key("traceEvents") {
        return Err(RunDocumentErrorKind::Trace);
    }
    match object.get("kind").and_then(Value::as_str) {
        Some("profile") => {}
        Some(other) => return Err(RunDocumentErrorKind::Kind(format!("its kind is {other:?}"))),
        None => return Err(RunDocumentErrorKind::Kind("it has no kind".to_owned())),
    }
    match object.get("schema") {
        Some(schema) if schema.as_u64() == Some(u64::from(RUN_SCHEMA)) => {}
        other => {
            let found = other.map_or_else(|| "missing".to_owned(), ToString::to_string);
            return Err(RunDocumentErrorKind::Schema { found });
        }
    }
    let mut profile: RunProfile = serde_json::from_value(value).map_err(RunDocumentErrorKind::Content)?;
    check(&profile).map_err(RunDocumentErrorKind::Figures)?;
    profile.judge();
    Ok(profile)
}

/// Whether the beginning is that of a trace: packed, as no document of ours is, or a list of events.
fn looks_like_trace(bytes: &[u8]) -> bool {
    const GZIP: [u8; 2] = [0x1f, 0x8b];
    let beginning = bytes.get(..bytes.len().min(64 << 10)).unwrap_or_default();
    let has = |key: &[u8]| beginning.windows(key.len()).any(|window| window == key);
    let is_list = beginning.trim_ascii_start().starts_with(b"[") && has(b"\"ph\"");
    bytes.starts_with(&GZIP) || is_list || has(b"\"traceEvents\"")
}

/// The columns are as long as the steps are many, and no step is of nothing.
fn check(profile: &RunProfile) -> Result<(), String> {
    let PerStep { samples, wall_nanos, cpu_nanos, phases, background, rss_bytes, pool_bytes } =
        &profile.per_step;
    let steps = wall_nanos.len();
    if steps == 0 || steps as u64 != profile.steps {
        return Err(format!("{} steps, but times of {steps}", profile.steps));
    }
    let columns = || phases.iter().chain(background).chain(rss_bytes);
    let uneven = columns().find(|(_, nanos)| nanos.len() != steps).map(|(name, _)| name.as_str());
    let uneven = uneven.or((samples.len() != steps).then_some("samples"));
    let uneven = uneven.or((!pool_bytes.is_empty() && pool_bytes.len() != steps).then_some("pool_bytes"));
    if let Some(name) = uneven.or((cpu_nanos.len() != steps).then_some("cpu_nanos")) {
        return Err(format!("{name} has another number of steps than wall_nanos"));
    }
    if samples.contains(&0) || wall_nanos.contains(&0) {
        return Err("a step without samples or time".to_owned());
    }
    Ok(())
}

impl Classified for RunDocumentError {
    fn class(&self) -> Class {
        Class::Damage
    }
}
