//! Functions of single values: activations and dropout masks. They depend on rows only where a mask is keyed by row.

mod activation;
mod dropout;

pub use activation::Activation;
pub use dropout::DropoutMask;
