//! Whole logs with known answers.

use super::*;
use crate::logs::FiguresKind;
use std::fmt::Write as _;

fn read(text: &str) -> Result<Log> {
    let mut reader = LogReader::default();
    reader.feed(text.as_bytes());
    reader.finish("a.log")
}

/// Returns a bar as tqdm prints it, with the mean figure that Lightning configures.
fn line(name: &str, count: u64, total: u64, seconds: f64) -> String {
    let figure =
        if seconds > 0.0 { format!("{:5.2}it/s", count as f64 / seconds) } else { "?it/s".to_owned() };
    let elapsed = seconds as u64;
    let percent = 100 * count / total;
    format!(
        "{name}: {percent:3}%|###   | {count}/{total} [{:02}:{:02}<00:09, {figure}, v_num=1]",
        elapsed / 60,
        elapsed % 60
    )
}

/// Sanity check, then epochs of 100 steps: 3 s of start-up, 0.1 s a step, 5 s of validation at 20 it/s.
fn lightning(epochs: u64) -> String {
    let mut log = String::from("Sanity Checking: |          | 0/? [00:00<?, ?it/s]");
    for count in 0..=2 {
        write!(log, "\r{}", line("Sanity Checking DataLoader 0", count, 2, count as f64 * 0.2)).unwrap();
    }
    log.push('\n');
    for epoch in 0..epochs {
        let name = format!("Epoch {epoch}");
        for count in 0..=100 {
            let seconds = if count == 0 { 0.0 } else { 3.0 + 0.1 * count as f64 };
            write!(log, "\r{}", line(&name, count, 100, seconds)).unwrap();
        }
        for count in 0..=100 {
            write!(log, "\r\x1b[A{}", line("Validation DataLoader 0", count, 100, 0.05 * count as f64))
                .unwrap();
        }
        write!(log, "\r{}\n", line(&name, 100, 100, 18.0)).unwrap();
    }
    log
}

fn near(value: Option<f64>, expected: f64) -> bool {
    value.is_some_and(|value| (value - expected).abs() < 0.05 * expected)
}

#[test]
fn bars_are_separate_and_pauses_do_not_count() {
    let log = read(&lightning(2)).unwrap();
    let bars: Vec<(&str, Option<u64>)> = log.rows.iter().map(|row| (row.bar.as_str(), row.epoch)).collect();
    assert_eq!(
        bars,
        [
            ("sanity check", None),
            ("training", Some(0)),
            ("validation", Some(0)),
            ("training", Some(1)),
            ("validation", Some(1))
        ]
    );
    let training = &log.rows[1];
    assert!(near(training.it_per_s, 10.0), "start-up and validation are left out: {training:?}");
    assert!(training.low.unwrap() <= 10.0 && training.high.unwrap() >= 10.0);
    assert_eq!((training.steps, training.total, training.warmup, training.count), (100, Some(100), 10, 90));
    assert_eq!(training.idle_after_s, 5);
    assert_eq!(training.figures.kind, FiguresKind::Cumulative);
    assert!(near(log.rows[2].it_per_s, 20.0), "{:?}", log.rows[2]);
    assert_eq!(log.rows[0].it_per_s, None, "two steps are too few");
}

#[test]
fn an_average_of_the_last_twenty_has_its_parts() {
    let log = read(&lightning(1)).unwrap();
    let [average] = log.averages.as_slice() else { panic!("{:?}", log.averages) };
    assert_eq!(average.count, 20);
    let parts: Vec<(Option<&str>, usize)> =
        average.parts.iter().map(|part| (part.bar.as_deref(), part.figures.len())).collect();
    assert_eq!(parts, [(Some("validation"), 19), (Some("training"), 1)]);
    assert!(average.mean > 18.0, "an average that has little to do with training: {average:?}");
}

#[test]
fn pieces_of_any_size_give_the_same() {
    let text = lightning(2);
    let whole = read(&text).unwrap();
    for size in [1, 7, 4096] {
        let mut reader = LogReader::default();
        text.as_bytes().chunks(size).for_each(|piece| reader.feed(piece));
        let log = reader.finish("a.log").unwrap();
        assert_eq!((&log.rows, &log.averages), (&whole.rows, &whole.averages), "{size}");
    }
}

#[test]
fn labelled_ranks_are_separate() {
    let mut text = String::new();
    for count in 0..=60_u64 {
        for (rank, step) in [(0, 0.5), (1, 1.0)] {
            writeln!(text, "[rank{rank}]: {}", line("Epoch 0", count, 60, count as f64 * step)).unwrap();
        }
    }
    let rows = read(&text).unwrap().rows;
    assert_eq!(rows.len(), 2);
    assert!(rows[0].rank == Some(0) && near(rows[0].it_per_s, 2.0), "{rows:?}");
    assert!(rows[1].rank == Some(1) && near(rows[1].it_per_s, 1.0), "{rows:?}");
}

#[test]
fn ranks_without_labels_are_separate_when_they_cannot_be_one() {
    let mut text = String::new();
    for count in 5..=60_u64 {
        write!(text, "\r{}", line("Epoch 0", count, 60, count as f64)).unwrap();
        write!(text, "\r{}", line("Epoch 0", count - 3, 60, count as f64)).unwrap();
    }
    let rows = read(&text).unwrap().rows;
    let numbers: Vec<usize> = rows.iter().map(|row| row.series).collect();
    assert_eq!(numbers, [0, 1]);
    assert!(rows.iter().all(|row| near(row.it_per_s, 1.0)), "{rows:?}");
}

#[test]
fn a_bar_that_begins_again_is_another_one() {
    let mut text = String::new();
    for seconds in [0.4, 0.1] {
        for count in 0..=2 {
            write!(text, "\r{}", line("Sanity Checking DataLoader 0", count, 2, count as f64 * seconds))
                .unwrap();
        }
    }
    let rows = read(&text).unwrap().rows;
    let figures: Vec<(u64, usize)> = rows.iter().map(|row| (row.steps, row.figures.count)).collect();
    assert_eq!(figures, [(2, 2), (2, 2)]);
}

#[test]
fn a_single_line_gives_a_rate_with_a_note() {
    let rows = read(&line("Epoch 0", 100, 100, 50.0)).unwrap().rows;
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    assert!(near(row.it_per_s, 2.0) && row.warmup == 0 && row.count == 100, "{row:?}");
    assert!(row.note.as_ref().unwrap().contains("single line"));
}

#[test]
fn seconds_per_iteration_and_smoothed_figures_are_known() {
    let mut text = String::new();
    for count in 1..=30_u64 {
        let elapsed = 4 * count;
        let (minutes, seconds) = (elapsed / 60, elapsed % 60);
        write!(text, "\r{count}/30 [{minutes:02}:{seconds:02}<00:10,  3.10s/it]").unwrap();
    }
    let row = read(&text).unwrap().rows.remove(0);
    assert!(near(row.it_per_s, 0.25), "by the clock, not by the figure: {row:?}");
    assert_eq!(row.figures.kind, FiguresKind::Smoothed);
    assert_eq!(row.figures.seconds_per_iteration, 30);
}

#[test]
fn validation_in_the_middle_of_an_epoch_is_left_out() {
    let mut text = String::new();
    for count in 1..=40_u64 {
        let pause = if count > 20 { 60.0 } else { 0.0 };
        write!(text, "\r{}", line("Epoch 0", count, 40, pause + count as f64)).unwrap();
        if count == 20 {
            write!(text, "\r{}", line("Validation DataLoader 0", 30, 30, 60.0)).unwrap();
        }
    }
    let row = read(&text).unwrap().rows.remove(0);
    assert!(near(row.it_per_s, 1.0), "{row:?}");
    assert_eq!(row.interrupted, 1);
}

#[test]
fn lists_in_reports_have_their_parts() {
    let report =
        "Last 20 it/s measurements (a):\n  1\t2.00\n  2\t2.10\n  3\t1.00\n  4\t1.00\n  5\t2.05\nend\n";
    let log = read(report).unwrap();
    let [list] = log.averages.as_slice() else { panic!("{:?}", log.averages) };
    assert_eq!(list.parts.iter().map(|part| part.figures.len()).collect::<Vec<_>>(), [2, 2, 1]);
    assert!((list.mean - 1.63).abs() < 1e-9 && !list.from_bars);
    assert!(log.rows.is_empty());
}

#[test]
fn a_log_without_rates_is_refused_with_the_reason() {
    let reason = |bytes: &[u8]| {
        let mut reader = LogReader::default();
        reader.feed(bytes);
        reader.finish("a.log").unwrap_err().to_string()
    };
    let still: [&[u8]; 2] =
        [b"Training: |          | 0/? [00:00<?, ?it/s]", b"Epoch 0:   0%|          | 0/9 [00:00<?, ?it/s]"];
    for (bytes, wanted) in [
        (&b""[..], "the log is empty"),
        (b" \n\n\r", "the log is empty"),
        (b"hello\nworld\n", "no progress bar in 2 lines"),
        (still[0], "not one iteration was done"),
        (still[1], "not one iteration was done"),
        (&[0x1f, 0x8b, 8, 0, 0], "the log is gzip"),
        (&[b'a', 0, 1, 2, 3, 200], "4 control characters in 6 bytes, the first at offset 1;"),
    ] {
        assert!(reason(bytes).contains(wanted), "{wanted}: {}", reason(bytes));
    }
}

/// Lines of one bar, from `(count, seconds)` of each.
fn bar_of(points: impl Iterator<Item = (u64, f64)>) -> String {
    points.map(|(count, seconds)| line("Epoch 0", count, 2000, seconds) + "\n").collect()
}

#[test]
fn a_pause_of_five_minutes_is_left_out() {
    let seconds = |count: u64| count as f64 / 20.0 + if count >= 1000 { 300.0 } else { 0.0 };
    let log = read(&bar_of((0..=2000).step_by(20).map(|count| (count, seconds(count))))).unwrap();
    let row = &log.rows[0];
    assert!((row.it_per_s.unwrap() - 20.0).abs() < 0.1, "{row:?}");
    assert_eq!(row.interrupted, 20, "the steps around the pause");
    // Slow steps are not pauses.
    let steady = read(&bar_of((0..=2000).step_by(100).map(|count| (count, count as f64 * 0.4)))).unwrap();
    assert!((steady.rows[0].it_per_s.unwrap() - 2.5).abs() < 0.01 && steady.rows[0].interrupted == 0);
}

#[test]
fn a_resumed_bar_counts_from_its_checkpoint() {
    let mut text = bar_of((0..=480).step_by(10).map(|count| (count, count as f64 / 20.0)));
    for count in (400..=2000_u64).step_by(10) {
        let seconds = (count - 400) as f64 / 20.0;
        let figure = if seconds > 0.0 { "20.00it/s" } else { "?it/s" };
        let (minutes, rest) = (seconds as u64 / 60, seconds as u64 % 60);
        writeln!(text, "Epoch 0: 20%|###   | {count}/2000 [{minutes:02}:{rest:02}<00:09, {figure}]").unwrap();
    }
    let log = read(&text).unwrap();
    let [first, resumed] = &log.rows[..] else { panic!("{:?}", log.rows) };
    assert!((first.it_per_s.unwrap() - 20.0).abs() < 0.05);
    assert!((resumed.it_per_s.unwrap() - 20.0).abs() < 0.05, "{resumed:?}");
    assert_eq!((resumed.steps, resumed.figures.kind), (2000, FiguresKind::Cumulative));
    assert!(resumed.warmup >= 50, "the start of the resumed part is warm-up too");
}

#[test]
fn printed_times_of_steps_give_a_rate() {
    let nano = |count: u64| {
        format!("iter {count}: loss 3.1, time {:.2}ms, mfu 10%\n", if count == 0 { 9000.0 } else { 50.0 })
    };
    let log = read(&(0..40).map(nano).collect::<String>()).unwrap();
    assert_eq!((log.rows[0].name.as_str(), log.rows[0].it_per_s), ("nanoGPT", Some(20.0)));
    // torchtitan prints tokens by second; the time of day gives the steps. The pause of an hour does not count.
    let titan = |count: u64| {
        let second = count * 2;
        let hour = if count >= 20 { 13 } else { 12 };
        format!(
            "[rank0]:2024-10-01 {hour}:{:02}:{:02},000 - root - INFO - step: {count:2}  loss: 8.1  memory: 1GiB  tps: 1,234\n",
            second / 60,
            second % 60
        )
    };
    let log = read(&(1..40).map(titan).collect::<String>()).unwrap();
    assert_eq!((log.rows[0].name.as_str(), log.rows[0].s_per_it), ("torchtitan", Some(2.0)));
    let keras = "Epoch 1/2\n1/100 ━ 9s 90ms/step\n100/100 ━━ 5s 50ms/step\nEpoch 2/2\n50/100 ━ 1s 30ms/step\n100/100 ━━ 4s 40ms/step\n";
    let log = read(keras).unwrap();
    assert_eq!(
        (log.rows[0].figures.count, log.rows[0].it_per_s),
        (2, Some(25.0)),
        "the last line of each epoch"
    );
}

#[test]
fn two_logs_give_a_ratio_with_the_conditions_that_differ() {
    let of = |file: &str, total: u64, rate: f64| {
        let mut reader = LogReader::default();
        let lines =
            (0..=total).step_by(10).map(|count| line("Epoch 0", count, total, count as f64 / rate) + "\n");
        reader.feed(lines.collect::<String>().as_bytes());
        reader.finish(file).unwrap()
    };
    let same = Logs::of(vec![of("a.log", 1000, 1.6), of("b.log", 1000, 20.0)]).ratio.unwrap();
    assert!((same.ratio - 12.5).abs() < 0.05 && same.differences.is_empty(), "{same:?}");
    let other = Logs::of(vec![of("a.log", 1000, 1.6), of("b.log", 500, 20.0)]).ratio.unwrap();
    assert_eq!(other.differences.len(), 1);
    assert!(Logs::of(vec![of("a.log", 1000, 1.6)]).ratio.is_none());
}
