//! The log of every crate, and every panic.

use std::io::Write;
use std::panic;
use std::sync::{Arc, Mutex, OnceLock};

use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::FmtSpan;

/// Part of the message of a panic that the scenario causes on purpose.
pub(crate) const MEANT: &str = "a renderer that panics";

/// The captured log since the last [`LogCapture::anew`].
#[derive(Debug, Clone, Default)]
pub(crate) struct LogCapture(Arc<Mutex<Vec<u8>>>);

impl LogCapture {
    /// Captures the log of the whole process, from now on.
    pub(crate) fn anew() -> Self {
        static CAPTURE: OnceLock<LogCapture> = OnceLock::new();
        let capture = CAPTURE.get_or_init(Self::install).clone();
        capture.0.lock().unwrap().clear();
        capture
    }

    fn install() -> Self {
        let capture = Self::default();
        tracing_subscriber::fmt()
            .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
            .with_span_events(FmtSpan::FULL)
            .with_ansi(false)
            .with_writer(capture.clone())
            .init();
        let (panics, before) = (capture.clone(), panic::take_hook());
        panic::set_hook(Box::new(move |panic| {
            let text = format!("{panic}\n");
            panics.write(text.as_bytes());
            if !text.contains(MEANT) {
                before(panic);
            }
        }));
        capture
    }

    pub(crate) fn log(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }

    fn write(&self, bytes: &[u8]) {
        self.0.lock().unwrap().extend_from_slice(bytes);
    }
}

impl<'a> MakeWriter<'a> for LogCapture {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Write for LogCapture {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Self::write(self, bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
