//! The laws of a database after faults: each announced change is there, nothing is there twice,
//! and nothing is half there.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

use chrono::NaiveDate;
use invoicing_core::{
    Client, CreditNote, DocumentLink, EventId, Invoice, InvoiceStatus, Page, Project, Quote, QuoteStatus,
    Timestamp, WebhookId,
};
use invoicing_server::{
    AttemptRecord, ClientQuery, CompanyHandle, ContentHash, CreditNoteQuery, EventRecord, InvoiceQuery,
    OpenedDocument, PageWindow, QuoteQuery,
};
use invoicing_tests::Received;
use serde_json::Value;

use crate::process::{REPEATED_IDS, Site};

/// Events in one answer.
const PAGE: u32 = 1_000;

/// The totals of a run.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub(crate) operations: usize,
    pub(crate) credit_notes: usize,
    pub(crate) events: usize,
    pub(crate) deliveries: usize,
    pub(crate) delivered: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
    /// Requests that the receivers got.
    pub(crate) received: usize,
    /// Of these, how many have left no record: the attempts of a node that was killed before it recorded them.
    /// Each was made again.
    pub(crate) duplicated: usize,
    /// Deliveries that were recorded as answered with a 2xx more than once.
    pub(crate) doubled: usize,
    /// Announced and not found, or delivered and not received.
    pub(crate) lost: usize,
}

/// An event as receivers tell events apart.
type Key = (String, String, String);

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operations, events, deliveries, delivered, failed, skipped, .. } = self;
        let Self { received, duplicated, lost, credit_notes, .. } = self;
        write!(
            f,
            "{events} events committed, {deliveries} deliveries: {delivered} delivered, {failed} failed, \
             {skipped} skipped, {duplicated} duplicated, lost = {lost} ({operations} operations announced, \
             {credit_notes} credit notes, {received} requests received)"
        )
    }
}

/// Everything of one company.
struct Found {
    handle: CompanyHandle,
    clients: Vec<Client>,
    projects: Vec<Project>,
    quotes: Vec<Quote>,
    invoices: Vec<Invoice>,
    credit_notes: Vec<CreditNote>,
    events: Vec<EventRecord>,
    /// Each event by kind, id and timestamp, and how often it was recorded.
    recorded: BTreeMap<Key, usize>,
    /// The stamp with which each quote was created, and its status then.
    created: HashMap<String, (Timestamp, String)>,
    /// The attempts of each delivery that are on record.
    attempts: HashMap<(WebhookId, EventId), Vec<AttemptRecord>>,
}

/// The deliveries of each webhook: one text per event, and the number of times that it came.
type Came = HashMap<(String, Key), (Vec<u8>, usize)>;

/// The failures that nodes and writers have reported.
pub(crate) fn said_wrong<'a>(said: &'a [Vec<Value>], field: &str) -> Option<&'a Value> {
    said.iter().flatten().find(|line| line.get(field).is_some())
}

/// Checks everything. `said`: what was said by each process, or by several at once, in order.
pub(crate) async fn check(site: &Site, said: &[Vec<Value>], received: &[Received]) -> Figures {
    assert_eq!(said_wrong(said, "failed"), None);
    assert_eq!(site.count(REPEATED_IDS).await, 0, "two deliveries share a row id");
    let invoicing = site.open().await;
    let mut figures = Figures { received: received.len(), ..Figures::default() };
    let came = came(received);
    for company in invoicing.companies().list().await.expect("companies") {
        let found = Found::read(invoicing.company(company.id)).await;
        let id = company.id.to_string();
        let of_company = |line: &&Value| line["company"].as_str() == Some(&id);
        let said: Vec<Vec<&Value>> =
            said.iter().map(|lines| lines.iter().filter(of_company).collect()).collect();
        check_stamps(&said);
        found.check_said(said.iter().flatten().copied(), &mut figures);
        found.check_quotes(company.automatic_invoicing).await;
        found.check_invoices().await;
        found.check_credit_notes(&mut figures).await;
        found.check_numbers();
        found.check_once();
        found.check_deliveries(&came, site.hooks.len(), &mut figures).await;
    }
    invoicing.close().await;
    figures
}

fn came(received: &[Received]) -> Came {
    let mut came = Came::new();
    for one in received {
        let hook = one.headers.get("x-service-webhook-id").and_then(|value| value.to_str().ok());
        let key = (hook.expect("the webhook's id").to_owned(), key_of(&one.json));
        let (body, count) = came.entry(key).or_insert_with(|| (one.body.to_vec(), 0));
        assert!(*body == one.body, "an event came with different bytes");
        *count += 1;
    }
    came
}

fn key_of(body: &Value) -> Key {
    (text(&body["event"]), text(&body["data"]["id"]), text(&body["timestamp"]))
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

/// Each operation has a stamp of its own, and processes begin behind the last one of those before.
fn check_stamps(said: &[Vec<&Value>]) {
    let mut last = Timestamp::EARLIEST;
    for lines in said {
        let stamps: Vec<Timestamp> = lines.iter().map(|line| stamp(line)).collect();
        let distinct: BTreeSet<Timestamp> = stamps.iter().copied().collect();
        assert_eq!(distinct.len(), stamps.len(), "two changes share a stamp");
        if let (Some(first), Some(highest)) = (distinct.first(), distinct.last()) {
            assert!(*first > last, "stamp {first} after a restart, {last} before");
            last = *highest;
        }
    }
}

fn stamp(line: &Value) -> Timestamp {
    line["stamp"].as_str().and_then(|text| text.parse().ok()).expect("a stamp")
}

fn distinct<T: Ord>(values: impl IntoIterator<Item = T>) -> bool {
    let mut seen = BTreeSet::new();
    values.into_iter().all(|value| seen.insert(value))
}

impl Found {
    async fn read(handle: CompanyHandle) -> Self {
        let events = events(&handle).await;
        let (mut recorded, mut created) = (BTreeMap::new(), HashMap::new());
        for event in &events {
            let body: Value = serde_json::from_str(&event.body).expect("JSON");
            let key = key_of(&body);
            if key.0 == "quote.created" {
                created.insert(key.1.clone(), (event.timestamp, text(&body["data"]["status"])));
            }
            *recorded.entry(key).or_insert(0) += 1;
        }
        assert!(recorded.values().all(|count| *count == 1), "an event was recorded twice");
        Self {
            clients: clients(&handle).await,
            projects: handle.projects().list().await.expect("projects"),
            quotes: quotes(&handle).await,
            invoices: invoices(&handle).await,
            credit_notes: credit_notes(&handle).await,
            events,
            recorded,
            created,
            attempts: attempts(&handle).await,
            handle,
        }
    }

    /// How often an event of that kind was recorded for a record.
    fn count(&self, kind: &str, id: &dyn fmt::Display) -> usize {
        let id = id.to_string();
        self.recorded.keys().filter(|key| key.0 == kind && key.1 == id).count()
    }

    /// Each announced change is there; unannounced ones may be.
    fn check_said<'a>(&self, said: impl Iterator<Item = &'a Value>, figures: &mut Figures) {
        let mut records = HashMap::<String, (Timestamp, &'static str)>::new();
        let quotes = self.quotes.iter().map(|quote| {
            (quote.summary.id.to_string(), (quote.summary.updated_at, quote.summary.status.as_str()))
        });
        records.extend(quotes);
        for invoice in &self.invoices {
            records.insert(
                invoice.summary.id.to_string(),
                (invoice.summary.updated_at, invoice.summary.status.as_str()),
            );
        }
        for note in &self.credit_notes {
            records.insert(note.summary.id.to_string(), (note.summary.updated_at, ""));
        }
        for project in &self.projects {
            records.insert(project.id.to_string(), (project.updated_at, project.status.as_str()));
        }
        for line in said {
            figures.operations += 1;
            let id = text(&line["id"]);
            if line["kind"] == "client" {
                let client = self.clients.iter().find(|client| client.id.to_string() == id);
                assert_eq!(client.map(|client| client.updated_at), Some(stamp(line)), "{line}");
                continue;
            }
            let Some((updated_at, status)) = records.get(&id) else { panic!("lost: {line}") };
            assert!(*updated_at >= stamp(line), "fallen back to {updated_at}: {line}");
            assert!(*updated_at > stamp(line) || line["status"] == *status, "half done, {status}: {line}");
            for event in line["events"].as_array().expect("events") {
                let key = (text(event), id.clone(), text(&line["stamp"]));
                figures.lost += usize::from(!self.recorded.contains_key(&key));
            }
        }
    }

    async fn check_quotes(&self, automatic: bool) {
        for quote in &self.quotes {
            assert_eq!(self.count("quote.created", &quote.summary.id), 1, "{quote:?}");
            let is_accepted = quote.summary.status == QuoteStatus::Accepted;
            // Only an import begins in another state than DRAFT.
            let is_import = self.created[&quote.summary.id.to_string()].1 != QuoteStatus::Draft.as_str();
            let accepted = usize::from(is_accepted && !is_import);
            assert_eq!(self.count("quote.accepted", &quote.summary.id), accepted, "{quote:?}");
            assert_eq!(
                self.count("quote.signed", &quote.summary.id),
                usize::from(quote.summary.signed_at.is_some()),
                "{quote:?}"
            );
            if automatic && accepted == 1 {
                let made = self
                    .invoices
                    .iter()
                    .filter(|invoice| invoice.summary.quote_id == Some(quote.summary.id))
                    .count();
                assert_eq!(made, 1, "{quote:?}");
            }
            let documents = self.handle.quotes().documents(quote.summary.id).await.expect("documents");
            let is_discarded =
                quote.summary.status == QuoteStatus::Rejected && quote.summary.sent_at.is_none();
            if quote.summary.status == QuoteStatus::Draft || is_discarded {
                assert!(documents.is_empty(), "{quote:?}");
                continue;
            }
            let last = documents.last().expect("a frozen document");
            assert!(documents.len() >= if quote.summary.signed_at.is_some() { 2 } else { 1 }, "{quote:?}");
            let opened = self.handle.quotes().open_document(quote.summary.id).await.expect("its file");
            let found = ContentHash::of(&opened.bytes).to_string();
            assert_eq!((&found, &opened.sha256), (&last.sha256, &last.sha256), "{quote:?}");
        }
    }

    async fn check_invoices(&self) {
        assert!(
            distinct(self.invoices.iter().map(|invoice| invoice.summary.quote_id)),
            "a quote was converted twice"
        );
        for invoice in &self.invoices {
            assert_eq!(self.count("invoice.created", &invoice.summary.id), 1, "{invoice:?}");
            let payments = self.handle.invoices().payments(invoice.summary.id).await.expect("payments");
            assert!(distinct(payments.iter().map(|payment| payment.movement_id.as_ref())), "{payments:?}");
            let kept = payments.iter().filter(|payment| payment.reversed_at.is_none());
            let paid: rust_decimal::Decimal = kept.map(|payment| payment.amount.get()).sum();
            assert_eq!(paid, invoice.summary.amount_paid.get(), "{invoice:?}");
            let times = self.count("invoice.paid", &invoice.summary.id);
            assert!(
                times <= 2 && (invoice.summary.status != InvoiceStatus::Paid || times >= 1),
                "{invoice:?}"
            );
            assert_eq!(
                invoice.summary.number.is_none(),
                invoice.summary.status == InvoiceStatus::Draft,
                "{invoice:?}"
            );
            let (id, is_issued) = (invoice.summary.id, invoice.summary.number.is_some());
            assert_eq!(self.count("invoice.issued", &id), usize::from(is_issued), "{invoice:?}");
            if is_issued {
                let link = self.handle.invoices().document(id).await.expect("a frozen document");
                check_document(&link, &self.handle.invoices().open_document(id).await.expect("its file"));
            }
            let notes = self.credit_notes.iter().filter(|note| note.summary.invoice_id == id);
            let credited: rust_decimal::Decimal =
                notes.clone().map(|note| note.summary.total_ttc.get()).sum();
            assert_eq!(credited, invoice.summary.amount_credited.get(), "{invoice:?}");
            let named = invoice.detail.credit_notes.iter().map(|note| note.id);
            assert_eq!(named.collect::<BTreeSet<_>>(), notes.map(|note| note.summary.id).collect());
            let is_canceled = invoice.summary.status == InvoiceStatus::Canceled;
            assert!(!is_canceled || credited == invoice.summary.total_ttc.get(), "{invoice:?}");
        }
    }

    /// Each with its event and its document; in the order of their numbers no later one is dated before.
    async fn check_credit_notes(&self, figures: &mut Figures) {
        figures.credit_notes += self.credit_notes.len();
        for note in &self.credit_notes {
            let id = note.summary.id;
            assert_eq!(self.count("credit_note.issued", &id), 1, "{note:?}");
            let link = self.handle.credit_notes().document(id).await.expect("a frozen document");
            check_document(&link, &self.handle.credit_notes().open_document(id).await.expect("its file"));
        }
        let mut notes: Vec<(&str, Timestamp, NaiveDate)> = self
            .credit_notes
            .iter()
            .map(|CreditNote { summary, .. }| (&*summary.number, summary.created_at, summary.issue_date))
            .collect();
        notes.sort_unstable();
        assert!(notes.is_sorted_by(|a, b| a.1 < b.1 && a.2 <= b.2), "not chronological: {notes:?}");
        let mut invoices: Vec<(&str, NaiveDate)> = self
            .invoices
            .iter()
            .filter_map(|Invoice { summary, .. }| Some((summary.number.as_deref()?, summary.issue_date?)))
            .collect();
        invoices.sort_unstable();
        assert!(invoices.is_sorted_by_key(|(_, date)| *date), "not chronological: {invoices:?}");
    }

    /// From 1, without a gap; quotes in the order in which they were made.
    fn check_numbers(&self) {
        let mut quotes: Vec<(&str, Timestamp)> = self
            .quotes
            .iter()
            .map(|quote| (quote.summary.number.as_str(), self.created[&quote.summary.id.to_string()].0))
            .collect();
        quotes.sort_unstable();
        assert!(quotes.is_sorted_by(|a, b| a.1 < b.1), "numbers are not chronological");
        let mut series = BTreeMap::<&str, BTreeSet<usize>>::new();
        let invoices = self.invoices.iter().filter_map(|invoice| invoice.summary.number.as_deref());
        let notes = self.credit_notes.iter().map(|note| note.summary.number.as_str());
        let quotes = self.quotes.iter().map(|quote| quote.summary.number.as_str());
        for number in quotes.chain(invoices).chain(notes) {
            let (name, place) = number.rsplit_once('-').expect("a series");
            let is_new = series.entry(name).or_default().insert(place.parse().expect("a number"));
            assert!(is_new, "{number} was given twice");
        }
        for (name, places) in series {
            assert_eq!(places.last(), Some(&places.len()), "{name} has gaps");
        }
    }

    /// The writers make no two clients alike, one quote per client and one project per quote.
    fn check_once(&self) {
        let names = self.clients.iter().map(|client| (&client.name, &client.external_id));
        assert!(distinct(names), "a client was created twice");
        assert!(
            distinct(self.quotes.iter().map(|quote| quote.summary.client_id)),
            "a quote was created twice"
        );
        let projects = self.projects.iter().flat_map(|project| &project.quote_ids);
        assert!(distinct(projects), "a project was created twice");
    }

    /// Each delivery has ended, with its attempts on record, and what was delivered came.
    async fn check_deliveries(&self, came: &Came, hooks: usize, figures: &mut Figures) {
        for event in &self.events {
            figures.events += 1;
            let key = key_of(&serde_json::from_str(&event.body).expect("JSON"));
            let deliveries = self.handle.events().deliveries(event.id).await.expect("deliveries");
            assert_eq!(deliveries.len(), hooks, "{event:?}");
            for delivery in deliveries {
                figures.deliveries += 1;
                match delivery.status.as_str() {
                    "delivered" => figures.delivered += 1,
                    "failed" => figures.failed += 1,
                    "skipped" => figures.skipped += 1,
                    _ => panic!("never ended: {delivery:?}"),
                }
                let attempts =
                    self.attempts.get(&(delivery.webhook, event.id)).map_or(&[][..], Vec::as_slice);
                assert!(distinct(attempts.iter().map(|attempt| attempt.number)), "{attempts:?}");
                assert_eq!(attempts.len(), delivery.attempts as usize, "{delivery:?}: {attempts:?}");
                let good = attempts.iter().filter(|attempt| matches!(attempt.status, Some(200..300))).count();
                figures.doubled += usize::from(good > 1);
                let came = came.get(&(delivery.webhook.to_string(), key.clone()));
                assert!(
                    came.is_none_or(|(body, _)| body == event.body.as_bytes()),
                    "other bytes came: {event:?}"
                );
                let times = came.map_or(0, |(_, times)| *times);
                figures.duplicated += times.saturating_sub(attempts.len());
                figures.lost += usize::from(delivery.status.as_str() == "delivered" && times == 0);
            }
        }
    }
}

/// Everything of a list, page by page.
async fn all<T>(page: impl AsyncFn(PageWindow) -> Result<Page<T>, invoicing_server::Error>) -> Vec<T> {
    let mut all = Vec::new();
    loop {
        let window = PageWindow { limit: 100, offset: all.len() as u64, since: None };
        let Page { data, pagination, .. } = page(window).await.expect("a page");
        all.extend(data);
        if !pagination.has_more {
            return all;
        }
    }
}

async fn clients(handle: &CompanyHandle) -> Vec<Client> {
    let page = async |window| handle.clients().list(&ClientQuery { window, ..ClientQuery::default() }).await;
    all(page).await
}

async fn quotes(handle: &CompanyHandle) -> Vec<Quote> {
    let page = async |window| handle.quotes().list(&QuoteQuery { window, ..QuoteQuery::default() }).await;
    let mut quotes = Vec::new();
    for item in all(page).await {
        quotes.push(handle.quotes().get(item.summary.id).await.expect("a quote"));
    }
    quotes
}

async fn invoices(handle: &CompanyHandle) -> Vec<Invoice> {
    let page =
        async |window| handle.invoices().list(&InvoiceQuery { window, ..InvoiceQuery::default() }).await;
    let mut invoices = Vec::new();
    for item in all(page).await {
        invoices.push(handle.invoices().get(item.summary.id).await.expect("an invoice"));
    }
    invoices
}

async fn credit_notes(handle: &CompanyHandle) -> Vec<CreditNote> {
    let page = async |window| {
        handle.credit_notes().list(&CreditNoteQuery { window, ..CreditNoteQuery::default() }).await
    };
    let mut notes = Vec::new();
    for item in all(page).await {
        notes.push(handle.credit_notes().get(item.summary.id).await.expect("a credit note"));
    }
    notes
}

/// The file is the one that the row of the document names.
fn check_document(link: &DocumentLink, opened: &OpenedDocument) {
    let found = ContentHash::of(&opened.bytes).to_string();
    assert_eq!((&found, &opened.sha256), (&link.sha256, &link.sha256), "{}", link.file_name);
}

async fn events(handle: &CompanyHandle) -> Vec<EventRecord> {
    let mut events: Vec<EventRecord> = Vec::new();
    loop {
        let last: Option<EventId> = events.last().map(|event| event.id);
        let more = handle.events().list(last, PAGE).await.expect("events");
        let is_all = more.len() < PAGE as usize;
        events.extend(more);
        if is_all {
            break;
        }
    }
    let in_order = events.is_sorted_by_key(|event| event.timestamp);
    assert!(in_order, "events in another order than they were recorded");
    events
}

async fn attempts(handle: &CompanyHandle) -> HashMap<(WebhookId, EventId), Vec<AttemptRecord>> {
    let mut attempts = HashMap::<_, Vec<AttemptRecord>>::new();
    for hook in handle.webhooks().list().await.expect("webhooks") {
        for attempt in handle.webhooks().log(hook.id, u32::MAX).await.expect("attempts") {
            attempts.entry((hook.id, attempt.event)).or_default().push(attempt);
        }
    }
    attempts
}
