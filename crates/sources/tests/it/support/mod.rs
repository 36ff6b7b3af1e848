//! A handful of genes, and files made by code.
#![allow(dead_code, reason = "not every test file uses all of it")]

use knockout_base::error::Error;
use knockout_data::cell::{Entries, Gene, GeneTable};
use knockout_data::screen::Samples;
use knockout_sources::import::names::Names;
use knockout_sources::import::networks::{
    Evidence, NetworkFile, biogrid, edges, matrix, sgd, string, tflink,
};
use knockout_sources::import::read::DecimalMark;
use knockout_sources::import::screens::matrix::{self as score_matrix, MatrixShape};
use knockout_sources::import::screens::{
    Alleles, Duplicates, MeasurementCollector, RowChoice, ScreenCounts, ScreenSink, emap, sga, table,
};
use knockout_sources::import::source::Source;
use std::collections::BTreeMap;
use std::fmt::Write as _;

pub(crate) fn genes() -> GeneTable {
    let gene = |(systematic, standard): (&str, &str)| Gene {
        systematic: systematic.to_owned(),
        standard: (!standard.is_empty()).then(|| standard.to_owned()),
    };
    let list = [
        ("YAL001C", "TFC3"),
        ("YAL002W", "VPS8"),
        ("YAL003W", "EFB1"),
        ("YBR001C", "NTH2"),
        ("YDL227C", "HO"),
    ];
    GeneTable::new(list.map(gene).to_vec()).unwrap()
}

pub(crate) fn names() -> Names {
    Names::new(&genes())
}

/// The whole chain of an error, as the program prints it.
pub(crate) fn message(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        write!(text, ": {error}").unwrap();
        cause = error.source();
    }
    text
}

pub(crate) fn read_string(bytes: &[u8]) -> Result<NetworkFile, Error> {
    let options = string::StringOptions {
        channels: &[],
        threshold: 0,
        thresholds: &BTreeMap::new(),
        prefix: None,
        taxon: 4932,
        entries: Entries::Two,
    };
    string::read(&Source::bytes("links.txt", bytes), &names(), &options)
}

pub(crate) fn read_edges(bytes: &[u8]) -> Result<NetworkFile, Error> {
    let options = edges::EdgeTableOptions {
        name: "n",
        source: None,
        target: None,
        weight: None,
        heading: edges::Heading::Named,
        separator: None,
        orientation: knockout_sources::import::networks::Orientation::Undirected(Entries::One),
        filter: &BTreeMap::new(),
        strip: "",
        strip_end: "",
    };
    edges::read(&Source::bytes("edges.tsv", bytes), &names(), &options)
}

pub(crate) fn read_matrix(bytes: &[u8]) -> Result<NetworkFile, Error> {
    matrix::read(&Source::bytes("matrix.tsv", bytes), &names(), "m")
}

pub(crate) fn read_tflink(bytes: &[u8]) -> Result<NetworkFile, Error> {
    tflink::read(&Source::bytes("tflink.tsv", bytes), &names(), "t", tflink::EvidenceScale::All)
}

pub(crate) fn read_biogrid(bytes: &[u8]) -> Result<NetworkFile, Error> {
    let source = Source::bytes("biogrid.tab3.txt", bytes);
    biogrid::read(&source, &names(), "b", Evidence::Physical, 559_292, Entries::Two)
}

pub(crate) fn read_sgd_interactions(bytes: &[u8]) -> Result<NetworkFile, Error> {
    sgd::read(&Source::bytes("interaction_data.tab", bytes), &names(), "p", Evidence::Physical, Entries::Two)
}

/// Reads a screen with the handful of genes.
pub(crate) fn screen(
    duplicates: Duplicates,
    alleles: Alleles,
    read: impl FnOnce(ScreenSink<'_>) -> Result<ScreenCounts, Error>,
) -> Result<(Samples, ScreenCounts), Error> {
    let (genes, names) = (genes(), names());
    let mut collector = MeasurementCollector::new(duplicates);
    let choice = RowChoice { source: "test", alleles, orders: &[] };
    let counts = read(ScreenSink::new(&names, &genes, choice, &mut collector))?;
    Ok((collector.finish(genes.len()).unwrap(), counts))
}

pub(crate) fn read_kuzmin(bytes: &[u8]) -> Result<(Samples, ScreenCounts), Error> {
    let source = Source::bytes("kuzmin.tsv", bytes);
    screen(Duplicates::Mean, Alleles::Merge, |sink| sga::read_kuzmin(&source, sink))
}

pub(crate) fn read_costanzo(bytes: &[u8]) -> Result<(Samples, ScreenCounts), Error> {
    let source = Source::bytes("sga.txt", bytes);
    screen(Duplicates::Mean, Alleles::Merge, |sink| sga::read_costanzo(&source, sink))
}

pub(crate) fn read_emap(bytes: &[u8]) -> Result<(Samples, ScreenCounts), Error> {
    let source = Source::bytes("emap.tsv", bytes);
    screen(Duplicates::Mean, Alleles::Merge, |sink| emap::read(&source, sink))
}

pub(crate) fn read_table(bytes: &[u8]) -> Result<(Samples, ScreenCounts), Error> {
    read_table_with(bytes, &[], None)
}

pub(crate) fn read_table_with(
    bytes: &[u8],
    alleles: &[&str],
    decimal: Option<DecimalMark>,
) -> Result<(Samples, ScreenCounts), Error> {
    let alleles: Vec<String> = alleles.iter().map(|&name| name.to_owned()).collect();
    let source = Source::bytes("scores.csv", bytes);
    let genes = ["a".to_owned(), "b".to_owned()];
    let options = table::ScoreTableOptions {
        genes: &genes,
        query: 1,
        score: "score",
        standard_error: None,
        p_value: None,
        fitness: None,
        fitness_sd: None,
        kind_column: None,
        alleles: &alleles,
        kind: Some("deletion"),
        separator: None,
        decimal,
        filter: &BTreeMap::new(),
    };
    screen(Duplicates::Mean, Alleles::Merge, |sink| table::read(&source, sink, &options))
}

/// Reads a matrix of scores.
pub(crate) fn read_scores(
    bytes: &[u8],
    shape: Option<MatrixShape>,
) -> Result<(Samples, ScreenCounts), Error> {
    let source = Source::bytes("matrix.csv", bytes);
    let options =
        score_matrix::MatrixOptions { shape, kind: Some("deletion"), separator: None, decimal: None };
    screen(Duplicates::Mean, Alleles::Merge, |sink| score_matrix::read(&source, sink, &options))
}

pub(crate) const KUZMIN: &str = "Query strain ID\tQuery allele name\tArray strain ID\tArray allele name\tCombined mutant type\t\
Raw genetic interaction score (epsilon)\tAdjusted genetic interaction score (epsilon or tau)\tP-value\t\
Query single/double mutant fitness\tArray single mutant fitness\tCombined mutant fitness\t\
Combined mutant fitness standard deviation\n";

pub(crate) const COSTANZO: &str = "Query Strain ID\tQuery allele name\tArray Strain ID\tArray allele name\tArraytype/Temp\t\
Genetic interaction score (ε)\tP-value\tQuery single mutant fitness (SMF)\tArray SMF\tDouble mutant fitness\t\
Double mutant fitness standard deviation\n";

pub(crate) fn gzip(text: &str) -> Vec<u8> {
    use std::io::Write as _;
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(text.as_bytes()).unwrap();
    packer.finish().unwrap()
}

/// A workbook of one sheet: numbers as numbers, everything else as text in place.
pub(crate) fn xlsx(rows: &[Vec<&str>]) -> Vec<u8> {
    xlsx_of_sheet(&sheet_rows(rows))
}

fn sheet_rows(rows: &[Vec<&str>]) -> String {
    let mut sheet = String::new();
    for (row, cells) in rows.iter().enumerate() {
        write!(sheet, "<row r=\"{}\">", row + 1).unwrap();
        for (column, cell) in cells.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
            let place = format!("{}{}", char::from(b'A' + column as u8), row + 1);
            if cell.parse::<f64>().is_ok() {
                write!(sheet, "<c r=\"{place}\"><v>{cell}</v></c>").unwrap();
            } else {
                write!(sheet, "<c r=\"{place}\" t=\"inlineStr\"><is><t>{cell}</t></is></c>").unwrap();
            }
        }
        sheet.push_str("</row>");
    }
    sheet
}

/// A workbook whose first sheet has notes and whose second sheet has a table.
pub(crate) fn xlsx_of_two(rows: &[Vec<&str>]) -> Vec<u8> {
    let notes = "<row r=\"1\"><c r=\"A1\" t=\"inlineStr\"><is><t>Measured in May</t></is></c></row>";
    xlsx_of_sheets(&[("Notes", notes), ("Scores", &sheet_rows(rows))])
}

/// A workbook whose sheet has these rows.
pub(crate) fn xlsx_of_sheet(rows: &str) -> Vec<u8> {
    xlsx_of_sheets(&[("S1", rows)])
}

fn xlsx_of_sheets(sheets: &[(&str, &str)]) -> Vec<u8> {
    const SCHEMAS: &str = "http://schemas.openxmlformats.org";
    let relation = |id: usize, kind: &str, target: &str| {
        format!(
            "<Relationship Id=\"rId{id}\" Type=\"{SCHEMAS}/officeDocument/2006/relationships/{kind}\" Target=\"{target}\"/>"
        )
    };
    let relations = |inner: &str| {
        format!(
            "<?xml version=\"1.0\"?><Relationships xmlns=\"{SCHEMAS}/package/2006/relationships\">{inner}</Relationships>"
        )
    };
    let types = format!("<?xml version=\"1.0\"?><Types xmlns=\"{SCHEMAS}/package/2006/content-types\"/>");
    let (mut list, mut targets, mut parts) = (String::new(), String::new(), Vec::new());
    for (id, (name, rows)) in (1..).zip(sheets) {
        write!(list, "<sheet name=\"{name}\" sheetId=\"{id}\" r:id=\"rId{id}\"/>").unwrap();
        targets.push_str(&relation(id, "worksheet", &format!("worksheets/sheet{id}.xml")));
        let sheet = format!(
            "<?xml version=\"1.0\"?><worksheet xmlns=\"{SCHEMAS}/spreadsheetml/2006/main\"><sheetData>{rows}</sheetData></worksheet>"
        );
        parts.push((format!("xl/worksheets/sheet{id}.xml"), sheet));
    }
    let workbook = format!(
        "<?xml version=\"1.0\"?><workbook xmlns=\"{SCHEMAS}/spreadsheetml/2006/main\" \
         xmlns:r=\"{SCHEMAS}/officeDocument/2006/relationships\"><sheets>{list}</sheets></workbook>"
    );
    let (root, targets) = (relations(&relation(1, "officeDocument", "xl/workbook.xml")), relations(&targets));
    let mut files = vec![
        ("_rels/.rels", &root[..]),
        ("[Content_Types].xml", &types),
        ("xl/workbook.xml", &workbook),
        ("xl/_rels/workbook.xml.rels", &targets),
    ];
    files.extend(parts.iter().map(|(name, text)| (&name[..], &text[..])));
    zip(&files)
}

/// A zip archive whose files are stored as they are.
fn zip(files: &[(&str, &str)]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, text) in files {
        let mut crc = flate2::Crc::new();
        crc.update(text.as_bytes());
        let size = (text.len() as u32).to_le_bytes();
        let mut head = vec![20, 0, 0, 0, 0, 0, 0, 0, 33, 0];
        head.extend(crc.sum().to_le_bytes());
        head.extend(size);
        head.extend(size);
        head.extend((name.len() as u16).to_le_bytes());
        head.extend([0, 0]);
        directory.extend(*b"PK\x01\x02\x14\x00");
        directory.extend(&head);
        directory.extend([0; 10]);
        directory.extend((out.len() as u32).to_le_bytes());
        directory.extend(name.as_bytes());
        out.extend(*b"PK\x03\x04");
        out.extend(&head);
        out.extend(name.as_bytes());
        out.extend(text.as_bytes());
    }
    let start = out.len() as u32;
    out.extend(&directory);
    out.extend(*b"PK\x05\x06\x00\x00\x00\x00");
    out.extend((files.len() as u16).to_le_bytes());
    out.extend((files.len() as u16).to_le_bytes());
    out.extend((directory.len() as u32).to_le_bytes());
    out.extend(start.to_le_bytes());
    out.extend([0, 0]);
    out
}
