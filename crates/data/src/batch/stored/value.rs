//! A mask as bytes: a checksum, then the mask in one of three forms.

use super::StoredForm;
use crate::batch::mask::{MaskLayout, MaskMethod, MaskSet};
use crate::batch::removal::removed;
use crate::cell::{Cell, Deletion};

/// Bytes of the checksum in front of every value.
pub(super) const CHECKSUM: usize = 8;

/// Bytes that are copied or packed at a time, so that they are still in the nearest cache when they are summed.
const BLOCK: usize = 4096;

/// Makes values; keeps its memory from one to the next.
#[derive(Debug)]
pub(super) struct Encoder {
    form: StoredForm,
    layout: MaskLayout,
    mask: MaskSet,
    positions: Vec<u32>,
    value: Vec<u8>,
}

impl Encoder {
    pub(super) fn new(cell: &Cell, form: StoredForm) -> Self {
        let layout = MaskLayout::of(cell);
        let mask = MaskSet::all_kept(&layout);
        Self { form, layout, mask, positions: Vec::new(), value: Vec::new() }
    }

    /// The value of a deletion, whose genes must be in the cell, and its checksum.
    pub(super) fn encode(&mut self, cell: &Cell, deletion: &Deletion) -> (&[u8], u64) {
        self.value.clear();
        self.value.extend_from_slice(&[0; CHECKSUM]);
        match self.form {
            StoredForm::Indices => {
                self.positions.clear();
                removed(cell, deletion, |section, position| {
                    self.positions.push(self.layout.bit(section, position) as u32);
                });
                self.positions.sort_unstable();
                self.positions.dedup();
                self.value.extend(self.positions.iter().flat_map(|position| position.to_le_bytes()));
            }
            StoredForm::Bits => {
                self.mask.assign(&self.layout, cell, deletion, MaskMethod::ByIncidence);
                self.value.extend(self.mask.all_words().iter().flat_map(|word| word.to_le_bytes()));
            }
            StoredForm::Bytes => {
                self.mask.assign(&self.layout, cell, deletion, MaskMethod::ByIncidence);
                for (start, bits) in self.layout.sections() {
                    let end = self.value.len() + bits;
                    for &word in &self.mask.all_words()[start..start + bits.div_ceil(64)] {
                        self.value.extend_from_slice(&crate::batch::mask::bytes_of(word));
                    }
                    // The last word may reach beyond the section.
                    self.value.truncate(end);
                }
            }
        }
        let mut sums = LaneSums::default();
        sums.add(&self.value[CHECKSUM..]);
        let checksum = sums.finish();
        self.value[..CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
        (&self.value, checksum)
    }
}

/// Fills `mask` from the value. The error names the fault of the value; the mask is then of no use.
pub(super) fn decode(
    form: StoredForm,
    value: &[u8],
    layout: &MaskLayout,
    mask: &mut MaskSet,
) -> Result<(), &'static str> {
    let (checksum, payload) = value.split_first_chunk::<CHECKSUM>().ok_or("it is too short")?;
    let mut sums = LaneSums::default();
    match form {
        StoredForm::Indices => {
            let (positions, []) = payload.as_chunks::<4>() else { return Err("it has another length") };
            mask.keep_all(layout);
            let words = mask.all_words_mut();
            for position in positions {
                let position = u32::from_le_bytes(*position) as usize;
                let word = words.get_mut(position / 64).ok_or("a position is beyond the mask")?;
                *word &= !(1 << (position % 64));
            }
            sums.add(payload);
        }
        StoredForm::Bits => {
            if payload.len() != 8 * layout.word_count() {
                return Err("it has another length");
            }
            for (words, bytes) in mask.all_words_mut().chunks_mut(BLOCK / 8).zip(payload.chunks(BLOCK)) {
                for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
                    *word = u64::from_le_bytes(*bytes);
                }
                sums.add(bytes);
            }
        }
        StoredForm::Bytes => {
            if payload.len() != layout.bit_count() {
                return Err("it has another length");
            }
            let mut rest = payload;
            for (start, bits) in layout.sections() {
                let (flags, after) = rest.split_at(bits);
                rest = after;
                let words = &mut mask.all_words_mut()[start..start + bits.div_ceil(64)];
                for (word, flags) in words.iter_mut().zip(flags.chunks(64)) {
                    *word = word_of(flags);
                }
            }
            sums.add(payload);
        }
    }
    if sums.finish() == u64::from_le_bytes(*checksum) { Ok(()) } else { Err("its checksum differs") }
}

/// Up to 64 bytes of 0 and 1 as a word, lowest first.
fn word_of(flags: &[u8]) -> u64 {
    // Each byte's lowest bit is carried to its bit in the highest byte of the product.
    let bits = |eight: &[u8; 8]| {
        (u64::from_le_bytes(*eight) & 0x0101_0101_0101_0101).wrapping_mul(0x0102_0408_1020_4080) >> 56
    };
    let (groups, rest) = flags.as_chunks::<8>();
    let mut word =
        groups.iter().enumerate().fold(0, |word, (group, eight)| word | bits(eight) << (8 * group));
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        word |= bits(&last) << (8 * groups.len());
    }
    word
}

/// Sums and sums of sums over eight lanes of words: as fast as memory, and no change of one word goes unseen.
///
/// It guards against accidents of a disk, not against a forger.
#[derive(Default)]
struct LaneSums {
    once: [u64; 8],
    twice: [u64; 8],
    length: u64,
}

impl LaneSums {
    /// Adds bytes; all pieces but the last must be whole multiples of 64.
    fn add(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        let (blocks, rest) = bytes.as_chunks::<64>();
        let (mut once, mut twice) = (self.once, self.twice);
        let mut add = |block: &[u8; 64]| {
            for (lane, word) in block.as_chunks::<8>().0.iter().enumerate() {
                once[lane] = once[lane].wrapping_add(u64::from_le_bytes(*word));
                twice[lane] = twice[lane].wrapping_add(once[lane]);
            }
        };
        blocks.iter().for_each(&mut add);
        if !rest.is_empty() {
            let mut last = [0; 64];
            last[..rest.len()].copy_from_slice(rest);
            add(&last);
        }
        (self.once, self.twice) = (once, twice);
    }

    fn finish(&self) -> u64 {
        let mix = |sum: u64, lane: &u64| (sum ^ lane).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        self.once.iter().chain(&self.twice).fold(self.length, mix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_bits_in_order() {
        for word in [0, 1, u64::MAX, 0x8000_0000_0000_0001, 0x0123_4567_89ab_cdef] {
            assert_eq!(word_of(&crate::batch::mask::bytes_of(word)), word, "{word:#x}");
        }
        assert_eq!(word_of(&[1, 0, 1]), 0b101);
    }

    #[test]
    fn every_flipped_bit_and_every_lost_byte_is_seen() {
        let bytes: Vec<u8> = (0..200_u32).map(|i| (i * 37 % 251) as u8).collect();
        let sum = |bytes: &[u8]| {
            let mut sums = LaneSums::default();
            sums.add(bytes);
            sums.finish()
        };
        for index in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[index] ^= 1 << bit;
                assert_ne!(sum(&changed), sum(&bytes), "bit {bit} of byte {index}");
            }
            assert_ne!(sum(&bytes[..index]), sum(&bytes));
        }
        let mut in_pieces = LaneSums::default();
        in_pieces.add(&bytes[..128]);
        in_pieces.add(&bytes[128..]);
        assert_eq!(in_pieces.finish(), sum(&bytes));
        let mut swapped = bytes.clone();
        swapped.swap(3, 67);
        assert_ne!(sum(&swapped), sum(&bytes), "the order matters");
    }
}
