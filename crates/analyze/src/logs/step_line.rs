//! Lines of programs that print the time of steps instead of a bar: Keras, nanoGPT, Megatron, `DeepSpeed`, torchtitan, mmengine, Hugging Face Trainer.

use serde::Serialize;

/// Program that printed a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) enum Program {
    Keras,
    NanoGpt,
    Megatron,
    DeepSpeed,
    TorchTitan,
    MmEngine,
    HuggingFace,
}

impl Program {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Keras => "Keras",
            Self::NanoGpt => "nanoGPT",
            Self::Megatron => "Megatron",
            Self::DeepSpeed => "DeepSpeed",
            Self::TorchTitan => "torchtitan",
            Self::MmEngine => "mmengine",
            Self::HuggingFace => "Hugging Face Trainer",
        }
    }
}

/// Time information of one line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum StepTime {
    /// Seconds of a step: of the last one, or the mean since the line before.
    PerStep(f64),
    /// Mean seconds of a step since an epoch began.
    MeanOfEpoch(f64),
    /// Mean seconds of a step of the whole run.
    MeanOfRun(f64),
    /// Time of day of the line in seconds.
    At(f64),
}

/// A line about a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct StepLine {
    pub(super) program: Program,
    pub(super) step: Option<u64>,
    pub(super) total: Option<u64>,
    pub(super) time: StepTime,
}

/// Returns what a line states about a step, if it is of a known program.
pub(super) fn step_line(line: &str) -> Option<StepLine> {
    let line = line.trim();
    [keras, nano_gpt, megatron, deep_speed, torch_titan, mm_engine, hugging_face]
        .iter()
        .find_map(|read| read(line))
}

/// `100/1875 ━━━━ 6s 3ms/step - loss: 0.1`
fn keras(line: &str) -> Option<StepLine> {
    let (before, _) = line.split_once("/step")?;
    let (step, total) = fraction(line)?;
    let figure = before.rsplit(' ').next()?;
    let split = figure.find(|c: char| c.is_ascii_alphabetic() || c == 'µ')?;
    let (number, unit) = figure.split_at(split);
    let unit = match unit {
        "s" => 1.0,
        "ms" => 1e-3,
        "us" | "µs" => 1e-6,
        _ => return None,
    };
    let seconds = number.parse::<f64>().ok()? * unit;
    line_of(Program::Keras, Some(step), Some(total), StepTime::MeanOfEpoch(seconds))
}

/// `iter 100: loss 3.1234, time 152.33ms, mfu 12.34%`
fn nano_gpt(line: &str) -> Option<StepLine> {
    let (step, rest) = line.strip_prefix("iter ")?.split_once(':')?;
    let (_, time) = rest.split_once("time ")?;
    let (millis, _) = time.split_once("ms")?;
    let seconds = millis.trim().parse::<f64>().ok()? / 1e3;
    line_of(Program::NanoGpt, step.trim().parse().ok(), None, StepTime::PerStep(seconds))
}

/// `iteration 10/ 500 | … | elapsed time per iteration (ms): 1234.5 | …`
fn megatron(line: &str) -> Option<StepLine> {
    let millis = number_after(line, "elapsed time per iteration (ms):")?;
    let (_, rest) = line.split_once("iteration")?;
    let (step, total) =
        fraction(rest.trim_start()).map_or((None, None), |(step, total)| (Some(step), Some(total)));
    line_of(Program::Megatron, step, total, StepTime::PerStep(millis / 1e3))
}

/// `steps: 10 loss: 3.1 iter time (s): 0.523 samples/sec: 61.2`, or a line of its timer with a time of day.
fn deep_speed(line: &str) -> Option<StepLine> {
    if let Some(seconds) = number_after(line, "iter time (s):") {
        let step = number_after(line, "steps:").map(|step| step as u64);
        return line_of(Program::DeepSpeed, step, None, StepTime::PerStep(seconds));
    }
    let step = number_after(line, "global_step=").filter(|_| line.contains("SamplesPerSec="))?;
    line_of(Program::DeepSpeed, Some(step as u64), None, StepTime::At(time_of_day(line)?))
}

/// `2024-10-01 12:00:00,123 - root - INFO - step: 10  loss: 8.1  memory: 10GiB  tps: 1,234  mfu: 30%`
fn torch_titan(line: &str) -> Option<StepLine> {
    let step = number_after(line, "step:").filter(|_| line.contains("tps:") && line.contains("loss:"))?;
    line_of(Program::TorchTitan, Some(step as u64), None, StepTime::At(time_of_day(line)?))
}

/// `Epoch(train)  [1][  50/1000]  lr: 1e-3  eta: 0:10:00  time: 0.2345  data_time: 0.0123`
fn mm_engine(line: &str) -> Option<StepLine> {
    let at = line.find("Epoch(train)").or_else(|| line.find("Iter(train)"))?;
    let rest = line.get(at..)?;
    let seconds = number_after(rest, " time:")?;
    let position = rest.rfind('[').and_then(|open| rest.get(open + 1..));
    let place = position.and_then(|inside| fraction(inside.trim_start()));
    line_of(
        Program::MmEngine,
        place.map(|place| place.0),
        place.map(|place| place.1),
        StepTime::PerStep(seconds),
    )
}

/// `{'train_runtime': 123.4, 'train_samples_per_second': 80.1, 'train_steps_per_second': 2.5, …}`, or the same as JSON.
fn hugging_face(line: &str) -> Option<StepLine> {
    let line = line.replace('"', "'");
    let rate = number_after(&line, "'train_steps_per_second':").filter(|rate| *rate > 0.0)?;
    let steps = number_after(&line, "'train_runtime':").map(|seconds| (seconds * rate).round() as u64);
    line_of(Program::HuggingFace, steps, steps, StepTime::MeanOfRun(1.0 / rate))
}

fn line_of(program: Program, step: Option<u64>, total: Option<u64>, time: StepTime) -> Option<StepLine> {
    let (StepTime::PerStep(seconds)
    | StepTime::MeanOfEpoch(seconds)
    | StepTime::MeanOfRun(seconds)
    | StepTime::At(seconds)) = time;
    (seconds.is_finite() && seconds > 0.0).then_some(StepLine { program, step, total, time })
}

/// `10/ 500` at the beginning of a text.
fn fraction(text: &str) -> Option<(u64, u64)> {
    let (step, rest) = text.split_once('/')?;
    let rest = rest.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some((step.trim().parse().ok()?, rest.get(..end)?.parse().ok()?))
}

/// The number behind a label, with commas in it or not.
fn number_after(text: &str, label: &str) -> Option<f64> {
    let (_, rest) = text.split_once(label)?;
    let rest = rest.trim_start();
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e' | 'E');
    let end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}

/// Seconds of the first `YYYY-MM-DD HH:MM:SS` of a line, with a fraction behind `,` or `.`.
fn time_of_day(line: &str) -> Option<f64> {
    let starts = line.char_indices().map(|(at, _)| at);
    starts.filter_map(|at| line.get(at..)).find_map(|text| {
        let date = text.get(..10)?;
        let clock = text.get(11..19).filter(|_| matches!(text.as_bytes().get(10), Some(b' ' | b'T')))?;
        let day = days(date)? as f64 * 86_400.0;
        let mut parts = clock.split(':').map(|part| part.parse::<u64>().ok());
        let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
        let fraction = text.get(19..).and_then(|rest| rest.strip_prefix([',', '.']));
        let digits: String =
            fraction.unwrap_or("").chars().take_while(char::is_ascii_digit).take(9).collect();
        let fraction = format!("0.{digits}0").parse::<f64>().ok()?;
        Some(day + (hours * 3600 + minutes * 60 + seconds) as f64 + fraction)
    })
}

/// Days from a fixed day to `YYYY-MM-DD`.
fn days(date: &str) -> Option<i64> {
    let mut parts = date.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if (year.len(), month.len(), day.len()) != (4, 2, 2) {
        return None;
    }
    let (year, month, day): (i64, i64, i64) = (year.parse().ok()?, month.parse().ok()?, day.parse().ok()?);
    // March is the first month of a year here, so that the leap day is the last day of it.
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    Some(365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Option<(&'static str, Option<u64>, Option<u64>, StepTime)> {
        step_line(line).map(|line| (line.program.name(), line.step, line.total, line.time))
    }

    #[test]
    fn every_program_is_read() {
        let per_step = StepTime::PerStep;
        for (line, expected) in [
            (
                "1875/1875 ━━━━━━━━━━━━━━━━━━━━ 6s 3ms/step - accuracy: 0.9 - loss: 0.1",
                ("Keras", Some(1875), Some(1875), StepTime::MeanOfEpoch(0.003)),
            ),
            (
                " 100/1875 [>.............................] - ETA: 7s - 40ms/step - loss: 0.5",
                ("Keras", Some(100), Some(1875), StepTime::MeanOfEpoch(0.04)),
            ),
            (
                "iter 100: loss 3.1234, time 150.00ms, mfu 12.34%",
                ("nanoGPT", Some(100), None, per_step(0.15)),
            ),
            (
                " iteration       10/     500 | consumed samples: 160 | elapsed time per iteration (ms): 1234.5 | learning rate: 1e-4 |",
                ("Megatron", Some(10), Some(500), per_step(1.2345)),
            ),
            (
                "steps: 10 loss: 3.1234 iter time (s): 0.523 samples/sec: 61.2",
                ("DeepSpeed", Some(10), None, per_step(0.523)),
            ),
            (
                "09/01 12:00:00 - mmengine - INFO - Epoch(train)  [1][  50/1000]  lr: 1e-3  eta: 0:10:00  time: 0.2345  data_time: 0.0123  loss: 1.2",
                ("mmengine", Some(50), Some(1000), per_step(0.2345)),
            ),
            (
                "{'train_runtime': 40.0, 'train_samples_per_second': 80.1, 'train_steps_per_second': 2.5, 'epoch': 3.0}",
                ("Hugging Face Trainer", Some(100), Some(100), StepTime::MeanOfRun(0.4)),
            ),
            (
                "{\"train_runtime\": 40.0, \"train_steps_per_second\": 2.5}",
                ("Hugging Face Trainer", Some(100), Some(100), StepTime::MeanOfRun(0.4)),
            ),
        ] {
            assert_eq!(read(line), Some(expected), "{line}");
        }
        for other in [
            "",
            "loss 0.1",
            "iter one: time soon",
            "{'loss': 0.5, 'epoch': 0.1}",
            "step: 10  loss: 8.1  tps: 1,234",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn times_of_day_are_read_over_midnight_and_leap_days() {
        let at = |text: &str| time_of_day(text).unwrap();
        assert_eq!(at("[rank0]:2024-03-01 00:00:01,500 - root") - at("2024-02-28 23:59:59"), 86_402.5);
        let line = "[2023-05-10 09:00:01,250] [INFO] [timer.py:260:stop] epoch=0/micro_step=100/global_step=100, RunningAvgSamplesPerSec=12.3, CurrSamplesPerSec=12.4";
        assert!(matches!(
            step_line(line),
            Some(StepLine { program: Program::DeepSpeed, step: Some(100), time: StepTime::At(_), .. })
        ));
    }
}
