//! Gene lists, SGD features, aliases, content features and annotations.
#![no_main]

use knockout_data::cell::GeneTable;
use knockout_sources::import::annotations::{self, AnnotationFile, TermSizes, gaf, gmt, json};
use knockout_sources::import::features::{npy, table};
use knockout_sources::import::genes::{aliases, list, sgd};
use knockout_sources::import::names::Names;
use knockout_sources::import::source::Source;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let source = Source::bytes("fuzz", bytes);
    list::read(&source).ok();
    sgd::read(&source, &["ORF".to_owned()], &[]).ok();
    if let Ok(genes) = GeneTable::from_systematic(["YAL001C", "YAL002W"]) {
        aliases::read_string(&source, &mut Names::new(&genes)).ok();
        aliases::read_sgd(&source, &mut Names::new(&genes)).ok();
        let (names, listed) = (Names::new(&genes), Source::bytes("list", b"YAL001C\nYAL002W\n"));
        table::read(&source, &names, 2, None, &[], None).ok();
        npy::read(&source, &listed, &names, 2, "f").ok();
        let options = gaf::GafOptions { aspect: &[], evidence: &[], without: None };
        let read = [
            annotations::table::read(&source, &names, None, None, None),
            gmt::read(&source, &names),
            json::read(&source, &names),
            gaf::read(&source, &names, &options),
        ];
        // What was read is a set of annotations, or there is nothing in it.
        for file in read.into_iter().flatten() {
            let is_empty = file.pair_count() == 0;
            let found = AnnotationFile::finish(file, "n", genes.len(), TermSizes { least: 1, most: None });
            assert_eq!(found.is_err(), is_empty);
        }
    }
});
