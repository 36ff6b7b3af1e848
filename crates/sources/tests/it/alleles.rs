//! Planted alleles of one gene: they come back apart, or merged as before; only repeats of the same alleles are merged.

use crate::support::screen;
use knockout_base::error::Error;
use knockout_data::cell::GeneTable;
use knockout_data::screen::{RepeatAlleles, Samples};
use knockout_sources::import::names::Names;
use knockout_sources::import::screens::{
    Alleles, Duplicates, MeasurementCollector, Merged, RowChoice, ScreenCounts, ScreenSink, emap, sga,
};
use knockout_sources::import::source::Source;
use std::fmt::Write as _;

const EMAP: &[u8] = b"gene_a\tallele_a\tgene_b\tallele_b\ts_score\n\
    YAL001C\tTFC3-8\tYAL002W\tDELETION\t-5\n\
    YAL002W\tDeletion\tYAL001C\ttfc3-8\t-4\n\
    YAL001C\tTFC3-79\tYAL002W\tDELETION\t3\n\
    YAL001C\tDAMP\tYAL002W\tDELETION\t1\n\
    YAL001C\tDELETION\tYAL002W\tDELETION\t-9\n\
    YAL001C\tDELETION\tYAL002W\t\t7\n\
    YAL003W\tDELETION\tYAL002W\tDELETION\t2\n";

fn read(alleles: Alleles) -> Result<(Samples, ScreenCounts), Error> {
    let source = Source::bytes("emap.tsv", EMAP);
    screen(Duplicates::Mean, alleles, |sink| emap::read(&source, sink))
}

fn shown(samples: &Samples) -> Vec<(String, f64, u32)> {
    let of_row = |(row, sample): (usize, knockout_data::screen::Sample<'_>)| {
        (samples.perturbation(row), sample.score, sample.duplicates)
    };
    samples.iter().enumerate().map(of_row).collect()
}

#[test]
fn alleles_of_one_gene_come_back_apart() {
    let (samples, _) = read(Alleles::Apart).unwrap();
    let expected = [
        // Written in another case and the other way round: a repeat.
        ("TFC3-8+deletion", -4.5, 2),
        ("TFC3-79+deletion", 3.0, 1),
        ("damp+deletion", 1.0, 1),
        ("deletion", -9.0, 1),
        ("deletion+unspecified", 7.0, 1),
        ("deletion", 2.0, 1),
    ];
    let expected: Vec<_> = expected.map(|(name, score, count)| (name.to_owned(), score, count)).into();
    assert_eq!(shown(&samples), expected);
    assert_eq!(samples.alleles(3).len(), 0, "the kind alone states that both genes were deleted");
    assert_eq!(samples.repeated_sets(0..6), 1);
    assert_eq!(samples.allele_table().alleles().len(), 6, "{:?}", samples.allele_table());
}

#[test]
fn merged_alleles_are_one_sample_per_set_and_kind() {
    let (samples, _) = read(Alleles::Merge).unwrap();
    let merged =
        [("mixed".to_owned(), (-5.0 - 4.0 + 3.0 + 1.0 + 7.0) / 5.0, 5), ("deletion".to_owned(), -9.0, 1)];
    let found = shown(&samples);
    assert!((found[0].1 - merged[0].1).abs() < 1e-12 && found[0].2 == 5, "{found:?}");
    assert_eq!(found[1], merged[1]);
    assert!(samples.len() == 3 && !samples.has_alleles());
}

/// Returns what was merged, the number of samples, and the agreement of the measurements, of twelve pairs with two alleles each.
fn agreement(alleles: Alleles) -> (Merged, usize, Vec<(RepeatAlleles, usize, i64)>) {
    let genes = GeneTable::from_systematic((0..13).map(|gene| format!("YAL{gene:03}W"))).unwrap();
    let names = Names::new(&genes);
    let mut text = "gene_a\tallele_a\tgene_b\tallele_b\ts_score\n".to_owned();
    for gene in 1..13 {
        // Two alleles with opposite effects, the first measured twice.
        for (allele, effect) in [("x-1", 1.0), ("x-2", -1.0), ("x-1", 1.1)] {
            let score = effect * f64::from(gene * 5 % 13);
            writeln!(text, "YAL000W\t{allele}\tYAL{gene:03}W\tDELETION\t{score}").unwrap();
        }
    }
    let mut collector = MeasurementCollector::new(Duplicates::Mean);
    let choice = RowChoice { source: "lab", alleles, orders: &[] };
    let source = Source::bytes("emap.tsv", text.as_bytes());
    let sink = ScreenSink::new(&names, &genes, choice, &mut collector);
    emap::read(&source, sink).unwrap();
    let repeats = collector.repeats().into_iter();
    let repeats = repeats.map(|repeats| (repeats.alleles, repeats.sets, repeats.pearson.round() as i64));
    (collector.merged(), collector.len(), repeats.collect())
}

#[test]
fn only_true_repeats_are_merged_and_agreement_is_the_same_either_way() {
    let (apart, samples, agree) = agreement(Alleles::Apart);
    assert_eq!(apart, Merged { same_alleles: 12, other_alleles: 0, unstated_alleles: 0, copies: 0 });
    assert_eq!(samples, 24);
    assert_eq!(agree, [(RepeatAlleles::Same, 12, 1), (RepeatAlleles::Different, 12, -1)]);
    let (merged, samples, same) = agreement(Alleles::Merge);
    assert_eq!(merged, Merged { same_alleles: 12, other_alleles: 12, unstated_alleles: 0, copies: 0 });
    assert_eq!((samples, same), (12, agree));
}

#[test]
fn strains_keep_the_names_of_their_alleles() {
    let header = "Query Strain ID\tQuery allele name\tArray Strain ID\tArray allele name\tArraytype/Temp\t\
                  Genetic interaction score (\u{3b5})\tP-value\n";
    let row = |query: &str, allele: &str, score: f64| {
        format!("{query}\t{allele}\tYAL002W_dma1\tvps8\u{394}\tDMA30\t{score}\t0.5\n")
    };
    let text = [
        header.to_owned(),
        row("YAL001C_tsq1", "tfc3-1", -0.5),
        row("YAL001C_tsq2", "tfc3-2", 0.25),
        // The same allele in another strain.
        row("YAL001C_tsq3", "tfc3-1", -0.25),
    ]
    .concat();
    let source = Source::bytes("sga.txt", text.as_bytes());
    let read =
        |alleles| screen(Duplicates::Mean, alleles, |sink| sga::read_costanzo(&source, sink)).unwrap().0;
    let samples = read(Alleles::Apart);
    let found: Vec<_> = shown(&samples).into_iter().map(|(name, score, _)| (name, score)).collect();
    assert_eq!(found, [("tfc3-1+deletion".to_owned(), -0.375), ("tfc3-2+deletion".to_owned(), 0.25)]);
    assert_eq!(samples.alleles(0).map(|allele| &allele.kind[..]).collect::<Vec<_>>(), ["ts", "deletion"]);
    assert_eq!(read(Alleles::Merge).len(), 1);
}
