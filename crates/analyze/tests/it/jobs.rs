//! Jobs of several ranks whose waits are known: a model of data-parallel training writes a trace for each rank.

use knockout_analyze::{
    Analysis, CollectiveKind, Collector, DelayCause, FileFindings, FindingSource, Job, Limit, Options, Rules,
    TraceFinding, jobs,
};
use knockout_trace::{ReadOptions, read};

const STEPS: i64 = 10;
const RANKS: usize = 4;
/// Elements of a message, in floats; and the time to transfer it in microseconds.
const ELEMENTS: i64 = 1 << 20;
const TRANSFER: i64 = 3000;

/// Times of one rank in microseconds.
#[derive(Clone, Copy)]
struct Rank {
    loading: i64,
    compute: i64,
    /// The clock is ahead by this much.
    clock: i64,
}

const USUAL: Rank = Rank { loading: 5000, compute: 10_000, clock: 0 };

/// Traces of data-parallel training: load, compute, all-reduce, all ranks in step.
fn traces(ranks: &[Rank]) -> Vec<String> {
    traces_by_step(ranks.len(), |_, rank| ranks[rank])
}

/// Like [`traces`], of ranks that differ from step to step.
fn traces_by_step(count: usize, rank_in: impl Fn(i64, usize) -> Rank) -> Vec<String> {
    let mut texts: Vec<Vec<String>> = vec![Vec::new(); count];
    let mut step_start = 1_000_000;
    for step in 0..STEPS {
        let ranks: Vec<Rank> = (0..count).map(|rank| rank_in(step, rank)).collect();
        let arrivals: Vec<i64> = ranks.iter().map(|rank| step_start + rank.loading + rank.compute).collect();
        let end = arrivals.iter().max().unwrap() + TRANSFER;
        for ((rank, arrival), events) in ranks.iter().zip(&arrivals).zip(&mut texts) {
            let mut span = |cat: &str, name: &str, tid: i64, from: i64, to: i64, args: &str| {
                events.push(format!(
                    "{{\"ph\":\"X\",\"cat\":\"{cat}\",\"name\":\"{name}\",\"pid\":{},\"tid\":{tid},\"ts\":{},\"dur\":{},\"args\":{{{args}}}}}",
                    i64::from(tid < 7), from + rank.clock, to - from
                ));
            };
            let loaded = step_start + rank.loading;
            span("user_annotation", &format!("ProfilerStep#{step}"), 1, step_start, end + 20, "");
            span("user_annotation", "enumerate(DataLoader)#_Iter.__next__", 1, step_start, loaded, "");
            let [gemm, reduce] = [2 * step, 2 * step + 1];
            span(
                "cuda_runtime",
                "cudaLaunchKernel",
                1,
                loaded - 20,
                loaded - 10,
                &format!("\"correlation\":{gemm}"),
            );
            span(
                "cuda_runtime",
                "cudaLaunchKernel",
                1,
                loaded - 10,
                loaded,
                &format!("\"correlation\":{reduce}"),
            );
            let device = |stream: i64, correlation: i64| {
                format!("\"device\":0,\"stream\":{stream},\"correlation\":{correlation}")
            };
            span("kernel", "gemm", 7, loaded, *arrival, &device(7, gemm));
            let about = format!(
                "{},\"Collective name\":\"allreduce\",\"In msg nelems\":{ELEMENTS},\"Out msg nelems\":{ELEMENTS},\"dtype\":\"Float\",\"Group size\":{},\"Process Group Name\":\"0\"",
                device(20, reduce),
                ranks.len()
            );
            span("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 20, *arrival, end, &about);
            span("cuda_runtime", "cudaDeviceSynchronize", 1, loaded, end + 10, "");
        }
        step_start = end + 100;
    }
    let whole = |(rank, events): (usize, &Vec<String>)| {
        format!(
            "{{\"distributedInfo\":{{\"rank\":{rank},\"world_size\":{}}},\"traceEvents\":[{}]}}",
            count,
            events.join(",")
        )
    };
    texts.iter().enumerate().map(whole).collect()
}

fn findings(text: &str) -> FileFindings {
    let mut collector = Collector::new(&Rules::default_rules().unwrap(), &Options::default());
    let outcome = read(text.as_bytes(), ReadOptions::default(), &mut collector).unwrap();
    collector.finish("made here", &outcome).unwrap()
}

fn analysis(ranks: &[Rank]) -> (Analysis, Job) {
    let analysis = Analysis::of(traces(ranks).iter().map(|text| findings(text)).collect());
    let job = analysis.job.clone().unwrap();
    (analysis, job)
}

fn with_rank_2(rank: Rank) -> [Rank; RANKS] {
    [USUAL, USUAL, rank, USUAL]
}

/// Asserts that rank 2 makes the others wait 20 ms a step for a reason.
fn assert_rank_2_is_late(analysis: &Analysis, job: &Job, reason: &DelayCause) {
    assert_eq!(job.ranks.iter().map(|row| row.last_in).collect::<Vec<_>>(), [0, 0, 10, 0]);
    assert_eq!(
        job.ranks.iter().map(|row| row.wait_us).collect::<Vec<_>>(),
        [200_000.0, 200_000.0, 0.0, 200_000.0]
    );
    let found = &analysis.findings[0];
    assert_eq!(found.source, None, "the job's finding comes first");
    let TraceFinding::LastToArrive { source, last_in, collectives, wait_us, delay, .. } = &found.what else {
        panic!("{found:?}")
    };
    assert_eq!((source, *last_in, *collectives), (&FindingSource::Rank(2), 10, 10));
    assert_eq!(*wait_us, 20_000.0);
    let delay = delay.as_ref().unwrap();
    assert_eq!((&delay.cause, delay.us), (reason, 20_000.0));
}

#[test]
fn a_rank_that_loads_slowly_is_named_with_its_reason() {
    let (analysis, job) = analysis(&with_rank_2(Rank { loading: 25_000, ..USUAL }));
    assert_rank_2_is_late(&analysis, &job, &DelayCause::Host("data loading".to_owned()));
    assert!(
        job.steps.iter().all(|step| step.wait_us == [20_000.0, 20_000.0, 0.0, 20_000.0]),
        "{:?}",
        job.steps
    );
}

#[test]
fn each_rank_is_bound_by_the_one_that_it_waits_for_longest() {
    // Rank 2 is last in most steps by a little, rank 1 in the others by much.
    let late = |compute| Rank { compute, ..USUAL };
    let texts = traces_by_step(3, |step, rank| match (step % 10, rank) {
        (0..6, 2) => late(USUAL.compute + 2_000),
        (6.., 1) => late(USUAL.compute + 40_000),
        _ => USUAL,
    });
    let analysis = Analysis::of(texts.iter().map(|text| findings(text)).collect());
    let job = analysis.job.as_ref().unwrap();
    let Some(TraceFinding::LastToArrive { source, .. }) = &job.finding else { panic!("{:?}", job.finding) };
    assert_eq!(source, &FindingSource::Rank(1));
    let waits_for = analysis.ranks.iter().map(|rank| rank.bound.waits_for.clone());
    let one = || Some(FindingSource::Rank(1));
    assert_eq!(waits_for.collect::<Vec<_>>(), [one(), None, one()]);
}

#[test]
fn a_rank_that_computes_slowly_is_named_with_its_reason() {
    let (analysis, job) = analysis(&with_rank_2(Rank { compute: 30_000, ..USUAL }));
    assert_rank_2_is_late(&analysis, &job, &DelayCause::Device("kernels".to_owned()));
}

#[test]
fn the_bandwidth_is_that_of_nccl_tests() {
    let (_, job) = analysis(&[USUAL; RANKS]);
    let [row] = &job.operations[..] else { panic!("{:?}", job.operations) };
    assert_eq!((row.operation, row.count, row.bytes), (CollectiveKind::AllReduce, 10, Some(4 << 20)));
    assert_eq!((row.transfer_us, job.transfer_us), (TRANSFER as f64, (TRANSFER * STEPS) as f64));
    let algorithm = (4 << 20) as f64 / (TRANSFER as f64 * 1e-6) / 1e9;
    assert!((row.algorithm_gb_s.unwrap() - algorithm).abs() < 1e-9);
    assert!((row.bus_gb_s.unwrap() - algorithm * 1.5).abs() < 1e-9);
    assert!(job.finding.is_none(), "nobody is late");
    assert!(job.ranks.iter().all(|rank| rank.others_waited_us.to_bits() == 0), "0 and not -0");
}

#[test]
fn a_clock_that_is_ahead_is_found_and_corrected() {
    let slow = Rank { loading: 25_000, clock: 700_000_000, ..USUAL };
    let (analysis, job) = analysis(&with_rank_2(slow));
    let clock = job.ranks[2].clock.unwrap();
    assert_eq!((clock.us, clock.spread_us, clock.is_corrected), (700_000_000.0, 0.0, true));
    assert!(job.ranks.iter().take(2).all(|row| !row.clock.unwrap().is_corrected));
    assert_rank_2_is_late(&analysis, &job, &DelayCause::Host("data loading".to_owned()));
    assert_eq!(jobs(&analysis.ranks).len(), 1, "the same collectives make one job, whatever the clocks show");
}

#[test]
fn missing_ranks_are_listed_and_the_rest_is_analysed() {
    let texts = traces(&with_rank_2(Rank { loading: 25_000, ..USUAL }));
    let some: Vec<FileFindings> = [0, 2].iter().map(|rank| findings(&texts[*rank])).collect();
    let job = Analysis::of(some).job.unwrap();
    assert_eq!(job.missing_ranks, [1, 3]);
    assert_eq!((job.ranks[0].wait_us, job.collectives), (200_000.0, 10));
}

#[test]
fn files_of_one_rank_or_of_other_jobs_are_not_joined() {
    let texts = traces(&[USUAL; RANKS]);
    let twice: Vec<FileFindings> = [0, 1, 1].iter().map(|rank| findings(&texts[*rank])).collect();
    assert_eq!(jobs(&twice), [vec![0, 1], vec![2]]);
    let other = traces(&[USUAL; 2]);
    let apart: Vec<FileFindings> = [&texts[0], &other[1]].iter().map(|text| findings(text)).collect();
    assert_eq!(jobs(&apart).len(), 2, "another world size");
}

#[test]
fn a_rank_that_lacks_collectives_is_not_matched_by_order() {
    let texts = traces(&[USUAL; RANKS]);
    let mut cut = findings(&texts[3]);
    cut.collectives.rows.pop();
    let files = vec![findings(&texts[0]), findings(&texts[1]), findings(&texts[2]), cut];
    let job = Analysis::of(files).job.unwrap();
    assert_eq!((job.collectives, job.unmatched_events), (0, 39));
}

#[test]
fn numbers_of_collectives_match_ranks_whose_windows_differ() {
    let numbered = |text: &String| {
        let mut file = findings(text);
        file.collectives
            .rows
            .iter_mut()
            .enumerate()
            .for_each(|(at, row)| row.sequence = Some(at as i64 + 40));
        file
    };
    let texts = traces(&with_rank_2(Rank { loading: 25_000, ..USUAL }));
    let mut files: Vec<FileFindings> = texts.iter().map(numbered).collect();
    files[3].collectives.rows.remove(0);
    let job = Analysis::of(files).job.unwrap();
    assert_eq!((job.collectives, job.unmatched_events, job.ranks[2].last_in), (9, 3, 9));
}

/// Two ranks on the host whose two all-reduces a step run at once; rank 1 arrives 60 ms and 70 ms after the step began.
#[test]
fn waits_in_two_collectives_at_once_count_once() {
    let trace = |rank: usize, arrivals: [i64; 2]| {
        let mut events = Vec::new();
        for step in 0..4_i64 {
            let start = 1_000_000 + step * 100_000;
            let mut span = |cat: &str, name: &str, tid: i64, from: i64, to: i64| {
                events.push(format!(
                    "{{\"ph\":\"X\",\"cat\":\"{cat}\",\"name\":\"{name}\",\"pid\":0,\"tid\":{tid},\"ts\":{},\"dur\":{}}}",
                    start + from,
                    to - from
                ));
            };
            span("user_annotation", &format!("ProfilerStep#{step}"), 1, 0, 90_000);
            span("cpu_op", "forward", 1, 100, arrivals[0]);
            span("cpu_op", "gloo:all_reduce", 2, arrivals[0], 75_000);
            span("cpu_op", "gloo:all_reduce", 3, arrivals[1], 80_000);
            span("user_annotation", "Optimizer.step#Adam.step", 1, 80_100, 89_000);
        }
        format!(
            "{{\"distributedInfo\":{{\"rank\":{rank},\"world_size\":2}},\"traceEvents\":[{}]}}",
            events.join(",")
        )
    };
    let files = [trace(0, [20_000, 30_000]), trace(1, [60_000, 70_000])];
    let analysis = Analysis::of(files.iter().map(|text| findings(text)).collect());
    let job = analysis.job.unwrap();
    // From 20 to 60 and from 30 to 70 ms: 50 ms of each of four steps, not 80.
    assert_eq!(job.collectives, 8);
    assert_eq!([0, 1].map(|rank| job.ranks[rank].wait_us), [200_000.0, 0.0]);
    assert_eq!([0, 1].map(|rank| job.ranks[rank].others_waited_us), [0.0, 200_000.0]);
    assert!(job.steps.iter().all(|step| step.wait_us == [50_000.0, 0.0]), "{:?}", job.steps);
    let Some(TraceFinding::LastToArrive { source, wait_us, .. }) = &job.finding else {
        panic!("{:?}", job.finding)
    };
    assert_eq!((source, *wait_us), (&FindingSource::Rank(1), 50_000.0));
    // Its thread waits from 20 to 80 ms.
    let bound = &analysis.ranks[0].bound;
    assert_eq!((bound.limit, bound.parts.communication_us), (Limit::Straggler, 240_000.0));
    assert_eq!((bound.share, bound.gain_us), (200.0 / 360.0, 50_000.0));
    let limits = |rank: usize| analysis.ranks[rank].steps.iter().map(|step| step.limit).collect::<Vec<_>>();
    assert_eq!(limits(0), [Limit::Straggler; 4]);
}
