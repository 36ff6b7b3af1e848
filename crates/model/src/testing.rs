//! What tests against PyTorch's numbers share.

use knockout_grad::Parameters;
use knockout_kernel::{Csr, Graph, Scalar};
use knockout_testdata::golden::Case;

/// A graph of (source, target) pairs, in any order.
pub(crate) fn graph(rows: usize, edges: &[(u32, u32)]) -> Graph {
    let mut edges = edges.to_vec();
    edges.sort_unstable();
    let mut offsets = vec![0u32; rows + 1];
    for edge in &edges {
        offsets[edge.0 as usize + 1] += 1;
    }
    for row in 0..rows {
        offsets[row + 1] += offsets[row];
    }
    let columns: Vec<u32> = edges.iter().map(|edge| edge.1).collect();
    Graph::from_outgoing(Csr::new(&offsets, &columns, rows).expect("edges between rows"))
}

/// Gives every parameter the values of its name in a case.
pub(crate) fn fill<T: Scalar>(case: &Case, parameters: &mut Parameters<T>) {
    let names: Vec<String> = parameters.iter().map(|entry| entry.name().to_owned()).collect();
    for name in names {
        let values = case.f64(&format!("param.{name}"));
        let slots = parameters.named_mut(&name).expect("a name of its own");
        assert_eq!(slots.len(), values.len(), "{name}");
        slots.iter_mut().zip(values).for_each(|(slot, &value)| *slot = T::of(value));
    }
}

/// The same for all parameters of a model: the case has no others.
pub(crate) fn fill_all<T: Scalar>(case: &Case, parameters: &mut Parameters<T>) {
    assert_eq!(parameters.len(), case.names("param.").count(), "{}: as many as PyTorch has", case.name);
    fill(case, parameters);
}

pub(crate) fn wide<T: Scalar>(values: &[T]) -> impl Iterator<Item = f64> {
    values.iter().map(|value| value.to_f64())
}
