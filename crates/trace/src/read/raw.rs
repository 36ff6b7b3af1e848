//! An event's own JSON text: repaired where it is not JSON, and with one field changed. Independent of figures.

use crate::read::find::string_stop;
use crate::read::lex::Lexer;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

/// The text of an event as valid JSON: unknown escapes and control characters are escaped, bad UTF-8 is replaced,
/// `NaN` and infinities become null. Valid text is returned unchanged.
pub fn repair(raw: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(raw)
        && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
    {
        return Cow::Borrowed(text);
    }
    let text = String::from_utf8_lossy(raw);
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text.as_ref();
    while let Some(quote) = rest.find('"') {
        out.push_str(&finite(&rest[..quote]));
        let end = string_end(rest, quote + 1);
        out.push('"');
        repair_string(&rest[quote + 1..end], &mut out);
        out.push('"');
        rest = rest.get(end + 1..).unwrap_or("");
    }
    out.push_str(&finite(rest));
    Cow::Owned(out)
}

/// The closing quote of the string that begins at `at`, or the end.
fn string_end(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = string_stop(bytes, at);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at = string_stop(bytes, at + 2),
            _ => at = string_stop(bytes, at + 1),
        }
    }
    bytes.len()
}

/// Text outside strings without `NaN` and infinities.
fn finite(text: &str) -> Cow<'_, str> {
    if text.contains(['N', 'I']) {
        let text = text.replace("-Infinity", "null").replace("Infinity", "null").replace("NaN", "null");
        return Cow::Owned(text);
    }
    Cow::Borrowed(text)
}

fn repair_string(text: &str, out: &mut String) {
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => {
                let rest = &text.as_bytes()[at + 1..];
                let is_known = match rest.first() {
                    Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => true,
                    Some(b'u') => {
                        rest.get(1..5).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
                    }
                    _ => false,
                };
                out.push('\\');
                if !is_known {
                    out.push('\\');
                } else if let Some((_, next)) = letters.next() {
                    out.push(next);
                }
            }
            '\0'..' ' => {
                write!(out, "\\u{:04x}", u32::from(letter)).ok();
            }
            _ => out.push(letter),
        }
    }
}

/// Returns the range of the value of a field in the text of an event; of equal names the last.
pub fn field_range(raw: &[u8], name: &[u8]) -> Option<Range<usize>> {
    let mut irregularities = Vec::new();
    let mut lexer = Lexer::new(raw, &mut irregularities);
    let mut found = None;
    let (byte, mut at) = lexer.peek(1).ok()?;
    if byte == b'}' {
        return None;
    }
    loop {
        let key = lexer.key(at).ok()?;
        let (_, start) = lexer.peek(key.end).ok()?;
        let end = lexer.skip(start, 1).ok()?;
        if key.raw == name {
            found = Some(start..end);
        }
        // A number at the very end of a text would wait for more; an event ends in a brace.
        match lexer.peek(end).ok()? {
            (b',', comma) => at = comma + 1,
            _ => return found,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repaired_text_is_json_with_the_same_content() {
        let raw =
            b"{\"name\": \"C:\\Users\\x \x01 \\u12 \\n\", \"NaN\": NaN, \"dur\": -Infinity, \"x\": \"NaN\"}";
        let value: serde_json::Value = serde_json::from_str(&repair(raw)).unwrap();
        assert_eq!(value["name"], "C:\\Users\\x \u{1} \\u12 \n");
        assert_eq!(value["NaN"], serde_json::Value::Null);
        assert_eq!(value["x"], "NaN");
        assert!(serde_json::from_str::<serde_json::Value>(&repair(b"{\"a\": \"\xff\"}")).is_ok());
    }

    #[test]
    fn valid_text_is_untouched() {
        let raw = br#"{"ts": 1712195495519689.047, "name": "\u00e9"}"#;
        assert!(matches!(repair(raw), Cow::Borrowed(_)));
    }

    #[test]
    fn fields_are_found_at_the_top_only_and_the_last_counts() {
        let raw = br#"{"args": {"pid": 1}, "pid": 2, "pid": "three"}"#;
        assert_eq!(&raw[field_range(raw, b"pid").unwrap()], b"\"three\"");
        assert_eq!(field_range(raw, b"tid"), None);
        assert_eq!(field_range(b"{}", b"pid"), None);
    }
}
