//! The baselines against golden numbers, and its behaviour on small screens.

use knockout_data::screen::{Division, Part, Sample, Samples, SamplesBuilder, Scheme, Split, SplitSpec};
use knockout_predict::baseline::{Baseline, Baselines, PairVocabulary, design};
use knockout_solve::ridge::{ALPHAS, Ridge, choose};
use knockout_testdata::golden::{Case, cases};
use knockout_train::metrics::Metrics;
use serde_json::Value;

const BLANK: Sample<'_> = Sample::deletion(&[], 0.0, "test");

fn samples_of(case: &Case) -> Samples {
    let mut builder = SamplesBuilder::new(case.json["sizes"]["genes"].as_u64().unwrap() as usize);
    let (triples, pairs) = (case.indices("input.triples"), case.indices("input.query_pair_genes"));
    let which = case.indices("input.query_pair");
    for (row, score) in case.f64("input.labels").iter().enumerate() {
        let pair = which[row] as usize;
        let (genes, query) = (&triples[3 * row..3 * row + 3], &pairs[2 * pair..2 * pair + 2]);
        builder.push(Sample { genes, query, score: *score, ..BLANK }).unwrap();
    }
    builder.finish()
}

fn spec(scheme: Scheme) -> SplitSpec {
    SplitSpec { scheme, division: Division::default(), seed: 0, subset: None, train_subset: None }
}

fn split_of(case: &Case, tag: &str) -> Split {
    let mut parts: [Vec<u32>; 3] = Default::default();
    for (row, part) in case.indices(&format!("input.split.{tag}")).into_iter().enumerate() {
        parts[part as usize].push(row as u32);
    }
    let scheme = if tag == "random" { Scheme::Random } else { Scheme::PairDisjoint };
    let count = parts.iter().map(Vec::len).sum();
    Split::from_rows(spec(scheme), parts, count).unwrap()
}

fn near(place: &str, mine: f64, expected: f64) {
    assert!(
        (mine - expected).abs() <= 1e-9 * expected.abs().max(1e-3),
        "{place} is {mine}, expected {expected}"
    );
}

/// Predictions and all their figures.
fn check(case: &Case, tag: &str, name: &str, predictions: &[f64], targets: &[f64]) {
    let expected = case.f64(&format!("output.{tag}.{name}.f64"));
    assert_eq!(expected.len(), predictions.len());
    for (row, (&mine, &expected)) in predictions.iter().zip(expected).enumerate() {
        near(&format!("{tag} {name} {row}"), mine, expected);
    }
    let metrics = Metrics::of(predictions, targets);
    let figures = case.json["expected"][tag][name].as_object().unwrap();
    let mine = serde_json::to_value(metrics).unwrap();
    for (figure, expected) in figures {
        let place = format!("{tag} {name} {figure}");
        match expected.as_f64() {
            Some(expected) => near(&place, mine[figure].as_f64().unwrap(), expected),
            None => assert_eq!((expected, &mine[figure]), (&"undefined".into(), &Value::Null), "{place}"),
        }
    }
}

#[test]
fn golden_baselines_on_both_splits() {
    for case in cases("baselines/") {
        let samples = samples_of(&case);
        let genes = case.json["sizes"]["genes"].as_u64().unwrap() as usize;
        assert_eq!(case.json["options"]["alpha_grid"], serde_json::json!(ALPHAS));
        assert_eq!(case.json["options"]["pair_min_count"], PairVocabulary::LEAST_RECORDS);
        for (tag, expected) in case.json["expected"].as_object().unwrap() {
            let split = split_of(&case, tag);
            let baselines = Baselines::new(&samples, genes, &split).unwrap();
            let mut left: Vec<&str> = expected.as_object().unwrap().keys().map(String::as_str).collect();
            let mut seen = |name: &str| left.retain(|key| *key != name);

            let parts = Part::ALL.map(|part| split.rows(part));
            let [train, val, test] = parts;
            assert_eq!(expected["records"], serde_json::json!(parts.map(<[u32]>::len)));
            seen("records");
            let scores = |rows: &[u32]| -> Vec<f64> {
                rows.iter().map(|&row| samples.scores()[row as usize]).collect()
            };
            let targets = scores(test);

            let pairs = case.indices("input.query_pair_genes");
            let vocabulary = case.indices(&format!("output.{tag}.pair_vocabulary"));
            let mut known: Vec<&[u32]> =
                vocabulary.iter().map(|&pair| &pairs[2 * pair as usize..2 * pair as usize + 2]).collect();
            known.sort_unstable();
            assert_eq!(baselines.pairs().pairs().collect::<Vec<_>>(), known);
            assert_eq!(expected["pair_vocabulary"], known.len());
            seen("pair_vocabulary");

            for (name, pairs) in [("ridge", &PairVocabulary::default()), ("ridge_pairs", baselines.pairs())] {
                let design = |rows| design(&samples, genes, pairs, rows);
                let strong = &Ridge::fit(&design(train), &scores(train), &[30.0]).unwrap()[0];
                let key = format!("{name}_alpha30");
                check(&case, tag, &key, &strong.predict(&design(test)), &targets);
                seen(&key);
                if name == "ridge" {
                    near(
                        "intercept",
                        strong.intercept,
                        case.f64(&format!("output.{tag}.ridge_intercept.f64"))[0],
                    );
                    let expected = case.f64(&format!("output.{tag}.ridge_coefficients.f64"));
                    for (gene, (&mine, &expected)) in strong.coefficients.iter().zip(expected).enumerate() {
                        near(&format!("{tag} coefficient {gene}"), mine, expected);
                    }
                }
                let ridges = Ridge::fit(&design(train), &scores(train), &ALPHAS).unwrap();
                let chosen = choose(ridges, &design(val), &scores(val));
                let curve = case.f64(&format!("output.{tag}.{name}_validation_pearson.f64"));
                for (mine, expected) in chosen.validation_pearson.iter().zip(curve) {
                    near(&format!("{tag} {name} curve"), mine.unwrap(), *expected);
                }
                let key = format!("{name}_best_alpha");
                assert_eq!(expected[&key], chosen.ridge.alpha);
                seen(&key);
            }

            let rungs = [
                ("train_mean", Baseline::TrainMean),
                ("ridge_best", Baseline::AdditiveRidge),
                ("ridge_pairs_best", Baseline::RidgePairs),
                ("pair_mean", Baseline::QueryPairMean),
                ("pair_mean_backing_off", Baseline::HierarchicalMean),
            ];
            for (name, baseline) in rungs {
                let fitted = baselines.fit(baseline, test, 0, &|_| ()).unwrap();
                check(&case, tag, name, &fitted.predictions, &targets);
                seen(name);
            }

            let mut occurs = vec![false; genes];
            for &row in train {
                samples.genes(row as usize).iter().for_each(|&gene| occurs[gene as usize] = true);
            }
            let absent = occurs.iter().filter(|occurs| !**occurs).count();
            assert_eq!(expected["genes_not_in_training"], absent);
            seen("genes_not_in_training");
            assert!(left.is_empty(), "not compared: {left:?}");
        }
    }
}

/// A screen whose scores are additive in the genes plus one product that only pairs of genes explain.
fn screen(query: bool) -> (Samples, Split) {
    let mut rng = knockout_base::random::Rng::new(3, "screen");
    let effects: Vec<[f64; 2]> = (0..30).map(|_| [rng.normal(), rng.normal()]).collect();
    let mut builder = SamplesBuilder::new(31);
    for a in 0..30_u32 {
        for b in a + 1..30 {
            let [x, y] = [a, b].map(|gene| effects[gene as usize]);
            let score = 0.3 * (x[0] + y[0]) + x[1] * y[1] + 0.1 * rng.normal();
            let genes = [a, b];
            builder
                .push(Sample { genes: &genes, query: if query { &genes[..1] } else { &[] }, score, ..BLANK })
                .unwrap();
        }
    }
    let samples = builder.finish();
    let mut parts: [Vec<u32>; 3] = Default::default();
    (0..samples.len() as u32).for_each(|row| parts[[0, 0, 0, 0, 1, 2][row as usize % 6]].push(row));
    let split = Split::from_rows(spec(Scheme::Random), parts, samples.len()).unwrap();
    (samples, split)
}

#[test]
fn without_queries_the_pair_baselines_are_left_out() {
    let (samples, split) = screen(false);
    let baselines = Baselines::new(&samples, 31, &split).unwrap();
    let names: Vec<&str> = baselines.applicable().into_iter().map(Baseline::name).collect();
    assert_eq!(names, ["train-mean", "hierarchical-mean", "additive-ridge", "gene-mlp"]);
    let (samples, split) = screen(true);
    // Without a cell the solved models are left out as well.
    assert_eq!(Baselines::new(&samples, 31, &split).unwrap().applicable(), Baseline::ALL[..6]);
}

#[test]
fn the_small_network_learns_and_is_the_same_for_any_number_of_threads() {
    let (samples, split) = screen(false);
    let baselines = Baselines::new(&samples, 31, &split).unwrap();
    let test = split.rows(Part::Test);
    let run = |threads, seed| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| baselines.fit(Baseline::GeneMlp, test, seed, &|_| ()).unwrap())
    };
    let fitted = run(1, 1);
    assert!(run(2, 1) == fitted && run(7, 1) == fitted);
    assert!(run(2, 2).predictions != fitted.predictions, "another seed is another network");
    assert!(fitted.epochs.unwrap() >= 1);
    assert!(fitted.predictions.iter().all(|value| value.is_finite()));
    // The scores hold a product of the genes' effects, which no sum of them explains.
    let targets: Vec<f64> = test.iter().map(|&row| samples.scores()[row as usize]).collect();
    let ridge = baselines.fit(Baseline::AdditiveRidge, test, 0, &|_| ()).unwrap();
    let [network, ridge] =
        [&fitted, &ridge].map(|fitted| Metrics::of(&fitted.predictions, &targets).pearson.unwrap());
    assert!(network > ridge + 0.1, "{network} against {ridge}");
}
