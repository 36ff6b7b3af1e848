//! One checkpoint on disk.

use super::state::State;
use super::{Checkpoint, CheckpointError, CheckpointErrorKind, Contents, Tensor, TensorRef, at};
use knockout_base::files::{StagedDir, inside, replace};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::{fs, io};

const FORMAT: u32 = 1;
const WEIGHTS: &str = "weights.safetensors";
const OPTIMISER: &str = "optimiser.safetensors";
const BUFFERS: &str = "buffers.safetensors";
const STATE: &str = "state.json";
const MANIFEST: &str = "manifest.json";

/// Lengths and checksums, written last.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    format: u32,
    files: BTreeMap<String, Sum>,
    /// blake3 of this document with nothing here.
    checksum: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sum {
    bytes: u64,
    blake3: String,
}

/// `state.json`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    schema: u32,
    weights_hash: String,
    config_hash: String,
    state: State,
}

/// blake3 over tensors in name order: of each its name, its shape and its values, little-endian.
///
/// Equal weights have equal hashes on every machine, in whatever order they are given.
pub fn weights_hash(tensors: &[TensorRef<'_>]) -> String {
    let mut order: Vec<&TensorRef<'_>> = tensors.iter().collect();
    order.sort_by_key(|tensor| tensor.name);
    let mut hasher = blake3::Hasher::new();
    for tensor in order {
        hasher.update(&(tensor.name.len() as u64).to_le_bytes());
        hasher.update(tensor.name.as_bytes());
        hasher.update(&(tensor.shape.len() as u64).to_le_bytes());
        for &size in tensor.shape {
            hasher.update(&(size as u64).to_le_bytes());
        }
        hasher.update(&bytes_of(tensor.values));
    }
    hasher.finalize().to_hex().to_string()
}

fn bytes_of(values: &[f32]) -> Vec<u8> {
    let mut bytes = vec![0; values.len() * 4];
    for (bytes, value) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(values) {
        *bytes = value.to_le_bytes();
    }
    bytes
}

/// Writes a checkpoint as a new folder, whole or not at all, and gives the hash of its weights.
///
/// After `Ok` it survives a power cut; on an error nothing is there. A folder of that name must not exist.
pub fn save(target: &Path, contents: &Contents<'_>) -> Result<String, CheckpointError> {
    let failed = |kind: CheckpointErrorKind| at("write", target)(kind);
    let named = |prefix: &str, tensors: &[TensorRef<'_>]| -> Vec<(String, Vec<usize>, Vec<u8>)> {
        let one = |t: &TensorRef<'_>| (format!("{prefix}{}", t.name), t.shape.to_vec(), bytes_of(t.values));
        tensors.iter().map(one).collect()
    };
    for tensors in [contents.weights, contents.first_moments, contents.second_moments, contents.buffers] {
        check_tensors(tensors).map_err(failed)?;
    }
    let hash = weights_hash(contents.weights);
    let document = Document {
        schema: 1,
        weights_hash: hash.clone(),
        config_hash: contents.state.identity.config_hash(),
        state: contents.state.clone(),
    };
    let mut state =
        serde_json::to_vec_pretty(&document).map_err(|error| failed(io::Error::other(error).into()))?;
    state.push(b'\n');
    let moments =
        [named("first.", contents.first_moments), named("second.", contents.second_moments)].concat();
    let files = [
        (WEIGHTS, pack(&named("", contents.weights)).map_err(failed)?),
        (OPTIMISER, pack(&moments).map_err(failed)?),
        (BUFFERS, pack(&named("", contents.buffers)).map_err(failed)?),
        (STATE, state),
    ];

    let staged = StagedDir::create(target).map_err(at("write", target))?;
    let mut manifest = Manifest { format: FORMAT, files: BTreeMap::new(), checksum: String::new() };
    for (name, bytes) in &files {
        fs::write(staged.path().join(name), bytes).map_err(at("write", target))?;
        let blake3 = blake3::hash(bytes).to_hex().to_string();
        manifest.files.insert((*name).to_owned(), Sum { bytes: bytes.len() as u64, blake3 });
    }
    fs::write(staged.path().join(MANIFEST), manifest.sealed()).map_err(at("write", target))?;
    staged.commit().map_err(at("write", target))?;
    Ok(hash)
}

/// Keeps tensors that can be made again, in one file of a run that is whole or absent; its folder is made where there is none.
pub(crate) fn save_tensors(run: &Path, name: &Path, tensors: &[Tensor]) -> Result<(), CheckpointError> {
    let path = &inside(run, name).map_err(at("write", &run.join(name)))?;
    let tensors: Vec<TensorRef<'_>> = tensors.iter().map(TensorRef::from).collect();
    check_tensors(&tensors).map_err(at("write", path))?;
    let named: Vec<(String, Vec<usize>, Vec<u8>)> =
        tensors.iter().map(|t| (t.name.to_owned(), t.shape.to_vec(), bytes_of(t.values))).collect();
    let bytes = pack(&named).map_err(at("write", path))?;
    let sum = blake3::hash(&bytes);
    replace(path, |file| {
        file.write_all(&bytes)?;
        file.write_all(sum.as_bytes())
    })
    .map_err(at("write", path))
}

/// What [`save_tensors`] kept; `None` where there is nothing, or not what was written.
pub(crate) fn load_tensors(path: &Path) -> Option<Vec<Tensor>> {
    let bytes = fs::read(path).ok()?;
    let (bytes, sum) = bytes.split_last_chunk::<{ blake3::OUT_LEN }>()?;
    if blake3::hash(bytes).as_bytes() != sum {
        return None;
    }
    unpack("kept state", bytes).ok()
}

/// Names must be distinct and shapes must fit, or what is read is not what was written.
fn check_tensors(tensors: &[TensorRef<'_>]) -> Result<(), CheckpointErrorKind> {
    let mut seen = BTreeSet::new();
    for tensor in tensors {
        let refuse =
            |reason: String| Err(CheckpointErrorKind::Tensor { name: tensor.name.to_owned(), reason });
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

fn pack(tensors: &[(String, Vec<usize>, Vec<u8>)]) -> Result<Vec<u8>, CheckpointErrorKind> {
    let mut views = Vec::with_capacity(tensors.len());
    for (name, shape, bytes) in tensors {
        let refuse = |error: safetensors::SafeTensorError| CheckpointErrorKind::Tensor {
            name: name.clone(),
            reason: error.to_string(),
        };
        views.push((name, TensorView::new(Dtype::F32, shape.clone(), bytes).map_err(refuse)?));
    }
    let metadata = HashMap::from([("format".to_owned(), "pt".to_owned())]);
    safetensors::serialize(views, Some(metadata)).map_err(|error| io::Error::other(error).into())
}

impl Manifest {
    /// The document with its checksum.
    fn sealed(mut self) -> Vec<u8> {
        self.checksum = String::new();
        self.checksum = blake3::hash(&self.text()).to_hex().to_string();
        self.text()
    }

    fn text(&self) -> Vec<u8> {
        // Text keys and whole numbers: nothing here can fail to be written.
        let mut text = serde_json::to_vec_pretty(self).unwrap_or_default();
        text.push(b'\n');
        text
    }
}

/// Reads a checkpoint; every byte of it is checked.
pub fn load(folder: &Path) -> Result<Checkpoint, CheckpointError> {
    read(folder).map_err(at("open", folder))
}

fn read(folder: &Path) -> Result<Checkpoint, CheckpointErrorKind> {
    let manifest = read_manifest(folder)?;
    decode(&Files {
        weights: &verified(folder, &manifest, WEIGHTS)?,
        optimiser: &verified(folder, &manifest, OPTIMISER)?,
        buffers: &verified(folder, &manifest, BUFFERS)?,
        state: &verified(folder, &manifest, STATE)?,
    })
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

/// Makes a checkpoint of the bytes of its files.
///
/// Any bytes give an error that names the file, or a checkpoint whose parts belong together and whose schedules can be gone
/// on with; memory is at most a few times the bytes.
pub fn decode(files: &Files<'_>) -> Result<Checkpoint, CheckpointErrorKind> {
    let document: Document =
        serde_json::from_slice(files.state).map_err(|error| damaged(STATE, error.to_string()))?;
    document.state.check().map_err(|error| damaged(STATE, error.to_string()))?;
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
            _ => return Err(damaged(OPTIMISER, format!("tensor {:?} is no moment", tensor.name))),
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

fn damaged(file: &str, reason: impl Into<String>) -> CheckpointErrorKind {
    CheckpointErrorKind::Damaged { file: file.to_owned(), reason: reason.into() }
}

fn read_file(folder: &Path, name: &str) -> Result<Vec<u8>, CheckpointErrorKind> {
    fs::read(folder.join(name)).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            CheckpointErrorKind::Missing { file: name.to_owned() }
        }
        _ => error.into(),
    })
}

fn read_manifest(folder: &Path) -> Result<Manifest, CheckpointErrorKind> {
    #[derive(Deserialize)]
    struct Format {
        format: u32,
    }
    let bytes = read_file(folder, MANIFEST)?;
    let unreadable = |error: serde_json::Error| damaged(MANIFEST, error.to_string());
    let Format { format: found } = serde_json::from_slice(&bytes).map_err(unreadable)?;
    if found > FORMAT {
        return Err(CheckpointErrorKind::Newer { found, known: FORMAT });
    }
    let manifest: Manifest = serde_json::from_slice(&bytes).map_err(unreadable)?;
    // Sealed anew it must be the same to the byte: that covers spaces and the checksum itself.
    let files = manifest
        .files
        .iter()
        .map(|(name, sum)| (name.clone(), Sum { bytes: sum.bytes, blake3: sum.blake3.clone() }));
    let again = Manifest { format: manifest.format, files: files.collect(), checksum: String::new() };
    if again.sealed() != bytes {
        return Err(damaged(MANIFEST, "it does not match its own checksum"));
    }
    Ok(manifest)
}

fn verified(folder: &Path, manifest: &Manifest, name: &str) -> Result<Vec<u8>, CheckpointErrorKind> {
    let Some(sum) = manifest.files.get(name) else {
        return Err(damaged(MANIFEST, format!("it does not list {name}")));
    };
    // The length first: a file that grew wild is not read into memory.
    if let Ok(metadata) = fs::metadata(folder.join(name))
        && metadata.len() != sum.bytes
    {
        let reason = format!("it has {} bytes instead of {}", metadata.len(), sum.bytes);
        return Err(damaged(name, reason));
    }
    let bytes = read_file(folder, name)?;
    if blake3::hash(&bytes).to_hex().as_str() != sum.blake3 {
        return Err(damaged(name, "it does not match its checksum"));
    }
    Ok(bytes)
}

fn unpack(file: &str, bytes: &[u8]) -> Result<Vec<Tensor>, CheckpointErrorKind> {
    let tensors = SafeTensors::deserialize(bytes).map_err(|error| damaged(file, error.to_string()))?;
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

    /// Files whose checksums are right but which nobody wrote: an error that names the file, never a panic.
    #[test]
    fn wrong_content_under_right_checksums_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let empty = pack(&[]).unwrap_or_default();
        let header = br#"{"w":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}}"#;
        let wide = [&(header.len() as u64).to_le_bytes()[..], header, &[0; 8]].concat();
        let lying = [&u64::MAX.to_le_bytes()[..], b"{}"].concat();
        let strange = pack(&[("third.w".to_owned(), vec![1], vec![0; 4])]).unwrap_or_default();
        let document = Document {
            schema: 1,
            weights_hash: weights_hash(&[]),
            config_hash: String::new(),
            state: State {
                identity: crate::checkpoint::Identity {
                    model: "m".to_owned(),
                    gene_table: "g".to_owned(),
                    config: BTreeMap::new(),
                },
                position: crate::checkpoint::Position::default(),
                seed: 0,
                learning_rate: crate::schedule::LearningRate::constant(1.0).unwrap(),
                early_stopping: None,
                best: BTreeMap::new(),
                loss_buffers: BTreeMap::new(),
                metrics: crate::run::LogPosition::START,
                numbers: BTreeMap::new(),
                card: None,
            },
        };
        let state = serde_json::to_vec(&document).unwrap();
        let whole = [(WEIGHTS, &empty), (OPTIMISER, &empty), (BUFFERS, &empty), (STATE, &state)];
        let write = |changed: &str, bytes: &[u8]| {
            let mut manifest = Manifest { format: FORMAT, files: BTreeMap::new(), checksum: String::new() };
            for (name, original) in whole {
                let bytes = if name == changed { bytes } else { original };
                fs::write(folder.path().join(name), bytes).unwrap();
                let sum = Sum { bytes: bytes.len() as u64, blake3: blake3::hash(bytes).to_hex().to_string() };
                manifest.files.insert(name.to_owned(), sum);
            }
            fs::write(folder.path().join(MANIFEST), manifest.sealed()).unwrap();
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
                matches!(&error.kind, CheckpointErrorKind::Damaged { file, .. } if file == changed),
                "{changed}: {error:?}"
            );
        }
    }
}
