//! Least squares with few unknowns that must not be negative, from their normal equations.

/// The x ≥ 0 that minimises xᵀGx − 2mᵀx, one coordinate after the other.
pub(crate) fn from_zero_up(gram: &[f64], moments: &[f64]) -> Vec<f64> {
    let size = moments.len();
    let mut x = vec![0.0; size];
    for _ in 0..10_000 {
        let mut largest = 0.0_f64;
        for i in 0..size {
            let own = gram[i * size + i];
            if own <= 0.0 {
                continue;
            }
            let dot: f64 = gram[i * size..][..size].iter().zip(&x).map(|(g, x)| g * x).sum();
            let next = (x[i] + (moments[i] - dot) / own).max(0.0);
            largest = largest.max((next - x[i]).abs() * own.sqrt());
            x[i] = next;
        }
        if largest == 0.0 || largest * largest <= 1e-24 * moments.iter().map(|m| m.abs()).sum::<f64>() {
            break;
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_those_of_the_constrained_minimum() {
        // Unconstrained the second would be negative.
        let (gram, moments) = (vec![2.0, 1.0, 1.0, 2.0], vec![2.0, -1.0]);
        assert_eq!(from_zero_up(&gram, &moments), [1.0, 0.0]);
        let free = from_zero_up(&gram, &[3.0, 3.0]);
        assert!(free.iter().all(|x| (x - 1.0).abs() < 1e-9), "{free:?}");
    }
}
