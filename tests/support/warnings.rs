//! The warnings of the service.

use std::cell::RefCell;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, Once};

use tracing_subscriber::filter::LevelFilter;

thread_local! {
    /// The lines that this thread has logged while a test listens.
    static LOG: RefCell<Option<Log>> = const { RefCell::new(None) };
}

type Log = Arc<Mutex<Vec<u8>>>;

/// The warnings that this thread logs while this lives: those of operations that the test itself awaits.
pub(crate) struct Warnings(Log);

/// Where lines go: to the log of the thread, if there is one.
struct ThreadLog;

impl Write for ThreadLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOG.with_borrow(|log| log.iter().for_each(|log| log.lock().unwrap().extend_from_slice(bytes)));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Warnings {
    /// All tests share a subscriber. With one for each thread, a warning that is first reached on a thread without one
    /// would be off for all.
    pub(crate) fn listen() -> Self {
        static SUBSCRIBED: Once = Once::new();
        SUBSCRIBED.call_once(|| {
            let subscriber = tracing_subscriber::fmt().with_max_level(LevelFilter::WARN).with_ansi(false);
            subscriber.with_writer(|| ThreadLog).init();
        });
        let log = Log::default();
        LOG.set(Some(Arc::clone(&log)));
        Self(log)
    }

    /// How many lines with this text were logged since the last call.
    pub(crate) fn take(&self, text: &str) -> usize {
        let lines = std::mem::take(&mut *self.0.lock().unwrap());
        String::from_utf8(lines).unwrap().lines().filter(|line| line.contains(text)).count()
    }
}

impl Drop for Warnings {
    fn drop(&mut self) {
        LOG.set(None);
    }
}
