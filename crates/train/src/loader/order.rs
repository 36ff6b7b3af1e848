//! The order of an epoch's rows: any order, or one in which batches consist of a few queries.

use knockout_base::random::Rng;
use knockout_data::screen::Samples;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How the rows of an epoch are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowOrder {
    /// At random.
    #[default]
    Shuffled,
    /// Runs of samples of one query (the genes that a screen deletes in all strains of a plate), in random order. Samples of a
    /// batch then share deleted genes. Some models compute shared deletions once and run faster; samples are less independent.
    ByQuery,
}

/// Groups shuffled rows into runs of at most `run` rows of one query, in random order. Rows without a query are runs of their
/// own.
pub(super) fn by_query(samples: &Samples, shuffled: &[u32], run: usize, rng: &mut Rng) -> Vec<u32> {
    let mut queries: BTreeMap<&[u32], Vec<u32>> = BTreeMap::new();
    let mut runs: Vec<Vec<u32>> = Vec::new();
    for &row in shuffled {
        match samples.query(row as usize) {
            [] => runs.push(vec![row]),
            query => queries.entry(query).or_default().push(row),
        }
    }
    runs.extend(queries.values().flat_map(|rows| rows.chunks(run.max(1))).map(<[u32]>::to_vec));
    rng.shuffle(&mut runs);
    runs.concat()
}
