//! [`Progress`] of a pass, reported to a listener.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::quota_wait;

/// Progress of a pass. The service states no total, so there is no percentage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Pages read, including repeated reads.
    pub pages: u64,
    /// Versions read that have to be delivered.
    pub records: u64,
    /// Versions that the handler has acknowledged.
    pub delivered: u64,
    /// Duration of the wait for the key's quota that begins now, if one does: of a request of the pass, or of a call that
    /// its handler makes.
    pub waiting_for_quota: Option<Duration>,
}

/// Such as `3 pages, 300 records, 12 delivered, waiting 42 s for the quota`. A width pads it, so that it overwrites a longer
/// one on the same line of a terminal: `eprint!("\r{progress:<70}")`.
impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pages, records, delivered, waiting_for_quota } = self;
        let wait =
            waiting_for_quota.map(|wait| format!(", waiting {} s for the quota", wait.as_secs().max(1)));
        let (pages, records) = (counted(*pages, "page"), counted(*records, "record"));
        f.pad(&format!("{pages}, {records}, {delivered} delivered{}", wait.unwrap_or_default()))
    }
}

fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Counts, and reports to one listener.
#[derive(Clone, Default)]
pub(crate) struct ProgressReporter(Arc<Mutex<ReporterState>>);

#[derive(Default)]
struct ReporterState {
    progress: Progress,
    listener: Option<Box<dyn FnMut(Progress) + Send>>,
}

impl ProgressReporter {
    pub(crate) fn to(listener: impl FnMut(Progress) + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(ReporterState {
            progress: Progress::default(),
            listener: Some(Box::new(listener)),
        })))
    }

    /// Does work of a pass. Waits for the quota that calls in it begin are reported.
    pub(crate) fn observe<T>(self, work: impl Future<Output = T>) -> impl Future<Output = T> {
        let on_wait = move |wait| self.report(|progress| progress.waiting_for_quota = Some(wait));
        quota_wait::observe(on_wait, work)
    }

    /// Resets the counts for a new pass, which has this many records from an earlier one.
    pub(crate) fn begin(&self, records: usize) {
        let records = records as u64;
        self.with(|state| state.progress = Progress { records, ..Progress::default() });
    }

    /// Counts a page. Reported with the records in it.
    pub(crate) fn page(&self) {
        self.with(|state| state.progress.pages += 1);
    }

    pub(crate) fn records(&self, count: usize) {
        self.report(|progress| progress.records += count as u64);
    }

    pub(crate) fn delivered(&self) {
        self.report(|progress| progress.delivered += 1);
    }

    /// Changes the counts and reports them. Any progress ends a wait.
    fn report(&self, change: impl FnOnce(&mut Progress)) {
        self.with(|state| {
            state.progress.waiting_for_quota = None;
            change(&mut state.progress);
            if let Some(listener) = &mut state.listener {
                listener(state.progress);
            }
        });
    }

    fn with(&self, work: impl FnOnce(&mut ReporterState)) {
        work(&mut self.0.lock());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_a_line_that_a_width_pads() {
        let progress = Progress { pages: 3, records: 300, delivered: 12, waiting_for_quota: None };
        assert_eq!(format!("{progress:<40}|"), "3 pages, 300 records, 12 delivered      |");
        let waiting = Progress { waiting_for_quota: Some(Duration::from_millis(42_900)), ..progress };
        assert_eq!(waiting.to_string(), "3 pages, 300 records, 12 delivered, waiting 42 s for the quota");
        let one = Progress { pages: 1, records: 1, ..Progress::default() };
        assert_eq!(one.to_string(), "1 page, 1 record, 0 delivered");
    }
}
