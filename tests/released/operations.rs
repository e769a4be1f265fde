//! Every operation on an older database. A unit test of this package looks for the call of each operation in this file.

use std::time::Duration;

use invoicing_core::{
    ClientChange, ClientId, CompanyIdentity, DeliveryStatus, EventKind, InvoiceId, InvoiceStatus, KeyId,
    NewClient, NewCompany, NewCreditNote, Plan, ProjectId, ProjectStatus, QuoteId, QuoteImport, QuoteStatus,
    Timestamp, WebhookId,
};
use invoicing_server::{
    ClientQuery, CreditNoteQuery, Decline, DeliveryQuery, EventQuery, HistoryQuery, IssueOptions, NewPayment,
    NewProject, NewWebhook, PageQuery, PaymentSource, QuoteSearch, SealingKey, SealingKeys, WebhookChange,
};
use invoicing_tests::{Database, Received, Receiver, Release, World, new_quote, on_each_database};
use serde_json::Value;
use webhook_verify::Verifier;

use crate::support::{payment, signature};

#[on_each_database]
async fn every_operation_works_on_a_database_of_an_earlier_version(db: Database) {
    for release in Release::all(db) {
        let world = World::of_release(&release).open().await;
        // First, as the others emit events.
        deliveries_go_on(&world, &release).await;
        webhooks_are_managed(&world, &release).await;
        clients_and_projects(&world, &release).await;
        quotes_go_on(&world, &release).await;
        quotes_are_shown(&world, &release).await;
        quotes_are_signed(&world, &release).await;
        invoices_go_on(&world, &release).await;
        invoices_get_documents(&world, &release).await;
        companies_and_keys(&world, &release).await;
        secrets_are_resealed(&world, &release).await;
        company_is_closed(&world).await;
    }
}

/// A registration of before means the kinds of then, also once its URL has changed.
///
/// Rules: EVENT-11
#[on_each_database]
async fn a_webhook_of_an_earlier_version_gets_no_later_kind(db: Database) {
    for release in Release::all(db) {
        let world = World::of_release(&release).open().await;
        let (webhooks, invoices) = (world.company.webhooks(), world.company.invoices());
        let (active, receiver) = (release.fact::<WebhookId>("/webhooks/active"), Receiver::start().await);
        let to_receiver = WebhookChange { url: Some(receiver.url.clone()), ..WebhookChange::default() };
        webhooks.change(active, &to_receiver).await.unwrap();
        world.advance(Duration::from_secs(40));
        world.dispatch().await;
        receiver.take();
        let draft = invoices.direct(&new_quote(release.fact("/client"))).await.unwrap().summary.id;
        invoices.mark_paid(draft).await.unwrap();
        invoices.credit(draft, &NewCreditNote::of_the_rest("Erreur")).await.unwrap();
        world.dispatch().await;
        let mut kinds: Vec<String> = Vec::new();
        for delivery in receiver.take() {
            kinds.push(delivery.json["event"].as_str().unwrap().to_owned());
        }
        kinds.sort_unstable();
        assert_eq!(kinds, ["invoice.created", "invoice.paid", "quote.accepted", "quote.created"]);
        let emitted = world.company.events().list(None, 1_000).await.unwrap();
        for later in ["invoice.issued", "credit_note.issued"] {
            let of_kind: Vec<_> = emitted.iter().filter(|event| event.kind == later).collect();
            assert_eq!(of_kind.len(), 1, "{later}");
            assert!(world.company.events().deliveries(of_kind[0].id).await.unwrap().is_empty(), "{later}");
        }
    }
}

/// The number behind the last dash.
fn sequence(number: &str) -> u64 {
    number.rsplit('-').next().unwrap().parse().unwrap()
}

fn check_signatures(received: &[Received], secret: &str) {
    let verifier = Verifier::new(secret).unwrap();
    for delivery in received {
        let header = delivery.headers["x-service-signature"].as_bytes();
        let signed_at = std::str::from_utf8(header).unwrap()[2..].split(',').next().unwrap().parse().unwrap();
        verifier.verify(header, &delivery.body, signed_at).unwrap();
    }
}

/// Waiting deliveries are delivered, failed or skipped ones when they are replayed.
async fn deliveries_go_on(world: &World, release: &Release) {
    let (webhooks, events) = (world.company.webhooks(), world.company.events());
    let active: WebhookId = release.fact("/webhooks/active");
    let receiver = Receiver::start().await;
    let to_receiver = WebhookChange { url: Some(receiver.url.clone()), ..WebhookChange::default() };
    webhooks.change(active, &to_receiver).await.unwrap();
    world.advance(Duration::from_secs(40));
    assert_eq!(world.dispatch().await.delivered, 2);
    assert_eq!(webhooks.replay(active, None).await.unwrap(), 1, "the one that had failed");
    assert_eq!(world.dispatch().await.delivered, 1);
    check_signatures(&receiver.take(), &release.fact::<String>("/webhooks/secret"));
    let disabled: WebhookId = release.fact("/webhooks/disabled");
    webhooks.change(disabled, &to_receiver).await.unwrap();
    assert_eq!(webhooks.enable_and_replay(disabled, None).await.unwrap(), 4);
    assert_eq!(world.dispatch().await.delivered, 4);
    let bodies: Vec<String> =
        events.list(None, 1_000).await.unwrap().into_iter().map(|event| event.body).collect();
    assert!(receiver.take().iter().all(|delivery| bodies.iter().any(|body| *body == delivery.body)));
    let page = webhooks.deliveries(active, &DeliveryQuery::default(), 100).await.unwrap();
    let delivered = page.items.iter().filter(|item| item.delivery.status == DeliveryStatus::Delivered);
    assert!(delivered.count() >= 3 && page.next.is_none(), "{page:?}");
    let latest = &page.items[0].delivery;
    let detail = webhooks.delivery(active, latest.event).await.unwrap();
    assert_eq!(detail.attempts.len(), latest.attempts as usize);
    assert_eq!(webhooks.count_replayable(active, Timestamp::EARLIEST).await.unwrap(), 0);
    assert_eq!(webhooks.replay_since(active, Timestamp::EARLIEST).await.unwrap(), 0);
    assert!(webhooks.day_counts().await.unwrap().webhooks.iter().any(|day| day.delivered > 0));
    assert!(webhooks.log(active, 100).await.unwrap().len() >= 8);
    let newest = events.page(&EventQuery::default(), 100).await.unwrap();
    assert_eq!(events.get(newest.items[0].id).await.unwrap().kind, newest.items[0].kind);
    assert!(newest.items.iter().any(|event| event.deliveries.delivered > 0));
    let first = &events.list(None, 1).await.unwrap()[0];
    assert!(events.deliveries(first.id).await.unwrap().is_empty(), "{first:?} is older than any webhook");
}

async fn webhooks_are_managed(world: &World, release: &Release) {
    let webhooks = world.company.webhooks();
    let active: WebhookId = release.fact("/webhooks/active");
    assert_eq!(webhooks.list().await.unwrap().len(), 2, "a removed one is not listed");
    let receiver = Receiver::start().await;
    let new = NewWebhook { url: receiver.url.clone(), events: EventKind::ALL.to_vec() };
    let registered = webhooks.register(&new).await.unwrap().webhook.id;
    let rotated = webhooks.rotate(registered).await.unwrap();
    webhooks.ping(registered).await.unwrap();
    assert_eq!(world.dispatch().await.delivered, 1);
    check_signatures(&receiver.take(), rotated.secret.reveal());
    webhooks.rotate_with_overlap(active, Duration::from_hours(1)).await.unwrap();
    webhooks.end_overlap(active).await.unwrap();
    webhooks.disable(active).await.unwrap();
    assert!(webhooks.get(active).await.unwrap().disabled.is_some());
    webhooks.enable(active).await.unwrap();
    webhooks.remove(active).await.unwrap();
    webhooks.get(active).await.unwrap_err();
}

async fn clients_and_projects(world: &World, release: &Release) {
    let (clients, projects) = (world.company.clients(), world.company.projects());
    let id: ClientId = release.fact("/client");
    let client = clients.get(id).await.unwrap();
    let page: Value = serde_json::from_slice(&clients.page(&ClientQuery::default()).await.unwrap()).unwrap();
    assert_eq!(page["data"].as_array().unwrap().len(), 3);
    let change = ClientChange { external_id: Some("crm-1".into()), ..NewClient::named("Renamed") };
    let changed = clients.change(id, &change).await.unwrap();
    assert_eq!((changed.created_at, changed.city), (client.created_at, None));
    let new = NewClient::named("New").external_id("crm-2");
    let created = clients.create(&new).await.unwrap();
    let found = clients.find_or_create(&new).await.unwrap();
    assert_eq!((found.client, found.created), (created, false));
    assert_eq!(clients.list(&ClientQuery::default()).await.unwrap().data.len(), 4);

    for (name, from, to) in [
        ("open", ProjectStatus::Open, ProjectStatus::Completed),
        ("completed", ProjectStatus::Completed, ProjectStatus::Open),
        ("canceled", ProjectStatus::Canceled, ProjectStatus::Completed),
    ] {
        let id: ProjectId = release.fact(&format!("/projects/{name}"));
        assert_eq!(projects.get(id).await.unwrap().status, from);
        assert_eq!(projects.set_status(id, to).await.unwrap().status, to);
    }
    let count = projects.list().await.unwrap().len();
    projects.create(&NewProject::named("New").client_id(id)).await.unwrap();
    assert_eq!(projects.list().await.unwrap().len(), count + 1);
}

async fn quotes_go_on(world: &World, release: &Release) {
    let quotes = world.company.quotes();
    let id = |name: &str| -> QuoteId { release.fact(&format!("/quotes/{name}")) };
    let client: ClientId = release.fact("/client");
    let listed = quotes.list(&PageQuery::default()).await.unwrap().data;
    let last = listed.iter().map(|quote| sequence(&quote.summary.number)).max().unwrap();
    let created = quotes.create(&new_quote(client)).await.unwrap();
    assert_eq!(sequence(&created.summary.number), last + 1);
    let edited = quotes.edit(id("draft"), &new_quote(client)).await.unwrap();
    assert_eq!(edited.summary.external_id.as_deref(), Some("deal-7"));
    quotes.link(id("draft"), Some("deal-9")).await.unwrap();
    assert_eq!(quotes.readiness(id("draft")).await.unwrap(), []);
    assert_eq!(quotes.send(id("draft"), None).await.unwrap().summary.status, QuoteStatus::Sent);
    assert_eq!(quotes.send(id("expired"), None).await.unwrap().summary.status, QuoteStatus::Sent);
    assert_eq!(quotes.reject(id("expired")).await.unwrap().summary.status, QuoteStatus::Rejected);
    let accepted = quotes.accept(id("expired")).await.unwrap();
    assert_eq!(accepted.summary.status, QuoteStatus::Accepted);
    assert_eq!(quotes.documents(id("expired")).await.unwrap().len(), 2);
    let import = QuoteImport { status: QuoteStatus::Accepted, sent_at: None, accepted_at: None };
    let imported = quotes.import(&new_quote(client), &import).await.unwrap();
    assert_eq!(sequence(&imported.summary.number), last + 2);
}

async fn quotes_are_shown(world: &World, release: &Release) {
    let quotes = world.company.quotes();
    let id: QuoteId = release.fact("/quotes/signed");
    let quote = quotes.get(id).await.unwrap();
    let found = quotes.search(&QuoteSearch::default().q(&*quote.summary.number), 10).await.unwrap();
    assert_eq!(found.items, std::slice::from_ref(&quote.summary));
    let detail: Value = serde_json::from_slice(&quotes.detail(id).await.unwrap()).unwrap();
    assert_eq!(detail, serde_json::to_value(&quote).unwrap());
    let page: Value = serde_json::from_slice(&quotes.page(&PageQuery::default()).await.unwrap()).unwrap();
    assert!(page["data"].as_array().unwrap().iter().any(|item| item["id"] == detail["id"]));
    assert_eq!(quotes.costings(id).await.unwrap().len(), quote.lines.len());
    assert!(quotes.work_site(release.fact("/quotes/imported")).await.unwrap().is_some());
    let proof = quotes.proof(id).await.unwrap().unwrap();
    assert_eq!(proof.proof_fingerprint, quote.detail.signature.unwrap().proof_fingerprint);
    let document = quotes.open_document(id).await.unwrap();
    assert_eq!(quotes.document(id).await.unwrap().sha256, document.sha256);
    assert!(document.bytes.ends_with(b", signed\n"));
    assert_eq!(quotes.open_copy(id, &document.sha256).await.unwrap(), document);
}

async fn quotes_are_signed(world: &World, release: &Release) {
    let signing_links = world.invoicing.signing_links();
    let quotes = world.company.quotes();
    let token: String = release.fact("/signingToken");
    let quote: QuoteId = release.fact("/quotes/sent");
    assert_eq!(signing_links.open(&token).await.unwrap().quote.summary.id, quote);
    quotes.signing_link(quote).await.unwrap();
    let links = quotes.signing_links(quote).await.unwrap();
    assert!(links[0].ends_at.is_some(), "{links:?}");
    quotes.revoke_signing_link(quote, &links[1].token_hash).await.unwrap();
    let shown = signing_links.document(&token).await.unwrap();
    assert_eq!(shown.sha256, quotes.documents(quote).await.unwrap()[0].sha256);
    assert!(signing_links.sign(&token, &signature()).await.unwrap().detail.signature.is_some());
    let declined: QuoteId = release.fact("/quotes/draft");
    let other = quotes.signing_link(declined).await.unwrap();
    let declined = signing_links.decline(other.reveal(), &Decline::default()).await.unwrap();
    assert_eq!(declined.summary.status, QuoteStatus::Rejected);
}

async fn invoices_go_on(world: &World, release: &Release) {
    let invoices = world.company.invoices();
    let id = |name: &str| -> InvoiceId { release.fact(&format!("/invoices/{name}")) };
    let listed = invoices.list(&PageQuery::default()).await.unwrap().data;
    let page: Value = serde_json::from_slice(&invoices.page(&PageQuery::default()).await.unwrap()).unwrap();
    assert_eq!(page["data"].as_array().unwrap().len(), listed.len());
    let last = listed.iter().filter_map(|item| item.summary.number.as_deref()).map(sequence).max().unwrap();
    let issued = invoices.issue(id("draft"), None).await.unwrap().summary;
    assert_eq!(issued.number.as_deref().map(sequence), Some(last + 1));

    let known = &invoices.payments(id("partPaid")).await.unwrap()[0];
    assert_eq!((known.reference.as_deref(), &known.movement_id), (Some("VIR-1"), &None));
    assert_eq!((known.source, known.method), (PaymentSource::Bank, None));
    let due = invoices.get(id("partPaid")).await.unwrap().summary.amount_due;
    let paid = invoices.pay(id("partPaid"), &payment(&due.to_string(), None)).await.unwrap().invoice.summary;
    assert_eq!((paid.status, paid.amount_due.is_zero()), (InvoiceStatus::Paid, true));
    assert_eq!(invoices.payments(id("partPaid")).await.unwrap().len(), 2);
    let detail: Value = serde_json::from_slice(&invoices.detail(id("partPaid")).await.unwrap()).unwrap();
    assert_eq!(detail["amountDue"], 0);

    let overpaid = invoices.payments(id("overpaid")).await.unwrap();
    let reversed = invoices.reverse(id("overpaid"), overpaid[0].id).await.unwrap().summary;
    assert!(reversed.status == InvoiceStatus::Sent && reversed.amount_overpaid.is_zero(), "{reversed:?}");
    assert_eq!(invoices.cancel(id("overpaid")).await.unwrap().summary.status, InvoiceStatus::Canceled);
    let overdue = invoices.mark_paid(release.fact("/overdueInvoice")).await.unwrap();
    assert_eq!(overdue.summary.status, InvoiceStatus::Paid);
    let converted = invoices.convert(release.fact("/quotes/imported")).await.unwrap();
    assert_eq!(converted.summary.status, InvoiceStatus::Draft);
}

/// Documents of invoices and credit notes, which no earlier version has.
async fn invoices_get_documents(world: &World, release: &Release) {
    let (invoices, credit_notes) = (world.company.invoices(), world.company.credit_notes());
    let draft = invoices.direct(&new_quote(release.fact("/client"))).await.unwrap().summary.id;
    assert_eq!(invoices.readiness(draft).await.unwrap(), []);
    let issued = invoices.issue_with(draft, &IssueOptions::default()).await.unwrap().summary;
    let document = invoices.document(draft).await.unwrap();
    assert_eq!(document.sha256, invoices.open_document(draft).await.unwrap().sha256);
    invoices.mark_paid(draft).await.unwrap();
    let note = invoices.credit(draft, &NewCreditNote::of_the_rest("Erreur")).await.unwrap();
    let due = issued.amount_due;
    let refunded = invoices.refund(draft, &NewPayment::new(due, PaymentSource::Bank)).await.unwrap();
    assert_eq!(refunded.invoice.summary.status, InvoiceStatus::Canceled);
    let id = note.summary.id;
    assert_eq!(credit_notes.get(id).await.unwrap(), note);
    let detail: Value = serde_json::from_slice(&credit_notes.detail(id).await.unwrap()).unwrap();
    assert_eq!(detail["invoiceId"], draft.to_string());
    let query = CreditNoteQuery::default();
    let listed = credit_notes.list(&query).await.unwrap().data;
    assert!(listed.iter().any(|item| item.summary == note.summary));
    let page: Value = serde_json::from_slice(&credit_notes.page(&query).await.unwrap()).unwrap();
    assert_eq!(page["data"].as_array().unwrap().len(), listed.len());
    let document = credit_notes.document(id).await.unwrap();
    assert_eq!(document.sha256, credit_notes.open_document(id).await.unwrap().sha256);
}

async fn companies_and_keys(world: &World, release: &Release) {
    let (companies, company, keys) = (world.invoicing.companies(), &world.company, world.company.keys());
    assert_eq!(companies.list().await.unwrap().len(), 2);
    companies.create(&NewCompany::named("New", Plan::Starter)).await.unwrap();
    let identity = company.details().await.unwrap().identity;
    assert_eq!(identity.siret.as_deref(), Some("73282932000074"));
    let changed = CompanyIdentity { phone: None, ..identity.clone() };
    assert_eq!(company.set_identity(&changed).await.unwrap().identity.address, identity.address);
    assert_eq!(company.set_logo(None).await.unwrap().logo, None);
    assert!(company.set_automatic_invoicing(true).await.unwrap().automatic_invoicing);
    company.set_plan(Plan::Pro).await.unwrap();

    let listed = keys.list().await.unwrap();
    for name in ["idle", "revoked"] {
        let id: KeyId = release.fact(&format!("/keys/{name}"));
        assert!(listed.iter().any(|key| key.id == id && key.revoked_at.is_some()), "{name}");
    }
    let issued = keys.issue("New").await.unwrap().record.id;
    keys.revoke(issued).await.unwrap();
    assert_eq!(keys.usage().await.unwrap().len(), listed.len() + 1);
    let actor = company.acting_as("Léa Martin").unwrap();
    actor.keys().issue("Newer").await.unwrap();
    // The signature and the refusal through a signing link, and this one.
    let history = company.history();
    assert_eq!(history.list(None, 10).await.unwrap().len(), 3);
    assert_eq!(history.page(&HistoryQuery::default(), 10).await.unwrap().items.len(), 3);
}

async fn secrets_are_resealed(world: &World, release: &Release) {
    let next = SealingKey::new("next", [8; 32]).unwrap();
    world.invoicing.use_sealing_keys(SealingKeys::new(next).older(release.sealing_key())).await.unwrap();
    world.invoicing.reseal().await.unwrap();
    let sealed = world.invoicing.sealed_with().await.unwrap();
    assert!(sealed.keys.keys().eq(["next"]) && sealed.clear + sealed.damaged == 0, "{sealed:?}");
    let quote: QuoteId = release.fact("/quotes/signed");
    world.company.quotes().document(quote).await.unwrap();
}

/// Links of the earlier version are revoked too.
async fn company_is_closed(world: &World) {
    world.company.close().await.unwrap();
    assert!(world.company.webhooks().list().await.unwrap().is_empty());
    assert!(world.company.keys().list().await.unwrap().iter().all(|key| key.revoked_at.is_some()));
    let good = "SELECT count(*) FROM signing_link
        WHERE company_id = $1 AND revoked_at IS NULL AND (ends_at IS NULL OR ends_at > $2)";
    let arguments = [world.company.id().0.into(), world.now().as_millis().into()];
    assert_eq!(world.behind().await.one::<i64>(good, &arguments).await, 0);
}
