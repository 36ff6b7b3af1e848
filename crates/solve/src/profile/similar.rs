//! The measured profiles behind the prediction of one set: those that are most similar to its own.

use super::neighbours::{POWER, PRIOR_WEIGHT};
use super::{HALVING_PARTNERS, MIN_SIMILARITY, ProfileSide, Profiles};
use crate::grid::{Grid, RowKey};
use crate::model::SimilarProfile;

impl RowKey {
    fn genes(self) -> Vec<u32> {
        match self {
            Self::Gene(gene) => vec![gene],
            Self::Pair(a, b) => vec![a, b],
        }
    }
}

impl Profiles {
    /// Returns the profiles that contribute to the profile neighbours at a set, the most similar first.
    pub(crate) fn similar(&self, grid: &Grid, set: &[u32]) -> Vec<SimilarProfile> {
        // The columns of a symmetric grid are its rows.
        let sides: &[ProfileSide] = if grid.is_symmetric() {
            &[ProfileSide::Rows]
        } else {
            &[ProfileSide::Rows, ProfileSide::Columns]
        };
        let cells: Vec<(usize, usize)> = grid.cells(set).iter().collect();
        let weight = 1.0 / (cells.len() * sides.len()).max(1) as f64;
        let mut found = Vec::new();
        for &(row, column) in &cells {
            for &side in sides {
                let (profile, partner) = match side {
                    ProfileSide::Rows => (row, column),
                    ProfileSide::Columns => (column, row),
                };
                let genes = |profile: usize| match side {
                    ProfileSide::Rows => grid.rows()[profile].0.genes(),
                    ProfileSide::Columns => vec![grid.columns()[profile]],
                };
                let like = genes(profile);
                let measured: Vec<(usize, f64)> = self
                    .similarities_to(side, profile)
                    .into_iter()
                    .enumerate()
                    .filter(|&(other, similarity)| {
                        similarity > f64::from(MIN_SIMILARITY) && self.at(side, other, partner).1 > 0.0
                    })
                    .collect();
                let total: f64 = measured.iter().map(|(_, similarity)| similarity.powi(POWER)).sum();
                for (other, similarity) in measured {
                    let residual = self.at(side, other, partner).0;
                    let share = similarity.powi(POWER) / (total + f64::from(PRIOR_WEIGHT));
                    let others = set.iter().copied().filter(|gene| !like.contains(gene));
                    let mut measured: Vec<u32> = others.chain(genes(other)).collect();
                    measured.sort_unstable();
                    found.push(SimilarProfile {
                        like: like.clone(),
                        genes: genes(other),
                        set: measured,
                        similarity,
                        residual,
                        effect: weight * share * residual,
                    });
                }
            }
        }
        found.sort_by(|a, b| b.similarity.total_cmp(&a.similarity).then_with(|| a.set.cmp(&b.set)));
        found
    }

    /// Returns the residual of a profile at a partner, and 1 if it is measured.
    fn at(&self, side: ProfileSide, profile: usize, partner: usize) -> (f64, f64) {
        let (row, column) = match side {
            ProfileSide::Rows => (profile, partner),
            ProfileSide::Columns => (partner, profile),
        };
        (f64::from(self.residuals.get(row, column)), f64::from(self.is_measured.get(row, column)))
    }

    /// Returns the similarity of every profile to one of them, as [`Profiles::similarities`] defines it.
    fn similarities_to(&self, side: ProfileSide, profile: usize) -> Vec<f64> {
        let (rows, columns) = (self.residuals.rows(), self.residuals.columns());
        let (count, partners) = match side {
            ProfileSide::Rows => (rows, columns),
            ProfileSide::Columns => (columns, rows),
        };
        let own: Vec<(usize, f64)> = (0..partners)
            .filter_map(|partner| {
                let (residual, is_measured) = self.at(side, profile, partner);
                (is_measured > 0.0).then_some((partner, residual))
            })
            .collect();
        let similarity = |other: usize| {
            let (mut product, mut own_square, mut square, mut shared) = (0.0, 0.0, 0.0, 0.0);
            for &(partner, residual) in &own {
                let (theirs, is_measured) = self.at(side, other, partner);
                if is_measured > 0.0 {
                    product += residual * theirs;
                    own_square += residual * residual;
                    square += theirs * theirs;
                    shared += 1.0;
                }
            }
            let norm = (own_square * square).sqrt();
            let is_other = other != profile && norm > 0.0;
            if is_other { product / norm * shared / (shared + f64::from(HALVING_PARTNERS)) } else { 0.0 }
        };
        (0..count).map(similarity).collect()
    }
}
