//! Third stage: the sums of one file become findings.

mod critical;
mod device;
mod file;
mod lanes;
mod operations;
mod picture;
mod steps;
mod warnings;
