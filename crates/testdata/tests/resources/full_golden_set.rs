//! The full set of golden cases: what parity with PyTorch is tested on beyond the small cases of the repository.

use knockout_testdata::golden::cases_in;
use std::path::Path;

pub(crate) fn has_cases_of_every_family(folder: &Path) {
    for family in ["baselines/", "dango/", "hetero/", "losses/", "metrics/", "ops/"] {
        cases_in(folder, family);
    }
}
