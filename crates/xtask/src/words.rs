//! Finds phrases that the style section of `CONTRIBUTING.md` replaces, in pages, comments and string literals.
//!
//! `words.toml` has the phrases, the limits and the exceptions. Pages have no limit: every hit is a finding. Sources have one limit per
//! phrase for the whole workspace, which is only ever lowered. The search goes line by line.

use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};

/// Path of the word list below the root of the checkout.
const LIST: &str = "crates/xtask/words.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WordList {
    word: Vec<Phrase>,
    #[serde(default)]
    allow: Vec<Allow>,
}

/// One phrase to avoid.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Phrase {
    name: String,
    /// Regular expression, without regard to case.
    pattern: String,
    /// Regular expression of matches that are fine.
    unless: Option<String>,
    /// Replacement, for the message.
    instead: String,
    /// Whether the pattern applies to the first line of doc comments only.
    #[serde(default)]
    docs_only: bool,
    /// Prefix of the paths that the pattern applies to.
    within: Option<String>,
    /// Hits allowed in sources.
    limit: usize,
}

/// One exception.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Allow {
    file: String,
    /// Text of the line that contains the hit.
    text: String,
    #[expect(dead_code, reason = "required in the list, for its readers")]
    reason: String,
}

/// Runs `xtask words [--all] [--root DIR]` and returns the number of findings.
pub(crate) fn run(mut args: impl Iterator<Item = String>) -> Result<usize, String> {
    let mut root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut is_all = false;
    while let Some(name) = args.next() {
        match name.as_str() {
            "--all" => is_all = true,
            "--root" => root = args.next().ok_or("--root needs a folder")?.into(),
            _ => return Err(format!("unknown option {name}; use words [--all] [--root DIR]")),
        }
    }
    let list: WordList =
        toml::from_str(&read(&root.join(LIST))?).map_err(|error| format!("{LIST}: {error}"))?;
    check(&root, &list, is_all)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Prints hits above the limits, or all of them, and returns the number of findings.
fn check(root: &Path, list: &WordList, is_all: bool) -> Result<usize, String> {
    let files: Vec<(String, Vec<Line>)> = files(root)?
        .into_iter()
        .map(|file| {
            let found = lines(&file, &read(&root.join(&file))?);
            Ok((file, found))
        })
        .collect::<Result<_, String>>()?;
    let mut used = vec![false; list.allow.len()];
    let mut findings = 0;
    for word in &list.word {
        let (pattern, unless) =
            (regex(word, &word.pattern)?, word.unless.as_deref().map(|text| regex(word, text)));
        let unless = unless.transpose()?;
        let is_within = |file: &str| word.within.as_ref().is_none_or(|prefix| file.starts_with(&**prefix));
        let (mut in_pages, mut in_sources) = (Vec::new(), Vec::new());
        for (file, lines) in files.iter().filter(|(file, _)| is_within(file)) {
            for line in lines.iter().filter(|line| line.starts_doc || !word.docs_only) {
                let is_hit = pattern
                    .find_iter(&line.prose)
                    .any(|found| unless.as_ref().is_none_or(|unless| !unless.is_match(found.as_str())));
                let is_allowed = is_hit
                    && list.allow.iter().zip(&mut used).any(|(allow, used)| {
                        let covers = allow.file == *file && line.text.contains(&allow.text);
                        *used |= covers;
                        covers
                    });
                if is_hit && !is_allowed {
                    let hits = if is_page(file) { &mut in_pages } else { &mut in_sources };
                    hits.push(format!("{file}:{}: {} -> {}", line.number, line.text.trim(), word.instead));
                }
            }
        }
        let is_above = in_sources.len() > word.limit;
        findings += in_pages.len() + usize::from(is_above);
        let listed = if is_above || is_all { &in_sources[..] } else { &[] };
        in_pages.iter().chain(listed).for_each(|hit| println!("{hit}"));
        if in_sources.len() != word.limit {
            println!("\"{}\" in sources: {} hits, limit {}", word.name, in_sources.len(), word.limit);
        }
    }
    for (allow, _) in list.allow.iter().zip(used).filter(|(_, used)| !used) {
        println!("{LIST}: remove the exception for {}, which has no hit: {:?}", allow.file, allow.text);
        findings += 1;
    }
    Ok(findings)
}

fn regex(word: &Phrase, pattern: &str) -> Result<Regex, String> {
    let built = RegexBuilder::new(pattern).case_insensitive(true).build();
    built.map_err(|error| format!("{LIST}: {}: {error}", word.name))
}

fn has_extension(file: &str, extensions: &[&str]) -> bool {
    file.rsplit_once('.').is_some_and(|(_, extension)| extensions.contains(&extension))
}

fn is_page(file: &str) -> bool {
    has_extension(file, &["md"])
}

/// Returns the paths to check below the root, sorted: pages, sources of crates, and the Python package.
fn files(root: &Path) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    walk(root, "", &mut found)?;
    // Help texts are checked in the sources that generate these.
    let generated = ["docs/cli/", "docs/man/", "docs/completions/"];
    found.retain(|file| {
        let is_source = file.starts_with("crates/")
            && file.split('/').nth(2) == Some("src")
            && has_extension(file, &["rs"]);
        let is_python = file.starts_with("python/") && has_extension(file, &["py", "pyi", "rs"]);
        (is_page(file) || is_source || is_python) && !generated.iter().any(|folder| file.starts_with(folder))
    });
    found.sort();
    Ok(found)
}

fn walk(root: &Path, folder: &str, files: &mut Vec<String>) -> Result<(), String> {
    let path = root.join(folder);
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    for entry in fs::read_dir(&path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if name.starts_with('.') || ["target", "__pycache__", "node_modules"].contains(&&*name) {
            continue;
        }
        let below = if folder.is_empty() { name } else { format!("{folder}/{name}") };
        if entry.file_type().map_err(failed)?.is_dir() {
            walk(root, &below, files)?;
        } else {
            files.push(below);
        }
    }
    Ok(())
}

/// A line with its prose: text outside code in pages, comments and string literals in sources.
struct Line {
    number: usize,
    text: String,
    prose: String,
    /// Whether the line is the first of a doc comment.
    starts_doc: bool,
}

fn lines(file: &str, text: &str) -> Vec<Line> {
    let is_rust = has_extension(file, &["rs"]);
    let (mut in_block, mut was_doc) = (false, false);
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        let is_doc = trimmed.starts_with("///") || trimmed.starts_with("//!");
        let marks = if is_page(file) { "```" } else { "\"\"\"" };
        let is_toggle = !is_rust && trimmed.matches(marks).count() % 2 == 1;
        let prose = if is_rust {
            comments_and_literals(line, "//")
        } else if is_page(file) {
            if in_block || is_toggle || line.starts_with("    ") { String::new() } else { line.to_owned() }
        } else if in_block || is_toggle {
            line.to_owned()
        } else {
            comments_and_literals(line, "#")
        };
        in_block ^= is_toggle;
        let prose = without(&without(&prose, '`', '`'), '{', '}').trim().to_owned();
        found.push(Line { number: index + 1, text: line.to_owned(), prose, starts_doc: is_doc && !was_doc });
        was_doc = is_doc;
    }
    found
}

/// Removes inline code or the arguments of format strings.
fn without(text: &str, open: char, close: char) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(open) {
        kept.push_str(before);
        kept.push(open);
        rest = after.split_once(close).map_or("", |(_, after)| after);
    }
    kept + rest
}

/// Returns the string literals of a line and the comment behind them.
fn comments_and_literals(line: &str, comment: &str) -> String {
    let mut prose = String::new();
    let mut rest = line;
    loop {
        let (quote, slashes) = (rest.find('"'), rest.find(comment));
        match (quote, slashes) {
            (quote, Some(start)) if quote.is_none_or(|quote| start < quote) => {
                prose.push_str(rest[start..].trim_start_matches(['/', '!', '#', ' ']));
                return prose;
            }
            (Some(start), _) => {
                let body = &rest[start + 1..];
                let mut is_escaped = false;
                let end = body.find(|c| {
                    let is_end = c == '"' && !is_escaped;
                    is_escaped = c == '\\' && !is_escaped;
                    is_end
                });
                let end = end.unwrap_or(body.len());
                prose.push_str(&body[..end]);
                prose.push(' ');
                rest = body.get(end + 1..).unwrap_or("");
            }
            (None, _) => return prose,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_of_a_source_line_is_its_literals_and_comment() {
        assert_eq!(comments_and_literals(r#"f("a // b", "c \" d"); // e"#, "//"), "a // b c \\\" d e");
        assert_eq!(comments_and_literals("x = 'a'  # b", "#"), "b");
    }

    #[test]
    fn code_of_a_page_is_not_prose() {
        let found = lines("a.md", "one `two`\n\n```\nthree\n```\n    four\n");
        let prose: Vec<&str> = found.iter().map(|line| &*line.prose).collect();
        assert_eq!(prose, ["one `", "", "", "", "", ""]);
    }
}
