//! Files that hold profiles instead of traces: tables that PyTorch printed are analysed and compared, others are named with
//! their own tools.

use crate::exit::{DATA, INCOMPARABLE};
use crate::failure::{Failure, FailureContext as _, Result, request_error};
use crate::output::write_text;
use crate::ui::Ui;
use knockout_analyze::operators::{OperatorComparison, OperatorTable};
use knockout_report::page::Page;
use knockout_report::{operators_compare_page, operators_page};
use serde::Serialize;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Bytes in which a table begins.
const HEAD_BYTES: u64 = 64 << 10;
/// Tables are short.
const MOST_BYTES: u64 = 64 << 20;

/// Returns the tables of operations in these files; `None` if none of them is one.
pub(super) fn tables<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<Option<Vec<OperatorTable>>> {
    let (mut tables, mut other) = (Vec::new(), None);
    for path in paths {
        match read(path)? {
            Some(table) => tables.push(table),
            None => other = Some(path),
        }
    }
    match (tables.first(), other) {
        (None, _) => Ok(None),
        (Some(table), Some(other)) => Err(request_error(format!(
            "{} is a table of operations and {} is not; analyse them one by one",
            table.file,
            other.display()
        ))),
        (Some(_), None) => Ok(Some(tables)),
    }
}

/// Shows one table.
pub(super) fn analyze(tables: &[OperatorTable], html: Option<&Path>, ui: &Ui) -> Result<()> {
    let [table] = tables else {
        return Err(request_error(
            "these are several tables of operations; compare two with `knockout trace compare A B`",
        ));
    };
    show(&operators_page(table), table, html, ui)
}

/// Compares two tables. They have no spread that a gate could judge by.
pub(super) fn compare(tables: &[OperatorTable], is_gated: bool, html: Option<&Path>, ui: &Ui) -> Result<()> {
    let [a, b] = tables else { return Err(request_error("name two tables of operations, A and B")) };
    let compared = OperatorComparison::of(a, b);
    show(&operators_compare_page(&compared), &compared, html, ui)?;
    if is_gated {
        let message = "not comparable: tables of operations have sums alone, and --fail-above needs the times of five steps; record traces";
        return Err(Failure::verdict(INCOMPARABLE, message));
    }
    Ok(())
}

fn show(page: &Page, document: &impl Serialize, html: Option<&Path>, ui: &Ui) -> Result<()> {
    if let Some(path) = html {
        write_text(path, &page.to_html(), ui)?;
    }
    ui.result(|| page.to_text(), document)
}

/// Reads a file if it is a table; refuses profiles of other tools.
fn read(path: &Path) -> Result<Option<OperatorTable>> {
    // A pipe gives its bytes once, to the reader of traces.
    if !path.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Ok(None);
    }
    let Ok(mut file) = File::open(path) else { return Ok(None) };
    let name = path.display().to_string();
    let mut bytes = Vec::new();
    let mut take = |limit: u64, bytes: &mut Vec<u8>| -> io::Result<usize> {
        file.by_ref().take(limit).read_to_end(bytes)
    };
    take(HEAD_BYTES, &mut bytes).with_context(|| format!("could not read {name}"))?;
    if let Some(advice) = other_profile(&bytes) {
        return Err(Failure::verdict(DATA, format!("{name} is {advice}")));
    }
    if !OperatorTable::is_in(&String::from_utf8_lossy(&bytes)) {
        return Ok(None);
    }
    take(MOST_BYTES, &mut bytes).with_context(|| format!("could not read {name}"))?;
    Ok(Some(OperatorTable::from_text(&name, &String::from_utf8_lossy(&bytes))?))
}

/// Describes a profile of another tool, and names the tool that reads it.
fn other_profile(head: &[u8]) -> Option<&'static str> {
    match head {
        // A dictionary of Python's `marshal` whose first key is a tuple.
        [b'{' | 0xfb, b'(' | b')' | 0xa8 | 0xa9, ..] => Some(
            "a profile of cProfile: sums by Python function, without a timeline or a device. Read it with `python -m pstats FILE` or snakeviz; to find out why training is slow, record a trace with `torch.profiler` and `with_stack=True`",
        ),
        [0x80, 2..=5, ..] => Some(
            "a pickle, as line_profiler writes it (.lprof): times by line of Python. Read it with `python -m line_profiler FILE`; to find out why training is slow, record a trace with `torch.profiler`",
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_of_python_are_recognised_and_json_is_not() {
        // `cProfile.Profile().dump_stats(…)` of Python 3.8 and 3.12.
        assert!(other_profile(b"{\xa9\x03\xda\x01~").is_some_and(|advice| advice.contains("cProfile")));
        assert!(other_profile(b"\xfb\xa9\x03\xda\x01~").is_some_and(|advice| advice.contains("cProfile")));
        assert!(other_profile(b"\x80\x04\x95\x10").is_some_and(|advice| advice.contains("line_profiler")));
        for text in [&b"{\"traceEvents\""[..], b"[{", b"{ \"a\": 1}", b"\x1f\x8b", b""] {
            assert_eq!(other_profile(text), None);
        }
    }
}
