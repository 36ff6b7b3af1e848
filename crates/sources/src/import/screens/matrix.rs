//! A matrix of scores: a gene in each row, a gene in each column, a score in each cell.
//!
//! Where rows and columns have the same genes, a matrix may be symmetric (each pair once, written twice) or have query strains in its rows
//! (each pair measured twice). The scores show which: mirrored ones are equal in the first case and differ in the second.

use super::ScreenCounts;
use super::sink::{Numbers, ScreenSink};
use crate::import::fault;
use crate::import::read::{DecimalMark, Quotes, Row, Separator, Style};
use crate::import::source::Source;
use crate::import::strain::Perturbation;
use knockout_base::error::Error;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// The strains of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MatrixShape {
    /// Each pair of genes stands on both sides of the diagonal, with one score.
    Symmetric,
    /// The rows are query strains.
    QueryRows,
    /// The columns are query strains.
    QueryColumns,
}

/// Options of a matrix of scores.
#[derive(Debug, Clone, Copy)]
pub struct MatrixOptions<'o> {
    /// The strains of rows and columns; the labels and scores decide if `None`.
    pub shape: Option<MatrixShape>,
    /// The kind of perturbation of all cells, if it is stated.
    pub kind: Option<&'o str>,
    /// Separator of cells; guessed if `None`.
    pub separator: Option<Separator>,
    /// Decimal mark; the numbers decide if `None`.
    pub decimal: Option<DecimalMark>,
}

/// The most cells of a matrix.
const MAX_CELLS: usize = 100_000_000;

/// Scores in rows and columns with their labels; NaN was not measured.
struct ScoreMatrix {
    columns: Vec<Vec<u8>>,
    /// Label and line of each row.
    rows: Vec<(Vec<u8>, u64)>,
    scores: Vec<f64>,
}

/// Rows and columns of the same genes.
struct Mirrors {
    /// For each row, the column of its gene.
    column_of: Vec<usize>,
    /// For each column, the row of its gene.
    row_of: Vec<usize>,
}

/// Reads the matrix; every cell counts as a row of a screen.
pub fn read(
    source: &Source<'_>,
    mut sink: ScreenSink<'_>,
    options: &MatrixOptions<'_>,
) -> Result<ScreenCounts, Error> {
    let matrix = ScoreMatrix::read(source, &mut sink, options)?;
    let mirrors = matrix.mirrors();
    let shape = match options.shape {
        Some(MatrixShape::Symmetric) if mirrors.is_none() => {
            let text = "a symmetric matrix needs the same genes in rows and columns; choose shape=query-rows or shape=query-columns";
            return Err(source.fail(fault::request(text)));
        }
        Some(shape) => Some(shape),
        None => match &mirrors {
            None => None,
            Some(mirrors) => matrix.guess(mirrors).map_err(|error| source.fail(error))?,
        },
    };
    if let (Some(MatrixShape::Symmetric), Some(mirrors)) = (shape, &mirrors)
        && let Some((row, column)) = matrix.first_difference(mirrors)
    {
        let pair = matrix.names(row, column);
        let text = format!(
            "the matrix is not symmetric: {pair} has two scores; choose shape=query-rows or shape=query-columns"
        );
        return Err(source.fail(Error::damage(text)).on_line(matrix.rows[row].1));
    }
    let width = matrix.columns.len();
    let perturbation = options.kind.map_or(Perturbation::Unstated, Perturbation::OfAll);
    for (row, (label, line)) in matrix.rows.iter().enumerate() {
        for (column, partner) in matrix.columns.iter().enumerate() {
            sink.row();
            let score = matrix.scores[row * width + column];
            if shape == Some(MatrixShape::Symmetric) && matrix.is_second(mirrors.as_ref(), row, column) {
                sink.skip("the other half of a symmetric matrix");
                continue;
            }
            let numbers = Numbers { score: (!score.is_nan()).then_some(score), ..Numbers::default() };
            let (names, query) = match shape {
                Some(MatrixShape::QueryColumns) => ([&partner[..], &label[..]], 1),
                Some(MatrixShape::QueryRows) => ([&label[..], &partner[..]], 1),
                Some(MatrixShape::Symmetric) | None => ([&label[..], &partner[..]], 0),
            };
            let taken = sink.take_at(*line, &names, query, perturbation, numbers);
            let taken = taken.map(drop).map_err(|error| source.fail(error).on_line(*line));
            sink.note(taken)?;
        }
    }
    sink.finish()
}

impl ScoreMatrix {
    fn read(
        source: &Source<'_>,
        sink: &mut ScreenSink<'_>,
        options: &MatrixOptions<'_>,
    ) -> Result<Self, Error> {
        let style =
            Style { format: "a matrix of scores", separator: options.separator, quotes: Quotes::Double };
        let mut table = source.unheaded(style)?;
        table.expect_decimal(options.decimal);
        let has_short_rows = table.has_short_rows();
        let Some(header) = table.next_row()? else {
            return Err(source.fail(fault::empty("header line")));
        };
        let mut columns: Vec<Vec<u8>> = (0..header.width()).map(|cell| header.bytes(cell).to_vec()).collect();
        // A workbook or an export may have empty cells behind the last label.
        let is_padded = columns.len() > 2 && columns.last().is_some_and(Vec::is_empty);
        while columns.len() > 1 && columns.last().is_some_and(Vec::is_empty) {
            columns.pop();
        }
        table.keep_separator();
        let (mut rows, mut scores) = (Vec::new(), Vec::new());
        let mut is_begun = false;
        while let Some(row) = table.next_row().map_err(|error| sink.ended_by(error))? {
            if !is_begun {
                // Without a corner the first row has a cell more than the header.
                let has_corner = is_padded || columns[0].is_empty() || row.width() != columns.len() + 1;
                if has_corner {
                    columns.remove(0);
                }
                is_begun = true;
            }
            if columns.is_empty() {
                return Err(source.fail(fault::empty("column of a gene")));
            }
            if (rows.len() + 1).saturating_mul(columns.len()) > MAX_CELLS {
                return Err(source.fail(fault::too_many("cells", MAX_CELLS)));
            }
            let read = read_row(&row, columns.len(), is_padded, has_short_rows, &mut scores);
            if read.is_ok() {
                rows.push((row.bytes(0).to_vec(), row.line()));
            }
            sink.note(read)?;
        }
        sink.check()?;
        if rows.is_empty() {
            return Err(source.fail(fault::empty("row of a gene")));
        }
        let unnamed = columns.iter().position(Vec::is_empty);
        if let Some(column) = unnamed {
            let text = format!("column {} has no gene in the header line", column + 2);
            return Err(source.fail(Error::damage(text)));
        }
        Ok(Self { columns, rows, scores })
    }

    /// Matches rows and columns of the same label; `None` unless both have the same labels, each once.
    fn mirrors(&self) -> Option<Mirrors> {
        let upper = |label: &Vec<u8>| label.to_ascii_uppercase();
        let columns: HashMap<Vec<u8>, usize> =
            self.columns.iter().enumerate().map(|(column, label)| (upper(label), column)).collect();
        let column_of: Vec<usize> =
            self.rows.iter().map(|(label, _)| columns.get(&upper(label)).copied()).collect::<Option<_>>()?;
        let mut row_of = vec![usize::MAX; self.columns.len()];
        for (row, &column) in column_of.iter().enumerate() {
            row_of[column] = row;
        }
        let is_each_once = column_of.len() == self.columns.len() && !row_of.contains(&usize::MAX);
        is_each_once.then_some(Mirrors { column_of, row_of })
    }

    fn score(&self, row: usize, column: usize) -> f64 {
        self.scores[row * self.columns.len() + column]
    }

    /// Visits the pairs whose scores on both sides of the diagonal were measured: row, column and both scores.
    fn mirrored<'m>(
        &'m self,
        Mirrors { column_of, .. }: &'m Mirrors,
    ) -> impl Iterator<Item = (usize, usize, f64, f64)> + 'm {
        let count = column_of.len();
        let pairs = (0..count).flat_map(move |row| (row + 1..count).map(move |other| (row, other)));
        pairs.filter_map(move |(row, other)| {
            let (here, there) = (self.score(row, column_of[other]), self.score(other, column_of[row]));
            let is_measured = !here.is_nan() && !there.is_nan();
            is_measured.then_some((row, column_of[other], here, there))
        })
    }

    fn first_difference(&self, mirrors: &Mirrors) -> Option<(usize, usize)> {
        let mut different = self.mirrored(mirrors).filter(|(.., here, there)| !is_same(*here, *there));
        different.next().map(|(row, column, ..)| (row, column))
    }

    /// Decides between a symmetric matrix and one of query strains by the scores on both sides of the diagonal.
    fn guess(&self, mirrors: &Mirrors) -> Result<Option<MatrixShape>, Error> {
        let (mut equal, mut different, mut zeros) = (0_usize, 0_usize, [0_usize; 2]);
        for (.., here, there) in self.mirrored(mirrors) {
            *(if is_same(here, there) { &mut equal } else { &mut different }) += 1;
            zeros
                .iter_mut()
                .zip([here, there])
                .for_each(|(zeros, score)| *zeros += usize::from(score == 0.0));
        }
        // One or two may be 0 by chance.
        if different > 2 && zeros.contains(&(equal + different)) {
            return Err(Error::damage(
                "all cells on one side of the diagonal are 0, and those on the other are not; leave cells blank that were not measured",
            ));
        }
        if different == 0 {
            return Ok(Some(MatrixShape::Symmetric));
        }
        // Independent measurements are equal by chance only, such as two that were rounded to 0.
        if 2 * equal <= different {
            return Ok(None);
        }
        let pair =
            self.first_difference(mirrors).map_or_else(String::new, |(row, column)| self.names(row, column));
        Err(Error::damage(format!(
            "{equal} pairs have the same score on both sides of the diagonal and {different} have two, such as {pair}; mend them, or \
             choose shape=query-rows (or query-columns) if rows and columns were measured separately"
        )))
    }

    /// Whether a cell is the second one of its pair in a symmetric matrix. Where one of both was not measured, the other one counts.
    fn is_second(&self, mirrors: Option<&Mirrors>, row: usize, column: usize) -> bool {
        let Some(Mirrors { column_of, row_of }) = mirrors else { return false };
        let other = row_of[column];
        let is_missing = self.score(row, column).is_nan();
        let is_mirror_missing = self.score(other, column_of[row]).is_nan();
        if is_missing == is_mirror_missing { other < row } else { is_missing }
    }

    fn names(&self, row: usize, column: usize) -> String {
        let text = |label: &[u8]| String::from_utf8_lossy(label).into_owned();
        format!("{} and {}", text(&self.rows[row].0), text(&self.columns[column]))
    }
}

/// Whether two scores are one that was rounded in different ways.
fn is_same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

/// Reads the cells of a row behind its label; leaves no scores of a row that cannot be read.
fn read_row(
    row: &Row<'_>,
    columns: usize,
    is_padded: bool,
    has_short_rows: bool,
    scores: &mut Vec<f64>,
) -> Result<(), Error> {
    let start = scores.len();
    let width = row.width();
    let is_right = width == columns + 1
        || (width < columns + 1 && has_short_rows)
        || (width > columns + 1
            && (is_padded || has_short_rows)
            && (columns + 1..width).all(|cell| row.bytes(cell).is_empty()));
    if !is_right {
        let hint = ": the row is shifted, cut off, or separated otherwise than the header";
        return Err(row.fail(None, fault::cell_count(width, columns + 1, hint)));
    }
    if row.bytes(0).is_empty() {
        return Err(row.bad(0, "a gene"));
    }
    for cell in 1..=columns {
        match row.number(cell, "a score, a finite number") {
            Ok(score) => scores.push(score.unwrap_or(f64::NAN)),
            Err(error) => {
                scores.truncate(start);
                return Err(error);
            }
        }
    }
    Ok(())
}
