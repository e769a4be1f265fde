//! As much of PostgreSQL's protocol as a proxy in front of it needs.
//!
//! A message is a kind (one byte), the length of the rest (four bytes, themselves included) and the rest. The first one
//! of a connection has no kind.

use std::io;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpStream, ToSocketAddrs};

/// The requests that the first message of a connection may have instead of a session.
const SSL: u32 = 80_877_103;
const GSS_ENCRYPTION: u32 = 80_877_104;

/// Messages as they come. Each call can be given up and made again: nothing that was read is lost.
#[derive(Debug)]
pub struct Messages<R> {
    source: R,
    read: BytesMut,
}

impl<R: AsyncRead + Unpin> Messages<R> {
    /// The messages of a source.
    pub fn of(source: R) -> Self {
        Self { source, read: BytesMut::with_capacity(8 * 1024) }
    }

    /// The first message, which has no kind.
    pub async fn first(&mut self) -> io::Result<Bytes> {
        self.whole(0).await
    }

    /// The next message; an error at the end.
    pub async fn next(&mut self) -> io::Result<Bytes> {
        self.whole(1).await
    }

    /// As many as are there, but at least one: for passing them on.
    pub async fn several(&mut self) -> io::Result<Bytes> {
        let mut whole = 0;
        loop {
            while let Some(next) = end_of(&self.read, whole, 1) {
                whole = next;
            }
            if whole > 0 {
                return Ok(self.read.split_to(whole).freeze());
            }
            self.more().await?;
        }
    }

    async fn whole(&mut self, kind: usize) -> io::Result<Bytes> {
        loop {
            if let Some(end) = end_of(&self.read, 0, kind) {
                return Ok(self.read.split_to(end).freeze());
            }
            self.more().await?;
        }
    }

    async fn more(&mut self) -> io::Result<()> {
        match self.source.read_buf(&mut self.read).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

/// Where the message ends that begins there, if it is all there.
fn end_of(read: &[u8], start: usize, kind: usize) -> Option<usize> {
    let length = read.get(start + kind..start + kind + 4)?;
    let length = usize::try_from(u32::from_be_bytes(length.try_into().ok()?)).ok()?;
    let end = start + kind + length;
    (read.len() >= end).then_some(end)
}

/// The kinds of [several](Messages::several) messages.
pub fn kinds(messages: &[u8]) -> impl Iterator<Item = u8> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let kind = *messages.get(start)?;
        start = end_of(messages, start, 1)?;
        Some(kind)
    })
}

/// The client's side of a connection through a proxy.
#[derive(Debug)]
pub struct ClientSide {
    /// The messages of the client.
    pub requests: Messages<OwnedReadHalf>,
    /// Where its answers go.
    pub answers: OwnedWriteHalf,
}

/// The server's side of a connection through a proxy.
#[derive(Debug)]
pub struct ServerSide {
    /// Where requests go.
    pub requests: OwnedWriteHalf,
    /// The messages of the server.
    pub answers: Messages<OwnedReadHalf>,
}

/// Connects a client with a server, and passes on what a session begins with.
pub async fn connect(client: TcpStream, server: impl ToSocketAddrs) -> io::Result<(ClientSide, ServerSide)> {
    client.set_nodelay(true)?;
    let (requests, mut answers) = client.into_split();
    let mut requests = Messages::of(requests);
    let first = loop {
        let first = requests.first().await?;
        if !asks_for_encryption(&first) {
            break first;
        }
        // Refused with a single letter.
        answers.write_all(b"N").await?;
    };
    let client = ClientSide { requests, answers };
    let server = TcpStream::connect(server).await?;
    server.set_nodelay(true)?;
    let (answers, mut requests) = server.into_split();
    requests.write_all(&first).await?;
    Ok((client, ServerSide { requests, answers: Messages::of(answers) }))
}

fn asks_for_encryption(first: &[u8]) -> bool {
    let code = first.get(4..8).and_then(|code| code.try_into().ok()).map(u32::from_be_bytes);
    matches!(code, Some(SSL | GSS_ENCRYPTION))
}
