//! Composition as in Hydra: the files of a `defaults` list are merged, and interpolations are replaced by values.

use super::document::{Node, Place, Section, Value, read};
use knockout_base::error::{Error, Result};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Files that a configuration includes, one from the other, at most.
const MOST_NESTED: usize = 12;
/// Files that a configuration reads at most, each as often as it is included.
const MOST_FILES: usize = 256;
/// Interpolations that lead from one to the next at most; more are a circle.
const MOST_STEPS: usize = 16;
/// Values that interpolations make at most.
const MOST_VALUES: usize = 100_000;
/// Bytes of keys and texts that interpolations copy at most.
const MOST_TEXT: usize = 16 << 20;
/// The section of Hydra itself, which the Python program never sees.
const HYDRA: &str = "hydra";

/// A configuration in one piece.
pub(super) struct Composed {
    pub(super) root: Node,
    /// Dotted keys that interpolations read.
    pub(super) read_by_others: BTreeSet<String>,
}

/// Composes a file with its defaults and resolves interpolations.
pub(super) fn compose(path: &Path) -> Result<Composed> {
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let (node, _) = Composer { root: folder.clone(), open: Vec::new(), files: 0 }.file(path, &folder)?;
    let mut resolver = Resolver { root: &node, read: BTreeSet::new(), values: 0, bytes: 0 };
    let root = resolver.node(&node, &mut Vec::new(), 0)?;
    Ok(Composed { read_by_others: resolver.read, root })
}

struct Composer {
    /// Folder of the first file: groups are folders in it.
    root: PathBuf,
    /// The files that include each other.
    open: Vec<PathBuf>,
    /// Files read so far.
    files: usize,
}

/// An entry of a `defaults` list.
enum Included {
    Itself,
    Nothing,
    File { name: String, group: String, is_optional: bool },
}

impl Composer {
    /// Reads a file with its defaults; returns also the package that its first comments name.
    fn file(&mut self, path: &Path, folder: &Path) -> Result<(Node, Option<String>)> {
        if self.open.iter().any(|open| open == path) || self.open.len() >= MOST_NESTED {
            let message = "this configuration includes itself, or more files than can be followed";
            return Err(Error::request(message).in_file(path));
        }
        self.files += 1;
        if self.files > MOST_FILES {
            let message = format!("this configuration includes more than {MOST_FILES} files");
            return Err(Error::request(message).in_file(path));
        }
        let (text, mut node) = read(path)?;
        let package = package_of(&text);
        let Value::Section(section) = &mut node.value else {
            return Err(node.place.refuse("a configuration is a section of keys"));
        };
        let Some(defaults) = section.remove("defaults") else { return Ok((node, package)) };
        let Value::List(entries) = &defaults.value else {
            return Err(defaults.place.refuse("defaults is a list of files"));
        };
        self.open.push(path.to_owned());
        let mut out = Node { place: node.place.clone(), value: Value::Section(Section::new()) };
        let (mut own, mut includes) = (Some(node), false);
        for entry in entries {
            match included(entry)? {
                Included::Nothing => {}
                Included::Itself => {
                    let own = own.take();
                    let own = own.ok_or_else(|| entry.place.refuse("_self_ stands twice in this list"))?;
                    merge(&mut out, own);
                }
                Included::File { name, group, is_optional } => {
                    includes = true;
                    let other = self.included(&name, &group, folder, entry)?;
                    match other {
                        Some(other) => merge(&mut out, other),
                        None if is_optional => {}
                        None => return Err(absent(&name, &group, entry)),
                    }
                }
            }
        }
        self.open.pop();
        if let Some(own) = own {
            let is_empty = matches!(&own.value, Value::Section(section) if section.is_empty());
            if includes && !is_empty {
                return Err(defaults.place.refuse(
                    "this list has no _self_, and versions of Hydra differ in whether this file or its defaults win: add `- _self_` at its end \
                     if this file wins, at its start otherwise",
                ));
            }
            merge(&mut out, own);
        }
        Ok((out, package))
    }

    /// Reads an included file; `None` if there is none.
    fn included(&mut self, name: &str, group: &str, folder: &Path, entry: &Node) -> Result<Option<Node>> {
        let from_root = name.starts_with('/') || group.starts_with('/');
        let base = if from_root { self.root.clone() } else { folder.to_owned() };
        let (name, group) = (name.trim_start_matches('/'), group.trim_start_matches('/'));
        let is_plain = |part: &str| !part.is_empty() && part != ".." && !part.contains('\\');
        if ![name, group].iter().all(|path| path.is_empty() || path.split('/').all(is_plain)) {
            return Err(entry.place.refuse(format!("{name:?} is not a file below this one")));
        }
        let file = format!("{}.yaml", name.strip_suffix(".yaml").unwrap_or(name));
        let path = base.join(group).join(file);
        if !path.exists() {
            return Ok(None);
        }
        let folder = path.parent().unwrap_or(&base).to_owned();
        let (node, package) = self.file(&path, &folder)?;
        let package = match package.as_deref() {
            None | Some("_group_") => group,
            Some("_global_") => "",
            Some(other) => {
                return Err(entry.place.refuse(format!(
                    "{} has the package {other:?}, which is not supported here: use _group_ or _global_",
                    path.display()
                )));
            }
        };
        Ok(Some(package.split('/').rev().filter(|part| !part.is_empty()).fold(node, |inner, part| {
            let place = inner.place.clone();
            Node { place, value: Value::Section(Section::from([(part.to_owned(), inner)])) }
        })))
    }
}

fn absent(name: &str, group: &str, entry: &Node) -> Error {
    let file = [group, name].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
    let file = file.trim_end_matches(".yaml");
    entry.place.refuse(format!(
        "the file {file}.yaml of this list is not there; copy it beside this one, or take the entry out of the list"
    ))
}

/// Returns the package that the first comments of a file name: the section that it is put into.
fn package_of(text: &str) -> Option<String> {
    let comments = text.lines().map(str::trim).take_while(|line| line.is_empty() || line.starts_with('#'));
    let mut directives =
        comments.filter_map(|line| line.trim_start_matches('#').trim().strip_prefix("@package"));
    directives.next().map(|package| package.trim().to_owned())
}

fn included(entry: &Node) -> Result<Included> {
    let refuse = || {
        entry.place.refuse(format!("an entry of defaults is a file or group: file, not {}", entry.shown()))
    };
    let file = |name: &str, group: &str, is_optional| Included::File {
        name: name.to_owned(),
        group: group.to_owned(),
        is_optional,
    };
    let out = match &entry.value {
        Value::Text(name) if name == "_self_" => Included::Itself,
        Value::Text(name) => file(name, "", false),
        Value::Section(section) if section.len() == 1 => {
            let (group, option) = section.iter().next().ok_or_else(refuse)?;
            let is_override = group.starts_with("override ");
            let is_optional = group.starts_with("optional ");
            let group = group.trim_start_matches("override ").trim_start_matches("optional ").trim();
            match &option.value {
                // How Hydra itself logs, launches and sweeps.
                _ if group.split('/').next() == Some(HYDRA) => Included::Nothing,
                _ if is_override => {
                    return Err(entry.place.refuse("override of a group is not supported here: name the file in the list that has the group"));
                }
                Value::Null => Included::Nothing,
                Value::Text(name) => file(name, group, is_optional),
                Value::Integer(name) => file(&name.to_string(), group, is_optional),
                _ => return Err(refuse()),
            }
        }
        _ => return Err(refuse()),
    };
    if let Included::File { name, group, .. } = &out
        && (name.contains('@') || group.contains('@') || name.contains("${"))
    {
        return Err(entry.place.refuse(format!(
            "{:?} names a package or an interpolation, which a defaults list cannot have here",
            if name.contains('@') || name.contains("${") { name } else { group }
        )));
    }
    Ok(out)
}

/// Lays one configuration over another: sections key by key, everything else whole.
fn merge(under: &mut Node, over: Node) {
    match (&mut under.value, over.value) {
        (Value::Section(below), Value::Section(above)) => {
            for (key, node) in above {
                match below.get_mut(&key) {
                    Some(old) => merge(old, node),
                    None => {
                        below.insert(key, node);
                    }
                }
            }
        }
        (value, above) => {
            *value = above;
            under.place = over.place;
        }
    }
}

struct Resolver<'a> {
    root: &'a Node,
    read: BTreeSet<String>,
    values: usize,
    /// Bytes of keys and texts copied so far.
    bytes: usize,
}

impl Resolver<'_> {
    /// Returns a copy with every interpolation replaced; `at` is the key of the value.
    fn node(&mut self, node: &Node, at: &mut Vec<String>, steps: usize) -> Result<Node> {
        self.values += 1;
        self.bytes += match &node.value {
            Value::Text(text) => text.len(),
            Value::Section(section) => section.keys().map(String::len).sum(),
            _ => 0,
        };
        if self.values > MOST_VALUES || self.bytes > MOST_TEXT {
            return Err(node
                .place
                .refuse("the interpolations of this configuration make too many or too long values"));
        }
        let value = match &node.value {
            Value::Text(text) if text.contains("${") => return self.text(text, &node.place, at, steps),
            Value::Text(text) if text == "???" => {
                return Err(node.place.refuse(format!("{} has no value (???): give it one", at.join("."))));
            }
            Value::List(list) => {
                let mut out = Vec::with_capacity(list.len());
                for (index, entry) in list.iter().enumerate() {
                    at.push(index.to_string());
                    out.push(self.node(entry, at, steps)?);
                    at.pop();
                }
                Value::List(out)
            }
            Value::Section(section) => {
                let mut out = Section::new();
                for (key, entry) in section {
                    if at.is_empty() && key == HYDRA {
                        out.insert(key.clone(), entry.clone());
                        continue;
                    }
                    at.push(key.clone());
                    out.insert(key.clone(), self.node(entry, at, steps)?);
                    at.pop();
                }
                Value::Section(out)
            }
            plain => plain.clone(),
        };
        Ok(Node { place: node.place.clone(), value })
    }

    fn text(&mut self, text: &str, place: &Place, at: &[String], steps: usize) -> Result<Node> {
        let (mut out, mut rest) = (String::new(), text);
        while let Some(start) = rest.find("${") {
            let inner = &rest[start + 2..];
            let end = inner
                .find('}')
                .ok_or_else(|| place.refuse(format!("the interpolation {text:?} has no end")))?;
            let key = inner[..end].trim();
            let found = self.value_of(key, place, at, steps)?;
            if start == 0 && end + 1 == inner.len() && out.is_empty() {
                return Ok(Node { place: place.clone(), value: found.value });
            }
            let shown = found.text();
            let shown = shown.ok_or_else(|| {
                place.refuse(format!("{key} is a section or a list, and cannot stand inside of a text"))
            })?;
            out.push_str(&rest[..start]);
            out.push_str(&shown);
            rest = &inner[end + 1..];
        }
        out.push_str(rest);
        Ok(Node { place: place.clone(), value: Value::Text(out) })
    }

    fn value_of(&mut self, key: &str, place: &Place, at: &[String], steps: usize) -> Result<Node> {
        if key.contains(':') {
            return Err(place.refuse(format!(
                "the resolver ${{{key}}} is not supported: its value depends on where it is read; write the value itself"
            )));
        }
        if key.contains("${") {
            return Err(
                place.refuse("an interpolation inside of another is not supported; write the value itself")
            );
        }
        if steps >= MOST_STEPS {
            return Err(place.refuse(format!("the interpolation ${{{key}}} leads in a circle")));
        }
        let dots = key.chars().take_while(|&letter| letter == '.').count();
        let above =
            if dots == 0 { &[][..] } else { at.get(..at.len().saturating_sub(dots)).unwrap_or_default() };
        let mut full: Vec<String> = above.to_vec();
        full.extend(key[dots..].split('.').filter(|part| !part.is_empty()).map(str::to_owned));
        let name = full.join(".");
        let root = self.root;
        let found = root.get(&name).filter(|_| !full.is_empty());
        let found = found.ok_or_else(|| {
            place.refuse(format!("the interpolation ${{{key}}} names no key of this configuration"))
        })?;
        self.read.insert(name);
        self.node(found, &mut full, steps + 1)
    }
}
