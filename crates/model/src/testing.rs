//! What tests against PyTorch's numbers share.

use knockout_golden::Case;
use knockout_grad::Parameters;
use knockout_kernel::Scalar;

/// Gives every parameter the values of its name in a case.
pub(crate) fn fill<T: Scalar>(case: &Case, parameters: &mut Parameters<T>) {
    let names: Vec<String> = parameters.iter().map(|entry| entry.name().to_owned()).collect();
    for name in names {
        let values = case.f64(&format!("param.{name}"));
        let slots = parameters.named_mut(&name).expect("a name of its own");
        assert_eq!(slots.len(), values.len(), "{name}");
        slots.iter_mut().zip(values).for_each(|(slot, &value)| *slot = T::of(value));
    }
}

/// The same for all parameters of a model: the case has no others.
pub(crate) fn fill_all<T: Scalar>(case: &Case, parameters: &mut Parameters<T>) {
    assert_eq!(parameters.len(), case.names("param.").count(), "{}: as many as PyTorch has", case.name);
    fill(case, parameters);
}

pub(crate) fn wide<T: Scalar>(values: &[T]) -> impl Iterator<Item = f64> {
    values.iter().map(|value| value.to_f64())
}
