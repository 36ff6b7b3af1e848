//! One line into cells.

/// Separator between two cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Separator {
    /// A TAB.
    Tab,
    /// A comma.
    Comma,
    /// A semicolon.
    Semicolon,
    /// One space.
    Space,
}

impl Separator {
    /// The separator as a byte.
    pub fn byte(self) -> u8 {
        match self {
            Self::Tab => b'\t',
            Self::Comma => b',',
            Self::Semicolon => b';',
            Self::Space => b' ',
        }
    }

    /// The separator a first line seems to use: the strongest of those that occur in it.
    pub fn guess(line: &[u8]) -> Self {
        [Self::Tab, Self::Comma, Self::Semicolon, Self::Space]
            .into_iter()
            .find(|separator| line.contains(&separator.byte()))
            .unwrap_or(Self::Tab)
    }
}

/// Whether a cell may be wrapped in double quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quotes {
    /// `"` is a character like any other.
    Plain,
    /// A cell that starts with `"` ends at the next single `"`; `""` is one of them.
    Double,
}

/// A cell as a range of the line's bytes.
pub(super) type CellSpan = (u32, u32);

/// Text, cells and line of a row.
pub(super) type RowCells<'r> = (&'r [u8], &'r [CellSpan], u64);

/// A quote was opened and not closed.
#[derive(Debug)]
pub(super) struct OpenQuote;

/// Splits a line. Doubled quotes need rewriting: then the cells lie in `scratch` and `true` is returned.
pub(super) fn split(
    line: &[u8],
    separator: u8,
    quotes: Quotes,
    cells: &mut Vec<CellSpan>,
    scratch: &mut Vec<u8>,
) -> Result<bool, OpenQuote> {
    cells.clear();
    if quotes == Quotes::Double && memchr::memchr(b'"', line).is_some() {
        return split_quoted(line, separator, cells, scratch).map(|()| true);
    }
    let mut start = 0;
    // Cells are short: a plain scan beats a vectorised search that restarts for each.
    for (at, &byte) in line.iter().enumerate() {
        if byte == separator {
            cells.push((start, at as u32));
            start = at as u32 + 1;
        }
    }
    cells.push((start, line.len() as u32));
    Ok(false)
}

fn split_quoted(
    line: &[u8],
    separator: u8,
    cells: &mut Vec<CellSpan>,
    scratch: &mut Vec<u8>,
) -> Result<(), OpenQuote> {
    scratch.clear();
    let mut at = 0;
    loop {
        let start = scratch.len() as u32;
        if line.get(at) == Some(&b'"') {
            at += 1;
            loop {
                match (line.get(at), line.get(at + 1)) {
                    (Some(b'"'), Some(b'"')) => {
                        scratch.push(b'"');
                        at += 2;
                    }
                    (Some(b'"'), next) if next.is_none() || next == Some(&separator) => {
                        at += 1;
                        break;
                    }
                    // Text behind a closing quote, or a quote inside: kept as it stands.
                    (Some(&byte), Some(_)) => {
                        scratch.push(byte);
                        at += 1;
                    }
                    _ => return Err(OpenQuote),
                }
            }
        } else {
            let end = memchr::memchr(separator, &line[at..]).map_or(line.len(), |found| at + found);
            scratch.extend_from_slice(&line[at..end]);
            at = end;
        }
        cells.push((start, scratch.len() as u32));
        if at >= line.len() {
            return Ok(());
        }
        // The separator; a line that ends with one has an empty last cell.
        at += 1;
        if at == line.len() {
            cells.push((scratch.len() as u32, scratch.len() as u32));
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(line: &str, separator: u8) -> Option<Vec<String>> {
        let (mut spans, mut scratch) = (Vec::new(), Vec::new());
        let moved = split(line.as_bytes(), separator, Quotes::Double, &mut spans, &mut scratch).ok()?;
        let text = if moved { &scratch[..] } else { line.as_bytes() };
        let cell =
            |&(from, to): &CellSpan| String::from_utf8_lossy(&text[from as usize..to as usize]).into_owned();
        Some(spans.iter().map(cell).collect())
    }

    #[test]
    fn quotes_are_taken_off_and_doubled_ones_halved() {
        assert_eq!(cells("a\t\tb\t", b'\t').unwrap(), ["a", "", "b", ""]);
        assert_eq!(cells("\"a,b\",\"c\"\"d\",e", b',').unwrap(), ["a,b", "c\"d", "e"]);
        assert_eq!(cells("\"\",\"TF\",", b',').unwrap(), ["", "TF", ""]);
        assert_eq!(cells("a,5\"", b',').unwrap(), ["a", "5\""]);
        assert_eq!(cells("", b',').unwrap(), [""]);
        assert!(cells("a,\"b", b',').is_none());
        assert!(cells("\"", b',').is_none());
    }
}
