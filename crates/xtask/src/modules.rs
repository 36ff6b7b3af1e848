//! Finds cycles among the modules of a crate from the paths in its sources.
//!
//! An arrow `a -> b` is a path in module `a`, or in a module inside of it, that leads to module `b` beside it: `crate::b::B`, a chain of
//! `super`, or a name that their parent re-exports from `b`. Paths in imports, types, expressions, macros and attributes count; code
//! for tests does not. The parent itself (`lib.rs`, `main.rs`, `mod.rs`) may use all of its modules.
//!
//! Two things stay unseen. Methods are called without a path, so an `impl` block away from its type hides an arrow. An item that the
//! parent itself defines is not traced to what it uses.

use crate::source::SourceFile;
use proc_macro2::{TokenStream, TokenTree};
use serde::{Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};
use syn::{Item, Meta, UseTree};

/// A path of names from the root of the crate, or as it is written.
type NamePath = Vec<String>;

/// Uses of one child module by another, with their lines.
type Arrows = BTreeMap<(String, String), BTreeSet<FileLine>>;

/// The modules of one target (a library or a program).
pub struct Modules {
    modules: Vec<Module>,
    sources: Vec<SourceFile>,
}

#[derive(Default)]
struct Module {
    /// Path from the root of the crate.
    path: NamePath,
    children: BTreeMap<String, usize>,
    /// Imported names with the paths they stand for, as written.
    imports: BTreeMap<String, NamePath>,
    /// Modules all of whose names are imported, as written.
    globs: Vec<NamePath>,
    /// Names of the items that the module defines.
    defined: BTreeSet<String>,
    references: Vec<(NamePath, FileLine)>,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileLine {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
}

impl fmt::Display for FileLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

impl Serialize for FileLine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Uses of one module by another beside it.
#[derive(Clone, Debug, Serialize)]
pub struct Arrow {
    /// The module that uses the other.
    pub from: String,
    /// The module that is used.
    pub to: String,
    /// The lines that use it.
    pub sites: BTreeSet<FileLine>,
}

/// Modules with the same parent that all reach each other.
#[derive(Clone, Debug, Serialize)]
pub struct Cycle {
    /// The path of their parent, `crate` for the root.
    pub parent: String,
    /// The modules, in alphabetical order.
    pub modules: Vec<String>,
    /// The arrows between them.
    pub arrows: Vec<Arrow>,
}

impl fmt::Display for Cycle {
    /// Writes the modules, and every arrow with the first line that draws it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cycle in {}: {}", self.parent, self.modules.join(", "))?;
        for arrow in &self.arrows {
            let Some(site) = arrow.sites.first() else { continue };
            write!(f, "\n  {} -> {}  {site}", arrow.from, arrow.to)?;
            if arrow.sites.len() > 1 {
                write!(f, " and {} more", arrow.sites.len() - 1)?;
            }
        }
        Ok(())
    }
}

impl Modules {
    /// Reads the root file of a target and the files of all its modules, except those for tests. Sites are relative to `repo`.
    pub fn read(repo: &Path, root: &Path) -> Result<Self, String> {
        let mut reader = TreeReader {
            repo,
            modules: vec![Module::default()],
            sources: Vec::new(),
            textual: BTreeMap::new(),
        };
        let folder = root.parent().unwrap_or(Path::new(""));
        reader.file(0, root, folder)?;
        let TreeReader { mut modules, sources, textual, .. } = reader;
        // A macro that is exported or declared with `#[macro_use]` is called by its name alone.
        for (name, home) in textual {
            let mut path = vec!["crate".to_owned()];
            path.extend(modules[home].path.iter().cloned());
            path.push(name.clone());
            modules[0].imports.entry(name.clone()).or_insert_with(|| path.clone());
            for module in modules.iter_mut().filter(|module| !module.defined.contains(&name)) {
                for (names, _) in &mut module.references {
                    if names.len() == 1 && names[0] == format!("{name}!") {
                        names.clone_from(&path);
                    }
                }
            }
        }
        Ok(Self { modules, sources })
    }

    /// Returns the files of the target, without those of modules for tests.
    pub fn into_sources(self) -> Vec<SourceFile> {
        self.sources
    }

    /// Returns the cycles among the modules of every parent, the root first.
    pub fn cycles(&self) -> Vec<Cycle> {
        self.arrows().iter().flat_map(|(parent, arrows)| cycles(parent, arrows)).collect()
    }

    /// Returns the arrows between the children of every module.
    fn arrows(&self) -> BTreeMap<NamePath, Arrows> {
        let mut arrows: BTreeMap<NamePath, Arrows> = BTreeMap::new();
        for (index, module) in self.modules.iter().enumerate() {
            for (names, site) in &module.references {
                let steps = self.steps(index, names);
                for depth in 0..module.path.len() {
                    let parent = &module.path[..depth];
                    let Some(to) = steps.iter().find_map(|path| self.child_on(parent, path)) else {
                        continue;
                    };
                    let from = &module.path[depth];
                    if from != to {
                        let level = arrows.entry(parent.to_vec()).or_default();
                        level.entry((from.clone(), to.clone())).or_default().insert(site.clone());
                    }
                }
            }
        }
        arrows
    }

    /// Returns the child of `parent` that `path` leads through.
    fn child_on<'a>(&self, parent: &[String], path: &'a [String]) -> Option<&'a String> {
        let name = path.strip_prefix(parent)?.first()?;
        self.modules[self.find(parent)?].children.contains_key(name).then_some(name)
    }

    fn find(&self, path: &[String]) -> Option<usize> {
        path.iter().try_fold(0, |module, name| self.modules[module].children.get(name).copied())
    }

    /// Returns the paths from the root that names in a module stand for: as written, then with each re-export replaced in turn.
    fn steps(&self, module: usize, names: &[String]) -> Vec<NamePath> {
        let Some(first) = self.resolve(module, names) else { return Vec::new() };
        let mut steps = vec![first];
        while let Some(next) = steps.last().and_then(|path| self.follow(path, steps.len())) {
            if steps.contains(&next) {
                break;
            }
            steps.push(next);
        }
        // A name in scope by an import leads to its module's own path first, which is not an arrow.
        let is_relative = !matches!(names[0].as_str(), "crate" | "self" | "super");
        if is_relative && !self.modules[module].children.contains_key(&names[0]) {
            steps.remove(0);
        }
        steps
    }

    /// Returns the path from the root of names that are written in `module`, or nothing if they lead to another crate.
    fn resolve(&self, module: usize, names: &[String]) -> Option<NamePath> {
        let here = &self.modules[module];
        let ups = names.iter().take_while(|name| *name == "super").count();
        let (base, rest): (&[String], &[String]) = match names.first()?.as_str() {
            "crate" => (&[], &names[1..]),
            "super" => (&here.path[..here.path.len().checked_sub(ups)?], &names[ups..]),
            "self" => {
                let ups = names[1..].iter().take_while(|name| *name == "super").count();
                (&here.path[..here.path.len().checked_sub(ups)?], &names[1 + ups..])
            }
            first => {
                // An import of a crate's own name, `use zip::zip`, leads to that crate.
                let is_own = |path: &NamePath| path.first().is_some_and(|start| start != first);
                let by_name =
                    here.children.contains_key(first) || here.imports.get(first).is_some_and(is_own);
                // A single name may also be a variable: it does not lead to a module through a glob.
                let by_glob = || {
                    self.by_glob(module, first, 0)
                        .is_some_and(|path| names.len() > 1 || self.find(&path).is_none())
                };
                if !by_name && !by_glob() {
                    return None;
                }
                (&here.path, names)
            }
        };
        Some([base, rest].concat())
    }

    /// Replaces the first re-export on a path.
    fn follow(&self, path: &[String], depth: usize) -> Option<NamePath> {
        let mut module = 0;
        for (index, name) in path.iter().enumerate() {
            let here = &self.modules[module];
            if let Some(child) = here.children.get(name) {
                module = *child;
                continue;
            }
            let target = match here.imports.get(name) {
                Some(names) => self.resolve(module, names)?,
                None => self.by_glob(module, name, depth)?,
            };
            return Some([target.as_slice(), &path[index + 1..]].concat());
        }
        None
    }

    /// Returns the path of a name that the globs of a module bring in.
    fn by_glob(&self, module: usize, name: &str, depth: usize) -> Option<NamePath> {
        if depth > 8 || self.modules[module].defined.contains(name) {
            return None;
        }
        self.modules[module].globs.iter().find_map(|glob| {
            // Only globs of modules that are named from the root or from here: others lead to other crates or to enums.
            let is_near = matches!(glob[0].as_str(), "crate" | "self" | "super")
                || self.modules[module].children.contains_key(&glob[0]);
            let path = is_near.then(|| self.resolve(module, glob))??;
            let target = self.find(&path)?;
            let there = &self.modules[target];
            let is_there = there.children.contains_key(name)
                || there.imports.contains_key(name)
                || there.defined.contains(name);
            if is_there && target != module {
                return Some([path.as_slice(), &[name.to_owned()]].concat());
            }
            if target == module { None } else { self.by_glob(target, name, depth + 1) }
        })
    }
}

/// Returns the strongly connected modules of one level: those that reach each other.
fn cycles(parent: &[String], arrows: &Arrows) -> Vec<Cycle> {
    let mut next: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (from, to) in arrows.keys() {
        next.entry(from).or_default().insert(to);
    }
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        next.keys().map(|from| (*from, reach(&next, from))).collect();
    let mut parts: BTreeSet<Vec<&str>> = BTreeSet::new();
    for (module, ahead) in &reached {
        if ahead.contains(module) {
            let is_mutual = |other: &&&str| reached.get(**other).is_some_and(|back| back.contains(module));
            parts.insert(ahead.iter().filter(is_mutual).copied().collect());
        }
    }
    let name = [&["crate".to_owned()], parent].concat().join("::");
    let cycle = |part: &Vec<&str>| Cycle {
        parent: name.clone(),
        modules: part.iter().map(|module| (*module).to_owned()).collect(),
        arrows: arrows
            .iter()
            .filter(|((from, to), _)| part.contains(&from.as_str()) && part.contains(&to.as_str()))
            .map(|((from, to), sites)| Arrow { from: from.clone(), to: to.clone(), sites: sites.clone() })
            .collect(),
    };
    parts.iter().map(cycle).collect()
}

/// Returns the modules that one or more arrows lead to.
fn reach<'a>(next: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> = next.get(from).into_iter().flatten().copied().collect();
    while let Some(module) = open.pop() {
        if reached.insert(module) {
            open.extend(next.get(module).into_iter().flatten());
        }
    }
    reached
}

/// Reads modules into a tree.
struct TreeReader<'a> {
    repo: &'a Path,
    modules: Vec<Module>,
    sources: Vec<SourceFile>,
    /// Macros that are called by their name alone in other modules, with their home.
    textual: BTreeMap<String, usize>,
}

impl TreeReader<'_> {
    /// Adds a file to a module. `below` is the folder of the files of its child modules.
    fn file(&mut self, module: usize, path: &Path, below: &Path) -> Result<(), String> {
        let source = SourceFile::read(path)?;
        self.items(module, &source.syntax.items, path, below)?;
        self.sources.push(source);
        Ok(())
    }

    fn items(&mut self, module: usize, items: &[Item], file: &Path, below: &Path) -> Result<(), String> {
        let shown = file.strip_prefix(self.repo).unwrap_or(file);
        let mut references = References { file: shown, found: Vec::new() };
        for item in items {
            match item {
                Item::Mod(child) => self.child(module, child, file, below)?,
                Item::Use(import) if import.leading_colon.is_none() => {
                    let here = &mut self.modules[module];
                    for leaf in leaves(&import.tree) {
                        match leaf.name {
                            Some(name) => drop(here.imports.insert(name, leaf.path)),
                            None if leaf.is_glob => here.globs.push(leaf.path),
                            None => {}
                        }
                    }
                }
                Item::Macro(defined) => {
                    if let Some(name) = &defined.ident {
                        self.modules[module].defined.insert(name.to_string());
                        if has(&defined.attrs, "macro_export") {
                            self.textual.insert(name.to_string(), module);
                        }
                    }
                }
                _ => {
                    if let Some(name) = defined_name(item) {
                        self.modules[module].defined.insert(name);
                    }
                }
            }
            references.visit_item(item);
        }
        self.modules[module].references.extend(references.found);
        Ok(())
    }

    fn child(
        &mut self,
        parent: usize,
        child: &syn::ItemMod,
        file: &Path,
        below: &Path,
    ) -> Result<(), String> {
        let name = bare(&child.ident);
        // A module may be declared twice, for different targets.
        let known = self.modules[parent].children.get(&name).copied();
        let index = known.unwrap_or_else(|| {
            let path = [self.modules[parent].path.as_slice(), std::slice::from_ref(&name)].concat();
            self.modules.push(Module { path, ..Module::default() });
            self.modules.len() - 1
        });
        self.modules[parent].children.insert(name.clone(), index);
        let inside = below.join(&name);
        if let Some((_, items)) = &child.content {
            self.items(index, items, file, &inside)?;
        } else if let Some(named) = path_attribute(&child.attrs) {
            let path = file.parent().unwrap_or(Path::new("")).join(named);
            let folder = path.parent().unwrap_or(Path::new("")).to_owned();
            self.file(index, &path, &folder)?;
        } else {
            let alone = below.join(format!("{name}.rs"));
            let path = if alone.exists() { alone } else { inside.join("mod.rs") };
            self.file(index, &path, &inside)?;
        }
        if has(&child.attrs, "macro_use") {
            let macros = child_macros(&self.modules[index].defined, self.sources.last(), child);
            self.textual.extend(macros.into_iter().map(|name| (name, index)));
        }
        Ok(())
    }
}

/// Returns the names of the macros that a module defines.
fn child_macros(defined: &BTreeSet<String>, file: Option<&SourceFile>, module: &syn::ItemMod) -> Vec<String> {
    let inline = module.content.as_ref().map(|(_, items)| items.as_slice());
    let items = inline.or_else(|| file.map(|source| source.syntax.items.as_slice())).unwrap_or_default();
    let macros = items.iter().filter_map(|item| match item {
        Item::Macro(item) => item.ident.as_ref().map(ToString::to_string),
        _ => None,
    });
    macros.filter(|name| defined.contains(name)).collect()
}

fn has(attributes: &[syn::Attribute], name: &str) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident(name))
}

/// Returns the value of `#[path = "…"]`.
fn path_attribute(attributes: &[syn::Attribute]) -> Option<String> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("path")).find_map(|attribute| {
        let Meta::NameValue(pair) = &attribute.meta else { return None };
        let syn::Expr::Lit(value) = &pair.value else { return None };
        if let syn::Lit::Str(text) = &value.lit { Some(text.value()) } else { None }
    })
}

fn defined_name(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::TraitAlias(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(bare(name))
}

/// Returns an identifier without `r#`.
fn bare(name: &syn::Ident) -> String {
    let name = name.to_string();
    name.strip_prefix("r#").map_or(name.clone(), str::to_owned)
}

/// One imported path.
struct ImportedPath {
    path: NamePath,
    line: usize,
    /// The name it has here; nothing for a glob and for `_`.
    name: Option<String>,
    is_glob: bool,
}

/// Returns the paths of an import.
fn leaves(tree: &UseTree) -> Vec<ImportedPath> {
    fn collect(tree: &UseTree, before: &[String], leaves: &mut Vec<ImportedPath>) {
        let joined = |name: &syn::Ident| {
            let name = bare(name);
            if name == "self" && !before.is_empty() { before.to_vec() } else { [before, &[name]].concat() }
        };
        let line = |name: &syn::Ident| name.span().start().line;
        match tree {
            UseTree::Path(path) => collect(&path.tree, &joined(&path.ident), leaves),
            UseTree::Name(name) => {
                let path = joined(&name.ident);
                leaves.push(ImportedPath {
                    name: path.last().cloned(),
                    path,
                    line: line(&name.ident),
                    is_glob: false,
                });
            }
            UseTree::Rename(name) => {
                let new = bare(&name.rename);
                let new = (new != "_").then_some(new);
                leaves.push(ImportedPath {
                    path: joined(&name.ident),
                    line: line(&name.ident),
                    name: new,
                    is_glob: false,
                });
            }
            UseTree::Glob(glob) => {
                let line = glob.star_token.spans[0].start().line;
                leaves.push(ImportedPath { path: before.to_vec(), line, name: None, is_glob: true });
            }
            UseTree::Group(group) => group.items.iter().for_each(|tree| collect(tree, before, leaves)),
        }
    }
    let mut found = Vec::new();
    collect(tree, &[], &mut found);
    found.retain(|leaf| !leaf.path.is_empty());
    found
}

/// Collects the paths in an item, without those of the modules inside.
struct References<'a> {
    file: &'a Path,
    found: Vec<(NamePath, FileLine)>,
}

impl References<'_> {
    fn add(&mut self, names: NamePath, line: usize) {
        self.found.push((names, FileLine { file: self.file.to_owned(), line }));
    }

    /// Adds the paths in the tokens of a macro or an attribute.
    fn scan(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let is_colon =
            |index: usize| matches!(tokens.get(index), Some(TokenTree::Punct(mark)) if mark.as_char() == ':');
        let mut index = 0;
        while index < tokens.len() {
            match &tokens[index] {
                TokenTree::Group(group) => self.scan(group.stream()),
                TokenTree::Ident(first) => {
                    let line = first.span().start().line;
                    let is_foreign = index > 1 && is_colon(index - 1) && is_colon(index - 2);
                    let mut names = vec![bare(first)];
                    while is_colon(index + 1) && is_colon(index + 2) {
                        index += 2;
                        let Some(TokenTree::Ident(name)) = tokens.get(index + 1) else { break };
                        names.push(bare(name));
                        index += 1;
                    }
                    if names.len() > 1 && !is_foreign {
                        self.add(names, line);
                    }
                }
                _ => {}
            }
            index += 1;
        }
    }

    /// Adds the paths that string literals of an attribute name, as in `#[serde(with = "crate::time")]`.
    fn scan_strings(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.scan_strings(group.stream()),
                TokenTree::Literal(literal) => {
                    let line = literal.span().start().line;
                    if let Some(names) = path_in(literal.to_string().trim_matches('"')) {
                        self.add(names, line);
                    }
                }
                _ => {}
            }
        }
    }
}

/// Returns the names of a path in a string, if it is one.
fn path_in(text: &str) -> Option<NamePath> {
    let names: NamePath = text.split("::").map(str::to_owned).collect();
    let is_name = |name: &String| {
        !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
    };
    (names.len() > 1 && names.iter().all(is_name)).then_some(names)
}

impl<'ast> Visit<'ast> for References<'_> {
    fn visit_item_mod(&mut self, _: &'ast syn::ItemMod) {}

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_item_use(&mut self, import: &'ast syn::ItemUse) {
        if import.leading_colon.is_none() {
            for leaf in leaves(&import.tree) {
                self.add(leaf.path, leaf.line);
            }
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if let (None, Some(first)) = (&path.leading_colon, path.segments.first()) {
            let line = first.ident.span().start().line;
            self.add(path.segments.iter().map(|segment| bare(&segment.ident)).collect(), line);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        if let Some(name) = call.path.get_ident() {
            self.add(vec![format!("{name}!")], name.span().start().line);
        }
        self.visit_path(&call.path);
        self.scan(call.tokens.clone());
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if let Meta::List(list) = &attribute.meta {
            self.scan(list.tokens.clone());
            self.scan_strings(list.tokens.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Returns the arrows of a crate with these files, as `from -> to file:line`, a line for each site.
    fn arrows(files: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let modules = Modules::read(folder.path(), &folder.path().join("lib.rs")).unwrap();
        let show = |(parent, arrows): (NamePath, Arrows)| {
            let rows = arrows.into_iter().flat_map(move |((from, to), sites)| {
                let prefix = parent.iter().flat_map(|name| [name, "::"]).collect::<String>();
                sites.into_iter().map(move |site| format!("{prefix}{from} -> {to} {site}"))
            });
            rows.collect::<Vec<String>>()
        };
        modules.arrows().into_iter().flat_map(show).collect()
    }

    const ROOT: &str = "mod a; mod b; pub use b::B;";
    const B: &str = "pub struct B; pub fn f() {} pub mod deep { pub fn g() {} }";

    /// Returns the arrows that the text of module `a` draws.
    fn arrows_of(a: &str) -> Vec<String> {
        arrows(&[("lib.rs", ROOT), ("a.rs", a), ("b.rs", B)])
    }

    #[test]
    fn an_import_is_an_arrow() {
        assert_eq!(arrows_of("use crate::b::B;"), ["a -> b a.rs:1"]);
    }

    #[test]
    fn an_item_named_like_its_crate_is_not_an_arrow() {
        assert_eq!(arrows_of("use zip::zip;\n\nfn h() {\n    zip::zip();\n    zip!();\n}").len(), 0);
    }

    #[test]
    fn a_group_of_imports_has_the_line_of_each_name() {
        assert_eq!(arrows_of("use crate::{\n    a,\n    b::{self, B},\n};"), ["a -> b a.rs:3"]);
    }

    #[test]
    fn a_path_in_a_type_or_an_expression_is_an_arrow() {
        let a = "fn h(b: crate::b::B) {\n    crate::b::f();\n}";
        assert_eq!(arrows_of(a), ["a -> b a.rs:1", "a -> b a.rs:2"]);
    }

    #[test]
    fn a_path_in_a_macro_or_an_attribute_is_an_arrow() {
        let a = "fn h() {\n    assert!(crate::b::f() == ());\n}\n#[serde(with = \"crate::b\")]\nstruct S;";
        assert_eq!(arrows_of(a), ["a -> b a.rs:2", "a -> b a.rs:4"]);
    }

    #[test]
    fn super_reaches_the_root_from_an_inner_module() {
        assert_eq!(arrows_of("mod inner {\n    use super::super::b::B;\n}"), ["a -> b a.rs:2"]);
    }

    #[test]
    fn a_name_that_the_root_re_exports_leads_to_its_module() {
        assert_eq!(arrows_of("use crate::B;"), ["a -> b a.rs:1"]);
    }

    #[test]
    fn a_name_that_the_root_re_exports_with_a_glob_leads_to_its_module() {
        let files =
            [("lib.rs", "mod a; mod b; pub use b::*;"), ("a.rs", "fn h() { crate::f() }"), ("b.rs", B)];
        assert_eq!(arrows(&files), ["a -> b a.rs:1"]);
    }

    #[test]
    fn a_module_that_the_root_renames_is_found() {
        let files = [
            ("lib.rs", "mod a; mod b; use b::deep as other;"),
            ("a.rs", "use crate::other::g;"),
            ("b.rs", B),
        ];
        assert_eq!(arrows(&files), ["a -> b a.rs:1"]);
    }

    #[test]
    fn a_glob_of_the_root_leads_to_the_modules_that_it_names() {
        assert_eq!(arrows_of("use super::*;\nfn h() {\n    b::f()\n}"), ["a -> b a.rs:3"]);
    }

    #[test]
    fn a_re_export_of_the_module_itself_hides_where_the_name_is_from() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::b::C;"),
            ("b.rs", "pub use crate::c::C;"),
            ("c.rs", "pub struct C;"),
        ];
        assert_eq!(arrows(&files), ["a -> b a.rs:1", "b -> c b.rs:1"]);
    }

    #[test]
    fn code_for_tests_draws_no_arrow() {
        let a = "#[cfg(test)] use crate::b::B; #[cfg(test)] mod tests { use crate::b::f; } #[test] fn t() { crate::b::f() }
            impl S { #[cfg(all(test, unix))] fn h() { crate::b::f() } }";
        assert_eq!(arrows_of(a), [""; 0]);
    }

    #[test]
    fn other_crates_and_doc_comments_draw_no_arrow() {
        assert_eq!(
            arrows_of("//! [`crate::b::B`]\nuse ::b::B; use std::b::f; fn h() { let b = 1; b; }"),
            [""; 0]
        );
    }

    #[test]
    fn exported_macros_lead_to_the_module_that_defines_them() {
        let files = [
            ("lib.rs", "mod a; #[macro_use] mod b; mod c;"),
            ("a.rs", "fn h() { here!() }"),
            ("b.rs", "macro_rules! here { () => {} }"),
            (
                "c.rs",
                "fn h() { crate::out!() } mod d { #[macro_export] macro_rules! out { () => { $crate::a::h() } } }",
            ),
        ];
        assert_eq!(arrows(&files), ["a -> b a.rs:1", "c -> a c.rs:1"]);
    }

    #[test]
    fn arrows_between_inner_modules_are_found_in_files_of_folders() {
        let files = [
            ("lib.rs", "mod a;"),
            ("a/mod.rs", "mod x; mod y; pub use y::Y;"),
            ("a/x.rs", "use super::Y;"),
            ("a/y.rs", "pub struct Y; use crate::a::x;"),
        ];
        assert_eq!(arrows(&files), ["a::x -> y a/x.rs:1", "a::y -> x a/y.rs:1"]);
    }
}
