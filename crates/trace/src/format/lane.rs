//! Where an event happened: a thread of a process, or a stream of a device. Knows nothing of events.

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
    /// For people: the number or the text.
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
    /// As an index into a table with one row per lane.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The lane of an index that [`LaneId::index`] gave.
    #[inline]
    pub const fn from_index(index: usize) -> Self {
        Self(index as u32)
    }
}

/// The lanes behind the numbers.
#[derive(Debug, Default)]
pub struct Lanes {
    lanes: Vec<Lane>,
    numbers: HashMap<Lane, LaneId>,
}

impl Lanes {
    /// No lanes yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of a lane, new or not.
    pub(crate) fn intern(&mut self, lane: Lane) -> LaneId {
        *self.numbers.entry(lane).or_insert_with(|| {
            self.lanes.push(lane);
            LaneId(self.lanes.len() as u32 - 1)
        })
    }

    /// The lane of a number.
    pub fn get(&self, id: LaneId) -> Option<Lane> {
        self.lanes.get(id.index()).copied()
    }

    /// How many lanes there are; every index is below it.
    pub fn len(&self) -> usize {
        self.lanes.len()
    }

    /// Whether no event was seen.
    pub fn is_empty(&self) -> bool {
        self.lanes.is_empty()
    }

    /// All lanes in order of first appearance.
    pub fn iter(&self) -> impl Iterator<Item = (LaneId, Lane)> {
        self.lanes.iter().enumerate().map(|(index, lane)| (LaneId::from_index(index), *lane))
    }
}
