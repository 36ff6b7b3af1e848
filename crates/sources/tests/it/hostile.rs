//! One named test per malformed input: the error names file, line, column, value and what was expected.

use crate::support::*;
use knockout_base::error::Class;
use knockout_sources::import::genes::{list, sgd};
use knockout_sources::import::metabolism::{sbml, yaml};
use knockout_sources::import::screens::{Alleles, Duplicates, sga};
use knockout_sources::import::source::Source;
use knockout_sources::import::{Recipe, import};
use std::path::Path;

const LINKS: &str = "protein1 protein2 combined_score\n";

macro_rules! refused {
    ($result:expr, $expected:expr) => {
        assert_eq!(message(&$result.unwrap_err()), $expected)
    };
}

#[test]
fn wrong_column() {
    refused!(
        read_string(b"protein1 partner combined_score\n4932.YAL001C 4932.YAL002W 500\n"),
        "links.txt, line 1: missing column \"protein2\" (have: \"protein1\", \"partner\", \"combined_score\")"
    );
    refused!(
        read_edges(b"gene_a\tgene_b\tgene_a\nYAL001C\tYAL002W\tYAL003W\n"),
        "edges.tsv, line 1: \"gene_a\" is not a column name that stands in the header once"
    );
}

#[test]
fn shifted_row() {
    refused!(
        read_string(
            format!("{LINKS}4932.YAL001C 4932.YAL002W 500\n4932.YAL001C 4932.YAL002W 0 500\n").as_bytes()
        ),
        "links.txt, line 3: the row has 4 cells, expected 3: the row is shifted, cut off, or has a separator inside a cell"
    );
    // The same number of cells, one place to the left.
    let row = "hoΔ\tYBR001C_dma1\tnth2Δ\tdigenic\t0.1\t0.1\t0.5\t\t0.9\t0.9\t0.1\t\n";
    refused!(
        read_kuzmin(format!("{KUZMIN}{row}").as_bytes()),
        "kuzmin.tsv, line 2, column \"Combined mutant type\": \"0.1\" is not digenic or trigenic"
    );
}

#[test]
fn number_that_does_not_parse() {
    refused!(
        read_string(format!("{LINKS}4932.YAL001C 4932.YAL002W 5OO\n").as_bytes()),
        "links.txt, line 2, column \"combined_score\": \"5OO\" is not a STRING score, a whole number from 0 to 1000"
    );
    refused!(
        read_emap(
            b"gene_a\tallele_a\tgene_b\tallele_b\ts_score\nYAL001C\tDELETION\tYAL002W\tDAMP\t0.5\n\
              YAL001C\tDELETION\tYAL003W\tDAMP\t0,5\n"
        ),
        "emap.tsv, line 3, column \"s_score\": \"0,5\" is not a score, a finite number (it has a comma, and line 2 has a decimal point)"
    );
    for bad in ["inf", "1e999", "0x10", "1.5.2"] {
        let text = format!("a,b,score\nYAL001C,YAL002W,{bad}\n");
        refused!(
            read_table(text.as_bytes()),
            format!("scores.csv, line 2, column \"score\": {bad:?} is not a score, a finite number")
        );
    }
}

#[test]
fn score_out_of_range() {
    refused!(
        read_string(format!("{LINKS}4932.YAL001C 4932.YAL002W 1001\n").as_bytes()),
        "links.txt, line 2, column \"combined_score\": \"1001\" is not a STRING score, a whole number from 0 to 1000"
    );
    let row =
        "YAL001C+YDL227C_tm1\ttfc3Δ+hoΔ\tYBR001C_dma1\tnth2Δ\tdigenic\t0.1\t0.1\t1.5\t\t0.9\t0.9\t0.1\n";
    refused!(
        read_kuzmin(format!("{KUZMIN}{row}").as_bytes()),
        "kuzmin.tsv, line 2, column \"P-value\": \"1.5\" is not a p-value from 0 to 1"
    );
}

#[test]
fn mixed_separators() {
    refused!(
        read_edges(b"gene_a\tgene_b\nYAL001C\tYAL002W\nYAL001C,YAL003W\n"),
        "edges.tsv, line 3: the row has 1 cells, expected 2; this line is separated by commas, unlike the header"
    );
}

#[test]
fn byte_order_marks_are_taken_off() {
    let text = format!("\u{feff}{LINKS}4932.YAL001C 4932.YAL002W 500\n");
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for bytes in [text.as_bytes(), &little, &big] {
        let found = read_string(bytes).unwrap();
        assert_eq!(found.tally.rows, 1);
    }
}

#[test]
fn utf16_without_a_mark() {
    let bytes: Vec<u8> = LINKS.encode_utf16().flat_map(u16::to_le_bytes).collect();
    refused!(
        read_string(&bytes),
        "links.txt, line 1: this is not text: the line has a NUL byte; expected UTF-8 text, or UTF-16 with a byte-order mark"
    );
}

#[test]
fn crlf_and_a_last_line_without_end() {
    let found =
        read_edges(b"gene_a\tgene_b\tweight\r\nYAL001C\tYAL002W\t0.5\r\n\r\nYAL001C\tYAL003W\t0.25").unwrap();
    assert_eq!(found.tally.rows, 2);
    let (network, counts) = found.networks.into_iter().next().unwrap().finish(5).unwrap();
    assert_eq!((counts.edges, network.weights()), (2, &[0.5, 0.25][..]));
}

#[test]
fn not_utf8_where_it_matters() {
    refused!(
        read_table(b"a,b,score,note\nYAL001C,YAL002W,0.\xff5,x\n"),
        "scores.csv, line 2, column \"score\": \"0.\u{fffd}5\" is not UTF-8 text (Excel: save as CSV UTF-8)"
    );
    // A citation in another encoding is nobody's business.
    assert_eq!(read_table(b"a,b,score,note\nYAL001C,YAL002W,0.5,Mu\xfcller\n").unwrap().1.measurements, 1);
}

#[test]
fn truncated_gzip() {
    let rows = "4932.YAL001C 4932.YAL002W 500\n".repeat(20_000);
    let whole = gzip(&format!("{LINKS}{rows}"));
    assert_eq!(read_string(&whole).unwrap().tally.rows, 20_000);
    for length in [whole.len() / 2, whole.len() - 1, 12] {
        let error = read_string(&whole[..length]).unwrap_err();
        assert!(error.message().contains("the compressed data"), "{}", message(&error));
        assert!(message(&error).contains("cut off or damaged"), "{}", message(&error));
        assert_eq!(error.class(), Class::Damage);
    }
    let mut flipped = whole.clone();
    let last = flipped.len() - 6;
    flipped[last] ^= 1;
    assert!(
        read_string(&flipped).unwrap_err().class() == Class::Damage,
        "the checksum of the data is checked"
    );
}

#[test]
fn a_file_that_is_something_else() {
    refused!(
        read_string(b"<!DOCTYPE html><html><body>404</body></html>"),
        "links.txt: this is a web page, perhaps the error page of a download; expected STRING links"
    );
    refused!(
        read_emap(b"%PDF-1.7 whatever"),
        "emap.tsv: this is a PDF document; expected an E-MAP pair table"
    );
    refused!(
        read_matrix(b"PAR1\x00\x00"),
        "matrix.tsv: this is a Parquet file; expected a regulation matrix"
    );
    refused!(
        yaml::read(&Source::bytes("m.yml", b"hello: world\n"), &names(), 5),
        "m.yml: this is not yeast-GEM YAML: it has no \"- reactions:\"; expected the sections metabolites and reactions"
    );
    refused!(
        sbml::read(&Source::bytes("m.xml", b"<svg><g/></svg>"), &names(), 5),
        "m.xml: this is not SBML: it has no <sbml> element; expected an SBML file"
    );
    refused!(
        list::read(&Source::bytes("genes.txt", b"YAL001C\nthis is prose, not a list\n")),
        "genes.txt, line 2: \"this is prose\" is not a gene name: it has a space; write one name in each cell"
    );
}

#[test]
fn empty_files() {
    refused!(read_string(b""), "links.txt: there is no header line in it");
    refused!(read_matrix(b"\n\n"), "matrix.tsv: there is no header line in it");
    refused!(list::read(&Source::bytes("g", b"# nothing\n")), "g: there is no gene name in it");
    assert_eq!(read_string(LINKS.as_bytes()).unwrap().tally.rows, 0, "a header alone is an empty network");
}

#[test]
fn a_line_without_end() {
    let bytes = vec![b'A'; 5 << 20];
    refused!(
        read_string(&bytes),
        "links.txt, line 1: the line is longer than 4194304 bytes; expected a text file with one record per line"
    );
}

#[test]
fn an_id_without_taxon() {
    refused!(
        read_string(format!("{LINKS}YAL001C 4932.YAL002W 500\n").as_bytes()),
        "links.txt, line 2, column \"protein1\": \"YAL001C\" is not a STRING id such as 4932.YAL001C"
    );
}

#[test]
fn a_quote_that_is_not_closed() {
    refused!(
        read_table(b"a,b,score\n\"YAL001C,YAL002W,0.5\n"),
        "scores.csv, line 2: a quoted cell is not closed before the end of the line; expected a second '\"'"
    );
}

#[test]
fn a_matrix_that_is_ragged() {
    refused!(
        read_matrix(b"x\tYAL001C\tYAL002W\nYAL003W\t0\t1\nYBR001C\t0\n"),
        "matrix.tsv, line 3: the row has 2 cells, expected 3: the row is shifted, cut off, or separated otherwise than the header"
    );
    refused!(
        read_matrix(b"x\tYAL001C\nYAL003W\tyes\n"),
        "matrix.tsv, line 2, column \"2\": \"yes\" is not a number such as 0, 1 or -1"
    );
}

#[test]
fn sgd_features_with_another_number_of_columns() {
    let types = ["ORF".to_owned()];
    let row = |cells: usize| vec!["S000000001"; cells].join("\t");
    refused!(
        sgd::read(&Source::bytes("SGD_features.tab", row(15).as_bytes()), &types, &[]),
        "SGD_features.tab, line 1: the row has 15 cells, expected 16: the row is shifted, cut off, or has a separator inside a cell"
    );
    let shifted = format!("\tS000000001{}", "\t".repeat(14));
    refused!(
        sgd::read(&Source::bytes("SGD_features.tab", shifted.as_bytes()), &types, &[]),
        "SGD_features.tab, line 1, column \"1\": \"\" is not an SGD id such as S000002143"
    );
}

#[test]
fn evidence_that_is_neither() {
    let row =
        ["YAL001C", "TFC3", "YAL002W", "VPS8", "Two-hybrid", "social interactions", "", "", "", "", "", ""];
    refused!(
        read_sgd_interactions(row.join("\t").as_bytes()),
        "interaction_data.tab, line 1, column \"6\": \"social interactions\" is not \"physical interactions\" or \"genetic interactions\""
    );
}

#[test]
fn strains_that_are_none() {
    let row = "YAL001C\ttfc3Δ\tYBR001C_dma1\tnth2Δ\tdigenic\t0.1\t0.1\t0.5\t\t0.9\t0.9\t0.1\n";
    refused!(
        read_kuzmin(format!("{KUZMIN}{row}").as_bytes()),
        "kuzmin.tsv, line 2, column \"Query strain ID\": \"YAL001C\" is not a strain id such as YAL015C+YDL227C_tm461 or YBL007C_dma91"
    );
    let row = "YAL001C_sn1\ttfc3\tYBR001C_dma1\tnth2\tXYZ26\t0.1\t0.5\t\t0.9\t0.9\t0.1\n";
    refused!(
        read_costanzo(format!("{COSTANZO}{row}").as_bytes()),
        "sga.txt, line 2, column \"Arraytype/Temp\": \"XYZ26\" is not one of DMA26, DMA30, TSA26, TSA30"
    );
}

#[test]
fn a_triple_with_an_unknown_gene_is_left_out_whole() {
    let rows = "YAL001C+YAL002W_tm1\ttfc3Δ+vps8Δ\tYXX999W_dma1\txxxΔ\ttrigenic\t0.1\t0.1\t0.5\t\t0.9\t0.9\t0.1\n\
                YAL001C+YAL002W_tm1\ttfc3Δ+vps8Δ\tYAL003W_tsa1\tefb1-4\ttrigenic\t0.1\t-0.2\t0.5\t\t0.9\t0.9\t0.1\n";
    let (samples, counts) = read_kuzmin(format!("{KUZMIN}{rows}").as_bytes()).unwrap();
    assert_eq!((samples.len(), counts.tally.rows, counts.tally.unresolved.rows()), (1, 2, 1));
    assert_eq!((samples.genes(0), samples.query(0), samples.kind(0)), (&[0, 1, 2][..], &[0, 1][..], "mixed"));
    assert_eq!(counts.tally.unresolved.names()["YXX999W"].first_line, 2);
}

#[test]
fn a_repeat_where_repeats_are_errors() {
    let row = "YAL001C_sn1\ttfc3\tYBR001C_dma1\tnth2\tDMA26\t0.1\t0.5\t\t0.9\t0.9\t0.1\n";
    let text = format!("{COSTANZO}{row}{row}");
    let source = Source::bytes("sga.txt", text.as_bytes());
    refused!(
        screen(Duplicates::Error, Alleles::Merge, |sink| sga::read_costanzo(&source, sink)),
        "sga.txt, line 3: YAL001C+YBR001C (deletion) was measured before, in line 2 of \"test\"; merge repeats with --duplicates mean or first"
    );
}

#[test]
fn deletions_alone_leave_alleles_out_and_say_so() {
    let rows = "YAL001C_tsq1\ttfc3-1\tYBR001C_dma1\tnth2\tDMA26\t0.1\t0.5\t\t0.9\t0.9\t0.1\n\
                YAL002W_sn1\tvps8\tYBR001C_dma1\tnth2\tDMA26\t0.1\t0.5\t\t0.9\t0.9\t0.1\n";
    let text = format!("{COSTANZO}{rows}");
    let source = Source::bytes("sga.txt", text.as_bytes());
    let (samples, counts) =
        screen(Duplicates::Mean, Alleles::Deletion, |sink| sga::read_costanzo(&source, sink)).unwrap();
    assert_eq!((samples.len(), counts.tally.skipped["not only deletions"]), (1, 1));
}

#[test]
fn an_xlsx_with_a_title_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("aaz5667-Table-S1.xlsx");
    let header = KUZMIN.trim_end().replace("Combined mutant fitness", "Double/triple mutant fitness");
    let rows = [
        vec!["Table S1. Raw genetic interaction dataset"],
        header.split('\t').collect(),
        vec![
            "YAL001C+YDL227C_tm1",
            "tfc3Δ+hoΔ",
            "YBR001C_dma1",
            "nth2Δ",
            "digenic",
            "0.0075",
            "0.0075",
            "4.5E-1",
            "",
            "0.962",
            "-0.1",
            "0.04",
        ],
        vec![
            "YAL001C+YAL002W_tm2",
            "tfc3Δ+vps8Δ",
            "YBR001C_dma1",
            "nth2Δ",
            "trigenic",
            "0.1",
            "-0.25",
            "4.23E-120",
            "0.9",
            "0.962",
            "0.5",
            "0.04",
        ],
    ];
    std::fs::write(&path, xlsx(&rows)).unwrap();
    let source = Source::file(&path, &|_| {});
    let (samples, counts) =
        screen(Duplicates::Mean, Alleles::Merge, |sink| sga::read_kuzmin(&source, sink)).unwrap();
    assert_eq!((counts.tally.rows, samples.len()), (2, 2));
    let pair = samples.get(0);
    assert_eq!(
        (pair.genes, pair.query, pair.fitness, pair.p_value),
        (&[0, 3][..], &[0][..], Some(-0.1), Some(0.45))
    );
    assert_eq!((samples.get(1).score, samples.get(1).p_value), (-0.25, Some(4.23e-120)), "p-values are f64");

    // The same workbook, cut off.
    let whole = std::fs::read(&path).unwrap();
    for length in [whole.len() / 2, whole.len() - 30, 40] {
        std::fs::write(&path, &whole[..length]).unwrap();
        let error =
            screen(Duplicates::Mean, Alleles::Merge, |sink| sga::read_kuzmin(&source, sink)).unwrap_err();
        assert!(
            error.class() == Class::Damage && message(&error).contains("xlsx workbook"),
            "{}",
            message(&error)
        );
    }
}

#[test]
fn a_workbook_with_a_cell_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("twice.xlsx");
    // A row may name one place again and again: it would grow without end.
    let bytes = xlsx_of_sheet("<row r=\"1\"><c r=\"B1\"><v>1</v></c><c r=\"B1\"><v>2</v></c></row>");
    std::fs::write(&path, bytes).unwrap();
    let source = Source::file(&path, &|_| {});
    let error = screen(Duplicates::Mean, Alleles::Merge, |sink| sga::read_kuzmin(&source, sink)).unwrap_err();
    assert!(message(&error).ends_with("row 1 has its cells out of order"), "{}", message(&error));
}

#[test]
fn a_model_that_grows_when_it_is_expanded() {
    // Every alternative repeats the reaction's id: megabytes would become gigabytes.
    let genes = ["YAL001C", "YAL002W", "YAL003W", "YBR001C", "YDL227C"];
    let gene = |name: &str| format!("<fbc:geneProductRef fbc:geneProduct=\"G_{name}\"/>");
    let sets = (1..32).map(|set| {
        let chosen = genes.iter().enumerate().filter(|(place, _)| set >> place & 1 == 1);
        format!("<fbc:and>{}</fbc:and>", chosen.map(|(_, name)| gene(name)).collect::<String>())
    });
    let rule = format!("<fbc:or>{}</fbc:or>", sets.collect::<String>());
    let read = |id: &str| {
        let text = format!(
            "<sbml><model><listOfReactions><reaction id=\"{id}\"><fbc:geneProductAssociation>{rule}\
             </fbc:geneProductAssociation></reaction></listOfReactions></model></sbml>"
        );
        sbml::read(&Source::bytes("m.xml", text.as_bytes()), &names(), 5)
    };
    assert_eq!(read("r").unwrap().metabolism.reactions().len(), 31);
    let text = message(&read(&"r".repeat(9 << 20)).unwrap_err());
    assert!(text.contains("more than 512 MiB in the alternatives"), "{text}");
}

#[test]
fn a_damaged_parquet_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scores.parquet");
    std::fs::write(&path, b"PAR1 and then nothing of the kind PAR1").unwrap();
    let error = screen(Duplicates::Mean, Alleles::Merge, |sink| {
        sga::read_kuzmin(&Source::file(&path, &|_| {}), sink)
    });
    assert!(message(&error.unwrap_err()).contains("the Parquet file cannot be decoded"));
}

#[test]
fn a_model_with_faults() {
    let model = |reaction: &str| {
        format!(
            "---\n!!omap\n- metabolites:\n    - !!omap\n      - id: \"s_1\"\n      - name: \"ATP\"\n- reactions:\n    - !!omap\n      - id: \"r_1\"\n{reaction}"
        )
    };
    let read = |text: &str| yaml::read(&Source::bytes("m.yml", text.as_bytes()), &names(), 5);
    refused!(
        read(&model("      - metabolites: !!omap\n          - s_9: -1\n      - lower_bound: 0\n")),
        "m.yml, line 9: \"s_9\" is not a metabolite that the model lists"
    );
    refused!(
        read(&model("      - lower_bound: low\n")),
        "m.yml, line 10: a yeast-GEM YAML file cannot be decoded: invalid floating point at line 10, column 22"
    );
    refused!(
        read(&model("      - lower_bound: 0\n      - gene_reaction_rule: \"YAL001C and\"\n")),
        "m.yml, line 11: the rule \"YAL001C and\" does not parse: expected a gene or \"(\" at byte 11, found the end"
    );
    refused!(
        read(&model("      - name: \"never closed\n")),
        "m.yml, line 11: a yeast-GEM YAML file cannot be decoded: invalid indentation in multiline quoted scalar at line 11, column 1"
    );
    refused!(
        read(&model("      - lower_bound: 0\n      - id: \"r_2\"\n")),
        "m.yml, line 11: a yeast-GEM YAML file cannot be decoded: duplicate field `id` at line 11, column 9"
    );
    refused!(
        read(&model("      - lower_bound: 0\n      - metabolites: !!omap\n          - s_1: 0\n")),
        "m.yml, line 9: \"s_1: 0\" is not a metabolite once, with a finite coefficient other than 0"
    );
    refused!(
        read(&model(
            "      - lower_bound: 0\n      - metabolites: &a\n          - s_1: 1\n      - name: *a\n"
        )),
        "m.yml, line 13: a yeast-GEM YAML file cannot be decoded: budget breached: Aliases { aliases: 1 } at line 13, column 15"
    );
    refused!(
        read(&model("      - name: x\n")),
        "m.yml, line 9: \"r_1\" is not a reaction with a finite lower bound"
    );
    let found = read(&model(
        "      - lower_bound: -1\n      - gene_reaction_rule: YAL001C and (TFC3 or\n          YXX9)\n",
    ))
    .unwrap();
    assert_eq!(found.metabolism.reactions().len(), 2, "one alternative in two directions; YXX9 is unknown");
    assert_eq!(found.tally.unresolved.rows(), 1);
}

#[test]
fn an_sbml_model_that_is_cut_off() {
    let whole = "<?xml version=\"1.0\"?><sbml><model><listOfSpecies><species id=\"M_s1\" name=\"ATP\" compartment=\"c\"/></listOfSpecies>\n\
        <listOfParameters><parameter id=\"lb\" value=\"-10\"/></listOfParameters>\n\
        <listOfReactions><reaction id=\"R_r1\" reversible=\"false\" fbc:lowerFluxBound=\"lb\">\n\
        <listOfReactants><speciesReference species=\"M_s1\" stoichiometry=\"2\"/></listOfReactants>\n\
        <fbc:geneProductAssociation><fbc:or><fbc:geneProductRef fbc:geneProduct=\"G_YAL001C\"/><fbc:and>\
        <fbc:geneProductRef fbc:geneProduct=\"g2\"/><fbc:geneProductRef fbc:geneProduct=\"G_YBR001C\"/></fbc:and></fbc:or></fbc:geneProductAssociation>\n\
        </reaction></listOfReactions><fbc:listOfGeneProducts><fbc:geneProduct fbc:id=\"g2\" fbc:label=\"YAL002W\"/></fbc:listOfGeneProducts>\n\
        <groups:listOfGroups><groups:group groups:id=\"g\" groups:name=\"Growth\"><groups:listOfMembers><groups:member groups:idRef=\"R_r1\"/></groups:listOfMembers></groups:group></groups:listOfGroups></model></sbml>";
    let read = |text: &str| sbml::read(&Source::bytes("m.xml", text.as_bytes()), &names(), 5);
    let found = read(whole).unwrap();
    let model = found.metabolism;
    let nodes: Vec<(&str, &str)> = model.reactions().iter().map(|r| (&*r.name, &*r.subsystem)).collect();
    assert_eq!(
        nodes,
        [
            ("r1_comb0_fwd", "Growth"),
            ("r1_comb0_rev", "Growth"),
            ("r1_comb1_fwd", "Growth"),
            ("r1_comb1_rev", "Growth")
        ]
    );
    assert_eq!((model.requirements().len(), model.coefficients()[0].value), (6, -2.0));
    for length in (0..whole.len()).filter(|&length| whole.is_char_boundary(length)) {
        assert!(read(&whole[..length]).is_err(), "cut off at {length}");
    }
    assert!(read("<?xml version=\"1.0\"?><!DOCTYPE x [<!ENTITY a \"b\">]><sbml><model><listOfSpecies><species id=\"&a;\"/></listOfSpecies></model></sbml>").is_err());
}

#[test]
fn too_much_that_is_unknown() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("g.txt"), "YAL001C\nYAL002W\n").unwrap();
    std::fs::write(folder.path().join("e.tsv"), "gene_a\tgene_b\nYAL001C\tYAL002W\nYAL001C\tNOPE\n").unwrap();
    let text = "[[genes]]\nformat = \"list\"\nfile = \"g.txt\"\n[[networks]]\nformat = \"edges\"\nfile = \"e.tsv\"\n";
    let mut recipe = Recipe::from_toml(text).unwrap();
    let error = import(&recipe, folder.path(), &|_| {}).unwrap_err();
    assert_eq!(error.class(), Class::Damage);
    assert!(
        message(&error).ends_with(
            "1 of 2 rows (50 %) name genes not in the table, e.g. \"NOPE\"; give a larger gene table or aliases (--genes, --aliases), or accept the loss with --allow-missing"
        ),
        "{}",
        message(&error)
    );
    recipe.allow_missing = true;
    let report = import(&recipe, folder.path(), &|_| {}).unwrap().report;
    assert_eq!((report.networks[0].rows.unknown_gene, report.networks[0].counts.edges), (1, 1));
}

#[test]
fn requests_that_cannot_be_met() {
    let folder = tempfile::tempdir().unwrap();
    let missing = Source::file(folder.path().join("none.txt"), &|_| {});
    assert!(list::read(&missing).unwrap_err().class() == Class::Request);
    assert!(
        list::read(&Source::file(folder.path(), &|_| {})).unwrap_err().class() == Class::Request,
        "a folder is no file"
    );
    let none = import(&Recipe::default(), Path::new("."), &|_| {}).unwrap_err();
    assert!(none.class() == Class::Request && message(&none).contains("there are no genes"));
    std::fs::write(folder.path().join("g.txt"), "YAL001C\nyal001c\n").unwrap();
    let recipe = Recipe::from_toml("[[genes]]\nformat = \"list\"\nfile = \"g.txt\"\n").unwrap();
    let twice = import(&recipe, folder.path(), &|_| {}).unwrap_err();
    assert!(message(&twice).ends_with("\"yal001c\" is not a gene that the list names once"));
}
