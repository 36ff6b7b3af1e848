//! Screens: the scores measured when genes were deleted together.
//!
//! Samples in columns, the ways to divide them into train, val and test, and the dataset directory on disk. The module does not
//! depend on source formats, batches or models.

mod alleles;
mod dataset;
mod labels;
mod regime;
mod repeats;
mod samples;
mod split;
mod standard_errors;
mod summary;

pub use alleles::{Allele, AlleleTable};
pub use dataset::{
    Counts, Dataset, DatasetFinding, FORMAT_VERSION, Manifest, NetworkEntry, Provenance, Synthetic, verify,
};
pub use labels::LabelStats;
pub use regime::Regime;
pub use repeats::{Bounds, Ceiling, CeilingBasis, FEWEST_REPEATS, NoCeiling, RepeatAlleles, Repeats};
pub use samples::{Sample, Samples, SamplesBuilder, WeightedMean};
pub use split::{DEFAULT_SPLIT_SEED, Division, Part, Scheme, Split, SplitSpec, TrainingFold, subset};
pub use standard_errors::{ScoreError, StandardErrors};
pub use summary::{
    AlleleSummary, AnnotationSummary, DatasetSummary, FeatureSummary, Histogram, MetabolismSummary,
    NetworkSummary, Quartiles, SamplesSummary, ScoreSummary, SplitSummary,
};
