//! The metabolism of one cell: messages from its genes over reactions and metabolites back to its genes, and their backward pass.
//!
//! ```text
//! r_ρ = activation(W_R (e_ρ + Σ over its genes g of x_g) + b_R)                      for reactions that run; the others send nothing
//! m_μ = activation(W_M (e_μ + Σ over its reactions ρ of w_ρμ r_ρ) + b_M)
//! s_ρ = Σ over its metabolites μ of |w_ρμ| m_μ
//! t_g = self_weight x_g + Σ over its reactions ρ of s_ρ
//! ```
//!
//! A metabolite receives production and consumption with their signs, a reaction only the magnitudes. With signs, the messages
//! of both directions of a reversible reaction to their genes would cancel.
//!
//! A cell computes the nodes that differ from the wild type's and reads the others there; in the backward pass their gradients
//! are added to the wild type's, which is processed last.

use super::changes::{Changes, NodeRow};
use super::graph::MetabolicGraph;
use knockout_engine::kernel::slices::{add_scaled, add_to, dot};
use knockout_engine::kernel::{Block, Buffer, MASKED, Pool, RowGradients, Scalar};

/// Parameters of the nodes.
pub(super) struct Nodes<'t, T: Scalar> {
    /// e of reactions and of metabolites.
    pub(super) embeddings: [&'t [T]; 2],
    /// The linear layers of reactions and of metabolites.
    pub(super) blocks: [Block<'t, T>; 2],
    /// Factor of a gene's own row.
    pub(super) self_weight: T,
    pub(super) width: usize,
}

/// Gradients of [`Nodes`], but that of the self weight.
pub(super) struct NodeGradients<'g, T> {
    pub(super) embeddings: [&'g mut [T]; 2],
    pub(super) blocks: [&'g mut [T]; 2],
    /// Of r, m and s of the wild type, which other cells read.
    pub(super) wild: [&'g mut [T]; 3],
}

/// Rows of the nodes that a cell has of its own, in the order of [`Changes`].
#[derive(Debug)]
pub(super) struct NodeRows<T: Scalar> {
    /// Sums that arrive at reactions.
    arriving: Buffer<T>,
    /// r.
    reactions: Buffer<T>,
    /// Sums that arrive at metabolites.
    made: Buffer<T>,
    /// m.
    metabolites: Buffer<T>,
    /// s.
    sent: Buffer<T>,
}

impl<T: Scalar> NodeRows<T> {
    /// Inputs of the linear layers of reactions and of metabolites.
    pub(super) fn given(&self) -> [&[T]; 2] {
        [&self.arriving, &self.made]
    }
}

/// One cell.
pub(super) struct CellPass<'t, T: Scalar> {
    pub(super) nodes: &'t Nodes<'t, T>,
    pub(super) graph: &'t MetabolicGraph,
    pub(super) changes: Changes,
    /// Row of each gene in `x`, with a flag where it is deleted.
    pub(super) row_of: &'t [u32],
    /// `[rows, width]`.
    pub(super) x: &'t [T],
    /// Rows of the wild type; the wild type itself has none but its own.
    pub(super) wild: Option<&'t NodeRows<T>>,
    pub(super) pool: &'t Pool<T>,
}

impl<T: Scalar> CellPass<'_, T> {
    fn row(&self, gene: u32) -> usize {
        (self.row_of[gene as usize] & !MASKED) as usize
    }

    fn x(&self, gene: u32) -> &[T] {
        row(self.x, self.row(gene), self.nodes.width)
    }

    /// A row of a kind of node: the cell's own or the wild type's.
    fn node<'r>(
        &'r self,
        own: &'r [T],
        node_row: NodeRow,
        of: impl Fn(&'r NodeRows<T>) -> &'r [T],
    ) -> &'r [T] {
        match (node_row, self.wild) {
            (NodeRow::Own(at), _) => row(own, at, self.nodes.width),
            (NodeRow::Wild(at), Some(wild)) => row(of(wild), at, self.nodes.width),
            (NodeRow::Wild(_), None) => unreachable!("the wild type has all rows of its own"),
        }
    }

    /// Computes the rows of the cell's own nodes.
    pub(super) fn node_rows(&self) -> NodeRows<T> {
        let (width, changes) = (self.nodes.width, &self.changes);
        let ([of_reactions, of_metabolites], [reaction_block, metabolite_block]) =
            (self.nodes.embeddings, &self.nodes.blocks);
        let scratch = |count: usize| self.pool.scratch(count * width);
        let mut arriving = scratch(changes.reactions.own.len());
        for (&reaction, sum) in changes.reactions.own.iter().zip(arriving.chunks_exact_mut(width)) {
            sum.copy_from_slice(row(of_reactions, reaction as usize, width));
            for &(gene, _) in self.graph.genes_of.of(reaction as usize) {
                add_to(sum, self.x(gene));
            }
        }
        let mut reactions = scratch(changes.reactions.own.len());
        reaction_block.forward(&arriving, &mut reactions);
        let mut made = scratch(changes.metabolites.own.len());
        for (&metabolite, sum) in changes.metabolites.own.iter().zip(made.chunks_exact_mut(width)) {
            sum.copy_from_slice(row(of_metabolites, metabolite as usize, width));
            for &(reaction, weight) in self.graph.turned_over_by.of(metabolite as usize) {
                if changes.running[reaction as usize] {
                    let node_row = changes.reactions.row_of(reaction);
                    let from = self.node(&reactions, node_row, |wild| &wild.reactions);
                    add_scaled(sum, T::of(weight), from);
                }
            }
        }
        let mut metabolites = scratch(changes.metabolites.own.len());
        metabolite_block.forward(&made, &mut metabolites);
        let mut sent = self.pool.zeros(changes.senders.own.len() * width);
        for (&reaction, sum) in changes.senders.own.iter().zip(sent.chunks_exact_mut(width)) {
            for &(metabolite, weight) in self.graph.metabolites_of.of(reaction as usize) {
                let node_row = changes.metabolites.row_of(metabolite);
                let from = self.node(&metabolites, node_row, |wild| &wild.metabolites);
                add_scaled(sum, T::of(weight.abs()), from);
            }
        }
        NodeRows { arriving, reactions, made, metabolites, sent }
    }

    /// The running reactions of a gene.
    fn running_of(&self, gene: u32) -> impl Iterator<Item = u32> + '_ {
        let reactions = self.graph.reactions_of.of(gene as usize).iter().map(|&(reaction, _)| reaction);
        reactions.filter(|&reaction| self.changes.running[reaction as usize])
    }

    /// Writes t of some genes, a row each.
    pub(super) fn forward(&self, rows: &NodeRows<T>, genes: &[u32], out: &mut [T]) {
        for (&gene, out) in genes.iter().zip(out.chunks_exact_mut(self.nodes.width)) {
            out.iter_mut().zip(self.x(gene)).for_each(|(out, &x)| *out = self.nodes.self_weight * x);
            for reaction in self.running_of(gene) {
                let node_row = self.changes.senders.row_of(reaction);
                add_to(out, self.node(&rows.sent, node_row, |wild| &wild.sent));
            }
        }
    }

    /// Adds the gradients, given those of t of some genes and of r, m and s of the cell's own nodes so far; returns that of the self weight.
    pub(super) fn backward(
        &self,
        nodes: &NodeRows<T>,
        (genes, upstream): (&[u32], &[T]),
        [mut d_reactions, mut d_metabolites, mut d_sent]: [Buffer<T>; 3],
        rows: &mut RowGradients<'_, T>,
        gradients: &mut NodeGradients<'_, T>,
    ) -> f64 {
        let (width, changes) = (self.nodes.width, &self.changes);
        let NodeGradients { embeddings: [d_reaction, d_metabolite], blocks, wild } = gradients;
        let [wild_reactions, wild_metabolites, wild_sent] = wild;
        let mut d_self_weight = 0.0;
        for (&gene, upstream) in genes.iter().zip(upstream.chunks_exact(width)) {
            d_self_weight += dot(upstream, self.x(gene)).to_f64();
            add_scaled(rows.row(self.row(gene), width), self.nodes.self_weight, upstream);
            for reaction in self.running_of(gene) {
                add_to(changes.senders.row_of(reaction).of(&mut d_sent, wild_sent, width), upstream);
            }
        }
        for (&reaction, d_sent) in changes.senders.own.iter().zip(d_sent.chunks_exact(width)) {
            for &(metabolite, weight) in self.graph.metabolites_of.of(reaction as usize) {
                let sum =
                    changes.metabolites.row_of(metabolite).of(&mut d_metabolites, wild_metabolites, width);
                add_scaled(sum, T::of(weight.abs()), d_sent);
            }
        }
        let [reaction_block, metabolite_block] = &self.nodes.blocks;
        let mut d_made = self.pool.scratch(nodes.made.len());
        metabolite_block.backward(&nodes.made, &d_metabolites, &mut d_made, blocks[1]);
        for (&metabolite, d_made) in changes.metabolites.own.iter().zip(d_made.chunks_exact(width)) {
            add_to(&mut d_metabolite[metabolite as usize * width..][..width], d_made);
            for &(reaction, weight) in self.graph.turned_over_by.of(metabolite as usize) {
                if changes.running[reaction as usize] {
                    let sum = changes.reactions.row_of(reaction).of(&mut d_reactions, wild_reactions, width);
                    add_scaled(sum, T::of(weight), d_made);
                }
            }
        }
        let mut d_arriving = self.pool.scratch(nodes.arriving.len());
        reaction_block.backward(&nodes.arriving, &d_reactions, &mut d_arriving, blocks[0]);
        for (&reaction, d_arriving) in changes.reactions.own.iter().zip(d_arriving.chunks_exact(width)) {
            add_to(&mut d_reaction[reaction as usize * width..][..width], d_arriving);
            for &(gene, _) in self.graph.genes_of.of(reaction as usize) {
                add_to(rows.row(self.row(gene), width), d_arriving);
            }
        }
        d_self_weight
    }

    /// Zeros for the gradients of r, m and s of the cell's own nodes.
    pub(super) fn no_gradients(&self) -> [Buffer<T>; 3] {
        let changes = &self.changes;
        [&changes.reactions, &changes.metabolites, &changes.senders]
            .map(|kind| self.pool.zeros(kind.own.len() * self.nodes.width))
    }
}

fn row<T>(rows: &[T], at: usize, width: usize) -> &[T] {
    &rows[at * width..(at + 1) * width]
}
