//! Writes the results of a run into its folder: metrics, TensorBoard events and a log.

use super::{EpochTimes, EventWriter, MetricsLine, MetricsLog, NamedScalar, Resumed, RunFolder};
use crate::checkpoint::LogPosition;
use crate::context::at;
use crate::fit::StepReport;
use knockout_base::error::Result;
use knockout_trace::meter::{Meter, StepPhase};
use std::fs::File;
use std::io::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

/// Steps between TensorBoard's points inside an epoch.
const EVENT_STEPS: u64 = 10;

pub(super) struct RunWriter {
    metrics: MetricsLog,
    resumed: Resumed,
    events: EventWriter,
    log: File,
    log_path: std::path::PathBuf,
}

impl RunWriter {
    /// Opens the files at the end of a checkpoint's metrics; [`LogPosition::START`] for a new run.
    pub(super) fn open(folder: &RunFolder, from: LogPosition, after_step: Option<u64>) -> Result<Self> {
        let (metrics, resumed) = folder.metrics(from)?;
        let events = folder.events(unix_seconds(), after_step)?;
        let (log, log_path) = (folder.log()?, folder.log_path());
        let mut writer = Self { metrics, resumed, events, log, log_path };
        if resumed.missing_lines > 0 {
            let missing = resumed.missing_lines;
            writer.log_line(&format!(
                "metrics.jsonl lacks {missing} lines that were there at the checkpoint"
            ))?;
        }
        Ok(writer)
    }

    pub(super) fn resumed(&self) -> Resumed {
        self.resumed
    }

    /// Logs a step; the time counts as logging of the next one.
    pub(super) fn step(&mut self, report: &StepReport, meter: &mut Meter) -> Result<()> {
        meter.time(StepPhase::Logging, || {
            if !report.position.step.is_multiple_of(EVENT_STEPS) {
                return Ok(());
            }
            let mut scalars = vec![
                NamedScalar { tag: "train/loss", value: report.outcome.loss },
                NamedScalar { tag: "train/learning_rate", value: report.learning_rate },
            ];
            if let Some(norm) = report.outcome.gradient_norm {
                scalars.push(NamedScalar { tag: "train/gradient_norm", value: norm });
            }
            let tags: Vec<(String, f64)> =
                report.outcome.parts.iter().map(|(name, value)| (format!("train/{name}"), *value)).collect();
            scalars.extend(tags.iter().map(|(tag, value)| NamedScalar { tag, value: *value }));
            self.events.scalars(unix_seconds(), report.position.step, &scalars)
        })
    }

    /// Writes the line of an epoch.
    pub(super) fn epoch(&mut self, line: &MetricsLine, times: EpochTimes) -> Result<()> {
        self.metrics.append(line)?;
        let figures = [
            ("val/pearson", line.val.pearson),
            ("val/spearman", line.val.spearman),
            ("val/mse", line.val.mse),
            ("val/mae", line.val.mae),
            ("epoch/train_loss", Some(line.train_loss)),
        ];
        let parts: Vec<(String, f64)> =
            line.loss_parts.iter().map(|(name, value)| (format!("epoch/{name}"), *value)).collect();
        let timed = [
            ("time/train_seconds", times.train_seconds),
            ("time/validation_seconds", times.validation_seconds),
            ("time/samples_per_second", times.samples_per_second),
        ];
        let scalars: Vec<NamedScalar<'_>> = figures
            .iter()
            .filter_map(|&(tag, value)| Some(NamedScalar { tag, value: value? }))
            .chain(parts.iter().map(|(tag, value)| NamedScalar { tag, value: *value }))
            .chain(timed.iter().map(|&(tag, value)| NamedScalar { tag, value }))
            .collect();
        self.events.scalars(unix_seconds(), line.step, &scalars)?;
        let pearson = line.val.pearson.map_or_else(|| "undefined".to_owned(), |value| value.to_string());
        let parts: Vec<String> =
            line.loss_parts.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let parts = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
        self.log_line(&format!(
            "epoch {} step {}: train loss {}{parts}, validation Pearson {pearson}, learning rate {}, \
             {:.1} s training at {:.1} samples/s, {:.1} s validation",
            line.epoch + 1,
            line.step,
            line.train_loss,
            line.learning_rate,
            times.train_seconds,
            times.samples_per_second,
            times.validation_seconds,
        ))
    }

    /// Returns the durable end of the metrics file, which every checkpoint stores.
    pub(super) fn position(&mut self) -> Result<LogPosition> {
        self.metrics.sync()
    }

    /// Adds a line to the log.
    pub(super) fn log_line(&mut self, text: &str) -> Result<()> {
        writeln!(self.log, "{text}").map_err(at("write", &self.log_path))
    }
}

fn unix_seconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}
