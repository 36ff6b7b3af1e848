//! Predictions of boosted trees for many rows of features at a time.
//!
//! Every test of a tree that sends a row to the right rules out the leaves on its left, one bit each; the first leaf that remains is the
//! row's (`QuickScorer`, Lucchese et al. 2015). The tests of a tree may run in any order, so rows are tested beside each other without branches.
#![expect(unsafe_code, reason = "versions for an instruction set are called after detecting it")]

/// Rows that are tested beside each other.
const ROWS: usize = 16;
/// Maximum number of leaves of a tree: the bits of a set of leaves.
pub(crate) const MAX_LEAVES: usize = 32;

/// A split: rows whose feature is at most the threshold or unknown go to the left. A leaf is its own child.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TreeNode {
    pub(crate) feature: u32,
    pub(crate) threshold: f32,
    pub(crate) left: u32,
    pub(crate) right: u32,
    pub(crate) value: f32,
}

/// A split as a test, with the leaves that remain if the feature is above the threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
struct SplitTest {
    feature: u32,
    threshold: f32,
    remaining: u32,
}

/// Trees as lists of tests and leaves.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct FlatTrees {
    tests: Vec<SplitTest>,
    leaves: Vec<f32>,
    /// For each tree, its numbers of tests and leaves.
    sizes: Vec<[usize; 2]>,
}

impl FlatTrees {
    /// Flattens trees; `None` if one has more than [`MAX_LEAVES`] leaves. Children must come after their parent.
    pub(crate) fn new(nodes: &[TreeNode], roots: &[u32]) -> Option<Self> {
        let mut flat = Self::default();
        for &root in roots {
            let first = [flat.tests.len(), flat.leaves.len()];
            flat.add(nodes, root, first)?;
            flat.sizes.push([flat.tests.len() - first[0], flat.leaves.len() - first[1]]);
        }
        Some(flat)
    }

    /// Adds what is below a node of the tree that begins at these tests and leaves.
    fn add(&mut self, nodes: &[TreeNode], index: u32, first: [usize; 2]) -> Option<()> {
        let node = nodes[index as usize];
        if node.left == index {
            self.leaves.push(node.value);
            return Some(());
        }
        let test = self.tests.len();
        // A tree has one split less than leaves. The limit also ends the recursion.
        if test - first[0] + 1 >= MAX_LEAVES {
            return None;
        }
        let bits = |leaves: usize| (1_u64 << (leaves - first[1])) as u32;
        self.tests.push(SplitTest { feature: node.feature, threshold: node.threshold, remaining: 0 });
        let begin = bits(self.leaves.len());
        self.add(nodes, node.left, first)?;
        self.tests[test].remaining = !(bits(self.leaves.len()) - begin);
        self.add(nodes, node.right, first)
    }

    #[cfg(test)]
    pub(crate) fn has_leaves(&self, count: usize) -> bool {
        self.sizes.iter().any(|&[_, leaves]| leaves == count)
    }

    /// Adds the sum of the trees at each row of `width` features to `out`.
    pub(crate) fn add_sums(&self, rows: &[f32], width: usize, out: &mut [f32]) {
        let mut columns = vec![[0.0; ROWS]; width];
        for (rows, out) in rows.chunks(width * ROWS).zip(out.chunks_mut(ROWS)) {
            for (row, values) in rows.chunks_exact(width).enumerate() {
                columns.iter_mut().zip(values).for_each(|(column, &value)| column[row] = value);
            }
            out.iter_mut().zip(self.sums(&columns)).for_each(|(out, sum)| *out += sum);
        }
    }

    /// Returns the sums of the trees. Comparisons are exact, so every instruction set gives the same bits.
    fn sums(&self, columns: &[[f32; ROWS]]) -> [f32; ROWS] {
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx512f")]
            fn avx512(trees: &FlatTrees, columns: &[[f32; ROWS]]) -> [f32; ROWS] {
                trees.sums_any(columns)
            }
            #[target_feature(enable = "avx2")]
            fn avx2(trees: &FlatTrees, columns: &[[f32; ROWS]]) -> [f32; ROWS] {
                trees.sums_any(columns)
            }
            if is_x86_feature_detected!("avx512f") {
                // SAFETY: the CPU supports it.
                return unsafe { avx512(self, columns) };
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the CPU supports it.
                return unsafe { avx2(self, columns) };
            }
        }
        self.sums_any(columns)
    }

    #[expect(clippy::inline_always, reason = "compiled once for each instruction set, as part of its caller")]
    #[inline(always)]
    fn sums_any(&self, columns: &[[f32; ROWS]]) -> [f32; ROWS] {
        let mut sums = [0.0; ROWS];
        let (mut tests, mut leaves) = (&self.tests[..], &self.leaves[..]);
        for &[test_count, leaf_count] in &self.sizes {
            let (of_tree, other_tests) = tests.split_at(test_count);
            let (values, other_leaves) = leaves.split_at(leaf_count);
            let mut remaining = [u32::MAX; ROWS];
            for test in of_tree {
                let column = &columns[test.feature as usize];
                for (remaining, &value) in remaining.iter_mut().zip(column) {
                    // All bits where the value is not above the threshold: a branch would not be compiled to vector instructions.
                    *remaining &= test.remaining | u32::from(value > test.threshold).wrapping_sub(1);
                }
            }
            for (sum, remaining) in sums.iter_mut().zip(remaining) {
                *sum += values[remaining.trailing_zeros() as usize];
            }
            (tests, leaves) = (other_tests, other_leaves);
        }
        sums
    }
}
