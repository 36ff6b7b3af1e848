//! Errors of the operating system at every single call: what a command leaves is whole or absent.
#![cfg(all(target_os = "linux", feature = "lab"))]

use crate::support::{Home, Ran};
use knockout_testdata::faults;

/// More calls than any command here makes.
const MOST: usize = 200;

/// Lets the first call fail, then the second, and so on until the command makes no more; `check` gets each failure. Returns their number.
fn each(call: &str, line: &str, home: &Home, check: impl Fn(&Ran)) -> usize {
    let library = faults::compile(&home.path("")).unwrap();
    for place in 1..MOST {
        let mut command = home.command(line);
        command.env("LD_PRELOAD", &library).env("KNOCKOUT_FAULT", format!("{call} 5 {place}"));
        let ran = Ran::new(&format!("{line} ({call} {place})"), command.output().unwrap());
        if ran.code == 0 {
            return place - 1;
        }
        check(&ran.fails(1, &["Input/output error"]));
    }
    panic!("{line}: {call} never succeeds");
}

fn nothing_of(home: &Home, name: &str) {
    let left: Vec<String> = home.names(".").into_iter().filter(|found| found.contains(name)).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// The last of these calls is that of the folder above, after the dataset has its name.
#[test]
fn a_dataset_whose_sync_fails_is_absent() {
    let home = Home::empty();
    let failed = each("fsync", "-q data synth set --preset tiny", &home, |_| nothing_of(&home, "set"));
    assert!(failed > 10, "{failed}");
    home.ok("data verify set");
}

#[test]
fn a_dataset_whose_bytes_cannot_be_written_is_absent() {
    let home = Home::empty();
    let failed = each("write", "-q data synth set --preset tiny", &home, |_| nothing_of(&home, "set"));
    assert!(failed > 5, "{failed}");
    home.ok("data verify set");
}

#[test]
fn a_page_whose_sync_fails_leaves_the_old_one_or_the_new_one() {
    let home = Home::with_runs(&["seed-0"]);
    home.ok("-q runs . --html page.html");
    let failed = each("fsync", "-q runs . --html page.html", &home, |_| {
        assert!(home.read("page.html").trim_end().ends_with("</html>"));
        assert_eq!(home.names("."), ["faults.c", "faults.so", "page.html", "seed-0", "tiny"]);
    });
    assert!(failed > 1, "{failed}");
}
