//! The logs that the founding notes quote: what their averages contained.
//!
//! Ignored where `Resource::Seeds`, the notes themselves, is missing.

use knockout_analyze::logs::{Average, LogReader, Logs};
use std::path::{Path, PathBuf};

fn seed(notes: &Path, start: &str) -> Logs {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(notes).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start)));
    let path = paths.first().expect("the folder has all seeds");
    let mut reader = LogReader::default();
    reader.feed(&std::fs::read(path).unwrap());
    Logs::of(vec![reader.finish(start).unwrap()])
}

fn parts(average: &Average) -> Vec<(Option<&str>, &[f64])> {
    average.parts.iter().map(|part| (part.bar.as_deref(), part.figures.as_slice())).collect()
}

fn to_three_decimals(value: f64) -> String {
    format!("{value:.3}")
}

pub(crate) fn an_average_over_five_figures_was_of_sanity_checks_and_one_step(notes: &Path) {
    let logs = seed(notes, "002");
    let lists: Vec<&Average> = logs.averages.iter().filter(|average| average.count == 5).collect();
    let [lazy, dango] = lists.as_slice() else { panic!("{lists:?}") };
    assert_eq!([to_three_decimals(lazy.mean), to_three_decimals(dango.mean)], ["1.592", "19.904"]);
    assert_eq!(
        parts(lazy),
        [(Some("sanity check"), &[4.93, 2.95][..]), (Some("training"), &[0.03, 0.03, 0.02][..])]
    );
    assert_eq!(
        parts(dango),
        [(Some("sanity check"), &[33.02, 58.28][..]), (Some("training"), &[4.07, 4.06, 0.09][..])]
    );
    let training: Vec<_> = logs.rows.iter().filter(|row| row.bar == "training").collect();
    assert_eq!(
        training.iter().map(|row| (row.steps, row.total)).collect::<Vec<_>>(),
        [(1, Some(2374)), (1, Some(1039))]
    );
    assert!(logs.rows.iter().all(|row| row.it_per_s.is_none()), "one step is no rate");
}

pub(crate) fn averages_over_twenty_figures_held_other_bars(notes: &Path) {
    let logs = seed(notes, "004");
    let means: Vec<f64> = logs.averages.iter().map(|average| average.mean).collect();
    let reported = [1.310, 73.816, 0.879, 16.980];
    assert!(means.iter().zip(reported).all(|(mean, reported)| (mean - reported).abs() < 0.001), "{means:?}");
    assert_eq!(means.len(), reported.len());
    let lengths =
        |at: usize| logs.averages[at].parts.iter().map(|part| part.figures.len()).collect::<Vec<_>>();
    assert_eq!(lengths(0), [17, 3], "the epoch's last line, validation included");
    assert_eq!(lengths(1), [1, 1, 1, 14, 3], "and short validation bars before");
    assert_eq!(logs.averages[1].parts[1].figures, [251.16]);
    assert_eq!(lengths(2), [17, 3]);
    assert_eq!(lengths(3), [17, 3]);
    assert!(logs.rows.is_empty());
}
