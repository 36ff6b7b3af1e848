//! The recipe of an import: written as TOML, kept with the dataset, or built from command-line options.
//!
//! The module defines the spelling of every option. It does not depend on the content of the formats.

mod sources;
mod spec;
mod tagged;

pub use sources::{
    AliasSource, AnnotationSource, FeatureSource, GeneSource, MetabolismSource, NetworkSource, ScreenSource,
};

use crate::import::screens::{Alleles, Duplicates};
use knockout_base::error::Error;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The files to import, and how.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Recipe {
    /// The dataset's name; that of its folder otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Treatment of measurements of the same genes and kind.
    pub duplicates: Duplicates,
    /// Perturbations that are imported.
    pub alleles: Alleles,
    /// Whether a source may lose more than a fifth of its rows to genes outside the table.
    pub allow_missing: bool,
    /// Networks, features and annotations that derive from genetic interactions, beside those of known sources.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub from_interactions: Vec<String>,
    /// Those that do not, although their names are those of known sources.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub independent: Vec<String>,
    /// The gene table: the genes of all these, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty", with = "tagged::list")]
    pub genes: Vec<GeneSource>,
    /// More names for the genes.
    #[serde(skip_serializing_if = "Vec::is_empty", with = "tagged::list")]
    pub aliases: Vec<AliasSource>,
    /// Networks, in the order in which the dataset keeps them.
    #[serde(skip_serializing_if = "Vec::is_empty", with = "tagged::list")]
    pub networks: Vec<NetworkSource>,
    /// A metabolic model.
    #[serde(skip_serializing_if = "Option::is_none", with = "tagged::option")]
    pub metabolism: Option<MetabolismSource>,
    /// Content features of the genes, beside each other.
    #[serde(skip_serializing_if = "Vec::is_empty", with = "tagged::list")]
    pub features: Vec<FeatureSource>,
    /// Terms that genes are annotated with, one set from each.
    #[serde(skip_serializing_if = "Vec::is_empty", with = "tagged::list")]
    pub annotations: Vec<AnnotationSource>,
    /// Screens, in the order in which their samples stand.
    #[serde(skip_serializing_if = "Vec::is_empty", with = "tagged::list")]
    pub screens: Vec<ScreenSource>,
}

impl Recipe {
    /// Reads a recipe; an unknown key is an error.
    pub fn from_toml(text: &str) -> Result<Self, Error> {
        toml::from_str(text).map_err(|error| Error::request(error.to_string().trim_end()))
    }

    /// Writes the recipe as it would be read, defaults included.
    pub fn to_toml(&self) -> String {
        // Every value of the recipe has a TOML form.
        toml::to_string(self).unwrap_or_default()
    }

    /// All files and folders the recipe names.
    pub fn files(&self) -> Vec<&Path> {
        let mut files: Vec<&Path> = Vec::new();
        files.extend(self.genes.iter().map(GeneSource::file));
        files.extend(self.aliases.iter().map(AliasSource::file));
        files.extend(self.networks.iter().flat_map(NetworkSource::files));
        files.extend(self.metabolism.iter().map(MetabolismSource::file));
        files.extend(self.features.iter().flat_map(FeatureSource::files));
        files.extend(self.annotations.iter().map(AnnotationSource::file));
        files.extend(self.screens.iter().map(ScreenSource::file));
        files
    }

    /// Files and folders the recipe names that are not below a folder, neither as they are named nor gzipped.
    pub fn missing(&self, base: &Path) -> Vec<PathBuf> {
        let paths = self.files().into_iter().map(|file| located(base, file));
        paths.filter(|path| !path.exists()).collect()
    }

    /// How many bytes there are to read below a folder; what is missing counts as nothing.
    pub fn byte_count(&self, base: &Path) -> u64 {
        let size = |file: &Path| {
            let path = located(base, file);
            let path =
                crate::import::lmdb::store_folder(&path).map_or(path, |folder| folder.join("data.mdb"));
            std::fs::metadata(path).map_or(0, |metadata| metadata.len())
        };
        let again = if self.has_genes_from_screens() { &self.screens[..] } else { &[] };
        self.files().into_iter().chain(again.iter().map(ScreenSource::file)).map(size).sum()
    }

    /// Whether the screens determine the genes: no source of genes is named, and no screen brings its own along. Such screens
    /// are read twice.
    pub(crate) fn has_genes_from_screens(&self) -> bool {
        let brings_genes = |screen: &ScreenSource| matches!(screen, ScreenSource::Torchcell { .. });
        self.genes.is_empty() && !self.screens.is_empty() && !self.screens.iter().any(brings_genes)
    }
}

/// Where a file that a recipe names lies: under its own name, or gzipped beside where that would be. A folder that was downloaded has
/// either, and every reader unpacks.
pub(crate) fn located(base: &Path, file: &Path) -> PathBuf {
    let path = base.join(file);
    let mut packed = path.clone().into_os_string();
    packed.push(".gz");
    let packed = PathBuf::from(packed);
    if !path.exists() && packed.is_file() { packed } else { path }
}
