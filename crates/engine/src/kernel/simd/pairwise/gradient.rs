//! From the gradient that tiles accumulate to that of the parameters.

use super::PackedPairwise;
use crate::kernel::Pairwise;

/// `sum +=` the task's gradient, given what [`super::pair_rows_backward`] has accumulated over all rows: the gradients of composed layers are
/// propagated to the layers they were composed of.
pub(crate) fn add_pair_gradient(
    task: &Pairwise<'_, f32>,
    packed: &PackedPairwise,
    gradient: &[f32],
    sum: &mut [f32],
) {
    for (sum, &value) in sum.iter_mut().zip(gradient) {
        *sum += value;
    }
    let Some(packed) = &packed.0 else {
        return;
    };
    let (width, scored) = (task.width(), task.score()[0].outputs());
    let (sum, sum_score) = sum.split_at_mut(packed.score.gradient);
    let score = task.score()[0].weight;
    for ((i, j, linears), pair) in task.pairs().zip(&packed.pairs) {
        let (own, hidden) = (&mut sum[pair.gradient..], pair.hidden);
        let (first, own) = own.split_at_mut(hidden * 2 * width);
        if i == j {
            let found = gradient[pair.gradient..].chunks_exact(2 * width);
            for (row, found) in first.chunks_exact_mut(2 * width).zip(found) {
                for (sum, &value) in row[width..].iter_mut().zip(&found[..width]) {
                    *sum += value;
                }
            }
        }
        let (second, own) = own[hidden..].split_at_mut(width * hidden);
        let (composed, composed_bias) = gradient[pair.composed_gradient.clone()].split_at(scored * hidden);
        for (bias, &value) in own.iter_mut().zip(&gradient[pair.bias_gradient.clone()]) {
            *bias += value;
        }
        for (out, (composed, &d_bias)) in composed.chunks_exact(hidden).zip(composed_bias).enumerate() {
            sum_score[scored * width + out] += d_bias;
            for channel in 0..width {
                let factor = score[out * width + channel];
                let weight = &linears[1].weight[channel * hidden..(channel + 1) * hidden];
                let second = &mut second[channel * hidden..(channel + 1) * hidden];
                let mut found = linears[1].bias[channel] * d_bias;
                for ((second, &d), &weight) in second.iter_mut().zip(composed).zip(weight) {
                    *second += factor * d;
                    found += d * weight;
                }
                own[channel] += factor * d_bias;
                sum_score[out * width + channel] += found;
            }
        }
    }
    let (second, score_start) = (&gradient[packed.score.second_gradient.clone()], scored * width + scored);
    for (sum, &value) in sum_score[score_start..score_start + scored].iter_mut().zip(second) {
        *sum += value;
    }
    if let Some(bias) = sum_score.get_mut(score_start + scored) {
        *bias += second[second.len() - 1];
    }
}
