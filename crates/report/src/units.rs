//! How figures are spelt: times with a fitting unit, shares, counts. Formatting only.

/// Microseconds with a fitting unit.
pub(crate) fn time(us: f64) -> String {
    // What rounds to nothing has no sign.
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

/// A fraction in per cent.
pub(crate) fn percent(fraction: f64) -> String {
    format!("{:.1} %", fraction * 100.0)
}

/// A whole number with its thousands apart: 8,001,178.
pub fn count(value: impl Into<u128>) -> String {
    let value: u128 = value.into();
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

/// A rate per second: a digit behind the point where it says something.
pub fn rate(value: f64) -> String {
    if value >= 1e3 { count(value.round() as u64) } else { format!("{value:.1}") }
}

/// Bytes with a fitting unit.
pub fn bytes(value: i64) -> String {
    let magnitude = value.unsigned_abs() as f64;
    if magnitude >= 1_073_741_824.0 {
        format!("{:.2} GiB", value as f64 / 1_073_741_824.0)
    } else if magnitude >= 1_048_576.0 {
        format!("{:.1} MiB", value as f64 / 1_048_576.0)
    } else {
        format!("{:.1} KiB", value as f64 / 1024.0)
    }
}

/// A number with two decimals.
pub(crate) fn two(value: f64) -> String {
    format!("{value:.2}")
}

/// A number with three decimals.
pub(crate) fn three(value: f64) -> String {
    format!("{value:.3}")
}

/// A ratio with its bounds; a word where one side has nothing.
pub(crate) fn ratio(ratio: Option<f64>, low: Option<f64>, high: Option<f64>) -> String {
    match (ratio, low, high) {
        (Some(0.0), ..) => "gone".to_owned(),
        (Some(ratio), Some(low), Some(high)) => format!("{ratio:.3} ({low:.3} to {high:.3})"),
        (Some(ratio), ..) => format!("{ratio:.3}"),
        _ => "new".to_owned(),
    }
}

/// A name cut to a width, with the middle left out: beginnings and ends tell kernels apart.
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

/// Names cut to a width. Those that would be cut to the same are cut about the place where they begin to differ.
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

/// Characters shown before the place where two names begin to differ.
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
        assert_eq!(shortened("abcdefghij", 7), "abcd…ij");
        assert_eq!(bytes(-1 << 30), "-1.00 GiB");
    }
}
