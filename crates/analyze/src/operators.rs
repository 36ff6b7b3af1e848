//! Tables of operations that `key_averages().table()` prints, as Lightning's `PyTorchProfiler` writes them to
//! `fit-profile_*.txt`: sums by operation, without times of single events.

use knockout_base::error::{Error, Result};
use knockout_base::stats::share;
use serde::Serialize;
use std::collections::BTreeMap;

/// Version of the documents; grows when a key changes its meaning.
const SCHEMA: u32 = 1;
/// The row of the steps: its self time is the time that no operation covers.
const STEP: &str = "ProfilerStep*";
/// A table whose rows have less of the total than this was cut by `row_limit`.
const WHOLE: f64 = 0.995;

/// A table of operations.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OperatorTable {
    /// Version of the document.
    pub schema: u32,
    /// File that the table is from.
    pub file: String,
    /// Steps that were recorded; `None` without `ProfilerStep` spans.
    pub steps: Option<u64>,
    /// Self CPU time of all operations, also of those that the table leaves out.
    pub self_cpu_us: f64,
    /// Self time of the steps: Python code and whatever else no operation covers.
    pub outside_us: f64,
    /// Name of the device, such as `CUDA`, if the table has times of one.
    pub device: Option<String>,
    /// Self time on the device of all operations.
    pub self_device_us: Option<f64>,
    /// Share of the self CPU time that the rows have.
    pub share_of_rows: f64,
    /// Operations, the largest self CPU time first.
    pub rows: Vec<OperatorRow>,
}

/// One operation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OperatorRow {
    /// Name; long ones end in `...`.
    pub name: String,
    /// Calls.
    pub calls: u64,
    /// CPU time without the operations inside.
    pub self_cpu_us: f64,
    /// CPU time with the operations inside.
    pub cpu_us: f64,
    /// Time on the device without that of the operations inside.
    pub self_device_us: Option<f64>,
}

impl OperatorTable {
    /// Whether a text has such a table.
    pub fn is_in(text: &str) -> bool {
        text.lines().any(is_header)
    }

    /// Reads the first table of a text; `file` names it.
    pub fn from_text(file: &str, text: &str) -> Result<Self> {
        let lines: Vec<&str> = text.lines().collect();
        let damage =
            |line: usize, message: String| Error::damage(message).in_file(file).on_line(line as u64 + 1);
        let header = lines.iter().position(|line| is_header(line)).ok_or_else(|| {
            Error::damage("there is no table of `key_averages().table()` in the file").in_file(file)
        })?;
        let rule = lines
            .get(header + 1)
            .filter(|line| is_rule(line))
            .ok_or_else(|| damage(header, "the table has no line of dashes below its heading".to_owned()))?;
        let bounds = columns(rule);
        let titles = cells(lines.get(header).copied().unwrap_or_default(), &bounds);
        let find = |title: &str| titles.iter().position(|have| have == title);
        let device_column = titles.iter().position(|title| {
            let name = title.strip_prefix("Self ");
            name.is_some_and(|name| !name.starts_with("CPU") && !name.ends_with('%') && !name.contains("Mem"))
        });
        let (Some(name), Some(self_cpu), Some(cpu), Some(calls)) =
            (find("Name"), find("Self CPU"), find("CPU total"), find("# of Calls"))
        else {
            return Err(damage(
                header,
                "the table lacks one of Name, Self CPU, CPU total and # of Calls".to_owned(),
            ));
        };
        let mut rows = Vec::new();
        let mut at = header + 2;
        while let Some(line) = lines.get(at).filter(|line| !is_rule(line)) {
            let row = cells(line, &bounds);
            let time = |column: usize| row.get(column).and_then(|text| micros(text));
            let parsed = || {
                Some(OperatorRow {
                    name: row.get(name)?.clone(),
                    calls: row.get(calls)?.parse().ok()?,
                    self_cpu_us: time(self_cpu)?,
                    cpu_us: time(cpu)?,
                    self_device_us: device_column.and_then(time),
                })
            };
            let row =
                parsed().ok_or_else(|| damage(at, format!("not a row of the table: {:?}", line.trim())))?;
            rows.push(row);
            at += 1;
        }
        if rows.is_empty() {
            return Err(damage(header, "the table has no rows".to_owned()));
        }
        if at >= lines.len() {
            return Err(damage(at, "the table is cut off: it has no closing line of dashes".to_owned()));
        }
        let total = |is_total: fn(&str) -> bool| {
            let line = lines.iter().skip(at).find(|line| is_total(line))?;
            micros(line.rsplit(' ').next()?)
        };
        let of_rows = rows.iter().map(|row| row.self_cpu_us).sum::<f64>();
        let self_cpu_us = total(|line| line.starts_with("Self CPU time total:")).unwrap_or(of_rows);
        let self_device_us = total(|line| {
            line.starts_with("Self ") && line.contains(" time total:") && !line.starts_with("Self CPU")
        });
        let (steps, mut rows): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.name == STEP);
        rows.sort_by(|a, b| b.self_cpu_us.total_cmp(&a.self_cpu_us).then_with(|| a.name.cmp(&b.name)));
        let device =
            device_column.and_then(|column| titles.get(column)?.strip_prefix("Self ").map(str::to_owned));
        Ok(Self {
            schema: SCHEMA,
            file: file.to_owned(),
            steps: steps.first().map(|row| row.calls),
            self_cpu_us,
            outside_us: steps.iter().map(|row| row.self_cpu_us).sum(),
            device,
            self_device_us,
            share_of_rows: share(of_rows, self_cpu_us),
            rows,
        })
    }

    /// Whether `row_limit` left operations out.
    pub fn is_cut(&self) -> bool {
        self.share_of_rows < WHOLE
    }

    /// Divisor of times that makes them comparable with another table: the steps if both have some.
    fn per(&self, other: &Self) -> f64 {
        match (self.steps, other.steps) {
            (Some(steps), Some(_)) if steps > 0 => steps as f64,
            _ => 1.0,
        }
    }
}

/// Two tables beside each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OperatorComparison {
    /// Version of the document.
    pub schema: u32,
    /// The file to compare with.
    pub a: String,
    /// The file to judge; ratios are `b / a`.
    pub b: String,
    /// Whether times are those of a step; otherwise they are those of the whole recordings.
    pub per_step: bool,
    /// Self CPU time of all operations in either.
    pub self_cpu_us: (f64, f64),
    /// Self time on the device in either.
    pub self_device_us: Option<(f64, f64)>,
    /// Whether either table leaves operations out, so that one that is missing may have been cut.
    pub is_cut: bool,
    /// Operations of both, the largest difference first.
    pub rows: Vec<OperatorChange>,
}

/// One operation in two tables.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OperatorChange {
    /// Name.
    pub name: String,
    /// Self CPU time in the first; `None` if it is not in the table.
    pub a_us: Option<f64>,
    /// Self CPU time in the second; `None` if it is not in the table.
    pub b_us: Option<f64>,
    /// Calls in either.
    pub calls: (f64, f64),
}

impl OperatorChange {
    /// Second minus first.
    pub fn difference_us(&self) -> f64 {
        self.b_us.unwrap_or(0.0) - self.a_us.unwrap_or(0.0)
    }

    /// Second by first, if both have it.
    pub fn ratio(&self) -> Option<f64> {
        Some(self.b_us? / self.a_us.filter(|us| *us > 0.0)?)
    }
}

impl OperatorComparison {
    /// Compares two tables, per step if both have steps.
    pub fn of(a: &OperatorTable, b: &OperatorTable) -> Self {
        let (per_a, per_b) = (a.per(b), b.per(a));
        let mut rows: BTreeMap<&str, OperatorChange> = BTreeMap::new();
        let outside = |table: &OperatorTable| OperatorRow {
            name: STEP.to_owned(),
            calls: table.steps.unwrap_or(0),
            self_cpu_us: table.outside_us,
            cpu_us: table.outside_us,
            self_device_us: None,
        };
        let (outside_a, outside_b) = (outside(a), outside(b));
        for (table, own, per, is_a) in [(a, &outside_a, per_a, true), (b, &outside_b, per_b, false)] {
            let own = std::iter::once(own).filter(|row| row.calls > 0);
            for row in table.rows.iter().chain(own) {
                let empty =
                    || OperatorChange { name: row.name.clone(), a_us: None, b_us: None, calls: (0.0, 0.0) };
                let change = rows.entry(&row.name).or_insert_with(empty);
                let (us, calls) = if is_a {
                    (&mut change.a_us, &mut change.calls.0)
                } else {
                    (&mut change.b_us, &mut change.calls.1)
                };
                // Names that were cut alike are one row.
                *us = Some(us.unwrap_or(0.0) + row.self_cpu_us / per);
                *calls += row.calls as f64 / per;
            }
        }
        let mut rows: Vec<OperatorChange> = rows.into_values().collect();
        rows.sort_by(|x, y| y.difference_us().abs().total_cmp(&x.difference_us().abs()));
        Self {
            schema: SCHEMA,
            a: a.file.clone(),
            b: b.file.clone(),
            per_step: a.steps.is_some() && b.steps.is_some(),
            self_cpu_us: (a.self_cpu_us / per_a, b.self_cpu_us / per_b),
            self_device_us: a.self_device_us.zip(b.self_device_us).map(|(a, b)| (a / per_a, b / per_b)),
            is_cut: a.is_cut() || b.is_cut(),
            rows,
        }
    }
}

fn is_header(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("Name ") && line.contains(" Self CPU ") && line.contains("# of Calls")
}

/// Whether a line consists of dashes in several groups.
fn is_rule(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("---") && line.bytes().all(|byte| matches!(byte, b'-' | b' '))
}

/// The columns under the groups of dashes: first and last character of each.
fn columns(rule: &str) -> Vec<(usize, usize)> {
    let mut out: Vec<(usize, usize)> = Vec::new();
    for (at, character) in rule.chars().enumerate().filter(|(_, character)| *character == '-') {
        debug_assert_eq!(character, '-');
        match out.last_mut() {
            Some((_, end)) if *end == at => *end = at + 1,
            _ => out.push((at, at + 1)),
        }
    }
    out
}

/// The cells of a line, by columns; texts are aligned to the right.
fn cells(line: &str, columns: &[(usize, usize)]) -> Vec<String> {
    let characters: Vec<char> = line.chars().collect();
    let cell = |(start, end): &(usize, usize)| {
        let inside = characters.iter().skip(*start).take(end - start);
        inside.collect::<String>().trim().to_owned()
    };
    columns.iter().map(cell).collect()
}

/// Microseconds of a time such as `1.144s`, `468.375ms` or `329.049us`.
fn micros(text: &str) -> Option<f64> {
    let (number, unit) = [("us", 1.0), ("ms", 1e3), ("s", 1e6)]
        .into_iter()
        .find_map(|(end, unit)| Some((text.strip_suffix(end)?, unit)))?;
    number.parse::<f64>().ok().filter(|number| number.is_finite()).map(|number| number * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table as PyTorch prints it, with these rows: name, self CPU, CPU total, self CUDA, calls.
    fn table(rows: &[(&str, &str, &str, &str, u64)], totals: &str) -> String {
        let rule = "-".repeat(30) + &("  ".to_owned() + &"-".repeat(12)).repeat(6) + "  \n";
        let line = |cells: [&str; 7]| {
            let numbers: Vec<String> = cells[1..].iter().map(|cell| format!("{cell:>12}")).collect();
            format!("{:>30}  {}  \n", cells[0], numbers.join("  "))
        };
        let titles =
            ["Name", "Self CPU %", "Self CPU", "CPU total", "Self CUDA", "Self CUDA %", "# of Calls"];
        let mut out =
            format!("FIT Profiler Report\nProfile stats for: records\n{rule}{}{rule}", line(titles));
        for (name, own, total, cuda, calls) in rows {
            out += &line([name, "1.00%", own, total, cuda, "1.00%", &calls.to_string()]);
        }
        out + &rule + totals
    }

    #[test]
    fn rows_units_steps_and_totals_are_read() {
        let text = table(
            &[
                ("ProfilerStep*", "400.000ms", "1.000s", "0.000us", 4),
                ("aten::mm", "206.040ms", "206.040ms", "1.500ms", 28),
                ("Optimizer.step#AdamW.step", "329.049us", "475.107ms", "0.000us", 4),
                ("[pl][profile]run_training_b...", "1.000s", "2.000s", "0.000us", 2),
            ],
            "Self CPU time total: 2.000s\nSelf CUDA time total: 1.500ms\n",
        );
        assert!(OperatorTable::is_in(&text));
        let found = OperatorTable::from_text("fit.txt", &text).unwrap();
        assert_eq!((found.steps, found.outside_us, found.self_cpu_us), (Some(4), 400_000.0, 2_000_000.0));
        assert_eq!((found.device.as_deref(), found.self_device_us), (Some("CUDA"), Some(1500.0)));
        let names: Vec<&str> = found.rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["[pl][profile]run_training_b...", "aten::mm", "Optimizer.step#AdamW.step"]);
        assert_eq!((found.rows[1].calls, found.rows[1].self_device_us), (28, Some(1500.0)));
        assert!((found.share_of_rows - 0.803).abs() < 1e-3 && found.is_cut());
    }

    #[test]
    fn a_cut_table_and_other_texts_are_refused_with_their_line() {
        let whole = table(&[("aten::mm", "1.000ms", "1.000ms", "0.000us", 1)], "");
        let cut = whole.trim_end().rsplit_once('\n').unwrap().0;
        assert!(OperatorTable::from_text("a.txt", cut).unwrap_err().to_string().contains("cut off"));
        let wrong = whole.replace("1.000ms", "one");
        let error = OperatorTable::from_text("a.txt", &wrong).unwrap_err().to_string();
        assert!(error.contains("a.txt") && error.contains('6'), "{error}");
        assert!(!OperatorTable::is_in("Name of the run: Self CPU\n"));
    }

    #[test]
    fn two_tables_are_compared_per_step() {
        let of = |own: &str, steps: u64| {
            let step = ("ProfilerStep*", "8.000ms", "9.000ms", "0.000us", steps);
            let text = table(&[step, ("aten::mm", own, own, "0.000us", 2 * steps)], "");
            OperatorTable::from_text("a.txt", &text).unwrap()
        };
        let compared = OperatorComparison::of(&of("40.000ms", 4), &of("40.000ms", 8));
        assert!(compared.per_step);
        assert_eq!(compared.self_cpu_us, (12_000.0, 6_000.0));
        let mm = &compared.rows[0];
        assert_eq!((mm.name.as_str(), mm.a_us, mm.b_us), ("aten::mm", Some(10_000.0), Some(5_000.0)));
        assert_eq!((mm.ratio(), mm.calls), (Some(0.5), (2.0, 2.0)));
        assert_eq!(compared.rows[1].name, "ProfilerStep*");
    }
}
