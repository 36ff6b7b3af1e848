//! Hashing of long lists.

/// Hashes a list with its length, in blocks so that no second copy of a large list is made.
pub(super) fn update_with_words(hasher: &mut blake3::Hasher, words: &[u32]) {
    hasher.update(&(words.len() as u64).to_le_bytes());
    let mut block = [0_u8; 4096];
    for chunk in words.chunks(block.len() / 4) {
        for (slot, word) in block.chunks_exact_mut(4).zip(chunk) {
            slot.copy_from_slice(&word.to_le_bytes());
        }
        hasher.update(&block[..4 * chunk.len()]);
    }
}
