//! JSON tokens in a block of bytes: checks every byte it passes, copies none. Independent of the trace format.
//!
//! Offsets are passed and returned by value, so that they stay in registers; whatever is unusual (escapes, control
//! characters, the end of the block, faults) is left to functions that are not inlined. A token that reaches the end of
//! the block gives [`LexError::More`]; the caller decides whether that is damage.

use crate::MAX_DEPTH;
use crate::format::damage::{DamageKind, IrregularityKind};
use crate::read::digits::{SHORT_DIGITS, short_digits};
use crate::read::find::{space_end, string_stop};

/// A value could not be passed; [`Lexer::stop`] returns the reason. Empty, so that results travel in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stopped;

/// Reason why a value could not be passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LexError {
    /// The block ends inside it.
    More,
    /// It is not JSON; the position in the block.
    Fault(DamageKind, usize),
}

/// A key that was passed, colon included.
pub(crate) struct Key<'a> {
    pub(crate) raw: &'a [u8],
    /// Whether it has a backslash in it, so that its bytes are not its text.
    pub(crate) escaped: bool,
    /// Behind the colon.
    pub(crate) end: usize,
}

/// A block, and the irregularities passed in it.
pub(crate) struct Lexer<'a> {
    pub(crate) bytes: &'a [u8],
    irregularities: &'a mut Vec<(IrregularityKind, usize)>,
    stop: LexError,
}

impl<'a> Lexer<'a> {
    #[inline]
    pub(crate) fn new(bytes: &'a [u8], irregularities: &'a mut Vec<(IrregularityKind, usize)>) -> Self {
        Self { bytes, irregularities, stop: LexError::More }
    }

    /// Reason why the last value could not be passed.
    pub(crate) fn stop(&self) -> LexError {
        self.stop
    }

    /// A fault at an offset, or `More` at the end of the block.
    #[cold]
    pub(crate) fn unexpected(&mut self, at: usize) -> Stopped {
        if at >= self.bytes.len() { self.more() } else { self.fault(DamageKind::InvalidJson, at) }
    }

    #[cold]
    fn more(&mut self) -> Stopped {
        self.stop = LexError::More;
        Stopped
    }

    #[cold]
    fn fault(&mut self, kind: DamageKind, at: usize) -> Stopped {
        self.stop = LexError::Fault(kind, at);
        Stopped
    }

    /// Returns the first byte that is not white space, and its offset.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "measured: the offset must stay in a register")]
    pub(crate) fn peek(&mut self, at: usize) -> Result<(u8, usize), Stopped> {
        // Most tokens are followed by nothing or one space.
        if let Some(&byte) = self.bytes.get(at)
            && byte > b' '
        {
            return Ok((byte, at));
        }
        if let Some(&[b' ', byte]) = self.bytes.get(at..at + 2)
            && byte > b' '
        {
            return Ok((byte, at + 1));
        }
        let at = space_end(self.bytes, at);
        match self.bytes.get(at) {
            Some(&byte) => Ok((byte, at)),
            None => Err(self.more()),
        }
    }

    /// Passes a string, whose opening quote is at `at`, and returns the offset behind its closing quote.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "measured: the offset must stay in a register")]
    pub(crate) fn string(&mut self, at: usize) -> Result<usize, Stopped> {
        let stop = string_stop(self.bytes, at + 1);
        if self.bytes.get(stop) == Some(&b'"') {
            return Ok(stop + 1);
        }
        self.unusual_string(stop)
    }

    /// The bytes of a string that was passed, without the quotes.
    #[inline]
    pub(crate) fn inside(&self, at: usize, end: usize) -> &'a [u8] {
        &self.bytes[at + 1..end - 1]
    }

    /// A string with escapes or control characters in it, from the first of them on.
    #[cold]
    fn unusual_string(&mut self, mut stop: usize) -> Result<usize, Stopped> {
        // Each kind counts once per string.
        let (mut bad_escape, mut control) = (None, None);
        loop {
            match self.bytes.get(stop) {
                None => return Err(self.more()),
                Some(b'"') => break,
                Some(b'\\') => {
                    match self.bytes.get(stop + 1) {
                        None => return Err(self.more()),
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {}
                        Some(b'u') => {
                            let Some(digits) = self.bytes.get(stop + 2..stop + 6) else {
                                return Err(self.more());
                            };
                            if !digits.iter().all(u8::is_ascii_hexdigit) {
                                bad_escape.get_or_insert(stop);
                            }
                        }
                        Some(next) => {
                            bad_escape.get_or_insert(stop);
                            if *next < b' ' {
                                control.get_or_insert(stop + 1);
                            }
                        }
                    }
                    stop = string_stop(self.bytes, stop + 2);
                }
                Some(_) => {
                    control.get_or_insert(stop);
                    stop = string_stop(self.bytes, stop + 1);
                }
            }
        }
        self.irregularities.extend(bad_escape.map(|at| (IrregularityKind::InvalidEscape, at)));
        self.irregularities.extend(control.map(|at| (IrregularityKind::ControlCharacter, at)));
        Ok(stop + 1)
    }

    /// Passes white space, a key and its colon.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "measured: the offset must stay in a register")]
    pub(crate) fn key(&mut self, at: usize) -> Result<Key<'a>, Stopped> {
        let (byte, at) = self.peek(at)?;
        if byte != b'"' {
            return Err(self.unexpected(at));
        }
        let stop = string_stop(self.bytes, at + 1);
        // As profilers write it: `"key":`, and nothing unusual in between.
        if let Some(b"\":") = self.bytes.get(stop..stop + 2) {
            return Ok(Key { raw: &self.bytes[at + 1..stop], escaped: false, end: stop + 2 });
        }
        self.unusual_key(at, stop)
    }

    #[cold]
    fn unusual_key(&mut self, at: usize, stop: usize) -> Result<Key<'a>, Stopped> {
        let end = self.unusual_string(stop)?;
        let raw = self.inside(at, end);
        let (byte, colon) = self.peek(end)?;
        if byte != b':' {
            return Err(self.unexpected(colon));
        }
        Ok(Key { raw, escaped: raw.contains(&b'\\'), end: colon + 1 })
    }

    /// Passes a number, whose first byte is at `at`, and returns the offset behind it.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "measured: the offset must stay in a register")]
    pub(crate) fn number(&mut self, at: usize) -> Result<usize, Stopped> {
        // Most are short and whole.
        if let Some(chunk) = self.bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
            let (digits, after) = short_digits(*chunk);
            let is_short = (1..=SHORT_DIGITS).contains(&digits) && (chunk[0] != b'0' || digits == 1);
            if is_short && matches!(after, b',' | b'}' | b']' | b' ' | b'\n') {
                return Ok(at + digits);
            }
        }
        self.any_number(at)
    }

    /// `NaN` and infinities pass as irregularities.
    fn any_number(&mut self, start: usize) -> Result<usize, Stopped> {
        let mut at = start;
        if self.bytes.get(at) == Some(&b'-') {
            at += 1;
        }
        match self.bytes.get(at) {
            Some(b'0') => at += 1,
            Some(b'1'..=b'9') => at = self.digits_end(at),
            Some(b'N' | b'I') => return self.not_finite(start, at),
            _ => return Err(self.unexpected(at)),
        }
        if self.bytes.get(at) == Some(&b'.') {
            at = self.some_digits(at + 1)?;
        }
        if let Some(b'e' | b'E') = self.bytes.get(at) {
            at += 1;
            if let Some(b'+' | b'-') = self.bytes.get(at) {
                at += 1;
            }
            at = self.some_digits(at)?;
        }
        if at == self.bytes.len() { Err(self.more()) } else { Ok(at) }
    }

    #[inline]
    fn digits_end(&self, mut at: usize) -> usize {
        while let Some(b'0'..=b'9') = self.bytes.get(at) {
            at += 1;
        }
        at
    }

    #[inline]
    fn some_digits(&mut self, at: usize) -> Result<usize, Stopped> {
        let end = self.digits_end(at);
        if end == at { Err(self.unexpected(at)) } else { Ok(end) }
    }

    /// `NaN`, `Infinity`, `-Infinity`: what Python's `json` writes for them.
    #[cold]
    fn not_finite(&mut self, start: usize, at: usize) -> Result<usize, Stopped> {
        let negative = at > start;
        let word: &[u8] = if self.bytes.get(at) == Some(&b'N') && !negative { b"NaN" } else { b"Infinity" };
        let end = self.word(at, word)?;
        self.irregularities.push((IrregularityKind::NotFinite, start));
        Ok(end)
    }

    /// Passes a word such as `null`.
    fn word(&mut self, at: usize, word: &[u8]) -> Result<usize, Stopped> {
        let rest = &self.bytes[at..];
        if rest.starts_with(word) {
            return Ok(at + word.len());
        }
        let same = rest.iter().zip(word).take_while(|(a, b)| a == b).count();
        Err(self.unexpected(at + same))
    }

    /// Skips a value that is not a container and begins with `first` at `at`.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "measured: the offset must stay in a register")]
    fn scalar(&mut self, first: u8, at: usize) -> Result<usize, Stopped> {
        match first {
            b'"' => self.string(at),
            b'0'..=b'9' => self.number(at),
            _ => self.unusual_scalar(first, at),
        }
    }

    fn unusual_scalar(&mut self, first: u8, at: usize) -> Result<usize, Stopped> {
        match first {
            b'-' | b'N' | b'I' => self.any_number(at),
            b't' => self.word(at, b"true"),
            b'f' => self.word(at, b"false"),
            b'n' => self.word(at, b"null"),
            _ => Err(self.unexpected(at)),
        }
    }

    /// Passes any value, whose first byte is at `at` and inside `depth` containers.
    #[inline]
    pub(crate) fn skip(&mut self, at: usize, depth: usize) -> Result<usize, Stopped> {
        match self.bytes.get(at) {
            None => Err(self.more()),
            Some(b'{' | b'[') => self.skip_container(at, depth),
            Some(&first) => self.scalar(first, at),
        }
    }

    /// Passes a container without recursion: one bit per open container distinguishes objects from lists.
    fn skip_container(&mut self, at: usize, outer: usize) -> Result<usize, Stopped> {
        let limit = MAX_DEPTH.saturating_sub(outer);
        let mut at = at;
        let mut objects: u128 = 0;
        let mut depth = 0;
        'value: loop {
            // A value comes next.
            let (first, here) = self.peek(at)?;
            if first == b'{' || first == b'[' {
                if depth >= limit {
                    return Err(self.fault(DamageKind::TooDeep, here));
                }
                depth += 1;
                objects = objects << 1 | u128::from(first == b'{');
                let (next, there) = self.peek(here + 1)?;
                at = there;
                // '{' + 2 is '}' and '[' + 2 is ']'.
                if next != first + 2 {
                    if first == b'{' {
                        at = self.key(at)?.end;
                    }
                    continue 'value;
                }
                at += 1;
                objects >>= 1;
                depth -= 1;
            } else {
                at = self.scalar(first, here)?;
            }
            // A value has just ended.
            while depth > 0 {
                let (next, here) = self.peek(at)?;
                let in_object = objects & 1 == 1;
                if next == b',' {
                    at = if in_object { self.key(here + 1)?.end } else { here + 1 };
                    continue 'value;
                }
                if next != (if in_object { b'}' } else { b']' }) {
                    return Err(self.unexpected(here));
                }
                at = here + 1;
                objects >>= 1;
                depth -= 1;
            }
            return Ok(at);
        }
    }
}
