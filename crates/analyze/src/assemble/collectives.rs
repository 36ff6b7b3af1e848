//! Communication on the device as a small table, from which the ranks of a job are matched.

use crate::collect::collectives::{CollectiveEvent, CollectiveEvents};
use crate::collect::kind::Kind;
use crate::findings::{CollectiveKind, CollectiveRow, CollectiveTable};
use knockout_trace::Symbols;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) fn table(found: &CollectiveEvents, kinds: &[Kind], symbols: &Symbols) -> CollectiveTable {
    let mut groups: BTreeMap<String, Arc<str>> = BTreeMap::new();
    let mut rows: Vec<CollectiveRow> = Vec::with_capacity(found.events.len());
    for event in &found.events {
        let group = event.group.map_or_else(String::new, |group| group.spelt(symbols));
        let group = groups.entry(group).or_insert_with_key(|name| Arc::from(name.as_str()));
        let group = Arc::clone(group);
        rows.push(row(kinds, symbols, event, group));
    }
    rows.sort_by_key(|row| (row.start_nanos, row.end_nanos));
    CollectiveTable { rows, left_out: found.left_out }
}

fn row(kinds: &[Kind], symbols: &Symbols, event: &CollectiveEvent, group: Arc<str>) -> CollectiveRow {
    let name = event.name.map(|name| name.spelt(symbols));
    let own_name = || kinds.get(event.kind.index()).map_or("", |kind| symbols.text(kind.name));
    let kind = CollectiveKind::of(name.as_deref().unwrap_or_else(own_name));
    let element = event.dtype.and_then(|dtype| element_bytes(&dtype.spelt(symbols)));
    let bytes = |elements: Option<i64>| {
        u64::try_from(elements?).ok().filter(|number| *number > 0)?.checked_mul(element?)
    };
    CollectiveRow {
        kind,
        group,
        start_nanos: event.start,
        end_nanos: event.end,
        sequence: event.sequence,
        group_size: event.group_size.and_then(|size| u64::try_from(size).ok()).filter(|size| *size > 0),
        bytes_in: bytes(event.elements_in),
        bytes_out: bytes(event.elements_out),
    }
}

/// Returns the size of an element by PyTorch's name of its type.
fn element_bytes(dtype: &str) -> Option<u64> {
    Some(match dtype.to_ascii_lowercase().as_str() {
        "byte" | "char" | "bool" | "int8" | "uint8" => 1,
        name if name.starts_with("float8") => 1,
        "half" | "bfloat16" | "float16" | "short" | "int16" | "uint16" => 2,
        "float" | "float32" | "int" | "int32" | "uint32" => 4,
        "double" | "float64" | "long" | "int64" | "uint64" | "complexfloat" => 8,
        "complexdouble" => 16,
        _ => return None,
    })
}
