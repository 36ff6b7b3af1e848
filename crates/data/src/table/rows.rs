//! The rows of any Parquet file whose columns are numbers, text and truth values: other people's tables, as text cells.

use crate::table::error::{undecodable, without_panic, wrong_type};
use crate::table::kind::name_of;
use crate::table::pages;
use knockout_base::error::Result;
use knockout_base::unpack;
use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::file::reader::{FileReader as _, Length as ChunkLength, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;
use std::fmt::Write as _;
use std::fs::File;
use std::sync::Arc;

/// Rows that are decoded at a time.
const BATCH: usize = 8192;

/// Rows of a file, of which only some columns are decoded.
pub struct Rows {
    file: SerializedFileReader<File>,
    columns: Vec<DecodedColumn>,
    /// The row group that comes next.
    group: usize,
    /// Rows of the batch, and of these the ones that were read.
    batch: usize,
    next: usize,
    /// Bytes of the file.
    packed: u64,
}

struct DecodedColumn {
    /// Its number among all columns that hold values.
    leaf: usize,
    is_unsigned: bool,
    reader: Option<ColumnReader>,
    /// The batch's cells one after the other, and where each ends.
    text: String,
    ends: Vec<usize>,
}

impl std::fmt::Debug for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rows").field("group", &self.group).field("next", &self.next).finish_non_exhaustive()
    }
}

fn open(file: File) -> Result<SerializedFileReader<File>> {
    without_panic(|| SerializedFileReader::new(file).map_err(undecodable))
}

impl Rows {
    /// The names of a file's columns.
    pub fn names(file: File) -> Result<Vec<String>> {
        let file = open(file)?;
        Ok(file
            .metadata()
            .file_metadata()
            .schema()
            .get_fields()
            .iter()
            .map(|f| f.name().to_owned())
            .collect())
    }

    /// The rows of a file; of the columns by their indices in [`Rows::names`].
    pub fn open(file: File, indices: &[usize]) -> Result<Self> {
        let chunks = Arc::new(file.try_clone().map_err(undecodable)?);
        let file = open(file)?;
        let schema = file.metadata().file_metadata().schema_descr();
        let column = |&index: &usize| {
            let leaf = (0..schema.num_columns()).find(|&leaf| schema.get_column_root_idx(leaf) == index);
            let column = leaf.map(|leaf| (leaf, schema.column(leaf)));
            match column {
                Some((leaf, column)) if is_readable(&column) => Ok(DecodedColumn {
                    leaf,
                    is_unsigned: matches!(
                        column.converted_type(),
                        ConvertedType::UINT_8
                            | ConvertedType::UINT_16
                            | ConvertedType::UINT_32
                            | ConvertedType::UINT_64
                    ),
                    reader: None,
                    text: String::new(),
                    ends: Vec::new(),
                }),
                other => {
                    let root = schema.root_schema().get_fields().get(index);
                    let found = other.map_or_else(|| "nothing".to_owned(), |(_, column)| name_of(&column));
                    let name = root.map(|field| field.name()).unwrap_or_default();
                    Err(wrong_type(name, &found, "text, numbers or truth values"))
                }
            }
        };
        let columns = indices.iter().map(column).collect::<Result<Vec<_>>>()?;
        pages::check(&file, &chunks, |leaf| columns.iter().any(|column| column.leaf == leaf))?;
        Ok(Self { columns, file, group: 0, batch: 0, next: 0, packed: ChunkLength::len(&*chunks) })
    }

    /// Number of all columns of the file.
    pub fn width(&self) -> usize {
        self.file.metadata().file_metadata().schema().get_fields().len()
    }

    /// Goes to the next row; `false` after the last.
    pub fn advance(&mut self) -> Result<bool> {
        self.next += 1;
        while self.next >= self.batch {
            self.next = 0;
            self.batch = without_panic(|| self.read_batch())?;
            if self.batch == 0 && !self.open_group()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The cell of the present row in a column, by its index among the requested columns; empty where there is no value.
    pub fn cell(&self, column: usize) -> &str {
        let DecodedColumn { text, ends, .. } = &self.columns[column];
        let start = if self.next == 0 { 0 } else { ends[self.next - 1] };
        &text[start..ends[self.next]]
    }

    fn open_group(&mut self) -> Result<bool> {
        if self.columns.is_empty() || self.group == self.file.num_row_groups() {
            return Ok(false);
        }
        without_panic(|| {
            let group = self.file.get_row_group(self.group).map_err(undecodable)?;
            for column in &mut self.columns {
                column.reader = Some(group.get_column_reader(column.leaf).map_err(undecodable)?);
            }
            Ok(())
        })?;
        self.group += 1;
        Ok(true)
    }

    /// Decodes rows of the open row group; their number, 0 at its end.
    fn read_batch(&mut self) -> Result<usize> {
        let mut rows = 0;
        for (index, column) in self.columns.iter_mut().enumerate() {
            column.read(self.packed)?;
            if index > 0 && column.ends.len() != rows {
                return Err(undecodable("its columns have different numbers of rows"));
            }
            rows = column.ends.len();
        }
        Ok(rows)
    }
}

impl DecodedColumn {
    fn read(&mut self, packed: u64) -> Result<()> {
        self.text.clear();
        self.ends.clear();
        let is_unsigned = self.is_unsigned;
        let Some(reader) = &mut self.reader else { return Ok(()) };
        let out = CellsOut { text: &mut self.text, ends: &mut self.ends, packed };
        match reader {
            ColumnReader::BoolColumnReader(reader) => {
                cells(reader, out, |value, text| write!(text, "{value}"))
            }
            ColumnReader::Int32ColumnReader(reader) => cells(reader, out, |value, text| {
                if is_unsigned { write!(text, "{}", value as u32) } else { write!(text, "{value}") }
            }),
            ColumnReader::Int64ColumnReader(reader) => cells(reader, out, |value, text| {
                if is_unsigned { write!(text, "{}", value as u64) } else { write!(text, "{value}") }
            }),
            // Widened first, so that nothing is lost.
            ColumnReader::FloatColumnReader(reader) => {
                cells(reader, out, |value, text| write!(text, "{}", f64::from(value)))
            }
            ColumnReader::DoubleColumnReader(reader) => {
                cells(reader, out, |value, text| write!(text, "{value}"))
            }
            ColumnReader::ByteArrayColumnReader(reader) => {
                let mut is_text = true;
                cells(reader, out, |value, text| {
                    let value = value.as_utf8().inspect_err(|_| is_text = false);
                    text.write_str(value.unwrap_or_default())
                })?;
                is_text.then_some(()).ok_or_else(|| undecodable("a text is not UTF-8"))
            }
            _ => Ok(()),
        }
    }
}

/// The cells of a batch, and the size of their file.
struct CellsOut<'a> {
    text: &'a mut String,
    ends: &'a mut Vec<usize>,
    packed: u64,
}

/// Appends the cells of the next rows.
fn cells<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    CellsOut { text, ends, packed }: CellsOut<'_>,
    mut write: impl FnMut(T::T, &mut String) -> std::fmt::Result,
) -> Result<()> {
    let (mut values, mut definitions) = (Vec::new(), Vec::new());
    let read = reader.read_records(BATCH, Some(&mut definitions), None, &mut values);
    let (rows, ..) = read.map_err(undecodable)?;
    let mut values = values.into_iter();
    for row in 0..rows {
        // Columns without nulls have no definitions.
        if definitions.get(row).is_none_or(|&definition| definition > 0)
            && let Some(value) = values.next()
        {
            // Text takes whatever is written.
            write(value, text).ok();
            unpack::check(packed, text.len() as u64, unpack::TEXT_RATIO)?;
        }
        ends.push(text.len());
    }
    Ok(())
}

fn is_readable(column: &ColumnDescriptor) -> bool {
    if column.path().parts().len() > 1 || column.max_rep_level() > 0 {
        return false;
    }
    // A column that has nothing but nulls.
    if matches!(column.logical_type_ref(), Some(LogicalType::Unknown)) {
        return true;
    }
    match column.physical_type() {
        Physical::BOOLEAN | Physical::FLOAT | Physical::DOUBLE => true,
        Physical::BYTE_ARRAY => {
            matches!(column.converted_type(), ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON)
        }
        // Neither dates and times nor decimals.
        Physical::INT32 | Physical::INT64 => match column.logical_type_ref() {
            Some(logical) => matches!(logical, LogicalType::Integer(_)),
            None => column.converted_type() == ConvertedType::NONE,
        },
        Physical::INT96 | Physical::FIXED_LEN_BYTE_ARRAY => false,
    }
}
