//! Tables as laboratories keep them: decimal commas, marks of missing values, alleles in names, matrices, workbooks with notes.

use crate::support::*;
use knockout_sources::import::read::DecimalMark;
use knockout_sources::import::screens::matrix::MatrixShape;
use knockout_sources::import::screens::{Alleles, Duplicates, ScreenCounts, sga};
use knockout_sources::import::source::Source;
use knockout_sources::import::{ImportReport, Recipe, import};
use std::fmt::Write as _;
use std::path::Path;

macro_rules! refused {
    ($result:expr, $expected:expr) => {
        assert_eq!(message(&$result.unwrap_err()), $expected)
    };
}

#[test]
fn decimal_commas_are_read_where_they_are_certain() {
    for (separator, quote) in [("\t", ""), (";", ""), (",", "\"")] {
        let row =
            |a: &str, b: &str, score: &str| format!("{a}{separator}{b}{separator}{quote}{score}{quote}\n");
        let text =
            [row("a", "b", "score"), row("YAL001C", "YAL002W", "1,234"), row("YAL001C", "YAL003W", "-0,5")];
        let (samples, _) = read_table(text.concat().as_bytes()).unwrap();
        assert_eq!(samples.scores(), [1.234, -0.5], "{separator:?}");
    }
    let ambiguous = b"a;b;score\nYAL001C;YAL002W;1,234\nYAL001C;YAL003W;2\n";
    refused!(
        read_table(ambiguous),
        "scores.csv, line 2, column \"score\": the comma may be a decimal one or separate thousands, and no other number of the table \
         decides; give the source the option decimal=comma, or take the commas out"
    );
    let (samples, _) = read_table_with(ambiguous, &[], Some(DecimalMark::Comma)).unwrap();
    assert_eq!(samples.scores(), [1.234, 2.0]);
    refused!(
        read_table_with(b"a;b;score\nYAL001C;YAL002W;0,5\n", &[], Some(DecimalMark::Point)),
        "scores.csv, line 2, column \"score\": \"0,5\" is not a score, a finite number (it has a decimal comma, and decimal=point is given)"
    );
    refused!(
        read_table(b"a,b,score\nYAL001C,YAL002W,0,5\n"),
        "scores.csv, line 2: the row has 4 cells, expected 3: the row is shifted, cut off, or has a comma inside a cell; with decimal \
         commas, save it with semicolons or tabs"
    );
}

#[test]
fn marks_of_missing_scores_are_counted() {
    let marks =
        ["", "-", "n.d.", "N.D.", "nd", "NA", "n/a", "#DIV/0!", "#N/A", "#VALUE!", "NaN", "null", "?"];
    let mut text = "a;b;score\nYAL001C;YAL002W;-0,25\n".to_owned();
    for mark in marks {
        writeln!(text, "YAL001C;YAL003W;{mark}").unwrap();
    }
    let (samples, counts) = read_table(text.as_bytes()).unwrap();
    assert_eq!((samples.scores(), counts.tally.skipped["no score"]), (&[-0.25][..], marks.len() as u64));
}

#[test]
fn all_bad_rows_are_listed_at_once() {
    let mut text = "a,b,score\nYAL001C,YAL002W,0.5\n".to_owned();
    for row in 0..14 {
        writeln!(text, "YAL001C,YAL003W,bad{row}").unwrap();
    }
    let error = message(&read_table(text.as_bytes()).unwrap_err());
    let start = "scores.csv: 14 rows cannot be read: line 3, column \"score\": \"bad0\" is not a score, a finite number; line 4, ";
    assert!(error.starts_with(start), "{error}");
    assert!(error.ends_with("\"bad9\" is not a score, a finite number; and 4 more"), "{error}");
    // A row that ends the reading is listed behind those before it.
    text.truncate(text.find("YAL001C,YAL003W,bad1").unwrap());
    text.push_str("YAL001C\n");
    let error = message(&read_table(text.as_bytes()).unwrap_err());
    assert!(error.starts_with("scores.csv: 2 rows cannot be read: line 3, column"), "{error}");
    assert!(error.contains("; line 4: the row has 1 cells, expected 3"), "{error}");
}

fn kinds(counts: &ScreenCounts) -> Vec<(&str, u64)> {
    counts.kinds.iter().map(|(kind, count)| (&kind[..], *count)).collect()
}

#[test]
fn names_with_alleles_lead_to_their_genes() {
    let text = "a;b;score\nyal001cΔ;vps8Δ;-0,5\ntfc3-8;VPS8;-1,5\nEFB1-DAmP;NTH2;0,25\nYAL001C;tfc3-8;9\nYBR001C;xyz1-4;1\n";
    let (samples, counts) = read_table(text.as_bytes()).unwrap();
    let genes: Vec<&[u32]> = samples.iter().map(|sample| sample.genes).collect();
    assert_eq!(genes, [&[0, 1][..], &[0, 1], &[2, 3]]);
    assert_eq!(kinds(&counts), [("deletion", 1), ("mixed", 2)]);
    assert_eq!((counts.allele_names, counts.tally.skipped["a gene with itself"]), (3, 1));
    assert_eq!(
        counts.tally.unresolved.names().keys().collect::<Vec<_>>(),
        ["xyz1-4"],
        "a gene outside the table"
    );
}

#[test]
fn columns_of_alleles_state_the_kind() {
    let text = b"a,al_a,b,al_b,score\nTFC3,DELETION,VPS8,vps8-delta,1.5\nTFC3,tfc3-8,VPS8,DAmP,2.5\nTFC3,tfc3-ts,VPS8,vps8-ts,3.5\nTFC3,,VPS8,,4.5\n";
    let (samples, counts) = read_table_with(text, &["al_a", "al_b"], None).unwrap();
    assert_eq!(kinds(&counts), [("deletion", 1), ("mixed", 1), ("ts", 1), ("unspecified", 1)]);
    assert_eq!(samples.len(), 4);
    let error = message(&read_table_with(text, &["al_a"], None).unwrap_err());
    assert!(error.contains("name a column of alleles for each column of genes"), "{error}");
}

#[test]
fn a_symmetric_matrix_has_each_pair_once() {
    let text = b";TFC3;VPS8;EFB1\nTFC3;n.d.;-0,5;\nvps8;-0,5;0;1,5\nEFB1;2,25;;\n";
    let (samples, counts) = read_scores(text, None).unwrap();
    let rows: Vec<(&[u32], f64, u32)> = samples.iter().map(|s| (s.genes, s.score, s.duplicates)).collect();
    assert_eq!(rows, [(&[0, 1][..], -0.5, 1), (&[1, 2], 1.5, 1), (&[0, 2], 2.25, 1)]);
    assert_eq!((counts.tally.rows, counts.tally.skipped["the other half of a symmetric matrix"]), (9, 3));
    assert_eq!((counts.tally.skipped["a gene with itself"], counts.tally.skipped["no score"]), (1, 2));
    // Rows and columns that were emptied.
    let emptied = b";TFC3;VPS8;EFB1;;\nTFC3;n.d.;-0,5;;;\n;;;;;\nvps8;-0,5;0;1,5;;\nEFB1;2,25;;;;\n;;;;;\n";
    assert_eq!(read_scores(emptied, None).unwrap().0.scores(), samples.scores());
    // The same without a corner cell.
    let without: Vec<u8> = text[1..].to_vec();
    assert_eq!(read_scores(&without, None).unwrap().0.scores(), samples.scores());
}

#[test]
fn a_matrix_of_query_strains_measures_pairs_twice() {
    let text = b"gene,TFC3,VPS8,EFB1\nTFC3,,1,2\nVPS8,3,,4\nEFB1,6,8,\n";
    let (samples, _) = read_scores(text, None).unwrap();
    let rows: Vec<(&[u32], f64, u32)> = samples.iter().map(|s| (s.genes, s.score, s.duplicates)).collect();
    assert_eq!(rows, [(&[0, 1][..], 2.0, 2), (&[0, 2], 4.0, 2), (&[1, 2], 6.0, 2)]);
    refused!(
        read_scores(text, Some(MatrixShape::Symmetric)),
        "matrix.csv, line 2: the matrix is not symmetric: TFC3 and VPS8 has two scores; choose shape=query-rows or shape=query-columns"
    );
    // One side was rounded, and one was never measured.
    let rounded = b"gene,TFC3,VPS8,EFB1\nTFC3,,1,2\nVPS8,1.0000000000001,,4\nEFB1,2,3.9999999999999,\n";
    let (samples, _) = read_scores(rounded, None).unwrap();
    assert!(samples.iter().all(|sample| sample.duplicates == 1));
    refused!(
        read_scores(b"gene,TFC3,VPS8,EFB1\nTFC3,,1,2\nVPS8,0,,4\nEFB1,0,0,\n", None),
        "matrix.csv: all cells on one side of the diagonal are 0, and those on the other are not; leave cells blank that were not measured"
    );
    let wide = b"gene,TFC3,VPS8\nEFB1,1,2\nNTH2,3,4\n";
    for (shape, query) in
        [(None, &[][..]), (Some(MatrixShape::QueryRows), &[2]), (Some(MatrixShape::QueryColumns), &[0])]
    {
        let (samples, _) = read_scores(wide, shape).unwrap();
        assert_eq!((samples.scores(), samples.get(0).query), (&[1.0, 2.0, 3.0, 4.0][..], query), "{shape:?}");
    }
    let edited = b"gene,TFC3,VPS8,EFB1\nTFC3,,1,2\nVPS8,1,,4\nEFB1,2.5,4,\n";
    let error = message(&read_scores(edited, None).unwrap_err());
    assert!(
        error.contains(
            "2 pairs have the same score on both sides of the diagonal and 1 have two, such as TFC3 and EFB1"
        ),
        "{error}"
    );
}

#[test]
fn a_matrix_with_faults_is_refused() {
    refused!(read_scores(b"", None), "matrix.csv: there is no header line in it");
    refused!(read_scores(b"g,TFC3,VPS8\n", None), "matrix.csv: there is no row of a gene in it");
    refused!(
        read_scores(b"g,TFC3,VPS8\nTFC3,1\nVPS8,x,2\n", None),
        "matrix.csv: 2 rows cannot be read: line 2: the row has 2 cells, expected 3: the row is shifted, cut off, or separated otherwise \
         than the header; line 3, column \"2\": \"x\" is not a score, a finite number"
    );
    refused!(
        read_scores(b"g,TFC3,,VPS8\nTFC3,1,2,3\n", None),
        "matrix.csv: column 3 has no gene in the header line"
    );
}

fn imported(text: &str, folder: &Path) -> ImportReport {
    import(&Recipe::from_toml(text).unwrap(), folder, &|_| {}).unwrap().report
}

#[test]
fn names_without_a_gene_table_are_examined() {
    let folder = tempfile::tempdir().unwrap();
    let table = "gene_a\tgene_b\tscore\nHTZ1\tYOL012C\t0.5\nHTZ1-DAmP\tCDC48\t0.5\ncdc48-3\tyml090wΔ\t0.5\n";
    std::fs::write(folder.path().join("lab.tsv"), table).unwrap();
    let report = imported("[[screens]]\nformat = \"table\"\nfile = \"lab.tsv\"\n", folder.path());
    let kinds = report.gene_sources[0].name_kinds.as_ref().unwrap();
    assert_eq!((report.genes, kinds.systematic, kinds.other, kinds.are_mixed()), (4, 2, 2, true));
    assert_eq!(kinds.examples, ["YML090W", "YOL012C", "CDC48", "HTZ1"]);
    assert_eq!((report.screens[0].measurements, report.screens[0].allele_names), (3, 2));
    // The remedy: with a gene table the first row is a gene with itself.
    std::fs::write(folder.path().join("alias.tsv"), "gene\talias\nYOL012C\tHTZ1\n").unwrap();
    std::fs::write(folder.path().join("genes.txt"), "YOL012C\nCDC48\nYML090W\n").unwrap();
    let recipe = "[[genes]]\nformat = \"list\"\nfile = \"genes.txt\"\n[[aliases]]\nformat = \"table\"\nfile = \"alias.tsv\"\ngene = \"gene\"\n\
                  alias = [\"alias\"]\n[[screens]]\nformat = \"table\"\nfile = \"lab.tsv\"\n";
    let report = imported(recipe, folder.path());
    assert_eq!(
        (report.screens[0].measurements, report.screens[0].rows.skipped["a gene with itself"]),
        (2, 1)
    );
}

#[test]
fn names_that_cannot_be_genes_are_described() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("genes.txt");
    let long = "A".repeat(41);
    for (name, reason) in [
        ("yml090wΔ", "it has 'Δ', which marks a deletion; write the name of the gene alone"),
        ("HTZ 1", "it has a space; write one name in each cell"),
        ("<b>", "it has '<'; names have letters, digits and signs of ASCII without spaces, \"<\" and \">\""),
        (&long, "it has 41 characters, and at most 40 are allowed"),
    ] {
        std::fs::write(&path, format!("YAL001C\n{name}\n")).unwrap();
        let recipe = Recipe::from_toml("[[genes]]\nformat = \"list\"\nfile = \"genes.txt\"\n").unwrap();
        let error = message(&import(&recipe, folder.path(), &|_| {}).unwrap_err());
        assert!(error.ends_with(&format!("line 2: {name:?} is not a gene name: {reason}")), "{error}");
    }
}

#[test]
fn the_sheets_of_a_workbook_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lab.xlsx");
    let rows = [vec!["gene_a", "gene_b", "score"], vec!["TFC3", "VPS8", "0,25"], vec!["TFC3", "EFB1", "0.5"]];
    std::fs::write(&path, xlsx_of_two(&rows)).unwrap();
    let source = Source::file(&path, &|_| {});
    let error = message(
        &screen(Duplicates::Mean, Alleles::Merge, |sink| sga::read_kuzmin(&source, sink)).unwrap_err(),
    );
    let advice = "; the workbook has the sheets \"Notes\", \"Scores\": the first one was read, and sheet=NAME of the source chooses another";
    assert!(error.contains("line 1: missing column") && error.ends_with(advice), "{error}");
    let recipe = |sheet: &str| {
        let text = format!("[[screens]]\nformat = \"table\"\nfile = \"lab.xlsx\"\nsheet = \"{sheet}\"\n");
        Recipe::from_toml(&text).unwrap()
    };
    let error = message(&import(&recipe("scores"), folder.path(), &|_| {}).unwrap_err());
    assert!(error.contains("it has no sheet \"scores\" (have: Notes, Scores)"), "{error}");
    let dataset = import(&recipe("Scores"), folder.path(), &|_| {}).unwrap().dataset;
    assert_eq!(dataset.samples.scores(), [0.25, 0.5], "a text with a comma beside a number");
}
