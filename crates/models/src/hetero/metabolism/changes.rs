//! The reactions and metabolites of a cell that differ from the wild type's.

use super::graph::MetabolicGraph;

/// Nodes of one kind that a cell has of its own.
#[derive(Debug)]
pub(super) struct OwnNodes {
    /// Ascending.
    pub(super) own: Vec<u32>,
    /// By node: its index in `own` plus 1, or 0.
    own_indices: Vec<u32>,
}

/// Where a node's row is.
#[derive(Debug, Clone, Copy)]
pub(super) enum NodeRow {
    /// Among the cell's own.
    Own(usize),
    /// Among the wild type's, which has one for every node.
    Wild(usize),
}

impl OwnNodes {
    fn new(count: usize, is_own: impl Fn(usize) -> bool) -> Self {
        let own: Vec<u32> = (0..count).filter(|&node| is_own(node)).map(|node| node as u32).collect();
        let mut own_indices = vec![0; count];
        (1..).zip(&own).for_each(|(index, &node)| own_indices[node as usize] = index);
        Self { own, own_indices }
    }

    pub(super) fn row_of(&self, node: u32) -> NodeRow {
        match self.own_indices[node as usize] {
            0 => NodeRow::Wild(node as usize),
            index => NodeRow::Own(index as usize - 1),
        }
    }

    fn is_own(&self, node: u32) -> bool {
        self.own_indices[node as usize] != 0
    }
}

impl NodeRow {
    /// The row, in the cell's own rows or in the wild type's.
    pub(super) fn of<'r, T>(self, own: &'r mut [T], wild: &'r mut [T], width: usize) -> &'r mut [T] {
        match self {
            Self::Own(at) => &mut own[at * width..(at + 1) * width],
            Self::Wild(at) => &mut wild[at * width..(at + 1) * width],
        }
    }
}

/// Nodes that differ from the wild type's.
#[derive(Debug)]
pub(super) struct Changes {
    /// Whether each reaction runs.
    pub(super) running: Vec<bool>,
    /// Running reactions to which a gene sends another row than in the wild type.
    pub(super) reactions: OwnNodes,
    /// Metabolites of reactions that have stopped or changed.
    pub(super) metabolites: OwnNodes,
    /// Running reactions that receive a changed message from such a metabolite.
    pub(super) senders: OwnNodes,
}

impl Changes {
    /// In the wild type everything is its own.
    pub(super) fn wild_type(graph: &MetabolicGraph) -> Self {
        let [_, reactions, metabolites] = graph.sizes();
        Self {
            running: vec![true; reactions],
            reactions: OwnNodes::new(reactions, |_| true),
            metabolites: OwnNodes::new(metabolites, |_| true),
            senders: OwnNodes::new(reactions, |_| true),
        }
    }

    /// In a cell with these rows of genes, the wild type's being those of their numbers.
    pub(super) fn of(graph: &MetabolicGraph, running: Vec<bool>, row_of: &[u32]) -> Self {
        let [_, reaction_count, metabolite_count] = graph.sizes();
        let reactions = OwnNodes::new(reaction_count, |reaction| {
            let mut genes = graph.genes_of.of(reaction).iter();
            running[reaction] && genes.any(|&(gene, _)| row_of[gene as usize] != gene)
        });
        let metabolites = OwnNodes::new(metabolite_count, |metabolite| {
            let mut turning = graph.turned_over_by.of(metabolite).iter();
            turning.any(|&(reaction, _)| !running[reaction as usize] || reactions.is_own(reaction))
        });
        let senders = OwnNodes::new(reaction_count, |reaction| {
            let mut turned = graph.metabolites_of.of(reaction).iter();
            running[reaction] && turned.any(|&(metabolite, _)| metabolites.is_own(metabolite))
        });
        Self { running, reactions, metabolites, senders }
    }
}
