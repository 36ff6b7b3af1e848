//! Gene factors of a solved model, from which other models can start.

use crate::tensor::Tensor;

/// A vector for every gene, with the factors in descending order of importance.
#[derive(Debug, Clone, PartialEq)]
pub struct GeneFactors {
    /// Factors per gene.
    pub rank: usize,
    /// Genes by factors; zeros for genes without factors.
    pub values: Vec<f32>,
    /// Whether the gene has factors.
    pub is_known: Vec<bool>,
}

/// Returns the factors in the stored tensors of a solved model.
///
/// These are the low-rank factors of the genes with training records. If the completed matrix has rank 0, they are the features of
/// the network kernel, which all genes have. Returns `None` without either.
pub fn gene_factors(tensors: &[Tensor], gene_count: usize) -> Option<GeneFactors> {
    let tensor = |name: &str| tensors.iter().find(|tensor| tensor.name == name);
    let low_rank = tensor("grid.columns").zip(tensor("low_rank.right"));
    let low_rank = low_rank.and_then(|(columns, right)| low_rank_factors(columns, right, gene_count));
    low_rank.or_else(|| kernel_factors(tensor("network_kernel.features")?, gene_count))
}

fn low_rank_factors(columns: &Tensor, right: &Tensor, gene_count: usize) -> Option<GeneFactors> {
    let (columns, Tensor { shape, values: right, .. }) = (&columns.values, right);
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

fn kernel_factors(features: &Tensor, gene_count: usize) -> Option<GeneFactors> {
    let &[rows, columns] = &features.shape[..] else { return None };
    // The last feature is the constant that all genes share.
    let rank = columns.checked_sub(1).filter(|&rank| rank > 0)?;
    if rows != gene_count || features.values.len() != rows * columns {
        return None;
    }
    let values = features.values.chunks_exact(columns).flat_map(|row| &row[..rank]).copied().collect();
    Some(GeneFactors { rank, values, is_known: vec![true; gene_count] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_rank_factors_are_in_the_rows_of_their_genes() {
        let tensors = [
            Tensor::new("grid.columns", &[2], vec![3.0, 1.0]),
            Tensor::new("low_rank.right", &[2, 2], vec![0.5, 0.25, -1.0, 2.0]),
        ];
        let factors = gene_factors(&tensors, 4).unwrap();
        assert_eq!(factors.values, [0.0, 0.0, -1.0, 2.0, 0.0, 0.0, 0.5, 0.25]);
        assert_eq!(factors.is_known, [false, true, false, true]);
        assert_eq!(gene_factors(&tensors, 3), None, "a gene index out of range");
        assert_eq!(gene_factors(&[], 4), None);
    }

    #[test]
    fn kernel_factors_cover_all_genes_and_leave_out_the_constant() {
        let kernel = Tensor::new("network_kernel.features", &[2, 3], vec![1.0, 2.0, 9.0, 3.0, 4.0, 9.0]);
        let none =
            [Tensor::new("grid.columns", &[1], vec![0.0]), Tensor::new("low_rank.right", &[1, 0], vec![])];
        let stack = [&none[..], std::slice::from_ref(&kernel)].concat();
        let factors = gene_factors(&stack, 2).unwrap();
        assert_eq!((factors.rank, &factors.values[..]), (2, &[1.0, 2.0, 3.0, 4.0][..]));
        assert_eq!(factors.is_known, [true, true]);
        assert_eq!(gene_factors(&stack, 3), None, "features of another cell");
        assert_eq!(gene_factors(&none, 2), None, "rank 0 without a kernel");
        let shared = Tensor::new("network_kernel.features", &[2, 1], vec![9.0, 9.0]);
        assert_eq!(gene_factors(&[shared], 2), None, "only the constant: no networks");
    }
}
