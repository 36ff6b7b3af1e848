//! Joins samples with the spans of the steps, by time and thread.

use super::{CpuSamples, FunctionRow, FunctionSamples, SampledStack, SpanFunctions};
use knockout_base::stats::share;
use knockout_trace::meter::{StepLog, StepPhase};
use knockout_trace::{BACKGROUND, Record, RecordedEvent, SpanName};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Spans of the measured steps, and how samples are found in them.
#[derive(Debug, Clone, Copy)]
pub struct RecordedSpans<'a> {
    /// The steps, with the spans that were kept.
    pub log: &'a StepLog,
    /// Threads by the operating system's number, with theirs in the spans.
    pub os_threads: &'a [(u32, u32)],
    /// Start of the spans' clock by that of the samples, in nanoseconds.
    pub clock_start_nanos: u64,
}

/// Samples by function.
type Tally = BTreeMap<u32, u64>;

/// Root of the spans of the main flow.
const MAIN: usize = 0;
/// Root of the spans of threads that work ahead.
const AHEAD: usize = 1;

impl FunctionSamples {
    /// Finds the span of each sample. A sample of a thread without spans belongs to the span that the main thread was in: such threads compute for
    /// it.
    pub fn of(samples: &CpuSamples, recorded: &RecordedSpans<'_>) -> Self {
        let mut tree = SpanTree::new();
        let (ahead, main): (Vec<&Record>, Vec<&Record>) =
            recorded.log.spans.iter().partition(|span| is_ahead(span));
        let main = Timeline::of(main, MAIN, &mut tree);
        let mut by_thread: BTreeMap<u32, Vec<&Record>> = BTreeMap::new();
        for span in ahead {
            by_thread.entry(span.thread).or_default().push(span);
        }
        let ahead: BTreeMap<u32, Timeline> = by_thread
            .into_iter()
            .map(|(thread, spans)| (thread, Timeline::of(spans, AHEAD, &mut tree)))
            .collect();
        let threads: HashMap<u32, u32> = recorded.os_threads.iter().copied().collect();
        let mut found = Self { event: samples.event.clone(), ..Self::default() };
        let mut tallies: BTreeMap<usize, Tally> = BTreeMap::new();
        for sample in &samples.samples {
            let at = sample.at_nanos.checked_sub(recorded.clock_start_nanos);
            let Some(at) = at.filter(|at| is_measured(recorded.log, *at)) else {
                found.unmeasured += 1;
                continue;
            };
            let own = threads.get(&sample.os_thread).and_then(|thread| ahead.get(thread));
            let span = own.unwrap_or(&main).span_at(at);
            if span == AHEAD {
                found.outside += 1;
                continue;
            }
            found.samples += 1;
            *tallies.entry(span).or_default().entry(sample.function).or_default() += 1;
        }
        found.sum(&tallies, &tree, &samples.functions);
        found
    }

    fn sum(&mut self, tallies: &BTreeMap<usize, Tally>, tree: &SpanTree, names: &[String]) {
        let [mut phases, mut parts, mut background] = [(); 3].map(|()| BTreeMap::<&str, Tally>::new());
        for (&span, tally) in tallies {
            let (root, path) = tree.path(span);
            let phase = path.first().map_or(StepPhase::UNTRACKED, |name| phase_of(name));
            add(if root == MAIN { &mut phases } else { &mut background }, phase, tally);
            let inside: BTreeSet<&str> =
                path.iter().copied().filter(|name| root == MAIN && name.contains('/')).collect();
            for part in inside {
                add(&mut parts, part, tally);
            }
            for (function, samples) in tally {
                let first = match root {
                    AHEAD => Some("background"),
                    _ => path.is_empty().then_some(StepPhase::UNTRACKED),
                };
                let frames = first.into_iter().chain(path.iter().copied()).chain([name_of(names, *function)]);
                self.stacks
                    .push(SampledStack { frames: frames.map(str::to_owned).collect(), samples: *samples });
            }
        }
        let rows = |tallies: BTreeMap<&str, Tally>| -> Vec<SpanFunctions> {
            tallies.into_iter().map(|(name, tally)| functions(name, &tally, names, self.samples)).collect()
        };
        let in_order = |span: &SpanFunctions| {
            StepPhase::ALL.into_iter().position(|phase| phase.name() == span.name).unwrap_or(StepPhase::COUNT)
        };
        (self.phases, self.parts, self.background) = (rows(phases), rows(parts), rows(background));
        self.phases.sort_by_key(in_order);
        self.background.sort_by_key(in_order);
        self.parts.sort_by_key(|part| Reverse(part.samples));
        self.stacks.sort_by(|a, b| a.frames.cmp(&b.frames));
    }
}

/// Returns whether a thread that works ahead recorded the span.
fn is_ahead(span: &Record) -> bool {
    matches!(span.event, RecordedEvent::Span { category, .. } if category == BACKGROUND)
}

/// Returns whether a time of the spans' clock is in a measured step.
fn is_measured(log: &StepLog, at: u64) -> bool {
    let after = log.steps.partition_point(|step| step.start_nanos <= at);
    let step = after.checked_sub(1).and_then(|index| log.steps.get(index));
    step.is_some_and(|step| at < step.start_nanos + step.wall_nanos)
}

/// Returns the phase of the outermost span.
fn phase_of(name: &str) -> &'static str {
    let whole = name.split('/').next().unwrap_or(name);
    StepPhase::from_name(whole).map_or(StepPhase::UNTRACKED, StepPhase::name)
}

fn add<'n>(tallies: &mut BTreeMap<&'n str, Tally>, name: &'n str, tally: &Tally) {
    let sums = tallies.entry(name).or_default();
    for (function, samples) in tally {
        *sums.entry(*function).or_default() += samples;
    }
}

fn functions(name: &str, tally: &Tally, names: &[String], all: u64) -> SpanFunctions {
    let in_span: u64 = tally.values().sum();
    let row = |(function, samples): (&u32, &u64)| FunctionRow {
        name: name_of(names, *function).to_owned(),
        samples: *samples,
        share: share(*samples as f64, in_span as f64),
    };
    let mut functions: Vec<FunctionRow> = tally.iter().map(row).collect();
    functions.sort_by(|a, b| (Reverse(a.samples), &a.name).cmp(&(Reverse(b.samples), &b.name)));
    let share = share(in_span as f64, all as f64);
    SpanFunctions { name: name.to_owned(), samples: in_span, share, functions }
}

fn name_of(names: &[String], function: u32) -> &str {
    names.get(function as usize).map_or("unknown", String::as_str)
}

/// Names of spans and the spans around them; equal names in one span are one.
struct SpanTree {
    /// Parent and name; a root is its own parent.
    spans: Vec<(usize, String)>,
    numbers: HashMap<(usize, String), usize>,
}

impl SpanTree {
    fn new() -> Self {
        Self { spans: [MAIN, AHEAD].map(|root| (root, String::new())).to_vec(), numbers: HashMap::new() }
    }

    fn child(&mut self, parent: usize, name: String) -> usize {
        *self.numbers.entry((parent, name)).or_insert_with_key(|key| {
            self.spans.push(key.clone());
            self.spans.len() - 1
        })
    }

    /// Returns the root of a span and the names from the outside in.
    fn path(&self, mut span: usize) -> (usize, Vec<&str>) {
        let mut names = Vec::new();
        while let Some((parent, name)) = self.spans.get(span).filter(|(parent, _)| *parent != span) {
            names.push(name.as_str());
            span = *parent;
        }
        names.reverse();
        (span, names)
    }
}

/// The innermost span of a thread at every time.
struct Timeline {
    root: usize,
    /// Times at which it changes, ascending, and the span from then on.
    changes: Vec<(u64, usize)>,
}

impl Timeline {
    /// Spans of steps are left out: the steps are known.
    fn of(mut spans: Vec<&Record>, root: usize, tree: &mut SpanTree) -> Self {
        // Of two that began and ended together, the one that was recorded later encloses the other.
        spans.reverse();
        spans.sort_by_key(|span| (span.start_nanos, Reverse(span.duration_nanos())));
        let (mut changes, mut open) = (Vec::new(), Vec::<(u64, usize)>::new());
        let close = |open: &mut Vec<(u64, usize)>, changes: &mut Vec<(u64, usize)>, until: u64| {
            while let Some((end, _)) = open.pop_if(|(end, _)| *end <= until) {
                changes.push((end, open.last().map_or(root, |(_, span)| *span)));
            }
        };
        for record in spans {
            let RecordedEvent::Span { name, .. } = &record.event else { continue };
            if matches!(name, SpanName::Numbered(..)) {
                continue;
            }
            close(&mut open, &mut changes, record.start_nanos);
            let (outer_end, parent) = open.last().copied().unwrap_or((u64::MAX, root));
            let span = tree.child(parent, name.to_string());
            open.push(((record.start_nanos + record.duration_nanos()).min(outer_end), span));
            changes.push((record.start_nanos, span));
        }
        close(&mut open, &mut changes, u64::MAX);
        Self { root, changes }
    }

    fn span_at(&self, at: u64) -> usize {
        let after = self.changes.partition_point(|(from, _)| *from <= at);
        after.checked_sub(1).and_then(|index| self.changes.get(index)).map_or(self.root, |(_, span)| *span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::functions::CpuSample;
    use knockout_trace::meter::StepTimes;
    use knockout_trace::{FOREGROUND, Sizes};

    /// The clock of the spans began at this time of the samples' clock.
    const BEGAN: u64 = 1_000_000;

    fn span(
        thread: u32,
        category: &'static str,
        name: impl Into<SpanName>,
        start_nanos: u64,
        end: u64,
    ) -> Record {
        let event = RecordedEvent::Span {
            name: name.into(),
            category,
            duration_nanos: end - start_nanos,
            sizes: Some(Box::new(Sizes::default())),
        };
        Record { thread, start_nanos, event }
    }

    /// Two steps, [0, 100) and [100, 200), after which nothing is measured. Thread 0 is the main one, thread 1 works ahead.
    fn log() -> StepLog {
        let main = |name: SpanName, start, end| span(0, FOREGROUND, name, start, end);
        let step =
            |number| StepTimes { number, start_nanos: 100 * number, wall_nanos: 100, ..StepTimes::default() };
        let layer = || StepPhase::Forward.part("sage1");
        let mut spans = Vec::new();
        for start in [0, 100] {
            spans.extend([
                main(layer(), start + 10, start + 20),
                main(StepPhase::Forward.part("inner"), start + 22, start + 24),
                main(StepPhase::Forward.part("outer"), start + 20, start + 30),
                // Recorded after what is inside it, and as long.
                main(StepPhase::Forward.into(), start + 10, start + 30),
                main(StepPhase::Backward.into(), start + 30, start + 80),
                main(SpanName::Numbered("ProfilerStep#", start), start, start + 100),
            ]);
        }
        spans.push(span(1, BACKGROUND, StepPhase::Process, 15, 40));
        StepLog { steps: vec![step(0), step(1)], spans, ..StepLog::default() }
    }

    #[test]
    fn every_sample_is_found_in_the_span_it_was_planted_in() {
        let log = log();
        // Thread, time by the spans' clock, function.
        let planted = [
            (50, 12, 0),  // forward/sage1
            (51, 19, 1),  // a helper of the main thread, there too
            (50, 110, 0), // forward/sage1 of the second step
            (50, 20, 1),  // forward/outer
            (50, 23, 1),  // forward/inner
            (50, 24, 0),  // forward/outer again
            (50, 30, 2),  // backward
            (50, 179, 2), // backward of the second step
            (50, 180, 2), // no phase
            (50, 5, 0),   // no phase
            (60, 15, 3),  // process, ahead
            (60, 39, 3),  // process, ahead
            (60, 40, 3),  // ahead, in no span
            (50, 200, 0), // after the last step
        ];
        let sample = |(os_thread, at, function)| CpuSample { os_thread, at_nanos: BEGAN + at, function };
        let mut samples: Vec<CpuSample> = planted.into_iter().map(sample).collect();
        // Before the clock began.
        samples.push(CpuSample { os_thread: 50, at_nanos: BEGAN - 1, function: 0 });
        let functions = ["gemm", "memset", "spmm", "fill"].map(str::to_owned).to_vec();
        let samples = CpuSamples { event: "cycles".to_owned(), functions, samples };
        let recorded = RecordedSpans { log: &log, os_threads: &[(50, 0), (60, 1)], clock_start_nanos: BEGAN };
        let found = FunctionSamples::of(&samples, &recorded);

        let list = |spans: &[SpanFunctions]| -> Vec<String> {
            let functions = |span: &SpanFunctions| {
                let rows = span.functions.iter().map(|row| format!(" {} {}", row.name, row.samples));
                format!("{} {}:{}", span.name, span.samples, rows.collect::<String>())
            };
            spans.iter().map(functions).collect()
        };
        assert_eq!(
            (found.event.as_str(), found.samples, found.outside, found.unmeasured),
            ("cycles", 12, 1, 2)
        );
        assert_eq!(
            list(&found.phases),
            ["forward 6: gemm 3 memset 3", "backward 2: spmm 2", "untracked 2: gemm 1 spmm 1"]
        );
        assert_eq!(
            list(&found.parts),
            [
                "forward/outer 3: memset 2 gemm 1",
                "forward/sage1 3: gemm 2 memset 1",
                "forward/inner 1: memset 1"
            ]
        );
        assert_eq!(list(&found.background), ["process 2: fill 2"]);
        assert_eq!((found.phases[0].share, found.phases[0].functions[0].share), (0.5, 0.5));
        let stacks: Vec<String> = found
            .stacks
            .iter()
            .map(|stack| format!("{} {}", stack.frames.join(";"), stack.samples))
            .collect();
        assert_eq!(
            stacks,
            [
                "background;process;fill 2",
                "backward;spmm 2",
                "forward;forward/outer;forward/inner;memset 1",
                "forward;forward/outer;gemm 1",
                "forward;forward/outer;memset 1",
                "forward;forward/sage1;gemm 2",
                "forward;forward/sage1;memset 1",
                "untracked;gemm 1",
                "untracked;spmm 1"
            ]
        );
    }

    #[test]
    fn without_steps_nothing_is_measured() {
        let samples = CpuSamples {
            samples: vec![CpuSample { os_thread: 1, at_nanos: 5, function: 0 }],
            ..CpuSamples::default()
        };
        let recorded = RecordedSpans { log: &StepLog::default(), os_threads: &[], clock_start_nanos: 0 };
        let found = FunctionSamples::of(&samples, &recorded);
        assert_eq!(found, FunctionSamples { unmeasured: 1, ..FunctionSamples::default() });
    }
}
