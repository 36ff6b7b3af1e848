//! Workbooks of Excel: sheets of texts and numbers, without formats.
//!
//! A workbook is a ZIP archive of a few XML files. Texts are stored in their cells, so no spreadsheet takes them for formulas. The crate
//! `rust_xlsxwriter` writes formats, charts and formulas, and needs a compressing `zip`; here three kinds of cells suffice.

use knockout_base::error::{Error, Result};
use std::fmt::Write as _;
use std::io::{Cursor, Write as _};
use zip::write::{SimpleFileOptions, ZipWriter};
use zip::{CompressionMethod, DateTime};

/// Rows of a sheet at most.
const MOST_ROWS: usize = 1 << 20;

/// A sheet.
#[derive(Debug, Clone, Default)]
pub struct Sheet {
    /// Name on its tab: at most 31 characters without `[]:*?/\`.
    pub name: String,
    /// Rows of cells, that of the headings first.
    pub rows: Vec<Vec<SheetCell>>,
}

/// A cell.
#[derive(Debug, Clone, PartialEq)]
pub enum SheetCell {
    /// A text.
    Text(String),
    /// A number; an empty cell if it is unknown or not finite.
    Number(Option<f64>),
}

impl From<&str> for SheetCell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for SheetCell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<f64> for SheetCell {
    fn from(number: f64) -> Self {
        Self::Number(Some(number))
    }
}

impl From<Option<f64>> for SheetCell {
    fn from(number: Option<f64>) -> Self {
        Self::Number(number)
    }
}

/// Returns the bytes of a workbook with at least one sheet.
pub fn workbook(sheets: &[Sheet]) -> Result<Vec<u8>> {
    if let Some(sheet) = sheets.iter().find(|sheet| sheet.rows.len() > MOST_ROWS) {
        return Err(Error::request(format!(
            "a sheet of Excel has {MOST_ROWS} rows, and {} would have {}; choose fewer hits or CSV",
            sheet.name,
            sheet.rows.len()
        )));
    }
    let failed =
        |error: zip::result::ZipError| Error::failure("the workbook could not be made").caused_by(error);
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .last_modified_time(DateTime::default());
    let fixed = [
        ("[Content_Types].xml".to_owned(), content_types(sheets.len())),
        (
            "_rels/.rels".to_owned(),
            relationships([("officeDocument".to_owned(), "xl/workbook.xml".to_owned())]),
        ),
        ("xl/workbook.xml".to_owned(), names_of(sheets)),
        (
            "xl/_rels/workbook.xml.rels".to_owned(),
            relationships(
                (1..=sheets.len())
                    .map(|sheet| ("worksheet".to_owned(), format!("worksheets/sheet{sheet}.xml"))),
            ),
        ),
    ];
    let of_sheets = sheets
        .iter()
        .zip(1..)
        .map(|(sheet, index)| (format!("xl/worksheets/sheet{index}.xml"), content(sheet)));
    for (name, text) in fixed.into_iter().chain(of_sheets) {
        archive.start_file(name, options).map_err(failed)?;
        archive.write_all(text.as_bytes()).map_err(|error| failed(error.into()))?;
    }
    Ok(archive.finish().map_err(failed)?.into_inner())
}

const XML: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n";
/// Namespaces of the formats: they begin with this address.
const FORMATS: &str = "http://schemas.openxmlformats.org";

fn content_types(sheets: usize) -> String {
    const TYPE: &str = "application/vnd.openxmlformats";
    let mut text = format!(
        "{XML}<Types xmlns=\"{FORMATS}/package/2006/content-types\"><Default Extension=\"rels\" \
         ContentType=\"{TYPE}-package.relationships+xml\"/><Override PartName=\"/xl/workbook.xml\" \
         ContentType=\"{TYPE}-officedocument.spreadsheetml.sheet.main+xml\"/>"
    );
    for sheet in 1..=sheets {
        write!(
            text,
            "<Override PartName=\"/xl/worksheets/sheet{sheet}.xml\" \
             ContentType=\"{TYPE}-officedocument.spreadsheetml.worksheet+xml\"/>"
        )
        .ok();
    }
    text + "</Types>"
}

/// Returns the file that names others with their kinds.
fn relationships(others: impl IntoIterator<Item = (String, String)>) -> String {
    let mut text = format!("{XML}<Relationships xmlns=\"{FORMATS}/package/2006/relationships\">");
    for ((kind, target), index) in others.into_iter().zip(1..) {
        write!(
            text,
            "<Relationship Id=\"rId{index}\" Type=\"{FORMATS}/officeDocument/2006/relationships/{kind}\" Target=\"{target}\"/>"
        )
        .ok();
    }
    text + "</Relationships>"
}

fn names_of(sheets: &[Sheet]) -> String {
    let mut text = format!(
        "{XML}<workbook xmlns=\"{FORMATS}/spreadsheetml/2006/main\" \
         xmlns:r=\"{FORMATS}/officeDocument/2006/relationships\"><sheets>"
    );
    for (sheet, index) in sheets.iter().zip(1..) {
        let name = escape(&sheet.name);
        write!(text, "<sheet name=\"{name}\" sheetId=\"{index}\" r:id=\"rId{index}\"/>").ok();
    }
    text + "</sheets></workbook>"
}

fn content(sheet: &Sheet) -> String {
    let mut text = format!("{XML}<worksheet xmlns=\"{FORMATS}/spreadsheetml/2006/main\"><sheetData>");
    for row in &sheet.rows {
        text.push_str("<row>");
        for cell in row {
            match cell {
                SheetCell::Text(value) => {
                    let value = escape(value);
                    write!(text, "<c t=\"inlineStr\"><is><t xml:space=\"preserve\">{value}</t></is></c>")
                        .ok();
                }
                SheetCell::Number(Some(value)) if value.is_finite() => {
                    write!(text, "<c><v>{value}</v></c>").ok();
                }
                SheetCell::Number(_) => text.push_str("<c/>"),
            }
        }
        text.push_str("</row>");
    }
    text + "</sheetData></worksheet>"
}

/// Escapes a text; characters that XML cannot have become spaces.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push(' '),
            character if character.is_control() => escaped.push(' '),
            character => escaped.push(character),
        }
    }
    escaped
}
