//! Records of the Python system's store, and its split files.
#![no_main]

use knockout_sources::import::lmdb::{parse_record, read_gene_set, read_split};
use knockout_sources::import::source::Source;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    parse_record(bytes).ok();
    let source = Source::bytes("index_seed_42.json", bytes);
    read_gene_set(&source).ok();
    read_split(&source, &vec![Some(0), None, Some(1), Some(0)], 2).ok();
});
