//! Sees a COMMIT pass, and what became of it.

use std::collections::HashSet;

use invoicing_tests::postgres::protocol::Messages;
use tokio::io::AsyncWriteExt;

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

/// The result of a COMMIT by a message of the server; `None` for a message about something else.
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
