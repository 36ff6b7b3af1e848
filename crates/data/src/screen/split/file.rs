//! A split as a file: one row per sample, with its recipe and the dataset it belongs to.

use super::{Part, Split, SplitSpec};
use crate::screen::dataset::Manifest;
use crate::table::{Columns, Table, TableError};
use knockout_base::error::{Class, Classified, class_of_path};
use knockout_base::files::{DurableError, replace};
use std::io;
use std::path::{Path, PathBuf};

const RECIPE: &str = "knockout.split";
const DATA_HASH: &str = "knockout.data_hash";

/// A split file that cannot be written or used.
#[derive(Debug, thiserror::Error)]
#[error("split file {}", path.display())]
pub struct SplitFileError {
    path: PathBuf,
    #[source]
    kind: SplitFileErrorKind,
}

#[derive(Debug, thiserror::Error)]
enum SplitFileErrorKind {
    #[error("could not be written")]
    Write(#[source] DurableError),
    #[error("could not be read")]
    Read(#[source] io::Error),
    #[error("is damaged or no split")]
    Columns(#[source] TableError),
    #[error("has no recipe in its metadata: it was not written by knockout")]
    NoRecipe,
    #[error("has a recipe that does not parse")]
    BadRecipe(#[source] toml::de::Error),
    #[error("belongs to another dataset (data hash {found}, this one has {expected})")]
    OtherDataset { found: String, expected: String },
    #[error("row {row} names part {part:?}; expected train, val or test")]
    BadPart { row: usize, part: String },
    #[error("row {row} names sample {sample}, but the dataset has {count}")]
    OutOfRange { row: usize, sample: u32, count: usize },
    #[error("sample {sample} stands in it twice")]
    Twice { sample: u32 },
}

impl Classified for SplitFileError {
    fn class(&self) -> Class {
        match &self.kind {
            SplitFileErrorKind::Read(error) => class_of_path(error.kind()),
            SplitFileErrorKind::Write(error) => class_of_path(error.kind()),
            _ => Class::Damage,
        }
    }
}

impl Split {
    /// Writes the split as Parquet (`sample`, `part`), replacing an older file only when complete.
    pub fn save(&self, path: &Path, manifest: &Manifest) -> Result<(), SplitFileError> {
        let fail = |kind| SplitFileError { path: path.to_owned(), kind };
        let mut rows: Vec<(u32, Part)> =
            Part::ALL.iter().flat_map(|&part| self.rows(part).iter().map(move |&row| (row, part))).collect();
        rows.sort_unstable();
        let bytes = Columns::new(rows.len())
            .with_metadata(RECIPE, toml::to_string(&self.spec).unwrap_or_default())
            .with_metadata(DATA_HASH, manifest.data_hash())
            .u32s("sample", |row| rows[row].0)
            .words("part", |row| rows[row].1.name())
            .encode()
            .map_err(|error| fail(SplitFileErrorKind::Columns(error)))?;
        replace(path, |out| out.write_all(&bytes)).map_err(|error| fail(SplitFileErrorKind::Write(error)))
    }

    /// Reads a split written by [`Split::save`]; refuses one of another dataset.
    pub fn load(path: &Path, manifest: &Manifest) -> Result<Self, SplitFileError> {
        Self::load_kind(path, manifest).map_err(|kind| SplitFileError { path: path.to_owned(), kind })
    }

    fn load_kind(path: &Path, manifest: &Manifest) -> Result<Self, SplitFileErrorKind> {
        use SplitFileErrorKind as Kind;
        let bytes = std::fs::read(path).map_err(Kind::Read)?;
        let table = Table::decode(bytes).map_err(Kind::Columns)?;
        let recipe = table.metadata(RECIPE).ok_or(Kind::NoRecipe)?;
        let spec: SplitSpec = toml::from_str(recipe).map_err(Kind::BadRecipe)?;
        let expected = manifest.data_hash();
        let found = table.metadata(DATA_HASH).unwrap_or_default();
        if found != expected {
            return Err(Kind::OtherDataset { found: found.to_owned(), expected });
        }
        let samples = table.u32s("sample").map_err(Kind::Columns)?;
        let parts_of = table.words("part").map_err(Kind::Columns)?;
        let count = manifest.counts.samples;
        let mut is_taken = vec![false; count];
        let mut parts: [Vec<u32>; 3] = Default::default();
        for (row, &sample) in samples.iter().enumerate() {
            let Some(slot) = is_taken.get_mut(sample as usize) else {
                return Err(Kind::OutOfRange { row, sample, count });
            };
            if std::mem::replace(slot, true) {
                return Err(Kind::Twice { sample });
            }
            let part = Part::ALL
                .into_iter()
                .find(|part| part.name() == parts_of.get(row))
                .ok_or_else(|| Kind::BadPart { row, part: parts_of.get(row).to_owned() })?;
            parts[part as usize].push(sample);
        }
        for rows in &mut parts {
            rows.sort_unstable();
        }
        Ok(Self { spec, parts })
    }
}
