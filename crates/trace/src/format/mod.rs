//! Parts of a trace: events, lanes, texts as symbols, exact times, and the damage that a file may have. The module depends
//! neither on bytes nor on files.

pub(crate) mod damage;
pub(crate) mod document;
pub(crate) mod event;
pub(crate) mod lane;
pub(crate) mod symbol;
pub(crate) mod time;

pub use damage::{Damage, DamageKind, Irregularity, IrregularityKind, Packing, ReadError, Skipped};
pub use document::Document;
pub use event::{ArgKey, ArgSet, ArgValue, Args, EventType, TraceEvent};
pub use lane::{Id, Lane, LaneId, LaneTable};
pub use symbol::{Symbol, Symbols};
