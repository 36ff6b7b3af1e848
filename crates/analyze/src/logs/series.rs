//! Joins the states of bars: which line continues which bar. Independent of rates.

use super::bar::{BarKind, BarLine, PrintedFigure};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Bars of one name that are looked at when a line comes; hostile logs must not make us look at all of them.
const MAX_OPEN: usize = 64;
/// Bars a log may have.
const MAX_SERIES: usize = 1 << 16;

/// The first state of a bar that had this count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct BarState {
    pub(super) count: u64,
    pub(super) elapsed: u64,
    pub(super) figure: Option<PrintedFigure>,
    /// A validation bar ran since the point before.
    pub(super) interrupted: bool,
}

/// One bar from its beginning to its end.
#[derive(Debug)]
pub(super) struct BarHistory {
    pub(super) name: String,
    pub(super) kind: BarKind,
    pub(super) epoch: Option<u64>,
    pub(super) rank: Option<u64>,
    /// Among those of the same name and rank, from 0.
    pub(super) number: usize,
    pub(super) total: Option<u64>,
    /// Count at which the bar began: that of the checkpoint, where a run was resumed.
    pub(super) initial: u64,
    /// By count, rising.
    pub(super) points: Vec<BarState>,
    /// Every figure it printed, with count and clock.
    pub(super) figures: Vec<(PrintedFigure, u64, u64)>,
    pub(super) last_elapsed: u64,
    interrupted: bool,
}

impl BarHistory {
    /// Returns the bar with counts from the one it began with.
    pub(super) fn since_initial(&self) -> Self {
        let since = |count: u64| count.saturating_sub(self.initial);
        let points = self.points.iter().map(|point| BarState { count: since(point.count), ..*point });
        let figures = self.figures.iter().map(|&(figure, count, elapsed)| (figure, since(count), elapsed));
        Self { name: self.name.clone(), points: points.collect(), figures: figures.collect(), ..*self }
    }
}

/// All bars of a log.
#[derive(Debug, Default)]
pub(super) struct SeriesTable {
    all: Vec<BarHistory>,
    by_name: BTreeMap<(Option<u64>, String), Vec<usize>>,
    /// The epoch of the last training bar, by rank.
    epochs: BTreeMap<Option<u64>, u64>,
    /// The training bar that runs, by rank.
    training: BTreeMap<Option<u64>, usize>,
}

impl SeriesTable {
    /// Adds a state of a bar and returns the index of the bar, or nothing for a placeholder.
    pub(super) fn add(&mut self, bar: &BarLine) -> Option<usize> {
        if bar.total.is_none() && bar.count == 0 && bar.figure.is_none() {
            return None;
        }
        let index = match self.fitting(bar) {
            Some(index) => index,
            None => self.begin(bar)?,
        };
        if bar.kind == BarKind::Training {
            self.training.insert(bar.rank, index);
        } else if matches!(bar.kind, BarKind::Validation | BarKind::Sanity)
            && let Some(training) = self.training.get(&bar.rank).and_then(|index| self.all.get_mut(*index))
        {
            training.interrupted = true;
        }
        let series = self.all.get_mut(index)?;
        series.last_elapsed = bar.elapsed;
        if let Some(figure) = bar.figure {
            series.figures.push((figure, bar.count, bar.elapsed));
        }
        if series.points.last().is_none_or(|last| last.count < bar.count) {
            let interrupted = std::mem::take(&mut series.interrupted);
            let (count, elapsed, figure) = (bar.count, bar.elapsed, bar.figure);
            series.points.push(BarState { count, elapsed, figure, interrupted });
        }
        Some(index)
    }

    /// The bar this is the next state of: neither count nor clock go back. One that still runs goes before one that
    /// is complete, then the nearest wins, then the youngest.
    fn fitting(&self, bar: &BarLine) -> Option<usize> {
        let same = self.by_name.get(&(bar.rank, bar.name.clone()))?;
        let distance = |index: &usize| {
            let series = self.all.get(*index)?;
            let last = series.points.last()?;
            let ahead = bar.count.checked_sub(last.count)?;
            let later = bar.elapsed.checked_sub(series.last_elapsed)?;
            let is_complete = series.total == Some(last.count);
            (series.total == bar.total).then_some((is_complete, ahead, later, Reverse(*index)))
        };
        let (.., Reverse(index)) = same.iter().rev().take(MAX_OPEN).filter_map(distance).min()?;
        Some(index)
    }

    fn begin(&mut self, bar: &BarLine) -> Option<usize> {
        if self.all.len() >= MAX_SERIES {
            return None;
        }
        let index = self.all.len();
        let epoch = match (bar.epoch, bar.kind) {
            (Some(epoch), _) => Some(epoch),
            (None, BarKind::Validation) => self.epochs.get(&bar.rank).copied(),
            (None, _) => None,
        };
        if let (Some(epoch), BarKind::Training) = (epoch, bar.kind) {
            self.epochs.insert(bar.rank, epoch);
        }
        let same = self.by_name.entry((bar.rank, bar.name.clone())).or_default();
        let number = same.len();
        same.push(index);
        self.all.push(BarHistory {
            name: bar.name.clone(),
            kind: bar.kind,
            epoch,
            rank: bar.rank,
            number,
            total: bar.total,
            // tqdm prints the bar once before the first step, without a figure.
            initial: if bar.elapsed == 0 && bar.figure.is_none() { bar.count } else { 0 },
            points: Vec::new(),
            figures: Vec::new(),
            last_elapsed: bar.elapsed,
            interrupted: false,
        });
        Some(index)
    }

    /// Returns the bars in the order in which they began, without those that never printed a figure nor moved. The first
    /// list has the index of each bar among them.
    pub(super) fn finish(self) -> (Vec<Option<usize>>, Vec<BarHistory>) {
        let mut places = Vec::with_capacity(self.all.len());
        let mut kept = Vec::new();
        for series in self.all {
            let moved = !series.figures.is_empty() || series.points.len() > 1;
            places.push(moved.then_some(kept.len()));
            if moved {
                kept.push(series);
            }
        }
        (places, kept)
    }
}
