//! `dataset.toml`: the description of a dataset.

use crate::screen::repeats::{Bounds, Ceiling, Repeats};
use crate::screen::standard_errors::StandardErrors;
use knockout_base::error::{Error, Result};
use knockout_base::text;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Component, Path};

/// The newest dataset format this program writes and reads: samples have alleles.
pub const FORMAT_VERSION: u32 = 2;

/// The format of datasets without stored alleles, which is written where it suffices.
pub(super) const FORMAT_WITHOUT_ALLELES: u32 = 1;

/// The description of a dataset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The format version, set when the dataset is written; a newer one is refused by name.
    pub format: u32,
    /// The dataset's name.
    pub name: String,
    /// Where it comes from.
    pub provenance: Provenance,
    /// How much of everything there is.
    pub counts: Counts,
    /// The networks, in their order.
    #[serde(default)]
    pub networks: Vec<NetworkEntry>,
    /// Ground truth of the generator, for synthetic data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synthetic: Option<Synthetic>,
    /// How well repeated measurements agree, where the sources had some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<Repeats>,
    /// Reliability of the scores by their standard errors, where a source states them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard_errors: Option<StandardErrors>,
    /// Samples whose score is a mean over different alleles of the same genes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub samples_of_several_alleles: usize,
    /// Names of networks, features and annotations that derive from genetic interactions; without the key, the names of known sources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_interactions: Option<Vec<String>>,
    /// blake3 of every file, by its path below the dataset; filled in when the dataset is written.
    #[serde(default)]
    pub checksums: BTreeMap<String, String>,
}

/// Where a dataset comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// The program and its version.
    pub tool: String,
    /// How to make it again.
    pub command: String,
    /// Files read, as `name blake3`, for imported data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
}

/// How much of everything there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Genes in the table.
    pub genes: usize,
    /// Rows of the screen.
    pub samples: usize,
    /// Reaction nodes.
    pub reactions: usize,
    /// Number of metabolites.
    pub metabolites: usize,
    /// Gene-reaction entries.
    pub gpr: usize,
    /// Reaction-metabolite entries.
    pub stoichiometry: usize,
}

/// A network in the description.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkEntry {
    /// Its name, which is also its file's.
    pub name: String,
    /// Genes with at least one edge.
    pub nodes: usize,
    /// Directed entries.
    pub edges: usize,
}

/// Ground truth of a synthetic dataset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Synthetic {
    /// The preset it started from.
    pub preset: String,
    /// Seed of the generator.
    pub seed: u64,
    /// Pearson correlation between the noise-free scores and the scores: no model can expect more.
    pub attainable_pearson: f64,
    /// Share of the scores' variance by cause, as realised.
    pub variance: BTreeMap<String, f64>,
}

// serde passes a reference.
#[expect(clippy::trivially_copy_pass_by_ref)]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The line that carries the checksum of everything above it.
const SEAL: &str = "# blake3 of the lines above: ";

impl Manifest {
    /// Content hash of all data files: two datasets with equal hashes hold equal data, whatever their names.
    pub fn data_hash(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for (path, checksum) in &self.checksums {
            hasher.update(path.as_bytes());
            hasher.update(b"\0");
            hasher.update(checksum.as_bytes());
            hasher.update(b"\n");
        }
        hasher.finalize().to_hex().to_string()
    }

    /// Returns the bounds of the accuracy of any model on the screen.
    pub fn bounds(&self) -> Bounds {
        let ceiling = Ceiling::of(&self.repeats)
            .or_else(|reason| self.standard_errors.map(Ceiling::of_errors).ok_or(reason));
        Bounds {
            attainable_pearson: self.synthetic.as_ref().map(|known| known.attainable_pearson),
            ceiling: ceiling.ok(),
            no_ceiling: ceiling.err().filter(|_| self.synthetic.is_none()),
        }
    }

    pub(super) fn to_text(&self) -> Result<String> {
        self.check_title()?;
        let mut text = toml::to_string(self).map_err(does_not_parse)?;
        let seal = blake3::hash(text.as_bytes()).to_hex();
        text.push_str(SEAL);
        text.push_str(&seal);
        text.push('\n');
        Ok(text)
    }

    pub(super) fn from_text(written: &str) -> Result<Self> {
        #[derive(Deserialize)]
        struct Version {
            format: u32,
        }
        // The version first: a newer format may seal or name things differently.
        let version: Version = toml::from_str(written).map_err(does_not_parse)?;
        if version.format > FORMAT_VERSION {
            let found = version.format;
            return Err(Error::damage(format!(
                "format version {found} is newer than this program reads ({FORMAT_VERSION}); install a newer knockout"
            )));
        }
        let is_sealed = written
            .rsplit_once(SEAL)
            .is_some_and(|(body, seal)| seal == format!("{}\n", blake3::hash(body.as_bytes()).to_hex()));
        if !is_sealed {
            return Err(Error::damage(
                "the description does not match its own checksum: it was edited or damaged; restore it or rebuild the \
                 dataset",
            ));
        }
        let manifest: Self = toml::from_str(written).map_err(does_not_parse)?;
        manifest.check_paths()?;
        manifest.check_title().map_err(|error| Error::damage(error.message()))?;
        Ok(manifest)
    }

    /// Returns the path of a network's file below the dataset.
    pub(crate) fn network_file(name: &str) -> String {
        format!("networks/{name}.parquet")
    }

    /// Returns the path of a file of annotations below the dataset.
    pub(super) fn annotations_file(name: &str) -> String {
        format!("annotations/{name}.parquet")
    }

    /// Iterates over the names of the annotations, which are the files of their folder.
    pub(super) fn annotation_names(&self) -> impl Iterator<Item = &str> {
        let inside = self.checksums.keys().filter_map(|path| path.strip_prefix("annotations/"));
        inside.filter_map(|file| file.strip_suffix(".parquet"))
    }

    /// Refuses a name that a terminal would act on.
    fn check_title(&self) -> Result<()> {
        if text::has_controls(&self.name) {
            let name = text::one_line(&self.name);
            return Err(Error::request(format!(
                "the name of the dataset, \"{name}\", has control characters"
            )));
        }
        Ok(())
    }

    /// A forged description must not lead out of the dataset's folder.
    fn check_paths(&self) -> Result<()> {
        let is_inside =
            |path: &str| Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
        let networks = self.networks.iter().map(|network| network.name.as_str());
        let bad = networks
            .chain(self.annotation_names())
            .filter(|name| check_name("a file", name).is_err())
            .chain(self.checksums.keys().map(String::as_str).filter(|path| !is_inside(path)))
            .next();
        bad.map_or(Ok(()), |name| {
            Err(Error::damage(format!("the description names {name:?}, which is not a file of a dataset")))
        })
    }
}

/// A description that is not TOML of the expected shape.
pub(super) fn does_not_parse(cause: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::damage("the description does not parse").caused_by(cause)
}

/// Refuses a name that cannot be part of a path.
pub(super) fn check_name(what: &'static str, name: &str) -> Result<()> {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() || name.len() > 100 || name.starts_with('.') || !name.chars().all(is_fine) {
        return Err(Error::request(format!(
            "{name:?} cannot name {what}: use letters, digits, '_', '-' and '.', not first"
        )));
    }
    Ok(())
}
