//! Runs, predictions and traces of a folder as a local web application.
//!
//! An [`Explorer`] has found what a folder contains, and a [`Server`] answers requests of this machine with pages about it.
//!
//! | module | content |
//! |---|---|
//! | `catalog` | the runs, datasets and traces below the folders that were named |
//! | `model` | an open run with its scorer; the few that are open at a time |
//! | `explorer` | both, and reports of traces that were shown |
//! | `view` | a page or table for each address |
//! | `server` | requests and answers: bounded, read-only, for this machine alone |
//!
//! No request changes a file, and an address never becomes a path. Names come from other people's files, so every text is escaped. The
//! crate never prints.

mod catalog;
mod explorer;
mod model;
mod query;
mod random;
mod server;
mod view;

pub use explorer::Explorer;
pub use server::Server;
