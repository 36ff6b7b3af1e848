//! Floats in JSON, bit for bit: text in Rust's shortest exact form, which preserves NaN, infinities and every digit.
//!
//! For `#[serde(with = "crate::exact")]`. JSON numbers are not exact: readers may round, and infinity cannot be written.

use serde::de::{Deserializer, Error, Visitor};
use serde::ser::Serializer;
use std::fmt;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
pub(crate) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{value:?}"))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    deserializer.deserialize_any(NumberText)
}

/// The text that this module writes, or a plain number.
struct NumberText;

impl Visitor<'_> for NumberText {
    type Value = f64;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a number")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<f64, E> {
        text.parse().map_err(|error| E::custom(format_args!("{text:?} is not a number ({error})")))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<f64, E> {
        Ok(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<f64, E> {
        Ok(value as f64)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<f64, E> {
        Ok(value as f64)
    }
}

#[cfg(test)]
mod tests {
    #[derive(serde::Serialize, serde::Deserialize)]
    struct ExactNumber(#[serde(with = "super")] f64);

    #[test]
    fn every_number_returns() {
        for value in [0.1, -0.0, 1e-310, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 5e-4 * 0.75] {
            let text = serde_json::to_string(&ExactNumber(value)).unwrap();
            assert_eq!(
                serde_json::from_str::<ExactNumber>(&text).unwrap().0.to_bits(),
                value.to_bits(),
                "{text}"
            );
        }
        assert_eq!(serde_json::from_str::<ExactNumber>("3").unwrap().0, 3.0);
        assert!(
            serde_json::from_str::<ExactNumber>("\"one\"")
                .is_err_and(|error| error.to_string().contains("one"))
        );
    }
}
