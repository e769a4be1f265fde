//! The common parts of this binary's tests: events as a list, refusals that leave no trace, records in every state.

pub(crate) mod api;
pub(crate) mod hooked_store;
pub(crate) mod page;
pub(crate) mod proptest_runner;
pub(crate) mod warnings;

use std::fmt::Debug;
use std::future::Future;
use std::time::Duration;

use chrono::NaiveDate;
use futures_util::future::LocalBoxFuture;
use invoicing_core::{
    ClientId, EventId, EventKind, Invoice, InvoiceStatus, Money, NewCompany, NewLine, NewQuote, Plan, Quote,
    QuoteStatus, SignatureEvidence, UnitPrice, WebhookId,
};
use invoicing_server::{
    CompanyHandle, DeliveryRecord, DispatchReport, Error, EventRecord, GapLevel, NewPayment, NewWebhook,
    PaymentSource, ReadinessGap, RegisteredWebhook, Signature,
};
use invoicing_tests::{World, new_company, new_quote};
use serde_json::Value;

pub(crate) const DAY: Duration = Duration::from_hours(24);

/// For a statement that inserts copies: a table of the numbers from 1 to `$1` in the column `i`, and the id with such a number.
pub(crate) fn numbered(world: &World) -> (&'static str, &'static str) {
    let numbers = world.database().either(
        "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1) SELECT i FROM n)",
        "(SELECT generate_series(1, $1) AS i)",
    );
    let id = world.database().either("unhex(printf('%032x', i))", "lpad(to_hex(i), 32, '0')::uuid");
    (numbers, id)
}

pub(crate) fn date(text: &str) -> NaiveDate {
    text.parse().unwrap()
}

/// Every event of a company, in order.
pub(crate) async fn events(company: &CompanyHandle) -> Vec<EventRecord> {
    company.events().list(None, 100_000).await.unwrap()
}

/// The kinds of the events behind the first `seen`, in order.
pub(crate) async fn kinds_after(company: &CompanyHandle, seen: usize) -> Vec<String> {
    events(company).await.into_iter().skip(seen).map(|event| event.kind).collect()
}

/// An event's body.
pub(crate) fn body(event: &EventRecord) -> Value {
    serde_json::from_str(&event.body).unwrap()
}

/// The keys of a JSON object, sorted.
pub(crate) fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

/// The call is refused, and nothing has changed and nothing was emitted. In a box, as are those below: the futures of
/// operations are large.
pub(crate) fn refused<'a, T: Debug + 'a>(
    world: &'a World,
    what: &'a str,
    call: impl Future<Output = Result<T, Error>> + 'a,
) -> LocalBoxFuture<'a, Error> {
    Box::pin(async move {
        let before = world.dump().await;
        let error = match call.await {
            Err(error) => error,
            Ok(done) => panic!("{what}: not refused: {done:?}"),
        };
        let after = world.dump().await;
        assert_eq!(after, before, "{what}: refused, and something has changed all the same");
        error
    })
}

/// The call is refused like this, and nothing has changed and nothing was emitted.
fn refused_as<'a, T: Debug + 'a>(
    world: &'a World,
    what: &'a str,
    call: impl Future<Output = Result<T, Error>> + 'a,
    is_so: fn(&Error) -> bool,
) -> LocalBoxFuture<'a, ()> {
    Box::pin(async move {
        let error = refused(world, what, call).await;
        assert!(is_so(&error), "{what}: {error:?}");
    })
}

/// The call is refused as a conflict, and nothing has changed and nothing was emitted.
pub(crate) fn conflict<'a, T: Debug + 'a>(
    world: &'a World,
    what: &'a str,
    call: impl Future<Output = Result<T, Error>> + 'a,
) -> LocalBoxFuture<'a, ()> {
    refused_as(world, what, call, |error| matches!(error, Error::Conflict(_)))
}

/// The call is refused as bad input in a field, and nothing has changed and nothing was emitted.
pub(crate) fn invalid<'a, T: Debug + 'a>(
    world: &'a World,
    field: &'a str,
    call: impl Future<Output = Result<T, Error>> + 'a,
) -> LocalBoxFuture<'a, ()> {
    Box::pin(async move {
        match refused(world, field, call).await {
            Error::Invalid(invalid) => assert!(invalid.field.starts_with(field), "{field}: {invalid}"),
            error => panic!("{field}: {error:?}"),
        }
    })
}

/// The call finds nothing, and nothing has changed and nothing was emitted.
pub(crate) fn not_found<'a, T: Debug + 'a>(
    world: &'a World,
    what: &'a str,
    call: impl Future<Output = Result<T, Error>> + 'a,
) -> LocalBoxFuture<'a, ()> {
    refused_as(world, what, call, |error| matches!(error, Error::NotFound))
}

/// The call does nothing at all, successfully.
pub(crate) fn nothing_happens<'a, T: 'a>(
    world: &'a World,
    call: impl Future<Output = Result<T, Error>> + 'a,
) -> LocalBoxFuture<'a, T> {
    Box::pin(async move {
        let before = world.dump().await;
        let done = call.await.unwrap_or_else(|error| panic!("refused: {error:?}"));
        assert_eq!(world.dump().await, before, "a no-op has changed something");
        done
    })
}

/// A company on the team plan whose dates are meant in a time zone.
pub(crate) async fn company_in(world: &World, zone: &str) -> CompanyHandle {
    let new = NewCompany { time_zone: zone.into(), ..new_company(zone, Plan::Team) };
    world.invoicing.company(world.invoicing.companies().create(&new).await.unwrap().id)
}

/// The gaps that refuse a document.
pub(crate) fn refusals(mut gaps: Vec<ReadinessGap>) -> Vec<ReadinessGap> {
    gaps.retain(|gap| gap.level == GapLevel::Refused);
    gaps
}

/// A client of any company, in a part of France without VAT.
pub(crate) async fn client_of(company: &CompanyHandle) -> ClientId {
    company.clients().create(&invoicing_core::NewClient::named("Client").country("GF")).await.unwrap().id
}

/// A draft of any company.
pub(crate) async fn draft_of(company: &CompanyHandle) -> Quote {
    company.quotes().create(&new_quote(client_of(company).await)).await.unwrap()
}

/// An accepted quote of any company.
pub(crate) async fn accepted_of(company: &CompanyHandle) -> Quote {
    let draft = draft_of(company).await;
    company.quotes().accept(draft.summary.id).await.unwrap()
}

/// A quote with one line of one unit at this price, without VAT and retention. It can be sent to a client of
/// [`client_of`].
pub(crate) fn quote_at(client_id: ClientId, price: &str) -> NewQuote {
    NewQuote::empty(client_id).line(NewLine::new("x", 1, price.parse::<UnitPrice>().unwrap(), 0))
}

/// A quote with one line of one unit at this price, at 20 %.
pub(crate) fn taxed_quote_at(client_id: ClientId, price: &str) -> NewQuote {
    NewQuote::empty(client_id).line(NewLine::new("x", 1, price.parse::<UnitPrice>().unwrap(), 20))
}

/// An issued invoice over an amount, without VAT and retention.
pub(crate) async fn issued_over(company: &CompanyHandle, price: &str) -> Invoice {
    let quote = quote_at(client_of(company).await, price);
    let quote = company.quotes().create(&quote).await.unwrap();
    company.quotes().accept(quote.summary.id).await.unwrap();
    let invoice = company.invoices().convert(quote.summary.id).await.unwrap();
    company.invoices().issue(invoice.summary.id, None).await.unwrap()
}

/// A quote in a state, reached by operations. May move the clock.
pub(crate) async fn quote_in(world: &World, status: QuoteStatus) -> Quote {
    let quotes = world.company.quotes();
    let quote = world.draft().await;
    let id = quote.summary.id;
    let quote = match status {
        QuoteStatus::Draft => quote,
        QuoteStatus::Sent => quotes.send(id, None).await.unwrap(),
        QuoteStatus::Accepted => quotes.accept(id).await.unwrap(),
        QuoteStatus::Rejected => {
            quotes.send(id, None).await.unwrap();
            quotes.reject(id).await.unwrap()
        }
        QuoteStatus::Expired => {
            quotes.send(id, None).await.unwrap();
            world.advance(31 * DAY);
            world.invoicing.sweep().await.unwrap();
            quotes.get(id).await.unwrap()
        }
        _ => panic!("no operation leads to {status}"),
    };
    assert_eq!(quote.summary.status, status);
    quote
}

/// An invoice in a state, reached by operations. May move the clock.
pub(crate) async fn invoice_in(world: &World, status: InvoiceStatus) -> Invoice {
    let invoices = world.company.invoices();
    let quote = world.accepted().await;
    let invoice = invoices.convert(quote.summary.id).await.unwrap();
    let id = invoice.summary.id;
    let invoice = match status {
        InvoiceStatus::Draft => invoice,
        InvoiceStatus::Sent => invoices.issue(id, None).await.unwrap(),
        InvoiceStatus::Paid => invoices.mark_paid(id).await.unwrap(),
        InvoiceStatus::Canceled => invoices.cancel(id).await.unwrap(),
        InvoiceStatus::Overdue => {
            invoices.issue(id, None).await.unwrap();
            world.advance(31 * DAY);
            world.invoicing.sweep().await.unwrap();
            invoices.get(id).await.unwrap()
        }
        _ => panic!("no operation leads to {status}"),
    };
    assert_eq!(invoice.summary.status, status);
    invoice
}

pub(crate) fn evidence() -> SignatureEvidence {
    SignatureEvidence::new("Léa Lefèvre", "lea@exemple.fr", "Bon pour accord")
}

pub(crate) fn signature() -> Signature {
    Signature::new(evidence())
}

/// A payment by the bank. `movement`: also the payer's reference.
pub(crate) fn payment(amount: &str, movement: Option<&str>) -> NewPayment {
    let new = NewPayment::new(amount.parse::<Money>().unwrap(), PaymentSource::Bank);
    let movement = movement.map(str::to_owned);
    NewPayment { reference: movement.clone(), movement_id: movement, ..new }
}

/// A webhook of a company for some kinds of events.
pub(crate) async fn hook_for(company: &CompanyHandle, url: &str, kinds: &[EventKind]) -> RegisteredWebhook {
    company.webhooks().register(&NewWebhook::new(url, kinds.iter().copied())).await.unwrap()
}

/// A webhook of the world's company for every event.
pub(crate) async fn hook(world: &World, url: &str) -> RegisteredWebhook {
    hook_for(&world.company, url, EventKind::ALL).await
}

/// Operations on one company at once: with more, some would wait for it in vain on a busy server.
pub(crate) const AT_ONCE: usize = 50;

/// Makes `count` quotes, many at once: as many `quote.created`. The ids of the events, in order.
pub(crate) async fn emit_for(company: &CompanyHandle, count: usize) -> Vec<EventId> {
    let client = client_of(company).await;
    let seen = events(company).await.len();
    let quote = quote_at(client, "10");
    let quotes = company.quotes();
    for made in (0..count).step_by(AT_ONCE) {
        let made = (made..count.min(made + AT_ONCE)).map(|_| quotes.create(&quote));
        let made = futures_util::future::join_all(made).await;
        assert!(made.iter().all(Result::is_ok), "{made:?}");
    }
    let ids: Vec<EventId> = events(company).await.into_iter().skip(seen).map(|event| event.id).collect();
    assert_eq!(ids.len(), count);
    ids
}

/// As [`emit_for`], for the world's company.
pub(crate) async fn emit(world: &World, count: usize) -> Vec<EventId> {
    emit_for(&world.company, count).await
}

/// The delivery of an event to a webhook.
pub(crate) async fn delivery(world: &World, event: EventId, webhook: WebhookId) -> DeliveryRecord {
    let all = world.company.events().deliveries(event).await.unwrap();
    all.into_iter().find(|delivery| delivery.webhook == webhook).unwrap()
}

/// Dispatches and moves the clock until nothing is pending any more; what the dispatcher did in all.
pub(crate) async fn dispatch_to_the_end(world: &World) -> DispatchReport {
    let mut total = DispatchReport::default();
    // More rounds where more deliveries fail than may be under way.
    let more = [1_100, 5_500].repeat(100);
    for (round, gap) in [0, 1_100, 5_500, 30_000, 30_000].into_iter().chain(more).enumerate() {
        if round >= 5 && world.count("SELECT count(*) FROM delivery WHERE status = 'pending'").await == 0 {
            break;
        }
        world.advance(Duration::from_millis(gap));
        let report = world.dispatch().await;
        world.assert_nothing_due().await;
        total.attempts += report.attempts;
        total.delivered += report.delivered;
        total.failed += report.failed;
        total.skipped += report.skipped;
        total.retried += report.retried;
    }
    world.assert_all_ended().await;
    total
}
