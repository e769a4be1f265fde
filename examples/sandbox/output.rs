//! Standard output: JSON lines, each written whole.

use std::io;
use std::time::Duration;

use serde::Serialize;
use tokio::io::{AsyncWriteExt, Stdout};

use crate::stop::Stop;

/// How long a line may take once the sandbox is stopping: its reader may have ceased to read.
const LAST_LINE: Duration = Duration::from_secs(1);

/// Writes lines. Not a `println!`: a reader that is slow must not hold up the server.
pub(crate) struct Output {
    stdout: Stdout,
    stop: Stop,
}

impl Output {
    pub(crate) fn new(stop: Stop) -> Self {
        Self { stdout: tokio::io::stdout(), stop }
    }

    /// Writes a line and flushes it.
    ///
    /// # Errors
    /// `BrokenPipe` when the reader has closed the pipe.
    pub(crate) async fn line(&mut self, value: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        let stop = self.stop.clone();
        let write = async {
            self.stdout.write_all(&line).await?;
            self.stdout.flush().await
        };
        let given_up = async {
            stop.wait().await;
            tokio::time::sleep(LAST_LINE).await;
        };
        tokio::select! {
            written = write => written,
            () = given_up => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}
