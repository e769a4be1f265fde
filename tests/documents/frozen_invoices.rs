//! Failures while an invoice or a credit note is issued: nothing is issued, no number is used, and what is issued shows
//! the data of its commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::LocalBoxFuture;
use invoicing_core::{DocumentFormat, EInvoicing, Invoice, InvoiceId, NewClient, NewCreditNote, Plan};
use invoicing_server::{
    CompanyHandle, DocumentInput, DocumentKind, DocumentRenderer, Error, PdfRenderer, RenderError,
};
use invoicing_tests::{Database, World, legal_identity, on_each_database};

use super::invoices::{content, text_of};
use crate::support::hooked_store::HookedStore;
use crate::support::{
    client_of, invalid, issued_over, not_found, nothing_happens, quote_at, refusals, refused,
};

/// A draft, and two issued invoices: the numbers that are next are `FAC-…-0003` and `AVO-…-0001`.
struct Cast {
    draft: InvoiceId,
    canceled: InvoiceId,
    credited: InvoiceId,
}

impl Cast {
    async fn of(company: &CompanyHandle) -> Self {
        let content = quote_at(client_of(company).await, "100");
        let draft = company.invoices().create_direct(&content).await.unwrap().summary.id;
        let canceled = issued_over(company, "100").await.summary.id;
        Self { draft, canceled, credited: issued_over(company, "100").await.summary.id }
    }

    /// Each change that freezes an invoice or a credit note.
    fn changes<'a>(
        &'a self,
        company: &'a CompanyHandle,
    ) -> [(&'static str, LocalBoxFuture<'a, Result<(), Error>>); 4] {
        let part =
            || NewCreditNote::new("Moins").quantity(0, "0.5".parse::<invoicing_core::Quantity>().unwrap());
        let (issue, mark_paid) =
            (async { company.invoices().issue(self.draft, None).await.map(drop) }, async {
                company.invoices().mark_paid(self.draft).await.map(drop)
            });
        let cancel = async { company.invoices().cancel(self.canceled).await.map(drop) };
        let credit = async move { company.invoices().credit(self.credited, &part()).await.map(drop) };
        [
            ("issue", Box::pin(issue)),
            ("mark paid", Box::pin(mark_paid)),
            ("cancel", Box::pin(cancel)),
            ("credit", Box::pin(credit)),
        ]
    }

    /// All of it works, with the numbers that were next.
    async fn succeeds(&self, company: &CompanyHandle) {
        let invoices = company.invoices();
        let issued = invoices.issue(self.draft, None).await.unwrap().summary.number.unwrap();
        assert!(issued.starts_with("FAC-") && issued.ends_with("-0003"), "{issued}");
        let canceled = invoices.cancel(self.canceled).await.unwrap().detail.credit_notes;
        assert!(
            canceled[0].number.starts_with("AVO-") && canceled[0].number.ends_with("-0001"),
            "{canceled:?}"
        );
        let credited = invoices.credit(self.credited, &NewCreditNote::of_remaining("Erreur")).await.unwrap();
        assert!(credited.summary.number.ends_with("-0002"), "{credited:?}");
        for id in [self.draft, self.canceled, self.credited] {
            invoices.open_document(id).await.unwrap();
        }
        for id in [canceled[0].id, credited.summary.id] {
            company.credit_notes().open_document(id).await.unwrap();
        }
    }
}

/// Rules: DOCUMENT-22, NUMBER-3, NUMBER-8
#[on_each_database]
async fn a_store_that_fails_refuses_each_issue_without_a_trace(db: Database) {
    let world = World::new(db).await;
    let cast = Cast::of(&world.company).await;
    world.documents.fail(true);
    for (what, change) in cast.changes(&world.company) {
        let error = refused(&world, what, change).await;
        assert!(matches!(error, Error::StorageUnavailable(_)), "{what}: {error:?}");
    }
    world.documents.fail(false);
    cast.succeeds(&world.company).await;
}

/// Four companies, as the issues of one company wait for each other.
///
/// Rules: ERROR-17, DOCUMENT-22, NUMBER-3
#[on_each_database]
async fn a_hanging_store_refuses_each_issue_within_five_seconds(db: Database) {
    let world = World::new(db).await;
    let mut companies = vec![world.company.clone()];
    for name in ["Deux", "Trois", "Quatre"] {
        companies.push(world.another(name, Plan::Team).await.0);
    }
    let mut casts = Vec::new();
    for company in &companies {
        casts.push(Cast::of(company).await);
    }
    world.documents.hang(true);
    let before = world.dump().await;
    let begun = Instant::now();
    // A different change in each company.
    let changes = companies.iter().zip(&casts).enumerate();
    let changes = changes.map(|(n, (company, cast))| cast.changes(company).into_iter().nth(n).unwrap());
    let stuck =
        futures_util::future::join_all(changes.map(|(what, change)| async move { (what, change.await) }));
    let others = async {
        for _ in 0..20 {
            world.company.invoices().get(casts[0].draft).await.unwrap();
            world.company.keys().issue("meanwhile").await.unwrap();
        }
        begun.elapsed()
    };
    let (outcomes, others) = tokio::join!(stuck, others);
    assert!(others < Duration::from_secs(4), "writers waited for the document store: {others:?}");
    for (what, outcome) in outcomes {
        assert!(matches!(outcome, Err(Error::StorageUnavailable(_))), "{what}: {outcome:?}");
    }
    // 4.5 s for the store, and something for a busy machine.
    assert!((4..8).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
    assert_eq!(world.dump().await, before);
    world.documents.hang(false);
    for (company, cast) in companies.iter().zip(&casts) {
        cast.succeeds(company).await;
    }
}

/// Renders as the service does, unless it is told to refuse invoices and credit notes.
struct Moody(Arc<AtomicBool>);

impl DocumentRenderer for Moody {
    fn render(&self, input: &DocumentInput<'_>) -> Result<Vec<u8>, RenderError> {
        if input.record.kind() != DocumentKind::Quote && self.0.load(Ordering::SeqCst) {
            return Err(RenderError::new("the printer is on fire"));
        }
        PdfRenderer::new().render(input)
    }
}

/// Rules: DOCUMENT-22, NUMBER-3, NUMBER-8
#[on_each_database]
async fn a_renderer_that_fails_refuses_each_issue_without_a_trace(db: Database) {
    let refuses = Arc::new(AtomicBool::new(false));
    let renderer = Arc::new(Moody(Arc::clone(&refuses)));
    let world = World::new(db).await.reopen_with(|builder| builder.renderer(renderer)).await;
    let cast = Cast::of(&world.company).await;
    refuses.store(true, Ordering::SeqCst);
    for (what, change) in cast.changes(&world.company) {
        let error = refused(&world, what, change).await;
        assert!(matches!(error, Error::Internal(_)), "{what}: {error:?}");
    }
    refuses.store(false, Ordering::SeqCst);
    cast.succeeds(&world.company).await;
}

/// Rules: DOCUMENT-15, NUMBER-3, NUMBER-8
#[on_each_database]
async fn a_text_that_no_font_has_is_refused_by_name_and_uses_no_number(db: Database) {
    let world = World::new(db).await;
    let cast = Cast::of(&world.company).await;
    let (invoices, clients) = (world.company.invoices(), world.company.clients());
    let client = invoices.get(cast.draft).await.unwrap().summary.client_id;
    // The quote could be printed when it was accepted.
    clients.change(client, &NewClient::named("Client").country("GF").address("1 rue 電")).await.unwrap();
    let missing = refusals(nothing_happens(&world, invoices.readiness(cast.draft)).await);
    let gaps: Vec<_> = missing.iter().map(|gap| (gap.field.as_str(), gap.rule)).collect();
    assert_eq!(gaps, [("client.address", "TEXT")]);
    assert!(missing[0].english.contains("“電” U+96FB (character 7)"), "{}", missing[0].english);
    invalid(&world, "client.address", invoices.issue(cast.draft, None)).await;
    invalid(&world, "client.address", invoices.mark_paid(cast.draft)).await;
    clients.change(client, &NewClient::named("Client").country("GF").address("1 rue Neuve")).await.unwrap();
    cast.succeeds(&world.company).await;
    // No text keeps a credit note from being issued: a box stands for the character.
    let other = issued_over(&world.company, "100").await.summary.id;
    let note = invoices.credit(other, &NewCreditNote::of_remaining("Gaine 電")).await.unwrap().summary;
    assert!(note.number.ends_with("-0003") && note.reason.ends_with('電'), "{note:?}");
    world.company.credit_notes().open_document(note.id).await.unwrap();
}

/// An issue during which something happens, once its first document is stored.
async fn issued_while(
    world: &World,
    store: &HookedStore,
    draft: InvoiceId,
    change: impl Fn(CompanyHandle) -> futures_util::future::BoxFuture<'static, ()> + Send + Sync + 'static,
) -> Invoice {
    let company = world.company.clone();
    let before = store.memory.count();
    store.happens_next(1, move || change(company.clone()));
    let issued = world.company.invoices().issue(draft, None).await.unwrap();
    store.nothing_happens();
    assert_eq!(store.memory.count(), before + 2, "a document of the old data and one of the new");
    issued
}

/// Rules: DOCUMENT-24, NUMBER-3
#[on_each_database]
async fn a_change_of_the_company_while_it_renders_is_in_the_document(db: Database) {
    let (world, store) = HookedStore::world(db).await;
    let draft =
        world.company.invoices().create_direct(&content(&world, &NewClient::named("Claire")).await).await;
    let draft = draft.unwrap().summary.id;
    let issued = issued_while(&world, &store, draft, |company| {
        Box::pin(async move {
            let moved = legal_identity().address("9 avenue Ailleurs").e_invoicing(EInvoicing::Off);
            company.set_identity(&moved).await.unwrap();
        })
    });
    let issued = issued.await.summary;
    assert!(issued.number.unwrap().ends_with("-0001"));
    assert_eq!(issued.document_format.unwrap(), DocumentFormat::Pdf);
    let document = world.company.invoices().open_document(draft).await.unwrap();
    if let Some(text) = text_of(&document.bytes) {
        assert!(text.contains("9 avenue Ailleurs"), "{text}");
    }
}

/// Rules: DOCUMENT-24, NUMBER-3, INVOICE-25
#[on_each_database]
async fn a_change_of_the_client_while_it_renders_is_in_the_document(db: Database) {
    let (world, store) = HookedStore::world(db).await;
    let content = content(&world, &NewClient::named("Claire").address("1 rue Vieille")).await;
    let (client, invoices) = (content.client_id, world.company.invoices());
    let draft = invoices.create_direct(&content).await.unwrap().summary.id;
    let issued = issued_while(&world, &store, draft, move |company| {
        Box::pin(async move {
            let moved = NewClient::named("Claire Lenoir").address("2 rue Neuve");
            company.clients().change(client, &moved).await.unwrap();
        })
    });
    let issued = issued.await.summary;
    assert!(issued.number.unwrap().ends_with("-0001"));
    let document = invoices.open_document(draft).await.unwrap();
    let Some(text) = text_of(&document.bytes) else { return };
    assert!(text.contains("2 rue Neuve") && !text.contains("1 rue Vieille"), "{text}");
    assert!(
        text.contains(&issued.client_name),
        "the document and the record name {}: {text}",
        issued.client_name
    );
}

/// A credit note repeats its invoice, so that a change of the client in between is none of its data.
///
/// Rules: DOCUMENT-24, DOCUMENT-26, NUMBER-8
#[on_each_database]
async fn a_credit_note_is_rendered_once_whatever_changes_meanwhile(db: Database) {
    let (world, store) = HookedStore::world(db).await;
    let invoices = world.company.invoices();
    let content = content(&world, &NewClient::named("Claire").address("1 rue Vieille")).await;
    let client = content.client_id;
    let draft = invoices.create_direct(&content).await.unwrap().summary.id;
    invoices.issue(draft, None).await.unwrap();
    let (company, before) = (world.company.clone(), store.memory.count());
    store.happens_next(1, move || {
        let company = company.clone();
        Box::pin(async move {
            let moved = NewClient::named("Claire").address("2 rue Neuve");
            company.clients().change(client, &moved).await.unwrap();
            company.set_identity(&legal_identity()).await.unwrap();
        })
    });
    let note = invoices.credit(draft, &NewCreditNote::of_remaining("Erreur")).await.unwrap().summary;
    assert_eq!(store.memory.count(), before + 1, "one document");
    assert!(note.number.ends_with("-0001"));
    let document = world.company.credit_notes().open_document(note.id).await.unwrap();
    if let Some(text) = text_of(&document.bytes) {
        assert!(text.contains("1 rue Vieille") && !text.contains("2 rue Neuve"), "{text}");
    }
}

/// Payments while a credit note renders make it render again: what is overpaid follows from what is paid.
///
/// Rules: CREDIT-7, NUMBER-8
#[on_each_database]
async fn a_payment_while_an_invoice_is_cancelled_keeps_it(db: Database) {
    let (world, store) = HookedStore::world(db).await;
    let invoice = issued_over(&world.company, "100").await.summary.id;
    let company = world.company.clone();
    store.happens_next(1, move || {
        let company = company.clone();
        Box::pin(async move {
            let payment = crate::support::payment("30", None);
            company.invoices().pay(invoice, &payment).await.unwrap();
        })
    });
    let invoices = world.company.invoices();
    let refusal = invoices.cancel(invoice).await.unwrap_err();
    assert!(matches!(refusal, Error::Conflict(_)), "{refusal:?}");
    let after = invoices.get(invoice).await.unwrap();
    assert_eq!((after.summary.status.as_str(), after.detail.credit_notes.len()), ("SENT", 0));
    not_found(&world, "absent", invoices.cancel(InvoiceId(uuid::Uuid::nil()))).await;
    let part =
        NewCreditNote::new("Remise").reduction("Remise", 0, "10".parse::<invoicing_core::Money>().unwrap());
    let note = invoices.credit(invoice, &part).await.unwrap();
    assert!(note.summary.number.ends_with("-0001"), "{note:?}");
}
