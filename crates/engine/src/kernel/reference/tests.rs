//! Gradients of the reference kernels against central differences of their values.

use super::{block_rows, block_rows_backward, pair_rows, pair_rows_backward};
use crate::kernel::{
    Activation, Affine, Block, DropoutMask, NormScale, Pairwise, PairwiseOutput, SharedRows, SourceTile,
};
use knockout_base::random::Rng;

const SMOOTH: [Activation; 4] = [Activation::None, Activation::Gelu, Activation::Sigmoid, Activation::Tanh];
const STEP: f64 = 1e-5;

fn normal(rng: &mut Rng, count: usize) -> Vec<f64> {
    (0..count).map(|_| rng.normal() * 0.7).collect()
}

/// Splits parameters into layers of consecutive `widths`, and returns what remains.
fn cut<'a>(numbers: &'a [f64], widths: &[usize]) -> (Vec<Affine<'a, f64>>, &'a [f64]) {
    let mut rest = numbers;
    let linears = widths.windows(2).map(|pair| {
        let (weight, after) = rest.split_at(pair[0] * pair[1]);
        let (bias, after) = after.split_at(pair[1]);
        rest = after;
        Affine { weight, bias }
    });
    let linears = linears.collect();
    (linears, rest)
}

fn count(widths: &[usize]) -> usize {
    widths.windows(2).map(|pair| pair[0] * pair[1] + pair[1]).sum()
}

/// Compares every derivative of `value` with a central difference.
fn check(numbers: &[f64], gradient: &[f64], value: impl Fn(&[f64]) -> f64) {
    for at in 0..numbers.len() {
        let mut moved = numbers.to_vec();
        moved[at] += STEP;
        let above = value(&moved);
        moved[at] -= 2.0 * STEP;
        let slope = (above - value(&moved)) / (2.0 * STEP);
        assert!((slope - gradient[at]).abs() < 1e-6 * slope.abs().max(1.0), "{at}: {slope} {}", gradient[at]);
    }
}

#[test]
fn gradients_of_blocks_equal_differences() {
    let mut rng = Rng::new(1, "block slopes");
    for (case, activation) in SMOOTH.into_iter().enumerate() {
        for (normed, widths) in [(true, vec![3, 5, 4]), (false, vec![4, 2]), (true, vec![2, 3, 3, 5])] {
            let last = SMOOTH[(case + 1) % SMOOTH.len()];
            let (rows, inputs, outputs) = (3, widths[0], widths[widths.len() - 1]);
            let parameters = count(&widths) + if normed { 2 * outputs } else { 0 };
            let numbers = normal(&mut rng, parameters + rows * inputs);
            let upstream = normal(&mut rng, rows * outputs);
            let dropout = Some(DropoutMask::new(case as u64, 0, 0.3, &[0, 1, 0]));
            let run = |numbers: &[f64], gradient: Option<&mut [f64]>| {
                let (numbers, input) = numbers.split_at(parameters);
                let (linears, norm) = cut(numbers, &widths);
                let norm = normed.then(|| NormScale { scale: &norm[..outputs], shift: &norm[outputs..] });
                let block = Block::new(linears, activation, norm, last);
                let mut output = vec![0.0; rows * outputs];
                block_rows(&block, dropout, input, &mut output);
                if let Some(gradient) = gradient {
                    let (gradient, d_input) = gradient.split_at_mut(parameters);
                    assert_eq!(gradient.len(), block.parameter_count());
                    block_rows_backward(&block, dropout, input, &upstream, d_input, gradient);
                }
                output.iter().zip(&upstream).map(|(a, b)| a * b).sum::<f64>()
            };
            let mut gradient = vec![0.0; numbers.len()];
            run(&numbers, Some(&mut gradient));
            check(&numbers, &gradient, |numbers| run(numbers, None));
        }
    }
}

#[test]
fn gradients_of_pairs_equal_differences() {
    let mut rng = Rng::new(2, "pair slopes");
    for activation in SMOOTH {
        for (graphs, widths, scored) in
            [(1, vec![4, 3, 2], 3), (3, vec![6, 2, 3], 2), (2, vec![4, 3, 2, 2], 2)]
        {
            let (rows, width, pairs) = (2, widths[widths.len() - 1], graphs * (graphs + 1) / 2);
            let score = [width, scored, 1];
            let parameters = pairs * count(&widths) + count(&score);
            let numbers = normal(&mut rng, parameters + graphs * rows * width);
            let upstream = normal(&mut rng, rows * width);
            let dropout = Some(DropoutMask::new(graphs as u64, 0, 0.3, &[4, 4]));
            // Both output rows read the first row of the last graph.
            let indexes: Vec<[u32; 2]> = (1..=graphs).map(|graph| [0, u32::from(graph < graphs)]).collect();
            let shared_rows =
                SharedRows::new(&indexes.iter().map(|index| &index[..]).collect::<Vec<_>>(), None);
            let run = |numbers: &[f64], gradient: Option<&mut [f64]>| {
                let (numbers, input) = numbers.split_at(parameters);
                let mut room = vec![0.0; input.len()];
                let sources: Vec<&[f64]> = input.chunks_exact(rows * width).collect();
                let sources = SourceTile { dropout, ..shared_rows.tile(0, &sources, width, &mut room) };
                let (mut rest, mut networks) = (numbers, Vec::new());
                for _ in 0..pairs {
                    let (linears, after) = cut(rest, &widths);
                    networks.push(linears);
                    rest = after;
                }
                let (scorer, _) = cut(rest, &score);
                let task = Pairwise::new(graphs, networks, [scorer[0], scorer[1]], activation);
                let (mut values, mut log_sum) = (vec![0.0; rows * width], vec![0.0; rows]);
                let mut weights = vec![0.0; rows * task.options()];
                let output = PairwiseOutput {
                    values: &mut values,
                    log_sum: &mut log_sum,
                    weights: Some(&mut weights),
                };
                pair_rows(&task, sources, output);
                for weights in weights.chunks_exact(task.options()) {
                    assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                }
                if let Some(gradient) = gradient {
                    let (gradient, d_input) = gradient.split_at_mut(parameters);
                    assert_eq!(gradient.len(), task.parameter_count());
                    let forward = (&values[..], &log_sum[..]);
                    let d_rows = &mut d_input[..sources.rows.len()];
                    pair_rows_backward(&task, sources, forward, &upstream, d_rows, gradient);
                }
                values.iter().zip(&upstream).map(|(a, b)| a * b).sum::<f64>()
            };
            let mut gradient = vec![0.0; numbers.len()];
            run(&numbers, Some(&mut gradient));
            check(&numbers, &gradient, |numbers| run(numbers, None));
        }
    }
}
