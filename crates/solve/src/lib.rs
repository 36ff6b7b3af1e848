//! Models that are solved, not trained step by step: a ridge over genes and query pairs, exact low-rank completion of what it leaves, a Gaussian
//! process over the cell's networks, and the stack of the three.
//!
//! A model takes [`Records`] of a training and a validation part and gives a [`Solution`]; every setting is chosen on the
//! validation part, and no other record is looked at. The crate knows neither files nor runs and prints nothing. Results do not
//! depend on the number of threads.

mod additive;
mod base;
mod covariates;
mod deviation;
mod factors;
mod grid;
mod least_squares;
pub mod low_rank;
mod matrix;
mod model;
pub mod network_kernel;
mod pair_products;
pub mod ridge;
pub mod stack;
mod tensor;

pub use factors::{GeneFactors, gene_factors};
pub use least_squares::{Weights, weigh};
pub use low_rank::LowRankOptions;
pub use model::{Choice, Problem, Records, Solution, SolveError, SolvedOptions, Stage, Watch};
pub use network_kernel::NetworkKernelOptions;
pub use stack::StackOptions;
pub use tensor::Tensor;
