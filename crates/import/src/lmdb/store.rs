//! Walking the store in the order of its decimal keys.

#![expect(unsafe_code, reason = "heed's open is unsafe: it maps a file that others could change")]

use super::head;
use super::record;
use super::store_folder;
use crate::error::{ImportError, ImportErrorKind, Place};
use crate::screens::{ScreenCounts, Sink};
use crate::source::Source;
use heed::types::Bytes;
use heed::{CommitOrAbort, EnvFlags, EnvOpenOptions};
use std::fs::File;
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
    let path = folder.join("data.mdb");
    let mut file = File::open(&path).map_err(|error| ImportErrorKind::Open(error).of(&path))?;
    head::check(&mut file).map_err(|kind| kind.of(&path))?;
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let source = Source::file(&path, advance);
    source.hash()?;

    let failed = |error: heed::Error| {
        ImportErrorKind::Decode { what: "the LMDB file", detail: error.to_string() }.of(&path)
    };
    let mut options = EnvOpenOptions::new();
    options.map_size(usize::try_from(length.next_multiple_of(1 << 16)).unwrap_or(usize::MAX));
    // SAFETY: a built dataset is not written again (the Python system opens it without locks, too), nothing is
    // written through this mapping, and the file was seen to be as long as its pages say.
    let env = unsafe {
        options.flags(EnvFlags::READ_ONLY | EnvFlags::NO_LOCK | EnvFlags::NO_READ_AHEAD);
        options.open(&folder)
    }
    .map_err(failed)?;
    let opening = env.read_txn().map_err(failed)?;
    let opened = env.open_databases_and_commit(opening, |opener, transaction| {
        opener.open_database::<Bytes, Bytes>(transaction, None).map(CommitOrAbort::<_, ()>::Commit)
    });
    let CommitOrAbort::Commit(Some(database)) = opened.map_err(failed)? else {
        return Err(ImportErrorKind::Empty { what: "record" }.of(&path));
    };
    let transaction = env.read_txn().map_err(failed)?;

    let mut indices = Vec::new();
    for entry in database.iter(&transaction).map_err(failed)? {
        let (key, _) = entry.map_err(failed)?;
        indices.push(index_of(key).map_err(|kind| kind.of(&path))?);
    }
    indices.sort_unstable();
    let mut rows: Rows = vec![None; indices.last().map_or(0, |&last| last as usize + 1)];
    for index in indices {
        sink.row();
        let at = |kind: ImportErrorKind| {
            kind.at(&path, Place { line: None, column: Some(format!("record {index}")) })
        };
        let value =
            database.get(&transaction, index.to_string().as_bytes()).map_err(failed)?.unwrap_or_default();
        let experiments = record::parse(value)
            .map_err(|detail| at(ImportErrorKind::Decode { what: "the record's JSON", detail }))?;
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
        value: crate::read::shown(key),
        expected: "a decimal index, as the Python system's keys are".to_owned(),
    })
}
