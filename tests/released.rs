//! The databases that a release leaves behind for later versions, which open them with the same answers.

mod recording;

use invoicing_core::{InvoiceId, QuoteId};
use invoicing_server::Decline;
use invoicing_tests::{Database, Release, World, on_each_database};
use serde_json::Value;

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
    let invoices = release.fact::<Value>("/answers/~1api~1v1~1invoices?limit=100");
    let is_issued = |invoice: &&Value| !invoice["number"].is_null();
    let issued = invoices["data"].as_array().unwrap().iter().filter(is_issued).count();
    let draft: InvoiceId = release.fact("/invoices/draft");
    let number = world.company.invoices().issue(draft, None).await.unwrap().summary.number.unwrap();
    assert!(issued > 5 && number.ends_with(&format!("-{:04}", issued + 1)), "{number} follows {issued}");
}
