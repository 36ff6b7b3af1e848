//! Pairwise combination, by its definition.

use super::block::{activate, affine, affine_backward, apply_dropout};
use crate::kernel::{Affine, DropoutMask, Pairwise, PairwiseOutput, Real, Scalar, SourceTile};

/// One option of every row of a tile, with the activations that its backward pass needs.
struct PairChoice<T> {
    /// Input of each linear layer of the pair, then the output of the last.
    inputs: Vec<Vec<T>>,
    /// Output of each linear layer before its activation.
    before: Vec<Vec<T>>,
    score_before: Vec<T>,
    scores: Vec<T>,
}

impl<T: Real> PairChoice<T> {
    fn option(&self) -> &[T] {
        &self.inputs[self.inputs.len() - 1]
    }
}

fn choices<T: Scalar>(
    task: &Pairwise<'_, T>,
    dropout: Option<DropoutMask<'_>>,
    input: &[T],
) -> Vec<PairChoice<T>> {
    let width = task.width();
    let size = input.len() / task.graphs();
    let of = |graph: usize| &input[graph * size..(graph + 1) * size];
    let scored = |inputs: Vec<Vec<T>>, before: Vec<Vec<T>>| {
        let score_before = affine(&task.score()[0], &inputs[inputs.len() - 1]);
        let scores = affine(&task.score()[1], &activate(task.activation, &score_before));
        PairChoice { inputs, before, score_before, scores }
    };
    let mut choices: Vec<PairChoice<T>> = task
        .pairs()
        .enumerate()
        .map(|(pair, (i, j, linears))| {
            let both = of(i).chunks_exact(width).zip(of(j).chunks_exact(width));
            let (mut inputs, mut before) =
                (vec![both.flat_map(|(a, b)| [a, b].concat()).collect::<Vec<T>>()], Vec::new());
            for (at, layer) in linears.iter().enumerate() {
                let out = affine(layer, &inputs[at]);
                inputs.push(if at + 1 < linears.len() {
                    let mut values = activate(task.activation, &out);
                    apply_dropout(
                        dropout,
                        task.activation,
                        task.site(pair, at),
                        &mut values,
                        layer.outputs(),
                    );
                    values
                } else {
                    out.clone()
                });
                before.push(out);
            }
            scored(inputs, before)
        })
        .collect();
    let share = T::of(1.0 / task.graphs() as f64);
    let mean = (0..size).map(|at| (0..task.graphs()).map(|graph| of(graph)[at]).sum::<T>() * share);
    choices.push(scored(vec![mean.collect()], Vec::new()));
    choices
}

/// The source rows of every output row, `[graphs, n, width]`.
fn gather_sources<T: Scalar>(sources: SourceTile<'_, T>) -> Vec<T> {
    let rows = (0..sources.graphs()).flat_map(|graph| {
        let rows = sources.graph(graph);
        sources
            .local(graph)
            .iter()
            .flat_map(move |&at| &rows[usize::from(at) * sources.stride..][..sources.stride])
    });
    rows.copied().collect()
}

/// See [`Pairwise::forward`].
pub(crate) fn pair_rows<T: Scalar>(
    task: &Pairwise<'_, T>,
    sources: SourceTile<'_, T>,
    output: PairwiseOutput<'_, T>,
) {
    let (choices, width) = (choices(task, sources.dropout, &gather_sources(sources)), task.width());
    let mut weights = output.weights;
    for (row, (y, log_sum)) in
        output.values.chunks_exact_mut(width).zip(output.log_sum.iter_mut()).enumerate()
    {
        let scores: Vec<T> = choices.iter().map(|choice| choice.scores[row]).collect();
        let top = scores.iter().copied().fold(T::NEG_INFINITY, T::max);
        *log_sum = top + scores.iter().map(|&score| (score - top).exp()).sum::<T>().ln();
        y.fill(T::ZERO);
        for (option, (choice, &score)) in choices.iter().zip(&scores).enumerate() {
            let weight = (score - *log_sum).exp();
            for (y, &value) in y.iter_mut().zip(&choice.option()[row * width..]) {
                *y += weight * value;
            }
            if let Some(weights) = &mut weights {
                weights[row * choices.len() + option] = weight;
            }
        }
    }
}

/// See [`Pairwise::backward`].
pub(crate) fn pair_rows_backward<T: Scalar>(
    task: &Pairwise<'_, T>,
    sources: SourceTile<'_, T>,
    (values, log_sum): (&[T], &[T]),
    upstream: &[T],
    d_rows: &mut [T],
    gradient: &mut [T],
) {
    let input = gather_sources(sources);
    let (width, size) = (task.width(), input.len() / task.graphs());
    let mut d_input = vec![T::ZERO; input.len()];
    let pairs: Vec<(usize, usize, &[Affine<'_, T>])> = task.pairs().collect();
    let score_start =
        task.parameter_count() - task.score().iter().map(Affine::parameter_count).sum::<usize>();
    let score_middle = score_start + task.score()[0].parameter_count();
    let mut start = 0;
    for (option, choice) in choices(task, sources.dropout, &input).into_iter().enumerate() {
        let weights: Vec<T> =
            choice.scores.iter().zip(log_sum).map(|(&score, &log_sum)| (score - log_sum).exp()).collect();
        let mut d_option = vec![T::ZERO; size];
        let mut d_score = vec![T::ZERO; weights.len()];
        for (row, (&weight, d_score)) in weights.iter().zip(&mut d_score).enumerate() {
            for at in row * width..(row + 1) * width {
                d_option[at] = weight * upstream[at];
                *d_score += weight * upstream[at] * (choice.option()[at] - values[at]);
            }
        }
        let hidden = activate(task.activation, &choice.score_before);
        let mut back = affine_backward(&task.score()[1], &hidden, &d_score, &mut gradient[score_middle..]);
        for (back, &value) in back.iter_mut().zip(&choice.score_before) {
            *back *= task.activation.derivative(value);
        }
        let back = affine_backward(
            &task.score()[0],
            choice.option(),
            &back,
            &mut gradient[score_start..score_middle],
        );
        d_option.iter_mut().zip(&back).for_each(|(sum, &value)| *sum += value);
        let Some(&(i, j, linears)) = pairs.get(option) else {
            let share = T::of(1.0 / task.graphs() as f64);
            for d_graph in d_input.chunks_exact_mut(size) {
                d_graph.iter_mut().zip(&d_option).for_each(|(sum, &value)| *sum += share * value);
            }
            continue;
        };
        let mut end = start + linears.iter().map(Affine::parameter_count).sum::<usize>();
        let after = end;
        let mut back = d_option;
        for at in (0..linears.len()).rev() {
            let begin = end - linears[at].parameter_count();
            back = affine_backward(&linears[at], &choice.inputs[at], &back, &mut gradient[begin..end]);
            end = begin;
            if at > 0 {
                let site = task.site(option, at - 1);
                apply_dropout(sources.dropout, task.activation, site, &mut back, linears[at].inputs());
                for (back, &value) in back.iter_mut().zip(&choice.before[at - 1]) {
                    *back *= task.activation.derivative(value);
                }
            }
        }
        start = after;
        for (row, both) in back.chunks_exact(2 * width).enumerate() {
            for (graph, half) in [(i, &both[..width]), (j, &both[width..])] {
                let sum = &mut d_input[graph * size + row * width..][..width];
                sum.iter_mut().zip(half).for_each(|(sum, &value)| *sum += value);
            }
        }
    }
    d_rows.fill(T::ZERO);
    for (graph, d_input) in d_input.chunks_exact(size).enumerate() {
        let d_rows = &mut d_rows[sources.span(graph)];
        for (d_input, &at) in d_input.chunks_exact(width).zip(sources.local(graph)) {
            let sum = &mut d_rows[usize::from(at) * width..][..width];
            sum.iter_mut().zip(d_input).for_each(|(sum, &value)| *sum += value);
        }
    }
}
