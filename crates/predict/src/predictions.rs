//! Prediction files: the predictions of a model for every record of a part, beside the measured scores.
//!
//! Parquet with the columns `row` (row of `samples.parquet`, ascending), `score` (measured) and `prediction`, and, of a run,
//! `gene_1` …, `regime` and `sd`; the key `knockout.predictions` of its metadata is a TOML table that describes model, dataset
//! and split. A file is written completely or not at all. The module does not depend on scorers or metrics.

use crate::TrainedGenes;
use knockout_base::error::{Error, Result, class_of_path};
use knockout_base::files::{Folder, replace};
use knockout_data::screen::{Dataset, Part, Split, SplitSpec};
use knockout_data::table::{Columns, ParquetTable};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The key of the description in the file's metadata.
const DESCRIPTION: &str = "knockout.predictions";

/// The description in a prediction file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PredictionsHeader {
    /// The model's name.
    pub model: String,
    /// The seed of its weights, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Content hash of the dataset.
    pub data_hash: String,
    /// The part that was predicted.
    pub part: Part,
    /// Folder of the dataset when the file was written, as a hint only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// File of the split, if no recipe reproduces it; relative to the folder of the prediction file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split_file: Option<PathBuf>,
    /// The recipe of the split.
    pub split: SplitSpec,
}

/// Predictions for some rows of a dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct Predictions {
    /// Of what and by what.
    pub description: PredictionsHeader,
    /// Rows of the dataset, ascending.
    pub rows: Vec<u32>,
    /// Their measured scores.
    pub scores: Vec<f64>,
    /// Their predictions.
    pub predictions: Vec<f64>,
}

impl Predictions {
    /// Puts predictions for a part of a split beside the measured scores.
    ///
    /// # Panics
    ///
    /// If there are not as many predictions as rows in the part.
    pub fn new(dataset: &Dataset, split: &Split, part: Part, model: &str, predictions: Vec<f64>) -> Self {
        let rows = split.rows(part).to_vec();
        assert_eq!(rows.len(), predictions.len(), "every row of the part has a prediction");
        let scores = rows.iter().map(|&row| dataset.samples.scores()[row as usize]).collect();
        let description = PredictionsHeader {
            model: model.to_owned(),
            seed: None,
            data_hash: dataset.manifest.data_hash(),
            part,
            folder: None,
            split_file: None,
            split: *split.spec(),
        };
        Self { description, rows, scores, predictions }
    }

    /// Writes the file completely or not at all, replacing an older one.
    pub fn save(&self, path: &Path) -> Result<()> {
        let bytes = self.encode().map_err(in_file(path))?;
        let written = replace(path, |out| out.write_all(&bytes));
        written.map_err(|error| in_file(path)(Error::wrap("could not be written", error)))
    }

    /// Returns the bytes of the file.
    pub fn encode(&self) -> Result<Vec<u8>> {
        self.encode_with(|table| table)
    }

    fn encode_with<'a>(&'a self, more: impl FnOnce(Columns<'a>) -> Columns<'a>) -> Result<Vec<u8>> {
        let description = toml::to_string(&self.description)
            .map_err(|error| Error::request(format!("could not be described: {error}")))?;
        let table = Columns::new(self.rows.len())
            .with_metadata(DESCRIPTION, description)
            .u32s("row", |row| self.rows[row])
            .f64s("score", |row| self.scores[row])
            .f64s("prediction", |row| self.predictions[row]);
        more(table).encode().map_err(unreadable)
    }

    /// Returns the name of the file that `evaluate` leaves in the folder of a run.
    pub fn file_name(part: Part) -> String {
        format!("predictions-{}.parquet", part.name())
    }

    /// Returns the bytes of the file with the genes of each record, its regime and, where known, its standard deviation.
    pub fn encode_with_genes(&self, dataset: &Dataset, split: &Split, sd: Option<&[f64]>) -> Result<Vec<u8>> {
        let (samples, genes) = (&dataset.samples, dataset.cell.genes().genes());
        let names: Vec<&str> = genes.iter().map(|gene| gene.systematic.as_str()).collect();
        let trained = TrainedGenes::of(samples, genes.len(), split);
        let set = |row: usize| samples.genes(self.rows[row] as usize);
        let order = (0..self.rows.len()).map(|row| set(row).len()).max().unwrap_or(0);
        self.encode_with(|mut table| {
            for index in 0..order {
                let name = format!("gene_{}", index + 1);
                table = table.optional_coded(&name, &names, move |row| set(row).get(index).copied());
            }
            table = table.words("regime", |row| trained.regime(set(row)).name());
            match sd {
                Some(sd) => table.f64s("sd", |row| sd[row]),
                None => table,
            }
        })
    }

    /// Reads a file and checks everything that can be checked without its dataset.
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path)
            .map_err(|error| Error::new(class_of_path(error.kind()), "could not be read").caused_by(error));
        bytes.and_then(Self::decode).map_err(in_file(path))
    }

    /// Reads a file inside a folder, as [`Self::load`] does.
    pub fn load_from(folder: &Folder, name: &str) -> Result<Self> {
        Self::decode(folder.read(name)?).map_err(in_file(&folder.path().join(name)))
    }

    fn decode(bytes: Vec<u8>) -> Result<Self> {
        let table = ParquetTable::decode(bytes).map_err(unreadable)?;
        let rows = table.u32s("row").map_err(unreadable)?;
        let scores = table.f64s("score").map_err(unreadable)?;
        let predictions = table.f64s("prediction").map_err(unreadable)?;
        let description = table.metadata(DESCRIPTION).ok_or_else(|| {
            Error::damage(format!(
                "has no {DESCRIPTION:?} in its metadata, so its records are unknown; docs/evaluate.md describes how to write one"
            ))
        })?;
        let description = toml::from_str(description).map_err(|error: toml::de::Error| {
            Error::damage("has a description that does not parse").caused_by(error)
        })?;
        if rows.is_empty() {
            return Err(Error::damage("holds no predictions: it has no rows"));
        }
        if let Some(pair) = rows.windows(2).find(|pair| pair[0] >= pair[1]) {
            let (before, row) = (pair[0], pair[1]);
            return Err(Error::damage(format!(
                "row {row} follows row {before}; rows must ascend, each once"
            )));
        }
        for (column, values) in [("score", &scores), ("prediction", &predictions)] {
            if let Some(index) = values.iter().position(|value| !value.is_finite()) {
                let (row, value) = (rows[index], values[index]);
                return Err(Error::damage(format!(
                    "the {column} of row {row} is {value}; it must be a finite number"
                )));
            }
        }
        Ok(Self { description, rows, scores, predictions })
    }

    /// Makes the split that the predictions are of, and refuses predictions that do not fit it or the dataset.
    ///
    /// `path` and `folder` are those of the file and the dataset, for the message.
    pub fn split_of(&self, dataset: &Dataset, path: &Path, folder: &Path) -> Result<Split> {
        self.checked_split(dataset, path, folder).map_err(in_file(path))
    }

    fn checked_split(&self, dataset: &Dataset, path: &Path, folder: &Path) -> Result<Split> {
        let PredictionsHeader { part, split: spec, split_file, data_hash, .. } = &self.description;
        let expected = dataset.manifest.data_hash();
        if *data_hash != expected {
            let folder = folder.display();
            return Err(Error::damage(format!(
                "belongs to another dataset (data hash {data_hash}, {folder} has {expected})"
            )));
        }
        let split = match split_file {
            Some(file) => {
                let folder = Folder::at(path.parent().unwrap_or(Path::new("")));
                let split = folder.read(file).and_then(|bytes| Split::decode(bytes, &dataset.manifest));
                split.map_err(|error| {
                    Error::damage("the split file it names cannot be used").caused_by(error)
                })?
            }
            None => Split::new(&dataset.samples, dataset.cell.genes(), *spec).map_err(|error| {
                Error::damage("the split it names cannot be made of this dataset").caused_by(error)
            })?,
        };
        let rows = split.rows(*part);
        if rows != self.rows {
            let (found, expected) = (self.rows.len(), rows.len());
            let (part, scheme, seed) = (part.name(), spec.scheme.name(), spec.seed);
            return Err(Error::damage(format!(
                "has {found} rows that are not those of the {part} part of its {scheme} split (seed {seed}, {expected} rows)"
            )));
        }
        for (&row, &found) in rows.iter().zip(&self.scores) {
            let expected = dataset.samples.scores()[row as usize];
            if found != expected {
                return Err(Error::damage(format!(
                    "has the score {found} for row {row}, but the dataset has {expected}"
                )));
            }
        }
        Ok(split)
    }

    /// Returns the differences that prevent a comparison of two files record by record; empty without any.
    pub fn unlike(&self, other: &Self) -> Vec<Unlike> {
        let (a, b) = (&self.description, &other.description);
        let mut found = Vec::new();
        let mut compare = |what, a: String, b: String| {
            if a != b {
                found.push(Unlike { what, a, b });
            }
        };
        let hash = |text: &str| text.chars().take(16).collect::<String>();
        let recipe =
            |spec: &SplitSpec| format!("{} {} seed {}", spec.scheme.name(), spec.division, spec.seed);
        compare("dataset", hash(&a.data_hash), hash(&b.data_hash));
        compare("split", recipe(&a.split), recipe(&b.split));
        compare("part", a.part.name().to_owned(), b.part.name().to_owned());
        compare("number of rows", self.rows.len().to_string(), other.rows.len().to_string());
        if found.is_empty() && (self.rows != other.rows || self.scores != other.scores) {
            found.push(Unlike { what: "rows", a: "some".to_owned(), b: "others".to_owned() });
        }
        found
    }
}

fn unreadable(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::damage("is damaged or holds no predictions").caused_by(error)
}

/// Names the prediction file of an error.
fn in_file(path: &Path) -> impl FnOnce(Error) -> Error {
    move |error| error.while_doing(format!("prediction file {}", path.display()))
}

/// A condition in which two prediction files differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unlike {
    /// The condition.
    pub what: &'static str,
    /// Its value in the first file.
    pub a: String,
    /// Its value in the second file.
    pub b: String,
}
