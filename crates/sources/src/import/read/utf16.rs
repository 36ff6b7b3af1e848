//! UTF-16 to UTF-8, on the fly. A lone surrogate becomes U+FFFD, which no column accepts.

use std::io::{self, Read};

/// Byte order of a unit.
#[derive(Debug, Clone, Copy)]
pub(super) enum Order {
    Little,
    Big,
}

/// Turns a UTF-16 stream, byte-order mark included, into UTF-8 without it.
pub(super) struct Decoder<R> {
    raw: R,
    order: Order,
    /// Bytes read and not yet decoded: at most a unit and a high surrogate between calls.
    pending: Vec<u8>,
    ready: Vec<u8>,
    taken: usize,
    is_start: bool,
    is_end: bool,
}

impl<R: Read> Decoder<R> {
    pub(super) fn new(raw: R, order: Order) -> Self {
        Self { raw, order, pending: Vec::new(), ready: Vec::new(), taken: 0, is_start: true, is_end: false }
    }

    fn refill(&mut self) -> io::Result<()> {
        self.ready.clear();
        self.taken = 0;
        let kept = self.pending.len();
        self.pending.resize(kept + (1 << 14), 0);
        let count = self.raw.read(&mut self.pending[kept..])?;
        self.pending.truncate(kept + count);
        self.is_end = count == 0;

        let whole = self.pending.len() / 2 * 2;
        let unit = |pair: &[u8]| match self.order {
            Order::Little => u16::from_le_bytes([pair[0], pair[1]]),
            Order::Big => u16::from_be_bytes([pair[0], pair[1]]),
        };
        let mut units: Vec<u16> = self.pending[..whole].chunks_exact(2).map(unit).collect();
        // A high surrogate waits for its partner, unless there is no more.
        if !self.is_end && units.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit)) {
            units.pop();
        }
        self.pending.drain(..2 * units.len());
        if self.is_end && !self.pending.is_empty() {
            units.push(0xfffd);
            self.pending.clear();
        }
        if self.is_start && !units.is_empty() {
            self.is_start = false;
            if units[0] == 0xfeff {
                units.remove(0);
            }
        }
        let mut encoded = [0; 4];
        for decoded in char::decode_utf16(units) {
            let letter = decoded.unwrap_or(char::REPLACEMENT_CHARACTER);
            self.ready.extend_from_slice(letter.encode_utf8(&mut encoded).as_bytes());
        }
        Ok(())
    }
}

impl<R: Read> Read for Decoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.ready.len() && !self.is_end {
            self.refill()?;
        }
        let count = buffer.len().min(self.ready.len() - self.taken);
        buffer[..count].copy_from_slice(&self.ready[self.taken..self.taken + count]);
        self.taken += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte at a time, so that every unit is split.
    struct Trickle<'a>(&'a [u8]);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.0.len().min(buffer.len()).min(1);
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    fn decode(bytes: &[u8], order: Order) -> String {
        let mut text = String::new();
        Decoder::new(Trickle(bytes), order).read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn both_orders_and_surrogates_come_through() {
        let text = "\u{feff}ntg1\u{394} \u{1f9ec}\n";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(decode(&little, Order::Little), text[3..]);
        assert_eq!(decode(&big, Order::Big), text[3..]);
    }

    #[test]
    fn halves_become_replacement_characters() {
        assert_eq!(decode(&[0x3d, 0xd8, 0x41, 0x00, 0x42], Order::Little), "\u{fffd}A\u{fffd}");
    }
}
