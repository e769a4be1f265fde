//! What must hold of the files that killed processes have left: everything that was said is there, and nothing is half
//! there.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

use invoicing_core::{EventId, Invoice, InvoiceStatus, Quote, QuoteStatus, Timestamp};
use invoicing_server::{CompanyHandle, EventRecord, Invoicing, ObjectStorage, PageQuery, PageWindow};
use invoicing_tests::Received;
use serde_json::Value;

use crate::process::Site;

/// Events in one answer.
const PAGE: u32 = 1_000;

/// What it came to.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub(crate) operations: usize,
    pub(crate) events: usize,
    pub(crate) deliveries: usize,
    pub(crate) delivered: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
    /// Requests that the receivers got.
    pub(crate) received: usize,
    /// Of these, how many brought what had been brought before.
    pub(crate) duplicates: usize,
    /// Announced and not found, or delivered and not received.
    pub(crate) lost: usize,
}

/// An event as receivers tell events apart.
type Key = (String, String, String);

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operations, events, deliveries, delivered, failed, skipped, received, duplicates, lost } =
            self;
        writeln!(
            f,
            "{operations} operations announced, {events} events committed, {deliveries} deliveries:"
        )?;
        writeln!(f, "{delivered} delivered, {failed} failed, {skipped} skipped, {lost} lost")?;
        write!(f, "{received} requests received, {duplicates} of them with what had come before")
    }
}

/// Everything of one company.
struct Found {
    handle: CompanyHandle,
    quotes: Vec<Quote>,
    invoices: Vec<Invoice>,
    events: Vec<EventRecord>,
    /// Each event by kind, id and timestamp, and how often it was recorded.
    recorded: BTreeMap<Key, usize>,
}

pub(crate) async fn open(site: &Site) -> Invoicing {
    let documents = std::sync::Arc::new(ObjectStorage::folder(site.documents()).expect("the folder opens"));
    Invoicing::builder(site.database()).document_store(documents).open().await.expect("the files open")
}

/// Checks everything. `said`: what each process said, in order.
pub(crate) async fn check(site: &Site, said: &[Vec<Value>], received: &[Received]) -> Figures {
    let invoicing = open(site).await;
    let mut figures = Figures { received: received.len(), ..Figures::default() };
    let bodies = bodies(received, &mut figures);
    for company in invoicing.companies().list().await.expect("companies") {
        let found = Found::read(invoicing.company(company.id)).await;
        let id = company.id.to_string();
        let of_company = |line: &&Value| line["company"].as_str() == Some(&id);
        let said: Vec<Vec<&Value>> =
            said.iter().map(|lines| lines.iter().filter(of_company).collect()).collect();
        check_stamps(&said);
        found.check_said(said.iter().flatten().copied(), &mut figures).await;
        found.check_quotes(company.automatic_invoicing).await;
        found.check_invoices().await;
        found.check_numbers();
        found.check_deliveries(&bodies, site.hooks.len(), &mut figures).await;
    }
    invoicing.close().await;
    figures
}

/// What each webhook got: one text per event, however often it came.
fn bodies(received: &[Received], figures: &mut Figures) -> HashMap<(String, Key), Vec<u8>> {
    let mut bodies = HashMap::new();
    for one in received {
        let hook = one.headers.get("x-service-webhook-id").and_then(|value| value.to_str().ok());
        let key = (hook.expect("the webhook's id").to_owned(), key_of(&one.json));
        match bodies.insert(key.clone(), one.body.to_vec()) {
            Some(before) if before != one.body => panic!("{key:?} came with different bytes"),
            Some(_) => figures.duplicates += 1,
            None => {}
        }
    }
    bodies
}

fn key_of(body: &Value) -> Key {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    (text(&body["event"]), text(&body["data"]["id"]), text(&body["timestamp"]))
}

/// Each operation has a stamp of its own, and a process begins behind the last one of the process before.
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
        let (mut quotes, mut invoices) = (Vec::new(), Vec::new());
        let window = |offset| PageWindow { limit: 100, offset, since: None };
        loop {
            let query = PageQuery { window: window(quotes.len() as u64), ..PageQuery::default() };
            let page = handle.quotes().list(&query).await.expect("quotes");
            for item in page.data {
                quotes.push(handle.quotes().get(item.id).await.expect("a quote"));
            }
            if !page.pagination.has_more {
                break;
            }
        }
        loop {
            let query = PageQuery { window: window(invoices.len() as u64), ..PageQuery::default() };
            let page = handle.invoices().list(&query).await.expect("invoices");
            for item in page.data {
                invoices.push(handle.invoices().get(item.id).await.expect("an invoice"));
            }
            if !page.pagination.has_more {
                break;
            }
        }
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
        assert!(
            events.is_sorted_by_key(|event| event.timestamp),
            "events in another order than they were recorded"
        );
        let mut recorded = BTreeMap::new();
        for event in &events {
            *recorded.entry(key_of(&serde_json::from_str(&event.body).expect("JSON"))).or_insert(0) += 1;
        }
        assert!(recorded.values().all(|count| *count == 1), "an event was recorded twice");
        Self { handle, quotes, invoices, events, recorded }
    }

    /// How often an event of that kind was recorded for a record.
    fn count(&self, kind: &str, id: &dyn fmt::Display) -> usize {
        let id = id.to_string();
        self.recorded.keys().filter(|key| key.0 == kind && key.1 == id).count()
    }

    /// What was said is there, at least as far as was said.
    async fn check_said<'a>(&self, said: impl Iterator<Item = &'a Value>, figures: &mut Figures) {
        let mut records = HashMap::<String, (Timestamp, &'static str)>::new();
        let quotes =
            self.quotes.iter().map(|quote| (quote.id.to_string(), (quote.updated_at, quote.status.as_str())));
        records.extend(quotes);
        for invoice in &self.invoices {
            records.insert(invoice.id.to_string(), (invoice.updated_at, invoice.status.as_str()));
        }
        for project in self.handle.projects().list().await.expect("projects") {
            records.insert(project.id.to_string(), (project.updated_at, project.status.as_str()));
        }
        for line in said {
            figures.operations += 1;
            let text = |name: &str| line[name].as_str().expect("a text").to_owned();
            let id = text("id");
            if text("kind") == "client" {
                let client = self.handle.clients().get(id.parse().expect("an id")).await.expect("a client");
                assert_eq!(client.updated_at, stamp(line), "{line}");
                continue;
            }
            let Some((updated_at, status)) = records.get(&id) else { panic!("lost: {line}") };
            assert!(*updated_at >= stamp(line), "fallen back to {updated_at}: {line}");
            assert!(*updated_at > stamp(line) || *status == text("status"), "half done, {status}: {line}");
            for event in line["events"].as_array().expect("events") {
                let key = (event.as_str().expect("a kind").to_owned(), id.clone(), text("stamp"));
                figures.lost += usize::from(!self.recorded.contains_key(&key));
            }
        }
    }

    async fn check_quotes(&self, automatic: bool) {
        for quote in &self.quotes {
            assert_eq!(self.count("quote.created", &quote.id), 1, "{quote:?}");
            let is_accepted = quote.status == QuoteStatus::Accepted;
            // Only an import is sent and accepted at one instant.
            let is_import = is_accepted && quote.accepted_at == quote.sent_at;
            let accepted = usize::from(is_accepted && !is_import);
            assert_eq!(self.count("quote.accepted", &quote.id), accepted, "{quote:?}");
            assert_eq!(
                self.count("quote.signed", &quote.id),
                usize::from(quote.signed_at.is_some()),
                "{quote:?}"
            );
            if automatic && accepted == 1 {
                let made = self.invoices.iter().filter(|invoice| invoice.quote_id == quote.id).count();
                assert_eq!(made, 1, "{quote:?}");
            }
            let documents = self.handle.quotes().documents(quote.id).await.expect("documents");
            if quote.status == QuoteStatus::Draft {
                assert!(documents.is_empty(), "{quote:?}");
                continue;
            }
            let last = documents.last().expect("a frozen document");
            assert!(documents.len() >= if quote.signed_at.is_some() { 2 } else { 1 }, "{quote:?}");
            let opened = self.handle.quotes().open_document(quote.id).await.expect("its file");
            let found = invoicing_server::ContentHash::of(&opened.bytes).to_string();
            assert_eq!((&found, &opened.sha256), (&last.sha256, &last.sha256), "{quote:?}");
        }
    }

    async fn check_invoices(&self) {
        assert!(
            distinct(self.invoices.iter().map(|invoice| invoice.quote_id)),
            "a quote was converted twice"
        );
        for invoice in &self.invoices {
            assert_eq!(self.count("invoice.created", &invoice.id), 1, "{invoice:?}");
            let payments = self.handle.invoices().payments(invoice.id).await.expect("payments");
            assert!(
                distinct(payments.iter().filter_map(|payment| payment.reference.as_ref())),
                "{payments:?}"
            );
            let kept = payments.iter().filter(|payment| payment.reversed_at.is_none());
            let paid: rust_decimal::Decimal = kept.map(|payment| payment.amount.get()).sum();
            assert_eq!(paid, invoice.amount_paid.get(), "{invoice:?}");
            let times = self.count("invoice.paid", &invoice.id);
            assert!(times <= 2 && (invoice.status != InvoiceStatus::Paid || times >= 1), "{invoice:?}");
            assert_eq!(invoice.number.is_none(), invoice.status == InvoiceStatus::Draft, "{invoice:?}");
        }
    }

    /// From 1, without a gap; quotes in the order in which they were made.
    fn check_numbers(&self) {
        let mut quotes: Vec<(&str, Timestamp)> =
            self.quotes.iter().map(|quote| (quote.number.as_str(), quote.created_at)).collect();
        quotes.sort_unstable();
        assert!(quotes.is_sorted_by(|a, b| a.1 < b.1), "numbers are not chronological");
        let mut series = BTreeMap::<&str, BTreeSet<usize>>::new();
        let invoices = self.invoices.iter().filter_map(|invoice| invoice.number.as_deref());
        for number in self.quotes.iter().map(|quote| quote.number.as_str()).chain(invoices) {
            let (name, place) = number.rsplit_once('-').expect("a series");
            let is_new = series.entry(name).or_default().insert(place.parse().expect("a number"));
            assert!(is_new, "{number} was given twice");
        }
        for (name, places) in series {
            assert_eq!(places.last(), Some(&places.len()), "{name} has gaps");
        }
    }

    /// Each delivery has ended, and what was delivered came.
    async fn check_deliveries(
        &self,
        bodies: &HashMap<(String, Key), Vec<u8>>,
        hooks: usize,
        figures: &mut Figures,
    ) {
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
                let came = bodies.get(&(delivery.webhook.to_string(), key.clone()));
                assert!(came.is_none_or(|body| body == event.body.as_bytes()), "other bytes came: {event:?}");
                figures.lost += usize::from(delivery.status.as_str() == "delivered" && came.is_none());
            }
        }
    }
}
