//! Output files that are whole or absent.

use crate::failure::{Context as _, Result, request_error};
use knockout_durable::PendingFile;
use std::io::Write as _;
use std::path::Path;

/// Whether a file that exists may be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    Refuse,
    Replace,
}

/// Opens an output before the work, so that a bad path fails early.
pub(crate) fn create(path: &Path, existing: Existing) -> Result<PendingFile> {
    if existing == Existing::Refuse && path.exists() {
        return Err(request_error(format!("{} exists; add --force to replace it", path.display())));
    }
    if path.file_name().is_none() {
        return Err(request_error(format!("{} is not the name of a file", path.display())));
    }
    Ok(PendingFile::create(path)?)
}

/// Writes a whole text into a file; `-` is standard output.
pub(crate) fn write_text(path: &Path, text: &str, ui: &crate::ui::Ui) -> Result<()> {
    if path == Path::new("-") {
        return ui.raw(text);
    }
    let mut out = create(path, Existing::Replace)?;
    out.write_all(text.as_bytes()).with_context(|| format!("could not write {}", path.display()))?;
    Ok(out.commit()?)
}
