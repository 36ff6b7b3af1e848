//! A Parquet file with any bytes in any places, and any bytes as one: a table, or an error.
#![no_main]

use knockout_data::table::{Columns, ParquetTable};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static WHOLE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    // What the reader catches of the crate beneath is no finding; libfuzzer's own hook would end here.
    std::panic::set_hook(Box::new(|_| ()));
    Columns::new(60)
        .with_metadata("about", "a table")
        .u32s("id", |row| row as u32)
        .optional_f64s("value", |row| (row % 3 > 0).then_some(row as f64))
        .optional_lists("set", |row| &[1, 2, 3][..row % 4])
        .words("word", |row| ["one", "two"][row % 2])
        .optional_coded("code", &["a", "b", "c"], |row| (row % 5 > 0).then_some(row as u32 % 3))
        .optional_texts("text", |row| (row % 2 > 0).then_some("text"))
        .encode()
        .unwrap_or_default()
});

fn read(bytes: Vec<u8>) {
    let Ok(table) = ParquetTable::decode(bytes) else { return };
    table.u32s("id").ok();
    table.optional_f64s("value").ok();
    if let Ok((offsets, values)) = table.lists("set") {
        assert_eq!(offsets.len(), table.row_count() + 1);
        assert_eq!(offsets.last().copied(), Some(values.len() as u32));
    }
    table.words("word").ok();
    table.optional_texts("code").ok();
    table.optional_texts("text").ok();
}

fuzz_target!(|data: &[u8]| {
    let mut bytes = WHOLE.clone();
    if let [0, rest @ ..] = data {
        return read(rest.to_vec());
    }
    // Three bytes each: where, and what.
    for change in data.chunks_exact(3) {
        let place = usize::from(u16::from_le_bytes([change[0], change[1]])) % bytes.len();
        bytes[place] = change[2];
    }
    read(bytes);
});
