//! The work site in a document; and a signature does not change the copy that was sent.

use std::sync::{Arc, Mutex};

use invoicing_core::{
    ClientChange, CompanyIdentity, EInvoicing, NewClient, NewCompany, NewQuote, Plan, QuoteStatus,
};
use invoicing_server::{
    CompanyHandle, ContentHash, Decline, DocumentFacts, DocumentInput, DocumentRef, DocumentRenderer, Error,
    Invoicing, MemoryStore, RenderError, Signature,
};
use invoicing_tests::{Database, Place, World, legal_identity, new_quote, on_each_database};

use crate::support::hooked_store::HookedStore;
use crate::support::{date, refused, signature};

/// The input of a renderer, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    facts: DocumentFacts,
    signed: bool,
    sent_copy: Option<(String, ContentHash, Vec<u8>)>,
}

/// Writes down what it is given.
#[derive(Default)]
struct Recording(Mutex<Vec<Seen>>);

impl DocumentRenderer for Recording {
    fn render(&self, input: &DocumentInput<'_>) -> Result<Vec<u8>, RenderError> {
        let DocumentRef::Quote { quote, sent_copy } = input.record else { panic!("no quote: {input:?}") };
        let seen = Seen {
            facts: input.facts.clone(),
            signed: quote.detail.signature.is_some(),
            sent_copy: sent_copy.map(|copy| (copy.file_name.to_owned(), copy.sha256, copy.bytes.to_vec())),
        };
        let bytes = format!("{seen:?}").into_bytes();
        self.0.lock().unwrap().push(seen);
        Ok(bytes)
    }
}

impl Recording {
    fn last(&self) -> Seen {
        self.0.lock().unwrap().last().unwrap().clone()
    }
}

struct Shop {
    invoicing: Invoicing,
    company: CompanyHandle,
    renderer: Arc<Recording>,
    _place: Place,
}

fn identity(address: &str) -> CompanyIdentity {
    // As it is stored.
    legal_identity().address(address).e_invoicing(EInvoicing::Off).check().expect("an identity")
}

async fn shop(db: Database) -> Shop {
    let place = Place::new(db).await;
    let renderer = Arc::new(Recording::default());
    let invoicing = place
        .builder()
        .renderer(renderer.clone())
        .document_store(Arc::new(MemoryStore::new()))
        .open()
        .await
        .unwrap();
    let new = NewCompany {
        identity: identity("1 rue du Départ"),
        ..NewCompany::named("Martin Peinture", Plan::Team)
    };
    let company = invoicing.companies().create(&new).await.unwrap();
    let company = invoicing.company(company.id);
    Shop { invoicing, company, renderer, _place: place }
}

/// Rules: EVIDENCE-6, DOCUMENT-18
#[on_each_database]
async fn the_signed_copy_says_what_the_sent_one_said_and_is_given_it(db: Database) {
    let Shop { invoicing, company, renderer, _place } = shop(db).await;
    let client = NewClient {
        address: Some("2 rue Haute".into()),
        zip_code: Some("44000".into()),
        city: Some("Nantes".into()),
        phone: Some("06 12 34 56 78".into()),
        ..NewClient::named("Lefèvre")
    };
    let client = company.clients().create(&client).await.unwrap();
    let new = NewQuote { work_site: Some("Chantier, 3 quai Bas".into()), ..new_quote(client.id) };
    let quote = company.quotes().create(&new).await.unwrap();
    company.quotes().send(quote.summary.id, None).await.unwrap();
    let sent = renderer.last();
    assert_eq!(sent.facts.work_site.as_deref(), Some("Chantier, 3 quai Bas"));
    let buyer = &sent.facts.parties.buyer;
    assert_eq!(buyer.postal_address().as_deref(), Some("2 rue Haute\n44000 Nantes"));
    assert_eq!(buyer.phone.as_deref(), Some("06 12 34 56 78"));
    assert_eq!((sent.signed, &sent.sent_copy), (false, &None));

    // Everything moves between sending and signing.
    company.set_identity(&identity("9 avenue d'Ailleurs")).await.unwrap();
    let moved = ClientChange {
        name: "Lefèvre".into(),
        address: Some("99 route Neuve".into()),
        ..ClientChange::default()
    };
    company.clients().change(client.id, &moved).await.unwrap();
    let copy = company.quotes().open_document(quote.summary.id).await.unwrap();
    let token = company.quotes().create_signing_link(quote.summary.id).await.unwrap();
    invoicing.signing_links().sign(token.reveal(), &signature()).await.unwrap();

    let hash = ContentHash::of(&copy.bytes);
    let expected =
        Seen { signed: true, sent_copy: Some((copy.file_name.clone(), hash, copy.bytes.to_vec())), ..sent };
    assert_eq!(renderer.last(), expected);
    assert_eq!(
        company.quotes().proof(quote.summary.id).await.unwrap().unwrap().document_sha256,
        hash.to_string()
    );
}

/// Rules: QUOTE-8
#[on_each_database]
async fn sending_again_says_what_holds_by_then(db: Database) {
    let Shop { company, renderer, _place, .. } = shop(db).await;
    let client = company.clients().create(&NewClient::named("Lefèvre")).await.unwrap();
    let quote = company.quotes().create(&new_quote(client.id)).await.unwrap();
    company.quotes().send(quote.summary.id, None).await.unwrap();
    company.quotes().reject(quote.summary.id).await.unwrap();
    company.set_identity(&identity("9 avenue d'Ailleurs")).await.unwrap();
    let until = company.quotes().get(quote.summary.id).await.unwrap().summary.valid_until;
    company.quotes().send(quote.summary.id, until).await.unwrap();
    assert_eq!(renderer.last().facts.parties.seller.identity, identity("9 avenue d'Ailleurs"));
}

#[on_each_database]
async fn a_work_site_is_entered_edited_and_never_shown_by_the_api(db: Database) {
    let world = World::new(db).await;
    let quotes = world.company.quotes();
    let client = world.client("Lefèvre").await;
    let with = |site: &str| NewQuote { work_site: Some(site.into()), ..new_quote(client) };
    let quote = quotes.create(&with("  3 quai Bas\n75001 Paris ")).await.unwrap();
    assert_eq!(quotes.work_site(quote.summary.id).await.unwrap().as_deref(), Some("3 quai Bas\n75001 Paris"));
    let detail = world.get(&format!("/api/v1/quotes/{}", quote.summary.id)).await;
    assert!(!String::from_utf8_lossy(&detail.bytes).contains("quai Bas"));
    assert!(detail.json.get("workSite").is_none());

    // The API does not show it, so that nothing was modified in the eyes of `since`.
    let edited = quotes.edit(quote.summary.id, &with("4 quai Haut")).await.unwrap();
    assert_eq!(edited, quote);
    assert_eq!(quotes.work_site(quote.summary.id).await.unwrap().as_deref(), Some("4 quai Haut"));
    quotes.edit(quote.summary.id, &new_quote(client)).await.unwrap();
    assert_eq!(quotes.work_site(quote.summary.id).await.unwrap(), None);

    let long = "x".repeat(2_001);
    for refusal in [
        refused(&world, "a long site", quotes.create(&with(&long))).await,
        refused(&world, "a long site", quotes.edit(quote.summary.id, &with(&long))).await,
    ] {
        assert!(matches!(&refusal, Error::Invalid(invalid) if invalid.field == "workSite"), "{refusal:?}");
    }
    let (other, _) = world.another("Autre", Plan::Team).await;
    assert!(matches!(other.quotes().work_site(quote.summary.id).await, Err(Error::NotFound)));
}

#[on_each_database]
async fn what_cannot_be_shown_any_more_cannot_be_signed(db: Database) {
    let world = World::new(db).await;
    let sent = world.sent().await;
    let quotes = world.company.quotes();
    let token = quotes.create_signing_link(sent.summary.id).await.unwrap();
    world.documents.fail(true);
    let links = world.invoicing.signing_links();
    let refusal = refused(&world, "sign", links.sign(token.reveal(), &signature())).await;
    assert!(matches!(refusal, Error::StorageUnavailable(_)), "{refusal:?}");
    world.documents.fail(false);
    links.sign(token.reveal(), &signature()).await.unwrap();
}

/// Rules: QUOTE-15
#[on_each_database]
async fn only_the_document_that_was_shown_is_signed(db: Database) {
    let world = World::new(db).await;
    let sent = world.sent().await;
    let quotes = world.company.quotes();
    let token = quotes.create_signing_link(sent.summary.id).await.unwrap();
    let links = world.invoicing.signing_links();
    let shown = links.document(token.reveal()).await.unwrap().sha256;
    quotes.reject(sent.summary.id).await.unwrap();
    world.company.set_identity(&identity("9 avenue d'Ailleurs")).await.unwrap();
    quotes.send(sent.summary.id, sent.summary.valid_until).await.unwrap();
    let stale = Decline::default().document_sha256(&shown);
    let refusal = refused(&world, "decline", links.decline(token.reveal(), &stale)).await;
    assert!(matches!(refusal, Error::Conflict(_)), "{refusal:?}");
    let stale = Signature { document_sha256: Some(shown), ..signature() };
    let refusal = refused(&world, "sign", links.sign(token.reveal(), &stale)).await;
    assert!(matches!(refusal, Error::Conflict(_)), "{refusal:?}");
    let shown = links.document(token.reveal()).await.unwrap().sha256;
    let fresh = Signature { document_sha256: Some(shown), ..signature() };
    links.sign(token.reveal(), &fresh).await.unwrap();
}

/// Rules: QUOTE-15
#[on_each_database]
async fn what_is_sent_again_while_a_signature_is_made_is_not_signed_instead(db: Database) {
    let (world, store) = HookedStore::world(db).await;
    let sent = world.sent().await;
    let id = sent.summary.id;
    let token = world.company.quotes().create_signing_link(id).await.unwrap();
    let links = world.invoicing.signing_links();
    let shown = links.document(token.reveal()).await.unwrap().sha256;
    // The signed copy is stored already, as the quote is refused and sent again.
    let company = world.company.clone();
    store.happens_next(1, move || {
        let company = company.clone();
        Box::pin(async move {
            company.quotes().reject(id).await.unwrap();
            company.quotes().send(id, Some(date("2026-12-24"))).await.unwrap();
        })
    });
    let stale = signature().document_sha256(&shown);
    let refusal = links.sign(token.reveal(), &stale).await.unwrap_err();
    assert!(matches!(refusal, Error::Conflict(_)), "{refusal:?}");
    let quote = world.company.quotes().get(id).await.unwrap();
    assert_eq!((quote.summary.status, quote.detail.signature), (QuoteStatus::Sent, None));
    assert_ne!(links.document(token.reveal()).await.unwrap().sha256, shown);
}
