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
mod shapes;
mod steps;
mod warnings;

pub(crate) use collectives::table as collective_table;
