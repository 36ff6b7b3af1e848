//! The table of crates in `ARCHITECTURE.md` matches the manifests, its walks name files that exist, manifests agree, and the modules
//! below any module depend on each other one way.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use xtask::modules::Modules;
use xtask::package::Package;

/// Cycles that are still to be cut: the crate, and the parent with its modules. Remove an entry with its cycle.
///
/// The layers that kernels work on hold weights packed for a precision, and the precision (`Scalar`) is a list of kernels on layers.
const KNOWN_CYCLES: &[(&str, &str)] = &[("engine", "crate::kernel: dense reference scalar simd sparse")];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Folders of the table, each with what it may use.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let rows = page.lines().skip_while(|line| !line.starts_with("| folder")).skip(2);
    rows.take_while(|line| line.starts_with('|'))
        .map(|line| {
            let columns: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let uses = columns[3].split(", ").filter(|name| *name != "–").map(str::to_owned);
            (columns[0].trim_matches('`').to_owned(), uses.collect())
        })
        .collect()
}

/// Crates of the workspace that a manifest's `[dependencies]` name.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let section = manifest.lines().skip_while(|line| *line != "[dependencies]").skip(1);
    section
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.strip_prefix("knockout-")?.split(['.', ' ', '=']).next())
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_table_of_crates_is_what_the_manifests_say() {
    let documented = documented();
    let mut folders = BTreeSet::from(["../python".to_owned()]);
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let uses = dependencies(&fs::read_to_string(folder.join("Cargo.toml")).unwrap());
        let row = documented.get(&name).unwrap_or_else(|| panic!("crates/{name} has no row"));
        if !row.contains("all") {
            assert_eq!(*row, uses, "crates/{name}: what the table says, and what the manifest says");
        }
        folders.insert(name);
    }
    assert_eq!(documented.into_keys().collect::<BTreeSet<_>>(), folders);
}

#[test]
fn every_file_that_the_page_names_exists() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let named =
        page.split('`').skip(1).step_by(2).filter(|code| code.contains("/src/") || code.contains("/tests/"));
    let homes = [root(), root().join("crates")];
    let missing: Vec<&str> =
        named.filter(|path| homes.iter().all(|home| !home.join(path).exists())).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md names {missing:?}");
}

/// Packages with their features, as `cargo tree` lists them.
fn features(arguments: &[&str]) -> BTreeSet<String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut command = std::process::Command::new(cargo);
    command.args(["tree", "--offline", "--locked", "--prefix", "none", "--format", "{p} [{f}]"]);
    let output = command.args(arguments).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.replace(" (*)", "")).collect()
}

/// Otherwise a wheel compiles again what `cargo test --workspace` has compiled: one crate with other features, and all that depend on it.
#[test]
fn the_python_package_has_the_features_of_the_workspace() {
    let all = features(&["--workspace", "--edges", "normal,build,dev"]);
    let wheel = features(&["--package", "knockout-python", "--edges", "normal,build"]);
    let other: Vec<&String> = wheel.difference(&all).collect();
    assert!(other.is_empty(), "features that no build of the workspace has: {other:#?}");
}

/// Cycles among the modules of packages, at every level: the crate, and the parent with its modules, with a description.
fn cycles(repo: &Path, packages: &[Package]) -> BTreeMap<(String, String), String> {
    let mut found = BTreeMap::new();
    for package in packages {
        for root in &package.roots {
            for cycle in Modules::read(repo, root).unwrap().cycles() {
                let label = package.label(root);
                let text = format!("{label}: {cycle}");
                found.insert((label, format!("{}: {}", cycle.parent, cycle.modules.join(" "))), text);
            }
        }
    }
    found
}

#[test]
fn no_module_has_a_cycle_among_its_children() {
    let repo = root();
    let mut packages = Package::read_all(&repo.join("crates")).unwrap();
    packages.push(Package::read(&repo.join("python")).unwrap());
    let mut found = cycles(&repo, &packages);
    let is_gone = |known: &&(&str, &str)| found.remove(&(known.0.to_owned(), known.1.to_owned())).is_none();
    let gone: Vec<_> = KNOWN_CYCLES.iter().filter(is_gone).collect();
    let new: Vec<String> = found.into_values().collect();
    assert!(new.is_empty(), "{} cycles that KNOWN_CYCLES does not list:\n{}", new.len(), new.join("\n"));
    assert!(gone.is_empty(), "remove from KNOWN_CYCLES: {gone:#?}");
}

/// Returns the cycles of a crate `planted` with a root file and modules `a` and `b`.
fn cycles_of_planted(lib: &str, a: &str, b: &str) -> Vec<String> {
    let repo = tempfile::tempdir().unwrap();
    let folder = repo.path().join("planted");
    fs::create_dir_all(folder.join("src")).unwrap();
    fs::write(folder.join("Cargo.toml"), "[package]\nname = \"planted\"\n").unwrap();
    for (name, text) in [("lib", lib), ("a", a), ("b", b)] {
        fs::write(folder.join(format!("src/{name}.rs")), text).unwrap();
    }
    cycles(repo.path(), &Package::read_all(repo.path()).unwrap()).into_values().collect()
}

#[test]
fn a_planted_cycle_is_found_with_a_line_for_each_arrow() {
    let a = "use crate::b::B;\n\npub struct A(B);\n";
    let b = "pub struct B;\n\npub fn wrapped() -> crate::A {\n    crate::A::default()\n}\n";
    let expected = "planted: cycle in crate: a, b
  a -> b  planted/src/a.rs:1 and 1 more
  b -> a  planted/src/b.rs:3 and 1 more";
    assert_eq!(cycles_of_planted("mod a;\nmod b;\n\npub use a::A;\n", a, b), [expected]);
}

#[test]
fn a_planted_cycle_below_a_module_is_found() {
    let a = "mod x { pub struct X(super::y::Y); }\nmod y { pub struct Y; pub fn of(_: super::x::X) {} }\n";
    let expected = "planted: cycle in crate::a: x, y
  x -> y  planted/src/a.rs:1
  y -> x  planted/src/a.rs:2";
    assert_eq!(cycles_of_planted("mod a;\nmod b;\n", a, ""), [expected]);
}

#[test]
fn modules_that_depend_one_way_are_not_a_cycle() {
    let a = "use crate::b::B;\n\npub struct A(B);\n";
    let b = "pub struct B;\n\n#[cfg(test)]\nmod tests {\n    use crate::A;\n}\n";
    assert_eq!(cycles_of_planted("mod a;\nmod b;\n\npub use a::A;\npub use b::B;\n", a, b), [""; 0]);
}
