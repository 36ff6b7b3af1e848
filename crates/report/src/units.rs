//! Formats figures: times with a fitting unit, shares, counts.

use std::time::Duration;

/// Formats microseconds with a fitting unit.
pub(crate) fn time(us: f64) -> String {
    // A time that rounds to zero has no sign.
    let us = if us.abs() < 5e-4 { 0.0 } else { us };
    let magnitude = us.abs();
    if magnitude >= 1e6 {
        format!("{:.3} s", us / 1e6)
    } else if magnitude >= 1e3 {
        format!("{:.3} ms", us / 1e3)
    } else {
        format!("{us:.3} µs")
    }
}

/// Formats a fraction in per cent.
pub(crate) fn percent(fraction: f64) -> String {
    format!("{:.1} %", fraction * 100.0)
}

/// Formats a quantity with three digits and a prefix of its unit: `312.0 T`.
pub(crate) fn si(value: f64) -> String {
    const PREFIXES: [(f64, &str); 5] = [(1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    let prefix = PREFIXES.into_iter().find(|(size, _)| value.abs() >= *size);
    prefix.map_or_else(|| format!("{value:.1} "), |(size, name)| format!("{:.1} {name}", value / size))
}

/// Formats a whole number with separators: 8,001,178.
pub fn count(value: impl TryInto<u128>) -> String {
    let value: u128 = value.try_into().unwrap_or_default();
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a number of things, named in the singular: `1 term`, `2,000 terms`, `3 queries`.
pub fn counted(value: impl TryInto<u128>, noun: &str) -> String {
    let value = count(value);
    match noun.strip_suffix('y') {
        _ if value == "1" => format!("1 {noun}"),
        Some(stem) => format!("{value} {stem}ies"),
        None => format!("{value} {noun}s"),
    }
}

/// Returns the form of the verb for a number of things.
#[cfg(feature = "lab")]
pub(crate) fn have(value: usize) -> &'static str {
    if value == 1 { "has" } else { "have" }
}

/// Formats a rate per second, with a decimal where it is small.
pub fn rate(value: f64) -> String {
    if value >= 1e3 { count(value.round() as u64) } else { format!("{value:.1}") }
}

/// Formats bytes with a fitting unit.
pub fn bytes(value: impl TryInto<i64>) -> String {
    let value: i64 = value.try_into().unwrap_or(i64::MAX);
    let magnitude = value.unsigned_abs() as f64;
    if magnitude >= 1_073_741_824.0 {
        format!("{:.2} GiB", value as f64 / 1_073_741_824.0)
    } else if magnitude >= 1_048_576.0 {
        format!("{:.1} MiB", value as f64 / 1_048_576.0)
    } else {
        format!("{:.1} KiB", value as f64 / 1024.0)
    }
}

/// Formats a figure that may be undefined, with four decimals.
pub fn figure(value: Option<f64>) -> String {
    value.map_or_else(|| "undefined".to_owned(), |value| format!("{value:.4}"))
}

/// Formats a time with a fitting unit, from seconds to days.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        ..10.0 => format!("{seconds:.1} s"),
        ..120.0 => format!("{seconds:.0} s"),
        ..7_200.0 => format!("{:.0} min", seconds / 60.0),
        ..172_800.0 => format!("{:.1} h", seconds / 3_600.0),
        _ => format!("{:.1} days", seconds / 86_400.0),
    }
}

/// Formats seconds with a fitting unit, from seconds to days.
pub fn duration_of_seconds(seconds: f64) -> String {
    duration(Duration::try_from_secs_f64(seconds).unwrap_or_default())
}

/// Draws a horizontal bar of a share of `width` columns, to an eighth of a column.
pub fn bar(share: f64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * (8 * width) as f64).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// Formats a number with two decimals.
pub(crate) fn two(value: f64) -> String {
    format!("{value:.2}")
}

/// Formats a number with three decimals.
pub(crate) fn three(value: f64) -> String {
    format!("{value:.3}")
}

/// Formats a ratio with its bounds; `new` or `gone` where one side is zero.
pub(crate) fn ratio(ratio: Option<f64>, low: Option<f64>, high: Option<f64>) -> String {
    match (ratio, low, high) {
        (Some(0.0), ..) => "gone".to_owned(),
        (Some(ratio), Some(low), Some(high)) => format!("{ratio:.3} ({low:.3} to {high:.3})"),
        (Some(ratio), ..) => format!("{ratio:.3}"),
        _ => "new".to_owned(),
    }
}

/// Cuts the middle of a long name: the beginnings and ends of kernels differ.
pub(crate) fn shortened(name: &str, width: usize) -> String {
    let one_line: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let length = one_line.chars().count();
    if length <= width || width < 5 {
        return one_line;
    }
    let head = (width - 1) * 2 / 3;
    let tail = width - 1 - head;
    let start: String = one_line.chars().take(head).collect();
    let end: String = one_line.chars().skip(length - tail).collect();
    format!("{start}…{end}")
}

/// Cuts long names; where two would become equal, the part kept is the one where they begin to differ.
pub(crate) fn shortened_apart(names: &[&str], width: usize) -> Vec<String> {
    let cut: Vec<String> = names.iter().map(|name| shortened(name, width)).collect();
    let apart = |name: &str, own: &String| {
        let alike = names.iter().zip(&cut).filter(|(other, text)| **other != name && *text == own);
        let common = |other: &str| name.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
        let Some(common) = alike.map(|(other, _)| common(other)).min() else { return own.clone() };
        let head = width / 3;
        let start: String = name.chars().take(head).collect();
        let rest: String = name.chars().skip(common.saturating_sub(CONTEXT)).collect();
        shortened(&format!("{start}…{}", shortened(&rest, width - head - 1)), width)
    };
    names.iter().zip(&cut).map(|(name, own)| apart(name, own)).collect()
}

/// Characters shown before the first difference of two names.
const CONTEXT: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        assert_eq!(time(4.224), "4.224 µs");
        assert_eq!(time(1_230_289.0), "1.230 s");
        assert_eq!(count(8_001_178_u64), "8,001,178");
        assert_eq!(count(12_u64), "12");
        let terms = [0_usize, 1, 2_000].map(|terms| counted(terms, "term"));
        assert_eq!(terms, ["0 terms", "1 term", "2,000 terms"]);
        assert_eq!([1_usize, 3].map(|queries| counted(queries, "query")), ["1 query", "3 queries"]);
        assert_eq!(shortened("abcdefghij", 7), "abcd…ij");
        assert_eq!(bytes(-1 << 30), "-1.00 GiB");
    }

    #[test]
    fn bars_are_as_long_as_their_share() {
        assert_eq!(bar(1.0, 3), "███");
        assert_eq!(bar(0.5, 3), "█▌");
        assert_eq!(bar(0.0, 3), "");
        assert_eq!(bar(7.0, 2), "██");
    }
}
