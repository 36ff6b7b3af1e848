//! Device figures as values.

use crate::attribute::FileSums;
use crate::attribute::gpu::{Busy, LaunchSums, StreamQueue, StreamTime};
use crate::attribute::interval::Union;
use crate::collect::id::StreamId;
use crate::collect::{ArgValueKey, Stream};
use crate::findings::{
    DeviceTimes, Gpu, GpuHta, IdleStream, KernelType, LaunchFigures, QueueFigures, shares,
};
use knockout_base::stats::{us, us_wide};

/// Names of the types, in the order of [`crate::collect::kind::DeviceWork`].
const TYPES: [&str; 4] = ["COMPUTATION", "COMMUNICATION", "MEMORY", "OTHER"];

fn span(union: &Union) -> i64 {
    union.last.unwrap_or(0) - union.first.unwrap_or(0)
}

/// Overlap in per cent with two decimals, and as a fraction.
fn overlap(both: i64, communication: i64) -> (Option<f64>, Option<f64>) {
    if communication == 0 {
        return (None, None);
    }
    let fraction = both as f64 / communication as f64;
    (Some((fraction * 10_000.0).round() / 100.0), Some(fraction))
}

/// Returns the times that both rules have.
fn times(busy: &Busy) -> DeviceTimes {
    let (pct, fraction) = overlap(busy.overlap.both_nanos, busy.communication.nanos);
    DeviceTimes {
        kernel_time_us: us(span(&busy.all)),
        idle_us: us(span(&busy.all) - busy.all.nanos),
        busy_us: us(busy.all.nanos),
        compute_us: us(busy.compute.nanos),
        non_compute_us: us(busy.all.nanos - busy.compute.nanos),
        communication_us: us(busy.communication.nanos),
        memory_us: us(busy.memory.nanos),
        comm_comp_overlap_us: us(busy.overlap.both_nanos),
        comm_comp_overlap_pct: pct,
        overlap: fraction,
    }
}

fn launches(sums: &LaunchSums) -> LaunchFigures {
    LaunchFigures {
        rows: sums.rows,
        cpu_us: us_wide(sums.cpu),
        gpu_us: us_wide(sums.gpu),
        delay_us: us_wide(sums.delay),
    }
}

/// Length of a queue; `None` if nothing ever waited.
fn queue(queue: &StreamQueue) -> Option<QueueFigures> {
    let span = queue.last - queue.first?;
    let mean = |total: i128| total as f64 / queue.points as f64;
    Some(QueueFigures {
        points: queue.points,
        mean: mean(queue.total),
        max: queue.max?,
        min: queue.min?,
        mean_over_time: (span != 0).then(|| queue.area as f64 / span as f64),
        mean_if_starts_first_at_ties: queue.ties.then(|| mean(queue.total_starts_first)),
    })
}

/// Idle time of a stream that has device events.
fn idle(time: &StreamTime) -> Option<IdleStream> {
    let [host, kernel, other] = time.idle;
    (time.events > 0).then(|| IdleStream {
        events: time.events,
        host_wait_us: us_wide(host),
        kernel_wait_us: us_wide(kernel),
        other_us: us_wide(other),
        idle_us: us_wide(time.idle.iter().sum()),
        gaps: time.gaps,
        equal_starts: time.equal_starts,
    })
}

pub(crate) fn whole(file: &FileSums<'_>) -> Option<Gpu> {
    let exact = &file.device.exact;
    let device_events: u64 = exact.by_type.iter().map(|(events, _)| events).sum();
    if device_events == 0 {
        return None;
    }
    let by_type = TYPES
        .iter()
        .zip(&exact.by_type)
        .map(|(name, (events, sum))| (*name, KernelType { events: *events, sum_us: us_wide(*sum) }))
        .collect();
    let streams = || exact.streams.iter().map(|(stream, time)| (stream_name(file, *stream), time));
    let phases = file.joined.by_phase.iter().enumerate().map(|(index, nanos)| {
        let known = file.rules.categories().get(index);
        let name = known.map_or_else(|| "launched outside any phase".to_owned(), |c| c.name.clone());
        (name, us(*nanos))
    });
    let phases: Vec<(String, f64)> = phases.collect();
    let all = phases.iter().map(|(_, us)| us).sum();
    Some(Gpu {
        times: times(&exact.busy),
        device_events,
        by_type,
        idle_per_stream: streams().filter_map(|(name, time)| Some((name, idle(time)?))).collect(),
        launch: launches(&file.joined.launch),
        device_events_without_launch_call: file.joined.without_call,
        queue_length: streams().filter_map(|(name, time)| Some((name, queue(&time.queue)?))).collect(),
        by_phase: shares(phases, all),
    })
}

/// `device:stream` as in the trace.
fn stream_name(file: &FileSums<'_>, stream: Option<StreamId>) -> String {
    let Some(Stream { device, spelt, .. }) = stream.and_then(|id| file.streams.get(id.index())) else {
        return "None:None".to_owned();
    };
    let text = |value: Option<ArgValueKey>| {
        value.map_or_else(|| "None".to_owned(), |value| value.spelt(&file.outcome.symbols))
    };
    format!("{}:{}", text(*device), text(*spelt))
}

pub(crate) fn hta(file: &FileSums<'_>) -> Option<GpuHta> {
    if !file.totals.any_stream || file.totals.hta_rows == 0 {
        return None;
    }
    let swept = &file.device.hta;
    Some(GpuHta {
        trimmed: file.hta.trimmed,
        profiler_step_names: file.hta.step_names,
        cut_at_us: file.hta.cut.filter(|_| file.hta.trimmed).map(us),
        fractional_times_rounded: file.hta.fractional,
        rows_kept: file.hta_rows_kept,
        device_rows: swept.rows,
        times: times(&swept.busy),
        idle_per_stream: swept.streams.iter().filter_map(|(n, time)| Some((*n, idle(time)?))).collect(),
        launch: launches(&file.joined.launch_hta),
        queue_length: swept.streams.iter().filter_map(|(n, time)| Some((*n, queue(&time.queue)?))).collect(),
    })
}
