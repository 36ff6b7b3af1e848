//! A share of the blocks: the i-th of n consecutive, disjoint ranges, for a job array.

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The `index`-th of `of` shares, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockShare {
    /// From 1.
    pub index: u64,
    /// Number of shares.
    pub of: u64,
}

impl Default for BlockShare {
    fn default() -> Self {
        Self { index: 1, of: 1 }
    }
}

impl BlockShare {
    /// The share's range of some blocks; shares differ by one block at most.
    pub fn of_blocks(self, blocks: u64) -> Range<u64> {
        let edge = |index: u64| (u128::from(blocks) * u128::from(index) / u128::from(self.of)) as u64;
        edge(self.index - 1)..edge(self.index)
    }
}

impl std::str::FromStr for BlockShare {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers =
            text.split_once('/').and_then(|(index, of)| Some((index.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((index, of)) if index >= 1 && index <= of => Ok(Self { index, of }),
            _ => Err(format!("{text:?} is not a part; write 3/7 for the third of seven")),
        }
    }
}

impl std::fmt::Display for BlockShare {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cover_every_block_once() {
        for (blocks, of) in [(0, 3), (1, 1), (5, 7), (100, 7), (u64::MAX / 2, 3)] {
            let mut end = 0;
            for index in 1..=of {
                let range = BlockShare { index, of }.of_blocks(blocks);
                assert_eq!(range.start, end);
                end = range.end;
            }
            assert_eq!(end, blocks);
        }
    }

    #[test]
    fn a_share_is_written_as_a_fraction() {
        assert_eq!("3/7".parse(), Ok(BlockShare { index: 3, of: 7 }));
        for wrong in ["0/3", "4/3", "3", "a/b", "1/0", "-1/2"] {
            assert!(wrong.parse::<BlockShare>().is_err(), "{wrong}");
        }
    }
}
