//! Counts how often 95 % bootstrap intervals cover a planted correlation: `cargo run --release -p knockout-base --example coverage`.
//!
//! A screen has known and new genes. Scores are predictions plus errors. Errors of pairs of known genes are independent. Errors of pairs
//! with a new gene have a part that all pairs of the gene share. Predictions have heavier tails than a normal distribution.

#![expect(clippy::print_stdout, reason = "an example that prints what it counts")]

use knockout_base::random::Rng;
use knockout_base::stats::bootstrap::{Bootstrap, Resampling, SharedUnits, Statistic};

const KNOWN: u32 = 120;
const NEW: u32 = 40;
const SCREENS: u64 = 500;

struct Screen {
    pairs: Vec<[u32; 2]>,
    scores: Vec<f64>,
    predictions: Vec<f64>,
}

/// Simulates the pairs with so many new genes; genes from [`KNOWN`] on are new.
fn simulate(new_genes: usize, seed: u64) -> Screen {
    let mut rng = Rng::new(seed, "coverage");
    let genes = KNOWN + NEW;
    let amplitudes: Vec<f64> = (0..genes).map(|_| (0.3 * rng.normal()).exp()).collect();
    let hidden: Vec<f64> = (0..genes).map(|gene| if gene < KNOWN { 0.0 } else { rng.normal() }).collect();
    let mut screen = Screen { pairs: Vec::new(), scores: Vec::new(), predictions: Vec::new() };
    for a in 0..genes {
        for b in 0..a {
            if [a, b].iter().filter(|&&gene| gene >= KNOWN).count() != new_genes {
                continue;
            }
            let prediction = amplitudes[a as usize] * amplitudes[b as usize] * rng.normal();
            let error = hidden[a as usize] + hidden[b as usize] + rng.normal();
            screen.pairs.push([b, a]);
            screen.scores.push(prediction + error);
            screen.predictions.push(prediction);
        }
    }
    screen
}

/// The correlation over all screens: the root of the prediction's share of the variance.
fn truth(new_genes: usize) -> f64 {
    // Each squared amplitude has the mean exp(2 * 0.3^2).
    let signal = (2.0 * 0.3_f64.powi(2)).exp().powi(2);
    (signal / (signal + 1.0 + new_genes as f64)).sqrt()
}

fn main() {
    let bootstrap = Bootstrap { resamples: 400, ..Bootstrap::default() };
    println!("regime, true correlation: share of {SCREENS} screens whose interval covers it");
    for (new_genes, regime) in [(0, "all genes known"), (1, "one new gene"), (2, "two new genes")] {
        let truth = truth(new_genes);
        let mut covered = [0; 2];
        for seed in 0..SCREENS {
            let Screen { pairs, scores, predictions } = simulate(new_genes, seed);
            let units = SharedUnits::new(pairs, |gene| usize::from(gene >= KNOWN));
            for (count, resampling) in covered.iter_mut().zip([Resampling::Records, Resampling::Units(units)])
            {
                let resampled = bootstrap.resample(&resampling, &scores, &[&predictions]);
                let interval = resampled.interval(Statistic::Pearson, 0);
                *count += u32::from(interval.is_some_and(|found| found.low <= truth && truth <= found.high));
            }
        }
        let [records, genes] = covered.map(|count| 100.0 * f64::from(count) / SCREENS as f64);
        println!("{regime}, {truth:.4}: over records {records:.1} %, over genes {genes:.1} %");
    }
}
