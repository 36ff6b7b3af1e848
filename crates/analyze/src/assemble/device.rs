//! Device figures as values.

use super::{Parts, shares};
use crate::attribute::gpu::{Busy, DeviceTimes, Gpu, GpuHta, IdleStream, KernelType, StreamTime};
use crate::attribute::interval::Union;
use crate::collect::{ArgValueKey, Stream};
use knockout_base::stats::{us, us_wide};

/// Names of the types, in the order of [`crate::collect::kind::Work`].
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

/// What both rules say in the same words.
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

pub(crate) fn whole(parts: &Parts<'_>) -> Option<Gpu> {
    let exact = &parts.device.exact;
    let device_events: u64 = exact.by_type.iter().map(|(events, _)| events).sum();
    if device_events == 0 {
        return None;
    }
    let by_type = TYPES
        .iter()
        .zip(&exact.by_type)
        .map(|(name, (events, sum))| (*name, KernelType { events: *events, sum_us: us_wide(*sum) }))
        .collect();
    let streams = || exact.streams.iter().map(|(number, time)| (stream_name(parts, *number), time));
    let phases = parts.joined.by_phase.iter().enumerate().map(|(index, nanos)| {
        let known = parts.rules.categories().get(index);
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
        launch: parts.joined.launch,
        device_events_without_launch_call: parts.joined.without_call,
        queue_length: streams().filter_map(|(name, time)| Some((name, time.queue.figures()?))).collect(),
        by_phase: shares(phases, all),
    })
}

/// `device:stream` as the trace spells them.
fn stream_name(parts: &Parts<'_>, number: u32) -> String {
    let Some(Stream { device, spelt, .. }) =
        (number as usize).checked_sub(1).and_then(|at| parts.streams.get(at))
    else {
        return "None:None".to_owned();
    };
    let text = |value: &Option<ArgValueKey>| match value {
        None => "None".to_owned(),
        Some(ArgValueKey::Number(number)) => number.to_string(),
        Some(ArgValueKey::Text(text)) => parts.text(*text).to_owned(),
    };
    format!("{}:{}", text(device), text(spelt))
}

pub(crate) fn hta(parts: &Parts<'_>) -> Option<GpuHta> {
    if !parts.totals.any_stream || parts.totals.hta_rows == 0 {
        return None;
    }
    let swept = &parts.device.hta;
    Some(GpuHta {
        trimmed: parts.hta.trimmed,
        profiler_step_names: parts.hta.step_names,
        cut_at_us: parts.hta.cut.filter(|_| parts.hta.trimmed).map(us),
        fractional_times_rounded: parts.hta.fractional,
        rows_kept: parts.hta_kept,
        device_rows: swept.rows,
        times: times(&swept.busy),
        idle_per_stream: swept.streams.iter().filter_map(|(n, time)| Some((*n, idle(time)?))).collect(),
        launch: parts.joined.launch_hta,
        queue_length: swept
            .streams
            .iter()
            .filter_map(|(n, time)| Some((*n, time.queue.figures()?)))
            .collect(),
    })
}
