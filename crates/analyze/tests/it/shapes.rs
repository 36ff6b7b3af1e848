//! Operators by the shapes of their inputs, on recordings whose answer is known.

use knockout_analyze::export::{DeviceRow, SpanRow, Tables};
use knockout_analyze::{
    Analysis, CollectiveRow, Collector, DelayCause, FindingSource, Limit, Options, Peaks, Precision,
    RoofLimit, Rules, ShapeRow, TraceFinding,
};
use knockout_trace::{ReadOptions, read};
use std::collections::BTreeMap;

fn analyse(bytes: &[u8], options: &Options) -> Analysis {
    let mut collector = Collector::new(&Rules::default_rules().unwrap(), options);
    let outcome = read(bytes, ReadOptions::default(), &mut collector).unwrap();
    Analysis::of(vec![collector.finish("made here", &outcome).unwrap()])
}

fn event(cat: &str, name: &str, tid: u32, ts: i64, dur: i64, args: &str) -> String {
    format!(
        r#"{{"ph":"X","cat":"{cat}","name":"{name}","pid":1,"tid":{tid},"ts":{ts},"dur":{dur},"args":{{{args}}}}}"#
    )
}

/// Two calls of a linear layer with a product inside, and an addition, with a kernel of 100, 300 and 50 microseconds.
fn planted() -> String {
    let shapes = |dims: &str, types: &str| format!(r#""Input Dims": {dims}, "Input type": {types}"#);
    let half = r#"["c10::Half", "c10::Half", "c10::Half"]"#;
    let linear = shapes("[[1024, 512], [2048, 512], [2048]]", half);
    let addmm = shapes("[[2048], [1024, 512], [512, 2048]]", half);
    let mut events = vec![];
    let kernel = |name: &str, call: i64, (start, dur): (i64, i64)| {
        let correlation = call;
        [
            event("cuda_runtime", "cudaLaunchKernel", 1, call, 2, &format!(r#""correlation":{correlation}"#)),
            event(
                "kernel",
                name,
                9,
                start,
                dur,
                &format!(r#""device":0,"stream":7,"correlation":{correlation}"#),
            ),
        ]
    };
    for (at, start, dur) in [(0, 100, 100), (500, 600, 300)] {
        events.push(event("cpu_op", "aten::linear", 1, at, 50, &linear));
        events.push(event("cpu_op", "aten::addmm", 1, at + 5, 40, &addmm));
        events.extend(kernel("gemm", at + 10, (start, dur)));
    }
    let add = shapes("[[1024, 2048], [1024, 2048], []]", r#"["c10::Half", "c10::Half", "Scalar"]"#);
    events.push(event("cpu_op", "aten::add", 1, 2000, 20, &add));
    events.extend(kernel("elementwise", 2005, (2100, 50)));
    let sort = shapes("[[64], [], []]", r#"["float", "Scalar", "Scalar"]"#);
    events.push(event("cpu_op", "aten::sort", 1, 3000, 30, &sort));
    events.extend(kernel("sort", 3005, (3100, 7)));
    let device = r#""deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}]"#;
    format!(r#"{{{device}, "traceEvents": [{}]}}"#, events.join(","))
}

fn row<'a>(analysis: &'a Analysis, name: &str) -> &'a ShapeRow {
    analysis.shapes.rows.iter().find(|row| row.name == name).unwrap()
}

fn close(a: Option<f64>, b: f64) -> bool {
    a.is_some_and(|a| (a / b - 1.0).abs() < 1e-9)
}

#[test]
fn an_operator_has_the_work_of_its_shape_and_the_kernels_launched_inside() {
    let found = analyse(planted().as_bytes(), &Options::default());
    assert!(found.shapes.rows.iter().all(|row| row.name != "aten::addmm"), "it is inside a linear layer");
    let linear = row(&found, "aten::linear");
    assert_eq!((linear.calls, linear.device_us, linear.host_us), (2, 400.0, 100.0));
    assert_eq!(
        linear.kernels.iter().map(|k| (&k.name[..], k.count, k.us)).collect::<Vec<_>>(),
        [("gemm", 2, 400.0)]
    );
    let flop = 2.0 * 1024.0 * 512.0 * 2048.0;
    assert_eq!(linear.flop, Some(flop));
    // 200 microseconds a call.
    assert!(close(linear.flop_per_s, flop / 200e-6));
    let roof = linear.roof.unwrap();
    assert_eq!(roof.limit, RoofLimit::Compute);
    assert!(close(Some(roof.share), flop / 312e12 / 200e-6));
    let add = row(&found, "aten::add");
    let bytes = 3.0 * 2.0 * 1024.0 * 2048.0;
    assert!(close(add.bytes_per_s, bytes / 50e-6));
    let roof = add.roof.unwrap();
    assert_eq!(roof.limit, RoofLimit::Memory);
    assert!(close(Some(roof.share), bytes / 2.039e12 / 50e-6));
    let sort = row(&found, "aten::sort");
    assert_eq!((sort.device_us, sort.flop, sort.roof), (7.0, None, None));
    assert!(close(Some(found.shapes.known_share), 450.0 / 457.0));
}

/// Under autocast the outer operator has the inputs before they are cast.
#[test]
fn the_precision_is_that_of_the_product_that_is_computed() {
    let shapes = |types: &str| format!(r#""Input Dims": [[64, 32], [16, 32]], "Input type": {types}"#);
    let mm = r#""Input Dims": [[64, 32], [32, 16]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#;
    let events = [
        event("cpu_op", "aten::linear", 1, 0, 50, &shapes(r#"["float", "float"]"#)),
        event("cpu_op", "aten::mm", 1, 10, 30, mm),
    ];
    let text = format!(r#"{{"traceEvents": [{}]}}"#, events.join(","));
    let found = analyse(text.as_bytes(), &Options::default());
    let linear = row(&found, "aten::linear");
    assert_eq!((linear.precision, found.shapes.rows.len()), (Some(Precision::Fp16), 1));
    assert_eq!(linear.bytes, Some(2.0 * (64.0 * 32.0 + 32.0 * 16.0 + 64.0 * 16.0)));
}

/// A copy over the bus is not compared with the memory of the device.
#[test]
fn a_copy_from_the_host_has_no_share_of_the_peak() {
    let text = planted().replace("elementwise", "Memcpy HtoD (Pageable -> Device)");
    let found = analyse(text.as_bytes(), &Options::default());
    assert!(row(&found, "aten::add").roof.is_none() && row(&found, "aten::linear").roof.is_some());
}

#[test]
fn without_operators_of_known_work_the_sums_are_zero_and_not_negative() {
    let text = format!(r#"{{"traceEvents": [{}]}}"#, event("cpu_op", "aten::sort", 1, 0, 30, ""));
    let shapes = analyse(text.as_bytes(), &Options::default()).shapes;
    assert_eq!([shapes.flop, shapes.known_share].map(f64::to_bits), [0, 0]);
}

#[test]
fn given_peaks_replace_those_of_the_device() {
    let mut found = analyse(planted().as_bytes(), &Options::default());
    found.shapes.set_peaks(Peaks::default().given(Some(1e13), Some(1e15)));
    let linear = row(&found, "aten::linear");
    assert!(close(linear.roof.map(|roof| roof.share), linear.flop.unwrap() / 1e13 / 200e-6));
}

#[test]
fn neither_threads_nor_memory_change_the_rows() {
    let text = planted();
    let one = analyse(text.as_bytes(), &Options::default()).shapes;
    for threads in [2, 7] {
        let options = Options { threads, memory_budget_bytes: 0, ..Options::default() };
        assert_eq!(analyse(text.as_bytes(), &options).shapes, one);
    }
}

fn recording(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/recordings/");
    std::fs::read(format!("{folder}{name}")).unwrap()
}

/// Operations that PyTorch's profiler counted itself (`with_flops=True`) while it recorded the trace.
#[test]
fn operations_are_those_that_pytorch_counts() {
    let found = analyse(&recording("plain.json.gz"), &Options::default());
    let counted: BTreeMap<String, BTreeMap<String, f64>> =
        serde_json::from_slice(&recording("plain.flops.json")).unwrap();
    let mut inside = 0.0;
    let mut compared = 0;
    for (key, counted) in &counted {
        let dims = |row: &ShapeRow| serde_json::from_str::<serde_json::Value>(&row.dims).unwrap();
        let (name, theirs) = key.split_once(' ').unwrap();
        let theirs: serde_json::Value = serde_json::from_str(theirs).unwrap();
        let mut own = found.shapes.rows.iter().filter(|row| row.name == name && dims(row) == theirs);
        if let Some(row) = own.next() {
            assert_eq!(
                (row.calls as f64, row.flop.unwrap() * row.calls as f64),
                (counted["calls"], counted["flop"]),
                "{key}"
            );
            compared += 1;
        } else {
            // Its work is that of the operator around it.
            inside += counted["flop"];
        }
    }
    let linear: f64 = (found.shapes.rows.iter().filter(|row| row.name == "aten::linear"))
        .map(|row| row.flop.unwrap() * row.calls as f64)
        .sum();
    assert_eq!(linear, inside);
    assert!(compared >= 8, "{compared} compared");
}

/// Milliseconds of the host by category, and those that timers inside the recorded program measured.
fn phases_and_timers(name: &str) -> (BTreeMap<String, f64>, BTreeMap<String, f64>) {
    let found = analyse(&recording(&format!("{name}.json.gz")), &Options::default());
    let phases = found.phases.iter().map(|row| (row.name.clone(), row.us / 1e3)).collect();
    let timers: serde_json::Value =
        serde_json::from_slice(&recording(&format!("{name}.timers.json"))).unwrap();
    let timers = timers["ms"].as_object().unwrap().iter();
    (phases, timers.map(|(name, ms)| (name.clone(), ms.as_f64().unwrap())).collect())
}

#[test]
fn phases_of_accelerate_are_those_that_timers_measured() {
    let (mut phases, timers) = phases_and_timers("accelerate");
    *phases.get_mut("forward").unwrap() += phases["loss"];
    for phase in ["data loading", "forward", "backward", "optimiser"] {
        let (own, timer) = (phases[phase], timers[phase]);
        assert!((own - timer).abs() < 0.01 * timer + 0.5, "{phase}: {own} of {timer}");
    }
}

/// The backward pass ends with waiting for Gloo, whose threads have the collectives.
#[test]
fn phases_of_ddp_over_gloo_are_those_that_timers_measured() {
    for rank in ["ddp-rank0", "ddp-rank1"] {
        let found = analyse(&recording(&format!("{rank}.json.gz")), &Options::default());
        let (_, timers) = phases_and_timers(rank);
        let main = found
            .lanes
            .iter()
            .find(|lane| lane.categories.iter().any(|row| row.name == "optimiser"))
            .unwrap();
        let ms =
            |name: &str| main.categories.iter().find(|row| row.name == name).map_or(0.0, |row| row.us / 1e3);
        let of = |phases: &[&str]| phases.iter().map(|name| ms(name)).sum::<f64>();
        for (phase, own) in [
            ("data loading", of(&["data loading"])),
            ("forward", of(&["forward", "loss"])),
            ("backward", of(&["backward", "communication"])),
            ("optimiser", of(&["optimiser"])),
        ] {
            // Nine milliseconds of rank 0 lie in a timer behind the end of the loader's span, and in no event.
            let (least, most) = (own, own + ms("unattributed"));
            let timer = timers[phase];
            assert!(
                timer > 0.94 * least - 1.0 && timer < 1.06 * most + 1.0,
                "{rank}, {phase}: {own} of {timer}"
            );
        }
        assert!(
            ms("unattributed") < 0.06 * found.steps.iter().map(|step| step.us / 1e3).sum::<f64>(),
            "{rank}"
        );
    }
}

#[test]
fn a_rank_that_waits_over_gloo_waits_for_the_one_that_loads() {
    let files = ["ddp-rank0", "ddp-rank1"].map(|name| {
        let mut collector = Collector::new(&Rules::default_rules().unwrap(), &Options::default());
        let outcome =
            read(&recording(&format!("{name}.json.gz"))[..], ReadOptions::default(), &mut collector).unwrap();
        collector.finish(&format!("{name}.json.gz"), &outcome).unwrap()
    });
    let found = Analysis::of(files.into());
    let job = found.job.as_ref().unwrap();
    assert_eq!(job.collectives, 8);
    // In the first recorded step rank 0 loses nine milliseconds that no event explains, and arrives 12.5 later.
    assert_eq!((job.ranks[0].last_in, job.ranks[1].last_in), (1, 7));
    assert!(
        job.ranks[0].wait_us > 10.0 * job.ranks[1].wait_us,
        "{} and {}",
        job.ranks[0].wait_us,
        job.ranks[1].wait_us
    );
    // The two all-reduces of a step overlap: 288 ms as a sum over both, 160.9 ms as a union.
    assert_eq!([0, 1].map(|rank| (job.ranks[rank].wait_us / 100.0).round() / 10.0), [160.9, 12.5]);
    for rank in 0..2 {
        let by_step: f64 = job.steps.iter().map(|step| step.wait_us[rank]).sum();
        assert!((by_step - job.ranks[rank].wait_us).abs() < 1e-6, "{by_step}");
    }
    let Some(TraceFinding::LastToArrive { wait_us, delay: Some(delay), .. }) = &job.finding else {
        panic!("{:?}", job.finding)
    };
    assert_eq!((wait_us / 100.0).round(), 402.0);
    assert_eq!(delay.cause, DelayCause::Host("data loading".to_owned()));
    let [waiting, loading] = [&found.ranks[0].bound, &found.ranks[1].bound];
    assert_eq!((waiting.limit, &waiting.waits_for), (Limit::Straggler, &Some(FindingSource::Rank(1))));
    assert_eq!(((waiting.share * 1000.0).round(), loading.limit), (406.0, Limit::Data));
}

/// Sums of the exported rows.
#[derive(Default)]
struct Sums {
    /// Self time by category.
    host: BTreeMap<String, i64>,
    self_nanos: i64,
    spans: u64,
    device_nanos: i64,
    collectives: usize,
}

impl Tables for Sums {
    fn span(&mut self, row: &SpanRow<'_>) -> knockout_base::error::Result<()> {
        assert!(row.self_nanos >= 0 && row.self_nanos <= row.duration_nanos);
        self.spans += u64::from(!row.is_continued);
        self.self_nanos += row.self_nanos;
        *self.host.entry(row.category.to_owned()).or_default() += row.self_nanos;
        Ok(())
    }

    fn kernel(&mut self, row: &DeviceRow<'_>) -> knockout_base::error::Result<()> {
        self.device_nanos += row.duration_nanos;
        Ok(())
    }

    fn collective(&mut self, _: &CollectiveRow) -> knockout_base::error::Result<()> {
        self.collectives += 1;
        Ok(())
    }
}

fn exported(bytes: &[u8]) -> Sums {
    let mut collector = Collector::new(&Rules::default_rules().unwrap(), &Options::default());
    let outcome = read(bytes, ReadOptions::default(), &mut collector).unwrap();
    let mut sums = Sums::default();
    collector.export(&outcome, &mut sums).unwrap();
    sums
}

#[test]
fn exported_rows_sum_to_the_findings() {
    let sums = exported(planted().as_bytes());
    assert_eq!((sums.device_nanos, sums.self_nanos, sums.spans), (457_000, 150_000, 10));
    let bytes = recording("accelerate.json.gz");
    let (sums, found) = (exported(&bytes), analyse(&bytes, &Options::default()));
    assert!((sums.self_nanos as f64 / 1e3 - found.host_us).abs() < 1e-6);
    for row in found.categories.iter().filter(|row| !row.device) {
        let own = sums.host[&row.name] as f64 / 1e3;
        assert!((own - row.us).abs() < 1e-6, "{}: {own} of {}", row.name, row.us);
    }
    assert_eq!(exported(&recording("ddp-rank0.json.gz")).collectives, 8);
}
