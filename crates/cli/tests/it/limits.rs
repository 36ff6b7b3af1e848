//! Costs grow with the input: traces whose analysis was quadratic once, within limits of memory and CPU time.
#![cfg(target_os = "linux")]

use crate::support::Home;
use crate::support::traces::{event, trace};
use std::time::Duration;

/// Twenty thousand steps took 3.2 GB when their cost was quadratic; overlapping and nested unlike names more than 100 s.
const LIMITS: &str = "ulimit -v 2097152; ulimit -t 60";
const EVENTS: u32 = 30_000;

/// Writes a trace whose events have the names, starts and durations that follow from their index.
fn home_with_trace(category: &str, span: impl Fn(u32) -> (String, u32, u32)) -> Home {
    let home = Home::empty();
    let events: Vec<String> = (0..EVENTS)
        .map(|index| {
            let (name, start, duration) = span(index);
            event(category, &name, 1, start, duration)
        })
        .collect();
    home.write("trace.json", trace(None, &events));
    home
}

fn is_analyzed(home: &Home) {
    let analyze = "--threads 2 trace analyze trace.json --html page.html --force -q";
    home.shell(&format!("{LIMITS}; exec \"$knockout\" {analyze}")).ok();
}

#[test]
fn many_steps_are_analyzed_within_limits() {
    is_analyzed(&home_with_trace("user_annotation", |i| (format!("ProfilerStep#{i}"), 10 * i, 10)));
}

#[test]
fn many_names_are_analyzed_within_limits() {
    is_analyzed(&home_with_trace("cpu_op", |i| (format!("op{i}"), 10 * i, 5)));
}

#[test]
fn deeply_nested_events_are_analyzed_within_limits() {
    is_analyzed(&home_with_trace("cpu_op", |i| (format!("op{i}"), i, 2 * (EVENTS - i))));
}

#[test]
fn overlapping_events_are_analyzed_within_limits() {
    is_analyzed(&home_with_trace("cpu_op", |i| (format!("op{i}"), i, EVENTS)));
}

#[test]
fn a_killed_conversion_leaves_no_hidden_file() {
    let home = home_with_trace("cpu_op", |i| (format!("op{}", i % 7), 10 * i, 5));
    let convert = "trace convert trace.json out.json.gz -q --force";
    for round in 0..12 {
        let mut child = home.start(convert);
        std::thread::sleep(Duration::from_millis(3 * round));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    home.ok(convert);
    assert_eq!(home.names("."), ["out.json.gz", "trace.json"], "the next writer removes what a kill left");
    home.ok("trace analyze out.json.gz -q");
}

#[cfg(feature = "lab")]
mod lab {
    use crate::support::Home;

    #[test]
    fn a_model_beyond_the_limit_of_memory_is_refused_with_figures() {
        let home = Home::with_tiny();
        let train = "train tiny --model dango model.width=4096 --max-steps 1 --out run";
        let ran = home.shell(&format!("ulimit -v 2000000; exec \"$knockout\" --threads 2 {train}"));
        ran.fails(2, &["needs about", "available"]);
        assert!(!home.exists("run"));
    }

    /// The case of the review, in which the request was refused in the middle of the first step.
    #[test]
    fn a_batch_beyond_the_limit_of_memory_is_refused_before_there_is_a_run() {
        let home = Home::empty();
        home.ok("-q data synth small --preset small");
        let train = "train small --model dango model.width=2048 --max-steps 1 --out run";
        let ran = home.shell(&format!("ulimit -v 3000000; exec \"$knockout\" --threads 2 {train}"));
        ran.fails(2, &["training this model needs about", "available"]);
        assert!(!home.exists("run"));
    }

    #[test]
    fn memory_that_is_refused_ends_a_command_with_a_message_and_loses_nothing() {
        let home = Home::with_runs(&["seed-0"]);
        let before = home.content("seed-0");
        // From too little for the threads to nearly enough: wherever it ends, it ends in order.
        let mut refused = 0;
        for mebibytes in (40..400).step_by(30) {
            let ran = home.shell(&format!(
                "ulimit -v {}; exec \"$knockout\" --threads 2 data synth set-{mebibytes} --preset small -q",
                mebibytes << 10
            ));
            assert!([0, 2].contains(&ran.code), "{mebibytes} MiB: exit {}: {}", ran.code, ran.stderr);
            assert_eq!(home.exists(&format!("set-{mebibytes}")), ran.code == 0, "{mebibytes} MiB");
            refused += u32::from(ran.code == 2);
        }
        assert!(refused > 0);
        assert_eq!(home.content("seed-0"), before);
        home.ok("-q data synth set-40 --preset tiny");
        assert!(home.names(".").iter().all(|name| !name.starts_with(".set-40")), "{:?}", home.names("."));
    }

    #[test]
    fn few_file_handles_leave_nothing_hidden() {
        let home = Home::empty();
        let mut failed = 0;
        for handles in 4..16 {
            let ran = home
                .shell(&format!("ulimit -n {handles}; exec \"$knockout\" data synth set --preset tiny -q"));
            assert!(!ran.stderr.contains("internal error"), "{handles}: {}", ran.stderr);
            failed += u32::from(ran.code != 0);
            let left = home.names(".");
            let expected: &[&str] = if ran.code == 0 { &["set"] } else { &[] };
            assert_eq!(left, expected, "{handles} handles, exit {}: {}", ran.code, ran.stderr);
            std::fs::remove_dir_all(home.path("set")).ok();
        }
        assert!(failed > 0);
    }

    #[test]
    fn a_gzip_bomb_is_refused_in_time_and_a_flag_raises_the_limit() {
        use flate2::{Compression, write::GzEncoder};
        use std::io::Write as _;
        let home = Home::empty();
        let mut bomb = GzEncoder::new(Vec::new(), Compression::default());
        bomb.write_all(b"YAL001C\nYAL002W\n").unwrap();
        for _ in 0..30 {
            bomb.write_all(&vec![b'\n'; 1 << 20]).unwrap();
        }
        home.write("genes.txt.gz", bomb.finish().unwrap());
        home.write("edges.tsv", "source\ttarget\nYAL001C\tYAL002W\n");
        let import = "data import set --genes list:genes.txt.gz --network edges:edges.tsv -q";
        home.fails(
            &format!("{import} --unpack-mib 20"),
            3,
            &["genes.txt.gz", "more than 20 MiB", "--unpack-mib"],
        );
        home.ok(&format!("{import} --unpack-mib 40"));
    }

    #[test]
    fn a_sparse_file_is_not_a_log_and_is_not_read_to_its_end() {
        let home = Home::empty();
        std::fs::File::create(home.path("hole.log")).unwrap().set_len(1 << 42).unwrap();
        home.fails("logs hole.log", 3, &["not a text log"]);
        // One that begins as a log is read to the limit.
        home.write("mixed.log", "Epoch 0:  40%|####      | 4/10 [00:02<00:03, 2.00it/s]\n");
        let file = std::fs::OpenOptions::new().append(true).open(home.path("mixed.log")).unwrap();
        file.set_len(1 << 42).unwrap();
        home.fails("logs mixed.log --read-mib 100", 2, &["has more than 100 MiB", "--read-mib"]);
    }
}
