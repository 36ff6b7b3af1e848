//! Jobs of several ranks, against figures that `collectives.py` beside the traces prints.

use super::common::analyze;
use knockout_analyze::{Analysis, DelayCause, FindingSource, Limit, TraceFinding};
use std::path::Path;

fn job(traces: &Path, folder: &str, ranks: usize) -> Analysis {
    let folder = traces.join("jobs").join(folder);
    Analysis::of((0..ranks).map(|rank| analyze(&folder.join(format!("rank{rank}.json.gz")), 2)).collect())
}

fn last_to_arrive(analysis: &Analysis) -> (&FindingSource, usize, usize, Option<&DelayCause>) {
    let TraceFinding::LastToArrive { source, last_in, collectives, delay, .. } = &analysis.findings[0].what
    else {
        panic!("{:?}", analysis.findings)
    };
    (source, *last_in, *collectives, delay.as_ref().map(|delay| &delay.cause))
}

pub(crate) fn a_real_job_of_eight_ranks_has_the_expected_waits(traces: &Path) {
    let analysis = job(traces, "dlrm8", 8);
    let job = analysis.job.as_ref().unwrap();
    let waits: Vec<f64> = job.ranks.iter().map(|row| row.wait_us).collect();
    assert_eq!(waits, [5580.0, 11_125.0, 3280.0, 9571.0, 6370.0, 6041.0, 3342.0, 1534.0]);
    let last: Vec<usize> = job.ranks.iter().map(|row| row.last_in).collect();
    assert_eq!(last, [0, 0, 0, 0, 1, 2, 0, 5]);
    assert_eq!((job.transfer_us, job.collectives, job.unmatched_events), (198.0, 8, 0));
    assert!(job.ranks.iter().all(|row| !row.clock.unwrap().is_corrected), "one machine has one clock");
    assert_eq!((job.span_us / 10.0).round() / 100.0, 20.87);
    assert_eq!(analysis.span_without_trace_cat_us, job.span_us);
    let (source, last_in, collectives, _) = last_to_arrive(&analysis);
    assert_eq!((source, last_in, collectives), (&FindingSource::Rank(7), 5, 8));
}

pub(crate) fn the_path_of_a_rank_that_waits_in_a_collective_is_communication(traces: &Path) {
    let analysis = job(traces, "dlrm8", 2);
    let path = analysis.ranks[1].critical_path.as_ref().unwrap();
    let us = |name: &str| path.parts.iter().find(|row| row.name == name).map_or(0.0, |row| row.us);
    assert!(us("communication") >= 7635.0, "{:?}", path.parts);
    assert!(us("from launch to device") < 500.0, "{:?}", path.parts);
}

pub(crate) fn a_planted_straggler_is_named_with_its_reason(traces: &Path) {
    let analysis = job(traces, "planted_straggler", 4);
    let (source, last_in, collectives, cause) = last_to_arrive(&analysis);
    assert_eq!((source, last_in, collectives), (&FindingSource::Rank(2), 10, 10));
    assert_eq!(cause, Some(&DelayCause::Host("data loading".to_owned())));
    let limits: Vec<Limit> = analysis.ranks.iter().map(|rank| rank.bound.limit).collect();
    assert_eq!(limits, [Limit::Straggler, Limit::Straggler, Limit::Data, Limit::Straggler]);
    let bound = &analysis.ranks[0].bound;
    assert_eq!((bound.waits_for.as_ref(), bound.gain_us.round()), (Some(&FindingSource::Rank(2)), 20_000.0));
    // Loading 5, forward 10, backward 20, the all-reduce with its wait 23, the optimiser 2.
    let path = analysis.ranks[0].critical_path.as_ref().unwrap();
    let us =
        |name: &str| path.operations.iter().find(|row| row.name.contains(name)).map_or(0.0, |row| row.us);
    assert_eq!(
        (us("AllReduce"), us("backward_gemm"), us("forward_gemm"), us("adam")),
        (23_000.0, 20_000.0, 10_000.0, 2000.0)
    );
}

pub(crate) fn a_copy_that_blocks_counts_as_the_device_s_time(traces: &Path) {
    let folder = traces.join("jobs");
    for (file, least) in [("mi300_timesformer.json.gz", 80_000.0), ("h100_timesformer.json.gz", 100_000.0)] {
        let found = analyze(&folder.join(file), 2);
        let path = found.critical_path.as_ref().unwrap();
        let us = |name: &str| path.parts.iter().find(|row| row.name == name).map_or(0.0, |row| row.us);
        assert!(us("kernels") > least && us("runtime") < 20_000.0, "{file}: {:?}", path.parts);
    }
}
