//! What can go wrong with a store, and whose fault it is.

use super::StoredForm;
use crate::lmdb::LmdbError;
use knockout_base::error::{Class, Classified, class_of_path};
use std::io;
use std::path::{Path, PathBuf};

/// A store that could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("store {}", path.display())]
#[non_exhaustive]
pub struct StoreError {
    /// The folder at fault.
    pub path: PathBuf,
    /// What is wrong with it.
    #[source]
    pub kind: StoreErrorKind,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// Nothing is there.
    #[error("there is no store; make one with `knockout data precompute DIR --indices` or `--masks`")]
    NotFound,
    /// The folder is used for something else.
    #[error("the folder has other files in it; choose an empty or a new one with --out")]
    NotEmpty,
    /// No LMDB file, or one of somebody else.
    #[error("this is no store of knockout ({detail}); choose another folder")]
    NotAStore {
        /// How the file differs from a store.
        detail: String,
    },
    /// A format from the future.
    #[error(
        "format version {found} is newer than this program reads ({supported}); install a newer knockout"
    )]
    NewerFormat {
        /// The version found.
        found: u32,
        /// The newest version this program reads.
        supported: u32,
    },
    /// The file is shorter than it says.
    #[error(
        "the LMDB file is cut off: it has {length} bytes and says that it needs {needed}; remove the folder and run \
         `knockout data precompute` again"
    )]
    CutOff {
        /// Size of the file in bytes.
        length: u64,
        /// The bytes it should have.
        needed: u64,
    },
    /// Not every sample is stored yet.
    #[error(
        "it is unfinished ({done} of {count} samples); run the `knockout data precompute` that began it again to resume"
    )]
    Unfinished {
        /// Samples stored.
        done: usize,
        /// Samples chosen.
        count: usize,
    },
    /// Made for another graph.
    #[error(
        "it was made for another graph (hash {found}…, the dataset's is {expected}…): its masks would remove the wrong \
         edges; remove the folder and run `knockout data precompute` again, or name the store of this dataset"
    )]
    OtherCell {
        /// The beginning of the stored hash.
        found: String,
        /// The beginning of the dataset's.
        expected: String,
    },
    /// Made for other samples.
    #[error(
        "it was made for other samples (hash {found}…, the dataset's is {expected}…): its rows mean other deletions; \
         remove the folder and run `knockout data precompute` again, or name the store of this dataset"
    )]
    OtherSamples {
        /// The beginning of the stored hash.
        found: String,
        /// The beginning of the dataset's.
        expected: String,
    },
    /// It holds something else than asked for.
    #[error("it holds {}, not {}; choose another folder with --out, or remove this one", found.name(), wanted.name())]
    OtherForm {
        /// What it holds.
        found: StoredForm,
        /// What was asked for.
        wanted: StoredForm,
    },
    /// It holds what another processor reads.
    #[error("it holds {}, which {wanted} does not read; name the store of {wanted}", found.name())]
    OtherProcessor {
        /// What it holds.
        found: StoredForm,
        /// Who was to read it.
        wanted: &'static str,
    },
    /// It was begun with another choice of samples.
    #[error(
        "it was begun with another choice of samples ({found} of them, not these {wanted}); give the same --samples and \
         --seed, choose another folder with --out, or remove this one"
    )]
    OtherChoice {
        /// How many it was begun with.
        found: usize,
        /// How many were asked for.
        wanted: usize,
    },
    /// A sample that was not chosen.
    #[error(
        "it has {count} samples and row {row} is not among them; store more with `knockout data precompute`, into a new \
         folder"
    )]
    MissingSample {
        /// Row of the dataset that was asked for.
        row: u32,
        /// How many samples there are.
        count: usize,
    },
    /// A gene beyond the cell's table.
    #[error(
        "row {row} deletes gene {gene}, but the cell has {count}; check the dataset with `knockout data verify`"
    )]
    UnknownGene {
        /// Row of the dataset.
        row: u32,
        /// Row of the gene table that it names.
        gene: u32,
        /// Genes in the cell.
        count: usize,
    },
    /// A value that is not what was written.
    #[error(
        "the value of row {row} is damaged ({detail}); remove the folder and run `knockout data precompute` again"
    )]
    Damaged {
        /// Row of the dataset.
        row: u32,
        /// What is wrong with it.
        detail: &'static str,
    },
    /// A link in the folder.
    #[error("{message}")]
    Link {
        /// Which link, and what to do about it.
        message: String,
    },
    /// A file system that LMDB must not be used on.
    #[error(
        "it is on {name}, a file system over a network or in user space, where LMDB's memory map is unsafe; choose a \
         folder on a local disk with --out"
    )]
    NetworkFileSystem {
        /// The kind of file system.
        name: &'static str,
    },
    /// The disk is too small.
    #[error(
        "it needs {} more and the disk has {} free; store fewer with --samples (about {fit} fit) or \
         choose a folder on another disk with --out",
        gibibytes(*needed),
        gibibytes(*free)
    )]
    NoRoom {
        /// Bytes still to be written.
        needed: u64,
        /// Bytes free.
        free: u64,
        /// About how many samples would fit.
        fit: usize,
    },
    /// The disk is full although there was room.
    #[error(
        "the disk is full; what is stored so far is safe: free some space and run the same command again to resume"
    )]
    DiskFull,
    /// Somebody else is writing.
    #[error("another process is writing it; wait for it to end")]
    Busy,
    /// The operating system or LMDB refused.
    #[error("could not be {act}: {detail}")]
    Refused {
        /// Read, written, created.
        act: &'static str,
        /// Message of the system or of LMDB.
        detail: String,
        /// The operating system's class.
        class: io::ErrorKind,
    },
}

fn gibibytes(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}

impl StoreErrorKind {
    pub(super) fn at(self, path: &Path) -> StoreError {
        StoreError { path: path.to_owned(), kind: self }
    }

    pub(super) fn io(act: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |error| match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull,
            class => Self::Refused { act, detail: error.to_string(), class },
        }
    }

    /// What is wrong with a store whose file cannot be opened.
    pub(super) fn opening(error: LmdbError) -> Self {
        match error {
            LmdbError::Io(error) if error.kind() == io::ErrorKind::NotFound => Self::NotFound,
            other => Self::lmdb("read")(other),
        }
    }

    pub(super) fn lmdb(act: &'static str) -> impl FnOnce(LmdbError) -> Self {
        move |error| match error {
            LmdbError::NotLmdb => Self::NotAStore { detail: "its data.mdb is no LMDB file".to_owned() },
            LmdbError::CutOff { length, needed } => Self::CutOff { length, needed },
            LmdbError::Empty => Self::NotAStore { detail: "its data.mdb is empty".to_owned() },
            LmdbError::Damaged { .. } | LmdbError::OtherOrder => {
                Self::NotAStore { detail: format!("its data.mdb is damaged: {error}") }
            }
            LmdbError::Io(error) => Self::io(act)(error),
            other => Self::Refused { act, detail: other.to_string(), class: io::ErrorKind::Other },
        }
    }
}

impl Classified for StoreError {
    fn class(&self) -> Class {
        use StoreErrorKind as Kind;
        match &self.kind {
            Kind::NotFound
            | Kind::NotEmpty
            | Kind::Unfinished { .. }
            | Kind::OtherForm { .. }
            | Kind::OtherProcessor { .. }
            | Kind::OtherChoice { .. }
            | Kind::MissingSample { .. }
            | Kind::NetworkFileSystem { .. }
            | Kind::NoRoom { .. }
            | Kind::Busy => Class::Request,
            Kind::Refused { class, .. } => class_of_path(*class),
            Kind::DiskFull => Class::Failure,
            _ => Class::Damage,
        }
    }
}
