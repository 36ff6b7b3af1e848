//! Lines with their numbers, of bounded length.

use super::input::{InputBytes, read_error};
use crate::import::fault;
use knockout_base::error::Error;
use std::io::Read;
use std::path::PathBuf;

/// The longest line accepted; the widest real one, a regulation matrix, has a few kilobytes.
pub(crate) const MAX_LINE: usize = 4 << 20;

/// Reads lines without their ends (LF or CRLF); the last may lack one.
pub(crate) struct Lines<'a> {
    path: PathBuf,
    stream: Box<dyn Read + 'a>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    is_end: bool,
    number: u64,
}

impl std::fmt::Debug for Lines<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lines")
            .field("path", &self.path)
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

impl<'a> Lines<'a> {
    /// Starts at the first line; `expected` names the format for files that are recognisably something else.
    pub(crate) fn new(input: InputBytes<'a>, expected: &str) -> Result<Self, Error> {
        let (path, stream) = input.expect_text(expected)?;
        Ok(Self { path, stream, buffer: vec![0; 1 << 17], start: 0, end: 0, is_end: false, number: 0 })
    }

    /// The number of the line last read, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The next line as a range of the buffer, valid until the next call.
    pub(super) fn next_span(&mut self) -> Result<Option<(usize, usize)>, Error> {
        self.advance()
    }

    /// The bytes of the line in that range.
    pub(super) fn bytes(&self, from: usize, to: usize) -> &[u8] {
        &self.buffer[from..to]
    }

    /// The next line as text, for formats whose every byte matters.
    pub(crate) fn next_text(&mut self) -> Result<Option<&str>, Error> {
        let Some((from, to)) = self.advance()? else { return Ok(None) };
        if let Ok(text) = std::str::from_utf8(&self.buffer[from..to]) {
            return Ok(Some(text));
        }
        let value = shown(&self.buffer[from..to]);
        Err(self.error(fault::bad_value(value, "UTF-8 text".to_owned())))
    }

    /// An error at the current line.
    pub(crate) fn error(&self, error: Error) -> Error {
        error.in_file(&self.path).on_line(self.number)
    }

    fn advance(&mut self) -> Result<Option<(usize, usize)>, Error> {
        let mut searched = self.start;
        loop {
            if let Some(found) = memchr::memchr(b'\n', &self.buffer[searched..self.end]) {
                let line = (self.start, searched + found);
                self.start = line.1 + 1;
                return self.finish(line).map(Some);
            }
            if self.is_end {
                let line = (self.start, self.end);
                self.start = self.end;
                return if line.0 == line.1 { Ok(None) } else { self.finish(line).map(Some) };
            }
            if self.end - self.start > MAX_LINE {
                self.number += 1;
                return Err(self.error(fault::long_line(MAX_LINE)));
            }
            searched = self.fill()?;
        }
    }

    /// Moves the unfinished line to the front and reads on; returns where the new bytes start.
    fn fill(&mut self) -> Result<usize, Error> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.buffer.len() {
            self.buffer.resize(2 * self.end, 0);
        }
        let from = self.end;
        match self.stream.read(&mut self.buffer[from..]) {
            Ok(0) => self.is_end = true,
            Ok(count) => self.end += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => {
                self.number += 1;
                return Err(self.error(read_error(error)));
            }
        }
        Ok(from)
    }

    fn finish(&mut self, (from, mut to): (usize, usize)) -> Result<(usize, usize), Error> {
        self.number += 1;
        if from < to && self.buffer[to - 1] == b'\r' {
            to -= 1;
        }
        if memchr::memchr(0, &self.buffer[from..to]).is_some() {
            return Err(self.error(fault::something_else(
                "not text: the line has a NUL byte".to_owned(),
                "UTF-8 text, or UTF-16 with a byte-order mark".to_owned(),
            )));
        }
        Ok((from, to))
    }
}

/// Bytes for a message: text as far as it goes, not too much of it.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(240)]);
    let mut short: String = text.chars().take(60).collect();
    if short.len() < text.len() || bytes.len() > 240 {
        short.push('…');
    }
    short
}
