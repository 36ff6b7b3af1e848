//! Reads one Rust file: its syntax without test code, and the kind of every line.

use proc_macro2::{TokenStream, TokenTree};
use std::fs;
use std::path::{Path, PathBuf};
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{Attribute, ImplItem, Item, Meta, Stmt, TraitItem};

/// The kind of one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// White space only.
    Blank,
    /// A doc comment.
    Doc,
    /// Another comment that has the line to itself.
    Comment,
    /// Code outside of tests, perhaps with a comment behind it.
    Code,
    /// Code that is compiled for tests only.
    Test,
}

/// One parsed file.
pub struct SourceFile {
    /// Path of the file, as it was opened.
    pub path: PathBuf,
    /// Items of the file without those that are compiled for tests only.
    pub syntax: syn::File,
    /// The kind of every line, the first line first.
    pub lines: Vec<LineKind>,
}

impl SourceFile {
    /// Reads and parses the file at `path`.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Self::parse(path, &text)
    }

    /// Parses `text` as the content of `path`.
    pub fn parse(path: &Path, text: &str) -> Result<Self, String> {
        let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let tokens: TokenStream = text.parse().map_err(|error| wrong(&error))?;
        let written: Vec<&str> = text.lines().collect();
        let mut lines: Vec<LineKind> = written
            .iter()
            .map(|line| if line.trim().is_empty() { LineKind::Blank } else { LineKind::Comment })
            .collect();
        mark(tokens.clone(), &written, &mut lines);
        let mut syntax: syn::File = syn::parse2(tokens).map_err(|error| wrong(&error))?;
        let mut tests = Tests { ranges: Vec::new() };
        if is_test(&syntax.attrs) {
            syntax.items.clear();
            tests.ranges.push((1, lines.len()));
        }
        tests.visit_file_mut(&mut syntax);
        for (first, last) in tests.ranges {
            let of_test = lines.iter_mut().take(last).skip(first.saturating_sub(1));
            of_test.filter(|line| **line == LineKind::Code).for_each(|line| *line = LineKind::Test);
        }
        Ok(Self { path: path.to_owned(), syntax, lines })
    }
}

/// Marks the lines that tokens cover. The tokens of a doc comment have the span of the comment.
fn mark(tokens: TokenStream, written: &[&str], lines: &mut [LineKind]) {
    for token in tokens {
        let span = token.span();
        match token {
            // `#[doc = "…"]` in place of a comment has the comment's span.
            TokenTree::Group(group) if !is_doc(span.start(), written) => {
                mark_lines(group.span_open(), written, lines);
                mark_lines(group.span_close(), written, lines);
                mark(group.stream(), written, lines);
            }
            _ => mark_lines(span, written, lines),
        }
    }
}

fn mark_lines(span: proc_macro2::Span, written: &[&str], lines: &mut [LineKind]) {
    let (start, end) = (span.start(), span.end());
    let kind = if is_doc(start, written) { LineKind::Doc } else { LineKind::Code };
    for line in lines.iter_mut().take(end.line).skip(start.line.saturating_sub(1)) {
        if *line != LineKind::Code {
            *line = kind;
        }
    }
}

fn is_doc(start: proc_macro2::LineColumn, written: &[&str]) -> bool {
    let line = written.get(start.line.saturating_sub(1)).copied().unwrap_or_default();
    let mut rest = line.chars().skip(start.column);
    rest.next() == Some('/') && matches!(rest.next(), Some('/' | '*'))
}

/// Removes items, members, statements and match arms that are compiled for tests only, and keeps their lines.
struct Tests {
    ranges: Vec<(usize, usize)>,
}

impl Tests {
    fn keeps(&mut self, attributes: &[Attribute], item: &dyn Fn() -> proc_macro2::Span) -> bool {
        let is_of_test = is_test(attributes);
        if is_of_test {
            let span = item();
            self.ranges.push((span.start().line, span.end().line));
        }
        !is_of_test
    }

    fn retain_items(&mut self, items: &mut Vec<Item>) {
        items.retain(|item| self.keeps(item_attributes(item), &|| item.span()));
    }
}

impl VisitMut for Tests {
    fn visit_file_mut(&mut self, file: &mut syn::File) {
        self.retain_items(&mut file.items);
        visit_mut::visit_file_mut(self, file);
    }

    fn visit_item_mod_mut(&mut self, module: &mut syn::ItemMod) {
        if let Some((_, items)) = &mut module.content {
            self.retain_items(items);
        }
        visit_mut::visit_item_mod_mut(self, module);
    }

    fn visit_item_impl_mut(&mut self, block: &mut syn::ItemImpl) {
        block.items.retain(|member| {
            let attributes: &[Attribute] = match member {
                ImplItem::Const(member) => &member.attrs,
                ImplItem::Fn(member) => &member.attrs,
                ImplItem::Type(member) => &member.attrs,
                ImplItem::Macro(member) => &member.attrs,
                _ => &[],
            };
            self.keeps(attributes, &|| member.span())
        });
        visit_mut::visit_item_impl_mut(self, block);
    }

    fn visit_item_trait_mut(&mut self, declared: &mut syn::ItemTrait) {
        declared.items.retain(|member| {
            let attributes: &[Attribute] = match member {
                TraitItem::Const(member) => &member.attrs,
                TraitItem::Fn(member) => &member.attrs,
                TraitItem::Type(member) => &member.attrs,
                TraitItem::Macro(member) => &member.attrs,
                _ => &[],
            };
            self.keeps(attributes, &|| member.span())
        });
        visit_mut::visit_item_trait_mut(self, declared);
    }

    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        block.stmts.retain(|statement| {
            let attributes: &[Attribute] = match statement {
                Stmt::Local(statement) => &statement.attrs,
                Stmt::Item(item) => item_attributes(item),
                Stmt::Macro(statement) => &statement.attrs,
                Stmt::Expr(syn::Expr::Block(block), _) => &block.attrs,
                Stmt::Expr(..) => &[],
            };
            self.keeps(attributes, &|| statement.span())
        });
        visit_mut::visit_block_mut(self, block);
    }

    fn visit_expr_match_mut(&mut self, choice: &mut syn::ExprMatch) {
        choice.arms.retain(|arm| self.keeps(&arm.attrs, &|| arm.span()));
        visit_mut::visit_expr_match_mut(self, choice);
    }
}

/// Returns the attributes of an item.
pub fn item_attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Returns whether attributes restrict an item to test builds: `#[test]`, `#[cfg(test)]`, `#[cfg(all(test, …))]`.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let is_cfg = attribute.path().is_ident("cfg");
        attribute.path().is_ident("test")
            || (is_cfg && attribute.parse_args::<Meta>().is_ok_and(|predicate| needs_test(&predicate)))
    })
}

fn needs_test(predicate: &Meta) -> bool {
    let Meta::List(list) = predicate else { return predicate.path().is_ident("test") };
    let parts = list.parse_args_with(syn::punctuated::Punctuated::<Meta, syn::Token![,]>::parse_terminated);
    let Ok(parts) = parts else { return false };
    if list.path.is_ident("all") {
        parts.iter().any(needs_test)
    } else {
        list.path.is_ident("any") && !parts.is_empty() && parts.iter().all(needs_test)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> SourceFile {
        SourceFile::parse(Path::new("file.rs"), text).unwrap()
    }

    #[test]
    fn lines_are_code_test_doc_comment_or_blank() {
        let text = "//! Page.\n\n// Why.\nfn a() {} // Behind code.\n/// Doc.\nfn b() -> &'static str {\n    \"one\n\n    // two\"\n}\n\
                    #[cfg(test)]\nmod tests {\n    /* no */\n    fn c() {}\n}\n";
        let expected = [
            LineKind::Doc,
            LineKind::Blank,
            LineKind::Comment,
            LineKind::Code,
            LineKind::Doc,
            LineKind::Code,
            LineKind::Code,
            LineKind::Code,
            LineKind::Code,
            LineKind::Code,
            LineKind::Test,
            LineKind::Test,
            LineKind::Comment,
            LineKind::Test,
            LineKind::Test,
        ];
        assert_eq!(parsed(text).lines, expected);
    }

    #[test]
    fn items_of_test_builds_are_removed() {
        let text = "#[cfg(test)] mod a; #[cfg(all(test, unix))] mod b; #[cfg(any(test, unix))] mod c; #[cfg(not(test))] mod d;";
        let names: Vec<String> = (parsed(text).syntax.items.iter())
            .filter_map(
                |item| if let Item::Mod(module) = item { Some(module.ident.to_string()) } else { None },
            )
            .collect();
        assert_eq!(names, ["c", "d"]);
    }
}
