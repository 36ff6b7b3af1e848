//! What low rank found of each gene, for models that want to start from it.

use crate::Tensor;

/// A row of numbers for every gene, the weightiest first.
#[derive(Debug, Clone, PartialEq)]
pub struct GeneFactors {
    /// Numbers for each gene.
    pub rank: usize,
    /// Genes by factors; zeros for genes that training never saw.
    pub values: Vec<f32>,
    /// Whether training saw the gene.
    pub is_known: Vec<bool>,
}

/// The factors in the stored tensors of low rank or of a stack; `None` where there are none.
pub fn gene_factors(tensors: &[Tensor], gene_count: usize) -> Option<GeneFactors> {
    let tensor = |name: &str| tensors.iter().find(|tensor| tensor.name == name);
    let columns = &tensor("grid.columns")?.values;
    let Tensor { shape, values: right, .. } = tensor("low_rank.right")?;
    let &[rows, rank] = &shape[..] else { return None };
    if rank == 0 || rows != columns.len() || right.len() != rows * rank {
        return None;
    }
    let mut values = vec![0.0; gene_count * rank];
    let mut is_known = vec![false; gene_count];
    for (&gene, row) in columns.iter().zip(right.chunks_exact(rank)) {
        let gene = gene as usize;
        *is_known.get_mut(gene)? = true;
        values[gene * rank..(gene + 1) * rank].copy_from_slice(row);
    }
    Some(GeneFactors { rank, values, is_known })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_stand_at_their_genes() {
        let tensors = [
            Tensor::new("grid.columns", &[2], vec![3.0, 1.0]),
            Tensor::new("low_rank.right", &[2, 2], vec![0.5, 0.25, -1.0, 2.0]),
        ];
        let factors = gene_factors(&tensors, 4).unwrap();
        assert_eq!(factors.values, [0.0, 0.0, -1.0, 2.0, 0.0, 0.0, 0.5, 0.25]);
        assert_eq!(factors.is_known, [false, true, false, true]);
        assert_eq!(gene_factors(&tensors, 3), None, "a gene beyond the table");
        assert_eq!(gene_factors(&[], 4), None);
    }
}
