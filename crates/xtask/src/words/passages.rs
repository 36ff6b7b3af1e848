//! Cuts pages and sources into passages of prose: paragraphs, comments and string literals.
//!
//! Lines of one paragraph are joined, so that a phrase is found across a line break. Code inside backticks is masked.

use std::ops::Range;

/// Origin of a passage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PassageKind {
    /// Paragraph, table row or code comment of a page.
    Page,
    /// First paragraph of a doc comment or docstring.
    Doc,
    /// Any other comment.
    Comment,
    /// String literal with at least two words.
    Literal,
}

/// Joined lines of prose.
#[derive(Debug)]
pub(crate) struct Passage {
    pub(crate) kind: PassageKind,
    text: String,
    /// `text` with code replaced by as many backticks as it has bytes.
    masked: String,
    /// Offset and one-based number of each line.
    lines: Vec<(usize, usize)>,
}

impl Passage {
    fn new(kind: PassageKind) -> Self {
        Self { kind, text: String::new(), masked: String::new(), lines: Vec::new() }
    }

    /// Appends a line, without the whitespace around it.
    fn push(&mut self, number: usize, line: &str) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.lines.push((self.text.len(), number));
        self.text.push_str(line.trim());
    }

    /// Returns the text with code masked.
    pub(crate) fn prose(&self) -> &str {
        &self.masked
    }

    /// Returns the number of the line at an offset.
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.lines.iter().take_while(|(start, _)| *start <= offset).last().map_or(0, |(_, number)| *number)
    }

    /// Whether `text` occurs around the range.
    pub(crate) fn covers(&self, text: &str, range: &Range<usize>) -> bool {
        self.text
            .match_indices(text)
            .any(|(start, text)| start <= range.start && range.end <= start + text.len())
    }

    /// Returns the range with up to `context` bytes before and after it.
    pub(crate) fn excerpt(&self, range: &Range<usize>, context: usize) -> String {
        let start = self.text.floor_char_boundary(range.start.saturating_sub(context));
        let end = self.text.ceil_char_boundary((range.end + context).min(self.text.len()));
        self.text[start..end].to_owned()
    }
}

/// Replaces inline code, arguments of format strings and the targets of links by backticks.
fn mask(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let end = match character {
            '`' => rest[1..].find('`').map(|end| end + 2),
            '{' => argument(rest),
            '(' if masked.ends_with(']') => rest.find(')').map(|end| end + 1),
            _ => None,
        };
        if let Some(end) = end {
            masked.extend(std::iter::repeat_n('`', end));
            rest = &rest[end..];
        } else {
            masked.push(character);
            rest = &rest[character.len_utf8()..];
        }
    }
    masked
}

/// Returns the length of an argument of a format string, such as `{name:>5}`.
fn argument(text: &str) -> Option<usize> {
    let end = text.find('}')?;
    let is_argument =
        |character: char| character.is_ascii_alphanumeric() || "_.:?#<>^$*+-".contains(character);
    text[1..end].chars().all(is_argument).then_some(end + 1)
}

/// Collects passages; the last one is open until it is closed.
#[derive(Default)]
struct Passages {
    closed: Vec<Passage>,
    open: Option<Passage>,
}

impl Passages {
    fn close(&mut self) {
        if let Some(mut passage) = self.open.take().filter(|passage| !passage.text.is_empty()) {
            passage.masked = mask(&passage.text);
            self.closed.push(passage);
        }
    }

    /// Appends a line to the open passage, or opens one of the given kind.
    fn push(&mut self, kind: PassageKind, number: usize, line: &str) {
        self.open.get_or_insert_with(|| Passage::new(kind)).push(number, line);
    }

    /// Adds a passage of one line.
    fn add(&mut self, kind: PassageKind, number: usize, line: &str) {
        self.close();
        self.push(kind, number, line);
        self.close();
    }

    fn finish(mut self) -> Vec<Passage> {
        self.close();
        self.closed
    }
}

/// Whether a line begins an item of a list.
fn is_item(line: &str) -> bool {
    let digits = line.trim_start_matches(|character: char| character.is_ascii_digit());
    line.starts_with("- ")
        || line.starts_with("* ")
        || (digits.len() < line.len() && digits.starts_with(". "))
}

/// Returns the comment at the end of a line of code.
fn shell_comment(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("# ").or_else(|| line.split_once("  # ").map(|(_, comment)| comment))
}

/// Returns the passages of a Markdown page.
pub(crate) fn markdown(text: &str) -> Vec<Passage> {
    let mut passages = Passages::default();
    let mut is_fenced = false;
    for (number, line) in (1..).zip(text.lines()) {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") {
            passages.close();
            is_fenced = !is_fenced;
        } else if is_fenced || line.starts_with("    ") {
            if let Some(comment) = shell_comment(line) {
                passages.add(PassageKind::Page, number, comment);
            }
        } else if trimmed.is_empty() {
            passages.close();
        } else if trimmed.starts_with('#') || trimmed.starts_with('|') {
            passages.add(PassageKind::Page, number, trimmed);
        } else {
            if is_item(trimmed) {
                passages.close();
            }
            passages.push(PassageKind::Page, number, trimmed);
        }
    }
    passages.finish()
}

/// Reads a source byte by byte and collects its comments and literals.
struct Scanner<'t> {
    text: &'t str,
    at: usize,
    line: usize,
    passages: Passages,
    /// Line and marker of the last comment, to join the next one with it.
    comment: Option<(usize, &'static str)>,
    is_fenced: bool,
}

impl<'t> Scanner<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, at: 0, line: 1, passages: Passages::default(), comment: None, is_fenced: false }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// Moves forward by a number of bytes and returns them.
    fn take(&mut self, bytes: usize) -> &'t str {
        let taken = &self.rest()[..bytes];
        self.at += bytes;
        self.line += taken.matches('\n').count();
        taken
    }

    /// Moves over one character.
    fn skip(&mut self) {
        let length = self.rest().chars().next().map_or(0, char::len_utf8);
        self.take(length);
    }

    /// Reads a comment to the end of its line and joins it with a comment of the same marker on the line before.
    fn line_comment(&mut self, marker: &'static str, kind: PassageKind) {
        let number = self.line;
        let line = self.take(self.rest().find('\n').unwrap_or(self.rest().len()));
        let content = line[marker.len()..].trim();
        let is_joined = self.comment == Some((number - 1, marker));
        if !is_joined {
            self.passages.close();
            self.is_fenced = false;
        }
        self.comment = Some((number, marker));
        if content.starts_with("```") {
            self.passages.close();
            self.is_fenced = !self.is_fenced;
        } else if content.is_empty() {
            self.passages.close();
        } else if !self.is_fenced {
            if is_item(content) || content.starts_with('|') {
                self.passages.close();
            }
            // Later paragraphs of a doc comment are not its first.
            self.passages.push(if is_joined { PassageKind::Comment } else { kind }, number, content);
        }
    }

    /// Adds the lines of a block comment or literal as one passage.
    fn block(&mut self, kind: PassageKind, first: usize, content: &str) {
        self.passages.close();
        self.comment = None;
        if kind == PassageKind::Literal && !content.trim().contains(' ') {
            return;
        }
        for (number, line) in (first..).zip(content.split('\n')) {
            let line = line.replace("\\n", "  ").replace("\\\"", "\" ");
            self.passages.push(kind, number, line.trim_end_matches('\\'));
        }
        self.passages.close();
    }

    /// Reads a literal with escapes, up to its closing quote.
    fn quoted(&mut self, kind: PassageKind, quote: &str) {
        let first = self.line;
        self.take(quote.len());
        let start = self.at;
        while !self.rest().is_empty() && !self.rest().starts_with(quote) {
            if self.rest().starts_with('\\') {
                self.skip();
            }
            self.skip();
        }
        let content = &self.text[start..self.at];
        self.take(quote.len().min(self.rest().len()));
        self.block(kind, first, content);
    }

    /// Reads a literal without escapes, up to `end`.
    fn raw(&mut self, kind: PassageKind, start: usize, end: &str) {
        let first = self.line;
        self.take(start);
        let length = self.rest().find(end).unwrap_or(self.rest().len());
        let content = self.take(length);
        self.take(end.len().min(self.rest().len()));
        self.block(kind, first, content);
    }
}

/// Returns the passages of a Rust source.
pub(crate) fn rust(text: &str) -> Vec<Passage> {
    let mut scanner = Scanner::new(text);
    let mut is_word = false;
    while let Some(character) = scanner.rest().chars().next() {
        let rest = scanner.rest();
        let hashes = rest[1.min(rest.len())..].chars().take_while(|character| *character == '#').count();
        if rest.starts_with("////") {
            scanner.line_comment("////", PassageKind::Comment);
        } else if rest.starts_with("///") {
            scanner.line_comment("///", PassageKind::Doc);
        } else if rest.starts_with("//!") {
            scanner.line_comment("//!", PassageKind::Doc);
        } else if rest.starts_with("//") {
            scanner.line_comment("//", PassageKind::Comment);
        } else if rest.starts_with("/*") {
            let first = scanner.line;
            let length = block_comment(rest);
            let content = scanner.take(length);
            scanner.block(PassageKind::Comment, first, content);
        } else if character == '"' {
            scanner.quoted(PassageKind::Literal, "\"");
        } else if character == 'r' && !is_word && rest[1 + hashes..].starts_with('"') {
            scanner.raw(PassageKind::Literal, hashes + 2, &format!("\"{}", "#".repeat(hashes)));
        } else if character == '\'' {
            char_or_lifetime(&mut scanner);
        } else {
            scanner.skip();
            // The `b` of a byte string is not part of a word.
            is_word = (character.is_alphanumeric() || character == '_') && character != 'b';
            continue;
        }
        is_word = false;
    }
    scanner.passages.finish()
}

/// Returns the length of a block comment, which may contain others.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    at
}

/// Moves over a character literal, or over the quote of a lifetime.
fn char_or_lifetime(scanner: &mut Scanner<'_>) {
    scanner.skip();
    if scanner.rest().starts_with('\\') {
        scanner.skip();
        scanner.skip();
        scanner.take(scanner.rest().find('\'').map_or(0, |quote| quote + 1));
    } else if scanner.rest().chars().nth(1) == Some('\'') {
        scanner.skip();
        scanner.skip();
    }
}

/// Returns the passages of a Python source.
pub(crate) fn python(text: &str) -> Vec<Passage> {
    let mut scanner = Scanner::new(text);
    while let Some(character) = scanner.rest().chars().next() {
        let rest = scanner.rest();
        if character == '#' {
            scanner.line_comment("#", PassageKind::Comment);
        } else if rest.starts_with("\"\"\"") {
            scanner.quoted(PassageKind::Doc, "\"\"\"");
        } else if rest.starts_with("'''") {
            scanner.quoted(PassageKind::Doc, "'''");
        } else if character == '"' {
            scanner.quoted(PassageKind::Literal, "\"");
        } else if character == '\'' {
            scanner.quoted(PassageKind::Literal, "'");
        } else {
            scanner.skip();
        }
    }
    scanner.passages.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(passages: &[Passage]) -> Vec<(PassageKind, &str)> {
        passages.iter().map(|passage| (passage.kind, passage.text.as_str())).collect()
    }

    #[test]
    fn paragraphs_of_a_page_are_joined_and_code_is_left_out() {
        let page =
            "# Title\n\none\ntwo `co de`\n- item\n\n    command  # comment\n\n```\nfenced\n```\n| a | b |\n";
        let passages = markdown(page);
        let expected = ["# Title", "one two `co de`", "- item", "comment", "| a | b |"];
        assert_eq!(texts(&passages), expected.map(|text| (PassageKind::Page, text)));
        assert_eq!(passages[1].prose(), "one two ```````");
        assert_eq!(passages[1].line(5), 4);
    }

    #[test]
    fn targets_of_links_are_masked() {
        assert_eq!(mask("a [b](cd) (e)"), "a [b]```` (e)");
    }

    #[test]
    fn arguments_of_format_strings_are_masked_and_other_braces_are_not() {
        assert_eq!(mask("a {b:>5} {c d} `unpaired"), "a `````` {c d} `unpaired");
    }

    #[test]
    fn only_the_first_paragraph_of_a_doc_comment_is_a_doc() {
        let source = "/// Returns it\n/// at once.\n///\n/// More.\n// plain\nfn f() {}\n//! inner\n";
        let expected = [
            (PassageKind::Doc, "Returns it at once."),
            (PassageKind::Comment, "More."),
            (PassageKind::Comment, "plain"),
            (PassageKind::Doc, "inner"),
        ];
        assert_eq!(texts(&rust(source)), expected);
    }

    #[test]
    fn literals_of_several_words_are_found_and_lifetimes_are_not() {
        let source = r##"fn f<'a>(x: &'a str) { g("one two", "one", '"', r#"raw "text" here"#, b"byte text", '\'') } // end"##;
        let expected = [
            (PassageKind::Literal, "one two"),
            (PassageKind::Literal, "raw \"text\" here"),
            (PassageKind::Literal, "byte text"),
            (PassageKind::Comment, "end"),
        ];
        assert_eq!(texts(&rust(source)), expected);
    }

    #[test]
    fn nested_block_comments_end_where_the_outer_one_ends() {
        assert_eq!(
            texts(&rust("/* a /* b */ c */ \"d e\"")),
            [(PassageKind::Comment, "/* a /* b */ c */"), (PassageKind::Literal, "d e")]
        );
    }

    #[test]
    fn lines_of_a_literal_keep_their_numbers() {
        let passages = rust("\n\"first line \\\n   second line\"");
        let offset = passages[0].prose().find("second").unwrap();
        assert_eq!(passages[0].line(offset), 3);
    }

    #[test]
    fn docstrings_and_comments_of_python_are_found() {
        let source = "def f():\n    \"\"\"Return it.\"\"\"\n    return 'a b'  # why\n";
        let expected =
            [(PassageKind::Doc, "Return it."), (PassageKind::Literal, "a b"), (PassageKind::Comment, "why")];
        assert_eq!(texts(&python(source)), expected);
    }
}
