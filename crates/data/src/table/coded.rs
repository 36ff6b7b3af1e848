//! Columns of words to Parquet by the codes that they have already.
//!
//! The `parquet` crate looks up the word of every row to give it a code. Here words that occur become the dictionary page, and their codes,
//! renumbered by a table, the data page.

use bytes::Bytes;
use parquet::basic::{Encoding, PageType};
use parquet::column::page::{CompressedPage, Page, PageWriter as _};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, PageEncodingStats};
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use std::io::Write;

/// Equal numbers that are worth a run of their own.
const RUN: usize = 8;

/// Appends a column of words to a row group, on one page.
pub(super) fn append<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    words: &[&str],
    known: &[u32],
    definitions: Option<&[i16]>,
    described: ColumnDescPtr,
) -> Result<(), ParquetError> {
    let rows = definitions.map_or(known.len(), <[i16]>::len);
    let mut codes = vec![None; words.len()];
    for &key in known {
        let no_word = || ParquetError::General(format!("code {key} has no word"));
        *codes.get_mut(key as usize).ok_or_else(no_word)? = Some(0_u32);
    }
    let mut dictionary = Vec::new();
    let mut ends: Option<(&str, &str)> = None;
    let mut count = 0_u32;
    for (code, &word) in codes.iter_mut().zip(words) {
        if let Some(code) = code {
            (*code, count) = (count, count + 1);
            dictionary.extend_from_slice(&(word.len() as u32).to_le_bytes());
            dictionary.extend_from_slice(word.as_bytes());
            ends = Some(ends.map_or((word, word), |(low, high)| (low.min(word), high.max(word))));
        }
    }

    let mut values = Vec::new();
    if let Some(definitions) = definitions {
        let mut levels = Vec::new();
        pack(&definitions.iter().map(|&level| level as u32).collect::<Vec<u32>>(), 1, &mut levels);
        values.extend_from_slice(&(levels.len() as u32).to_le_bytes());
        values.extend_from_slice(&levels);
    }
    let width = u32::BITS - count.saturating_sub(1).max(1).leading_zeros();
    values.push(width as u8);
    pack(&known.iter().filter_map(|&key| codes[key as usize]).collect::<Vec<u32>>(), width, &mut values);

    let mut sink = TrackedWrite::new(Vec::with_capacity(dictionary.len() + values.len() + 128));
    let mut pages = SerializedPageWriter::new(&mut sink);
    let mut write = |page: Page| {
        let bytes = page.buffer().len();
        pages.write_page(CompressedPage::new(page, bytes))
    };
    write(Page::DictionaryPage {
        buf: Bytes::from(dictionary),
        num_values: count,
        encoding: Encoding::PLAIN,
        is_sorted: false,
    })?;
    let data = write(Page::DataPage {
        buf: Bytes::from(values),
        num_values: rows as u32,
        encoding: Encoding::RLE_DICTIONARY,
        def_level_encoding: Encoding::RLE,
        rep_level_encoding: Encoding::RLE,
        statistics: None,
    })?;
    let bytes = Bytes::from(sink.into_inner()?);
    let page = |page_type, encoding| PageEncodingStats { page_type, encoding, count: 1 };
    let end = |word: Option<&str>| word.map(|word| ByteArray::from(word.as_bytes().to_vec()));
    let metadata = ColumnChunkMetaData::builder(described)
        .set_encodings(vec![Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY])
        .set_page_encoding_stats(vec![
            page(PageType::DICTIONARY_PAGE, Encoding::PLAIN),
            page(PageType::DATA_PAGE, Encoding::RLE_DICTIONARY),
        ])
        .set_total_compressed_size(bytes.len() as i64)
        .set_total_uncompressed_size(bytes.len() as i64)
        .set_num_values(rows as i64)
        .set_dictionary_page_offset(Some(0))
        .set_data_page_offset(data.offset as i64)
        .set_statistics(Statistics::byte_array(
            end(ends.map(|(low, _)| low)),
            end(ends.map(|(_, high)| high)),
            None,
            Some((rows - known.len()) as u64),
            false,
        ))
        .build()?;
    let closed = ColumnCloseResult {
        bytes_written: bytes.len() as u64,
        rows_written: rows as u64,
        metadata,
        bloom_filter: None,
        column_index: None,
        offset_index: None,
    };
    group.append_column(&bytes, closed)
}

/// Appends numbers of `width` bits in Parquet's hybrid of runs and of groups of eight.
fn pack(numbers: &[u32], width: u32, out: &mut Vec<u8>) {
    // Numbers before `start` are written, those up to `at` are to stand in groups.
    let (mut start, mut at) = (0, 0);
    while at < numbers.len() {
        let run = numbers[at..].iter().take_while(|&&number| number == numbers[at]).count();
        let fills_group = (at - start).next_multiple_of(8) - (at - start);
        if run >= fills_group + RUN {
            let end = at + fills_group;
            pack_groups(&numbers[start..end], width, out);
            varint((run - fills_group) << 1, out);
            out.extend_from_slice(&numbers[at].to_le_bytes()[..width.div_ceil(8) as usize]);
            start = at + run;
        }
        at += run;
    }
    pack_groups(&numbers[start..], width, out);
}

/// Appends numbers in groups of eight; the last is filled with zeros.
fn pack_groups(numbers: &[u32], width: u32, out: &mut Vec<u8>) {
    if numbers.is_empty() {
        return;
    }
    let groups = numbers.len().div_ceil(8);
    varint(groups << 1 | 1, out);
    let end = out.len() + groups * width as usize;
    out.reserve(groups * width as usize + 8);
    let (mut bits, mut held) = (0_u64, 0);
    for &number in numbers {
        bits |= u64::from(number) << held;
        held += width;
        if held >= u32::BITS {
            out.extend_from_slice(&(bits as u32).to_le_bytes());
            bits >>= u32::BITS;
            held -= u32::BITS;
        }
    }
    out.extend_from_slice(&bits.to_le_bytes());
    out.resize(end, 0);
}

fn varint(mut number: usize, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
