//! The fields of one event. Independent of lists, blocks or what the fields mean to an analysis.

use crate::format::event::{ArgKey, EventType};
use crate::format::time::{Time, time_from_number};
use crate::read::batch::{Local, LocalId, LocalText, LocalValue, NO_TEXT};
use crate::read::digits::{SHORT_DIGITS, leading_digits, short_digits, short_number};
use crate::read::keys::ArgKeys;
use crate::read::lex::{Lexer, Stopped};
use crate::read::text::decode;

/// Containers around a value of an event: the document, its list, the event.
pub(crate) const EVENT_DEPTH: usize = 3;

/// Lists of more bytes are left out: those of a thousand tensors differ from step to step and would fill the memory.
const MOST_LIST_BYTES: usize = 1024;

/// Values of the fields of an event. Of equal names the last counts, as in Python and browsers.
pub(crate) struct Fields {
    pub(crate) event_type: EventType,
    pub(crate) name: LocalText,
    pub(crate) category: LocalText,
    pub(crate) pid: LocalId,
    pub(crate) tid: LocalId,
    pub(crate) start: Time,
    pub(crate) duration: Time,
    /// `ts` is written with a point or an exponent.
    pub(crate) fractional_start: bool,
}

impl Fields {
    /// Values of an event without fields.
    pub(crate) const NONE: Self = Self {
        event_type: EventType::MISSING,
        name: NO_TEXT,
        category: NO_TEXT,
        pid: LocalId::Missing,
        tid: LocalId::Missing,
        start: Time::Missing,
        duration: Time::Missing,
        fractional_start: false,
    };
}

pub(crate) struct FieldReader<'a> {
    pub(crate) lexer: Lexer<'a>,
    pub(crate) local: &'a mut Local,
    pub(crate) keys: &'a ArgKeys,
    pub(crate) reads_args: bool,
    pub(crate) args: &'a mut Vec<(ArgKey, LocalValue)>,
}

impl FieldReader<'_> {
    /// Reads the event whose opening brace is at `at`; returns its fields and the offset behind it.
    #[inline]
    pub(crate) fn event(&mut self, at: usize, fields: &mut Fields) -> Result<usize, Stopped> {
        let first_arg = self.args.len();
        let mut flow_id = None;
        let (byte, mut at) = self.lexer.peek(at + 1)?;
        if byte == b'}' {
            return Ok(at + 1);
        }
        loop {
            let key = self.lexer.key(at)?;
            let decoded;
            let mut name = key.raw;
            if key.escaped {
                decoded = decode(name).0;
                name = decoded.as_bytes();
            }
            let (first, value) = self.lexer.peek(key.end)?;
            at = match name {
                b"ph" => self.event_type(first, value, &mut fields.event_type)?,
                b"cat" => self.text(first, value, &mut fields.category)?,
                b"name" => self.text(first, value, &mut fields.name)?,
                b"pid" => self.id(first, value, &mut fields.pid)?,
                b"tid" => self.id(first, value, &mut fields.tid)?,
                b"ts" => self.time(first, value, &mut fields.start, &mut fields.fractional_start)?,
                b"dur" => self.time(first, value, &mut fields.duration, &mut false)?,
                b"args" if self.reads_args => {
                    self.args.truncate(first_arg);
                    self.args(first, value, first_arg)?
                }
                b"id" if self.keys.wants_flow_id() => self.value(first, value, &mut flow_id)?,
                _ => self.lexer.skip(value, EVENT_DEPTH)?,
            };
            let (byte, here) = self.lexer.peek(at)?;
            at = here + 1;
            match byte {
                b',' => {}
                b'}' => break,
                _ => return Err(self.lexer.unexpected(here)),
            }
        }
        self.args.extend(flow_id.map(|value| (ArgKey::FlowId, value)));
        Ok(at)
    }

    #[inline]
    fn event_type(&mut self, first: u8, at: usize, event_type: &mut EventType) -> Result<usize, Stopped> {
        // `"X"`, as nearly all of them are.
        if let Some(&[b'"', byte @ b'!'..=b'~', b'"']) = self.lexer.bytes.get(at..at + 3)
            && byte != b'"'
            && byte != b'\\'
        {
            *event_type = EventType(byte);
            return Ok(at + 3);
        }
        self.unusual_event_type(first, at, event_type)
    }

    #[cold]
    fn unusual_event_type(
        &mut self,
        first: u8,
        at: usize,
        event_type: &mut EventType,
    ) -> Result<usize, Stopped> {
        if first != b'"' {
            *event_type = EventType::MISSING;
            return self.lexer.skip(at, EVENT_DEPTH);
        }
        let end = self.lexer.string(at)?;
        *event_type = match decode(self.lexer.inside(at, end)).0.as_bytes() {
            [] => EventType::MISSING,
            [byte @ b'!'..=b'~'] => EventType(*byte),
            _ => EventType::OTHER,
        };
        Ok(end)
    }

    /// A name or category: its string, or the source text of another value; nothing for `null`.
    #[inline]
    fn text(&mut self, first: u8, at: usize, text: &mut LocalText) -> Result<usize, Stopped> {
        if first == b'"' {
            let end = self.lexer.string(at)?;
            *text = self.local.texts.insert(self.lexer.inside(at, end)).0;
            return Ok(end);
        }
        self.source_text(first, at, text)
    }

    /// Any other value, by its source text; nothing for `null`.
    #[cold]
    fn source_text(&mut self, first: u8, at: usize, text: &mut LocalText) -> Result<usize, Stopped> {
        let end = self.lexer.skip(at, EVENT_DEPTH)?;
        *text = if first == b'n' { NO_TEXT } else { self.local.texts.insert(&self.lexer.bytes[at..end]).0 };
        Ok(end)
    }

    #[inline]
    fn id(&mut self, first: u8, at: usize, id: &mut LocalId) -> Result<usize, Stopped> {
        if let Some(chunk) = self.lexer.bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
            let (digits, after) = short_digits(*chunk);
            if (1..=SHORT_DIGITS).contains(&digits) && first != b'0' && matches!(after, b',' | b'}') {
                *id = LocalId::Number(short_number(*chunk, digits) as i64);
                return Ok(at + digits);
            }
        }
        self.any_id(first, at, id)
    }

    fn any_id(&mut self, first: u8, at: usize, id: &mut LocalId) -> Result<usize, Stopped> {
        match first {
            b'"' => {
                let end = self.lexer.string(at)?;
                *id = LocalId::Text(self.local.texts.insert(self.lexer.inside(at, end)).0);
                Ok(end)
            }
            b'0'..=b'9' | b'-' => {
                let end = self.lexer.number(at)?;
                let text = &self.lexer.bytes[at..end];
                *id = match whole_number(text) {
                    Some(number) => LocalId::Number(number),
                    None => LocalId::Other(self.local.texts.insert(text).0),
                };
                Ok(end)
            }
            _ => {
                let mut text = NO_TEXT;
                let end = self.source_text(first, at, &mut text)?;
                *id = if text == NO_TEXT { LocalId::Missing } else { LocalId::Other(text) };
                Ok(end)
            }
        }
    }

    /// A time, and whether it is written with a point or an exponent.
    #[inline]
    fn time(
        &mut self,
        first: u8,
        at: usize,
        time: &mut Time,
        fractional: &mut bool,
    ) -> Result<usize, Stopped> {
        if let Some((nanos, len, has_point)) = plain_nanos(&self.lexer.bytes[at..]) {
            (*time, *fractional) = (Time::Nanos(nanos), has_point);
            return Ok(at + len);
        }
        self.any_time(first, at, time, fractional)
    }

    fn any_time(
        &mut self,
        first: u8,
        at: usize,
        time: &mut Time,
        fractional: &mut bool,
    ) -> Result<usize, Stopped> {
        let end = self.lexer.skip(at, EVENT_DEPTH)?;
        let text = &self.lexer.bytes[at..end];
        // rocprof writes times as strings.
        let number = if first == b'"' { spelt_number(self.lexer.inside(at, end)) } else { text };
        // `-Infinity` passes for a number, but has no digit.
        if matches!(number.first(), Some(b'-' | b'0'..=b'9')) && number.last().is_some_and(u8::is_ascii_digit)
        {
            *fractional = number.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E'));
            *time = time_from_number(number);
        } else {
            (*time, *fractional) = (Time::Missing, false);
        }
        Ok(end)
    }

    /// The wanted fields of `args`.
    fn args(&mut self, first: u8, at: usize, first_arg: usize) -> Result<usize, Stopped> {
        if first != b'{' {
            return self.lexer.skip(at, EVENT_DEPTH);
        }
        let (byte, mut at) = self.lexer.peek(at + 1)?;
        if byte == b'}' {
            return Ok(at + 1);
        }
        loop {
            let key = self.lexer.key(at)?;
            let (first, value) = self.lexer.peek(key.end)?;
            let wanted = if key.escaped {
                self.keys.find(decode(key.raw).0.as_bytes())
            } else {
                self.keys.find(key.raw)
            };
            at = match wanted {
                None => self.lexer.skip(value, EVENT_DEPTH + 1)?,
                Some(key) => self.arg(key, first, value, first_arg)?,
            };
            let (byte, here) = self.lexer.peek(at)?;
            at = here + 1;
            match byte {
                b',' => {}
                b'}' => return Ok(at),
                _ => return Err(self.lexer.unexpected(here)),
            }
        }
    }

    #[inline]
    fn arg(&mut self, key: ArgKey, first: u8, at: usize, first_arg: usize) -> Result<usize, Stopped> {
        let mut value = None;
        let end = if first == b'[' && key.is_list() {
            let end = self.lexer.skip(at, EVENT_DEPTH + 1)?;
            let text = self.lexer.bytes.get(at..end).filter(|text| text.len() <= MOST_LIST_BYTES);
            value = text.map(|text| LocalValue::Text(self.local.texts.insert(text).0));
            end
        } else {
            self.value(first, at, &mut value)?
        };
        if let Some(value) = value {
            self.args.push((key, value));
        } else {
            // A later null or list replaces an earlier number.
            let mut at = 0;
            self.args.retain(|(have, _)| {
                at += 1;
                at <= first_arg || *have != key
            });
        }
        Ok(end)
    }

    /// A number or a string; `None` for any other value.
    #[inline]
    fn value(&mut self, first: u8, at: usize, value: &mut Option<LocalValue>) -> Result<usize, Stopped> {
        let end = self.lexer.skip(at, EVENT_DEPTH + 1)?;
        *value = match first {
            b'"' => Some(LocalValue::Text(self.local.texts.insert(self.lexer.inside(at, end)).0)),
            b'-' | b'0'..=b'9' => number_cut(&self.lexer.bytes[at..end]).map(LocalValue::Number),
            _ => None,
        };
        Ok(end)
    }
}

/// The text of a string if it is digits, perhaps with a sign and a point; else nothing.
#[cold]
fn spelt_number(text: &[u8]) -> &[u8] {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let mut parts = digits.splitn(2, |byte| *byte == b'.');
    let is_number = parts.all(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit));
    if is_number { text } else { &[] }
}

/// A time as profilers write it, up to 16 digits and perhaps a point with one to three more: its nanoseconds, its
/// length and whether it has a point. `None` for any other.
#[inline]
fn plain_nanos(text: &[u8]) -> Option<(i64, usize, bool)> {
    /// More microseconds than this might not fit as nanoseconds.
    const LIMIT: u64 = i64::MAX as u64 / 1000 - 1;
    let (micros, digits) = leading_digits(text);
    if digits == 0 || digits > 16 || micros > LIMIT || text[0] == b'0' && digits > 1 {
        return None;
    }
    let is_end = |byte: u8| matches!(byte, b',' | b'}' | b' ' | b'\n' | b'\r' | b'\t');
    let after = *text.get(digits)?;
    if is_end(after) {
        return Some(((micros * 1000) as i64, digits, false));
    }
    if after != b'.' {
        return None;
    }
    let fraction = text.get(digits + 1..)?;
    let digit = |byte: u8| Some(u64::from(byte.wrapping_sub(b'0'))).filter(|digit| *digit <= 9);
    let &[a, b, c, end] = fraction.first_chunk::<4>()?;
    let tenths = digit(a)?;
    let (thousandths, len) = match (digit(b), digit(c)) {
        (Some(b), Some(c)) if is_end(end) => (100 * tenths + 10 * b + c, 4),
        (Some(b), None) if is_end(c) => (100 * tenths + 10 * b, 3),
        (None, _) if is_end(b) => (100 * tenths, 2),
        _ => return None,
    };
    Some(((micros * 1000 + thousandths) as i64, digits + len, true))
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
    fn plain_times_are_read_and_others_left() {
        assert_eq!(plain_nanos(b"0,"), Some((0, 1, false)));
        assert_eq!(plain_nanos(b"12.5}  "), Some((12_500, 4, true)));
        assert_eq!(plain_nanos(b"12.25 ,"), Some((12_250, 5, true)));
        assert_eq!(plain_nanos(b"1712195495519689.047,"), Some((1_712_195_495_519_689_047, 20, true)));
        assert_eq!(plain_nanos(b"9223372036854774.999,"), Some((9_223_372_036_854_774_999, 20, true)));
        for other in [
            "",
            "1",
            "1.",
            "1.5",
            "01,",
            "1.2345,",
            "1e3,",
            "1.5e3,",
            "-1,",
            "1.x00",
            "9223372036854775,",
            "12345678901234567,",
        ] {
            assert_eq!(plain_nanos(other.as_bytes()), None, "{other}");
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
