//! A host that moves: one folder, one document store, one set of sealing keys, and two databases.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use invoicing_core::{
    BillingAddress, EventKind, InvoiceStatus, NewClient, NewQuote, Plan, ProjectStatus, QuoteId, QuoteImport,
    QuoteStatus,
};
use invoicing_server::{
    CompanyHandle, CopyError, CopyReport, CreditNoteQuery, Env, InvoiceQuery, Invoicing, InvoicingBuilder,
    ManualClock, MemoryStore, NewProject, OpenError, PaymentMethod, PostgresSettings, ProofRecord,
    QuoteQuery, RegisteredWebhook, SealingKey, SealingKeys, Settings, Signature, TargetPolicy,
    copy_to_postgres,
};
use invoicing_tests::{Behind, Database, Place, Receiver, Reply, new_company, new_quote};

use crate::support::{
    DAY, accepted_of, client_of, date, draft_of, emit_for, evidence, hook_for, issued_over, payment,
};

/// Requests of a key in 60 s.
pub(super) const QUOTA: u32 = 30;

pub(super) struct Host {
    pub(super) env: Env,
    pub(super) clock: Arc<ManualClock>,
    pub(super) source: Place,
    pub(super) target: Place,
    documents: Arc<MemoryStore>,
}

impl Host {
    /// With an empty PostgreSQL database, on a clock that is moved by hand.
    pub(super) async fn new(db: Database) -> Self {
        let clock = ManualClock::at("2026-09-14T09:41:07.123Z".parse().unwrap());
        Self::with(db, Env::system().with_clock(clock.clone()), clock).await
    }

    /// On the system's clock, which is the one that a copy goes by.
    pub(super) async fn on_system_clock(db: Database) -> Self {
        let env = Env::system();
        let clock = ManualClock::at(env.now());
        Self::with(db, env, clock).await
    }

    async fn with(db: Database, env: Env, clock: Arc<ManualClock>) -> Self {
        let (source, target) = (Place::new(Database::Sqlite).await, Place::empty(db).await);
        Self { env, clock, source, target, documents: Arc::new(MemoryStore::new()) }
    }

    pub(super) fn file(&self) -> PathBuf {
        self.source.file()
    }

    pub(super) fn postgres(&self) -> PostgresSettings {
        PostgresSettings::new(self.target.url())
    }

    async fn try_open(&self, builder: InvoicingBuilder, quota: u32) -> Result<Invoicing, OpenError> {
        let target = TargetPolicy { allow_http: true, allow_private: true };
        builder
            .settings(Settings { target, quota, ..Settings::default() })
            .env(self.env.clone())
            .document_store(Arc::clone(&self.documents) as Arc<_>)
            .sealing_keys(SealingKeys::new(SealingKey::new("k1", [7; 32]).unwrap()))
            .open()
            .await
    }

    pub(super) async fn on_sqlite(&self) -> Invoicing {
        self.try_open(self.source.builder(), 0).await.unwrap()
    }

    pub(super) async fn on_sqlite_with_quota(&self) -> Invoicing {
        self.try_open(self.source.builder(), QUOTA).await.unwrap()
    }

    pub(super) async fn try_on_postgres(&self) -> Result<Invoicing, OpenError> {
        self.try_open(self.target.builder(), 0).await
    }

    pub(super) async fn on_postgres(&self) -> Invoicing {
        self.try_on_postgres().await.unwrap()
    }

    pub(super) async fn on_postgres_with_quota(&self) -> Invoicing {
        self.try_open(self.target.builder(), QUOTA).await.unwrap()
    }

    pub(super) async fn copy(&self) -> Result<CopyReport, CopyError> {
        copy_to_postgres(&self.file(), &self.postgres()).await
    }

    /// A connection to PostgreSQL behind the service's back.
    pub(super) async fn behind(&self) -> Behind {
        self.target.behind().await
    }

    /// A company with so many clients, put into the file behind the service's back; ids are numbers.
    pub(super) async fn clients(&self, count: i64) {
        let invoicing = self.on_sqlite().await;
        company(&invoicing).await;
        invoicing.close().await;
        let insert = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < $1) \
             INSERT INTO client (company_id, id, external_id, created_at, updated_at, search, record, version) \
             SELECT c.id, unhex(printf('%032x', n)), NULL, n, n, 'é' || n, '{}', 1 FROM n, company c";
        self.source.behind().await.run(insert, &[count.into()]).await;
    }
}

/// A company with a key.
pub(super) async fn company(invoicing: &Invoicing) -> (CompanyHandle, String) {
    let company = invoicing
        .company(invoicing.companies().create(&new_company("Martin Peinture", Plan::Team)).await.unwrap().id);
    let key = company.keys().issue("CRM").await.unwrap().key.reveal().to_owned();
    (company, key)
}

/// The API's answer: status and bytes.
pub(super) async fn get(invoicing: &Invoicing, path: &str, key: &str) -> (StatusCode, Bytes) {
    let request = Request::get(path).header("authorization", format!("Bearer {key}"));
    let answer = invoicing.service().answer(request.body(Full::new(Bytes::new())).unwrap()).await;
    let status = answer.status();
    (status, answer.into_body().collect().await.unwrap().to_bytes())
}

/// The data by which a company is checked.
pub(super) struct Life {
    pub(super) company: CompanyHandle,
    pub(super) key: String,
    /// A webhook with pending deliveries.
    pub(super) hook: RegisteredWebhook,
    /// The token of a signing link that was not used.
    pub(super) link: String,
}

/// Records of every kind in every state, and deliveries too.
pub(super) async fn live(host: &Host, invoicing: &Invoicing, receiver: &Receiver) -> Life {
    let (company, key) = company(invoicing).await;
    quotes(&company, invoicing).await;
    invoices(&company).await;
    let revoked = company.acting_as("Anna").unwrap().keys().issue("old one").await.unwrap();
    company.keys().revoke(revoked.record.id).await.unwrap();
    // Records whose time has run out.
    draft_and_send(&company).await;
    issued_over(&company, "50").await;
    host.clock.advance(31 * DAY);
    let swept = invoicing.sweep().await.unwrap();
    assert!(swept.expired_quotes > 0 && swept.overdue_invoices > 0, "{swept:?}");
    let open = draft_and_send(&company).await;
    let link = company.quotes().create_signing_link(open).await.unwrap().reveal().to_owned();
    let hook = deliveries(&company, invoicing, receiver).await;
    Life { company, key, hook, link }
}

async fn draft_and_send(company: &CompanyHandle) -> QuoteId {
    let draft = draft_of(company).await;
    company.quotes().send(draft.summary.id, None).await.unwrap().summary.id
}

/// Drafts, linked, imported, sent, accepted, rejected, signed.
async fn quotes(company: &CompanyHandle, invoicing: &Invoicing) {
    let new = NewClient {
        external_id: Some("crm-42 \u{1f600}".into()),
        city: Some("Saint-Étienne".into()),
        billing_address: Some(BillingAddress::default().address("CS 40102").city("Lyon")),
        ..NewClient::named("Léa \"L'été\" \\ Lefèvre")
    };
    let client = company.clients().create(&new).await.unwrap().id;
    let new = NewQuote {
        work_site: Some("12 quai de la Saône\n69002 Lyon".into()),
        valid_until: Some(date("2026-10-01")),
        order_number: Some("PO-2026/41".into()),
        ..new_quote(client)
    };
    let quotes = company.quotes();
    let linked = quotes.create(&new).await.unwrap();
    quotes.link(linked.summary.id, Some("deal-7")).await.unwrap();
    let import = QuoteImport { status: QuoteStatus::Sent, sent_at: None, accepted_at: None };
    quotes.import(&new, &import).await.unwrap();
    let rejected = draft_and_send(company).await;
    quotes.reject(rejected).await.unwrap();
    accepted_of(company).await;
    let signed = quotes.create(&new).await.unwrap().summary.id;
    quotes.send(signed, None).await.unwrap();
    let token = quotes.create_signing_link(signed).await.unwrap();
    let signature = Signature {
        evidence: evidence(),
        ip: Some("192.0.2.7".parse().unwrap()),
        user_agent: Some("Mozilla/5.0 (é)".into()),
        document_sha256: None,
    };
    invoicing.signing_links().sign(token.reveal(), &signature).await.unwrap();
}

/// In every state, with payments and projects.
async fn invoices(company: &CompanyHandle) {
    company.set_logo(Some(include_bytes!("../data/logo.png").to_vec())).await.unwrap();
    let invoices = company.invoices();
    let draft = invoices.convert(accepted_of(company).await.summary.id).await.unwrap();
    assert_eq!(draft.summary.status, InvoiceStatus::Draft);
    let canceled = issued_over(company, "70").await.summary.id;
    invoices.cancel(canceled).await.unwrap();
    let paid = issued_over(company, "100").await.summary.id;
    invoices.pay(paid, &payment("40", Some("VIR-1"))).await.unwrap();
    let wrong = invoices.pay(paid, &payment("10", None)).await.unwrap();
    invoices.reverse_payment(paid, wrong.payment.id).await.unwrap();
    let rest = payment("60", Some("VIR-2")).method(PaymentMethod::Transfer);
    invoices.pay(paid, &rest).await.unwrap();
    let projects = company.projects();
    large(company).await;
    for completed in [false, true] {
        let quote_ids = vec![accepted_of(company).await.summary.id];
        let new = NewProject { name: "Chantier".into(), client_id: None, quote_ids };
        let project = projects.create(&new).await.unwrap();
        if completed {
            projects.set_status(project.id, ProjectStatus::Completed).await.unwrap();
        }
    }
}

/// A quote with large lines, and its invoice.
async fn large(company: &CompanyHandle) {
    let content = new_quote(client_of(company).await);
    let lines = content.lines.iter().cycle().take(150).cloned().collect();
    let quote = company.quotes().create(&NewQuote { lines, ..content }).await.unwrap().summary.id;
    company.quotes().accept(quote).await.unwrap();
    let invoice = company.invoices().convert(quote).await.unwrap();
    assert!(serde_json::to_vec(&invoice.lines).unwrap().len() > 16_384);
}

/// Delivered, failed, skipped, waiting for another attempt, and due. Returns the webhook with due deliveries.
async fn deliveries(
    company: &CompanyHandle,
    invoicing: &Invoicing,
    receiver: &Receiver,
) -> RegisteredWebhook {
    let run = async || invoicing.dispatcher().run_once().await.unwrap();
    let kinds = EventKind::ALL;
    let hook = hook_for(company, &receiver.url, kinds).await;
    emit_for(company, 3).await;
    assert_eq!(run().await.delivered, 3);
    receiver.reply_next([Reply::status(500)]);
    emit_for(company, 1).await;
    assert_eq!(run().await.retried, 1);
    // One that fails until it is disabled, and one that is removed.
    let refusing = Receiver::start().await;
    refusing.reply_always(Reply::status(400));
    let dead = hook_for(company, &refusing.url, kinds).await.webhook.id;
    emit_for(company, 10).await;
    assert_eq!(run().await.failed, 10);
    assert!(company.webhooks().get(dead).await.unwrap().disabled.is_some());
    let removed = hook_for(company, "https://example.com/a?b=c", kinds).await.webhook.id;
    emit_for(company, 2).await;
    company.webhooks().remove(removed).await.unwrap();
    hook
}

/// All data of a company, over the API and for its host.
pub(super) async fn told(invoicing: &Invoicing, life: &Life) -> Vec<String> {
    let company = invoicing.company(life.company.id());
    let mut told = host_side(invoicing, &company, life).await;
    for path in paths(&company).await {
        let (status, bytes) = get(invoicing, &path, &life.key).await;
        told.push(format!("{path}: {status} {}", String::from_utf8_lossy(&bytes)));
    }
    let (status, _) = get(invoicing, "/api/v1/quotes", "isk_unknown").await;
    assert_eq!(status, 401);
    // After the calls, as it contains the last use of the key.
    told.push(format!("{:?}", company.keys().list().await.unwrap()));
    told
}

/// Lists with every filter, and every detail.
async fn paths(company: &CompanyHandle) -> Vec<String> {
    let mut paths = Vec::new();
    let quotes = company.quotes().list(&QuoteQuery::default()).await.unwrap().data;
    let invoices = company.invoices().list(&InvoiceQuery::default()).await.unwrap().data;
    for stamp in [quotes[0].summary.updated_at, invoices[0].summary.updated_at, quotes[3].summary.updated_at]
    {
        for list in ["quotes", "invoices", "credit-notes", "clients"] {
            paths.push(format!("/api/v1/{list}?since={stamp}&limit=100"));
        }
    }
    for list in ["quotes", "invoices", "credit-notes"] {
        paths.push(format!("/api/v1/{list}?include=lines&limit=100"));
        paths.push(format!("/api/v1/{list}?limit=3&offset=2"));
    }
    paths.extend(QuoteStatus::ALL.iter().map(|status| format!("/api/v1/quotes?status={}", status.as_str())));
    paths.extend(
        InvoiceStatus::ALL.iter().map(|status| format!("/api/v1/invoices?status={}", status.as_str())),
    );
    paths.extend(
        ["?q=saint-etienne", "?q=L%C3%A9a", "?externalId=crm-42%20%F0%9F%98%80", ""]
            .map(|query| format!("/api/v1/clients{query}")),
    );
    paths.extend(quotes.iter().flat_map(|quote| {
        ["", "/document?type=pdf"].map(|what| format!("/api/v1/quotes/{}{what}", quote.summary.id))
    }));
    paths.extend(invoices.iter().map(|invoice| format!("/api/v1/invoices/{}", invoice.summary.id)));
    let notes = company.credit_notes().list(&CreditNoteQuery::default()).await.unwrap().data;
    paths.extend(notes.iter().map(|note| format!("/api/v1/credit-notes/{}", note.summary.id)));
    paths
}

async fn host_side(invoicing: &Invoicing, company: &CompanyHandle, life: &Life) -> Vec<String> {
    let mut told = vec![
        format!("{:?}", invoicing.companies().list().await.unwrap()),
        format!("{:?}", invoicing.sealed_with().await.unwrap()),
        format!("{:?}", company.projects().list().await.unwrap()),
        format!("{:?}", invoicing.signing_links().open(&life.link).await.unwrap()),
    ];
    for event in company.events().list(None, 10_000).await.unwrap() {
        let deliveries = company.events().deliveries(event.id).await.unwrap();
        told.push(format!("{event:?} {deliveries:?}"));
    }
    for webhook in company.webhooks().list().await.unwrap() {
        let log = company.webhooks().log(webhook.id, 1_000).await.unwrap();
        told.push(format!("{webhook:?} {} {log:?}", webhook.url));
    }
    for quote in company.quotes().list(&QuoteQuery::default()).await.unwrap().data {
        let quotes = company.quotes();
        told.push(format!("{:?}", quotes.costings(quote.summary.id).await.unwrap()));
        told.push(format!("{:?}", quotes.work_site(quote.summary.id).await.unwrap()));
        told.push(format!("{:?}", quotes.documents(quote.summary.id).await.unwrap()));
        if let Some(proof) = quotes.proof(quote.summary.id).await.unwrap() {
            let ProofRecord { ip, user_agent, token_hash, .. } = proof;
            told.push(format!("{ip:?} {user_agent:?} {token_hash:?}"));
        }
        let document = quotes.open_document(quote.summary.id).await;
        told.push(document.map_or_else(|error| error.to_string(), |document| document.sha256));
    }
    for invoice in company.invoices().list(&InvoiceQuery::default()).await.unwrap().data {
        told.push(format!("{:?}", company.invoices().payments(invoice.summary.id).await.unwrap()));
        let document = company.invoices().open_document(invoice.summary.id).await;
        told.push(document.map_or_else(|error| error.to_string(), |document| document.sha256));
    }
    told
}
