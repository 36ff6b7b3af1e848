//! Where the rows of every screen go: names become genes, choices are applied, what is left out is counted.

use super::{Alleles, Measurement, MeasurementCollector};
use crate::import::fault::BadRows;
use crate::import::genes::NamedGenes;
use crate::import::names::{Meaning, Names};
use crate::import::read::Row;
use crate::import::source::RowTally;
use crate::import::strain::{Allele, NamedAllele, Perturbation};
use knockout_base::error::Error;
use knockout_data::cell::GeneTable;
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// The choice of rows of a screen.
#[derive(Debug, Clone, Copy)]
pub struct RowChoice<'c> {
    /// Value of the `source` column.
    pub source: &'c str,
    /// Perturbations to keep.
    pub alleles: Alleles,
    /// How many genes a sample may have; empty for any number.
    pub orders: &'c [usize],
}

/// Counts of a screen's rows.
#[derive(Debug, Clone, Default)]
pub struct ScreenCounts {
    /// Rows read and left out.
    pub tally: RowTally,
    /// Rows that became samples or joined one.
    pub measurements: u64,
    /// These rows by number of genes.
    pub orders: BTreeMap<usize, u64>,
    /// These rows by kind of perturbation.
    pub kinds: BTreeMap<String, u64>,
    /// Rows with a gene whose name states the allele, such as `cdc48-3`.
    pub allele_names: u64,
}

/// The numbers of a row.
#[derive(Debug, Clone, Copy, Default)]
pub struct Numbers {
    /// The score; a row without one is left out.
    pub score: Option<f64>,
    /// Its standard error.
    pub standard_error: Option<f64>,
    /// Its p-value.
    pub p_value: Option<f64>,
    /// Fitness of the combined mutant.
    pub fitness: Option<f64>,
    /// Its standard deviation.
    pub fitness_sd: Option<f64>,
    /// Measurements already merged into the row, where it says so.
    pub replicates: Option<u32>,
}

/// Columns of the numbers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NumberColumns {
    /// Column of the score.
    pub score: usize,
    /// Column of its standard error.
    pub standard_error: Option<usize>,
    /// Column of its p-value.
    pub p_value: Option<usize>,
    /// Column of the fitness of the combined mutant.
    pub fitness: Option<usize>,
    /// Column of its standard deviation.
    pub fitness_sd: Option<usize>,
}

/// Expected content of a cell with a deviation.
const NOT_NEGATIVE: &str = "a standard deviation, a number not below 0";

impl NumberColumns {
    /// Reads the numbers of a row. Rejects texts that are not numbers, and numbers out of range.
    pub(crate) fn read(&self, row: &Row<'_>) -> Result<Numbers, Error> {
        let numbers = Numbers {
            score: row.number(self.score, "a score, a finite number")?,
            // An error of 0 stands for one that is not known, as of a single measurement.
            standard_error: row
                .maybe_number(self.standard_error, NOT_NEGATIVE)?
                .filter(|error| *error != 0.0),
            p_value: row.maybe_number(self.p_value, "a p-value from 0 to 1")?,
            fitness: row.maybe_number(self.fitness, "a fitness, a finite number")?,
            fitness_sd: row.maybe_number(self.fitness_sd, NOT_NEGATIVE)?,
            replicates: None,
        };
        if let (Some(column), Some(p)) = (self.p_value, numbers.p_value)
            && !(0.0..=1.0).contains(&p)
        {
            return Err(row.bad(column, "a p-value from 0 to 1"));
        }
        let deviations =
            [(self.standard_error, numbers.standard_error), (self.fitness_sd, numbers.fitness_sd)];
        for (column, deviation) in deviations {
            if let (Some(column), Some(deviation)) = (column, deviation)
                && deviation < 0.0
            {
                return Err(row.bad(column, NOT_NEGATIVE));
            }
        }
        Ok(numbers)
    }
}

/// Values of a row.
#[derive(Debug, Clone, Copy)]
struct RowValues<'e> {
    source: &'e str,
    line: u64,
    names: &'e [&'e [u8]],
    query: usize,
    perturbation: Perturbation<'e>,
    numbers: Numbers,
}

/// Target of the rows.
#[derive(Debug)]
enum Goal<'s> {
    /// Samples over a gene table.
    Samples { names: &'s Names, genes: &'s GeneTable, collector: &'s mut MeasurementCollector },
    /// The gene table itself: the names in rows that would become samples.
    Genes(&'s mut NamedGenes),
}

/// Takes rows in and keeps count.
#[derive(Debug)]
pub struct ScreenSink<'s> {
    goal: Goal<'s>,
    choice: RowChoice<'s>,
    counts: ScreenCounts,
    bad_rows: BadRows,
}

impl<'s> ScreenSink<'s> {
    /// Starts a screen.
    pub fn new(
        names: &'s Names,
        genes: &'s GeneTable,
        choice: RowChoice<'s>,
        collector: &'s mut MeasurementCollector,
    ) -> Self {
        let goal = Goal::Samples { names, genes, collector };
        Self { goal, choice, counts: ScreenCounts::default(), bad_rows: BadRows::default() }
    }

    /// Starts a screen whose rows define the gene table; makes no samples.
    pub(crate) fn of_genes(choice: RowChoice<'s>, genes: &'s mut NamedGenes) -> Self {
        Self {
            goal: Goal::Genes(genes),
            choice,
            counts: ScreenCounts::default(),
            bad_rows: BadRows::default(),
        }
    }

    /// The names that lead to genes; `None` where the rows themselves determine the genes.
    pub fn names(&self) -> Option<&'s Names> {
        match self.goal {
            Goal::Samples { names, .. } => Some(names),
            Goal::Genes(_) => None,
        }
    }

    /// Counts a row as read.
    pub fn row(&mut self) {
        self.counts.tally.rows += 1;
    }

    /// Leaves the row out for a reason.
    pub fn skip(&mut self, reason: &'static str) {
        self.counts.tally.skip(reason);
    }

    /// Notes the error of a row, so that all bad rows are listed at once; an error that concerns more than a row stays.
    pub(crate) fn note(&mut self, result: Result<(), Error>) -> Result<(), Error> {
        self.bad_rows.note(result)
    }

    /// Refuses the bad rows so far.
    pub(crate) fn check(&mut self) -> Result<(), Error> {
        self.bad_rows.finish()
    }

    /// Returns an error that ends the reading, with those of the rows before.
    pub(crate) fn ended_by(&mut self, error: Error) -> Error {
        self.bad_rows.with_last(error)
    }

    /// Takes a row in; the first `query` names are those of the query strain. Gives the sample it went to, if any.
    pub fn take(
        &mut self,
        row: &Row<'_>,
        names: &[&[u8]],
        query: usize,
        perturbation: Perturbation<'_>,
        numbers: Numbers,
    ) -> Result<Option<u32>, Error> {
        let entry =
            RowValues { source: self.choice.source, line: row.line(), names, query, perturbation, numbers };
        self.take_entry(&entry).map_err(|kind| row.fail(None, kind))
    }

    /// Takes in a measurement of a line that is no longer at hand.
    pub(crate) fn take_at(
        &mut self,
        line: u64,
        names: &[&[u8]],
        query: usize,
        perturbation: Perturbation<'_>,
        numbers: Numbers,
    ) -> Result<Option<u32>, Error> {
        let source = self.choice.source;
        self.take_entry(&RowValues { source, line, names, query, perturbation, numbers })
    }

    /// Takes in a record that names its own source and has no query.
    pub(crate) fn take_from(
        &mut self,
        source: &str,
        line: u64,
        names: &[&[u8]],
        kind: &str,
        numbers: Numbers,
    ) -> Result<Option<u32>, Error> {
        let perturbation = Perturbation::Kind(kind);
        self.take_entry(&RowValues { source, line, names, query: 0, perturbation, numbers })
    }

    fn take_entry(&mut self, entry: &RowValues<'_>) -> Result<Option<u32>, Error> {
        let RowValues { source, line, names, query, numbers, .. } = *entry;
        if !self.choice.orders.is_empty() && !self.choice.orders.contains(&names.len()) {
            self.skip("another number of genes");
            return Ok(None);
        }
        let split = self.named_alleles(names);
        let stated: SmallVec<[Allele<'_>; 4]> = split
            .iter()
            .enumerate()
            .map(|(index, found)| {
                found.map_or_else(|| entry.perturbation.allele(index), |found| found.allele)
            })
            .collect();
        let has_allele_names = split.iter().any(Option::is_some);
        let perturbation =
            if has_allele_names { entry.perturbation.with_alleles(&stated) } else { entry.perturbation };
        let kind = perturbation.kind();
        if !self.choice.alleles.takes(kind) {
            self.skip("not only deletions");
            return Ok(None);
        }
        let Some(score) = numbers.score else {
            self.skip("no score");
            return Ok(None);
        };
        let (table, collector) = match &mut self.goal {
            Goal::Samples { names, genes, collector } => ((*names, *genes), collector),
            Goal::Genes(named) => {
                add_names(named, names)?;
                return Ok(None);
            }
        };
        if is_repeated(names) {
            self.counts.tally.skip("a gene with itself");
            return Ok(None);
        }
        let mut genes = SmallVec::<[u32; 4]>::new();
        for (&name, split) in names.iter().zip(&split) {
            let gene = split.and_then(|found| table.0.gene(found.gene.as_bytes()));
            // The first name that is not found leaves the row out whole.
            let Some(gene) = gene.or_else(|| self.counts.tally.gene(table.0, name, line)) else {
                return Ok(None);
            };
            if genes.contains(&gene) {
                self.counts.tally.skip("a gene with itself");
                return Ok(None);
            }
            genes.push(gene);
        }
        let apart = perturbation.stated(genes.len());
        let measured = Measurement {
            genes: &genes,
            query: &genes[..query.min(genes.len())],
            kind,
            alleles: perturbation.key(&genes),
            apart: if self.choice.alleles == Alleles::Merge { &[] } else { &apart[..] },
            score,
            standard_error: numbers.standard_error,
            p_value: numbers.p_value,
            fitness: numbers.fitness,
            fitness_sd: numbers.fitness_sd,
            replicates: numbers.replicates.unwrap_or(1),
            line,
        };
        let sample = collector.push(&measured, source, table.1)?;
        self.counts.measurements += 1;
        self.counts.allele_names += u64::from(has_allele_names);
        *self.counts.orders.entry(genes.len()).or_default() += 1;
        match self.counts.kinds.get_mut(kind) {
            Some(count) => *count += 1,
            None => {
                self.counts.kinds.insert(kind.to_owned(), 1);
            }
        }
        Ok(Some(sample))
    }

    /// Returns the alleles that names state, where the whole name is not one of a gene.
    fn named_alleles<'n>(&self, names: &[&'n [u8]]) -> SmallVec<[Option<NamedAllele<'n>>; 4]> {
        let known = self.names();
        let split = |name: &&'n [u8]| {
            if known.is_some_and(|known| known.find(name) != Meaning::Unknown) {
                return None;
            }
            let found = std::str::from_utf8(name).ok().and_then(NamedAllele::split)?;
            match known {
                Some(known) => known.gene(found.gene.as_bytes()).map(|_| found),
                None => found.is_certain.then_some(found),
            }
        };
        names.iter().map(split).collect()
    }

    /// Counts of rows read, kept and left out.
    ///
    /// # Errors
    ///
    /// Lists the rows that could not be read.
    pub fn finish(mut self) -> Result<ScreenCounts, Error> {
        self.check()?;
        Ok(self.counts)
    }
}

/// Adds the genes of a row, unless it names one twice and so will be no sample.
fn add_names(named: &mut NamedGenes, names: &[&[u8]]) -> Result<(), Error> {
    if is_repeated(names) {
        return Ok(());
    }
    for name in names {
        named.add(name)?;
    }
    Ok(())
}

/// Whether a name occurs twice.
fn is_repeated(names: &[&[u8]]) -> bool {
    (1..names.len()).any(|index| names[..index].iter().any(|other| other.eq_ignore_ascii_case(names[index])))
}
