//! The common parts of this binary's modules: a company of one's own, records in every state, properties over random input.

use std::fmt::Write;
use std::time::Duration;

use bytes::Bytes;
use invoicing_core::{
    Client, Invoice, InvoiceId, Money, NewClient, Plan, Quote, QuoteId, SignatureEvidence, Timestamp,
};
use invoicing_server::{CompanyHandle, NewPayment, PaymentSource, Signature};
use invoicing_tests::{Answer, Database, World, new_quote};
use proptest::strategy::Strategy;
use serde_json::Value;

use crate::support::proptest_runner::{for_all, runtime};

pub(crate) const DAY: Duration = Duration::from_hours(24);
pub(crate) const QUOTES: &str = "/api/v1/quotes";
pub(crate) const INVOICES: &str = "/api/v1/invoices";
pub(crate) const CLIENTS: &str = "/api/v1/clients";
pub(crate) const LISTS: [&str; 3] = [QUOTES, INVOICES, CLIENTS];

/// A service without a quota.
pub(crate) async fn world(db: Database) -> World {
    World::on(db).settings(|settings| settings.quota = 0).open().await
}

/// A company of a test's own in a service that several share.
pub(crate) struct Tenant<'w> {
    pub(crate) world: &'w World,
    pub(crate) company: CompanyHandle,
    pub(crate) key: String,
}

impl<'w> Tenant<'w> {
    pub(crate) async fn open(world: &'w World) -> Self {
        let (company, key) = world.another("Durand Toitures", Plan::Team).await;
        Self { world, company, key }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.world.call("GET", path, Some(&self.key), &[], Bytes::new()).await
    }

    /// The JSON of a `GET` that succeeds.
    pub(crate) async fn read(&self, path: &str) -> Value {
        let answer = self.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.json);
        answer.json
    }

    pub(crate) async fn send(&self, method: &str, path: &str, body: &Value) -> Answer {
        let headers = [("content-type", "application/json")];
        self.world.call(method, path, Some(&self.key), &headers, body.to_string().into()).await
    }

    pub(crate) async fn client(&self, new: &NewClient) -> Client {
        self.company.clients().create(new).await.expect("a client")
    }

    pub(crate) async fn draft(&self) -> Quote {
        let client = self.client(&NewClient::named("Lefèvre")).await;
        self.company.quotes().create(&new_quote(client.id)).await.expect("a draft")
    }

    pub(crate) async fn invoice(&self) -> Invoice {
        let quote = self.draft().await;
        self.company.quotes().accept(quote.summary.id).await.expect("an accepted quote");
        self.company.invoices().convert(quote.summary.id).await.expect("an invoice")
    }

    /// So many records in one of the lists.
    pub(crate) async fn fill(&self, list: &str, count: usize) {
        for n in 0..count {
            match list {
                QUOTES => drop(self.draft().await),
                INVOICES => drop(self.invoice().await),
                _ => drop(self.client(&NewClient::named(format!("Client {n}"))).await),
            }
        }
    }
}

/// The JSON of a `GET` that succeeds.
pub(crate) async fn read(world: &World, path: &str) -> Value {
    let answer = world.get(path).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.json);
    answer.json
}

/// The items of a page.
pub(crate) fn items(page: &Value) -> &[Value] {
    page["data"].as_array().expect("an array named data")
}

/// A text member.
pub(crate) fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_else(|| panic!("{name} is no text in {value}"))
}

/// The ids on a page, in order.
pub(crate) fn ids(page: &Value) -> Vec<&str> {
    items(page).iter().map(|item| text(item, "id")).collect()
}

/// The keys of an object, sorted.
pub(crate) fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().expect("an object").keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

/// The request was refused as bad input, in words that begin with the field or parameter.
#[track_caller]
pub(crate) fn refused(answer: &Answer, name: &str, what: &str) {
    assert_eq!((answer.status.as_u16(), answer.code()), (400, "validation_error"), "{what}: {}", answer.json);
    let rest = answer.message().strip_prefix(name);
    let named = rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()));
    assert!(named, "{what}: {} does not name {name}", answer.message());
}

/// Visits every member of every object in a value.
pub(crate) fn each_member<'v>(value: &'v Value, visit: &mut impl FnMut(&'v str, &'v Value)) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| each_member(value, visit)),
        Value::Object(members) => {
            for (name, value) in members {
                visit(name, value);
                each_member(value, visit);
            }
        }
        _ => {}
    }
}

/// Whether a text has a shape in which `0` stands for a digit.
pub(crate) fn fits(text: &str, shape: &str) -> bool {
    let same = |(c, s): (char, char)| if s == '0' { c.is_ascii_digit() } else { c == s };
    text.len() == shape.len() && text.chars().zip(shape.chars()).all(same)
}

/// An instant as the contract writes it.
pub(crate) fn is_instant(text: &str) -> bool {
    fits(text, "0000-00-00T00:00:00.000Z") && text.parse::<Timestamp>().is_ok()
}

/// A calendar date as the contract writes it.
pub(crate) fn is_date(text: &str) -> bool {
    fits(text, "0000-00-00") && text.parse::<chrono::NaiveDate>().is_ok()
}

/// Percent-encodes everything but letters and digits.
pub(crate) fn encode(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() {
            encoded.push(char::from(byte));
        } else {
            write!(encoded, "%{byte:02X}").expect("a string takes everything");
        }
        encoded
    })
}

pub(crate) fn at(text: &str) -> Timestamp {
    text.parse().expect("an instant")
}

pub(crate) fn signature() -> Signature {
    Signature::new(SignatureEvidence::new("Léa Lefèvre", "lea@exemple.fr", "Bon pour accord"))
}

/// Signs a sent quote through its public link.
pub(crate) async fn sign(world: &World, id: QuoteId) -> Quote {
    let token = world.company.quotes().create_signing_link(id).await.expect("a link");
    world.invoicing.signing_links().sign(token.reveal(), &signature()).await.expect("a signature")
}

pub(crate) fn payment(amount: &str) -> NewPayment {
    NewPayment::new(amount.parse::<Money>().expect("an amount"), PaymentSource::Bank)
}

/// A draft invoice of the world's company.
pub(crate) async fn draft_invoice(world: &World) -> InvoiceId {
    let quote = world.accepted().await;
    world.company.invoices().convert(quote.summary.id).await.expect("an invoice").summary.id
}

/// Records in every state.
pub(crate) struct Gallery {
    /// DRAFT, SENT, ACCEPTED by hand, ACCEPTED by signature, REJECTED, EXPIRED.
    pub(crate) quotes: [Quote; 6],
    /// DRAFT, SENT, PAID, OVERDUE, CANCELED.
    pub(crate) invoices: [Invoice; 5],
}

/// Moves the clock by 31 days.
pub(crate) async fn gallery(world: &World) -> Gallery {
    // All that it calls makes a large future.
    Box::pin(fill_gallery(world)).await
}

async fn fill_gallery(world: &World) -> Gallery {
    let (quotes, invoices) = (world.company.quotes(), world.company.invoices());
    let expired = world.sent().await.summary.id;
    let overdue = draft_invoice(world).await;
    invoices.issue(overdue, None).await.expect("issued");
    world.advance(31 * DAY);
    world.invoicing.sweep().await.expect("swept");

    let [draft, sent, rejected] = [world.draft().await, world.sent().await, world.sent().await];
    let rejected = quotes.reject(rejected.summary.id).await.expect("rejected");
    let accepted = world.accepted().await;
    let signed = sign(world, world.sent().await.summary.id).await;
    let expired = quotes.get(expired).await.expect("a quote");

    let [invoice_draft, invoice_sent, paid, canceled] = [
        draft_invoice(world).await,
        draft_invoice(world).await,
        draft_invoice(world).await,
        draft_invoice(world).await,
    ];
    let gallery = Gallery {
        quotes: [draft, sent, accepted, signed, rejected, expired],
        invoices: [
            invoices.get(invoice_draft).await.expect("an invoice"),
            invoices.issue(invoice_sent, None).await.expect("issued"),
            invoices.mark_paid(paid).await.expect("paid"),
            invoices.get(overdue).await.expect("an invoice"),
            invoices.cancel(canceled).await.expect("canceled"),
        ],
    };
    let states = gallery.quotes.each_ref().map(|quote| quote.summary.status.as_str());
    assert_eq!(states, ["DRAFT", "SENT", "ACCEPTED", "ACCEPTED", "REJECTED", "EXPIRED"]);
    let states = gallery.invoices.each_ref().map(|invoice| invoice.summary.status.as_str());
    assert_eq!(states, ["DRAFT", "SENT", "PAID", "OVERDUE", "CANCELED"]);
    gallery
}

/// Every kind of successful JSON answer, over records in every state and a client of whom only the name is known.
pub(crate) async fn everything(world: &World) -> Vec<Value> {
    let gallery = gallery(world).await;
    let created = world.send("POST", CLIENTS, &serde_json::json!({"name": "Nu"})).await;
    let first = format!("{QUOTES}/{}", gallery.quotes[0].summary.id);
    let linked = world.send("PATCH", &first, &serde_json::json!({"externalId": "crm-1"})).await;
    assert_eq!((created.status.as_u16(), linked.status.as_u16()), (201, 200));
    let mut answers = vec![created.json, linked.json];
    let mut paths: Vec<String> = LISTS.map(|list| format!("{list}?limit=100")).to_vec();
    paths.extend([QUOTES, INVOICES].map(|list| format!("{list}?include=lines&since=2026-01-01T00:00:00Z")));
    paths.extend(gallery.quotes.iter().map(|quote| format!("{QUOTES}/{}", quote.summary.id)));
    paths.extend(gallery.quotes[1..].iter().map(|quote| format!("{QUOTES}/{}/document", quote.summary.id)));
    paths.extend(gallery.invoices.iter().map(|invoice| format!("{INVOICES}/{}", invoice.summary.id)));
    for path in paths {
        answers.push(read(world, &path).await);
    }
    answers
}

/// A property over random input, tried on one service: few cases, as each makes many requests.
pub(crate) fn for_all_on_service<S: Strategy>(
    db: Database,
    cases: u32,
    strategy: &S,
    test: impl AsyncFn(&World, S::Value),
) {
    let runtime = runtime();
    let _inside = runtime.enter();
    let (runtime, world) = (&runtime, &runtime.block_on(world(db)));
    for_all(db, cases, strategy, move |value| {
        runtime.block_on(test(world, value));
        Ok(())
    });
}
