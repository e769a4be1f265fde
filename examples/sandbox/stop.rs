//! One wish to stop, seen by everything that runs.

use std::io;

use tokio::sync::watch;

/// Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub(crate) struct Stop(watch::Sender<bool>);

impl Stop {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    /// Asks everything to stop.
    pub(crate) fn ask(&self) {
        self.0.send_replace(true);
    }

    /// Ready once a stop was requested.
    pub(crate) async fn wait(&self) {
        // The sender lives as long as `self`, so this ends only with the wish.
        let _ = self.0.subscribe().wait_for(|asked| *asked).await;
    }

    /// Ready once the process is told to end. The handlers are installed when this is called, not when it is awaited.
    #[cfg(unix)]
    pub(crate) fn signals() -> io::Result<impl Future<Output = ()>> {
        use tokio::signal::unix::{SignalKind, signal};
        let (mut interrupt, mut terminate) =
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        Ok(async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        })
    }

    /// Ready once the process is told to end.
    #[cfg(not(unix))]
    pub(crate) fn signals() -> io::Result<impl Future<Output = ()>> {
        Ok(async {
            // Without a handler nothing can be waited for: run until killed.
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }
}
