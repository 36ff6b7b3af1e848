//! Finds the targets of a package from its manifest and its folders, as Cargo does.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// A package of the workspace.
pub struct Package {
    /// The folder of the manifest.
    pub folder: PathBuf,
    /// The name of that folder.
    pub name: String,
    /// The root files of the library and of the programs, the library first.
    pub roots: Vec<PathBuf>,
    /// The root files of the integration tests.
    pub tests: BTreeSet<PathBuf>,
}

impl Package {
    /// Reads the manifest in `folder`.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let path = folder.join("Cargo.toml");
        let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = fs::read_to_string(&path).map_err(|error| wrong(&error))?;
        let manifest: Table = text.parse().map_err(|error| wrong(&error))?;
        let library = manifest.get("lib").and_then(|library| library.get("path")).and_then(Value::as_str);
        let mut roots = vec![folder.join(library.unwrap_or("src/lib.rs"))];
        let mut programs = targets(folder, &manifest, "bin", "src/bin")?;
        programs.insert(folder.join("src/main.rs"));
        roots.extend(programs);
        roots.retain(|root| root.exists());
        let tests = targets(folder, &manifest, "test", "tests")?;
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Self { folder: folder.to_owned(), name, roots, tests })
    }

    /// Reads every package directly inside of `folder`, in alphabetical order.
    pub fn read_all(folder: &Path) -> Result<Vec<Self>, String> {
        entries(folder)?
            .iter()
            .filter(|path| path.join("Cargo.toml").exists())
            .map(|path| Self::read(path))
            .collect()
    }

    /// Names a root file: the package, and the file if the package has several.
    pub fn label(&self, root: &Path) -> String {
        match root.strip_prefix(&self.folder) {
            Ok(file) if self.roots.first().is_some_and(|first| first != root) => {
                format!("{} ({})", self.name, file.display())
            }
            _ => self.name.clone(),
        }
    }
}

/// Returns the root files of the targets of one kind: those in the manifest and those that Cargo discovers.
fn targets(folder: &Path, manifest: &Table, kind: &str, home: &str) -> Result<BTreeSet<PathBuf>, String> {
    let sections = manifest.get(kind).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut found = BTreeSet::new();
    for section in sections {
        let text = |key| section.get(key).and_then(Value::as_str);
        if let Some(path) = text("path") {
            found.insert(folder.join(path));
        } else if let Some(name) = text("name") {
            let alone = folder.join(home).join(format!("{name}.rs"));
            let main = folder.join(home).join(name).join("main.rs");
            found.insert(if main.exists() { main } else { alone });
        }
    }
    let switch = manifest.get("package").and_then(|package| package.get(format!("auto{kind}s")));
    if switch.and_then(Value::as_bool) != Some(false) && folder.join(home).is_dir() {
        for path in entries(&folder.join(home))? {
            let main = path.join("main.rs");
            if path.extension().is_some_and(|extension| extension == "rs") {
                found.insert(path);
            } else if main.exists() {
                found.insert(main);
            }
        }
    }
    Ok(found)
}

/// Returns the paths in a folder, in alphabetical order.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let wrong = |error: std::io::Error| format!("{}: {error}", folder.display());
    let paths: Result<Vec<PathBuf>, _> =
        fs::read_dir(folder).map_err(wrong)?.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.map_err(wrong)?;
    paths.sort();
    Ok(paths)
}
