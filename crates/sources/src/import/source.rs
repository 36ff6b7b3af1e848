//! A file to be imported, and the tally of what became of its rows.
//!
//! Formats read through a [`Source`], so that tests can hand them bytes; whether these are packed, a sheet or Parquet
//! is decided here and in [`crate::import::read`].

use crate::import::fault;
use crate::import::names::{Names, UnresolvedNames};
use crate::import::read::{ColumnNames, InputBytes, Style, Tally, TextTable, hash_whole, read_error};
use knockout_base::error::Error;
use serde::de::DeserializeOwned;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The most bytes that a JSON or YAML file may have.
const MAX_TEXT: u64 = 1 << 30;

enum Content<'a> {
    File(&'a dyn Fn(u64)),
    Bytes(&'a [u8]),
}

/// Something to import.
pub struct Source<'a> {
    path: PathBuf,
    content: Content<'a>,
    sheet: RefCell<Option<String>>,
    tally: RefCell<Tally>,
}

impl std::fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("path", &self.path).finish_non_exhaustive()
    }
}

impl<'a> Source<'a> {
    /// A file; `advance` receives the number of bytes read from disk.
    pub fn file(path: impl Into<PathBuf>, advance: &'a dyn Fn(u64)) -> Self {
        Self {
            path: path.into(),
            content: Content::File(advance),
            sheet: RefCell::default(),
            tally: RefCell::default(),
        }
    }

    /// Bytes in memory under a name.
    pub fn bytes(name: &str, bytes: &'a [u8]) -> Self {
        Self {
            path: name.into(),
            content: Content::Bytes(bytes),
            sheet: RefCell::default(),
            tally: RefCell::default(),
        }
    }

    /// Chooses a sheet of a workbook; the first one otherwise.
    pub(crate) fn choose_sheet(&self, sheet: Option<&str>) {
        *self.sheet.borrow_mut() = sheet.map(str::to_owned);
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// blake3 of what has been read: of the whole file once an importer is through with it.
    pub fn digest(&self) -> String {
        self.tally.borrow().digest()
    }

    /// The content as a stream of text.
    pub fn input(&self) -> Result<InputBytes<'a>, Error> {
        let input = match self.content {
            Content::File(advance) => InputBytes::open(&self.path, advance)?,
            Content::Bytes(bytes) => InputBytes::from_bytes(&self.path.to_string_lossy(), bytes)?,
        };
        *self.tally.borrow_mut() = input.tally();
        Ok(input)
    }

    /// The content as a table with named columns: text, a sheet or Parquet.
    pub fn table(
        &self,
        style: Style,
        columns: &[ColumnNames<'_>],
    ) -> Result<(TextTable<'a>, Vec<Option<usize>>), Error> {
        match self.content {
            Content::File(advance) => {
                let (table, found, tally) =
                    TextTable::open(&self.path, style, self.sheet.borrow().as_deref(), columns, advance)?;
                *self.tally.borrow_mut() = tally;
                Ok((table, found))
            }
            Content::Bytes(_) => TextTable::with_header(self.input()?, style, columns),
        }
    }

    /// The content as a table without a header: text or a sheet.
    pub(crate) fn unheaded(&self, style: Style) -> Result<TextTable<'a>, Error> {
        match self.content {
            Content::File(advance) => {
                let (table, tally) =
                    TextTable::open_unheaded(&self.path, style, self.sheet.borrow().as_deref(), advance)?;
                *self.tally.borrow_mut() = tally;
                Ok(table)
            }
            Content::Bytes(_) => TextTable::unchecked(self.input()?, style),
        }
    }

    /// The content as one JSON value; `what` names it in messages.
    pub(crate) fn json<T: DeserializeOwned>(&self, what: &'static str) -> Result<T, Error> {
        serde_json::from_slice(&self.whole(what)?).map_err(|error| self.fail(fault::decode(what, error)))
    }

    /// The content as one YAML value without aliases; `what` names it in messages.
    pub(crate) fn yaml<T: DeserializeOwned>(&self, what: &'static str) -> Result<T, Error> {
        let bytes = self.whole(what)?;
        // Without aliases a value takes no more than the text has.
        let most = bytes.len().saturating_add(16).saturating_mul(2);
        let options = serde_saphyr::options! {
            budget: serde_saphyr::budget! {
                max_nodes: most,
                max_events: most,
                max_total_scalar_bytes: most,
                max_total_comment_bytes: most,
                max_aliases: 0,
            },
            with_snippet: false,
        };
        serde_saphyr::from_slice_with_options(&bytes, options).map_err(|error| {
            let line = error.location().map(|location| location.line());
            let error = fault::decode(what, error);
            self.fail(if let Some(line) = line { error.on_line(line) } else { error })
        })
    }

    /// The whole content of a text of limited size.
    fn whole(&self, what: &'static str) -> Result<Vec<u8>, Error> {
        let (_, stream) = self.input()?.expect_text(what)?;
        let mut bytes = Vec::new();
        let read = stream.take(MAX_TEXT + 1).read_to_end(&mut bytes);
        read.map_err(|error| self.fail(read_error(error)))?;
        if bytes.len() as u64 > MAX_TEXT {
            return Err(self.fail(fault::too_many("bytes", MAX_TEXT as usize)));
        }
        Ok(bytes)
    }

    /// Hashes the whole file, for formats that read it at random.
    pub fn hash(&self) -> Result<(), Error> {
        if let Content::File(advance) = self.content {
            *self.tally.borrow_mut() = hash_whole(&self.path, advance)?;
        }
        Ok(())
    }

    /// Names the file in an error.
    pub(crate) fn fail(&self, error: Error) -> Error {
        error.in_file(&self.path)
    }
}

/// Counts of the rows of a file.
#[derive(Debug, Clone, Default)]
pub struct RowTally {
    /// Rows read, the header not counted.
    pub rows: u64,
    /// Names that were not found, and the rows left out for them.
    pub unresolved: UnresolvedNames,
    /// Rows left out for other reasons.
    pub skipped: BTreeMap<&'static str, u64>,
}

impl RowTally {
    /// Notes a row left out for a reason.
    pub fn skip(&mut self, reason: &'static str) {
        *self.skipped.entry(reason).or_default() += 1;
    }

    /// Returns the rows left out because the recipe excludes them or because they hold nothing to import.
    pub(crate) fn skipped_rows(&self) -> u64 {
        self.skipped.values().sum()
    }

    /// The gene of a name; a row whose name is not found is noted and has none.
    pub fn gene(&mut self, names: &Names, name: &[u8], line: u64) -> Option<u32> {
        let gene = names.gene(name);
        if gene.is_none() {
            self.unresolved.note(names, name, line);
        }
        gene
    }

    /// The genes at both ends of an edge; the row counts once, whichever name is missing.
    pub fn ends(&mut self, names: &Names, [from, to]: [&[u8]; 2], line: u64) -> Option<[u32; 2]> {
        let from = self.gene(names, from, line)?;
        Some([from, self.gene(names, to, line)?])
    }
}
