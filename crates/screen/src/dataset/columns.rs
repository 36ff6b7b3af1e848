//! Columns to Parquet bytes and back, with every type checked on the way in.
//!
//! Integer columns are delta-encoded and nothing is compressed: sorted indices shrink more that way than by a general
//! codec, decode faster, and every Parquet reader understands it. The writer's name is pinned, so that equal data are
//! equal bytes.

use super::coded;
use arrow_array::builder::{ListBuilder, StringDictionaryBuilder, UInt32Builder};
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float32Type, Float64Type, Int32Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, Float32Array, Float64Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Field};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::arrow_writer::compute_leaves;
use parquet::basic::{Encoding, Type as PhysicalType};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use std::sync::Arc;

/// What can be wrong with a table.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ColumnError {
    /// Not Parquet, or damaged.
    #[error("the Parquet data cannot be decoded")]
    Parquet(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// There is not enough memory for what it says it holds.
    #[error("it does not fit into memory")]
    TooLarge(#[source] knockout_limits::TooLarge),
    /// A column is not there.
    #[error("column {name:?} is missing (have: {})", have.join(", "))]
    Missing {
        /// The column looked for.
        name: String,
        /// The columns found.
        have: Vec<String>,
    },
    /// A column of another type.
    #[error("column {name:?} holds {found}, expected {expected}")]
    WrongType {
        /// Name of the column.
        name: String,
        /// Type it has in the file.
        found: String,
        /// The type it should have.
        expected: &'static str,
    },
    /// A null where there must be a value.
    #[error("column {name:?} has no value in row {row}")]
    Null {
        /// Name of the column.
        name: String,
        /// The row, from 0.
        row: usize,
    },
}

impl From<arrow_schema::ArrowError> for ColumnError {
    fn from(error: arrow_schema::ArrowError) -> Self {
        Self::Parquet(error.into())
    }
}

impl From<parquet::errors::ParquetError> for ColumnError {
    fn from(error: parquet::errors::ParquetError) -> Self {
        Self::Parquet(error.into())
    }
}

/// The Arrow type of columns made by [`words`].
pub(crate) fn words_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

/// The Arrow type of columns made by [`lists`].
pub(crate) fn list_type() -> DataType {
    DataType::List(Arc::new(Field::new("item", DataType::UInt32, false)))
}

/// A column of whole numbers.
pub fn u32s(values: impl IntoIterator<Item = u32>) -> ArrayRef {
    Arc::new(UInt32Array::from_iter_values(values))
}

/// A column of whole numbers; `None` becomes null.
pub fn optional_u32s(values: impl IntoIterator<Item = Option<u32>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<UInt32Array>())
}

/// A column of large whole numbers.
pub fn u64s(values: impl IntoIterator<Item = u64>) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values(values))
}

pub(crate) fn f32s(values: impl IntoIterator<Item = f32>) -> ArrayRef {
    Arc::new(Float32Array::from_iter_values(values))
}

/// A column of numbers; NaN becomes null.
pub(crate) fn known_f32s(values: impl IntoIterator<Item = f32>) -> ArrayRef {
    let known = |value: f32| (!value.is_nan()).then_some(value);
    Arc::new(values.into_iter().map(known).collect::<Float32Array>())
}

/// A column of numbers; `None` becomes null.
pub fn f64s(values: impl IntoIterator<Item = Option<f64>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<Float64Array>())
}

pub(crate) fn strings<'a>(values: impl IntoIterator<Item = Option<&'a str>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<StringArray>())
}

/// A dictionary column: few distinct words.
pub(crate) fn words<'a>(values: impl IntoIterator<Item = &'a str>) -> ArrayRef {
    let mut builder = StringDictionaryBuilder::<Int32Type>::new();
    for value in values {
        builder.append_value(value);
    }
    Arc::new(builder.finish())
}

/// A column of lists; an empty list becomes null.
pub(crate) fn lists<'a>(values: impl IntoIterator<Item = &'a [u32]>) -> ArrayRef {
    let mut builder =
        ListBuilder::new(UInt32Builder::new()).with_field(Field::new("item", DataType::UInt32, false));
    for value in values {
        builder.values().append_slice(value);
        builder.append(!value.is_empty());
    }
    Arc::new(builder.finish())
}

/// Encodes a table as a Parquet file.
pub fn encode(batch: &RecordBatch) -> Result<Vec<u8>, ColumnError> {
    let mut writer = writer(batch)?;
    writer.write(batch)?;
    Ok(writer.into_inner()?)
}

/// The same for a table without lists, of many rows and few words: columns of words keep the codes that they have, where [`encode`] looks up
/// the word of every row. The same columns to a reader, in other bytes.
pub fn encode_coded(batch: &RecordBatch) -> Result<Vec<u8>, ColumnError> {
    let (mut file, factory) = writer(batch)?.into_serialized_writer()?;
    if batch.num_rows() > 0 {
        let schema = batch.schema();
        let described = file.schema_descr().columns().to_vec();
        let mut group = file.next_row_group()?;
        let columns = schema.fields().iter().zip(batch.columns());
        for ((field, column), (encoder, described)) in
            columns.zip(factory.create_column_writers(0)?.into_iter().zip(described))
        {
            if let Some(words) = column.as_dictionary_opt::<Int32Type>() {
                coded::append(&mut group, words, described)?;
                continue;
            }
            let mut encoder = encoder;
            for leaf in compute_leaves(field, column)? {
                encoder.write(&leaf)?;
            }
            encoder.close()?.append_to_row_group(&mut group)?;
        }
        group.close()?;
    }
    Ok(file.into_inner()?)
}

fn writer(batch: &RecordBatch) -> Result<ArrowWriter<Vec<u8>>, ColumnError> {
    let mut properties = WriterProperties::builder()
        .set_created_by("knockout".to_owned())
        .set_statistics_enabled(EnabledStatistics::Chunk);
    let schema = parquet::arrow::ArrowSchemaConverter::new().convert(batch.schema_ref())?;
    for column in schema.columns() {
        // Word columns keep their dictionary; indices are nearly sorted and take a delta instead.
        if matches!(column.physical_type(), PhysicalType::INT32 | PhysicalType::INT64) {
            properties = properties
                .set_column_dictionary_enabled(column.path().clone(), false)
                .set_column_encoding(column.path().clone(), Encoding::DELTA_BINARY_PACKED);
        } else if column.physical_type() == PhysicalType::DOUBLE {
            properties = properties.set_column_dictionary_enabled(column.path().clone(), false);
        }
    }
    Ok(ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties.build()))?)
}

/// Runs a Parquet reader that panics on some damaged files (the `parquet` crate asserts that lengths are not negative),
/// and makes that an error.
pub fn without_panic<T>(read: impl FnOnce() -> Result<T, ColumnError>) -> Result<T, ColumnError> {
    // Whatever the reader leaves half done is dropped with it.
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let said = said.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(ColumnError::Parquet(said.unwrap_or_else(|| "the reader gave up".to_owned()).into()))
    })
}

/// A column of few distinct words.
pub(crate) struct WordColumn {
    words: Vec<String>,
    codes: Vec<u32>,
}

impl WordColumn {
    pub(crate) fn get(&self, row: usize) -> &str {
        &self.words[self.codes[row] as usize]
    }

    fn code_of(&mut self, word: &str) -> u32 {
        let known = self.words.iter().position(|known| known == word);
        known.unwrap_or_else(|| {
            self.words.push(word.to_owned());
            self.words.len() - 1
        }) as u32
    }
}

/// A column of numbers, not all of which need be there. A screen of millions of samples has several: a value and a mark take half as
/// much as an `Option`.
pub(crate) struct NumberColumn {
    values: Vec<f64>,
    /// Empty where all are.
    is_known: Vec<bool>,
}

impl NumberColumn {
    pub(crate) fn get(&self, row: usize) -> Option<f64> {
        let is_known = self.is_known.get(row).copied().unwrap_or(true);
        is_known.then(|| self.values[row])
    }
}

/// A decoded table.
pub struct Table {
    batches: Vec<RecordBatch>,
    schema: arrow_schema::SchemaRef,
    row_count: usize,
}

impl Table {
    /// Decodes a Parquet file held in memory; any bytes give a table or an error.
    pub fn decode(bytes: Vec<u8>) -> Result<Self, ColumnError> {
        without_panic(|| Self::decode_trusting(bytes))
    }

    fn decode_trusting(bytes: Vec<u8>) -> Result<Self, ColumnError> {
        let builder = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes))?;
        // Runs of equal values take no room in a file: a few bytes can say that they are billions.
        let columns = builder.metadata().row_groups().iter().flat_map(RowGroupMetaData::columns);
        let needed = columns
            .map(|column| width(column.column_type()).saturating_mul(column.num_values().max(0) as u64));
        let needed = needed.fold(0, u64::saturating_add);
        knockout_limits::check("decoding it", needed).map_err(ColumnError::TooLarge)?;
        let schema = builder.schema().clone();
        let batches = builder.with_batch_size(1 << 16).build()?.collect::<Result<Vec<_>, _>>()?;
        let row_count = batches.iter().map(RecordBatch::num_rows).sum();
        Ok(Self { batches, schema, row_count })
    }

    /// Number of rows.
    pub fn row_count(&self) -> usize {
        self.row_count
    }

    /// Whether there is a column of that name.
    pub fn has(&self, name: &str) -> bool {
        self.schema.index_of(name).is_ok()
    }

    /// What the file says of itself under a key.
    pub fn metadata(&self, key: &str) -> Option<&str> {
        self.schema.metadata().get(key).map(String::as_str)
    }

    /// A column of whole numbers without nulls.
    pub fn u32s(&self, name: &str) -> Result<Vec<u32>, ColumnError> {
        let mut values = Vec::with_capacity(self.row_count);
        self.each(name, "u32", |array| {
            let array = array.as_primitive_opt::<UInt32Type>()?;
            values.extend_from_slice(array.values());
            Some(())
        })?;
        self.no_nulls(name)?;
        Ok(values)
    }

    /// A column of whole numbers, `None` where there is no value.
    pub fn optional_u32s(&self, name: &str) -> Result<Vec<Option<u32>>, ColumnError> {
        let mut values = Vec::with_capacity(self.row_count);
        self.each(name, "u32", |array| {
            values.extend(array.as_primitive_opt::<UInt32Type>()?.iter());
            Some(())
        })?;
        Ok(values)
    }

    /// A column of large whole numbers without nulls.
    pub fn u64s(&self, name: &str) -> Result<Vec<u64>, ColumnError> {
        let mut values = Vec::with_capacity(self.row_count);
        self.each(name, "u64", |array| {
            values.extend_from_slice(array.as_primitive_opt::<UInt64Type>()?.values());
            Some(())
        })?;
        self.no_nulls(name)?;
        Ok(values)
    }

    pub(crate) fn f32s(&self, name: &str) -> Result<Vec<f32>, ColumnError> {
        let mut values = Vec::with_capacity(self.row_count);
        self.each(name, "f32", |array| {
            let array = array.as_primitive_opt::<Float32Type>()?;
            values.extend_from_slice(array.values());
            Some(())
        })?;
        self.no_nulls(name)?;
        Ok(values)
    }

    /// A column of numbers, NaN where there is no value.
    pub(crate) fn known_f32s(&self, name: &str) -> Result<Vec<f32>, ColumnError> {
        let mut values = Vec::with_capacity(self.row_count);
        self.each(name, "f32", |array| {
            let array = array.as_primitive_opt::<Float32Type>()?;
            values.extend(array.iter().map(|value| value.unwrap_or(f32::NAN)));
            Some(())
        })?;
        Ok(values)
    }

    /// Names of all columns, in their order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.schema.fields().iter().map(|field| field.name().as_str())
    }

    /// A column of numbers without nulls.
    pub fn f64s(&self, name: &str) -> Result<Vec<f64>, ColumnError> {
        self.no_nulls(name)?;
        Ok(self.optional_f64s(name)?.values)
    }

    /// A column of numbers, not all of which need be there.
    pub(crate) fn optional_f64s(&self, name: &str) -> Result<NumberColumn, ColumnError> {
        let index = self.index_of(name)?;
        let has_gaps = self.batches.iter().any(|batch| batch.column(index).null_count() > 0);
        let marks = if has_gaps { self.row_count } else { 0 };
        let (values, is_known) = (Vec::with_capacity(self.row_count), Vec::with_capacity(marks));
        let mut column = NumberColumn { values, is_known };
        self.each(name, "f64", |array| {
            let array = array.as_primitive_opt::<Float64Type>()?;
            column.values.extend_from_slice(array.values());
            if has_gaps {
                column.is_known.extend((0..array.len()).map(|row| array.is_valid(row)));
            }
            Some(())
        })?;
        Ok(column)
    }

    pub(crate) fn strings(&self, name: &str) -> Result<Vec<Option<String>>, ColumnError> {
        let mut values = Vec::with_capacity(self.row_count);
        self.each(name, "text", |array| {
            values.extend(array.as_string_opt::<i32>()?.iter().map(|value| value.map(str::to_owned)));
            Some(())
        })?;
        Ok(values)
    }

    pub(crate) fn words(&self, name: &str) -> Result<WordColumn, ColumnError> {
        let mut column = WordColumn { words: Vec::new(), codes: Vec::with_capacity(self.row_count) };
        self.each(name, "dictionary of text", |array| {
            let dictionary = array.as_dictionary_opt::<Int32Type>()?;
            let words = dictionary.values().as_string_opt::<i32>()?;
            // Every batch brings its own dictionary.
            let codes: Vec<u32> = words.iter().map(|word| column.code_of(word.unwrap_or_default())).collect();
            for &key in dictionary.keys().values() {
                column.codes.push(*codes.get(usize::try_from(key).ok()?)?);
            }
            Some(())
        })?;
        self.no_nulls(name)?;
        Ok(column)
    }

    /// Lists as (offsets, values); a null becomes an empty list.
    pub(crate) fn lists(&self, name: &str) -> Result<(Vec<u32>, Vec<u32>), ColumnError> {
        let mut offsets = Vec::with_capacity(self.row_count + 1);
        offsets.push(0);
        let mut values = Vec::new();
        self.each(name, "list of u32", |array| {
            let lists = array.as_list_opt::<i32>()?;
            let inner = lists.values().as_primitive_opt::<UInt32Type>()?;
            for (row, range) in lists.value_offsets().windows(2).enumerate() {
                if lists.is_valid(row) {
                    values.extend_from_slice(inner.values().get(range[0] as usize..range[1] as usize)?);
                }
                offsets.push(u32::try_from(values.len()).ok()?);
            }
            (inner.null_count() == 0).then_some(())
        })?;
        Ok((offsets, values))
    }

    fn each<'a>(
        &'a self,
        name: &str,
        expected: &'static str,
        mut take: impl FnMut(&'a dyn Array) -> Option<()>,
    ) -> Result<(), ColumnError> {
        let index = self.index_of(name)?;
        for batch in &self.batches {
            take(batch.column(index).as_ref()).ok_or_else(|| ColumnError::WrongType {
                name: name.to_owned(),
                found: self.schema.field(index).data_type().to_string(),
                expected,
            })?;
        }
        Ok(())
    }

    fn no_nulls(&self, name: &str) -> Result<(), ColumnError> {
        let index = self.index_of(name)?;
        let mut start = 0;
        for batch in &self.batches {
            let column = batch.column(index);
            if column.null_count() > 0 {
                let row = start + (0..column.len()).find(|&row| column.is_null(row)).unwrap_or(0);
                return Err(ColumnError::Null { name: name.to_owned(), row });
            }
            start += column.len();
        }
        Ok(())
    }

    fn index_of(&self, name: &str) -> Result<usize, ColumnError> {
        self.schema.index_of(name).map_err(|_not_found| ColumnError::Missing {
            name: name.to_owned(),
            have: self.schema.fields().iter().map(|field| field.name().clone()).collect(),
        })
    }
}

/// Bytes that a value takes once it is decoded, and again where it is copied out; texts at least.
fn width(kind: parquet::basic::Type) -> u64 {
    use parquet::basic::Type;
    2 * match kind {
        Type::BOOLEAN => 1,
        Type::INT32 | Type::FLOAT => 4,
        Type::INT64 | Type::DOUBLE => 8,
        Type::INT96 | Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY => 16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::Schema;
    use proptest::prelude::*;

    fn table() -> Vec<u8> {
        let rows = 40_u32;
        let lists: Vec<Vec<u32>> = (0..rows).map(|row| (0..row % 4).collect()).collect();
        let fields = vec![
            Field::new("id", DataType::UInt32, false),
            Field::new("set", list_type(), true),
            Field::new("word", words_type(), false),
            Field::new("value", DataType::Float64, true),
            Field::new("name", DataType::Utf8, true),
        ];
        let arrays = vec![
            u32s(0..rows),
            self::lists(lists.iter().map(Vec::as_slice)),
            words((0..rows).map(|row| if row % 3 == 0 { "a" } else { "b" })),
            f64s((0..rows).map(|row| (row % 2 == 0).then_some(f64::from(row)))),
            strings((0..rows).map(|row| (row % 5 == 0).then_some("text"))),
        ];
        encode(&RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()).unwrap()
    }

    fn read_everything(bytes: Vec<u8>) -> Result<(), ColumnError> {
        let table = Table::decode(bytes)?;
        table.u32s("id")?;
        table.lists("set")?;
        table.words("word")?;
        table.optional_f64s("value")?;
        table.strings("name")?;
        Ok(())
    }

    #[test]
    fn columns_come_back() {
        let table = Table::decode(table()).unwrap();
        assert_eq!(table.u32s("id").unwrap(), (0..40).collect::<Vec<_>>());
        let (offsets, values) = table.lists("set").unwrap();
        assert_eq!((offsets[4], &values[..6]), (6, &[0, 0, 1, 0, 1, 2][..]));
        assert_eq!(table.words("word").unwrap().get(3), "a");
        let values = table.optional_f64s("value").unwrap();
        assert_eq!([0, 1, 2].map(|row| values.get(row)), [Some(0.0), None, Some(2.0)]);
    }

    #[test]
    fn wrong_columns_are_named() {
        let table = Table::decode(table()).unwrap();
        let message = |error: ColumnError| error.to_string();
        assert_eq!(
            message(table.u32s("ids").unwrap_err()),
            "column \"ids\" is missing (have: id, set, word, value, name)"
        );
        assert_eq!(message(table.u32s("value").unwrap_err()), "column \"value\" holds Float64, expected u32");
        assert_eq!(message(table.f64s("value").unwrap_err()), "column \"value\" has no value in row 1");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn damaged_bytes_are_an_error_or_a_value_but_no_panic(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
            cut in prop::option::of(any::<prop::sample::Index>()),
        ) {
            let mut bytes = table();
            for (place, value) in changes {
                let place = place.index(bytes.len());
                bytes[place] = value;
            }
            if let Some(cut) = cut {
                bytes.truncate(cut.index(bytes.len()));
            }
            read_everything(bytes).ok();
        }
    }
}
