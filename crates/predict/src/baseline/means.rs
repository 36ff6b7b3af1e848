//! Means of training scores: of all records, of a query pair, of a gene.

use super::design::PairVocabulary;
use knockout_data::screen::Samples;

/// The mean training score of each gene's records; `None` for genes that no training record deletes.
pub(super) fn gene_means(samples: &Samples, gene_count: usize, train: &[u32]) -> Vec<Option<f64>> {
    let mut sums = vec![(0.0, 0_usize); gene_count];
    for &row in train {
        for &gene in samples.genes(row as usize) {
            let (sum, count) = &mut sums[gene as usize];
            *sum += samples.scores()[row as usize];
            *count += 1;
        }
    }
    sums.into_iter().map(|(sum, count)| (count > 0).then(|| sum / count as f64)).collect()
}

/// The mean of the record's query pair, else the training mean.
pub(super) fn of_pairs(samples: &Samples, pairs: &PairVocabulary, overall: f64, rows: &[u32]) -> Vec<f64> {
    rows.iter().map(|&row| pairs.mean(samples.query(row as usize)).unwrap_or(overall)).collect()
}

/// The mean of the record's query pair, else the mean of the means of its genes that occur in training, else the
/// training mean.
pub(super) fn hierarchical(
    samples: &Samples,
    pairs: &PairVocabulary,
    genes: &[Option<f64>],
    overall: f64,
    rows: &[u32],
) -> Vec<f64> {
    let of_genes = |row: usize| {
        let known: Vec<f64> = samples.genes(row).iter().filter_map(|&gene| genes[gene as usize]).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    rows.iter()
        .map(|&row| row as usize)
        .map(|row| pairs.mean(samples.query(row)).or_else(|| of_genes(row)).unwrap_or(overall))
        .collect()
}
