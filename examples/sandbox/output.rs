//! Standard output: lines, each written whole.

use std::fmt::Display;
use std::io;
use std::time::Duration;

use serde::Serialize;
use tokio::io::{AsyncWriteExt, Stdout};

use crate::stop::Stop;

/// How long a line may take once the sandbox is stopping: its reader may have ceased to read.
const LAST_LINE: Duration = Duration::from_secs(1);

/// The form of the lines.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// Writes lines. Not a `println!`: a reader that is slow must not hold up the server.
pub(crate) struct Output {
    format: Format,
    stdout: Stdout,
    stop: Stop,
}

impl Output {
    pub(crate) fn new(format: Format, stop: Stop) -> Self {
        Self { format, stdout: tokio::io::stdout(), stop }
    }

    /// Writes a line and flushes it.
    ///
    /// # Errors
    /// `BrokenPipe` when the reader has closed the pipe.
    pub(crate) async fn line(&mut self, value: &(impl Serialize + Display)) -> io::Result<()> {
        let mut line = match self.format {
            Format::Text => value.to_string().into_bytes(),
            Format::Json => serde_json::to_vec(value)?,
        };
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
