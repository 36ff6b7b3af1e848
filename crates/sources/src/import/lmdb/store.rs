//! Walking the store in the order of its decimal keys.

use super::record;
use super::store_folder;
use crate::import::fault;
use crate::import::screens::{ScreenCounts, ScreenSink};
use crate::import::source::Source;
use knockout_base::error::Error;
use knockout_data::lmdb::{DATA_FILE, LmdbError, Reader};
use std::path::Path;

/// The sample of every record, by the record's index; `None` for a record that was left out.
pub type RecordRows = Vec<Option<u32>>;

/// The most records a store may have: their keys are indices, so they are kept as such.
const MAX_RECORDS: u64 = 100_000_000;

/// Reads the store below a folder. Also gives the sample of every record, for its splits.
pub fn read(
    root: &Path,
    advance: &dyn Fn(u64),
    mut sink: ScreenSink<'_>,
) -> Result<(ScreenCounts, RecordRows, String), Error> {
    let folder = store_folder(root).ok_or_else(|| {
        let text = "there is no processed/lmdb/data.mdb below this folder; expected the root of the Python system's dataset";
        fault::request(text.to_owned()).in_file(root)
    })?;
    let path = folder.join(DATA_FILE);
    let failed = |error: LmdbError| import_error(error).in_file(&path);
    let source = Source::file(&path, advance);
    let store = Reader::open(&folder).map_err(|error| match error {
        LmdbError::Io(error) => fault::open(error).in_file(&path),
        other => failed(other),
    })?;
    source.hash()?;
    let mut indices = Vec::new();
    for key in store.keys() {
        indices.push(index_of(&key.map_err(failed)?).map_err(|kind| kind.in_file(&path))?);
    }
    indices.sort_unstable();
    let mut rows: RecordRows = vec![None; indices.last().map_or(0, |&last| last as usize + 1)];
    for index in indices {
        sink.row();
        let at = |kind: Error| kind.in_file(&path).for_key(format!("record {index}"));
        let value = store.get(index.to_string().as_bytes()).map_err(failed)?.unwrap_or_default();
        let experiments =
            record::parse(&value).map_err(|error| at(fault::decode("the record's JSON", error)))?;
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
    Ok((sink.finish()?, rows, source.digest()))
}

fn import_error(error: LmdbError) -> Error {
    match error {
        LmdbError::NotLmdb => fault::something_else(
            error.to_string(),
            "the data.mdb of the Python system's processed dataset".to_owned(),
        ),
        LmdbError::Empty => fault::empty("record"),
        LmdbError::Io(error) => fault::read(error),
        other => fault::decode("the LMDB file", other),
    }
}

fn check(experiment: &record::ExperimentRecord) -> Result<(), Error> {
    let bad = |value: f64, expected: &str| Err(fault::bad_value(value.to_string(), expected.to_owned()));
    if experiment.genes.is_empty() {
        let expected = "a genotype with at least one perturbation".to_owned();
        return Err(fault::bad_value("[]", expected));
    }
    match (experiment.p_value, experiment.fitness_sd) {
        (Some(p), _) if !(0.0..=1.0).contains(&p) => bad(p, "a p-value from 0 to 1"),
        (_, Some(sd)) if sd < 0.0 => bad(sd, "a standard deviation, a number not below 0"),
        _ => Ok(()),
    }
}

fn index_of(key: &[u8]) -> Result<u64, Error> {
    let index = std::str::from_utf8(key).ok().and_then(|text| text.parse::<u64>().ok());
    let is_plain = |index: &u64| *index < MAX_RECORDS && index.to_string().as_bytes() == key;
    index.filter(is_plain).ok_or_else(|| {
        fault::bad_value(
            crate::import::read::shown(key),
            "a decimal index, as the Python system's keys are".to_owned(),
        )
    })
}
