//! Samples in columns.

use super::alleles::{Allele, AlleleTable};
use crate::cell::{Deletion, GeneId, GeneSets, GeneSetsRef};
use crate::screen::LabelStats;
use knockout_base::error::{Error, Result};
use smallvec::SmallVec;
use std::collections::HashMap;

/// One row of a screen, borrowed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample<'a> {
    /// The deleted genes; ascending once stored.
    pub genes: &'a [u32],
    /// The interaction score: epsilon for pairs, tau for triples.
    pub score: f64,
    /// Its p-value, where known.
    pub p_value: Option<f64>,
    /// The genes of the query strain, where the screen has one; a subset of `genes`. Empty when unknown.
    pub query: &'a [u32],
    /// The kind of perturbation: `deletion`, `ts`, `damp`, `mixed` …
    pub kind: &'a str,
    /// Fitness of the combined mutant, where known.
    pub fitness: Option<f64>,
    /// Its standard deviation, where known.
    pub fitness_sd: Option<f64>,
    /// Where the row comes from.
    pub source: &'a str,
    /// How many measurements were merged into it.
    pub duplicates: u32,
    /// The allele of each gene, as rows of the allele table in the order of `genes`; empty where nothing but the kind is known.
    pub alleles: &'a [u32],
}

impl<'a> Sample<'a> {
    /// One measurement of a deletion of which nothing but the score is known.
    pub const fn deletion(genes: &'a [u32], score: f64, source: &'a str) -> Self {
        Self {
            genes,
            score,
            p_value: None,
            query: &[],
            kind: "deletion",
            fitness: None,
            fitness_sd: None,
            source,
            duplicates: 1,
            alleles: &[],
        }
    }
}

/// A column of few distinct words.
#[derive(Debug, Clone, Default)]
struct Words {
    words: Vec<String>,
    codes: Vec<u16>,
}

impl Words {
    fn push(&mut self, column: &'static str, word: &str) -> Result<()> {
        // Rows of one kind follow one another, and there are few kinds: the last one first, then a scan.
        let last = self.codes.last().copied().filter(|&code| self.words[code as usize] == word);
        let code = match last.or_else(|| self.words.iter().position(|known| known == word).map(|i| i as u16))
        {
            Some(code) => code,
            None if self.words.len() > u16::MAX as usize => {
                let message = format!("column {column} has more than {} distinct values", 1 << 16);
                return Err(Error::damage(message));
            }
            None => {
                self.words.push(word.to_owned());
                (self.words.len() - 1) as u16
            }
        };
        self.codes.push(code);
        Ok(())
    }

    fn get(&self, row: usize) -> &str {
        &self.words[self.codes[row] as usize]
    }
}

/// A running mean of scores, each weighted by its number of measurements: the arithmetic of an import that merges them.
#[derive(Debug, Clone, Copy, Default)]
pub struct WeightedMean {
    /// The mean.
    pub value: f64,
    weight: f64,
}

impl WeightedMean {
    /// Adds a score that stands for a number of measurements.
    pub fn add(&mut self, score: f64, measurements: u32) {
        let weight = f64::from(measurements);
        self.weight += weight;
        self.value += (score - self.value) * weight / self.weight;
    }
}

/// All samples of a screen. Every row satisfies what [`SamplesBuilder::push`] checks.
#[derive(Debug, Clone)]
pub struct Samples {
    genes: GeneSets,
    scores: Vec<f64>,
    /// NaN where unknown; a known value is never NaN. The same holds for the two fitness columns.
    p_values: Vec<f64>,
    /// Empty where the screen has no query strain.
    queries: GeneSets,
    kinds: Words,
    fitness: Vec<f64>,
    fitness_sd: Vec<f64>,
    sources: Words,
    duplicates: Vec<u32>,
    allele_table: AlleleTable,
    /// Rows of the allele table; an empty list where nothing but the kind is known.
    alleles: GeneSets,
}

/// Row by row: an unknown value equals an unknown value, although it is stored as NaN.
impl PartialEq for Samples {
    fn eq(&self, other: &Self) -> bool {
        self.allele_table == other.allele_table && self.iter().eq(other.iter())
    }
}

impl Samples {
    /// Returns the number of samples.
    pub fn len(&self) -> usize {
        self.scores.len()
    }

    /// Returns whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.scores.is_empty()
    }

    /// The deleted genes of a sample, ascending.
    pub fn genes(&self, row: usize) -> &[u32] {
        self.genes.get(row)
    }

    /// The genes of the query strain, ascending; empty when unknown.
    pub fn query(&self, row: usize) -> &[u32] {
        self.queries.get(row)
    }

    /// Returns a row.
    pub fn get(&self, row: usize) -> Sample<'_> {
        let known = |value: f64| (!value.is_nan()).then_some(value);
        Sample {
            genes: self.genes(row),
            score: self.scores[row],
            p_value: known(self.p_values[row]),
            query: self.query(row),
            kind: self.kinds.get(row),
            fitness: known(self.fitness[row]),
            fitness_sd: known(self.fitness_sd[row]),
            source: self.sources.get(row),
            duplicates: self.duplicates[row],
            alleles: self.alleles.get(row),
        }
    }

    /// Iterates over the rows in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Sample<'_>> + Clone {
        (0..self.len()).map(|row| self.get(row))
    }

    /// Returns the scores in order.
    pub fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// Replaces the scores, one for each sample.
    ///
    /// # Panics
    ///
    /// If there are not as many as samples.
    #[must_use]
    pub fn with_scores(mut self, scores: Vec<f64>) -> Self {
        assert_eq!(scores.len(), self.scores.len(), "every sample has a score");
        self.scores = scores;
        self
    }

    /// The kind of perturbation of a sample.
    pub fn kind(&self, row: usize) -> &str {
        self.kinds.get(row)
    }

    /// Returns whether the alleles of any sample are stored.
    pub fn has_alleles(&self) -> bool {
        !self.allele_table.is_empty()
    }

    /// Returns the table of all alleles.
    pub fn allele_table(&self) -> &AlleleTable {
        &self.allele_table
    }

    /// Returns the alleles of a sample in the order of its genes; none where nothing but the kind is known.
    pub fn alleles(&self, row: usize) -> impl ExactSizeIterator<Item = &Allele> + Clone {
        self.alleles.get(row).iter().map(|&allele| &self.allele_table.alleles()[allele as usize])
    }

    /// Returns the perturbation of a sample in words: its alleles joined with `+` where they are stored, otherwise its kind.
    pub fn perturbation(&self, row: usize) -> String {
        let alleles: Vec<&str> = self.alleles(row).map(Allele::label).collect();
        if alleles.is_empty() { self.kind(row).to_owned() } else { alleles.join("+") }
    }

    /// Returns, for each row, the first row with the same genes and kind: the row itself, but for further alleles.
    pub fn first_alleles(&self) -> Vec<u32> {
        let rows = 0..self.len() as u32;
        if !self.has_alleles() {
            return rows.collect();
        }
        let mut first: HashMap<(&[u32], &str), u32> = HashMap::with_capacity(self.len());
        rows.map(|row| *first.entry((self.genes(row as usize), self.kind(row as usize))).or_insert(row))
            .collect()
    }

    /// Returns the rows of a gene set, whose genes ascend; several where its alleles or kinds were measured apart.
    pub fn rows_of_set(&self, set: &[u32]) -> Vec<u32> {
        let rows = self.gene_sets().iter().zip(0..);
        rows.filter(|(genes, _)| *genes == set).map(|(_, row)| row).collect()
    }

    /// Returns the mean score of some rows, weighted by the number of measurements of each.
    pub fn mean_score(&self, rows: &[u32]) -> f64 {
        let mut sum = WeightedMean::default();
        for &row in rows {
            sum.add(self.scores[row as usize], self.duplicates[row as usize]);
        }
        sum.value
    }

    /// Counts the gene sets of some rows that have several samples.
    pub fn repeated_sets(&self, rows: impl IntoIterator<Item = u32>) -> usize {
        let mut counts: HashMap<&[u32], u32> = HashMap::new();
        rows.into_iter().for_each(|row| *counts.entry(self.genes(row as usize)).or_default() += 1);
        counts.values().filter(|&&count| count > 1).count()
    }

    /// Returns the deletion of a sample.
    pub fn deletion(&self, row: usize) -> Deletion {
        let genes: Vec<GeneId> = self.genes(row).iter().map(|&gene| GeneId(gene)).collect();
        match Deletion::new(&genes) {
            Ok(deletion) => deletion,
            Err(_) => unreachable!("the builder checked that the genes are a set"),
        }
    }

    /// The deleted genes of all samples.
    pub fn gene_sets(&self) -> GeneSetsRef<'_> {
        self.genes.view()
    }

    /// Label statistics over some rows: give it the training rows and no others.
    pub fn label_stats(&self, rows: &[u32]) -> Option<LabelStats> {
        LabelStats::fit(rows.iter().map(|&row| self.scores[row as usize]))
    }
}

/// Collects samples and refuses impossible rows.
#[derive(Debug)]
pub struct SamplesBuilder {
    gene_count: usize,
    columns: Samples,
}

impl SamplesBuilder {
    /// Starts an empty screen over a gene table of this size.
    pub fn new(gene_count: usize) -> Self {
        Self {
            gene_count,
            columns: Samples {
                genes: GeneSets::default(),
                scores: Vec::new(),
                p_values: Vec::new(),
                queries: GeneSets::default(),
                kinds: Words::default(),
                fitness: Vec::new(),
                fitness_sd: Vec::new(),
                sources: Words::default(),
                duplicates: Vec::new(),
                allele_table: AlleleTable::default(),
                alleles: GeneSets::default(),
            },
        }
    }

    /// Sets the table that the alleles of samples are rows of.
    pub fn with_allele_table(mut self, alleles: AlleleTable) -> Result<Self> {
        let outside = alleles.alleles().iter().find(|allele| allele.gene as usize >= self.gene_count);
        if let Some(Allele { gene, .. }) = outside {
            let count = self.gene_count;
            return Err(Error::damage(format!(
                "an allele is of gene {gene}, which is not in the table of {count}"
            )));
        }
        self.columns.allele_table = alleles;
        Ok(self)
    }

    /// Adds a row, its gene sets sorted. On an error nothing is added.
    pub fn push(&mut self, sample: Sample<'_>) -> Result<()> {
        self.check(&sample)?;
        let columns = &mut self.columns;
        if columns.genes.view().genes().len() + sample.genes.len() > u32::MAX as usize {
            let message = format!("the samples name more than {} genes together", u32::MAX);
            return Err(Error::damage(message));
        }
        columns.kinds.push("kind", sample.kind)?;
        if let Err(error) = columns.sources.push("source", sample.source) {
            columns.kinds.codes.pop();
            return Err(error);
        }
        columns.genes.push_sorted(sample.genes);
        columns.queries.push_sorted(sample.query);
        columns.scores.push(sample.score);
        columns.p_values.push(sample.p_value.unwrap_or(f64::NAN));
        columns.fitness.push(sample.fitness.unwrap_or(f64::NAN));
        columns.fitness_sd.push(sample.fitness_sd.unwrap_or(f64::NAN));
        columns.duplicates.push(sample.duplicates);
        let mut alleles = SmallVec::<[u32; 4]>::from_slice(sample.alleles);
        let table = columns.allele_table.alleles();
        alleles.sort_unstable_by_key(|&allele| table[allele as usize].gene);
        columns.alleles.push(&alleles);
        Ok(())
    }

    fn check(&self, sample: &Sample<'_>) -> Result<()> {
        if let Some(&gene) = sample.genes.iter().find(|&&gene| gene as usize >= self.gene_count) {
            let count = self.gene_count;
            return Err(Error::damage(format!("gene {gene} is not in the table of {count}")));
        }
        check_set(sample.genes)?;
        if !sample.query.is_empty() {
            check_set(sample.query)?;
        }
        if let Some(&gene) = sample.query.iter().find(|gene| !sample.genes.contains(gene)) {
            return Err(Error::damage(format!("query gene {gene} is not among the sample's genes")));
        }
        let must = |column: &str, value: f64, good: bool, expected: &str| {
            if good { Ok(()) } else { Err(Error::damage(format!("{column} is {value}; {expected}"))) }
        };
        must("score", sample.score, sample.score.is_finite(), "a score is a finite number")?;
        if let Some(p) = sample.p_value {
            must("p_value", p, (0.0..=1.0).contains(&p), "a p-value lies between 0 and 1")?;
        }
        if let Some(fitness) = sample.fitness {
            must("fitness", fitness, fitness.is_finite(), "fitness is a finite number")?;
        }
        if let Some(sd) = sample.fitness_sd {
            must(
                "fitness_sd",
                sd,
                sd.is_finite() && sd >= 0.0,
                "a standard deviation is finite and not negative",
            )?;
        }
        if sample.duplicates == 0 {
            return Err(Error::damage("duplicates is 0; a sample stands for at least one measurement"));
        }
        self.check_alleles(sample)
    }

    fn check_alleles(&self, sample: &Sample<'_>) -> Result<()> {
        if sample.alleles.is_empty() {
            return Ok(());
        }
        let table = self.columns.allele_table.alleles();
        if let Some(allele) = sample.alleles.iter().find(|&&allele| allele as usize >= table.len()) {
            let count = table.len();
            return Err(Error::damage(format!("allele {allele} is not in the table of {count}")));
        }
        let has_allele =
            |gene: &u32| sample.alleles.iter().any(|&allele| table[allele as usize].gene == *gene);
        if sample.alleles.len() != sample.genes.len() || !sample.genes.iter().all(has_allele) {
            return Err(Error::damage("the alleles of a sample are not one for each of its genes"));
        }
        Ok(())
    }

    /// The finished columns.
    pub fn finish(self) -> Samples {
        self.columns
    }
}

/// An empty set or a repeated gene is an error; allocates only for sets beyond any real screen's.
fn check_set(genes: &[u32]) -> Result<()> {
    if genes.is_empty() {
        return Err(Error::damage("a deletion needs at least one gene"));
    }
    let repeated = |gene: u32| Error::damage(format!("gene {gene} is deleted twice in one set"));
    if genes.len() <= 16 {
        let twice = genes.iter().enumerate().find(|(index, gene)| genes[..*index].contains(gene));
        return twice.map_or(Ok(()), |(_, &gene)| Err(repeated(gene)));
    }
    let mut sorted = genes.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).find(|pair| pair[0] == pair[1]).map_or(Ok(()), |pair| Err(repeated(pair[0])))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: Sample<'_> =
        Sample { p_value: Some(0.5), query: &[3], ..Sample::deletion(&[3, 1], -0.25, "test") };

    fn refused(sample: Sample<'_>) -> String {
        let mut builder = SamplesBuilder::new(5);
        builder.push(GOOD).unwrap();
        let before = builder.columns.clone();
        let message = builder.push(sample).unwrap_err().to_string();
        assert_eq!(builder.columns, before, "a refused row leaves no trace");
        message
    }

    #[test]
    fn a_row_comes_back_with_sorted_genes() {
        let mut builder = SamplesBuilder::new(5);
        builder.push(GOOD).unwrap();
        builder.push(Sample { genes: &[0], query: &[], p_value: None, kind: "ts", ..GOOD }).unwrap();
        let samples = builder.finish();
        assert_eq!(samples.get(0), Sample { genes: &[1, 3], ..GOOD });
        assert_eq!(samples.get(1).p_value, None);
        assert_eq!(samples.get(1).query, [0_u32; 0]);
        assert_eq!(samples.iter().map(|sample| sample.kind).collect::<Vec<_>>(), ["deletion", "ts"]);
        assert_eq!(samples.deletion(0).genes(), [GeneId(1), GeneId(3)]);
    }

    #[test]
    fn every_impossible_row_is_refused_by_name() {
        assert_eq!(refused(Sample { genes: &[], ..GOOD }), "a deletion needs at least one gene");
        assert_eq!(refused(Sample { genes: &[2, 3, 2], ..GOOD }), "gene 2 is deleted twice in one set");
        assert_eq!(refused(Sample { genes: &[1, 5], ..GOOD }), "gene 5 is not in the table of 5");
        assert_eq!(refused(Sample { query: &[2], ..GOOD }), "query gene 2 is not among the sample's genes");
        assert_eq!(refused(Sample { score: f64::NAN, ..GOOD }), "score is NaN; a score is a finite number");
        assert_eq!(
            refused(Sample { score: f64::INFINITY, ..GOOD }),
            "score is inf; a score is a finite number"
        );
        assert_eq!(
            refused(Sample { p_value: Some(1.5), ..GOOD }),
            "p_value is 1.5; a p-value lies between 0 and 1"
        );
        assert_eq!(
            refused(Sample { p_value: Some(f64::NAN), ..GOOD }),
            "p_value is NaN; a p-value lies between 0 and 1"
        );
        assert_eq!(
            refused(Sample { fitness: Some(f64::NAN), ..GOOD }),
            "fitness is NaN; fitness is a finite number"
        );
        assert_eq!(
            refused(Sample { fitness_sd: Some(-1.0), ..GOOD }),
            "fitness_sd is -1; a standard deviation is finite and not negative"
        );
        assert_eq!(
            refused(Sample { duplicates: 0, ..GOOD }),
            "duplicates is 0; a sample stands for at least one measurement"
        );
    }
}
