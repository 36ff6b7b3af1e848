//! `knockout logs` from outside: the document, and inputs that are no logs.

use crate::support::run_in;
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
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("run.log"), log()).unwrap();
    let document = run_in(folder.path(), &["logs", "run.log", "--json"]).json();
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
    let text = run_in(folder.path(), &["logs", "run.log", "run.log"]).ok().stdout;
    assert!(
        text.contains("training") && text.contains("What an average over printed figures contains"),
        "{text}"
    );
}

#[test]
fn what_is_no_log_is_3_with_a_next_step() {
    let folder = tempfile::tempdir().unwrap();
    let junk: Vec<u8> = (0..4000_u32).map(|i| (i * 7919 % 251) as u8).collect();
    for (name, bytes, word) in [
        ("empty.log", &b""[..], "tee run.log"),
        ("plain.log", b"epoch 1 done\n", "enable_progress_bar"),
        ("still.log", b"Training: |          | 0/? [00:00<?, ?it/s]", "not one iteration"),
        ("packed.log", &[0x1f, 0x8b, 8, 0, 0, 0], "gunzip"),
        ("junk.log", &junk, "not a text log"),
    ] {
        std::fs::write(folder.path().join(name), bytes).unwrap();
        let ran = run_in(folder.path(), &["logs", name, "--json"]).fails(3, &[name, word]);
        assert!(ran.stdout.is_empty());
    }
}

#[test]
fn a_missing_log_or_a_folder_is_2() {
    let folder = tempfile::tempdir().unwrap();
    run_in(folder.path(), &["logs", "none.log"]).fails(2, &["none.log", "does not exist"]);
    run_in(folder.path(), &["logs", "."]).fails(2, &["folder"]);
}
