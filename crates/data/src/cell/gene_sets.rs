//! Gene sets of many samples as one ragged array: the form in which deletions travel from a screen through a batch to a model.

use std::ops::Range;

/// Ragged gene sets: set `i` is `genes[offsets[i]..offsets[i + 1]]`.
///
/// Genes are rows of the gene table. The type neither sorts nor checks them; the caller does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneSets {
    offsets: Vec<u32>,
    genes: Vec<u32>,
}

/// Borrowed [`GeneSets`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GeneSetsRef<'a> {
    offsets: &'a [u32],
    genes: &'a [u32],
}

impl Default for GeneSets {
    fn default() -> Self {
        Self { offsets: vec![0], genes: Vec::new() }
    }
}

impl GeneSets {
    /// Appends a set.
    ///
    /// # Panics
    ///
    /// If all sets together would have more genes than a `u32` counts.
    pub fn push(&mut self, genes: &[u32]) {
        self.genes.extend_from_slice(genes);
        self.offsets.push(u32::try_from(self.genes.len()).expect("fewer than 2^32 genes in all sets"));
    }

    /// Appends a set for each of `lasts`: the genes of `start` and it.
    ///
    /// # Panics
    ///
    /// As [`GeneSets::push`].
    pub fn push_each(&mut self, start: &[u32], lasts: &[u32]) {
        let (size, first) = (start.len() + 1, self.genes.len());
        let end = first + size * lasts.len();
        assert!(u32::try_from(end).is_ok(), "fewer than 2^32 genes in all sets");
        self.genes.resize(end, 0);
        for (set, &last) in self.genes[first..].chunks_exact_mut(size).zip(lasts) {
            let (shared, own) = set.split_at_mut(start.len());
            shared.iter_mut().zip(start).for_each(|(gene, &shared)| *gene = shared);
            own[0] = last;
        }
        self.offsets.extend((1..=lasts.len()).map(|count| (first + size * count) as u32));
    }

    /// Appends a set in ascending order.
    pub fn push_sorted(&mut self, genes: &[u32]) {
        let start = self.genes.len();
        self.push(genes);
        self.genes[start..].sort_unstable();
    }

    /// Removes all sets and keeps the memory.
    pub fn clear(&mut self) {
        self.offsets.truncate(1);
        self.genes.clear();
    }

    /// Number of sets.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there is no set.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The genes of one set.
    pub fn get(&self, set: usize) -> &[u32] {
        self.view().get(set)
    }

    /// All sets, borrowed.
    pub fn view(&self) -> GeneSetsRef<'_> {
        GeneSetsRef { offsets: &self.offsets, genes: &self.genes }
    }

    /// Bytes of offsets and genes.
    pub fn byte_count(&self) -> usize {
        4 * (self.offsets.len() + self.genes.len())
    }
}

impl<'s> FromIterator<&'s [u32]> for GeneSets {
    fn from_iter<I: IntoIterator<Item = &'s [u32]>>(sets: I) -> Self {
        let mut out = Self::default();
        sets.into_iter().for_each(|set| out.push(set));
        out
    }
}

impl<'a> GeneSetsRef<'a> {
    /// Views offsets and genes as sets.
    ///
    /// # Panics
    ///
    /// If the offsets are empty, begin elsewhere than at 0, fall, or end elsewhere than at the last gene.
    pub fn new(offsets: &'a [u32], genes: &'a [u32]) -> Self {
        assert!(
            offsets.first() == Some(&0)
                && offsets.is_sorted()
                && offsets.last().is_some_and(|&end| end as usize == genes.len()),
            "offsets of ragged gene sets"
        );
        Self { offsets, genes }
    }

    /// Number of sets.
    pub fn len(self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there is no set.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The genes of one set.
    #[inline]
    pub fn get(self, set: usize) -> &'a [u32] {
        &self.genes[self.offsets[set] as usize..self.offsets[set + 1] as usize]
    }

    /// The sets in order.
    pub fn iter(self) -> impl ExactSizeIterator<Item = &'a [u32]> + Clone {
        (0..self.len()).map(move |set| self.get(set))
    }

    /// Returns the sets with the genes of each in ascending order.
    #[must_use]
    pub fn sorted(self) -> GeneSets {
        let mut out = GeneSets::default();
        self.iter().for_each(|set| out.push_sorted(set));
        out
    }

    /// Positions of each set's members in [`GeneSetsRef::genes`].
    pub fn ranges(self) -> impl Iterator<Item = Range<usize>> + 'a {
        self.offsets.windows(2).map(|pair| pair[0] as usize..pair[1] as usize)
    }

    /// The first `count` sets, or all if there are fewer.
    #[must_use]
    pub fn first(self, count: usize) -> Self {
        let offsets = &self.offsets[..=count.min(self.len())];
        Self { offsets, genes: &self.genes[..offsets[offsets.len() - 1] as usize] }
    }

    /// Starts of the sets and the end of the last.
    pub fn offsets(self) -> &'a [u32] {
        self.offsets
    }

    /// The members of all sets, one set after the other.
    pub fn genes(self) -> &'a [u32] {
        self.genes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_come_back_as_they_were_pushed() {
        let mut sets = GeneSets::default();
        assert!(sets.is_empty());
        sets.push(&[4, 2]);
        sets.push(&[]);
        sets.push_sorted(&[9, 1, 5]);
        assert_eq!(sets.view().iter().collect::<Vec<_>>(), [&[4, 2][..], &[], &[1, 5, 9]]);
        assert_eq!(sets.view().ranges().collect::<Vec<_>>(), [0..2, 2..2, 2..5]);
        assert_eq!(sets.view().first(2).genes(), [4, 2]);
        assert_eq!(sets.view().first(7), sets.view());
        assert_eq!(sets, sets.view().iter().collect::<GeneSets>());
        assert_eq!(GeneSetsRef::new(&[0, 2, 2, 5], &[4, 2, 1, 5, 9]), sets.view());
        sets.push_each(&[3, 8], &[9, 11]);
        sets.push_each(&[], &[7]);
        sets.push_each(&[6], &[]);
        assert_eq!(sets.view().iter().skip(3).collect::<Vec<_>>(), [&[3, 8, 9][..], &[3, 8, 11], &[7]]);
        sets.clear();
        assert_eq!(sets, GeneSets::default());
    }

    #[test]
    #[should_panic(expected = "offsets of ragged gene sets")]
    fn offsets_must_end_with_the_genes() {
        GeneSetsRef::new(&[0, 2], &[1, 2, 3]);
    }
}
