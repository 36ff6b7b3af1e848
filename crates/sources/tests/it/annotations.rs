//! Annotations in every format: what is read, what is left out and counted, and one named test per malformed input.

use crate::support::*;
use knockout_base::error::{Class, Error};
use knockout_sources::import::annotations::gaf::{self, Aspect};
use knockout_sources::import::annotations::{AnnotationFile, TermSizes, gmt, json, table};
use knockout_sources::import::source::Source;
use knockout_sources::import::{Recipe, import};

fn read_rows(text: &str) -> Result<AnnotationFile, Error> {
    table::read(&Source::bytes("go.tsv", text.as_bytes()), &names(), None, None, None)
}

fn read_gmt(text: &str) -> Result<AnnotationFile, Error> {
    gmt::read(&Source::bytes("sets.gmt", text.as_bytes()), &names())
}

fn read_json(text: &str) -> Result<AnnotationFile, Error> {
    json::read(&Source::bytes("complexes.json", text.as_bytes()), &names())
}

const ALL: gaf::GafOptions<'_> = gaf::GafOptions { aspect: &[], evidence: &[], without: None };

fn read_gaf(text: &str, options: &gaf::GafOptions<'_>) -> Result<AnnotationFile, Error> {
    gaf::read(&Source::bytes("sgd.gaf", text.as_bytes()), &names(), options)
}

/// A line of a GAF, the columns that matter given.
fn association(
    id: &str,
    symbol: &str,
    qualifier: &str,
    term: &str,
    code: &str,
    aspect: &str,
    other: &str,
) -> String {
    let rest = "protein\ttaxon:559292\t20250101\tSGD\t\t";
    format!("SGD\t{id}\t{symbol}\t{qualifier}\t{term}\tPMID:1\t{code}\t\t{aspect}\tname\t{other}\t{rest}\n")
}

/// The genes and terms of a set with every term kept.
fn pairs(file: AnnotationFile) -> Vec<(u32, String)> {
    let found = file.finish("n", 5, TermSizes { least: 1, most: None }).unwrap().annotations;
    found.pairs().map(|(gene, term)| (gene, found.terms()[term as usize].clone())).collect()
}

fn pair(gene: u32, term: &str) -> (u32, String) {
    (gene, term.to_owned())
}

macro_rules! refused {
    ($result:expr, $expected:expr) => {
        assert_eq!(message(&$result.unwrap_err()), $expected)
    };
}

#[test]
fn a_table_has_a_gene_and_a_term_in_a_row() {
    let found =
        read_rows("note\torf\tterm\n1\ttfc3\tb\n2\tYAL002W\ta c\n3\tYAL001C\tb\n4\tNOPE\tb\n5\tEFB1\t\n")
            .unwrap();
    assert_eq!((found.tally.rows, found.tally.unresolved.rows(), found.tally.skipped["no term"]), (5, 1, 1));
    assert_eq!(found.tally.unresolved.names()["NOPE"].first_line, 5);
    assert_eq!(pairs(found), [pair(0, "b"), pair(1, "a c")]);
    let named = Source::bytes("x.csv", b"locus,which,term\nHO,\"x, y\",z\n");
    let found = table::read(&named, &names(), None, Some("which"), None).unwrap();
    assert_eq!(pairs(found), [pair(4, "x, y")]);
}

#[test]
fn a_table_without_terms() {
    refused!(
        read_rows("gene\tweight\nYAL001C\t1\n"),
        "go.tsv, line 1: missing column \"term or annotation or go_id or complex or pathway\" (have: \"gene\", \"weight\")"
    );
}

#[test]
fn a_table_with_a_shifted_row() {
    refused!(
        read_rows("gene\tterm\nYAL001C\ta\nYAL002W\ta\tb\n"),
        "go.tsv, line 3: the row has 3 cells, expected 2: the row is shifted, cut off, or has a separator inside a cell"
    );
}

#[test]
fn a_column_of_yes_and_no_is_not_one_of_terms() {
    for [yes, no] in [["1", "0"], ["1.0", "0.0"], ["TRUE", "False"], ["T", "F"], ["yes", "no"], ["y", "n"]] {
        refused!(
            read_rows(&format!("gene\tterm\nYAL001C\t{yes}\nYAL002W\t{no}\n")),
            "go.tsv: the column of terms holds yes and no only, so every gene would be annotated; keep the rows of genes that are \
             meant, with the term itself, such as `essential`"
        );
    }
    for [yes, no] in [
        ["essential", "nonessential"],
        ["Essential", "non-essential"],
        ["essential", "Dispensable"],
        ["inviable", "viable"],
        ["lethal", "viable"],
        ["E", "NE"],
        ["E", "V"],
    ] {
        for [first, second] in [[yes, no], [no, yes]] {
            let read = read_rows(&format!("gene\tterm\nYAL001C\t{first}\nYAL002W\t{second}\n"));
            assert!(message(&read.unwrap_err()).contains("holds a term and its opposite only"), "{yes} {no}");
        }
    }
    // Rows of meant genes alone, and further terms, are fine.
    assert_eq!(pairs(read_rows("gene\tterm\nYAL001C\t1\n").unwrap()), [pair(0, "1")]);
    assert_eq!(
        pairs(read_rows("gene\tterm\nYAL001C\tno\nYAL002W\tmaybe\n").unwrap()),
        [pair(0, "no"), pair(1, "maybe")]
    );
}

#[test]
fn a_table_with_a_term_that_is_no_text() {
    let source = Source::bytes("go.tsv", b"gene\tterm\nYAL001C\t\xff\n");
    refused!(
        table::read(&source, &names(), None, None, None),
        "go.tsv, line 2, column \"term\": \"\u{fffd}\" is not UTF-8 text (Excel: save as CSV UTF-8)"
    );
}

#[test]
fn gmt_has_a_term_in_a_line() {
    let found = read_gmt("b\tsomething\tTFC3\tYAL002W\tNOPE\t\t\na\t\tHO\n").unwrap();
    assert_eq!((found.tally.rows, found.tally.unresolved.rows()), (4, 1));
    assert_eq!(pairs(found), [pair(0, "b"), pair(1, "b"), pair(4, "a")]);
}

#[test]
fn gmt_with_a_line_that_has_no_genes() {
    refused!(
        read_gmt("a\tx\tTFC3\nb,x,TFC3\n"),
        "sets.gmt, line 2: the row has 1 cells, expected 3 or more: a term, its description and its genes, with TABs between them"
    );
}

#[test]
fn gmt_with_a_term_twice_or_none() {
    refused!(
        read_gmt("a\tx\tTFC3\na\ty\tHO\n"),
        "sets.gmt, line 2, column \"1\": \"a\" is not a term that has no line above"
    );
    assert!(
        message(&read_gmt("\tx\tTFC3\n").unwrap_err()).contains("line 1, column \"1\": \"\" is not a term")
    );
}

#[test]
fn json_has_the_terms_of_a_gene() {
    let found = read_json(r#"{"YAL001C": ["b", "a"], "NOPE": ["a"], "ho": [" a "], "YAL002W": []}"#).unwrap();
    assert_eq!((found.tally.rows, found.tally.unresolved.rows(), found.tally.skipped["no term"]), (4, 1, 1));
    assert_eq!(found.tally.unresolved.names()["NOPE"].first_line, 2, "the second entry");
    assert_eq!(pairs(found), [pair(0, "a"), pair(0, "b"), pair(4, "a")]);
    assert_eq!(
        pairs(json::read(&Source::bytes("x", &gzip("{\"HO\":[\"a\"]}")), &names()).unwrap()),
        [pair(4, "a")]
    );
}

#[test]
fn json_that_is_something_else() {
    let what = "a JSON object of genes, each with a list of terms";
    let begins = format!("complexes.json: {what} cannot be decoded: ");
    for (text, fault) in [
        ("{\"HO\": \"a\"}", "invalid type: string \"a\", expected a sequence at line 1 column 10"),
        ("{\"HO\": [1]}", "invalid type: integer `1`, expected a term, which is a string at line 1 column 9"),
        (
            "[[\"HO\"]]",
            "invalid type: sequence, expected an object such as {\"YAL001C\": [\"CPX-1\"]} at line 1 column 0",
        ),
        ("{\"HO\": [\"a\"],\n", "EOF while parsing a value at line 2 column 0"),
        ("{\"HO\": [\"a\"]}\nx", "trailing characters at line 2 column 1"),
        ("", "EOF while parsing a value at line 1 column 0"),
    ] {
        let found = message(&read_json(text).unwrap_err());
        assert_eq!(found, format!("{begins}{fault}"), "{text}");
    }
}

#[test]
fn json_with_a_gene_twice_or_a_term_that_is_empty() {
    let twice = message(&read_json("{\n\"HO\": [\"a\"],\n\"HO\": [\"b\"]\n}").unwrap_err());
    assert!(twice.contains("gene \"HO\" has an entry above at line 3"), "{twice}");
    let empty = message(&read_json("{\"HO\": [\n\" \"\n]}").unwrap_err());
    assert!(empty.contains("a term is empty at line 2"), "{empty}");
}

#[test]
fn json_that_is_cut_off_in_its_packing() {
    let packed = gzip("{\"HO\": [\"a\"]}");
    let error = json::read(&Source::bytes("x.json.gz", &packed[..packed.len() - 5]), &names()).unwrap_err();
    assert!(
        error.class() == Class::Damage && message(&error).contains("cut off or damaged"),
        "{}",
        message(&error)
    );
}

#[test]
fn gaf_leaves_out_genetic_interactions_and_what_genes_do_not_have() {
    let text = [
        "!gaf-version: 2.2\n!\tanything\n",
        // By the systematic name among the synonyms, by the symbol, by the number.
        &association("S1", "OLD1", "involved_in", "GO:0000001", "IDA", "P", "YAL001C|OTHER"),
        &association("S2", "VPS8", "", "GO:0000001", "IGI", "P", ""),
        &association("S2", "VPS8", "", "GO:0000002", "HGI", "P", ""),
        &association("S2", "VPS8", "enables", "GO:0000002", "IEA", "F", "YXX002W"),
        &association("YAL003W", "X", "", "GO:0000002", "ND", "C", ""),
        &association("S2", "VPS8", "NOT|enables", "GO:0000003", "IDA", "F", ""),
        // A synonym that another gene has for its standard name proves nothing.
        &association("S9", "NEW9", "", "GO:0000001", "IDA", "P", "TFC3"),
        &association("S2", "VPS8", "enables", "GO:0000002", "IDA", "F", ""),
    ]
    .concat();
    let found = read_gaf(&text, &ALL).unwrap();
    let skipped: Vec<(&str, u64)> =
        found.tally.skipped.iter().map(|(reason, count)| (*reason, *count)).collect();
    assert_eq!(
        skipped,
        [("NOT: the gene does not have the term", 1), ("evidence HGI", 1), ("evidence IGI", 1)]
    );
    assert_eq!((found.tally.rows, found.tally.unresolved.rows()), (8, 1));
    assert_eq!(found.tally.unresolved.names()["NEW9"].first_line, 9);
    assert_eq!(pairs(found), [pair(0, "GO:0000001"), pair(1, "GO:0000002"), pair(2, "GO:0000002")]);

    let codes = |list: &[&str]| list.iter().map(|&code| code.to_owned()).collect::<Vec<String>>();
    let of = |options: &gaf::GafOptions<'_>| read_gaf(&text, options).unwrap();
    let found = of(&gaf::GafOptions { aspect: &[Aspect::P, Aspect::C], ..ALL });
    assert_eq!((found.tally.skipped["another aspect"], found.pair_count()), (2, 2));
    let (everything, nothing) = (codes(&[]), codes(&[""]));
    for without in [&everything, &nothing] {
        assert_eq!(of(&gaf::GafOptions { without: Some(without), ..ALL }).pair_count(), 6);
    }
    let (iea, igi) = (codes(&["IEA", "ND"]), codes(&["IGI"]));
    assert_eq!(of(&gaf::GafOptions { without: Some(&iea), ..ALL }).pair_count(), 4);
    // A requested code is kept.
    assert_eq!(pairs(of(&gaf::GafOptions { evidence: &igi, ..ALL })), [pair(1, "GO:0000001")]);
}

#[test]
fn gaf_with_another_number_of_columns() {
    let line = association("S1", "TFC3", "", "GO:0000001", "IDA", "P", "");
    let cut = line.trim_end_matches('\n').trim_end_matches('\t');
    refused!(
        read_gaf(&format!("!x\n{cut}\n"), &ALL),
        "sgd.gaf, line 2: the row has 15 cells, expected 17: the row is shifted or cut off, or the file is not GAF 2.1 or 2.2"
    );
}

#[test]
fn gaf_with_cells_that_are_none() {
    let refused = |term: &str, code: &str, aspect: &str, place: &str| {
        let text = association("S1", "TFC3", "", term, code, aspect, "");
        let found = message(&read_gaf(&text, &ALL).unwrap_err());
        assert_eq!(found, format!("sgd.gaf, line 1, column {place}"));
    };
    refused("GO:123", "IDA", "P", "\"5\": \"GO:123\" is not a term of GO such as GO:0006281");
    refused("SO:0000001", "IDA", "P", "\"5\": \"SO:0000001\" is not a term of GO such as GO:0006281");
    refused("GO:0000001", "PMID:1", "P", "\"7\": \"PMID:1\" is not an evidence code such as IDA or IEA");
    refused("GO:0000001", "IDA", "X", "\"9\": \"X\" is not an aspect: P, F or C");
}

#[test]
fn gaf_options_that_cannot_be_met() {
    let (wrong, right) = (["IGX".to_owned()], ["IDA".to_owned()]);
    let error = read_gaf("", &gaf::GafOptions { evidence: &wrong, ..ALL }).unwrap_err();
    assert_eq!(error.class(), Class::Request);
    assert!(
        message(&error).contains("GO has no evidence code \"IGX\"; it has EXP, IDA,"),
        "{}",
        message(&error)
    );
    let error =
        read_gaf("", &gaf::GafOptions { evidence: &right, without: Some(&right), ..ALL }).unwrap_err();
    assert!(
        error.class() == Class::Request && message(&error).ends_with("give one of the two"),
        "{}",
        message(&error)
    );
}

#[test]
fn a_file_that_is_something_else() {
    let page = "<!DOCTYPE html><html></html>";
    for (found, format) in [
        (read_rows(page), "a table of annotations"),
        (read_gmt(page), "gene sets as GMT"),
        (read_json(page), "a JSON object of genes, each with a list of terms"),
        (read_gaf(page, &ALL), "a gene association file (GAF)"),
    ] {
        let text = message(&found.unwrap_err());
        assert!(text.ends_with(&format!("error page of a download; expected {format}")), "{text}");
    }
}

#[test]
fn annotations_go_into_the_dataset_with_what_was_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("g.txt", "YAL001C\nYAL002W\nYAL003W\n");
    write("sets.gmt", "one\t\tYAL001C\ntwo\t\tYAL001C\tYAL002W\tNOPE\nthree\t\tYAL001C\tYAL002W\tYAL003W\n");
    write("c.json", "{\"YAL003W\": [\"x\"], \"YAL002W\": [\"x\"]}");
    let genes = "[[genes]]\nformat = \"list\"\nfile = \"g.txt\"\n";
    let sets = "[[annotations]]\nformat = \"gmt\"\nfile = \"sets.gmt\"\n";
    let json = "[[annotations]]\nformat = \"json\"\nfile = \"c.json\"\nname = \"complexes\"\n";
    let run =
        |text: &str| import(&Recipe::from_toml(&format!("{genes}{text}")).unwrap(), folder.path(), &|_| {});
    let mut found = run(&format!("{sets}max-genes = 2\n{json}")).unwrap();
    let report = &found.report.annotations[0];
    assert_eq!((report.name.as_str(), report.terms, report.genes, report.pairs), ("sets", 1, 2, 2));
    assert_eq!((report.terms_too_small, report.terms_too_large, report.rows.unknown_gene), (1, 1, 1));
    assert_eq!(report.rows.unknown_names["NOPE"].first_line, 2);
    let out = folder.path().join("out");
    found.write(&out, &|_| {}).unwrap();
    assert!(knockout_data::screen::verify(&out).unwrap().is_empty());
    let opened = knockout_data::screen::Dataset::open(&out).unwrap();
    assert_eq!(opened.cell.annotations(), found.dataset.cell.annotations());
    assert_eq!(opened.cell.annotation("complexes").unwrap().terms_of(2), [0]);
    assert_eq!(opened.manifest.provenance.sources.len(), 3);

    let refused = |text: &str| message(&run(text).unwrap_err());
    let twice = refused(&format!("{json}{json}"));
    assert!(
        twice.ends_with("two sets of annotations called \"complexes\"; give one of them another name"),
        "{twice}"
    );
    let none = refused(&format!("{sets}min-genes = 4\n"));
    assert!(
        none.ends_with(
            "there is no term with as many genes of the table as min-genes and max-genes require in it"
        ),
        "{none}"
    );
    let backward = refused(&format!("{sets}min-genes = 4\nmax-genes = 3\n"));
    assert!(backward.ends_with("change min-genes or max-genes"), "{backward}");
    write("c.json", "{\"NOPE\": [\"x\"]}");
    let strange = refused(json);
    assert!(strange.ends_with("there is no annotation of a gene of the table in it"), "{strange}");
}
