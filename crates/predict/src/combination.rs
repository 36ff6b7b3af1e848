//! Combinations by number: the k-element subsets of `0..n` in lexicographic order, where neighbours share all but their last
//! element. Nothing is held in memory. The module does not depend on genes.

/// n over k for small k.
///
/// # Panics
///
/// If it is beyond a `u64`, which no gene table reaches.
pub(crate) fn binomial(n: u64, k: usize) -> u64 {
    let product = (0..k as u64)
        .fold(1_u128, |product, at| product * u128::from(n.saturating_sub(at)) / u128::from(at + 1));
    u64::try_from(product).expect("fewer than 2^64 combinations")
}

/// A combination that advances to the next one.
#[derive(Debug, Clone)]
pub(crate) struct Combination {
    count: u64,
    elements: Vec<u64>,
}

impl Combination {
    /// The combination of a number below [`binomial`]`(count, size)`.
    pub(crate) fn at(count: u64, size: usize, number: u64) -> Self {
        let (mut elements, mut number, mut from) = (Vec::with_capacity(size), number, 0);
        for left in (1..=size).rev() {
            // Combinations of the elements from `from` on whose first element is below `first`.
            let before = |first: u64| binomial(count - from, left) - binomial(count - first, left);
            let (mut low, mut high) = (from, count - left as u64);
            while low < high {
                let middle = low + (high - low).div_ceil(2);
                if before(middle) <= number { low = middle } else { high = middle - 1 }
            }
            number -= before(low);
            elements.push(low);
            from = low + 1;
        }
        Self { count, elements }
    }

    /// Its elements, ascending.
    pub(crate) fn elements(&self) -> &[u64] {
        &self.elements
    }

    /// Advances to the first combination that differs in more than the last element, if there is one.
    pub(crate) fn advance_beyond_last(&mut self) -> bool {
        if let Some(last) = self.elements.last_mut() {
            *last = self.count - 1;
        }
        self.advance()
    }

    /// Moves on; `false` after the last one.
    pub(crate) fn advance(&mut self) -> bool {
        let size = self.elements.len();
        let Some(index) =
            (0..size).rev().find(|&index| self.elements[index] < self.count - (size - index) as u64)
        else {
            return false;
        };
        self.elements[index] += 1;
        for next in index + 1..size {
            self.elements[next] = self.elements[next - 1] + 1;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_neighbours_agree() {
        for (count, size) in [(1, 1), (7, 1), (6, 2), (9, 3), (3, 3), (8, 4)] {
            let total = binomial(count, size);
            let mut walked = Combination::at(count, size, 0);
            for number in 0..total {
                assert_eq!(Combination::at(count, size, number).elements(), walked.elements());
                assert!(walked.elements().is_sorted_by(|a, b| a < b));
                let mut beyond = walked.clone();
                if beyond.advance_beyond_last() {
                    let numbers = number + 1..total;
                    let mut after = numbers.map(|number| Combination::at(count, size, number).elements);
                    let start = &walked.elements[..size - 1];
                    assert_eq!(after.find(|elements| elements[..size - 1] != *start), Some(beyond.elements));
                }
                assert_eq!(walked.advance(), number + 1 < total);
            }
        }
    }

    #[test]
    fn all_triples_of_yeast_have_a_number() {
        let total = binomial(6607, 3);
        assert_eq!(total, 6607 * 6606 * 6605 / 6);
        assert_eq!(Combination::at(6607, 3, total - 1).elements(), [6604, 6605, 6606]);
        assert_eq!(binomial(2, 3), 0);
    }
}
