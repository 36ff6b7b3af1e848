//! The bytes of a Parquet file to columns, with every type checked. A column is decoded on demand.

use crate::table::arrow_schema;
use crate::table::error::{undecodable, without_panic, wrong_type};
use crate::table::kind::{ColumnType, name_of};
use crate::table::pages;
use bytes::Bytes;
use knockout_base::error::{Context as _, Error, Result};
use knockout_base::unpack;
use parquet::basic::Type as Physical;
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Rows that are decoded at a time: few enough that they stay in the second-level cache.
const BATCH: usize = 1 << 12;

/// A column of few distinct words.
pub struct WordColumn {
    words: Vec<String>,
    codes: Vec<u32>,
    /// The code of each word.
    known: HashMap<String, u32>,
}

impl WordColumn {
    /// The word of a row.
    pub fn get(&self, row: usize) -> &str {
        &self.words[self.codes[row] as usize]
    }

    fn push(&mut self, word: &ByteArray) -> Result<(), ParquetError> {
        // The word of the row before, mostly.
        let is_word = |code: &u32| self.words[*code as usize].as_bytes() == word.data();
        if let Some(last) = self.codes.last().copied().filter(is_word) {
            self.codes.push(last);
            return Ok(());
        }
        let word = word.as_utf8()?;
        let code = self.known.get(word).copied().unwrap_or_else(|| {
            self.known.insert(word.to_owned(), self.words.len() as u32);
            self.words.push(word.to_owned());
            self.words.len() as u32 - 1
        });
        self.codes.push(code);
        Ok(())
    }
}

/// A nullable column of numbers. A screen of millions of samples has several: a value and a mark take half as much as an
/// `Option`.
pub struct NumberColumn {
    values: Vec<f64>,
    /// Empty where all are.
    is_known: Vec<bool>,
}

impl NumberColumn {
    /// The number of a row, if it has one.
    pub fn get(&self, row: usize) -> Option<f64> {
        let is_known = self.is_known.get(row).copied().unwrap_or(true);
        is_known.then(|| self.values[row])
    }
}

/// A table in a file held in memory.
pub struct ParquetTable {
    file: SerializedFileReader<Bytes>,
    metadata: BTreeMap<String, String>,
    row_count: usize,
    /// Bytes of the file.
    packed: u64,
}

/// Some rows of a column: leaf values with their definition and repetition levels.
struct ColumnBatch<'a, T> {
    values: &'a [T],
    definitions: &'a [i16],
    repetitions: &'a [i16],
    /// The definition of a value that is there; 0 where all are.
    whole: i16,
}

impl<T> ColumnBatch<'_, T> {
    /// The values row by row.
    fn rows(&self) -> impl Iterator<Item = Option<&T>> {
        let mut values = self.values.iter();
        let value_count = if self.is_whole() { self.values.len() } else { self.definitions.len() };
        (0..value_count).map(move |index| {
            if self.is_whole() || self.definitions[index] == self.whole { values.next() } else { None }
        })
    }

    /// Whether every row has its value.
    fn is_whole(&self) -> bool {
        self.whole == 0 || self.values.len() == self.definitions.len()
    }
}

impl ParquetTable {
    /// Opens a Parquet file held in memory; any bytes give a table or an error, now or when a column is decoded.
    pub fn decode(bytes: Vec<u8>) -> Result<Self> {
        without_panic(|| Self::decode_trusting(bytes))
    }

    fn decode_trusting(bytes: Vec<u8>) -> Result<Self> {
        let bytes = Bytes::from(bytes);
        let packed = bytes.len() as u64;
        let file = SerializedFileReader::new(bytes.clone()).map_err(undecodable)?;
        pages::check(&file, &Arc::new(bytes), |_| true)?;
        // Runs of equal values take no room in a file: a few bytes can stand for billions.
        let (mut needed, mut row_count) = (0_u64, 0_u64);
        for group in file.metadata().row_groups() {
            let rows = group.num_rows().max(0) as u64;
            for column in group.columns() {
                let count = rows.max(column.num_values().max(0) as u64);
                needed = needed.saturating_add(width(column.column_type()).saturating_mul(count));
            }
            row_count = row_count.saturating_add(rows);
        }
        unpack::check(packed, needed.max(row_count), unpack::COLUMN_RATIO)?;
        knockout_base::memory::check("decoding it", needed.max(row_count))
            .while_doing(|| "it does not fit into memory".to_owned())?;
        let entries = file.metadata().file_metadata().key_value_metadata();
        let entries =
            entries.into_iter().flatten().filter_map(|KeyValue { key, value }| Some((key, value.as_ref()?)));
        let mut metadata: BTreeMap<String, String> =
            entries.map(|(key, value)| (key.clone(), value.clone())).collect();
        if let Some(schema) = metadata.remove(arrow_schema::KEY) {
            metadata.extend(arrow_schema::metadata(&schema));
        }
        Ok(Self { file, metadata, row_count: row_count as usize, packed })
    }

    /// Number of rows.
    pub fn row_count(&self) -> usize {
        self.row_count
    }

    /// Returns whether there is a column of that name.
    pub fn has(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    /// Names of all columns, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.file.metadata().file_metadata().schema().get_fields().iter().map(|field| field.name())
    }

    /// Returns a metadata value of the file.
    pub fn metadata(&self, key: &str) -> Option<&str> {
        self.metadata.get(key).map(String::as_str)
    }

    /// Returns a column of whole numbers without nulls.
    pub fn u32s(&self, name: &str) -> Result<Vec<u32>> {
        self.required::<Int32Type, _>(name, ColumnType::U32, |value| value as u32)
    }

    /// Returns a column of whole numbers, `None` for nulls.
    pub fn optional_u32s(&self, name: &str) -> Result<Vec<Option<u32>>> {
        self.optional::<Int32Type, _>(name, ColumnType::U32, |&value| value as u32)
    }

    /// Returns a column of large whole numbers without nulls.
    pub fn u64s(&self, name: &str) -> Result<Vec<u64>> {
        self.required::<Int64Type, _>(name, ColumnType::U64, |value| value as u64)
    }

    /// Returns a column of numbers in single precision without nulls.
    pub fn f32s(&self, name: &str) -> Result<Vec<f32>> {
        self.required::<FloatType, _>(name, ColumnType::F32, |value| value)
    }

    /// Returns a column of numbers in single precision, `None` for nulls.
    pub fn optional_f32s(&self, name: &str) -> Result<Vec<Option<f32>>> {
        self.optional::<FloatType, _>(name, ColumnType::F32, |&value| value)
    }

    /// A column of numbers without nulls.
    pub fn f64s(&self, name: &str) -> Result<Vec<f64>> {
        self.required::<DoubleType, _>(name, ColumnType::F64, |value| value)
    }

    /// Returns a nullable column of numbers.
    pub fn optional_f64s(&self, name: &str) -> Result<NumberColumn> {
        let mut column = NumberColumn { values: self.room()?, is_known: Vec::new() };
        self.each::<DoubleType>(name, ColumnType::F64, |batch| {
            if !batch.is_whole() || !column.is_known.is_empty() {
                column.is_known.resize(column.values.len(), true);
                column.is_known.extend(batch.rows().map(|value| value.is_some()));
            }
            if batch.is_whole() {
                column.values.extend_from_slice(batch.values);
            } else {
                column.values.extend(batch.rows().map(|value| value.copied().unwrap_or_default()));
            }
            Ok(())
        })?;
        self.whole(name, column.values.len())?;
        Ok(column)
    }

    /// A column of text without nulls.
    pub fn texts(&self, name: &str) -> Result<Vec<String>> {
        let values = self.optional_texts(name)?.into_iter().enumerate();
        values.map(|(row, value)| value.ok_or_else(|| null(name, row))).collect()
    }

    /// Returns a column of text, `None` for nulls.
    pub fn optional_texts(&self, name: &str) -> Result<Vec<Option<String>>> {
        let mut values = self.room()?;
        let mut length = 0;
        self.each::<ByteArrayType>(name, ColumnType::Text, |batch| {
            for text in batch.rows() {
                // A long text that rows share is in the file once.
                length += text.map_or(0, |text| text.len() as u64);
                unpack::check(self.packed, length, unpack::COLUMN_RATIO)?;
                values.push(
                    text.map(|text| text.as_utf8().map(str::to_owned)).transpose().map_err(undecodable)?,
                );
            }
            Ok(())
        })?;
        self.whole(name, values.len())?;
        Ok(values)
    }

    /// Returns a column of few distinct words without nulls.
    pub fn words(&self, name: &str) -> Result<WordColumn> {
        let mut column = WordColumn { words: Vec::new(), codes: self.room()?, known: HashMap::new() };
        self.each::<ByteArrayType>(name, ColumnType::Words, |batch| {
            for word in batch.rows() {
                let word = word.ok_or_else(|| null(name, column.codes.len()))?;
                column.push(word).map_err(undecodable)?;
            }
            Ok(())
        })?;
        self.whole(name, column.codes.len())?;
        Ok(column)
    }

    /// Returns lists as (offsets, values); a null is empty.
    pub fn lists(&self, name: &str) -> Result<(Vec<u32>, Vec<u32>)> {
        let mut offsets = self.room()?;
        let mut items: Vec<u32> = Vec::new();
        let too_long = || undecodable("a column of lists has over four thousand million items");
        self.each::<Int32Type>(name, ColumnType::Lists, |batch| {
            let mut values = batch.values.iter();
            for (&definition, &repetition) in batch.definitions.iter().zip(batch.repetitions) {
                if repetition == 0 {
                    offsets.push(u32::try_from(items.len()).ok().ok_or_else(too_long)?);
                }
                if definition == batch.whole {
                    items.extend(values.next().map(|&item| item as u32));
                }
            }
            Ok(())
        })?;
        self.whole(name, offsets.len())?;
        offsets.push(u32::try_from(items.len()).ok().ok_or_else(too_long)?);
        Ok((offsets, items))
    }

    fn optional<T: DataType, V>(
        &self,
        name: &str,
        kind: ColumnType,
        convert: impl Fn(&T::T) -> V,
    ) -> Result<Vec<Option<V>>> {
        let mut values = self.room()?;
        self.each::<T>(name, kind, |batch| {
            values.extend(batch.rows().map(|value| value.map(&convert)));
            Ok(())
        })?;
        self.whole(name, values.len())?;
        Ok(values)
    }

    fn required<T: DataType, V>(
        &self,
        name: &str,
        kind: ColumnType,
        convert: impl Fn(T::T) -> V,
    ) -> Result<Vec<V>> {
        let mut values = self.room()?;
        self.each::<T>(name, kind, |batch| {
            if batch.is_whole() {
                values.extend(batch.values.iter().cloned().map(&convert));
                return Ok(());
            }
            let row = values.len() + batch.rows().take_while(Option::is_some).count();
            Err(null(name, row))
        })?;
        self.whole(name, values.len())?;
        Ok(values)
    }

    /// Hands out a column in batches of rows.
    fn each<T: DataType>(
        &self,
        name: &str,
        kind: ColumnType,
        mut take: impl FnMut(ColumnBatch<'_, T::T>) -> Result<()>,
    ) -> Result<()> {
        let leaf = self.leaf(name, kind)?;
        let whole = self.file.metadata().file_metadata().schema_descr().column(leaf).max_def_level();
        let (mut values, mut definitions, mut repetitions) = (Vec::new(), Vec::new(), Vec::new());
        without_panic(|| {
            for group in 0..self.file.num_row_groups() {
                let column = self.file.get_row_group(group).and_then(|group| group.get_column_reader(leaf));
                let mut column = get_typed_column_reader::<T>(column.map_err(undecodable)?);
                loop {
                    values.clear();
                    definitions.clear();
                    repetitions.clear();
                    let (rows, ..) = column
                        .read_records(BATCH, Some(&mut definitions), Some(&mut repetitions), &mut values)
                        .map_err(undecodable)?;
                    if rows == 0 {
                        break;
                    }
                    take(ColumnBatch {
                        values: &values,
                        definitions: &definitions,
                        repetitions: &repetitions,
                        whole,
                    })?;
                }
            }
            Ok(())
        })
    }

    /// The number of a column among all that hold values.
    fn leaf(&self, name: &str, kind: ColumnType) -> Result<usize> {
        let columns = self.file.metadata().file_metadata().schema_descr().columns();
        let is_named = |path: &[String]| path.first().is_some_and(|first| first == name);
        let leaf = columns.iter().position(|column| is_named(column.path().parts()));
        let leaf = leaf.ok_or_else(|| {
            let have = self.names().collect::<Vec<_>>().join(", ");
            Error::damage(format!("column {name:?} is missing (have: {have})"))
        })?;
        if !kind.is_of(&columns[leaf]) {
            return Err(wrong_type(name, &name_of(&columns[leaf]), kind.name()));
        }
        Ok(leaf)
    }

    /// Returns an empty vector with room for a value of every row.
    fn room<T>(&self) -> Result<Vec<T>> {
        knockout_base::memory::vec("decoding a column", self.row_count)
    }

    fn whole(&self, name: &str, found: usize) -> Result<()> {
        let expected = self.row_count;
        let error = || Error::damage(format!("column {name:?} has {found} rows, the table has {expected}"));
        (found == expected).then_some(()).ok_or_else(error)
    }
}

/// A null where there must be a value.
fn null(name: &str, row: usize) -> Error {
    Error::damage(format!("column {name:?} has no value in row {row}"))
}

/// Bytes that a value takes once it is decoded, and again where it is copied out; texts at least.
fn width(kind: Physical) -> u64 {
    2 * match kind {
        Physical::BOOLEAN => 1,
        Physical::INT32 | Physical::FLOAT => 4,
        Physical::INT64 | Physical::DOUBLE => 8,
        Physical::INT96 | Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY => 16,
    }
}
