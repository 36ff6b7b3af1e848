//! Context of errors: the operation that failed and its path.

use knockout_base::error::{Classified, Error};
use std::path::Path;

/// Wraps an error as `could not ACT PATH`; the class stays.
pub(crate) fn at<E: Classified + Send + Sync + 'static>(act: &str, path: &Path) -> impl FnOnce(E) -> Error {
    let message = format!("could not {act} {}", path.display());
    move |error| Error::wrap(message, error)
}
