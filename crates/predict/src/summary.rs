//! Summary of predictions (counts, a histogram, the highest and the lowest) and the tables written from it.

use crate::block::{Scored, ScoredBlock};
use crate::csv::CsvTable;
use crate::folder::{missing, unfinished, unreadable, unwritten};
use crate::{
    Extremes, HistogramScale, Hit, HitNotes, KeptPredictions, MeasuredSample, MeasuredSet, Plan,
    PredictionFolder,
};
use knockout_base::error::Result;
use knockout_base::files;
use knockout_data::cell::GeneTable;
use knockout_data::screen::{Dataset, Part, Split};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Predictions of a part, summed up.
#[derive(Debug, Clone)]
pub struct PredictionSummary {
    /// Scale of the histogram.
    pub scale: HistogramScale,
    /// Candidates of the part, those that filters left out included.
    pub candidates: u64,
    /// The highest and lowest predictions.
    pub extremes: Extremes,
    /// By block: sums are taken in their order, whatever the order of the work.
    blocks: BTreeMap<u64, (u64, f64)>,
    histogram: Vec<u64>,
    /// Whether a block has no checksum to be verified with: an earlier version wrote it.
    pub unsealed: bool,
}

impl PredictionSummary {
    pub(crate) fn new(plan: &Plan, extremes: Extremes) -> Self {
        let range = plan.part.of_blocks(plan.blocks());
        let edge = |block: u64| (block * plan.block).min(plan.candidates.count);
        Self {
            scale: plan.histogram,
            candidates: edge(range.end) - edge(range.start),
            extremes,
            blocks: BTreeMap::new(),
            histogram: vec![0; plan.histogram.bins],
            unsealed: false,
        }
    }

    pub(crate) fn add(&mut self, scored: &Scored, extremes: &Extremes) {
        self.blocks.insert(scored.block, (scored.count, scored.sum));
        self.histogram.iter_mut().zip(&scored.histogram).for_each(|(sum, count)| *sum += count);
        self.extremes.merge(extremes);
        self.unsealed |= scored.checksum.is_none();
    }

    /// Reads the blocks of a finished folder.
    pub fn read(folder: &PredictionFolder, top: usize, bottom: usize) -> Result<Self> {
        let plan = folder.plan();
        let mut summary = Self::new(plan, Extremes::new(top, bottom));
        for block in plan.part.of_blocks(plan.blocks()) {
            let block = ScoredBlock::read(folder.files(), plan, folder.identity(), block)?;
            let mut extremes = Extremes::new(top, bottom);
            block.add_to(&mut extremes);
            summary.add(&block.scored, &extremes);
        }
        Ok(summary)
    }

    /// Candidates that were scored.
    pub fn scored(&self) -> u64 {
        self.blocks.values().map(|(count, _)| count).sum()
    }

    /// Mean prediction; `None` where nothing was scored.
    pub fn mean(&self) -> Option<f64> {
        let sum: f64 = self.blocks.values().map(|(_, sum)| sum).sum();
        (self.scored() > 0).then(|| sum / self.scored() as f64)
    }

    /// Predictions in each bin of the scale.
    pub fn histogram(&self) -> &[u64] {
        &self.histogram
    }
}

/// Columns of the measurement of a set.
const MEASURED: [&str; 3] = ["measured_score", "measured_part", "samples"];

/// Writes `top.csv` and `bottom.csv` into the folder, those that have rows, with the notes of each hit; returns their paths.
pub fn write_hits(
    folder: &Path,
    summary: &PredictionSummary,
    genes: &GeneTable,
    notes: &HitNotes<'_>,
) -> Result<Vec<PathBuf>> {
    let mut written = Vec::new();
    for (name, hits) in [("top.csv", summary.extremes.top()), ("bottom.csv", summary.extremes.bottom())] {
        if !hits.is_empty() {
            let order = hits.iter().map(|hit| hit.genes.len()).max().unwrap_or(0);
            let columns = SetColumns { order, has_sd: hits.iter().any(|hit| hit.sd.is_some()) };
            let fill = |out: &mut dyn Write| {
                let mut table = CsvTable::new(out);
                columns.header(&mut table)?;
                let columns_of_notes = ["regime", "measured", "essential", "linkage", "distance"];
                for column in columns_of_notes.into_iter().chain(MEASURED) {
                    table.text(column)?;
                }
                table.end_row()?;
                for hit in &hits {
                    columns.line(&mut table, hit, genes)?;
                    note(&mut table, hit, genes, notes)?;
                    table.end_row()?;
                }
                table.finish()
            };
            files::Folder::at(folder).replace(name, fill).map_err(unwritten)?;
            written.push(folder.join(name));
        }
    }
    Ok(written)
}

/// Writes every kept prediction of a finished folder into one CSV file.
pub fn write_csv(folder: &PredictionFolder, genes: &GeneTable) -> Result<PathBuf> {
    let plan = folder.plan();
    let missing = missing(folder.files(), plan).len() as u64;
    if missing > 0 {
        return Err(unfinished(folder.path(), missing, plan.blocks()));
    }
    let path = folder.path().join("predictions.csv");
    let mut out = folder.files().pending("predictions.csv").map_err(unwritten)?;
    let mut table = CsvTable::new(&mut out);
    let mut columns: Option<SetColumns> = None;
    for block in plan.part.of_blocks(plan.blocks()) {
        let block = ScoredBlock::read(folder.files(), plan, folder.identity(), block)?;
        let columns = if let Some(columns) = &columns {
            columns
        } else {
            let found = SetColumns { order: plan.candidates.order, has_sd: block.scores.sd.is_some() };
            found.header(&mut table).and_then(|()| table.end_row()).map_err(unreadable(&path))?;
            columns.insert(found)
        };
        for row in 0..block.numbers.len() {
            let line = columns.line(&mut table, &block.hit(row), genes);
            line.and_then(|()| table.end_row()).map_err(unreadable(&path))?;
        }
    }
    table.finish().map_err(unreadable(&path))?;
    out.commit().map_err(unwritten)?;
    Ok(path)
}

/// Writes the rows of a list of sets as their file has them, with the prediction and the measurement of each behind its columns; `None`
/// unless the folder keeps all predictions. A set that filters left out has neither.
pub fn write_sets<'r, R: Iterator<Item = &'r str>>(
    folder: &PredictionFolder,
    dataset: &Dataset,
    split: &Split,
    columns: &[String],
    rows: impl IntoIterator<Item = R>,
) -> Result<Option<PathBuf>> {
    const NAME: &str = "sets.csv";
    let plan = folder.plan();
    let blocks = 0..plan.blocks();
    if plan.keep != KeptPredictions::All || plan.part.of_blocks(plan.blocks()) != blocks {
        return Ok(None);
    }
    let path = folder.path().join(NAME);
    let mut out = folder.files().pending(NAME).map_err(unwritten)?;
    let mut table = CsvTable::new(&mut out);
    let (mut rows, mut is_begun) = (rows.into_iter().zip(0_u64..), false);
    for block in blocks {
        let found = ScoredBlock::read(folder.files(), plan, folder.identity(), block)?;
        let has_sd = found.scores.sd.is_some();
        if !is_begun {
            columns.iter().try_for_each(|name| table.text(name)).map_err(unreadable(&path))?;
            let mut names = vec![new_name(columns, "prediction")];
            names.extend(has_sd.then(|| new_name(columns, "sd")));
            names.extend(MEASURED.map(|name| new_name(columns, name)));
            let header = names.iter().try_for_each(|name| table.text(name));
            header.and_then(|()| table.end_row()).map_err(unreadable(&path))?;
            is_begun = true;
        }
        let hits: Vec<Hit> = (0..found.numbers.len()).map(|row| found.hit(row)).collect();
        let notes = HitNotes::new(dataset, Some(split), &hits);
        let end = ((block + 1) * plan.block).min(plan.candidates.count);
        let mut next = 0;
        let count = end - block * plan.block;
        for (cells, number) in rows.by_ref().take(usize::try_from(count).unwrap_or(usize::MAX)) {
            let hit = hits.get(next).filter(|hit| hit.number == number);
            next += usize::from(hit.is_some());
            let noted = hit.map(|hit| (hit, notes.measured(&hit.genes)));
            let line = set_row(&mut table, columns.len(), cells, noted, has_sd);
            line.map_err(unreadable(&path))?;
        }
    }
    table.finish().map_err(unreadable(&path))?;
    out.commit().map_err(unwritten)?;
    Ok(Some(path))
}

/// Returns a name that no column has.
fn new_name(columns: &[String], name: &str) -> String {
    let is_free = |name: &String| !columns.iter().any(|column| column.eq_ignore_ascii_case(name));
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    std::iter::once(name.to_owned()).chain(numbered).find(is_free).unwrap_or_default()
}

fn set_row<'r, W: Write>(
    table: &mut CsvTable<W>,
    width: usize,
    cells: impl Iterator<Item = &'r str>,
    noted: Option<(&Hit, Option<MeasuredSet>)>,
    has_sd: bool,
) -> io::Result<()> {
    for cell in cells.chain(std::iter::repeat("")).take(width) {
        // A negative number is not a formula.
        let is_number = cell.parse::<f64>().is_ok();
        if is_number { table.number(Some(cell))? } else { table.text(cell)? }
    }
    let (hit, measured) = noted.unzip();
    table.number(hit.map(|hit| hit.prediction))?;
    if has_sd {
        table.number(hit.and_then(|hit| hit.sd))?;
    }
    measurement(table, measured.flatten().as_ref())?;
    table.end_row()
}

/// Writes the score of a set, its part and its samples; empty where nothing was measured.
fn measurement<W: Write>(table: &mut CsvTable<W>, measured: Option<&MeasuredSet>) -> io::Result<()> {
    table.number(measured.map(|measured| measured.score))?;
    table.text(measured.and_then(|measured| measured.part).map_or("", Part::name))?;
    table.text(&measured.map_or_else(String::new, |measured| MeasuredSample::cell(&measured.samples)))
}

/// The columns that every table of predictions begins with.
struct SetColumns {
    /// Columns of genes.
    order: usize,
    has_sd: bool,
}

impl SetColumns {
    fn header<W: Write>(&self, table: &mut CsvTable<W>) -> io::Result<()> {
        table.text("number")?;
        (1..=self.order).try_for_each(|column| table.text(&format!("gene_{column}")))?;
        (1..=self.order).try_for_each(|column| table.text(&format!("name_{column}")))?;
        table.text("prediction")?;
        if self.has_sd { table.text("sd") } else { Ok(()) }
    }

    fn line<W: Write>(&self, table: &mut CsvTable<W>, hit: &Hit, genes: &GeneTable) -> io::Result<()> {
        table.number(Some(hit.number))?;
        let gene = |index: usize| hit.genes.get(index).and_then(|&gene| genes.genes().get(gene as usize));
        for index in 0..self.order {
            table.text(gene(index).map_or("", |gene| &gene.systematic))?;
        }
        for index in 0..self.order {
            table.text(gene(index).and_then(|gene| gene.standard.as_deref()).unwrap_or(""))?;
        }
        table.number(Some(hit.prediction))?;
        if self.has_sd { table.number(hit.sd) } else { Ok(()) }
    }
}

/// The notes of a hit. What is not known is empty; several essential genes are separated by spaces.
fn note<W: Write>(
    table: &mut CsvTable<W>,
    hit: &Hit,
    genes: &GeneTable,
    notes: &HitNotes<'_>,
) -> io::Result<()> {
    let note = notes.note(&hit.genes);
    let essential = match &note.essential {
        None => "unknown".to_owned(),
        Some(found) if found.is_empty() => "no".to_owned(),
        Some(found) => {
            let name = |&gene: &u32| &genes.genes()[gene as usize].systematic[..];
            found.iter().map(name).collect::<Vec<_>>().join(" ")
        }
    };
    table.text(note.regime.map_or("unknown", knockout_data::screen::Regime::name))?;
    table.text(if note.measured.is_some() { "yes" } else { "no" })?;
    table.text(&essential)?;
    table.text(note.linkage.name())?;
    table.number(note.distance)?;
    measurement(table, note.measured.as_ref())
}
