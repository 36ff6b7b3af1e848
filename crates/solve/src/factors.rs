//! What the solved models found of each gene, for models that want to start from it.

use crate::Tensor;

/// A row of numbers for every gene, the weightiest first.
#[derive(Debug, Clone, PartialEq)]
pub struct GeneFactors {
    /// Numbers for each gene.
    pub rank: usize,
    /// Genes by factors; zeros for genes of which nothing was found.
    pub values: Vec<f32>,
    /// Whether something was found of the gene.
    pub is_known: Vec<bool>,
}

/// The factors in the stored tensors of a solved model: those of low rank for the genes that training saw; where it found none, the
/// directions of the network kernel, which all genes have. `None` where there are neither.
pub fn gene_factors(tensors: &[Tensor], gene_count: usize) -> Option<GeneFactors> {
    let tensor = |name: &str| tensors.iter().find(|tensor| tensor.name == name);
    let low_rank = tensor("grid.columns").zip(tensor("low_rank.right"));
    let low_rank = low_rank.and_then(|(columns, right)| of_low_rank(columns, right, gene_count));
    low_rank.or_else(|| of_kernel(tensor("network_kernel.features")?, gene_count))
}

fn of_low_rank(columns: &Tensor, right: &Tensor, gene_count: usize) -> Option<GeneFactors> {
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

fn of_kernel(features: &Tensor, gene_count: usize) -> Option<GeneFactors> {
    let &[rows, columns] = &features.shape[..] else { return None };
    // The last direction is what all genes share.
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

    #[test]
    fn the_kernel_has_directions_for_all_genes_but_not_the_shared_one() {
        let kernel = Tensor::new("network_kernel.features", &[2, 3], vec![1.0, 2.0, 9.0, 3.0, 4.0, 9.0]);
        let none =
            [Tensor::new("grid.columns", &[1], vec![0.0]), Tensor::new("low_rank.right", &[1, 0], vec![])];
        let stack = [&none[..], std::slice::from_ref(&kernel)].concat();
        let factors = gene_factors(&stack, 2).unwrap();
        assert_eq!((factors.rank, &factors.values[..]), (2, &[1.0, 2.0, 3.0, 4.0][..]));
        assert_eq!(factors.is_known, [true, true]);
        assert_eq!(gene_factors(&stack, 3), None, "features of another cell");
        assert_eq!(gene_factors(&none, 2), None, "a low rank that found nothing, alone");
        let shared = Tensor::new("network_kernel.features", &[2, 1], vec![9.0, 9.0]);
        assert_eq!(gene_factors(&[shared], 2), None, "no networks");
    }
}
