//! Features of genes: vectors whose inner products are similarities.

use crate::matrix::Matrix;

/// Vectors of genes, and what they leave over.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KernelFeatures {
    /// Genes by directions.
    pub(crate) vectors: Matrix<f32>,
    /// Variance of each gene beyond its features.
    pub(crate) residual: Vec<f32>,
    /// The amplitude of each gene, which the vectors and residuals contain already; `None` if all are 1.
    pub(crate) amplitudes: Option<Vec<f32>>,
}

impl KernelFeatures {
    /// Creates features of genes whose amplitude is 1.
    pub(crate) fn new(vectors: Matrix<f32>, residual: Vec<f32>) -> Self {
        Self { vectors, residual, amplitudes: None }
    }

    /// Multiplies the similarity of any two genes by the amplitudes of both.
    pub(crate) fn scaled(&self, amplitudes: &[f32]) -> Self {
        let mut scaled = self.clone();
        for (gene, amplitude) in amplitudes.iter().enumerate() {
            scaled.vectors.row_mut(gene).iter_mut().for_each(|x| *x *= amplitude);
            scaled.residual[gene] *= amplitude * amplitude;
        }
        scaled.amplitudes = Some(amplitudes.to_vec());
        scaled
    }

    /// Returns the number of genes.
    pub(crate) fn genes(&self) -> usize {
        self.vectors.rows()
    }

    /// Returns the variance of a gene that it shares with no other: the nugget and the residual of its features.
    pub(crate) fn unshared_variance(&self, gene: usize, nugget: f32) -> f32 {
        match &self.amplitudes {
            None => nugget + self.residual[gene],
            Some(amplitudes) => nugget * amplitudes[gene].powi(2) + self.residual[gene],
        }
    }

    /// Returns the features of some genes by themselves.
    pub(crate) fn of_genes(&self, genes: &[u32]) -> Self {
        let residual = genes.iter().map(|&gene| self.residual[gene as usize]).collect();
        let amplitudes = self.amplitudes.as_ref();
        let amplitudes = amplitudes.map(|all| genes.iter().map(|&gene| all[gene as usize]).collect());
        Self { vectors: self.select(genes), residual, amplitudes }
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
