//! Matches a string against the `args` keys that an analysis requested.

use crate::format::event::{ARG_KEYS, ArgKey, ArgSet};

/// A small table from (length, first byte, last byte) to the wanted keys of that form.
#[derive(Debug)]
pub(crate) struct ArgKeys {
    wants: ArgSet,
    /// Index into [`ARG_KEYS`] + 1 of the first wanted key of a shape, or 0.
    first: [u8; 256],
    /// Index + 1 of the next wanted key of the same shape, or 0.
    next: [u8; ARG_KEYS.len()],
}

impl ArgKeys {
    pub(crate) fn new(wants: ArgSet) -> Self {
        let mut keys = Self { wants, first: [0; 256], next: [0; ARG_KEYS.len()] };
        for (at, (key, name)) in ARG_KEYS.iter().enumerate() {
            if wants.contains(*key) {
                let slot = &mut keys.first[shape(name.as_bytes())];
                keys.next[at] = std::mem::replace(slot, at as u8 + 1);
            }
        }
        keys
    }

    /// Whether nothing inside `args` is wanted.
    pub(crate) fn is_empty(&self) -> bool {
        self.first.iter().all(|entry| *entry == 0)
    }

    pub(crate) fn wants_flow_id(&self) -> bool {
        self.wants.contains(ArgKey::FlowId)
    }

    /// Returns the wanted key whose text is `name`.
    #[inline]
    pub(crate) fn find(&self, name: &[u8]) -> Option<ArgKey> {
        let mut entry = self.first[shape(name)];
        while entry != 0 {
            let (key, spelling) = ARG_KEYS[entry as usize - 1];
            if spelling.as_bytes() == name {
                return Some(key);
            }
            entry = self.next[entry as usize - 1];
        }
        None
    }
}

#[inline]
fn shape(name: &[u8]) -> usize {
    let (first, last) = (name.first().copied().unwrap_or(0), name.last().copied().unwrap_or(0));
    let mixed = (name.len() as u8).wrapping_mul(31) ^ first.wrapping_mul(7) ^ last;
    usize::from(mixed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wanted_spelling_is_found_and_no_other() {
        for (wanted, _) in ARG_KEYS {
            let keys = ArgKeys::new(ArgSet::of(&[wanted]));
            for (key, name) in ARG_KEYS {
                assert_eq!(keys.find(name.as_bytes()), (key == wanted).then_some(key), "{name}");
            }
            assert_eq!(keys.find(b""), None);
            assert_eq!(keys.find(b"streaM"), None);
        }
        assert!(ArgKeys::new(ArgSet::of(&[ArgKey::FlowId])).is_empty());
    }
}
