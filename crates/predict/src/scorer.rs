//! Scorers of gene sets: the interface between models and predictions.
//!
//! [`OpenRun::scorer`] makes a [`Scorer`] of any checkpoint. All other code here is independent of the model.
//!
//! Within a block, sets are ordered so that the sets of a batch share most genes. The order depends only on the block. In
//! single precision a prediction depends on its batch by rounding, a few millionths of a standard deviation.

use crate::RunEntry;
use crate::candidates::nothing_to_predict;
use crate::packed::{self, Unpacked};
use knockout_base::error::{Error, Result};
use knockout_data::cell::{GeneSets, GeneSetsRef};
use knockout_data::screen::{Dataset, LabelStats, Part, Split};
use knockout_models::{FixedScorer, MODELS};
use knockout_train::checkpoint::{Checkpoint, Checkpoints, Slot};
use knockout_train::predictor::Predictor;
use knockout_train::run::RunDescription;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Predictions of some sets, in the scores' own units.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scores {
    /// One for each set.
    pub mean: Vec<f64>,
    /// Standard deviations, one for each set, NaN for sets of a size that training does not have; `None` where the scorer knows none.
    pub sd: Option<Vec<f64>>,
}

/// Whether one call of [`Scorer::score`] occupies one thread or all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    /// One: blocks are scored side by side.
    One,
    /// All of the pool: blocks are scored one after the other.
    All,
}

/// Scores gene sets. A score depends on its own set alone, up to rounding.
pub trait Scorer: Send + Sync {
    /// Replaces `out` by the scores of `sets`.
    fn score(&self, sets: GeneSetsRef<'_>, out: &mut Scores) -> Result<()>;

    /// Candidates in a block: what a kill may lose, in seconds rather than minutes.
    fn block(&self) -> u64;

    /// Threads that a call occupies.
    fn threads(&self) -> Threads;

    /// Smallest and largest set that it scores.
    fn orders(&self) -> (usize, usize) {
        (1, usize::MAX)
    }
}

/// Blocks of scorers that need microseconds for a set.
const FAST_BLOCK: u64 = 1 << 18;
/// Blocks of scorers that run a whole forward pass: enough sets that many share genes, and less than a minute of two cores.
const SLOW_BLOCK: u64 = 1 << 10;

/// A run's checkpoint, ready to score.
pub struct OpenRun {
    /// Its entry in a manifest.
    pub entry: RunEntry,
    /// The checkpoint's folder.
    pub checkpoint: PathBuf,
    description: RunDescription,
    weights: Checkpoint,
    predictor: Predictor,
    trained_orders: BTreeSet<usize>,
    /// Rows of the test part with their predictions, by the size of their sets; computed once.
    test: Mutex<BTreeMap<usize, TestPredictions>>,
}

/// Rows of a dataset with their predictions.
type TestPredictions = Arc<[(u32, f64)]>;

/// Runs of one dataset.
pub struct OpenRuns {
    /// The runs.
    pub runs: Vec<OpenRun>,
    /// Their dataset.
    pub dataset: Arc<Dataset>,
    /// Where it is.
    pub dataset_folder: PathBuf,
    /// The split of the runs. Where theirs differ: samples that any run was trained on are for training, and only those that all hold back
    /// are for the test.
    pub split: Arc<Split>,
    /// Whether the splits of the runs differ.
    pub splits_differ: bool,
    /// Temporary folders of packed models.
    unpacked: Vec<Unpacked>,
}

impl OpenRuns {
    /// Opens a state of each run: by default the best Pearson, or the last where no epoch has ended. `data` is where the
    /// dataset is now, if it moved; its contents must be what the runs were trained on.
    pub fn open(folders: &[PathBuf], state: Option<Slot>, data: Option<&Path>) -> Result<Self> {
        let mut opened: Option<Self> = None;
        let mut splits = Vec::with_capacity(folders.len());
        for folder in folders {
            let unpacked = if folder.is_file() { Some(packed::unpack(folder)?) } else { None };
            let home = unpacked.as_ref().map_or_else(|| folder.clone(), Unpacked::run);
            let data = unpacked.as_ref().map(Unpacked::dataset).or_else(|| data.map(Path::to_owned));
            let mut description = RunDescription::read(&home, &[] as &[&str], MODELS)?;
            if let Some(data) = &data {
                description = description.with_dataset(data);
            }
            let (dataset, split, dataset_folder) = if let Some(first) = &opened {
                if description.manifest.inputs.dataset != first.dataset.manifest.data_hash() {
                    let (first, other) = (folders[0].display(), folder.display());
                    return Err(Error::request(format!(
                        "{other} was trained on another dataset than {first}; runs of one ensemble share their dataset"
                    )));
                }
                let split = Arc::new(description.split_of(&first.dataset)?);
                (Arc::clone(&first.dataset), split, first.dataset_folder.clone())
            } else {
                // The temporary folder of a packed model means nothing to a reader.
                let named = if unpacked.is_some() { folder } else { description.dataset_folder()? };
                let named = named.to_owned();
                let (dataset, split) = description.open_dataset()?;
                (dataset, split, named)
            };
            let mut run = OpenRun::open(description, state, &dataset, &split)?;
            folder.clone_into(&mut run.entry.folder);
            splits.push(Arc::clone(&split));
            if let Some(opened) = &mut opened {
                check_is_new(&run.entry, &opened.runs)?;
                opened.runs.push(run);
                opened.unpacked.extend(unpacked);
            } else {
                let unpacked = unpacked.into_iter().collect();
                let (runs, splits_differ) = (vec![run], false);
                opened = Some(Self { runs, dataset, dataset_folder, split, splits_differ, unpacked });
            }
        }
        let mut opened = opened.ok_or_else(|| nothing_to_predict("no run was named"))?;
        if let Some(common) = common_split(&splits, opened.dataset.samples.len())? {
            (opened.split, opened.splits_differ) = (Arc::new(common), true);
        }
        Ok(opened)
    }

    /// Returns the sizes of the sets in the training part.
    pub fn trained_orders(&self) -> BTreeSet<usize> {
        trained_orders(&self.dataset, &self.split)
    }

    /// A scorer of all runs together.
    pub fn scorer(&self) -> Ensemble<'_> {
        Ensemble { members: self.runs.iter().map(OpenRun::scorer).collect() }
    }
}

impl OpenRun {
    /// See [`Predictor::prior_knowledge`].
    pub fn prior_knowledge(&self) -> BTreeSet<String> {
        self.predictor.prior_knowledge()
    }

    fn open(
        description: RunDescription,
        state: Option<Slot>,
        dataset: &Dataset,
        split: &Split,
    ) -> Result<Self> {
        let folder = description.folder();
        let Some((slot, path, checkpoint)) = Checkpoints::of_run(folder).choose(state)? else {
            let state = state.unwrap_or(Slot::Last).name();
            let run = folder.display();
            return Err(Error::request(format!(
                "{run} has no state {state:?} yet; let it train for an epoch, or take --state last"
            )));
        };
        let predictor = description.predictor(&checkpoint, dataset, split)?;
        let entry = RunEntry {
            folder: folder.to_owned(),
            model: description.config.model.name().to_owned(),
            seed: description.config.seed,
            state: slot.name().to_owned(),
            step: checkpoint.state.position.step,
            weights_hash: checkpoint.weights_hash.clone(),
        };
        let trained_orders = trained_orders(dataset, split);
        let test = Mutex::default();
        Ok(Self {
            entry,
            checkpoint: path,
            description,
            weights: checkpoint,
            predictor,
            trained_orders,
            test,
        })
    }

    /// Returns the description of the run.
    pub fn description(&self) -> &RunDescription {
        &self.description
    }

    /// The checkpoint, with its weights by name.
    pub fn weights(&self) -> &Checkpoint {
        &self.weights
    }

    /// The predictor of the checkpoint.
    pub fn predictor(&self) -> &Predictor {
        &self.predictor
    }

    /// Statistics of the scores that the model was trained on.
    pub fn labels(&self) -> LabelStats {
        self.predictor.labels()
    }

    /// Returns the rows of the test part with sets of this size, and their predictions. `dataset` and `split` are those of the run.
    pub(crate) fn test_predictions(
        &self,
        dataset: &Dataset,
        split: &Split,
        order: usize,
    ) -> Result<TestPredictions> {
        // Held while they are computed, so that parallel requests compute them once.
        let mut known = self.test.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(&order) {
            return Ok(Arc::clone(found));
        }
        let genes = |row: u32| dataset.samples.genes(row as usize);
        let rows: Vec<u32> =
            split.rows(Part::Test).iter().copied().filter(|&row| genes(row).len() == order).collect();
        let sets: GeneSets = rows.iter().map(|&row| genes(row)).collect();
        let mut scores = Scores::default();
        self.scorer().score(sets.view(), &mut scores)?;
        let found: TestPredictions = rows.into_iter().zip(scores.mean).collect();
        known.insert(order, Arc::clone(&found));
        Ok(found)
    }

    /// The scorer of the checkpoint: its model's fixed tables where it has them, its forward pass otherwise.
    pub fn scorer(&self) -> Box<dyn Scorer + '_> {
        let Some(model) = self.predictor.model() else {
            let (predictor, trained_orders) = (&self.predictor, &self.trained_orders);
            return Box::new(SolvedScorer { predictor, trained_orders });
        };
        match model.fixed().filter(|_| !self.predictor.builds_on_others()) {
            Some(fixed) => Box::new(Fixed {
                tables: fixed,
                labels: self.labels(),
                gene_count: self.predictor.gene_count(),
            }),
            None => Box::new(NetworkScorer { predictor: &self.predictor }),
        }
    }
}

/// Refuses a state that is among the runs already: twice the same predictions would have a spread of 0.
fn check_is_new(entry: &RunEntry, runs: &[OpenRun]) -> Result<()> {
    let Some(same) = runs.iter().find(|run| run.entry.weights_hash == entry.weights_hash) else {
        return Ok(());
    };
    let (first, second) = (same.entry.folder.display(), entry.folder.display());
    let message = format!("{first} and {second} have the same weights; name each run once");
    Err(Error::request(message))
}

/// Returns the split that holds for all runs of an ensemble; `None` where theirs are equal.
fn common_split(splits: &[Arc<Split>], samples: usize) -> Result<Option<Split>> {
    let [first, others @ ..] = splits else { return Ok(None) };
    let is_equal = |other: &Arc<Split>| Part::ALL.iter().all(|part| first.rows(*part) == other.rows(*part));
    if others.iter().all(is_equal) {
        return Ok(None);
    }
    let mut parts = [(); 3].map(|()| Vec::new());
    for row in 0..samples as u32 {
        let of_runs = || splits.iter().map(|split| split.part_of(row));
        let part = if of_runs().any(|part| part == Some(Part::Train)) {
            Part::Train
        } else if of_runs().all(|part| part == Some(Part::Test)) {
            Part::Test
        } else if of_runs().any(|part| part.is_some()) {
            Part::Val
        } else {
            continue;
        };
        parts[part as usize].push(row);
    }
    Split::from_rows(*first.spec(), parts, samples).map(Some)
}

/// Returns the sizes of the sets in the training part.
fn trained_orders(dataset: &Dataset, split: &Split) -> BTreeSet<usize> {
    split.rows(Part::Train).iter().map(|&row| dataset.samples.genes(row as usize).len()).collect()
}

/// A solved model: sums over a row or two of tables, with a deviation of its own.
struct SolvedScorer<'a> {
    predictor: &'a Predictor,
    trained_orders: &'a BTreeSet<usize>,
}

impl Scorer for SolvedScorer<'_> {
    fn score(&self, sets: GeneSetsRef<'_>, out: &mut Scores) -> Result<()> {
        out.mean = self.predictor.predict(sets)?;
        out.sd = self.predictor.deviations(sets, &out.mean);
        // Deviations are calibrated on sets of the sizes that training has.
        for (sd, set) in out.sd.iter_mut().flatten().zip(sets.iter()) {
            if !self.trained_orders.contains(&set.len()) {
                *sd = f64::NAN;
            }
        }
        Ok(())
    }

    fn block(&self) -> u64 {
        FAST_BLOCK
    }

    fn threads(&self) -> Threads {
        Threads::One
    }
}

/// A model's forward pass.
struct NetworkScorer<'a> {
    predictor: &'a Predictor,
}

impl Scorer for NetworkScorer<'_> {
    fn score(&self, sets: GeneSetsRef<'_>, out: &mut Scores) -> Result<()> {
        out.mean = self.predictor.predict(sets)?;
        out.sd = None;
        Ok(())
    }

    fn block(&self) -> u64 {
        SLOW_BLOCK
    }

    fn threads(&self) -> Threads {
        Threads::All
    }
}

/// Tables that a model computed from its fixed weights.
struct Fixed<'a> {
    tables: Box<dyn FixedScorer + 'a>,
    labels: LabelStats,
    gene_count: usize,
}

impl Scorer for Fixed<'_> {
    fn score(&self, sets: GeneSetsRef<'_>, out: &mut Scores) -> Result<()> {
        knockout_train::predictor::check_genes(sets, self.gene_count)?;
        let mut standardised = vec![0.0; sets.len()];
        self.tables.score(sets, &mut standardised);
        out.mean.clear();
        out.mean.extend(standardised.iter().map(|&value| self.labels.restore(f64::from(value))));
        out.sd = None;
        Ok(())
    }

    fn block(&self) -> u64 {
        FAST_BLOCK
    }

    fn threads(&self) -> Threads {
        Threads::One
    }
}

/// Several scorers as one: the mean, and the standard deviation of the mixture (that of the members' means, and of their own
/// where they know it).
pub struct Ensemble<'a> {
    members: Vec<Box<dyn Scorer + 'a>>,
}

impl<'a> Ensemble<'a> {
    /// An ensemble of at least one member.
    pub fn new(members: Vec<Box<dyn Scorer + 'a>>) -> Self {
        Self { members }
    }

    /// Refuses sets of a size that a member does not score.
    pub fn check_orders(&self, orders: &[usize], runs: &[OpenRun]) -> Result<()> {
        for (member, run) in self.members.iter().zip(runs) {
            let (low, high) = member.orders();
            if let Some(&order) = orders.iter().find(|order| !(low..=high).contains(order)) {
                let (folder, model) = (run.entry.folder.display(), &run.entry.model);
                let scored = if low == high { low.to_string() } else { format!("{low} to {high}") };
                return Err(Error::request(format!(
                    "{folder} ({model}) scores sets of {scored} genes, and there are candidates of {order}"
                )));
            }
        }
        Ok(())
    }
}

impl Scorer for Ensemble<'_> {
    fn score(&self, sets: GeneSetsRef<'_>, out: &mut Scores) -> Result<()> {
        if let [only] = &self.members[..] {
            return only.score(sets, out);
        }
        let (count, mut scores) = (self.members.len() as f64, Scores::default());
        let mut means = Vec::with_capacity(self.members.len());
        // Members that know no deviation of their own do not lower that of the others.
        let (mut own_variance, mut knowing) = (vec![0.0; sets.len()], 0.0_f64);
        for member in &self.members {
            member.score(sets, &mut scores)?;
            knowing += f64::from(u8::from(scores.sd.is_some()));
            for (sum, sd) in own_variance.iter_mut().zip(scores.sd.iter().flatten()) {
                *sum += sd * sd;
            }
            means.push(std::mem::take(&mut scores.mean));
        }
        out.mean.clear();
        out.mean.extend((0..sets.len()).map(|set| means.iter().map(|mean| mean[set]).sum::<f64>() / count));
        let sd = out.mean.iter().zip(&own_variance).enumerate().map(|(set, (mean, own))| {
            let squares: f64 = means.iter().map(|member| (member[set] - mean).powi(2)).sum();
            (squares / (count - 1.0) + own / knowing.max(1.0)).sqrt()
        });
        out.sd = Some(sd.collect());
        Ok(())
    }

    fn block(&self) -> u64 {
        self.members.iter().map(|member| member.block()).min().unwrap_or(SLOW_BLOCK)
    }

    fn threads(&self) -> Threads {
        if self.members.iter().all(|member| member.threads() == Threads::One) {
            Threads::One
        } else {
            Threads::All
        }
    }

    fn orders(&self) -> (usize, usize) {
        self.members
            .iter()
            .map(|member| member.orders())
            .fold((1, usize::MAX), |(low, high), (l, h)| (low.max(l), high.min(h)))
    }
}
