//! Progress of training: a bar on a terminal, at most a line a minute in a file; and interruption.

use crate::failure::Result;
use crate::interrupt::Interrupt;
use crate::ui::{Ui, Unit};
use indicatif::ProgressBar;
use knockout_report::lab::{error, loss_parts};
use knockout_report::units::{duration, figure};
use knockout_solve::TriedSetting;
use knockout_train::fit::{Fit, StepReport};
use knockout_train::run::{MetricsLine, Run};
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// Steps after which the length of the run is estimated; the first ones warm up.
const ESTIMATED_AFTER: u64 = 4;
/// Time in seconds in which a step's weight in the speed falls to a third, so that a slow start is forgotten.
const MEMORY_OF_SPEED: f64 = 120.0;
/// A run that is over sooner is not announced.
const LONG: Duration = Duration::from_mins(1);
/// Time between plain lines.
const LINE_EVERY: Duration = Duration::from_mins(1);
/// Time until the first one.
const FIRST_LINE_AFTER: Duration = Duration::from_secs(15);

/// The progress of a run, and its stop conditions: Ctrl-C, SIGTERM, the time limit.
pub(super) struct TrainConsole<'a> {
    ui: &'a Ui,
    pub(super) bar: ProgressBar,
    interrupted: Interrupt,
    deadline: Option<Instant>,
    length: Length,
    pace: RefCell<Pace>,
}

/// How long a run is.
struct Length {
    epochs: u32,
    /// Batches of an epoch.
    batches: u64,
    /// Steps of the whole run at most.
    steps: u64,
}

/// Measured speed: sums over steps, the later ones with larger weights.
struct Pace {
    /// Steps so far.
    count: u64,
    steps: f64,
    samples: f64,
    seconds: f64,
    validation_seconds: Option<f64>,
    is_announced: bool,
    next_line: Instant,
}

impl<'a> TrainConsole<'a> {
    pub(super) fn new(ui: &'a Ui, run: &Run, max_time: Option<Duration>) -> Result<Self> {
        let config = run.config();
        let interrupted = Interrupt::install_on(&run.ranks())?;
        let batches = run.fit().map_or(0, Fit::batch_count) as u64;
        let all = batches * u64::from(config.epochs);
        let steps = if config.max_steps > 0 { all.min(config.max_steps) } else { all };
        // How many steps a solver takes is not known before.
        let bar = if steps == 0 { ui.steps("solve") } else { ui.bar("training", steps, Unit::Items) };
        let now = Instant::now();
        Ok(Self {
            ui,
            bar,
            interrupted,
            deadline: max_time.and_then(|time| now.checked_add(time)),
            length: Length { epochs: config.epochs, batches, steps },
            pace: RefCell::new(Pace::new(now + FIRST_LINE_AFTER)),
        })
    }

    pub(super) fn step(&self, report: &StepReport) {
        let step = report.position.step;
        let mut pace = self.pace.borrow_mut();
        pace.add(report.times.samples, report.times.wall_nanos as f64 / 1e9);
        let rate = pace.rate();
        let remaining = self.remaining(&pace, step);
        let loss = report.outcome.loss;
        self.bar.set_position(step);
        self.bar.set_message(format!("{rate:.0} samples/s, loss {loss:.4}, ends in {}", duration(remaining)));
        if !pace.is_announced && pace.count >= ESTIMATED_AFTER {
            pace.is_announced = true;
            if remaining > LONG {
                self.note(&self.announcement(&pace, remaining));
            }
        }
        if self.is_line_due(&mut pace) {
            let Length { epochs, steps, .. } = self.length;
            self.ui.note(&format!(
                "step {step}/{steps}, epoch {}/{epochs}: {rate:.1} samples/s, loss {loss:.4}; an epoch takes about {}, \
                 the run ends in about {}",
                report.position.epoch + 1,
                duration(self.epoch_time(&pace)),
                duration(remaining)
            ));
        }
    }

    pub(super) fn validation(&self, done: usize, total: usize) {
        let share = 100 * done / total.max(1);
        self.bar.set_message(format!("validating, {share} %"));
        if self.is_line_due(&mut self.pace.borrow_mut()) {
            self.ui.note(&format!("validating: {done} of {total} samples ({share} %)"));
        }
    }

    /// Notes a setting that a solver tried.
    pub(super) fn tried(&self, setting: &TriedSetting) {
        let pearson = figure(setting.validation_pearson);
        self.note(&format!("{}: validation Pearson {pearson}", setting.setting));
    }

    /// Shows a step of a solver.
    pub(super) fn solving(&self, what: &str, step: usize) {
        self.bar.set_message(format!("{what}, step {step}"));
        self.bar.inc(1);
    }

    pub(super) fn epoch(&self, line: &MetricsLine) {
        if self.length.steps == 0 {
            // The summary of a solver has these figures.
            return;
        }
        let mut times = String::new();
        if let Some(spent) = line.times {
            self.pace.borrow_mut().validation_seconds = Some(spent.validation_seconds);
            let [train, validation] = [spent.train_seconds, spent.validation_seconds].map(seconds);
            times = format!(
                ", {train} training at {:.0} samples/s, {validation} validation",
                spent.samples_per_second
            );
        }
        self.note(&format!(
            "epoch {}/{}: train loss {:.4}{}, validation Pearson {}, MSE {}, learning rate {:.1e}{times}",
            line.epoch + 1,
            self.length.epochs,
            line.train_loss,
            loss_parts(line),
            figure(line.val.pearson),
            error(line.val.mse),
            line.learning_rate,
        ));
    }

    pub(super) fn wants_stop(&self) -> impl Fn() -> bool + Send + Sync + 'static {
        let (interrupted, deadline) = (self.interrupted.clone(), self.deadline);
        move || interrupted.is_asked() || deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// A line above the bar.
    fn note(&self, text: &str) {
        self.bar.suspend(|| self.ui.note(text));
    }

    fn announcement(&self, pace: &Pace, remaining: Duration) -> String {
        let threads = rayon::current_num_threads();
        let cores = if threads == 1 { "1 core".to_owned() } else { format!("{threads} cores") };
        let before =
            if self.deadline.is_some() { " at most" } else { ", or stop it with Ctrl-C, which saves" };
        format!(
            "about {} per epoch on {cores} ({:.1} samples/s, validation apart); the run takes about {}{before}",
            duration(self.epoch_time(pace)),
            pace.rate(),
            duration(remaining)
        )
    }

    /// Time of an epoch's steps.
    fn epoch_time(&self, pace: &Pace) -> Duration {
        seconds_time(pace.step_seconds() * self.length.batches.min(self.length.steps) as f64)
    }

    /// Time until the end: the steps that are left and, once one was seen, the validations.
    fn remaining(&self, pace: &Pace, step: u64) -> Duration {
        let steps = self.length.steps.saturating_sub(step);
        let validations = steps.div_ceil(self.length.batches.max(1)) as f64;
        let seconds =
            steps as f64 * pace.step_seconds() + validations * pace.validation_seconds.unwrap_or(0.0);
        let until = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        seconds_time(seconds).min(until.unwrap_or(Duration::MAX))
    }

    /// Whether it is time for a plain line: never on a terminal, which has the bar.
    fn is_line_due(&self, pace: &mut Pace) -> bool {
        let now = Instant::now();
        let is_due = !self.ui.is_on_terminal() && now >= pace.next_line;
        if is_due {
            pace.next_line = now + LINE_EVERY;
        }
        is_due
    }
}

impl Pace {
    fn new(next_line: Instant) -> Self {
        Self {
            count: 0,
            steps: 0.0,
            samples: 0.0,
            seconds: 0.0,
            validation_seconds: None,
            is_announced: false,
            next_line,
        }
    }

    /// Adds a step.
    fn add(&mut self, samples: u64, seconds: f64) {
        let kept = (-seconds / MEMORY_OF_SPEED).exp();
        self.count += 1;
        self.steps = kept * self.steps + 1.0;
        self.samples = kept * self.samples + samples as f64;
        self.seconds = kept * self.seconds + seconds;
    }

    /// Samples per second.
    fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.samples / self.seconds } else { 0.0 }
    }

    fn step_seconds(&self) -> f64 {
        self.seconds / self.steps.max(1.0)
    }
}

fn seconds_time(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

fn seconds(seconds: f64) -> String {
    duration(seconds_time(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_speed_is_that_of_the_last_minutes() {
        let mut pace = Pace::new(Instant::now());
        // Ten slow steps while other programs use the machine.
        (0..10).for_each(|_| pace.add(100, 60.0));
        assert!((pace.rate() - 100.0 / 60.0).abs() < 1e-9 && (pace.step_seconds() - 60.0).abs() < 1e-9);
        // Then twenty minutes alone.
        (0..120).for_each(|_| pace.add(100, 10.0));
        assert!((pace.step_seconds() - 10.0).abs() < 0.1, "{}", pace.step_seconds());
        assert!((pace.rate() - 10.0).abs() < 0.1, "{}", pace.rate());
    }
}
