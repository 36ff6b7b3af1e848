//! Text of others on a terminal: control characters become visible instead of taking effect.
//!
//! Names of genes, datasets, runs and devices come from files. A control character in one could move the cursor, change the title of
//! the window or hide a line. The escape is that of JSON (`\u001b`), so that escaped JSON has the same value.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Returns the text with every control character escaped but line feeds and tabs.
pub fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, |character| !matches!(character, '\n' | '\t') && has_effect(character))
}

/// Returns the text in one line: every control character is escaped.
pub fn one_line(text: &str) -> Cow<'_, str> {
    escaped(text, has_effect)
}

/// Returns whether a text has a character that [`one_line`] escapes.
pub fn has_controls(text: &str) -> bool {
    text.chars().any(has_effect)
}

/// Whether a character takes effect instead of being shown: the controls of ASCII and Latin-1, line separators, and the marks that
/// change the direction of text.
fn has_effect(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_escaped(character) {
            write!(out, "\\u{:04x}", u32::from(character)).ok();
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_become_visible_and_other_text_stays() {
        assert_eq!(
            visible("a\x1b[2J\u{9b}\u{7f}\r\u{202e}\n\tb"),
            "a\\u001b[2J\\u009b\\u007f\\u000d\\u202e\n\tb"
        );
        assert_eq!(one_line("a\n\tb"), "a\\u000a\\u0009b");
        assert!(matches!(visible("Δ-gene – β\n"), Cow::Borrowed(_)));
        assert!(has_controls("a\nb") && !has_controls("YAL001C (Δ)"));
    }

    #[test]
    fn escaped_json_has_the_same_value() {
        let value = serde_json::json!({"name": "\u{1b}]0;x\u{7}\u{9b}2J\u{7f}\u{2028}"});
        let text = visible(&serde_json::to_string_pretty(&value).unwrap()).into_owned();
        assert!(text.is_ascii());
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
