//! The rate of one bar from its counts and its clock, with bounds from the rounding of the clock.

use super::bar::{BarKind, PrintedFigure, RateUnit};
use super::row::{Figures, FiguresKind, LogRow, bar_name};
use super::series::{BarHistory, BarState};
use knockout_base::stats::median;

/// Of the steps done, this part is left out at the start, but not more than [`MAX_WARMUP`]: loaders fill, caches and
/// kernels warm up.
const WARMUP_PART: u64 = 10;
const MAX_WARMUP: u64 = 50;
/// Fewer steps than this make no rate.
const MIN_STEPS: u64 = 5;
/// A stretch is long enough when rounding leaves less than this part of it open.
const MAX_OPEN: f64 = 0.1;
/// Stretches a bar is divided into at most.
const MAX_STRETCHES: u64 = 20;

/// A time that is known up to rounding, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Between {
    from: f64,
    to: f64,
}

impl Between {
    fn since(self, start: Self) -> Self {
        Self { from: self.from - start.to, to: self.to - start.from }
    }

    fn and(self, more: Self) -> Self {
        Self { from: self.from + more.from, to: self.to + more.to }
    }

    fn middle(self) -> f64 {
        f64::midpoint(self.from, self.to)
    }

    fn open(self) -> f64 {
        self.to - self.from
    }
}

/// Steps and the time they took.
#[derive(Debug, Clone, Copy)]
struct TimedSteps {
    steps: u64,
    time: Between,
}

/// A pair of lines is a pause apart if it takes this many times as long as the median pair, and so many seconds more.
const PAUSE_FACTOR: f64 = 5.0;
const PAUSE_SECONDS: f64 = 5.0;
/// Fewest pairs of lines that distinguish a pause from a step.
const MIN_PAIRS: usize = 4;

pub(super) fn measure(file: &str, series: &BarHistory) -> LogRow {
    let series = &series.since_initial();
    let kind = kind_of(series);
    let steps = series.points.last().map_or(0, |point| point.count);
    let warmup_steps = steps.div_ceil(WARMUP_PART).clamp(1, MAX_WARMUP);
    let start = series.points.iter().position(|point| point.count >= warmup_steps).unwrap_or(0);
    let used = series.points.get(start..).unwrap_or_default();
    let warmup = used.first().map_or(0, |point| point.count);
    let mut warmup = warmup.min(steps);
    let mut runs = runs(used, kind);
    // One line is enough for a rate with the warm-up in it, since a bar begins at 0.
    let is_single = used.len() == 1 && steps >= MIN_STEPS;
    if is_single {
        warmup = 0;
        for run in &mut runs {
            run.insert(0, (0, Between { from: 0.0, to: 0.0 }));
        }
    }
    let whole = runs
        .iter()
        .filter_map(|run| between_ends(run))
        .reduce(|a, b| TimedSteps { steps: a.steps + b.steps, time: a.time.and(b.time) });
    let count = whole.map_or(0, |whole| whole.steps);
    let first_at_end = series.points.last().map_or(0, |point| point.elapsed);
    let mut row = LogRow {
        file: file.to_owned(),
        bar: bar_name(series.kind, &series.name),
        name: series.name.clone(),
        epoch: series.epoch,
        rank: series.rank,
        series: series.number,
        count,
        it_per_s: None,
        s_per_it: None,
        low: None,
        high: None,
        stretches: 0,
        steps: series.initial + steps,
        total: series.total,
        warmup,
        idle_after_s: series.last_elapsed.saturating_sub(first_at_end),
        interrupted: (steps - warmup).saturating_sub(count),
        figures: figures(series, kind),
        note: is_single.then(|| "from a single line: warm-up and pauses are in it".to_owned()),
    };
    match whole {
        Some(whole) if whole.steps >= MIN_STEPS && whole.time.from > 0.0 => rate(&mut row, &runs, whole),
        Some(whole) if whole.steps >= MIN_STEPS => {
            row.note = Some(format!("{count} steps in about a second: too short for this clock"));
        }
        _ => row.note = Some(too_few(series.kind, steps, count)),
    }
    row
}

fn too_few(kind: BarKind, steps: u64, count: u64) -> String {
    let plural = |n: u64| if n == 1 { "1 step".to_owned() } else { format!("{n} steps") };
    match kind {
        BarKind::Sanity => format!("a check before training, {}: no rate", plural(steps)),
        _ => format!("{} done, {count} after warm-up: too few for a rate", plural(steps)),
    }
}

fn rate(row: &mut LogRow, runs: &[Vec<(u64, Between)>], whole: TimedSteps) {
    row.it_per_s = Some(whole.steps as f64 / whole.time.middle());
    row.s_per_it = Some(whole.time.middle() / whole.steps as f64);
    let least = whole.steps.div_ceil(MAX_STRETCHES);
    let stretches: Vec<TimedSteps> = runs.iter().flat_map(|run| divide(run, least)).collect();
    let all = if stretches.is_empty() { vec![whole] } else { stretches };
    let low = |stretch: &TimedSteps| stretch.steps as f64 / stretch.time.to;
    let high = |stretch: &TimedSteps| {
        if stretch.time.from > 0.0 { stretch.steps as f64 / stretch.time.from } else { f64::INFINITY }
    };
    row.stretches = all.len();
    row.low = all.iter().map(low).min_by(f64::total_cmp).filter(|low| low.is_finite());
    row.high = all.iter().map(high).max_by(f64::total_cmp).filter(|high| high.is_finite());
}

/// Points that follow each other without another bar between them, with their times.
fn runs(points: &[BarState], kind: FiguresKind) -> Vec<Vec<(u64, Between)>> {
    let mut runs: Vec<Vec<(u64, Between)>> = Vec::new();
    let mut latest = f64::NEG_INFINITY;
    for point in points {
        let mut time = time_of(point, kind);
        // The clock does not go back, so neither do its bounds.
        latest = latest.max(time.from);
        time = Between { from: latest, to: time.to.max(latest) };
        match runs.last_mut() {
            Some(run) if !point.interrupted => run.push((point.count, time)),
            _ => runs.push(vec![(point.count, time)]),
        }
    }
    runs.into_iter().flat_map(without_pauses).collect()
}

/// Divides a run where time passed without steps.
fn without_pauses(run: Vec<(u64, Between)>) -> Vec<Vec<(u64, Between)>> {
    let pair =
        |a: &(u64, Between), b: &(u64, Between)| (b.0.saturating_sub(a.0).max(1) as f64, b.1.since(a.1));
    let pairs = run.iter().zip(run.iter().skip(1)).map(|(a, b)| pair(a, b));
    let per_step: Vec<f64> = pairs.map(|(steps, time)| time.middle().max(0.0) / steps).collect();
    let Some(usual) = median(&per_step).filter(|_| per_step.len() >= MIN_PAIRS) else { return vec![run] };
    let is_pause = |a: &(u64, Between), b: &(u64, Between)| {
        let (steps, time) = pair(a, b);
        time.from > PAUSE_FACTOR * usual * steps + PAUSE_SECONDS
    };
    run.chunk_by(|a, b| !is_pause(a, b)).map(<[_]>::to_vec).collect()
}

fn between_ends(run: &[(u64, Between)]) -> Option<TimedSteps> {
    let ((first, from), (last, to)) = (run.first()?, run.last()?);
    (last > first).then(|| TimedSteps { steps: last - first, time: to.since(*from) })
}

/// Divides a run into stretches that the clock can resolve; a rest that is too short is in none of them.
fn divide(run: &[(u64, Between)], least: u64) -> Vec<TimedSteps> {
    let mut out: Vec<TimedSteps> = Vec::new();
    let Some(mut start) = run.first().copied() else { return out };
    for &(count, time) in run {
        let stretch = TimedSteps { steps: count - start.0, time: time.since(start.1) };
        let is_clear = stretch.time.open() <= MAX_OPEN * stretch.time.middle();
        if stretch.steps >= least.max(1) && is_clear {
            out.push(stretch);
            start = (count, time);
        }
    }
    out
}

/// When a point was reached: the clock shows whole seconds; a mean figure is more precise.
fn time_of(point: &BarState, kind: FiguresKind) -> Between {
    let by_clock = Between { from: point.elapsed as f64, to: point.elapsed as f64 + 1.0 };
    let by_figure = point.figure.filter(|_| kind == FiguresKind::Cumulative);
    let Some(by_figure) = by_figure.and_then(|figure| since_start(&figure, point.count)) else {
        return by_clock;
    };
    let both = Between { from: by_clock.from.max(by_figure.from), to: by_clock.to.min(by_figure.to) };
    if both.from <= both.to { both } else { by_clock }
}

/// How long `count` steps took, if the figure is their mean.
fn since_start(figure: &PrintedFigure, count: u64) -> Option<Between> {
    let (least, most) = (figure.value - figure.half_digit, figure.value + figure.half_digit);
    let count = count as f64;
    match figure.unit {
        RateUnit::PerSecond => {
            let to = if least > 0.0 { count / least } else { f64::INFINITY };
            (most > 0.0).then(|| Between { from: count / most, to })
        }
        RateUnit::Seconds => Some(Between { from: (count * least).max(0.0), to: count * most }),
    }
}

/// Cumulative if every figure agrees with count and clock, smoothed otherwise.
fn kind_of(series: &BarHistory) -> FiguresKind {
    if series.figures.is_empty() {
        return FiguresKind::None;
    }
    let agrees = |(figure, count, elapsed): &(PrintedFigure, u64, u64)| {
        let (from, to) = (*elapsed as f64, *elapsed as f64 + 1.0);
        since_start(figure, *count).is_some_and(|time| time.from <= to + 0.01 && time.to >= from - 0.01)
    };
    if series.figures.iter().all(agrees) { FiguresKind::Cumulative } else { FiguresKind::Smoothed }
}

fn figures(series: &BarHistory, kind: FiguresKind) -> Figures {
    let values = || series.figures.iter().filter_map(|(figure, ..)| per_second(figure));
    Figures {
        kind,
        count: series.figures.len(),
        seconds_per_iteration: series.figures.iter().filter(|(f, ..)| f.unit == RateUnit::Seconds).count(),
        low: values().min_by(f64::total_cmp),
        high: values().max_by(f64::total_cmp),
    }
}

/// A figure as iterations per second.
fn per_second(figure: &PrintedFigure) -> Option<f64> {
    match figure.unit {
        RateUnit::PerSecond => Some(figure.value),
        RateUnit::Seconds => (figure.value > 0.0).then(|| 1.0 / figure.value),
    }
}
