//! Boosted regression trees over binned features.
//!
//! Each tree is fitted to what the trees before it left of the targets, on a sample of the records and of the features, and counts
//! with a small factor. A leaf is split where this lowers the squared error most; sums over the bins of a feature decide. One task sums
//! one feature over the records in their order, so trees do not depend on the number of threads.

use crate::error::bad_tensor;
use crate::flat_trees::{FlatTrees, MAX_LEAVES, TreeNode};
use crate::tensor::{Tensor, find, has};
use knockout_base::error::Error;
use knockout_base::random::Rng;
use rayon::prelude::*;

/// Bins of a feature beside that of unknown values.
const BINS: usize = 63;
/// Values that the edges of bins are chosen from.
const EDGE_VALUES: usize = 20_000;
/// Trees without a smaller validation error after which boosting ends.
const PATIENCE: usize = 40;

/// How trees are grown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Growth {
    /// Maximum number of trees.
    pub(crate) trees: usize,
    /// Maximum number of leaves of a tree, [`MAX_LEAVES`] at most.
    pub(crate) leaves: usize,
    /// Minimum number of sampled records in a leaf.
    pub(crate) leaf_records: usize,
    /// Records of value 0 that every leaf has in addition.
    pub(crate) prior_records: f32,
    /// Factor of each tree.
    pub(crate) rate: f32,
    /// Share of the records and of the features that a tree is fitted to.
    pub(crate) record_share: f64,
    pub(crate) feature_share: f64,
}

/// Rows of features, NaN where unknown, each with a target.
#[derive(Debug, Clone, Default)]
pub(crate) struct FeatureRows {
    pub(crate) width: usize,
    pub(crate) values: Vec<f32>,
    pub(crate) targets: Vec<f32>,
}

impl FeatureRows {
    /// Returns the values of a feature.
    pub(crate) fn column(&self, feature: usize) -> impl Iterator<Item = f32> + '_ {
        self.values.iter().skip(feature).step_by(self.width).copied()
    }
}

/// A sum of trees.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BoostedTrees {
    start: f32,
    /// The first node of each tree.
    roots: Vec<u32>,
    nodes: Vec<TreeNode>,
    flat: FlatTrees,
}

impl BoostedTrees {
    /// Fits trees to rows, as many as predict the validation rows best.
    pub(crate) fn fit(rows: &FeatureRows, val: &FeatureRows, growth: &Growth, seed: u64) -> Self {
        let count = rows.targets.len();
        let start = (rows.targets.iter().map(|&y| f64::from(y)).sum::<f64>() / count.max(1) as f64) as f32;
        let mut fitted = Self { start, roots: Vec::new(), nodes: Vec::new(), flat: FlatTrees::default() };
        let binned = Binned::new(rows);
        let mut residuals: Vec<f32> = rows.targets.iter().map(|y| y - start).collect();
        let mut left_of_val: Vec<f32> = val.targets.iter().map(|y| y - start).collect();
        let squares = |left: &[f32]| left.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>();
        let mut best = (squares(&left_of_val), 0, 0);
        let mut rng = Rng::new(seed, "boosted trees");
        for tree in 0..growth.trees {
            let mut features: Vec<usize> = (0..rows.width).collect();
            let used = ((rows.width as f64 * growth.feature_share).ceil() as usize).clamp(1, rows.width);
            for index in 0..used {
                features.swap(index, index + rng.below(rows.width - index));
            }
            features.truncate(used);
            features.sort_unstable();
            let sample: Vec<u32> = (0..count as u32).filter(|_| rng.unit() < growth.record_share).collect();
            fitted.roots.push(fitted.nodes.len() as u32);
            fitted.grow(&binned, &residuals, sample, &features, growth);
            let subtract = |rows: &FeatureRows, left: &mut [f32]| {
                left.par_iter_mut()
                    .zip(rows.values.par_chunks_exact(rows.width))
                    .with_min_len(4096)
                    .for_each(|(left, row)| *left -= fitted.value(tree, row));
            };
            subtract(rows, &mut residuals);
            subtract(val, &mut left_of_val);
            let error = squares(&left_of_val);
            if error < best.0 {
                best = (error, tree + 1, fitted.nodes.len());
            } else if tree >= best.1 + PATIENCE {
                break;
            }
        }
        fitted.roots.truncate(best.1);
        fitted.nodes.truncate(best.2);
        fitted.flat = FlatTrees::new(&fitted.nodes, &fitted.roots).expect("leaves are limited");
        fitted
    }

    /// Returns the number of trees.
    pub(crate) fn len(&self) -> usize {
        self.roots.len()
    }

    /// Returns the sum of the trees at each row of `width` features.
    pub(crate) fn predict(&self, rows: &[f32], width: usize) -> Vec<f64> {
        let mut sums = vec![0.0; rows.len() / width.max(1)];
        self.flat.add_sums(rows, width, &mut sums);
        sums.into_iter().map(|sum| f64::from(self.start + sum)).collect()
    }

    /// Returns the value of a tree at a row of features.
    fn value(&self, tree: usize, row: &[f32]) -> f32 {
        let mut index = self.roots[tree];
        loop {
            let node = &self.nodes[index as usize];
            if node.left == index {
                return node.value;
            }
            let is_right = row[node.feature as usize] > node.threshold;
            index = if is_right { node.right } else { node.left };
        }
    }

    /// Appends a tree: the leaf whose split gains most is split next.
    fn grow(
        &mut self,
        binned: &Binned,
        residuals: &[f32],
        sample: Vec<u32>,
        features: &[usize],
        growth: &Growth,
    ) {
        let first = self.nodes.len() as u32;
        let mut leaves = vec![Leaf::new(first, sample, None, binned, residuals, features, growth)];
        self.push_leaf(&leaves[0], growth);
        while leaves.len() < growth.leaves.min(MAX_LEAVES) {
            let mut chosen: Option<(usize, f64)> = None;
            for (index, leaf) in leaves.iter().enumerate() {
                if let Some(split) = &leaf.split
                    && chosen.is_none_or(|(_, gain)| split.gain > gain)
                {
                    chosen = Some((index, split.gain));
                }
            }
            let Some((index, _)) = chosen else { break };
            let leaf = leaves.swap_remove(index);
            let Some(split) = leaf.split else { break };
            let bins = &binned.bins[features[split.feature]];
            let (left, right): (Vec<u32>, Vec<u32>) =
                leaf.records.iter().partition(|&&record| usize::from(bins[record as usize]) <= split.bin);
            let next = self.nodes.len() as u32;
            let node = &mut self.nodes[leaf.node as usize];
            node.feature = features[split.feature] as u32;
            node.threshold = binned.edges[features[split.feature]][split.bin];
            (node.left, node.right) = (next, next + 1);
            // The sums of the larger child are what those of the smaller leave.
            let is_left_small = left.len() <= right.len();
            let (small, large) = if is_left_small { (left, right) } else { (right, left) };
            let (small_node, large_node) = if is_left_small { (next, next + 1) } else { (next + 1, next) };
            let small = Leaf::new(small_node, small, None, binned, residuals, features, growth);
            let mut sums = leaf.sums;
            sums.iter_mut().zip(&small.sums).for_each(|(sums, less)| {
                sums.iter_mut().zip(less).for_each(|(sum, less)| {
                    sum.0 -= less.0;
                    sum.1 -= less.1;
                });
            });
            let large = Leaf::new(large_node, large, Some(sums), binned, residuals, features, growth);
            let (left, right) = if is_left_small { (small, large) } else { (large, small) };
            self.push_leaf(&left, growth);
            self.push_leaf(&right, growth);
            leaves.extend([left, right]);
        }
    }

    fn push_leaf(&mut self, leaf: &Leaf, growth: &Growth) {
        let (sum, count) = leaf.total();
        let value = growth.rate * (sum / (count + f64::from(growth.prior_records))) as f32;
        self.nodes.push(TreeNode { feature: 0, threshold: 0.0, left: leaf.node, right: leaf.node, value });
    }

    pub(crate) fn tensors(&self, name: &str) -> [Tensor; 2] {
        let node = |node: &TreeNode| {
            [node.feature as f32, node.threshold, node.left as f32, node.right as f32, node.value]
        };
        let nodes: Vec<f32> = self.nodes.iter().flat_map(node).collect();
        let roots = self.roots.iter().map(|&root| root as f32);
        [
            Tensor::new(format!("{name}.nodes"), &[self.nodes.len(), 5], nodes),
            Tensor::vector(format!("{name}.roots"), [self.start].into_iter().chain(roots).collect()),
        ]
    }

    /// Loads trees over `width` features; `None` if there are none.
    pub(crate) fn load(tensors: &[Tensor], name: &str, width: usize) -> Result<Option<Self>, Error> {
        let (nodes_name, roots_name) = (format!("{name}.nodes"), format!("{name}.roots"));
        if !has(tensors, &nodes_name) {
            return Ok(None);
        }
        let (parts, _) = find(tensors, &nodes_name)?.values.as_chunks::<5>();
        let node = |&[feature, threshold, left, right, value]: &[f32; 5]| TreeNode {
            feature: feature as u32,
            threshold,
            left: left as u32,
            right: right as u32,
            value,
        };
        let nodes: Vec<TreeNode> = parts.iter().map(node).collect();
        let Some((&start, roots)) = find(tensors, &roots_name)?.values.split_first() else {
            return Err(bad_tensor(&roots_name));
        };
        let roots: Vec<u32> = roots.iter().map(|&root| root as u32).collect();
        // Children come after their parent, so every walk ends.
        let is_whole = |(index, node): (usize, &TreeNode)| {
            let is_leaf = node.left as usize == index && node.right as usize == index;
            let is_split = [node.left, node.right]
                .iter()
                .all(|&child| child as usize > index && (child as usize) < nodes.len());
            (is_leaf || is_split) && (node.feature as usize) < width
        };
        let is_root = |&root: &u32| (root as usize) < nodes.len();
        if !nodes.iter().enumerate().all(is_whole) || !roots.iter().all(is_root) {
            return Err(bad_tensor(&nodes_name));
        }
        let flat = FlatTrees::new(&nodes, &roots).ok_or_else(|| bad_tensor(&nodes_name))?;
        Ok(Some(Self { start, roots, nodes, flat }))
    }
}

/// Features as numbers of bins; bin 0 has the unknown values.
struct Binned {
    bins: Vec<Vec<u8>>,
    /// The highest value of each bin; that of bin 0 is the lowest finite number, so that trees can be stored.
    edges: Vec<Vec<f32>>,
}

impl Binned {
    fn new(rows: &FeatureRows) -> Self {
        let count = rows.targets.len();
        let column = |feature: usize| {
            let value = |row: usize| rows.values[row * rows.width + feature];
            let step = count.div_ceil(EDGE_VALUES).max(1);
            let mut some: Vec<f32> = (0..count).step_by(step).map(value).filter(|x| !x.is_nan()).collect();
            some.sort_by(f32::total_cmp);
            let mut edges = vec![f32::MIN];
            edges.extend((1..BINS).filter_map(|bin| some.get(some.len() * bin / BINS).copied()));
            edges.dedup();
            edges.push(f32::INFINITY);
            let bin = |row: usize| {
                let value = value(row);
                if value.is_nan() { 0 } else { edges.partition_point(|&edge| edge < value).max(1) as u8 }
            };
            ((0..count).map(bin).collect(), edges)
        };
        let (bins, edges) = (0..rows.width).into_par_iter().map(column).unzip();
        Self { bins, edges }
    }
}

/// The sum of residuals and the number of records of a bin.
type BinSum = (f64, f64);

/// A leaf that may be split.
struct Leaf {
    node: u32,
    records: Vec<u32>,
    /// For each feature, the sums of its bins.
    sums: Vec<Vec<BinSum>>,
    split: Option<LeafSplit>,
}

/// The best split of a leaf: records up to a bin of a feature go to the left.
struct LeafSplit {
    feature: usize,
    bin: usize,
    gain: f64,
}

impl Leaf {
    fn new(
        node: u32,
        records: Vec<u32>,
        sums: Option<Vec<Vec<BinSum>>>,
        binned: &Binned,
        residuals: &[f32],
        features: &[usize],
        growth: &Growth,
    ) -> Self {
        let sum_of = |&feature: &usize| {
            let bins = &binned.bins[feature];
            let mut sums = vec![(0.0, 0.0); binned.edges[feature].len()];
            for &record in &records {
                let sum: &mut BinSum = &mut sums[usize::from(bins[record as usize])];
                sum.0 += f64::from(residuals[record as usize]);
                sum.1 += 1.0;
            }
            sums
        };
        let sums = sums.unwrap_or_else(|| features.par_iter().map(sum_of).collect());
        let mut leaf = Self { node, records, sums, split: None };
        leaf.split = leaf.best_split(growth);
        leaf
    }

    fn total(&self) -> BinSum {
        let bins = self.sums.first().into_iter().flatten();
        bins.fold((0.0, 0.0), |(sum, count), bin| (sum + bin.0, count + bin.1))
    }

    fn best_split(&self, growth: &Growth) -> Option<LeafSplit> {
        let (total, count) = self.total();
        let (fewest, prior) = (growth.leaf_records as f64, f64::from(growth.prior_records));
        let quality = |sum: f64, count: f64| sum * sum / (count + prior);
        let mut best: Option<LeafSplit> = None;
        for (feature, sums) in self.sums.iter().enumerate() {
            let (mut left, mut left_count) = (0.0, 0.0);
            for (bin, sum) in sums[..sums.len() - 1].iter().enumerate() {
                left += sum.0;
                left_count += sum.1;
                if left_count < fewest || count - left_count < fewest {
                    continue;
                }
                let gain = quality(left, left_count) + quality(total - left, count - left_count)
                    - quality(total, count);
                if gain > best.as_ref().map_or(1e-9, |best| best.gain) {
                    best = Some(LeafSplit { feature, bin, gain });
                }
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROWTH: Growth = Growth {
        trees: 200,
        leaves: 8,
        leaf_records: 20,
        prior_records: 1.0,
        rate: 0.1,
        record_share: 0.7,
        feature_share: 0.6,
    };

    /// A step, a product and an unknown value that matter, and two features that do not.
    fn rows(count: usize, seed: u64, signal: f32) -> FeatureRows {
        let mut rng = Rng::new(seed, "planted trees");
        let mut rows = FeatureRows { width: 5, ..FeatureRows::default() };
        for _ in 0..count {
            let mut row: Vec<f32> = (0..5).map(|_| rng.normal() as f32).collect();
            if rng.below(10) == 0 {
                row[2] = f32::NAN;
            }
            let step = if row[0] > 0.5 { 2.0 } else { 0.0 };
            let unknown = if row[2].is_nan() { -3.0 } else { 0.0 };
            let truth = step + row[0] * row[1] + unknown;
            rows.targets.push(signal * truth + rng.normal() as f32);
            rows.values.extend(row);
        }
        rows
    }

    fn explained(trees: &BoostedTrees, rows: &FeatureRows) -> f64 {
        let predicted = trees.predict(&rows.values, rows.width);
        let targets: Vec<f64> = rows.targets.iter().map(|&y| f64::from(y)).collect();
        let error: f64 = predicted.iter().zip(&targets).map(|(p, y)| (p - y).powi(2)).sum();
        1.0 - error / knockout_base::stats::sum_of_squared_deviations(&targets)
    }

    #[test]
    fn planted_steps_products_and_unknown_values_are_found() {
        let (train, val, test) = (rows(6_000, 1, 1.0), rows(1_000, 2, 1.0), rows(2_000, 3, 1.0));
        let trees = BoostedTrees::fit(&train, &val, &GROWTH, 0);
        // The noise has a variance of 1, the truth one of about 3.3.
        assert!(explained(&trees, &test) > 0.65, "{}", explained(&trees, &test));
        let tensors = trees.tensors("trees");
        assert_eq!(BoostedTrees::load(&tensors, "trees", 5).unwrap(), Some(trees));
        assert_eq!(BoostedTrees::load(&[], "trees", 5).unwrap(), None);
        assert!(BoostedTrees::load(&tensors, "trees", 2).is_err());
    }

    #[test]
    fn flat_trees_predict_what_a_walk_through_the_nodes_finds() {
        let deep = Growth { leaves: MAX_LEAVES, leaf_records: 1, ..GROWTH };
        let trees = BoostedTrees::fit(&rows(3_000, 1, 1.0), &rows(500, 2, 1.0), &deep, 0);
        assert!(trees.flat.has_leaves(MAX_LEAVES));
        // 1,003 is not a multiple of the rows of a block.
        let test = rows(1_003, 3, 1.0);
        let walk = |row: &[f32]| {
            let sum: f32 = (0..trees.len()).map(|tree| trees.value(tree, row)).sum();
            f64::from(trees.start + sum)
        };
        let walked: Vec<f64> = test.values.chunks(test.width).map(walk).collect();
        assert_eq!(trees.predict(&test.values, test.width), walked);
    }

    #[test]
    fn trees_with_too_many_leaves_are_refused() {
        // Each split has a leaf and the next split.
        let chain = |splits: u32| {
            let leaf = |index: u32| [0.0, 0.0, index as f32, index as f32, 1.0];
            let split = |index: u32| [0.0, 0.0, (index + 1) as f32, (index + 2) as f32, 0.0];
            let nodes: Vec<f32> = (0..splits)
                .flat_map(|at| [split(2 * at), leaf(2 * at + 1)])
                .chain([leaf(2 * splits)])
                .flatten()
                .collect();
            let tensors = [
                Tensor::new("trees.nodes".to_owned(), &[nodes.len() / 5, 5], nodes),
                Tensor::vector("trees.roots".to_owned(), vec![0.0, 0.0]),
            ];
            BoostedTrees::load(&tensors, "trees", 1)
        };
        assert!(chain(31).unwrap().is_some());
        assert!(chain(32).is_err() && chain(100_000).is_err());
    }

    #[test]
    fn noise_grows_hardly_any_tree() {
        let trees = BoostedTrees::fit(&rows(3_000, 1, 0.0), &rows(1_000, 2, 0.0), &GROWTH, 0);
        assert!(explained(&trees, &rows(2_000, 3, 0.0)).abs() < 0.02, "{} trees", trees.len());
    }

    #[test]
    fn trees_do_not_depend_on_threads() {
        let (train, val) = (rows(2_000, 1, 1.0), rows(500, 2, 1.0));
        let fit = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| BoostedTrees::fit(&train, &val, &GROWTH, 0))
        };
        let one = fit(1);
        assert!([2, 7].iter().all(|&threads| fit(threads) == one));
    }
}
