//! Delivers the events of a block to the sink, with symbols instead of a scanner's own numbers. Independent of how
//! batches are made.

use crate::format::damage::{Irregularity, IrregularityKind};
use crate::format::event::{ArgValue, Args, TraceEvent};
use crate::format::lane::{Id, Lane, LaneId, LaneTable};
use crate::format::symbol::{Symbol, Symbols};
use crate::format::time::Time;
use crate::read::batch::{Local, LocalId, LocalText, LocalValue};
use crate::read::scan::Scanner;
use crate::read::sink::Sink;
use crate::read::text::{Quality, decode};

/// Symbols and lanes behind the numbers of one scanner, as far as they have occurred.
#[derive(Debug, Default)]
pub(crate) struct Dictionary {
    texts: Vec<Option<Symbol>>,
    lanes: Vec<Option<LaneId>>,
}

/// Counts and tables of the delivered events.
pub(crate) struct Delivery<'s> {
    sink: &'s mut dyn Sink,
    pub(crate) symbols: Symbols,
    pub(crate) lanes: LaneTable,
    pub(crate) events: u64,
    pub(crate) not_events: u64,
    pub(crate) times_out_of_range: u64,
    pub(crate) times_finer_than_nanos: u64,
    pub(crate) fractional_starts: u64,
    irregularities: Vec<Irregularity>,
}

impl<'s> Delivery<'s> {
    pub(crate) fn new(sink: &'s mut dyn Sink) -> Self {
        Self {
            sink,
            symbols: Symbols::new(),
            lanes: LaneTable::new(),
            events: 0,
            not_events: 0,
            times_out_of_range: 0,
            times_finer_than_nanos: 0,
            fractional_starts: 0,
            irregularities: Vec::new(),
        }
    }

    /// Delivers the scanner's batch, whose offsets are those in `bytes`, and empties it. `base` is where `bytes`
    /// begins in the whole text.
    pub(crate) fn deliver(
        &mut self,
        bytes: &[u8],
        base: u64,
        scanner: &mut Scanner,
        dictionary: &mut Dictionary,
    ) {
        let Scanner { local, batch, .. } = scanner;
        dictionary.texts.resize(local.texts.len(), None);
        dictionary.lanes.resize(local.lanes.len(), None);
        let mut fields = Vec::new();
        let mut args_start = 0;
        for record in &batch.records {
            let offset = base + u64::from(record.text_start);
            let name = self.symbol(record.name, local, dictionary, offset);
            let category = self.symbol(record.category, local, dictionary, offset);
            let lane = self.lane(record.lane, local, dictionary, offset);
            let args_end = record.args_end as usize;
            fields.clear();
            for (key, value) in &batch.args[args_start..args_end] {
                fields.push((
                    *key,
                    match value {
                        LocalValue::Number(number) => ArgValue::Number(*number),
                        LocalValue::Text(text) => {
                            ArgValue::Text(self.symbol(*text, local, dictionary, offset))
                        }
                    },
                ));
            }
            args_start = args_end;
            let (start_nanos, duration_nanos) = self.times(record.start, record.duration);
            self.sink.event(&TraceEvent {
                index: self.events,
                event_type: record.event_type,
                name,
                category,
                lane,
                start_nanos,
                duration_nanos,
                args: Args { fields: &fields },
                raw: &bytes[record.text_start as usize..record.text_end as usize],
                symbols: &self.symbols,
                lanes: &self.lanes,
            });
            self.events += 1;
        }
        self.not_events += batch.not_events;
        self.fractional_starts += batch.fractional_starts;
        for (kind, at) in &batch.irregularities {
            self.note(*kind, base + *at as u64);
        }
        batch.clear();
    }

    /// Counts an irregularity.
    pub(crate) fn note(&mut self, kind: IrregularityKind, offset: u64) {
        match self.irregularities.iter_mut().find(|irregularity| irregularity.kind == kind) {
            Some(irregularity) => {
                irregularity.count += 1;
                irregularity.first_offset = irregularity.first_offset.min(offset);
            }
            None => self.irregularities.push(Irregularity { kind, count: 1, first_offset: offset }),
        }
    }

    /// The irregularities counted, in a fixed order.
    pub(crate) fn take_irregularities(&mut self) -> Vec<Irregularity> {
        let mut irregularities = std::mem::take(&mut self.irregularities);
        irregularities.sort_by_key(|irregularity| irregularity.kind);
        irregularities
    }

    /// Usable times only; the others are counted.
    #[inline]
    fn times(&mut self, start: Time, duration: Time) -> (Option<i64>, Option<i64>) {
        if let (Time::Nanos(start), Time::Nanos(duration)) = (start, duration)
            && start.checked_add(duration).is_some()
        {
            return (Some(start), Some(duration));
        }
        self.unusual_times(start, duration)
    }

    fn unusual_times(&mut self, start: Time, duration: Time) -> (Option<i64>, Option<i64>) {
        for time in [start, duration] {
            match time {
                Time::Rounded(_) => self.times_finer_than_nanos += 1,
                Time::OutOfRange => self.times_out_of_range += 1,
                Time::Nanos(_) | Time::Missing => {}
            }
        }
        let (start, mut duration) = (start.nanos(), duration.nanos());
        if let (Some(from), Some(length)) = (start, duration)
            && from.checked_add(length).is_none()
        {
            self.times_out_of_range += 1;
            duration = None;
        }
        (start, duration)
    }

    #[inline]
    fn symbol(&mut self, text: LocalText, local: &Local, dictionary: &mut Dictionary, offset: u64) -> Symbol {
        match dictionary.texts[text as usize] {
            Some(symbol) => symbol,
            None => self.new_symbol(text, local, dictionary, offset),
        }
    }

    #[cold]
    fn new_symbol(
        &mut self,
        text: LocalText,
        local: &Local,
        dictionary: &mut Dictionary,
        offset: u64,
    ) -> Symbol {
        let (decoded, quality) = decode(local.texts.get(text));
        let known = self.symbols.len();
        let symbol = self.symbols.intern(&decoded);
        // Another thread's scanner may have read the text first.
        if quality == Quality::Replaced && symbol.index() >= known {
            self.note(IrregularityKind::InvalidUtf8, offset);
        }
        dictionary.texts[text as usize] = Some(symbol);
        symbol
    }

    #[inline]
    fn lane(&mut self, lane: u32, local: &Local, dictionary: &mut Dictionary, offset: u64) -> LaneId {
        match dictionary.lanes[lane as usize] {
            Some(id) => id,
            None => self.new_lane(lane, local, dictionary, offset),
        }
    }

    #[cold]
    fn new_lane(&mut self, lane: u32, local: &Local, dictionary: &mut Dictionary, offset: u64) -> LaneId {
        let (pid, tid) = local.lanes[lane as usize];
        let mut id = |id: LocalId| match id {
            LocalId::Missing => Id::Missing,
            LocalId::Number(number) => Id::Number(number),
            LocalId::Text(text) => Id::Text(self.symbol(text, local, dictionary, offset)),
            LocalId::Other(text) => Id::Other(self.symbol(text, local, dictionary, offset)),
        };
        let lane_id = Lane { pid: id(pid), tid: id(tid) };
        let number = self.lanes.intern(lane_id);
        dictionary.lanes[lane as usize] = Some(number);
        number
    }
}
