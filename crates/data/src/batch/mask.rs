//! Deletions as bit masks: one bit per gene, edge, reaction and metabolic entry; set means kept.

use crate::batch::removal::{MaskSection, removed};
use crate::cell::{Cell, Deletion, GeneId, Network};

/// Where each section of a cell's masks lies. Sections begin at whole words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaskLayout {
    /// First word and bit count of genes, reactions, requirements, coefficients, then every network.
    sections: Vec<(usize, usize)>,
    word_count: usize,
    bit_count: usize,
}

impl MaskLayout {
    /// The layout of a cell's masks.
    pub fn of(cell: &Cell) -> Self {
        let metabolism = cell.metabolism();
        let mut bits = vec![
            cell.genes().len(),
            metabolism.map_or(0, |m| m.reactions().len()),
            metabolism.map_or(0, |m| m.requirements().len()),
            metabolism.map_or(0, |m| m.coefficients().len()),
        ];
        bits.extend(cell.networks().iter().map(Network::edge_count));
        let bit_count = bits.iter().sum();
        let mut word_count = 0;
        let sections = bits
            .into_iter()
            .map(|bits| {
                let start = word_count;
                word_count += bits.div_ceil(64);
                (start, bits)
            })
            .collect();
        Self { sections, word_count, bit_count }
    }

    /// How many flags a mask has.
    pub(crate) fn bit_count(&self) -> usize {
        self.bit_count
    }

    /// How many 64-bit words a mask takes.
    pub(crate) fn word_count(&self) -> usize {
        self.word_count
    }

    /// First word and bit count of every section, in the order of the words.
    pub(crate) fn sections(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.sections.iter().copied()
    }

    /// The index of a position among the bits of all words.
    pub(crate) fn bit(&self, section: MaskSection, position: usize) -> usize {
        64 * self.section(section).0 + position
    }

    fn section(&self, section: MaskSection) -> (usize, usize) {
        self.sections[match section {
            MaskSection::Genes => 0,
            MaskSection::Reactions => 1,
            MaskSection::Requirements => 2,
            MaskSection::Coefficients => 3,
            MaskSection::Network(index) => 4 + index,
        }]
    }
}

/// How a mask is computed; the results are bit-equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaskMethod {
    /// Start from all set, clear what the deleted genes' rows name: proportional to what goes.
    ByIncidence,
    /// Test both ends of every edge: proportional to the whole graph. The plain definition, kept to check the other.
    ByEdge,
}

/// All masks of one sample, in one piece of memory. Bits beyond a section's length are 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaskSet {
    words: Vec<u64>,
}

impl MaskSet {
    /// Masks of the unchanged cell.
    pub fn all_kept(layout: &MaskLayout) -> Self {
        let mut mask = Self { words: vec![0; layout.word_count] };
        mask.keep_all(layout);
        mask
    }

    /// Sets every flag again.
    pub(crate) fn keep_all(&mut self, layout: &MaskLayout) {
        self.words.fill(u64::MAX);
        for &(start, bits) in &layout.sections {
            if bits % 64 != 0 {
                self.words[start + bits / 64] = (1 << (bits % 64)) - 1;
            }
        }
    }

    /// Makes this the mask of a deletion, whatever it was before.
    pub fn assign(&mut self, layout: &MaskLayout, cell: &Cell, deletion: &Deletion, method: MaskMethod) {
        self.keep_all(layout);
        match method {
            MaskMethod::ByIncidence => {
                removed(cell, deletion, |section, position| self.clear(layout, section, position));
            }
            MaskMethod::ByEdge => self.clear_by_edge(layout, cell, deletion),
        }
    }

    fn clear_by_edge(&mut self, layout: &MaskLayout, cell: &Cell, deletion: &Deletion) {
        let is_gone = |gene: u32| deletion.contains(GeneId(gene));
        for gene in (0..cell.genes().len()).filter(|&gene| is_gone(gene as u32)) {
            self.clear(layout, MaskSection::Genes, gene);
        }
        for (index, network) in cell.networks().iter().enumerate() {
            for (position, (&source, &target)) in network.sources().iter().zip(network.targets()).enumerate()
            {
                if is_gone(source) || is_gone(target) {
                    self.clear(layout, MaskSection::Network(index), position);
                }
            }
        }
        let Some(metabolism) = cell.metabolism() else { return };
        for entry in metabolism.requirements().iter().filter(|entry| is_gone(entry.gene)) {
            self.clear(layout, MaskSection::Reactions, entry.reaction as usize);
        }
        for (position, entry) in metabolism.requirements().iter().enumerate() {
            if !self.is_kept(layout, MaskSection::Reactions, entry.reaction as usize) {
                self.clear(layout, MaskSection::Requirements, position);
            }
        }
        for (position, entry) in metabolism.coefficients().iter().enumerate() {
            if !self.is_kept(layout, MaskSection::Reactions, entry.reaction as usize) {
                self.clear(layout, MaskSection::Coefficients, position);
            }
        }
    }

    /// Whether a position is kept.
    pub fn is_kept(&self, layout: &MaskLayout, section: MaskSection, position: usize) -> bool {
        let (start, _) = layout.section(section);
        self.words[start + position / 64] >> (position % 64) & 1 == 1
    }

    /// The words of a section.
    pub fn words(&self, layout: &MaskLayout, section: MaskSection) -> &[u64] {
        let (start, bits) = layout.section(section);
        &self.words[start..start + bits.div_ceil(64)]
    }

    /// All words.
    pub fn all_words(&self) -> &[u64] {
        &self.words
    }

    pub(crate) fn all_words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// How many positions of a section are kept.
    pub fn kept_count(&self, layout: &MaskLayout, section: MaskSection) -> usize {
        self.words(layout, section).iter().map(|word| word.count_ones() as usize).sum()
    }

    fn clear(&mut self, layout: &MaskLayout, section: MaskSection, position: usize) {
        let (start, _) = layout.section(section);
        self.words[start + position / 64] &= !(1 << (position % 64));
    }

    fn set(&mut self, layout: &MaskLayout, section: MaskSection, position: usize) {
        let (start, _) = layout.section(section);
        self.words[start + position / 64] |= 1 << (position % 64);
    }
}

/// Masks that stay allocated from batch to batch: cleared at the deleted positions, used, then restored.
#[derive(Debug)]
pub struct ResidentMasks {
    masks: Vec<MaskSet>,
    /// Positions that are cleared in each mask.
    deletions: Vec<Option<Deletion>>,
}

impl ResidentMasks {
    /// Allocates one mask per sample of the largest batch.
    pub fn new(layout: &MaskLayout, batch_size: usize) -> Self {
        Self { masks: vec![MaskSet::all_kept(layout); batch_size], deletions: vec![None; batch_size] }
    }

    /// Makes a slot the mask of a deletion: the last one's positions are set again, this one's cleared.
    pub fn assign(&mut self, layout: &MaskLayout, cell: &Cell, slot: usize, deletion: &Deletion) {
        let mask = &mut self.masks[slot];
        if let Some(last) = self.deletions[slot].take() {
            removed(cell, &last, |section, position| mask.set(layout, section, position));
        }
        removed(cell, deletion, |section, position| mask.clear(layout, section, position));
        self.deletions[slot] = Some(deletion.clone());
    }

    /// The masks of the first `count` slots.
    pub fn masks(&self, count: usize) -> &[MaskSet] {
        &self.masks[..count]
    }
}

/// A word's bits as bytes of 0 and 1, lowest first.
pub(crate) fn bytes_of(word: u64) -> [u8; 64] {
    let mut bytes = [0; 64];
    for (group, bytes) in bytes.chunks_exact_mut(8).enumerate() {
        // Eight copies of a byte, one bit kept of each; adding 127 carries every bit into the highest bit of its byte.
        let byte = (word >> (8 * group)) & 0xff;
        let spread = (byte * 0x0101_0101_0101_0101) & 0x8040_2010_0804_0201;
        let ones = ((spread + 0x7f7f_7f7f_7f7f_7f7f) >> 7) & 0x0101_0101_0101_0101;
        bytes.copy_from_slice(&ones.to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_become_bytes_in_order() {
        for word in [0, 1, u64::MAX, 0x8000_0000_0000_0001, 0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210] {
            let bytes = bytes_of(word);
            for (bit, byte) in bytes.iter().enumerate() {
                assert_eq!(u64::from(*byte), word >> bit & 1, "bit {bit} of {word:#x}");
            }
        }
    }
}
