//! The stack: a weighted sum of the additive part, low rank, network kernel, profile neighbours, profile kernel and boosted trees.
//!
//! The weights are fitted by non-negative least squares on the validation part, which no part was fitted to, around the mean training
//! score. Sets with a cell in the grid and others have weights of their own: only the additive part and the network kernel predict the
//! others. The weights are used if they predict held-out validation records better than the additive part alone, and that if it
//! predicts them better than the mean training score. Otherwise the simpler one is the answer.

use crate::additive_fit::AdditiveFit;
use crate::covariates;
use crate::deviation::{DeviationModel, GeneNoise};
use crate::error::bad_tensor;
use crate::grid::{Grid, RowKey};
use crate::least_squares::non_negative_least_squares;
use crate::low_rank::{LowRank, LowRankOptions};
use crate::model::{
    Choice, HeldOutRecord, Problem, Records, SimilarProfile, Solution, SolveObserver, SolvedOptions, SumTerm,
    TriedSetting,
};
use crate::network_kernel::{KernelScratch, NetworkKernel, NetworkKernelOptions};
use crate::pair_features::PairFeatures;
use crate::pair_products::{PairForm, PairProducts};
use crate::profile::{ProfileOptions, ProfileParts, Profiles, WantedParts};
use crate::tensor::{Tensor, find, has};
use crate::tree_part::{OutOfFold, TreePart};
use knockout_base::error::Error;
use knockout_base::random::Rng;
use knockout_base::stats::{mean, pearson};
use knockout_data::cell::{Cell, GeneSets, GeneSetsRef};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A part that a stack can be solved without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StackPart {
    /// Low-rank completion of the residuals.
    LowRank,
    /// The Gaussian process over networks.
    NetworkKernel,
    /// Means of the residuals of similar profiles.
    ProfileNeighbours,
    /// The Gaussian process over profiles.
    ProfileKernel,
    /// Boosted trees over the other parts and figures of the genes, for screens of pairs.
    Trees,
}

/// Options of the stack: its parts and their options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StackOptions {
    /// The parts beside the additive one. Configurations without the key were written before there were trees.
    #[serde(default = "parts_without_trees")]
    pub parts: Vec<StackPart>,
    /// Features that the strength of a gene's interactions is expected from. A dataset may lack those of the default.
    pub amplitudes: Vec<String>,
    /// Options of the low-rank part.
    pub low_rank: LowRankOptions,
    /// Options of the network kernel.
    pub network_kernel: NetworkKernelOptions,
    /// Options of profile neighbours and profile kernel.
    #[serde(default = "ProfileOptions::earlier")]
    pub profile: ProfileOptions,
}

impl Default for StackOptions {
    fn default() -> Self {
        Self {
            parts: [parts_without_trees(), vec![StackPart::Trees]].concat(),
            amplitudes: AMPLITUDES.map(str::to_owned).to_vec(),
            low_rank: LowRankOptions::default(),
            network_kernel: NetworkKernelOptions::default(),
            profile: ProfileOptions::default(),
        }
    }
}

fn parts_without_trees() -> Vec<StackPart> {
    use StackPart::{LowRank, NetworkKernel, ProfileKernel, ProfileNeighbours};
    vec![LowRank, NetworkKernel, ProfileNeighbours, ProfileKernel]
}

const PARTS: usize = 6;
/// Parts beside the trees, which are grown on them.
const TRUNK: usize = 5;
const NETWORK_KERNEL: usize = 2;
const PART_NAMES: [&str; PARTS] =
    ["additive", "low_rank", "network_kernel", "profile_neighbours", "profile_kernel", "trees"];
/// Features that amplitudes are expected from by default, where a dataset has them.
const AMPLITUDES: [&str; 2] = ["fitness", "essential"];
/// 1 for parts that predict scores, 0 for those that predict residuals.
const IS_SCORE: [f64; PARTS] = [1.0, 0.0, 1.0, 0.0, 0.0, 1.0];
/// Beginnings of the names of the weights among the choices.
const WEIGHT: &str = "stack.weight";
const NEW_WEIGHT: &str = "stack.new_weight";
/// Beginnings of the names of the weights in the sums that trees start from.
const START: &str = "stack.start";
const NEW_START: &str = "stack.new_start";
const WEIGHTS: &str = "stack.weights";
const NEW_WEIGHTS: &str = "stack.new_weights";
const PREFIX: &str = "stack";
/// Minimum number of validation records with a cell, or without one, for weights of their own.
pub const MIN_WEIGHT_RECORDS: usize = 100;
/// Minimum number of groups of records whose differences weights are fitted to.
const MIN_GROUPS: usize = 8;
/// Training records between which trees are grown: fewer do not determine them, and more would take long.
const TREE_RECORDS: std::ops::RangeInclusive<usize> = 5_000..=1_000_000;
/// Folds of pairs and of genes that trees are grown on.
const PAIR_FOLDS: usize = 6;
const GENE_FOLDS: usize = 6;
/// Standard errors by which a part must explain held-out records.
const MIN_CERTAINTY: f64 = 2.0;
/// Like [`MIN_CERTAINTY`], for records that share new genes or query pairs, which are few.
const GROUP_CERTAINTY: f64 = 0.0;

impl SolvedOptions for StackOptions {
    const NAME: &'static str = "stack";
    const SUMMARY: &'static str = "ridge of genes and query pairs, low rank, network kernel, profiles and trees, weighted on held-out records";
    const FAST: Option<&'static str> =
        Some(r#"model.parts=["low_rank","network_kernel","profile_neighbours","profile_kernel"]"#);

    fn check(&self, cell: &Cell) -> Result<(), Error> {
        self.low_rank.check(cell)?;
        self.network_kernel.check(cell)?;
        let named: Vec<String> =
            self.amplitudes.iter().filter(|name| !AMPLITUDES.contains(&name.as_str())).cloned().collect();
        covariates::check(&named, cell)?;
        self.profile.check()
    }

    fn networks(&self, cell: &Cell) -> Vec<String> {
        // Trees see the degree of a gene over all networks.
        if self.parts.contains(&StackPart::Trees) {
            return NetworkKernelOptions::default().networks(cell);
        }
        let has_kernel = self.parts.contains(&StackPart::NetworkKernel);
        if has_kernel { self.network_kernel.networks(cell) } else { Vec::new() }
    }

    fn features(&self, cell: &Cell) -> Vec<String> {
        let has = |name: &&String| cell.features().is_some_and(|features| features.names().contains(*name));
        self.amplitudes.iter().filter(has).cloned().collect()
    }

    fn prior_knowledge(&self) -> Vec<String> {
        [self.low_rank.prior_knowledge(), self.network_kernel.prior_knowledge()].concat()
    }

    fn solve(
        &self,
        problem: Problem<'_>,
        observer: &mut dyn SolveObserver,
    ) -> Result<Box<dyn Solution>, Error> {
        let chosen = ChosenWeights::of(problem);
        let (mut parts, features) = self.solve_parts(problem, chosen.as_ref(), observer)?;
        let (mut known_folds, mut new_folds) = (OutOfFold::default(), OutOfFold::default());
        if let Some(features) = features {
            let settings = parts.choices();
            let of_fold = Problem { settings: &settings, ..problem };
            self.add_folds(of_fold, HeldOutBy::Pairs, &mut known_folds, observer)?;
            self.add_folds(of_fold, HeldOutBy::Genes, &mut new_folds, observer)?;
            parts.trees = Some(TreePart::grow(features, &mut known_folds, &mut new_folds));
        }
        let is_chosen = chosen.is_some();
        let mean = mean(&problem.train.scores);
        let weights = chosen.unwrap_or_else(|| {
            parts.fit_weights(self, problem.val, mean, [&known_folds, &new_folds], observer)
        });
        let [known, new] = [&weights.known, &weights.new].map(|weights| weights.parts[TRUNK] > 0.0);
        parts.trees = parts.trees.filter(|_| known || new);
        if let Some(trees) = &mut parts.trees {
            trees.keep(known, new);
        }
        let mut stack = Stack::new(parts, weights.known, Some(weights.new), problem.cell);
        let (sets, predictions) = (problem.val.sets.view(), stack.predict(problem.val.sets.view()));
        if !is_chosen {
            observer.on_setting(TriedSetting {
                setting: "stack".to_owned(),
                validation_pearson: pearson(&predictions, &problem.val.scores),
            });
        }
        let fitted = stack.predict(problem.train.sets.view());
        let noise = GeneNoise::estimate(problem.train, &fitted, problem.cell.genes().len());
        let variances = stack.parts.kernel.variances(sets);
        stack.deviation = DeviationModel::fit(noise, problem, PREFIX, &predictions, &variances);
        let out_of_folds = [(known_folds, &weights.known), (new_folds, &weights.new)];
        stack.held_out =
            out_of_folds.iter().flat_map(|(folds, weights)| stack.held_out(folds, weights)).collect();
        Ok(Box::new(stack))
    }

    fn load(&self, tensors: &[Tensor], cell: &Cell) -> Result<Box<dyn Solution>, Error> {
        let low_rank = LowRank::load(tensors, cell)?;
        let profiles = ProfileParts::load(tensors, low_rank.grid())?;
        let kernel = NetworkKernel::load(tensors, cell)?;
        let trees = TreePart::load(tensors, cell, &self.amplitudes, &kernel.features().vectors, TRUNK)?;
        let parts = StackParts { low_rank, kernel, profiles, trees };
        let known = PartWeights::load(find(tensors, WEIGHTS)?)?;
        // Earlier versions had one list of weights.
        let new = if has(tensors, NEW_WEIGHTS) {
            Some(PartWeights::load(find(tensors, NEW_WEIGHTS)?)?)
        } else {
            None
        };
        let mut stack = Stack::new(parts, known, new, cell);
        stack.deviation = DeviationModel::load(tensors, PREFIX, cell.genes().len())?;
        Ok(Box::new(stack))
    }
}

/// Records that a fold holds out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeldOutBy {
    Pairs,
    Genes,
}

impl StackOptions {
    fn has(&self, part: StackPart) -> bool {
        self.parts.contains(&part)
    }

    /// Solves the parts beside the trees, and tables of features if trees are to be grown.
    ///
    /// A part whose weights were chosen to be 0 is not solved.
    fn solve_parts(
        &self,
        problem: Problem<'_>,
        chosen: Option<&ChosenWeights>,
        observer: &mut dyn SolveObserver,
    ) -> Result<(StackParts, Option<PairFeatures>), Error> {
        let base = AdditiveFit::new(problem, &self.low_rank.covariates)?;
        let is_used = |part: StackPart| self.has(part) && chosen.is_none_or(|chosen| chosen.use_part(part));
        // Other models start from its factors, also where it is not listed.
        let low_rank = if chosen.is_none_or(|chosen| chosen.use_part(StackPart::LowRank)) {
            LowRank::solve(&self.low_rank, problem, &base, observer)?
        } else {
            LowRank::of_additive(&base)
        };
        let kernel = NetworkKernel::solve(&self.network_kernel, &self.amplitudes, problem, &base, observer)?;
        let wanted = WantedParts {
            neighbours: is_used(StackPart::ProfileNeighbours),
            kernel: is_used(StackPart::ProfileKernel),
        };
        let sets = problem.train.sets.view();
        let profiles = ProfileParts::solve(&self.profile, wanted, sets, &base, kernel.features(), observer);
        let has_trees = is_used(StackPart::Trees)
            && sets.iter().all(|set| set.len() == 2)
            && self.profile.allows_trees(&base.grid, problem.cell.genes().len())
            && TREE_RECORDS.contains(&sets.len());
        let features = has_trees.then(|| {
            let vectors = &kernel.features().vectors;
            let profile_kernel = profiles.kernel.as_ref();
            PairFeatures::new(problem.cell, &self.amplitudes, problem.train, &base, profile_kernel, vectors)
        });
        Ok((StackParts { low_rank, kernel, profiles, trees: None }, features))
    }

    /// Solves the parts without each fold in turn, and adds the records of the fold.
    fn add_folds(
        &self,
        problem: Problem<'_>,
        held: HeldOutBy,
        out: &mut OutOfFold,
        observer: &mut dyn SolveObserver,
    ) -> Result<(), Error> {
        let (fold_count, chosen) = match held {
            HeldOutBy::Pairs => (PAIR_FOLDS, None),
            HeldOutBy::Genes => (GENE_FOLDS, Some(ChosenWeights::of_new_genes())),
        };
        let folds = fold_of_records(problem, held, fold_count);
        for fold in 0..fold_count {
            let part = |is_held_out: bool| {
                let mut records = Records::default();
                for (index, set) in problem.train.sets.view().iter().enumerate() {
                    if (folds[index] >> fold & 1 == 1) == is_held_out {
                        records.sets.push(set);
                        records.scores.push(problem.train.scores[index]);
                    }
                }
                records
            };
            let (train, held_out) = (part(false), part(true));
            observer.on_step("folds of the trees", fold + 1);
            let of_fold = Problem { train: &train, ..problem };
            if held_out.scores.is_empty() || train.scores.len() < 2 {
                continue;
            }
            let (parts, features) = self.solve_parts(of_fold, chosen.as_ref(), &mut ())?;
            let Some(features) = features else { continue };
            let variances = parts.kernel.variances(held_out.sets.view());
            let mut scratch = KernelScratch::default();
            let masks = folds.iter().filter(|&mask| mask >> fold & 1 == 1);
            let mut of_records = variances.into_iter().zip(masks);
            out.add(fold, &held_out, &features, &parts.kernel.features().vectors, |set| {
                let (variance, &all_folds) = of_records.next().unwrap_or((0.0, &0));
                (parts.trunk_of_set(set, &mut scratch).to_vec(), variance, all_folds)
            });
        }
        Ok(())
    }
}

/// Returns the folds that hold out each training record, one bit each.
fn fold_of_records(problem: Problem<'_>, held: HeldOutBy, fold_count: usize) -> Vec<u32> {
    let mut rng = Rng::new(0, "folds of trees");
    let of_gene: Vec<usize> = (0..problem.cell.genes().len()).map(|_| rng.below(fold_count)).collect();
    let fold = |set: &[u32]| match held {
        HeldOutBy::Genes => set.iter().map(|&gene| 1 << of_gene[gene as usize]).fold(0, |a, b| a | b),
        HeldOutBy::Pairs => {
            let mixed = set.iter().fold(0_u64, |mixed, &gene| {
                (mixed ^ u64::from(gene)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
            });
            1 << (mixed % fold_count as u64)
        }
    };
    problem.train.sets.view().iter().map(fold).collect()
}

/// An intercept and the weight of each part.
#[derive(Debug, Clone, Copy, PartialEq)]
struct PartWeights {
    intercept: f32,
    parts: [f32; PARTS],
}

impl PartWeights {
    /// Fits non-negative weights of some parts to some records.
    ///
    /// The intercept is not fitted: without any part the sum is the mean training score. Records of a few new genes or query pairs
    /// differ from it by what is particular to these, which others do not have.
    fn fit(problem: &WeightProblem<'_>, used: [bool; PARTS], records: &[usize]) -> Self {
        let columns: Vec<usize> = (0..PARTS).filter(|&part| used[part]).collect();
        let size = columns.len();
        let (mut gram, mut moments, mut values) = (vec![0.0; size * size], vec![0.0; size], vec![0.0; size]);
        for &record in records {
            let value = |&part: &usize| problem.centred(part, record);
            values.iter_mut().zip(&columns).for_each(|(into, part)| *into = value(part));
            let score = problem.centred_score(record);
            for i in 0..size {
                moments[i] += values[i] * score;
                (0..size).for_each(|j| gram[size * i + j] += values[i] * values[j]);
            }
        }
        let mut parts = [0.0; PARTS];
        let found = non_negative_least_squares(&gram, &moments);
        columns.iter().zip(found).for_each(|(&part, weight)| parts[part] = weight as f32);
        let around_mean: f64 = IS_SCORE.iter().zip(parts).map(|(&is, weight)| is * f64::from(weight)).sum();
        Self { intercept: (problem.mean * (1.0 - around_mean)) as f32, parts }
    }

    /// Returns weights that were chosen before.
    fn chosen(problem: Problem<'_>, prefix: &str) -> Option<Self> {
        let number = |name: &str| problem.setting(&format!("{prefix}.{name}")).map(|value| value as f32);
        let mut parts = [0.0; PARTS];
        for (weight, name) in parts.iter_mut().zip(PART_NAMES) {
            *weight = number(name)?;
        }
        Some(Self { intercept: number("intercept")?, parts })
    }

    /// Loads weights; those of parts that an earlier version did not have are 0.
    fn load(tensor: &Tensor) -> Result<Self, Error> {
        let Some((&intercept, stored)) = tensor.values.split_first() else {
            return Err(bad_tensor(&tensor.name));
        };
        if ![3, TRUNK, PARTS].contains(&stored.len()) {
            return Err(bad_tensor(&tensor.name));
        }
        let mut parts = [0.0; PARTS];
        parts[..stored.len()].copy_from_slice(stored);
        Ok(Self { intercept, parts })
    }

    fn tensor(&self, name: &str) -> Tensor {
        Tensor::vector(name, [&[self.intercept], &self.parts[..]].concat())
    }

    fn choices(&self, prefix: &str) -> Vec<Choice> {
        let named = |(name, weight): (&&str, f32)| Choice::new(format!("{prefix}.{name}"), f64::from(weight));
        let parts = PART_NAMES.iter().zip(self.parts);
        [(&"intercept", self.intercept)].into_iter().chain(parts).map(named).collect()
    }
}

/// The solved parts.
struct StackParts {
    low_rank: LowRank,
    kernel: NetworkKernel,
    profiles: ProfileParts,
    trees: Option<TreePart>,
}

impl StackParts {
    /// Returns whether a set has a cell, which low rank and profiles need.
    fn has_cell(&self, set: &[u32]) -> bool {
        self.low_rank.grid().cells(set).iter().next().is_some()
    }

    /// Returns the prediction of each part for each set.
    fn of_sets(&self, sets: GeneSetsRef<'_>) -> Vec<[f64; PARTS]> {
        let mut scratch = KernelScratch::default();
        let trunks: Vec<_> = sets.iter().map(|set| self.trunk_of_set(set, &mut scratch)).collect();
        let vectors = &self.kernel.features().vectors;
        let trees = self.trees.as_ref().map(|trees| trees.predict(sets, &trunks, vectors));
        let part = |record: usize, part: usize| match trunks[record].get(part) {
            Some(&value) => value,
            None => trees.as_ref().map_or(0.0, |trees| trees[record]),
        };
        (0..trunks.len()).map(|record| std::array::from_fn(|index| part(record, index))).collect()
    }

    /// Returns the settings that solving the parts again needs.
    fn choices(&self) -> Vec<Choice> {
        [self.low_rank.choices(), self.kernel.choices()].concat()
    }

    /// Returns the prediction of each part beside the trees.
    fn trunk_of_set(&self, set: &[u32], scratch: &mut KernelScratch) -> [f64; TRUNK] {
        let Self { low_rank, kernel, profiles: ProfileParts { neighbours, kernel: profile_kernel }, .. } =
            self;
        let grid = low_rank.grid();
        [
            low_rank.additive(set),
            low_rank.completed(set),
            kernel.predict_one(set, scratch),
            neighbours.as_ref().map_or(0.0, |part| part.value(grid, set)),
            profile_kernel.as_ref().map_or(0.0, |part| part.value(grid, set)),
        ]
    }

    /// Fits the weights of sets with a cell, and of the others, around the mean training score.
    fn fit_weights(
        &self,
        options: &StackOptions,
        val: &Records,
        mean: f64,
        [known_folds, new_folds]: [&OutOfFold; 2],
        observer: &mut dyn SolveObserver,
    ) -> ChosenWeights {
        let mut predictions: [Vec<f64>; PARTS] = Default::default();
        for parts in self.of_sets(val.sets.view()) {
            predictions.iter_mut().zip(parts).for_each(|(column, value)| column.push(value));
        }
        let report = |part: usize, is_solved: bool, observer: &mut dyn SolveObserver| {
            let sums: Vec<f64> = predictions[0].iter().zip(&predictions[part]).map(|(a, b)| a + b).collect();
            if is_solved {
                observer.on_setting(TriedSetting {
                    setting: PART_NAMES[part].replace('_', " "),
                    validation_pearson: pearson(&sums, &val.scores),
                });
            }
        };
        report(3, self.profiles.neighbours.is_some(), observer);
        report(4, self.profiles.kernel.is_some(), observer);
        if self.trees.is_some() {
            observer.on_setting(TriedSetting {
                setting: PART_NAMES[TRUNK].to_owned(),
                validation_pearson: pearson(&predictions[TRUNK], &val.scores),
            });
        }
        let low_rank = options.has(StackPart::LowRank);
        let kernel = options.has(StackPart::NetworkKernel);
        let (known, new): (Vec<usize>, Vec<usize>) =
            (0..val.scores.len()).partition(|&record| self.has_cell(val.sets.get(record)));
        let all: Vec<usize> = (0..val.scores.len()).collect();
        let records = |own: Vec<usize>| if own.len() < MIN_WEIGHT_RECORDS { all.clone() } else { own };
        let fit = |used, records: Vec<usize>| {
            let groups = self.groups(val, &records);
            WeightProblem::new(&predictions, &val.scores, mean, &records, groups).validated(used, &records)
        };
        let trees = self.trees.is_some();
        let of_new = [true, false, kernel, false, false, trees];
        let of_known = [true, low_rank, kernel, true, true, trees];
        let is_in_folds = |folds: &OutOfFold| folds.trees.len() >= MIN_WEIGHT_RECORDS;
        ChosenWeights {
            // Folds hold out many more new genes than the validation part has.
            new: if is_in_folds(new_folds) {
                folded_weights(new_folds, of_new, mean)
            } else {
                fit(of_new, records(new))
            },
            // A gene-disjoint validation part has no set of known genes.
            known: if known.len() < MIN_WEIGHT_RECORDS && is_in_folds(known_folds) {
                folded_weights(known_folds, of_known, mean)
            } else {
                fit(of_known, records(known))
            },
        }
    }

    /// Returns the group of each of some records: records of one new gene, or of one new query pair, share what is particular to it.
    /// All others are groups of their own.
    fn groups(&self, val: &Records, records: &[usize]) -> Vec<usize> {
        let own = Grid::from_sets(val.sets.view());
        let group = |&record: &usize| {
            let set = val.sets.get(record);
            let new = set.iter().find(|&&gene| !self.low_rank.is_known(gene));
            match (new, own.split_triple(set)) {
                (_, Some((RowKey::Pair(a, b), _))) if !self.has_cell(set) => GroupKey::Pair(a, b),
                (Some(&gene), _) => GroupKey::Gene(gene),
                _ => GroupKey::Record(record),
            }
        };
        let keys: Vec<GroupKey> = records.iter().map(group).collect();
        let numbers: BTreeMap<GroupKey, usize> =
            keys.iter().copied().collect::<BTreeSet<_>>().into_iter().zip(0..).collect();
        keys.iter().map(|key| numbers[key]).collect()
    }

    /// Returns low rank, network kernel and profile kernel as one inner product; `None` if one of them has no bilinear form.
    fn pair_products(&self, weights: &PartWeights, genes: usize) -> Option<PairProducts> {
        let [_, low_rank, kernel, _, profile_kernel, _] = weights.parts.map(f64::from);
        let grid = self.low_rank.grid();
        self.low_rank.with_form(low_rank, |low_rank| {
            let kernel = self.kernel.form(kernel)?;
            Some(match &self.profiles.kernel {
                None => PairProducts::new(genes, &[low_rank, kernel]),
                Some(part) => part.with_form(grid, profile_kernel, |profile_kernel: PairForm<'_>| {
                    PairProducts::new(genes, &[low_rank, kernel, profile_kernel])
                }),
            })
        })?
    }
}

/// Fits weights of new genes to records whose genes folds held out.
fn folded_weights(folds: &OutOfFold, used: [bool; PARTS], mean: f64) -> PartWeights {
    let part = |part: usize| -> Vec<f64> {
        if part == TRUNK {
            folds.trees.clone()
        } else {
            folds.parts.iter().map(|parts| parts[part]).collect()
        }
    };
    let predictions: [Vec<f64>; PARTS] = std::array::from_fn(part);
    let scores: Vec<f64> = (0..folds.len()).map(|record| folds.score(record)).collect();
    // As in `StackParts::groups`: records of one new gene are a group, and each of known genes is one of its own.
    let most = folds.sets.view().iter().flatten().max().map_or(0, |&gene| gene as usize + 1);
    let group = |(record, (set, is_new)): (usize, (&[u32], &[bool; 2]))| match is_new {
        [true, _] => set[0] as usize,
        [false, true] => set[1] as usize,
        [false, false] => most + record,
    };
    let groups = folds.sets.view().iter().zip(&folds.is_new).enumerate().map(group).collect();
    let records: Vec<usize> = (0..folds.len()).collect();
    WeightProblem::new(&predictions, &scores, mean, &records, groups).validated(used, &records)
}

/// Element that records of the validation part share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum GroupKey {
    Record(usize),
    Gene(u32),
    Pair(u32, u32),
}

/// The predictions of the parts for the validation part, and what weights are fitted to.
struct WeightProblem<'a> {
    predictions: &'a [Vec<f64>; PARTS],
    scores: &'a [f64],
    /// The mean training score.
    mean: f64,
    /// The group of each record.
    groups: Vec<usize>,
    /// For each group, the means of the centred parts and score; empty if there are enough groups to fit their differences.
    group_means: Vec<[f64; PARTS + 1]>,
}

impl<'a> WeightProblem<'a> {
    fn new(
        predictions: &'a [Vec<f64>; PARTS],
        scores: &'a [f64],
        mean: f64,
        records: &[usize],
        of_records: Vec<usize>,
    ) -> Self {
        let count = of_records.iter().max().map_or(0, |last| last + 1);
        let mut groups = vec![0; scores.len()];
        records.iter().zip(of_records).for_each(|(&record, group)| groups[record] = group);
        let mut problem = Self { predictions, scores, mean, groups, group_means: Vec::new() };
        if count < MIN_GROUPS {
            let (mut means, mut sizes) = (vec![[0.0; PARTS + 1]; count], vec![0.0_f64; count]);
            for &record in records {
                let group = problem.groups[record];
                sizes[group] += 1.0;
                (0..PARTS).for_each(|part| means[group][part] += problem.centred(part, record));
                means[group][PARTS] += problem.centred_score(record);
            }
            for (means, size) in means.iter_mut().zip(sizes) {
                for mean in means.iter_mut() {
                    *mean /= size.max(1.0);
                }
            }
            problem.group_means = means;
        }
        problem
    }

    fn group_mean(&self, column: usize, record: usize) -> f64 {
        self.group_means.get(self.groups[record]).map_or(0.0, |means| means[column])
    }

    /// Returns a part at a record around the mean training score, and around the mean of the group where there are few.
    fn centred(&self, part: usize, record: usize) -> f64 {
        self.predictions[part][record] - IS_SCORE[part] * self.mean - self.group_mean(part, record)
    }

    fn centred_score(&self, record: usize) -> f64 {
        self.scores[record] - self.mean - self.group_mean(PARTS, record)
    }

    /// Returns the weighted sum at a record, centred like the score.
    fn sum(&self, weights: &PartWeights, record: usize) -> f64 {
        (0..PARTS).map(|part| f64::from(weights.parts[part]) * self.centred(part, record)).sum()
    }

    /// Fits weights; leaves out parts, or all of them, if the sum does not predict records of other groups better than without.
    ///
    /// Better means a smaller squared error, and a correlation of what is added with what was left unexplained that chance does not
    /// explain: settings of the parts were chosen on the same records.
    fn validated(&self, used: [bool; PARTS], records: &[usize]) -> PartWeights {
        let in_half = |half: usize| -> Vec<usize> {
            // With few groups both halves have records of each.
            let is_in = |&(index, &record): &(usize, &usize)| {
                let unit = if self.group_means.is_empty() { self.groups[record] } else { index };
                unit % 2 == half
            };
            records.iter().enumerate().filter(is_in).map(|(_, &record)| record).collect()
        };
        let halves = [in_half(0), in_half(1)];
        let cross_fitted = |used: [bool; PARTS]| -> Vec<f64> {
            let fits = [1, 0].map(|other: usize| PartWeights::fit(self, used, &halves[other]));
            let of_half = |(half, fit): (&Vec<usize>, &PartWeights)| -> Vec<f64> {
                half.iter().map(|&record| self.sum(fit, record)).collect()
            };
            halves.iter().zip(&fits).flat_map(of_half).collect()
        };
        let order: Vec<usize> = halves.concat();
        let is_better = |found: &[f64], before: &[f64]| {
            let groups = self.groups.iter().max().map_or(0, |last| last + 1);
            let (mut gain, mut sums) =
                (0.0, vec![0.0; if self.group_means.is_empty() { groups } else { order.len() }]);
            for (index, &record) in order.iter().enumerate() {
                let (added, left) =
                    (found[index] - before[index], self.centred_score(record) - before[index]);
                gain += added * (2.0 * left - added);
                let unit = if self.group_means.is_empty() { self.groups[record] } else { index };
                sums[unit] += added * left;
            }
            let spread = sums.iter().map(|sum| sum * sum).sum::<f64>().sqrt();
            // Records of one group count together, and settings were not chosen for their genes alone.
            let certainty = if sums.len() < order.len() { GROUP_CERTAINTY } else { MIN_CERTAINTY };
            gain > 0.0 && sums.iter().sum::<f64>() > certainty * spread
        };
        let additive = std::array::from_fn(|part| part == 0 && used[0]);
        let mut best = ([false; PARTS], vec![0.0; order.len()]);
        for used in [additive, used] {
            let found = cross_fitted(used);
            if is_better(&found, &best.1) {
                best = (used, found);
            }
        }
        PartWeights::fit(self, best.0, records)
    }
}

/// The weights of sets with a cell, and of the others.
struct ChosenWeights {
    known: PartWeights,
    new: PartWeights,
}

impl ChosenWeights {
    /// Returns weights that were chosen before.
    fn of(problem: Problem<'_>) -> Option<Self> {
        Some(Self {
            known: PartWeights::chosen(problem, WEIGHT)?,
            new: PartWeights::chosen(problem, NEW_WEIGHT)?,
        })
    }

    /// Returns weights with which only the parts that predict new genes are solved.
    fn of_new_genes() -> Self {
        let none = PartWeights { intercept: 0.0, parts: [0.0; PARTS] };
        let parts = std::array::from_fn(|part| f32::from(u8::from(part == NETWORK_KERNEL || part == TRUNK)));
        Self { known: none, new: PartWeights { intercept: 0.0, parts } }
    }

    /// Returns whether a part, or trees that need it, has a weight.
    fn use_part(&self, part: StackPart) -> bool {
        let [known, new] =
            [&self.known, &self.new].map(|weights| move |index: usize| weights.parts[index] > 0.0);
        match part {
            StackPart::LowRank => known(1) || known(TRUNK),
            StackPart::NetworkKernel => known(NETWORK_KERNEL) || new(NETWORK_KERNEL),
            StackPart::ProfileNeighbours => known(3) || known(TRUNK),
            // It fills in the profiles that trees of new genes see.
            StackPart::ProfileKernel => known(4) || known(TRUNK) || new(TRUNK),
            StackPart::Trees => known(TRUNK) || new(TRUNK),
        }
    }
}

struct Stack {
    parts: StackParts,
    /// The sum at sets with a cell, or at all sets.
    known: WeightedSum,
    /// The sum at sets without a cell.
    new: Option<WeightedSum>,
    deviation: DeviationModel,
    /// Training records that folds of the trees held out; empty without trees.
    held_out: Vec<HeldOutRecord>,
}

/// A weighted sum of parts.
struct WeightedSum {
    weights: PartWeights,
    /// The bilinear parts at pairs.
    products: Option<PairProducts>,
}

impl WeightedSum {
    fn new(parts: &StackParts, weights: PartWeights, genes: usize) -> Self {
        Self { weights, products: parts.pair_products(&weights, genes) }
    }

    fn predict(&self, parts: &StackParts, sets: GeneSetsRef<'_>) -> Vec<f64> {
        let (intercept, weights) = (f64::from(self.weights.intercept), self.weights.parts.map(f64::from));
        let [additive, _, kernel, neighbours, _, trees] = weights;
        let sum = |parts: &[f64]| {
            intercept + weights.iter().zip(parts).map(|(weight, part)| weight * part).sum::<f64>()
        };
        let Some(products) = self.products.as_ref().filter(|_| trees == 0.0) else {
            return parts.of_sets(sets).iter().map(|parts| sum(parts)).collect();
        };
        let of_pairs = products.of_sets(sets);
        let constant = intercept + kernel * parts.kernel.mean();
        let grid = parts.low_rank.grid();
        let of_neighbours =
            |set: &[u32]| parts.profiles.neighbours.as_ref().map_or(0.0, |part| part.value(grid, set));
        let mut scratch = KernelScratch::default();
        let predict = |(i, set): (usize, &[u32])| {
            if set.len() != 2 {
                return sum(&parts.trunk_of_set(set, &mut scratch));
            }
            let bilinear = constant + additive * parts.low_rank.additive(set) + f64::from(of_pairs[i]);
            if neighbours == 0.0 { bilinear } else { bilinear + neighbours * of_neighbours(set) }
        };
        sets.iter().enumerate().map(predict).collect()
    }
}

impl Stack {
    fn new(parts: StackParts, known: PartWeights, new: Option<PartWeights>, cell: &Cell) -> Self {
        let sum = |weights| WeightedSum::new(&parts, weights, cell.genes().len());
        let (known, new) = (sum(known), new.map(sum));
        Self { parts, known, new, deviation: DeviationModel::default(), held_out: Vec::new() }
    }

    /// Returns the records of folds with the predictions of other folds.
    fn held_out(&self, folds: &OutOfFold, weights: &PartWeights) -> Vec<HeldOutRecord> {
        let record = |record: usize| {
            let (set, is_new) = (folds.sets.get(record), folds.is_new[record]);
            let parts = folds.parts[record].iter().chain([&folds.trees[record]]).zip(weights.parts);
            let sum: f64 = parts.map(|(part, weight)| part * f64::from(weight)).sum();
            HeldOutRecord {
                genes: [set[0], set[1]],
                is_new,
                score: folds.score(record),
                prediction: f64::from(weights.intercept) + sum,
                sd: self.deviation.of_held_out(set, is_new, folds.variances[record]),
            }
        };
        (0..folds.trees.len()).map(record).collect()
    }
}

impl Solution for Stack {
    fn predict(&self, sets: GeneSetsRef<'_>) -> Vec<f64> {
        let Some(new) = &self.new else { return self.known.predict(&self.parts, sets) };
        let has_cell: Vec<bool> = sets.iter().map(|set| self.parts.has_cell(set)).collect();
        let of = |sum: &WeightedSum, wanted: bool| {
            let chosen = sets.iter().zip(&has_cell).filter(|(_, has)| **has == wanted).map(|(set, _)| set);
            sum.predict(&self.parts, chosen.collect::<GeneSets>().view()).into_iter()
        };
        let (mut of_known, mut of_new) = (of(&self.known, true), of(new, false));
        has_cell.iter().filter_map(|&has| if has { of_known.next() } else { of_new.next() }).collect()
    }

    fn deviations(&self, sets: GeneSetsRef<'_>, _: &[f64]) -> Option<Vec<f64>> {
        Some(self.deviation.deviations(sets, self.parts.kernel.variances(sets).into_iter()))
    }

    fn wide_interval(&self) -> Option<f64> {
        Some(self.deviation.wide())
    }

    fn held_out(&self) -> &[HeldOutRecord] {
        &self.held_out
    }

    fn tensors(&self) -> Vec<Tensor> {
        let mut tensors = self.parts.low_rank.own_tensors();
        tensors.extend(self.parts.kernel.own_tensors());
        tensors.extend(self.parts.profiles.tensors());
        tensors.extend(self.parts.trees.iter().flat_map(TreePart::tensors));
        tensors.extend(self.deviation.tensors(PREFIX));
        tensors.push(self.known.weights.tensor(WEIGHTS));
        tensors.extend(self.new.as_ref().map(|new| new.weights.tensor(NEW_WEIGHTS)));
        tensors
    }

    fn choices(&self) -> Vec<Choice> {
        let mut choices = self.parts.choices();
        if let Some(trees) = &self.parts.trees {
            let [known, new] = trees.counts().map(|count| count as f64);
            choices.extend([Choice::new("stack.trees.known", known), Choice::new("stack.trees.new", new)]);
            for (prefix, is_new) in [(START, false), (NEW_START, true)] {
                let weights: Option<[f64; TRUNK]> = trees.start_weights(is_new);
                let named = PART_NAMES.iter().zip(weights.into_iter().flatten());
                choices.extend(named.map(|(name, weight)| Choice::new(format!("{prefix}.{name}"), weight)));
            }
        }
        choices.extend(self.known.weights.choices(WEIGHT));
        choices.extend(self.new.iter().flat_map(|new| new.weights.choices(NEW_WEIGHT)));
        choices.extend(self.deviation.choices(PREFIX));
        choices
    }

    fn terms(&self, set: &[u32]) -> Option<Vec<SumTerm>> {
        let sum = self.sum_at(set);
        let intercept = f64::from(sum.weights.intercept);
        let weights = sum.weights.parts.map(f64::from);
        let values = self.parts.of_sets([set].into_iter().collect::<GeneSets>().view())[0];
        // Parts that predict scores are stated around the mean training score.
        let means = IS_SCORE.map(|is_score| is_score * self.parts.kernel.mean());
        let around: f64 = weights.iter().zip(means).map(|(weight, mean)| weight * mean).sum();
        let mut values: [f64; PARTS] = std::array::from_fn(|part| values[part] - means[part]);
        // The sum that trees start from is stated as parts, and what they add to it as trees.
        let weights = self.weights_of_parts(set);
        let start = self.start_weights(set);
        values[TRUNK] -= start.iter().zip(&values).map(|(weight, value)| weight * value).sum::<f64>();
        let part = |part: usize| SumTerm::new(PART_NAMES[part], values[part], weights[part]);
        let is_told = |&part: &usize| part != TRUNK || weights[part] > 0.0;
        let of_parts = (0..PARTS).filter(is_told).map(part);
        Some([SumTerm::new("intercept", intercept + around, 1.0)].into_iter().chain(of_parts).collect())
    }

    fn similar_profiles(&self, set: &[u32], train: &Records) -> Vec<SimilarProfile> {
        let [_, _, _, neighbours, profile_kernel, _] = self.weights_of_parts(set);
        if neighbours == 0.0 && profile_kernel == 0.0 {
            return Vec::new();
        }
        let sets = train.sets.view();
        let additive = sets.iter().map(|set| self.parts.low_rank.additive(set));
        let residuals: Vec<f64> =
            train.scores.iter().zip(additive).map(|(score, part)| score - part).collect();
        let grid = self.parts.low_rank.grid();
        Profiles::new(grid, sets, &residuals, 1).similar(grid, set)
    }
}

impl Stack {
    /// Returns the sum that predicts a set.
    fn sum_at(&self, set: &[u32]) -> &WeightedSum {
        self.new.as_ref().filter(|_| !self.parts.has_cell(set)).unwrap_or(&self.known)
    }

    /// Returns the weight of each part in the sum that trees at a set start from.
    fn start_weights(&self, set: &[u32]) -> [f64; TRUNK] {
        let trees = self.parts.trees.as_ref().filter(|_| set.len() == 2);
        let is_new = set.iter().any(|&gene| !self.parts.low_rank.is_known(gene));
        trees.and_then(|trees| trees.start_weights(is_new)).unwrap_or_default()
    }

    /// Returns the weight of each part at a set, directly and in the sum that trees start from.
    fn weights_of_parts(&self, set: &[u32]) -> [f64; PARTS] {
        let mut weights = self.sum_at(set).weights.parts.map(f64::from);
        let of_trees = weights[TRUNK];
        let parts = weights.iter_mut().zip(self.start_weights(set));
        parts.for_each(|(weight, start)| *weight += of_trees * start);
        weights
    }
}
