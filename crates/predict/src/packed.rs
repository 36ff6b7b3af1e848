//! A model in one file: a run with the state that predicts, and its dataset.
//!
//! The file is a ZIP archive of uncompressed files with a sealed list of their lengths and checksums, so other programs can look into it.
//! It is opened as a file from somebody else: only listed files are taken, each under a plain name, and together they are not longer
//! than the archive. Its content is unpacked into a private temporary folder and then opened like any other run, which verifies it again.

use knockout_base::error::{Context as _, Error, Result, chain};
use knockout_base::files::{EntryKind, Folder, Sealed, replace, seal};
use knockout_data::screen::{Manifest, Part};
use knockout_models::MODELS;
use knockout_train::checkpoint::{Checkpoints, Slot};
use knockout_train::run::{RunDescription, RunManifest, RunSummary};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _, Seek, Write};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use zip::write::{SimpleFileOptions, ZipWriter};
use zip::{CompressionMethod, DateTime, ZipArchive};

/// Version of the format.
const FORMAT: u32 = 1;
/// The sealed list of all other files.
const LIST: &str = "pack.json";
/// The card, for people.
const CARD: &str = "README.md";
/// Folders in the archive.
const RUN: &str = "run";
const DATASET: &str = "dataset";
/// The manifest of the run in the archive.
const MANIFEST: &str = "run/manifest.json";
/// Files of an archive.
const MOST_FILES: usize = 4_096;
/// Longest file of an archive: what the format holds without extensions.
const LONGEST: u64 = u32::MAX as u64;
/// Longest list.
const LONGEST_LIST: u64 = 4 << 20;
const BLOCK: usize = 1 << 20;

/// The content of an archive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pack {
    /// Version of the format.
    pub format: u32,
    /// knockout's version.
    pub version: String,
    /// Name of the run.
    pub run: String,
    /// Its model.
    pub model: String,
    /// Seed of the weights.
    pub seed: u64,
    /// The state of the run.
    pub state: String,
    /// blake3 over the weights.
    pub weights_hash: String,
    /// Name of the dataset.
    pub dataset: String,
    /// Content hash of the dataset.
    pub data_hash: String,
    /// Best validation Pearson.
    pub validation_pearson: Option<f64>,
    /// Licence that the author chose.
    pub licence: Option<String>,
    files: BTreeMap<String, PackedFile>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct PackedFile {
    bytes: u64,
    blake3: String,
}

/// An unpacked archive; its folder disappears with it.
#[derive(Debug)]
pub struct Unpacked {
    folder: TempDir,
    /// The list of the archive.
    pub pack: Pack,
}

impl Unpacked {
    /// Returns the folder of the run.
    pub fn run(&self) -> PathBuf {
        self.folder.path().join(RUN)
    }

    /// Returns the folder of the dataset.
    pub fn dataset(&self) -> PathBuf {
        self.folder.path().join(DATASET)
    }
}

/// Packs a state of a run, by default the best, with its dataset into a file that is complete or absent.
pub fn pack(
    run: &Path,
    state: Option<Slot>,
    data: Option<&Path>,
    licence: Option<&str>,
    out: &Path,
) -> Result<Pack> {
    let mut description = RunDescription::read(run, &[] as &[&str], MODELS)?;
    if let Some(data) = data {
        description = description.with_dataset(data);
    }
    // Opening verifies that the dataset is the one of the run.
    let (dataset, split) = description.open_dataset()?;
    let Some((slot, checkpoint, opened)) = Checkpoints::of_run(run).choose(state)? else {
        let run = run.display();
        return Err(Error::request(format!("{run} has no state to pack yet; let it train for an epoch")));
    };
    let summary = RunSummary::read(run)?;
    let name = run.file_name().map_or_else(|| "run".to_owned(), |name| name.to_string_lossy().into_owned());
    let of_state = summary.lines.iter().find(|line| line.weights_hash == opened.weights_hash);
    let mut pack = Pack {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        run: name,
        model: description.config.model.name().to_owned(),
        seed: description.config.seed,
        state: slot.name().to_owned(),
        weights_hash: opened.weights_hash,
        dataset: dataset.manifest.name.clone(),
        data_hash: dataset.manifest.data_hash(),
        validation_pearson: of_state.and_then(|line| line.val.pearson),
        licence: licence.map(str::to_owned),
        files: BTreeMap::new(),
    };
    let order = split.rows(Part::Train).iter().map(|&row| dataset.samples.genes(row as usize).len()).min();
    let card = card(&pack, &summary, &dataset.manifest, order.unwrap_or(2));
    let (run, data) = (Folder::at(run), Folder::at(description.dataset_folder()?));
    let checkpoint = Path::new("checkpoints").join(checkpoint.file_name().unwrap_or_default());
    let mut files = Vec::new();
    for entry in run.entries()?.into_iter().filter(|entry| entry.kind == EntryKind::File) {
        // What `train` needs to resume and pages for people stay at home.
        let name = entry.name.to_string_lossy().into_owned();
        let is_kept = [
            "manifest.json",
            "config.toml",
            "overrides.txt",
            "split.parquet",
            "metrics.jsonl",
            "metrics.seal",
        ];
        if is_kept.contains(&&name[..]) {
            files.push((format!("{RUN}/{name}"), run.clone(), PathBuf::from(name)));
        }
    }
    for below in [checkpoint.as_path(), Path::new("from")] {
        if run.has(below) {
            collect(&run, below, RUN, &mut files)?;
        }
    }
    let listed = dataset.manifest.checksums.keys().map(String::as_str);
    for name in listed.chain(["dataset.toml"]) {
        files.push((format!("{DATASET}/{name}"), data.clone(), PathBuf::from(name)));
    }
    let written = replace(out, |out| {
        write(out, &card, &files, &mut pack).map_err(|error| io::Error::other(chain(&error)))
    });
    written.map_err(|error| error.while_doing(format!("could not write {}", out.display())))?;
    Ok(pack)
}

/// A name in the archive, and the file.
type Source = (String, Folder, PathBuf);

/// Collects the files of a folder and those below it.
fn collect(folder: &Folder, below: &Path, to: &str, files: &mut Vec<Source>) -> Result<()> {
    for entry in folder.below(below).entries()? {
        let name = below.join(&entry.name);
        match entry.kind {
            EntryKind::Folder => collect(folder, &name, to, files)?,
            _ => files.push((format!("{to}/{}", name.display()), folder.clone(), name)),
        }
    }
    Ok(())
}

fn write(out: &mut dyn Write, card: &str, files: &[Source], pack: &mut Pack) -> Result<()> {
    let failed =
        |error: zip::result::ZipError| Error::failure("the archive could not be written").caused_by(error);
    let mut archive = ZipWriter::new_stream(out);
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .last_modified_time(DateTime::default())
        .unix_permissions(0o644);
    archive.start_file(CARD, options).map_err(failed)?;
    let entry = copy(&mut card.as_bytes(), &mut archive).in_file(CARD)?;
    pack.files.insert(CARD.to_owned(), entry);
    for (name, folder, path) in files {
        archive.start_file(&name[..], options).map_err(failed)?;
        let mut file = folder.open_file(path)?;
        let copied = if name == MANIFEST {
            // Where a model was trained concerns only its author.
            without_place(&mut file).and_then(|text| copy(&mut text.as_bytes(), &mut archive))
        } else {
            copy(&mut file, &mut archive)
        };
        let entry = copied.in_file(folder.path().join(path))?;
        if pack.files.insert(name.clone(), entry).is_some() {
            return Err(Error::damage(format!("{name} would be in the archive twice")));
        }
    }
    archive.start_file(LIST, options).map_err(failed)?;
    copy(&mut seal(pack)?.as_bytes(), &mut archive)?;
    archive.finish().map_err(failed)?;
    Ok(())
}

/// Reads the manifest of a run, without the machine and the folder it was trained in.
fn without_place(file: &mut dyn io::Read) -> Result<String> {
    let mut text = Vec::new();
    file.read_to_end(&mut text).map_err(|error| Error::failure("could not be read").caused_by(error))?;
    RunManifest::without_place(&text)
}

/// Copies a file and computes its length and checksum.
fn copy(from: &mut dyn io::Read, to: &mut dyn Write) -> Result<PackedFile> {
    let failed = |error: io::Error| Error::failure("could not be copied").caused_by(error);
    let (mut block, mut hasher, mut bytes) = (vec![0; BLOCK], blake3::Hasher::new(), 0_u64);
    loop {
        let read = from.read(&mut block).map_err(|error| match error.kind() {
            // The archive has a checksum and a length of its own for each file.
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
                Error::damage("it is damaged in the archive").caused_by(error)
            }
            _ => failed(error),
        })?;
        if read == 0 {
            return Ok(PackedFile { bytes, blake3: hasher.finalize().to_hex().to_string() });
        }
        bytes += read as u64;
        if bytes > LONGEST {
            return Err(Error::request("a file is longer than 4 GiB, which an archive cannot hold"));
        }
        hasher.update(&block[..read]);
        to.write_all(&block[..read]).map_err(failed)?;
    }
}

/// Unpacks an archive into a private temporary folder. A damaged or hostile one is refused, and nothing is left of it.
pub fn unpack(path: &Path) -> Result<Unpacked> {
    open(path).map_err(|error| error.while_doing(format!("could not open {}", path.display())))
}

fn open(path: &Path) -> Result<Unpacked> {
    let file = File::open(path).map_err(|error| Error::io("could not be opened", path, error))?;
    let metadata = file.metadata().map_err(|error| Error::io("could not be read", path, error))?;
    if !metadata.is_file() {
        return Err(Error::request("it is not a file; name a run's folder or a file of `knockout pack`"));
    }
    let mut archive = ZipArchive::new(io::BufReader::new(file)).map_err(unreadable)?;
    if archive.len() > MOST_FILES {
        return Err(Error::damage(format!("it has {} files, more than {MOST_FILES}", archive.len())));
    }
    let pack: Pack = {
        let text = read(&mut archive, LIST, LONGEST_LIST)?;
        let Sealed { value, is_sealed } = Sealed::<Pack>::read(&text).in_file(LIST)?;
        if !is_sealed {
            return Err(Error::damage("it does not have its checksum").in_file(LIST));
        }
        value
    };
    if pack.format != FORMAT {
        let found = pack.format;
        return Err(Error::request(format!(
            "it has format {found}, and this version reads {FORMAT}; use a newer knockout"
        )));
    }
    if archive.len() != pack.files.len() + 1 {
        return Err(Error::damage(format!(
            "it holds {} files and lists {}",
            archive.len() - 1,
            pack.files.len()
        )));
    }
    // Files are not compressed: longer ones would overlap.
    let sum = pack.files.values().try_fold(0_u64, |sum, file| sum.checked_add(file.bytes));
    if sum.is_none_or(|sum| sum > metadata.len()) {
        return Err(Error::damage("its files are longer than itself"));
    }
    let folder = tempfile::Builder::new()
        .prefix("knockout-")
        .tempdir()
        .map_err(|error| Error::failure("no temporary folder could be made").caused_by(error))?;
    let target = Folder::at(folder.path());
    for (name, listed) in &pack.files {
        let is_known = name == CARD || [RUN, DATASET].iter().any(|top| name.starts_with(&format!("{top}/")));
        if !is_known {
            return Err(Error::damage(format!("{name:?} is not a file of a packed model")));
        }
        extract(&mut archive, name, listed, &target)?;
    }
    Ok(Unpacked { folder, pack })
}

fn extract<R: io::Read + Seek>(
    archive: &mut ZipArchive<R>,
    name: &str,
    listed: &PackedFile,
    target: &Folder,
) -> Result<()> {
    let mut file = stored(archive, name)?;
    // The folder refuses names that lead elsewhere.
    let mut out = target.create_new(name)?;
    let found = copy(&mut (&mut file).take(listed.bytes.saturating_add(1)), &mut out).in_file(name)?;
    if found == *listed {
        return Ok(());
    }
    let (expected, found) = (&listed.blake3, &found.blake3);
    Err(Error::damage(format!("it does not match its checksum (expected {expected}, found {found})"))
        .in_file(name))
}

/// Opens a file of the archive, which is not compressed, encrypted or a link.
fn stored<'a, R: io::Read + Seek>(
    archive: &'a mut ZipArchive<R>,
    name: &str,
) -> Result<zip::read::ZipFile<'a, R>> {
    let missing =
        || Error::damage("the archive does not have it; is it a file of `knockout pack`?").in_file(name);
    let index = archive.index_for_name(name).ok_or_else(missing)?;
    let file = archive.by_index(index).map_err(unreadable)?;
    if file.compression() != CompressionMethod::Stored
        || file.encrypted()
        || !file.is_file()
        || file.is_symlink()
    {
        return Err(Error::damage("it is compressed, encrypted or not a file").in_file(name));
    }
    Ok(file)
}

fn read<R: io::Read + Seek>(archive: &mut ZipArchive<R>, name: &str, longest: u64) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    let file = stored(archive, name)?;
    file.take(longest + 1)
        .read_to_end(&mut text)
        .map_err(|error| Error::damage("it cannot be read").in_file(name).caused_by(error))?;
    if text.len() as u64 > longest {
        return Err(Error::damage(format!("it is longer than {longest} bytes")).in_file(name));
    }
    Ok(text)
}

fn unreadable(error: zip::result::ZipError) -> Error {
    Error::damage("it is not an archive that can be read").caused_by(error)
}

/// Describes a packed model of sets of so many genes for people.
fn card(pack: &Pack, summary: &RunSummary, manifest: &Manifest, order: usize) -> String {
    let mut text = format!("# {}\n\nA model of knockout {}.\n\n", pack.run, pack.version);
    let mut line = |name: &str, value: &str| {
        let value = value.replace(['\n', '\r', '|'], " ");
        // Writing to a string cannot fail.
        writeln!(text, "| {name} | {value} |").ok();
    };
    line("", "");
    line("---", "---");
    line("model", &format!("{}, seed {}, state {}", pack.model, pack.seed, pack.state));
    line("weights", &pack.weights_hash);
    line(
        "dataset",
        &format!("{} ({} samples, {} genes)", pack.dataset, manifest.counts.samples, manifest.counts.genes),
    );
    line("content hash of the dataset", &pack.data_hash);
    line("made by", &manifest.provenance.command);
    manifest.provenance.sources.iter().for_each(|source| line("source", source));
    line("split", &summary.split);
    let pearson = pack.validation_pearson.map_or_else(|| "unknown".to_owned(), |r| format!("{r:.4}"));
    line("validation Pearson", &pearson);
    line("licence", pack.licence.as_deref().unwrap_or("not stated; ask the author before you pass it on"));
    let sets = if order == 3 { "triples" } else { "pairs" };
    let genes = vec!["GENE"; order].join(" ");
    // Writing to a string cannot fail.
    write!(
        text,
        "\nThe validation part chose the settings, so its figure is rather too high; `knockout explore` shows that of the test part.\n\
             The dataset is inside with all its scores.\n\n\
             \x20   knockout predict MODEL.knockout --{sets} --not-measured --bottom 50 --out hits\n\
             \x20   knockout explain MODEL.knockout {genes}\n\
             \x20   knockout explore MODEL.knockout\n"
    )
    .ok();
    text
}
