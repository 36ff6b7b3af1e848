//! Finds phrases that the style section of `CONTRIBUTING.md` replaces: in pages, comments and string literals.
//!
//! `crates/xtask/words.toml` has the phrases, the limits and the exceptions. Pages are checked in full. Sources have one limit per
//! phrase for the whole workspace, so that the number of hits can only shrink.

mod passages;

use passages::{Passage, PassageKind};
use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Path of the word list below the root of the checkout.
const LIST: &str = "crates/xtask/words.toml";
/// Bytes of context around a hit.
const CONTEXT: usize = 40;

/// Contents of the word list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WordList {
    /// Whether fewer hits than a limit are a failure too.
    exact: bool,
    word: Vec<Word>,
    #[serde(default)]
    page: Vec<PageLimit>,
    #[serde(default)]
    allow: Vec<Allow>,
}

/// One phrase to avoid.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Word {
    name: String,
    /// Regular expression, without regard to case.
    pattern: String,
    /// Regular expression of matches that are fine.
    unless: Option<String>,
    /// Replacement, for the message.
    instead: String,
    /// Whether the pattern applies to the first paragraph of doc comments only.
    #[serde(default)]
    docs_only: bool,
    /// Prefix of the paths that the pattern applies to.
    within: Option<String>,
    /// Hits allowed in sources.
    limit: usize,
}

/// Hits allowed in a page that is not rewritten yet.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PageLimit {
    file: String,
    limit: usize,
}

/// One exception.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Allow {
    file: String,
    /// Text around the hit, as in the file.
    text: String,
    #[expect(dead_code, reason = "required in the list, for its readers")]
    reason: String,
}

/// A word with compiled patterns.
struct Matcher<'l> {
    word: &'l Word,
    pattern: Regex,
    unless: Option<Regex>,
}

/// One occurrence of a phrase.
struct WordHit<'l> {
    word: &'l Word,
    file: String,
    line: usize,
    excerpt: String,
    is_page: bool,
}

/// Arguments of the command.
struct WordOptions {
    root: PathBuf,
    is_all: bool,
    is_tightening: bool,
    /// Prefix of the paths whose hits are listed.
    within: String,
}

/// Runs `xtask words` and returns the number of findings.
pub(crate) fn run(args: impl Iterator<Item = String>) -> Result<usize, String> {
    let options = options(args)?;
    let path = options.root.join(LIST);
    let text = read(&path)?;
    let list: WordList = toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    let (hits, unused) = search(&options.root, &list)?;
    if options.is_tightening {
        let tightened = tighten(&text, &list, &hits);
        return fs::write(&path, tightened)
            .map(|()| 0)
            .map_err(|error| format!("{}: {error}", path.display()));
    }
    Ok(judge(&list, &hits, &options) + report_unused(&unused))
}

fn options(mut args: impl Iterator<Item = String>) -> Result<WordOptions, String> {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut options = WordOptions { root, is_all: false, is_tightening: false, within: String::new() };
    while let Some(name) = args.next() {
        match name.as_str() {
            "--all" => options.is_all = true,
            "--tighten" => options.is_tightening = true,
            "--in" => options.within = args.next().ok_or("--in needs the beginning of a path")?,
            "--root" => options.root = args.next().ok_or("--root needs a folder")?.into(),
            _ => {
                return Err(format!(
                    "unknown option {name}; use words [--all] [--in PATH] [--tighten] [--root DIR]"
                ));
            }
        }
    }
    Ok(options)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Returns all hits that no exception covers, and the exceptions without a hit.
fn search<'l>(root: &Path, list: &'l WordList) -> Result<(Vec<WordHit<'l>>, Vec<&'l Allow>), String> {
    let matchers: Vec<Matcher<'_>> = list.word.iter().map(compile).collect::<Result<_, _>>()?;
    let mut hits = Vec::new();
    let mut used = vec![false; list.allow.len()];
    for file in files(root)? {
        let text = read(&root.join(&file))?;
        let extension = file.rsplit('.').next().unwrap_or_default();
        let passages = match extension {
            "md" => passages::markdown(&text),
            "rs" => passages::rust(&text),
            _ => passages::python(&text),
        };
        for matcher in matchers.iter().filter(|matcher| matcher.applies_to(&file)) {
            for passage in &passages {
                for found in matcher.find(passage) {
                    let is_allowed = list.allow.iter().zip(&mut used).any(|(allow, used)| {
                        let covers = allow.file == file && passage.covers(&allow.text, &found);
                        *used |= covers;
                        covers
                    });
                    if !is_allowed {
                        hits.push(WordHit {
                            word: matcher.word,
                            line: passage.line(found.start),
                            excerpt: passage.excerpt(&found, CONTEXT),
                            is_page: extension == "md",
                            file: file.clone(),
                        });
                    }
                }
            }
        }
    }
    let unused = list.allow.iter().zip(used).filter(|(_, used)| !used).map(|(allow, _)| allow).collect();
    Ok((hits, unused))
}

fn compile(word: &Word) -> Result<Matcher<'_>, String> {
    let regex = |pattern: &str| {
        RegexBuilder::new(pattern)
            .case_insensitive(true)
            .build()
            .map_err(|error| format!("{LIST}: {}: {error}", word.name))
    };
    Ok(Matcher {
        word,
        pattern: regex(&word.pattern)?,
        unless: word.unless.as_deref().map(regex).transpose()?,
    })
}

impl Matcher<'_> {
    fn applies_to(&self, file: &str) -> bool {
        self.word.within.as_ref().is_none_or(|prefix| file.starts_with(prefix.as_str()))
    }

    fn find(&self, passage: &Passage) -> Vec<std::ops::Range<usize>> {
        if self.word.docs_only && passage.kind != PassageKind::Doc {
            return Vec::new();
        }
        self.pattern
            .find_iter(passage.prose())
            .filter(|found| self.unless.as_ref().is_none_or(|unless| !unless.is_match(found.as_str())))
            .map(|found| found.range())
            .collect()
    }
}

/// Returns the paths to check below the root, sorted.
fn files(root: &Path) -> Result<Vec<String>, String> {
    let mut files = Vec::new();
    for (folder, extensions) in [
        ("docs", &["md"][..]),
        ("examples", &["md"]),
        ("crates", &["rs"]),
        ("python", &["md", "py", "pyi", "rs"]),
    ] {
        walk(root, folder, extensions, &mut files)?;
    }
    for page in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "fuzz/README.md"] {
        if root.join(page).is_file() {
            files.push(page.to_owned());
        }
    }
    // Generated from the help texts, which are checked in the sources.
    let generated = ["docs/cli/", "docs/man/", "docs/completions/"];
    files.retain(|file| {
        let is_rust_outside_src =
            file.starts_with("crates/") && file.split('/').nth(2).is_none_or(|folder| folder != "src");
        !is_rust_outside_src && !generated.iter().any(|folder| file.starts_with(folder))
    });
    files.sort();
    Ok(files)
}

fn walk(root: &Path, folder: &str, extensions: &[&str], files: &mut Vec<String>) -> Result<(), String> {
    let path = root.join(folder);
    if !path.is_dir() {
        return Ok(());
    }
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    for entry in fs::read_dir(&path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let below = format!("{folder}/{name}");
        let is_folder = entry.file_type().map_err(failed)?.is_dir();
        if name.starts_with('.') || name == "target" || name == "__pycache__" {
            continue;
        }
        if is_folder {
            walk(root, &below, extensions, files)?;
        } else if name.rsplit_once('.').is_some_and(|(_, extension)| extensions.contains(&extension)) {
            files.push(below);
        }
    }
    Ok(())
}

fn print_hit(hit: &WordHit<'_>) {
    println!("{}:{}: {} -> {}", hit.file, hit.line, hit.excerpt, hit.word.instead);
}

/// Compares the hits with the limits, prints those that exceed one (or all), and returns the number of findings.
fn judge(list: &WordList, hits: &[WordHit<'_>], options: &WordOptions) -> usize {
    let mut findings = 0;
    let (pages, sources) = count(hits);
    let page_limit =
        |file: &str| list.page.iter().find(|page| page.file == file).map_or(0, |page| page.limit);
    let mut check = |what: &str, count: usize, limit: usize, selected: &dyn Fn(&WordHit<'_>) -> bool| {
        let listed = hits.iter().filter(|hit| selected(hit) && hit.file.starts_with(&options.within));
        if count > limit || options.is_all {
            listed.for_each(print_hit);
        }
        if count > limit {
            findings += 1;
            println!("{what}: {count} hits, limit {limit}");
        } else if count < limit {
            findings += usize::from(list.exact);
            println!(
                "{what}: {count} hits, limit {limit}; lower it with `cargo run -p xtask -- words --tighten`"
            );
        }
    };
    let limited = list.page.iter().map(|page| page.file.as_str());
    let files: std::collections::BTreeSet<&str> = pages.keys().copied().chain(limited).collect();
    for file in files {
        let count = pages.get(file).copied().unwrap_or_default();
        check(file, count, page_limit(file), &|hit| hit.is_page && hit.file == file);
    }
    for word in &list.word {
        let count = sources.get(word.name.as_str()).copied().unwrap_or_default();
        let what = format!("\"{}\" in sources", word.name);
        check(&what, count, word.limit, &|hit| !hit.is_page && hit.word.name == word.name);
    }
    findings
}

/// Counts hits in pages by file, and hits in sources by word.
fn count<'h>(hits: &'h [WordHit<'_>]) -> (BTreeMap<&'h str, usize>, BTreeMap<&'h str, usize>) {
    let mut pages = BTreeMap::new();
    let mut sources = BTreeMap::new();
    for hit in hits {
        if hit.is_page {
            *pages.entry(hit.file.as_str()).or_default() += 1;
        } else {
            *sources.entry(hit.word.name.as_str()).or_default() += 1;
        }
    }
    (pages, sources)
}

fn report_unused(unused: &[&Allow]) -> usize {
    for allow in unused {
        println!("{LIST}: remove the exception for {}, which has no hit: {:?}", allow.file, allow.text);
    }
    unused.len()
}

/// Returns the list with every limit lowered to today's number of hits.
fn tighten(text: &str, list: &WordList, hits: &[WordHit<'_>]) -> String {
    let (pages, sources) = count(hits);
    let mut lines = Vec::new();
    let mut hits_here = None;
    for line in text.lines() {
        let value = |key: &str| line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"');
        if let Some(name) = value("name") {
            hits_here = Some(sources.get(name).copied().unwrap_or_default());
        } else if let Some(file) = value("file") {
            hits_here = Some(pages.get(file).copied().unwrap_or_default());
        }
        let limit = line.strip_prefix("limit = ").and_then(|limit| limit.parse::<usize>().ok());
        match (limit, hits_here) {
            (Some(limit), Some(hits)) => lines.push(format!("limit = {}", limit.min(hits))),
            _ => lines.push(line.to_owned()),
        }
    }
    debug_assert_eq!(
        lines.iter().filter(|line| line.starts_with("limit = ")).count(),
        list.word.len() + list.page.len()
    );
    lines.join("\n") + "\n"
}
