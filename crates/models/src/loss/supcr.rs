//! Supervised contrastive regression: embeddings of rows with near labels should be nearer than those with far ones.

use knockout_engine::kernel::Real;
use knockout_engine::kernel::slices::{add_scaled, dot};

/// Norm below which a row counts as zero.
const NO_DIRECTION: f64 = 1e-12;

/// The supervised contrastive regression loss of embeddings z `[rows, width]` with labels y:
///
/// ```text
/// s_ij = cos(z_i, z_j) / T
/// L    = mean over ordered pairs i ≠ j of  log Σ_{k ≠ i, |y_i − y_k| ≥ |y_i − y_j|} exp(s_ik)  −  s_ij
/// ```
///
/// Ties are in the sum, the anchor i never is (the reference let it in where labels were tied). Rows whose label is NaN are
/// dropped; fewer than two rows give 0. A row of zeros has cosine 0 with all others and receives no gradient.
///
/// `gradient` may be shorter than `embeddings`: it is then that of the first rows, and the others are constants. The cost
/// is O(rows² (width + log rows)): each anchor sorts its distances once and sums from the far end.
///
/// # Panics
///
/// If the lengths do not fit.
pub fn supcr<T: Real>(
    embeddings: &[T],
    width: usize,
    labels: &[T],
    temperature: f64,
    gradient: &mut [T],
) -> T {
    assert_eq!(embeddings.len(), labels.len() * width, "one label per row");
    assert!(gradient.len() <= embeddings.len() && gradient.len().is_multiple_of(width.max(1)), "whole rows");
    gradient.fill(T::ZERO);
    let rows: Vec<usize> = (0..labels.len()).filter(|&row| !labels[row].is_nan()).collect();
    if rows.len() < 2 {
        return T::ZERO;
    }
    let labels: Vec<f64> = rows.iter().map(|&row| labels[row].to_f64()).collect();
    let (directions, lengths) = directions(embeddings, width, &rows);
    let learning = rows.iter().filter(|&&row| row * width < gradient.len()).count();

    let count = rows.len();
    let pairs = (count * (count - 1)) as f64;
    let mut anchor = Anchor::new(count);
    let mut slopes = vec![0.0; count];
    // The gradient with respect to the unit directions of the rows that learn.
    let mut pull = vec![0.0; learning * width];
    let mut total = 0.0;
    for i in 0..count {
        let mine = &directions[i * width..][..width];
        for k in 0..count {
            anchor.similarity[k] = dot(mine, &directions[k * width..][..width]) / temperature;
        }
        total += anchor.loss(i, &labels, &mut slopes);
        for k in 0..count {
            let slope = slopes[k] / (temperature * pairs);
            if i < learning {
                add_scaled(&mut pull[i * width..][..width], slope, &directions[k * width..][..width]);
            }
            if k < learning {
                add_scaled(&mut pull[k * width..][..width], slope, mine);
            }
        }
    }
    for (i, &row) in rows[..learning].iter().enumerate() {
        if lengths[i] >= NO_DIRECTION {
            // d(z/|z|)/dz: what points along z changes only its length.
            let (direction, pull) = (&directions[i * width..][..width], &pull[i * width..][..width]);
            let along = dot(direction, pull);
            for ((out, &pull), &direction) in
                gradient[row * width..][..width].iter_mut().zip(pull).zip(direction)
            {
                *out = T::of((pull - along * direction) / lengths[i]);
            }
        }
    }
    T::of(total / pairs)
}

/// z/|z| of the given rows (0 where there is no direction), and |z|.
fn directions<T: Real>(embeddings: &[T], width: usize, rows: &[usize]) -> (Vec<f64>, Vec<f64>) {
    let mut directions = Vec::with_capacity(rows.len() * width);
    let mut lengths = Vec::with_capacity(rows.len());
    for &row in rows {
        let z = &embeddings[row * width..][..width];
        let length = z.iter().map(|z| z.to_f64() * z.to_f64()).sum::<f64>().sqrt();
        let scale = if length < NO_DIRECTION { 0.0 } else { 1.0 / length };
        directions.extend(z.iter().map(|z| z.to_f64() * scale));
        lengths.push(length);
    }
    (directions, lengths)
}

/// Scratch memory of one anchor.
struct Anchor {
    similarity: Vec<f64>,
    /// (distance of the label, row), farthest first.
    order: Vec<(f64, u32)>,
    /// Log of the denominator at each position of `order`.
    denominator: Vec<f64>,
}

impl Anchor {
    fn new(count: usize) -> Self {
        Self { similarity: vec![0.0; count], order: Vec::with_capacity(count), denominator: vec![0.0; count] }
    }

    /// `Σ_j log denominator_ij − s_ij`, and its derivative with respect to every `s_ik`.
    ///
    /// k is in the denominator of every j that is not farther than k, so
    /// `dL/ds_ik = Σ_{j: d_ij ≤ d_ik} exp(s_ik) / denominator_ij − 1`: sums from the near end over what sums from the far
    /// end gave. Both run as log-sum-exp, for small temperatures.
    fn loss(&mut self, anchor: usize, labels: &[f64], slopes: &mut [f64]) -> f64 {
        let others = (0..labels.len()).filter(|&k| k != anchor);
        self.order.clear();
        self.order.extend(others.map(|k| ((labels[anchor] - labels[k]).abs(), k as u32)));
        self.order.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));

        let (mut running, mut total, mut at) = (LogSum::EMPTY, 0.0, 0);
        while at < self.order.len() {
            let end = at + self.tied_from(at);
            for &(_, k) in &self.order[at..end] {
                running.add(self.similarity[k as usize]);
            }
            let denominator = running.log();
            self.denominator[at..end].fill(denominator);
            for &(_, k) in &self.order[at..end] {
                total += denominator - self.similarity[k as usize];
            }
            at = end;
        }

        slopes[anchor] = 0.0;
        let (mut inverse, mut end) = (LogSum::EMPTY, self.order.len());
        while end > 0 {
            let distance = self.order[end - 1].0;
            let start = end
                - self.order[..end].iter().rev().take_while(|(d, _)| d.total_cmp(&distance).is_eq()).count();
            for denominator in &self.denominator[start..end] {
                inverse.add(-denominator);
            }
            let weight = inverse.log();
            for &(_, k) in &self.order[start..end] {
                slopes[k as usize] = libm::exp(self.similarity[k as usize] + weight) - 1.0;
            }
            end = start;
        }
        total
    }

    fn tied_from(&self, at: usize) -> usize {
        let distance = self.order[at].0;
        self.order[at..].iter().take_while(|(d, _)| d.total_cmp(&distance).is_eq()).count()
    }
}

/// Running log-sum-exp.
#[derive(Clone, Copy)]
struct LogSum {
    largest: f64,
    /// Relative to the largest.
    sum: f64,
}

impl LogSum {
    const EMPTY: Self = Self { largest: f64::NEG_INFINITY, sum: 0.0 };

    fn add(&mut self, term: f64) {
        if term <= self.largest {
            self.sum += libm::exp(term - self.largest);
        } else {
            self.sum = self.sum * libm::exp(self.largest - term) + 1.0;
            self.largest = term;
        }
    }

    fn log(self) -> f64 {
        self.largest + libm::log(self.sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, term by term.
    fn by_definition(z: &[f64], width: usize, y: &[f64], temperature: f64) -> f64 {
        let row = |i: usize| &z[i * width..][..width];
        let s = |i, j| {
            let lengths = dot(row(i), row(i)).sqrt() * dot(row(j), row(j)).sqrt();
            if lengths == 0.0 { 0.0 } else { dot(row(i), row(j)) / lengths / temperature }
        };
        let (mut total, mut pairs) = (0.0, 0.0);
        for i in 0..y.len() {
            for j in (0..y.len()).filter(|&j| j != i) {
                let farther = (0..y.len()).filter(|&k| k != i && (y[i] - y[k]).abs() >= (y[i] - y[j]).abs());
                total += farther.map(|k| s(i, k).exp()).sum::<f64>().ln() - s(i, j);
                pairs += 1.0;
            }
        }
        total / pairs
    }

    #[test]
    fn two_rows_have_loss_zero() {
        let mut gradient = [9.0; 4];
        // The only denominator of a pair is the pair itself.
        assert_eq!(supcr(&[1.0, 0.0, 0.0, 1.0], 2, &[0.0, 1.0], 0.1, &mut gradient), 0.0);
        assert_eq!(gradient, [0.0; 4]);
    }

    #[test]
    fn fewer_than_two_labels_give_zero() {
        let mut gradient = [9.0; 4];
        assert_eq!(supcr(&[1.0, 0.0, 0.0, 1.0], 2, &[f64::NAN, 1.0], 0.1, &mut gradient), 0.0);
        assert_eq!(gradient, [0.0; 4]);
        assert_eq!(supcr::<f64>(&[], 2, &[], 0.1, &mut []), 0.0);
    }

    #[test]
    fn a_row_of_zeros_and_a_tiny_temperature_stay_finite() {
        let z = [0.0, 0.0, 1.0, 0.0, -1.0, 0.1, 0.3, -1.0];
        let mut gradient = [9.0; 8];
        let loss = supcr(&z, 2, &[0.0, 1.0, 2.0, 3.0], 1e-4, &mut gradient);
        assert!(loss.is_finite() && gradient.iter().all(|g| g.is_finite()), "{loss} {gradient:?}");
        assert_eq!(gradient[..2], [0.0, 0.0]);
    }

    proptest::proptest! {
        #[test]
        fn sorting_equals_the_definition(
            rows in proptest::collection::vec((proptest::array::uniform3(-2.0..2.0), 0_i32..5), 2..14),
            temperature in 0.05..2.0,
        ) {
            let z: Vec<f64> = rows.iter().flat_map(|row| row.0).collect();
            let y: Vec<f64> = rows.iter().map(|row| f64::from(row.1)).collect();
            let loss = supcr(&z, 3, &y, temperature, &mut vec![0.0; z.len()]);
            let expected = by_definition(&z, 3, &y, temperature);
            proptest::prop_assert!((loss - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{loss} {expected}");
        }
    }
}
