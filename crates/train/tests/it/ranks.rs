//! Several ranks train to the bits of one: for any number of them, any model and loss, and any sequence of stops. Here they are threads
//! (`knockout_ranks::LocalRank`); `crates/cli/tests/mpi.rs` does the same with processes.

use super::home::DatasetFolder;
use knockout_data::screen::{Part, Split};
use knockout_models::MODELS;
use knockout_ranks::{LocalRank, Ranks};
use knockout_trace::Recorder;
use knockout_trace::meter::{Meter, Schedule, StepPhase};
use knockout_train::config::Config;
use knockout_train::fit::{Fit, StepReport};
use knockout_train::run::{End, Event, MetricsLine, Run, RunContext, read_metrics};
use knockout_train::step::Mode;
use std::path::Path;
use std::sync::{Arc, LazyLock};

static HOME: LazyLock<DatasetFolder> = LazyLock::new(|| DatasetFolder::new(0));

/// Everything that shares, couples or drops something: name, model, settings.
const CASES: [(&str, &str, &[&str]); 7] = [
    ("dango", "dango", &["model.width=16", "model.heads=2", "batch=301"]),
    (
        "hetero",
        "hetero",
        &["model.width=8", "model.gin_hidden=8", "model.layers=2", "model.local_heads=2", "batch=10"],
    ),
    (
        "hetero-noise",
        "hetero",
        &[
            "model.width=8",
            "model.gin_hidden=8",
            "model.layers=1",
            "model.local_heads=2",
            "batch=7",
            "model.dropout=0.2",
            "model.noise=independent",
        ],
    ),
    (
        "hetero-coupled",
        "hetero",
        &[
            "model.width=8",
            "model.gin_hidden=8",
            "model.layers=1",
            "model.local_heads=2",
            "batch=13",
            "model.dropout=0.1",
            "model.loss=mle_wass_supcr",
            "model.mle_wass_supcr.lambda_supcr=0.1",
            "model.mle_wass_supcr.buffer.size=40",
            "model.mle_wass_supcr.buffer.min_samples=10",
        ],
    ),
    (
        "hetero-gathered",
        "hetero",
        &[
            "model.width=8",
            "model.gin_hidden=8",
            "model.layers=1",
            "model.local_heads=2",
            "batch=13",
            "train.gather_every=3",
            "model.loss=mle_wass_supcr",
            "model.mle_wass_supcr.lambda_supcr=0.1",
            "model.mle_wass_supcr.buffer.size=40",
            "model.mle_wass_supcr.buffer.min_samples=10",
        ],
    ),
    (
        "transformer",
        "transformer",
        &["model.width=16", "model.layers=2", "model.heads=4", "batch=100", "model.loss.lambda_dist=0.1"],
    ),
    (
        "dango-accumulated",
        "dango",
        &["model.width=16", "model.heads=2", "batch=90", "optimiser.accumulate=[\"0:3\"]"],
    ),
];

fn config(model: &str, keys: &[&str], shards: usize) -> Config {
    let shards = format!("train.shards={shards}");
    let keys: Vec<&str> = keys.iter().copied().chain([shards.as_str(), "run.predict_batch=70"]).collect();
    Config::of(model, &HOME.dataset.cell, &keys).unwrap()
}

fn meter() -> Meter {
    Meter::new(&Recorder::off(), Schedule::AtStep(u64::MAX))
}

fn fit(config: Config, ranks: Ranks) -> Fit {
    let split: Arc<Split> = Arc::new(config.split.apply(&HOME.dataset).unwrap());
    Fit::new(config, Arc::clone(&HOME.dataset), split).unwrap().on_ranks(ranks).unwrap()
}

/// Some steps and the predictions after them.
fn trained(config: &Config, ranks: Ranks, steps: u64) -> (Vec<StepReport>, Vec<u64>) {
    let (mut fit, mut meter) = (fit(config.clone(), ranks), meter());
    let reports = (0..steps).map(|_| fit.step(Mode::Full, &mut meter).unwrap().unwrap()).collect();
    let mut predictions = Vec::new();
    while fit.predict_next_batch(Part::Val, &mut predictions).unwrap() {}
    (reports, predictions.into_iter().map(f64::to_bits).collect())
}

#[test]
fn any_number_of_ranks_gives_the_same_bits() {
    for (name, model, keys) in CASES {
        for (shards, sizes) in [(4, vec![2, 3, 4]), (6, vec![4])] {
            let config = config(model, keys, shards);
            let (alone, predictions) = trained(&config, Ranks::alone(), 5);
            for size in sizes {
                for (rank, (reports, other)) in
                    LocalRank::on_ranks(size, |ranks| trained(&config, ranks, 5)).into_iter().enumerate()
                {
                    assert!(predictions == other, "{name}: {shards} shards, rank {rank} of {size}");
                    for (a, b) in alone.iter().zip(&reports) {
                        assert_eq!(a.outcome, b.outcome, "{name}: {shards} shards, rank {rank} of {size}");
                    }
                }
            }
        }
    }
}

#[test]
fn shards_only_round_differently() {
    for (name, model, keys) in CASES {
        if name == "hetero-gathered" {
            // Between gatherings it is another loss.
            continue;
        }
        let [whole, cut] = [1, 4].map(|shards| trained(&config(model, keys, shards), Ranks::alone(), 3).0);
        for (at, (whole, cut)) in whole.iter().zip(&cut).enumerate() {
            // Later steps begin from weights that rounding has led apart: AdamW makes full steps even of tiny gradients.
            let bound = if at == 0 { 2e-5 } else { 5e-3 };
            let close = |a: f64, b: f64| (a - b).abs() <= bound * a.abs().max(b.abs()).max(1e-2);
            let (a, b) = (&whole.outcome, &cut.outcome);
            assert!(close(a.loss, b.loss), "{name}, step {at}: {} and {}", a.loss, b.loss);
            let norms = (a.gradient_norm.unwrap_or(0.0), b.gradient_norm.unwrap_or(0.0));
            assert!(close(norms.0, norms.1), "{name}, step {at}: {norms:?}");
            for (part, value) in &a.parts {
                let other = b.parts.iter().find(|(known, _)| known == part);
                // Shares of terms are not means over samples.
                if part.starts_with("norm_") || part == "total_loss" || part.contains("graph_reg") {
                    continue;
                }
                assert!(
                    other.is_some_and(|(_, other)| close(*value, *other)),
                    "{name}, step {at}: {part} {value} {other:?}"
                );
            }
        }
    }
}

#[test]
fn a_loss_that_is_gathered_seldom_is_another_one_in_between() {
    let coupled = |every: &str| {
        let keys: Vec<&str> = CASES[3].2.iter().copied().chain([every]).collect();
        trained(&config("hetero", &keys, 4), Ranks::alone(), 4).0
    };
    let (always, seldom) = (coupled("train.gather_every=1"), coupled("train.gather_every=3"));
    assert_eq!(always[0].outcome, seldom[0].outcome, "the first step gathers");
    assert_ne!(always[1].outcome.loss, seldom[1].outcome.loss);
}

#[test]
fn ranks_without_a_shard_are_refused_with_what_to_do() {
    let refused = LocalRank::on_ranks(3, |ranks| {
        let config = config("dango", &["model.width=16", "model.heads=2"], 2);
        let split = Arc::new(config.split.apply(&HOME.dataset).unwrap());
        Fit::new(config, Arc::clone(&HOME.dataset), split).unwrap().on_ranks(ranks).err().unwrap()
    });
    for error in refused {
        assert!(error.to_string().starts_with("3 ranks share the work of 2 shard(s)"), "{error}");
        assert!(error.to_string().contains("set train.shards=3 or a multiple of it"), "{error}");
    }
}

#[test]
fn waiting_and_exchanging_are_phases_of_their_own() {
    let config = config("dango", &["model.width=16", "model.heads=2", "batch=100"], 2);
    let phases = LocalRank::on_ranks(2, |ranks| {
        let (mut fit, mut meter) = (fit(config.clone(), ranks), meter());
        let times = fit.step(Mode::Full, &mut meter).unwrap().unwrap().times;
        (times.phase(StepPhase::Barrier), times.phase(StepPhase::Exchange), times.samples)
    });
    for (barrier, exchange, samples) in phases {
        assert!(barrier > 0 && exchange > 0);
        assert_eq!(samples, 100, "of the whole batch");
    }
}

/// Trains until `stop_at` steps (0: to the end) on as many ranks; the lines of the run's metrics.
fn sitting(folder: &Path, config: &Config, size: usize, stop_at: u64) -> Vec<MetricsLine> {
    let ends = LocalRank::on_ranks(size, |ranks| {
        let begun = folder.join("manifest.json").exists();
        // All look before the first one makes it.
        ranks.start().unwrap();
        let mut run = if begun {
            Run::resume_on(&ranks, folder, &[] as &[&str], None, MODELS).unwrap()
        } else {
            let context = RunContext { ranks: ranks.clone(), ..HOME.context() };
            Run::create(folder, Arc::clone(&HOME.dataset), config.clone(), &context).unwrap()
        };
        let mut end = None;
        while let Some(event) = run.next() {
            match event.unwrap() {
                // One rank receives a stop request; all stop.
                Event::Step(report) if report.position.step == stop_at && ranks.rank() == size - 1 => {
                    run.stop();
                }
                Event::End(why) => end = Some(why),
                _ => {}
            }
        }
        end.unwrap()
    });
    assert!(ends.iter().all(|end| *end == ends[0]), "{ends:?}");
    assert_eq!(ends[0] == End::Stopped, stop_at > 0);
    read_metrics(folder).unwrap()
}

#[test]
fn a_run_resumes_with_another_number_of_ranks_to_the_same_bits() {
    for (name, model, keys) in [CASES[0], CASES[3], CASES[6]] {
        let config = config(model, keys, 4).with(&["epochs=2", "max_steps=0", "split.subset=600"]).unwrap();
        let folder = |which: &str| HOME.path(&format!("{name}-{which}"));
        let undisturbed = sitting(&folder("whole"), &config, 1, 0);
        let parts = folder("parts");
        let steps = undisturbed[1].step;
        sitting(&parts, &config, 4, 1);
        sitting(&parts, &config, 3, steps / 2 + 1);
        let resumed = sitting(&parts, &config, 2, 0);
        let figures = |lines: &[MetricsLine]| {
            let figure = |line: &MetricsLine| {
                (line.step, line.train_loss.to_bits(), line.weights_hash.clone(), format!("{:?}", line.val))
            };
            lines.iter().map(figure).collect::<Vec<_>>()
        };
        assert_eq!(figures(&undisturbed), figures(&resumed), "{name}");
    }
}
