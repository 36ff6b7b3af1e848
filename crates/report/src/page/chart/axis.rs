//! Maps values to positions along an axis, and chooses round ticks.

use super::Scale;

/// A range of values along an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct AxisRange {
    /// On the scale: logarithms for [`Scale::Log`].
    low: f64,
    high: f64,
    scale: Scale,
}

impl AxisRange {
    /// Around all finite values, with a little room; `None` if there are none.
    pub(super) fn around(values: impl IntoIterator<Item = f64>, scale: Scale) -> Option<Self> {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values {
            let value = on_scale(value, scale);
            if value.is_finite() {
                (low, high) = (low.min(value), high.max(value));
            }
        }
        if low > high {
            return None;
        }
        // A flat line stands in the middle.
        let room =
            if high - low > 1e-12 * high.abs() { 0.04 * (high - low) } else { 0.05 * high.abs().max(1e-6) };
        Some(Self { low: low - room, high: high + room, scale })
    }

    /// Returns the position from 0 (the low end) to 1; `None` for a value outside the scale.
    pub(super) fn position(&self, value: f64) -> Option<f64> {
        let position = (on_scale(value, self.scale) - self.low) / (self.high - self.low);
        position.is_finite().then_some(position)
    }

    /// Returns about `wanted` round values inside, each with its text.
    pub(super) fn ticks(&self, wanted: usize) -> Vec<(f64, String)> {
        match self.scale {
            Scale::Linear => linear_ticks(self.low, self.high, wanted),
            Scale::Log => self.log_ticks(wanted),
        }
    }

    fn log_ticks(&self, wanted: usize) -> Vec<(f64, String)> {
        let decades = self.high - self.low;
        if decades < 1.0 {
            // Too narrow for powers of ten: round values, unevenly spaced.
            return linear_ticks(10_f64.powf(self.low), 10_f64.powf(self.high), wanted);
        }
        let digits: &[f64] = if decades < 3.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let step = (decades / wanted as f64).ceil().max(1.0) as usize;
        (self.low.floor() as i32..=self.high.ceil() as i32)
            .step_by(step)
            .flat_map(|power| digits.iter().map(move |digit| digit * 10_f64.powi(power)))
            .filter(|value| (self.low..=self.high).contains(&value.log10()))
            .map(|value| (value, short(value, value)))
            .collect()
    }
}

fn on_scale(value: f64, scale: Scale) -> f64 {
    match scale {
        Scale::Linear => value,
        // The logarithm of zero and below is not finite.
        Scale::Log => value.log10(),
    }
}

fn linear_ticks(low: f64, high: f64, wanted: usize) -> Vec<(f64, String)> {
    let rough = (high - low) / wanted.max(1) as f64;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|digit| digit * power).find(|&step| step >= 0.6 * rough);
    let Some(step) = step.filter(|step| step.is_finite() && *step > 0.0) else { return Vec::new() };
    let first = (low / step).ceil();
    (0..=2 * wanted + 2)
        .map(|i| (first + i as f64) * step)
        .take_while(|&value| value <= high)
        .map(|value| (value, short(value, step)))
        .collect()
}

/// Returns the fewest digits that distinguish neighbouring ticks.
fn short(value: f64, step: f64) -> String {
    let size = value.abs().max(step);
    let exponent = step.log10().floor();
    if size >= 1e6 || step < 1e-4 {
        let digits = (size.log10().floor() - exponent).clamp(0.0, 15.0) as usize;
        return if value == 0.0 { "0".to_owned() } else { format!("{value:.digits$e}") };
    }
    let digits = (-exponent).max(0.0) as usize;
    let text = format!("{value:.digits$}");
    // Rounding may leave a minus before nothing.
    if text.trim_matches(['-', '0', '.']).is_empty() { "0".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(values: [f64; 2], scale: Scale) -> Vec<String> {
        AxisRange::around(values, scale).unwrap().ticks(5).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round_numbers_inside() {
        assert_eq!(texts([0.0, 10.0], Scale::Linear), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(texts([-0.3, 0.3], Scale::Linear), ["-0.3", "-0.2", "-0.1", "0", "0.1", "0.2", "0.3"]);
        assert_eq!(texts([0.001, 10.0], Scale::Log), ["0.001", "0.01", "0.1", "1", "10"]);
        assert_eq!(texts([0.2, 3.0], Scale::Log), ["0.2", "0.5", "1", "2"]);
        let small = texts([0.003_54, 0.003_79], Scale::Linear);
        assert_eq!(small, ["3.55e-3", "3.60e-3", "3.65e-3", "3.70e-3", "3.75e-3", "3.80e-3"]);
    }

    #[test]
    fn odd_ranges_have_an_axis_or_none() {
        assert_eq!(AxisRange::around([f64::NAN, f64::INFINITY], Scale::Linear), None);
        assert_eq!(AxisRange::around([0.0, -1.0], Scale::Log), None);
        for values in [[0.0, 0.0], [5.0, 5.0], [1e300, -1e300], [1e-300, 2e-300]] {
            let axis = AxisRange::around(values, Scale::Linear).unwrap();
            let position = axis.position(values[0]).unwrap();
            assert!((0.0..=1.0).contains(&position), "{values:?}: {position}");
            assert!(axis.ticks(5).len() < 20);
        }
        assert_eq!(AxisRange::around([1.0, 2.0], Scale::Log).unwrap().position(-1.0), None);
    }
}
