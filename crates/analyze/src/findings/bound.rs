//! The limit of the steps of a trace. There is always one, by the figures that the other findings use. Values only.

use crate::collect::rules::{Role, words};
use crate::findings::{CategoryShare, CriticalPath, FileFindings, Operation, OperationPart};
use knockout_base::stats::{median, share};
use std::collections::BTreeSet;

/// A device that is busy for more of its time than this is the limit.
const DEVICE_BUSY: f64 = 0.80;
/// Communication that no computation hides is the limit above this share of the device's time.
const EXPOSED: f64 = 0.30;
/// Data loading is the limit above this share of a step.
const DATA: f64 = 0.30;

/// If the trace is longer than the device's time by this factor, the shares of both are reported.
const MUCH_LONGER: f64 = 1.5;

/// The resource that a step waits for most.
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

/// The limit of a trace, and the figures behind it.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Bound {
    /// The resource that is waited for.
    pub limit: Limit,
    /// The share that decides: busy or idle time of the device, exposed communication, data loading or the largest operation.
    pub share: f64,
    /// Share of the time between its first and its last event in which the device is busy; `None` without a device.
    pub device_busy: Option<f64>,
    /// Share of the whole trace in which the device is busy, where the trace is much longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_busy_of_trace: Option<f64>,
    /// The category that is the limit, or the largest of the side that is, and its share of that side. Never a wait: threads that
    /// sleep are in no share here.
    pub largest: Option<(String, f64)>,
    /// The operation with the largest self time in that category, and its share of the same side.
    pub operation: Option<(String, f64)>,
}

impl Bound {
    /// Returns the limit of one file.
    pub fn of(findings: &FileFindings) -> Self {
        let device = findings.gpu.as_ref().map(|gpu| &gpu.times).filter(|times| times.kernel_time_us > 0.0);
        let device_busy = device.map(|times| share(times.busy_us, times.kernel_time_us));
        let whole_us = findings.span_without_trace_cat_us;
        let device_busy_of_trace = device
            .filter(|times| whole_us >= MUCH_LONGER * times.kernel_time_us)
            .map(|times| share(times.busy_us, whole_us));
        let exposed = device.map_or_else(
            || host_communication(findings),
            |times| share(times.communication_us - times.comm_comp_overlap_us, times.kernel_time_us),
        );
        let data = data_loading(findings);
        let (limit, decides) = match device_busy {
            _ if findings.self_us <= 0.0 => (Limit::Nothing, 0.0),
            _ if data > DATA => (Limit::Data, data),
            _ if exposed > EXPOSED => (Limit::Communication, exposed),
            Some(busy) if busy >= DEVICE_BUSY => (Limit::Device, busy),
            Some(busy) => (Limit::Host, 1.0 - busy),
            None => (Limit::Operations, 0.0),
        };
        let side = match limit {
            Limit::Device => Side::Device,
            Limit::Communication if device.is_some() => Side::Device,
            _ => Side::Host,
        };
        let works = |row: &&CategoryShare| Side::of(row) == side && !row.role.is_wait();
        let is_limit = |row: &&CategoryShare| match limit {
            Limit::Data => row.role == Role::DataLoading,
            Limit::Communication => row.role == Role::Communication,
            _ => true,
        };
        let work = |row: &CategoryShare| row.share_of_work.unwrap_or(0.0);
        // Of equal ones the first, as the categories are listed.
        let candidates = findings.categories.iter().filter(works).filter(is_limit).rev();
        let largest = candidates.max_by(|a, b| work(a).total_cmp(&work(b)));
        // The base of `share_of_work`, so that figures agree with the table's.
        let of_side = findings.categories.iter().filter(|row| Side::of(row) == side && !row.is_asleep());
        let waits: f64 = findings.waits().iter().filter(|_| side == Side::Host).map(|(_, us)| us).sum();
        let work_us = of_side.map(|row| row.us).sum::<f64>() - waits;
        let operation = largest.and_then(|category| largest_operation(findings, category, work_us));
        let decides = match (limit, &operation) {
            (Limit::Operations, Some((_, share))) => *share,
            _ => decides,
        };
        let largest = largest.map(|row| (row.name.clone(), work(row)));
        Self { limit, share: decides, device_busy, device_busy_of_trace, largest, operation }
    }
}

/// Where a category's time is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Host,
    Device,
}

impl Side {
    fn of(category: &CategoryShare) -> Self {
        if category.device { Self::Device } else { Self::Host }
    }
}

/// The operation with the largest self time in a category, waits and the steps' own spans left out; its share of `whole_us`.
fn largest_operation(
    findings: &FileFindings,
    category: &CategoryShare,
    whole_us: f64,
) -> Option<(String, f64)> {
    let is_in = |part: &&OperationPart| part.category == category.name && part.device == category.device;
    let self_us = |row: &Operation| row.by_category.iter().find(is_in).map_or(0.0, |part| part.self_us);
    // A phase's own span repeats the category: its self time is waiting, or unattributed.
    let own_name = words(&category.name);
    let works = |row: &&Operation| {
        self_us(row) > 0.0
            && !is_wait(&row.name)
            && !row.name.starts_with(STEP)
            && words(&row.name) != own_name
    };
    // Of equal ones the first, as the operations are listed.
    let most =
        findings.operations.iter().filter(works).rev().max_by(|a, b| self_us(a).total_cmp(&self_us(b)))?;
    Some((most.name.clone(), share(self_us(most), whole_us)))
}

const STEP: &str = "ProfilerStep";

/// Whether an operation waits, by its name.
fn is_wait(name: &str) -> bool {
    words(name).iter().any(|word| matches!(word.as_str(), "wait" | "synchronize" | "sync"))
}

/// Share of communication of the slowest step's critical path, or of the host's time without steps.
fn host_communication(findings: &FileFindings) -> f64 {
    let of_path =
        |path: &CriticalPath| share(findings.us_of(&path.parts, Role::Communication).unwrap_or(0.0), path.us);
    let whole = || findings.share_of_phase(Role::Communication).unwrap_or(0.0);
    findings.critical_path.as_ref().map_or_else(whole, of_path)
}

/// Share of a step that goes into data loading: the median over steps, or of the host's time.
fn data_loading(findings: &FileFindings) -> f64 {
    let of_steps: Vec<f64> = findings
        .steps
        .iter()
        .map(|step| share(findings.us_of(&step.host, Role::DataLoading).unwrap_or(0.0), step.us))
        .collect();
    let whole = || findings.share_of_phase(Role::DataLoading);
    median(&of_steps).or_else(whole).unwrap_or(0.0)
}

/// Groups files that are ranks of one job; every other file is a group of its own. Numbers of files, in their order.
///
/// Ranks of one job name different ranks of one world size, have the same steps and were recorded at the same time.
pub fn jobs(files: &[FileFindings]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, file) in files.iter().enumerate() {
        let home = groups.iter_mut().find(|group| {
            group.iter().all(|&other| files.get(other).is_some_and(|other| is_same_job(other, file)))
        });
        match home {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
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
