//! The first profiler step of two traces, row by row, as HTA's `TraceDiff` compares them.

use crate::findings::Analysis;
use crate::findings::FirstStepRow;
use serde::Serialize;
use std::collections::BTreeMap;

/// Names shown per table.
const TOP: usize = 15;

/// Both first steps.
#[derive(Debug, Clone, Serialize)]
pub struct FirstStepComparison {
    /// Step numbers in `a`.
    pub iterations_control: Vec<i64>,
    /// Step numbers in `b`.
    pub iterations_test: Vec<i64>,
    /// Host rows, device rows, and all.
    pub by_device: BTreeMap<&'static str, ByDevice>,
}

/// One side of the machine.
#[derive(Debug, Clone, Serialize)]
pub struct ByDevice {
    /// Rows by the full name of the operation.
    pub names: NameTable,
    /// By name without arguments, template arguments and return type.
    pub short_names: NameTable,
    /// Numbers of added and deleted names.
    pub ops: OpsChange,
}

/// A table by name.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct NameTable {
    /// Distinct names.
    pub rows: usize,
    /// Sum over the names.
    #[serde(flatten)]
    pub sum: Change,
    /// The largest differences of time.
    pub top: Vec<NameRow>,
}

/// One name.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct NameRow {
    /// Name of the events.
    pub name: String,
    /// Its rows and their time.
    #[serde(flatten)]
    pub change: Change,
}

/// Rows and their time in both traces.
#[derive(Debug, Clone, Copy, Serialize, PartialEq)]
pub struct Change {
    /// Rows in `a`.
    pub control_count: u64,
    /// Their time in microseconds.
    pub control_us: f64,
    /// Rows in `b`.
    pub test_count: u64,
    /// Their time in microseconds.
    pub test_us: f64,
    /// Rows, `b` minus `a`.
    pub diff_count: i64,
    /// Time, `b` minus `a`, in microseconds.
    pub diff_us: f64,
}

impl From<InBoth> for Change {
    fn from([a, b]: InBoth) -> Self {
        Self {
            control_count: a.0,
            control_us: a.1,
            test_count: b.0,
            test_us: b.1,
            diff_count: b.0 as i64 - a.0 as i64,
            diff_us: b.1 - a.1,
        }
    }
}

/// Names by what happened to their number.
#[derive(Debug, Clone, Copy, Default, Serialize, PartialEq, Eq)]
pub struct OpsChange {
    /// Only in `b`.
    pub added: usize,
    /// Only in `a`.
    pub deleted: usize,
    /// Names more often in `b`.
    pub increased: usize,
    /// Names less often in `b`.
    pub decreased: usize,
    /// Names as often in `b` as in `a`.
    pub unchanged: usize,
}

/// Returns count and time of one side of a row.
type CountAndTime = fn(&FirstStepRow) -> (u64, f64);

/// Count and time in `a`, then in `b`.
type InBoth = [(u64, f64); 2];

pub(super) fn compare(a: &Analysis, b: &Analysis) -> Option<FirstStepComparison> {
    let (own, other) = (&a.ranks.first()?.first_step, &b.ranks.first()?.first_step);
    if own.iterations.is_empty() || other.iterations.is_empty() {
        return None;
    }
    let sides: [(&'static str, CountAndTime); 3] = [
        ("CPU", |row| (row.host_count, row.host_us)),
        ("GPU", |row| (row.device_count, row.device_us)),
        ("ALL", |row| (row.host_count + row.device_count, row.host_us + row.device_us)),
    ];
    let by_device = sides.into_iter().map(|(side, part)| {
        let mut names: BTreeMap<String, InBoth> = BTreeMap::new();
        let mut short: BTreeMap<String, InBoth> = BTreeMap::new();
        for (index, rows) in [&own.rows, &other.rows].into_iter().enumerate() {
            for (name, row) in rows {
                let (count, us) = part(row);
                if count == 0 {
                    continue;
                }
                for (table, key) in [(&mut names, name.clone()), (&mut short, shorten(name))] {
                    if let Some(cell) = table.entry(key).or_default().get_mut(index) {
                        cell.0 += count;
                        cell.1 += us;
                    }
                }
            }
        }
        (side, ByDevice { ops: changes(&names), names: table(names), short_names: table(short) })
    });
    Some(FirstStepComparison {
        iterations_control: own.iterations.clone(),
        iterations_test: other.iterations.clone(),
        by_device: by_device.collect(),
    })
}

fn changes(names: &BTreeMap<String, InBoth>) -> OpsChange {
    let mut out = OpsChange::default();
    for [(a, _), (b, _)] in names.values() {
        match (a, b) {
            (0, _) => out.added += 1,
            (_, 0) => out.deleted += 1,
            (a, b) if b > a => out.increased += 1,
            (a, b) if b < a => out.decreased += 1,
            _ => out.unchanged += 1,
        }
    }
    out
}

fn table(names: BTreeMap<String, InBoth>) -> NameTable {
    let mut all: InBoth = InBoth::default();
    for cells in names.values() {
        for (sum, (count, us)) in all.iter_mut().zip(cells) {
            sum.0 += count;
            sum.1 += us;
        }
    }
    let rows = names.len();
    let mut top: Vec<NameRow> =
        names.into_iter().map(|(name, cells)| NameRow { name, change: cells.into() }).collect();
    top.sort_by(|x, y| {
        let by = |row: &NameRow| row.change.diff_us.abs();
        by(y).total_cmp(&by(x)).then_with(|| x.name.cmp(&y.name))
    });
    top.truncate(TOP);
    NameTable { rows, sum: all.into(), top }
}

/// A name without arguments, template arguments and return type; memory operations unchanged.
fn shorten(name: &str) -> String {
    let is_memory = ["Memcpy", "Memset", "dma"].iter().any(|start| name.starts_with(start));
    if is_memory || !name.contains(['<', '(']) {
        return name.to_owned();
    }
    let mut kept: Vec<char> = Vec::new();
    for c in name.replace("->", "").chars() {
        let opens = match c {
            '>' => '<',
            ')' => '(',
            _ => {
                kept.push(c);
                continue;
            }
        };
        while kept.last().is_some_and(|&last| last != opens) {
            kept.pop();
        }
        kept.pop();
    }
    let text: String = kept.into_iter().collect();
    text.rsplit(' ').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_arguments_and_return_type() {
        assert_eq!(shorten("void at::native::foo<float, 2>(int, float*)"), "at::native::foo");
        assert_eq!(shorten("Memcpy DtoH (Device -> Pinned)"), "Memcpy DtoH (Device -> Pinned)");
        assert_eq!(shorten("aten::mul"), "aten::mul");
    }
}
