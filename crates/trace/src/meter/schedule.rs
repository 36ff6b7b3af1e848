//! The schedule of recorded steps: a pure function of the step's number.

use crate::RecordState;
use knockout_base::error::{Error, Result};
use std::fmt;

/// Steps to record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Schedule {
    /// Every step.
    #[default]
    WholeRun,
    /// This step alone, from 0, after one step of warm-up.
    AtStep(u64),
    /// `wait` steps skipped, `warmup` dropped, `active` recorded, and again: `repeat` times, 0 for as long as
    /// the run lasts.
    Window {
        /// Steps before each window.
        wait: u64,
        /// Steps recorded and dropped.
        warmup: u64,
        /// Steps recorded.
        active: u64,
        /// Number of windows.
        repeat: u64,
    },
}

/// Length of a run in steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunLength {
    /// A number of steps.
    Steps(u64),
    /// Steps per epoch, times epochs.
    Epochs {
        /// Steps of one epoch.
        steps_per_epoch: u64,
        /// Epochs.
        epochs: u64,
    },
}

impl RunLength {
    /// Returns the number of steps.
    pub fn steps(self) -> u64 {
        match self {
            Self::Steps(steps) => steps,
            Self::Epochs { steps_per_epoch, epochs } => steps_per_epoch.saturating_mul(epochs),
        }
    }
}

impl From<u64> for RunLength {
    fn from(steps: u64) -> Self {
        Self::Steps(steps)
    }
}

impl Schedule {
    /// Returns the treatment of a step, counted from 0.
    pub fn state_at(&self, step: u64) -> RecordState {
        match *self {
            Self::WholeRun => RecordState::Record,
            Self::AtStep(wanted) if step == wanted => RecordState::Record,
            Self::AtStep(wanted) if step.checked_add(1) == Some(wanted) => RecordState::Warm,
            Self::AtStep(_) => RecordState::Skip,
            Self::Window { wait, warmup, active, repeat } => {
                let cycle = wait.saturating_add(warmup).saturating_add(active);
                if active == 0 || (repeat > 0 && step / cycle >= repeat) {
                    return RecordState::Skip;
                }
                match step % cycle {
                    position if position < wait => RecordState::Skip,
                    position if position < wait.saturating_add(warmup) => RecordState::Warm,
                    _ => RecordState::Record,
                }
            }
        }
    }

    /// Rejects a schedule that records nothing or needs more steps than the run has.
    pub fn check(&self, run: impl Into<RunLength>) -> Result<()> {
        let run = run.into();
        if matches!(self, Self::Window { active: 0, .. }) {
            return Err(Error::request("active 0 records nothing; set at least one active step"));
        }
        let (needed, total) = (self.needed(), run.steps());
        if needed <= total {
            return Ok(());
        }
        let mut advice = Vec::new();
        let run_text = match run {
            RunLength::Steps(_) => {
                advice.push(format!("run at least {needed} steps"));
                String::new()
            }
            RunLength::Epochs { steps_per_epoch, epochs } => {
                let enough = needed.div_ceil(steps_per_epoch.max(1));
                advice.push(format!("use at least {enough} epochs"));
                format!(": {steps_per_epoch} per epoch x {epochs} epochs")
            }
        };
        advice.extend(self.shorter(total));
        let advice = advice.join(" or ");
        Err(Error::request(format!("{self} needs {needed} steps, the run has {total}{run_text}; {advice}")))
    }

    /// Returns the steps until everything requested is recorded; one window of an endless sequence.
    fn needed(&self) -> u64 {
        match *self {
            Self::WholeRun => 1,
            Self::AtStep(step) => step.saturating_add(1),
            Self::Window { wait, warmup, active, repeat } => {
                wait.saturating_add(warmup).saturating_add(active).saturating_mul(repeat.max(1))
            }
        }
    }

    /// Suggests a schedule that fits the run.
    fn shorter(&self, total: u64) -> Option<String> {
        match *self {
            Self::WholeRun => None,
            Self::AtStep(_) => (total > 0).then(|| format!("--at-step {}", total / 2)),
            Self::Window { wait, warmup, active, repeat } => {
                let room = (total / repeat.max(1)).checked_sub(warmup.saturating_add(active))?;
                (room < wait).then(|| format!("--wait {room}"))
            }
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::WholeRun => f.write_str("the whole run"),
            Self::AtStep(step) => write!(f, "recording step {step} (counted from 0)"),
            Self::Window { wait, warmup, active, repeat: 0 | 1 } => {
                write!(f, "wait {wait} + warmup {warmup} + active {active}")
            }
            Self::Window { wait, warmup, active, repeat } => {
                write!(f, "(wait {wait} + warmup {warmup} + active {active}) x repeat {repeat}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(wait: u64, warmup: u64, active: u64, repeat: u64) -> Schedule {
        Schedule::Window { wait, warmup, active, repeat }
    }

    fn states(schedule: Schedule, steps: u64) -> String {
        let letter = |step| match schedule.state_at(step) {
            RecordState::Skip => '.',
            RecordState::Warm => 'w',
            RecordState::Record => 'R',
        };
        (0..steps).map(letter).collect()
    }

    #[test]
    fn windows_come_in_order_and_end() {
        assert_eq!(states(window(2, 1, 3, 1), 9), "..wRRR...");
        assert_eq!(states(window(1, 1, 1, 2), 8), ".wR.wR..");
        assert_eq!(states(window(1, 0, 2, 0), 7), ".RR.RR.");
        assert_eq!(states(window(0, 0, 1, 0), 3), "RRR");
        assert_eq!(states(window(3, 1, 0, 1), 5), ".....");
        assert_eq!(states(Schedule::AtStep(3), 6), "..wR..");
        assert_eq!(states(Schedule::AtStep(0), 3), "R..");
        assert_eq!(states(Schedule::WholeRun, 3), "RRR");
        assert_eq!(window(u64::MAX, u64::MAX, 1, 0).state_at(u64::MAX - 1), RecordState::Skip);
    }

    #[test]
    fn a_window_beyond_the_run_is_rejected_with_the_arithmetic() {
        let refusal = |schedule: Schedule, run: RunLength| schedule.check(run).unwrap_err().to_string();
        assert_eq!(
            refusal(window(10, 5, 20, 1), 30.into()),
            "wait 10 + warmup 5 + active 20 needs 35 steps, the run has 30; run at least 35 steps or --wait 5"
        );
        assert_eq!(
            refusal(window(600, 1, 25, 1), RunLength::Epochs { steps_per_epoch: 3, epochs: 55 }),
            "wait 600 + warmup 1 + active 25 needs 626 steps, the run has 165: 3 per epoch x 55 epochs; \
             use at least 209 epochs or --wait 139"
        );
        assert_eq!(
            refusal(window(1, 1, 3, 2), RunLength::Steps(9)),
            "(wait 1 + warmup 1 + active 3) x repeat 2 needs 10 steps, the run has 9; run at least 10 steps or --wait 0"
        );
        assert_eq!(
            refusal(Schedule::AtStep(9), RunLength::Steps(9)),
            "recording step 9 (counted from 0) needs 10 steps, the run has 9; run at least 10 steps or --at-step 4"
        );
        let error = window(1, 1, 0, 1).check(RunLength::Steps(9)).unwrap_err();
        assert!(error.message().starts_with("active 0 records nothing"), "{error}");
    }

    #[test]
    fn what_fits_is_accepted_to_the_step() {
        assert!(window(10, 5, 20, 1).check(35).is_ok());
        assert!(window(10, 5, 20, 0).check(35).is_ok());
        assert!(Schedule::AtStep(9).check(RunLength::Steps(10)).is_ok());
        assert!(Schedule::WholeRun.check(RunLength::Steps(1)).is_ok());
        assert!(Schedule::WholeRun.check(RunLength::Steps(0)).is_err());
    }
}
