//! As much of PostgreSQL's protocol as it takes to see a COMMIT pass, and what became of it.
//!
//! A message is a kind (one byte), the length of the rest (four bytes, themselves included) and the rest. The first one
//! of a connection has no kind.

use std::collections::HashSet;
use std::io;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};

/// What the first message of a connection may ask for instead of a session.
const SSL: u32 = 80_877_103;
const GSS_ENCRYPTION: u32 = 80_877_104;

/// Messages as they come. Each call can be given up and made again: nothing that was read is lost.
pub(super) struct Messages<R> {
    source: R,
    read: BytesMut,
}

impl<R: AsyncRead + Unpin> Messages<R> {
    pub(super) fn of(source: R) -> Self {
        Self { source, read: BytesMut::with_capacity(8 * 1024) }
    }

    /// The first message, which has no kind.
    pub(super) async fn first(&mut self) -> io::Result<Bytes> {
        self.whole(0).await
    }

    /// The next message; an error at the end.
    pub(super) async fn next(&mut self) -> io::Result<Bytes> {
        self.whole(1).await
    }

    /// As many as are there, but at least one: for passing them on.
    pub(super) async fn several(&mut self) -> io::Result<Bytes> {
        let mut whole = 0;
        loop {
            while let Some(next) = self.end_of(whole, 1) {
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
            if let Some(end) = self.end_of(0, kind) {
                return Ok(self.read.split_to(end).freeze());
            }
            self.more().await?;
        }
    }

    /// Where the message ends that begins there, if it is all there.
    fn end_of(&self, start: usize, kind: usize) -> Option<usize> {
        let length = self.read.get(start + kind..start + kind + 4)?;
        let length = usize::try_from(u32::from_be_bytes(length.try_into().ok()?)).ok()?;
        let end = start + kind + length;
        (self.read.len() >= end).then_some(end)
    }

    async fn more(&mut self) -> io::Result<()> {
        match self.source.read_buf(&mut self.read).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

/// Whether a first message asks for encryption, which is refused with a single `N`.
pub(super) fn asks_for_encryption(first: &[u8]) -> bool {
    let code = first.get(4..8).and_then(|code| code.try_into().ok()).map(u32::from_be_bytes);
    matches!(code, Some(SSL | GSS_ENCRYPTION))
}

/// Which statements and portals of a connection commit.
#[derive(Debug, Default)]
pub(super) struct Commits {
    statements: HashSet<Vec<u8>>,
    portals: HashSet<Vec<u8>>,
}

impl Commits {
    /// Whether a message of the client's commits.
    pub(super) fn in_message(&mut self, message: &[u8]) -> bool {
        let (kind, rest) = (message[0], &message[5..]);
        let mut texts = rest.split(|byte| *byte == 0);
        let mut text = || texts.next().unwrap_or_default();
        match kind {
            b'Q' => commits(text()),
            b'P' => {
                let (statement, sql) = (text(), text());
                remember(&mut self.statements, statement, commits(sql));
                false
            }
            b'B' => {
                let (portal, statement) = (text(), text());
                remember(&mut self.portals, portal, self.statements.contains(statement));
                false
            }
            b'E' => self.portals.contains(text()),
            _ => false,
        }
    }
}

fn remember(names: &mut HashSet<Vec<u8>>, name: &[u8], commits: bool) {
    if commits {
        names.insert(name.to_owned());
    } else {
        names.remove(name);
    }
}

/// Whether one of these statements is a COMMIT.
fn commits(sql: &[u8]) -> bool {
    let sql = String::from_utf8_lossy(sql);
    sql.split(';').any(|statement| {
        let word = statement.trim_start().get(..6);
        word.is_some_and(|word| word.eq_ignore_ascii_case("COMMIT"))
    })
}

/// What the server's messages say of a COMMIT; none where this one says nothing.
pub(super) fn committed(message: &[u8]) -> Option<bool> {
    match (message[0], &message[5..]) {
        (b'C', b"COMMIT\0") => Some(true),
        (b'C', b"ROLLBACK\0") | (b'E', _) => Some(false),
        _ => None,
    }
}

#[tokio::test]
async fn a_commit_is_seen_in_every_form_and_however_it_is_cut() {
    let message = |kind: u8, rest: &[u8]| {
        let length = u32::try_from(rest.len() + 4).expect("short").to_be_bytes();
        [&[kind], &length[..], rest].concat()
    };
    let messages = [
        (message(b'Q', b"BEGIN\0"), false),
        (message(b'Q', b"INSERT INTO outcome VALUES ('x'); COMMIT\0"), true),
        (message(b'Q', b"SET synchronous_commit = on\0"), false),
        (message(b'P', b"one\0 commit\0\0\0"), false),
        (message(b'P', b"two\0SELECT 'commit'\0\0\0"), false),
        (message(b'B', b"\0one\0\0\0\0\0\0\0"), false),
        (message(b'E', b"\0\0\0\0\0"), true),
        (message(b'B', b"\0two\0\0\0\0\0\0\0"), false),
        (message(b'E', b"\0\0\0\0\0"), false),
    ];
    let all: Vec<u8> = messages.iter().flat_map(|(message, _)| message.clone()).collect();
    for size in [1, 2, 7, all.len()] {
        let (mut writer, reader) = tokio::io::duplex(size);
        let write = async {
            writer.write_all(&all).await.expect("the reader lives");
            drop(writer);
        };
        let read = async {
            let (mut source, mut seen) = (Messages::of(reader), Commits::default());
            for (message, is_commit) in &messages {
                let read = source.next().await.expect("a message");
                assert_eq!(read, message);
                assert_eq!(seen.in_message(&read), *is_commit, "{message:?}");
            }
            assert!(source.next().await.is_err());
        };
        tokio::join!(write, read);
    }
    assert_eq!(committed(&message(b'C', b"COMMIT\0")), Some(true));
    assert_eq!(committed(&message(b'C', b"INSERT 0 1\0")), None);
}
