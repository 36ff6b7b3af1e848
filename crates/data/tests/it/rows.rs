//! Rows of files that others wrote: numbers, text and truth values as text, whatever else by name refused.

use knockout_data::table::{Columns, Rows};
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, FloatType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;
use std::fs::File;
use std::io::Write as _;
use std::sync::Arc;

fn file_of(bytes: &[u8]) -> File {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    file.reopen().unwrap()
}

fn all(file: File, places: &[usize]) -> Vec<Vec<String>> {
    let mut rows = Rows::open(file, places).unwrap();
    let mut found = Vec::new();
    while rows.advance().unwrap() {
        found.push((0..places.len()).map(|place| rows.cell(place).to_owned()).collect());
    }
    found
}

/// A file of types that ours do not have, compressed, in two row groups.
fn foreign(compression: Compression) -> Vec<u8> {
    let schema = "message m {
        required boolean yes;
        optional int32 small (INTEGER(8,true));
        required int64 large (INTEGER(64,false));
        optional float part;
        required binary name (STRING);
        required int64 when (TIMESTAMP(NANOS,true));
        required int32 cents (DECIMAL(9,2));
    }";
    let properties = WriterProperties::builder().set_compression(compression).build();
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).unwrap();
    for first in [0_i32, 2] {
        let mut group = file.next_row_group().unwrap();
        let mut place = 0;
        while let Some(mut column) = group.next_column().unwrap() {
            match place {
                0 => column.typed::<BoolType>().write_batch(&[true, false], None, None),
                1 => column.typed::<Int32Type>().write_batch(&[-first], Some(&[1, 0]), None),
                2 => column.typed::<Int64Type>().write_batch(&[-1, i64::from(first)], None, None),
                3 => column.typed::<FloatType>().write_batch(&[0.1], Some(&[0, 1]), None),
                4 => {
                    let names = ["A,B".to_owned(), format!("row {first} µ")];
                    column.typed::<ByteArrayType>().write_batch(
                        &names.map(|name| ByteArray::from(name.as_str())),
                        None,
                        None,
                    )
                }
                5 => column.typed::<Int64Type>().write_batch(&[0, 1], None, None),
                _ => column.typed::<Int32Type>().write_batch(&[0, 1], None, None),
            }
            .unwrap();
            column.close().unwrap();
            place += 1;
        }
        group.close().unwrap();
    }
    file.into_inner().unwrap()
}

#[test]
fn foreign_columns_are_read_as_text() {
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
    ] {
        let bytes = foreign(compression);
        let names = Rows::names(file_of(&bytes)).unwrap();
        assert_eq!(names, ["yes", "small", "large", "part", "name", "when", "cents"]);
        let expected = [
            ["A,B", "true", "0", "18446744073709551615", ""],
            ["row 0 µ", "false", "", "0", "0.10000000149011612"],
            ["A,B", "true", "-2", "18446744073709551615", ""],
            ["row 2 µ", "false", "", "2", "0.10000000149011612"],
        ];
        assert_eq!(all(file_of(&bytes), &[4, 0, 1, 2, 3]), expected, "{compression:?}");
    }
}

#[test]
fn dates_decimals_and_lists_are_refused_by_name() {
    let bytes = foreign(Compression::UNCOMPRESSED);
    let refused = |place| Rows::open(file_of(&bytes), &[place]).unwrap_err().to_string();
    assert!(refused(5).starts_with("column \"when\" holds "), "{}", refused(5));
    assert_eq!(refused(6), "column \"cents\" holds DECIMAL, expected text, numbers or truth values");
    let lists = Columns::new(1).u32s("id", |_| 0).lists("set", |_| &[1, 2]).encode().unwrap();
    let error = Rows::open(file_of(&lists), &[1]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "column \"set\" holds List(UInt32), expected text, numbers or truth values"
    );
    assert_eq!(all(file_of(&lists), &[0]), [["0"]]);
}

#[test]
fn more_rows_than_a_batch() {
    let bytes = Columns::new(20_000).u32s("id", |row| row as u32).words("w", |_| "w").encode().unwrap();
    let found = all(file_of(&bytes), &[0, 1]);
    assert_eq!(found.len(), 20_000);
    assert!(found.iter().enumerate().all(|(row, cells)| *cells == [row.to_string(), "w".to_owned()]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[test]
    fn damaged_files_are_an_error_or_rows_but_no_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = foreign(Compression::SNAPPY);
        for (place, value) in changes {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(mut rows) = Rows::open(file_of(&bytes), &[0, 1, 2, 3, 4]) {
            for _ in 0..100 {
                if !rows.advance().unwrap_or(false) {
                    break;
                }
                (0..5).for_each(|place| assert!(rows.cell(place).len() < 1 << 20));
            }
        }
    }
}
