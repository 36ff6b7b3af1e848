//! Rates out of logs for a terminal: one line per bar, then what averages over printed figures contained.

use crate::page::{Column, Table};
use crate::units::{count, counted, shortened};
use knockout_analyze::logs::{
    Average, AveragePart, FiguresKind, LogCondition, LogDifference, LogRatio, LogRow, Logs,
};
use std::fmt::Write as _;

/// Figures of a part that are written in full.
const SHOWN: usize = 6;

/// The document as text.
pub fn logs_text(logs: &Logs) -> String {
    let mut out = String::new();
    for rows in logs.rows.chunk_by(|a, b| a.file == b.file) {
        bars(&mut out, rows);
    }
    if let Some(ratio) = &logs.ratio {
        writeln!(out, "{}\n", ratio_sentence(ratio)).unwrap_or_default();
    }
    for averages in logs.averages.chunk_by(|a, b| a.file == b.file) {
        contents(&mut out, averages);
    }
    out
}

/// How many times as fast the second log trains, with the conditions that differ.
fn ratio_sentence(ratio: &LogRatio) -> String {
    let bounds = match (ratio.low, ratio.high) {
        (Some(low), Some(high)) => format!(" (stretches from {} to {})", factor(low), factor(high)),
        _ => String::new(),
    };
    let mut text = format!(
        "{} makes {} times as many steps per second as {}{bounds}: {} against {}.",
        ratio.b,
        factor(ratio.ratio),
        ratio.a,
        with_unit(ratio.b_it_per_s),
        with_unit(ratio.a_it_per_s)
    );
    if ratio.differences.is_empty() {
        text.push_str(" Steps planned, ranks and the program that printed the rates are the same; batch, data and machine are not in a log.");
    }
    for LogDifference { what, a, b } in &ratio.differences {
        let sentence = match what {
            LogCondition::StepsPlanned => {
                format!(
                    " Steps planned differ ({a} and {b}): batches may have different sizes, and then steps are not comparable."
                )
            }
            LogCondition::Ranks => format!(" The numbers of ranks differ ({a} and {b})."),
            LogCondition::Printer => format!(" The rates were printed by different programs ({a} and {b})."),
        };
        text.push_str(&sentence);
    }
    text
}

/// Formats a ratio with at least two digits that are not zero.
fn factor(ratio: f64) -> String {
    let digits =
        if ratio > 0.0 && ratio < 0.1 { (1.0 - ratio.log10().floor()).min(12.0) as usize } else { 2 };
    format!("{ratio:.digits$}")
}

/// Formats a rate as progress bars do: in seconds per iteration below one iteration per second.
fn with_unit(it_per_s: f64) -> String {
    if it_per_s > 0.0 && it_per_s < 1.0 {
        format!("{:.2} s/it", 1.0 / it_per_s)
    } else {
        format!("{it_per_s:.2} it/s")
    }
}

fn bars(out: &mut String, rows: &[LogRow]) {
    let Some(first) = rows.first() else { return };
    writeln!(out, "{}\n", first.file).unwrap_or_default();
    let numbers = ["epoch", "rank", "steps", "measured", "rate", "low", "high"].map(Column::number);
    let columns =
        [Column::text("bar")].into_iter().chain(numbers).chain(["printed", "note"].map(Column::text));
    let mut table = Table::new(columns);
    for row in rows {
        let total = row.total.map_or_else(|| "?".to_owned(), count);
        let bar = match row.series {
            0 => shortened(&row.bar, 32),
            again => format!("{} ({})", shortened(&row.bar, 28), again + 1),
        };
        table.row([
            bar,
            or_dash(row.epoch.map(|epoch| epoch.to_string())),
            or_dash(row.rank.map(|rank| rank.to_string())),
            format!("{} of {total}", count(row.steps)),
            count(row.count),
            or_dash(row.it_per_s.map(with_unit)),
            or_dash(row.low.map(with_unit)),
            or_dash(row.high.map(with_unit)),
            printed(row),
            note(row),
        ]);
    }
    out.push_str(&table.to_text());
    // Programs without a bar have their own notes.
    if rows.iter().all(|row| matches!(row.figures.kind, FiguresKind::TimePerStep)) {
        out.push('\n');
        return;
    }
    out.push_str(
        "\n  rate: steps by the bar's own clock, without the first tenth and without time in which no step was made;\n  \
         low and high: the slowest and the fastest stretch, with what the clock's rounding leaves open\n\n",
    );
}

fn printed(row: &LogRow) -> String {
    let figures = &row.figures;
    let kind = match figures.kind {
        FiguresKind::None => return "-".to_owned(),
        FiguresKind::Cumulative => "mean since start",
        FiguresKind::Smoothed => "smoothed",
        FiguresKind::TimePerStep => "time per step",
    };
    let is_inverse = figures.seconds_per_iteration == figures.count;
    let text = if is_inverse { with_unit } else { rate };
    let range = match (figures.low, figures.high) {
        (Some(low), Some(high)) if low < high => format!(": {} to {}", text(low), text(high)),
        (Some(only), _) => format!(": {}", text(only)),
        _ => String::new(),
    };
    let inverse = match figures.seconds_per_iteration {
        some if some == 0 || is_inverse => String::new(),
        some => format!(", {some} as s/it"),
    };
    format!("{}{range}, {kind}{inverse}", figures.count)
}

fn note(row: &LogRow) -> String {
    let mut notes: Vec<String> = row.note.iter().cloned().collect();
    if row.idle_after_s > 0 {
        notes.push(format!("clock ran {} s on after the last step", row.idle_after_s));
    }
    if row.interrupted > 0 {
        let steps = counted(row.interrupted, "step");
        notes.push(format!("{steps} around validation or pauses left out"));
    }
    notes.join("; ")
}

fn contents(out: &mut String, averages: &[Average]) {
    let Some(first) = averages.first() else { return };
    writeln!(out, "What an average over printed figures contains: {}", first.file).unwrap_or_default();
    for average in averages {
        let figures_word = if average.count == 1 { "figure" } else { "figures" };
        writeln!(out, "\n  {}: {} {figures_word}, mean {:.3}", average.of, average.count, average.mean)
            .unwrap_or_default();
        for part in &average.parts {
            writeln!(out, "    {:>3}  {:<28} {}", part.figures.len(), source(part), figures(part))
                .unwrap_or_default();
        }
        if average.parts.len() > 1 {
            writeln!(out, "    the largest part alone: mean {:.3}", average.mean_of_largest_part)
                .unwrap_or_default();
            if !average.from_bars {
                out.push_str(
                    "    the bars are not in this text; a figure that jumps by more than a quarter is another bar's, or\n    \
                     of a clock that went on without steps (validation)\n",
                );
            }
        }
        if average.left_out_seconds_per_iteration > 0 {
            let left_out = average.left_out_seconds_per_iteration;
            writeln!(out, "    {left_out} figures in s/it were not seen by it").unwrap_or_default();
        }
    }
    out.push('\n');
}

fn source(part: &AveragePart) -> String {
    let Some(bar) = &part.bar else { return "bars unknown, figures alike".to_owned() };
    let mut text = shortened(bar, 24);
    if let Some(epoch) = part.epoch {
        write!(text, ", epoch {epoch}").unwrap_or_default();
    }
    if let Some(rank) = part.rank {
        write!(text, ", rank {rank}").unwrap_or_default();
    }
    if let Some(steps) = part.steps {
        write!(text, ", {}", counted(steps, "step")).unwrap_or_default();
    }
    text
}

fn figures(part: &AveragePart) -> String {
    let spelt = |figures: &[f64]| figures.iter().map(|figure| rate(*figure)).collect::<Vec<_>>().join(" ");
    match (part.figures.get(..SHOWN - 1), part.figures.last()) {
        (Some(head), Some(last)) if part.figures.len() > SHOWN => {
            format!("{} … {}", spelt(head), rate(*last))
        }
        _ => spelt(&part.figures),
    }
}

fn rate(value: f64) -> String {
    format!("{value:.2}")
}

fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

#[cfg(test)]
mod tests {
    use super::factor;

    #[test]
    fn a_small_ratio_keeps_two_digits() {
        assert_eq!(
            [12.5, 0.5, 0.099, 0.006_67, 0.0].map(factor),
            ["12.50", "0.50", "0.099", "0.0067", "0.00"]
        );
    }
}
