//! yeast-GEM YAML and SBML.
#![no_main]

use knockout_data::cell::GeneTable;
use knockout_sources::import::metabolism::{sbml, yaml};
use knockout_sources::import::names::Names;
use knockout_sources::import::source::Source;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(genes) = GeneTable::from_systematic(["YAL001C", "YAL002W"]) else { return };
    let source = Source::bytes("fuzz", bytes);
    yaml::read(&source, &Names::new(&genes), genes.len()).ok();
    sbml::read(&source, &Names::new(&genes), genes.len()).ok();
});
