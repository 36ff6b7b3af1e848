//! Integration tests of the program: a file for each command, then files for what several commands share.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod alleles;
mod baseline;
mod compare;
mod config;
mod data_import;
mod data_precompute;
mod data_show;
mod data_synth;
mod evaluate;
mod experiment;
mod explain;
mod logs;
mod predict;
mod profile;
mod ranks;
mod resume;
mod runs;
mod trace_analyze;
mod trace_compare;
mod trace_convert;
mod train;

mod awkward_paths;
mod concurrency;
mod faults;
mod generated;
mod hostile_text;
mod kuzmin2018;
mod limits;
mod output_files;
mod snapshots;
mod support;
mod symbolic_links;
mod trust;
mod tutorial;
mod usage;
mod written_before;
