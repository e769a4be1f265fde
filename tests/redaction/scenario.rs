//! A run of the service in which every operation fails that can, with secrets wherever one may stand.

use std::fmt::{Debug, Write};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use invoicing_core::{EventKind, NewClient, Plan, QuoteId, QuoteStatus, SignatureEvidence};
use invoicing_server::{
    ClientQuery, CompanyHandle, ContentHash, CreditNoteQuery, Decline, DeliveryQuery, DocumentFile,
    DocumentInput, DocumentKey, DocumentRef, DocumentRenderer, DocumentStoreError, Env, Error, EventQuery,
    HistoryQuery, InvoiceQuery, Invoicing, InvoicingBuilder, IssueOptions, MemoryStore, NewPayment,
    NewProject, NewWebhook, ObjectStorage, OpenError, PageQuery, PaymentSource, PdfRenderer, QuoteQuery,
    QuoteSearch, RenderError, SealingKey, SealingKeys, ServeLimits, Settings, Signature, TargetPolicy,
    Version, WebhookChange, serve,
};
use invoicing_tests::{Database, Place, Receiver, Reply, new_company, new_quote};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::log_capture::{LogCapture, MEANT};
use crate::postgres;
use crate::secrets::Secrets;

/// The secret key of the bucket of documents.
const STORE_SECRET: &str = "bucket-secret-7Jx2vQ9mLr";
/// Tokens in the path and in the query of every webhook's URL.
const IN_PATH: &str = "path-token-8Zq4TnW1";
const IN_QUERY: &str = "query-token-Jx7Lk2Rd";
const PASSWORD: &str = "password-Vb3Ym9Qs";
const SEALING: [u8; 32] = *b"0c9!sealing-key-bytes-4f7Wq2Hn8z";
const NEXT_SEALING: [u8; 32] = *b"1d8!sealing-key-bytes-5g6Xr3Jm9y";

/// Printed texts, each with its source.
#[derive(Default)]
pub(crate) struct Printed {
    pub(crate) errors: Vec<(String, String)>,
    pub(crate) types: Vec<(String, String)>,
}

impl Printed {
    /// Prints an error with all its sources, in both forms.
    pub(crate) fn error(&mut self, what: &str, error: &(dyn std::error::Error + 'static)) {
        let mut text = String::new();
        let mut next = Some(error);
        while let Some(error) = next {
            writeln!(text, "{error} | {error:?} | {error:#?}").unwrap();
            next = error.source();
        }
        self.errors.push((what.to_owned(), text));
    }

    /// Prints the error of a call that must fail.
    pub(crate) fn failure<T>(&mut self, what: &str, result: Result<T, impl std::error::Error + 'static>) {
        match result {
            Ok(_) => panic!("{what}: was to fail"),
            Err(error) => self.error(what, &error),
        }
    }

    /// Prints a value by `Debug`, in both forms.
    pub(crate) fn value(&mut self, name: &str, value: &dyn Debug) {
        self.types.push((name.to_owned(), format!("{value:?} {value:#?}")));
    }
}

/// Renders, fails, or panics; in either case with all of its input.
#[derive(Default)]
struct UnreliableRenderer {
    mood: AtomicU8,
    seen: std::sync::Mutex<Vec<(&'static str, String)>>,
}

impl DocumentRenderer for UnreliableRenderer {
    fn render(&self, input: &DocumentInput<'_>) -> Result<Vec<u8>, RenderError> {
        let mut seen = vec![
            ("DocumentInput", format!("{input:?}")),
            ("DocumentRef", format!("{:?}", input.record)),
            ("DocumentFacts", format!("{:?}", input.facts)),
            ("Parties", format!("{:?}", input.facts.parties)),
            ("Buyer", format!("{:?}", input.facts.parties.buyer)),
            ("DocumentLogo", format!("{:?}", input.logo)),
        ];
        if let DocumentRef::Quote { sent_copy: Some(copy), .. } = input.record {
            seen.push(("SentCopy", format!("{:?}", copy.file_name)));
        }
        self.seen.lock().unwrap().extend(seen);
        match self.mood.load(Ordering::SeqCst) {
            0 => PdfRenderer::new().render(input),
            1 => Err(RenderError::new(format!("a renderer that fails: {input:?}"))),
            _ => panic!("{MEANT}: {input:?}"),
        }
    }
}

fn settings() -> Settings {
    let target = TargetPolicy { allow_http: true, allow_private: true };
    let mut settings = Settings { target, quota: 0, ..Settings::default() };
    settings.dispatch.attempt_timeout_ms = 400;
    settings
}

fn key(id: &str, bytes: [u8; 32]) -> SealingKey {
    SealingKey::new(id, bytes).unwrap()
}

/// The builder of the service: with documents in a folder beside a file, or in memory if there is no file.
fn builder(place: &Place, documents: &Arc<MemoryStore>) -> InvoicingBuilder {
    let builder = place.builder().settings(settings());
    match place.database() {
        Database::Sqlite => builder,
        Database::Postgres => builder.document_store(documents.clone()),
    }
}

/// Runs the scenario.
pub(crate) async fn play(db: Database, capture: &LogCapture, secrets: &mut Secrets) -> Printed {
    let mut printed = Printed::default();
    secrets.text("the token in a webhook's path", IN_PATH);
    secrets.text("the token in a webhook's query", IN_QUERY);
    secrets.text("a password", PASSWORD);
    secrets.bytes("a sealing key", &SEALING);
    secrets.bytes("a sealing key", &NEXT_SEALING);
    let place = match db {
        Database::Sqlite => Place::new(db).await,
        Database::Postgres => postgres::place(secrets, &mut printed).await,
    };
    let memory = Arc::<MemoryStore>::default();
    first_start(&place, &memory, secrets).await;
    let renderer = Arc::new(UnreliableRenderer::default());
    let invoicing = start(&place, &memory, &renderer, &mut printed).await;
    let owner = invoicing.companies().create(&new_company("Martin Peinture", Plan::Team)).await.unwrap();
    let owner = invoicing.company(owner.id);
    deliveries(&invoicing, &owner, &place, secrets, &mut printed).await;
    let quote = documents(&invoicing, &owner, &renderer, secrets, &mut printed).await;
    api(&invoicing, &owner, quote, secrets, &mut printed).await;
    records(&invoicing, &owner, &renderer, quote, &mut printed).await;
    pages(&owner, &mut printed).await;
    keys(&invoicing, &place, &memory, &mut printed).await;
    printed.types.extend(renderer.seen.lock().unwrap().drain(..).map(|(name, text)| (name.to_owned(), text)));
    broken_database(&invoicing, &owner, &place, &mut printed).await;
    invoicing.close().await;
    printed.failure("a closed database", owner.details().await);
    assert!(!capture.log().is_empty());
    printed
}

/// Starts without a sealing key: the key of document URLs lies in clear and can be planted.
async fn first_start(place: &Place, documents: &Arc<MemoryStore>, secrets: &mut Secrets) {
    builder(place, documents).open().await.unwrap().close().await;
    let select = "SELECT value FROM setting WHERE name = 'document_url_key'";
    let url_key: Vec<u8> = place.behind().await.one(select, &[]).await;
    assert_eq!(url_key.len(), 32);
    secrets.bytes("the key of document URLs", &url_key);
}

async fn start(
    place: &Place,
    documents: &Arc<MemoryStore>,
    renderer: &Arc<UnreliableRenderer>,
    printed: &mut Printed,
) -> Invoicing {
    let keys = SealingKeys::new(key("k1", SEALING));
    printed.value("SealingKey", &key("k1", SEALING));
    printed.value("SealingKeys", &keys);
    let builder = builder(place, documents).sealing_keys(keys).renderer(renderer.clone());
    printed.value("InvoicingBuilder", &builder);
    let invoicing = builder.open().await.unwrap();
    assert_eq!(invoicing.reseal().await.unwrap().resealed, 1);
    for (name, value) in [
        ("Invoicing", &invoicing as &dyn Debug),
        ("ApiService", &invoicing.service()),
        ("Dispatcher", &invoicing.dispatcher()),
        ("Companies", &invoicing.companies()),
        ("SigningLinks", &invoicing.signing_links()),
        ("Env", &Env::system()),
        ("Settings", invoicing.settings()),
        ("DispatchSettings", &invoicing.settings().dispatch),
    ] {
        printed.value(name, value);
    }
    let proxy = format!("http://user:{PASSWORD}@proxy.example:3128");
    let with_proxy: Result<invoicing_server::ForwardProxy, _> =
        invoicing_server::ForwardProxy::from_str(&proxy);
    printed.value("ForwardProxy", &with_proxy.unwrap());
    let refused = invoicing_server::ForwardProxy::from_str(&format!("ftp://user:{PASSWORD}@proxy.example"));
    printed.value("ParseProxyError", refused.as_ref().unwrap_err());
    printed.failure("a proxy", refused);
    invoicing
}

/// A peer that sends back its input.
async fn echo() -> (String, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut buffer = vec![0; 4_096];
            let read = stream.read(&mut buffer).await.unwrap_or(0);
            let _ = stream.write_all(&buffer[..read]).await;
        }
    });
    (url, tasks)
}

/// Deliveries with each outcome.
async fn deliveries(
    invoicing: &Invoicing,
    owner: &CompanyHandle,
    place: &Place,
    secrets: &mut Secrets,
    printed: &mut Printed,
) {
    let (receiver, (echo, _echoes)) = (Receiver::start().await, echo().await);
    let tail = format!("/{IN_PATH}?token={IN_QUERY}");
    let plain = receiver.url.trim_end_matches("/hook");
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let closed = format!("http://{closed}");
    let mut hooks = Vec::new();
    for base in [plain, &plain.replace("http:", "https:"), &*closed, "http://nowhere.invalid", &*echo] {
        let new = NewWebhook { url: format!("{base}{tail}"), events: EventKind::ALL.to_vec() };
        let registered = owner.webhooks().register(&new).await.unwrap();
        secrets.text("a webhook's secret", registered.secret.reveal());
        printed.value("NewWebhook", &new);
        printed.value("RegisteredWebhook", &registered);
        printed.value("Webhook", &registered.webhook);
        printed.value("Version", &Version::from(&registered.webhook));
        printed.value("Secret", &registered.secret);
        hooks.push(registered.webhook.id);
    }
    let moved = vec![("location", format!("http://elsewhere.invalid{tail}"))];
    let replies = [Reply::status(500), Reply::Hang, Reply::Status(302, moved), Reply::status(410)];
    receiver.reply_next(replies);
    for _ in 0..4 {
        owner.clients().create(&NewClient::named("Léa")).await.unwrap();
        for hook in &hooks {
            owner.webhooks().ping(*hook).await.unwrap();
        }
        invoicing.dispatcher().run_once().await.unwrap();
    }
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    let change = WebhookChange { url: Some(format!("{plain}{tail}&again=1")), events: None };
    printed.value("WebhookChange", &change);
    owner.webhooks().change(hooks[2], &change).await.unwrap();
    let rotated = owner.webhooks().rotate_with_overlap(hooks[0], Duration::from_hours(1)).await.unwrap();
    secrets.text("a rotated secret", rotated.secret.reveal());
    printed.value("RegisteredWebhook", &rotated);
    owner.webhooks().ping(hooks[0]).await.unwrap();
    let damage =
        "UPDATE webhook SET secret = substr(secret, 1, length(secret) - 4), url = 'ftp' || url WHERE id = $1";
    for hook in [hooks[1], hooks[3]] {
        assert_eq!(place.behind().await.run(damage, &[hook.0.into()]).await, 1);
        // Enabling makes the dispatcher read the webhook again.
        owner.webhooks().enable(hook).await.unwrap();
        owner.webhooks().ping(hook).await.unwrap();
    }
    let report = invoicing.dispatcher().run_once().await.unwrap();
    assert!(report.failed >= 2, "{report:?}");
    for url in [
        format!("https://user:{PASSWORD}@example.com{tail}"),
        format!("ftp://example.com{tail}"),
        format!("https://[::1{tail}"),
        format!("https://exa mple.com{tail}"),
        format!("https://example.com{tail}{}", "x".repeat(3_000)),
        format!("https://example.com{tail}#{PASSWORD}"),
    ] {
        printed.failure("TargetError", invoicing.settings().target.parse(&url));
        let new = NewWebhook { url, events: EventKind::ALL.to_vec() };
        printed.failure("a URL", owner.webhooks().register(&new).await);
    }
    let target = invoicing.settings().target.parse(&format!("https://example.com{tail}")).unwrap();
    printed.value("TargetUrl", &target);
    printed.value("TargetError", &invoicing.settings().target.parse(&tail).unwrap_err());
    printed.value("Webhooks", &owner.webhooks());
}

/// Documents, signatures, and renderers that fail.
async fn documents(
    invoicing: &Invoicing,
    owner: &CompanyHandle,
    renderer: &UnreliableRenderer,
    secrets: &mut Secrets,
    printed: &mut Printed,
) -> QuoteId {
    let client = owner.clients().create(&NewClient::named("Léa")).await.unwrap();
    let quotes = owner.quotes();
    let quote = quotes.create(&new_quote(client.id)).await.unwrap().summary.id;
    for mood in [1, 2] {
        renderer.mood.store(mood, Ordering::SeqCst);
        printed.failure("a renderer", quotes.send(quote, None).await);
    }
    renderer.mood.store(0, Ordering::SeqCst);
    quotes.send(quote, None).await.unwrap();
    let token = quotes.create_signing_link(quote).await.unwrap();
    secrets.text("the token of a signing link", token.reveal());
    let links = invoicing.signing_links();
    printed.value("SigningPage", &links.open(token.reveal()).await.unwrap());
    printed.value("OpenedDocument", &links.document(token.reveal()).await.unwrap().file_name);
    let evidence = SignatureEvidence {
        signed_by_name: "Léa".into(),
        signed_by_email: "lea@exemple.fr".into(),
        accepted_text: "Bon pour accord".into(),
    };
    let signature = Signature {
        evidence,
        ip: None,
        user_agent: Some(format!("agent {PASSWORD}")),
        document_sha256: None,
    };
    printed.value("Signature", &signature);
    renderer.mood.store(2, Ordering::SeqCst);
    printed.failure("a signature", links.sign(token.reveal(), &signature).await);
    renderer.mood.store(0, Ordering::SeqCst);
    links.sign(token.reveal(), &signature).await.unwrap();
    printed.failure("signed twice", links.sign(token.reveal(), &signature).await);
    let refusal = Decline::default().reason(format!("reason {PASSWORD}"));
    printed.value("Decline", &refusal);
    printed.failure("declined late", links.decline(token.reveal(), &refusal).await);
    printed.failure("a cut token", links.open(&token.reveal()[..40]).await);
    printed.value("SigningLinkRecord", &quotes.signing_links(quote).await.unwrap());
    printed.value("ProofRecord", &quotes.proof(quote).await.unwrap().unwrap());
    printed.value("FrozenFile", &quotes.documents(quote).await.unwrap());
    quote
}

/// The API over connections: HTTP/1.1 and HTTP/2.
async fn api(
    invoicing: &Invoicing,
    owner: &CompanyHandle,
    quote: QuoteId,
    secrets: &mut Secrets,
    printed: &mut Printed,
) {
    let issued = owner.keys().issue("CRM").await.unwrap();
    printed.value("IssuedKey", &issued);
    printed.value("KeyRecord", &issued.record);
    let key = issued.key.reveal();
    secrets.text("an API key", key);
    let unknown = format!("isk_{}", "UnknownKey4".repeat(4));
    secrets.text("a key that is none", &unknown);
    let link = owner.quotes().document(quote).await.unwrap();
    secrets.text("the signature of a document URL", link.url.split_once("&signature=").unwrap().1);
    printed.value("DocumentLink", &link);
    let document = &link.url[link.url.find("/api/").unwrap()..];

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut tasks = JoinSet::new();
    let limits = ServeLimits::default();
    tasks.spawn(serve(listener, invoicing.service(), limits, std::future::pending()));
    let stream = || async { TokioIo::new(TcpStream::connect(address).await.unwrap()) };
    let (mut two, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), stream().await).await.unwrap();
    let mut connections = JoinSet::new();
    connections.spawn(async move { drop(connection.await) });

    let quote_path = format!("/api/v1/quotes/{quote}");
    for (method, path, key, body) in [
        ("GET", "/api/v1/quotes", key, ""),
        ("GET", "/api/v1/quotes", &*unknown, ""),
        ("GET", &*format!("/api/v1/quotes?key={key}"), key, ""),
        ("GET", &*format!("/api/v1/clients?q={key}&q={key}"), key, ""),
        ("GET", &*format!("/api/v1/clients?since={key}&limit={key}"), key, ""),
        ("PATCH", &*quote_path, key, &*format!("{{\"{PASSWORD}\": ")),
        ("POST", "/api/v1/clients", key, &*format!("{{\"type\": \"{key}\", \"name\": \"A\"}}")),
        ("POST", "/api/v1/clients", key, &*format!("{{\"email\": \"{key}\", \"name\": \"A\"}}")),
        ("POST", "/api/v1/clients", key, &*format!("{{\"{key}\": 1, \"name\": \"A\"}}")),
        ("GET", &*format!("/api/v1/quotes?{key}=1"), key, ""),
        ("GET", &*format!("/api/v1/quotes?status={key}"), key, ""),
        ("GET", &*format!("/api/v1/quotes/{key}"), key, ""),
        ("GET", &*quote_path, key, ""),
        ("GET", document, "", ""),
        ("GET", &*document.replace("expires=1", "expires=2"), "", ""),
        ("GET", &*format!("{document}0"), key, ""),
    ] {
        let request = || {
            let uri = format!("http://{address}{path}");
            let request = Request::builder().method(method).header("authorization", format!("Bearer {key}"));
            let request =
                request.header("content-type", "application/json").header("host", address.to_string());
            (request, uri, Full::new(Bytes::from(body.to_owned())))
        };
        let (builder, uri, body) = request();
        let answer = two.send_request(builder.uri(uri).body(body).unwrap()).await.unwrap();
        let status = answer.status();
        let text = answer.into_body().collect().await.unwrap().to_bytes();
        if !status.is_success() {
            let text = String::from_utf8_lossy(&text).into_owned();
            printed.errors.push((format!("{status} of {method} {}", path.split('?').next().unwrap()), text));
        }
        // A connection each, as the service closes a connection if it has answered an incomplete request.
        let (mut one, connection) = hyper::client::conn::http1::handshake(stream().await).await.unwrap();
        connections.spawn(async move { drop(connection.await) });
        let (builder, _, body) = request();
        let answer = one.send_request(builder.uri(path).body(body).unwrap()).await.unwrap();
        assert_eq!(answer.status(), status, "{method} {path}");
        drop(answer.into_body().collect().await.unwrap());
    }
    // Bytes that are no HTTP, and a head that breaks off.
    for bytes in
        [format!("{key} {key}\r\n\r\n"), format!("GET / HTTP/1.1\r\nauthorization: Bearer {key}\r\nx")]
    {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(bytes.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        drop(stream.read_to_end(&mut Vec::new()).await);
    }
    printed.value("Keys", &owner.keys());
}

/// Reads the host's pages.
async fn pages(owner: &CompanyHandle, printed: &mut Printed) {
    let owner = owner.acting_as("Anna").unwrap();
    let (webhooks, events) = (owner.webhooks(), owner.events());
    let hook = webhooks.list().await.unwrap()[0].id;
    webhooks.ping(hook).await.unwrap();
    // The project is noted in any case; a ping is not if one is under way.
    owner.projects().create(&NewProject::named("Kitchen")).await.unwrap();
    printed.value("History", &owner.history());
    printed.value("HistoryRecord", &owner.history().list(None, 10).await.unwrap()[0]);
    let query = HistoryQuery::default().subject(hook.0);
    printed.value("HistoryQuery", &query);
    printed.value("HistoryPage", &owner.history().page(&query, 10).await.unwrap());
    let query = DeliveryQuery::default();
    printed.value("DeliveryQuery", &query);
    let page = webhooks.deliveries(hook, &query, 10).await.unwrap();
    printed.value("DeliveryPage", &page);
    printed.value("DeliveryItem", &page.items[0]);
    printed.value("DeliveryDetail", &webhooks.delivery(hook, page.items[0].delivery.event).await.unwrap());
    let counts = webhooks.day_counts().await.unwrap();
    printed.value("DayCounts", &counts);
    printed.value("WebhookDayStats", &counts.webhooks[0]);
    let query = EventQuery::default();
    printed.value("EventQuery", &query);
    let page = events.page(&query, 10).await.unwrap();
    printed.value("EventPage", &page);
    printed.value("EventItem", &page.items[0]);
    printed.value("EventSubject", &page.items[0].subject);
    let search = QuoteSearch::default();
    printed.value("QuoteSearch", &search);
    printed.value("QuotePage", &owner.quotes().search(&search, 10).await.unwrap());
    printed.value("KeyUsage", &owner.keys().usage().await.unwrap()[0]);
}

/// Prints the types without secrets, from existing records.
async fn records(
    invoicing: &Invoicing,
    owner: &CompanyHandle,
    renderer: &UnreliableRenderer,
    quote: QuoteId,
    printed: &mut Printed,
) {
    let (events, invoices) = (owner.events(), owner.invoices());
    let recorded = events.list(None, 10).await.unwrap();
    printed.value("EventRecord", &recorded);
    printed.value("DeliveryRecord", &events.deliveries(recorded[0].id).await.unwrap());
    let creation = owner.clients().find_or_create(&NewClient::named("A")).await.unwrap();
    printed.value("ClientCreation", &creation);
    let invoice = invoices.convert(quote).await.unwrap().summary.id;
    owner.set_logo(Some(include_bytes!("../data/logo.png").to_vec())).await.unwrap();
    renderer.mood.store(1, Ordering::SeqCst);
    printed.failure("a renderer of invoices", invoices.issue(invoice, None).await);
    renderer.mood.store(0, Ordering::SeqCst);
    printed.value("ReadinessGap", &invoices.readiness(invoice).await.unwrap());
    printed.value("IssueOptions", &IssueOptions::default());
    invoices.issue(invoice, None).await.unwrap();
    let payment = NewPayment::new(1, PaymentSource::Bank);
    printed.value("NewPayment", &payment);
    let paid = invoices.pay(invoice, &payment).await.unwrap();
    printed.value("Payment", &paid.payment);
    printed.value("RecordedPayment", &paid);
    let project = NewProject::named("P").quote_ids([quote]);
    printed.value("NewProject", &project);
    let bytes = Bytes::from_static(b"%PDF-");
    let key = DocumentKey { company: owner.id(), upload: Env::system().uuid() };
    printed.value("DocumentKey", &key);
    printed.value("DocumentFile", &DocumentFile { bytes, file_name: "a.pdf".to_owned() });
    let bucket = [("aws_region", "r"), ("aws_access_key_id", "id"), ("aws_secret_access_key", STORE_SECRET)];
    let bucket = ObjectStorage::from_url("s3://bucket/quotes", bucket).unwrap();
    assert!(!format!("{bucket:?}").contains(STORE_SECRET), "{bucket:?}");
    printed.value("ObjectStorage", &bucket);
    // A printed account key would be a list of numbers.
    let account = [("azure_storage_account_name", "a"), ("azure_storage_account_key", "c3RvcmUta2V5")];
    let container = ObjectStorage::from_url("az://container/quotes", account).unwrap();
    assert_eq!(format!("{container:?}"), "ObjectStorage { prefix: \"quotes\", .. }");
    let wrong =
        ObjectStorage::from_url("s3://bucket", [("aws_secret_access_keys", STORE_SECRET)]).unwrap_err();
    assert!(!format!("{wrong:?} {wrong}").contains(STORE_SECRET), "{wrong:?}");
    printed.value("StorageSetupError", &wrong);
    let hash: Result<ContentHash, _> = "x".parse();
    printed.value("ContentHash", &hash);
    for (name, value) in [
        ("CompanyHandle", owner as &dyn Debug),
        ("Clients", &owner.clients()),
        ("Events", &events),
        ("Invoices", &invoices),
        ("Projects", &owner.projects()),
        ("Quotes", &owner.quotes()),
        ("CreditNotes", &owner.credit_notes()),
        ("CreditNoteQuery", &CreditNoteQuery::default()),
        ("MemoryStore", &MemoryStore::new()),
        ("ClientQuery", &ClientQuery::default()),
        ("InvoiceQuery", &InvoiceQuery::default()),
        ("PageQuery", &PageQuery::<QuoteStatus>::default()),
        ("QuoteQuery", &QuoteQuery::default()),
        ("DocumentStoreError", &DocumentStoreError::TimedOut),
        ("RenderError", &RenderError::new("no font")),
    ] {
        printed.value(name, value);
    }
    invoicing.sweep().await.unwrap();
}

/// Keys that are wrong, missing, or no keys.
async fn keys(invoicing: &Invoicing, place: &Place, documents: &Arc<MemoryStore>, printed: &mut Printed) {
    let text = String::from_utf8_lossy(&SEALING).into_owned();
    let no_key = SealingKey::from_base64("k2", &text);
    printed.value("SealingKeyError", no_key.as_ref().unwrap_err());
    printed.failure("a sealing key", no_key);
    printed
        .failure("a long sealing key", SealingKey::from_base64("k2", &"c2VhbGluZy1rZXktYnl0ZXM".repeat(4)));
    let wrong = SealingKeys::new(key("k1", NEXT_SEALING));
    let error = invoicing.use_sealing_keys(wrong.clone()).await.unwrap_err();
    printed.value("SealingError", &error);
    printed.error("wrong keys", &error);
    let without = SealingKeys::new(key("k2", NEXT_SEALING));
    printed.failure("missing keys", invoicing.use_sealing_keys(without).await);
    let both = SealingKeys::new(key("k2", NEXT_SEALING)).older(key("k1", SEALING));
    invoicing.use_sealing_keys(both).await.unwrap();
    let report = invoicing.reseal().await.unwrap();
    assert!(report.resealed > 0 && report.unreadable > 0, "{report:?}");
    let elsewhere = Place::new(place.database()).await;
    let elsewhere = builder(&elsewhere, documents).sealing_keys(wrong.clone());
    let elsewhere = elsewhere.webhook_transport(|transport| transport.root_certificate(PASSWORD.into()));
    let OpenError::Transport(no_root) = elsewhere.open().await.unwrap_err() else { panic!("opened") };
    printed.value("TransportSetupError", &no_root);
    printed.error("a root certificate", &no_root);
    let nowhere = Invoicing::sqlite("/no/such/folder/invoicing.db").open().await.unwrap_err();
    let OpenError::Database(no_database) = nowhere else { panic!("opened") };
    printed.value("DatabaseError", &no_database);
    printed.error("no database", &no_database);
    let second = builder(place, documents).sealing_keys(wrong).open().await.unwrap_err();
    printed.value("OpenError", &second);
    printed.error("opened twice, or with wrong keys", &second);
}

/// A database that refuses the service's writes, with the values in its errors.
async fn broken_database(invoicing: &Invoicing, owner: &CompanyHandle, place: &Place, printed: &mut Printed) {
    let mut behind = place.behind().await;
    for table in ["webhook", "api_key", "signing_link", "setting"] {
        // PostgreSQL repeats the whole row in the error of the check.
        let refusal = match place.database() {
            Database::Sqlite => format!(
                "CREATE TRIGGER refused_{table} BEFORE INSERT ON {table} \
                 BEGIN SELECT RAISE(ABORT, 'refused'); END"
            ),
            Database::Postgres => {
                format!("ALTER TABLE {table} ADD CONSTRAINT refused CHECK (false) NOT VALID")
            }
        };
        behind.run(&refusal, &[]).await;
    }
    let url = format!("https://example.com/{IN_PATH}?token={IN_QUERY}");
    let new = NewWebhook { url, events: EventKind::ALL.to_vec() };
    let refused: Result<_, Error> = owner.webhooks().register(&new).await;
    printed.value("Error", refused.as_ref().unwrap_err());
    printed.failure("a refused row", refused);
    printed.failure("a refused key", owner.keys().issue("CRM").await);
    behind.run("ALTER TABLE webhook RENAME TO gone", &[]).await;
    printed.failure("a missing table", owner.webhooks().register(&new).await);
    printed.failure("nothing to seal", invoicing.reseal().await);
}
