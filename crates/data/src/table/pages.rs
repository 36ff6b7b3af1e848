//! The size of what a Parquet file unpacks to, before any of it is decoded.

use crate::table::error::{undecodable, without_panic};
use flate2::read::MultiGzDecoder;
use knockout_base::error::Result;
use knockout_base::unpack;
use parquet::basic::Compression;
use parquet::column::page::Page;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{ChunkReader, FileReader as _, SerializedFileReader};
use parquet::file::serialized_reader::SerializedPageReader;
use std::io::{self, Read as _};
use std::sync::Arc;

/// Refuses a file of which the columns that `is_read` names would unpack out of proportion to its size.
///
/// The decoder of gzip pages does not stop at the size that they state, so these are unpacked once more; a page of another codec ends there.
/// Gzip itself shrinks at most by 1,032, so a lower ratio holds for it.
pub(super) fn check<R: ChunkReader + 'static>(
    file: &SerializedFileReader<R>,
    chunks: &Arc<R>,
    is_read: impl Fn(usize) -> bool,
) -> Result<()> {
    let packed = chunks.len();
    let mut unpacked = 0_u64;
    for group in file.metadata().row_groups() {
        for (_, column) in group.columns().iter().enumerate().filter(|(leaf, _)| is_read(*leaf)) {
            unpacked = unpacked.saturating_add(column.uncompressed_size().max(0) as u64);
            if matches!(column.compression(), Compression::GZIP(_)) {
                let rows = group.num_rows().max(0) as usize;
                without_panic(|| add_gzip(chunks, column, rows, &mut unpacked, packed))?;
            }
            unpack::check(packed, unpacked, unpack::COLUMN_RATIO)?;
        }
    }
    Ok(())
}

/// Adds the bytes that the pages of a column unpack to.
fn add_gzip<R: ChunkReader + 'static>(
    chunks: &Arc<R>,
    column: &ColumnChunkMetaData,
    rows: usize,
    unpacked: &mut u64,
    packed: u64,
) -> Result<()> {
    // Read as if they were not packed.
    let plain = column.clone().into_builder().set_compression(Compression::UNCOMPRESSED).build();
    let plain = plain.map_err(undecodable)?;
    let pages = SerializedPageReader::new(chunks.clone(), &plain, rows, None).map_err(undecodable)?;
    for page in pages {
        let page = page.map_err(undecodable)?;
        // The levels of the second version stand before what is packed.
        let levels = match &page {
            Page::DataPageV2 { def_levels_byte_len, rep_levels_byte_len, .. } => {
                *def_levels_byte_len as usize + *rep_levels_byte_len as usize
            }
            _ => 0,
        };
        let mut decoder = MultiGzDecoder::new(page.buffer().get(levels..).unwrap_or_default());
        loop {
            const PIECE: u64 = 1 << 20;
            // A page that is damaged is refused where it is decoded.
            let Ok(count) = io::copy(&mut decoder.by_ref().take(PIECE), &mut io::sink()) else { break };
            *unpacked += count;
            unpack::check(packed, *unpacked, unpack::TEXT_RATIO)?;
            if count < PIECE {
                break;
            }
        }
    }
    Ok(())
}
