//! The schema for Arrow's readers, under the metadata key `ARROW:schema`.
//!
//! An Arrow IPC message with a schema (a flatbuffer: tables with numbered slots), its length before it, in base64. A file's own metadata
//! stands in there too. Written slot by slot in the order of Arrow's own writer, so that files have the bytes that they always had.
//!
//! Parquet's logical types alone do not replace it: Arrow's readers (pyarrow, and pandas through it) would return dictionary columns
//! as plain text, and the file's own metadata is stored nowhere else.

use crate::table::kind::ColumnType;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flatbuffers::{FlatBufferBuilder, TableFinishedWIPOffset, WIPOffset};
use std::collections::BTreeMap;

/// The key in a file's footer.
pub(crate) const KEY: &str = "ARROW:schema";

/// A column, to Arrow.
pub(crate) struct ArrowField<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: ColumnType,
    pub(crate) is_nullable: bool,
}

type Offset = WIPOffset<TableFinishedWIPOffset>;

/// Numbers of Arrow's format (`Schema.fbs`, `ArrowMessage.fbs`).
mod number {
    pub(super) const VERSION_5: i16 = 4;
    pub(super) const HEADER_SCHEMA: u8 = 1;
    pub(super) const INT: u8 = 2;
    pub(super) const FLOAT: u8 = 3;
    pub(super) const UTF8: u8 = 5;
    pub(super) const LIST: u8 = 12;
    pub(super) const SINGLE: i16 = 1;
    pub(super) const DOUBLE: i16 = 2;
}

/// Offset of a slot in a flatbuffer's table.
const fn slot(index: u16) -> u16 {
    4 + 2 * index
}

/// The value under [`KEY`].
pub(crate) fn encode(fields: &[ArrowField<'_>], metadata: &BTreeMap<String, String>) -> String {
    let mut message = FlatBufferBuilder::new();
    let builder = &mut message;
    let mut dictionaries = 0;
    let offsets: Vec<Offset> =
        fields.iter().map(|column| field(builder, column, &mut dictionaries)).collect();
    let offsets = builder.create_vector(&offsets);
    let metadata = (!metadata.is_empty()).then(|| {
        let pairs: Vec<Offset> = metadata.iter().map(|(key, value)| pair(builder, key, value)).collect();
        builder.create_vector(&pairs)
    });

    let start = builder.start_table();
    builder.push_slot_always(slot(1), offsets);
    if let Some(metadata) = metadata {
        builder.push_slot_always(slot(2), metadata);
    }
    let schema = builder.end_table(start);

    let start = builder.start_table();
    builder.push_slot(slot(0), number::VERSION_5, 0);
    builder.push_slot(slot(1), number::HEADER_SCHEMA, 0);
    builder.push_slot_always(slot(2), schema);
    let root = builder.end_table(start);
    builder.finish(root, None);

    let bytes = message.finished_data();
    let mut whole = vec![0xff; 4];
    whole.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    whole.extend_from_slice(bytes);
    BASE64_STANDARD.encode(whole)
}

fn pair(builder: &mut FlatBufferBuilder<'_>, key: &str, value: &str) -> Offset {
    let (key, value) = (builder.create_string(key), builder.create_string(value));
    let start = builder.start_table();
    builder.push_slot_always(slot(0), key);
    builder.push_slot_always(slot(1), value);
    builder.end_table(start)
}

fn field(builder: &mut FlatBufferBuilder<'_>, field: &ArrowField<'_>, dictionaries: &mut i64) -> Offset {
    let name = builder.create_string(field.name);
    let none: [Offset; 0] = [];
    let (number, kind, children) = match field.kind {
        ColumnType::U32 | ColumnType::U64 => {
            let children = builder.create_vector(&none);
            let bits = if field.kind == ColumnType::U32 { 32 } else { 64 };
            (number::INT, integer(builder, bits, false), children)
        }
        ColumnType::F32 | ColumnType::F64 => {
            let children = builder.create_vector(&none);
            let start = builder.start_table();
            let precision = if field.kind == ColumnType::F32 { number::SINGLE } else { number::DOUBLE };
            builder.push_slot(slot(0), precision, 0);
            (number::FLOAT, builder.end_table(start), children)
        }
        ColumnType::Text | ColumnType::Words => {
            let start = builder.start_table();
            let kind = builder.end_table(start);
            (number::UTF8, kind, builder.create_vector(&none))
        }
        ColumnType::Lists => {
            let item = ArrowField { name: "item", kind: ColumnType::U32, is_nullable: false };
            let item = self::field(builder, &item, dictionaries);
            let start = builder.start_table();
            let kind = builder.end_table(start);
            (number::LIST, kind, builder.create_vector(&[item]))
        }
    };
    let dictionary = (field.kind == ColumnType::Words).then(|| {
        let index = integer(builder, 32, true);
        let start = builder.start_table();
        builder.push_slot(slot(0), *dictionaries, 0);
        *dictionaries += 1;
        builder.push_slot_always(slot(1), index);
        builder.end_table(start)
    });

    let start = builder.start_table();
    builder.push_slot_always(slot(0), name);
    if let Some(dictionary) = dictionary {
        builder.push_slot_always(slot(4), dictionary);
    }
    builder.push_slot(slot(2), number, 0);
    builder.push_slot(slot(1), field.is_nullable, false);
    builder.push_slot_always(slot(5), children);
    builder.push_slot_always(slot(3), kind);
    builder.end_table(start)
}

fn integer(builder: &mut FlatBufferBuilder<'_>, bits: i32, is_signed: bool) -> Offset {
    let start = builder.start_table();
    builder.push_slot(slot(1), is_signed, false);
    builder.push_slot(slot(0), bits, 0);
    builder.end_table(start)
}

/// The metadata in a value under [`KEY`]; nothing where it is damaged or there is none.
pub(crate) fn metadata(value: &str) -> BTreeMap<String, String> {
    let whole = BASE64_STANDARD.decode(value).unwrap_or_default();
    // Older writers leave out the mark before the length.
    let message = if whole.starts_with(&[0xff; 4]) { whole.get(8..) } else { whole.get(4..) };
    message.and_then(|message| ArrowMessage(message).metadata()).unwrap_or_default()
}

/// An untrusted flatbuffer, whose offsets are all checked.
struct ArrowMessage<'a>(&'a [u8]);

impl<'a> ArrowMessage<'a> {
    fn metadata(&self) -> Option<BTreeMap<String, String>> {
        let schema = self.follow(self.slot(self.follow(0)?, 2)?)?;
        let list = self.follow(self.slot(schema, 2)?)?;
        (0..self.u32(list)? as usize)
            // Every pair takes room: a length that is not true ends at the end of the message.
            .map(|index| {
                let pair = self.follow(list + 4 + 4 * index)?;
                Some((self.text(self.slot(pair, 0)?)?, self.text(self.slot(pair, 1)?)?))
            })
            .collect()
    }

    fn bytes<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.0.get(at..at.checked_add(N)?)?.try_into().ok()
    }

    fn u32(&self, at: usize) -> Option<u32> {
        self.bytes(at).map(u32::from_le_bytes)
    }

    /// Where an offset leads.
    fn follow(&self, at: usize) -> Option<usize> {
        at.checked_add(self.u32(at)? as usize)
    }

    /// Where a table has a slot; nothing where it has not.
    fn slot(&self, table: usize, index: u16) -> Option<usize> {
        let back = i32::from_le_bytes(self.bytes(table)?);
        let slots = table.checked_add_signed(-(back as isize))?;
        let entry = slot(index);
        if entry >= u16::from_le_bytes(self.bytes(slots)?) {
            return None;
        }
        let offset = u16::from_le_bytes(self.bytes(slots.checked_add(entry as usize)?)?);
        (offset > 0).then(|| table.checked_add(offset as usize))?
    }

    fn text(&self, at: usize) -> Option<String> {
        let start = self.follow(at)?;
        let bytes: &'a [u8] = self.0.get(start.checked_add(4)?..)?.get(..self.u32(start)? as usize)?;
        String::from_utf8(bytes.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fields() -> [ArrowField<'static>; 3] {
        let field = |name, kind, is_nullable| ArrowField { name, kind, is_nullable };
        [
            field("row", ColumnType::U32, false),
            field("word", ColumnType::Words, true),
            field("set", ColumnType::Lists, true),
        ]
    }

    #[test]
    fn metadata_comes_back() {
        let entries =
            BTreeMap::from([("a".to_owned(), "one".to_owned()), ("b".to_owned(), "zwei €".to_owned())]);
        assert_eq!(metadata(&encode(&fields(), &entries)), entries);
        assert_eq!(metadata(&encode(&fields(), &BTreeMap::new())), BTreeMap::new());
    }

    proptest! {
        #[test]
        fn any_message_has_metadata_or_none(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
            cut in any::<prop::sample::Index>(),
        ) {
            let entries = BTreeMap::from([("key".to_owned(), "value".to_owned())]);
            let mut bytes = BASE64_STANDARD.decode(encode(&fields(), &entries)).unwrap();
            for (position, value) in changes {
                let position = position.index(bytes.len());
                bytes[position] = value;
            }
            bytes.truncate(cut.index(bytes.len()));
            metadata(&BASE64_STANDARD.encode(&bytes));
        }
    }
}
