//! Several ranks as one job: collectives matched across ranks, the rank that arrives last, the ranks that wait, and the cause.

mod clock;
mod delay;
mod matching;

pub use clock::ClockOffset;

use crate::findings::FileFindings;
use crate::findings::bound::Limit;
use crate::findings::collective::CollectiveKind;
use crate::findings::finding::{FindingSource, TraceFinding};
use crate::findings::share::sum;
use knockout_base::stats::{mean, median, share, us};
use matching::Matched;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Collectives that are listed one by one: those that were waited for longest.
const MOST_LISTED: usize = 1000;
/// A rank is named when at least this part of all waiting is for it.
const MOSTLY_AWAITED: f64 = 0.5;
/// And when the others wait for it for more than this part of a step.
const WORTH_NAMING: f64 = 0.02;

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
    // Clocks of two machines may have nothing in common; the same collectives in the same order do.
    let same_collectives = || {
        let kinds =
            |file: &FileFindings| file.collectives.rows.iter().map(|row| row.kind).collect::<Vec<_>>();
        !a.collectives.rows.is_empty() && kinds(a) == kinds(b)
    };
    a.rank.is_some()
        && b.rank.is_some()
        && a.rank != b.rank
        && a.world_size == b.world_size
        && names(a) == names(b)
        && (overlap || same_collectives())
}

/// The collectives of a job over its ranks. Lists by rank are in the order of `ranks`.
#[derive(Debug, Clone, Serialize)]
pub struct Job {
    /// From the first event of any rank to the last of any rank, in microseconds.
    pub span_us: f64,
    /// One row per file.
    pub ranks: Vec<JobRank>,
    /// Ranks of the job that no file was given of.
    pub missing_ranks: Vec<i64>,
    /// Collectives that were matched across ranks.
    pub collectives: usize,
    /// Communication events that belong to none of them.
    pub unmatched_events: u64,
    /// Time from the last arrival to the first end, summed over the collectives.
    pub transfer_us: f64,
    /// Collectives by operation, group and message size.
    pub operations: Vec<CollectiveSummary>,
    /// The collectives with the longest waits, by time.
    pub longest: Vec<CollectiveTimes>,
    /// Waiting by step, of steps that all ranks have.
    pub steps: Vec<StepWaits>,
    /// The rank that makes the others wait.
    #[serde(skip)]
    pub finding: Option<TraceFinding>,
}

/// One rank of a job.
#[derive(Debug, Clone, Serialize)]
pub struct JobRank {
    /// Rank in the job.
    pub rank: Option<i64>,
    /// Label of the file.
    pub file: String,
    /// Collectives in which it arrived last.
    pub last_in: usize,
    /// Time in collectives before the last rank arrived; time in several at once counts once.
    pub wait_us: f64,
    /// Waiting by the rank that it is for, an index in `ranks`.
    #[serde(skip)]
    pub waited_for_us: BTreeMap<usize, f64>,
    /// Time that the other ranks waited on average in those collectives in which this one arrived last.
    pub others_waited_us: f64,
    /// Clock of the rank; `None` where too few collectives have all ranks.
    pub clock: Option<ClockOffset>,
}

/// Collectives of one operation, group and message size.
#[derive(Debug, Clone, Serialize)]
pub struct CollectiveSummary {
    /// Operation.
    pub operation: CollectiveKind,
    /// Name of the process group.
    pub group: String,
    /// Ranks in the group.
    pub group_size: u64,
    /// Size of a message, as nccl-tests counts it.
    pub bytes: Option<u64>,
    /// Number of collectives.
    pub count: usize,
    /// Waiting of all ranks, summed over the collectives.
    pub wait_us: f64,
    /// Median time from the last arrival to the first end.
    pub transfer_us: f64,
    /// Message size by that time, in GB/s (10⁹ bytes).
    pub algorithm_gb_s: Option<f64>,
    /// Bandwidth that the busiest link needs for it, as nccl-tests computes it.
    pub bus_gb_s: Option<f64>,
}

/// One collective.
#[derive(Debug, Clone, Serialize)]
pub struct CollectiveTimes {
    /// Operation.
    pub operation: CollectiveKind,
    /// Name of the process group.
    pub group: String,
    /// Size of a message.
    pub bytes: Option<u64>,
    /// First arrival after the first event of the job.
    pub start_us: f64,
    /// Arrival of each rank after the first; `None` for ranks outside the group.
    pub arrival_us: Vec<Option<f64>>,
    /// Index in `ranks` of the last rank to arrive.
    pub last: usize,
    /// From the last arrival to the first end.
    pub transfer_us: f64,
}

/// Waiting in one step.
#[derive(Debug, Clone, Serialize)]
pub struct StepWaits {
    /// Name of the step: `ProfilerStep#…`.
    pub name: String,
    /// Waiting of each rank.
    pub wait_us: Vec<f64>,
}

/// A collective with times on the common clock.
struct Timed<'a> {
    matched: &'a Matched,
    first: i64,
    /// Latest arrival, and the file that has it.
    latest: i64,
    last: usize,
    /// First end; never before the latest arrival.
    end: i64,
}

impl<'a> Timed<'a> {
    /// `None` where a rank ended before another arrived, although no rank can: not a collective of these ranks.
    fn of(matched: &'a Matched) -> Option<Self> {
        let last = matched.members.iter().rev().max_by_key(|member| member.start)?;
        let end = matched.members.iter().map(|member| member.end).min()?;
        if matched.kind == CollectiveKind::Exchange && end < last.start {
            return None;
        }
        let first = matched.members.iter().map(|member| member.start).min()?;
        Some(Self { matched, first, latest: last.start, last: last.file, end: end.max(last.start) })
    }

    /// Whether the file arrives after all others; no file does where all arrive at once.
    fn waits_for(&self, file: usize) -> bool {
        self.last == file && self.latest > self.first
    }

    fn transfer(&self) -> i64 {
        self.end - self.latest
    }

    /// Waiting of each member: until the last arrives, or until its own end.
    fn waits(&self) -> impl Iterator<Item = (&matching::Member, i64)> {
        self.matched.members.iter().map(|member| (member, self.latest.min(member.end) - member.start))
    }
}

impl Job {
    /// Returns the collectives of several ranks; `None` for one file.
    pub(crate) fn of(files: &[FileFindings]) -> Option<Self> {
        if files.len() < 2 {
            return None;
        }
        let matching::Matches { mut collectives, unmatched } = matching::matches(files);
        let clocks = clock::offsets(&collectives, files.len());
        let corrections: Vec<i64> =
            clocks.iter().map(|clock| clock.map_or(0, ClockOffset::correction_nanos)).collect();
        let correction = |file: usize| corrections.get(file).copied().unwrap_or(0);
        for member in collectives.iter_mut().flat_map(|found| &mut found.members) {
            member.start -= correction(member.file);
            member.end -= correction(member.file);
        }
        let timed: Vec<Timed<'_>> = collectives.iter().filter_map(Timed::of).collect();
        let dropped: usize = collectives.iter().map(|c| c.members.len()).sum::<usize>()
            - timed.iter().map(|c| c.matched.members.len()).sum::<usize>();
        let ranks = ranks(files, &timed, &clocks);
        let (first, last) = window(files, &corrections);
        let mut job = Self {
            span_us: us(last - first),
            missing_ranks: missing(files),
            collectives: timed.len(),
            unmatched_events: unmatched + dropped as u64,
            transfer_us: sum(timed.iter().map(|found| us(found.transfer()))),
            operations: operations(&timed),
            longest: longest(&timed, files.len(), first),
            steps: steps(files, &timed, &corrections),
            finding: None,
            ranks,
        };
        job.finding = job.last_to_arrive(files, &timed, &corrections);
        Some(job)
    }

    /// Ranks that communicate mostly because one arrives last are bound by that one.
    pub(crate) fn bind(&self, files: &mut [FileFindings]) {
        if !matches!(self.finding, Some(TraceFinding::LastToArrive { .. })) {
            return;
        }
        for (index, (file, row)) in files.iter_mut().zip(&self.ranks).enumerate() {
            // A rank that others wait for may itself wait for a third.
            let most = row.waited_for_us.iter().max_by(|a, b| a.1.total_cmp(b.1));
            let Some((awaited, wait_us)) = most.and_then(|(of, us)| Some((self.ranks.get(*of)?, *us))) else {
                continue;
            };
            let source = FindingSource::of(awaited.rank, &awaited.file);
            // Computation may hide the waiting as far as it hides communication.
            let hidden = file.gpu.as_ref().and_then(|gpu| gpu.times.overlap).unwrap_or(0.0);
            let hidden_us = share(hidden * file.bound.parts.communication_us, 1.0 - hidden);
            file.bound.wait_for(&source, (wait_us - hidden_us).max(0.0), file.steps.len());
            for (step, waits) in file.steps.iter_mut().zip(&self.steps) {
                let wait_us = waits.wait_us.get(index).copied().unwrap_or(0.0);
                if step.limit.is_straggler(&step.parts, wait_us) {
                    step.limit = Limit::Straggler;
                }
            }
        }
    }

    /// Returns the rank that is waited for longest.
    fn last_to_arrive(
        &self,
        files: &[FileFindings],
        timed: &[Timed<'_>],
        corrections: &[i64],
    ) -> Option<TraceFinding> {
        let most = |(_, a): &(usize, &JobRank), (_, b): &(usize, &JobRank)| {
            (a.others_waited_us, a.last_in)
                .partial_cmp(&(b.others_waited_us, b.last_in))
                .unwrap_or(std::cmp::Ordering::Equal)
        };
        let (index, row) = self.ranks.iter().enumerate().max_by(most)?;
        let lengths: Vec<f64> = files.iter().flat_map(|file| &file.steps).map(|step| step.us).collect();
        // Waiting is a mean over the steps, too.
        let step_us = (!lengths.is_empty()).then(|| mean(&lengths));
        let steps = files.iter().map(|file| file.steps.len()).min().unwrap_or(0);
        let wait_us = row.others_waited_us / steps.max(1) as f64;
        let whole_us = step_us.unwrap_or(self.span_us);
        let all_waited = sum(self.ranks.iter().map(|row| row.others_waited_us));
        if row.others_waited_us < MOSTLY_AWAITED * all_waited
            || row.last_in == 0
            || share(wait_us, whole_us) < WORTH_NAMING
        {
            return None;
        }
        let own = files.get(index)?;
        let correction = corrections.get(index).copied().unwrap_or(0);
        let late = timed.iter().filter(|found| found.waits_for(index));
        let in_steps: BTreeSet<usize> =
            late.filter_map(|found| step_at(own, found.latest + correction)).collect();
        Some(TraceFinding::LastToArrive {
            source: FindingSource::of(row.rank, &row.file),
            last_in: row.last_in,
            collectives: self.collectives,
            wait_us,
            step_us,
            delay: delay::of(files, corrections, index, &in_steps, wait_us),
        })
    }
}

fn ranks(files: &[FileFindings], timed: &[Timed<'_>], clocks: &[Option<ClockOffset>]) -> Vec<JobRank> {
    let mut waits = vec![BTreeMap::<usize, i64>::new(); files.len()];
    for Wait { member, nanos, last } in waits_once(timed.iter()) {
        if let Some(waits) = waits.get_mut(member.file).filter(|_| nanos > 0) {
            *waits.entry(last).or_default() += nanos;
        }
    }
    let (mut last_in, mut others_waited) = (Vec::new(), Vec::new());
    for file in 0..files.len() {
        let late = || timed.iter().filter(|found| found.waits_for(file));
        last_in.push(late().count());
        others_waited.push(mean_wait(late()));
    }
    let rows = files.iter().zip(clocks).zip(waits).zip(last_in).zip(others_waited);
    rows.map(|((((file, clock), waits), last_in), others_waited_us)| JobRank {
        rank: file.rank,
        file: file.file.clone(),
        last_in,
        wait_us: us(waits.values().sum()),
        waited_for_us: waits.into_iter().map(|(last, nanos)| (last, us(nanos))).collect(),
        others_waited_us,
        clock: *clock,
    })
    .collect()
}

/// Waiting of a rank in a collective for the last one.
struct Wait<'a> {
    member: &'a matching::Member,
    nanos: i64,
    last: usize,
}

/// Returns the waits by their start, each without the part in which its rank already waits in an earlier collective.
fn waits_once<'a>(timed: impl Iterator<Item = &'a Timed<'a>>) -> Vec<Wait<'a>> {
    let of_one =
        |found: &'a Timed<'a>| found.waits().map(|(member, nanos)| Wait { member, nanos, last: found.last });
    let mut waits: Vec<Wait<'a>> = timed.flat_map(of_one).collect();
    waits.sort_by_key(|wait| (wait.member.start, wait.nanos));
    let mut until: BTreeMap<usize, i64> = BTreeMap::new();
    for Wait { member, nanos, .. } in &mut waits {
        let end = member.start + *nanos;
        let until = until.entry(member.file).or_insert(member.start);
        *nanos = (end - member.start.max(*until)).max(0);
        *until = end.max(*until);
    }
    waits
}

/// Returns the microseconds that a rank other than the last one waits in these collectives: the mean over such ranks, summed over sizes of groups.
fn mean_wait<'a>(late: impl Iterator<Item = &'a Timed<'a>>) -> f64 {
    let mut by_size: BTreeMap<usize, Vec<&Timed<'_>>> = BTreeMap::new();
    for found in late {
        let others = found.matched.members.len().saturating_sub(1).max(1);
        by_size.entry(others).or_default().push(found);
    }
    let mean = |(others, list): (usize, Vec<&Timed<'_>>)| {
        us(waits_once(list.into_iter()).iter().map(|wait| wait.nanos).sum()) / others as f64
    };
    sum(by_size.into_iter().map(mean))
}

/// First and last event of the job on the common clock.
fn window(files: &[FileFindings], corrections: &[i64]) -> (i64, i64) {
    let windows = files.iter().zip(corrections).filter_map(|(file, correction)| {
        let (first, last) = file.work_window_nanos?;
        Some((first - correction, last - correction))
    });
    windows.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or((0, 0))
}

/// Ranks of the world that no file has.
fn missing(files: &[FileFindings]) -> Vec<i64> {
    let have: BTreeSet<i64> = files.iter().filter_map(|file| file.rank).collect();
    let world = files.iter().filter_map(|file| file.world_size).max().unwrap_or(0);
    // A hostile file may name any world size.
    (0..world.min(1 << 16)).filter(|rank| !have.contains(rank)).collect()
}

fn operations(timed: &[Timed<'_>]) -> Vec<CollectiveSummary> {
    let mut groups: BTreeMap<(CollectiveKind, &str, u64, Option<u64>), Vec<&Timed<'_>>> = BTreeMap::new();
    for found in timed {
        let Matched { kind, group, group_size, bytes, .. } = found.matched;
        groups.entry((*kind, group, *group_size, *bytes)).or_default().push(found);
    }
    let row = |((operation, group, group_size, bytes), list): (
        (CollectiveKind, &str, u64, Option<u64>),
        Vec<&Timed<'_>>,
    )| {
        let transfers: Vec<f64> = list.iter().map(|found| us(found.transfer())).collect();
        let transfer_us = median(&transfers).unwrap_or(0.0);
        // Bytes by microseconds are megabytes by seconds.
        let algorithm_gb_s =
            bytes.filter(|_| transfer_us > 0.0).map(|bytes| bytes as f64 / transfer_us / 1000.0);
        CollectiveSummary {
            operation,
            group: group.to_owned(),
            group_size,
            bytes,
            count: list.len(),
            wait_us: us(list.iter().flat_map(|found| found.waits()).map(|(_, nanos)| nanos).sum()),
            transfer_us,
            algorithm_gb_s,
            bus_gb_s: algorithm_gb_s
                .zip(operation.bus_factor(group_size))
                .map(|(rate, factor)| rate * factor),
        }
    };
    let mut rows: Vec<CollectiveSummary> = groups.into_iter().map(row).collect();
    rows.sort_by(|a, b| b.wait_us.total_cmp(&a.wait_us));
    rows
}

/// The collectives that were waited for longest, by time.
fn longest(timed: &[Timed<'_>], files: usize, origin: i64) -> Vec<CollectiveTimes> {
    let mut longest: Vec<&Timed<'_>> = timed.iter().collect();
    longest.sort_by_key(|found| std::cmp::Reverse(found.latest - found.first));
    longest.truncate(MOST_LISTED);
    longest.sort_by_key(|found| found.first);
    let row = |found: &Timed<'_>| {
        let mut arrival_us = vec![None; files];
        for member in &found.matched.members {
            if let Some(cell) = arrival_us.get_mut(member.file) {
                *cell = Some(us(member.start - found.first));
            }
        }
        CollectiveTimes {
            operation: found.matched.kind,
            group: found.matched.group.to_string(),
            bytes: found.matched.bytes,
            start_us: us(found.first - origin),
            arrival_us,
            last: found.last,
            transfer_us: us(found.transfer()),
        }
    };
    longest.into_iter().map(row).collect()
}

/// Waiting by step of every rank; a collective belongs to the step in which the rank arrives.
fn steps(files: &[FileFindings], timed: &[Timed<'_>], corrections: &[i64]) -> Vec<StepWaits> {
    let count = files.iter().map(|file| file.steps.len()).min().unwrap_or(0);
    let names = files.first().into_iter().flat_map(|file| &file.steps).take(count);
    let mut rows: Vec<StepWaits> =
        names.map(|step| StepWaits { name: step.name.clone(), wait_us: vec![0.0; files.len()] }).collect();
    for Wait { member, nanos, .. } in waits_once(timed.iter()) {
        let (Some(file), Some(correction)) = (files.get(member.file), corrections.get(member.file)) else {
            continue;
        };
        let row = step_at(file, member.start + correction).and_then(|index| rows.get_mut(index));
        if let Some(cell) = row.and_then(|row| row.wait_us.get_mut(member.file)) {
            *cell += us(nanos);
        }
    }
    rows
}

/// Index of the last step that begins at or before a time on the clock of the rank.
fn step_at(file: &FileFindings, time: i64) -> Option<usize> {
    file.steps.partition_point(|step| delay::start_nanos(file, step) <= time).checked_sub(1)
}
