//! Every operation that changes a record takes the version that was shown, by `CompanyHandle::if_unchanged`.
//!
//! The table names each of them; a test reads the operations' sources and fails if one is missing here.

use std::fmt::Debug;
use std::fs;
use std::path::Path;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use invoicing_core::{
    ClientId, CompanyIdentity, ConflictReason, InvoiceId, KeyId, NewClient, NewCreditNote, Plan, ProjectId,
    ProjectStatus, QuoteId, QuoteImport, QuoteStatus, Timestamp, WebhookId,
};
use invoicing_server::{
    CompanyHandle, Error, IssueOptions, NewPayment, NewProject, NewWebhook, PaymentSource, Version,
    WebhookChange,
};
use invoicing_tests::{Database, World, new_quote, on_each_database};
use sha2::{Digest, Sha256};

use crate::support::{emit, hook};

/// The record whose version guards an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Guard {
    Quote(QuoteId),
    Invoice(InvoiceId),
    Client(ClientId),
    Project(ProjectId),
    Webhook(WebhookId),
    Key(KeyId),
    Company,
    /// It makes a record, so no version is taken.
    None,
}

impl Guard {
    /// The version of the record as it is stored.
    async fn version(self, company: &CompanyHandle) -> Version {
        match self {
            Self::Quote(id) => company.quotes().get(id).await.unwrap().summary.updated_at.into(),
            Self::Invoice(id) => company.invoices().get(id).await.unwrap().summary.updated_at.into(),
            Self::Client(id) => company.clients().get(id).await.unwrap().updated_at.into(),
            Self::Project(id) => company.projects().get(id).await.unwrap().updated_at.into(),
            Self::Webhook(id) => (&company.webhooks().get(id).await.unwrap()).into(),
            Self::Key(id) => {
                let keys = company.keys().list().await.unwrap();
                keys.iter().find(|key| key.id == id).unwrap().into()
            }
            Self::Company => (&company.details().await.unwrap()).into(),
            Self::None => Timestamp::EARLIEST.into(),
        }
    }
}

/// The records that the operations change, each in the state that its operation needs.
#[derive(Debug, Clone, Copy)]
struct Ids {
    client: ClientId,
    draft: QuoteId,
    rejected: QuoteId,
    sent: QuoteId,
    accepted: QuoteId,
    link: [u8; 32],
    drafts: [InvoiceId; 4],
    issued: [InvoiceId; 4],
    overpaid: InvoiceId,
    project: ProjectId,
    webhook: WebhookId,
    key: KeyId,
}

impl Ids {
    async fn new(world: &World) -> Self {
        let company = &world.company;
        let (quotes, invoices) = (company.quotes(), company.invoices());
        let convert = async || invoices.convert(world.accepted().await.summary.id).await.unwrap().summary.id;
        let issue = async || {
            let id = convert().await;
            invoices.issue(id, None).await.unwrap();
            id
        };
        let webhook = hook(world, "http://127.0.0.1:8/hook").await.webhook.id;
        let sent = world.sent().await.summary.id;
        let link = quotes.create_signing_link(sent).await.unwrap();
        let overpaid = issue().await;
        invoices.pay(overpaid, &entered(5_000)).await.unwrap();
        emit(world, 1).await;
        Self {
            client: world.client("Lefèvre").await,
            draft: world.draft().await.summary.id,
            rejected: world.draft().await.summary.id,
            sent,
            accepted: world.accepted().await.summary.id,
            link: Sha256::digest(link.reveal()).into(),
            drafts: [convert().await, convert().await, convert().await, convert().await],
            issued: [issue().await, issue().await, issue().await, issue().await],
            overpaid,
            project: company.projects().create(&NewProject::named("P")).await.unwrap().id,
            webhook,
            key: company.keys().issue("CRM").await.unwrap().record.id,
        }
    }
}

fn logo() -> Vec<u8> {
    include_bytes!("../data/logo.png").to_vec()
}

fn entered(amount: i32) -> NewPayment {
    NewPayment::new(amount, PaymentSource::Entered)
}

type Outcome = Result<(), Error>;
type Call = fn(CompanyHandle, Ids) -> BoxFuture<'static, Outcome>;

/// An operation, the record that guards it, and a call of it that is carried out.
struct Row {
    name: &'static str,
    guard: fn(Ids) -> Guard,
    call: Call,
}

fn done<T: Debug>(result: Result<T, Error>) -> Outcome {
    result.map(drop)
}

macro_rules! operations {
    ($company:ident, $ids:ident: $($name:literal by $guard:expr => $call:expr;)+) => {
        &[$(Row {
            name: $name,
            guard: |$ids| { let _ = $ids; $guard },
            call: |$company, $ids| Box::pin(async move { let _ = $ids; done($call.await) }),
        },)+]
    };
}

/// Every operation that changes anything, in an order in which each is carried out.
const OPERATIONS: &[Row] = operations! { company, ids:
    "clients.create" by Guard::None => company.clients().create(&NewClient::named("A"));
    "clients.find_or_create" by Guard::None => company.clients().find_or_create(&NewClient::named("A"));
    "clients.change" by Guard::Client(ids.client) =>
        company.clients().change(ids.client, &NewClient::named("B"));
    "quotes.create" by Guard::None => company.quotes().create(&new_quote(ids.client));
    "quotes.import" by Guard::None =>
        company.quotes().import(&new_quote(ids.client), &QuoteImport::new(QuoteStatus::Draft));
    "quotes.import" by Guard::None =>
        company.quotes().import(&new_quote(ids.client), &QuoteImport::new(QuoteStatus::Accepted));
    "quotes.edit" by Guard::Quote(ids.draft) =>
        company.quotes().edit(ids.draft, &new_quote(ids.client).retention_rate(5));
    "quotes.link" by Guard::Quote(ids.draft) => company.quotes().link(ids.draft, Some("crm-1"));
    "quotes.send" by Guard::Quote(ids.draft) => company.quotes().send(ids.draft, None);
    // One that has a document, and one that gets it.
    "quotes.accept" by Guard::Quote(ids.draft) => company.quotes().accept(ids.draft);
    "quotes.reject" by Guard::Quote(ids.rejected) => company.quotes().reject(ids.rejected);
    "quotes.accept" by Guard::Quote(ids.rejected) => company.quotes().accept(ids.rejected);
    "quotes.create_signing_link" by Guard::Quote(ids.sent) => company.quotes().create_signing_link(ids.sent);
    "quotes.revoke_signing_link" by Guard::Quote(ids.sent) =>
        company.quotes().revoke_signing_link(ids.sent, &ids.link);
    "invoices.convert" by Guard::Quote(ids.accepted) => company.invoices().convert(ids.accepted);
    "invoices.create_direct" by Guard::None => company.invoices().create_direct(&new_quote(ids.client));
    "invoices.issue" by Guard::Invoice(ids.drafts[0]) => company.invoices().issue(ids.drafts[0], None);
    "invoices.issue_with" by Guard::Invoice(ids.drafts[1]) =>
        company.invoices().issue_with(ids.drafts[1], &IssueOptions::default());
    "invoices.mark_paid" by Guard::Invoice(ids.drafts[2]) => company.invoices().mark_paid(ids.drafts[2]);
    "invoices.mark_paid" by Guard::Invoice(ids.issued[0]) => company.invoices().mark_paid(ids.issued[0]);
    "invoices.pay" by Guard::Invoice(ids.issued[1]) => company.invoices().pay(ids.issued[1], &entered(1));
    "invoices.credit" by Guard::Invoice(ids.issued[2]) =>
        company.invoices().credit(ids.issued[2], &NewCreditNote::new("Remise").quantity(0, 1));
    "invoices.cancel" by Guard::Invoice(ids.drafts[3]) => company.invoices().cancel(ids.drafts[3]);
    "invoices.cancel" by Guard::Invoice(ids.issued[3]) => company.invoices().cancel(ids.issued[3]);
    "invoices.refund" by Guard::Invoice(ids.overpaid) => company.invoices().refund(ids.overpaid, &entered(1));
    "invoices.reverse_payment" by Guard::Invoice(ids.issued[1]) => async {
        let payment = company.invoices().payments(ids.issued[1]).await?[0].id;
        company.invoices().reverse_payment(ids.issued[1], payment).await
    };
    "projects.create" by Guard::None => company.projects().create(&NewProject::named("P"));
    "projects.set_status" by Guard::Project(ids.project) =>
        company.projects().set_status(ids.project, ProjectStatus::Completed);
    "webhooks.register" by Guard::None =>
        company.webhooks().register(&NewWebhook::for_all_events("http://127.0.0.1:8/new"));
    "webhooks.change" by Guard::Webhook(ids.webhook) =>
        company.webhooks().change(ids.webhook, &WebhookChange::default().url("http://127.0.0.1:8/other"));
    "webhooks.ping" by Guard::Webhook(ids.webhook) => company.webhooks().ping(ids.webhook);
    "webhooks.rotate" by Guard::Webhook(ids.webhook) => company.webhooks().rotate(ids.webhook);
    "webhooks.rotate_with_overlap" by Guard::Webhook(ids.webhook) =>
        company.webhooks().rotate_with_overlap(ids.webhook, Duration::from_hours(1));
    "webhooks.end_overlap" by Guard::Webhook(ids.webhook) => company.webhooks().end_overlap(ids.webhook);
    "webhooks.disable" by Guard::Webhook(ids.webhook) => company.webhooks().disable(ids.webhook);
    "webhooks.enable" by Guard::Webhook(ids.webhook) => company.webhooks().enable(ids.webhook);
    "webhooks.replay" by Guard::Webhook(ids.webhook) => company.webhooks().replay(ids.webhook, None);
    "webhooks.replay_since" by Guard::Webhook(ids.webhook) =>
        company.webhooks().replay_since(ids.webhook, Timestamp::EARLIEST);
    "webhooks.disable" by Guard::Webhook(ids.webhook) => company.webhooks().disable(ids.webhook);
    "webhooks.enable_and_replay" by Guard::Webhook(ids.webhook) =>
        company.webhooks().enable_and_replay(ids.webhook, None);
    "webhooks.remove" by Guard::Webhook(ids.webhook) => company.webhooks().remove(ids.webhook);
    "keys.issue" by Guard::None => company.keys().issue("new");
    "keys.revoke" by Guard::Key(ids.key) => company.keys().revoke(ids.key);
    "company.set_plan" by Guard::Company => company.set_plan(Plan::Pro);
    "company.set_identity" by Guard::Company =>
        company.set_identity(&CompanyIdentity::default().city("Lyon"));
    "company.set_logo" by Guard::Company => company.set_logo(Some(logo()));
    "company.set_logo" by Guard::Company => company.set_logo(None);
    "company.set_automatic_invoicing" by Guard::Company => company.set_automatic_invoicing(true);
    "company.close" by Guard::Company => company.close();
};

/// Operations of a company that change nothing.
const READS: &[&str] = &[
    "get",
    "list",
    "page",
    "get_json",
    "list_json",
    "small_detail",
    "readiness",
    "readiness_with",
    "credit_readiness",
    "document",
    "open_document",
    "open_copy",
    "payments",
    "costings",
    "work_site",
    "documents",
    "proof",
    "signing_links",
    "search",
    "usage",
    "log",
    "deliveries",
    "delivery",
    "day_counts",
    "count_replayable",
    "details",
];

/// The files of operations of a company, and the names of those on the handle itself.
const FILES: [(&str, &str); 10] = [
    ("clients", "clients"),
    ("closing", "company"),
    ("companies", "company"),
    ("credit_notes", "credit_notes"),
    ("events", "events"),
    ("history", "history"),
    ("invoices", "invoices"),
    ("keys", "keys"),
    ("projects", "projects"),
    ("quotes", "quotes"),
];

/// The sources of a file or folder, one text.
fn text(path: &Path) -> String {
    if path.is_dir() {
        return fs::read_dir(path).unwrap().map(|entry| text(&entry.unwrap().path())).collect();
    }
    fs::read_to_string(path).unwrap_or_default()
}

/// Rules: UNCHANGED-1
#[test]
fn every_operation_that_changes_anything_is_in_the_table() {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("invoicing-server").join("src/operations");
    let mut seen = 0;
    for (file, noun) in FILES.into_iter().chain([("webhooks", "webhooks")]) {
        let source = text(&folder.join(file).with_extension("rs")) + &text(&folder.join(file));
        // The operations on all companies make one, and belong to none.
        let source = match source.split_once("impl CompanyHandle {") {
            Some((_, of_company)) if file == "companies" => of_company.to_owned(),
            _ => source,
        };
        for function in source.split("    pub async fn ").skip(1) {
            let name = function.split(['(', '<']).next().unwrap();
            let full = format!("{noun}.{name}");
            let is_listed = OPERATIONS.iter().any(|row| row.name == full);
            assert!(is_listed != READS.contains(&name), "{full} is to be in one of the tables");
            seen += 1;
        }
    }
    assert!(seen > 60, "the sources are not read as they are written: {seen}");
}

/// Rules: UNCHANGED-1, UNCHANGED-2
#[on_each_database]
async fn each_operation_is_refused_for_a_record_in_another_version(db: Database) {
    let world = World::new(db).await;
    let ids = Ids::new(&world).await;
    for Row { name, guard, call } in OPERATIONS {
        let guard = guard(ids);
        let before = world.dump().await;
        for stale in [Version::from(Timestamp::EARLIEST), "".into(), "x".into()] {
            let refused = call(world.company.if_unchanged(stale), ids).await.unwrap_err();
            let is_told = match (&refused, guard) {
                (Error::Invalid(invalid), Guard::None) => invalid.field == "version",
                (Error::Conflict(conflict), _) => matches!(conflict.reason, ConflictReason::Changed { .. }),
                _ => false,
            };
            assert!(
                is_told && (guard == Guard::None) == matches!(refused, Error::Invalid(_)),
                "{name}: {refused:?}"
            );
        }
        assert_eq!(world.dump().await, before, "{name}");
        let company = match guard {
            Guard::None => world.company.clone(),
            _ => world.company.if_unchanged(guard.version(&world.company).await),
        };
        call(company, ids).await.unwrap_or_else(|error| panic!("{name}: {error:?}"));
    }
}

/// Rules: UNCHANGED-2
#[on_each_database]
async fn a_handle_that_has_changed_a_record_makes_none_either(db: Database) {
    let world = World::new(db).await;
    let client = world.company.clients().create(&NewClient::named("A")).await.unwrap();
    let shown = world.company.if_unchanged(client.updated_at);
    shown.clients().change(client.id, &NewClient::named("B")).await.unwrap();
    let before = world.dump().await;
    assert!(matches!(shown.clients().create(&NewClient::named("C")).await, Err(Error::Invalid(_))));
    assert_eq!(world.dump().await, before);
}

/// Rules: UNCHANGED-1, INVOICE-3
#[on_each_database]
async fn of_changes_of_one_version_at_the_same_time_one_is_made(db: Database) {
    let world = World::new(db).await;
    let invoices = world.company.invoices();
    for is_issued in [false, true] {
        let invoice = invoices.convert(world.accepted().await.summary.id).await.unwrap().summary;
        let invoice =
            if is_issued { invoices.issue(invoice.id, None).await.unwrap().summary } else { invoice };
        let (shown, id) = (world.company.if_unchanged(invoice.updated_at), invoice.id);
        let shown = shown.invoices();
        let other = async || {
            if is_issued { done(shown.pay(id, &entered(1)).await) } else { done(shown.issue(id, None).await) }
        };
        let changes: [BoxFuture<'_, Outcome>; 5] = [
            Box::pin(async { done(shown.mark_paid(id).await) }),
            Box::pin(other()),
            Box::pin(async { done(shown.cancel(id).await) }),
            Box::pin(other()),
            Box::pin(async { done(shown.mark_paid(id).await) }),
        ];
        let made = join_all(changes).await;
        assert_eq!(made.iter().filter(|made| made.is_ok()).count(), 1, "{made:?}");
        let refused = made.iter().filter_map(|made| made.as_ref().err());
        refused.for_each(|error| assert!(matches!(error, Error::Conflict(_)), "{error:?}"));
    }
}
