//! Columns of words written by the codes that they have: to a reader, what looking up every word would have written.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use arrow_array::types::Int32Type;
use arrow_array::{Array as _, ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use knockout_screen::columns::{encode, encode_coded, u32s};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use proptest::prelude::*;
use std::sync::Arc;

/// Rows of one word, or of none.
type Run = (Option<usize>, usize);

/// A column of `words` words in runs, and a number for each row.
fn batch(words: usize, runs: &[Run]) -> RecordBatch {
    let names =
        StringArray::from_iter_values((0..words).map(|word| format!("Y{:0>1$}", word * 7, word % 5 + 1)));
    let keys =
        runs.iter().flat_map(|&(key, run)| std::iter::repeat_n(key.map(|key| (key % words) as i32), run));
    let keys: Int32Array = keys.collect();
    let rows = keys.len() as u32;
    let column: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::new(keys, Arc::new(names)));
    let word = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let fields =
        vec![Field::new("word", word, column.null_count() > 0), Field::new("row", DataType::UInt32, false)];
    RecordBatch::try_new(Arc::new(Schema::new(fields)), vec![column, u32s(0..rows)]).unwrap()
}

/// The words of a file, and the schema that it has.
fn read(bytes: &[u8]) -> (Vec<Option<String>>, Arc<Schema>) {
    let builder = ParquetRecordBatchReaderBuilder::try_new(Bytes::copy_from_slice(bytes)).unwrap();
    let schema = Arc::clone(builder.schema());
    let mut words = Vec::new();
    for batch in builder.build().unwrap() {
        let batch = batch.unwrap();
        let column = batch.column(0).as_any().downcast_ref::<DictionaryArray<Int32Type>>().unwrap();
        let names = column.downcast_dict::<StringArray>().unwrap();
        words.extend(names.into_iter().map(|word| word.map(str::to_owned)));
    }
    (words, schema)
}

/// Nulls, least and greatest word.
type Said = (Option<u64>, Option<Vec<u8>>, Option<Vec<u8>>);

/// What the footer says of the column.
fn said(bytes: &[u8]) -> Option<Said> {
    let file = SerializedFileReader::new(Bytes::copy_from_slice(bytes)).unwrap();
    let statistics = file.metadata().row_groups().first()?.column(0).statistics()?.clone();
    let end = |end: Option<&[u8]>| end.map(<[u8]>::to_vec);
    Some((statistics.null_count_opt(), end(statistics.min_bytes_opt()), end(statistics.max_bytes_opt())))
}

proptest! {
    #[test]
    fn codes_are_words_to_a_reader(
        words in 1_usize..300,
        runs in proptest::collection::vec((proptest::option::weighted(0.9, 0_usize..300), 1_usize..40), 0..60),
        has_nulls in proptest::bool::ANY,
    ) {
        let runs: Vec<Run> = runs.into_iter().filter(|(key, _)| has_nulls || key.is_some()).collect();
        let batch = batch(words, &runs);
        let (coded, looked_up) = (encode_coded(&batch).unwrap(), encode(&batch).unwrap());
        prop_assert_eq!(read(&coded), read(&looked_up));
        prop_assert_eq!(said(&coded), said(&looked_up));
    }
}

#[test]
fn a_column_without_a_word_is_empty() {
    let coded = encode_coded(&batch(3, &[(None, 20)])).unwrap();
    assert_eq!(read(&coded).0, vec![None; 20]);
    assert_eq!(said(&coded), Some((Some(20), None, None)));
    let coded = encode_coded(&batch(3, &[])).unwrap();
    assert_eq!(read(&coded).0, [None::<String>; 0]);
}

#[test]
fn words_that_do_not_occur_take_no_room() {
    let room = |words: usize, runs: &[Run]| {
        let bytes = encode_coded(&batch(words, runs)).unwrap();
        let file = SerializedFileReader::new(Bytes::from(bytes)).unwrap();
        file.metadata().row_group(0).column(0).compressed_size()
    };
    assert!(room(5_000, &[(Some(4_000), 70_000), (Some(3), 70_000)]) < 150);
    // Thirteen bits for each row, and the words with their lengths.
    let many: Vec<Run> = (0..40_000).map(|row| (Some(row * 3 % 5_000), 1)).collect();
    assert!(room(5_000, &many) < 40_000 * 13 / 8 + 5_000 * 10 + 150);
}
