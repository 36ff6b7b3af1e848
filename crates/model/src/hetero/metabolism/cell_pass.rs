//! The metabolism of one cell: messages from its genes over reactions and metabolites back to its genes, and their backward pass.
//!
//! ```text
//! r_ρ = activation(W_R (e_ρ + Σ over its genes g of x_g) + b_R)                      for reactions that run; the others send nothing
//! m_μ = activation(W_M (e_μ + Σ over its reactions ρ of w_ρμ r_ρ) + b_M)
//! t_g = self_weight x_g + Σ over its reactions ρ of Σ over their metabolites μ of |w_ρμ| m_μ
//! ```
//!
//! A metabolite is told what is made of it and what is used up, a reaction how much it depends on each metabolite: with signs, what both
//! directions of a reversible reaction tell their genes would cancel.
//!
//! Reactions and metabolites of a cell are computed in full and again in the backward pass: they are few beside the rows of genes, and
//! no gradient has to be moved between cells.

use super::graph::MetabolicGraph;
use knockout_kernel::slices::{add_scaled, add_to, dot};
use knockout_kernel::{Block, Buffer, MASKED, Pool, RowGradients, Scalar};

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
}

/// One cell.
pub(super) struct CellPass<'t, T: Scalar> {
    pub(super) nodes: &'t Nodes<'t, T>,
    pub(super) graph: &'t MetabolicGraph,
    /// Which reactions run.
    pub(super) running: Vec<bool>,
    /// Row of each gene in `x`; a flag says that it is deleted.
    pub(super) row_of: &'t [u32],
    /// `[rows, width]`.
    pub(super) x: &'t [T],
    pub(super) pool: &'t Pool<T>,
}

/// Sums that arrive at reactions and at metabolites, and what metabolites make of them.
struct NodeRows<T: Scalar> {
    sums: [Buffer<T>; 2],
    metabolites: Buffer<T>,
}

impl<T: Scalar> CellPass<'_, T> {
    fn row(&self, gene: u32) -> usize {
        (self.row_of[gene as usize] & !MASKED) as usize
    }

    fn x(&self, gene: u32) -> &[T] {
        let at = self.row(gene) * self.nodes.width;
        &self.x[at..at + self.nodes.width]
    }

    fn running(&self) -> impl Iterator<Item = usize> + '_ {
        self.running.iter().enumerate().filter(|(_, runs)| **runs).map(|(reaction, _)| reaction)
    }

    fn node_rows(&self) -> NodeRows<T> {
        let (width, [reaction_block, metabolite_block]) = (self.nodes.width, &self.nodes.blocks);
        let [of_reactions, of_metabolites] = self.nodes.embeddings;
        let mut arriving = self.pool.copy(of_reactions);
        for (reaction, sum) in arriving.chunks_exact_mut(width).enumerate() {
            if self.running[reaction] {
                self.graph.genes_of.of(reaction).iter().for_each(|&(gene, _)| add_to(sum, self.x(gene)));
            }
        }
        let mut reactions = self.pool.scratch(of_reactions.len());
        reaction_block.forward(&arriving, &mut reactions);
        let mut made = self.pool.copy(of_metabolites);
        for (metabolite, sum) in made.chunks_exact_mut(width).enumerate() {
            for &(reaction, weight) in self.graph.turned_over_by.of(metabolite) {
                if self.running[reaction as usize] {
                    add_scaled(sum, T::of(weight), row(&reactions, reaction as usize, width));
                }
            }
        }
        let mut metabolites = self.pool.scratch(of_metabolites.len());
        metabolite_block.forward(&made, &mut metabolites);
        NodeRows { sums: [arriving, made], metabolites }
    }

    /// Writes t of some genes, a row each.
    pub(super) fn forward(&self, genes: &[u32], out: &mut [T]) {
        let width = self.nodes.width;
        let metabolites = self.node_rows().metabolites;
        let mut sent = self.pool.zeros(self.running.len() * width);
        for reaction in self.running() {
            let sent = &mut sent[reaction * width..][..width];
            for &(metabolite, weight) in self.graph.metabolites_of.of(reaction) {
                add_scaled(sent, T::of(weight.abs()), row(&metabolites, metabolite as usize, width));
            }
        }
        for (&gene, out) in genes.iter().zip(out.chunks_exact_mut(width)) {
            out.iter_mut().zip(self.x(gene)).for_each(|(out, &x)| *out = self.nodes.self_weight * x);
            for &(reaction, _) in self.graph.reactions_of.of(gene as usize) {
                // What was stopped has sent nothing.
                add_to(out, row(&sent, reaction as usize, width));
            }
        }
    }

    /// Adds the gradients, given those of t of some genes; returns that of the self weight.
    pub(super) fn backward(
        &self,
        genes: &[u32],
        upstream: &[T],
        rows: &mut RowGradients<'_, T>,
        gradients: &mut NodeGradients<'_, T>,
    ) -> f64 {
        let width = self.nodes.width;
        let mut d_self_weight = 0.0;
        let mut d_sent = self.pool.zeros(self.running.len() * width);
        for (&gene, upstream) in genes.iter().zip(upstream.chunks_exact(width)) {
            d_self_weight += dot(upstream, self.x(gene)).to_f64();
            add_scaled(rows.row(self.row(gene), width), self.nodes.self_weight, upstream);
            for &(reaction, _) in self.graph.reactions_of.of(gene as usize) {
                add_to(&mut d_sent[reaction as usize * width..][..width], upstream);
            }
        }
        let NodeRows { sums: [arriving, made], metabolites } = self.node_rows();
        let mut d_metabolites = self.pool.zeros(metabolites.len());
        for reaction in self.running() {
            for &(metabolite, weight) in self.graph.metabolites_of.of(reaction) {
                let sum = &mut d_metabolites[metabolite as usize * width..][..width];
                add_scaled(sum, T::of(weight.abs()), row(&d_sent, reaction, width));
            }
        }
        let [reaction_block, metabolite_block] = &self.nodes.blocks;
        let NodeGradients { embeddings: [d_reaction, d_metabolite], blocks } = gradients;
        let mut d_made = self.pool.scratch(made.len());
        metabolite_block.backward(&made, &d_metabolites, &mut d_made, blocks[1]);
        add_to(d_metabolite, &d_made);
        let mut d_reactions = self.pool.zeros(arriving.len());
        for reaction in self.running() {
            let sum = &mut d_reactions[reaction * width..][..width];
            for &(metabolite, weight) in self.graph.metabolites_of.of(reaction) {
                add_scaled(sum, T::of(weight), row(&d_made, metabolite as usize, width));
            }
        }
        let mut d_arriving = self.pool.scratch(arriving.len());
        reaction_block.backward(&arriving, &d_reactions, &mut d_arriving, blocks[0]);
        add_to(d_reaction, &d_arriving);
        for reaction in self.running() {
            for &(gene, _) in self.graph.genes_of.of(reaction) {
                add_to(rows.row(self.row(gene), width), row(&d_arriving, reaction, width));
            }
        }
        d_self_weight
    }
}

fn row<T>(rows: &[T], at: usize, width: usize) -> &[T] {
    &rows[at * width..(at + 1) * width]
}
