//! The linear maps around an attention: query, key and value before it, output after it.

use super::Linear;
use crate::init::Init;
use knockout_engine::grad::{Parameters, Tape, Var};
use knockout_engine::kernel::{Activation, Scalar};

/// Four linear maps of one width.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Projections {
    pub(crate) query: Linear,
    pub(crate) key: Linear,
    pub(crate) value: Linear,
    pub(crate) output: Linear,
}

impl Projections {
    /// Adds `name.query`, `.key`, `.value` and `.output`, in this order.
    pub(super) fn new<T: Scalar>(
        parameters: &mut Parameters<T>,
        name: &str,
        width: usize,
        init: &mut Init,
    ) -> Self {
        let mut linear = |part: &str| Linear::new(parameters, &format!("{name}.{part}"), width, width, init);
        Self { query: linear("query"), key: linear("key"), value: linear("value"), output: linear("output") }
    }

    /// The maps before the attention: query, key and value.
    pub(crate) fn inputs(self) -> [Linear; 3] {
        [self.query, self.key, self.value]
    }

    /// Records [`Projections::inputs`] of `x`.
    pub(super) fn project<T: Scalar>(self, tape: &mut Tape<'_, T>, x: Var) -> [Var; 3] {
        [("query", self.query), ("key", self.key), ("value", self.value)]
            .map(|(name, linear)| linear.forward(tape, name, x, Activation::None))
    }

    /// Width of rows before and after.
    pub(super) fn width(self) -> usize {
        self.query.outputs
    }
}
