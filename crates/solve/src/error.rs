//! Errors of the solved models: constructors of [`Error`].

use knockout_base::error::Error;
use std::fmt::Display;

/// Returns the error of a training part without samples.
pub fn no_training_samples() -> Error {
    Error::failure("the training part has no samples")
}

/// Returns the error of a configured value outside its range.
pub(crate) fn out_of_range(key: &str, value: &dyn Display, rule: &str) -> Error {
    Error::request(format!("model.{key} is {value}, but {rule}"))
}

/// Returns the error of a network, annotations or a feature that the dataset lacks.
pub(crate) fn not_in_dataset<'a>(kind: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Error {
    let known: Vec<&str> = known.collect();
    let help = if known.is_empty() {
        "it has none (add them with `knockout data import`)".to_owned()
    } else {
        format!("it has {}", known.join(", "))
    };
    Error::request(format!("the dataset has no {kind} {name:?}; {help}"))
}

/// Checks the memory of a number of single-precision values against `model.memory_mib`.
pub(crate) fn check_memory(
    values: usize,
    rows: usize,
    columns: usize,
    limit_mib: usize,
) -> Result<(), Error> {
    let needed_mib = values * size_of::<f32>() / (1 << 20);
    if needed_mib > limit_mib {
        return Err(Error::request(format!(
            "the matrices ({rows} x {columns}) need {needed_mib} MiB, more than model.memory_mib={limit_mib}; raise it, or \
             use fewer genes"
        )));
    }
    Ok(())
}

/// Returns the error of a stored tensor that is missing or has the wrong shape.
pub(crate) fn bad_tensor(name: &str) -> Error {
    Error::damage(format!("the stored solution has no tensor {name} of the right shape"))
}
