//! Any bytes, and any lines that look nearly right, give a value or an error; nothing panics.

use crate::support::*;
use knockout_data::cell::Entries;
use knockout_sources::import::Recipe;
use knockout_sources::import::annotations::{self, gaf};
use knockout_sources::import::features;
use knockout_sources::import::genes::{list, sgd};
use knockout_sources::import::lmdb::parse_record;
use knockout_sources::import::metabolism::{sbml, yaml};
use knockout_sources::import::names::Names;
use knockout_sources::import::networks::dango;
use knockout_sources::import::recipe::{NetworkSource, ScreenSource};
use knockout_sources::import::screens::{Alleles, Duplicates};
use knockout_sources::import::source::Source;
use proptest::prelude::*;

/// Every parser on the same bytes.
fn all(bytes: &[u8]) {
    let source = Source::bytes("any", bytes);
    read_string(bytes).ok();
    read_edges(bytes).ok();
    read_matrix(bytes).ok();
    read_tflink(bytes).ok();
    read_biogrid(bytes).ok();
    read_sgd_interactions(bytes).ok();
    read_kuzmin(bytes).ok();
    read_costanzo(bytes).ok();
    read_emap(bytes).ok();
    read_table(bytes).ok();
    read_scores(bytes, None).ok();
    list::read(&source).ok();
    sgd::read(&source, &["ORF".to_owned()], &[]).ok();
    knockout_sources::import::genes::aliases::read_string(&source, &mut Names::new(&genes())).ok();
    dango::read(&source, &Source::bytes("list", b"YAL001C\nYAL002W\n"), &names(), None, Entries::Two).ok();
    features::table::read(&source, &names(), 5, None, &[], None).ok();
    features::npy::read(&source, &Source::bytes("list", b"YAL001C\nYAL002W\n"), &names(), 5, "f").ok();
    annotations::table::read(&source, &names(), None, None, None).ok();
    annotations::gmt::read(&source, &names()).ok();
    annotations::json::read(&source, &names()).ok();
    let options = gaf::GafOptions { aspect: &[], evidence: &[], without: None };
    gaf::read(&source, &names(), &options).ok();
    yaml::read(&source, &names(), 5).ok();
    sbml::read(&source, &names(), 5).ok();
    parse_record(bytes).ok();
    if let Ok(text) = std::str::from_utf8(bytes) {
        Recipe::from_toml(text).ok();
        text.parse::<NetworkSource>().ok();
        text.parse::<ScreenSource>().ok();
    }
}

/// Words that the formats know, so that arbitrary text gets past the first check.
fn word() -> impl Strategy<Value = String> {
    let known = [
        "YAL001C",
        "4932.YAL001C",
        "4932.YAL002W",
        "TFC3",
        "0",
        "1",
        "-1",
        "500",
        "0.5",
        "0,5",
        "n.d.",
        "yal001cΔ",
        "tfc3-8",
        "1e-5",
        "",
        "-",
        "NA",
        "\"",
        "\"YAL001C\"",
        "YAL001C+YDL227C_tm1",
        "YAL002W_dma1",
        "YAL003W_tsa9",
        "tfc3Δ+hoΔ",
        "digenic",
        "trigenic",
        "DMA26",
        "ORF",
        "GO:0006281",
        "IGI",
        "P",
        "\"], \"YAL002W\": []}",
        "S000000001",
        "physical interactions",
        "physical",
        "559292",
        "Yes",
        "No",
        "DELETION",
        "- !!omap",
        "- reactions:",
        "- metabolites:",
        "      - id: \"r_1\"",
        "      - lower_bound: -1",
        "          - s_1: 2",
        "    - !!omap",
        "<sbml>",
        "</sbml>",
        "<reaction id=\"r\">",
        "<fbc:or>",
        "</fbc:or>",
        "<fbc:geneProductAssociation>",
        "<species id=\"s\"/>",
        "\u{feff}",
        "ε",
    ];
    prop_oneof![4 => proptest::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => "[ -~]{0,12}"]
}

fn header() -> impl Strategy<Value = String> {
    proptest::sample::select(vec![
        String::new(),
        KUZMIN.to_owned(),
        COSTANZO.to_owned(),
        "protein1 protein2 neighborhood fusion cooccurence coexpression experimental database combined_score\n".to_owned(),
        "gene_a\tallele_a\tgene_b\tallele_b\ts_score\n".to_owned(),
        "a,b,score\n".to_owned(),
        ",YAL001C,TFC3,YAL002W\n".to_owned(),
        "gene,term\n".to_owned(),
        "!gaf-version: 2.2\n".to_owned(),
        "{\"YAL001C\": [\"".to_owned(),
        "UniprotID.TF\tUniprotID.Target\tName.TF\tName.Target\tSmall-scale.evidence\n".to_owned(),
        "---\n!!omap\n- reactions:\n    - !!omap\n".to_owned(),
        "<?xml version=\"1.0\"?><sbml><model>".to_owned(),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        all(&bytes);
    }

    #[test]
    fn any_bytes_behind_a_mark(mark in 0..4_usize, bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let marks: [&[u8]; 4] = [&[0xff, 0xfe], &[0xfe, 0xff], &[0xef, 0xbb, 0xbf], &[0x1f, 0x8b, 8]];
        let mut all_bytes = marks[mark].to_vec();
        all_bytes.extend(bytes);
        all(&all_bytes);
    }

    #[test]
    fn lines_that_look_nearly_right(
        header in header(),
        rows in proptest::collection::vec((proptest::collection::vec(word(), 0..13), 0..3_usize), 0..8),
    ) {
        let separators = ["\t", " ", ","];
        let rows: Vec<String> = rows.iter().map(|(cells, separator)| cells.join(separators[*separator])).collect();
        let text = format!("{header}{}\n", rows.join("\n"));
        all(text.as_bytes());
        all(&gzip(&text));
    }

    #[test]
    fn a_workbook_of_any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..300), at in 0..2000_usize) {
        // A good workbook with a stretch overwritten.
        let mut book = xlsx(&[vec!["a", "b", "score"], vec!["YAL001C", "YAL002W", "0.5"]]);
        for (place, byte) in bytes.iter().enumerate() {
            if let Some(slot) = book.get_mut(at + 4 + place) {
                *slot = *byte;
            }
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &book).unwrap();
        let source = Source::file(file.path(), &|_| {});
        let read = screen(Duplicates::Mean, Alleles::Merge, |sink| knockout_sources::import::screens::sga::read_kuzmin(&source, sink));
        prop_assert!(read.is_err());
    }
}
