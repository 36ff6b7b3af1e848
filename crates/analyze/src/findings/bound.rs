//! What bounds the steps of a trace: always an answer, by the figures that the other findings rest on. Values only.

use crate::findings::FileFindings;
use knockout_stats::{median, share};
use std::collections::BTreeSet;

/// A device that is busy for more of its time than this is the limit.
const DEVICE_BUSY: f64 = 0.80;
/// Communication that no computation hides is the limit above this share of the device's time.
const EXPOSED: f64 = 0.30;
/// Data loading is the limit above this share of a step.
const DATA: f64 = 0.30;

/// What a step waits for most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The device computes nearly all the time.
    Device,
    /// The device waits for the host's launches.
    Host,
    /// Ranks exchange data, and nothing hides it.
    Communication,
    /// Batches are waited for.
    Data,
    /// There is no device: the host's own operations.
    Operations,
    /// The trace has no time in it.
    Nothing,
}

/// What bounds a trace, and the figures that say so.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Bound {
    /// What is waited for.
    pub limit: Limit,
    /// The share that decides: busy or idle time of the device, exposed communication, data loading or the largest operation.
    pub share: f64,
    /// Share of its time in which the device is busy; `None` without a device.
    pub device_busy: Option<f64>,
    /// The largest category of the side that is the limit, and its share of that side.
    pub largest: Option<(String, f64)>,
    /// The operation with the largest self time, and its share of the same side.
    pub operation: Option<(String, f64)>,
}

impl Bound {
    /// What bounds one file.
    pub fn of(findings: &FileFindings) -> Self {
        let device = findings.gpu.as_ref().map(|gpu| &gpu.times).filter(|times| times.kernel_time_us > 0.0);
        let device_busy = device.map(|times| share(times.busy_us, times.kernel_time_us));
        let exposed = device.map_or(0.0, |times| {
            share(times.communication_us - times.comm_comp_overlap_us, times.kernel_time_us)
        });
        let data = data_loading(findings);
        let (limit, decides) = match device_busy {
            _ if findings.self_us <= 0.0 => (Limit::Nothing, 0.0),
            _ if data > DATA => (Limit::Data, data),
            Some(_) if exposed > EXPOSED => (Limit::Communication, exposed),
            Some(busy) if busy >= DEVICE_BUSY => (Limit::Device, busy),
            Some(busy) => (Limit::Host, 1.0 - busy),
            None => (Limit::Operations, 0.0),
        };
        let is_device = limit == Limit::Device;
        let is_own = |name: &str| name != "idle inside annotations";
        let largest = findings.categories.iter().find(|row| row.device == is_device && is_own(&row.name));
        let sides: BTreeSet<&str> = findings
            .categories
            .iter()
            .filter(|row| row.device == is_device && is_own(&row.name))
            .map(|row| row.name.as_str())
            .collect();
        let side_us = if is_device { findings.device_us } else { findings.host_us };
        let operation = findings.operations.iter().find(|row| sides.contains(row.category.as_str()));
        let operation = operation.map(|row| (row.name.clone(), share(row.self_us, side_us)));
        let decides = match (limit, &operation) {
            (Limit::Operations, Some((_, share))) => *share,
            _ => decides,
        };
        let largest = largest.map(|row| (row.name.clone(), row.share_of_side));
        Self { limit, share: decides, device_busy, largest, operation }
    }
}

/// Share of a step that goes into data loading: the median over steps, or of the host's time.
fn data_loading(findings: &FileFindings) -> f64 {
    const NAME: &str = "data loading";
    let of_steps: Vec<f64> = findings
        .steps
        .iter()
        .map(|step| share(step.host.iter().find(|row| row.name == NAME).map_or(0.0, |row| row.us), step.us))
        .collect();
    let whole = || findings.phases.iter().find(|row| row.name == NAME).map(|row| row.share);
    median(&of_steps).or_else(whole).unwrap_or(0.0)
}

/// Groups files that are ranks of one job; every other file is a group of its own. Numbers of files, in their order.
///
/// Ranks of one job name different ranks of one world size, have the same steps and were recorded at the same time.
pub fn jobs(files: &[FileFindings]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (place, file) in files.iter().enumerate() {
        let home = groups.iter_mut().find(|group| {
            group.iter().all(|&other| files.get(other).is_some_and(|other| is_same_job(other, file)))
        });
        match home {
            Some(group) => group.push(place),
            None => groups.push(vec![place]),
        }
    }
    groups
}

fn is_same_job(a: &FileFindings, b: &FileFindings) -> bool {
    let names =
        |file: &FileFindings| file.steps.iter().map(|step| step.name.clone()).collect::<BTreeSet<String>>();
    let overlap = match (a.window_nanos, b.window_nanos) {
        (Some(a), Some(b)) => a.0 < b.1 && b.0 < a.1,
        _ => false,
    };
    a.rank.is_some()
        && b.rank.is_some()
        && a.rank != b.rank
        && a.world_size == b.world_size
        && names(a) == names(b)
        && overlap
}
