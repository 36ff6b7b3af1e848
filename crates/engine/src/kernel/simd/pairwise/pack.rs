//! The weights of pairs in the layout of the tile kernels.

use crate::kernel::simd::gemm::pack;
use crate::kernel::simd::{RangeAllocator, stride};
use crate::kernel::{Affine, Buffer, Isa, Pool};
use std::ops::Range;

/// Weights of pairs and score packed in panels, for forward and backward; `None` where a pair has not two linear layers.
#[derive(Debug, Clone)]
pub struct PackedPairwise(pub(super) Option<PackedPairs>);

#[derive(Debug, Clone)]
pub(super) struct PackedPairs {
    pub(super) isa: Isa,
    pub(super) pairs: Vec<PairRanges>,
    pub(super) score: Score,
    /// Second biases of all pairs as one matrix, so that `dy · bias` of all of them is one product.
    pub(super) biases: Range<usize>,
    pub(super) weights: Buffer<f32>,
    /// Length of the gradient that the tile kernel accumulates: the task's own, then that of the composed layers.
    pub(super) gradient_len: usize,
}

/// Ranges of a pair's values in `Packed::weights`, and in a gradient.
#[derive(Debug, Clone)]
pub(super) struct PairRanges {
    pub(super) hidden: usize,
    /// Halves of the first layer, and their transposes; of a pair (i, i) the first is the sum of both.
    pub(super) halves: [Range<usize>; 2],
    pub(super) halves_back: [Range<usize>; 2],
    pub(super) first_bias: Range<usize>,
    pub(super) second: Range<usize>,
    pub(super) second_back: Range<usize>,
    pub(super) second_bias: Range<usize>,
    /// S W and S b + c.
    pub(super) composed: Range<usize>,
    pub(super) composed_back: Range<usize>,
    pub(super) composed_bias: Range<usize>,
    /// In a gradient: the pair's own parameters, then those of the composed layer.
    pub(super) gradient: usize,
    pub(super) composed_gradient: Range<usize>,
    /// In a gradient: the second bias's part that comes from the weighted sum.
    pub(super) bias_gradient: Range<usize>,
}

#[derive(Debug, Clone)]
pub(super) struct Score {
    pub(super) first: Range<usize>,
    pub(super) first_back: Range<usize>,
    pub(super) first_bias: Range<usize>,
    pub(super) second: Range<usize>,
    /// In a gradient.
    pub(super) gradient: usize,
    pub(super) second_gradient: Range<usize>,
}

impl PackedPairwise {
    pub(crate) fn new(
        isa: Isa,
        graphs: usize,
        pairs: &[Vec<Affine<'_, f32>>],
        score: &[Affine<'_, f32>; 2],
    ) -> Self {
        if pairs.iter().any(|linears| linears.len() != 2) || score[1].outputs() != 1 {
            return Self(None);
        }
        let (width, scored) = (score[0].inputs(), score[0].outputs());
        let (wide, score_wide) = (stride(isa, width), stride(isa, scored));
        let (mut ranges, mut in_gradient) = (RangeAllocator(0), RangeAllocator(0));
        let mut pair_ranges: Vec<PairRanges> = pairs
            .iter()
            .map(|linears| {
                let hidden = linears[0].outputs();
                let hidden_wide = stride(isa, hidden);
                let gradient =
                    in_gradient.take(linears[0].parameter_count() + linears[1].parameter_count()).start;
                PairRanges {
                    hidden,
                    halves: [0, 1].map(|_| ranges.take(width * hidden_wide)),
                    halves_back: [0, 1].map(|_| ranges.take(hidden * wide)),
                    first_bias: ranges.take(hidden_wide),
                    second: ranges.take(hidden * wide),
                    second_back: ranges.take(width * hidden_wide),
                    second_bias: ranges.take(wide),
                    composed: ranges.take(hidden * score_wide),
                    composed_back: ranges.take(scored * hidden_wide),
                    composed_bias: ranges.take(score_wide),
                    gradient,
                    composed_gradient: 0..0,
                    bias_gradient: 0..0,
                }
            })
            .collect();
        let score_gradient = in_gradient.take(score.iter().map(Affine::parameter_count).sum::<usize>()).start;
        for pair in &mut pair_ranges {
            pair.composed_gradient = in_gradient.take(scored * pair.hidden + scored);
        }
        for pair in &mut pair_ranges {
            pair.bias_gradient = in_gradient.take(width);
        }
        let score_ranges = Score {
            first: ranges.take(width * score_wide),
            first_back: ranges.take(scored * wide),
            first_bias: ranges.take(score_wide),
            second: ranges.take(score_wide),
            gradient: score_gradient,
            second_gradient: in_gradient.take(score_wide + 1),
        };
        let biases = ranges.take(width * stride(isa, pairs.len()));
        let mut packed = PackedPairs {
            isa,
            pairs: pair_ranges,
            score: score_ranges,
            biases,
            weights: Pool::new().zeros(ranges.0),
            gradient_len: in_gradient.0,
        };
        let mut at = 0;
        for i in 0..graphs {
            for j in i..graphs {
                packed.fill_pair(
                    at,
                    if i == j { PairEnds::Same } else { PairEnds::Different },
                    &pairs[at],
                    &score[0],
                );
                at += 1;
            }
        }
        packed.fill_score(pairs, score);
        Self(Some(packed))
    }

    /// Length of the gradient that the tile kernel accumulates.
    pub(crate) fn gradient_len(&self) -> Option<usize> {
        self.0.as_ref().map(|packed| packed.gradient_len)
    }
}

/// Whether a pair is of one network with itself.
#[derive(Clone, Copy)]
enum PairEnds {
    Same,
    Different,
}

impl PackedPairs {
    fn fill_pair(&mut self, at: usize, ends: PairEnds, linears: &[Affine<'_, f32>], score: &Affine<'_, f32>) {
        let (isa, width, scored) = (self.isa, score.inputs(), score.outputs());
        let (pair, weights) = (&self.pairs[at], &mut self.weights);
        let (first, second, hidden) = (linears[0], linears[1], pair.hidden);
        for half in 0..2 {
            let value = |out: usize, k: usize| {
                let row = &first.weight[out * 2 * width..(out + 1) * 2 * width];
                match ends {
                    PairEnds::Same => row[k] + row[width + k],
                    PairEnds::Different => row[half * width + k],
                }
            };
            let halves = [pair.halves[half].clone(), pair.halves_back[half].clone()];
            pack(isa, width, hidden, |k, column| value(column, k), &mut weights[halves[0].clone()]);
            pack(isa, hidden, width, value, &mut weights[halves[1].clone()]);
        }
        weights[pair.first_bias.clone()][..hidden].copy_from_slice(first.bias);
        let value = |out: usize, k: usize| second.weight[out * hidden + k];
        pack(isa, hidden, width, |k, column| value(column, k), &mut weights[pair.second.clone()]);
        pack(isa, width, hidden, value, &mut weights[pair.second_back.clone()]);
        weights[pair.second_bias.clone()][..width].copy_from_slice(second.bias);
        let mut composed = vec![0.0; scored * hidden];
        for (composed, score) in composed.chunks_exact_mut(hidden).zip(score.weight.chunks_exact(width)) {
            for (&score, weight) in score.iter().zip(second.weight.chunks_exact(hidden)) {
                composed.iter_mut().zip(weight).for_each(|(sum, &weight)| *sum += score * weight);
            }
        }
        let value = |out: usize, k: usize| composed[out * hidden + k];
        pack(isa, hidden, scored, |k, column| value(column, k), &mut weights[pair.composed.clone()]);
        pack(isa, scored, hidden, value, &mut weights[pair.composed_back.clone()]);
        let bias = &mut weights[pair.composed_bias.clone()];
        for ((bias, row), &own) in bias.iter_mut().zip(score.weight.chunks_exact(width)).zip(score.bias) {
            *bias = own + row.iter().zip(second.bias).map(|(&a, &b)| a * b).sum::<f32>();
        }
    }

    fn fill_score(&mut self, pairs: &[Vec<Affine<'_, f32>>], [first, second]: &[Affine<'_, f32>; 2]) {
        let (isa, width, scored) = (self.isa, first.inputs(), first.outputs());
        let (score, weights) = (&self.score, &mut self.weights);
        let value = |out: usize, k: usize| first.weight[out * width + k];
        pack(isa, width, scored, |k, column| value(column, k), &mut weights[score.first.clone()]);
        pack(isa, scored, width, value, &mut weights[score.first_back.clone()]);
        weights[score.first_bias.clone()][..scored].copy_from_slice(first.bias);
        weights[score.second.clone()][..scored].copy_from_slice(second.weight);
        let value = |k: usize, pair: usize| pairs[pair][1].bias[k];
        pack(isa, width, pairs.len(), value, &mut weights[self.biases.clone()]);
    }
}
