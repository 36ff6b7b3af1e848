//! Lanes of events: a thread of a process, or a stream of a device. Independent of events.

use crate::format::symbol::{Symbol, Symbols};
use std::collections::HashMap;
use std::fmt;

/// A `pid` or `tid` as it was written. `7` and `"7"` are different.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Id {
    /// Absent or null.
    Missing,
    /// A whole number.
    Number(i64),
    /// A string.
    Text(Symbol),
    /// Another JSON value (`1.5`, `true`, a number beyond 64 bits), as its source text.
    Other(Symbol),
}

impl Id {
    /// Writes the number or the text.
    pub fn display(self, symbols: &Symbols) -> impl fmt::Display + '_ {
        DisplayId { id: self, symbols }
    }

    /// As a JSON value that keeps the difference between `7` and `"7"`.
    pub fn to_json(self, symbols: &Symbols) -> serde_json::Value {
        match self {
            Self::Missing => serde_json::Value::Null,
            Self::Number(number) => number.into(),
            Self::Text(text) => symbols.text(text).into(),
            Self::Other(text) => {
                serde_json::from_str(symbols.text(text)).unwrap_or_else(|_| symbols.text(text).into())
            }
        }
    }
}

struct DisplayId<'a> {
    id: Id,
    symbols: &'a Symbols,
}

impl fmt::Display for DisplayId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.id {
            Id::Missing => f.write_str("-"),
            Id::Number(number) => write!(f, "{number}"),
            Id::Text(text) | Id::Other(text) => f.write_str(self.symbols.text(text)),
        }
    }
}

/// One (`pid`, `tid`) pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane {
    /// The process, or the device of a stream.
    pub pid: Id,
    /// The thread, or the stream.
    pub tid: Id,
}

/// A lane as a small number, in order of first appearance in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneId(u32);

impl LaneId {
    /// Returns the index into a table with one row per lane.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the identifier of an index that [`LaneId::index`] returned.
    #[inline]
    pub const fn from_index(index: usize) -> Self {
        Self(index as u32)
    }
}

/// Table from lane identifiers to lanes.
#[derive(Debug, Default)]
pub struct LaneTable {
    lanes: Vec<Lane>,
    numbers: HashMap<Lane, LaneId>,
}

impl LaneTable {
    /// Creates an empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the identifier of a lane, and adds it if it is new.
    pub(crate) fn intern(&mut self, lane: Lane) -> LaneId {
        *self.numbers.entry(lane).or_insert_with(|| {
            self.lanes.push(lane);
            LaneId(self.lanes.len() as u32 - 1)
        })
    }

    /// Returns the lane of an identifier.
    pub fn get(&self, id: LaneId) -> Option<Lane> {
        self.lanes.get(id.index()).copied()
    }

    /// Returns the number of lanes; every index is below it.
    pub fn len(&self) -> usize {
        self.lanes.len()
    }

    /// Returns whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.lanes.is_empty()
    }

    /// Iterates over all lanes in order of first appearance.
    pub fn iter(&self) -> impl Iterator<Item = (LaneId, Lane)> {
        self.lanes.iter().enumerate().map(|(index, lane)| (LaneId::from_index(index), *lane))
    }
}
