//! How far a pass has come, told to whoever wants to show it. Decides nothing.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How far a pass has come. The service states no total, so that only the pages behind are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Pages read, those that were read again included.
    pub pages: u64,
    /// Versions read that are to be delivered.
    pub records: u64,
    /// Of these, those that the handler has acknowledged.
    pub delivered: u64,
    /// How long the wait that begins now is, where the key's quota asks for one.
    pub waiting_for_quota: Option<Duration>,
}

/// Is told when a call begins to wait for the key's quota. Carried by the calls of a catch-up.
pub(crate) trait WaitObserver: fmt::Debug + Send + Sync {
    /// A wait of this length begins.
    fn waiting(&self, wait: Duration);
}

/// Counts, and tells one listener.
#[derive(Clone, Default)]
pub(crate) struct Reporter(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    progress: Progress,
    listener: Option<Box<dyn FnMut(Progress) + Send>>,
}

impl Reporter {
    pub(crate) fn to(listener: impl FnMut(Progress) + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(State {
            progress: Progress::default(),
            listener: Some(Box::new(listener)),
        })))
    }

    /// A pass begins. Nobody is told before there is something to tell.
    pub(crate) fn begin(&self) {
        self.with(|state| state.progress = Progress::default());
    }

    pub(crate) fn page(&self) {
        self.tell(|progress| progress.pages += 1);
    }

    pub(crate) fn records(&self, count: usize) {
        self.tell(|progress| progress.records += count as u64);
    }

    pub(crate) fn delivered(&self) {
        self.tell(|progress| progress.delivered += 1);
    }

    /// Changes the counts and tells them. Whatever happens, no wait goes on.
    fn tell(&self, change: impl FnOnce(&mut Progress)) {
        self.with(|state| {
            state.progress.waiting_for_quota = None;
            change(&mut state.progress);
            if let Some(listener) = &mut state.listener {
                listener(state.progress);
            }
        });
    }

    fn with(&self, work: impl FnOnce(&mut State)) {
        // A listener that panicked takes its pass with it; the counts of the next pass begin anew.
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl WaitObserver for Reporter {
    fn waiting(&self, wait: Duration) {
        self.tell(|progress| progress.waiting_for_quota = Some(wait));
    }
}

impl fmt::Debug for Reporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reporter")
    }
}
