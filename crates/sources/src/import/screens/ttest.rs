//! The p-value of a mean: a two-sided one-sample t-test against 0.

/// The p-value of `t = mean / (s / √n)` with `n − 1` degrees of freedom; `None` for fewer than two values, or when all
/// are equal: copies measure no error.
pub(crate) fn p_value(mean: f64, sum_of_squares: f64, count: u32) -> Option<f64> {
    if count < 2 {
        return None;
    }
    let freedom = f64::from(count - 1);
    let error = (sum_of_squares.max(0.0) / freedom / f64::from(count)).sqrt();
    if error == 0.0 {
        return None;
    }
    let t = mean / error;
    Some(incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t)).clamp(0.0, 1.0))
}

/// Stands for 0 where the fraction would divide by it.
const TINY: f64 = 1e-300;

/// The regularised incomplete beta function, by its continued fraction (Lentz's method).
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast on one side of this point; the other is its mirror image.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let front =
        libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * libm::log(x) + b * libm::log1p(-x)
            - libm::log(a);
    let (mut c, mut d) = (1.0, 1.0 - (a + b) * x / (a + 1.0));
    d = 1.0 / if d.abs() < TINY { TINY } else { d };
    let mut fraction = d;
    for step in 1..500 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for term in [even, odd] {
            d = 1.0 + term * d;
            d = 1.0 / if d.abs() < TINY { TINY } else { d };
            c = 1.0 + term / c;
            c = if c.abs() < TINY { TINY } else { c };
            change *= c * d;
        }
        fraction *= change;
        if (change - 1.0).abs() < 1e-15 {
            break;
        }
    }
    libm::exp(front) * fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p_of(values: &[f64]) -> Option<f64> {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares = values.iter().map(|value| (value - mean).powi(2)).sum();
        p_value(mean, squares, values.len() as u32)
    }

    #[test]
    fn agrees_with_tabulated_values() {
        // scipy.stats.ttest_1samp(values, 0).pvalue
        let near = |found: Option<f64>, expected: f64| {
            let found = found.unwrap();
            assert!((found - expected).abs() < 1e-12 + 1e-10 * expected, "{found} is not {expected}");
        };
        near(p_of(&[0.1, 0.2]), 0.204_832_764_699_133_4);
        near(p_of(&[-0.08, -0.1, -0.02]), 0.109_129_193_625_252_04);
        near(p_of(&[1.0, 2.0, 3.0, 4.0, 5.0]), 0.013_235_599_563_682_69);
        near(p_of(&[-1.0, 1.0]), 1.0);
    }

    #[test]
    fn the_ends_are_defined() {
        assert_eq!(p_of(&[0.3]), None);
        assert_eq!(p_of(&[0.25, 0.25]), None, "copies measure no error");
        assert_eq!(p_of(&[0.0, 0.0]), None);
    }
}
