//! Every host operation that takes an id, called with another company's ids.
//!
//! The table names each of them; a test reads the operations' sources and fails if one is missing here.

use std::error::Error as _;
use std::path::Path;
use std::time::Duration;

use futures_util::future::BoxFuture;
use invoicing_core::{
    ClientId, CreditNoteId, EventId, EventKind, InvoiceId, KeyId, NewClient, NewCreditNote, PaymentId, Plan,
    ProjectId, ProjectStatus, QuoteId, QuoteImport, QuoteStatus, Timestamp, WebhookId,
};
use invoicing_server::{
    CompanyHandle, ContentHash, DeliveryQuery, Error, EventQuery, HistoryQuery, IssueOptions, NewPayment,
    NewProject, NewWebhook, PaymentSource, QuoteSearch, WebhookChange,
};
use invoicing_tests::{Database, World, new_quote, on_each_database};
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::support::proptest_runner::{for_all, runtime};

/// An id of every kind.
#[derive(Debug, Clone, Copy)]
struct Ids {
    client: ClientId,
    quote: QuoteId,
    invoice: InvoiceId,
    credit_note: CreditNoteId,
    payment: PaymentId,
    project: ProjectId,
    webhook: WebhookId,
    key: KeyId,
    event: EventId,
    /// A quote with a signing link, and the hash of its token.
    linked: (QuoteId, [u8; 32]),
    /// The frozen document of that quote.
    document: ContentHash,
}

impl Ids {
    /// Absent ids beside these: of the same instant, so that they sort alike.
    fn absent(self) -> Self {
        let beside = |id: Uuid| Uuid::from_u128(id.as_u128() ^ 1);
        Self {
            client: ClientId(beside(self.client.0)),
            quote: QuoteId(beside(self.quote.0)),
            invoice: InvoiceId(beside(self.invoice.0)),
            credit_note: CreditNoteId(beside(self.credit_note.0)),
            payment: PaymentId(beside(self.payment.0)),
            project: ProjectId(beside(self.project.0)),
            webhook: WebhookId(beside(self.webhook.0)),
            key: KeyId(beside(self.key.0)),
            event: EventId(beside(self.event.0)),
            linked: (QuoteId(beside(self.linked.0.0)), self.linked.1.map(|byte| !byte)),
            document: ContentHash::of(self.document.as_bytes()),
        }
    }

    fn texts(self) -> [String; 9] {
        [
            self.client.to_string(),
            self.quote.to_string(),
            self.invoice.to_string(),
            self.credit_note.to_string(),
            self.payment.to_string(),
            self.project.to_string(),
            self.webhook.to_string(),
            self.key.to_string(),
            self.event.to_string(),
        ]
    }
}

/// The outcome of a call: its result, or the kind and the texts of its error.
type Outcome = Result<String, String>;
/// A call by a company, with another company's ids and with its ids.
type Call = for<'a> fn(&'a CompanyHandle, Ids, Ids) -> BoxFuture<'a, Outcome>;

macro_rules! operations {
    ($company:ident, $other:ident, $own:ident: $($name:literal => $call:expr;)+) => {
        &[$(($name, |$company, $other, $own| {
            let _ = ($other, $own);
            Box::pin(async move { outcome($call.await) })
        }),)+]
    };
}

fn outcome<T: std::fmt::Debug>(result: Result<T, Error>) -> Outcome {
    result.map(|done| format!("{done:?}")).map_err(|error| {
        let kind = match error {
            Error::NotFound => "NotFound",
            Error::Invalid(_) => "Invalid",
            Error::Conflict(_) => "Conflict",
            Error::DocumentUnavailable => "DocumentUnavailable",
            ref other => panic!("{other:?}"),
        };
        format!("{kind}: {error} ({:?})", error.source().map(ToString::to_string))
    })
}

const OPERATIONS: &[(&str, Call)] = operations! { company, other, own:
    "clients.change" => company.clients().change(other.client, &NewClient::named("stolen"));
    "clients.get" => company.clients().get(other.client);
    "quotes.create" => company.quotes().create(&new_quote(other.client));
    "quotes.import" => company.quotes().import(&new_quote(other.client), &import());
    "quotes.edit" => company.quotes().edit(other.quote, &new_quote(own.client));
    "quotes.edit" => company.quotes().edit(own.quote, &new_quote(other.client));
    "quotes.edit" => company.quotes().edit(other.quote, &new_quote(other.client));
    "quotes.readiness" => company.quotes().readiness(other.quote);
    "quotes.send" => company.quotes().send(other.quote, None);
    "quotes.accept" => company.quotes().accept(other.quote);
    "quotes.reject" => company.quotes().reject(other.quote);
    "quotes.link" => company.quotes().link(other.quote, Some("stolen"));
    "quotes.link" => company.quotes().link(other.quote, None);
    "quotes.create_signing_link" => company.quotes().create_signing_link(other.quote);
    "quotes.signing_links" => company.quotes().signing_links(other.quote);
    "quotes.revoke_signing_link" => company.quotes().revoke_signing_link(other.linked.0, &other.linked.1);
    "quotes.revoke_signing_link" => company.quotes().revoke_signing_link(own.linked.0, &other.linked.1);
    "quotes.get" => company.quotes().get(other.quote);
    "quotes.get_json" => company.quotes().get_json(other.quote);
    "quotes.costings" => company.quotes().costings(other.quote);
    "quotes.work_site" => company.quotes().work_site(other.quote);
    "quotes.documents" => company.quotes().documents(other.quote);
    "quotes.proof" => company.quotes().proof(other.quote);
    "quotes.document" => company.quotes().document(other.quote);
    "quotes.open_document" => company.quotes().open_document(other.quote);
    "quotes.open_copy" => company.quotes().open_copy(other.linked.0, &other.document.to_string());
    "quotes.open_copy" => company.quotes().open_copy(own.linked.0, &other.document.to_string());
    "quotes.search" => company.quotes().search(&QuoteSearch::default().after(other.quote), 10);
    "invoices.convert" => company.invoices().convert(other.quote);
    "invoices.issue" => company.invoices().issue(other.invoice, None);
    "invoices.pay" => company.invoices().pay(other.invoice, &payment());
    "invoices.mark_paid" => company.invoices().mark_paid(other.invoice);
    "invoices.reverse_payment" => company.invoices().reverse_payment(other.invoice, other.payment);
    "invoices.reverse_payment" => company.invoices().reverse_payment(own.invoice, other.payment);
    "invoices.reverse_payment" => company.invoices().reverse_payment(other.invoice, own.payment);
    "invoices.issue_with" => company.invoices().issue_with(other.invoice, &IssueOptions::default());
    "invoices.readiness" => company.invoices().readiness(other.invoice);
    "invoices.readiness_with" => company.invoices().readiness_with(other.invoice, &IssueOptions::default());
    "invoices.credit_readiness" => company.invoices().credit_readiness(other.invoice, &NewCreditNote::of_remaining("stolen"));
    "invoices.create_direct" => company.invoices().create_direct(&new_quote(other.client));
    "invoices.credit" => company.invoices().credit(other.invoice, &NewCreditNote::of_remaining("stolen"));
    "invoices.refund" => company.invoices().refund(other.invoice, &payment());
    "invoices.document" => company.invoices().document(other.invoice);
    "invoices.open_document" => company.invoices().open_document(other.invoice);
    "creditnotes.get" => company.credit_notes().get(other.credit_note);
    "creditnotes.get_json" => company.credit_notes().get_json(other.credit_note);
    "creditnotes.document" => company.credit_notes().document(other.credit_note);
    "creditnotes.open_document" => company.credit_notes().open_document(other.credit_note);
    "invoices.cancel" => company.invoices().cancel(other.invoice);
    "invoices.get" => company.invoices().get(other.invoice);
    "invoices.payments" => company.invoices().payments(other.invoice);
    "invoices.get_json" => company.invoices().get_json(other.invoice);
    "projects.create" => company.projects().create(&project(Some(other.client), vec![]));
    "projects.create" => company.projects().create(&project(None, vec![other.quote]));
    "projects.create" => company.projects().create(&project(Some(own.client), vec![own.quote, other.quote]));
    "projects.set_status" => company.projects().set_status(other.project, ProjectStatus::Completed);
    "projects.get" => company.projects().get(other.project);
    "webhooks.change" => company.webhooks().change(other.webhook, &WebhookChange::default());
    "webhooks.change" => company.webhooks().change(other.webhook, &WebhookChange {
        url: Some("https://example.com/stolen".to_owned()),
        events: Some(vec![EventKind::QuoteCreated]),
    });
    "webhooks.disable" => company.webhooks().disable(other.webhook);
    "webhooks.enable" => company.webhooks().enable(other.webhook);
    "webhooks.enable_and_replay" => company.webhooks().enable_and_replay(other.webhook, None);
    "webhooks.remove" => company.webhooks().remove(other.webhook);
    "webhooks.rotate" => company.webhooks().rotate(other.webhook);
    "webhooks.rotate_with_overlap" =>
        company.webhooks().rotate_with_overlap(other.webhook, Duration::from_hours(1));
    "webhooks.end_overlap" => company.webhooks().end_overlap(other.webhook);
    "webhooks.ping" => company.webhooks().ping(other.webhook);
    "webhooks.replay" => company.webhooks().replay(other.webhook, None);
    "webhooks.replay" => company.webhooks().replay(other.webhook, Some(other.event));
    "webhooks.replay" => company.webhooks().replay(own.webhook, Some(other.event));
    "webhooks.replay" => company.webhooks().replay(other.webhook, Some(own.event));
    "webhooks.get" => company.webhooks().get(other.webhook);
    "webhooks.log" => company.webhooks().log(other.webhook, 10);
    "webhooks.replay_since" => company.webhooks().replay_since(other.webhook, Timestamp::EARLIEST);
    "webhooks.count_replayable" => company.webhooks().count_replayable(other.webhook, Timestamp::EARLIEST);
    "webhooks.deliveries" => company.webhooks().deliveries(other.webhook, &DeliveryQuery::default(), 10);
    "webhooks.deliveries" =>
        company.webhooks().deliveries(own.webhook, &DeliveryQuery::default().before(other.event), 10);
    "webhooks.delivery" => company.webhooks().delivery(other.webhook, other.event);
    "webhooks.delivery" => company.webhooks().delivery(own.webhook, other.event);
    "webhooks.delivery" => company.webhooks().delivery(other.webhook, own.event);
    "keys.revoke" => company.keys().revoke(other.key);
    "events.list" => company.events().list(Some(other.event), 1_000);
    "events.page" => company.events().page(&EventQuery::default().before(other.event), 100);
    "events.get" => company.events().get(other.event);
    "events.deliveries" => company.events().deliveries(other.event);
    "history.page" => company.history().page(&HistoryQuery::default().subject(other.quote.0), 100);
};

/// Operations that do not refuse an unknown id: they filter by it, and find no record of it.
const FILTERS: [&str; 6] = [
    "events.list",
    "events.page",
    "events.deliveries",
    "history.page",
    "webhooks.replay",
    "webhooks.deliveries",
];

fn payment() -> NewPayment {
    NewPayment::new(1, PaymentSource::Bank)
}

fn import() -> QuoteImport {
    QuoteImport::new(QuoteStatus::Draft)
}

fn project(client_id: Option<ClientId>, quote_ids: Vec<QuoteId>) -> NewProject {
    NewProject { name: "stolen".to_owned(), client_id, quote_ids }
}

/// A company with records of every kind; the quote is in one of several states.
async fn company_with_records(world: &World, name: &str, state: u8) -> (CompanyHandle, Ids) {
    let (company, _) = world.another(name, Plan::Team).await;
    let url = "https://example.com/hook".to_owned();
    let new = NewWebhook { url, events: EventKind::ALL.to_vec() };
    let webhook = company.webhooks().register(&new).await.unwrap().webhook.id;
    let client = company.clients().create(&NewClient::named(name)).await.unwrap().id;
    let (quotes, invoices) = (company.quotes(), company.invoices());
    let accepted = quotes.create(&new_quote(client)).await.unwrap().summary.id;
    quotes.accept(accepted).await.unwrap();
    let link = quotes.create_signing_link(accepted).await.unwrap();
    let linked = (accepted, Sha256::digest(link.reveal()).into());
    let document = quotes.open_document(accepted).await.unwrap().sha256.parse().unwrap();
    let invoice = invoices.convert(accepted).await.unwrap().summary.id;
    invoices.issue(invoice, None).await.unwrap();
    let payment = invoices.pay(invoice, &payment()).await.unwrap().payment.id;
    let part = NewCreditNote::new("Remise").quantity(0, 1);
    let credit_note = invoices.credit(invoice, &part).await.unwrap().summary.id;
    let quote = quotes.create(&new_quote(client)).await.unwrap().summary.id;
    match state % 3 {
        0 => {}
        1 => drop(quotes.send(quote, None).await.unwrap()),
        _ => drop(quotes.accept(quote).await.unwrap()),
    }
    let project = company.projects().create(&project(Some(client), vec![quote])).await.unwrap().id;
    let key = company.keys().issue("CRM").await.unwrap().record.id;
    let event = company.events().list(None, 1).await.unwrap()[0].id;
    if state > 2 {
        // Waiting deliveries become skipped, so that a replay would find them.
        company.webhooks().disable(webhook).await.unwrap();
        company.webhooks().enable(webhook).await.unwrap();
    }
    (
        company,
        Ids { client, quote, invoice, credit_note, payment, project, webhook, key, event, linked, document },
    )
}

/// The outcome without the ids, so that two outcomes can be compared.
fn without_ids(outcome: Outcome, ids: Ids) -> Outcome {
    let blank = |text: String| {
        ids.texts().iter().fold(text, |text, id| text.replace(id, "ID").replace(&id.to_uppercase(), "ID"))
    };
    outcome.map(blank).map_err(blank)
}

/// All rows of the database, and the lists of the companies' keys.
async fn everything(world: &World, companies: &[(CompanyHandle, Ids)]) -> Vec<String> {
    let mut all = world.dump().await;
    for (company, _) in companies {
        all.push(format!("{:?}", company.keys().list().await.unwrap()));
    }
    all
}

/// Rules: TENANT-1
#[on_each_database]
fn every_operation_answers_foreign_ids_like_ids_that_do_not_exist(db: Database) {
    let runtime = runtime();
    let states = (0..6_u8, 0..6_u8, 0..6_u8);
    for_all(db, 8, &(states, 0..3_usize, 1..3_usize), |((a, b, c), caller, next)| {
        runtime.block_on(async {
            let world = World::on(db).settings(|settings| settings.quota = 0).open().await;
            let mut companies = Vec::new();
            for (name, state) in [("A", a), ("B", b), ("C", c)] {
                companies.push(company_with_records(&world, name, state).await);
            }
            let (company, own) = &companies[caller];
            let foreign = companies[(caller + next) % 3].1;
            let before = everything(&world, &companies).await;
            for (name, call) in OPERATIONS {
                let of_another = call(company, foreign, *own).await;
                let of_absent = call(company, foreign.absent(), *own).await;
                prop_assert!(of_another.is_err() || FILTERS.contains(name), "{}: {:?}", name, of_another);
                let absent = foreign.absent();
                let (left, right) = (without_ids(of_another, foreign), without_ids(of_absent, absent));
                prop_assert_eq!(left, right, "{}", name);
                prop_assert_eq!(&everything(&world, &companies).await, &before, "{} changed something", name);
            }
            Ok(())
        })
    });
}

#[on_each_database]
async fn the_owner_s_own_ids_are_found(db: Database) {
    // The property above would hold of operations that refuse every caller.
    let world = World::new(db).await;
    for state in 0..6 {
        let (company, own) = company_with_records(&world, "Owner", state).await;
        for (name, call) in OPERATIONS {
            if let Err(refused) = call(&company, own, own).await {
                assert!(!refused.starts_with("NotFound") || *name == "keys.revoke", "{name}: {refused}");
            }
            if *name == "webhooks.remove" {
                break;
            }
        }
    }
}

/// The operations of the sources that take an id, or a record that names other records: `quotes.get`.
fn in_the_sources() -> Vec<String> {
    let mut paths = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../invoicing-server/src/operations")];
    let mut found = Vec::new();
    while let Some(path) = paths.pop() {
        if path.is_dir() {
            paths.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let source = std::fs::read_to_string(path).unwrap();
        for block in source.split("\nimpl ").skip(1) {
            let Some((noun, _)) = block.split_once("<'_> {") else { continue };
            for function in block.split("    pub async fn ").skip(1) {
                let signature = function.split(" {\n").next().unwrap();
                let (name, parameters) = signature.split_once('(').unwrap();
                let parameters = parameters.rsplit_once("->").unwrap().0;
                let names_a_record = [
                    "Id,",
                    "Id)",
                    "Id>",
                    "NewQuote",
                    "NewProject",
                    "EventQuery",
                    "HistoryQuery",
                    "QuoteSearch",
                ];
                if names_a_record.iter().any(|part| parameters.contains(part)) {
                    found.push(format!("{}.{name}", noun.to_lowercase()));
                }
            }
        }
    }
    found
}

/// Rules: TENANT-1
#[test]
fn every_operation_that_takes_an_id_is_in_the_table() {
    let found = in_the_sources();
    assert!(found.len() > 35, "the sources are not read as they are written: {found:?}");
    for name in &found {
        assert!(OPERATIONS.iter().any(|(listed, _)| listed == name), "{name} takes an id: list it here");
    }
    for (name, _) in OPERATIONS {
        assert!(found.iter().any(|there| there == name), "{name} is not there any more");
    }
}
