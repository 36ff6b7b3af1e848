//! A split as a file: one row per sample, with its recipe and the dataset it belongs to.

use super::{Part, Split, SplitSpec};
use crate::screen::dataset::Manifest;
use crate::table::{Columns, ParquetTable};
use knockout_base::error::{Context as _, Error, IoContext as _, Result};
use knockout_base::files::replace;
use std::path::Path;

const RECIPE: &str = "knockout.split";
const DATA_HASH: &str = "knockout.data_hash";

impl Split {
    /// Writes the split as Parquet (`sample`, `part`), replacing an older file only when complete.
    pub fn save(&self, path: &Path, manifest: &Manifest) -> Result<()> {
        let bytes = self.encode(manifest).in_file(path)?;
        replace(path, |out| out.write_all(&bytes))
    }

    /// Returns the bytes of the file.
    pub fn encode(&self, manifest: &Manifest) -> Result<Vec<u8>> {
        let mut rows: Vec<(u32, Part)> =
            Part::ALL.iter().flat_map(|&part| self.rows(part).iter().map(move |&row| (row, part))).collect();
        rows.sort_unstable();
        Columns::new(rows.len())
            .with_metadata(RECIPE, toml::to_string(&self.spec).unwrap_or_default())
            .with_metadata(DATA_HASH, manifest.data_hash())
            .u32s("sample", |row| rows[row].0)
            .words("part", |row| rows[row].1.name())
            .encode()
    }

    /// Reads a split written by [`Split::save`]; refuses one of another dataset.
    pub fn load(path: &Path, manifest: &Manifest) -> Result<Self> {
        let bytes = std::fs::read(path).at_path("the split file could not be read", path)?;
        Self::decode(bytes, manifest).in_file(path)
    }

    /// Reads the bytes of a file of [`Split::save`].
    pub fn decode(bytes: Vec<u8>, manifest: &Manifest) -> Result<Self> {
        let not_a_split =
            |error: Error| Error::damage("the split file is damaged or not a split").caused_by(error);
        let table = ParquetTable::decode(bytes).map_err(not_a_split)?;
        let no_recipe =
            || Error::damage("the split file has no recipe in its metadata: it was not written by knockout");
        let spec: SplitSpec = toml::from_str(table.metadata(RECIPE).ok_or_else(no_recipe)?)
            .map_err(|error| Error::damage("the recipe of the split file does not parse").caused_by(error))?;
        let expected = manifest.data_hash();
        let found = table.metadata(DATA_HASH).unwrap_or_default();
        if found != expected {
            return Err(Error::damage(format!(
                "the split file belongs to another dataset (data hash {found}, this one has {expected})"
            )));
        }
        let samples = table.u32s("sample").map_err(not_a_split)?;
        let parts_of = table.words("part").map_err(not_a_split)?;
        let count = manifest.counts.samples;
        let mut is_taken = vec![false; count];
        let mut parts: [Vec<u32>; 3] = Default::default();
        for (row, &sample) in samples.iter().enumerate() {
            let Some(slot) = is_taken.get_mut(sample as usize) else {
                return Err(Error::damage(format!(
                    "row {row} names sample {sample}, but the dataset has {count}"
                )));
            };
            if std::mem::replace(slot, true) {
                return Err(Error::damage(format!("sample {sample} stands in it twice")));
            }
            let part =
                Part::ALL.into_iter().find(|part| part.name() == parts_of.get(row)).ok_or_else(|| {
                    let part = parts_of.get(row);
                    Error::damage(format!("row {row} names part {part:?}; expected train, val or test"))
                })?;
            parts[part as usize].push(sample);
        }
        for rows in &mut parts {
            rows.sort_unstable();
        }
        Ok(Self { spec, parts })
    }
}
