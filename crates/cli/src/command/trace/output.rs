//! Output files that are whole or absent.

use crate::ui::request_error;
use anyhow::Context as _;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Whether a file that exists may be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    Refuse,
    Replace,
}

/// A file that takes its name only when it is complete. Opened before the work, so that a bad path fails early.
pub(crate) struct OutputFile {
    path: PathBuf,
    partial: PathBuf,
    out: Option<BufWriter<File>>,
}

impl OutputFile {
    pub(crate) fn create(path: &Path, existing: Existing) -> anyhow::Result<Self> {
        if existing == Existing::Refuse && path.exists() {
            return Err(request_error(format!("{} exists; add --force to replace it", path.display())));
        }
        let mut name = path.file_name().map_or_else(OsString::new, OsString::from);
        if name.is_empty() {
            return Err(request_error(format!("{} is not the name of a file", path.display())));
        }
        name.push(format!(".partial-{}", std::process::id()));
        let partial = path.with_file_name(name);
        let file = File::create_new(&partial)
            .map_err(|error| request_error(format!("could not create {}: {error}", partial.display())))?;
        let out = Some(BufWriter::with_capacity(1 << 18, file));
        Ok(Self { path: path.to_owned(), partial, out })
    }

    /// Gives the file its name.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        let place = || format!("could not write {}", self.path.display());
        if let Some(out) = self.out.take() {
            let file = out.into_inner().map_err(std::io::IntoInnerError::into_error).with_context(place)?;
            file.sync_all().with_context(place)?;
        }
        fs::rename(&self.partial, &self.path).with_context(place)
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.out.as_mut().map_or(Ok(0), |out| out.write(bytes))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        // After `finish` the name is gone already.
        fs::remove_file(&self.partial).ok();
    }
}

/// Writes a whole text into a file; `-` is standard output.
pub(crate) fn write_text(path: &Path, text: &str, ui: &crate::ui::Ui) -> anyhow::Result<()> {
    if path == Path::new("-") {
        return ui.raw(text);
    }
    let mut out = OutputFile::create(path, Existing::Replace)?;
    out.write_all(text.as_bytes()).with_context(|| format!("could not write {}", path.display()))?;
    out.finish()
}
