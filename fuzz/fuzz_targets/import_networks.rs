//! Network formats: the first byte chooses the parser, the rest is the file.
#![no_main]

use knockout_data::cell::{Entries, GeneTable};
use knockout_sources::import::names::Names;
use knockout_sources::import::networks::{Evidence, Orientation, biogrid, dango, edges, matrix, sgd, string, tflink};
use knockout_sources::import::source::Source;
use libfuzzer_sys::fuzz_target;
use std::collections::BTreeMap;

fuzz_target!(|data: &[u8]| {
    let Some((choice, bytes)) = data.split_first() else { return };
    let Ok(genes) = GeneTable::from_systematic(["YAL001C", "YAL002W", "YAL003W"]) else { return };
    let names = Names::new(&genes);
    let source = Source::bytes("fuzz", bytes);
    let none = BTreeMap::new();
    let found = match choice % 7 {
        0 => {
            let (thresholds, entries) = (&BTreeMap::new(), Entries::Two);
            let options = string::StringOptions { channels: &[], threshold: 0, thresholds, prefix: None, taxon: 4932, entries };
            string::read(&source, &names, &options)
        }
        1 => dango::read(&source, &Source::bytes("list", b"YAL001C\nYAL002W\n"), &names, None, Entries::One),
        2 => sgd::read(&source, &names, "n", Evidence::Physical, Entries::Two),
        3 => biogrid::read(&source, &names, "n", Evidence::Physical, 559_292, Entries::Two),
        4 => tflink::read(&source, &names, "n", tflink::EvidenceScale::All),
        5 => matrix::read(&source, &names, "n"),
        _ => {
            let heading = if choice & 8 == 0 { edges::Heading::Named } else { edges::Heading::Numbered };
            let options = edges::EdgeTableOptions {
                name: "n",
                source: None,
                target: None,
                weight: None,
                heading,
                separator: None,
                orientation: Orientation::Directed,
                filter: &none,
                strip: "",
                strip_end: "",
            };
            edges::read(&source, &names, &options)
        }
    };
    // What was read must also be a network.
    for list in found.into_iter().flat_map(|file| file.networks) {
        list.finish(genes.len()).expect("every edge was checked");
    }
});
