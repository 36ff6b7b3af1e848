//! `knockout logs` from outside: the document, and inputs that are not logs.

use crate::support::Home;
use std::fmt::Write as _;

/// Two epochs of 40 steps at two a second; every bar line begins with a carriage return.
fn log() -> String {
    let mut log = String::from("GPU available: False\n");
    for epoch in 0..2 {
        for count in 0..=40 {
            let figure = if count == 0 { "?it/s" } else { " 2.00it/s" };
            let (percent, elapsed) = (count * 100 / 40, count / 2);
            write!(
                log,
                "\r\u{1b}[2KEpoch {epoch}: {percent:3}%|##  | {count}/40 [00:{elapsed:02}<00:10, {figure}, v_num=0]"
            )
            .unwrap();
        }
        log.push('\n');
    }
    log
}

#[test]
fn rows_have_the_promised_keys() {
    let home = Home::empty();
    home.write("run.log", log());
    let document = home.json("logs run.log --json");
    let rows = document["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for (epoch, row) in rows.iter().enumerate() {
        assert_eq!(row["file"], "run.log");
        assert_eq!(row["bar"], "training");
        assert_eq!(row["epoch"], epoch);
        assert!(row["rank"].is_null());
        assert_eq!(row["count"], 36);
        let figure = |key: &str| row[key].as_f64().unwrap();
        assert!((figure("it_per_s") - 2.0).abs() < 0.05, "{row}");
        assert!(figure("low") <= 2.0 && figure("high") >= 2.0, "{row}");
    }
    home.ok("logs run.log run.log").prints(&["training", "What an average over printed figures contains"]);
}

#[test]
fn a_file_that_is_not_a_log_is_3_with_a_next_step() {
    let home = Home::empty();
    let junk: Vec<u8> = (0..4000_u32).map(|i| (i * 7919 % 251) as u8).collect();
    for (name, bytes, word) in [
        ("empty.log", &b""[..], "tee run.log"),
        ("plain.log", b"epoch 1 done\n", "enable_progress_bar"),
        ("still.log", b"Training: |          | 0/? [00:00<?, ?it/s]", "not one iteration"),
        ("packed.log", &[0x1f, 0x8b, 8, 0, 0, 0], "gunzip"),
        ("junk.log", &junk, "not a text log"),
    ] {
        home.write(name, bytes);
        let ran = home.fails(&format!("logs {name} --json"), 3, &[name, word]);
        assert_eq!(ran.stdout, "");
    }
}

#[test]
fn a_missing_log_or_a_folder_is_2() {
    let home = Home::empty();
    home.fails("logs none.log", 2, &["none.log", "does not exist"]);
    home.fails("logs .", 2, &["folder"]);
}

#[test]
fn a_bar_is_compared_before_the_summary_of_a_whole_run() {
    let home = Home::empty();
    // The same steps at the same rate; the summaries have start-up and evaluation in them.
    let log = |per_second: f64| {
        let bar = (0..=20).map(|part| {
            let (steps, seconds) = (50 * part, 5 * part);
            format!(
                "\r{:3}%|#####     | {steps}/1000 [{:02}:{:02}<00:10, 10.00it/s]",
                5 * part,
                seconds / 60,
                seconds % 60
            )
        });
        let summary =
            format!("\n{{'train_runtime': 9.0, 'train_steps_per_second': {per_second}, 'epoch': 1.0}}\n");
        bar.collect::<String>() + &summary
    };
    home.write("a.log", log(5.0));
    home.write("b.log", log(8.0));
    let ratio = &home.json("logs a.log b.log --json")["ratio"]["ratio"];
    assert!((ratio.as_f64().unwrap() - 1.0).abs() < 1e-9, "{ratio}");
}
