//! Models that are solved instead of trained step by step: low rank, network kernel and their stack.
//!
//! | options | model |
//! |---|---|
//! | [`LowRankOptions`] | a ridge over genes and query pairs, and low-rank completion of its residuals |
//! | [`NetworkKernelOptions`] | a Gaussian process over the cell's networks; also predicts genes without training records |
//! | [`StackOptions`] | the weighted sum of both, of profile neighbours, of a profile kernel and of boosted trees |
//!
//! The options of a model implement [`SolvedOptions`]. [`SolvedOptions::solve`] takes a [`Problem`], which is a cell with the [`Records`]
//! of a training and a validation part, and returns a [`Solution`]. The solution predicts scores with standard deviations, and its
//! [`Tensor`]s restore it bit for bit with [`SolvedOptions::load`]. All settings are chosen on the validation part. A [`SolveObserver`]
//! receives the progress and stores intermediate states, so that an interrupted solver resumes to the same bits.
//!
//! The crate also has the [`ridge`] by itself, least-squares weights of several predictors ([`StackWeights`]) and the factors that other models
//! can start from ([`gene_factors`]). It depends on neither files nor runs, and results do not depend on the number of threads.
//!
//! ```
//! use knockout_data::cell::{Cell, GeneSets, GeneTable};
//! use knockout_solve::{LowRankOptions, Problem, Records, SolvedOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // A screen of all pairs of 12 genes; every fifth pair is in the validation part.
//! let cell = Cell::new(GeneTable::from_systematic((0..12).map(|gene| format!("G{gene:02}")))?, Vec::new(), None)?;
//! let effect = |gene: u32| f64::from(gene % 5) - 2.0;
//! let mut parts = [Records::default(), Records::default()];
//! let pairs = (0..12_u32).flat_map(|b| (0..b).map(move |a| [a, b]));
//! for (i, [a, b]) in pairs.enumerate() {
//!     let part = &mut parts[usize::from(i % 5 == 0)];
//!     part.sets.push(&[a, b]);
//!     part.scores.push(effect(a) + effect(b));
//! }
//! let [train, val] = parts;
//!
//! let options = LowRankOptions::default();
//! let solution = options.solve(Problem::new(&cell, &train, &val), &mut ())?;
//! let pair: GeneSets = [&[3, 8][..]].into_iter().collect();
//! let prediction = solution.predict(pair.view())[0];
//! assert!((prediction - (effect(3) + effect(8))).abs() < 0.5);
//!
//! let restored = options.load(&solution.tensors(), &cell)?;
//! assert_eq!(restored.predict(pair.view())[0], prediction);
//! # Ok(())
//! # }
//! ```

mod additive;
mod additive_fit;
mod covariates;
mod deviation;
mod error;
mod factors;
mod flat_trees;
mod grid;
mod least_squares;
mod low_rank;
mod matrix;
mod model;
mod network_kernel;
mod pair_features;
mod pair_products;
mod process;
mod profile;
mod recalibrated;
pub mod ridge;
mod stack;
mod tensor;
mod tree_part;
mod trees;

pub use error::no_training_samples;
pub use factors::{GeneFactors, gene_factors};
pub use least_squares::StackWeights;
pub use low_rank::LowRankOptions;
pub use model::{
    Choice, HeldOutRecord, Problem, Records, SimilarProfile, Solution, SolveObserver, SolvedOptions, SumTerm,
    TriedSetting,
};
pub use network_kernel::NetworkKernelOptions;
pub use profile::ProfileOptions;
pub use recalibrated::{Recalibrated, Solve, recalibrate};
pub use stack::{MIN_WEIGHT_RECORDS, StackOptions, StackPart};
pub use tensor::Tensor;
