//! DANGO: embeddings from gene networks, and a score for the genes that are deleted together.
//!
//! ```text
//! H1_k = relu(SAGE(X0)), H2_k = relu(SAGE(H1_k))      one pair of layers per network k, X0 shared by all
//! E_i  = Σ_k w_ik H2_k[i]                              meta-embedding, weights by attention over networks
//! ŷ_b  = set scorer over E[genes of sample b]
//! loss = α · mean over k of the reconstruction of network k from H2_k + (1 − α) · loss of the scores (default: log cosh)
//! ```
//!
//! The embeddings do not depend on the sample, so a step costs nearly the same for any batch.

mod fixed;
mod options;

pub use options::{DangoOptions, NetworkChoice};

use crate::init::Init;
use crate::layer::{
    GeneFeatures, GeneRows, MetaEmbedding, Reconstruction, Sage, SetScorer, SetScores, gather, weighted_sum,
};
use crate::loss::{AlphaSchedule, LossPosition, RecordedLoss, ScoreLoss};
use crate::{FixedScorer, Forward, Input, Model, ModelOptions, SelfLoopChoice, graph_of, merged_graph};
use knockout_data::cell::GeneSetsRef;
use knockout_data::cell::Network;
use knockout_engine::grad::{Parameters, Tape, Var};
use knockout_engine::kernel::{Activation, DistinctEdges, Graph, Pool, Scalar};
use std::sync::Arc;

/// One network that DANGO reads.
#[derive(Debug, Clone)]
pub struct DangoNetwork {
    /// Its name; the parameters are named after it.
    pub name: String,
    /// Adjacency in both directions.
    pub graph: Graph,
    /// λ: weight of a pair without an edge in the reconstruction.
    pub lambda: f64,
}

struct NetworkLayers<T> {
    /// Name of the network's part of the model, under which its operations are observed.
    part: Arc<str>,
    network: DangoNetwork,
    target: DistinctEdges,
    mean_weight: Vec<T>,
    sage1: Sage,
    sage2: Sage,
    reconstruction: Reconstruction,
}

/// The model.
pub struct Dango<T: Scalar> {
    parameters: Parameters<T>,
    rows: GeneRows<T>,
    networks: Vec<NetworkLayers<T>>,
    meta: MetaEmbedding,
    set: SetScorer,
    width: usize,
    alpha: (AlphaSchedule, u32),
    loss: ScoreLoss<T>,
}

/// The output of a forward pass.
#[derive(Debug, Clone)]
pub struct DangoForward {
    /// H1 by network, `[rows, width]`.
    pub first: Vec<Var>,
    /// H2 by network.
    pub second: Vec<Var>,
    /// The meta-embedding `[rows, width]`, and its weights `[rows, networks]` after it.
    pub meta: Var,
    /// The scores of the sets.
    pub set: SetScores,
}

impl DangoForward {
    /// Returns what the loss reads.
    pub fn outputs(&self) -> Forward {
        Forward { hidden: self.second.clone(), ..Forward::scores(self.set.scores) }
    }
}

impl DangoNetwork {
    /// A network of a cell.
    pub fn of(network: &Network, self_loops: SelfLoopChoice, lambda: f64) -> Self {
        Self { name: network.name().to_owned(), graph: graph_of(network, self_loops), lambda }
    }

    /// The edges of several networks of a cell, each edge once.
    pub fn merged(name: &str, networks: &[&Network], self_loops: SelfLoopChoice, lambda: f64) -> Self {
        Self { name: name.to_owned(), graph: merged_graph(networks, self_loops), lambda }
    }
}

impl<T: Scalar> Dango<T> {
    /// Creates a model over `rows` genes.
    ///
    /// # Panics
    ///
    /// If there is no network, one has another number of rows, or `heads` does not divide `width`: callers check.
    pub fn new(rows: usize, networks: Vec<DangoNetwork>, width: usize, heads: usize, seed: u64) -> Self {
        Self::with_features(rows, networks, None, [width, heads], seed)
    }

    /// Creates a model with content features of the genes, if any.
    ///
    /// # Panics
    ///
    /// As [`Dango::new`].
    pub fn with_features(
        rows: usize,
        networks: Vec<DangoNetwork>,
        features: Option<GeneFeatures>,
        [width, heads]: [usize; 2],
        seed: u64,
    ) -> Self {
        assert!(!networks.is_empty(), "DANGO needs a network");
        assert!(
            width.is_multiple_of(heads) && width.is_multiple_of(2),
            "{heads} heads in a width of {width}"
        );
        let (mut parameters, mut init) = (Parameters::new(&Pool::new()), Init::new(seed));
        let gene_rows = GeneRows::new(&mut parameters, [rows, width], 0.1, features, &mut init);
        let networks = networks
            .into_iter()
            .map(|network| {
                assert_eq!(network.graph.row_count(), rows, "network {:?}", network.name);
                let name = |part: &str| format!("network.{}.{part}", network.name);
                NetworkLayers {
                    part: format!("network.{}", network.name).into(),
                    sage1: Sage::new(
                        &mut parameters,
                        &name("sage1"),
                        [width, width],
                        Activation::Relu,
                        &mut init,
                    ),
                    sage2: Sage::new(
                        &mut parameters,
                        &name("sage2"),
                        [width, width],
                        Activation::Relu,
                        &mut init,
                    ),
                    reconstruction: Reconstruction::new(
                        &mut parameters,
                        &name("reconstruction"),
                        rows,
                        width,
                        &mut init,
                    ),
                    target: DistinctEdges::of(&network.graph),
                    mean_weight: network.graph.mean_weight.iter().map(|&weight| T::of(weight)).collect(),
                    network,
                }
            })
            .collect();
        let meta = MetaEmbedding::new(&mut parameters, width, &mut init);
        let set = SetScorer::new(&mut parameters, "set", width, heads, 2, Activation::Relu, &mut init);
        Self {
            parameters,
            rows: gene_rows,
            networks,
            meta,
            set,
            width,
            alpha: (AlphaSchedule::PreThenPost, 10),
            loss: ScoreLoss::default(),
        }
    }

    /// Another schedule of α than the default, and the epoch of its transition.
    #[must_use]
    pub(crate) fn with_alpha(mut self, alpha: AlphaSchedule, transition_epoch: u32) -> Self {
        self.alpha = (alpha, transition_epoch);
        self
    }

    /// Replaces the loss of the scores.
    #[must_use]
    pub(crate) fn with_loss(self, loss: ScoreLoss<T>) -> Self {
        Self { loss, ..self }
    }

    /// The networks, in order.
    pub fn networks(&self) -> impl ExactSizeIterator<Item = &DangoNetwork> {
        self.networks.iter().map(|layers| &layers.network)
    }

    /// Scores the sets.
    pub fn forward<'a>(&'a self, tape: &mut Tape<'a, T>, sets: GeneSetsRef<'a>) -> DangoForward {
        let (first, second, meta) = self.embed(tape);
        let members = gather(tape, meta, sets.genes(), self.width);
        let set = self.set.forward(tape, members, sets, None);
        DangoForward { first, second, meta, set }
    }

    /// Records the embeddings, which no set changes: H1 and H2 by network, and the meta-embedding.
    fn embed<'a>(&'a self, tape: &mut Tape<'a, T>) -> (Vec<Var>, Vec<Var>, Var) {
        let x = self.rows.forward(tape);
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for layers in &self.networks {
            let (graph, weight) = (&layers.network.graph, &layers.mean_weight);
            let (h1, h2) = tape.inside(&layers.part, |tape| {
                let h1 = layers.sage1.forward(tape, "sage1", x, graph, weight);
                (h1, layers.sage2.forward(tape, "sage2", h1, graph, weight))
            });
            first.push(h1);
            second.push(h2);
        }
        let meta = self.meta.forward(tape, &second);
        (first, second, meta)
    }

    /// Records the loss of a forward pass, with weight `alpha` on the reconstruction.
    pub fn loss_with<'a>(
        &'a self,
        tape: &mut Tape<'a, T>,
        forward: &Forward,
        targets: &'a [T],
        alpha: f64,
        at: LossPosition,
    ) -> RecordedLoss {
        let RecordedLoss { total, mut parts } = self.loss.record(tape, forward.rows(), targets, at, None);
        let reconstruction = self.reconstruction(tape, &forward.hidden, alpha);
        parts.push(("alpha".to_owned(), alpha));
        add_reconstruction(&mut parts, tape, &reconstruction);
        let weight = alpha / self.networks.len() as f64;
        let mut terms = vec![(total, 1.0 - alpha)];
        terms.extend(reconstruction.into_iter().map(|part| (part, weight)));
        RecordedLoss { total: weighted_sum(tape, &terms), parts }
    }

    /// Records the reconstruction of each network, unless its weight is 0.
    fn reconstruction<'a>(&'a self, tape: &mut Tape<'a, T>, embeddings: &[Var], alpha: f64) -> Vec<Var> {
        let layers = self.networks.iter().zip(embeddings).filter(|_| alpha != 0.0);
        layers
            .map(|(layers, &h)| {
                tape.inside(&layers.part, |tape| {
                    layers.reconstruction.loss(tape, h, &layers.target, layers.network.lambda)
                })
            })
            .collect()
    }

    fn alpha_at(&self, at: LossPosition) -> f64 {
        let (schedule, transition_epoch) = self.alpha;
        schedule.at(at.epoch, transition_epoch)
    }
}

/// Adds the mean of the reconstructions to the parts of a loss, if they were computed.
fn add_reconstruction<T: Scalar>(parts: &mut Vec<(String, f64)>, tape: &Tape<'_, T>, reconstruction: &[Var]) {
    if !reconstruction.is_empty() {
        let sum: f64 = reconstruction.iter().map(|&part| tape.scalar(part).to_f64()).sum();
        parts.push(("reconstruction".to_owned(), sum / reconstruction.len() as f64));
    }
}

impl<T: Scalar> Model<T> for Dango<T> {
    fn name(&self) -> &'static str {
        DangoOptions::NAME
    }

    fn gene_table(&self) -> Option<&'static str> {
        self.rows.table_name()
    }

    fn parameters(&self) -> &Parameters<T> {
        &self.parameters
    }

    fn parameters_mut(&mut self) -> &mut Parameters<T> {
        &mut self.parameters
    }

    fn forward<'a>(&'a self, tape: &mut Tape<'a, T>, input: Input<'a, '_>) -> Forward {
        self.forward(tape, input.sets).outputs()
    }

    fn fixed(&self) -> Option<Box<dyn FixedScorer + '_>> {
        Some(Box::new(fixed::FixedDango::new(self)?))
    }

    fn score_loss(&self) -> &ScoreLoss<T> {
        &self.loss
    }

    fn loss<'a>(
        &'a self,
        tape: &mut Tape<'a, T>,
        forward: &Forward,
        targets: &'a [T],
        at: LossPosition,
    ) -> RecordedLoss {
        self.loss_with(tape, forward, targets, self.alpha_at(at), at)
    }

    fn loss_without_samples<'a>(
        &'a self,
        tape: &mut Tape<'a, T>,
        forward: &Forward,
        at: LossPosition,
    ) -> Option<RecordedLoss> {
        let alpha = self.alpha_at(at);
        let reconstruction = self.reconstruction(tape, &forward.hidden, alpha);
        let weight = alpha / self.networks.len() as f64;
        let terms: Vec<(Var, f64)> = reconstruction.iter().map(|&part| (part, weight)).collect();
        let mut parts = Vec::new();
        add_reconstruction(&mut parts, tape, &reconstruction);
        (!terms.is_empty()).then(|| RecordedLoss { total: weighted_sum(tape, &terms), parts })
    }
}

#[cfg(test)]
mod tests;
