//! Where the rows of every screen go: names become genes, choices are applied, what is left out is counted.

use super::strain::Perturbation;
use super::{Alleles, Measurement, MeasurementCollector};
use crate::import::fault;
use crate::import::genes::{NamedGenes, is_name};
use crate::import::names::Names;
use crate::import::read::Row;
use crate::import::source::RowTally;
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
}

/// The numbers of a row.
#[derive(Debug, Clone, Copy, Default)]
pub struct Numbers {
    /// The score; a row without one is left out.
    pub score: Option<f64>,
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
#[derive(Debug, Clone, Copy)]
pub(crate) struct NumberColumns {
    /// Column of the score.
    pub score: usize,
    /// Column of its p-value.
    pub p_value: Option<usize>,
    /// Column of the fitness of the combined mutant.
    pub fitness: Option<usize>,
    /// Column of its standard deviation.
    pub fitness_sd: Option<usize>,
}

impl NumberColumns {
    /// Reads the numbers of a row. Rejects texts that are not numbers, and numbers out of range.
    pub(crate) fn read(&self, row: &Row<'_>) -> Result<Numbers, Error> {
        let numbers = Numbers {
            score: row.number(self.score, "a score, a finite number")?,
            p_value: row.maybe_number(self.p_value, "a p-value from 0 to 1")?,
            fitness: row.maybe_number(self.fitness, "a fitness, a finite number")?,
            fitness_sd: row.maybe_number(self.fitness_sd, "a standard deviation, a number not below 0")?,
            replicates: None,
        };
        if let (Some(column), Some(p)) = (self.p_value, numbers.p_value)
            && !(0.0..=1.0).contains(&p)
        {
            return Err(row.bad(column, "a p-value from 0 to 1"));
        }
        if let (Some(column), Some(sd)) = (self.fitness_sd, numbers.fitness_sd)
            && sd < 0.0
        {
            return Err(row.bad(column, "a standard deviation, a number not below 0"));
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
        Self { goal, choice, counts: ScreenCounts::default() }
    }

    /// Starts a screen whose rows define the gene table; makes no samples.
    pub(crate) fn of_genes(choice: RowChoice<'s>, genes: &'s mut NamedGenes) -> Self {
        Self { goal: Goal::Genes(genes), choice, counts: ScreenCounts::default() }
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
        let RowValues { source, line, names, query, perturbation, numbers } = *entry;
        let kind = perturbation.kind();
        if !self.choice.orders.is_empty() && !self.choice.orders.contains(&names.len()) {
            self.skip("another number of genes");
            return Ok(None);
        }
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
        for name in names {
            // The first name that is not found leaves the row out whole.
            let Some(gene) = self.counts.tally.gene(table.0, name, line) else { return Ok(None) };
            if genes.contains(&gene) {
                self.counts.tally.skip("a gene with itself");
                return Ok(None);
            }
            genes.push(gene);
        }
        let measured = Measurement {
            genes: &genes,
            query: &genes[..query.min(genes.len())],
            kind,
            alleles: perturbation.key(&genes),
            score,
            p_value: numbers.p_value,
            fitness: numbers.fitness,
            fitness_sd: numbers.fitness_sd,
            replicates: numbers.replicates.unwrap_or(1),
            line,
        };
        let sample = collector.push(&measured, source, table.1)?;
        self.counts.measurements += 1;
        *self.counts.orders.entry(genes.len()).or_default() += 1;
        match self.counts.kinds.get_mut(kind) {
            Some(count) => *count += 1,
            None => {
                self.counts.kinds.insert(kind.to_owned(), 1);
            }
        }
        Ok(Some(sample))
    }

    /// Counts of rows read, kept and left out.
    pub fn finish(self) -> ScreenCounts {
        self.counts
    }
}

/// Adds the genes of a row, unless it names one twice and so will be no sample.
fn add_names(named: &mut NamedGenes, names: &[&[u8]]) -> Result<(), Error> {
    if is_repeated(names) {
        return Ok(());
    }
    for name in names {
        let name = std::str::from_utf8(name).ok().filter(|name| is_name(name)).ok_or_else(|| {
            let expected = "a gene name: no spaces, at most 40 characters".to_owned();
            fault::bad_value(crate::import::read::shown(name), expected)
        })?;
        named.add(name);
    }
    Ok(())
}

/// Whether a name occurs twice.
fn is_repeated(names: &[&[u8]]) -> bool {
    (1..names.len()).any(|index| names[..index].iter().any(|other| other.eq_ignore_ascii_case(names[index])))
}
