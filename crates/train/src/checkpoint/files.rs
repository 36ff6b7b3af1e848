//! One checkpoint on disk.

use super::state::State;
use super::{Checkpoint, Contents};
use crate::context::at;
use crate::tensors::{Tensor, TensorRef, weights_hash};
use knockout_base::error::{Class, Classified, Error, Result};
use knockout_base::files::{Checksum, Folder, Sealed, StagedFolder, seal};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Display;

const FORMAT: u32 = 1;
const WEIGHTS: &str = "weights.safetensors";
const OPTIMISER: &str = "optimiser.safetensors";
const BUFFERS: &str = "buffers.safetensors";
const STATE: &str = "state.json";
const MANIFEST: &str = "manifest.json";

/// Lengths and checksums, written last.
#[derive(Serialize, Deserialize)]
struct FileList {
    format: u32,
    files: BTreeMap<String, FileSum>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileSum {
    bytes: u64,
    blake3: String,
}

impl FileSum {
    fn of(bytes: &[u8]) -> Self {
        Self { bytes: bytes.len() as u64, blake3: Checksum::of(bytes) }
    }
}

/// Next step in the error of a missing or damaged file.
const ADVICE: &str = "restore it, or move the checkpoint away";

/// `state.json`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StateDocument {
    schema: u32,
    weights_hash: String,
    config_hash: String,
    state: State,
}

/// Writes a checkpoint as a new folder, complete or not at all; returns the hash of its weights.
///
/// After `Ok` it survives a power cut; on an error nothing is there. A folder of that name must not exist.
pub fn save(target: impl Into<Folder>, contents: &Contents<'_>) -> Result<String> {
    let target = target.into();
    write(&target, contents).map_err(at("write checkpoint", target.path()))
}

fn write(target: &Folder, contents: &Contents<'_>) -> Result<String> {
    for tensors in [contents.weights, contents.first_moments, contents.second_moments, contents.buffers] {
        check_tensors(tensors)?;
    }
    let hash = weights_hash(contents.weights);
    let document = StateDocument {
        schema: 1,
        weights_hash: hash.clone(),
        config_hash: contents.state.identity.config_hash(),
        state: contents.state.clone(),
    };
    let mut state =
        serde_json::to_vec_pretty(&document).map_err(|error| Error::failure(error.to_string()))?;
    state.push(b'\n');
    let mut moments = named("first.", contents.first_moments);
    moments.extend(named("second.", contents.second_moments));
    let files = [
        (WEIGHTS, pack(&named("", contents.weights))?),
        (OPTIMISER, pack(&moments)?),
        (BUFFERS, pack(&named("", contents.buffers))?),
        (STATE, state),
    ];

    let staged = StagedFolder::create(target).map_err(storage_error)?;
    let mut list = FileList { format: FORMAT, files: BTreeMap::new() };
    for (name, bytes) in &files {
        staged.write_new(name, bytes).map_err(storage_error)?;
        list.files.insert((*name).to_owned(), FileSum::of(bytes));
    }
    staged.write_new(MANIFEST, seal(&list)?).map_err(storage_error)?;
    staged.commit().map_err(storage_error)?;
    Ok(hash)
}

/// A tensor as it is packed: its name, shape and little-endian bytes.
type PackedTensor = (String, Vec<usize>, Vec<u8>);

fn named(prefix: &str, tensors: &[TensorRef<'_>]) -> Vec<PackedTensor> {
    let one =
        |tensor: &TensorRef<'_>| (format!("{prefix}{}", tensor.name), tensor.shape.to_vec(), tensor.bytes());
    tensors.iter().map(one).collect()
}

/// Returns the error of a file that could not be stored. Its class is damage or failure, never request.
fn storage_error(error: impl Classified + Send + Sync + 'static) -> Error {
    let class = if error.class() == Class::Damage { Class::Damage } else { Class::Failure };
    Error::new(class, error.to_string()).caused_by(error)
}

/// Caches tensors in one file of a run that is complete or absent; creates the folder of the file.
pub fn save_tensors(run: &Folder, name: &str, tensors: &[Tensor]) -> Result<()> {
    let tensors: Vec<TensorRef<'_>> = tensors.iter().map(TensorRef::from).collect();
    let write = || -> Result<()> {
        check_tensors(&tensors)?;
        let bytes = pack(&named("", &tensors))?;
        let sum = blake3::hash(&bytes);
        let written = run.replace(name, |file| {
            file.write_all(&bytes)?;
            file.write_all(sum.as_bytes())
        });
        written.map_err(storage_error)
    };
    write().map_err(at("write", &run.path().join(name)))
}

/// Reads what [`save_tensors`] wrote; `None` if the file is missing or damaged.
pub fn load_tensors(run: &Folder, name: &str) -> Option<Vec<Tensor>> {
    let bytes = run.read(name).ok()?;
    let (bytes, sum) = bytes.split_last_chunk::<{ blake3::OUT_LEN }>()?;
    if blake3::hash(bytes).as_bytes() != sum {
        return None;
    }
    unpack("cached tensors", bytes).ok()
}

/// Names must be distinct and shapes must fit, otherwise the file would not read back as written.
fn check_tensors(tensors: &[TensorRef<'_>]) -> Result<()> {
    let mut seen = BTreeSet::new();
    for tensor in tensors {
        let refuse = |reason: String| Err(unwritable(tensor.name, reason));
        let expected = tensor.shape.iter().try_fold(1_usize, |count, &size| count.checked_mul(size));
        if expected != Some(tensor.values.len()) {
            return refuse(format!("has shape {:?} but {} values", tensor.shape, tensor.values.len()));
        }
        if tensor.values.iter().any(|value| !value.is_finite()) {
            return refuse("holds a number that is not finite".to_owned());
        }
        if tensor.name.is_empty() || tensor.name == "__metadata__" {
            return refuse("has a name that cannot be stored".to_owned());
        }
        if !seen.insert(tensor.name) {
            return refuse("is there twice".to_owned());
        }
    }
    Ok(())
}

fn unwritable(name: &str, reason: impl Display) -> Error {
    Error::failure(format!("tensor {name:?} {reason}"))
}

fn pack(tensors: &[PackedTensor]) -> Result<Vec<u8>> {
    let mut views = Vec::with_capacity(tensors.len());
    for (name, shape, bytes) in tensors {
        let view = TensorView::new(Dtype::F32, shape.clone(), bytes);
        views.push((name, view.map_err(|error| unwritable(name, error))?));
    }
    let metadata = HashMap::from([("format".to_owned(), "pt".to_owned())]);
    safetensors::serialize(views, Some(metadata)).map_err(|error| Error::failure(error.to_string()))
}

/// Reads a checkpoint; every byte of it is checked.
pub fn load(folder: impl Into<Folder>) -> Result<Checkpoint> {
    let folder = folder.into();
    read(&folder).map_err(at("open checkpoint", folder.path()))
}

/// Reads the state of a checkpoint without its tensors; every byte of it is checked.
pub fn load_state(folder: impl Into<Folder>) -> Result<State> {
    let folder = folder.into();
    let read = || decode_state(&read_verified(&folder, &read_list(&folder)?, STATE)?);
    Ok(read().map_err(at("open checkpoint", folder.path()))?.state)
}

fn read(folder: &Folder) -> Result<Checkpoint> {
    let list = read_list(folder)?;
    let verified = |name| read_verified(folder, &list, name);
    decode(&Files {
        weights: &verified(WEIGHTS)?,
        optimiser: &verified(OPTIMISER)?,
        buffers: &verified(BUFFERS)?,
        state: &verified(STATE)?,
    })
}

fn read_verified(folder: &Folder, list: &FileList, name: &str) -> Result<Vec<u8>> {
    let sum = list.files.get(name).ok_or_else(|| damaged(MANIFEST, format!("it does not list {name}")))?;
    folder.read_checked(name, Checksum { blake3: &sum.blake3, bytes: Some(sum.bytes) }, ADVICE)
}

fn decode_state(bytes: &[u8]) -> Result<StateDocument> {
    let document: StateDocument = serde_json::from_slice(bytes).map_err(|error| damaged(STATE, error))?;
    document.state.check().map_err(|error| damaged(STATE, error))?;
    Ok(document)
}

/// The bytes of a checkpoint's files, checksums aside.
#[derive(Debug, Clone, Copy)]
pub struct Files<'a> {
    /// `weights.safetensors`.
    pub weights: &'a [u8],
    /// `optimiser.safetensors`.
    pub optimiser: &'a [u8],
    /// `buffers.safetensors`.
    pub buffers: &'a [u8],
    /// `state.json`.
    pub state: &'a [u8],
}

/// Decodes a checkpoint from the bytes of its files.
///
/// Any bytes give an error that names the file, or a checkpoint whose parts belong together and whose schedules can be
/// resumed; memory is at most a few times the bytes.
pub fn decode(files: &Files<'_>) -> Result<Checkpoint> {
    let document = decode_state(files.state)?;
    let weights = unpack(WEIGHTS, files.weights)?;
    let moments = unpack(OPTIMISER, files.optimiser)?;
    let buffers = unpack(BUFFERS, files.buffers)?;
    let references: Vec<TensorRef<'_>> = weights.iter().map(TensorRef::from).collect();
    if weights_hash(&references) != document.weights_hash {
        return Err(damaged(WEIGHTS, "it belongs to another checkpoint"));
    }
    let (mut first_moments, mut second_moments) = (Vec::new(), Vec::new());
    for tensor in moments {
        let (list, name) = match tensor.name.split_once('.') {
            Some(("first", name)) => (&mut first_moments, name.to_owned()),
            Some(("second", name)) => (&mut second_moments, name.to_owned()),
            _ => return Err(damaged(OPTIMISER, format!("tensor {:?} is not a moment", tensor.name))),
        };
        list.push(Tensor { name, ..tensor });
    }
    Ok(Checkpoint {
        weights,
        first_moments,
        second_moments,
        buffers,
        state: document.state,
        weights_hash: document.weights_hash,
    })
}

fn damaged(file: &str, reason: impl Display) -> Error {
    Error::damage(format!("{file} is damaged: {reason}"))
}

fn read_list(folder: &Folder) -> Result<FileList> {
    #[derive(Deserialize)]
    struct Format {
        format: u32,
    }
    let bytes = folder.find(MANIFEST)?.ok_or_else(|| Error::damage(format!("{MANIFEST} is missing")))?;
    let Format { format: found } =
        serde_json::from_slice(&bytes).map_err(|error| damaged(MANIFEST, error))?;
    if found > FORMAT {
        let known = format!("this knockout reads up to {FORMAT}");
        return Err(Error::damage(format!("its format is {found}, {known}; install a newer one")));
    }
    let list = Sealed::<FileList>::read(&bytes).map_err(|error| damaged(MANIFEST, error.message()))?;
    if list.is_sealed { Ok(list.value) } else { Err(damaged(MANIFEST, "it lost its checksum")) }
}

fn unpack(file: &str, bytes: &[u8]) -> Result<Vec<Tensor>> {
    let tensors = SafeTensors::deserialize(bytes).map_err(|error| damaged(file, error))?;
    let mut list = Vec::with_capacity(tensors.len());
    for (name, view) in tensors.iter() {
        if view.dtype() != Dtype::F32 {
            return Err(damaged(file, format!("tensor {name:?} is {:?} instead of F32", view.dtype())));
        }
        let values = view.data().as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
        list.push(Tensor { name: name.to_owned(), shape: view.shape().to_vec(), values });
    }
    list.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;
    use knockout_base::error::chain;
    use std::fs;

    /// Files whose checksums are right but that were never written: an error that names the file, never a panic.
    #[test]
    fn wrong_content_under_right_checksums_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let empty = pack(&[]).unwrap_or_default();
        let header = br#"{"w":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}}"#;
        let wide = [&(header.len() as u64).to_le_bytes()[..], header, &[0; 8]].concat();
        let lying = [&u64::MAX.to_le_bytes()[..], b"{}"].concat();
        let strange = pack(&[("third.w".to_owned(), vec![1], vec![0; 4])]).unwrap_or_default();
        let document = StateDocument {
            schema: 1,
            weights_hash: weights_hash(&[]),
            config_hash: String::new(),
            state: State {
                identity: crate::config::Identity {
                    model: "m".to_owned(),
                    gene_table: "g".to_owned(),
                    config: BTreeMap::new(),
                },
                position: crate::fit::Position::default(),
                seed: 0,
                learning_rate: crate::schedule::LearningRate::constant(1.0).unwrap(),
                early_stopping: None,
                best: BTreeMap::new(),
                loss_buffers: BTreeMap::new(),
                metrics: crate::checkpoint::LogPosition::START,
                numbers: BTreeMap::new(),
                card: None,
            },
        };
        let state = serde_json::to_vec(&document).unwrap();
        let whole = [(WEIGHTS, &empty), (OPTIMISER, &empty), (BUFFERS, &empty), (STATE, &state)];
        let write = |changed: &str, bytes: &[u8]| {
            let mut list = FileList { format: FORMAT, files: BTreeMap::new() };
            for (name, original) in whole {
                let bytes = if name == changed { bytes } else { original };
                fs::write(folder.path().join(name), bytes).unwrap();
                list.files.insert(name.to_owned(), FileSum::of(bytes));
            }
            fs::write(folder.path().join(MANIFEST), seal(&list).unwrap()).unwrap();
        };
        write("", &[]);
        load(folder.path()).unwrap();
        for (changed, bytes) in [
            (WEIGHTS, &b""[..]),
            (WEIGHTS, &wide),
            (WEIGHTS, &lying),
            (WEIGHTS, &strange),
            (OPTIMISER, &strange),
            (BUFFERS, b"garbage"),
            (STATE, b"{\"schema\":1}"),
            (STATE, b"\xff"),
        ] {
            write(changed, bytes);
            let error = load(folder.path()).unwrap_err();
            assert!(
                error.class() == Class::Damage && chain(&error).contains(&format!("{changed} is damaged")),
                "{changed}: {error:?}"
            );
        }
    }
}
