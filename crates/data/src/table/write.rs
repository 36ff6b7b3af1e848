//! Columns to the bytes of a Parquet file.
//!
//! Integer columns are delta-encoded and nothing is compressed: sorted indices shrink more that way than by a general codec, decode
//! faster, and every Parquet reader understands it. The writer's name is pinned, so that equal data are equal bytes. A column is a
//! function of the row, called for one row group at a time: a table of millions of rows is never a second time in memory.

use crate::table::arrow_schema::{self, ArrowField};
use crate::table::coded;
use crate::table::kind::ColumnType;
use knockout_base::error::Error;
use parquet::basic::{Encoding, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnDescPtr, SchemaDescriptor, Type};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Rows of a row group.
const GROUP: usize = 1 << 20;

/// Rows of a page, the `parquet` crate's limit.
const PAGE: usize = 20_000;

/// A table to be written.
pub struct Columns<'a> {
    row_count: usize,
    all: Vec<WrittenColumn<'a>>,
    metadata: BTreeMap<String, String>,
}

struct WrittenColumn<'a> {
    name: String,
    kind: ColumnType,
    is_nullable: bool,
    fill: Fill<'a>,
}

/// The values of some rows.
type Fill<'a> = Box<dyn Fn(Range<usize>) -> LeafColumn<'a> + Send + Sync + 'a>;

/// A row group of a file in memory.
type RowGroup<'g> = SerializedRowGroupWriter<'g, Vec<u8>>;

/// Leaf values with their definition and repetition levels.
struct LeafColumn<'a> {
    values: ColumnValues<'a>,
    definitions: Option<Vec<i16>>,
    repetitions: Option<Vec<i16>>,
}

enum ColumnValues<'a> {
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Text(Vec<ByteArray>),
    /// Words, and a code for each value.
    Codes(&'a [&'a str], Vec<u32>),
}

impl<'a> LeafColumn<'a> {
    fn required(values: ColumnValues<'a>) -> Self {
        Self { values, definitions: None, repetitions: None }
    }

    fn optional<T>(
        items: impl ExactSizeIterator<Item = Option<T>>,
        values: impl FnOnce(Vec<T>) -> ColumnValues<'a>,
    ) -> Self {
        let mut definitions = Vec::with_capacity(items.len());
        let known = items.inspect(|item| definitions.push(i16::from(item.is_some()))).flatten().collect();
        Self { values: values(known), definitions: Some(definitions), repetitions: None }
    }

    /// Creates lists; with nulls allowed, empty ones become null.
    fn lists<'l>(lists: impl Iterator<Item = &'l [u32]>, is_nullable: bool) -> Self {
        let (mut values, mut definitions, mut repetitions) = (Vec::new(), Vec::new(), Vec::new());
        for list in lists {
            values.extend(list.iter().map(|&item| item as i32));
            definitions.extend(list.iter().map(|_| 1 + i16::from(is_nullable)));
            repetitions.extend((0..list.len()).map(|index| i16::from(index > 0)));
            if list.is_empty() {
                definitions.push(0);
                repetitions.push(0);
            }
        }
        Self {
            values: ColumnValues::I32(values),
            definitions: Some(definitions),
            repetitions: Some(repetitions),
        }
    }

    fn write(&self, group: &mut RowGroup<'_>, described: &ColumnDescPtr) -> Result<(), ParquetError> {
        match &self.values {
            ColumnValues::I32(values) => self.write_as::<Int32Type>(values, group),
            ColumnValues::I64(values) => self.write_as::<Int64Type>(values, group),
            ColumnValues::F32(values) => self.write_as::<FloatType>(values, group),
            ColumnValues::F64(values) => self.write_as::<DoubleType>(values, group),
            ColumnValues::Text(values) => self.write_as::<ByteArrayType>(values, group),
            ColumnValues::Codes(words, codes) => {
                coded::append(group, words, codes, self.definitions.as_deref(), Arc::clone(described))
            }
        }
    }

    fn write_as<T: DataType>(&self, values: &[T::T], group: &mut RowGroup<'_>) -> Result<(), ParquetError> {
        let Some(mut column) = group.next_column()? else { return Ok(()) };
        let out = column.typed::<T>();
        let (definitions, repetitions) = (self.definitions.as_deref(), self.repetitions.as_deref());
        let value_count = definitions.map_or(values.len(), <[i16]>::len);
        // Where all or none are there, pages end after so many rows; else after the next thousand, as the writer has it.
        let is_even = definitions.is_some()
            && (values.is_empty() || repetitions.is_none() && values.len() == value_count);
        let step = if is_even { PAGE } else { value_count.max(1) };
        for start in (0..value_count).step_by(step) {
            let range = start..value_count.min(start + step);
            let values = if is_even && !values.is_empty() { &values[range.clone()] } else { values };
            let definitions = definitions.map(|levels| &levels[range.clone()]);
            out.write_batch(values, definitions, repetitions.map(|levels| &levels[range]))?;
        }
        column.close()
    }
}

impl<'a> Columns<'a> {
    /// Creates a table of some rows without columns.
    pub fn new(row_count: usize) -> Self {
        Self { row_count, all: Vec::new(), metadata: BTreeMap::new() }
    }

    /// Number of rows.
    pub fn row_count(&self) -> usize {
        self.row_count
    }

    /// Adds a metadata value to the file.
    #[must_use]
    pub fn with_metadata(mut self, key: &str, value: impl Into<String>) -> Self {
        self.metadata.insert(key.to_owned(), value.into());
        self
    }

    /// A column of whole numbers.
    #[must_use]
    pub fn u32s(self, name: &str, value: impl Fn(usize) -> u32 + Send + Sync + 'a) -> Self {
        self.add(name, ColumnType::U32, false, move |rows| {
            LeafColumn::required(ColumnValues::I32(rows.map(|row| value(row) as i32).collect()))
        })
    }

    /// Adds a nullable column of whole numbers.
    #[must_use]
    pub fn optional_u32s(self, name: &str, value: impl Fn(usize) -> Option<u32> + Send + Sync + 'a) -> Self {
        self.add(name, ColumnType::U32, true, move |rows| {
            LeafColumn::optional(rows.map(|row| value(row).map(|value| value as i32)), ColumnValues::I32)
        })
    }

    /// A column of large whole numbers.
    #[must_use]
    pub fn u64s(self, name: &str, value: impl Fn(usize) -> u64 + Send + Sync + 'a) -> Self {
        self.add(name, ColumnType::U64, false, move |rows| {
            LeafColumn::required(ColumnValues::I64(rows.map(|row| value(row) as i64).collect()))
        })
    }

    /// Adds a column of numbers in single precision.
    #[must_use]
    pub fn f32s(self, name: &str, value: impl Fn(usize) -> f32 + Send + Sync + 'a) -> Self {
        self.add(name, ColumnType::F32, false, move |rows| {
            LeafColumn::required(ColumnValues::F32(rows.map(&value).collect()))
        })
    }

    /// Adds a nullable column of numbers in single precision.
    #[must_use]
    pub fn optional_f32s(self, name: &str, value: impl Fn(usize) -> Option<f32> + Send + Sync + 'a) -> Self {
        self.add(name, ColumnType::F32, true, move |rows| {
            LeafColumn::optional(rows.map(&value), ColumnValues::F32)
        })
    }

    /// A column of numbers.
    #[must_use]
    pub fn f64s(self, name: &str, value: impl Fn(usize) -> f64 + Send + Sync + 'a) -> Self {
        self.add(name, ColumnType::F64, false, move |rows| {
            LeafColumn::required(ColumnValues::F64(rows.map(&value).collect()))
        })
    }

    /// Adds a nullable column of numbers.
    #[must_use]
    pub fn optional_f64s(self, name: &str, value: impl Fn(usize) -> Option<f64> + Send + Sync + 'a) -> Self {
        self.add(name, ColumnType::F64, true, move |rows| {
            LeafColumn::optional(rows.map(&value), ColumnValues::F64)
        })
    }

    /// A column of text.
    #[must_use]
    pub fn texts(self, name: &str, value: impl Fn(usize) -> &'a str + Send + Sync + 'a) -> Self {
        self.add(name, ColumnType::Text, false, move |rows| {
            LeafColumn::required(ColumnValues::Text(rows.map(|row| ByteArray::from(value(row))).collect()))
        })
    }

    /// Adds a nullable column of text.
    #[must_use]
    pub fn optional_texts(
        self,
        name: &str,
        value: impl Fn(usize) -> Option<&'a str> + Send + Sync + 'a,
    ) -> Self {
        self.add(name, ColumnType::Text, true, move |rows| {
            LeafColumn::optional(rows.map(|row| value(row).map(ByteArray::from)), ColumnValues::Text)
        })
    }

    /// A column of few distinct words.
    #[must_use]
    pub fn words(self, name: &str, value: impl Fn(usize) -> &'a str + Send + Sync + 'a) -> Self {
        self.add(name, ColumnType::Words, false, move |rows| {
            // Equal words in turn share their bytes.
            let mut last: Option<(&str, ByteArray)> = None;
            let word = |row| {
                let word = value(row);
                match &last {
                    Some((known, bytes)) if *known == word => bytes.clone(),
                    _ => last.insert((word, ByteArray::from(word))).1.clone(),
                }
            };
            LeafColumn::required(ColumnValues::Text(rows.map(word).collect()))
        })
    }

    /// Adds a column of words whose codes are known, so no word is looked up. Readers see the same column in other bytes.
    #[must_use]
    pub fn coded(
        self,
        name: &str,
        words: &'a [&'a str],
        code: impl Fn(usize) -> u32 + Send + Sync + 'a,
    ) -> Self {
        self.add(name, ColumnType::Words, false, move |rows| {
            LeafColumn::required(ColumnValues::Codes(words, rows.map(&code).collect()))
        })
    }

    /// Like the column of coded words, but with missing values.
    #[must_use]
    pub fn optional_coded(
        self,
        name: &str,
        words: &'a [&'a str],
        code: impl Fn(usize) -> Option<u32> + Send + Sync + 'a,
    ) -> Self {
        self.add(name, ColumnType::Words, true, move |rows| {
            LeafColumn::optional(rows.map(&code), |codes| ColumnValues::Codes(words, codes))
        })
    }

    /// A column of lists.
    #[must_use]
    pub fn lists(self, name: &str, value: impl Fn(usize) -> &'a [u32] + Send + Sync + 'a) -> Self {
        self.add(name, ColumnType::Lists, false, move |rows| LeafColumn::lists(rows.map(&value), false))
    }

    /// Adds a column of lists; empty ones become null.
    #[must_use]
    pub fn optional_lists(self, name: &str, value: impl Fn(usize) -> &'a [u32] + Send + Sync + 'a) -> Self {
        self.add(name, ColumnType::Lists, true, move |rows| LeafColumn::lists(rows.map(&value), true))
    }

    fn add(
        mut self,
        name: &str,
        kind: ColumnType,
        is_nullable: bool,
        fill: impl Fn(Range<usize>) -> LeafColumn<'a> + Send + Sync + 'a,
    ) -> Self {
        self.all.push(WrittenColumn { name: name.to_owned(), kind, is_nullable, fill: Box::new(fill) });
        self
    }

    /// The bytes of a Parquet file.
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        let encoded = self.write();
        encoded.map_err(|error| Error::failure("the table cannot be encoded as Parquet").caused_by(error))
    }

    fn write(&self) -> Result<Vec<u8>, ParquetError> {
        let schema = Arc::new(self.schema()?);
        let described = SchemaDescriptor::new(Arc::clone(&schema));
        let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(self.properties(&described)))?;
        for start in (0..self.row_count).step_by(GROUP) {
            let rows = start..self.row_count.min(start + GROUP);
            let mut group = file.next_row_group()?;
            for (column, described) in self.all.iter().zip(described.columns()) {
                (column.fill)(rows.clone()).write(&mut group, described)?;
            }
            group.close()?;
        }
        file.into_inner()
    }

    fn schema(&self) -> Result<Type, ParquetError> {
        let fields = self
            .all
            .iter()
            .map(|column| column.kind.parquet_type(&column.name, column.is_nullable).map(Arc::new));
        let fields = fields.collect::<Result<Vec<_>, _>>()?;
        Type::group_type_builder("arrow_schema").with_fields(fields).build()
    }

    fn properties(&self, schema: &SchemaDescriptor) -> WriterProperties {
        let fields: Vec<ArrowField<'_>> = self
            .all
            .iter()
            .map(|column| ArrowField {
                name: &column.name,
                kind: column.kind,
                is_nullable: column.is_nullable,
            })
            .collect();
        let arrow = arrow_schema::encode(&fields, &self.metadata);
        let mut properties = WriterProperties::builder()
            .set_created_by("knockout".to_owned())
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_key_value_metadata(Some(vec![KeyValue::new(arrow_schema::KEY.to_owned(), arrow)]));
        for column in schema.columns() {
            // Word columns keep their dictionary; indices are nearly sorted and take a delta instead.
            if matches!(column.physical_type(), Physical::INT32 | Physical::INT64) {
                properties = properties
                    .set_column_dictionary_enabled(column.path().clone(), false)
                    .set_column_encoding(column.path().clone(), Encoding::DELTA_BINARY_PACKED);
            } else if column.physical_type() == Physical::DOUBLE {
                properties = properties.set_column_dictionary_enabled(column.path().clone(), false);
            }
        }
        properties.build()
    }
}
