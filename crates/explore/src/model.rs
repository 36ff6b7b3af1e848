//! An open run or dataset, with its scorer and what is computed of it once.

use crate::catalog::{Source, SourceKind};
use hashbrown::HashMap;
use knockout_base::error::{Error, Result};
use knockout_data::cell::{GeneSets, GeneTable};
use knockout_data::screen::{Dataset, Part, Regime, Split};
use knockout_predict::scorer::{OpenRuns, Threads};
use knockout_predict::{
    Ensemble, Extremes, Hit, HitNotes, RegimeAccuracy, Scorer as _, Scores, TestRecord, TrainedGenes,
};
use knockout_train::checkpoint::{Checkpoints, Slot};
use self_cell::self_cell;
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Runs and datasets that are open at a time.
const MOST_OPEN: usize = 3;
/// Sets that a model scores for one page if it runs a forward pass for each.
pub(crate) const MOST_SLOW_SETS: usize = 256;
/// Candidates that hits are chosen from.
const MOST_CANDIDATES: u64 = 30_000_000;
/// Hits of each sign that are kept.
pub(crate) const HITS: usize = 1_000;
/// Sets that are scored at once.
const BLOCK: usize = 1 << 16;

/// A dataset, and the run that was chosen with it.
pub(crate) struct Opened {
    pub(crate) dataset: Arc<Dataset>,
    /// The run; `None` for a dataset alone.
    pub(crate) run: Option<OpenRuns>,
    /// Genes that training has records of; of a dataset alone, all that were measured.
    trained: Option<TrainedGenes>,
    /// Rows of the samples of each gene.
    rows: Vec<Vec<u32>>,
    split: Option<Arc<Split>>,
    trained_orders: BTreeSet<usize>,
    accuracy: OnceLock<Result<Vec<RegimeAccuracy>, String>>,
    test: OnceLock<Result<Vec<TestRecord>, String>>,
    hits: OnceLock<Result<RankedHits, String>>,
}

/// The scorer of a run.
pub(crate) struct RunScorer<'a>(Option<Ensemble<'a>>);

self_cell!(
    struct Scored {
        owner: Opened,
        #[covariant]
        dependent: RunScorer,
    }
);

/// An open run or dataset.
pub(crate) struct Model(Scored);

/// The lowest and highest predictions of sets without a score.
#[derive(Debug, Clone)]
pub(crate) struct RankedHits {
    /// Description of the candidates.
    pub(crate) what: String,
    /// Genes of a set.
    pub(crate) order: usize,
    pub(crate) lowest: Vec<Hit>,
    pub(crate) highest: Vec<Hit>,
    /// Genes of the candidates.
    pub(crate) genes: BTreeSet<u32>,
}

/// A prediction with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Predicted {
    pub(crate) mean: f64,
    pub(crate) sd: Option<f64>,
    /// Half of the width of the interval.
    pub(crate) half_width: Option<f64>,
}

impl Model {
    fn open(source: &Source, data: Option<&Path>) -> Result<Self> {
        let (dataset, run, split) = match &source.kind {
            SourceKind::Dataset(folder) => (Arc::new(Dataset::open(folder)?), None, None),
            SourceKind::Run(folder) => {
                let folders = std::slice::from_ref(folder);
                // Runs beside it may be of another dataset, which has not moved.
                let opened = match OpenRuns::open(folders, None, data) {
                    Err(error) if data.is_some() => OpenRuns::open(folders, None, None).or(Err(error))?,
                    opened => opened?,
                };
                let split = Arc::clone(&opened.split);
                (Arc::clone(&opened.dataset), Some(opened), Some(split))
            }
        };
        let (samples, genes) = (&dataset.samples, dataset.cell.genes().len());
        let mut rows = vec![Vec::new(); genes];
        for (row, set) in samples.gene_sets().iter().enumerate() {
            for &gene in set {
                rows[gene as usize].push(row as u32);
            }
        }
        let trained = split.as_ref().map(|split: &Arc<Split>| TrainedGenes::of(samples, genes, split));
        let trained_orders = run.as_ref().map(OpenRuns::trained_orders).unwrap_or_default();
        let opened = Opened {
            dataset,
            run,
            trained,
            rows,
            split,
            trained_orders,
            accuracy: OnceLock::new(),
            test: OnceLock::new(),
            hits: OnceLock::new(),
        };
        Ok(Self(Scored::new(opened, |opened| RunScorer(opened.run.as_ref().map(OpenRuns::scorer)))))
    }

    fn opened(&self) -> &Opened {
        self.0.borrow_owner()
    }

    fn scorer(&self) -> Option<&Ensemble<'_>> {
        self.0.borrow_dependent().0.as_ref()
    }

    pub(crate) fn dataset(&self) -> &Dataset {
        &self.opened().dataset
    }

    pub(crate) fn run(&self) -> Option<&OpenRuns> {
        self.opened().run.as_ref()
    }

    pub(crate) fn genes(&self) -> &GeneTable {
        self.dataset().cell.genes()
    }

    /// Returns the standard name of a gene, otherwise the systematic one.
    pub(crate) fn name(&self, gene: u32) -> &str {
        self.genes().genes()[gene as usize].name()
    }

    /// Returns the systematic name of a gene.
    pub(crate) fn systematic(&self, gene: u32) -> &str {
        &self.genes().genes()[gene as usize].systematic
    }

    /// Returns the rows of the samples of a gene.
    pub(crate) fn rows(&self, gene: u32) -> &[u32] {
        &self.opened().rows[gene as usize]
    }

    /// Returns the part of a row.
    pub(crate) fn part(&self, row: u32) -> Option<Part> {
        self.opened().split.as_ref()?.part_of(row)
    }

    /// Returns the regime of a set.
    pub(crate) fn regime(&self, set: &[u32]) -> Option<Regime> {
        self.opened().trained.as_ref().map(|trained| trained.regime(set))
    }

    /// Returns the sizes of the sets in the training part.
    pub(crate) fn trained_orders(&self) -> &BTreeSet<usize> {
        &self.opened().trained_orders
    }

    /// Returns whether thousands of sets are scored in milliseconds.
    pub(crate) fn is_fast(&self) -> bool {
        self.scorer().is_some_and(|scorer| scorer.threads() == Threads::One)
    }

    /// Returns the rows of each measured set of a gene.
    pub(crate) fn measured(&self, gene: u32) -> HashMap<Box<[u32]>, Vec<u32>> {
        let mut found: HashMap<Box<[u32]>, Vec<u32>> = HashMap::new();
        for &row in self.rows(gene) {
            let mut set: Box<[u32]> = self.dataset().samples.genes(row as usize).into();
            set.sort_unstable();
            found.entry(set).or_default().push(row);
        }
        found
    }

    /// Predicts sets; `None` for a dataset alone.
    pub(crate) fn predict(&self, sets: &GeneSets) -> Result<Option<Vec<Predicted>>> {
        let (Some(scorer), Some(run)) = (self.scorer(), self.run()) else { return Ok(None) };
        let mut scores = Scores::default();
        scorer.score(sets.view(), &mut scores)?;
        let wide = match &run.runs[..] {
            [only] => only.predictor().wide_intervals(sets.view(), &scores.mean),
            _ => None,
        };
        let predicted = scores.mean.iter().enumerate().map(|(index, &mean)| {
            let sd = scores.sd.as_ref().map(|sd| sd[index]).filter(|sd| sd.is_finite());
            let half_width = sd.zip(wide.as_ref()).map(|(sd, wide)| sd * wide[index]);
            Predicted { mean, sd, half_width: half_width.filter(|half| half.is_finite()) }
        });
        Ok(Some(predicted.collect()))
    }

    /// Computes what the first page needs.
    pub(crate) fn prepare(&self) {
        if self.is_fast() {
            self.accuracy();
        }
    }

    /// Returns the accuracy of each regime, for sets of the sizes that training has.
    pub(crate) fn accuracy(&self) -> &Result<Vec<RegimeAccuracy>, String> {
        let orders: Vec<usize> = self.trained_orders().iter().copied().collect();
        self.opened().accuracy.get_or_init(|| match self.run() {
            Some(run) => RegimeAccuracy::of(run, &orders).map_err(|error| error.to_string()),
            None => Ok(Vec::new()),
        })
    }

    /// Returns the records of the test part, by ascending prediction.
    pub(crate) fn test_records(&self) -> &Result<Vec<TestRecord>, String> {
        self.opened().test.get_or_init(|| self.predict_test().map_err(|error| error.to_string()))
    }

    fn predict_test(&self) -> Result<Vec<TestRecord>> {
        let Some(run) = self.run() else { return Ok(Vec::new()) };
        let (samples, rows) = (&self.dataset().samples, run.split.rows(Part::Test));
        if !self.is_fast() && rows.len() > 16 * MOST_SLOW_SETS {
            return Err(Error::request(
                "this model would take long to predict the whole test part; `knockout evaluate` does it",
            ));
        }
        let sets: GeneSets = rows.iter().map(|&row| samples.genes(row as usize)).collect();
        let predicted = self.predict(&sets)?.unwrap_or_default();
        let notes = HitNotes::new(self.dataset(), None, []);
        let record = |(&row, predicted): (&u32, Predicted)| {
            let set = samples.genes(row as usize);
            let (score, regime) = (samples.scores()[row as usize], self.regime(set)?);
            Some(TestRecord { prediction: predicted.mean, score, kind: notes.kind(set, regime) })
        };
        let mut records: Vec<TestRecord> = rows.iter().zip(predicted).filter_map(record).collect();
        records.retain(|record| record.prediction.is_finite() && record.score.is_finite());
        records.sort_by(|a, b| a.prediction.total_cmp(&b.prediction));
        Ok(records)
    }

    /// Returns the strongest predictions of sets that have no score.
    pub(crate) fn hits(&self) -> &Result<RankedHits, String> {
        self.opened().hits.get_or_init(|| self.find_hits().map_err(|error| error.to_string()))
    }

    /// Tries all pairs of trained genes, or all triples of a query pair and a trained gene.
    fn find_hits(&self) -> Result<RankedHits> {
        let (Some(run), Some(trained)) = (self.run(), &self.opened().trained) else {
            return Err(Error::request("a dataset alone has no predictions; train a run on it"));
        };
        let samples = &self.dataset().samples;
        let genes: Vec<u32> = (0..self.genes().len() as u32).filter(|&gene| trained.has(gene)).collect();
        let queries: BTreeSet<Vec<u32>> = if self.trained_orders().contains(&2) {
            genes.iter().map(|&gene| vec![gene]).collect()
        } else {
            let rows = run.split.rows(Part::Train).iter();
            let query = |&row: &u32| Some(samples.query(row as usize)).filter(|query| query.len() == 2);
            rows.filter_map(query).map(sorted).collect()
        };
        let order = queries.first().map_or(0, |query| query.len() + 1);
        let pairs_once = if order == 2 { 2 } else { 1 };
        let candidates = (queries.len() * genes.len()) as u64 / pairs_once;
        if candidates == 0 {
            return Err(Error::request(
                "the training part has neither pairs nor triples with a query pair; `knockout predict --sets FILE` predicts a list",
            ));
        }
        if candidates > MOST_CANDIDATES || !self.is_fast() && candidates > 16 * MOST_SLOW_SETS as u64 {
            return Err(Error::request(format!(
                "{candidates} candidates would take this model long; `knockout predict` does it and resumes after an interruption"
            )));
        }
        let mut measured: HashMap<u32, hashbrown::HashSet<Box<[u32]>>> = HashMap::new();
        for set in samples.gene_sets().iter() {
            let set = sorted(set);
            if let Some(&first) = set.first() {
                measured.entry(first).or_default().insert(set.into());
            }
        }
        let is_measured = |set: &[u32]| measured.get(&set[0]).is_some_and(|sets| sets.contains(set));
        let mut extremes = Extremes::new(2 * HITS, 2 * HITS);
        let (mut sets, mut number) = (GeneSets::default(), 0);
        let mut is_candidate = vec![false; self.genes().len()];
        let mut score = |sets: &mut GeneSets, number: &mut u64| -> Result<()> {
            sets.view().genes().iter().for_each(|&gene| is_candidate[gene as usize] = true);
            for (index, predicted) in self.predict(sets)?.unwrap_or_default().into_iter().enumerate() {
                extremes.push(predicted.mean, || Hit {
                    number: *number + index as u64,
                    genes: sets.get(index).to_vec(),
                    prediction: predicted.mean,
                    sd: predicted.sd,
                });
            }
            *number += sets.len() as u64;
            sets.clear();
            Ok(())
        };
        let mut set = Vec::with_capacity(order);
        for query in &queries {
            let is_pair = query.len() == 1;
            for &gene in genes.iter().filter(|&&gene| !query.contains(&gene) && (!is_pair || gene > query[0]))
            {
                set.clear();
                set.extend_from_slice(query);
                set.push(gene);
                set.sort_unstable();
                if !is_measured(&set) {
                    sets.push(&set);
                }
                if sets.len() == BLOCK {
                    score(&mut sets, &mut number)?;
                }
            }
        }
        score(&mut sets, &mut number)?;
        // Query pairs that share a gene give some triples twice.
        let distinct = |hits: Vec<Hit>| {
            let mut seen = BTreeSet::new();
            let new = hits.into_iter().filter(|hit| seen.insert(hit.genes.clone()));
            new.take(HITS).collect::<Vec<Hit>>()
        };
        let what = if order == 2 {
            "pairs of screened genes without a score".to_owned()
        } else {
            "triples of a query pair and a screened gene, without a score".to_owned()
        };
        let genes =
            (0..).zip(is_candidate).filter_map(|(gene, is_candidate)| is_candidate.then_some(gene)).collect();
        let (lowest, highest) = (distinct(extremes.bottom()), distinct(extremes.top()));
        Ok(RankedHits { what, order, lowest, highest, genes })
    }
}

/// Returns the genes of a set in ascending order.
pub(crate) fn sorted(set: &[u32]) -> Vec<u32> {
    let mut set = set.to_vec();
    set.sort_unstable();
    set
}

/// The few runs and datasets that are open.
pub(crate) struct Models {
    data: Option<PathBuf>,
    /// The one used last is the last.
    open: Mutex<Vec<OpenModel>>,
    /// Held while one is opened, so that parallel requests do not open it several times.
    opening: Mutex<()>,
}

struct OpenModel {
    source: Source,
    /// Checkpoints when it was opened: a run in training gets others.
    checkpoints: Vec<PathBuf>,
    model: Arc<Model>,
}

impl Models {
    pub(crate) fn new(data: Option<&Path>) -> Self {
        Self { data: data.map(Path::to_owned), open: Mutex::default(), opening: Mutex::default() }
    }

    /// Returns an open run or dataset; the one that was not used for longest is closed for it.
    pub(crate) fn open(&self, source: &Source) -> Result<Arc<Model>> {
        let checkpoints = checkpoints(source);
        if let Some(model) = self.find(source, &checkpoints) {
            return Ok(model);
        }
        let _opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = self.find(source, &checkpoints) {
            return Ok(model);
        }
        let model = Arc::new(Model::open(source, self.data.as_deref())?);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|one| one.source != *source);
        if open.len() >= MOST_OPEN {
            open.remove(0);
        }
        open.push(OpenModel { source: source.clone(), checkpoints, model: Arc::clone(&model) });
        Ok(model)
    }

    fn find(&self, source: &Source, checkpoints: &[PathBuf]) -> Option<Arc<Model>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let index = open.iter().position(|one| one.source == *source && one.checkpoints == checkpoints)?;
        let found = open.remove(index);
        let model = Arc::clone(&found.model);
        open.push(found);
        Some(model)
    }
}

fn checkpoints(source: &Source) -> Vec<PathBuf> {
    let SourceKind::Run(folder) = &source.kind else { return Vec::new() };
    let checkpoints = Checkpoints::of_run(folder);
    let newest = |slot| checkpoints.paths(slot).ok()?.into_iter().next();
    [Slot::BestPearson, Slot::Last].into_iter().filter_map(newest).collect()
}

impl fmt::Debug for Models {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Models").field("data", &self.data).finish_non_exhaustive()
    }
}
