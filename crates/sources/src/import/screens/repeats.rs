//! Measurements of the same genes, set beside each other before they are merged.

use knockout_base::stats::pearson;
use knockout_data::screen::{FEWEST_REPEATS, Repeats};
use std::collections::BTreeMap;

/// One of several measurements of a group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Repeated {
    /// Row of the group that is measured.
    pub(super) row: u32,
    /// Code of its source.
    pub(super) source: u16,
    pub(super) score: f64,
}

/// Scores of first and second measurements, by the names of their sources.
type Pairs<'n> = BTreeMap<(&'n str, &'n str), (Vec<f64>, Vec<f64>)>;

/// How well sources agree with each other and with themselves.
///
/// `alike` are pairs of groups that measure the same genes; `single` gives the one measurement of a group without repeats. A group
/// counts once for every two of its sources, by their means, and once for each source with repeats, by the first two of them.
pub(super) fn repeats_of<'n>(
    repeated: &[Repeated],
    alike: &[[u32; 2]],
    single: &dyn Fn(u32) -> Repeated,
    names: &[&'n str],
) -> Vec<Repeats> {
    let mut groups: BTreeMap<u32, BTreeMap<&'n str, Vec<f64>>> = BTreeMap::new();
    let name = |measured: &Repeated| names[usize::from(measured.source)];
    for measured in repeated {
        groups.entry(measured.row).or_default().entry(name(measured)).or_default().push(measured.score);
    }
    let mut pairs = Pairs::new();
    let mut note = |a: (&'n str, f64), b: (&'n str, f64)| {
        let (a, b) = if a.0 <= b.0 { (a, b) } else { (b, a) };
        let (first, second) = pairs.entry((a.0, b.0)).or_default();
        first.push(a.1);
        second.push(b.1);
    };
    let mean = |scores: &[f64]| scores.iter().sum::<f64>() / scores.len() as f64;
    for sources in groups.values() {
        for (place, (&a, of_a)) in sources.iter().enumerate() {
            if let [first, second, ..] = of_a[..] {
                note((a, first), (a, second));
            }
            for (&b, of_b) in sources.iter().skip(place + 1) {
                note((a, mean(of_a)), (b, mean(of_b)));
            }
        }
    }
    for &rows in alike {
        let [first, second] = rows.map(|row| {
            groups.get(&row).cloned().unwrap_or_else(|| {
                let one = single(row);
                BTreeMap::from([(name(&one), vec![one.score])])
            })
        });
        for (&a, of_a) in &first {
            for (&b, of_b) in second.iter().filter(|(b, _)| **b != a) {
                note((a, mean(of_a)), (b, mean(of_b)));
            }
        }
    }
    pairs
        .into_iter()
        .filter(|(_, (first, _))| first.len() >= FEWEST_REPEATS)
        .filter_map(|((a, b), (first, second))| {
            let pearson = pearson(&first, &second)?;
            Some(Repeats { first: a.to_owned(), second: b.to_owned(), sets: first.len(), pearson })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(row: u32, source: u16, score: f64) -> Repeated {
        Repeated { row, source, score }
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
        let said: Vec<_> = found.iter().map(|r| (&r.first[..], &r.second[..], r.sets)).collect();
        assert_eq!(said, [("lab", "lab", 20), ("lab", "other", 20)]);
        assert!(found.iter().all(|repeats| (repeats.pearson - 1.0).abs() < 1e-12));
    }

    #[test]
    fn groups_of_an_untold_kind_repeat_others() {
        let names = ["a", "b"];
        let alike: Vec<[u32; 2]> = (0..12).map(|row| [row, row + 12]).collect();
        let single = |row: u32| measured(row, u16::from(row >= 12), -f64::from(row % 12));
        let found = repeats_of(&[], &alike, &single, &names);
        assert_eq!((found.len(), found[0].sets), (1, 12));
        assert!(repeats_of(&[], &alike[..9], &single, &names).is_empty(), "nine say nothing");
    }
}
