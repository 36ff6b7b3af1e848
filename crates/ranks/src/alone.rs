//! The world of a single process.

use crate::World;
use crate::error::no_such_rank;
use knockout_base::error::Result;
use std::time::Duration;

/// One rank.
#[derive(Debug, Clone, Copy, Default)]
pub struct Alone;

impl World for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn host(&self, _: usize) -> &'static str {
        "this machine"
    }

    fn send(&self, to: usize, _: &[u8], _: Duration) -> Result<()> {
        Err(no_such_rank(to, 1))
    }

    fn receive(&self, from: usize, _: &mut [u8], _: Duration) -> Result<()> {
        Err(no_such_rank(from, 1))
    }

    fn abort(&self, _: u8) {}

    fn leave(&self) {}
}
