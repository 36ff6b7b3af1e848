//! Features of genes: vectors whose inner products are similarities.

use crate::matrix::Matrix;

/// Vectors of genes, and what they leave over.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KernelFeatures {
    /// Genes by directions.
    pub(crate) vectors: Matrix<f32>,
    /// Variance of each gene beyond its features.
    pub(crate) residual: Vec<f32>,
}

impl KernelFeatures {
    /// Returns the number of genes.
    pub(crate) fn genes(&self) -> usize {
        self.vectors.rows()
    }

    /// Returns the variance of a gene that it shares with no other: the nugget and the residual of its features.
    pub(crate) fn unshared_variance(&self, gene: usize, nugget: f32) -> f32 {
        nugget + self.residual[gene]
    }

    /// Returns the features of some genes by themselves.
    pub(crate) fn of_genes(&self, genes: &[u32]) -> Self {
        let residual = genes.iter().map(|&gene| self.residual[gene as usize]).collect();
        Self { vectors: self.select(genes), residual }
    }

    /// Returns the vectors of some genes.
    pub(crate) fn select(&self, genes: &[u32]) -> Matrix<f32> {
        let mut out = Matrix::zeros(genes.len(), self.vectors.columns());
        for (row, &gene) in genes.iter().enumerate() {
            out.row_mut(row).copy_from_slice(self.vectors.row(gene as usize));
        }
        out
    }
}
