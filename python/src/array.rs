//! Memory of a dataset as numpy arrays without copies.

use knockout_data::screen::Dataset;
use numpy::ndarray::ArrayView1;
use numpy::{Element, PyArray1, PyArrayMethods as _};
use pyo3::prelude::*;
use std::sync::Arc;

/// Keeps a dataset in memory for the arrays that borrow from it, also after the dataset was closed.
#[pyclass(frozen, module = "knockout._knockout")]
struct Keeper {
    dataset: Arc<Dataset>,
}

/// Returns a read-only array over memory of a dataset.
pub(crate) fn view<'py, T: Element>(
    py: Python<'py>,
    dataset: &Arc<Dataset>,
    pick: impl FnOnce(&Dataset) -> &[T],
) -> PyResult<Bound<'py, PyArray1<T>>> {
    let keeper = Bound::new(py, Keeper { dataset: Arc::clone(dataset) })?;
    let memory = ArrayView1::from(pick(&keeper.get().dataset));
    // SAFETY: the memory belongs to the dataset, which is immutable and shared by `keeper`; `keeper` is the array's base object and lives
    // as long as the array.
    #[expect(unsafe_code, reason = "numpy has no safe way to borrow memory")]
    let array = unsafe { PyArray1::borrow_from_array(&memory, keeper.clone().into_any()) };
    array.try_readwrite()?.make_nonwriteable();
    Ok(array)
}
