//! Walking the store in the order of its decimal keys.

use super::record;
use super::store_folder;
use crate::import::error::{ImportError, ImportErrorKind, Place};
use crate::import::screens::{ScreenCounts, Sink};
use crate::import::source::Source;
use knockout_data::lmdb::{DATA_FILE, LmdbError, Reader};
use std::path::Path;

/// The sample of every record, by the record's index; `None` for a record that was left out.
pub type Rows = Vec<Option<u32>>;

/// The most records a store may have: their keys are indices, so they are kept as such.
const MAX_RECORDS: u64 = 100_000_000;

/// Reads the store below a folder. Also gives the sample of every record, for its splits.
pub fn read(
    root: &Path,
    advance: &dyn Fn(u64),
    mut sink: Sink<'_>,
) -> Result<(ScreenCounts, Rows, String), ImportError> {
    let folder = store_folder(root).ok_or_else(|| {
        let text = "there is no processed/lmdb/data.mdb below this folder; expected the root of the Python system's dataset";
        ImportErrorKind::Request(text.to_owned()).of(root)
    })?;
    let path = folder.join(DATA_FILE);
    let failed = |error: LmdbError| import_error(error).of(&path);
    let source = Source::file(&path, advance);
    let store = Reader::open(&folder).map_err(|error| match error {
        LmdbError::Io(error) => ImportErrorKind::Open(error).of(&path),
        other => failed(other),
    })?;
    source.hash()?;
    let mut indices = Vec::new();
    for key in store.keys() {
        indices.push(index_of(&key.map_err(failed)?).map_err(|kind| kind.of(&path))?);
    }
    indices.sort_unstable();
    let mut rows: Rows = vec![None; indices.last().map_or(0, |&last| last as usize + 1)];
    for index in indices {
        sink.row();
        let at = |kind: ImportErrorKind| {
            kind.at(&path, Place { line: None, column: Some(format!("record {index}")) })
        };
        let value = store.get(index.to_string().as_bytes()).map_err(failed)?.unwrap_or_default();
        let experiments = record::parse(&value).map_err(|error| {
            at(ImportErrorKind::Decode { what: "the record's JSON", source: error.into() })
        })?;
        if experiments.is_empty() {
            sink.skip("no interaction in the record");
        }
        for experiment in &experiments {
            check(experiment).map_err(at)?;
            let genes: Vec<&[u8]> = experiment.genes.iter().map(String::as_bytes).collect();
            let taken = sink.take_from(
                &experiment.dataset,
                index,
                &genes,
                experiment.kind.name(),
                experiment.numbers(),
            );
            let taken = taken.map_err(at)?;
            rows[index as usize] = rows[index as usize].or(taken);
        }
    }
    Ok((sink.finish(), rows, source.digest()))
}

fn import_error(error: LmdbError) -> ImportErrorKind {
    match error {
        LmdbError::NotLmdb => ImportErrorKind::SomethingElse {
            found: error.to_string(),
            expected: "the data.mdb of the Python system's processed dataset".to_owned(),
        },
        LmdbError::Empty => ImportErrorKind::Empty { what: "record" },
        LmdbError::Io(error) => ImportErrorKind::Read(error),
        other => ImportErrorKind::Decode { what: "the LMDB file", source: other.into() },
    }
}

fn check(experiment: &record::Experiment) -> Result<(), ImportErrorKind> {
    let bad = |value: f64, expected: &str| {
        Err(ImportErrorKind::BadValue { value: value.to_string(), expected: expected.to_owned() })
    };
    if experiment.genes.is_empty() {
        let expected = "a genotype with at least one perturbation".to_owned();
        return Err(ImportErrorKind::BadValue { value: "[]".to_owned(), expected });
    }
    match (experiment.p_value, experiment.fitness_sd) {
        (Some(p), _) if !(0.0..=1.0).contains(&p) => bad(p, "a p-value from 0 to 1"),
        (_, Some(sd)) if sd < 0.0 => bad(sd, "a standard deviation, a number not below 0"),
        _ => Ok(()),
    }
}

fn index_of(key: &[u8]) -> Result<u64, ImportErrorKind> {
    let index = std::str::from_utf8(key).ok().and_then(|text| text.parse::<u64>().ok());
    let is_plain = |index: &u64| *index < MAX_RECORDS && index.to_string().as_bytes() == key;
    index.filter(is_plain).ok_or_else(|| ImportErrorKind::BadValue {
        value: crate::import::read::shown(key),
        expected: "a decimal index, as the Python system's keys are".to_owned(),
    })
}
