//! A table, row by row, from text, a sheet or Parquet.

use super::cells::{self, CellSpan, Quotes, RowCells, Separator};
use super::decimal::{DecimalMark, Decimals};
use super::header::{ColumnNames, Header, TITLE_LINES};
use super::input::InputBytes;
use super::lines::Lines;
use super::parquet::ParquetRows;
use super::row::Row;
use super::sheet::SheetRows;
use crate::import::fault;
use knockout_base::error::Error;
use std::path::{Path, PathBuf};

/// How a text table is written.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    /// Name of the format in messages.
    pub format: &'static str,
    /// Separator of cells; guessed from the header if `None`.
    pub separator: Option<Separator>,
    /// Whether cells may be quoted.
    pub quotes: Quotes,
}

/// Rows of cells under a header, or without one.
#[derive(Debug)]
pub struct TextTable<'a> {
    path: PathBuf,
    header: Header,
    rows: TableRows<'a>,
    decimals: Decimals,
}

#[derive(Debug)]
enum TableRows<'a> {
    Text(TextRows<'a>),
    Sheet(SheetRows),
    Parquet(Box<ParquetRows>),
}

/// Cells of the line last read.
#[derive(Debug)]
struct TextRows<'a> {
    lines: Lines<'a>,
    separator: Option<Separator>,
    /// The separator of the line last read.
    last: Separator,
    quotes: Quotes,
    /// Cells a row must have; set by the header or the caller.
    width: Option<usize>,
    /// The first row sets the width, if it has at least this many cells.
    least: Option<usize>,
    /// Whether the lines read now may be titles above the header.
    is_above_header: bool,
    cells: Vec<CellSpan>,
    scratch: Vec<u8>,
}

impl<'a> TextTable<'a> {
    /// Opens a file of any packing and finds the columns under a header; `sheet` chooses one of a workbook.
    pub fn open(
        path: &Path,
        style: Style,
        sheet: Option<&str>,
        columns: &[ColumnNames<'_>],
        advance: &'a dyn Fn(u64),
    ) -> Result<(Self, Vec<Option<usize>>, super::Tally), Error> {
        let mut start = [0; 4];
        let opened = std::fs::File::open(path).map_err(|error| fault::open(error).in_file(path))?;
        // A file too short for a magic number is a text, if anything.
        let is_long = std::io::Read::read_exact(&mut std::io::BufReader::new(opened), &mut start).is_ok();
        match &start {
            b"PK\x03\x04" if is_long => {
                let tally = super::input::hash_whole(path, advance)?;
                let (table, found) =
                    Self::headed(path, TableRows::Sheet(SheetRows::open(path, sheet)?), columns)?;
                Ok((table, found, tally))
            }
            b"PAR1" => {
                let tally = super::input::hash_whole(path, advance)?;
                let header = ParquetRows::header(path)?;
                let found = header.resolve(columns).map_err(|kind| kind.in_file(path))?;
                let rows = ParquetRows::open(path, &found)?;
                let rows = TableRows::Parquet(Box::new(rows));
                Ok((Self { header, ..Self::bare(path, rows) }, found, tally))
            }
            _ => {
                let input = InputBytes::open(path, advance)?;
                let tally = input.tally();
                let (table, found) = Self::with_header(input, style, columns)?;
                Ok((table, found, tally))
            }
        }
    }

    /// Opens a text or a workbook without looking for a header; `sheet` chooses one of a workbook.
    pub(crate) fn open_unheaded(
        path: &Path,
        style: Style,
        sheet: Option<&str>,
        advance: &'a dyn Fn(u64),
    ) -> Result<(Self, super::Tally), Error> {
        let mut start = [0; 4];
        let opened = std::fs::File::open(path).map_err(|error| fault::open(error).in_file(path))?;
        let is_long = std::io::Read::read_exact(&mut std::io::BufReader::new(opened), &mut start).is_ok();
        if is_long && &start == b"PK\x03\x04" {
            let tally = super::input::hash_whole(path, advance)?;
            return Ok((Self::bare(path, TableRows::Sheet(SheetRows::open(path, sheet)?)), tally));
        }
        let input = InputBytes::open(path, advance)?;
        let tally = input.tally();
        Ok((Self::unchecked(input, style)?, tally))
    }

    /// A text table whose columns are found by name. Lines above the header are passed over.
    pub(crate) fn with_header(
        input: InputBytes<'a>,
        style: Style,
        columns: &[ColumnNames<'_>],
    ) -> Result<(Self, Vec<Option<usize>>), Error> {
        let path = input.path().to_owned();
        let mut rows = TextRows::new(input, style)?;
        rows.is_above_header = true;
        Self::headed(&path, TableRows::Text(rows), columns)
    }

    /// A text table without a header; every row must have `width` cells.
    pub(crate) fn without_header(
        input: InputBytes<'a>,
        style: Style,
        separator: Separator,
        width: usize,
    ) -> Result<Self, Error> {
        let path = input.path().to_owned();
        let mut rows = TextRows::new(input, style)?;
        rows.last = separator;
        rows.width = Some(width);
        Ok(Self::bare(&path, TableRows::Text(rows)))
    }

    /// A text table without a header whose rows may have any number of cells.
    pub fn unchecked(input: InputBytes<'a>, style: Style) -> Result<Self, Error> {
        let path = input.path().to_owned();
        Ok(Self::bare(&path, TableRows::Text(TextRows::new(input, style)?)))
    }

    /// A text table without a header whose rows have as many cells as the first, and at least `least`.
    pub(crate) fn like_first_row(input: InputBytes<'a>, style: Style, least: usize) -> Result<Self, Error> {
        let path = input.path().to_owned();
        let mut rows = TextRows::new(input, style)?;
        rows.least = Some(least);
        Ok(Self::bare(&path, TableRows::Text(rows)))
    }

    /// A table without a header.
    fn bare(path: &Path, rows: TableRows<'a>) -> Self {
        let has_typed_cells = !matches!(rows, TableRows::Text(_));
        Self {
            path: path.to_owned(),
            header: Header::default(),
            rows,
            decimals: Decimals::new(has_typed_cells),
        }
    }

    /// Requests a decimal mark; without one the numbers decide.
    pub(crate) fn expect_decimal(&mut self, mark: Option<DecimalMark>) {
        self.decimals.request(mark);
    }

    /// Separates all further lines of a text like the last one, instead of guessing for each.
    pub(crate) fn keep_separator(&mut self) {
        if let TableRows::Text(rows) = &mut self.rows {
            rows.separator = Some(rows.last);
        }
    }

    /// Whether empty cells at the end of a row are left out, as in a workbook.
    pub(crate) fn has_short_rows(&self) -> bool {
        matches!(self.rows, TableRows::Sheet(_))
    }

    fn headed(
        path: &Path,
        rows: TableRows<'a>,
        columns: &[ColumnNames<'_>],
    ) -> Result<(Self, Vec<Option<usize>>), Error> {
        let mut table = Self::bare(path, rows);
        let mut best: Option<(usize, u64, Header)> = None;
        for _ in 0..TITLE_LINES {
            let Some(row) = table.next_row()? else { break };
            let line = row.line();
            let names = (0..row.width()).map(|cell| String::from_utf8_lossy(row.bytes(cell)).into_owned());
            let header = Header::new(names.collect());
            if let Ok(found) = header.resolve(columns) {
                table.rows.fix_width(header.names().len());
                table.header = header;
                return Ok((table, found));
            }
            let matches = header.matches(columns);
            if best.as_ref().is_none_or(|(most, ..)| matches > *most) {
                best = Some((matches, line, header));
            }
        }
        let Some((_, line, header)) = best else {
            return Err(table.rows.with_sheets(fault::empty("header line")).in_file(path));
        };
        match header.resolve(columns) {
            Err(error) => Err(table.rows.with_sheets(error).in_file(path).on_line(line)),
            Ok(_) => Err(fault::empty("header line").in_file(path)),
        }
    }

    /// The column names; empty for a table without a header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The next row that is not blank. The end is an error where a number remains ambiguous.
    pub fn next_row(&mut self) -> Result<Option<Row<'_>>, Error> {
        let found = match &mut self.rows {
            TableRows::Text(rows) => rows.next_cells()?,
            TableRows::Sheet(rows) => rows.next_cells(&self.path)?,
            TableRows::Parquet(rows) => rows.next_cells(&self.path)?,
        };
        let Some((text, cells, line)) = found else {
            return match self.decimals.undecided() {
                None => Ok(None),
                Some((line, column)) => {
                    Err(undecided(&self.header.label(column)).in_file(&self.path).on_line(line))
                }
            };
        };
        Ok(Some(Row { path: &self.path, header: &self.header, text, cells, decimals: &self.decimals, line }))
    }
}

/// The error of a comma that may be a decimal one or separate thousands.
fn undecided(column: &str) -> Error {
    Error::damage(
        "the comma may be a decimal one or separate thousands, and no other number of the table decides; give the source \
         the option decimal=comma, or take the commas out",
    )
    .for_key(format!("column {column:?}"))
}

impl TableRows<'_> {
    fn fix_width(&mut self, width: usize) {
        if let TableRows::Text(rows) = self {
            rows.width = Some(width);
            rows.is_above_header = false;
        }
    }

    /// Adds the sheets of a workbook to an error where the first of several was read.
    fn with_sheets(&self, error: Error) -> Error {
        match self {
            TableRows::Sheet(rows) if rows.unread_sheets().len() > 1 => {
                let sheets: Vec<String> =
                    rows.unread_sheets().iter().map(|name| format!("{name:?}")).collect();
                let sheets = sheets.join(", ");
                let message = error.message();
                let advice = "the first one was read, and sheet=NAME of the source chooses another";
                Error::new(
                    error.class(),
                    format!("{message}; the workbook has the sheets {sheets}: {advice}"),
                )
            }
            _ => error,
        }
    }
}

impl<'a> TextRows<'a> {
    fn new(input: InputBytes<'a>, style: Style) -> Result<Self, Error> {
        Ok(Self {
            lines: Lines::new(input, style.format)?,
            separator: style.separator,
            last: Separator::Tab,
            quotes: style.quotes,
            width: None,
            least: None,
            is_above_header: false,
            cells: Vec::new(),
            scratch: Vec::new(),
        })
    }

    fn next_cells(&mut self) -> Result<Option<RowCells<'_>>, Error> {
        loop {
            let Some((from, to)) = self.lines.next_span()? else { return Ok(None) };
            // Spreadsheets write separators alone for rows that were emptied.
            let is_empty = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b';');
            if !self.lines.bytes(from, to).iter().all(is_empty) {
                return self.split(from, to).map(Some);
            }
        }
    }

    fn split(&mut self, from: usize, to: usize) -> Result<RowCells<'_>, Error> {
        let line = self.lines.bytes(from, to);
        // Until the header has fixed the width, every line may be a title with separators of its own.
        if self.width.is_none() {
            self.last = self.separator.unwrap_or_else(|| Separator::guess(line));
        }
        let moved = cells::split(line, self.last.byte(), self.quotes, &mut self.cells, &mut self.scratch);
        let number = self.lines.number();
        if let Some(least) = self.least.take() {
            self.width = Some(self.cells.len().max(least));
        }
        match (moved, self.width) {
            // A stray quote in a title is not a fault of the table.
            (Err(cells::OpenQuote), None) if self.is_above_header => {
                self.cells.clear();
                Ok((line, &self.cells, number))
            }
            (Err(cells::OpenQuote), _) => Err(self.lines.error(fault::open_quote())),
            (Ok(_), Some(expected)) if self.cells.len() != expected => {
                let hint = hint(line, self.last, self.cells.len());
                let found = self.cells.len();
                Err(self.lines.error(fault::cell_count(found, expected, hint)))
            }
            (Ok(true), _) => Ok((&self.scratch, &self.cells, number)),
            (Ok(false), _) => Ok((line, &self.cells, number)),
        }
    }
}

/// Why a row may have another number of cells than the header.
fn hint(line: &[u8], separator: Separator, found: usize) -> &'static str {
    if found > 1 && separator == Separator::Comma {
        return ": the row is shifted, cut off, or has a comma inside a cell; with decimal commas, save it with semicolons or tabs";
    }
    if found > 1 {
        return ": the row is shifted, cut off, or has a separator inside a cell";
    }
    match Separator::guess(line) {
        other if other == separator => "",
        Separator::Tab => "; this line is separated by TABs, unlike the header",
        Separator::Comma => "; this line is separated by commas, unlike the header",
        Separator::Semicolon => "; this line is separated by semicolons, unlike the header",
        Separator::Space => "; this line is separated by spaces, unlike the header",
    }
}
