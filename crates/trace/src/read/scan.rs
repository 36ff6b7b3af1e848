//! The list of events in a block of bytes. Independent of the document around the list, of sources or of threads.

use crate::format::damage::{DamageKind, IrregularityKind};
use crate::format::event::ArgSet;
use crate::read::batch::{Local, ScannedEvent, ScannedEvents};
use crate::read::fields::{EVENT_DEPTH, FieldReader, Fields};
use crate::read::keys::ArgKeys;
use crate::read::lex::{LexError, Lexer, Stopped};

/// State of the list parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListState {
    /// After the opening bracket: a value or the closing bracket.
    BeforeFirst,
    /// After a value: a comma or the closing bracket.
    AfterValue,
    /// After a comma: a value.
    AfterComma,
}

/// Reason of the end of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScanEnd {
    /// The rest of the block is the beginning of something longer.
    More,
    /// The closing bracket was passed.
    Closed,
    /// The rest is not JSON; the offset of the fault.
    Fault(DamageKind, usize),
}

/// Position that a scan reached: all events before `at` are in the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScanProgress {
    pub(crate) at: usize,
    pub(crate) state: ListState,
    pub(crate) end: ScanEnd,
}

/// Scans lists of events. Keeps its numbering of texts from block to block.
#[derive(Debug)]
pub(crate) struct Scanner {
    pub(crate) local: Local,
    pub(crate) batch: ScannedEvents,
    keys: ArgKeys,
    /// Whether anything inside `args` is wanted.
    reads_args: bool,
    /// Irregularities of the value being scanned.
    pending: Vec<(IrregularityKind, usize)>,
}

/// One comma, one value or the end of the list.
enum ListItem {
    Passed { at: usize, state: ListState },
    Closed { at: usize },
}

impl Scanner {
    pub(crate) fn new(wants: ArgSet) -> Self {
        let keys = ArgKeys::new(wants);
        let reads_args = !keys.is_empty();
        Self { local: Local::new(), batch: ScannedEvents::default(), keys, reads_args, pending: Vec::new() }
    }

    /// Scans from `at` on to the end of the block, of the list or of valid text; events go to the batch.
    pub(crate) fn run(&mut self, bytes: &[u8], at: usize, state: ListState) -> ScanProgress {
        let (mut at, mut state) = (at, state);
        loop {
            match self.list_item(bytes, &mut at, state) {
                Ok(ListItem::Passed { at: next, state: then }) => (at, state) = (next, then),
                Ok(ListItem::Closed { at }) => return ScanProgress { at, state, end: ScanEnd::Closed },
                Err(LexError::More) => return ScanProgress { at, state, end: ScanEnd::More },
                Err(LexError::Fault(kind, fault)) => {
                    return ScanProgress { at, state, end: ScanEnd::Fault(kind, fault) };
                }
            }
        }
    }

    /// Passes white space, to which `at` moves, and then one comma, one value or the closing bracket.
    #[inline]
    fn list_item(&mut self, bytes: &[u8], at: &mut usize, state: ListState) -> Result<ListItem, LexError> {
        let mut lexer = Lexer::new(bytes, &mut self.pending);
        let Ok((byte, here)) = lexer.peek(*at) else {
            *at = bytes.len();
            return Err(LexError::More);
        };
        *at = here;
        match (byte, state) {
            (b',', ListState::AfterValue) => {
                Ok(ListItem::Passed { at: *at + 1, state: ListState::AfterComma })
            }
            (b']', ListState::AfterValue | ListState::BeforeFirst) => Ok(ListItem::Closed { at: *at + 1 }),
            (_, ListState::AfterValue) => Err(LexError::Fault(DamageKind::InvalidJson, *at)),
            (b'{', _) => {
                let end = self.event(bytes, *at)?;
                Ok(ListItem::Passed { at: end, state: ListState::AfterValue })
            }
            _ => {
                let skipped = lexer.skip(here, EVENT_DEPTH - 1).map_err(|Stopped| lexer.stop());
                let end = self.commit_irregularities(skipped)?;
                self.batch.not_events += 1;
                Ok(ListItem::Passed { at: end, state: ListState::AfterValue })
            }
        }
    }

    /// Scans the event whose brace is at `at` and returns the offset behind it. Only a complete event is added.
    #[inline]
    pub(crate) fn event(&mut self, bytes: &[u8], at: usize) -> Result<usize, LexError> {
        let args_before = self.batch.args.len();
        let mut reader = FieldReader {
            lexer: Lexer::new(bytes, &mut self.pending),
            local: &mut self.local,
            keys: &self.keys,
            reads_args: self.reads_args,
            args: &mut self.batch.args,
        };
        let mut fields = Fields::NONE;
        let Ok(end) = reader.event(at, &mut fields) else {
            let stop = reader.lexer.stop();
            self.batch.args.truncate(args_before);
            self.pending.clear();
            return Err(stop);
        };
        if !self.pending.is_empty() {
            self.batch.irregularities.append(&mut self.pending);
        }
        self.batch.fractional_starts += u64::from(fields.fractional_start);
        self.batch.records.push(ScannedEvent {
            start: fields.start,
            duration: fields.duration,
            name: fields.name,
            category: fields.category,
            lane: self.local.lane(fields.pid, fields.tid),
            text_start: at as u32,
            text_end: end as u32,
            args_end: self.batch.args.len() as u32,
            event_type: fields.event_type,
        });
        Ok(end)
    }

    /// Keeps the irregularities of a whole value and drops those of a part.
    fn commit_irregularities(&mut self, outcome: Result<usize, LexError>) -> Result<usize, LexError> {
        match outcome {
            Ok(_) => self.batch.irregularities.append(&mut self.pending),
            Err(_) => self.pending.clear(),
        }
        outcome
    }
}
