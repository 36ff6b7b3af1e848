//! e to the x for eight numbers at once, written so that the compiler makes vector instructions of it.
//!
//! Additions, multiplications and integer shifts only, in a fixed order: the same bits on every machine.

/// log2 e.
const LOG2_E: f64 = std::f64::consts::LOG2_E;
/// ln 2 in two parts; the first has so few digits that its products with whole numbers are exact.
const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Adding and subtracting it rounds to an integer, which is in the low bits in between.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// Below it, results are negligible in any sum, and soon subnormal.
const LOWEST: f64 = -700.0;
/// 1/k! from k = 13 down to 2.
const COEFFICIENTS: [f64; 12] = [
    1.0 / 6_227_020_800.0,
    1.0 / 479_001_600.0,
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
];

/// e to the x in place, within 2 units of the last digit, for x up to 700; values below −700 are clamped to it.
#[inline]
pub(super) fn exp_8(values: &mut [f64; 8]) {
    for value in values {
        let x = if *value > LOWEST { *value } else { LOWEST };
        // x = k ln 2 + r with |r| at most half of ln 2.
        let shifted = x * LOG2_E + ROUND;
        let k = shifted - ROUND;
        let r = (x - k * LN_2_HIGH) - k * LN_2_LOW;
        let mut sum = COEFFICIENTS[0];
        for &coefficient in &COEFFICIENTS[1..] {
            sum = sum * r + coefficient;
        }
        let power = (sum * r) * r + r + 1.0;
        // Times 2 to the k: k is added to the exponent's bits.
        *value = f64::from_bits(power.to_bits().wrapping_add(shifted.to_bits() << 52));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_exponential() {
        let mut worst: f64 = 0.0;
        for step in 0..100_000 {
            let mut values =
                std::array::from_fn(|lane| -700.0 + f64::from(step) * 0.0139 + lane as f64 * 0.0017);
            let expected = values.map(libm::exp);
            exp_8(&mut values);
            for (mine, expected) in values.iter().zip(expected) {
                worst = worst.max((mine / expected - 1.0).abs());
            }
        }
        assert!(worst <= 5e-16, "{worst}");
        let mut odd = [0.0, -0.0, -1e300, f64::NEG_INFINITY, 1.0, -1.0, 1e-300, 18.0];
        exp_8(&mut odd);
        assert_eq!((odd[0], odd[1]), (1.0, 1.0));
        assert!(odd[2] < 1e-300 && odd[3] < 1e-300);
    }
}
