//! The document, block after block: the fields around the list of events, and its end. Independent
//! of sources or threads.

use crate::format::damage::{Damage, DamageKind, ReadError, Skipped};
use crate::format::document::Document;
use crate::format::event::{ArgSet, EventType};
use crate::read::deliver::{Delivery, Dictionary};
use crate::read::find::space_end;
use crate::read::lex::{LexError, Lexer, Stopped};
use crate::read::scan::{ListState, ScanEnd, ScanProgress, Scanner};
use crate::read::sink::Sink;
use crate::read::text::decode;
use crate::{MAX_DEPTH, MAX_VALUE_BYTES};

/// State of the document parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// The opening brace or bracket.
    Start,
    /// A field or the closing brace.
    FirstField,
    /// A field.
    Field,
    /// A comma or the closing brace.
    AfterField,
    /// The list of events.
    List(ListState),
    /// The next event in the list, behind damage.
    Resume,
    /// White space to the end.
    End,
    /// Nothing: reading stopped.
    Stopped,
}

/// Shape of the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Unknown,
    /// `{"traceEvents": […], …}`
    Object,
    /// `[…]`
    List,
    /// Anything else.
    Other,
}

/// Takes the text in order, in pieces of any size, and delivers events as soon as they are complete.
pub(crate) struct Feeder<'s> {
    pub(crate) delivery: Delivery<'s>,
    pub(crate) document: Document,
    scanner: Scanner,
    dictionary: Dictionary,
    next: Next,
    shape: Shape,
    seen_list: bool,
    /// The beginning of something that has not ended yet.
    carry: Vec<u8>,
    /// Bytes of the carry that were scanned without reaching an end.
    scanned: usize,
    /// Where the carry, or else the next piece, begins in the whole text.
    offset: u64,
    damage: Option<(DamageKind, u64)>,
    pub(crate) skipped: Option<Skipped>,
    /// The damage behind which an event is looked for.
    gap: Option<Gap>,
    /// No more text will come.
    at_end: bool,
}

/// Damage inside the list of events, up to the next event.
struct Gap {
    damage: Damage,
    /// Bytes passed.
    bytes: u64,
    /// Events recognised in them, and how much of the mark of one was matched last.
    events: u64,
    matched: usize,
}

impl Gap {
    /// Passes bytes, in pieces of any size.
    fn pass(&mut self, lost: &[u8]) {
        const MARK: &[u8] = b"\"ph\"";
        self.bytes += lost.len() as u64;
        for byte in lost {
            self.matched = match (*byte == MARK[self.matched], *byte) {
                (true, _) => self.matched + 1,
                (false, b'"') => 1,
                (false, _) => 0,
            };
            if self.matched == MARK.len() {
                self.events += 1;
                self.matched = 1;
            }
        }
    }
}

/// An event behind damage that is longer than this is taken for damage too, so that memory and time stay small.
const MAX_RESUMED_BYTES: usize = 1 << 20;

/// Treatment of the rest of a piece.
enum Flow {
    /// Continue from here.
    Go(usize),
    /// Keep it from here on until more comes.
    Wait(usize),
}

/// How the source ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SourceEnd {
    Whole,
    Damaged(DamageKind),
}

impl<'s> Feeder<'s> {
    pub(crate) fn new(sink: &'s mut dyn Sink, wants: ArgSet) -> Self {
        Self {
            delivery: Delivery::new(sink),
            document: Document::default(),
            scanner: Scanner::new(wants),
            dictionary: Dictionary::default(),
            next: Next::Start,
            shape: Shape::Unknown,
            seen_list: false,
            carry: Vec::new(),
            scanned: 0,
            offset: 0,
            damage: None,
            skipped: None,
            gap: None,
            at_end: false,
        }
    }

    /// Returns whether the rest of the text is ignored.
    pub(crate) fn is_stopped(&self) -> bool {
        self.next == Next::Stopped
    }

    /// Takes the next piece of the text.
    pub(crate) fn feed(&mut self, piece: &[u8]) {
        let mut piece = piece;
        // A carry takes no more of the piece than it needs to end, but it is scanned again only when it is twice as long, over
        // several pieces if need be: the bytes that are copied and scanned again stay proportional.
        while !self.carry.is_empty() && !piece.is_empty() && !self.is_stopped() {
            let before = self.carry.len();
            let needed = (self.scanned + self.scanned.max(4096)).saturating_sub(before).max(1);
            if piece.len() < needed {
                self.carry.extend_from_slice(piece);
                self.check_carry();
                return;
            }
            let (part, rest) = piece.split_at(needed);
            let mut carry = std::mem::take(&mut self.carry);
            carry.extend_from_slice(part);
            let passed = self.advance(&carry);
            self.offset += passed as u64;
            if passed >= before {
                // The rest of the part is scanned again with what follows it.
                piece = &piece[passed - before..];
            } else {
                carry.drain(..passed);
                self.scanned = carry.len();
                self.carry = carry;
                piece = rest;
                self.check_carry();
            }
        }
        if self.is_stopped() || piece.is_empty() {
            return;
        }
        let passed = self.advance(piece);
        self.offset += passed as u64;
        self.carry.extend_from_slice(&piece[passed..]);
        self.scanned = self.carry.len();
        self.check_carry();
    }

    /// Scans the rest of the carry again.
    fn scan_rest(&mut self) {
        if self.is_stopped() || self.scanned >= self.carry.len() {
            return;
        }
        let mut carry = std::mem::take(&mut self.carry);
        let passed = self.advance(&carry);
        self.offset += passed as u64;
        if !self.is_stopped() {
            carry.drain(..passed);
            self.scanned = carry.len();
            self.carry = carry;
        }
    }

    /// Whether an event may begin exactly here, so that a run scanned elsewhere can be adopted.
    pub(crate) fn is_at_event(&self) -> bool {
        self.carry.is_empty()
            && matches!(self.next, Next::List(ListState::BeforeFirst | ListState::AfterComma))
    }

    /// Takes over a run that another scanner made over `piece`, the next piece of the text, from its first byte on,
    /// which opens an event.
    pub(crate) fn adopt(
        &mut self,
        piece: &[u8],
        run: ScanProgress,
        scanner: &mut Scanner,
        dictionary: &mut Dictionary,
    ) {
        self.delivery.deliver(piece, self.offset, scanner, dictionary);
        let passed = self.list_ended(run);
        self.offset += passed as u64;
        if self.is_stopped() {
            return;
        }
        self.feed(&piece[passed..]);
    }

    /// Scans the complete part of the piece and returns its length. Stops at a fault.
    fn advance(&mut self, piece: &[u8]) -> usize {
        let mut at = 0;
        loop {
            match self.step(piece, at) {
                Ok(Flow::Go(passed)) => at = passed,
                Ok(Flow::Wait(passed)) | Err((passed, LexError::More)) => return passed,
                Err((passed, LexError::Fault(kind, fault))) => {
                    self.stop(kind, self.offset + fault as u64);
                    return passed;
                }
            }
        }
    }

    /// Passes one part of the document. An error comes with the offset to continue from.
    fn step(&mut self, piece: &[u8], at: usize) -> Result<Flow, (usize, LexError)> {
        if let Next::List(state) = self.next {
            let run = self.scanner.run(piece, at, state);
            self.delivery.deliver(piece, self.offset, &mut self.scanner, &mut self.dictionary);
            let passed = self.list_ended(run);
            return Ok(if run.end == ScanEnd::More { Flow::Wait(passed) } else { Flow::Go(passed) });
        }
        if self.next == Next::Resume {
            return Ok(self.resume(piece, at));
        }
        if self.next == Next::Stopped {
            return Ok(Flow::Wait(at));
        }
        let mut irregularities = Vec::new();
        let mut lexer = Lexer::new(piece, &mut irregularities);
        let start = if self.next == Next::Start { self.behind_byte_order_mark(piece, at)? } else { at };
        let Ok((byte, here)) = lexer.peek(start) else {
            // White space need not be kept, except before a document that has not begun.
            return Ok(Flow::Wait(if self.next == Next::Start { at } else { piece.len() }));
        };
        match (self.next, byte) {
            (Next::Start, b'{') => (self.next, self.shape) = (Next::FirstField, Shape::Object),
            (Next::Start, b'[') => {
                (self.next, self.shape) = (Next::List(ListState::BeforeFirst), Shape::List);
                self.seen_list = true;
            }
            (Next::Start, _) => {
                self.shape = Shape::Other;
                return Err((here, LexError::Fault(DamageKind::InvalidJson, here)));
            }
            (Next::FirstField | Next::AfterField, b'}') => self.next = Next::End,
            (Next::AfterField, b',') => self.next = Next::Field,
            (Next::FirstField | Next::Field, b'"') => {
                let field = Field::pass(&mut lexer, here).map_err(|Stopped| (here, lexer.stop()))?;
                self.take_field(piece, &field, &irregularities);
                return Ok(Flow::Go(field.end));
            }
            (Next::End, _) => return Err((here, LexError::Fault(DamageKind::TrailingData, here))),
            _ => return Err((here, LexError::Fault(DamageKind::InvalidJson, here))),
        }
        Ok(Flow::Go(here + 1))
    }

    /// The offset behind a byte order mark, if there is one at the very beginning.
    fn behind_byte_order_mark(&self, piece: &[u8], at: usize) -> Result<usize, (usize, LexError)> {
        const MARK: &[u8] = b"\xef\xbb\xbf";
        if self.offset > 0 || at > 0 || piece.is_empty() {
            return Ok(at);
        }
        if piece.starts_with(MARK) {
            return Ok(MARK.len());
        }
        if MARK.starts_with(piece) { Err((at, LexError::More)) } else { Ok(at) }
    }

    fn take_field(
        &mut self,
        piece: &[u8],
        field: &Field,
        irregularities: &[(crate::IrregularityKind, usize)],
    ) {
        for (kind, at) in irregularities {
            self.delivery.note(*kind, self.offset + *at as u64);
        }
        self.next = Next::AfterField;
        if field.key == "traceEvents" {
            if self.seen_list {
                self.stop(DamageKind::SecondEventList, self.offset + field.start as u64);
            } else if field.first == b'[' {
                self.seen_list = true;
                self.next = Next::List(ListState::BeforeFirst);
            }
            return;
        }
        let value = &piece[field.start..field.end];
        if value.len() <= Document::MAX_FIELD_BYTES
            && let Ok(value) = serde_json::from_slice(value)
        {
            self.document.push(field.key.clone(), value);
        }
    }

    /// Records the end of a run over the list, and returns its offset.
    fn list_ended(&mut self, run: ScanProgress) -> usize {
        match run.end {
            ScanEnd::More => self.next = Next::List(run.state),
            ScanEnd::Closed => {
                self.next = if self.shape == Shape::List { Next::End } else { Next::AfterField };
            }
            ScanEnd::Fault(kind, at) => self.open_gap(kind, self.offset + at as u64),
        }
        run.at
    }

    /// Records damage inside the list, behind which the next event is searched.
    fn open_gap(&mut self, kind: DamageKind, offset: u64) {
        let damage = Damage { kind, offset, events_before: self.delivery.events };
        self.gap = Some(Gap { damage, bytes: 0, events: 0, matched: 0 });
        self.next = Next::Resume;
    }

    /// Looks for the next event behind damage: an object that has a `ph`. The result does not depend on the pieces in
    /// which the text comes.
    fn resume(&mut self, piece: &[u8], at: usize) -> Flow {
        let Some(mut gap) = self.gap.take() else { return Flow::Wait(piece.len()) };
        let mut from = at;
        while let Some(brace) = memchr::memchr(b'{', &piece[from..]) {
            let start = from + brace;
            let limit = piece.len().min(start + MAX_RESUMED_BYTES);
            from = match self.scanner.event(&piece[..limit], start) {
                Ok(end)
                    if self
                        .scanner
                        .batch
                        .records
                        .last()
                        .is_some_and(|it| it.event_type != EventType::MISSING) =>
                {
                    gap.pass(&piece[at..start]);
                    self.close_gap(gap);
                    self.delivery.deliver(piece, self.offset, &mut self.scanner, &mut self.dictionary);
                    self.next = Next::List(ListState::AfterValue);
                    return Flow::Go(end);
                }
                // A part of an event.
                Ok(end) => end,
                Err(LexError::More)
                    if limit == piece.len() && limit - start < MAX_RESUMED_BYTES && !self.at_end =>
                {
                    gap.pass(&piece[at..start]);
                    self.gap = Some(gap);
                    return Flow::Wait(start);
                }
                Err(LexError::Fault(DamageKind::TooDeep, fault)) => fault,
                Err(_) => start + 1,
            };
            self.scanner.batch.clear();
        }
        gap.pass(&piece[at..]);
        self.gap = Some(gap);
        Flow::Wait(piece.len())
    }

    /// Counts damage that has been passed.
    fn close_gap(&mut self, gap: Gap) {
        let Gap { damage, bytes, events, .. } = gap;
        let skipped = self.skipped.get_or_insert(Skipped { places: 0, bytes: 0, events: 0, first: damage });
        skipped.places += 1;
        skipped.bytes += bytes;
        skipped.events += events;
    }

    fn stop(&mut self, kind: DamageKind, offset: u64) {
        self.damage = Some((kind, offset));
        self.next = Next::Stopped;
        self.carry = Vec::new();
    }

    fn check_carry(&mut self) {
        if self.carry.len() <= MAX_VALUE_BYTES {
            return;
        }
        if let Next::List(_) = self.next {
            self.open_gap(DamageKind::TooLong, self.offset);
            self.scanned = 0;
        } else {
            self.stop(DamageKind::TooLong, self.offset);
        }
    }

    /// Ends the text. Returns its damage, or an error where there are no events.
    pub(crate) fn finish(&mut self, end: SourceEnd) -> Result<Ending, ReadError> {
        self.at_end = true;
        if self.next == Next::Resume {
            self.scanned = 0;
        }
        self.scan_rest();
        if let Some(gap) = self.gap.take() {
            // No event follows.
            self.stop(gap.damage.kind, gap.damage.offset);
        }
        let rest_is_space = space_end(&self.carry, 0) == self.carry.len();
        let text_end = self.offset + self.carry.len() as u64;
        let mut unclosed_list = false;
        match (self.next, end) {
            // A fault in the text comes first.
            (Next::Stopped, _) | (Next::End, SourceEnd::Whole) => {}
            (_, SourceEnd::Damaged(kind)) => self.damage = Some((kind, text_end)),
            (Next::Start, SourceEnd::Whole) if rest_is_space => return Err(ReadError::Empty),
            (Next::List(_), SourceEnd::Whole) if self.shape == Shape::List && rest_is_space => {
                unclosed_list = true;
            }
            (_, SourceEnd::Whole) => self.damage = Some((DamageKind::Truncated, text_end)),
        }
        let events = self.delivery.events;
        let damage = self.damage.map(|(kind, offset)| Damage { kind, offset, events_before: events });
        if !self.seen_list {
            return Err(match (self.shape, damage) {
                (Shape::Object, Some(damage)) if damage.kind != DamageKind::TrailingData => {
                    ReadError::DamagedBeforeEvents { damage }
                }
                (Shape::Object, _) => not_a_trace("a JSON object without a list of \"traceEvents\""),
                (_, Some(damage))
                    if matches!(
                        damage.kind,
                        DamageKind::PackedTruncated(_)
                            | DamageKind::PackedCorrupt(_)
                            | DamageKind::UnpackLimit(_)
                    ) =>
                {
                    ReadError::DamagedBeforeEvents { damage }
                }
                _ => not_a_trace("the text begins with neither '{' nor '['"),
            });
        }
        if events == 0 && self.delivery.not_events > 0 {
            return Err(not_a_trace("a list whose members are not events"));
        }
        Ok(Ending { damage, unclosed_list, text_bytes: text_end })
    }
}

/// A field of the document, in a piece.
struct Field {
    key: String,
    /// First byte of its value.
    first: u8,
    start: usize,
    end: usize,
}

impl Field {
    /// Passes a key and its value, or the opening bracket of the list of events.
    fn pass(lexer: &mut Lexer<'_>, at: usize) -> Result<Self, Stopped> {
        let key = lexer.key(at)?;
        let name = decode(key.raw).0.into_owned();
        let (first, start) = lexer.peek(key.end)?;
        let is_list = name == "traceEvents" && first == b'[';
        let end = if is_list { start + 1 } else { lexer.skip(start, 1)? };
        Ok(Self { key: name, first, start, end })
    }
}

/// How a document with a list of events ended.
pub(crate) struct Ending {
    pub(crate) damage: Option<Damage>,
    pub(crate) unclosed_list: bool,
    pub(crate) text_bytes: u64,
}

fn not_a_trace(found: &str) -> ReadError {
    ReadError::NotATrace { found: found.to_owned() }
}

const _: () = assert!(MAX_DEPTH < 128, "one bit of a u128 per open container");
