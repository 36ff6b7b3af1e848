//! Sentences about traces.

use super::range_not_interval;
use crate::units::{self, count, percent, shortened, time};
use knockout_analyze::{
    Confidence, Counted, Delay, DelayCause, FileFindings, FindingSource, Gpu, Job, Limit, Role, Sourced,
    TraceComparisonWarning, TraceFinding, TraceWarning,
};
use knockout_base::stats::FEWEST_FOR_INTERVAL;

/// Names of kernels may be a page long; the document has them whole.
const NAME_WIDTH: usize = 80;

fn source(source: &FindingSource) -> String {
    match source {
        FindingSource::Rank(rank) => format!("rank {rank}"),
        FindingSource::File(file) => file.clone(),
    }
}

/// A text with where it was found before it.
fn labelled<T>(found: &Sourced<T>, text: impl Fn(&T) -> String) -> String {
    let label = found.source.as_ref().map_or_else(String::new, |found_in| format!("{}: ", source(found_in)));
    label + &text(&found.what)
}

pub(crate) fn sourced_finding(found: &Sourced<TraceFinding>) -> String {
    labelled(found, trace_finding)
}

pub(crate) fn sourced_warning(found: &Sourced<TraceWarning>) -> String {
    labelled(found, trace_warning)
}

/// The warnings of an analysis, each as `code: sentence` with its rank before it where there are several.
pub fn trace_warnings(analysis: &knockout_analyze::Analysis) -> Vec<String> {
    analysis.warnings.iter().map(sourced_warning).collect()
}

/// Names what bounds a trace.
pub(crate) fn limit_word(limit: Limit) -> &'static str {
    match limit {
        Limit::Device => "the device",
        Limit::Copies => "memory copies",
        Limit::Communication => "communication",
        Limit::Straggler => "a slow rank",
        Limit::Data => "data loading",
        Limit::Synchronisation => "synchronisation",
        Limit::Launch => "launch overhead",
        Limit::Host => "the host",
        Limit::Operations => "host operations",
        Limit::Profiler => "the profiler",
        Limit::Unrecorded => "what was not recorded",
        Limit::Nothing => "nothing",
    }
}

/// That files of an analysis are damaged, and how much of them could be read; a sentence for each.
pub(crate) fn cut_files(analysis: &knockout_analyze::Analysis) -> Vec<String> {
    let several = analysis.ranks.len() > 1;
    let cut = analysis.ranks.iter().filter(|file| file.is_cut());
    cut.map(|file| {
        let which = if several { format!("{} is", file.file) } else { "the trace is".to_owned() };
        format!(
            "{which} damaged: {} could be read, and the figures are of these alone",
            units::counted(file.events, "event")
        )
    })
    .collect()
}

/// Describes what bounds a file, with figures.
pub(crate) fn bound(file: &FileFindings) -> String {
    let found = &file.bound;
    let unit = if file.steps.is_empty() { "the trace" } else { "a step" };
    let of = format!("of {unit}");
    let part = percent(found.share);
    let why = match found.limit {
        Limit::Device => format!("the device computes for {part} {of}"),
        Limit::Copies => format!("for {part} {of} the device only copies memory"),
        Limit::Communication => format!("for {part} {of} data is exchanged and nothing is computed"),
        Limit::Straggler => format!("for {part} {of} it waits in collectives for the last rank"),
        Limit::Data if found.device_busy.is_some() => format!("for {part} {of} the device waits for data"),
        Limit::Data => format!("it takes {part} {of}"),
        Limit::Synchronisation => {
            format!(
                "for {part} {of} the device is idle because the host waits for it before it launches more"
            )
        }
        Limit::Launch => format!(
            "for {part} {of} the device waits for launches, mostly in gaps below half a millisecond{}",
            launched(file)
        ),
        Limit::Host => format!("for {part} {of} the device waits for the host"),
        Limit::Operations if file.is_cut() => {
            "there are no device events in the part that could be read".to_owned()
        }
        Limit::Operations => "the trace has no device".to_owned(),
        Limit::Profiler => format!("for {part} {of} the device waits while the profiler handles its buffers"),
        Limit::Unrecorded => {
            format!("for {part} {of} neither the device nor the launching thread has an event")
        }
        Limit::Nothing if file.is_cut() => {
            return "there is no time in the part that could be read".to_owned();
        }
        Limit::Nothing => return "there is no time in the trace".to_owned(),
    };
    // The limit is not named twice.
    let is_new = |(name, _): &&(String, f64)| name != limit_word(found.limit);
    let names = [
        ("mostly", found.largest.as_ref().filter(is_new)),
        ("in", found.module.as_ref()),
        ("in", found.operation.as_ref().filter(|operation| found.module.as_ref() != Some(operation))),
    ];
    let named = names.into_iter().filter_map(|(word, found)| {
        found.map(|(name, share)| format!("{word} {} ({})", shortened(name, NAME_WIDTH), percent(*share)))
    });
    let named: Vec<String> = named.collect();
    let named = match (&named[..], found.limit) {
        ([], _) => String::new(),
        // The reason is about the trace, not about a part of the time.
        (named, Limit::Operations) => format!("; the time is {}", named.join(", ")),
        (named, _) => format!(", {}", named.join(", ")),
    };
    let gain = format!("removing it would save at most {} {}", time(found.gain_us), saved_from(file));
    let sure = match found.confidence {
        Confidence::Clear => "this is clear",
        Confidence::Likely => "this is likely",
        Confidence::Mixed => "this is not clear, since several causes have similar shares",
        Confidence::Incomplete => "this is not clear, since the file lacks events that were recorded",
    };
    let limit = cause_of(file);
    format!("{unit} is bound by {limit}: {why}{named}; {gain}; {sure}")
}

/// Names what bounds a file, with the rank that it waits for.
pub(crate) fn cause_of(file: &FileFindings) -> String {
    match &file.bound.waits_for {
        Some(other) => format!("waiting for {}", source(other)),
        None => limit_word(file.bound.limit).to_owned(),
    }
}

/// Number and mean length of the device events of a step.
fn launched(file: &FileFindings) -> String {
    let Some(gpu) = &file.gpu else { return String::new() };
    let steps = file.steps.len().max(1) as u64;
    let sum_us: f64 = gpu.by_type.values().map(|row| row.sum_us).sum();
    let mean = time(sum_us / gpu.device_events.max(1) as f64);
    format!(" ({} device events of {mean} on average)", count(gpu.device_events / steps))
}

fn saved_from(file: &FileFindings) -> String {
    // What would be saved is a mean over the steps, too.
    let mean_us = file.bound.parts.total_us() / file.steps.len().max(1) as f64;
    match &file.step_summary {
        Some(summary) if mean_us > UNEVEN * summary.median_us => format!(
            "of {} on average, where the median step takes {}: a few steps are far longer",
            time(mean_us),
            time(summary.median_us)
        ),
        _ => format!("of {}", time(mean_us)),
    }
}

/// Answers why training is slow: the finding of the job, if its ranks wait for one of them, and then what bounds each rank.
pub(crate) fn answers(analysis: &knockout_analyze::Analysis) -> Vec<String> {
    let job = analysis.job.as_ref().and_then(|job| job.finding.as_ref());
    let job = job.map(|finding| format!("the job: {}", trace_finding(finding)));
    let ranks = if analysis.ranks.len() > MOST_APART { grouped_bounds(analysis) } else { bounds(analysis) };
    job.into_iter().chain(ranks).collect()
}

/// A mean step above so many median ones is that of a few long steps.
const UNEVEN: f64 = 1.5;

/// Ranks that are described one by one; more are grouped by what bounds them.
pub(crate) const MOST_APART: usize = 8;

/// Describes what bounds the ranks of a large job: a sentence for all ranks that have the same cause.
fn grouped_bounds(analysis: &knockout_analyze::Analysis) -> Vec<String> {
    let mut groups: Vec<(String, Vec<&FileFindings>)> = Vec::new();
    for file in &analysis.ranks {
        let limit = cause_of(file);
        match groups.iter_mut().find(|(own, _)| *own == limit) {
            Some((_, files)) => files.push(file),
            None => groups.push((limit, vec![file])),
        }
    }
    groups.sort_by_key(|(_, files)| std::cmp::Reverse(files.len()));
    let sentence = |(limit, files): &(String, Vec<&FileFindings>)| {
        let unit = if files.iter().any(|file| file.steps.is_empty()) { "the trace" } else { "a step" };
        let [shares, gains] =
            [|file: &FileFindings| file.bound.share, |file: &FileFindings| file.bound.gain_us]
                .map(|value| extremes(files.iter().map(|file| value(file))));
        format!(
            "{}: {unit} is bound by {limit}, for {} of it; removing that would save at most {}",
            ranks_of(files),
            span_of(shares, percent),
            span_of(gains, time)
        )
    };
    groups.iter().map(sentence).collect()
}

fn extremes(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
}

/// Writes the smallest and the largest value, or one where both read alike.
fn span_of((low, high): (f64, f64), text: fn(f64) -> String) -> String {
    let (low, high) = (text(low), text(high));
    if low == high { low } else { format!("{low} to {high}") }
}

/// Names ranks, consecutive ones as a range: `ranks 0 to 12, 14 (14 ranks)`.
fn ranks_of(files: &[&FileFindings]) -> String {
    if let [only] = files {
        return only.rank.map_or_else(|| only.file.clone(), |rank| format!("rank {rank}"));
    }
    let ranks: Option<Vec<i64>> = files.iter().map(|file| file.rank).collect();
    let Some(ranks) = ranks else { return format!("{} files", files.len()) };
    let runs = ranks.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [first, .., last] => format!("{first} to {last}"),
        run => run.iter().map(ToString::to_string).collect(),
    });
    format!("ranks {} ({} ranks)", runs.collect::<Vec<_>>().join(", "), files.len())
}

/// Describes the findings that [`answers`] leaves out; of a large job, those of single ranks are counted.
pub(crate) fn other_findings(analysis: &knockout_analyze::Analysis) -> Vec<String> {
    let answered = analysis.job.as_ref().and_then(|job| job.finding.as_ref());
    let others = analysis.findings.iter().filter(|found| answered != Some(&found.what));
    let (shown, left): (Vec<_>, Vec<_>) =
        others.partition(|found| found.source.is_none() || analysis.ranks.len() <= MOST_APART);
    let left = (!left.is_empty()).then(|| {
        format!("{} findings about single ranks are left out; --json has all", count(left.len() as u64))
    });
    shown.into_iter().map(sourced_finding).chain(left).collect()
}

/// Describes what bounds each file of an analysis, after its rank where there are several.
pub(crate) fn bounds(analysis: &knockout_analyze::Analysis) -> Vec<String> {
    let several = analysis.ranks.len() > 1;
    let name = |file: &FileFindings| match file.rank {
        _ if !several => String::new(),
        Some(rank) => format!("rank {rank}: "),
        None => format!("{}: ", file.file),
    };
    analysis.ranks.iter().map(|file| name(file) + &bound(file)).collect()
}

/// Describes the part of a category that is waiting for autograd; `None` where autograd has no threads of its own.
pub(crate) fn autograd_wait(analysis: &knockout_analyze::Analysis) -> Option<String> {
    let of = |role: Role, wait: fn(&FileFindings) -> f64, rest: &str| {
        let wait: f64 = analysis.ranks.iter().map(wait).sum();
        let row = analysis.categories.iter().find(|row| row.role == role && !row.device)?;
        (wait > 0.0).then(|| {
            format!(
                "{}: {} of it are a thread that waits for autograd's threads, {} are {rest}; the last column has the share of these",
                row.name,
                time(wait),
                time((row.us - wait).max(0.0))
            )
        })
    };
    let named = of(Role::Backward, |file| file.autograd_wait_us, "work");
    let unnamed = of(Role::Unattributed, |file| file.autograd_wait_unnamed_us, "not known");
    let lines: Vec<String> = named.into_iter().chain(unnamed).collect();
    (!lines.is_empty()).then(|| lines.join("\n  "))
}

/// How many device events have a launch call, and what is known of those.
pub(crate) fn launches(gpu: &Gpu) -> String {
    let known = if gpu.launch.rows == 0 {
        String::new()
    } else {
        format!(
            " (calls {}, device {}, from call to start {} on average of these)",
            time(gpu.launch.cpu_us),
            time(gpu.launch.gpu_us),
            time(gpu.launch.mean_delay_us())
        )
    };
    format!(
        "{} of {} device events have a launch call of a known name{known}; {} have another call, {} none in the file",
        count(gpu.launch.rows),
        count(gpu.device_events),
        count(gpu.launched_by_other_calls()),
        count(gpu.device_events_without_launch_call)
    )
}

fn trace_finding(finding: &TraceFinding) -> String {
    match finding {
        TraceFinding::HostCategory { category, share, steps, .. } => {
            let of = match steps {
                0 => "of the host's busy time".to_owned(),
                1 => "of the one step there is".to_owned(),
                steps => format!("of a step (median of {steps} steps)"),
            };
            if *share > 1.0 && *steps > 0 {
                // Host threads are added up.
                return format!(
                    "{category} takes {share:.1} times the length of a step, on several threads at once"
                );
            }
            format!("{category} takes {} {of}", percent(*share))
        }
        TraceFinding::ExposedCommunication { share, us, of_us, hidden } => format!(
            "communication that no computation hides takes {} of the time ({} of {}); {} of communication is hidden",
            percent(*share),
            time(*us),
            time(*of_us),
            percent(*hidden)
        ),
        TraceFinding::DeviceIdle { share, us, of_us, host_limited } => {
            let cause = host_limited.map_or_else(String::new, |share| {
                format!(
                    "; {} of the streams' gaps end with a launch that came late (the host is the limit there)",
                    percent(share)
                )
            });
            format!(
                "the device is idle for {} of the time ({} of {}){cause}",
                percent(*share),
                time(*us),
                time(*of_us)
            )
        }
        TraceFinding::MemoryCopies { share, us, of_us } => format!(
            "copies and fills take {} of the device's busy time ({} of {})",
            percent(*share),
            time(*us),
            time(*of_us)
        ),
        TraceFinding::SlowStep { name, us, median_us, steps, ratio } => format!(
            "{name} takes {}, {ratio:.2} times the median of {steps} steps ({})",
            time(*us),
            time(*median_us)
        ),
        TraceFinding::Unattributed { share, us, autograd_us } => {
            let advice = if *autograd_us > 0.0 {
                format!(
                    "up to {} of it is a thread that waits for autograd's own threads; wrap loss.backward() with torch.profiler.record_function(\"backward\") to separate the two",
                    time(*autograd_us)
                )
            } else {
                "wrap the code with torch.profiler.record_function to see what it is".to_owned()
            };
            let (share, us) = (percent(*share), time(*us));
            format!("{share} of the host's busy time ({us}) has no operator inside it; {advice}")
        }
        TraceFinding::Straggler {
            source: rank,
            against,
            is_compute,
            us,
            median_us,
            excess,
            step_us,
            slowest_in,
            steps,
        } => {
            let other = against.as_ref().map_or_else(|| "the median rank".to_owned(), source);
            let cost = match step_us {
                Some(us) if *is_compute => {
                    format!("; the difference is about {} of computation a step", time(*us))
                }
                _ => String::new(),
            };
            let slowest = match slowest_in {
                0 => String::new(),
                some => format!("; its step is the longest by more than 1 % in {some} of {steps} steps"),
            };
            format!(
                "{} {} {}, {} more than {other} ({}){cost}{slowest}",
                source(rank),
                if *is_compute { "computes" } else { "takes for a median step" },
                time(*us),
                percent(*excess),
                time(*median_us)
            )
        }
        TraceFinding::LastToArrive { source: rank, last_in, collectives, wait_us, step_us, delay } => {
            last_to_arrive(rank, (*last_in, *collectives), (*wait_us, *step_us), delay.as_ref())
        }
    }
}

/// Names the rank that arrives last: in how many of how many collectives, the wait and the step, and what holds it up.
fn last_to_arrive(
    rank: &FindingSource,
    (last_in, collectives): (usize, usize),
    (wait_us, step_us): (f64, Option<f64>),
    delay: Option<&Delay>,
) -> String {
    let rank = source(rank);
    let wait = match step_us {
        Some(step) => format!("{} of {} per step", time(wait_us), time(step)),
        None => format!("{} in all", time(wait_us)),
    };
    let why = delay_sentence(&rank, delay);
    format!(
        "{rank} arrives last in {last_in} of {} collectives; the others wait {wait}; {why}",
        count(collectives)
    )
}

/// Notes on a job: ranks without a file, events without partners and clocks that were corrected.
pub(crate) fn job_notes(job: &Job) -> Vec<String> {
    const MOST_NAMED: usize = 8;
    let mut notes = Vec::new();
    if !job.missing_ranks.is_empty() {
        let named = job.missing_ranks.iter().take(MOST_NAMED).map(ToString::to_string).collect::<Vec<_>>();
        let more = job.missing_ranks.len().saturating_sub(MOST_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        notes.push(format!(
            "no file was given of rank {}{more}: waits are those among the ranks that were given",
            named.join(", ")
        ));
    }
    if job.unmatched_events > 0 {
        notes.push(format!(
            "{} communication events have no partner on the other ranks and are in no figure here",
            count(job.unmatched_events)
        ));
    }
    let corrected: Vec<String> = job
        .ranks
        .iter()
        .filter_map(|row| {
            let clock = row.clock.filter(|clock| clock.is_corrected)?;
            let rank = source(&FindingSource::of(row.rank, &row.file));
            Some(format!("{rank} by {} (spread {})", time(clock.us), time(clock.spread_us)))
        })
        .collect();
    if !corrected.is_empty() {
        notes.push(format!(
            "clocks differ, and times were corrected so that collectives end together: {}",
            corrected.join(", ")
        ));
    } else if job.collectives > 0 && job.ranks.iter().any(|row| row.clock.is_none()) {
        notes.push(
            "fewer than three collectives have all ranks: the clocks of the ranks could not be compared"
                .to_owned(),
        );
    }
    notes
}

/// Names what holds up a rank that arrives last.
fn delay_sentence(rank: &str, delay: Option<&Delay>) -> String {
    let Some(Delay { cause, us }) = delay else {
        return format!("nothing that the trace records explains why {rank} is late");
    };
    let more = format!("{} more than the others' median", time(*us));
    match cause {
        DelayCause::LateStart => {
            format!("{rank} begins its step {} later than the others' median", time(*us))
        }
        DelayCause::Host(category) => format!("{rank} is held up by {category} ({more})"),
        DelayCause::Device(category) => format!("{rank} is held up by {category} on its device ({more})"),
    }
}

/// A warning as `code: sentence`.
pub fn trace_warning(warning: &TraceWarning) -> String {
    let sentence = match warning {
        TraceWarning::Damaged(damage) => format!("{damage}; the figures are those of the events before it"),
        TraceWarning::Skipped(skipped) => format!("{skipped}; the figures are those of the other events"),
        TraceWarning::Repaired(repair) => repair.to_string(),
        TraceWarning::UnclosedList => {
            "the list of events has no closing bracket; the Chrome format allows that, but a file cut off between two events looks the same"
                .to_owned()
        }
        TraceWarning::NoEvents => "the list of events is empty".to_owned(),
        TraceWarning::NoSpreadByOperation => {
            "there are so many steps and operations that their times were not kept apart".to_owned()
        }
        TraceWarning::Converted(how) => format!(
            "`knockout trace convert` left events out ({how}): what enclosed them seems to take longer, and kernels may lack their launch calls; take figures from the trace it was made of"
        ),
        TraceWarning::RanksMerged(1) => {
            "1 step overlaps another of the same name: ranks merged into one file; name the files of the ranks instead"
                .to_owned()
        }
        TraceWarning::RanksMerged(steps) => format!(
            "{steps} steps overlap another of the same name: ranks merged into one file; name the files of the ranks instead"
        ),
        TraceWarning::StepCut(name, us) if *us <= 0.0 => {
            format!("{name} is the last step of a file that ends early: its later events are missing, so its shares are not those of a whole step")
        }
        TraceWarning::StepCut(name, us) => format!(
            "{name} lacks spans that other steps have around their operators: the recording began or ended inside of them, so {} of its operators belong to no phase",
            time(*us)
        ),
        TraceWarning::Counted(kind, 1) => format!("1 {}", counted_one(*kind)),
        TraceWarning::Counted(kind, number) => format!("{} {}", count(*number), counted(*kind)),
    };
    format!("{}: {sentence}", warning.code())
}

fn counted(kind: Counted) -> &'static str {
    match kind {
        Counted::TimesOutOfRange => "times are beyond 64-bit nanoseconds; the events are in no sum",
        Counted::ExtremeTimes => "events have times more than 73 years from zero; they are in no sum",
        Counted::WithoutDuration => "complete events have no usable start or duration and are in no sum",
        Counted::NegativeDuration => "complete events have a negative duration and are in no sum",
        Counted::FinerThanNanos => "times are finer than a nanosecond and were rounded",
        Counted::NotEvents => "members of the list are not objects and were left out",
        Counted::UnmatchedBeginEnd => "begin or end events (ph B, E) have no partner and were left out",
        Counted::BeginEndNotUsed => "begin and end events are in no sum of the reference rules",
        Counted::Overlaps => {
            "events overlap another on their lane without nesting; each instant was counted once, for the earlier event"
        }
        Counted::StacksShortened => "lanes have so many different stacks that deep ones were shortened",
        Counted::BackwardLeftOut => {
            "lanes have over a million operators or functions of autograd: no backward pass of their modules is shown"
        }
        Counted::RecordsDropped => {
            "spans and counters were not recorded because memory for them ran out; record fewer steps"
        }
        Counted::OtherMembers => {
            "more traces are in the archive and were not read; unpack it to analyse them"
        }
    }
}

/// Returns the text of a single event.
fn counted_one(kind: Counted) -> &'static str {
    match kind {
        Counted::TimesOutOfRange => "time is beyond 64-bit nanoseconds; the event is in no sum",
        Counted::ExtremeTimes => "event has a time more than 73 years from zero; it is in no sum",
        Counted::WithoutDuration => "complete event has no usable start or duration and is in no sum",
        Counted::NegativeDuration => "complete event has a negative duration and is in no sum",
        Counted::FinerThanNanos => "time is finer than a nanosecond and was rounded",
        Counted::NotEvents => "member of the list is not an object and was left out",
        Counted::UnmatchedBeginEnd => "begin or end event (ph B, E) has no partner and was left out",
        Counted::BeginEndNotUsed => "begin or end event is in no sum of the reference rules",
        Counted::Overlaps => {
            "event overlaps another on its lane without nesting; each instant was counted once, for the earlier event"
        }
        Counted::StacksShortened => "lane has so many different stacks that deep ones were shortened",
        Counted::BackwardLeftOut => {
            "lane has over a million operators or functions of autograd: no backward pass of its modules is shown"
        }
        Counted::RecordsDropped => {
            "span or counter was not recorded because memory for it ran out; record fewer steps"
        }
        Counted::OtherMembers => "more trace is in the archive and was not read; unpack it to analyse both",
    }
}

/// A warning as `code: sentence`, with the side it is about.
pub(crate) fn trace_comparison_warning(warning: &TraceComparisonWarning) -> String {
    match warning {
        TraceComparisonWarning::OfA(warning) => format!("a: {}", sourced_warning(warning)),
        TraceComparisonWarning::OfB(warning) => format!("b: {}", sourced_warning(warning)),
        TraceComparisonWarning::StepsInOneOnly => {
            "no_steps: only one of the traces has profiler steps; whole traces are compared".to_owned()
        }
        TraceComparisonWarning::NoSteps => {
            "no_steps: neither trace has profiler steps; whole traces are compared".to_owned()
        }
        TraceComparisonWarning::NoInterval(1) => {
            "one_step: with one step there is no spread to judge by: range, no interval".to_owned()
        }
        TraceComparisonWarning::NoInterval(steps) => {
            format!("no_interval: {}", range_not_interval(*steps as u64, "steps", FEWEST_FOR_INTERVAL))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_a_singular() {
        let said = |number| trace_warning(&TraceWarning::Counted(Counted::Overlaps, number));
        assert!(said(1).starts_with("overlaps: 1 event overlaps another on its lane"), "{}", said(1));
        assert!(said(1200).starts_with("overlaps: 1,200 events overlap"), "{}", said(1200));
    }

    #[test]
    fn a_rank_that_computes_more_is_not_reported_as_waited_for() {
        let text = trace_finding(&TraceFinding::Straggler {
            source: FindingSource::Rank(1),
            against: Some(FindingSource::Rank(0)),
            is_compute: true,
            us: 150.0,
            median_us: 100.0,
            excess: 0.5,
            step_us: Some(25.0),
            slowest_in: 1,
            steps: 2,
        });
        assert_eq!(
            text,
            "rank 1 computes 150.000 µs, 50.0 % more than rank 0 (100.000 µs); the difference is about 25.000 µs of computation a step; its step is the longest by more than 1 % in 1 of 2 steps"
        );
    }

    #[test]
    fn every_sentence_has_its_figure() {
        let found = |source| Sourced {
            source,
            what: TraceFinding::HostCategory {
                about: "data_loading",
                category: "data loading".to_owned(),
                share: 0.3,
                steps: 4,
                limit: 0.15,
            },
        };
        assert_eq!(sourced_finding(&found(None)), "data loading takes 30.0 % of a step (median of 4 steps)");
        assert!(
            sourced_finding(&found(Some(FindingSource::Rank(3)))).starts_with("rank 3: data loading takes")
        );
        assert_eq!(
            trace_warning(&TraceWarning::Counted(Counted::RecordsDropped, 4)),
            "records_dropped: 4 spans and counters were not recorded because memory for them ran out; record fewer steps"
        );
    }
}
