//! The numerical engine: CPU kernels ([`kernel`]), and the tape, parameters and optimiser on top of them ([`grad`]).
//!
//! A model owns its [`grad::Parameters`]. A forward pass records operations on a [`grad::Tape`]; `backward` adds to
//! [`grad::Gradients`], and [`grad::AdamW`] updates the parameters. Operations compute with the kernels of [`kernel::Scalar`]:
//! vectorised for `f32`, plain for `f64`. Results do not depend on the number of threads. The crate depends on neither genes nor
//! models.
//!
//! ```
//! use knockout_engine::grad::{AdamW, AdamWConfig, Gradients, Parameters, Tape};
//! use knockout_engine::kernel::Pool;
//!
//! // Minimises (w - 3)^2.
//! let mut parameters = Parameters::<f64>::new(&Pool::new());
//! let w = parameters.add("w", &[1], || 0.0);
//! let mut optimiser = AdamW::new(AdamWConfig::default(), &parameters);
//! for _ in 0..200 {
//!     let mut gradients = Gradients::zeros(&parameters);
//!     let mut tape = Tape::new(&parameters);
//!     let loss = tape.op(
//!         "square",
//!         1,
//!         |values, out| out[0] = (values.of(w)[0] - 3.0).powi(2),
//!         move |step, (), gradients| {
//!             let slope = 2.0 * (step.values.of(w)[0] - 3.0) * step.gradient[0];
//!             gradients.add(w, |sum| sum[0] += slope);
//!         },
//!     );
//!     tape.backward(loss, &mut gradients);
//!     optimiser.update(&mut parameters, &gradients, 0.1, 1.0);
//! }
//! assert!((parameters.get(0).values()[0] - 3.0).abs() < 0.1);
//! ```

pub mod grad;
pub mod kernel;
