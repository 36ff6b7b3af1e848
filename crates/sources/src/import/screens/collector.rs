//! Measurements from all screens into samples: repeats merged within the same genes, kind and alleles, in the order in which
//! they first appear.

use super::repeats::{Repeated, looks_copied, repeats_of};
use super::ttest;
use crate::import::fault;
use crate::import::strain::{Allele, AlleleKey, PerturbationKind};
use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use knockout_base::error::Error;
use knockout_data::cell::GeneTable;
use knockout_data::screen::{
    AlleleTable, Repeats, Sample, Samples, SamplesBuilder, ScoreError, StandardErrors,
};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher as _;

/// Treatment of measurements of the same genes, kind and alleles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Duplicates {
    /// The mean of the scores, their count, and the p-value of a t-test of the mean against 0.
    #[default]
    Mean,
    /// The first one.
    First,
    /// An error that names both lines.
    Error,
}

/// One measurement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measurement<'m> {
    /// The perturbed genes, in any order.
    pub genes: &'m [u32],
    /// Those of the query strain, where there is one.
    pub query: &'m [u32],
    /// The kind of perturbation.
    pub kind: &'m str,
    /// Identity of the alleles, where the source names them.
    pub alleles: Option<AlleleKey>,
    /// The alleles that keep it apart from other measurements of the same genes and kind, in the order of `genes`; empty if none do.
    pub apart: &'m [Allele<'m>],
    /// The interaction score.
    pub score: f64,
    /// Its standard error, where known.
    pub standard_error: Option<f64>,
    /// Its p-value, where known.
    pub p_value: Option<f64>,
    /// Fitness, where known.
    pub fitness: Option<f64>,
    /// Its standard deviation, where known.
    pub fitness_sd: Option<f64>,
    /// How many measurements the source itself had merged into it; 1 for a single one.
    pub replicates: u32,
    /// The line it stands in.
    pub line: u64,
}

/// Measurements that joined an earlier one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Merged {
    /// Of the same alleles: repeats.
    pub same_alleles: u64,
    /// Of other alleles of the same genes.
    pub other_alleles: u64,
    /// Of alleles that a source does not state.
    pub unstated_alleles: u64,
    /// Among the repeats and those of unstated alleles: with the very scores of the earlier ones.
    pub copies: u64,
}

impl Merged {
    /// Returns the number of all.
    pub fn total(self) -> u64 {
        self.same_alleles + self.other_alleles + self.unstated_alleles
    }

    /// Returns whether these look like copies, such as pairs written in both directions: independent measurements are seldom equal.
    pub fn are_copies(self) -> bool {
        looks_copied(self.copies as usize, (self.same_alleles + self.unstated_alleles) as usize)
    }

    fn add(&mut self, first: Option<AlleleKey>, second: Option<AlleleKey>) {
        match (first, second) {
            (Some(first), Some(second)) if first == second => self.same_alleles += 1,
            (Some(_), Some(_)) => self.other_alleles += 1,
            _ => self.unstated_alleles += 1,
        }
    }
}

/// The distinct alleles.
#[derive(Debug, Default)]
struct AlleleNames {
    alleles: Vec<knockout_data::screen::Allele>,
    of_gene: HashMap<u32, SmallVec<[u32; 2]>>,
}

impl AlleleNames {
    /// Returns the row of an allele, which is added if it is new.
    fn row(&mut self, gene: u32, allele: Allele<'_>) -> Result<u32, Error> {
        let (kind, name) = (allele.kind.name(), allele.distinct_name());
        let known = self.of_gene.entry(gene).or_default();
        let is_it = |&&row: &&u32| {
            let known = &self.alleles[row as usize];
            known.kind == kind && known.name.as_deref().unwrap_or_default().eq_ignore_ascii_case(name)
        };
        if let Some(&row) = known.iter().find(is_it) {
            return Ok(row);
        }
        let row = u32::try_from(self.alleles.len())
            .map_err(|_too_many| fault::too_many("alleles", u32::MAX as usize))?;
        known.push(row);
        let name = (!name.is_empty()).then(|| name.to_owned());
        self.alleles.push(knockout_data::screen::Allele { gene, kind: kind.to_owned(), name });
        Ok(row)
    }
}

/// A running mean of what is known.
#[derive(Debug, Clone, Copy, Default)]
struct Mean {
    value: f64,
    count: u32,
}

impl Mean {
    fn add(&mut self, value: Option<f64>) {
        if let Some(value) = value {
            self.count += 1;
            self.value += (value - self.value) / f64::from(self.count);
        }
    }

    fn get(self) -> Option<f64> {
        (self.count > 0).then_some(self.value)
    }
}

#[derive(Debug)]
struct SampleGroup {
    genes: SmallVec<[u32; 3]>,
    /// Whether each of the sorted genes is the query's, one bit each.
    query: u32,
    kind: u16,
    source: u16,
    score: Mean,
    /// Sum of squared distances from the mean.
    squares: f64,
    /// Of the squared standard errors.
    error_variance: Mean,
    p_value: f64,
    fitness: Mean,
    /// Of the squares: the merged deviation is their root mean.
    fitness_variance: Mean,
    replicates: u32,
    line: u64,
    /// Those of the first measurement.
    alleles: Option<AlleleKey>,
    /// The alleles that keep it apart, as rows of the table.
    apart: SmallVec<[u32; 3]>,
    /// The next sample of the same genes and kind.
    next: Option<u32>,
    /// Whether its genes and kind have several measurements; of the first sample of these.
    is_repeated: bool,
    /// Whether measurements of other alleles were merged into it.
    has_other_alleles: bool,
}

impl SampleGroup {
    fn add_deviations(&mut self, measured: &Measurement<'_>) {
        self.error_variance.add(measured.standard_error.map(|error| error * error));
        self.fitness.add(measured.fitness);
        self.fitness_variance.add(measured.fitness_sd.map(|sd| sd * sd));
    }

    /// Returns the squared standard error of the mean score, where every measurement has one. Equal scores are one measurement.
    fn squared_error(&self) -> Option<f64> {
        let is_known = self.error_variance.count == self.score.count;
        let measurements = if self.squares > 0.0 { self.score.count } else { 1 };
        is_known.then(|| self.error_variance.value / f64::from(measurements))
    }

    /// Returns the first measurement, before others are merged.
    fn measurement(&self, row: u32) -> Repeated {
        Repeated { row, source: self.source, alleles: self.alleles, score: self.score.value }
    }
}

/// Collects measurements. Memory grows with the distinct samples, not with the rows.
#[derive(Debug)]
pub struct MeasurementCollector {
    duplicates: Duplicates,
    groups: Vec<SampleGroup>,
    index: HashTable<u32>,
    hasher: DefaultHashBuilder,
    kinds: Vec<String>,
    /// Names of sources; a merged sample has those of all its measurements, sorted.
    sources: Vec<BTreeSet<String>>,
    alleles: AlleleNames,
    /// Every measurement of genes and kinds that have several, by their first sample.
    repeated: Vec<Repeated>,
    merged: Merged,
    conflicting_queries: u64,
}

/// The most genes a sample may have.
pub(crate) const MAX_GENES: usize = 32;

impl MeasurementCollector {
    /// Starts without samples.
    pub fn new(duplicates: Duplicates) -> Self {
        Self {
            duplicates,
            groups: Vec::new(),
            index: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            kinds: Vec::new(),
            sources: Vec::new(),
            alleles: AlleleNames::default(),
            repeated: Vec::new(),
            merged: Merged::default(),
            conflicting_queries: 0,
        }
    }

    /// How many distinct samples there are.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Measurements that joined an earlier one.
    pub fn merged(&self) -> Merged {
        self.merged
    }

    /// Merged measurements whose query differed from the first one's, which is kept.
    pub(crate) fn conflicting_queries(&self) -> u64 {
        self.conflicting_queries
    }

    /// Adds a measurement of a source; gives the row of its sample.
    pub(crate) fn push(
        &mut self,
        measured: &Measurement<'_>,
        source: &str,
        genes: &GeneTable,
    ) -> Result<u32, Error> {
        let mut sorted = SmallVec::<[u32; 3]>::from_slice(measured.genes);
        sorted.sort_unstable();
        if sorted.len() > MAX_GENES {
            return Err(fault::too_many("genes in one sample", MAX_GENES));
        }
        let query = measured
            .query
            .iter()
            .fold(0, |bits, gene| sorted.binary_search(gene).map_or(bits, |index| bits | 1 << index));
        let kind = code_of(&mut self.kinds, |known| known == measured.kind, || measured.kind.to_owned())?;
        let is_alone = |known: &BTreeSet<String>| known.len() == 1 && known.contains(source);
        let source_code = code_of(&mut self.sources, is_alone, || BTreeSet::from([source.to_owned()]))?;
        let hash = self.hasher.hash_one((&*sorted, kind));
        let groups = &self.groups;
        let is_same = |&row: &u32| {
            let group = &groups[row as usize];
            group.kind == kind && group.genes == sorted
        };
        let first = self.index.find(hash, is_same).copied();
        let mut apart = SmallVec::<[u32; 3]>::new();
        for (&gene, &allele) in measured.genes.iter().zip(measured.apart) {
            apart.push(self.alleles.row(gene, allele)?);
        }
        apart.sort_unstable();
        let groups = &self.groups;
        let next = |row: &u32| groups[*row as usize].next;
        let of_set = || std::iter::successors(first, next);
        if let Some(row) = of_set().find(|&row| groups[row as usize].apart == apart) {
            self.note_repeat(first.unwrap_or(row), source_code, measured);
            self.merge(row, measured, query, source, genes)?;
            return Ok(row);
        }
        let last = of_set().last();
        let row =
            u32::try_from(groups.len()).map_err(|_too_many| fault::too_many("samples", u32::MAX as usize))?;
        if let (Some(first), Some(last)) = (first, last) {
            self.note_repeat(first, source_code, measured);
            self.groups[last as usize].next = Some(row);
        }
        let mut group = SampleGroup {
            genes: sorted,
            query,
            kind,
            source: source_code,
            score: Mean { value: measured.score, count: 1 },
            squares: 0.0,
            error_variance: Mean::default(),
            p_value: measured.p_value.unwrap_or(f64::NAN),
            fitness: Mean::default(),
            fitness_variance: Mean::default(),
            replicates: measured.replicates.max(1),
            line: measured.line,
            alleles: measured.alleles,
            apart,
            next: None,
            is_repeated: false,
            has_other_alleles: false,
        };
        group.add_deviations(measured);
        self.groups.push(group);
        let (groups, hasher) = (&self.groups, &self.hasher);
        if first.is_none() {
            self.index.insert_unique(hash, row, |&row| {
                let group = &groups[row as usize];
                hasher.hash_one((&*group.genes, group.kind))
            });
        }
        Ok(row)
    }

    /// Keeps a further measurement of the genes and kind of their first sample, before it is merged into any.
    fn note_repeat(&mut self, first: u32, source: u16, measured: &Measurement<'_>) {
        let group = &mut self.groups[first as usize];
        if !std::mem::replace(&mut group.is_repeated, true) {
            // Before anything is merged the group is its first measurement.
            self.repeated.push(group.measurement(first));
        }
        let Measurement { alleles, score, .. } = *measured;
        self.repeated.push(Repeated { row: first, source, alleles, score });
    }

    fn merge(
        &mut self,
        row: u32,
        measured: &Measurement<'_>,
        query: u32,
        source: &str,
        genes: &GeneTable,
    ) -> Result<(), Error> {
        let group = &mut self.groups[row as usize];
        if self.duplicates == Duplicates::Error {
            let name = |&gene: &u32| genes.genes().get(gene as usize).map_or("?", |gene| &gene.systematic);
            let sources = &self.sources[usize::from(group.source)];
            return Err(fault::duplicate(
                &group.genes.iter().map(name).collect::<Vec<_>>().join("+"),
                &self.kinds[usize::from(group.kind)],
                group.line,
                &sources.iter().cloned().collect::<Vec<_>>().join("+"),
            ));
        }
        self.merged.add(group.alleles, measured.alleles);
        let is_equal = group.squares == 0.0 && group.score.value == measured.score;
        let may_repeat =
            group.alleles.is_none() || measured.alleles.is_none() || group.alleles == measured.alleles;
        self.merged.copies += u64::from(is_equal && may_repeat);
        self.conflicting_queries += u64::from(group.query != query);
        if self.duplicates == Duplicates::First {
            return Ok(());
        }
        let is_known = group.alleles.is_some() && measured.alleles.is_some();
        group.has_other_alleles |= is_known && group.alleles != measured.alleles;
        group.replicates = group.replicates.saturating_add(measured.replicates.max(1));
        let before = measured.score - group.score.value;
        group.score.add(Some(measured.score));
        group.squares += before * (measured.score - group.score.value);
        group.add_deviations(measured);
        if !self.sources[usize::from(group.source)].contains(source) {
            let mut all = self.sources[usize::from(group.source)].clone();
            all.insert(source.to_owned());
            group.source = code_of(&mut self.sources, |known| *known == all, || all.clone())?;
        }
        Ok(())
    }

    /// Returns how many samples are means over alleles that are known to differ.
    pub(crate) fn of_several_alleles(&self) -> usize {
        self.groups.iter().filter(|group| group.has_other_alleles).count()
    }

    /// Returns how well measurements of the same genes agree, between sources and within each. A measurement of unspecified kind also
    /// counts as a repeat of each known kind.
    pub fn repeats(&self) -> Vec<Repeats> {
        let unspecified = self.kinds.iter().position(|kind| kind == PerturbationKind::Unspecified.name());
        let is_unspecified = |group: &SampleGroup| Some(usize::from(group.kind)) == unspecified;
        // The first sample of genes and kind stands for all their alleles.
        let mut is_first = vec![true; self.groups.len()];
        self.groups.iter().filter_map(|group| group.next).for_each(|row| is_first[row as usize] = false);
        let firsts = || self.groups.iter().zip(0..).filter(|&(_, row)| is_first[row as usize]);
        let mut unspecified_rows: BTreeMap<&[u32], u32> = BTreeMap::new();
        if self.kinds.len() > 1 {
            let rows = firsts().filter(|(group, _)| is_unspecified(group));
            unspecified_rows.extend(rows.map(|(group, row)| (&group.genes[..], row)));
        }
        let specified = firsts().filter(|(group, _)| !is_unspecified(group));
        let alike: Vec<[u32; 2]> = if unspecified_rows.is_empty() {
            Vec::new()
        } else {
            specified
                .filter_map(|(group, row)| Some([*unspecified_rows.get(&group.genes[..])?, row]))
                .collect()
        };
        let single = |row: u32| self.groups[row as usize].measurement(row);
        // Only sources alone measure; a set of several stands for what was merged.
        let names: Vec<&str> =
            self.sources.iter().map(|names| names.first().map_or("", String::as_str)).collect();
        repeats_of(&self.repeated, &alike, &single, &names)
    }

    /// Returns the share of the scores' variance that their standard errors leave, where enough samples have one.
    pub(crate) fn standard_errors(&self) -> Option<StandardErrors> {
        let errors = self.groups.iter().filter_map(|group| {
            Some(ScoreError {
                genes: &group.genes,
                score: group.score.value,
                squared: group.squared_error()?,
            })
        });
        StandardErrors::of(errors)
    }

    /// The samples, in the order in which their genes, kind and alleles first appeared.
    pub fn finish(self, gene_count: usize) -> Result<Samples, Error> {
        let alleles = AlleleTable::new(self.alleles.alleles)?;
        let mut samples = SamplesBuilder::new(gene_count).with_allele_table(alleles)?;
        let joined: Vec<String> =
            self.sources.iter().map(|names| names.iter().cloned().collect::<Vec<_>>().join("+")).collect();
        for group in &self.groups {
            let in_query = group.genes.iter().enumerate().filter(|(index, _)| group.query >> index & 1 == 1);
            let query: SmallVec<[u32; 3]> = in_query.map(|(_, &gene)| gene).collect();
            let tested = ttest::p_value(group.score.value, group.squares, group.score.count);
            let p_value = tested.or((!group.p_value.is_nan()).then_some(group.p_value));
            samples.push(Sample {
                alleles: &group.apart,
                genes: &group.genes,
                score: group.score.value,
                p_value,
                query: &query,
                kind: &self.kinds[usize::from(group.kind)],
                fitness: group.fitness.get(),
                fitness_sd: group.fitness_variance.get().map(f64::sqrt),
                source: &joined[usize::from(group.source)],
                duplicates: group.replicates,
            })?;
        }
        Ok(samples.finish())
    }
}

/// The index of a word among few; the newest are the likeliest.
fn code_of<T>(
    words: &mut Vec<T>,
    is_it: impl Fn(&T) -> bool,
    word: impl FnOnce() -> T,
) -> Result<u16, Error> {
    if let Some(index) = words.iter().rposition(is_it) {
        return Ok(index as u16);
    }
    let code =
        u16::try_from(words.len()).map_err(|_too_many| fault::too_many("kinds or sources", 1 << 16))?;
    words.push(word());
    Ok(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Measurement<'_> = Measurement {
        genes: &[2, 0],
        query: &[2],
        kind: "deletion",
        alleles: None,
        apart: &[],
        score: -0.1,
        standard_error: None,
        p_value: Some(0.5),
        fitness: Some(0.8),
        fitness_sd: Some(0.03),
        replicates: 1,
        line: 2,
    };

    fn table() -> GeneTable {
        GeneTable::from_systematic(["A", "B", "C", "D"]).unwrap()
    }

    fn collect(duplicates: Duplicates, rows: &[(Measurement<'_>, &str)]) -> Samples {
        let mut collector = MeasurementCollector::new(duplicates);
        for (row, source) in rows {
            collector.push(row, source, &table()).unwrap();
        }
        collector.finish(4).unwrap()
    }

    #[test]
    fn repeats_become_their_mean_with_the_p_value_of_a_t_test() {
        let again =
            Measurement { genes: &[0, 2], score: -0.2, fitness: Some(0.6), fitness_sd: Some(0.04), ..ONE };
        let other_kind = Measurement { kind: "ts", ..ONE };
        let samples = collect(Duplicates::Mean, &[(ONE, "b"), (other_kind, "b"), (again, "a")]);
        assert_eq!(samples.len(), 2, "another kind is another sample");
        let merged = samples.get(0);
        assert!((merged.score + 0.15).abs() < 1e-15);
        assert!((merged.p_value.unwrap() - 0.204_832_764_699_133_4).abs() < 1e-9);
        assert!((merged.fitness.unwrap() - 0.7).abs() < 1e-15);
        let root_mean_square = f64::midpoint(0.03_f64.powi(2), 0.04_f64.powi(2)).sqrt();
        assert!((merged.fitness_sd.unwrap() - root_mean_square).abs() < 1e-15);
        assert_eq!((merged.duplicates, merged.source, merged.query), (2, "a+b", &[2][..]));
        assert_eq!(samples.get(1).p_value, Some(0.5));
    }

    #[test]
    fn the_first_wins_when_asked_to() {
        let samples = collect(Duplicates::First, &[(ONE, "x"), (Measurement { score: 5.0, ..ONE }, "y")]);
        assert_eq!((samples.get(0).score, samples.get(0).duplicates, samples.get(0).source), (-0.1, 1, "x"));
    }

    #[test]
    fn a_repeat_is_an_error_when_asked_to() {
        let mut collector = MeasurementCollector::new(Duplicates::Error);
        collector.push(&ONE, "x", &table()).unwrap();
        let error = collector.push(&ONE, "y", &table()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "A+C (deletion) was measured before, in line 2 of \"x\"; merge repeats with --duplicates mean or first"
        );
    }

    #[test]
    fn the_order_of_first_appearance_is_kept() {
        let rows: Vec<(Measurement<'_>, &str)> = [&[3, 1][..], &[0, 1, 2], &[1, 3], &[0, 1]]
            .map(|genes| (Measurement { genes, query: &[], ..ONE }, "x"))
            .into();
        let samples = collect(Duplicates::Mean, &rows);
        let sets: Vec<&[u32]> = samples.iter().map(|sample| sample.genes).collect();
        assert_eq!(sets, [&[1, 3][..], &[0, 1, 2], &[0, 1]]);
    }
}
