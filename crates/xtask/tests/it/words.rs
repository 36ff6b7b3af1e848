//! The word list holds for this checkout, and `xtask words` finds its phrases in small ones.

use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// A list with one phrase, of which sources may have one hit.
const LIST: &str = "[[word]]\nname = \"is no\"\npattern = '(\\w+ )?is no \\w+'\nunless = '^there '\ninstead = \"is not a\"\nlimit = 1\n";

/// Runs `xtask words` and returns its exit code and output.
fn words(root: &Path, options: &[&str]) -> (Option<i32>, String) {
    let program = env!("CARGO_BIN_EXE_xtask");
    let output = Command::new(program).arg("words").args(options).arg("--root").arg(root).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    (output.status.code(), text)
}

/// Makes a checkout with a word list and the given files.
fn checkout(list: &str, files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files.iter().chain(&[("crates/xtask/words.toml", list)]) {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

#[test]
fn this_checkout_is_within_its_limits() {
    let (code, text) = words(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."), &[]);
    assert_eq!(code, Some(0), "use the words after the arrow; CONTRIBUTING.md has the rules\n{text}");
}

#[test]
fn a_phrase_in_a_page_fails_with_its_line_and_replacement() {
    let root = checkout(LIST, &[("docs/a.md", "# A\n\nA wheel is no gear; there is no gear.\n")]);
    let (code, text) = words(root.path(), &[]);
    assert_eq!(code, Some(1));
    assert!(text.contains("docs/a.md:3: A wheel is no gear; there is no gear. -> is not a"), "{text}");
}

#[test]
fn a_match_of_unless_is_not_a_hit() {
    let root = checkout(LIST, &[("README.md", "Here there is no gear.\n")]);
    assert_eq!(words(root.path(), &[]).0, Some(0));
}

#[test]
fn sources_may_have_as_many_hits_as_the_limit_and_no_more() {
    let one = "/// It is no gear.\nfn f() {}\n";
    let two = "/// It is no gear.\nfn f() { g(\"it is no wheel\") }\n";
    assert_eq!(words(checkout(LIST, &[("crates/a/src/lib.rs", one)]).path(), &[]).0, Some(0));
    let (code, text) = words(checkout(LIST, &[("crates/a/src/lib.rs", two)]).path(), &[]);
    assert_eq!(code, Some(1));
    assert!(text.contains("\"is no\" in sources: 2 hits, limit 1"), "{text}");
}

#[test]
fn an_exception_covers_its_text_in_its_file_only() {
    let allow = "\n[[allow]]\nfile = \"README.md\"\ntext = \"This is no gear\"\nreason = \"a quotation\"\n";
    let list = LIST.to_owned() + allow;
    let files = [("README.md", "This is no gear.\n"), ("docs/a.md", "This is no gear.\n")];
    let (code, text) = words(checkout(&list, &files).path(), &["--all"]);
    assert_eq!(code, Some(1));
    assert!(text.contains("docs/a.md:1:") && !text.contains("README.md:1:"), "{text}");
}

#[test]
fn an_exception_without_a_hit_fails() {
    let allow = "\n[[allow]]\nfile = \"README.md\"\ntext = \"gone\"\nreason = \"a quotation\"\n";
    let (code, text) = words(checkout(&(LIST.to_owned() + allow), &[("README.md", "Gear.\n")]).path(), &[]);
    assert_eq!(code, Some(1));
    assert!(text.contains("remove the exception for README.md"), "{text}");
}

#[test]
fn generated_pages_and_tests_of_crates_are_not_checked() {
    let files =
        [("docs/cli/a.md", "It is no gear.\n"), ("crates/a/tests/b.rs", "// It is no gear, is no wheel.\n")];
    let (code, text) = words(checkout(LIST, &files).path(), &["--all"]);
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn a_wrong_pattern_or_option_is_an_error() {
    let list = LIST.replace("is no \\w+", "(");
    assert_eq!(words(checkout(&list, &[]).path(), &[]).0, Some(2));
    assert_eq!(words(checkout(LIST, &[]).path(), &["--nonsense"]).0, Some(2));
}
