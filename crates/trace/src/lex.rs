//! JSON tokens in a block of bytes: checks every byte it passes, copies none. Knows nothing of traces.
//!
//! A token that reaches the end of the block gives [`Stop::More`]: whether that is damage, only the caller knows.

use crate::MAX_DEPTH;
use crate::damage::{BlemishKind, DamageKind};
use crate::find::{space_end, string_stop};

/// A value could not be passed; [`Cursor::stop`] says why. Empty, so that results travel in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stopped;

/// Why a value could not be passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The block ends inside it.
    More,
    /// It is not JSON; the position in the block.
    Fault(DamageKind, usize),
}

/// A place in a block, and the blemishes passed on the way.
pub(crate) struct Cursor<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) at: usize,
    blemishes: &'a mut Vec<(BlemishKind, usize)>,
    stop: Stop,
    /// Where the last string with a backslash in it ended.
    escaped_end: usize,
}

impl<'a> Cursor<'a> {
    #[inline]
    pub(crate) fn new(bytes: &'a [u8], at: usize, blemishes: &'a mut Vec<(BlemishKind, usize)>) -> Self {
        Self { bytes, at, blemishes, stop: Stop::More, escaped_end: usize::MAX }
    }

    /// Why the last value could not be passed.
    pub(crate) fn stop(&self) -> Stop {
        self.stop
    }

    /// A fault at the cursor, or `More` at the end of the block.
    #[cold]
    pub(crate) fn unexpected(&mut self) -> Stopped {
        if self.at >= self.bytes.len() { self.more() } else { self.fault(DamageKind::InvalidJson) }
    }

    #[cold]
    fn more(&mut self) -> Stopped {
        self.stop = Stop::More;
        Stopped
    }

    #[cold]
    fn fault(&mut self, kind: DamageKind) -> Stopped {
        self.stop = Stop::Fault(kind, self.at);
        Stopped
    }

    /// Passes white space and gives the byte after it, without passing that.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<u8, Stopped> {
        // Most tokens are followed by nothing or one space.
        if let Some(&byte) = self.bytes.get(self.at)
            && byte > b' '
        {
            return Ok(byte);
        }
        if let Some(&[b' ', byte]) = self.bytes.get(self.at..self.at + 2)
            && byte > b' '
        {
            self.at += 1;
            return Ok(byte);
        }
        self.at = space_end(self.bytes, self.at);
        match self.bytes.get(self.at) {
            Some(&byte) => Ok(byte),
            None => Err(self.more()),
        }
    }

    /// Passes white space and one byte that must be there.
    #[inline]
    pub(crate) fn expect(&mut self, byte: u8) -> Result<(), Stopped> {
        if self.peek()? == byte {
            self.at += 1;
            Ok(())
        } else {
            Err(self.unexpected())
        }
    }

    /// Passes a string, whose opening quote the cursor is on, and gives its bytes without the quotes.
    #[inline]
    pub(crate) fn string(&mut self) -> Result<&'a [u8], Stopped> {
        let start = self.at + 1;
        let stop = string_stop(self.bytes, start);
        if self.bytes.get(stop) == Some(&b'"') {
            self.at = stop + 1;
            return Ok(&self.bytes[start..stop]);
        }
        self.unusual_string(start, stop)
    }

    /// Whether the string just passed has a backslash in it, so that its bytes are not its text.
    #[inline]
    pub(crate) fn was_escaped(&self) -> bool {
        self.escaped_end == self.at
    }

    /// A string with escapes or control characters in it, from the first of them on.
    #[cold]
    fn unusual_string(&mut self, start: usize, mut stop: usize) -> Result<&'a [u8], Stopped> {
        let mut escaped = false;
        // Each kind counts once per string.
        let (mut bad_escape, mut control) = (None, None);
        loop {
            match self.bytes.get(stop) {
                None => return Err(self.more()),
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    match self.bytes.get(stop + 1) {
                        None => return Err(self.more()),
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {}
                        Some(b'u') => {
                            let digits = self.bytes[stop + 2..].iter().take(4);
                            if digits.clone().count() < 4 {
                                return Err(self.more());
                            }
                            if !digits.clone().all(u8::is_ascii_hexdigit) {
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
        self.blemishes.extend(bad_escape.map(|at| (BlemishKind::InvalidEscape, at)));
        self.blemishes.extend(control.map(|at| (BlemishKind::ControlCharacter, at)));
        self.at = stop + 1;
        if escaped {
            self.escaped_end = self.at;
        }
        Ok(&self.bytes[start..stop])
    }

    /// Passes a number (the cursor is on its first byte) and gives its bytes. `NaN` and infinities are blemishes and
    /// give none.
    #[inline]
    pub(crate) fn number(&mut self) -> Result<Option<&'a [u8]>, Stopped> {
        let start = self.at;
        if self.bytes.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        match self.bytes.get(self.at) {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            Some(b'N' | b'I') => return self.not_finite(start),
            _ => return Err(self.unexpected()),
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.some_digits()?;
        }
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.bytes.get(self.at) {
                self.at += 1;
            }
            self.some_digits()?;
        }
        if self.at == self.bytes.len() { Err(self.more()) } else { Ok(Some(&self.bytes[start..self.at])) }
    }

    #[inline]
    fn digits(&mut self) {
        while let Some(b'0'..=b'9') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    #[inline]
    fn some_digits(&mut self) -> Result<(), Stopped> {
        let start = self.at;
        self.digits();
        if self.at == start { Err(self.unexpected()) } else { Ok(()) }
    }

    /// `NaN`, `Infinity`, `-Infinity`: what Python's `json` writes for them.
    #[cold]
    fn not_finite(&mut self, start: usize) -> Result<Option<&'a [u8]>, Stopped> {
        let negative = self.at > start;
        let word: &[u8] =
            if self.bytes.get(self.at) == Some(&b'N') && !negative { b"NaN" } else { b"Infinity" };
        self.word(word)?;
        self.blemishes.push((BlemishKind::NotFinite, start));
        Ok(None)
    }

    /// Passes a word such as `null`.
    pub(crate) fn word(&mut self, word: &[u8]) -> Result<(), Stopped> {
        let rest = &self.bytes[self.at..];
        if rest.starts_with(word) {
            self.at += word.len();
            return Ok(());
        }
        let same = rest.iter().zip(word).take_while(|(a, b)| a == b).count();
        self.at += same;
        Err(self.unexpected())
    }

    /// Passes a value that is no container; the cursor is on its first byte.
    #[inline]
    fn scalar(&mut self, first: u8) -> Result<(), Stopped> {
        match first {
            b'"' => self.string().map(drop),
            b'-' | b'0'..=b'9' | b'N' | b'I' => self.number().map(drop),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => Err(self.unexpected()),
        }
    }

    /// Passes any value; the cursor is on its first byte. `depth` containers are open around it.
    #[inline]
    pub(crate) fn skip(&mut self, depth: usize) -> Result<(), Stopped> {
        match self.bytes.get(self.at) {
            None => Err(self.more()),
            Some(b'{' | b'[') => self.skip_container(depth),
            Some(&first) => self.scalar(first),
        }
    }

    /// Passes a container without recursion: one bit per open container tells objects from lists.
    fn skip_container(&mut self, outer: usize) -> Result<(), Stopped> {
        let limit = MAX_DEPTH.saturating_sub(outer);
        let mut objects: u128 = 0;
        let mut depth = 0;
        'value: loop {
            // The cursor is on the first byte of a value.
            match self.peek()? {
                open @ (b'{' | b'[') => {
                    if depth >= limit {
                        return Err(self.fault(DamageKind::TooDeep));
                    }
                    depth += 1;
                    self.at += 1;
                    objects = objects << 1 | u128::from(open == b'{');
                    // '{' + 2 is '}' and '[' + 2 is ']'.
                    if self.peek()? != open + 2 {
                        if open == b'{' {
                            self.key()?;
                        }
                        continue 'value;
                    }
                    self.at += 1;
                    objects >>= 1;
                    depth -= 1;
                }
                first => self.scalar(first)?,
            }
            // A value has just ended.
            loop {
                if depth == 0 {
                    return Ok(());
                }
                let in_object = objects & 1 == 1;
                match self.peek()? {
                    b',' => {
                        self.at += 1;
                        if in_object {
                            self.key()?;
                        }
                        continue 'value;
                    }
                    b'}' if in_object => {}
                    b']' if !in_object => {}
                    _ => return Err(self.unexpected()),
                }
                self.at += 1;
                objects >>= 1;
                depth -= 1;
            }
        }
    }

    /// Passes white space, a key and its colon; [`Cursor::was_escaped`] then tells about the key.
    #[inline]
    pub(crate) fn key(&mut self) -> Result<&'a [u8], Stopped> {
        if self.peek()? != b'"' {
            return Err(self.unexpected());
        }
        let start = self.at + 1;
        let stop = string_stop(self.bytes, start);
        // As profilers write it: `"key":`, and nothing unusual in between.
        if let Some(b"\":") = self.bytes.get(stop..stop + 2) {
            self.at = stop + 2;
            return Ok(&self.bytes[start..stop]);
        }
        self.unusual_key(start, stop)
    }

    #[cold]
    fn unusual_key(&mut self, start: usize, stop: usize) -> Result<&'a [u8], Stopped> {
        let key = self.unusual_string(start, stop)?;
        let was_escaped = self.was_escaped();
        self.expect(b':')?;
        if was_escaped {
            self.escaped_end = self.at;
        }
        Ok(key)
    }
}
