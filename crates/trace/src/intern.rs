//! Interning of byte strings: each distinct one gets a small number.

/// Numbers distinct byte strings 0, 1, 2 … in the order of first occurrence.
#[derive(Debug)]
pub(crate) struct ByteTable {
    /// All strings, one after the other.
    arena: Vec<u8>,
    /// End of each string in `arena`; the start is the end of the one before.
    ends: Vec<usize>,
    hashes: Vec<u32>,
    /// Open addressing: number + 1, or 0 for a free slot. Its length is a power of two.
    slots: Vec<u32>,
    /// The last string with each value of [`glance`], as number + 1: most strings repeat, and a few bytes and one comparison spare the
    /// hash over all of them.
    recent: Vec<u32>,
}

/// Number of values of [`glance`].
const LOOKS: usize = 1 << 10;

impl ByteTable {
    pub(crate) fn new() -> Self {
        Self {
            arena: Vec::new(),
            ends: Vec::new(),
            hashes: Vec::new(),
            slots: vec![0; 1024],
            recent: vec![0; LOOKS],
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> &[u8] {
        let at = number as usize;
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.arena[start..self.ends[at]]
    }

    pub(crate) fn find(&self, bytes: &[u8]) -> Option<u32> {
        self.probe(bytes, hash(bytes)).ok()
    }

    /// Returns the number of `bytes`, and whether it is new.
    #[inline]
    pub(crate) fn insert(&mut self, bytes: &[u8]) -> (u32, Novelty) {
        let look = glance(bytes);
        let entry = self.recent[look];
        if entry != 0 && self.get(entry - 1) == bytes {
            return (entry - 1, Novelty::Known);
        }
        let (number, novelty) = self.insert_by_hash(bytes);
        self.recent[look] = number + 1;
        (number, novelty)
    }

    fn insert_by_hash(&mut self, bytes: &[u8]) -> (u32, Novelty) {
        let hash = hash(bytes);
        match self.probe(bytes, hash) {
            Ok(number) => (number, Novelty::Known),
            Err(slot) => (self.add(bytes, hash, slot), Novelty::New),
        }
    }

    /// The number of `bytes`, or the free slot where it belongs.
    #[inline]
    fn probe(&self, bytes: &[u8], hash: u32) -> Result<u32, usize> {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let entry = self.slots[slot];
            if entry == 0 {
                return Err(slot);
            }
            if self.hashes[entry as usize - 1] == hash && self.get(entry - 1) == bytes {
                return Ok(entry - 1);
            }
            slot = (slot + 1) & mask;
        }
    }

    #[cold]
    fn add(&mut self, bytes: &[u8], hash: u32, slot: usize) -> u32 {
        let number = self.ends.len() as u32;
        self.arena.extend_from_slice(bytes);
        self.ends.push(self.arena.len());
        self.hashes.push(hash);
        self.slots[slot] = number + 1;
        if self.ends.len() * 2 > self.slots.len() {
            self.grow();
        }
        number
    }

    fn grow(&mut self) {
        let mask = self.slots.len() * 2 - 1;
        let mut slots = vec![0; mask + 1];
        for (number, hash) in self.hashes.iter().enumerate() {
            let mut slot = *hash as usize & mask;
            while slots[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            slots[slot] = number as u32 + 1;
        }
        self.slots = slots;
    }
}

/// Whether a string was in the table before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Novelty {
    Known,
    New,
}

/// A number below [`LOOKS`] from the length and the first, middle and last bytes.
#[inline]
fn glance(bytes: &[u8]) -> usize {
    let middle = bytes.get(bytes.len() / 2..).and_then(|rest| rest.first_chunk::<4>());
    let word = match (bytes.first_chunk::<8>(), middle, bytes.last_chunk::<8>()) {
        (Some(first), Some(middle), Some(last)) => {
            u64::from_le_bytes(*first)
                ^ u64::from(u32::from_le_bytes(*middle)).rotate_left(16)
                ^ u64::from_le_bytes(*last).rotate_left(29)
        }
        _ => bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    };
    let mixed = (word ^ bytes.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 54) as usize
}

/// Multiply and fold, eight bytes at a time: trace names are 10 to 200 bytes, and every event hashes one.
#[inline]
fn hash(bytes: &[u8]) -> u32 {
    const K: u64 = 0x9e37_79b9_7f4a_7c15;
    let fold = |state: u64, word: u64| {
        let wide = u128::from(state ^ word) * u128::from(K);
        (wide as u64) ^ (wide >> 64) as u64
    };
    let mut state = bytes.len() as u64 ^ 0x517c_c1b7_2722_0a95;
    let mut rest = bytes;
    // Two chains side by side: one multiplication need not wait for the other.
    let mut twin = K;
    while let Some((words, after)) = rest.split_first_chunk::<16>() {
        let words = u128::from_le_bytes(*words);
        state = fold(state, words as u64);
        twin = fold(twin, (words >> 64) as u64);
        rest = after;
    }
    state ^= twin.rotate_left(32);
    if let Some((word, after)) = rest.split_first_chunk::<8>() {
        state = fold(state, u64::from_le_bytes(*word));
        rest = after;
    }
    if !rest.is_empty() {
        // The last eight bytes again where there are that many: cheaper than a loop over the remainder.
        let word = match bytes.last_chunk::<8>() {
            Some(last) => u64::from_le_bytes(*last),
            None => rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)),
        };
        state = fold(state, word);
    }
    let mixed = fold(state, K);
    (mixed ^ mixed >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_share_a_number_and_survive_growth() {
        let mut table = ByteTable::new();
        let words: Vec<String> = (0..5000).map(|i| format!("aten::op_{i}_{}", "x".repeat(i % 40))).collect();
        for (i, word) in words.iter().enumerate() {
            assert_eq!(table.insert(word.as_bytes()), (i as u32, Novelty::New));
        }
        for (i, word) in words.iter().enumerate() {
            assert_eq!(table.insert(word.as_bytes()), (i as u32, Novelty::Known));
            assert_eq!(table.get(i as u32), word.as_bytes());
        }
        assert!((0..words.len() as u32).rev().all(|i| glance(table.get(i)) < LOOKS));
        assert_eq!(table.find(b"absent"), None);
        assert_eq!(table.len(), 5000);
    }
}
