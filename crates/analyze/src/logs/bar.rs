//! Finds progress bars in a line: `Epoch 0:  40%|####    | 4/10 [00:02<00:03,  1.95it/s, loss=0.1]`.
//!
//! Several bars and other programs' words may share a line. Independent of what bars mean together.

/// How far before the clock a bar may begin: names and pictures of bars are not longer.
const MAX_BAR_CHARS: usize = 2048;
/// A bar with many metrics is not longer from its clock on.
const MAX_CLOCK_BYTES: usize = 4096;
/// A longer name is another program's text that ran into the line; its end is kept.
const MAX_NAME_CHARS: usize = 40;
/// Names of Lightning's bars; the text before a name is not part of the bar.
const KNOWN_NAMES: [&str; 6] =
    ["Sanity Checking", "Epoch ", "Validation", "Testing", "Predicting", "Training"];

/// Kind of a bar, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum BarKind {
    Sanity,
    Training,
    Validation,
    Testing,
    Predicting,
    Other,
}

/// The unit of a printed figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RateUnit {
    /// Iterations per second.
    PerSecond,
    /// Seconds per iteration.
    Seconds,
}

/// A printed figure, and the half of its last digit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PrintedFigure {
    pub(super) value: f64,
    pub(super) half_digit: f64,
    pub(super) unit: RateUnit,
}

/// One state of a bar.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BarLine {
    pub(super) name: String,
    pub(super) kind: BarKind,
    pub(super) epoch: Option<u64>,
    pub(super) rank: Option<u64>,
    pub(super) count: u64,
    pub(super) total: Option<u64>,
    /// Whole seconds, rounded down.
    pub(super) elapsed: u64,
    pub(super) figure: Option<PrintedFigure>,
}

/// The bars of a line, from left to right.
pub(super) fn bars_in(line: &str) -> Vec<BarLine> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut label = None;
    for (open, _) in line.match_indices('[') {
        if open < start {
            continue;
        }
        let Some((elapsed, figure, end)) = line.get(open + 1..).and_then(clock) else { continue };
        let before = line.get(start..open).unwrap_or_default();
        let Some(head) = head(before) else { continue };
        let (rank, rest) = rank_of(head.name);
        let name = name_of(rest);
        // A label belongs to the bar if nothing but the bar follows it, and then to all bars of the line.
        let rank = rank.filter(|_| name == bare(rest));
        if found.is_empty() || rank.is_some() {
            label = rank;
        }
        found.push(BarLine {
            kind: kind_of(&name),
            epoch: epoch_of(&name),
            rank: label,
            name,
            count: head.count,
            total: head.total,
            elapsed,
            figure,
        });
        start = open + 1 + end;
    }
    found
}

/// The part in brackets: elapsed time, the figure if there is one, and where the brackets close.
fn clock(text: &str) -> Option<(u64, Option<PrintedFigure>, usize)> {
    let end = text.bytes().take(MAX_CLOCK_BYTES).position(|byte| byte == b']')?;
    let inside = text.get(..end)?;
    let stop = inside.find(['<', ','])?;
    let elapsed = seconds(inside.get(..stop)?)?;
    let after = inside.get(stop..)?;
    let rate = after.get(after.find(',')? + 1..)?;
    let rate = rate.split(',').next()?.trim();
    // A time alone is not the clock of a bar.
    let (_, unit) = rate.split_once('/')?;
    let figure = figure(rate);
    (figure.is_some() || (rate.starts_with('?') && !unit.is_empty())).then_some((elapsed, figure, end + 1))
}

/// `MM:SS` or `H:MM:SS`.
fn seconds(text: &str) -> Option<u64> {
    let mut parts = text.trim().split(':');
    let (first, second, third) = (parts.next()?, parts.next()?, parts.next());
    if parts.next().is_some() {
        return None;
    }
    let number = |text: &str| {
        let fine = (1..=6).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        if fine { text.parse::<u64>().ok() } else { None }
    };
    match third {
        Some(third) => Some(number(first)? * 3600 + number(second)? * 60 + number(third)?),
        None => Some(number(first)? * 60 + number(second)?),
    }
}

/// `4.93it/s` or `1.25s/it`, with any unit and a factor `k`, `M` or `G`.
fn figure(text: &str) -> Option<PrintedFigure> {
    let (number, rest) = number(text)?;
    let (above, below) = rest.split_once('/')?;
    let unit = if below == "s" {
        RateUnit::PerSecond
    } else if above == "s" {
        RateUnit::Seconds
    } else {
        return None;
    };
    Some(PrintedFigure { value: number.value, half_digit: number.half_digit, unit })
}

/// A decimal number at the start of a text.
struct PrintedNumber {
    value: f64,
    half_digit: f64,
}

fn number(text: &str) -> Option<(PrintedNumber, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(digits)?;
    if digits.len() > 18 || !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let value: f64 = digits.parse().ok()?;
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let mut half_digit = 0.5;
    for _ in 0..decimals {
        half_digit /= 10.0;
    }
    let factor = [('k', 1e3), ('M', 1e6), ('G', 1e9)]
        .into_iter()
        .find_map(|(letter, factor)| Some((factor, rest.strip_prefix(letter)?)));
    let (factor, rest) = factor.unwrap_or((1.0, rest));
    Some((PrintedNumber { value: value * factor, half_digit: half_digit * factor }, rest))
}

/// The part before the brackets.
struct BarPrefix<'a> {
    name: &'a str,
    count: u64,
    total: Option<u64>,
}

fn head(before: &str) -> Option<BarPrefix<'_>> {
    let before = last_chars(before, MAX_BAR_CHARS).trim_end();
    let (rest, counts) = match before.rsplit_once([' ', '|', ':']) {
        Some((rest, counts)) => (rest, counts),
        None => ("", before),
    };
    let Some((count, total)) = counts.split_once('/') else {
        // Without a total: `Reading: 12it [00:01, 9.50it/s]`.
        let (count, unit) = whole(counts)?;
        return (!unit.is_empty()).then_some(BarPrefix { name: rest, count, total: None });
    };
    let (count, leftover) = whole(count)?;
    let total = if total == "?" { None } else { Some(whole(total)?.0) };
    if !leftover.is_empty() {
        return None;
    }
    // The picture stands between two bars `|`, with the per cent in front when there is a total.
    let name = match before.rsplit_once('|').map(|(rest, _)| rest).and_then(|rest| rest.rsplit_once('|')) {
        Some((rest, _)) => without_percent(rest),
        None => rest,
    };
    Some(BarPrefix { name, count, total })
}

fn whole(text: &str) -> Option<(u64, &str)> {
    let (number, rest) = number(text)?;
    Some((number.value as u64, rest))
}

fn without_percent(text: &str) -> &str {
    let Some(rest) = text.strip_suffix('%') else { return text };
    rest.trim_end_matches(|c: char| c.is_ascii_digit())
}

fn last_chars(text: &str, most: usize) -> &str {
    let skip = text.char_indices().rev().nth(most.saturating_sub(1)).map_or(0, |(at, _)| at);
    text.get(skip..).unwrap_or(text)
}

/// The rank a line is labelled with: `[rank2]: …`, `[default2]: …` (torchrun), `2: …` (srun --label).
fn rank_of(text: &str) -> (Option<u64>, &str) {
    let text = text.trim_start();
    if let Some((label, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let digits = label.trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
        let words = label.strip_suffix(digits).unwrap_or_default().trim_end();
        if matches!(words, "" | "rank" | "Rank" | "default" | "trainer")
            && let Ok(rank) = digits.parse()
        {
            return (Some(rank), rest.trim_start_matches([':', ' ']));
        }
    }
    if let Some((label, rest)) = text.split_once(':')
        && label.len() <= 6
        && label.bytes().all(|byte| byte.is_ascii_digit())
        && let Ok(rank) = label.parse()
    {
        return (Some(rank), rest.trim_start());
    }
    (None, text)
}

fn bare(text: &str) -> &str {
    text.trim().trim_end_matches(':').trim_end()
}

/// Name of the bar in the log.
fn name_of(text: &str) -> String {
    let text = bare(text);
    let known = KNOWN_NAMES.iter().filter_map(|known| text.rfind(known)).max();
    let text = known.and_then(|at| text.get(at..)).unwrap_or(text);
    last_chars(text, MAX_NAME_CHARS).trim().to_owned()
}

fn kind_of(name: &str) -> BarKind {
    let lower = name.to_lowercase();
    let word = |wanted: &str| lower.split(|c: char| !c.is_alphanumeric()).any(|word| word == wanted);
    if lower.contains("sanity") {
        BarKind::Sanity
    } else if lower.contains("valid") || word("val") || lower.contains("eval") {
        BarKind::Validation
    } else if word("test") || lower.contains("testing") {
        BarKind::Testing
    } else if lower.contains("predict") {
        BarKind::Predicting
    } else if lower.contains("train") || epoch_of(name).is_some() {
        BarKind::Training
    } else {
        BarKind::Other
    }
}

/// The number after the word `epoch`.
fn epoch_of(name: &str) -> Option<u64> {
    let lower = name.to_lowercase();
    let after = lower.get(lower.find("epoch")? + "epoch".len()..)?;
    let after = after.trim_start_matches([' ', ':', '#', '=', '[']);
    let digits = after.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> BarLine {
        let found = bars_in(line);
        assert_eq!(found.len(), 1, "{line}: {found:?}");
        found.into_iter().next().unwrap()
    }

    #[test]
    fn a_bar_is_parsed() {
        let bar = one("Epoch 3:  40%|####      | 4/10 [1:00:02<00:03,  1.95it/s, loss=0.1, v_num=x]");
        assert_eq!((bar.name.as_str(), bar.kind, bar.epoch), ("Epoch 3", BarKind::Training, Some(3)));
        assert_eq!((bar.count, bar.total, bar.elapsed), (4, Some(10), 3602));
        let figure = bar.figure.unwrap();
        assert_eq!((figure.value, figure.unit), (1.95, RateUnit::PerSecond));
        assert!((figure.half_digit - 0.005).abs() < 1e-12);
    }

    #[test]
    fn other_shapes_are_known() {
        let slow = one("  1%|          | 12/1200 [00:30<49:30,  2.50s/it]");
        assert_eq!(slow.figure.map(|f| f.unit), Some(RateUnit::Seconds));
        assert_eq!((slow.name.as_str(), slow.kind), ("", BarKind::Other));
        let epochs = one("Epoch:  10%|#  | 1/10 [00:30<04:30, 30.00s/it]");
        assert_eq!((epochs.kind, epochs.epoch), (BarKind::Other, None), "it counts epochs");
        let open = one("Reading: 12it [00:01,  9.50it/s]");
        assert_eq!((open.name.as_str(), open.count, open.total), ("Reading", 12, None));
        assert_eq!(open.kind, BarKind::Other);
        let none = one("Training: |          | 0/? [00:00<?, ?it/s]");
        assert_eq!((none.count, none.total, none.figure), (0, None, None));
        let big = one("Copy: 50%|##| 1.20k/2.40k [00:10<00:10, 120B/s]");
        assert_eq!((big.count, big.total), (1200, Some(2400)));
    }

    #[test]
    fn bars_and_words_may_share_a_line() {
        let line = "x.py:43: UserWarning: [1] seeEpoch 0:   0%|          | 0/9 [00:00<?, ?it/s]Loss: 0.0\
                    Epoch 0:  11%|#         | 1/9 [00:37<09:30,  0.03it/s]<sys>:0: Warning";
        let found = bars_in(line);
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(|bar| bar.name == "Epoch 0" && bar.rank.is_none()));
    }

    #[test]
    fn labels_name_ranks() {
        let tail = "Epoch 0:  50%|#####     | 1/2 [00:01<00:01,  1.00it/s]";
        for (label, rank) in [("[rank2]: ", 2), ("[default3]:", 3), ("1: ", 1), ("[7]:", 7)] {
            assert_eq!(one(&format!("{label}{tail}")).rank, Some(rank), "{label}");
        }
        assert_eq!(one(tail).rank, None);
        assert_eq!(one(&format!("[rank2]:[W1106 shim.cpp:456] not initialized{tail}")).rank, None);
    }

    #[test]
    fn text_without_a_bar_is_ignored() {
        for line in
            ["", "[", "[00:01<00:02]", "at [12:30, 4 items/day]", "| 3/4 [x<y, 1it/s]", "[1:2:3:4, 1it/s]"]
        {
            assert!(bars_in(line).is_empty(), "{line}");
        }
    }
}
