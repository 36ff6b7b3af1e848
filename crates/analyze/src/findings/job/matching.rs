//! Matches the collectives of several ranks: by their number in the process group, or by their order.

use crate::findings::FileFindings;
use crate::findings::collective::{CollectiveKind, CollectiveRow};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One rank's part of a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Member {
    /// Index of the file.
    pub(super) file: usize,
    pub(super) start: i64,
    pub(super) end: i64,
}

/// A collective with the ranks that take part in it.
#[derive(Debug, Clone)]
pub(super) struct Matched {
    pub(super) kind: CollectiveKind,
    pub(super) group: Arc<str>,
    /// Ranks of the group: those of the trace, or those that were found.
    pub(super) group_size: u64,
    pub(super) bytes: Option<u64>,
    pub(super) members: Vec<Member>,
}

/// Collectives by time, and the number of communication events that belong to none.
#[derive(Debug, Default)]
pub(super) struct Matches {
    pub(super) collectives: Vec<Matched>,
    pub(super) unmatched: u64,
}

/// Collectives of one group and operation, by the index of their file.
type CollectivesByFile<'a> = BTreeMap<usize, Vec<&'a CollectiveRow>>;

/// Matches the collectives of all files. Events of one group and operation whose numbers differ between the ranks are not matched,
/// unless the trace numbers them.
pub(super) fn matches(files: &[FileFindings]) -> Matches {
    let mut classes: BTreeMap<(Arc<str>, CollectiveKind), CollectivesByFile<'_>> = BTreeMap::new();
    let mut out = Matches::default();
    for (index, file) in files.iter().enumerate() {
        out.unmatched += file.collectives.left_out;
        for row in &file.collectives.rows {
            let class = classes.entry((Arc::clone(&row.group), row.kind)).or_default();
            class.entry(index).or_default().push(row);
        }
    }
    for ((_, kind), class) in &classes {
        let all = class.values().map(Vec::len).sum::<usize>() as u64;
        if *kind == CollectiveKind::PointToPoint {
            out.unmatched += all;
            continue;
        }
        let before = out.collectives.len();
        out.collectives.extend(columns(class).into_iter().filter_map(|column| matched(&column)));
        let members = out.collectives.iter().skip(before).map(|found| found.members.len() as u64);
        out.unmatched += all - members.sum::<u64>();
    }
    out.collectives.sort_by_key(|found| found.members.iter().map(|member| member.start).min());
    out
}

/// Rows that belong together, each with its file.
fn columns<'a>(class: &CollectivesByFile<'a>) -> Vec<Vec<(usize, &'a CollectiveRow)>> {
    let is_numbered = class.values().flatten().all(|row| row.sequence.is_some() && !row.group.is_empty());
    let counts: Vec<usize> = class.values().map(Vec::len).collect();
    let is_even = counts.windows(2).all(|pair| pair.first() == pair.last());
    if !is_numbered && !is_even {
        return Vec::new();
    }
    let mut columns: BTreeMap<i64, Vec<(usize, &CollectiveRow)>> = BTreeMap::new();
    for (file, rows) in class {
        for (order, row) in rows.iter().enumerate() {
            let number = row.sequence.filter(|_| is_numbered).unwrap_or(order as i64);
            let column = columns.entry(number).or_default();
            if column.iter().all(|(other, _)| other != file) {
                column.push((*file, row));
            }
        }
    }
    columns.into_values().filter(|column| column.len() == class.len()).collect()
}

fn matched(column: &[(usize, &CollectiveRow)]) -> Option<Matched> {
    let (_, first) = column.first()?;
    let found = column.len() as u64;
    let group_size = first.group_size.unwrap_or(found);
    // More members than the group has: several groups that the trace does not name.
    if found < 2 || found > group_size {
        return None;
    }
    let sizes = column.iter().map(|(_, row)| row.kind.message_bytes(row.bytes_in, row.bytes_out));
    Some(Matched {
        kind: first.kind,
        group: Arc::clone(&first.group),
        group_size,
        bytes: sizes.collect::<Option<Vec<u64>>>().and_then(|sizes| sizes.into_iter().max()),
        members: column
            .iter()
            .map(|(file, row)| Member { file: *file, start: row.start_nanos, end: row.end_nanos })
            .collect(),
    })
}
