//! Helpers of tests against PyTorch's numbers.

use knockout_engine::grad::{Gradients, Parameters, Tape, Var};
use knockout_engine::kernel::slices::{add_scaled, dot};
use knockout_engine::kernel::{Csr, Graph, Scalar};
use knockout_testdata::golden::{Case, Precision};

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

/// Returns the graph of a case's edges: all sources, then all targets.
pub(crate) fn case_graph(case: &Case, edges: &str, rows: usize) -> Graph {
    let edges = case.indices(edges);
    let (sources, targets) = edges.split_at(edges.len() / 2);
    let edges: Vec<(u32, u32)> = sources.iter().copied().zip(targets.iter().copied()).collect();
    graph(rows, &edges)
}

/// Returns the offsets and genes of a case's sets, and their targets.
pub(crate) fn case_batch<T: Scalar>(case: &Case) -> (Vec<u32>, Vec<u32>, Vec<T>) {
    let targets = case.f64("input.targets").iter().map(|&value| T::of(value));
    let [offsets, genes] =
        ["offsets", "genes"].map(|name| case.indices(&format!("input.perturbation.{name}")));
    (offsets, genes, targets.collect())
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

/// Fills all parameters of a model, and checks that the case has no others.
pub(crate) fn fill_all<T: Scalar>(case: &Case, parameters: &mut Parameters<T>) {
    assert_eq!(parameters.len(), case.names("param.").count(), "{}: as many as PyTorch has", case.name);
    fill(case, parameters);
}

pub(crate) fn wide<T: Scalar>(values: &[T]) -> impl Iterator<Item = f64> {
    values.iter().map(|value| value.to_f64())
}

/// Compares the gradient of a loss with respect to every parameter with the case's, named after the prefix.
pub(crate) fn check_gradients<T: Scalar>(
    case: &Case,
    prefix: &str,
    parameters: &Parameters<T>,
    tape: Tape<'_, T>,
    loss: Var,
    precision: Precision,
) {
    let mut gradients = Gradients::zeros(parameters);
    tape.backward(loss, &mut gradients);
    for (at, entry) in parameters.iter().enumerate() {
        case.check(&format!("{prefix}{}", entry.name()), wide(gradients.parameter(at)), precision);
    }
}

/// Compares the gradients of Σ upstream · output, a single operation's, with PyTorch's.
pub(crate) fn check_operation<T: Scalar>(
    case: &Case,
    parameters: &Parameters<T>,
    mut tape: Tape<'_, T>,
    output: Var,
    upstream: &str,
    precision: Precision,
) {
    let upstream: Vec<T> = case.f64(upstream).iter().map(|&value| T::of(value)).collect();
    let loss = tape.op(
        "loss.test",
        1,
        |values, out| {
            out[0] = dot(values.of(output), &upstream);
            upstream
        },
        move |step, upstream, gradients| {
            gradients.add(output, |sum| add_scaled(sum, step.gradient[0], &upstream));
        },
    );
    check_gradients(case, "grad.", parameters, tape, loss, precision);
}
