//! Screens with a known truth: how often the intervals of a correlation contain it, and those of predictions the measurements.
//!
//! The stack is solved as by `train` and measured as by `evaluate`. `KNOCKOUT_SCREENS` sets the number of screens; the figures of 500 are
//! in `docs/results/intervals.md`. `KNOCKOUT_SCREENS_PARTS=all` adds boosted trees.

use knockout_base::random::Rng;
use knockout_base::stats::bootstrap::Bootstrap;
use knockout_data::cell::{Cell, Edge, GeneSets, GeneTable, Network, SelfLoops};
use knockout_data::screen::{
    Division, Part, Regime, Sample, Samples, SamplesBuilder, Scheme, Split, SplitSpec,
};
use knockout_predict::TrainedGenes;
use knockout_predict::evaluation::{MeasuredScores, NamedPredictions, rows_of};
use knockout_solve::{Problem, Records, Solution, SolvedOptions, StackOptions, StackPart, recalibrate};

/// Genes that are measured.
const GENES: usize = 120;
/// Genes of the cell. Those that are never measured are the population that new genes come from.
const ALL_GENES: usize = 420;
const MODULES: usize = 12;
const DIMENSIONS: usize = 4;
/// Pairs that are measured, of 7,140: enough of them train for boosted trees.
const PAIRS: usize = 6_600;
const EDGES_OF_GENE: usize = 10;

/// The truth about a screen.
struct Truth {
    effects: Vec<f64>,
    vectors: Vec<[f64; DIMENSIONS]>,
    /// Logarithm of each gene's factor of the noise.
    noise: Vec<f64>,
}

impl Truth {
    /// Returns the score of a pair without noise.
    fn signal(&self, [a, b]: [usize; 2]) -> f64 {
        let dot: f64 = self.vectors[a].iter().zip(&self.vectors[b]).map(|(x, y)| x * y).sum();
        0.5 * (self.effects[a] + self.effects[b]) + 0.4 * dot
    }

    /// Returns the standard deviation of the noise of a pair.
    fn noise_sd(&self, [a, b]: [usize; 2]) -> f64 {
        0.7 * (self.noise[a] + self.noise[b]).exp()
    }
}

/// Simulates a screen. Genes of a module have similar vectors, and networks connect them.
fn simulate(seed: u64) -> (Truth, Cell, Samples) {
    let mut rng = Rng::new(seed, "planted screen");
    let module: Vec<usize> = (0..ALL_GENES).map(|_| rng.below(MODULES)).collect();
    let centres: Vec<[f64; DIMENSIONS]> =
        (0..MODULES).map(|_| std::array::from_fn(|_| rng.normal())).collect();
    let vector = |&module: &usize| centres[module].map(|centre| 0.8 * centre + 0.6 * rng.normal());
    let vectors = module.iter().map(vector).collect();
    let effects = (0..ALL_GENES).map(|_| rng.normal()).collect();
    let noise = (0..ALL_GENES).map(|_| 0.2 * rng.normal()).collect();
    let truth = Truth { effects, vectors, noise };
    let network = |name: &str, share_within: f64, rng: &mut Rng| {
        let mut edges = Vec::new();
        for gene in 0..ALL_GENES {
            let inside: Vec<usize> =
                (0..ALL_GENES).filter(|&other| module[other] == module[gene] && other != gene).collect();
            for _ in 0..EDGES_OF_GENE / 2 {
                let is_within = rng.unit() < share_within && !inside.is_empty();
                let other = if is_within { inside[rng.below(inside.len())] } else { rng.below(ALL_GENES) };
                edges.push(Edge::new(gene.min(other) as u32, gene.max(other) as u32));
            }
        }
        Network::from_edges(name, ALL_GENES, edges, SelfLoops::Drop).unwrap().0
    };
    let networks = vec![network("complexes", 0.8, &mut rng), network("coexpression", 0.4, &mut rng)];
    let genes = GeneTable::from_systematic((0..ALL_GENES).map(|gene| format!("G{gene:03}"))).unwrap();
    let mut pairs: Vec<[usize; 2]> = (0..GENES).flat_map(|b| (0..b).map(move |a| [a, b])).collect();
    rng.shuffle(&mut pairs);
    let mut samples = SamplesBuilder::new(ALL_GENES);
    for pair in &pairs[..PAIRS] {
        let score = truth.signal(*pair) + truth.noise_sd(*pair) * rng.normal();
        samples.push(Sample::deletion(&pair.map(|gene| gene as u32), score, "planted")).unwrap();
    }
    (truth, Cell::new(genes, networks, None).unwrap(), samples.finish())
}

/// Correlation of the predictions for all pairs of a regime with measurements of them, of which there are infinitely many.
///
/// Pairs of the training part are left out; new genes are those that were never measured.
fn true_pearson(truth: &Truth, solution: &dyn Solution, regime: Regime, train: &Records) -> f64 {
    let mut is_trained = vec![false; ALL_GENES];
    for &gene in train.sets.view().genes() {
        is_trained[gene as usize] = true;
    }
    let measured: std::collections::BTreeSet<&[u32]> = train.sets.view().iter().collect();
    let is_of_population = |gene: usize| is_trained[gene] || gene >= GENES;
    let mut sets = GeneSets::default();
    let mut pairs = Vec::new();
    for b in (0..ALL_GENES).filter(|&gene| is_of_population(gene)) {
        for a in (0..b).filter(|&gene| is_of_population(gene)) {
            let set = [a as u32, b as u32];
            if Regime::of(&set, &is_trained) == regime && !measured.contains(&set[..]) {
                sets.push(&set);
                pairs.push([a, b]);
            }
        }
    }
    let predictions = solution.predict(sets.view());
    let count = pairs.len() as f64;
    let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / count;
    let signals: Vec<f64> = pairs.iter().map(|&pair| truth.signal(pair)).collect();
    let (of_signal, of_prediction) =
        (mean(&mut signals.iter().copied()), mean(&mut predictions.iter().copied()));
    let noise = mean(&mut pairs.iter().map(|&pair| truth.noise_sd(pair).powi(2)));
    let signal = mean(&mut signals.iter().map(|signal| (signal - of_signal).powi(2)));
    let predicted = mean(&mut predictions.iter().map(|prediction| (prediction - of_prediction).powi(2)));
    let shared = signals.iter().zip(&predictions);
    let covariance =
        mean(&mut shared.map(|(signal, prediction)| (signal - of_signal) * (prediction - of_prediction)));
    covariance / (predicted * (signal + noise)).sqrt()
}

/// Counts over all screens, for one regime.
#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    screens: f64,
    /// Screens whose interval of the correlation contains the true one, lies below it and lies above it.
    covered: f64,
    below: f64,
    above: f64,
    /// Screens whose predictions are constant.
    constant: f64,
    new_genes: f64,
    true_pearson: f64,
    pearson: f64,
    records: f64,
    within_68: f64,
    within_95: f64,
}

/// Fewest records of a regime whose correlation is looked at.
const FEWEST: usize = 20;

fn count(seed: u64, scheme: Scheme, options: &StackOptions, counts: &mut [Counts; 3]) {
    let (truth, cell, samples) = simulate(seed);
    let spec = SplitSpec { scheme, division: Division::default(), seed, subset: None, train_subset: None };
    let split = Split::new(&samples, cell.genes(), spec).unwrap();
    let [train, val] = [Part::Train, Part::Val].map(|part| Records::of(&samples, split.rows(part)));
    let problem = Problem::new(&cell, &train, &val);
    let solution = options.solve(problem, &mut ()).unwrap();
    let solution =
        recalibrate(&|problem, observer| options.solve(problem, observer), problem, solution, &mut ())
            .unwrap();
    let trained = TrainedGenes::of(&samples, ALL_GENES, &split);
    for (regime, records) in trained.by_regime(&samples, split.rows(Part::Test)) {
        let rows: Vec<u32> = records.iter().map(|&record| split.rows(Part::Test)[record]).collect();
        let test = Records::of(&samples, &rows);
        let sets = test.sets.view();
        let counts = &mut counts[regime as usize];
        let predictions = solution.predict(sets);
        let deviations = solution.deviations(sets, &predictions).unwrap();
        let wide = solution.wide_intervals(sets, &predictions).unwrap();
        for (index, score) in test.scores.iter().enumerate() {
            let ratio = (score - predictions[index]).abs() / deviations[index];
            counts.records += 1.0;
            counts.within_68 += f64::from(u8::from(ratio <= 1.0));
            counts.within_95 += f64::from(u8::from(ratio <= wide[index]));
        }
        if rows.len() < FEWEST {
            continue;
        }
        let measured =
            MeasuredScores { scores: test.scores.clone(), shared: trained.shared(&samples, &rows) };
        let model = NamedPredictions { name: "stack", predictions: &predictions };
        let bootstrap = Bootstrap { resamples: 400, ..Bootstrap::default() };
        let found = rows_of(&[model], &measured, scheme.name(), Part::Test, &bootstrap).remove(0);
        // Parts that do not predict new genes have no weight there, and constant predictions no correlation.
        let Some((low, high)) = found.low.zip(found.high) else {
            counts.constant += 1.0;
            continue;
        };
        let truth = true_pearson(&truth, &*solution, regime, &train);
        let new: std::collections::BTreeSet<u32> =
            sets.genes().iter().copied().filter(|&gene| !trained.has(gene)).collect();
        counts.screens += 1.0;
        counts.covered += f64::from(u8::from((low..=high).contains(&truth)));
        counts.below += f64::from(u8::from(high < truth));
        counts.above += f64::from(u8::from(low > truth));
        counts.new_genes += new.len() as f64;
        counts.true_pearson += truth;
        counts.pearson += found.metrics.pearson.unwrap();
    }
}

#[test]
fn intervals_contain_the_truth_and_the_measurements() {
    let screens = std::env::var("KNOCKOUT_SCREENS").map_or(12, |text| text.parse().unwrap());
    let has_trees = std::env::var("KNOCKOUT_SCREENS_PARTS").is_ok_and(|parts| parts == "all");
    let mut options = StackOptions::default();
    options.parts.retain(|&part| has_trees || part != StackPart::Trees);
    let mut counts = [Counts::default(); 3];
    for seed in 0..screens {
        for scheme in [Scheme::Random, Scheme::GeneDisjoint] {
            count(seed, scheme, &options, &mut counts);
        }
    }
    for (regime, of) in Regime::ALL.iter().zip(counts) {
        let [covered, below, above] = [of.covered, of.below, of.above].map(|count| count / of.screens);
        let [pearson, truth, new] = [of.pearson, of.true_pearson, of.new_genes].map(|sum| sum / of.screens);
        let [within_68, within_95] = [of.within_68, of.within_95].map(|count| count / of.records);
        println!(
            "{}: {} screens ({} with constant predictions), {new:.1} new genes, Pearson {pearson:.3}, true {truth:.3}; 95 % intervals contain it in {covered:.3}, \
             are below it in {below:.3}, above it in {above:.3}; of {} records {within_68:.3} and {within_95:.3} within 68 % and 95 %",
            regime.name(),
            of.screens,
            of.constant,
            of.records,
        );
        // A share of so many screens varies by this much; records of a screen share genes.
        let margin = 2.5 * (0.06 / of.screens).sqrt();
        assert!(covered > 0.90 - margin && covered < 0.98 + margin, "{}: {of:?}", regime.name());
        let margin = 2.5 * (0.06 / (10.0 * of.screens)).sqrt();
        assert!(within_95 > 0.92 - margin && within_95 < 0.97 + margin, "{}: {of:?}", regime.name());
    }
}
