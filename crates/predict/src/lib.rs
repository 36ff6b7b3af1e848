//! Everything that needs a finished run: predictions, explanations, evaluation and baselines.
//!
//! [`scorer::OpenRuns`] opens runs of one dataset, and a [`Scorer`] scores gene sets with them. [`Candidates`] numbers the sets, and
//! [`predict()`] scores them block by block into a [`PredictionFolder`]. A block is a file that is complete or absent, and its bytes depend only on its
//! number: a killed command resumes to the same bytes, and machines share the work by blocks. Combinations are generated when needed, so
//! memory does not grow with their number. [`explain`] attributes one prediction to genes and networks. [`evaluation`] compares
//! predictions ([`predictions`]) with the measured scores of a part, beside the [`baseline`]s.
//!
//! ```
//! use knockout_base::stats::bootstrap::Bootstrap;
//! use knockout_predict::evaluation::{NamedPredictions, Pairs, evaluate};
//! use knockout_data::screen::{Division, Part, Scheme, Split, SplitSpec};
//! use knockout_sources::synth;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let preset = synth::SynthConfig::preset("tiny").unwrap();
//! let dataset = synth::synthesise(&preset, 3, "tiny", "example", &|_| ())?;
//! let spec = SplitSpec { scheme: Scheme::Random, division: Division::default(), seed: 0, subset: None, train_subset: None };
//! let split = Split::new(&dataset.samples, dataset.cell.genes(), spec)?;
//!
//! let constant = vec![0.0; split.rows(Part::Test).len()];
//! let model = NamedPredictions { name: "constant", predictions: &constant };
//! let bootstrap = Bootstrap { resamples: 10, ..Bootstrap::default() };
//! let evaluation = evaluate(&dataset, &split, Part::Test, &[model], Pairs::Neighbours, &bootstrap)?;
//! let names: Vec<&str> = evaluation.rows.iter().map(|row| &row.name[..]).collect();
//! assert_eq!(names, ["constant", "stack", "additive-ridge"]);
//! # Ok(())
//! # }
//! ```
//!
//! The crate does not depend on the command line and never prints.

mod accuracy;
pub mod baseline;
mod block;
mod calibration;
pub mod candidates;
mod combination;
mod coverage;
mod csv;
mod enrichment;
pub mod evaluation;
mod evidence;
pub mod explain;
mod false_hits;
mod fitted_baselines;
mod folder;
mod histogram;
mod hit_metrics;
mod hit_notes;
mod merge;
pub mod packed;
mod part;
mod plan;
mod predict;
pub mod predictions;
mod regime;
pub mod scorer;
mod stack;
mod summary;
mod test_records;
mod top;
mod validation;
mod xlsx;

pub use accuracy::{AccuracySource, RegimeAccuracy};
pub use calibration::{Calibration, GeneAccuracy};
pub use candidates::{CandidateSpec, Candidates, Filters};
pub use coverage::{Coverage, IntervalShares, Intervals, RegimeCoverage};
pub use csv::CsvTable;
pub use enrichment::{ENRICHED, EnrichedTerm, Enrichment};
pub use evidence::{HitEvidence, enrichment};
pub use false_hits::{FEWEST_OF_KIND, FalseHits, FalseShare, HitCutOff, HitSign, wilson};
pub use fitted_baselines::{BaselineEvent, FittedBaselines};
pub use folder::{MANIFEST, PREDICTIONS, PredictionFolder};
pub use histogram::HistogramScale;
pub use hit_metrics::{CutOffs, Detection, FigureEstimate, HitMetrics};
pub use hit_notes::{ESSENTIAL, HitClass, HitKind, HitNote, HitNotes, Linkage, MeasuredSample, MeasuredSet};
pub use merge::merge;
pub use part::BlockShare;
pub use plan::{DatasetEntry, KeptPredictions, Plan, RunEntry};
pub use predict::{Outcome, PredictionObserver, predict};
pub use regime::{ResampledUnits, SharedRecords, TrainedGenes};
pub use scorer::{Ensemble, OpenRun, Scorer, Scores};
pub use stack::{is_default_stack, stack_predictions};
pub use summary::{PredictionSummary, write_csv, write_hits, write_sets};
pub use test_records::TestRecord;
pub use top::{Extremes, Hit};
pub use validation::ValidationPredictions;
pub use xlsx::{Sheet, SheetCell, workbook};
