//! A Parquet file as rows of text cells: only the requested columns are decoded.

use super::cells::{CellSpan, RowCells};
use super::header::Header;
use crate::import::fault;
use knockout_base::error::Error;
use knockout_base::unpack;
use knockout_data::table::Rows;
use std::fs::File;
use std::path::Path;

#[derive(Debug)]
pub(super) struct ParquetRows {
    rows: Rows,
    /// For every column that is decoded, its index in the header.
    indices: Vec<usize>,
    width: usize,
    number: u64,
    text: String,
    cells: Vec<CellSpan>,
    /// Size of the file, and bytes of the cells so far: runs of equal values take no room in a file.
    packed: u64,
    unpacked: u64,
}

fn open(path: &Path) -> Result<File, Error> {
    File::open(path).map_err(|error| fault::open(error).in_file(path))
}

fn failed(path: &Path, error: Error) -> Error {
    fault::decode("the Parquet file", error).in_file(path)
}

impl ParquetRows {
    pub(super) fn header(path: &Path) -> Result<Header, Error> {
        Rows::names(open(path)?).map(Header::new).map_err(|error| failed(path, error))
    }

    pub(super) fn open(path: &Path, columns: &[Option<usize>]) -> Result<Self, Error> {
        let mut indices: Vec<usize> = columns.iter().copied().flatten().collect();
        indices.sort_unstable();
        indices.dedup();
        let file = open(path)?;
        let packed = file.metadata().map_or(0, |found| found.len());
        let rows = Rows::open(file, &indices).map_err(|error| failed(path, error))?;
        let width = rows.width();
        Ok(Self {
            rows,
            indices,
            width,
            number: 0,
            text: String::new(),
            cells: Vec::new(),
            packed,
            unpacked: 0,
        })
    }

    pub(super) fn next_cells(&mut self, path: &Path) -> Result<Option<RowCells<'_>>, Error> {
        if !self.rows.advance().map_err(|error| failed(path, error))? {
            return Ok(None);
        }
        self.text.clear();
        self.cells.clear();
        self.cells.resize(self.width, (0, 0));
        for (column, &index) in self.indices.iter().enumerate() {
            let start = self.text.len() as u32;
            self.text.push_str(self.rows.cell(column));
            self.cells[index] = (start, self.text.len() as u32);
        }
        self.unpacked += (self.text.len() + self.indices.len()) as u64;
        unpack::check(self.packed, self.unpacked, unpack::TEXT_RATIO).map_err(|error| error.in_file(path))?;
        self.number += 1;
        Ok(Some((self.text.as_bytes(), &self.cells, self.number)))
    }
}
