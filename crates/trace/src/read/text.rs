//! The text of a JSON string: escapes resolved, bad bytes replaced. Independent of its origin.

use std::borrow::Cow;

/// Whether the text of a string is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quality {
    Clean,
    /// Replaces bytes that are not UTF-8, and half surrogate pairs, by U+FFFD.
    Replaced,
}

/// Resolves the escapes of a string without its quotes. Escapes that are not JSON stay as written.
pub(crate) fn decode(raw: &[u8]) -> (Cow<'_, str>, Quality) {
    let (bytes, mut quality) = if raw.contains(&b'\\') {
        let (bytes, quality) = unescape(raw);
        (Cow::Owned(bytes), quality)
    } else {
        (Cow::Borrowed(raw), Quality::Clean)
    };
    let text = match bytes {
        Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
        Cow::Owned(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Cow::Owned(text),
            Err(error) => {
                quality = Quality::Replaced;
                Cow::Owned(String::from_utf8_lossy(error.as_bytes()).into_owned())
            }
        },
    };
    if let (Cow::Owned(_), false) = (&text, raw.contains(&b'\\')) {
        quality = Quality::Replaced;
    }
    (text, quality)
}

fn unescape(raw: &[u8]) -> (Vec<u8>, Quality) {
    let mut out = Vec::with_capacity(raw.len());
    let mut quality = Quality::Clean;
    let mut at = 0;
    while let Some(&byte) = raw.get(at) {
        if byte != b'\\' {
            out.push(byte);
            at += 1;
            continue;
        }
        let plain = match raw.get(at + 1) {
            Some(b'b') => 0x08,
            Some(b'f') => 0x0c,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(&known @ (b'"' | b'\\' | b'/')) => known,
            Some(b'u') => {
                if let Some((point, len)) = code_point(raw, at) {
                    let letter = char::from_u32(point).unwrap_or_else(|| {
                        quality = Quality::Replaced;
                        char::REPLACEMENT_CHARACTER
                    });
                    out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                    at += len;
                } else {
                    out.push(byte);
                    at += 1;
                }
                continue;
            }
            _ => {
                out.push(byte);
                at += 1;
                continue;
            }
        };
        out.push(plain);
        at += 2;
    }
    (out, quality)
}

/// The code point of the `\u` escape at `at`, two of them where they are a surrogate pair, and their length.
fn code_point(raw: &[u8], at: usize) -> Option<(u32, usize)> {
    let unit = |at: usize| {
        let digits = raw.get(at..at + 6)?.strip_prefix(b"\\u")?;
        digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))
    };
    let high = unit(at)?;
    if let (0xd800..0xdc00, Some(low @ 0xdc00..0xe000)) = (high, unit(at + 6)) {
        return Some((0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00), 12));
    }
    Some((high, 6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_json_are_resolved() {
        let (text, quality) = decode(br#"a\"b\\c\/\b\f\n\r\t\u00e9\ud83d\udd25"#);
        assert_eq!((text.as_ref(), quality), ("a\"b\\c/\u{8}\u{c}\n\r\té🔥", Quality::Clean));
    }

    #[test]
    fn other_backslashes_stay() {
        assert_eq!(decode(br"C:\Users\x\profiler.py").0, r"C:\Users\x\profiler.py");
        assert_eq!(decode(br"\u12g4").0, r"\u12g4");
        assert_eq!(decode(br"end\").0, r"end\");
    }

    #[test]
    fn half_pairs_and_bad_bytes_are_replaced_and_reported() {
        assert_eq!(decode(br"\ud800x"), (Cow::from("\u{fffd}x"), Quality::Replaced));
        assert_eq!(decode(b"\xffx"), (Cow::from("\u{fffd}x"), Quality::Replaced));
        assert_eq!(decode(b"\\n\xff").1, Quality::Replaced);
        assert_eq!(decode("é".as_bytes()).1, Quality::Clean);
    }
}
