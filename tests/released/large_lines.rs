//! Large lines, which the first release kept in their rows.

use bytes::Bytes;
use invoicing_tests::{Database, Place, Release, World, on_each_database};
use uuid::Uuid;

/// A database of the first release in which some documents have large lines.
pub(crate) struct Enlarged {
    pub(crate) release: Release,
    /// The list of each document, its id, and its lines as they are stored.
    documents: Vec<(&'static str, Uuid, String)>,
}

impl Enlarged {
    /// Not opened yet.
    pub(crate) async fn new(db: Database) -> (Self, Place) {
        let release = Release::all(db).remove(0);
        let place = Place::of_release(&release).await;
        let mut behind = place.behind().await;
        let mut documents = Vec::new();
        for (list, fact, bytes) in [
            ("quotes", "/quotes/draft", 8_192),
            ("quotes", "/quotes/sent", 8_193),
            ("quotes", "/quotes/signed", 3_000_000),
            ("invoices", "/invoices/paid", 8_193),
            ("invoices", "/invoices/overpaid", 3_000_000),
        ] {
            let (id, lines): (Uuid, _) = (release.fact(fact), lines(bytes));
            let update = format!("UPDATE {} SET lines = $2 WHERE id = $1", list.trim_end_matches('s'));
            assert_eq!(behind.run(&update, &[id.into(), (&*lines).into()]).await, 1);
            documents.push((list, id, lines));
        }
        (Self { release, documents }, place)
    }

    /// Every way to read them shows the lines, byte for byte.
    pub(crate) async fn check(&self, get: impl AsyncFn(&str) -> Bytes) {
        for (list, id, lines) in &self.documents {
            for path in [format!("{list}/{id}"), format!("{list}?include=lines&limit=100")] {
                let answer = get(&format!("/api/v1/{path}")).await;
                let shown = str::from_utf8(&answer).unwrap().contains(&format!(",\"lines\":{lines}"));
                assert!(shown, "{path}: {} bytes of lines are not as they were", lines.len());
            }
        }
    }
}

/// The JSON of one line, of so many bytes.
fn lines(bytes: usize) -> String {
    let (start, end) = (
        "[{\"description\":\"",
        "\",\"quantity\":1,\"unit\":null,\"unitPrice\":10,\"totalHT\":10,\"tvaRate\":20,\"lot\":null,\"section\":null}]",
    );
    [start, &"x".repeat(bytes - start.len() - end.len()), end].concat()
}

/// Rules: STORED-1, STORED-2
#[on_each_database]
async fn large_lines_of_the_first_release_stay_as_they_are(db: Database) {
    let (enlarged, place) = Enlarged::new(db).await;
    let world = World::of_release(&enlarged.release).place(place).open().await;
    let get = async |path: &str| world.get(path).await.bytes;
    enlarged.check(get).await;
    assert!(world.invoicing.sweep().await.unwrap().rewritten_records > 0);
    enlarged.check(get).await;
}
