//! What can go wrong with predictions, and whose fault it is.

use knockout_base::error::{Class, Classified, class_of_path};
use knockout_sources::import::{ImportError, ImportErrorKind, Place};
use knockout_train::checkpoint::CheckpointError;
use knockout_train::predictor::PredictorError;
use knockout_train::run::RunError;
use std::io;
use std::path::PathBuf;

/// Predictions that cannot be made or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PredictError {
    /// A run that cannot be opened.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A checkpoint that cannot be read.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A model that cannot predict.
    #[error(transparent)]
    Predictor(#[from] PredictorError),
    /// A cell that cannot be changed.
    #[error("the cell could not be changed")]
    Cell(#[source] knockout_base::error::Error),
    /// A list that cannot be read.
    #[error("could not read {}{place}", path.display())]
    List {
        /// The list.
        path: PathBuf,
        /// Location in it.
        place: Place,
        /// Cause.
        #[source]
        kind: Box<ImportErrorKind>,
    },
    /// A run without the state that was asked for.
    #[error("{} has no state {state:?} yet; let it train for an epoch, or take --state last", run.display())]
    NoState {
        /// The run.
        run: PathBuf,
        /// The state.
        state: &'static str,
    },
    /// Runs of several datasets.
    #[error(
        "{} was trained on another dataset than {}; runs of one ensemble share their dataset",
        other.display(), first.display()
    )]
    OtherDataset {
        /// The first run.
        first: PathBuf,
        /// One that differs.
        other: PathBuf,
    },
    /// Names that no gene has, or several.
    #[error("{place}: {} no gene of the dataset: {}", names_are(*count), names.join(", "))]
    UnknownGenes {
        /// File or option.
        place: String,
        /// Number of different names.
        count: usize,
        /// All of them, or the first ones, some with what may have been meant.
        names: Vec<String>,
    },
    /// A gene twice in one set.
    #[error("{place} names {name} twice; a set has every gene once")]
    RepeatedGene {
        /// File and line, or option.
        place: String,
        /// The gene.
        name: String,
    },
    /// A file without a set.
    #[error("{place} lists nothing; expected gene names, a set or a gene on each line")]
    EmptyList {
        /// File.
        place: String,
    },
    /// A query that leaves nothing to choose.
    #[error(
        "a query of {query} genes leaves nothing to choose in sets of {order}; name fewer genes or ask for larger sets"
    )]
    QueryTooLong {
        /// Genes of the query.
        query: usize,
        /// Genes of a set.
        order: usize,
    },
    /// A model that cannot score sets of that size.
    #[error("{model} scores sets of {} genes, and there are candidates of {order}", range_text(orders))]
    WrongOrder {
        /// The model.
        model: String,
        /// What it scores.
        orders: (usize, usize),
        /// What was asked for.
        order: usize,
    },
    /// Nothing to predict.
    #[error("nothing to predict: {what}")]
    NoCandidates {
        /// What was asked for.
        what: String,
    },
    /// A model that predicts no number.
    #[error(
        "the prediction of candidate {number} is {value}; the run has diverged, take another state or run"
    )]
    NotFinite {
        /// Its number.
        number: u64,
        /// What was predicted.
        value: f64,
    },
    /// An output that is something else.
    #[error("{} exists and holds no predictions; choose another folder or remove it first", path.display())]
    Exists {
        /// The output.
        path: PathBuf,
    },
    /// An output of another request.
    #[error(
        "{} holds predictions of another request: {} differ; choose another folder, or run the command that began it to resume",
        path.display(), keys.join(", ")
    )]
    OtherRequest {
        /// The output.
        path: PathBuf,
        /// What differs.
        keys: Vec<&'static str>,
    },
    /// An output that another process writes.
    #[error("another process is writing {}; wait for it to end or stop it first", path.display())]
    Busy {
        /// The output.
        path: PathBuf,
    },
    /// A folder that holds no predictions.
    #[error("{} holds no predictions; name a folder that `knockout predict` made", path.display())]
    NotPredictions {
        /// The folder.
        path: PathBuf,
    },
    /// A file that cannot be read.
    #[error("could not read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file or folder that cannot be written; what was written before it is whole.
    #[error(
        "predictions could not be written; the blocks before are kept; run the same command again to resume"
    )]
    Write(#[from] knockout_base::error::Error),
    /// A file that is damaged.
    #[error("{} is damaged ({detail}); remove it and run the same command again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        detail: String,
    },
    /// A table that could not be encoded.
    #[error("predictions could not be encoded")]
    Encode(#[source] knockout_base::error::Error),
    /// Parts that do not belong together.
    #[error("{} and {} are parts of different predictions: {} differ", first.display(), other.display(), keys.join(", "))]
    OtherParts {
        /// The first part.
        first: PathBuf,
        /// One that differs.
        other: PathBuf,
        /// What differs.
        keys: Vec<&'static str>,
    },
    /// The same part twice.
    #[error("{} and {} are both part {share}", first.display(), other.display())]
    PartTwice {
        /// One.
        first: PathBuf,
        /// The other.
        other: PathBuf,
        /// The part.
        share: String,
    },
    /// Parts that are not there.
    #[error("part {} of {of} missing; predict it, then merge again", parts.join(", "))]
    MissingParts {
        /// The missing ones.
        parts: Vec<String>,
        /// Number of parts.
        of: u64,
    },
    /// A part that was not finished.
    #[error(
        "{} is not finished: {missing} of {blocks} blocks are missing; say its command again, then merge",
        path.display()
    )]
    Unfinished {
        /// The part.
        path: PathBuf,
        /// Blocks that are missing.
        missing: u64,
        /// Blocks of the part.
        blocks: u64,
    },
}

fn range_text((low, high): &(usize, usize)) -> String {
    if low == high { low.to_string() } else { format!("{low} to {high}") }
}

impl From<ImportError> for PredictError {
    fn from(error: ImportError) -> Self {
        let ImportError { path, place, kind, .. } = error;
        Self::List { path, place, kind }
    }
}

impl Classified for PredictError {
    fn class(&self) -> Class {
        match self {
            Self::Run(error) => error.class(),
            Self::Checkpoint(error) => error.class(),
            Self::Predictor(error) => error.class(),
            Self::List { kind, .. } => kind.class(),
            Self::Write(error) => error.class(),
            Self::Read { source, .. } => class_of_path(source.kind()),
            Self::Damaged { .. } => Class::Damage,
            Self::Encode(_) | Self::Cell(_) => Class::Failure,
            Self::NotFinite { .. } => Class::Diverged,
            _ => Class::Request,
        }
    }
}

fn names_are(count: usize) -> String {
    if count == 1 { "one name is".to_owned() } else { format!("{count} names are") }
}
