//! The table of crates in `ARCHITECTURE.md` says what the manifests say, its walks name files that there are, and manifests agree.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

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

/// Settings of a manifest's profiles: `[profile.release.package.rayon] opt-level = 3`.
fn profiles(manifest: &str) -> BTreeSet<String> {
    let mut section = "";
    let lines = fs::read_to_string(root().join(manifest)).unwrap();
    lines
        .lines()
        .filter_map(|line| {
            if line.starts_with('[') {
                section = line;
            }
            let is_setting =
                section.starts_with("[profile.") && line.contains(" = ") && !line.starts_with('#');
            is_setting.then(|| format!("{section} {line}"))
        })
        .collect()
}

/// Otherwise nothing that one of them compiled is used again by the other, and wheels are slower than the program.
#[test]
fn the_python_package_is_compiled_as_the_program_is() {
    let (program, package) = (profiles("Cargo.toml"), profiles("python/Cargo.toml"));
    let other: Vec<&String> = package.difference(&program).collect();
    assert!(other.is_empty(), "not in the workspace's manifest: {other:#?}");
    let is_of_release = |setting: &&String| setting.starts_with("[profile.release");
    let missing: Vec<&String> = program.difference(&package).filter(is_of_release).collect();
    assert!(missing.is_empty(), "not in python/Cargo.toml: {missing:#?}");
}
