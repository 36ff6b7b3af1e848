//! The tutorial's part about an own table, on the pairs of Collins 2007.

use crate::support::run_in;
use std::fs;
use std::path::Path;

const TUTORIAL: &str = include_str!("../../../../docs/tutorial-screen.md");
/// The table of the tutorial with its columns.
const OWN_TABLE: &str = "my-screen.csv,genes=Query+Array,score=S-score";

pub(crate) fn the_tutorial_works_on_a_real_screen(data: &Path) {
    let home = tempfile::tempdir().unwrap();
    let (_, own) = TUTORIAL.split_once("## With your own table").unwrap();
    let screen = format!("emap:{}", data.join("slgi/gi2007.pairs.tsv.gz").display());
    let mut evaluated = None;
    for command in own.lines().filter_map(|line| line.strip_prefix("    knockout ")) {
        // The published table has systematic names. Without trees, the stack is quicker.
        let command =
            command.replace(OWN_TABLE, &screen).replace("SWR1", "YDR334W").replace("HTZ1", "YOL012C");
        let command = command.replace("train mine", "train mine --fast --out runs/stack-mine-0");
        let mut words = shlex::split(&command).unwrap();
        match &words[0][..] {
            // Serves until it is stopped.
            "explore" => {}
            "evaluate" => {
                words.push("--json".to_owned());
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                evaluated = Some(run_in(home.path(), &words).ok().json());
            }
            _ => {
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                run_in(home.path(), &words).ok();
            }
        }
    }
    let pearson = evaluated.unwrap()["rows"][0]["pearson"].as_f64().unwrap();
    assert!(pearson > 0.55, "{pearson}");
    for (list, rows) in [("my-hits/bottom.csv", 100), ("swr1/bottom.csv", 20)] {
        let hits = fs::read_to_string(home.path().join(list)).unwrap();
        assert_eq!(hits.lines().count(), rows + 1, "{list}");
    }
    assert!(fs::read_to_string(home.path().join("my-hits.html")).unwrap().contains("<svg"));
}
