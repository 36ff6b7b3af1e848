//! Prediction files and evaluations: what is written comes back, what does not fit is refused by name.

use knockout_base::error::{Class, chain};
use knockout_base::stats::bootstrap::Bootstrap;
use knockout_data::screen::{Dataset, Division, Part, Scheme, Split, SplitSpec};
use knockout_data::table::Columns;
use knockout_predict::evaluation::{NamedPredictions, Pairs, Unseen, evaluate};
use knockout_predict::predictions::Predictions;
use knockout_sources::synth::{SynthConfig, synthesise};
use std::path::{Path, PathBuf};

fn dataset(folder: &Path, seed: u64) -> Dataset {
    let mut dataset =
        synthesise(&SynthConfig::preset("tiny").unwrap(), seed, "tiny", "test", &|_| ()).unwrap();
    dataset.write(&folder.join(format!("set-{seed}")), &|_| ()).unwrap();
    dataset
}

fn split(dataset: &Dataset, scheme: Scheme, seed: u64) -> Split {
    let spec = SplitSpec { scheme, division: Division::default(), seed, subset: None, train_subset: None };
    Split::new(&dataset.samples, dataset.cell.genes(), spec).unwrap()
}

/// Predictions that are half right.
fn predictions(dataset: &Dataset, split: &Split, part: Part) -> Predictions {
    let halves = split.rows(part).iter().map(|&row| dataset.samples.scores()[row as usize] / 2.0);
    Predictions::new(dataset, split, part, "half", halves.collect())
}

#[test]
fn files_are_read_as_written() {
    let folder = tempfile::tempdir().unwrap();
    let set = dataset(folder.path(), 1);
    let split = split(&set, Scheme::GeneDisjoint, 5);
    let mut file = predictions(&set, &split, Part::Val);
    file.description.seed = Some(3);
    file.description.folder = Some(PathBuf::from("somewhere"));
    let path = folder.path().join("p.parquet");
    file.save(&path).unwrap();
    let read = Predictions::load(&path).unwrap();
    assert_eq!(read, file);
    assert_eq!(read.split_of(&set, &path, folder.path()).unwrap(), split);
    let bytes = std::fs::read(&path).unwrap();
    file.save(&path).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), bytes, "equal predictions are equal bytes");
}

#[test]
fn predictions_of_another_dataset_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (set, other) = (dataset(folder.path(), 1), dataset(folder.path(), 2));
    let split = split(&set, Scheme::Random, 5);
    let file = predictions(&set, &split, Part::Test);
    let refused = |file: &Predictions, set: &Dataset| {
        let error = file.split_of(set, Path::new("p.parquet"), Path::new("set")).unwrap_err();
        assert_eq!(error.class(), Class::Damage);
        chain(&error)
    };
    let said = refused(&file, &other);
    assert!(said.starts_with("prediction file p.parquet: belongs to another dataset (data hash "), "{said}");
    let mut fewer = file.clone();
    fewer.rows.pop();
    let said = refused(&fewer, &set);
    assert!(said.contains("has 199 rows that are not those of the test part of its random split"), "{said}");
    let mut changed = file.clone();
    changed.scores[3] += 1.0;
    assert!(refused(&changed, &set).contains("has the score"));
}

#[test]
fn two_files_are_compared_only_over_the_same_records() {
    let folder = tempfile::tempdir().unwrap();
    let (set, other) = (dataset(folder.path(), 1), dataset(folder.path(), 2));
    let of = |set: &Dataset, scheme, seed, part| predictions(set, &split(set, scheme, seed), part);
    let file = of(&set, Scheme::Random, 5, Part::Test);
    let names = |other: &Predictions| file.unlike(other).iter().map(|unlike| unlike.what).collect::<Vec<_>>();
    assert_eq!(names(&file), [""; 0]);
    assert_eq!(names(&of(&other, Scheme::Random, 5, Part::Test)), ["dataset"]);
    assert_eq!(names(&of(&set, Scheme::Random, 6, Part::Test)), ["split"]);
    assert_eq!(names(&of(&set, Scheme::Random, 5, Part::Val)), ["part"]);
    assert!(names(&of(&set, Scheme::GeneDisjoint, 5, Part::Test)).contains(&"split"));
    let mut others = file.clone();
    others.rows[0] += 1;
    assert_eq!(names(&others), ["rows"]);
}

/// A file as somebody else might write it.
fn foreign(path: &Path, rows: &[u32], predictions: &[f64], column: &str) {
    let description = "model = \"m\"\ndata_hash = \"x\"\npart = \"test\"\n[split]\nscheme = \"random\"\nseed = 1\n\
                       [split.division.shares]\nval = 0.1\ntest = 0.1\n";
    let table = Columns::new(rows.len())
        .with_metadata("knockout.predictions", description)
        .u32s("row", |row| rows[row])
        .optional_f64s("score", |_| Some(0.5))
        .optional_f64s(column, |row| Some(predictions[row]));
    std::fs::write(path, table.encode().unwrap()).unwrap();
}

#[test]
fn every_malformed_file_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.parquet");
    let refused = || {
        let error = Predictions::load(&path).unwrap_err();
        assert_eq!(error.class(), Class::Damage);
        chain(&error).replace(&format!("{}", folder.path().display()), "")
    };
    foreign(&path, &[0, 2], &[1.0, 2.0], "prediction");
    assert_eq!(Predictions::load(&path).unwrap().rows, [0, 2]);
    foreign(&path, &[0, 2], &[1.0, 2.0], "predicted");
    assert_eq!(
        refused(),
        "prediction file /p.parquet: is damaged or holds no predictions: column \"prediction\" is missing \
         (have: row, score, predicted)"
    );
    foreign(&path, &[4, 7], &[1.0, f64::NAN], "prediction");
    assert!(refused().ends_with("the prediction of row 7 is NaN; it must be a finite number"));
    foreign(&path, &[4, 4], &[1.0, 1.0], "prediction");
    assert!(refused().ends_with("row 4 follows row 4; rows must ascend, each once"));
    foreign(&path, &[], &[], "prediction");
    assert!(refused().ends_with("holds no predictions: it has no rows"));
    std::fs::write(&path, "nonsense").unwrap();
    assert!(refused().contains("is damaged"));
    std::fs::remove_file(&path).unwrap();
    assert!(Predictions::load(&path).unwrap_err().class() == Class::Request);
}

#[test]
fn a_model_is_compared_with_the_ridge() {
    let folder = tempfile::tempdir().unwrap();
    let set = dataset(folder.path(), 1);
    let split = split(&set, Scheme::GeneDisjoint, 5);
    let file = predictions(&set, &split, Part::Test);
    let bootstrap = Bootstrap { resamples: 100, ..Bootstrap::default() };
    let model = NamedPredictions { name: "half", predictions: &file.predictions };
    let evaluation = evaluate(&set, &split, Part::Test, &[model], Pairs::Neighbours, &bootstrap).unwrap();
    let names: Vec<&str> = evaluation.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["half", "stack", "additive-ridge"]);
    assert!((evaluation.rows[0].metrics.pearson.unwrap() - 1.0).abs() < 1e-12);
    assert!(evaluation.comparisons[0].pearson.unwrap().low > 0.0);
    assert!(evaluation.bounds.attainable_pearson.is_some());
    // Every test sample of this scheme has a test gene, and training has none of these.
    assert_eq!(evaluation.unseen.records, split.rows(Part::Test).len());
    assert!(evaluation.unseen.genes > 0);
    assert_eq!(Unseen::of(&set, &split, Part::Train), Unseen { genes: 0, records: 0 });
}
