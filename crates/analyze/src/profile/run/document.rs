//! Reads findings from the bytes of a document, and rejects other versions, kinds and damage.

use super::RUN_SCHEMA;
use super::profile::{PerStep, RunProfile};
use knockout_base::error::{Context as _, Error, Result};
use serde_json::Value;

const NOT_WHOLE: &str = "it is not a whole JSON document; was the run that wrote it interrupted?";
const IS_TRACE: &str =
    "it is a trace, not what `knockout profile` measured; compare traces with `knockout trace compare A B`";

impl RunProfile {
    /// Reads the document of `profile --json`; `name` only names it in messages.
    pub fn from_json(name: &str, bytes: &[u8]) -> Result<Self> {
        parse(bytes).in_file(name)
    }
}

fn parse(bytes: &[u8]) -> Result<RunProfile> {
    if looks_like_trace(bytes) {
        return Err(Error::damage(IS_TRACE));
    }
    let value: Value =
        serde_json::from_slice(bytes).map_err(|error| Error::damage(NOT_WHOLE).caused_by(error))?;
    let Some(object) = value.as_object() else {
        return Err(other_kind("not an object"));
    };
    if object.contains_key("traceEvents") {
        return Err(Error::damage(IS_TRACE));
    }
    match object.get("kind").and_then(Value::as_str) {
        Some("profile") => {}
        Some(other) => return Err(other_kind(&format!("its kind is {other:?}"))),
        None => return Err(other_kind("it has no kind")),
    }
    match object.get("schema") {
        Some(schema) if schema.as_u64() == Some(u64::from(RUN_SCHEMA)) => {}
        other => {
            let found = other.map_or_else(|| "missing".to_owned(), ToString::to_string);
            return Err(Error::damage(format!(
                "its schema is {found}, this program reads {RUN_SCHEMA}; measure again with this version"
            )));
        }
    }
    let mut profile: RunProfile = serde_json::from_value(value)
        .map_err(|error| Error::damage("it does not match its schema").caused_by(error))?;
    check(&profile)
        .map_err(|reason| Error::damage(format!("its figures contradict each other: {reason}")))?;
    profile.judge();
    Ok(profile)
}

fn other_kind(reason: &str) -> Error {
    Error::damage(format!("it is JSON, but not what `knockout profile --json` writes ({reason})"))
}

/// Whether the beginning is that of a trace: packed, as no document of ours is, or a list of events.
fn looks_like_trace(bytes: &[u8]) -> bool {
    const GZIP: [u8; 2] = [0x1f, 0x8b];
    let beginning = bytes.get(..bytes.len().min(64 << 10)).unwrap_or_default();
    let has = |key: &[u8]| beginning.windows(key.len()).any(|window| window == key);
    let is_list = beginning.trim_ascii_start().starts_with(b"[") && has(b"\"ph\"");
    bytes.starts_with(&GZIP) || is_list || has(b"\"traceEvents\"")
}

/// Checks that all columns have a value for each step, and that every step has samples and time.
fn check(profile: &RunProfile) -> Result<(), String> {
    let PerStep { samples, wall_nanos, cpu_nanos, phases, background, rss_bytes, pool_bytes, flop } =
        &profile.per_step;
    let steps = wall_nanos.len();
    if steps == 0 || steps as u64 != profile.steps {
        return Err(format!("{} steps, but times of {steps}", profile.steps));
    }
    let columns = || phases.iter().chain(background).chain(rss_bytes).chain(flop);
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
