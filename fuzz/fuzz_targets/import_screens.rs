//! Screen formats: the first byte chooses the parser, the rest is the file.
#![no_main]

use knockout_data::cell::GeneTable;
use knockout_sources::import::names::Names;
use knockout_sources::import::screens::{Alleles, RowChoice, MeasurementCollector, Duplicates, ScreenSink, emap, matrix, sga, table};
use knockout_sources::import::source::Source;
use libfuzzer_sys::fuzz_target;
use std::collections::BTreeMap;

fuzz_target!(|data: &[u8]| {
    let Some((choice, bytes)) = data.split_first() else { return };
    let Ok(genes) = GeneTable::from_systematic(["YAL001C", "YAL002W", "YAL003W", "YDL227C"]) else { return };
    let names = Names::new(&genes);
    let source = Source::bytes("fuzz", bytes);
    let mut collector = MeasurementCollector::new(Duplicates::Mean);
    let all = RowChoice { source: "fuzz", alleles: Alleles::Apart, orders: &[] };
    let sink = ScreenSink::new(&names, &genes, all, &mut collector);
    let read = match choice % 5 {
        0 => sga::read_kuzmin(&source, sink),
        1 => sga::read_costanzo(&source, sink),
        2 => emap::read(&source, sink),
        3 => {
            let options = matrix::MatrixOptions { shape: None, kind: Some("deletion"), separator: None, decimal: None };
            matrix::read(&source, sink, &options)
        }
        _ => {
            let columns = ["a".to_owned(), "b".to_owned()];
            let options = table::ScoreTableOptions {
                genes: &columns,
                query: 1,
                score: "score",
                standard_error: None,
                p_value: None,
                fitness: None,
                fitness_sd: None,
                kind_column: None,
                alleles: &[],
                kind: Some("deletion"),
                separator: None,
                decimal: None,
                filter: &BTreeMap::new(),
            };
            table::read(&source, sink, &options)
        }
    };
    if read.is_ok() {
        collector.finish(genes.len()).expect("every row was checked");
    }
});
