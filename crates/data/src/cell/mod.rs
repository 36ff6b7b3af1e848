//! The cell: genes, the networks between them, metabolism, and what deleting genes does to all of it.
//!
//! Everything here is a value in memory whose invariants are checked when it is built. The module does not depend on files,
//! screens, batches or models.
//!
//! ```
//! use knockout_data::cell::{Cell, Deletion, Edge, GeneTable, Network, SelfLoops};
//!
//! let genes = GeneTable::from_systematic(["YAL001C", "YAL002W", "YAL003W"])?;
//! let (ppi, _) = Network::from_edges(
//!     "physical",
//!     genes.len(),
//!     vec![Edge::new(0, 1), Edge::new(1, 2), Edge::new(0, 2)],
//!     SelfLoops::Refuse,
//! )?;
//! let cell = Cell::new(genes, vec![ppi], None)?;
//! let gone = Deletion::new(&[cell.genes().find("YAL002W").unwrap()])?;
//! // Both edges that touch YAL002W go, and nothing else.
//! assert_eq!(gone.removed_edges(&cell.networks()[0]), [0, 2]);
//! # Ok::<(), knockout_base::error::Error>(())
//! ```

mod annotations;
mod deletion;
mod error;
mod expansion;
mod features;
mod gene;
mod gene_sets;
mod hash;
mod knowledge;
mod metabolism;
mod network;
mod positions;
mod rule;

pub use annotations::Annotations;
pub use deletion::{Deletion, Reach};
pub use expansion::{RawReaction, expand};
pub use features::Features;
pub use gene::{Gene, GeneId, GeneTable};
pub use gene_sets::{GeneSets, GeneSetsRef};
pub use knowledge::is_known_interaction_source;
pub use metabolism::{Coefficient, Direction, Metabolism, Metabolite, Reaction, Requirement};
pub use network::{AdjacencyLists, Edge, Entries, Network, SelfLoops};
pub use positions::{GenePosition, GenePositions, Separation};
pub use rule::Rule;

use error::feature_rows;
use hash::update_with_words;
use knockout_base::error::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};

/// Genes, their networks and, where known, metabolism, features and annotations.
#[derive(Debug, Clone)]
pub struct Cell {
    genes: GeneTable,
    networks: Vec<Network>,
    metabolism: Option<Metabolism>,
    features: Option<Features>,
    annotations: Vec<Annotations>,
    positions: Option<GenePositions>,
    /// Names of inputs that derive from genetic interactions; the names decide where nothing was declared.
    from_interactions: Option<BTreeSet<String>>,
}

impl Cell {
    /// Creates a cell; all parts must refer to the same genes.
    pub fn new(genes: GeneTable, networks: Vec<Network>, metabolism: Option<Metabolism>) -> Result<Self> {
        let expected = genes.len();
        let check = |name: &str, found: usize| {
            let wrong = || {
                Error::damage(format!(
                    "network {name:?} was built for {found} genes, the table has {expected}"
                ))
            };
            (found == expected).then_some(()).ok_or_else(wrong)
        };
        for (index, network) in networks.iter().enumerate() {
            check(network.name(), network.gene_count())?;
            if networks[..index].iter().any(|earlier| earlier.name() == network.name()) {
                return Err(Error::damage(format!("there are two networks called {:?}", network.name())));
            }
        }
        if let Some(metabolism) = &metabolism {
            check("metabolism", metabolism.gene_count())?;
        }
        let (features, annotations, positions) = (None, Vec::new(), None);
        let from_interactions = None;
        Ok(Self { genes, networks, metabolism, features, annotations, positions, from_interactions })
    }

    /// Adds content features of the genes.
    pub fn with_features(mut self, features: Option<Features>) -> Result<Self> {
        if let Some(features) = &features
            && features.gene_count() != self.genes.len()
        {
            return Err(feature_rows(features.gene_count(), self.genes.len()));
        }
        self.features = features;
        Ok(self)
    }

    /// Adds the positions of the genes.
    pub fn with_positions(mut self, positions: Option<GenePositions>) -> Result<Self> {
        if let Some(positions) = &positions {
            positions.check(self.genes.len())?;
        }
        self.positions = positions;
        Ok(self)
    }

    /// Declares the networks, features and annotations that derive from genetic interactions; their names decide if `None`.
    #[must_use]
    pub fn with_interaction_inputs(mut self, names: Option<impl IntoIterator<Item = String>>) -> Self {
        self.from_interactions = names.map(|names| names.into_iter().collect());
        self
    }

    /// Returns whether the network, feature or annotations of a name derive from genetic interactions.
    pub fn is_from_interactions(&self, name: &str) -> bool {
        match &self.from_interactions {
            Some(declared) => declared.contains(name),
            None => is_known_interaction_source(name),
        }
    }

    /// Returns all inputs that derive from genetic interactions, such as `network genetic`.
    pub fn inputs_from_interactions(&self) -> Vec<String> {
        let networks = self.networks.iter().map(|network| ("network", network.name()));
        let features = self.features.iter().flat_map(Features::names).map(|name| ("feature", &name[..]));
        let annotations = self.annotations.iter().map(|set| ("annotations", set.name()));
        let all = networks.chain(features).chain(annotations);
        all.filter(|(_, name)| self.is_from_interactions(name))
            .map(|(kind, name)| format!("{kind} {name}"))
            .collect()
    }

    /// Adds sets of annotations, sorted by name.
    pub fn with_annotations(mut self, mut annotations: Vec<Annotations>) -> Result<Self> {
        annotations.sort_by(|a, b| a.name().cmp(b.name()));
        for set in &annotations {
            let (found, expected) = (set.gene_count(), self.genes.len());
            if found != expected {
                let name = set.name();
                return Err(Error::damage(format!(
                    "annotations {name:?} were made for {found} genes, the table has {expected}"
                )));
            }
        }
        if let Some(pair) = annotations.windows(2).find(|pair| pair[0].name() == pair[1].name()) {
            let name = pair[0].name();
            return Err(Error::damage(format!(
                "there are two sets of annotations called {name:?}; give one of them another name"
            )));
        }
        self.annotations = annotations;
        Ok(self)
    }

    /// The gene table.
    pub fn genes(&self) -> &GeneTable {
        &self.genes
    }

    /// The networks, in their stored order.
    pub fn networks(&self) -> &[Network] {
        &self.networks
    }

    /// The network of a name.
    pub fn network(&self, name: &str) -> Option<&Network> {
        self.networks.iter().find(|network| network.name() == name)
    }

    /// Metabolism, where the dataset has one.
    pub fn metabolism(&self) -> Option<&Metabolism> {
        self.metabolism.as_ref()
    }

    /// Content features of the genes, where the dataset has some.
    pub fn features(&self) -> Option<&Features> {
        self.features.as_ref()
    }

    /// Positions of the genes on chromosomes, where the dataset has some.
    pub fn positions(&self) -> Option<&GenePositions> {
        self.positions.as_ref()
    }

    /// The sets of terms that genes are annotated with, by name; often there are none.
    pub fn annotations(&self) -> &[Annotations] {
        &self.annotations
    }

    /// The annotations of a name.
    pub fn annotation(&self, name: &str) -> Option<&Annotations> {
        self.annotations.iter().find(|set| set.name() == name)
    }

    /// Content hash of each network by name, without weights: what a trained model depends on.
    pub fn network_hashes(&self) -> BTreeMap<String, blake3::Hash> {
        let hash = |network: &Network| {
            let mut hasher = blake3::Hasher::new();
            hasher.update(b"knockout network 1");
            update_with_words(&mut hasher, network.outgoing().offsets());
            update_with_words(&mut hasher, network.outgoing().columns());
            hasher.finalize()
        };
        self.networks.iter().map(|network| (network.name().to_owned(), hash(network))).collect()
    }

    /// Content hash of the metabolism with its coefficients: what a model that reads it depends on.
    pub fn metabolism_hash(&self) -> Option<blake3::Hash> {
        let metabolism = self.metabolism.as_ref()?;
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"knockout metabolism 1");
        hasher.update(&(metabolism.reactions().len() as u64).to_le_bytes());
        hasher.update(&(metabolism.metabolites().len() as u64).to_le_bytes());
        for entry in metabolism.requirements() {
            hasher.update(&entry.reaction.to_le_bytes());
            hasher.update(&entry.gene.to_le_bytes());
        }
        hasher.update(b"coefficients");
        for entry in metabolism.coefficients() {
            hasher.update(&entry.reaction.to_le_bytes());
            hasher.update(&entry.metabolite.to_le_bytes());
            hasher.update(&entry.value.to_le_bytes());
        }
        Some(hasher.finalize())
    }

    /// Content hash of genes, networks (without weights) and metabolism: what a stored mask depends on.
    pub fn hash(&self) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"knockout cell 1");
        hasher.update(self.genes.hash().as_bytes());
        for network in &self.networks {
            hasher.update(&(network.name().len() as u64).to_le_bytes());
            hasher.update(network.name().as_bytes());
            update_with_words(&mut hasher, network.outgoing().offsets());
            update_with_words(&mut hasher, network.outgoing().columns());
        }
        if let Some(metabolism) = &self.metabolism {
            let requirements: Vec<u32> =
                metabolism.requirements().iter().flat_map(|entry| [entry.reaction, entry.gene]).collect();
            let coefficients: Vec<u32> = metabolism
                .coefficients()
                .iter()
                .flat_map(|entry| [entry.reaction, entry.metabolite])
                .collect();
            update_with_words(&mut hasher, &requirements);
            update_with_words(&mut hasher, &coefficients);
        }
        hasher.finalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::{Edge, SelfLoops};

    fn network(name: &str, gene_count: usize, target: u32) -> Network {
        Network::from_edges(name, gene_count, vec![Edge::new(0, target)], SelfLoops::Refuse).unwrap().0
    }

    #[test]
    fn parts_must_speak_of_the_same_genes() {
        let genes = || GeneTable::from_systematic(["A", "B", "C"]).unwrap();
        let error = Cell::new(genes(), vec![network("n", 2, 1)], None).unwrap_err();
        assert_eq!(error.to_string(), "network \"n\" was built for 2 genes, the table has 3");
        let error = Cell::new(genes(), vec![network("n", 3, 1), network("n", 3, 2)], None).unwrap_err();
        assert_eq!(error.to_string(), "there are two networks called \"n\"");
    }

    #[test]
    fn annotations_must_be_of_the_same_genes_and_have_names_of_their_own() {
        let cell =
            || Cell::new(GeneTable::from_systematic(["A", "B", "C"]).unwrap(), Vec::new(), None).unwrap();
        let set =
            |name: &str, genes| Annotations::new(name, genes, vec!["t".to_owned()], vec![(1, 0)]).unwrap();
        let found = cell().with_annotations(vec![set("go", 3), set("complexes", 3)]).unwrap();
        let names: Vec<&str> = found.annotations().iter().map(Annotations::name).collect();
        assert_eq!(names, ["complexes", "go"]);
        assert_eq!(found.annotation("go").unwrap().terms_of(1), [0]);
        assert!(found.annotation("kegg").is_none() && cell().annotations().is_empty());
        // What masks are stored for is the same cell.
        assert_eq!(found.hash(), cell().hash());
        let message = |sets| cell().with_annotations(sets).unwrap_err().to_string();
        assert_eq!(message(vec![set("go", 2)]), "annotations \"go\" were made for 2 genes, the table has 3");
        assert_eq!(
            message(vec![set("go", 3), set("kegg", 3), set("go", 3)]),
            "there are two sets of annotations called \"go\"; give one of them another name"
        );
    }

    #[test]
    fn the_hash_sees_every_edge() {
        let genes = || GeneTable::from_systematic(["A", "B", "C"]).unwrap();
        let one = Cell::new(genes(), vec![network("n", 3, 1)], None).unwrap();
        let two = Cell::new(genes(), vec![network("n", 3, 2)], None).unwrap();
        assert_ne!(one.hash(), two.hash());
        assert_eq!(one.hash(), one.clone().hash());
    }
}
