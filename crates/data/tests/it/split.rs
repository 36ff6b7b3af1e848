//! Splits are disjoint, complete, keep apart what they promise, and are the same bits everywhere.

use crate::support;
use knockout_base::error::Class;
use knockout_data::cell::GeneTable;
use knockout_data::screen::{
    Allele, AlleleTable, Division, Part, Sample, Samples, SamplesBuilder, Scheme, Split, SplitSpec, subset,
};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn spec(scheme: Scheme, seed: u64) -> SplitSpec {
    SplitSpec { scheme, division: Division::default(), seed, subset: None, train_subset: None }
}

fn part_sets(split: &Split) -> [BTreeSet<u32>; 3] {
    Part::ALL.map(|part| split.rows(part).iter().copied().collect())
}

fn assert_partition(split: &Split, count: usize) {
    let sets = part_sets(split);
    let union: BTreeSet<u32> = sets.iter().flatten().copied().collect();
    assert_eq!(union.len(), count);
    assert_eq!(Part::ALL.iter().map(|&part| split.rows(part).len()).sum::<usize>(), count);
}

fn genes_of(samples: &Samples, rows: &[u32]) -> BTreeSet<u32> {
    rows.iter().flat_map(|&row| samples.genes(row as usize)).copied().collect()
}

fn pairs_of<'a>(samples: &'a Samples, rows: &[u32]) -> BTreeSet<&'a [u32]> {
    rows.iter().map(|&row| samples.query(row as usize)).collect()
}

fn division() -> impl Strategy<Value = Division> {
    prop_oneof![
        (0.05..0.3, 0.05..0.3).prop_map(|(val, test)| Division::Shares { val, test }),
        (3..8_u32, 0..3_u32).prop_map(|(folds, fold)| Division::Fold { folds, fold }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn splits_are_disjoint_complete_and_keep_apart(seed in any::<u64>(), division in division()) {
        let samples = support::samples(60, 20);
        let genes = support::genes(60);
        for scheme in Scheme::ALL {
            let spec = SplitSpec { division, ..spec(scheme, seed) };
            let split = match Split::new(&samples, &genes, spec) {
                Ok(split) => split,
                // A handful of genes decide over this small screen; an empty part is refused, which is right.
                Err(error) if scheme == Scheme::GeneDisjoint && error.message().contains("split is empty") => continue,
                Err(error) => return Err(TestCaseError::fail(error.to_string())),
            };
            assert_partition(&split, samples.len());
            let [train, val, test] = Part::ALL.map(|part| split.rows(part));
            if scheme == Scheme::PairDisjoint {
                prop_assert!(pairs_of(&samples, train).is_disjoint(&pairs_of(&samples, test)));
                prop_assert!(pairs_of(&samples, train).is_disjoint(&pairs_of(&samples, val)));
                prop_assert!(pairs_of(&samples, val).is_disjoint(&pairs_of(&samples, test)));
            }
            if scheme == Scheme::GeneDisjoint {
                // Every held-out sample has a gene that training never saw.
                let seen = genes_of(&samples, train);
                for &row in val.iter().chain(test) {
                    prop_assert!(samples.genes(row as usize).iter().any(|gene| !seen.contains(gene)));
                }
            }
        }
    }

    #[test]
    fn subsets_are_nested_and_respect_the_parts(seed in any::<u64>(), small in 10..100_usize) {
        let samples = support::samples(60, 20);
        let genes = support::genes(60);
        let whole = Split::new(&samples, &genes, spec(Scheme::Random, seed)).unwrap();
        let take = |count| {
            let spec = SplitSpec { subset: Some(count), ..spec(Scheme::Random, seed) };
            Split::new(&samples, &genes, spec).unwrap()
        };
        let (few, more) = (take(small), take(small * 2));
        assert_partition(&few, small);
        assert_partition(&more, small * 2);
        for (part, (few, more)) in part_sets(&few).into_iter().zip(part_sets(&more)).enumerate() {
            prop_assert!(few.is_subset(&more));
            prop_assert!(more.is_subset(&part_sets(&whole)[part]));
        }
        // Of the training part alone: the other parts stay whole.
        let train = |count| {
            let spec = SplitSpec { train_subset: Some(count), ..spec(Scheme::Random, seed) };
            Split::new(&samples, &genes, spec).unwrap()
        };
        let (few, more) = (train(small), train(small * 2));
        prop_assert_eq!(few.rows(Part::Train).len(), small);
        let [of_few, of_more, of_whole] = [&few, &more, &whole].map(|split| part_sets(split)[0].clone());
        prop_assert!(of_few.is_subset(&of_more) && of_more.is_subset(&of_whole));
        for part in [Part::Val, Part::Test] {
            prop_assert_eq!(few.rows(part), whole.rows(part));
        }
        let rows = subset(&samples, &genes, seed, small).unwrap();
        prop_assert_eq!(rows.len(), small);
        prop_assert!(rows.is_sorted());
    }
}

#[test]
fn parts_have_their_shares() {
    let samples = support::samples(60, 20);
    let genes = support::genes(60);
    let split = Split::new(&samples, &genes, spec(Scheme::Random, 1)).unwrap();
    assert_eq!(Part::ALL.map(|part| split.rows(part).len()), [320, 40, 40]);
    let split = Split::new(&samples, &genes, spec(Scheme::PairDisjoint, 1)).unwrap();
    assert_eq!(Part::ALL.map(|part| split.rows(part).len()), [320, 40, 40]);
}

/// Of a gene set that was measured twice, one record would give the other away.
#[test]
fn records_of_one_gene_set_stay_together() {
    let mut builder = SamplesBuilder::new(40);
    for kind in ["deletion", "ts"] {
        for a in 0..40_u32 {
            for b in 0..a {
                // Every other pair twice.
                if kind == "deletion" || (a + b) % 2 == 0 {
                    let (score, query, source) = (f64::from(a), &[][..], "test");
                    let (p_value, fitness, fitness_sd, duplicates) = (None, None, None, 1);
                    let genes = &[b, a];
                    builder
                        .push(Sample {
                            genes,
                            score,
                            p_value,
                            query,
                            kind,
                            fitness,
                            fitness_sd,
                            source,
                            duplicates,
                            alleles: &[],
                        })
                        .unwrap();
                }
            }
        }
    }
    let (samples, genes) = (builder.finish(), support::genes(40));
    for division in [Division::default(), Division::Fold { folds: 5, fold: 2 }] {
        for seed in 0..5 {
            let split =
                Split::new(&samples, &genes, SplitSpec { division, ..spec(Scheme::Random, seed) }).unwrap();
            assert_partition(&split, samples.len());
            let sets = Part::ALL.map(|part| {
                split.rows(part).iter().map(|&row| samples.genes(row as usize)).collect::<BTreeSet<_>>()
            });
            assert!(
                sets[0].is_disjoint(&sets[1])
                    && sets[0].is_disjoint(&sets[2])
                    && sets[1].is_disjoint(&sets[2])
            );
            let share = split.rows(Part::Test).len() as f64 / samples.len() as f64;
            let wanted = if division == Division::default() { 0.1 } else { 0.2 };
            assert!((share - wanted).abs() < 0.03, "{share}");
        }
    }
}

#[test]
fn folds_test_every_record_once() {
    let samples = support::samples(60, 20);
    let genes = support::genes(60);
    for scheme in [Scheme::Random, Scheme::PairDisjoint] {
        let mut tested = Vec::new();
        for fold in 0..5 {
            let spec = SplitSpec { division: Division::Fold { folds: 5, fold }, ..spec(scheme, 3) };
            tested.extend_from_slice(Split::new(&samples, &genes, spec).unwrap().rows(Part::Test));
        }
        tested.sort_unstable();
        assert_eq!(tested, (0..samples.len() as u32).collect::<Vec<_>>());
    }
}

#[test]
fn folds_of_the_training_part_hold_every_record_out_once() {
    let (samples, genes) = (support::samples(60, 20), support::genes(60));
    let split = Split::new(&samples, &genes, spec(Scheme::Random, 3)).unwrap();
    let folds = split.training_folds(&samples, &genes, 4);
    let mut held_out: Vec<u32> = folds.iter().flat_map(|fold| fold.held_out.iter().copied()).collect();
    held_out.sort_unstable();
    assert_eq!(held_out, split.rows(Part::Train), "each once, and nothing of the other parts");
    let sets = |rows: &[u32]| -> BTreeSet<Vec<u32>> {
        rows.iter().map(|&row| samples.genes(row as usize).to_vec()).collect()
    };
    for fold in &folds {
        assert_eq!(fold.kept.len() + fold.held_out.len(), split.rows(Part::Train).len());
        assert!(sets(&fold.kept).is_disjoint(&sets(&fold.held_out)), "no gene set on both sides");
        assert!(fold.held_out.len() * 8 > split.rows(Part::Train).len(), "folds are of like size");
    }
}

#[test]
fn a_record_keeps_its_part_when_rows_and_genes_change_places() {
    let samples = support::samples(60, 20);
    let genes = support::genes(60);
    // The same records, rows reversed, over a gene table in reverse order.
    let names: Vec<String> = genes.genes().iter().rev().map(|gene| gene.systematic.clone()).collect();
    let reversed_genes = GeneTable::from_systematic(names).unwrap();
    let mut builder = SamplesBuilder::new(60);
    for row in (0..samples.len()).rev() {
        let flip = |genes: &[u32]| genes.iter().map(|gene| 59 - gene).collect::<Vec<_>>();
        let sample = samples.get(row);
        let (flipped, query) = (flip(sample.genes), flip(sample.query));
        builder.push(Sample { genes: &flipped, query: &query, ..sample }).unwrap();
    }
    let reversed = builder.finish();
    let last = samples.len() as u32 - 1;
    for scheme in [Scheme::Random, Scheme::GeneDisjoint] {
        let one = Split::new(&samples, &genes, spec(scheme, 9)).unwrap();
        let two = Split::new(&reversed, &reversed_genes, spec(scheme, 9)).unwrap();
        for part in Part::ALL {
            let mut mirrored: Vec<u32> = two.rows(part).iter().map(|row| last - row).collect();
            mirrored.sort_unstable();
            assert_eq!(one.rows(part), mirrored, "{scheme:?} {part:?}");
        }
    }
}

#[test]
fn the_bits_are_the_same_on_every_machine() {
    // Computed once and kept: a change here breaks everybody's published splits.
    let samples = support::samples(60, 20);
    let genes = support::genes(60);
    let first = |scheme| {
        let split = Split::new(&samples, &genes, spec(scheme, 42)).unwrap();
        split.rows(Part::Test)[..5].to_vec()
    };
    assert_eq!(first(Scheme::Random), GOLDEN[0]);
    assert_eq!(first(Scheme::PairDisjoint), GOLDEN[1]);
    assert_eq!(first(Scheme::GeneDisjoint), GOLDEN[2]);
}

const GOLDEN: [[u32; 5]; 3] = [[15, 23, 31, 39, 41], [80, 81, 82, 83, 84], [19, 39, 59, 79, 99]];

#[test]
fn impossible_splits_are_refused_with_the_reason() {
    let samples = support::samples(60, 20);
    let genes = support::genes(60);
    let refused = |spec| Split::new(&samples, &genes, spec).unwrap_err().to_string();
    let random = spec(Scheme::Random, 0);
    let shares = |val, test| SplitSpec { division: Division::Shares { val, test }, ..random };
    for (val, test) in [(0.6, 0.5), (-0.1, 0.5), (f64::NAN, 0.1)] {
        let expected = format!(
            "shares val {val} and test {test} must lie between 0 and 1 and leave something to train on"
        );
        assert_eq!(refused(shares(val, test)), expected);
    }
    assert!(refused(shares(0.0, 0.1)).starts_with("the val part of the random split is empty"));
    let fold = SplitSpec { division: Division::Fold { folds: 2, fold: 0 }, ..random };
    assert!(refused(fold).starts_with("fold 0 of 2: there must be at least 3 folds"));
    let many = SplitSpec { subset: Some(401), ..random };
    assert_eq!(refused(many), "a subset of 401 samples was requested, but there are 400");

    let mut builder = SamplesBuilder::new(60);
    for (row, sample) in samples.iter().enumerate() {
        builder.push(if row == 7 { Sample { query: &[], ..sample } } else { sample }).unwrap();
    }
    let error = Split::new(&builder.finish(), &genes, spec(Scheme::PairDisjoint, 0)).unwrap_err();
    assert!(error.to_string().starts_with("sample 7 has no query pair"));
}

#[test]
fn a_split_is_saved_and_belongs_to_its_dataset() {
    let folder = tempfile::tempdir().unwrap();
    let mut dataset = support::dataset();
    dataset.write(&folder.path().join("set"), &|_| {}).unwrap();
    let spec = SplitSpec { subset: Some(50), ..spec(Scheme::Random, 5) };
    let split = Split::new(&dataset.samples, dataset.cell.genes(), spec).unwrap();
    let path = folder.path().join("split.parquet");
    split.save(&path, &dataset.manifest).unwrap();
    assert_eq!(Split::load(&path, &dataset.manifest).unwrap(), split);

    let mut other = dataset.manifest.clone();
    other.checksums.insert("genes.parquet".to_owned(), "0".to_owned());
    let error = Split::load(&path, &other).unwrap_err();
    assert!(error.to_string().contains("another dataset"));
    assert_eq!(error.class(), Class::Damage);

    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    assert!(Split::load(&path, &dataset.manifest).unwrap_err().class() == Class::Damage);
    assert!(
        Split::load(&folder.path().join("none"), &dataset.manifest).unwrap_err().class() == Class::Request
    );
}

/// Returns pairs of 30 genes, some in two kinds and in several alleles; merged, each set and kind is there once.
fn pairs_with_alleles(seed: u64, merged: bool) -> Samples {
    let allele = |gene, kind: &str, name: Option<&str>| Allele {
        gene,
        kind: kind.to_owned(),
        name: name.map(str::to_owned),
    };
    let names = ["x-1", "x-2", "x-3"];
    let mut table: Vec<Allele> = (0..30).map(|gene| allele(gene, "deletion", None)).collect();
    table.extend(names.map(|name| allele(0, "allele", Some(name))));
    let mut builder = SamplesBuilder::new(30);
    if !merged {
        builder = builder.with_allele_table(AlleleTable::new(table).unwrap()).unwrap();
    }
    for a in 0..30_u32 {
        for b in a + 1..30 {
            let (genes, query) = ([a, b], [a]);
            let of_kind =
                |kind| Sample { query: &query, kind, ..Sample::deletion(&genes, f64::from(a * b), "test") };
            if a == 0 {
                let number = 1 + (seed.wrapping_add(u64::from(b)) % 3) as u32;
                for allele in 30..30 + if merged { 1 } else { number } {
                    let alleles = [allele, b];
                    let alleles = if merged { &[][..] } else { &alleles };
                    builder.push(Sample { alleles, ..of_kind("mixed") }).unwrap();
                }
            }
            if a > 0 || b % 2 == 0 {
                builder.push(of_kind("deletion")).unwrap();
            }
        }
    }
    builder.finish()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn no_split_divides_the_alleles_of_a_gene_set(seed in any::<u64>(), division in division()) {
        let [apart, merged] = [false, true].map(|merged| pairs_with_alleles(seed, merged));
        let genes = support::genes(30);
        for scheme in Scheme::ALL {
            let spec = SplitSpec { division, ..spec(scheme, seed) };
            let Ok(split) = Split::new(&apart, &genes, spec) else { continue };
            assert_partition(&split, apart.len());
            let sets = |split: &Split, samples: &Samples| Part::ALL.map(|part| {
                let rows = split.rows(part).iter();
                rows.map(|&row| samples.genes(row as usize).to_vec()).collect::<BTreeSet<_>>()
            });
            let of_apart = sets(&split, &apart);
            for (one, other) in [(0, 1), (0, 2), (1, 2)] {
                prop_assert!(of_apart[one].is_disjoint(&of_apart[other]));
            }
            if scheme != Scheme::PairDisjoint {
                // Shares of pair-disjoint splits are of rows; the others give what merged alleles would have.
                let of_merged = Split::new(&merged, &genes, spec).unwrap();
                prop_assert_eq!(&of_apart, &sets(&of_merged, &merged));
            }
            for fold in split.training_folds(&apart, &genes, 4) {
                let of = |rows: &[u32]| rows.iter().map(|&row| apart.genes(row as usize)).collect::<BTreeSet<_>>();
                prop_assert!(of(&fold.kept).is_disjoint(&of(&fold.held_out)));
            }
        }
    }
}
