//! What stands beside predictions: regimes, what is resampled, and notes on hits.

use knockout_base::stats::bootstrap::{Bootstrap, Resampling};
use knockout_data::cell::{Annotations, Cell, GenePosition, GenePositions, GeneSets};
use knockout_data::screen::{
    Allele, AlleleTable, Dataset, Division, Part, Regime, Sample, SamplesBuilder, Scheme, Split, SplitSpec,
};
use knockout_predict::evaluation::{Defect, MeasuredScores, NamedPredictions, Pairs, evaluate};
use knockout_predict::{ESSENTIAL, Hit, HitNotes, Linkage, MeasuredSample, ResampledUnits, TrainedGenes};
use knockout_solve::{Problem, Records, SolvedOptions as _, StackOptions};
use knockout_sources::synth;
use std::sync::Arc;

fn dataset() -> Dataset {
    synth::synthesise(&synth::SynthConfig::preset("tiny").unwrap(), 3, "tiny", "test", &|_| ()).unwrap()
}

fn spec(scheme: Scheme) -> SplitSpec {
    SplitSpec { scheme, division: Division::default(), seed: 0, subset: None, train_subset: None }
}

fn split(dataset: &Dataset, scheme: Scheme) -> Split {
    Split::new(&dataset.samples, dataset.cell.genes(), spec(scheme)).unwrap()
}

#[test]
fn units_of_resampling_follow_from_new_genes() {
    let dataset = dataset();
    let units = |scheme| MeasuredScores::of(&dataset, &split(&dataset, scheme), Part::Test).shared;
    assert_eq!(units(Scheme::Random).units, ResampledUnits::Records);
    assert_eq!(units(Scheme::Random).resampling, Resampling::Records);
    assert_eq!(units(Scheme::GeneDisjoint).units, ResampledUnits::Genes);
    // Pairs of genes that are kept apart: some genes are new as well, and they decide.
    let pair_disjoint = split(&dataset, Scheme::PairDisjoint);
    let trained = TrainedGenes::of(&dataset.samples, dataset.cell.genes().len(), &pair_disjoint);
    let known: Vec<u32> = pair_disjoint
        .rows(Part::Test)
        .iter()
        .copied()
        .filter(|&row| trained.regime(dataset.samples.genes(row as usize)) == Regime::Known)
        .collect();
    assert_eq!(trained.shared(&dataset.samples, &known).units, ResampledUnits::QueryStrains);
}

#[test]
fn regimes_divide_a_part_and_noise_is_reported() {
    let dataset = dataset();
    let split = split(&dataset, Scheme::GeneDisjoint);
    let rows = split.rows(Part::Test);
    let mut rng = knockout_base::random::Rng::new(1, "noise");
    let noise: Vec<f64> = rows.iter().map(|_| rng.normal()).collect();
    let bootstrap = Bootstrap { resamples: 60, ..Bootstrap::default() };
    let model = NamedPredictions { name: "noise", predictions: &noise };
    let evaluation = evaluate(&dataset, &split, Part::Test, &[model], Pairs::Neighbours, &bootstrap).unwrap();
    let records: usize = evaluation.regimes.iter().map(|regime| regime.records).sum();
    assert_eq!(records, rows.len());
    assert!(evaluation.regimes.iter().all(|regime| regime.regime != Regime::Known && regime.new_genes > 0));
    assert!(evaluation.regimes.iter().all(|regime| regime.rows.iter().all(|row| row.hits.is_some())));
    // Noise of variance 1 beside scores of variance 0.004.
    assert_eq!(evaluation.warnings.len(), 1);
    assert_eq!(
        (&evaluation.warnings[0].name[..], evaluation.warnings[0].defect),
        ("noise", Defect::WorseThanMean)
    );
}

#[test]
fn a_hit_is_noted_with_its_regime_and_its_genes() {
    let mut dataset = dataset();
    let split = split(&dataset, Scheme::GeneDisjoint);
    let gene_count = dataset.cell.genes().len();
    let at = |gene: usize| {
        let start = 40_000 * gene as u32;
        Some(GenePosition { chromosome: (gene / 5).to_string(), start, stop: start })
    };
    let positions = GenePositions::new((0..gene_count).map(at).collect());
    let essential =
        Annotations::new(ESSENTIAL, gene_count, vec!["essential".to_owned()], vec![(1, 0)]).unwrap();
    let cell: Cell = (*dataset.cell).clone();
    let cell = cell.with_annotations(vec![essential]).unwrap().with_positions(positions).unwrap();
    dataset.cell = Arc::new(cell);
    let hit = |genes: &[u32]| Hit { number: 0, genes: genes.to_vec(), prediction: 0.0, sd: None };
    let mut measured = dataset.samples.genes(7).to_vec();
    measured.sort_unstable();
    let hits = [hit(&[0, 1]), hit(&[0, 2]), hit(&[0, 9]), hit(&measured)];
    let notes = HitNotes::new(&dataset, Some(&split), &hits);
    let [linked, near, apart, known] = hits.each_ref().map(|hit| notes.note(&hit.genes));
    assert_eq!((linked.linkage, linked.distance), (Linkage::Linked, Some(40_000)));
    assert_eq!((near.linkage, near.distance), (Linkage::Near, Some(80_000)));
    assert_eq!((apart.linkage, apart.distance), (Linkage::None, None));
    assert_eq!((linked.essential, near.essential), (Some(vec![1]), Some(Vec::new())));
    assert_eq!(
        (known.measured.as_ref().map(|found| found.score), &linked.measured),
        (Some(dataset.samples.scores()[7]), &None)
    );
    let trained = TrainedGenes::of(&dataset.samples, gene_count, &split);
    assert_eq!(known.regime, Some(trained.regime(&measured)));
    assert_eq!(HitNotes::new(&dataset, None, &hits).note(&hits[0].genes).regime, None);
}

/// Several samples are listed with their alleles, and a single one where its alleles are stored.
#[test]
fn a_measured_hit_has_its_score_and_alleles() {
    let dataset = dataset();
    let allele = |gene, kind: &str, name: Option<&str>| Allele {
        gene,
        kind: kind.to_owned(),
        name: name.map(str::to_owned),
    };
    let table = vec![
        allele(0, "ts", Some("a-1")),
        allele(0, "ts", Some("a-2")),
        allele(1, "deletion", None),
        allele(2, "deletion", None),
    ];
    let samples = SamplesBuilder::new(dataset.cell.genes().len());
    let mut samples = samples.with_allele_table(AlleleTable::new(table).unwrap()).unwrap();
    for (genes, alleles, score, duplicates) in [
        (&[0, 1][..], &[0, 2][..], -1.0, 3),
        (&[0, 1], &[1, 2], 1.0, 1),
        (&[0, 2], &[0, 3], 2.0, 1),
        (&[1, 2], &[], 3.0, 1),
    ] {
        samples
            .push(Sample { alleles, duplicates, kind: "mixed", ..Sample::deletion(genes, score, "test") })
            .unwrap();
    }
    let dataset = Dataset { samples: samples.finish(), ..dataset };
    let hits = [&[0, 1][..], &[0, 2], &[1, 2], &[0, 3]].map(|genes| Hit {
        number: 0,
        genes: genes.to_vec(),
        prediction: 0.0,
        sd: None,
    });
    // The samples of a set are all in one part.
    let rows = [vec![2], vec![3], vec![0, 1]];
    let split = Split::from_rows(spec(Scheme::Random), rows, dataset.samples.len()).unwrap();
    let notes = HitNotes::new(&dataset, Some(&split), &hits);
    let parts = hits.each_ref().map(|hit| notes.note(&hit.genes).measured.and_then(|found| found.part));
    assert_eq!(parts, [Some(Part::Test), Some(Part::Train), Some(Part::Val), None]);
    let cells = hits.each_ref().map(|hit| {
        notes.note(&hit.genes).measured.map(|found| (found.score, MeasuredSample::cell(&found.samples)))
    });
    let cell = |score: f64, samples: &str| Some((score, samples.to_owned()));
    assert_eq!(
        cells,
        [cell(-0.5, "a-1+deletion: -1; a-2+deletion: 1"), cell(2.0, "a-1+deletion: 2"), cell(3.0, ""), None]
    );
}

/// A screen of pairs in which every fifth pair has two alleles; merged, it has their mean.
fn pairs(dataset: &Dataset, is_merged: bool) -> Dataset {
    let gene_count = dataset.cell.genes().len();
    let allele = |name: &str| Allele { gene: 0, kind: "ts".to_owned(), name: Some(name.to_owned()) };
    let mut table = vec![allele("a-1"), allele("a-2")];
    table.extend((1..40).map(|gene| Allele { gene, kind: "deletion".to_owned(), name: None }));
    let mut samples = SamplesBuilder::new(gene_count);
    if !is_merged {
        samples = samples.with_allele_table(AlleleTable::new(table).unwrap()).unwrap();
    }
    let mut rng = knockout_base::random::Rng::new(1, "scores");
    for a in 0..40_u32 {
        for b in a + 1..40 {
            let genes = [a, b];
            let kind = if a == 0 { "mixed" } else { "deletion" };
            let scores = [0, 1].map(|_| f64::from(a % 7) + f64::from(b % 5) + rng.normal());
            let with = |score| Sample { kind, ..Sample::deletion(&genes, score, "test") };
            // The first allele stands for three measurements.
            if a == 0 && is_merged {
                let score = scores[0] + (scores[1] - scores[0]) / 4.0;
                samples.push(Sample { duplicates: 4, ..with(score) }).unwrap();
            } else if a == 0 {
                for (allele, duplicates) in [(0, 3), (1, 1)] {
                    let alleles = &[allele, b + 1][..];
                    samples.push(Sample { alleles, duplicates, ..with(scores[allele as usize]) }).unwrap();
                }
            } else {
                samples.push(with(scores[0])).unwrap();
            }
        }
    }
    Dataset { samples: samples.finish(), ..dataset.clone() }
}

#[test]
fn the_stack_of_alleles_apart_is_that_of_their_weighted_means() {
    let tiny = dataset();
    let [apart, merged] = [false, true].map(|is_merged| pairs(&tiny, is_merged));
    assert_eq!(apart.samples.len(), merged.samples.len() + 39);
    let set: GeneSets = [[0_u32, 1], [3, 4]].iter().map(|set| &set[..]).collect();
    let [of_apart, of_merged] = [&apart, &merged].map(|dataset| {
        let split = split(dataset, Scheme::Random);
        let [train, val] =
            [Part::Train, Part::Val].map(|part| Records::of_sets(&dataset.samples, split.rows(part)));
        let solution =
            StackOptions::default().solve(Problem::new(&dataset.cell, &train, &val), &mut ()).unwrap();
        (train, solution.predict(set.view()))
    });
    assert_eq!(of_apart.0.sets, of_merged.0.sets);
    for (one, other) in of_apart.0.scores.iter().zip(&of_merged.0.scores) {
        assert!((one - other).abs() < 1e-12, "{one} {other}");
    }
    for (one, other) in of_apart.1.iter().zip(&of_merged.1) {
        assert!((one - other).abs() < 1e-6, "{one} {other}");
    }
    // Sets with several samples are resampled whole.
    let test = split(&apart, Scheme::Random);
    assert!(apart.samples.repeated_sets(test.rows(Part::Test).iter().copied()) > 0);
    let measured = MeasuredScores::of(&apart, &test, Part::Test);
    assert_eq!(measured.shared.units, ResampledUnits::GeneSets);
}
