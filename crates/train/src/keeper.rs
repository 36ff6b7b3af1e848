//! Keeps what a run gives in its folder: metrics, TensorBoard events, checkpoints, a log to read.

use crate::checkpoint::{Checkpoints, Contents, Saved, Slot};
use crate::fit::{EpochReport, Kept, Occasion, StepReport, Watch, Wish};
use crate::metrics::Metrics;
use crate::run::{EventWriter, MetricsLog, Position, Run, RunError, Scalar};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Write as _;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A line of `metrics.jsonl`: an epoch, or the end of a run inside one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricsLine {
    /// Version of this line: 1.
    pub schema: u32,
    /// Batches seen.
    pub step: u64,
    /// The epoch, from 0.
    pub epoch: u32,
    /// Mean loss over the epoch's samples so far, on standardised scores.
    pub train_loss: f64,
    /// The learning rate.
    pub learning_rate: f64,
    /// Over the full validation part.
    pub val: Metrics,
    /// blake3 over all parameters, in the order of their names.
    pub weights_hash: String,
}

/// What a keeper is told by, and tells, the program around it.
pub trait Companion {
    /// After every step.
    fn step(&mut self, report: &StepReport<'_>);
    /// After every epoch.
    fn epoch(&mut self, line: &MetricsLine);
    /// Whether the run is to end after this step.
    fn stop_wanted(&mut self) -> bool;
}

/// Writes a run's folder.
pub struct Keeper<'a> {
    metrics: MetricsLog,
    events: EventWriter,
    log: File,
    checkpoints: Checkpoints,
    companion: &'a mut dyn Companion,
    every: Duration,
    saved: Instant,
    /// The last line written.
    pub last_line: Option<MetricsLine>,
    /// The last state to go on from.
    pub last_saved: Option<Saved>,
}

/// Steps between TensorBoard's points inside an epoch.
const EVENT_STEPS: u64 = 10;

impl<'a> Keeper<'a> {
    /// Goes on where a checkpoint left the metrics; [`Position::START`] for a new run. A state is saved `every` so often inside
    /// an epoch.
    pub fn new(
        run: &Run,
        from: Position,
        after_step: Option<u64>,
        every: Duration,
        companion: &'a mut dyn Companion,
    ) -> Result<Self, RunError> {
        let (metrics, _) = run.metrics(from)?;
        Ok(Self {
            metrics,
            events: run.events(unix_seconds(), after_step)?,
            log: run.log()?,
            checkpoints: Checkpoints::at(&run.checkpoints()),
            companion,
            every,
            saved: Instant::now(),
            last_line: None,
            last_saved: None,
        })
    }
}

fn unix_seconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

impl Watch for Keeper<'_> {
    fn step(&mut self, report: &StepReport<'_>) -> Kept<Wish> {
        self.companion.step(report);
        if report.place.step.is_multiple_of(EVENT_STEPS) {
            let mut scalars = vec![
                Scalar { tag: "train/loss", value: report.outcome.loss },
                Scalar { tag: "train/learning_rate", value: report.learning_rate },
            ];
            if let Some(norm) = report.outcome.gradient_norm {
                scalars.push(Scalar { tag: "train/gradient_norm", value: norm });
            }
            let tags: Vec<(String, f64)> =
                report.outcome.parts.iter().map(|(name, value)| (format!("train/{name}"), *value)).collect();
            scalars.extend(tags.iter().map(|(tag, value)| Scalar { tag, value: *value }));
            self.events.scalars(unix_seconds(), report.place.step, &scalars)?;
        }
        if self.companion.stop_wanted() {
            return Ok(Wish::Stop);
        }
        Ok(if self.saved.elapsed() >= self.every { Wish::Save } else { Wish::GoOn })
    }

    fn epoch(&mut self, report: &EpochReport<'_>) -> Kept<()> {
        let line = MetricsLine {
            schema: 1,
            step: report.place.step,
            epoch: report.place.epoch,
            train_loss: report.train_loss,
            learning_rate: report.learning_rate,
            val: *report.validation,
            weights_hash: report.weights_hash.clone(),
        };
        self.metrics.append(&line)?;
        let figures = [
            ("val/pearson", line.val.pearson),
            ("val/spearman", line.val.spearman),
            ("val/mse", line.val.mse),
            ("val/mae", line.val.mae),
            ("epoch/train_loss", Some(line.train_loss)),
        ];
        let scalars: Vec<Scalar<'_>> =
            figures.iter().filter_map(|&(tag, value)| Some(Scalar { tag, value: value? })).collect();
        self.events.scalars(unix_seconds(), line.step, &scalars)?;
        let figure = line.val.pearson.map_or_else(|| "undefined".to_owned(), |value| value.to_string());
        writeln!(
            self.log,
            "epoch {} step {}: train loss {}, validation Pearson {}, learning rate {}",
            line.epoch, line.step, line.train_loss, figure, line.learning_rate
        )?;
        self.companion.epoch(&line);
        self.last_line = Some(line);
        Ok(())
    }

    fn position(&mut self) -> Kept<Position> {
        Ok(self.metrics.sync()?)
    }

    fn keep(&mut self, occasion: Occasion, contents: &Contents<'_>) -> Kept<()> {
        let slot = match occasion {
            Occasion::Last => Slot::Last,
            Occasion::BestPearson => Slot::BestPearson,
            Occasion::BestMse => Slot::BestMse,
        };
        let saved = self.checkpoints.save(slot, contents)?;
        if occasion == Occasion::Last {
            self.saved = Instant::now();
            self.last_saved = Some(saved);
        }
        Ok(())
    }
}
