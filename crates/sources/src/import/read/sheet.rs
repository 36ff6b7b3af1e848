//! An xlsx sheet as rows of text cells.
//!
//! The workbook's reader borrows the workbook, so it lives in a thread of its own that hands over rows a block at a
//! time; the blocks are bounded, and so is what a decoder's panic can do.

use super::cells::{CellSpan, RowCells};
use super::unpacked::unpacked_bytes;
use crate::import::fault::{self, BoxedError};
use calamine::{DataRef, Reader as _, Xlsx};
use knockout_base::error::Error;
use knockout_base::unpack;
use std::io::BufReader;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Rows handed over at a time.
const BLOCK: usize = 512;

/// The most columns a row may have: as many as Excel itself allows.
const MAX_COLUMNS: u32 = 16_384;

#[derive(Debug, Default)]
struct SheetRow {
    number: u64,
    text: Vec<u8>,
    cells: Vec<CellSpan>,
}

enum Message {
    /// All sheets, before the rows of the first one.
    Sheets(Vec<String>),
    Rows(Vec<SheetRow>),
    Failed(BoxedError),
    Done,
}

#[derive(Debug)]
pub(super) struct SheetRows {
    receiver: Receiver<Message>,
    block: std::vec::IntoIter<SheetRow>,
    current: SheetRow,
    is_done: bool,
    /// All sheets, where none was chosen.
    sheets: Vec<String>,
}

impl SheetRows {
    pub(super) fn open(path: &Path, sheet: Option<&str>) -> Result<Self, Error> {
        let file = std::fs::File::open(path).map_err(|error| fault::open(error).in_file(path))?;
        let packed = std::fs::read(path).map_err(|error| fault::read(error).in_file(path))?;
        // The reader of the workbook keeps all texts in memory, so the limit holds whatever the proportion.
        let limit_mib = unpack::limit_mib();
        if unpacked_bytes(&packed, limit_mib << 20) > limit_mib << 20 {
            return Err(unpack::refusal(limit_mib).in_file(path));
        }
        drop(packed);
        let (sender, receiver) = sync_channel(4);
        let sheet = sheet.map(str::to_owned);
        let started = std::thread::Builder::new().name("xlsx".to_owned()).spawn(move || {
            let last = match send_rows(BufReader::new(file), sheet.as_deref(), &sender) {
                Ok(()) => Message::Done,
                Err(error) => Message::Failed(error),
            };
            // A receiver that went away wants no more.
            sender.send(last).ok();
        });
        started.map_err(|error| fault::read(error).in_file(path))?;
        Ok(Self {
            receiver,
            block: Vec::new().into_iter(),
            current: SheetRow::default(),
            is_done: false,
            sheets: Vec::new(),
        })
    }

    /// Returns all sheets of the workbook where the first was read because none was chosen.
    pub(super) fn unread_sheets(&self) -> &[String] {
        &self.sheets
    }

    pub(super) fn next_cells(&mut self, path: &Path) -> Result<Option<RowCells<'_>>, Error> {
        loop {
            if let Some(row) = self.block.next() {
                self.current = row;
                return Ok(Some((&self.current.text, &self.current.cells, self.current.number)));
            }
            if self.is_done {
                return Ok(None);
            }
            let failed = |source| Err(fault::decode("the xlsx workbook", source).in_file(path));
            match self.receiver.recv() {
                Ok(Message::Sheets(sheets)) => self.sheets = sheets,
                Ok(Message::Rows(rows)) => self.block = rows.into_iter(),
                Ok(Message::Done) => self.is_done = true,
                Ok(Message::Failed(error)) => return failed(error),
                Err(_) => return failed("the decoder gave up".into()),
            }
        }
    }
}

fn send_rows(
    file: BufReader<std::fs::File>,
    sheet: Option<&str>,
    sender: &SyncSender<Message>,
) -> Result<(), BoxedError> {
    let mut workbook: Xlsx<_> = calamine::open_workbook_from_rs(file)
        .map_err(|error: calamine::XlsxError| format!("{error} (is this an xlsx workbook?)"))?;
    let names = workbook.sheet_names();
    let name = match sheet {
        Some(wanted) => names
            .iter()
            .find(|name| *name == wanted)
            .ok_or_else(|| format!("it has no sheet {wanted:?} (have: {})", names.join(", ")))?,
        None => names.first().ok_or("it has no sheet")?,
    }
    .clone();
    if sheet.is_none() && sender.send(Message::Sheets(names)).is_err() {
        return Ok(());
    }
    let mut cells = workbook.worksheet_cells_reader(&name)?;
    let mut block = Vec::with_capacity(BLOCK);
    let mut row = SheetRow::default();
    while let Some(cell) = cells.next_cell()? {
        let (number, column) = cell.get_position();
        let number = u64::from(number) + 1;
        if column >= MAX_COLUMNS {
            return Err(format!("row {number} has a cell in column {}", u64::from(column) + 1).into());
        }
        if number != row.number {
            if !row.cells.is_empty() {
                block.push(std::mem::take(&mut row));
            }
            row = SheetRow { number, ..SheetRow::default() };
            if block.len() == BLOCK && sender.send(Message::Rows(std::mem::take(&mut block))).is_err() {
                return Ok(());
            }
        }
        if (column as usize) < row.cells.len() {
            return Err(format!("row {number} has its cells out of order").into());
        }
        let end = row.text.len() as u32;
        // Empty cells are not stored: the gaps before this one are.
        row.cells.resize((column as usize).max(row.cells.len()), (end, end));
        write_value(cell.get_value(), &mut row.text);
        row.cells.push((end, row.text.len() as u32));
    }
    if !row.cells.is_empty() {
        block.push(row);
    }
    sender.send(Message::Rows(block)).ok();
    Ok(())
}

fn write_value(value: &DataRef<'_>, text: &mut Vec<u8>) {
    match value {
        // The shortest text that reads back as the same number.
        DataRef::Float(number) => text.extend_from_slice(number.to_string().as_bytes()),
        DataRef::Int(number) => text.extend_from_slice(number.to_string().as_bytes()),
        DataRef::Bool(flag) => text.extend_from_slice(flag.to_string().as_bytes()),
        DataRef::String(word) | DataRef::DateTimeIso(word) | DataRef::DurationIso(word) => {
            text.extend_from_slice(word.as_bytes());
        }
        DataRef::SharedString(word) => text.extend_from_slice(word.as_bytes()),
        // A gene that Excel took for a date: as one it is recognised, as the number that is stored it would not be.
        DataRef::DateTime(date) => {
            let (year, month, day, ..) = date.to_ymd_hms_milli();
            text.extend_from_slice(format!("{year:04}-{month:02}-{day:02}").as_bytes());
        }
        DataRef::Error(error) => text.extend_from_slice(error.to_string().as_bytes()),
        DataRef::Empty => {}
    }
}
