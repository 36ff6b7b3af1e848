//! One event of a trace, as the reader delivers it. Independent of how it was read.

use crate::format::lane::{LaneId, LaneTable};
use crate::format::symbol::{Symbol, Symbols};

/// The type of an event: its field `ph`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventType(pub u8);

impl EventType {
    /// `X`: a span with start and duration.
    pub const COMPLETE: Self = Self(b'X');
    /// `B`: a span begins on this lane.
    pub const BEGIN: Self = Self(b'B');
    /// `E`: the innermost open span of this lane ends.
    pub const END: Self = Self(b'E');
    /// `i`: an instant; memory events are instants named `[memory]`.
    pub const INSTANT: Self = Self(b'i');
    /// `C`: a counter.
    pub const COUNTER: Self = Self(b'C');
    /// `M`: a name or sort order of a process or thread.
    pub const METADATA: Self = Self(b'M');
    /// No `ph`, or an empty one.
    pub const MISSING: Self = Self(0);
    /// A `ph` that is not a single ASCII character.
    pub const OTHER: Self = Self(1);

    /// Returns the text as written; empty when missing, `?` for [`EventType::OTHER`].
    pub fn text(self) -> String {
        match self {
            Self::MISSING => String::new(),
            Self::OTHER => "?".to_owned(),
            Self(byte) => char::from(byte).to_string(),
        }
    }
}

/// An `args` field (or, for [`ArgKey::FlowId`], the `id` field) that an analysis can request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ArgKey {
    /// `stream`
    Stream,
    /// `correlation`, or `correlation_id` (JAX)
    Correlation,
    /// `device`
    Device,
    /// `External id` or, before 2022, `external id`
    ExternalId,
    /// `bytes` of a copy
    CopyBytes,
    /// `Bytes` of a memory event
    Bytes,
    /// `Total Allocated`
    TotalAllocated,
    /// `Total Reserved`
    TotalReserved,
    /// `Device Type`
    DeviceType,
    /// `Device Id`
    DeviceId,
    /// `Addr`
    Addr,
    /// `Python id`
    PythonId,
    /// `Python parent id`
    PythonParentId,
    /// `Python module id`
    PythonModuleId,
    /// `Sequence number`
    SequenceNumber,
    /// `Fwd thread id`
    FwdThreadId,
    /// `Ev Idx`
    EvIdx,
    /// `Call stack` (2021 format), a text
    CallStack,
    /// `Module Hierarchy`, a text
    ModuleHierarchy,
    /// `name` of a metadata event, a text
    Name,
    /// `labels` of a metadata event, a text
    Labels,
    /// `sort_index` of a metadata event
    SortIndex,
    /// `Collective name`, a text
    CollectiveName,
    /// `Group size`
    GroupSize,
    /// `In msg nelems`
    InMsgNelems,
    /// `Out msg nelems`
    OutMsgNelems,
    /// `dtype`, a text
    Dtype,
    /// `Process Group Name`, a text
    ProcessGroupName,
    /// `Seq`: number of a collective in its group
    CollectiveSequence,
    /// `cuda_sync_kind`, a text
    CudaSyncKind,
    /// `wait_on_stream`
    WaitOnStream,
    /// `wait_on_cuda_event_record_corr_id`
    WaitOnEventCorrelation,
    /// `Input Dims`, a list as it is written
    InputDims,
    /// `Input type`, a list as it is written
    InputTypes,
    /// `Concrete Inputs`, a list as it is written
    ConcreteInputs,
    /// The event's own `id`, which binds flow events together
    FlowId,
}

impl ArgKey {
    /// Whether a list is read too: as its text, unless that is long.
    #[inline]
    pub(crate) const fn is_list(self) -> bool {
        matches!(self, Self::InputDims | Self::InputTypes | Self::ConcreteInputs)
    }
}

/// Text of each key inside `args`; [`ArgKey::FlowId`] stands outside.
pub(crate) const ARG_KEYS: [(ArgKey, &str); 37] = [
    (ArgKey::Stream, "stream"),
    (ArgKey::Correlation, "correlation"),
    (ArgKey::Correlation, "correlation_id"),
    (ArgKey::Device, "device"),
    (ArgKey::ExternalId, "External id"),
    (ArgKey::ExternalId, "external id"),
    (ArgKey::CopyBytes, "bytes"),
    (ArgKey::Bytes, "Bytes"),
    (ArgKey::TotalAllocated, "Total Allocated"),
    (ArgKey::TotalReserved, "Total Reserved"),
    (ArgKey::DeviceType, "Device Type"),
    (ArgKey::DeviceId, "Device Id"),
    (ArgKey::Addr, "Addr"),
    (ArgKey::PythonId, "Python id"),
    (ArgKey::PythonParentId, "Python parent id"),
    (ArgKey::PythonModuleId, "Python module id"),
    (ArgKey::SequenceNumber, "Sequence number"),
    (ArgKey::FwdThreadId, "Fwd thread id"),
    (ArgKey::EvIdx, "Ev Idx"),
    (ArgKey::CallStack, "Call stack"),
    (ArgKey::ModuleHierarchy, "Module Hierarchy"),
    (ArgKey::Name, "name"),
    (ArgKey::Labels, "labels"),
    (ArgKey::SortIndex, "sort_index"),
    (ArgKey::CollectiveName, "Collective name"),
    (ArgKey::GroupSize, "Group size"),
    (ArgKey::InMsgNelems, "In msg nelems"),
    (ArgKey::OutMsgNelems, "Out msg nelems"),
    (ArgKey::Dtype, "dtype"),
    (ArgKey::ProcessGroupName, "Process Group Name"),
    (ArgKey::CollectiveSequence, "Seq"),
    (ArgKey::CudaSyncKind, "cuda_sync_kind"),
    (ArgKey::WaitOnStream, "wait_on_stream"),
    (ArgKey::WaitOnEventCorrelation, "wait_on_cuda_event_record_corr_id"),
    (ArgKey::InputDims, "Input Dims"),
    (ArgKey::InputTypes, "Input type"),
    (ArgKey::ConcreteInputs, "Concrete Inputs"),
];

/// A set of [`ArgKey`]s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ArgSet(u64);

impl ArgSet {
    /// Nothing of `args`: the fastest way to read.
    pub const NONE: Self = Self(0);

    /// The set of these keys.
    pub const fn of(keys: &[ArgKey]) -> Self {
        let mut bits = 0;
        let mut at = 0;
        while at < keys.len() {
            bits |= 1 << keys[at] as u64;
            at += 1;
        }
        Self(bits)
    }

    /// Whether the key is in the set.
    #[inline]
    pub const fn contains(self, key: ArgKey) -> bool {
        self.0 >> key as u64 & 1 == 1
    }

    /// Returns whether no field is requested.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Keys of either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The value of an `args` field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgValue {
    /// A whole number; a fractional one is cut towards zero.
    Number(i64),
    /// A string.
    Text(Symbol),
}

/// The requested `args` fields of one event that are numbers or texts. The last of equal keys wins.
#[derive(Clone, Copy, Debug, Default)]
pub struct Args<'a> {
    pub(crate) fields: &'a [(ArgKey, ArgValue)],
}

impl Args<'_> {
    /// The value as it was written.
    #[inline]
    pub fn get(self, key: ArgKey) -> Option<ArgValue> {
        self.fields.iter().rev().find(|(have, _)| *have == key).map(|(_, value)| *value)
    }

    /// The value if it is a number, or a text of a whole number (`"7"`).
    pub fn number(self, key: ArgKey, symbols: &Symbols) -> Option<i64> {
        match self.get(key)? {
            ArgValue::Number(number) => Some(number),
            ArgValue::Text(text) => symbols.text(text).trim().parse().ok(),
        }
    }

    /// The value if it is a text.
    #[inline]
    pub fn text(self, key: ArgKey) -> Option<Symbol> {
        match self.get(key)? {
            ArgValue::Text(text) => Some(text),
            ArgValue::Number(_) => None,
        }
    }
}

/// One event, in file order. Cheap to copy fields out of; valid only during the call of the sink.
#[derive(Clone, Copy, Debug)]
pub struct TraceEvent<'a> {
    /// Position among the events of the file, from 0. Decides between events of equal span.
    pub index: u64,
    /// Kind of the event.
    pub event_type: EventType,
    /// `name`; [`Symbol::EMPTY`] when absent.
    pub name: Symbol,
    /// `cat`, as it was written; [`Symbol::EMPTY`] when absent.
    pub category: Symbol,
    /// `pid` and `tid`.
    pub lane: LaneId,
    /// `ts` in nanoseconds; `None` when absent, not a number or the text of one, or beyond 64 bits.
    pub start_nanos: Option<i64>,
    /// `dur` in nanoseconds; `None` when absent, not a number, or when it or the end is beyond 64 bits. May be
    /// negative.
    pub duration_nanos: Option<i64>,
    /// The requested `args` fields.
    pub args: Args<'a>,
    /// The event's own JSON text, from `{` to `}`.
    pub raw: &'a [u8],
    /// The texts of the symbols so far.
    pub symbols: &'a Symbols,
    /// The lanes of the file so far, to look up the event's lane.
    pub lanes: &'a LaneTable,
}

impl TraceEvent<'_> {
    /// Start and end in nanoseconds of a complete event whose times are usable and whose duration is positive:
    /// the events that enter sums. The end never overflows.
    #[inline]
    pub fn span(&self) -> Option<(i64, i64)> {
        if self.event_type != EventType::COMPLETE {
            return None;
        }
        let (start, duration) = (self.start_nanos?, self.duration_nanos?);
        (duration > 0).then(|| (start, start.saturating_add(duration)))
    }
}
