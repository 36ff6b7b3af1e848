//! `knockout data synth`: the same bytes everywhere, complete or absent.
#![cfg(feature = "lab")]

use crate::support::Home;
use std::fs;
use std::path::Path;
use std::time::Duration;

#[test]
fn bytes_depend_on_the_seed_and_not_on_threads() {
    let home = Home::empty();
    for (name, threads) in [("a", 1), ("b", 2), ("c", 7), ("d", 5000)] {
        home.ok(&format!("data synth {name} --preset tiny --seed 3 --threads {threads}"));
    }
    let first = home.content("a");
    for name in ["b", "c", "d"] {
        assert!(first == home.content(name), "{name} differs");
    }
    home.ok("data synth e --preset tiny --seed 4");
    assert!(first != home.content("e"));
}

#[test]
fn these_bytes_are_the_same_on_every_machine() {
    // The hash of the data as first made; whatever changes it breaks everybody's synthetic results.
    let made = Home::empty().json("data synth set --preset tiny --json");
    assert_eq!(made["data_hash"], "52918bbc0e1131f03b7c2c76faf30c03f251376f08f62aa663b5ad9c6625d10a");
}

#[test]
fn the_recorded_command_makes_the_same_data_again() {
    let home = Home::empty();
    let keys = "synth.screen.share_pair=0.1 synth.communities=5";
    let made = home.json(&format!("data synth a --preset tiny --seed 9 {keys} --json"));
    let shown = home.json("data show a --json");
    let command = shown["command"].as_str().unwrap().replace("knockout ", "").replace("OUT", "b");
    assert_eq!(home.json(&format!("{command} --json"))["data_hash"], made["data_hash"]);
}

#[test]
fn wrong_settings_are_2_and_leave_nothing() {
    let home = Home::empty();
    for (settings, words) in [
        ("synth.genes=many", "a whole number"),
        ("synth.genes=5", "genes is 5"),
        ("--preset tiny --samples 999999", "lower screen.samples"),
        ("--preset huge", "tiny, small, yeast"),
        ("--preset tiny synth.metabolism.reactions=9223372036854775807", "metabolism.reactions"),
        ("--preset tiny synth.screen.samples=9223372036854775807", "screen.samples"),
        ("--preset tiny synth.screen.query_pairs=9223372036854775807", "screen.query_pairs"),
    ] {
        home.fails(&format!("data synth x {settings}"), 2, &[words]);
    }
    assert_eq!(home.names("."), [""; 0]);
}

#[test]
fn an_output_that_exists_or_cannot_be_made_is_2() {
    let home = Home::empty();
    fs::create_dir(home.path("set")).unwrap();
    home.write("file", "precious");
    for out in ["set", "file"] {
        home.fails(&format!("data synth {out} --preset tiny"), 2, &[out, "exists already"]);
    }
    home.fails("data synth file/below --preset tiny", 2, &["file", "not a folder"]);
    // Root may write anywhere but here.
    if Path::new("/sys").exists() {
        home.fails("data synth /sys/knockout-set --preset tiny", 2, &["/sys/knockout-set"]);
    }
    assert_eq!(home.read("file"), "precious");
    assert_eq!(home.names("."), ["file", "set"]);
}

#[test]
fn a_disk_that_fills_up_leaves_nothing_behind() {
    let home = Home::empty();
    // A file size limit makes writes fail in the middle of a file, as a full disk does.
    home.shell("trap '' XFSZ; ulimit -f 8; exec \"$knockout\" data synth set --preset tiny")
        .fails(1, &["could not be written; nothing was changed"]);
    assert_eq!(home.names("."), [""; 0]);
}

#[test]
fn kill_9_leaves_no_dataset_or_a_complete_one() {
    let home = Home::empty();
    let mut absent = 0;
    // Delays from the very start to beyond the end.
    for attempt in 0..16_u64 {
        let mut child =
            home.start("data synth set --preset tiny --samples 20000 synth.screen.query_pairs=250 -q");
        std::thread::sleep(Duration::from_millis(attempt * attempt * 2));
        child.kill().unwrap();
        child.wait().unwrap();
        if home.exists("set") {
            home.ok("data verify set");
            fs::remove_dir_all(home.path("set")).unwrap();
        } else {
            absent += 1;
        }
    }
    assert!(absent > 0, "no run was killed before its end");
    // The next writer removes what the killed ones left.
    home.ok("data synth set --preset tiny");
    assert_eq!(home.names("."), ["set"]);
}
