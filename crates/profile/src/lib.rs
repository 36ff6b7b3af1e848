//! Traces become findings: where the time went, and what changed between two runs.
//!
//! Reads events through [`knockout_trace`]; knows nothing of files, terminals or renderings.
