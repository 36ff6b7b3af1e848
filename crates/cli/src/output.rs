//! Output files that are complete or absent, and that replace nothing but outputs of the same kind.

use crate::failure::{FailureContext as _, Result, request_error};
use clap::Args;
#[cfg(feature = "lab")]
use knockout_base::files::Folder;
use knockout_base::files::PendingFile;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

/// Kind of an output; a file of another kind is not replaced without `--force`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputKind {
    /// An HTML report.
    Page,
    /// Collapsed stacks.
    Stacks,
    /// A trace. It may come from another program, so `--force` is always needed.
    Trace,
    /// A packed model: `--force` is always needed, as it may be the only one.
    #[cfg(feature = "lab")]
    Model,
}

/// Whether a file that this program did not make may be replaced.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct ForceArg {
    /// Replace an output file even if it is not of the kind that knockout writes there
    #[arg(long)]
    pub(crate) force: bool,
}

/// Refuses an output, before the work, that must not be replaced: an input of the command, a folder, a file of a dataset or a run, or,
/// without `--force`, a file that is not of this kind. Devices and pipes are written to. `-` is standard output.
pub(crate) fn check(path: &Path, kind: OutputKind, inputs: &[&Path], force: ForceArg) -> Result<()> {
    if path == Path::new("-") {
        return Ok(());
    }
    if path.file_name().is_none() {
        return Err(request_error(format!("{} is not the name of a file", path.display())));
    }
    let Ok(found) = fs::metadata(path) else { return Ok(()) };
    let refuse = |why: &str| Err(request_error(format!("{} {why}", path.display())));
    if found.is_dir() {
        return refuse("is a folder; name a file");
    }
    if !found.is_file() {
        return Ok(());
    }
    if inputs.iter().any(|input| is_same(path, input)) {
        return refuse("is an input of this command; choose another name for the output");
    }
    if belongs_to_folder(path) {
        return refuse("is a file of a dataset or a run; choose another name for the output");
    }
    if force.force || found.len() == 0 || is_of_kind(path, kind) {
        return Ok(());
    }
    refuse(match kind {
        OutputKind::Trace => "exists; add --force to replace it",
        #[cfg(feature = "lab")]
        OutputKind::Model => "exists; add --force to replace it",
        OutputKind::Page | OutputKind::Stacks => {
            "exists and is not an output of this kind that knockout made; add --force to replace it"
        }
    })
}

fn is_same(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    if let (Ok(a), Ok(b)) = (fs::metadata(a), fs::metadata(b)) {
        use std::os::unix::fs::MetadataExt as _;
        // Under another name, or through a link, it is the same file.
        return (a.dev(), a.ino()) == (b.dev(), b.ino());
    }
    matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}

/// Whether the folder of a file is, or lies in, a dataset, a run, a checkpoint or a measurement.
fn belongs_to_folder(path: &Path) -> bool {
    const SIGNS: [&str; 3] = ["dataset.toml", "manifest.json", "profile.json"];
    let Ok(path) = fs::canonicalize(path) else { return false };
    let mut folders = path.ancestors().skip(1);
    let has = |folder: &Path, signs: &[&str]| signs.iter().any(|sign| folder.join(sign).is_file());
    // `networks/…` and `metabolism/…` are one level further down.
    folders.next().is_some_and(|folder| has(folder, &SIGNS))
        || folders.next().is_some_and(|folder| has(folder, &SIGNS[..1]))
}

fn is_of_kind(path: &Path, kind: OutputKind) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(1 << 16).read_to_end(&mut head));
    let text = String::from_utf8_lossy(&head);
    match kind {
        _ if read.is_err() => false,
        OutputKind::Page => {
            let title = text.split("</title>").next().unwrap_or_default();
            text.starts_with("<!doctype html>") && title.contains(" – knockout")
        }
        // Every line is frames and a number; the last one read may be cut.
        OutputKind::Stacks => {
            let is_stack = |line: &str| {
                let count = line.rsplit_once(' ').map(|(_, count)| count);
                count
                    .is_some_and(|count| !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit()))
            };
            let whole = text.rfind('\n').map_or("", |end| &text[..end]);
            !whole.is_empty() && whole.lines().all(is_stack)
        }
        OutputKind::Trace => false,
        #[cfg(feature = "lab")]
        OutputKind::Model => false,
    }
}

/// Paths of all inputs, for [`check`].
pub(crate) fn paths<'a>(inputs: impl IntoIterator<Item = &'a PathBuf>) -> Vec<&'a Path> {
    inputs.into_iter().map(PathBuf::as_path).collect()
}

/// Opens an output before the work, so that a bad path fails early; folders above it are made.
pub(crate) fn create(path: &Path) -> Result<PendingFile> {
    Ok(PendingFile::create(path)?)
}

/// Writes a text into a file of a folder that may come from somebody else.
#[cfg(feature = "lab")]
pub(crate) fn write_in(folder: &Path, name: &str, text: &str) -> Result<()> {
    Ok(Folder::at(folder).replace(name, |out| out.write_all(text.as_bytes()))?)
}

/// Writes a whole text into a file; `-` is standard output.
pub(crate) fn write_text(path: &Path, text: &str, ui: &crate::ui::Ui) -> Result<()> {
    if path == Path::new("-") {
        return ui.raw(text);
    }
    let mut out = create(path)?;
    out.write_all(text.as_bytes()).with_context(|| format!("could not write {}", path.display()))?;
    Ok(out.commit()?)
}
