//! The structure of a page, as a snapshot keeps it.

use serde_json::Value;
use std::fmt::Write as _;

/// Returns the structure of a page: its elements with ids and classes, its texts, and the keys of the document inside it. Styles, scripts and
/// drawings are named and not shown; the plain text of a `pre` is another snapshot's.
///
/// Panics where an element is not closed: a browser would have to repair such a page.
pub(crate) fn skeleton(page: &str) -> String {
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
        line(out, depth, &format!("“{content}”"));
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

/// Keys and types of a document; of a list its longest entry.
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

#[test]
fn a_page_becomes_its_elements() {
    let page = "<!doctype html>\n<html lang=\"en\"><head><style>a { b }</style></head><body id=\"x\" class=\"a b\">\
                <p>in 3 s</p><svg><g></g></svg><script type=\"application/json\" id=\"data\">{\"a\":[{\"b\":1}],\"c\":\"t\"}</script></body></html>";
    assert_eq!(
        skeleton(page),
        "!doctype\nhtml\n  head\n    style …\n  body#x.a.b\n    p\n      “in 3 s”\n    svg …\n    script#data\n      \
         a: list of\n        b: number\n      c: text\n"
    );
}

#[test]
#[should_panic(expected = "innermost")]
fn an_element_that_is_not_closed_is_noticed() {
    skeleton("<main><p></main>");
}
