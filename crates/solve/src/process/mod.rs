//! Gaussian processes over gene pairs, or over query pairs and array genes, whose covariance is a product of similarities of genes.
//!
//! The similarity of genes is given by [`KernelFeatures`]. Products with the covariance are products of matrices of genes ([`ProcessFields`]),
//! and the equations are solved by conjugate gradients.

mod conjugate_gradients;
mod features;
mod field;

pub(crate) use conjugate_gradients::{ConjugateGradients, ShiftedConjugateGradients};
pub(crate) use features::KernelFeatures;
pub(crate) use field::{FieldCell, ProcessFields, QueryKernel};
