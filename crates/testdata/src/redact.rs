//! Redaction of snapshots: removes what changes from run to run and from machine to machine.

use serde_json::Value;
use std::fmt::Write as _;

/// Fewest digits of what is taken for a hash.
const HASH_DIGITS: usize = 12;
/// Words behind a number that make it a time or a size.
const UNITS: [&str; 13] =
    ["ns", "µs", "ms", "s", "min", "h", "bytes", "KiB", "MiB", "GiB", "CPU", "samples/s", "it/s"];

/// Returns the text without hashes, dates, times, sizes and commits.
///
/// Numbers become `#` where a unit of time or memory follows. Columns lose their width with their figures: runs of spaces and dashes are
/// shortened.
pub fn volatile(text: &str) -> String {
    lines(text, |words, at| {
        let word = words[at];
        let core = word.trim_matches(|c: char| !c.is_alphanumeric());
        let unit = words.get(at + 1).map_or("", |next| next.trim_end_matches([',', '.', ';', ')', ':']));
        if is_hash(core) {
            word.replace(core, "[hash]")
        } else if is_moment(core) {
            word.replace(core, "[date]")
        } else if is_number(core) && UNITS.contains(&unit) {
            figure(word)
        } else {
            word.to_owned()
        }
    })
}

/// Returns the text of [`volatile`] without numbers that have a decimal point: those of a trained model depend on the instruction set.
pub fn figures(text: &str) -> String {
    lines(&volatile(text), |words, at| {
        let word = words[at];
        if word.contains('.') && word.chars().any(|c| c.is_ascii_digit()) {
            figure(word)
        } else {
            word.to_owned()
        }
    })
}

/// Every line word by word, with one or two spaces where there were one or more.
fn lines(text: &str, word: impl Fn(&[&str], usize) -> String) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut rest = line.trim_start_matches(' ');
        out.push_str(&line[..indent.min(8)]);
        for (at, found) in words.iter().enumerate() {
            let place = rest.find(found).unwrap_or_default();
            out.push_str(if at == 0 {
                ""
            } else if place > 1 {
                "  "
            } else {
                " "
            });
            let is_rule = found.chars().count() > 3 && found.chars().all(|c| "-─=".contains(c));
            out.push_str(&if is_rule { found.chars().take(3).collect() } else { word(&words, at) });
            rest = &rest[place + found.len()..];
        }
        out.push('\n');
    }
    out
}

/// A word with one `#` for each number and its sign.
fn figure(word: &str) -> String {
    let mut out = String::new();
    let mut chars = word.chars().peekable();
    while let Some(c) = chars.next() {
        let begins =
            c.is_ascii_digit() || ("+-−".contains(c) && chars.peek().is_some_and(char::is_ascii_digit));
        if !begins {
            out.push(c);
            continue;
        }
        out.push('#');
        let mut ahead = chars.clone();
        while let Some(next) = ahead.next() {
            let number = |c: &char| c.is_ascii_digit() || (next == 'e' && "-+".contains(*c));
            let goes_on =
                next.is_ascii_digit() || (".,e-+".contains(next) && ahead.peek().is_some_and(number));
            if !goes_on {
                break;
            }
            chars.next();
        }
    }
    out
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
        && word.chars().all(|c| c.is_ascii_digit() || ".,e-+".contains(c))
}

fn is_hash(word: &str) -> bool {
    word.len() >= HASH_DIGITS
        && word.chars().all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c))
        && word.chars().any(|c| c.is_ascii_digit())
}

/// `2026-11-17`, perhaps with more behind it.
fn is_moment(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.len() >= 10
        && bytes[4] == b'-'
        && bytes[7] == b'-'
        && [0, 1, 2, 3, 5, 6, 8, 9].iter().all(|&at| bytes[at].is_ascii_digit())
}

/// Returns the structure of a page: its elements with ids and classes, its texts, and the keys of the document inside it. Styles, scripts and
/// drawings are named and not shown; the plain text of a `pre` is another snapshot's.
///
/// Panics where an element is not closed: a browser would have to repair such a page.
pub fn skeleton(page: &str) -> String {
    let mut out = String::new();
    let mut open: Vec<String> = Vec::new();
    let mut rest = page;
    let mut has_row = false;
    while let Some(at) = rest.find('<') {
        text(&mut out, open.len(), &rest[..at]);
        let end = at + rest[at..].find('>').expect("a tag that ends");
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "{name} is closed where it is not the innermost");
            continue;
        }
        let name = tag.split([' ', '/']).next().unwrap_or_default();
        // The first row of a table is enough.
        if name == "tbody" {
            has_row = false;
        } else if name == "tr" && open.last().is_some_and(|inside| inside == "tbody") {
            if has_row {
                let close = "</tr>";
                rest = &rest[rest.find(close).expect("a row that ends") + close.len()..];
                continue;
            }
            has_row = true;
        }
        if tag.starts_with('!') || ["meta", "br", "input"].contains(&name) {
            line(&mut out, open.len(), &shown(name, tag));
            continue;
        }
        if ["style", "script", "svg", "pre"].contains(&name) {
            let close = format!("</{name}>");
            let inside = rest.find(&close).expect("an element that ends");
            if tag.contains("application/json") {
                line(&mut out, open.len(), &shown(name, tag));
                let document: Value = serde_json::from_str(&rest[..inside]).expect("a document");
                keys(&mut out, open.len() + 1, &document);
            } else {
                line(&mut out, open.len(), &format!("{} …", shown(name, tag)));
            }
            rest = &rest[inside + close.len()..];
            continue;
        }
        line(&mut out, open.len(), &shown(name, tag));
        open.push(name.to_owned());
    }
    assert!(open.is_empty(), "{open:?} stay open");
    out
}

fn line(out: &mut String, depth: usize, content: &str) {
    writeln!(out, "{}{content}", "  ".repeat(depth)).expect("a string takes everything");
}

fn text(out: &mut String, depth: usize, content: &str) {
    let content = content.trim();
    if !content.is_empty() {
        line(out, depth, &format!("“{}”", volatile(content).trim()));
    }
}

/// The name of an element with its id and classes.
fn shown(name: &str, tag: &str) -> String {
    let of = |key: &str, mark: char| {
        let (_, value) = tag.split_once(&format!(" {key}=\""))?;
        let words = value.split('"').next()?.replace(' ', &mark.to_string());
        Some(format!("{mark}{words}"))
    };
    format!("{name}{}{}", of("id", '#').unwrap_or_default(), of("class", '.').unwrap_or_default())
}

/// Keys and types of a document; of a list its first entry that says most.
fn keys(out: &mut String, depth: usize, value: &Value) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                line(out, depth, &format!("{key}: {}", kind(value)));
                keys(out, depth + 1, value);
            }
        }
        Value::Array(list) => {
            if let Some(fullest) = list.iter().rev().max_by_key(|entry| entry.to_string().len()) {
                keys(out, depth, fullest);
            }
        }
        _ => {}
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "yes or no",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(list) => match list.first() {
            Some(Value::Object(_)) => "list of",
            Some(Value::Array(_)) => "list of lists",
            _ => "list",
        },
        Value::Object(_) => "{}",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_goes_and_the_rest_stays() {
        let text = "  made 2026-11-17T08:00:00Z in    1.25 s, hash 0123456789ab\n  12 of 20 samples, 3.5 MiB\n-------  ---\n";
        assert_eq!(
            volatile(text),
            "  made [date] in  # s, hash [hash]\n  12 of 20 samples, # MiB\n---  ---\n"
        );
        assert_eq!(
            figures("a  0.61 [0.55, -0.67]  12\nb (3.5e-3 to 2.5e+4)\n"),
            "a  # [#, #]  12\nb (# to #)\n"
        );
    }

    #[test]
    fn a_page_becomes_its_elements() {
        let page = "<!doctype html>\n<html lang=\"en\"><head><style>a { b }</style></head><body id=\"x\" class=\"a b\">\
                    <p>in 3 s</p><svg><g></g></svg><script type=\"application/json\" id=\"data\">{\"a\":[{\"b\":1}],\"c\":\"t\"}</script></body></html>";
        assert_eq!(
            skeleton(page),
            "!doctype\nhtml\n  head\n    style …\n  body#x.a.b\n    p\n      “in # s”\n    svg …\n    script#data\n      \
             a: list of\n        b: number\n      c: text\n"
        );
    }

    #[test]
    #[should_panic(expected = "innermost")]
    fn an_element_that_is_not_closed_is_noticed() {
        skeleton("<main><p></main>");
    }
}
