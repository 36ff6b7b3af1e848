//! A line of a terminal as plain text: without escape sequences. Independent of bars.

/// The text of a line without escape sequences, carriage returns and other controls.
pub(super) fn plain(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\x1b' => skip_escape(&mut rest),
            '\t' => out.push('\t'),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// Moves past what follows an escape character.
fn skip_escape(rest: &mut std::str::Chars<'_>) {
    match rest.next() {
        // Control sequence: ends with a letter or one of a few signs.
        Some('[') => {
            rest.find(|c| matches!(c, '@'..='~'));
        }
        // Title and the like: ends with a bell or a string terminator.
        Some(']') if rest.find(|c| matches!(c, '\x07' | '\x1b')) == Some('\x1b') => {
            rest.next();
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_removed() {
        assert_eq!(plain(b"\x1b[31mred\x1b[0m \x1b[2K\x1b[Aup\r\n"), "red up");
        assert_eq!(plain(b"\x1b]0;title\x07text\x1b]8;;x\x1b\\link"), "textlink");
        assert_eq!(plain(b"cut \x1b["), "cut ");
        assert_eq!(plain(b"\xff\xfe"), "\u{fffd}\u{fffd}");
    }
}
