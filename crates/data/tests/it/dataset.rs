//! The dataset directory: what is written comes back; what is damaged is refused by name; nothing is half there.

use crate::support;
use knockout_base::error::{Class, chain};
use knockout_data::screen::{Dataset, Manifest, verify};
use std::fs;
use std::path::{Path, PathBuf};

fn written() -> (tempfile::TempDir, PathBuf, Dataset) {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("set");
    let mut dataset = support::dataset();
    dataset.write(&dir, &|_| {}).unwrap();
    (folder, dir, dataset)
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

#[test]
fn files_are_read_as_written() {
    let (_folder, dir, dataset) = written();
    let opened = Dataset::open(&dir).unwrap();
    assert_eq!(opened.manifest, dataset.manifest);
    assert_eq!(opened.samples, dataset.samples);
    assert_eq!(opened.cell.genes().genes(), dataset.cell.genes().genes());
    assert_eq!(opened.cell.networks(), dataset.cell.networks());
    assert_eq!(opened.cell.metabolism(), dataset.cell.metabolism());
    assert_eq!(opened.cell.hash(), dataset.cell.hash());
    assert!(verify(&dir).unwrap().is_empty());
}

#[test]
fn features_are_read_as_written_and_hashed() {
    use knockout_data::cell::Features;
    let (_plain, plain, mut dataset) = written();
    assert!(!plain.join("features.parquet").exists());
    let genes = dataset.cell.genes().len();
    let names = vec!["fitness".to_owned(), "esm 0".to_owned()];
    let values = (0..2 * genes).map(|at| if at == 3 { f32::NAN } else { at as f32 / 7.0 }).collect();
    let features = Features::new(genes, names, values).unwrap();
    let cell = (*dataset.cell).clone().with_features(Some(features.clone())).unwrap();
    dataset.cell = std::sync::Arc::new(cell);
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("set");
    dataset.write(&dir, &|_| {}).unwrap();
    let opened = Dataset::open(&dir).unwrap();
    assert_eq!(opened.cell.features(), Some(&features));
    assert!(verify(&dir).unwrap().is_empty());
    let hash = |dir: &Path| Manifest::open(dir).unwrap().data_hash();
    assert_ne!(hash(&dir), hash(&plain));
    // What masks are stored for is the same cell.
    assert_eq!(opened.cell.hash(), Dataset::open(&plain).unwrap().cell.hash());
    let path = dir.join("features.parquet");
    let mut bytes = fs::read(&path).unwrap();
    bytes[40] ^= 1;
    fs::write(&path, bytes).unwrap();
    assert_eq!(verify(&dir).unwrap().len(), 1);
    fs::remove_file(&path).unwrap();
    assert!(Dataset::open(&dir).unwrap_err().message().contains("is missing; restore it"));
}

#[test]
fn a_feature_cannot_have_the_name_of_the_column_of_genes() {
    let mut dataset = support::dataset();
    let genes = dataset.cell.genes().len();
    let features =
        knockout_data::cell::Features::new(genes, vec!["systematic".to_owned()], vec![0.0; genes]).unwrap();
    dataset.cell = std::sync::Arc::new((*dataset.cell).clone().with_features(Some(features)).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let error = dataset.write(&folder.path().join("set"), &|_| {}).unwrap_err();
    assert_eq!(error.class(), Class::Request, "{}", chain(&error));
}

/// The test dataset with two sets of annotations.
fn annotated(dir: &Path) -> Dataset {
    use knockout_data::cell::Annotations;
    let mut dataset = support::dataset();
    let genes = dataset.cell.genes().len();
    let terms = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let go = terms(&["GO:0006281", "GO:0000001, \"ε\""]);
    let sets = vec![
        Annotations::new("go", genes, go, vec![(0, 0), (0, 1), (5, 1), (2, 1)]).unwrap(),
        Annotations::new("complexes-2", genes, terms(&["x"]), vec![(1, 0), (7, 0)]).unwrap(),
    ];
    dataset.cell = std::sync::Arc::new((*dataset.cell).clone().with_annotations(sets).unwrap());
    dataset.write(dir, &|_| {}).unwrap();
    dataset
}

#[test]
fn annotations_are_read_as_written_and_hashed() {
    let (_plain, plain, _) = written();
    assert!(!plain.join("annotations").exists());
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("set");
    let dataset = annotated(&dir);
    let opened = Dataset::open(&dir).unwrap();
    assert_eq!(opened.cell.annotations(), dataset.cell.annotations());
    assert_eq!(opened.cell.annotations().len(), 2);
    assert!(verify(&dir).unwrap().is_empty());
    let (with, without) = (Manifest::open(&dir).unwrap(), Manifest::open(&plain).unwrap());
    assert_ne!(with.data_hash(), without.data_hash());
    // All other files are what they were.
    let others = with.checksums.iter().filter(|(path, _)| !path.starts_with("annotations/"));
    assert!(others.eq(without.checksums.iter()));
    assert_eq!(opened.cell.hash(), Dataset::open(&plain).unwrap().cell.hash());
    let summary = knockout_data::screen::DatasetSummary::of(&opened, 0);
    let found: Vec<_> =
        summary.annotations.iter().map(|set| (&*set.name, set.terms, set.genes, set.pairs)).collect();
    assert_eq!(found, [("complexes-2", 1, 2, 2), ("go", 2, 3, 4)]);
}

#[test]
fn damaged_annotations_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("set");
    annotated(&dir);
    let path = dir.join("annotations/go.parquet");
    let whole = fs::read(&path).unwrap();
    for place in (0..whole.len()).step_by(7) {
        let mut damaged = whole.clone();
        damaged[place] ^= 1;
        fs::write(&path, damaged).unwrap();
        let error = Dataset::open(&dir).unwrap_err();
        assert_eq!((error.class(), error.path()), (Class::Damage, Some(path.as_path())), "{}", chain(&error));
    }
    assert_eq!(verify(&dir).unwrap().len(), 1);
    fs::write(dir.join("annotations/extra.parquet"), b"").unwrap();
    fs::remove_file(&path).unwrap();
    let texts: Vec<String> = verify(&dir).unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert_eq!(texts[1], "annotations/extra.parquet is not listed in dataset.toml");
    assert!(Dataset::open(&dir).unwrap_err().message().contains("is missing; restore it"));
}

#[test]
fn annotations_that_are_impossible_are_refused() {
    use knockout_data::table::Columns;
    let refused = |genes: &'static [u32], terms: &'static [&str]| {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("set");
        annotated(&dir);
        let table = Columns::new(genes.len()).u32s("gene", |row| genes[row]).texts("term", |row| terms[row]);
        let bytes = table.encode().unwrap();
        let old = Manifest::open(&dir).unwrap().checksums["annotations/go.parquet"].clone();
        fs::write(dir.join("annotations/go.parquet"), &bytes).unwrap();
        reseal(&dir, &old, &blake3::hash(&bytes).to_hex());
        let error = Dataset::open(&dir).unwrap_err();
        assert_eq!(error.class(), Class::Damage);
        chain(&error)
    };
    let ends = |text: String, with: &str| assert!(text.ends_with(with), "{text}");
    ends(refused(&[0, 99], &["a", "b"]), "names gene 99, but there are only 30");
    ends(refused(&[0, 0], &["a", "a"]), "1 rows repeat others; rebuild the dataset");
    ends(refused(&[0], &[""]), "a term of annotations \"go\", \"\", is empty or occurs twice");
    ends(refused(&[], &[]), "annotations \"go\" give no gene a term");
}

#[test]
fn a_description_cannot_name_annotations_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("set");
    annotated(&dir);
    reseal(&dir, "annotations/go.parquet", "annotations/a/go.parquet");
    let error = Dataset::open(&dir).unwrap_err();
    assert!(error.message().starts_with("the description names \"a/go\""), "{}", chain(&error));
}

/// Changes the description and its checksum with it.
fn reseal(dir: &Path, from: &str, to: &str) {
    let path = dir.join("dataset.toml");
    let text = fs::read_to_string(&path).unwrap().replace(from, to);
    let (body, _) = text.rsplit_once("# blake3").unwrap();
    let seal = blake3::hash(body.as_bytes()).to_hex();
    fs::write(&path, format!("{body}# blake3 of the lines above: {seal}\n")).unwrap();
}

#[test]
fn equal_datasets_are_equal_bytes() {
    let (_a, first, _) = written();
    let (_b, second, _) = written();
    for (one, two) in files(&first).iter().zip(files(&second)) {
        assert_eq!(fs::read(one).unwrap(), fs::read(&two).unwrap(), "{}", one.display());
    }
}

#[test]
fn a_flipped_byte_anywhere_is_noticed() {
    let (_folder, dir, _) = written();
    for path in files(&dir) {
        let whole = fs::read(&path).unwrap();
        // Every byte of the small files; a spread of the larger ones.
        for place in (0..whole.len()).step_by(whole.len() / 60 + 1) {
            let mut damaged = whole.clone();
            damaged[place] ^= 1;
            fs::write(&path, &damaged).unwrap();
            let error = Dataset::open(&dir).expect_err("damage must be noticed");
            assert_eq!(error.class(), Class::Damage, "{}", chain(&error));
        }
        fs::write(&path, &whole).unwrap();
    }
    Dataset::open(&dir).unwrap();
}

#[test]
fn a_truncated_file_is_noticed_and_named() {
    let (_folder, dir, _) = written();
    let path = dir.join("networks/physical.parquet");
    let whole = fs::read(&path).unwrap();
    for length in [0, 4, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole[..length]).unwrap();
        let error = Dataset::open(&dir).unwrap_err();
        assert_eq!(error.path(), Some(path.as_path()));
        assert!(error.message().contains("does not match its checksum"), "{}", chain(&error));
    }
}

#[test]
fn a_missing_file_is_named_with_the_next_step() {
    let (_folder, dir, _) = written();
    fs::remove_file(dir.join("samples.parquet")).unwrap();
    let error = Dataset::open(&dir).unwrap_err();
    let text = chain(&error);
    assert!(text.ends_with("the file is missing; restore it or rebuild the dataset"), "{text}");
    assert_eq!(error.path(), Some(dir.join("samples.parquet").as_path()));
}

#[test]
fn a_newer_format_is_refused_by_version() {
    let (_folder, dir, _) = written();
    let text = fs::read_to_string(dir.join("dataset.toml")).unwrap();
    fs::write(dir.join("dataset.toml"), text.replace("format = 1", "format = 3")).unwrap();
    let error = Dataset::open(&dir).unwrap_err();
    assert!(
        chain(&error).contains("format version 3 is newer than this program reads (2)"),
        "{}",
        chain(&error)
    );
}

#[test]
fn an_edited_description_is_refused() {
    let (_folder, dir, _) = written();
    let text = fs::read_to_string(dir.join("dataset.toml")).unwrap();
    fs::write(dir.join("dataset.toml"), text.replace("by hand", "by foot")).unwrap();
    assert!(Dataset::open(&dir).unwrap_err().message().contains("does not match its own checksum"));
}

#[test]
fn a_folder_that_is_no_dataset_is_the_request_s_fault() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(Dataset::open(folder.path()).unwrap_err().class(), Class::Request);
    assert!(Dataset::open(&folder.path().join("nowhere")).unwrap_err().class() == Class::Request);
}

#[test]
fn an_existing_target_is_left_alone() {
    let (_folder, dir, mut dataset) = written();
    let before: Vec<Vec<u8>> = files(&dir).iter().map(|path| fs::read(path).unwrap()).collect();
    let error = dataset.write(&dir, &|_| {}).unwrap_err();
    assert_eq!(error.class(), Class::Request, "{}", chain(&error));
    assert!(chain(&error).contains("exists already"), "{}", chain(&error));
    let after: Vec<Vec<u8>> = files(&dir).iter().map(|path| fs::read(path).unwrap()).collect();
    assert_eq!(before, after);
}

#[test]
fn a_network_name_cannot_leave_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let genes = support::genes(3);
    let (network, _) = knockout_data::cell::Network::from_edges(
        "../evil",
        3,
        Vec::new(),
        knockout_data::cell::SelfLoops::Refuse,
    )
    .unwrap();
    let mut dataset = support::dataset();
    dataset.cell = knockout_data::cell::Cell::new(genes, vec![network], None).unwrap().into();
    let error = dataset.write(&folder.path().join("set"), &|_| {}).unwrap_err();
    assert!(error.message().contains("cannot name"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn the_name_of_annotations_cannot_leave_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let mut dataset = support::dataset();
    let genes = dataset.cell.genes().len();
    let set =
        knockout_data::cell::Annotations::new("../evil", genes, vec!["t".to_owned()], vec![(0, 0)]).unwrap();
    dataset.cell = std::sync::Arc::new((*dataset.cell).clone().with_annotations(vec![set]).unwrap());
    let error = dataset.write(&folder.path().join("set"), &|_| {}).unwrap_err();
    assert_eq!(error.class(), Class::Request, "{}", chain(&error));
    assert!(chain(&error).contains("\"../evil\" cannot name annotations"), "{}", chain(&error));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn verify_lists_every_fault() {
    let (_folder, dir, _) = written();
    fs::write(dir.join("networks/physical.parquet"), b"nonsense").unwrap();
    fs::remove_file(dir.join("networks/empty.parquet")).unwrap();
    fs::write(dir.join("networks/extra.parquet"), b"").unwrap();
    let findings = verify(&dir).unwrap();
    let texts: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert_eq!(findings.iter().filter(|finding| finding.is_fault()).count(), 2, "{texts:?}");
    assert!(
        texts.iter().any(|text| text == "networks/extra.parquet is not listed in dataset.toml"),
        "{texts:?}"
    );
}

#[test]
fn verify_finds_repeated_samples() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("set");
    let mut dataset = support::dataset();
    let mut builder = knockout_data::screen::SamplesBuilder::new(30);
    for sample in dataset.samples.iter().chain([dataset.samples.get(3)]) {
        builder.push(sample).unwrap();
    }
    dataset.samples = builder.finish();
    dataset.write(&dir, &|_| {}).unwrap();
    let findings = verify(&dir).unwrap();
    assert_eq!(findings.len(), 1);
    assert_eq!(
        findings[0].to_string(),
        format!(
            "samples.parquet: rows 3 and {} have the same genes, kind and alleles",
            dataset.samples.len() - 1
        )
    );
}

#[test]
fn the_description_alone_can_be_read() {
    let (_folder, dir, dataset) = written();
    let manifest = Manifest::open(&dir).unwrap();
    assert_eq!(manifest.counts.samples, dataset.samples.len());
    assert_eq!(manifest.data_hash(), dataset.manifest.data_hash());
}

#[test]
fn verify_lists_everything_that_is_not_part_of_the_dataset() {
    let (_folder, dir, _) = written();
    let before = verify(&dir).unwrap().len();
    // Kept beside the data by knockout.
    for name in ["recipe.toml", "import-report.json", "splits/seed.parquet", "saved-masks/data.mdb"] {
        fs::create_dir_all(dir.join(name).parent().unwrap()).unwrap();
        fs::write(dir.join(name), b"").unwrap();
    }
    assert_eq!(verify(&dir).unwrap().len(), before);
    fs::write(dir.join("notes.txt"), b"").unwrap();
    fs::write(dir.join("networks/.hidden"), b"").unwrap();
    fs::create_dir(dir.join("more")).unwrap();
    std::os::unix::fs::symlink("genes.parquet", dir.join("linked.parquet")).unwrap();
    let texts: Vec<String> = verify(&dir).unwrap().iter().map(ToString::to_string).collect();
    for name in ["notes.txt", "networks/.hidden", "more", "linked.parquet"] {
        assert!(texts.contains(&format!("{name} is not listed in dataset.toml")), "{texts:?}");
    }
    assert_eq!(texts.len(), before + 4);
}

#[test]
fn links_and_pipes_in_a_dataset_are_refused() {
    let (folder, dir, _) = written();
    for name in ["genes.parquet", "dataset.toml", "networks/physical.parquet"] {
        let (path, moved) = (dir.join(name), folder.path().join("moved"));
        fs::rename(&path, &moved).unwrap();
        std::os::unix::fs::symlink(&moved, &path).unwrap();
        let error = Dataset::open(&dir).unwrap_err();
        assert_eq!(error.class(), Class::Damage, "{name}");
        assert!(chain(&error).contains(&format!("{name} is a symbolic link")), "{}", chain(&error));
        fs::remove_file(&path).unwrap();
        fs::rename(&moved, &path).unwrap();
    }
    fs::remove_file(dir.join("genes.parquet")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(dir.join("genes.parquet")).status().unwrap();
    assert!(made.success());
    let error = Dataset::open(&dir).unwrap_err();
    assert!(error.class() == Class::Damage && chain(&error).contains("a pipe"), "{}", chain(&error));
    assert!(verify(&dir).unwrap().iter().any(knockout_data::screen::DatasetFinding::is_fault));
}

#[test]
fn alleles_are_read_as_written() {
    use knockout_data::screen::{Allele, AlleleTable, FORMAT_VERSION, Sample, SamplesBuilder};
    let (_plain, plain, mut dataset) = written();
    let format = |dir: &Path| Manifest::open(dir).unwrap().format;
    assert_eq!(format(&plain), 1, "datasets without alleles are as they were");
    let allele = |gene, kind: &str, name: Option<&str>| Allele {
        gene,
        kind: kind.to_owned(),
        name: name.map(str::to_owned),
    };
    let table = vec![allele(5, "ts", Some("a-1")), allele(5, "ts", Some("a-2")), allele(2, "deletion", None)];
    assert!(AlleleTable::new(vec![allele(5, "ts", Some("a-1")), allele(5, "ts", Some("A-1"))]).is_err());
    let build = |alleles: &[&[u32]]| {
        let mut builder =
            SamplesBuilder::new(30).with_allele_table(AlleleTable::new(table.clone()).unwrap()).unwrap();
        for alleles in alleles {
            builder.push(Sample { alleles, kind: "mixed", ..Sample::deletion(&[5, 2], -1.0, "test") })?;
        }
        Ok::<_, knockout_base::error::Error>(builder.finish())
    };
    dataset.samples = build(&[&[0, 2], &[2, 1], &[]]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("set");
    dataset.write(&dir, &|_| {}).unwrap();
    let opened = Dataset::open(&dir).unwrap();
    assert_eq!((format(&dir), &opened.samples), (FORMAT_VERSION, &dataset.samples));
    let words: Vec<String> = (0..3).map(|row| opened.samples.perturbation(row)).collect();
    assert_eq!(words, ["deletion+a-1", "deletion+a-2", "mixed"]);
    assert!(verify(&dir).unwrap().is_empty(), "same genes and kind, other alleles");
    // The same alleles twice are a fault, whatever their order.
    dataset.samples = build(&[&[0, 2], &[2, 0]]).unwrap();
    let dir = folder.path().join("twice");
    dataset.write(&dir, &|_| {}).unwrap();
    let found: Vec<String> = verify(&dir).unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(found, ["samples.parquet: rows 0 and 1 have the same genes, kind and alleles"]);
    for (alleles, message) in [
        (&[0][..], "the alleles of a sample are not one for each of its genes"),
        (&[0, 1], "the alleles of a sample are not one for each of its genes"),
        (&[0, 3], "allele 3 is not in the table of 3"),
    ] {
        assert_eq!(build(&[alleles]).unwrap_err().to_string(), message);
    }
}
