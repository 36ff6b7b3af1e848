//! Measurements of the same genes, set beside each other before they are merged.

use crate::import::strain::AlleleKey;
use knockout_base::stats::{mean, pearson};
use knockout_data::screen::{FEWEST_REPEATS, RepeatAlleles, Repeats};
use std::collections::BTreeMap;

/// One of several measurements of a group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Repeated {
    /// Row of the group that is measured.
    pub(super) row: u32,
    /// Code of its source.
    pub(super) source: u16,
    /// Identity of its alleles, where the source names them.
    pub(super) alleles: Option<AlleleKey>,
    pub(super) score: f64,
}

/// Scores of first and second measurements, by the names of their sources and by their alleles.
type RepeatPairs<'n> = BTreeMap<(&'n str, &'n str, RepeatAlleles), (Vec<f64>, Vec<f64>)>;

/// Scores of one source for one group, by allele in the order of first appearance.
type ByAllele = Vec<(Option<AlleleKey>, Vec<f64>)>;

/// How well sources agree with each other and with themselves.
///
/// `alike` are pairs of groups that measure the same genes; `single` gives the one measurement of a group without repeats. Each
/// pair of sources of a group gives one pair of means; each source that repeats gives its first two scores. Repeats of the same alleles,
/// of different alleles and of unnamed ones are counted separately.
pub(super) fn repeats_of<'n>(
    repeated: &[Repeated],
    alike: &[[u32; 2]],
    single: &dyn Fn(u32) -> Repeated,
    names: &[&'n str],
) -> Vec<Repeats> {
    let mut groups: BTreeMap<u32, BTreeMap<&'n str, ByAllele>> = BTreeMap::new();
    let name = |measured: &Repeated| names[usize::from(measured.source)];
    for measured in repeated {
        let of_source = groups.entry(measured.row).or_default().entry(name(measured)).or_default();
        match of_source.iter_mut().find(|(alleles, _)| *alleles == measured.alleles) {
            Some((_, scores)) => scores.push(measured.score),
            None => of_source.push((measured.alleles, vec![measured.score])),
        }
    }
    let mut pairs = RepeatPairs::new();
    let mut note = |a: &'n str, b: &'n str, (alleles, first, second): (RepeatAlleles, f64, f64)| {
        let (key, first, second) =
            if a <= b { ((a, b, alleles), first, second) } else { ((b, a, alleles), second, first) };
        let scores = pairs.entry(key).or_default();
        scores.0.push(first);
        scores.1.push(second);
    };
    for sources in groups.values() {
        for (index, (&a, of_a)) in sources.iter().enumerate() {
            within(of_a).for_each(|pair| note(a, a, pair));
            for (&b, of_b) in sources.iter().skip(index + 1) {
                note(a, b, between(of_a, of_b));
            }
        }
    }
    for &rows in alike {
        let [first, second] = rows.map(|row| {
            groups.get(&row).cloned().unwrap_or_else(|| {
                let one = single(row);
                BTreeMap::from([(name(&one), vec![(one.alleles, vec![one.score])])])
            })
        });
        for (&a, of_a) in &first {
            for (&b, of_b) in second.iter().filter(|(b, _)| **b != a) {
                note(a, b, between(of_a, of_b));
            }
        }
    }
    pairs
        .into_iter()
        .filter(|(_, (first, second))| {
            let equal = first.iter().zip(second).filter(|(first, second)| first == second).count();
            first.len() >= FEWEST_REPEATS && !looks_copied(equal, first.len())
        })
        .filter_map(|((a, b, alleles), (first, second))| {
            let pearson = pearson(&first, &second)?;
            Some(Repeats { first: a.to_owned(), second: b.to_owned(), alleles, sets: first.len(), pearson })
        })
        .collect()
}

/// Returns whether so many of the repeats are equal to earlier ones that they are copies rather than measurements.
pub(super) fn looks_copied(equal: usize, repeats: usize) -> bool {
    equal > 0 && 10 * equal >= 9 * repeats
}

/// Returns the first two measurements of one allele, and the first ones of two different alleles, where there are such.
fn within(scores: &ByAllele) -> impl Iterator<Item = (RepeatAlleles, f64, f64)> {
    let again = scores.iter().find_map(|(alleles, scores)| {
        let kind = if alleles.is_some() { RepeatAlleles::Same } else { RepeatAlleles::Unstated };
        scores.get(1).map(|&second| (kind, scores[0], second))
    });
    let other = scores.get(1).map(|(second, of_second)| {
        let (first, of_first) = &scores[0];
        let is_known = first.is_some() && second.is_some();
        let kind = if is_known { RepeatAlleles::Different } else { RepeatAlleles::Unstated };
        (kind, of_first[0], of_second[0])
    });
    again.into_iter().chain(other)
}

/// Returns the means of two sources: over the first allele that both measured, otherwise over all alleles.
fn between(a: &ByAllele, b: &ByAllele) -> (RepeatAlleles, f64, f64) {
    let is_unstated = |scores: &ByAllele| scores.iter().any(|(alleles, _)| alleles.is_none());
    let same = a.iter().filter(|(alleles, _)| alleles.is_some()).find_map(|(alleles, of_a)| {
        let (_, of_b) = b.iter().find(|(other, _)| other == alleles)?;
        Some((RepeatAlleles::Same, mean(of_a), mean(of_b)))
    });
    let all =
        |scores: &ByAllele| mean(&scores.iter().flat_map(|(_, scores)| scores).copied().collect::<Vec<_>>());
    same.unwrap_or_else(|| {
        let is_unknown = is_unstated(a) || is_unstated(b);
        let kind = if is_unknown { RepeatAlleles::Unstated } else { RepeatAlleles::Different };
        (kind, all(a), all(b))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(row: u32, source: u16, score: f64) -> Repeated {
        Repeated { row, source, alleles: None, score }
    }

    #[test]
    fn different_alleles_are_kept_apart() {
        let [deletion, eight] = [1, 2].map(AlleleKey::new);
        let with = |alleles, measured: Repeated| Repeated { alleles, ..measured };
        let mut all = Vec::new();
        for row in 0..20 {
            let truth = f64::from(row % 7);
            // Two alleles that disagree; the other laboratory measured the second one.
            all.push(with(deletion, measured(row, 0, -truth)));
            all.push(with(eight, measured(row, 0, truth)));
            all.push(with(eight, measured(row, 1, 3.0 * truth)));
        }
        let found = repeats_of(&all, &[], &|row| measured(row, 0, 0.0), &["lab", "other"]);
        let found: Vec<_> =
            found.iter().map(|r| (&r.second[..], r.alleles, r.sets, r.pearson.round())).collect();
        let expected = [("lab", RepeatAlleles::Different, 20, -1.0), ("other", RepeatAlleles::Same, 20, 1.0)];
        assert_eq!(found, expected);
    }

    #[test]
    fn sources_agree_with_each_other_and_with_themselves() {
        let names = ["lab", "other"];
        let mut all = Vec::new();
        for row in 0..20 {
            let truth = f64::from(row % 7);
            // The lab measured twice, exactly opposite; the other agrees with their mean.
            all.extend([measured(row, 0, truth + 1.0), measured(row, 0, truth - 1.0)]);
            all.push(measured(row, 1, 2.0 * truth));
        }
        let found = repeats_of(&all, &[], &|row| measured(row, 0, 0.0), &names);
        let pairs: Vec<_> = found.iter().map(|r| (&r.first[..], &r.second[..], r.sets)).collect();
        assert_eq!(pairs, [("lab", "lab", 20), ("lab", "other", 20)]);
        assert!(found.iter().all(|repeats| (repeats.pearson - 1.0).abs() < 1e-12));
    }

    #[test]
    fn groups_of_an_untold_kind_repeat_others() {
        let names = ["a", "b"];
        let alike: Vec<[u32; 2]> = (0..12).map(|row| [row, row + 12]).collect();
        let single = |row: u32| {
            let scale = if row < 12 { -1.0 } else { -1.5 };
            measured(row, u16::from(row >= 12), scale * f64::from(row % 12))
        };
        let found = repeats_of(&[], &alike, &single, &names);
        assert_eq!((found.len(), found[0].sets), (1, 12));
        assert!(repeats_of(&[], &alike[..9], &single, &names).is_empty(), "nine are too few");
    }

    #[test]
    fn copies_are_not_repeats() {
        let twice = |row: u32, second: f64| [measured(row, 0, f64::from(row)), measured(row, 0, second)];
        let found = |noise: f64| {
            let all: Vec<Repeated> = (0..20).flat_map(|row| twice(row, f64::from(row) + noise)).collect();
            repeats_of(&all, &[], &|row| measured(row, 0, 0.0), &["table"]).len()
        };
        assert_eq!((found(0.0), found(0.1)), (0, 1));
    }
}
