//! Third stage: the sums of one file become findings.

mod bound;
mod collectives;
mod critical;
mod device;
mod file;
mod heaviest;
mod lanes;
mod modules;
mod operations;
mod picture;
mod steps;
mod warnings;
