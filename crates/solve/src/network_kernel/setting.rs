//! The hyperparameters of the process.

/// Hyperparameters, chosen on the validation part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct KernelSetting {
    /// Nugget: the variance of a gene that it shares with no other gene.
    pub(super) nugget: f32,
    /// Variance of the noise, in units of the variance of the scores.
    pub(super) noise: f32,
    /// Weight of single genes in the similarity of query pairs; 0 without triples.
    pub(super) single: f32,
}
