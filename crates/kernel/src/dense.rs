//! What a dense product of tall matrices with small ones is made of.

/// How a weight is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// `[out, in]`, as linear layers keep it: the product is `x Wᵀ`.
    OutIn,
    /// `[in, out]`: the product is `x W`. With a layer's own weight this is the way back.
    InOut,
}

/// One summand of a linear layer: rows times a weight.
#[derive(Debug, Clone, Copy)]
pub struct Term<'a, T> {
    /// `[n, depth]`.
    pub rows: &'a [T],
    /// Values in a row.
    pub depth: usize,
    /// `depth × width` values.
    pub weight: &'a [T],
    /// In which order.
    pub layout: Layout,
}
