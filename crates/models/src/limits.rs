//! Checks of options, before anything is computed.

use knockout_base::error::{Error, Result};
use std::fmt;

/// Creates the error of an option whose value breaks a rule.
pub fn out_of_range(key: &str, value: impl fmt::Display, rule: &str) -> Error {
    Error::request(format!("{key} is {value}, but {rule}"))
}

/// Refuses 0.
pub fn at_least_one(key: &str, value: usize) -> Result<()> {
    if value == 0 { Err(out_of_range(key, value, "it must be at least 1")) } else { Ok(()) }
}

/// Refuses 0 and sizes beyond those of any model, whose products would overflow.
pub fn size(key: &str, value: usize) -> Result<()> {
    if (1..=1 << 20).contains(&value) {
        Ok(())
    } else {
        Err(out_of_range(key, value, "it must be from 1 to 1048576"))
    }
}

/// Refuses negative values, NaN and infinity.
pub fn not_negative(key: &str, value: f64) -> Result<()> {
    if value.is_finite() && value >= 0.0 {
        Ok(())
    } else {
        Err(out_of_range(key, value, "it must be a number from 0 up"))
    }
}
