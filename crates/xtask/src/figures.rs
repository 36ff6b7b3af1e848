//! Counts what the redesign of the code base is measured by: crates, module cycles, types, lines, public items and test binaries.

use crate::modules::{Cycle, Modules};
use crate::package::{Package, entries};
use crate::source::{LineKind, SourceFile, item_attributes};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Meta, Visibility};

/// A function with more lines than this is long.
const LONG: usize = 60;

/// The figures of a workspace.
#[derive(Default, Serialize)]
pub struct CodeFigures {
    /// Packages under `crates`.
    pub crates: usize,
    /// Crates with a cycle among their top-level modules. A library and a program of one package count apart.
    pub crates_with_cycles: usize,
    /// Cycles among top-level modules.
    pub cycles: Vec<PackageCycle>,
    /// Cycles among the modules inside of another module.
    pub deeper_cycles: Vec<PackageCycle>,
    /// Types that implement `std::error::Error`, as `crate::Type`.
    pub error_types: BTreeSet<String>,
    /// Type names that are defined more than once, with the number of definitions.
    pub repeated_type_names: BTreeMap<String, usize>,
    /// All types: structs, enums, unions, traits and aliases.
    pub types: usize,
    /// Items that are declared `pub`, without members, fields and re-exports.
    pub public_items: usize,
    /// Functions and constants of inherent `impl` blocks that are declared `pub`.
    pub public_members: usize,
    /// Root files of integration tests.
    pub test_binaries: BTreeMap<String, usize>,
    /// Lines of the packages under `crates`.
    pub lines: LineCounts,
    /// Lines of the same, by package.
    pub lines_by_crate: BTreeMap<String, LineCounts>,
    /// Lines of the Python extension's Rust code.
    pub lines_of_python: LineCounts,
    /// Lengths of functions outside of tests.
    pub functions: FunctionLengths,
}

/// Lines that are not blank.
#[derive(Clone, Copy, Default, Serialize)]
pub struct LineCounts {
    /// Code in `src` and `build.rs`, outside of tests.
    pub code: usize,
    /// Code of test modules in `src`.
    pub unit_tests: usize,
    /// Code in `tests`.
    pub integration_tests: usize,
    /// Code in `benches`.
    pub benches: usize,
    /// Code in `examples`.
    pub examples: usize,
    /// Doc comments, wherever they are.
    pub doc_comments: usize,
    /// Other comments on lines of their own.
    pub other_comments: usize,
}

impl LineCounts {
    /// Returns the lines of unit tests and of integration tests.
    pub fn tests(&self) -> usize {
        self.unit_tests + self.integration_tests
    }

    fn add(&mut self, other: &Self) {
        self.code += other.code;
        self.unit_tests += other.unit_tests;
        self.integration_tests += other.integration_tests;
        self.benches += other.benches;
        self.examples += other.examples;
        self.doc_comments += other.doc_comments;
        self.other_comments += other.other_comments;
    }
}

/// Lengths of functions in lines, from the signature to the closing brace.
#[derive(Default, Serialize)]
pub struct FunctionLengths {
    /// Number of functions with a body.
    pub count: usize,
    /// Median length.
    pub median: usize,
    /// Functions of more than 60 lines.
    pub long: usize,
    /// The ten longest, the longest first.
    pub longest: Vec<LongFunction>,
}

/// A function and its length.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct LongFunction {
    /// Number of lines.
    pub lines: usize,
    /// Name of the function.
    pub name: String,
    /// `file:line` of its signature.
    pub site: String,
}

/// A cycle of modules, and the target that has it.
#[derive(Serialize)]
pub struct PackageCycle {
    /// The target, as [`Package::label`] names it.
    pub package: String,
    /// The modules with their arrows.
    #[serde(flatten)]
    pub cycle: Cycle,
}

impl CodeFigures {
    /// Reads the workspace in `repo`.
    pub fn read(repo: &Path) -> Result<Self, String> {
        let mut figures = Self::default();
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        let mut functions = Vec::new();
        for package in Package::read_all(&repo.join("crates"))? {
            let mut survey = Survey::default();
            let mut files = BTreeMap::new();
            for root in &package.roots {
                let modules = Modules::read(repo, root)?;
                let label = package.label(root);
                let cycles =
                    modules.cycles().into_iter().map(|cycle| PackageCycle { package: label.clone(), cycle });
                let (top, deeper): (Vec<PackageCycle>, Vec<PackageCycle>) =
                    cycles.partition(|found| found.cycle.parent == "crate");
                figures.crates_with_cycles += usize::from(!top.is_empty());
                figures.cycles.extend(top);
                figures.deeper_cycles.extend(deeper);
                for source in modules.into_sources() {
                    if files.contains_key(&source.path) {
                        continue;
                    }
                    source.path.strip_prefix(repo).unwrap_or(&source.path).clone_into(&mut survey.file);
                    survey.visit_file(&source.syntax);
                    files.insert(source.path, source.lines);
                }
            }
            let lines = package_lines(&package.folder, &files)?;
            figures.lines.add(&lines);
            figures.lines_by_crate.insert(package.name.clone(), lines);
            if !package.tests.is_empty() {
                figures.test_binaries.insert(package.name.clone(), package.tests.len());
            }
            let full = |name: &String| format!("{}::{name}", package.name);
            figures.error_types.extend(survey.errors.iter().map(full));
            figures.public_items += survey.public_items;
            figures.public_members += survey.public_members;
            figures.types += survey.types.len();
            survey.types.into_iter().for_each(|name| *names.entry(name).or_default() += 1);
            functions.append(&mut survey.functions);
            figures.crates += 1;
        }
        names.retain(|_, count| *count > 1);
        figures.repeated_type_names = names;
        figures.functions = FunctionLengths::of(functions);
        let python = repo.join("python");
        if python.join("Cargo.toml").exists() {
            figures.lines_of_python = python_lines(repo, &python)?;
        }
        Ok(figures)
    }

    /// Returns the number of type definitions that share their name with another.
    pub fn repeated_types(&self) -> usize {
        self.repeated_type_names.values().sum()
    }
}

impl FunctionLengths {
    fn of(mut functions: Vec<LongFunction>) -> Self {
        functions.sort_by(|a, b| b.cmp(a));
        let median = functions.get(functions.len() / 2).map_or(0, |function| function.lines);
        let long = functions.iter().filter(|function| function.lines > LONG).count();
        let count = functions.len();
        functions.truncate(10);
        Self { count, median, long, longest: functions }
    }
}

fn python_lines(repo: &Path, folder: &Path) -> Result<LineCounts, String> {
    let mut files = BTreeMap::new();
    for root in &Package::read(folder)?.roots {
        files.extend(
            Modules::read(repo, root)?.into_sources().into_iter().map(|file| (file.path, file.lines)),
        );
    }
    package_lines(folder, &files)
}

/// Counts the lines of a package. A file in `src` that is not in `read` belongs to a module for tests.
fn package_lines(folder: &Path, read: &BTreeMap<PathBuf, Vec<LineKind>>) -> Result<LineCounts, String> {
    let mut counts = LineCounts::default();
    for part in ["build.rs", "src", "tests", "benches", "examples"] {
        for path in rust_files(&folder.join(part))? {
            let parsed;
            let (lines, is_of_test) = if let Some(lines) = read.get(&path) {
                (lines, false)
            } else {
                parsed = SourceFile::read(&path)?.lines;
                (&parsed, part == "src")
            };
            for line in lines {
                let count = match (line, part) {
                    (LineKind::Blank, _) => continue,
                    (LineKind::Doc, _) => &mut counts.doc_comments,
                    (LineKind::Comment, _) => &mut counts.other_comments,
                    (_, "tests") => &mut counts.integration_tests,
                    (_, "benches") => &mut counts.benches,
                    (_, "examples") => &mut counts.examples,
                    (LineKind::Test, _) => &mut counts.unit_tests,
                    (LineKind::Code, _) if is_of_test => &mut counts.unit_tests,
                    (LineKind::Code, _) => &mut counts.code,
                };
                *count += 1;
            }
        }
    }
    Ok(counts)
}

/// Returns `path` if it is a Rust file, or the Rust files below it.
fn rust_files(path: &Path) -> Result<Vec<PathBuf>, String> {
    if path.is_dir() {
        let found: Result<Vec<Vec<PathBuf>>, String> =
            entries(path)?.iter().map(|path| rust_files(path)).collect();
        return Ok(found?.concat());
    }
    let is_rust = path.exists() && path.extension().is_some_and(|extension| extension == "rs");
    Ok(if is_rust { vec![path.to_owned()] } else { Vec::new() })
}

/// Collects types, public items and functions of the files of one package.
#[derive(Default)]
struct Survey {
    file: PathBuf,
    types: Vec<String>,
    errors: BTreeSet<String>,
    public_items: usize,
    public_members: usize,
    functions: Vec<LongFunction>,
}

impl Survey {
    fn function(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let (first, last) = (signature.span().start().line, body.span().end().line);
        let site = format!("{}:{first}", self.file.display());
        self.functions.push(LongFunction {
            lines: last - first + 1,
            name: signature.ident.to_string(),
            site,
        });
    }
}

/// Returns whether a derive list contains `Error`.
fn derives_error(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().filter(|attribute| attribute.path().is_ident("derive")).any(|attribute| {
        let Meta::List(list) = &attribute.meta else { return false };
        let parse = syn::punctuated::Punctuated::<syn::Path, syn::Token![,]>::parse_terminated;
        list.parse_args_with(parse).is_ok_and(|paths| paths.iter().any(is_error))
    })
}

/// Returns whether a path is `Error`, `…::error::Error` or `thiserror::Error`.
fn is_error(path: &syn::Path) -> bool {
    let mut names = path.segments.iter().rev().map(|segment| &segment.ident);
    names.next().is_some_and(|name| name == "Error")
        && names.next().is_none_or(|name| name == "error" || name == "thiserror")
}

impl<'ast> Visit<'ast> for Survey {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        use syn::Item;
        let (name, visibility) = match item {
            Item::Struct(item) => (Some(&item.ident), Some(&item.vis)),
            Item::Enum(item) => (Some(&item.ident), Some(&item.vis)),
            Item::Union(item) => (Some(&item.ident), Some(&item.vis)),
            Item::Trait(item) => (Some(&item.ident), Some(&item.vis)),
            Item::Type(item) => (Some(&item.ident), Some(&item.vis)),
            Item::Const(item) => (None, Some(&item.vis)),
            Item::Fn(item) => (None, Some(&item.vis)),
            Item::Mod(item) => (None, Some(&item.vis)),
            Item::Static(item) => (None, Some(&item.vis)),
            _ => (None, None),
        };
        if let Some(name) = name {
            self.types.push(name.to_string());
            if derives_error(item_attributes(item)) {
                self.errors.insert(name.to_string());
            }
        }
        self.public_items += usize::from(matches!(visibility, Some(Visibility::Public(_))));
        visit::visit_item(self, item);
    }

    fn visit_item_impl(&mut self, block: &'ast syn::ItemImpl) {
        match (&block.trait_, &*block.self_ty) {
            (Some((path, _)), syn::Type::Path(of)) if is_error(path) => {
                self.errors.extend(of.path.segments.last().map(|segment| segment.ident.to_string()));
            }
            _ => {}
        }
        for member in &block.items {
            let visibility = match member {
                syn::ImplItem::Const(member) => &member.vis,
                syn::ImplItem::Fn(member) => &member.vis,
                _ => continue,
            };
            self.public_members += usize::from(matches!(visibility, Visibility::Public(_)));
        }
        visit::visit_item_impl(self, block);
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.function(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.function(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(body) = &function.default {
            self.function(&function.sig, body);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

impl fmt::Display for CodeFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = |f: &mut fmt::Formatter<'_>, name: &str, value: usize| writeln!(f, "{name:<44} {value:>7}");
        row(f, "crates", self.crates)?;
        row(f, "crates with a cycle of top-level modules", self.crates_with_cycles)?;
        // Folding a crate into another moves its cycles down without cutting them: only the sum shows that.
        row(f, "cycles of modules, at any level", self.cycles.len() + self.deeper_cycles.len())?;
        row(f, "  top level", self.cycles.len())?;
        row(f, "  deeper down", self.deeper_cycles.len())?;
        row(f, "error types", self.error_types.len())?;
        row(f, "types", self.types)?;
        row(f, "type names defined more than once", self.repeated_type_names.len())?;
        row(f, "  types with such a name", self.repeated_types())?;
        row(f, "public items", self.public_items)?;
        row(f, "public members", self.public_members)?;
        row(f, "integration-test binaries", self.test_binaries.values().sum())?;
        row(f, "lines of code", self.lines.code)?;
        row(f, "lines of tests", self.lines.tests())?;
        row(f, "  in src", self.lines.unit_tests)?;
        row(f, "  in tests", self.lines.integration_tests)?;
        row(f, "lines of benches", self.lines.benches)?;
        row(f, "lines of examples", self.lines.examples)?;
        row(f, "lines of doc comments", self.lines.doc_comments)?;
        row(f, "lines of other comments", self.lines.other_comments)?;
        row(f, "lines of code of the Python extension", self.lines_of_python.code)?;
        row(f, "functions", self.functions.count)?;
        row(f, "  median lines", self.functions.median)?;
        row(f, "  longer than 60 lines", self.functions.long)?;

        writeln!(f, "\nMost repeated type names")?;
        let mut repeated: Vec<(&String, &usize)> = self.repeated_type_names.iter().collect();
        repeated.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), *name));
        for (name, count) in repeated.iter().take(20) {
            writeln!(f, "  {name} {count}")?;
        }
        writeln!(f, "\nLongest functions")?;
        for function in &self.functions.longest {
            writeln!(f, "  {} {} {}", function.lines, function.name, function.site)?;
        }
        writeln!(f, "\nLines and integration-test binaries by crate")?;
        writeln!(f, "  {:<12} {:>7} {:>7} {:>7} {:>8}", "crate", "code", "tests", "docs", "binaries")?;
        for (name, lines) in &self.lines_by_crate {
            let binaries = self.test_binaries.get(name).copied().unwrap_or_default();
            writeln!(
                f,
                "  {name:<12} {:>7} {:>7} {:>7} {binaries:>8}",
                lines.code,
                lines.tests(),
                lines.doc_comments
            )?;
        }
        for (title, cycles) in
            [("Cycles of top-level modules", &self.cycles), ("Cycles deeper down", &self.deeper_cycles)]
        {
            writeln!(f, "\n{title}")?;
            for PackageCycle { package, cycle } in cycles {
                writeln!(f, "{package}: {cycle}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Returns the figures of a workspace with these files.
    fn figures(files: &[(&str, &str)]) -> CodeFigures {
        let repo = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = repo.path().join("crates").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        CodeFigures::read(repo.path()).unwrap()
    }

    const MANIFEST: &str = "[package]\nname = \"one\"\n";

    #[test]
    fn derived_and_implemented_errors_are_counted() {
        let text =
            "#[derive(Debug, thiserror::Error)] struct A; #[derive(Error)] enum B {} struct C; struct D;
            impl std::error::Error for C {} impl serde::de::Error for D {}
            #[cfg(test)] mod tests { #[derive(thiserror::Error)] struct E; }";
        let figures = figures(&[("one/Cargo.toml", MANIFEST), ("one/src/lib.rs", text)]);
        assert_eq!(figures.error_types.into_iter().collect::<Vec<_>>(), ["one::A", "one::B", "one::C"]);
    }

    #[test]
    fn a_type_name_repeats_across_crates_and_modules() {
        let figures = figures(&[
            ("one/Cargo.toml", MANIFEST),
            (
                "one/src/lib.rs",
                "struct Row; mod a { type Row = u8; trait Once {} } #[cfg(test)] struct Once;",
            ),
            ("two/Cargo.toml", MANIFEST),
            ("two/src/main.rs", "enum Row {}"),
        ]);
        assert_eq!(figures.repeated_type_names, BTreeMap::from([("Row".to_owned(), 3)]));
    }

    #[test]
    fn lines_are_counted_where_they_are() {
        let figures = figures(&[
            ("one/Cargo.toml", MANIFEST),
            ("one/src/lib.rs", "//! Page.\nmod a;\n#[cfg(test)]\nmod tests;\n"),
            ("one/src/a.rs", "// Why.\nfn a() {\n}\n"),
            ("one/src/tests.rs", "fn t() {}\n"),
            ("one/tests/it.rs", "fn t() {\n}\n"),
            ("one/benches/speed.rs", "fn b() {}\n"),
        ]);
        let lines = figures.lines;
        assert_eq!((lines.code, lines.unit_tests, lines.integration_tests, lines.benches), (3, 3, 2, 1));
        assert_eq!((lines.doc_comments, lines.other_comments), (1, 1));
    }

    #[test]
    fn test_binaries_are_those_of_the_manifest_and_those_that_cargo_discovers() {
        let listed = "[package]\nname = \"one\"\n[[test]]\nname = \"a\"\n[[test]]\nname = \"b\"\npath = \"other/b.rs\"\n";
        let alone = "[package]\nname = \"two\"\nautotests = false\n[[test]]\nname = \"a\"\n";
        let figures = figures(&[
            ("one/Cargo.toml", listed),
            ("one/tests/a.rs", ""),
            ("one/tests/c/main.rs", ""),
            ("one/tests/support/mod.rs", ""),
            ("two/Cargo.toml", alone),
            ("two/tests/a.rs", ""),
            ("two/tests/c.rs", ""),
        ]);
        let expected = BTreeMap::from([("one".to_owned(), 3), ("two".to_owned(), 1)]);
        assert_eq!(figures.test_binaries, expected);
    }

    #[test]
    fn public_items_are_declared_without_a_restriction() {
        let text = "pub struct A; pub(crate) struct B; impl A { pub fn a() {} fn b() {} } pub use std::fmt;";
        let figures = figures(&[("one/Cargo.toml", MANIFEST), ("one/src/lib.rs", text)]);
        assert_eq!((figures.public_items, figures.public_members), (1, 1));
    }

    #[test]
    fn the_length_of_a_function_is_from_its_signature_to_its_brace() {
        let text = "/// Doc.\n#[inline]\nfn a() {\n\n}\n";
        let figures = figures(&[("one/Cargo.toml", MANIFEST), ("one/src/lib.rs", text)]);
        assert_eq!((figures.functions.count, figures.functions.median), (1, 3));
    }
}
