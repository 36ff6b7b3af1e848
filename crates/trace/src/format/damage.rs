//! Faults of a trace, as values: faults that end reading, irregularities that do not, and errors without
//! any figures. Independent of exit codes or wording around them.

use knockout_base::error::{Class, Classified};
use std::fmt;
use std::io;

/// Kind and position of the damage at which reading stopped. Everything before it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Kind of damage.
    pub kind: DamageKind,
    /// Bytes into the (unpacked) text, from 0.
    pub offset: u64,
    /// Complete events before it.
    pub events_before: u64,
}

/// Packing of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Packing {
    /// gzip, of any number of members.
    Gzip,
    /// Zstandard.
    Zstd,
    /// xz.
    Xz,
    /// bzip2.
    Bzip2,
    /// A zip archive, of which the first trace is read.
    Zip,
}

impl Packing {
    /// Returns the packing by the first bytes of a file.
    pub(crate) fn of(head: &[u8]) -> Option<Self> {
        Some(match head {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Self::Xz,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Self::Bzip2,
            [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Self::Zip,
            _ => return None,
        })
    }
}

impl fmt::Display for Packing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
            Self::Bzip2 => "bzip2",
            Self::Zip => "zip",
        })
    }
}

/// Damage inside the list of events that reading passed: it continued at the next event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Damaged ranges.
    pub places: u64,
    /// Bytes of text between the last event before each of them and the first one behind it.
    pub bytes: u64,
    /// Events in these bytes, as far as their `ph` can be recognised.
    pub events: u64,
    /// The first range.
    pub first: Damage,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { places, bytes, events, first } = self;
        let (places_are, events_are) = (
            if *places == 1 { "range of the list was" } else { "ranges of the list were" },
            if *events == 1 { "event is" } else { "events are" },
        );
        write!(
            f,
            "{places} damaged {places_are} skipped and about {events} {events_are} lost ({bytes} bytes; the first at byte {}, after {} complete events)",
            first.offset, first.events_before
        )
    }
}

/// Kind of damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DamageKind {
    /// The text ends inside the document.
    Truncated,
    /// The packed stream ends before its end mark.
    PackedTruncated(Packing),
    /// The packed stream is damaged or its checksum does not fit.
    PackedCorrupt(Packing),
    /// Unpacking would take more memory, or give more text for its size, than any trace needs.
    UnpackLimit(Packing),
    /// The text is not JSON from here on.
    InvalidJson,
    /// Values are nested deeper than [`crate::MAX_DEPTH`].
    TooDeep,
    /// One event or value is longer than [`crate::MAX_VALUE_BYTES`].
    TooLong,
    /// A second `traceEvents` list.
    SecondEventList,
    /// The document is complete and something else follows it.
    TrailingData,
}

impl DamageKind {
    /// Returns a stable name for scripts.
    pub fn code(self) -> &'static str {
        match self {
            Self::Truncated => "truncated",
            Self::PackedTruncated(packing) => match packing {
                Packing::Gzip => "gzip_truncated",
                Packing::Zstd => "zstd_truncated",
                Packing::Xz => "xz_truncated",
                Packing::Bzip2 => "bzip2_truncated",
                Packing::Zip => "zip_truncated",
            },
            Self::PackedCorrupt(packing) => match packing {
                Packing::Gzip => "gzip_corrupt",
                Packing::Zstd => "zstd_corrupt",
                Packing::Xz => "xz_corrupt",
                Packing::Bzip2 => "bzip2_corrupt",
                Packing::Zip => "zip_corrupt",
            },
            Self::UnpackLimit(_) => "unpack_limit",
            Self::InvalidJson => "invalid_json",
            Self::TooDeep => "too_deep",
            Self::TooLong => "too_long",
            Self::SecondEventList => "second_event_list",
            Self::TrailingData => "trailing_data",
        }
    }
}

impl fmt::Display for DamageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Truncated => "the file is truncated: it ends inside the document",
            Self::PackedTruncated(packing) => {
                return write!(f, "the file is truncated: the {packing} stream has no end");
            }
            Self::PackedCorrupt(packing) => return write!(f, "the {packing} stream is corrupt"),
            Self::UnpackLimit(packing) => {
                return write!(
                    f,
                    "the {packing} stream unpacks to more than 1,000 times its size, or needs more than 128 MiB of memory to be unpacked; if it is a trace, unpack it first"
                );
            }
            Self::InvalidJson => "the text is not valid JSON from here on",
            Self::TooDeep => "values are nested too deeply",
            Self::TooLong => "one value is too long",
            Self::SecondEventList => "a second list of events begins",
            Self::TrailingData => "the document is complete but other data follows it",
        })
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, offset, events_before } = self;
        write!(f, "{kind} (byte {offset}, after {events_before} complete events)")
    }
}

/// A deviation from JSON that reading passes without losing an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum IrregularityKind {
    /// A backslash before a character that JSON does not escape, as in `"C:\Users"`; kept as written.
    InvalidEscape,
    /// A raw control character inside a string; kept as written.
    ControlCharacter,
    /// `NaN`, `Infinity` or `-Infinity` as a value; no usable number.
    NotFinite,
    /// A name that is not UTF-8; the bad bytes become U+FFFD.
    InvalidUtf8,
}

impl IrregularityKind {
    /// All kinds, in the order they are reported.
    pub const ALL: [Self; 4] =
        [Self::InvalidEscape, Self::ControlCharacter, Self::NotFinite, Self::InvalidUtf8];

    /// Returns a stable name for scripts.
    pub fn code(self) -> &'static str {
        match self {
            Self::InvalidEscape => "invalid_escape",
            Self::ControlCharacter => "control_character",
            Self::NotFinite => "not_finite",
            Self::InvalidUtf8 => "invalid_utf8",
        }
    }
}

impl fmt::Display for IrregularityKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InvalidEscape => {
                "invalid escapes in strings (a backslash that JSON does not know), kept as written"
            }
            Self::ControlCharacter => "raw control characters in strings, kept as written",
            Self::NotFinite => "numbers that are not finite (NaN or Infinity), left out of every sum",
            Self::InvalidUtf8 => "texts that are not UTF-8, with replacement characters put in",
        })
    }
}

/// Number of occurrences of an irregularity, and the offset of the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Irregularity {
    /// Kind of irregularity.
    pub kind: IrregularityKind,
    /// Number of strings or values that have it. For [`IrregularityKind::InvalidUtf8`]: distinct texts.
    pub count: u64,
    /// Bytes into the (unpacked) text of the first, from 0.
    pub first_offset: u64,
}

impl fmt::Display for Irregularity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, count, first_offset } = self;
        write!(f, "{kind} ({count}, the first at byte {first_offset})")
    }
}

/// Reason why nothing could be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file is empty.
    #[error("the file is empty")]
    Empty,
    /// The text is JSON without a list of events.
    #[error("this is not a trace: {found}; expected an object with \"traceEvents\" or a list of events")]
    NotATrace {
        /// Content found instead.
        found: String,
    },
    /// The text is damaged before the list of events begins.
    #[error("no event could be read: {damage}")]
    DamagedBeforeEvents {
        /// The damage and its position.
        damage: Damage,
    },
    /// The source failed.
    #[error("could not read the trace")]
    Io(#[from] io::Error),
}

impl ReadError {
    /// Returns a stable name for scripts.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::NotATrace { .. } => "not_a_trace",
            Self::DamagedBeforeEvents { damage } => damage.kind.code(),
            Self::Io(_) => "io",
        }
    }
}

impl Classified for ReadError {
    fn class(&self) -> Class {
        match self {
            Self::Io(_) => Class::Failure,
            _ => Class::Damage,
        }
    }
}
