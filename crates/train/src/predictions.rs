//! Prediction files: what a model says of every record of a part, beside what was measured.
//!
//! Parquet with the columns `row` (row of `samples.parquet`, ascending), `score` (measured) and `prediction`; the key
//! `knockout.predictions` of its metadata is a TOML table that says of what and by what. A file is written whole or not
//! at all. The module knows nothing of how predictions are made or judged.

use knockout_base::error::{Class, Classified, Error, class_of_path};
use knockout_base::files::replace;
use knockout_data::screen::{Dataset, Part, Split, SplitSpec};
use knockout_data::table::{Columns, Table};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// The key of the description in the file's metadata.
const DESCRIPTION: &str = "knockout.predictions";

/// What a prediction file says of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// The model's name.
    pub model: String,
    /// The seed of its weights, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Content hash of the dataset.
    pub data_hash: String,
    /// The part that was predicted.
    pub part: Part,
    /// Where the dataset was when the file was written: a hint, nothing more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// The split's own file, where no recipe makes it again; relative to the folder of the prediction file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split_file: Option<PathBuf>,
    /// The recipe of the split.
    pub split: SplitSpec,
}

/// Predictions for some rows of a dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct Predictions {
    /// Of what and by what.
    pub description: Description,
    /// Rows of the dataset, ascending.
    pub rows: Vec<u32>,
    /// Their measured scores.
    pub scores: Vec<f64>,
    /// What was predicted for them.
    pub predictions: Vec<f64>,
}

/// A prediction file that cannot be written or used.
#[derive(Debug, thiserror::Error)]
#[error("prediction file {}", path.display())]
pub struct PredictionsError {
    path: PathBuf,
    #[source]
    kind: PredictionsErrorKind,
}

#[derive(Debug, thiserror::Error)]
enum PredictionsErrorKind {
    #[error("could not be written")]
    Write(#[source] Error),
    #[error("could not be described: {0}")]
    Describe(String),
    #[error("could not be read")]
    Read(#[source] io::Error),
    #[error("is damaged or holds no predictions")]
    Columns(#[source] Error),
    #[error(
        "has no {DESCRIPTION:?} in its metadata, so nobody knows which records it is about; docs/evaluate.md says how to \
         write one"
    )]
    NoDescription,
    #[error("has a description that does not parse")]
    BadDescription(#[source] toml::de::Error),
    #[error("holds no predictions: it has no rows")]
    Empty,
    #[error("the {column} of row {row} is {value}; it must be a finite number")]
    NotFinite { column: &'static str, row: u32, value: f64 },
    #[error("row {row} follows row {before}; rows must ascend, each once")]
    Unsorted { before: u32, row: u32 },
    #[error("belongs to another dataset (data hash {found}, {} has {expected})", folder.display())]
    OtherDataset { found: String, expected: String, folder: PathBuf },
    #[error("the split it names cannot be made of this dataset")]
    Split(#[source] Error),
    #[error("the split file it names cannot be used")]
    SplitFile(#[source] Error),
    #[error(
        "has {found} rows that are not those of the {part} part of its {scheme} split (seed {seed}, {expected} rows)"
    )]
    OtherRows { found: usize, expected: usize, part: &'static str, scheme: &'static str, seed: u64 },
    #[error("says that row {row} was measured as {found}, the dataset has {expected}")]
    OtherScore { row: u32, found: f64, expected: f64 },
}

use PredictionsErrorKind as Kind;

impl Classified for PredictionsError {
    fn class(&self) -> Class {
        match &self.kind {
            Kind::Read(error) => class_of_path(error.kind()),
            Kind::Write(error) => error.class(),
            Kind::Describe(_) => Class::Request,
            _ => Class::Damage,
        }
    }
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
        let description = Description {
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

    /// Writes the file whole or not at all, replacing an older one only when complete.
    pub fn save(&self, path: &Path) -> Result<(), PredictionsError> {
        self.save_kind(path).map_err(|kind| PredictionsError { path: path.to_owned(), kind })
    }

    fn save_kind(&self, path: &Path) -> Result<(), Kind> {
        let description =
            toml::to_string(&self.description).map_err(|error| Kind::Describe(error.to_string()))?;
        let bytes = Columns::new(self.rows.len())
            .with_metadata(DESCRIPTION, description)
            .u32s("row", |row| self.rows[row])
            .f64s("score", |row| self.scores[row])
            .f64s("prediction", |row| self.predictions[row])
            .encode()
            .map_err(Kind::Columns)?;
        replace(path, |out| out.write_all(&bytes)).map_err(Kind::Write)
    }

    /// Reads a file and checks everything that can be checked without its dataset.
    pub fn load(path: &Path) -> Result<Self, PredictionsError> {
        Self::load_kind(path).map_err(|kind| PredictionsError { path: path.to_owned(), kind })
    }

    fn load_kind(path: &Path) -> Result<Self, Kind> {
        let table = Table::decode(std::fs::read(path).map_err(Kind::Read)?).map_err(Kind::Columns)?;
        let rows = table.u32s("row").map_err(Kind::Columns)?;
        let scores = table.f64s("score").map_err(Kind::Columns)?;
        let predictions = table.f64s("prediction").map_err(Kind::Columns)?;
        let description = table.metadata(DESCRIPTION).ok_or(Kind::NoDescription)?;
        let description = toml::from_str(description).map_err(Kind::BadDescription)?;
        if rows.is_empty() {
            return Err(Kind::Empty);
        }
        if let Some(pair) = rows.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(Kind::Unsorted { before: pair[0], row: pair[1] });
        }
        for (column, values) in [("score", &scores), ("prediction", &predictions)] {
            if let Some(index) = values.iter().position(|value| !value.is_finite()) {
                return Err(Kind::NotFinite { column, row: rows[index], value: values[index] });
            }
        }
        Ok(Self { description, rows, scores, predictions })
    }

    /// Makes the split that the predictions are of, and refuses predictions that do not fit it or the dataset.
    ///
    /// `path` and `folder` are those of the file and the dataset, for the message.
    pub fn split_of(&self, dataset: &Dataset, path: &Path, folder: &Path) -> Result<Split, PredictionsError> {
        self.split_kind(dataset, path, folder)
            .map_err(|kind| PredictionsError { path: path.to_owned(), kind })
    }

    fn split_kind(&self, dataset: &Dataset, path: &Path, folder: &Path) -> Result<Split, Kind> {
        let Description { part, split: spec, split_file, data_hash, .. } = &self.description;
        let expected = dataset.manifest.data_hash();
        if *data_hash != expected {
            return Err(Kind::OtherDataset { found: data_hash.clone(), expected, folder: folder.to_owned() });
        }
        let split = match split_file {
            Some(file) => {
                let file = path.parent().unwrap_or(Path::new("")).join(file);
                Split::load(&file, &dataset.manifest).map_err(Kind::SplitFile)?
            }
            None => Split::new(&dataset.samples, dataset.cell.genes(), *spec).map_err(Kind::Split)?,
        };
        let rows = split.rows(*part);
        if rows != self.rows {
            return Err(Kind::OtherRows {
                found: self.rows.len(),
                expected: rows.len(),
                part: part.name(),
                scheme: spec.scheme.name(),
                seed: spec.seed,
            });
        }
        for (&row, &found) in rows.iter().zip(&self.scores) {
            let expected = dataset.samples.scores()[row as usize];
            if found != expected {
                return Err(Kind::OtherScore { row, found, expected });
            }
        }
        Ok(split)
    }

    /// Why two files cannot be compared record by record; nothing when they can.
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
