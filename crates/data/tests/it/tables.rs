//! What is written comes back, in bytes that do not change; what is damaged or of another type is refused by name.

use bytes::Bytes;
use knockout_data::table::{Columns, ParquetTable};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;
use std::sync::Arc;

/// A table of every kind of column, of a size at which columns have several pages.
fn columns(lists: &[Vec<u32>]) -> Columns<'_> {
    Columns::new(lists.len())
        .with_metadata("about", "a test")
        .u32s("id", |row| row as u32)
        .u64s("large", |row| row as u64 * 0x1_0000_0001)
        .lists("all", |_| &[7, 9])
        .optional_lists("set", |row| &lists[row])
        .words("word", |row| if row % 3 == 0 { "a" } else { "b" })
        .f64s("number", |row| row as f64 / 8.0)
        .optional_f64s("value", |row| (row % 2 == 0).then_some(row as f64))
        .optional_f64s("known", |row| Some(row as f64))
        .f32s("small", |row| row as f32)
        .optional_f32s("less", |row| (row % 7 != 0).then_some(row as f32))
        .texts("name", |row| if row == 5 { "five" } else { "other" })
        .optional_texts("text", |row| (row % 5 == 0).then_some("text"))
        .optional_texts("nothing", |_| None)
        .coded("code", &["x", "y", "z"], |row| (row % 2) as u32)
        .optional_coded("maybe", &["x", "y"], |row| (row % 2 == 0).then_some(1))
        .optional_u32s("place", |row| (row % 4 == 0).then_some(row as u32))
}

fn lists(rows: u32) -> Vec<Vec<u32>> {
    (0..rows).map(|row| (0..row % 4).collect()).collect()
}

fn read_everything(bytes: Vec<u8>) -> Result<(), knockout_base::error::Error> {
    let table = ParquetTable::decode(bytes)?;
    table.u32s("id")?;
    table.u64s("large")?;
    table.lists("set")?;
    table.words("word")?;
    table.optional_f64s("value")?;
    table.optional_f32s("less")?;
    table.texts("name")?;
    table.words("code")?;
    table.optional_u32s("place")?;
    Ok(())
}

#[test]
fn columns_are_read_as_written() {
    let lists = lists(50_000);
    let table = ParquetTable::decode(columns(&lists).encode().unwrap()).unwrap();
    assert_eq!(table.row_count(), 50_000);
    assert_eq!(table.metadata("about"), Some("a test"));
    assert_eq!((table.metadata("ARROW:schema"), table.metadata("other")), (None, None));
    assert_eq!(table.u32s("id").unwrap(), (0..50_000).collect::<Vec<_>>());
    assert_eq!(table.u64s("large").unwrap()[49_999], 49_999 * 0x1_0000_0001);
    let (offsets, values) = table.lists("set").unwrap();
    let found = offsets.windows(2).map(|ends| &values[ends[0] as usize..ends[1] as usize]);
    assert!(found.eq(lists.iter().map(Vec::as_slice)));
    assert_eq!(table.lists("all").unwrap().1, [7, 9].repeat(50_000));
    let words = table.words("word").unwrap();
    assert!((0..50_000).all(|row| words.get(row) == if row % 3 == 0 { "a" } else { "b" }));
    let codes = table.words("code").unwrap();
    assert!((0..50_000).all(|row| codes.get(row) == ["x", "y"][row % 2]));
    assert_eq!(table.f64s("number").unwrap()[40_001], 40_001.0 / 8.0);
    let (values, known) = (table.optional_f64s("value").unwrap(), table.optional_f64s("known").unwrap());
    for row in 0..50_000 {
        assert_eq!(values.get(row), (row % 2 == 0).then_some(row as f64));
        assert_eq!(known.get(row), Some(row as f64));
    }
    assert_eq!(table.f32s("small").unwrap()[3], 3.0);
    assert_eq!(table.optional_f32s("less").unwrap()[6..9], [Some(6.0), None, Some(8.0)]);
    assert_eq!(table.texts("name").unwrap()[5], "five");
    assert_eq!(table.optional_texts("text").unwrap()[..2], [Some("text".to_owned()), None]);
    assert_eq!(table.optional_texts("nothing").unwrap(), vec![None; 50_000]);
    assert_eq!(table.optional_texts("maybe").unwrap()[..2], [Some("y".to_owned()), None]);
    assert_eq!(table.optional_u32s("place").unwrap()[3..5], [None, Some(4)]);
}

#[test]
fn equal_tables_are_the_bytes_that_they_always_were() {
    // Datasets are known by the hashes of such files.
    let bytes = columns(&lists(50_000)).encode().unwrap();
    assert_eq!(blake3::hash(&bytes).to_hex().as_str()[..16], *"2d76243d64301f49");
}

#[test]
fn a_table_of_several_row_groups_and_one_of_none() {
    let rows = (1 << 20) + 5;
    let bytes = Columns::new(rows).u32s("row", |row| row as u32).encode().unwrap();
    let table = ParquetTable::decode(bytes).unwrap();
    assert_eq!(table.u32s("row").unwrap(), (0..rows as u32).collect::<Vec<_>>());
    let table = ParquetTable::decode(columns(&[]).encode().unwrap()).unwrap();
    assert_eq!((table.row_count(), table.lists("set").unwrap()), (0, (vec![0], vec![])));
    assert_eq!(table.names().nth(1), Some("large"));
}

#[test]
fn wrong_columns_are_named() {
    let table = Columns::new(3)
        .u32s("id", |row| row as u32)
        .optional_f64s("value", |row| (row != 1).then_some(0.0))
        .lists("set", |_| &[1]);
    let table = ParquetTable::decode(table.encode().unwrap()).unwrap();
    let message = |error: knockout_base::error::Error| error.to_string();
    let missing = "column \"ids\" is missing (have: id, value, set)";
    assert_eq!(message(table.u32s("ids").unwrap_err()), missing);
    assert_eq!(message(table.u32s("value").unwrap_err()), "column \"value\" holds Float64, expected u32");
    assert_eq!(message(table.u32s("set").unwrap_err()), "column \"set\" holds List(UInt32), expected u32");
    assert_eq!(message(table.f64s("value").unwrap_err()), "column \"value\" has no value in row 1");
    let code = Columns::new(1).coded("word", &["a"], |_| 1).encode().unwrap_err();
    assert!(std::error::Error::source(&code).unwrap().to_string().contains("code 1 has no word"));
}

#[test]
fn lists_whose_items_may_be_missing_are_refused() {
    let schema = "message m { required group set (LIST) { repeated group list { optional int32 item (INTEGER(32,false)); } } }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let file = SerializedFileWriter::new(Vec::new(), schema, Arc::default()).unwrap();
    let table = ParquetTable::decode(file.into_inner().unwrap()).unwrap();
    let refused = table.lists("set").unwrap_err().to_string();
    assert_eq!(refused, "column \"set\" holds List(UInt32), expected list of u32");
}

/// Rows of one word, or of none.
type RepeatedWord = (Option<usize>, usize);

/// Nulls, least and greatest word.
type ColumnStatistics = (Option<u64>, Option<Vec<u8>>, Option<Vec<u8>>);

/// Returns the footer's statistics of the first column.
fn statistics_of(bytes: &[u8]) -> Option<ColumnStatistics> {
    let file = SerializedFileReader::new(Bytes::copy_from_slice(bytes)).unwrap();
    let statistics = file.metadata().row_groups().first()?.column(0).statistics()?.clone();
    let end = |end: Option<&[u8]>| end.map(<[u8]>::to_vec);
    Some((statistics.null_count_opt(), end(statistics.min_bytes_opt()), end(statistics.max_bytes_opt())))
}

/// Writes a column by its codes and by its words.
fn two_ways(words: usize, runs: &[RepeatedWord]) -> [Vec<u8>; 2] {
    let names: Vec<String> = (0..words).map(|word| format!("Y{:0>1$}", word * 7, word % 5 + 1)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let codes: Vec<Option<usize>> = runs
        .iter()
        .flat_map(|&(code, run)| std::iter::repeat_n(code.map(|code| code % words), run))
        .collect();
    let table = || Columns::new(codes.len());
    let coded = table().optional_coded("word", &names, |row| codes[row].map(|code| code as u32));
    let looked_up = table().optional_texts("word", |row| codes[row].map(|code| names[code]));
    [coded, looked_up].map(|table| table.encode().unwrap())
}

fn texts(bytes: &[u8]) -> Vec<Option<String>> {
    ParquetTable::decode(bytes.to_vec()).unwrap().optional_texts("word").unwrap()
}

proptest! {
    #[test]
    fn codes_are_words_to_a_reader(
        words in 1_usize..300,
        runs in proptest::collection::vec((proptest::option::weighted(0.9, 0_usize..300), 1_usize..40), 0..60),
        has_nulls in proptest::bool::ANY,
    ) {
        let runs: Vec<RepeatedWord> = runs.into_iter().filter(|(code, _)| has_nulls || code.is_some()).collect();
        let [coded, looked_up] = two_ways(words, &runs);
        prop_assert_eq!(texts(&coded), texts(&looked_up));
        prop_assert_eq!(statistics_of(&coded), statistics_of(&looked_up));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn damaged_bytes_are_an_error_or_a_value_but_no_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = columns(&lists(40)).encode().unwrap();
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

#[test]
fn a_column_without_a_word_is_empty() {
    let [coded, _] = two_ways(3, &[(None, 20)]);
    assert_eq!(texts(&coded), vec![None; 20]);
    assert_eq!(statistics_of(&coded), Some((Some(20), None, None)));
}

#[test]
fn words_that_do_not_occur_take_no_room() {
    let room = |words: usize, runs: &[RepeatedWord]| {
        let [bytes, _] = two_ways(words, runs);
        let file = SerializedFileReader::new(Bytes::from(bytes)).unwrap();
        file.metadata().row_group(0).column(0).compressed_size()
    };
    assert!(room(5_000, &[(Some(4_000), 70_000), (Some(3), 70_000)]) < 150);
    // Thirteen bits for each row, and the words with their lengths.
    let many: Vec<RepeatedWord> = (0..40_000).map(|row| (Some(row * 3 % 5_000), 1)).collect();
    assert!(room(5_000, &many) < 40_000 * 13 / 8 + 5_000 * 10 + 150);
}
