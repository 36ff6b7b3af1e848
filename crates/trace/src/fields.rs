//! The fields of one event. Knows nothing of lists, blocks or what the fields mean to an analysis.

use crate::batch::{Local, LocalId, LocalText, LocalValue, NO_TEXT};
use crate::event::{ArgKey, Phase};
use crate::keys::ArgKeys;
use crate::lex::{Cursor, Stopped};
use crate::text::decode;
use crate::time::{Time, time_from_number};

/// Containers around a value of an event: the document, its list, the event.
pub(crate) const EVENT_DEPTH: usize = 3;

/// What the fields of an event said; of equal names the last counts, as in Python and browsers.
pub(crate) struct Fields {
    pub(crate) phase: Phase,
    pub(crate) name: LocalText,
    pub(crate) category: LocalText,
    pub(crate) pid: LocalId,
    pub(crate) tid: LocalId,
    pub(crate) start: Time,
    pub(crate) duration: Time,
    /// `ts` is written with a point or an exponent.
    pub(crate) fractional_start: bool,
}

pub(crate) struct FieldReader<'a> {
    pub(crate) cursor: Cursor<'a>,
    pub(crate) local: &'a mut Local,
    pub(crate) keys: &'a ArgKeys,
    pub(crate) reads_args: bool,
    pub(crate) args: &'a mut Vec<(ArgKey, LocalValue)>,
}

impl FieldReader<'_> {
    /// Reads the event whose opening brace the cursor is on.
    #[inline]
    pub(crate) fn event(&mut self) -> Result<Fields, Stopped> {
        let mut fields = Fields {
            phase: Phase::MISSING,
            name: NO_TEXT,
            category: NO_TEXT,
            pid: LocalId::Missing,
            tid: LocalId::Missing,
            start: Time::Missing,
            duration: Time::Missing,
            fractional_start: false,
        };
        let first_arg = self.args.len();
        let mut flow_id = None;
        self.cursor.at += 1;
        if self.cursor.peek()? == b'}' {
            self.cursor.at += 1;
            return Ok(fields);
        }
        loop {
            let mut name = self.cursor.key()?;
            let decoded;
            let was_escaped = self.cursor.was_escaped();
            let first = self.cursor.peek()?;
            if was_escaped {
                decoded = decode(name).0;
                name = decoded.as_bytes();
            }
            match name {
                b"ph" => fields.phase = self.phase(first)?,
                b"cat" => fields.category = self.text(first)?,
                b"name" => fields.name = self.text(first)?,
                b"pid" => fields.pid = self.id(first)?,
                b"tid" => fields.tid = self.id(first)?,
                b"ts" => (fields.start, fields.fractional_start) = self.time(first)?,
                b"dur" => fields.duration = self.time(first)?.0,
                b"args" if self.reads_args => {
                    self.args.truncate(first_arg);
                    self.args(first, first_arg)?;
                }
                b"id" if self.keys.wants_flow_id() => flow_id = self.value(first)?,
                _ => self.cursor.skip(EVENT_DEPTH)?,
            }
            match self.cursor.peek()? {
                b',' => self.cursor.at += 1,
                b'}' => break,
                _ => return Err(self.cursor.unexpected()),
            }
        }
        self.cursor.at += 1;
        self.args.extend(flow_id.map(|value| (ArgKey::FlowId, value)));
        Ok(fields)
    }

    #[inline]
    fn phase(&mut self, first: u8) -> Result<Phase, Stopped> {
        if first != b'"' {
            self.cursor.skip(EVENT_DEPTH)?;
            return Ok(Phase::MISSING);
        }
        let raw = self.cursor.string()?;
        let escaped = self.cursor.was_escaped();
        match raw {
            [] => Ok(Phase::MISSING),
            [byte @ b'!'..=b'~'] if !escaped => Ok(Phase(*byte)),
            raw if escaped => match decode(raw).0.as_bytes() {
                [byte @ b'!'..=b'~'] => Ok(Phase(*byte)),
                _ => Ok(Phase::OTHER),
            },
            _ => Ok(Phase::OTHER),
        }
    }

    /// A name or category: its string, or the source text of another value; nothing for `null`.
    #[inline]
    fn text(&mut self, first: u8) -> Result<LocalText, Stopped> {
        if first == b'"' {
            let text = self.cursor.string()?;
            return Ok(self.intern(text));
        }
        self.source_text(first)
    }

    #[inline]
    fn intern(&mut self, text: &[u8]) -> LocalText {
        self.local.texts.insert(text).0
    }

    /// Any other value, by its source text; nothing for `null`.
    #[cold]
    fn source_text(&mut self, first: u8) -> Result<LocalText, Stopped> {
        let start = self.cursor.at;
        self.cursor.skip(EVENT_DEPTH)?;
        if first == b'n' {
            return Ok(NO_TEXT);
        }
        Ok(self.local.texts.insert(&self.cursor.bytes[start..self.cursor.at]).0)
    }

    #[inline]
    fn id(&mut self, first: u8) -> Result<LocalId, Stopped> {
        match first {
            b'"' => {
                let text = self.cursor.string()?;
                Ok(LocalId::Text(self.intern(text)))
            }
            b'-' | b'0'..=b'9' => {
                let Some(text) = self.cursor.number()? else { return Ok(LocalId::Missing) };
                match whole_number(text) {
                    Some(number) => Ok(LocalId::Number(number)),
                    None => Ok(LocalId::Other(self.local.texts.insert(text).0)),
                }
            }
            _ => {
                let text = self.source_text(first)?;
                Ok(if text == NO_TEXT { LocalId::Missing } else { LocalId::Other(text) })
            }
        }
    }

    /// A time, and whether it is written with a point or an exponent.
    #[inline]
    fn time(&mut self, first: u8) -> Result<(Time, bool), Stopped> {
        if let Some(plain) = self.plain_time() {
            return Ok(plain);
        }
        if !matches!(first, b'-' | b'0'..=b'9' | b'N' | b'I') {
            self.cursor.skip(EVENT_DEPTH)?;
            return Ok((Time::Missing, false));
        }
        let Some(text) = self.cursor.number()? else { return Ok((Time::Missing, false)) };
        let fractional = text.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E'));
        Ok((time_from_number(text), fractional))
    }

    /// A time as profilers write it: up to 15 digits and perhaps a point with three more. `None`, with the cursor
    /// unmoved, for any other.
    #[inline]
    fn plain_time(&mut self) -> Option<(Time, bool)> {
        /// More microseconds than this might not fit as nanoseconds.
        const LIMIT: u64 = i64::MAX as u64 / 1000 - 1;
        let rest = &self.cursor.bytes[self.cursor.at..];
        let (micros, digits) = leading_digits(rest);
        if digits == 0 || digits > 16 || micros > LIMIT || rest[0] == b'0' && digits > 1 {
            return None;
        }
        let (nanos, len) = match rest.get(digits)? {
            b'.' => {
                let [a, b, c, after] = *rest.get(digits + 1..)?.first_chunk()?;
                let digit = |byte: u8| byte.wrapping_sub(b'0');
                if digit(a) > 9 || digit(b) > 9 || digit(c) > 9 || matches!(after, b'0'..=b'9' | b'e' | b'E')
                {
                    return None;
                }
                let thousandths = 100 * u64::from(digit(a)) + 10 * u64::from(digit(b)) + u64::from(digit(c));
                (micros * 1000 + thousandths, digits + 4)
            }
            b'e' | b'E' => return None,
            _ => (micros * 1000, digits),
        };
        self.cursor.at += len;
        Some((Time::Nanos(nanos as i64), len != digits))
    }

    /// The wanted fields of `args`.
    fn args(&mut self, first: u8, first_arg: usize) -> Result<(), Stopped> {
        if first != b'{' {
            return self.cursor.skip(EVENT_DEPTH);
        }
        self.cursor.at += 1;
        if self.cursor.peek()? == b'}' {
            self.cursor.at += 1;
            return Ok(());
        }
        loop {
            let raw = self.cursor.key()?;
            let was_escaped = self.cursor.was_escaped();
            let first = self.cursor.peek()?;
            let wanted =
                if was_escaped { self.keys.find(decode(raw).0.as_bytes()) } else { self.keys.find(raw) };
            match wanted {
                None => self.cursor.skip(EVENT_DEPTH + 1)?,
                Some(key) => match self.value(first)? {
                    Some(value) => self.args.push((key, value)),
                    // A later null or list takes the place of an earlier number.
                    None => {
                        let mut at = 0;
                        self.args.retain(|(have, _)| {
                            at += 1;
                            at <= first_arg || *have != key
                        });
                    }
                },
            }
            match self.cursor.peek()? {
                b',' => self.cursor.at += 1,
                b'}' => break,
                _ => return Err(self.cursor.unexpected()),
            }
        }
        self.cursor.at += 1;
        Ok(())
    }

    /// A number or a string; `None` for any other value.
    #[inline]
    fn value(&mut self, first: u8) -> Result<Option<LocalValue>, Stopped> {
        match first {
            b'"' => {
                let text = self.cursor.string()?;
                Ok(Some(LocalValue::Text(self.intern(text))))
            }
            b'-' | b'0'..=b'9' => {
                let Some(text) = self.cursor.number()? else { return Ok(None) };
                Ok(number_cut(text).map(LocalValue::Number))
            }
            _ => self.cursor.skip(EVENT_DEPTH + 1).map(|()| None),
        }
    }
}

/// The number that the digits at the beginning of `text` spell, and how many they are. Wrong above 19 digits.
#[inline]
fn leading_digits(text: &[u8]) -> (u64, usize) {
    let mut value: u64 = 0;
    let mut digits = 0;
    // Eight at a time: one after the other costs four cycles each.
    while digits <= 8
        && let Some(chunk) = text.get(digits..).and_then(|rest| rest.first_chunk::<8>())
        && let Some(eight) = eight_digits(u64::from_le_bytes(*chunk))
    {
        value = value * 100_000_000 + eight;
        digits += 8;
    }
    while let Some(byte @ b'0'..=b'9') = text.get(digits) {
        value = value.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
        digits += 1;
    }
    (value, digits)
}

/// The number that eight ASCII digits spell, the first in the lowest byte.
#[inline]
fn eight_digits(word: u64) -> Option<u64> {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let digits = word ^ 0x3030_3030_3030_3030;
    // A digit is at most 9: adding 0x76 sets the high bit of any larger byte.
    if (digits | digits.wrapping_add(0x7676_7676_7676_7676)) & HIGH != 0 {
        return None;
    }
    let pairs = (digits * 10 + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    Some((fours * 10_000 + (fours >> 32)) & 0xffff_ffff)
}

/// A whole number within 64 bits, of a valid JSON number.
#[inline]
fn whole_number(text: &[u8]) -> Option<i64> {
    let (digits, negative) = match text {
        [b'-', digits @ ..] => (digits, true),
        digits => (digits, false),
    };
    if digits.len() > 18 {
        return std::str::from_utf8(text).ok()?.parse().ok();
    }
    let mut value: i64 = 0;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    Some(if negative { -value } else { value })
}

/// A number cut towards zero, if it is within 64 bits.
#[inline]
fn number_cut(text: &[u8]) -> Option<i64> {
    if let Some(number) = whole_number(text) {
        return Some(number);
    }
    let number: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    // Both limits are exact as floats; the upper one is 2^63 itself.
    (-(2_f64.powi(63)) <= number && number < 2_f64.powi(63)).then_some(number as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_digits_and_nothing_else() {
        assert_eq!(eight_digits(u64::from_le_bytes(*b"12345678")), Some(12_345_678));
        assert_eq!(eight_digits(u64::from_le_bytes(*b"00000000")), Some(0));
        assert_eq!(eight_digits(u64::from_le_bytes(*b"99999999")), Some(99_999_999));
        for at in 0..8 {
            for byte in (0..=255_u8).filter(|byte| !byte.is_ascii_digit()) {
                let mut text = *b"94949494";
                text[at] = byte;
                assert_eq!(eight_digits(u64::from_le_bytes(text)), None, "{text:?}");
            }
        }
    }

    #[test]
    fn whole_numbers_end_at_64_bits() {
        assert_eq!(whole_number(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(whole_number(b"9223372036854775808"), None);
        assert_eq!(whole_number(b"1.5"), None);
        assert_eq!(number_cut(b"-1.9"), Some(-1));
        assert_eq!(number_cut(b"1e400"), None);
        assert_eq!(number_cut(b"9223372036854775808"), None);
    }
}
