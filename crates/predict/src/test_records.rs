//! Records of the test part with their predictions, by regime and size.

use crate::TrainedGenes;
use crate::accuracy::test_predictions;
use crate::hit_notes::{HitKind, HitNotes};
use crate::scorer::OpenRuns;
use knockout_base::error::Result;
use knockout_data::screen::Part;

/// A record of the test part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TestRecord {
    /// The prediction.
    pub prediction: f64,
    /// The measured score.
    pub score: f64,
    /// Its kind.
    pub kind: HitKind,
}

impl TestRecord {
    /// Predicts the test part; `None` if that would take long and `evaluate` has not left its predictions.
    pub fn of(opened: &OpenRuns) -> Result<Option<Vec<Self>>> {
        let OpenRuns { dataset, split, .. } = opened;
        let (samples, rows) = (&dataset.samples, split.rows(Part::Test));
        let trained = TrainedGenes::of(samples, dataset.cell.genes().len(), split);
        let Some(predictions) = test_predictions(opened)? else { return Ok(None) };
        let notes = HitNotes::new(dataset, None, []);
        let record = |(&row, prediction): (&u32, f64)| {
            let set = samples.genes(row as usize);
            let score = samples.scores()[row as usize];
            Self { prediction, score, kind: notes.kind(set, trained.regime(set)) }
        };
        let records = rows.iter().zip(predictions).map(record);
        Ok(Some(records.filter(|record| record.prediction.is_finite() && record.score.is_finite()).collect()))
    }
}
