//! Every relative link of a page leads to a file that exists and, behind `#`, to one of its headings; the book lists every page.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Returns the Markdown files below a folder that are not generated.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let is_skipped =
            name.starts_with('.') || ["target", "node_modules", "man", "completions"].contains(&name);
        if path.is_dir() && !is_skipped {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// Returns the text of a page without code blocks and code spans.
fn prose(text: &str) -> String {
    let mut in_code = false;
    let lines = text.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence && !line.starts_with("    ")
    });
    lines.map(|line| line.split('`').step_by(2).collect::<String>() + "\n").collect()
}

/// Returns the targets of inline links.
fn targets(text: &str) -> Vec<String> {
    text.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())).collect()
}

/// Returns the anchor that GitHub and mdBook make of a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn has_anchor(page: &Path, wanted: &str) -> bool {
    let text = fs::read_to_string(page).unwrap();
    text.lines().any(|line| {
        line.starts_with('#') && anchor(line.trim_start_matches('#')) == wanted
            || line.contains(&format!("id=\"{wanted}\""))
    })
}

#[test]
fn every_relative_link_leads_somewhere() {
    let root = root();
    let mut found = Vec::new();
    pages(&root, &mut found);
    assert!(found.len() > 40, "{} pages", found.len());
    let mut broken = Vec::new();
    for page in &found {
        for target in targets(&prose(&fs::read_to_string(page).unwrap())) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (file, fragment) =
                target.split_once('#').map_or((&*target, None), |(file, at)| (file, Some(at)));
            let path = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            let is_right = path.exists() && fragment.is_none_or(|fragment| has_anchor(&path, fragment));
            if !is_right {
                broken.push(format!("{}: {target}", page.strip_prefix(&root).unwrap().display()));
            }
        }
    }
    assert!(broken.is_empty(), "broken links:\n{}", broken.join("\n"));
}

#[test]
fn the_book_lists_every_page_of_the_documentation() {
    let docs = root().join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let listed: BTreeSet<PathBuf> = targets(&summary).iter().map(|target| docs.join(target)).collect();
    let mut found = Vec::new();
    pages(&docs, &mut found);
    let missing: Vec<&PathBuf> =
        found.iter().filter(|page| !page.ends_with("SUMMARY.md") && !listed.contains(*page)).collect();
    assert!(missing.is_empty(), "not in docs/SUMMARY.md: {missing:?}");
}

#[test]
fn links_anchors_and_code_are_distinguished() {
    let text = prose("see [a](b.md#c-d) and `[no](code)`\n\n    [no](block)\n");
    assert_eq!(targets(&text), ["b.md#c-d"]);
    assert_eq!(anchor(" The `x` model, twice"), "the-x-model-twice");
}
