//! The expected share of false hits up to each rank of a list.
//!
//! A hit is false if its score would not be beyond a cut-off. The chance of that depends on the prediction. It is taken from records of
//! the test part of the same [`HitKind`]: their shares of false records in groups of at least [`GROUP`] neighbours by prediction, made
//! monotone by pooling adjacent groups. The estimate of a rank is the mean chance of the hits up to it: the expected false-discovery
//! proportion. It holds if sets with equal predictions are false as often among the candidates as in the test part.

use crate::hit_notes::HitKind;
use crate::test_records::TestRecord;
use serde::Serialize;
use std::collections::BTreeMap;

/// Fewest records of a group. The strongest predictions count like their whole group, so their estimate is rather too high.
const GROUP: usize = 10;
/// Fewest test records of a kind that has an estimate.
pub const FEWEST_OF_KIND: usize = 50;

/// Sign of the interactions that are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HitSign {
    /// Negative interactions: the lowest predictions.
    Negative,
    /// Positive interactions: the highest predictions.
    Positive,
}

/// A score beyond which an interaction counts as strong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HitCutOff {
    /// Sign of the interactions.
    pub sign: HitSign,
    /// The score.
    pub score: f64,
}

impl HitCutOff {
    /// Returns whether a score is beyond the cut-off.
    pub fn is_strong(&self, score: f64) -> bool {
        match self.sign {
            HitSign::Negative => score < self.score,
            HitSign::Positive => score > self.score,
        }
    }

    /// Returns a number that is higher the stronger a prediction is.
    fn strength(&self, prediction: f64) -> f64 {
        match self.sign {
            HitSign::Negative => -prediction,
            HitSign::Positive => prediction,
        }
    }
}

/// The expected share of false hits among those up to a rank.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FalseShare {
    /// The share.
    pub share: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end of its 95 % interval.
    pub high: f64,
    /// Test records that it was estimated from.
    pub records: usize,
}

/// Records of similar predictions.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Group {
    /// Strength of the weakest prediction.
    weakest: f64,
    records: usize,
    false_records: usize,
}

impl Group {
    fn share(&self) -> f64 {
        self.false_records as f64 / self.records as f64
    }
}

/// The chance of a hit to be false, by kind and prediction.
#[derive(Debug, Clone)]
pub struct FalseHits {
    cut_off: HitCutOff,
    /// Groups from the strongest predictions to the weakest, with rising shares.
    groups: BTreeMap<HitKind, Vec<Group>>,
}

impl FalseHits {
    /// Estimates the chances from records of the test part.
    pub fn new(records: &[TestRecord], cut_off: HitCutOff) -> Self {
        let mut by_kind: BTreeMap<HitKind, Vec<(f64, bool)>> = BTreeMap::new();
        for record in records {
            let of_kind = by_kind.entry(record.kind).or_default();
            of_kind.push((cut_off.strength(record.prediction), !cut_off.is_strong(record.score)));
        }
        by_kind.retain(|_, records| records.len() >= FEWEST_OF_KIND);
        let groups = by_kind.into_iter().map(|(key, records)| (key, monotone(&grouped(records)))).collect();
        Self { cut_off, groups }
    }

    /// Returns the cut-off.
    pub fn cut_off(&self) -> HitCutOff {
        self.cut_off
    }

    /// Returns the expected share of false hits up to each one of a list that begins with the strongest. Hits are given as prediction and
    /// kind; those of a kind that too few test records have are left out of the mean and have no estimate.
    pub fn up_to_each(
        &self,
        hits: impl IntoIterator<Item = (f64, Option<HitKind>)>,
    ) -> Vec<Option<FalseShare>> {
        let mut counts: BTreeMap<(HitKind, usize), (usize, Group)> = BTreeMap::new();
        let (mut listed, mut expected) = (0, 0.0);
        let of_hit = |(prediction, kind): (f64, Option<HitKind>)| {
            let kind = kind?;
            let groups = self.groups.get(&kind)?;
            let strength = self.cut_off.strength(prediction);
            let index = groups.partition_point(|group| group.weakest > strength).min(groups.len() - 1);
            counts.entry((kind, index)).or_insert((0, groups[index])).0 += 1;
            listed += 1;
            expected += groups[index].share();
            let variance = |&(hits, group): &(usize, Group)| {
                (hits as f64 / listed as f64).powi(2) / group.records as f64
            };
            let records = 1.0 / counts.values().map(variance).sum::<f64>();
            let share = expected / listed as f64;
            let (low, high) = wilson(share, records);
            let records = counts.values().map(|(_, group)| group.records).sum();
            Some(FalseShare { share, low, high, records })
        };
        hits.into_iter().map(of_hit).collect()
    }
}

/// Divides records into groups of neighbours by strength, the strongest first. Records of equal strength share a group.
fn grouped(mut records: Vec<(f64, bool)>) -> Vec<Group> {
    records.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut groups: Vec<Group> = Vec::new();
    for (index, &(strength, is_false)) in records.iter().enumerate() {
        let is_full = groups.last().is_some_and(|group| group.records >= GROUP && group.weakest > strength);
        if groups.is_empty() || is_full && records.len() - index >= GROUP {
            groups.push(Group { weakest: strength, records: 0, false_records: 0 });
        }
        if let Some(group) = groups.last_mut() {
            group.weakest = strength;
            group.records += 1;
            group.false_records += usize::from(is_false);
        }
    }
    groups
}

/// Pools adjacent groups until shares rise.
fn monotone(groups: &[Group]) -> Vec<Group> {
    let mut pooled: Vec<Group> = Vec::new();
    for &group in groups {
        let mut last = group;
        while let Some(before) = pooled.pop_if(|before| before.share() >= last.share()) {
            last.records += before.records;
            last.false_records += before.false_records;
        }
        pooled.push(last);
    }
    pooled
}

/// Returns Wilson's 95 % interval of a share of some records.
pub fn wilson(share: f64, records: f64) -> (f64, f64) {
    const Z: f64 = 1.96;
    let (n, p) = (records.max(1.0), share);
    let middle = (p + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let half = Z / (1.0 + Z * Z / n) * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    ((middle - half).max(0.0), (middle + half).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hit_notes::HitClass;
    use knockout_base::random::Rng;
    use knockout_data::screen::Regime;

    const CUT_OFF: HitCutOff = HitCutOff { sign: HitSign::Negative, score: -2.0 };

    /// Records whose score is the prediction with noise.
    fn planted(count: usize, spread: f64, rng: &mut Rng) -> Vec<TestRecord> {
        let record = |_| {
            let prediction = spread * rng.normal();
            TestRecord { prediction, score: prediction + rng.normal(), kind: kind(2, Regime::Known) }
        };
        (0..count).map(record).collect()
    }

    fn kind(order: usize, regime: Regime) -> HitKind {
        HitKind { order, regime, class: HitClass::Usual }
    }

    /// In planted screens the share of false hits is what was estimated, also if strong predictions are rarer in the test part than
    /// among the candidates. Beyond the test part's strongest group the estimate is too high, as documented.
    #[test]
    fn the_estimate_is_the_share_of_false_hits() {
        const SCREENS: usize = 60;
        for (spread, rank) in [(1.0, 100), (1.0, 300), (1.0, 1_000), (1.2, 300), (1.2, 1_000), (1.2, 3_000)] {
            let (mut estimated, mut found, mut covered) = (0.0, 0.0, 0);
            for screen in 0..SCREENS {
                let mut rng = Rng::new(screen as u64, "false hits");
                let test = planted(4_000, 1.0, &mut rng);
                let mut candidates = planted(12_000, spread, &mut rng);
                candidates.sort_by(|a, b| a.prediction.total_cmp(&b.prediction));
                let hits = &candidates[..rank];
                let shares = FalseHits::new(&test, CUT_OFF)
                    .up_to_each(hits.iter().map(|hit| (hit.prediction, Some(hit.kind))));
                let last = shares[rank - 1].unwrap();
                let strong = hits.iter().filter(|hit| CUT_OFF.is_strong(hit.score)).count();
                let share = 1.0 - strong as f64 / rank as f64;
                // The observed share has an error of its own.
                let error = (share * (1.0 - share) / rank as f64).sqrt();
                covered += usize::from(last.low - 2.0 * error <= share && share <= last.high + 2.0 * error);
                estimated += last.share / SCREENS as f64;
                found += share / SCREENS as f64;
            }
            assert!((estimated - found).abs() < 0.04, "{spread} {rank}: {estimated} {found}");
            assert!(covered >= SCREENS * 9 / 10, "{spread} {rank}: {covered} of {SCREENS}");
        }
    }

    #[test]
    fn groups_have_enough_records_and_rising_shares() {
        let mut rng = Rng::new(1, "groups");
        let groups = FalseHits::new(&planted(1_234, 1.0, &mut rng), CUT_OFF).groups;
        let groups = &groups[&kind(2, Regime::Known)];
        assert!(groups.len() > 3 && groups.iter().all(|group| group.records >= GROUP));
        assert!(groups.is_sorted_by(|a, b| a.share() < b.share() && a.weakest > b.weakest));
        assert_eq!(groups.iter().map(|group| group.records).sum::<usize>(), 1_234);
        // Equal predictions share a group.
        let equal = vec![(1.0, true); 500];
        assert_eq!(grouped(equal), [Group { weakest: 1.0, records: 500, false_records: 500 }]);
    }

    #[test]
    fn a_regime_with_few_test_records_has_no_estimate() {
        let mut rng = Rng::new(2, "regimes");
        let mut records = planted(200, 1.0, &mut rng);
        records[..FEWEST_OF_KIND - 1].iter_mut().for_each(|record| record.kind.regime = Regime::OneNew);
        let hits = [
            (-3.0, Some(kind(2, Regime::Known))),
            (-2.0, Some(kind(2, Regime::OneNew))),
            (-1.0, Some(kind(3, Regime::Known))),
            (-0.5, None),
        ];
        let shares = FalseHits::new(&records, CUT_OFF).up_to_each(hits);
        assert_eq!(shares.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, false, false]);
        records[FEWEST_OF_KIND].kind.regime = Regime::OneNew;
        assert!(FalseHits::new(&records, CUT_OFF).up_to_each(hits)[1].is_some());
    }

    /// Pairs that no screen measures, such as linked ones, neither have an estimate nor change that of the others.
    #[test]
    fn a_class_without_test_records_has_no_estimate() {
        let mut rng = Rng::new(4, "classes");
        let mut records = planted(2_000, 1.0, &mut rng);
        let usual = [(-3.0, Some(kind(2, Regime::Known))), (-2.5, Some(kind(2, Regime::Known)))];
        let linked = (-9.0, Some(HitKind { class: HitClass::Linked, ..usual[0].1.unwrap() }));
        let shares = FalseHits::new(&records, CUT_OFF).up_to_each([usual[0], linked, usual[1]]);
        let alone = FalseHits::new(&records, CUT_OFF).up_to_each(usual);
        assert_eq!(shares, [alone[0], None, alone[1]]);
        for record in &mut records[..100] {
            record.kind.class = HitClass::Linked;
        }
        assert!(FalseHits::new(&records, CUT_OFF).up_to_each([linked])[0].is_some());
    }

    #[test]
    fn positive_hits_are_above_the_cut_off() {
        let mut rng = Rng::new(3, "sign");
        let mut records = planted(3_000, 1.0, &mut rng);
        let negative = FalseHits::new(&records, CUT_OFF).up_to_each([(-2.5, Some(kind(2, Regime::Known)))]);
        for record in &mut records {
            (record.prediction, record.score) = (-record.prediction, -record.score);
        }
        let cut_off = HitCutOff { sign: HitSign::Positive, score: 2.0 };
        assert_eq!(
            FalseHits::new(&records, cut_off).up_to_each([(2.5, Some(kind(2, Regime::Known)))]),
            negative
        );
    }

    /// Wilson's interval of 34 of 50, computed elsewhere: 0.5419 to 0.7924.
    #[test]
    fn the_interval_is_wilsons() {
        let (low, high) = wilson(34.0 / 50.0, 50.0);
        assert!((low - 0.5419).abs() < 1e-3 && (high - 0.7924).abs() < 1e-3, "{low} {high}");
        assert_eq!(wilson(1.0, 50.0).1, 1.0);
    }
}
