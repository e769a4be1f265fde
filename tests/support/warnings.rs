//! What the service warns of.

use std::any::Any;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::util::SubscriberInitExt;

/// The warnings that this thread logs while this lives: those of operations that the test itself awaits.
pub(crate) struct Warnings {
    log: Log,
    _subscribed: Box<dyn Any>,
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Warnings {
    pub(crate) fn listen() -> Self {
        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(LevelFilter::WARN)
            .with_ansi(false)
            .with_writer(move || writer.clone());
        Self { log, _subscribed: Box::new(subscriber.finish().set_default()) }
    }

    /// How many lines with this text were logged since the last call.
    pub(crate) fn take(&self, text: &str) -> usize {
        let lines = std::mem::take(&mut *self.log.0.lock().unwrap());
        String::from_utf8(lines).unwrap().lines().filter(|line| line.contains(text)).count()
    }
}
