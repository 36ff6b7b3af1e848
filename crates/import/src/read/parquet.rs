//! A Parquet file as rows of text cells: only the columns asked for are decoded.

use super::cells::Span;
use super::header::Header;
use super::table::Cells;
use crate::error::{BoxedError, ImportError, ImportErrorKind, Place};
use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use knockout_screen::without_panic;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;

const BATCH: usize = 8192;

#[derive(Debug)]
pub(super) struct ParquetRows {
    reader: std::iter::Fuse<ReaderBox>,
    batch: Option<RecordBatch>,
    /// For every column of the batch, its place in the header.
    places: Vec<usize>,
    width: usize,
    next: usize,
    number: u64,
    text: String,
    cells: Vec<Span>,
}

struct ReaderBox(ParquetRecordBatchReader);

impl std::fmt::Debug for ReaderBox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ParquetRecordBatchReader")
    }
}

impl Iterator for ReaderBox {
    type Item = <ParquetRecordBatchReader as Iterator>::Item;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}

fn failed(path: &Path, error: impl Into<BoxedError>) -> ImportError {
    ImportErrorKind::Decode { what: "the Parquet file", source: error.into() }.of(path)
}

fn builder(path: &Path) -> Result<ParquetRecordBatchReaderBuilder<File>, ImportError> {
    let file = File::open(path).map_err(|error| ImportErrorKind::Open(error).of(path))?;
    without_panic(|| Ok(ParquetRecordBatchReaderBuilder::try_new(file)?)).map_err(|error| failed(path, error))
}

impl ParquetRows {
    pub(super) fn header(path: &Path) -> Result<Header, ImportError> {
        let builder = builder(path)?;
        Ok(Header::new(builder.schema().fields().iter().map(|field| field.name().clone()).collect()))
    }

    pub(super) fn open(path: &Path, columns: &[Option<usize>]) -> Result<Self, ImportError> {
        let builder = builder(path)?;
        let width = builder.schema().fields().len();
        let mut places: Vec<usize> = columns.iter().copied().flatten().collect();
        places.sort_unstable();
        places.dedup();
        for &place in &places {
            let field = builder.schema().field(place);
            if !is_readable(field.data_type()) {
                let kind = ImportErrorKind::BadValue {
                    value: field.data_type().to_string(),
                    expected: "a column of text, numbers or truth values".to_owned(),
                };
                return Err(kind.at(path, Place { line: None, column: Some(field.name().clone()) }));
            }
        }
        let mask = ProjectionMask::roots(builder.parquet_schema(), places.iter().copied());
        let reader = without_panic(|| Ok(builder.with_projection(mask).with_batch_size(BATCH).build()?))
            .map_err(|error| failed(path, error))?;
        Ok(Self {
            reader: ReaderBox(reader).fuse(),
            batch: None,
            places,
            width,
            next: 0,
            number: 0,
            text: String::new(),
            cells: Vec::new(),
        })
    }

    pub(super) fn next_cells(&mut self, path: &Path) -> Result<Option<Cells<'_>>, ImportError> {
        while self.batch.as_ref().is_none_or(|batch| self.next == batch.num_rows()) {
            match without_panic(|| Ok(self.reader.next().transpose()?))
                .map_err(|error| failed(path, error))?
            {
                None => return Ok(None),
                Some(batch) => {
                    self.batch = Some(batch);
                    self.next = 0;
                }
            }
        }
        let Some(batch) = &self.batch else { return Ok(None) };
        self.text.clear();
        self.cells.clear();
        self.cells.resize(self.width, (0, 0));
        for (&place, column) in self.places.iter().zip(batch.columns()) {
            let start = self.text.len() as u32;
            write_value(column.as_ref(), self.next, &mut self.text);
            self.cells[place] = (start, self.text.len() as u32);
        }
        self.next += 1;
        self.number += 1;
        Ok(Some((self.text.as_bytes(), &self.cells, self.number)))
    }
}

fn is_readable(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => is_readable(values),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Boolean | DataType::Null => {
            true
        }
        DataType::Float16 => false,
        other => {
            other.is_numeric()
                && !matches!(
                    other,
                    DataType::Decimal32(..)
                        | DataType::Decimal64(..)
                        | DataType::Decimal128(..)
                        | DataType::Decimal256(..)
                )
        }
    }
}

/// Writes a value as text; a null writes nothing. A single-precision number is widened first, so that nothing is lost.
fn write_value(array: &dyn Array, row: usize, text: &mut String) {
    macro_rules! number {
        ($kind:ty) => {
            if let Some(values) = array.as_primitive_opt::<$kind>() {
                write!(text, "{}", values.value(row)).ok();
            }
        };
    }
    if array.is_null(row) {
        return;
    }
    match array.data_type() {
        DataType::Utf8 => text.push_str(array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => text.push_str(array.as_string::<i64>().value(row)),
        DataType::Utf8View => text.push_str(array.as_string_view().value(row)),
        DataType::Boolean => text.push_str(if array.as_boolean().value(row) { "true" } else { "false" }),
        DataType::Float32 => {
            if let Some(values) = array.as_primitive_opt::<Float32Type>() {
                write!(text, "{}", f64::from(values.value(row))).ok();
            }
        }
        DataType::Float64 => number!(Float64Type),
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => number!(Int64Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Dictionary(..) => {
            if let Some(dictionary) = array.as_any_dictionary_opt() {
                let key = dictionary.normalized_keys()[row];
                write_value(dictionary.values().as_ref(), key, text);
            }
        }
        _ => {}
    }
}
