//! The content of the application.

use crate::catalog::Catalog;
use crate::model::Models;
use knockout_base::error::Result;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// Reports of traces that are kept.
const MOST_REPORTS: usize = 4;

/// The content of the application: what was found, and what is open.
#[derive(Debug)]
pub struct Explorer {
    pub(crate) catalog: Catalog,
    pub(crate) models: Models,
    /// Held by requests that occupy all cores for seconds, one after the other.
    heavy: Mutex<()>,
    reports: Mutex<Vec<TraceReport>>,
}

/// The report of some traces.
#[derive(Debug, Clone)]
pub(crate) struct TraceReport {
    /// The files, with length and time of their last change.
    pub(crate) files: Vec<(PathBuf, u64, Option<SystemTime>)>,
    pub(crate) page: std::sync::Arc<knockout_report::page::Page>,
}

impl Explorer {
    /// Finds the runs, datasets and traces in folders; `data` is where the dataset of the runs is now, if it moved.
    pub fn open(folders: &[PathBuf], data: Option<&Path>) -> Result<Self> {
        Ok(Self {
            catalog: Catalog::find(folders)?,
            models: Models::new(data),
            heavy: Mutex::new(()),
            reports: Mutex::default(),
        })
    }

    /// Returns the numbers of runs, datasets and traces as a phrase.
    pub fn summary(&self) -> String {
        self.catalog.summary()
    }

    /// Opens the run that is shown first, so that its first page comes at once.
    pub(crate) fn prepare(&self) {
        // A run that cannot be opened is reported on its page.
        if let Some(model) = self.catalog.first().and_then(|source| self.models.open(source).ok()) {
            model.prepare();
        }
    }

    /// Waits until no other request occupies all cores.
    pub(crate) fn heavy(&self) -> MutexGuard<'_, ()> {
        self.heavy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the report of files that have not changed since.
    pub(crate) fn report(&self, files: &[(PathBuf, u64, Option<SystemTime>)]) -> Option<TraceReport> {
        let reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        reports.iter().find(|report| report.files == files).cloned()
    }

    /// Keeps a report; the oldest one is dropped for it.
    pub(crate) fn keep(&self, report: TraceReport) {
        let mut reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        if reports.len() >= MOST_REPORTS {
            reports.remove(0);
        }
        reports.push(report);
    }
}
