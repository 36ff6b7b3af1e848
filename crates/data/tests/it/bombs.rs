//! Small Parquet files that claim, repeat or unpack to gigabytes are refused before they take memory.

use bytes::Bytes;
use flate2::Compression as Level;
use flate2::write::GzEncoder;
use knockout_base::error::Class;
use knockout_data::table::{ParquetTable, Rows};
use parquet::basic::{Compression, GzipLevel};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::fs::File;
use std::io::Write as _;
use std::sync::Arc;

const REFUSED: &str = "more than 1024 MiB";

/// Writes the signed number of a Thrift field of 32 bits.
fn number(out: &mut Vec<u8>, value: i32) {
    let mut rest = ((value << 1) ^ (value >> 31)) as u32;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// A file of one column with one page of these packed bytes, and the rows that it claims to have.
fn with_page(codec: Compression, packed: &[u8], rows: u32) -> Vec<u8> {
    const I32: u8 = 0x15;
    let mut chunk = Vec::new();
    // A data page, its size unpacked and packed; then its values, plain, with levels as runs.
    for value in [0, 4, packed.len() as i32] {
        chunk.push(I32);
        number(&mut chunk, value);
    }
    chunk.push(0x2c);
    for value in [rows as i32, 0, 3, 3] {
        chunk.push(I32);
        number(&mut chunk, value);
    }
    chunk.extend([0, 0]);
    chunk.extend_from_slice(packed);

    let schema = "message m { required int32 a (INTEGER(32,false)); }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::default()).unwrap();
    let column = file.schema_descr().column(0);
    let metadata = ColumnChunkMetaData::builder(column)
        .set_compression(codec)
        .set_num_values(i64::from(rows))
        .set_total_compressed_size(chunk.len() as i64)
        .set_total_uncompressed_size(4)
        .set_data_page_offset(0)
        .build()
        .unwrap();
    let close = ColumnCloseResult {
        bytes_written: chunk.len() as u64,
        rows_written: u64::from(rows),
        metadata,
        bloom_filter: None,
        column_index: None,
        offset_index: None,
    };
    let mut group = file.next_row_group().unwrap();
    group.append_column(&Bytes::from(chunk), close).unwrap();
    group.close().unwrap();
    file.into_inner().unwrap()
}

/// A file in which rows share one long text.
fn with_shared_text(length: usize, rows: usize) -> Vec<u8> {
    let schema = Arc::new(parse_message_type("message m { required binary a (STRING); }").unwrap());
    let properties = WriterProperties::builder().set_dictionary_page_size_limit(4 * length);
    let properties = properties.set_compression(Compression::SNAPPY).build();
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).unwrap();
    let mut group = file.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let texts = vec![ByteArray::from(vec![b'A'; length]); rows];
    column.typed::<ByteArrayType>().write_batch(&texts, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    file.into_inner().unwrap()
}

fn opened(bytes: &[u8]) -> File {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    file.reopen().unwrap()
}

#[test]
fn a_page_is_read_as_it_was_made() {
    let table = ParquetTable::decode(with_page(Compression::UNCOMPRESSED, &7_u32.to_le_bytes(), 1)).unwrap();
    assert_eq!(table.u32s("a").unwrap(), [7]);
}

#[test]
fn rows_that_a_file_only_claims_are_not_made_room_for() {
    let bytes = with_page(Compression::UNCOMPRESSED, &7_u32.to_le_bytes(), i32::MAX as u32);
    let error = ParquetTable::decode(bytes).err().unwrap();
    assert!(error.to_string().contains(REFUSED), "{error}");
    assert_eq!(error.class(), Class::Damage);
}

/// The decoder of gzip continues behind the size that a page states.
#[test]
fn a_gzip_page_ends_at_the_limit() {
    let mut member = GzEncoder::new(Vec::new(), Level::default());
    member.write_all(&vec![0; 64 << 20]).unwrap();
    let bytes = with_page(Compression::GZIP(GzipLevel::default()), &member.finish().unwrap().repeat(17), 1);
    assert!(bytes.len() < 8 << 20, "{}", bytes.len());
    let error = ParquetTable::decode(bytes.clone()).err().unwrap();
    assert!(error.to_string().contains(REFUSED), "{error}");
    let error = Rows::open(opened(&bytes), &[0]).err().unwrap();
    assert!(error.to_string().contains(REFUSED), "{error}");
}

#[test]
fn a_long_text_that_rows_share_is_not_copied_for_each() {
    let bytes = with_shared_text(1 << 20, 3000);
    assert!(bytes.len() < 1 << 20, "{}", bytes.len());
    let table = ParquetTable::decode(bytes.clone()).unwrap();
    let error = table.texts("a").unwrap_err();
    assert!(error.to_string().contains(REFUSED), "{error}");
    let mut rows = Rows::open(opened(&bytes), &[0]).unwrap();
    let error = std::iter::repeat_with(|| rows.advance()).find_map(Result::err).unwrap();
    assert!(error.to_string().contains(REFUSED), "{error}");
}

/// Each word was compared with all before it.
#[test]
fn words_are_found_in_linear_time() {
    let schema = Arc::new(parse_message_type("message m { required binary a (STRING); }").unwrap());
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::default()).unwrap();
    let mut group = file.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let words: Vec<ByteArray> = (0..200_000).map(|word| ByteArray::from(word.to_string().as_str())).collect();
    column.typed::<ByteArrayType>().write_batch(&words, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    let table = ParquetTable::decode(file.into_inner().unwrap()).unwrap();
    assert_eq!(table.words("a").unwrap().get(199_999), "199999");
}
