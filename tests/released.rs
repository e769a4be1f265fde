//! What a release leaves behind for later versions: databases of it, which they open with the same answers.

mod recording;

use invoicing_core::{InvoiceId, QuoteId};
use invoicing_server::Decline;
use invoicing_tests::{Database, Release, World, on_each_database};

#[on_each_database]
async fn a_recorded_database_is_opened_with_the_same_answers_and_goes_on(db: Database) {
    let folder = tempfile::tempdir().unwrap();
    recording::record(db, &folder.path().join(db.either("sqlite", "postgres"))).await;
    let release = Release::read(db, folder.path());
    let world = World::of_release(&release).open().await;
    let answers = release.answers();
    assert!(answers.len() > 20, "{} answers", answers.len());
    for (path, recorded) in answers {
        let answer = world.get(&path).await;
        assert_eq!(answer.json, recorded, "{path}");
    }
    let quote: QuoteId = release.fact("/quotes/signed");
    let document = world.company.quotes().open_document(quote).await.unwrap();
    assert_eq!(document.sha256, world.company.quotes().documents(quote).await.unwrap().pop().unwrap().sha256);
    let token: String = release.fact("/signingToken");
    world.invoicing.signing_links().decline(&token, &Decline::default()).await.unwrap();
    let (draft, sent): (InvoiceId, InvoiceId) =
        (release.fact("/invoices/draft"), release.fact("/invoices/sent"));
    let invoices = world.company.invoices();
    let numbers = [sent, draft].map(async |id| invoices.issue(id, None).await);
    let [sent, draft] = numbers;
    assert!(sent.await.is_err(), "it is issued already");
    let number = draft.await.unwrap().summary.number.unwrap();
    assert!(number.ends_with("-0010"), "{number} follows the last recorded one");
}
