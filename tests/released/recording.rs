//! Records small databases of this version, for the tests that open them with later code: all that a release leaves behind.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use invoicing_core::{
    Client, CompanyIdentity, EventKind, InvoiceId, Money, NewClient, NewCompany, NewQuote, PaymentId, Plan,
    ProjectStatus, Quote, QuoteId, QuoteImport, QuoteStatus, SignatureEvidence,
};
use invoicing_server::{
    CompanyHandle, Decline, DocumentInput, DocumentRef, DocumentRenderer, DocumentStore, Env, Invoicing,
    ManualClock, MemoryStore, NewPayment, NewProject, NewWebhook, PaymentMethod, PaymentSource, RenderError,
    SealingKey, SealingKeys, Settings, Signature, TargetPolicy,
};
use invoicing_tests::{Database, Place, Receiver, Reply, new_company, new_quote};
use serde_json::{Map, Value, json};

const MONTH: Duration = Duration::from_hours(31 * 24);

/// A service with a company.
struct Recorded {
    place: Place,
    invoicing: Invoicing,
    clock: Arc<ManualClock>,
    documents: Arc<MemoryStore>,
    company: CompanyHandle,
    key: String,
}

/// Documents of a few bytes: what is frozen is served as it is.
struct ShortDocuments;

impl DocumentRenderer for ShortDocuments {
    fn render(&self, input: &DocumentInput<'_>) -> Result<Vec<u8>, RenderError> {
        let date = input.facts.quote_date.map_or_else(String::new, |date| format!(" of {date}"));
        let is_signed = matches!(input.record, DocumentRef::Quote { sent_copy: Some(_), .. });
        let signed = if is_signed { ", signed" } else { "" };
        Ok(format!("%PDF-1.7 {}{date}{signed}\n", input.record.number()).into_bytes())
    }
}

/// Writes the database of a kind, `invoicing.db` or `dump.sql`, and `facts.json`: what opens it, ids of records to go on
/// with, the frozen documents, and what the API answered.
pub(crate) async fn record(db: Database, folder: &Path) {
    std::fs::create_dir_all(folder).expect("a folder");
    let recorded = open(db).await;
    let idle_key = recorded.company.keys().issue("Idle").await.expect("a key").record.id;
    let client = clients(&recorded.company).await;
    let timed_out = timed_out(&recorded, &client).await;
    let quotes = quotes(&recorded, &client).await;
    let invoices = invoices(&recorded.company, &client).await;
    let projects = projects(&recorded.company, quotes.signed).await;
    let receiver = Receiver::start().await;
    let webhooks = webhooks(&recorded, &receiver).await;
    let revoked_key = recorded.company.keys().issue("Revoked").await.expect("a key").record.id;
    recorded.company.keys().revoke(revoked_key).await.expect("a revoked key");
    let automatic = automatic_company(&recorded.invoicing).await;
    let facts = json!({
        "now": recorded.invoicing.env().now(),
        "company": recorded.company.id(), "key": recorded.key, "otherCompany": automatic,
        "keys": { "idle": idle_key, "revoked": revoked_key },
        "client": client.id,
        "quotes": {
            "empty": quotes.empty, "draft": quotes.draft, "sent": quotes.sent, "signed": quotes.signed,
            "expired": timed_out.0, "imported": quotes.imported,
        },
        "signingToken": quotes.token,
        "invoices": invoices, "overdueInvoice": timed_out.1,
        "projects": projects, "webhooks": webhooks,
        "documents": documents(&recorded.documents).await,
        "answers": answers(&recorded).await,
    });
    let text = serde_json::to_string_pretty(&facts).expect("JSON");
    std::fs::write(folder.join("facts.json"), text + "\n").expect("a file");
    recorded.invoicing.close().await;
    match recorded.place.database() {
        Database::Sqlite => {
            std::fs::copy(recorded.place.file(), folder.join("invoicing.db")).expect("a copy");
        }
        Database::Postgres => dump(recorded.place.url(), &folder.join("dump.sql")),
    }
}

async fn open(db: Database) -> Recorded {
    let place = Place::new(db).await;
    let clock = ManualClock::at("2026-03-02T08:15:30.250Z".parse().expect("an instant"));
    let documents = Arc::new(MemoryStore::new());
    let target = TargetPolicy { allow_http: true, allow_private: true };
    let key = SealingKey::new("release", [7; 32]).expect("a key");
    let invoicing = place
        .builder()
        .env(Env::system().with_clock(clock.clone()))
        .document_store(documents.clone())
        .renderer(Arc::new(ShortDocuments))
        .sealing_keys(SealingKeys::new(key))
        .settings(Settings { target, quota: 0, ..Settings::default() })
        .open()
        .await
        .expect("the service opens");
    let identity = CompanyIdentity {
        address: Some("12 rue des Lilas".into()),
        zip_code: Some("69003".into()),
        city: Some("Lyon".into()),
        email: Some("contact@exemple.fr".into()),
        phone: Some("04 00 00 00 00".into()),
        siret: Some("73282932000074".into()),
        vat_number: Some("FR44732829320".into()),
        insurance: Some("Assureur, police 1".into()),
        terms: Some("Paiement à 30 jours".into()),
        ..CompanyIdentity::default()
    };
    let new = NewCompany { identity, ..NewCompany::named("Martin Peinture", Plan::Team) };
    let id = invoicing.companies().create(&new).await.expect("a company").id;
    let company = invoicing.company(id);
    let key = company.keys().issue("CRM").await.expect("a key").key.reveal().to_owned();
    Recorded { place, invoicing, clock, documents, company, key }
}

/// Clients with and without an external id, and one that was changed; the one that documents are made out to.
async fn clients(company: &CompanyHandle) -> Client {
    let clients = company.clients();
    clients.create(&NewClient::named("Durand")).await.expect("a client");
    let changed = clients.create(&NewClient::named("Before")).await.expect("a client").id;
    clients.change(changed, &NewClient::named("After")).await.expect("a changed client");
    let new = NewClient {
        email: Some("zoe@exemple.fr".into()),
        phone: Some("06 00 00 00 00".into()),
        address: Some("3 quai de la Saône".into()),
        city: Some("Saint-Étienne".into()),
        zip_code: Some("42000".into()),
        notes: Some("Interphone B".into()),
        external_id: Some("crm-1".into()),
        ..NewClient::named("Zoé Lefèvre")
    };
    clients.create(&new).await.expect("a client")
}

/// A quote that expires, and an invoice that falls overdue.
async fn timed_out(recorded: &Recorded, client: &Client) -> (QuoteId, InvoiceId) {
    let expired = sent(&recorded.company, client).await.summary.id;
    let overdue = issued(&recorded.company, client).await;
    for _ in 0..3 {
        // Moves the last use of the key, so that only the other one becomes idle.
        get(recorded, "/api/v1/clients").await;
        recorded.clock.advance(MONTH);
        recorded.invoicing.sweep().await.expect("a sweep");
    }
    (expired, overdue)
}

/// Quotes that the tests go on with.
struct Quotes {
    empty: QuoteId,
    draft: QuoteId,
    sent: QuoteId,
    token: String,
    signed: QuoteId,
    imported: QuoteId,
}

/// Quotes in every other state.
async fn quotes(recorded: &Recorded, client: &Client) -> Quotes {
    let quotes = recorded.company.quotes();
    let empty = quotes.create(&NewQuote::empty(client.id)).await.expect("a draft without lines").summary.id;
    let content = NewQuote { work_site: Some("Quai Rambaud\n69002 Lyon".into()), ..new_quote(client.id) };
    let draft = quotes.create(&content).await.expect("a draft").summary.id;
    quotes.edit(draft, &content).await.expect("an edited draft");
    quotes.link(draft, Some("deal-7")).await.expect("a link");
    let sent_again = sent(&recorded.company, client).await.summary.id;
    let declined = quotes.create_signing_link(sent_again).await.expect("a signing link");
    recorded
        .invoicing
        .signing_links()
        .decline(declined.reveal(), &Decline::default())
        .await
        .expect("a declined quote");
    quotes.send(sent_again, None).await.expect("a quote sent again");
    quotes.reject(sent_again).await.expect("a rejected quote");
    let import = QuoteImport { status: QuoteStatus::Accepted, sent_at: None, accepted_at: None };
    let imported = quotes.import(&content, &import).await.expect("an imported quote").summary.id;
    let signed = sign(recorded, client).await;
    let sent = sent(&recorded.company, client).await.summary.id;
    let token = quotes.create_signing_link(sent).await.expect("a signing link").reveal().to_owned();
    Quotes { empty, draft, sent, token, signed, imported }
}

async fn sign(recorded: &Recorded, client: &Client) -> QuoteId {
    let quote = sent(&recorded.company, client).await.summary.id;
    let token = recorded.company.quotes().create_signing_link(quote).await.expect("a signing link");
    let evidence = SignatureEvidence {
        signed_by_name: "Zoé Lefèvre".into(),
        signed_by_email: "zoe@exemple.fr".into(),
        accepted_text: "Bon pour accord".into(),
    };
    let signature = Signature {
        evidence,
        ip: Some("192.0.2.7".parse().expect("an address")),
        user_agent: Some("browser".into()),
        document_sha256: None,
    };
    recorded.invoicing.signing_links().sign(token.reveal(), &signature).await.expect("a signature");
    quote
}

async fn sent(company: &CompanyHandle, client: &Client) -> Quote {
    let draft = company.quotes().create(&new_quote(client.id)).await.expect("a draft");
    company.quotes().send(draft.summary.id, None).await.expect("a sent quote")
}

/// Invoices in every other state, by name.
async fn invoices(company: &CompanyHandle, client: &Client) -> Value {
    let invoices = company.invoices();
    let draft = converted(company, client).await;
    let sent = issued(company, client).await;
    let part_paid = issued(company, client).await;
    pay(company, part_paid, "100", Some("VIR-1")).await;
    let paid = issued(company, client).await;
    invoices.mark_paid(paid).await.expect("a paid invoice");
    // The retention is paid with the rest.
    let retention_paid = issued(company, client).await;
    let total = invoices.get(retention_paid).await.expect("an invoice").summary.total_ttc;
    pay_amount(company, retention_paid, total, Some("VIR-2")).await;
    let overpaid = issued(company, client).await;
    pay(company, overpaid, "5000", None).await;
    let reversed = issued(company, client).await;
    let payment = pay(company, reversed, "5000", Some("CHQ-1")).await;
    invoices.reverse_payment(reversed, payment).await.expect("a reversed payment");
    let canceled = issued(company, client).await;
    invoices.cancel(canceled).await.expect("a cancelled invoice");
    json!({
        "draft": draft, "sent": sent, "partPaid": part_paid, "paid": paid, "retentionPaid": retention_paid,
        "overpaid": overpaid, "reversed": reversed, "canceled": canceled,
    })
}

async fn converted(company: &CompanyHandle, client: &Client) -> InvoiceId {
    let quote = company.quotes().create(&new_quote(client.id)).await.expect("a draft").summary.id;
    company.quotes().accept(quote).await.expect("an accepted quote");
    company.invoices().convert(quote).await.expect("an invoice").summary.id
}

async fn issued(company: &CompanyHandle, client: &Client) -> InvoiceId {
    let id = converted(company, client).await;
    company.invoices().issue(id, None).await.expect("an issued invoice");
    id
}

async fn pay(
    company: &CompanyHandle,
    invoice: InvoiceId,
    amount: &str,
    reference: Option<&str>,
) -> PaymentId {
    pay_amount(company, invoice, amount.parse().expect("an amount"), reference).await
}

async fn pay_amount(
    company: &CompanyHandle,
    invoice: InvoiceId,
    amount: Money,
    reference: Option<&str>,
) -> PaymentId {
    let reference = reference.map(str::to_owned);
    let method = Some(PaymentMethod::Transfer);
    let payment =
        NewPayment { amount, source: PaymentSource::Bank, method, movement_id: reference.clone(), reference };
    company.invoices().pay(invoice, &payment).await.expect("a payment").payment.id
}

/// Projects in every state, by name.
async fn projects(company: &CompanyHandle, quote: QuoteId) -> Value {
    let projects = company.projects();
    let mut ids = Map::new();
    for (name, status) in [
        ("open", ProjectStatus::Open),
        ("completed", ProjectStatus::Completed),
        ("canceled", ProjectStatus::Canceled),
    ] {
        let new = NewProject { name: name.into(), client_id: None, quote_ids: vec![quote] };
        let project = projects.create(&new).await.expect("a project").id;
        projects.set_status(project, status).await.expect("a project in its state");
        ids.insert(name.into(), json!(project));
    }
    ids.into()
}

/// Webhooks in every state, with deliveries in every state. Their ids, and the secret of the active one.
async fn webhooks(recorded: &Recorded, receiver: &Receiver) -> Value {
    let hooks = recorded.company.webhooks();
    let register = async |name: &str| {
        let new = NewWebhook { url: format!("{}/{name}", receiver.url), events: EventKind::ALL.to_vec() };
        hooks.register(&new).await.expect("a webhook")
    };
    let active = register("active").await;
    emit(recorded, [Reply::status(200), Reply::status(410), Reply::status(200)], receiver).await;
    let disabled = register("disabled").await.webhook.id;
    hooks.disable(disabled).await.expect("a disabled webhook");
    emit(recorded, [Reply::status(200)], receiver).await;
    hooks.ping(active.webhook.id).await.expect("a ping");
    emit(recorded, [Reply::status(200), Reply::status(503)], receiver).await;
    let removed = register("removed").await.webhook.id;
    complete_project(recorded).await;
    hooks.remove(removed).await.expect("a removed webhook");
    json!({
        "active": active.webhook.id, "secret": active.secret.reveal(), "disabled": disabled, "removed": removed,
    })
}

/// An event for each reply, delivered one after the other.
async fn emit<const N: usize>(recorded: &Recorded, replies: [Reply; N], receiver: &Receiver) {
    for reply in replies {
        receiver.reply_next([reply]);
        complete_project(recorded).await;
        recorded.invoicing.dispatcher().run_once().await.expect("the dispatcher runs");
    }
}

/// Emits an event.
async fn complete_project(recorded: &Recorded) {
    let projects = recorded.company.projects();
    let new = NewProject { name: "Delivered".into(), client_id: None, quote_ids: Vec::new() };
    let project = projects.create(&new).await.expect("a project").id;
    projects.set_status(project, ProjectStatus::Completed).await.expect("a completed project");
}

/// Another company, which converts its quotes by itself.
async fn automatic_company(invoicing: &Invoicing) -> Value {
    let new = NewCompany { automatic_invoicing: true, ..new_company("Durand Plomberie", Plan::Pro) };
    let company = invoicing.company(invoicing.companies().create(&new).await.expect("a company").id);
    let client = company.clients().create(&NewClient::named("Petit")).await.expect("a client");
    let quote = company.quotes().create(&new_quote(client.id)).await.expect("a draft").summary.id;
    company.quotes().accept(quote).await.expect("an accepted quote");
    json!(company.id())
}

/// The frozen documents, by key.
async fn documents(store: &MemoryStore) -> Value {
    let mut documents = Map::new();
    for key in store.keys() {
        let bytes = store.get(key).await.expect("a document");
        documents.insert(key.to_string(), String::from_utf8(bytes.to_vec()).expect("text").into());
    }
    documents.into()
}

/// The answers of the API, by path.
async fn answers(recorded: &Recorded) -> Value {
    let mut answers = Map::new();
    for path in [
        "/api/v1/quotes?limit=100",
        "/api/v1/quotes?limit=100&include=lines&since=2026-01-01T00:00:00Z",
        "/api/v1/invoices?limit=100",
        "/api/v1/invoices?limit=100&include=lines&since=2026-01-01T00:00:00Z",
        "/api/v1/invoices?status=PAID",
        "/api/v1/credit-notes?include=lines",
        "/api/v1/clients?limit=100&since=2026-01-01T00:00:00Z",
        "/api/v1/clients?externalId=crm-1",
    ] {
        answers.insert(path.to_owned(), get(recorded, path).await);
    }
    for resource in ["quotes", "invoices"] {
        let list = answers[&format!("/api/v1/{resource}?limit=100")]["data"].clone();
        for item in list.as_array().expect("a list") {
            let path = format!("/api/v1/{resource}/{}", item["id"].as_str().expect("an id"));
            let answer = get(recorded, &path).await;
            answers.insert(path, answer);
        }
    }
    answers.into()
}

async fn get(recorded: &Recorded, path: &str) -> Value {
    let request = Request::get(path).header("authorization", format!("Bearer {}", recorded.key));
    let request = request.body(Full::new(Bytes::new())).expect("a request");
    let answer = recorded.invoicing.service().answer(request).await;
    assert_eq!(answer.status(), 200, "{path}");
    let bytes = answer.into_body().collect().await.expect("a body").to_bytes();
    serde_json::from_slice(&bytes).expect("JSON")
}

/// Statements that make the tables and rows again.
fn dump(url: &str, file: &Path) {
    let program = invoicing_tests::postgres::program("pg_dump").expect("PostgreSQL is installed");
    let output = Command::new(program)
        .args(["--inserts", "--no-owner", "--no-privileges", url])
        .output()
        .expect("pg_dump runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    // Lines that begin so are commands of psql, not of the server.
    let statements: Vec<&str> = text.lines().filter(|line| !line.starts_with('\\')).collect();
    std::fs::write(file, statements.join("\n") + "\n").expect("a file");
}
