//! The Python system's split files, `index_seed_42.json`: `{train, val, test}` with record indices.

use super::RecordRows;
use crate::import::fault;
use crate::import::source::Source;
use knockout_base::error::Error;
use knockout_data::screen::{Division, Scheme, Split, SplitSpec};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// A split file, turned into rows of the dataset.
#[derive(Debug)]
pub struct IndexSplit {
    /// The file's name without its ending.
    pub name: String,
    /// Rows of the dataset by part.
    pub split: Split,
    /// Records of the file that were left out of the dataset.
    pub left_out: u64,
    /// Records that merged into a sample of another part; the sample trains, so that no test score is seen in training.
    pub moved_to_train: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Index {
    train: Vec<u32>,
    val: Vec<u32>,
    test: Vec<u32>,
}

/// The split files in the usual folder below a dataset's root.
pub fn find(root: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(root.join("data_module_cache")) else { return Vec::new() };
    let is_index = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("index_")
            && name.contains("seed")
            && !name.contains("details")
            && name.ends_with(".json")
            && path.is_file()
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_index).collect();
    files.sort();
    files
}

/// Reads a split file for records that became these rows of a dataset of `sample_count` samples.
pub fn read(source: &Source<'_>, rows: &RecordRows, sample_count: usize) -> Result<IndexSplit, Error> {
    let index: Index = source.json("a split file {train, val, test}")?;
    let mut part_of_row: Vec<Option<usize>> = vec![None; sample_count];
    let (mut left_out, mut moved_to_train) = (0, 0);
    for (part, records) in [&index.train, &index.val, &index.test].into_iter().enumerate() {
        for &record in records {
            let Some(row) = rows.get(record as usize) else {
                return Err(source.fail(fault::bad_value(
                    record.to_string(),
                    format!("a record of the store, which has {}", rows.len()),
                )));
            };
            match row.and_then(|row| part_of_row.get_mut(row as usize)) {
                None => left_out += 1,
                Some(slot) => match *slot {
                    None => *slot = Some(part),
                    Some(other) if other != part => {
                        moved_to_train += 1;
                        *slot = Some(0);
                    }
                    Some(_) => {}
                },
            }
        }
    }
    let mut parts: [Vec<u32>; 3] = Default::default();
    for (row, part) in part_of_row.iter().enumerate().filter_map(|(row, part)| part.map(|part| (row, part))) {
        parts[part].push(row as u32);
    }
    let count: usize = parts.iter().map(Vec::len).sum();
    let name = source.path().file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let share = |part: usize| parts[part].len() as f64 / count.max(1) as f64;
    let spec = SplitSpec {
        scheme: Scheme::Random,
        division: Division::Shares { val: share(1), test: share(2) },
        seed: seed_of(&name),
        subset: (count < sample_count).then_some(count),
        train_subset: None,
    };
    let split = Split::from_rows(spec, parts, sample_count).map_err(|error| source.fail(error))?;
    Ok(IndexSplit { name, split, left_out, moved_to_train })
}

/// The number behind `seed_`; 0 where there is none.
fn seed_of(name: &str) -> u64 {
    let digits = name.rsplit_once("seed_").map_or("", |(_, rest)| rest);
    digits.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_data::screen::Part;

    #[test]
    fn records_become_rows_and_a_merged_sample_never_tests() {
        // Records 0 and 4 merged into row 0; record 2 was left out.
        let rows = vec![Some(0), Some(1), None, Some(2), Some(0)];
        let json = br#"{"train": [0, 2], "val": [1], "test": [3, 4]}"#;
        let found = read(&Source::bytes("index_seed_42.json", json), &rows, 3).unwrap();
        assert_eq!(found.split.rows(Part::Train), [0]);
        assert_eq!(found.split.rows(Part::Val), [1]);
        assert_eq!(found.split.rows(Part::Test), [2]);
        assert_eq!((found.left_out, found.moved_to_train, found.split.spec().seed), (1, 1, 42));
    }

    #[test]
    fn a_record_that_is_not_there_is_an_error() {
        let json = br#"{"train": [0], "val": [], "test": [9]}"#;
        let error = read(&Source::bytes("i.json", json), &vec![Some(0)], 1).unwrap_err();
        assert_eq!(error.message(), "\"9\" is not a record of the store, which has 1");
    }
}
