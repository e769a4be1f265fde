//! Closing a company: its keys, webhooks and signing links end, its records stay.

use invoicing_core::{EventKind, Plan};
use invoicing_server::{HistoryAction, InvoiceQuery, QuoteQuery, SigningLinkRecord};
use invoicing_tests::{Argument, Database, Receiver, World, on_each_database};

use crate::support::{
    accepted_of, draft_of, emit_for, events, hook_for, not_found, nothing_happens, numbered, signature,
};

/// Rules: CLOSE-1
#[on_each_database]
async fn closing_a_company_ends_only_its_own_keys_webhooks_and_links(db: Database) {
    let world = World::on(db).settings(|settings| settings.quota = 0).open().await;
    let (other, other_key) = world.another("Other", Plan::Team).await;
    let receiver = Receiver::start().await;
    let mut links = Vec::new();
    for company in [&world.company, &other] {
        hook_for(company, &receiver.url, EventKind::ALL).await;
        hook_for(company, &receiver.url, &[EventKind::QuoteCreated]).await;
        emit_for(company, 2).await;
        let quote = accepted_of(company).await.summary.id;
        links.push(company.quotes().create_signing_link(quote).await.unwrap());
    }
    world.company.close().await.unwrap();

    assert_eq!(world.get("/api/v1/quotes").await.status, 401);
    assert!(world.company.keys().list().await.unwrap().iter().all(|key| key.revoked_at.is_some()));
    assert!(world.company.webhooks().list().await.unwrap().is_empty());
    not_found(&world, "an ended link", world.invoicing.signing_links().open(links[0].reveal())).await;
    for event in events(&world.company).await {
        for delivery in world.company.events().deliveries(event.id).await.unwrap() {
            assert_eq!(delivery.reason.as_deref(), Some("webhook_removed"));
        }
    }

    let answer = world.call("GET", "/api/v1/quotes", Some(&other_key), &[], bytes::Bytes::new()).await;
    assert_eq!((answer.status.as_u16(), other.webhooks().list().await.unwrap().len()), (200, 2));
    world.invoicing.signing_links().open(links[1].reveal()).await.unwrap();
    let sent = world.dispatch().await.delivered;
    // Three quotes for each webhook, and an acceptance.
    assert_eq!(sent, 2 * 3 + 1, "only those of the other company");
}

/// Rules: CLOSE-2
#[on_each_database]
async fn records_of_a_closed_company_stay_and_the_host_can_read_them(db: Database) {
    let world = World::new(db).await;
    let signed = world.sent().await.summary.id;
    let link = world.company.quotes().create_signing_link(signed).await.unwrap();
    world.invoicing.signing_links().sign(link.reveal(), &signature()).await.unwrap();
    let invoice = world.company.invoices().convert(signed).await.unwrap().summary;
    let before = (
        world.company.details().await.unwrap(),
        world.company.quotes().list(&QuoteQuery::default()).await.unwrap(),
        world.company.invoices().list(&InvoiceQuery::default()).await.unwrap(),
        events(&world.company).await,
    );
    world.company.close().await.unwrap();
    let after = (
        world.company.details().await.unwrap(),
        world.company.quotes().list(&QuoteQuery::default()).await.unwrap(),
        world.company.invoices().list(&InvoiceQuery::default()).await.unwrap(),
        events(&world.company).await,
    );
    assert_eq!(after, before, "no record has changed, nothing was emitted, no stamp has moved");
    assert!(world.company.quotes().open_document(signed).await.unwrap().bytes.starts_with(b"%PDF"));
    assert!(world.company.quotes().proof(signed).await.unwrap().is_some());
    nothing_happens(&world, world.company.close()).await;
    // Invoices of a closed company are still issued.
    assert!(world.company.invoices().issue(invoice.id, None).await.unwrap().summary.number.is_some());
}

/// Rules: CLOSE-1, HISTORY-1
#[on_each_database]
async fn a_close_with_a_name_notes_each_key_webhook_and_link(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let webhook = hook_for(&world.company, &receiver.url, &[EventKind::QuoteCreated]).await.webhook.id;
    let quote = world.sent().await.summary;
    world.company.quotes().create_signing_link(quote.id).await.unwrap();
    let key = world.company.keys().list().await.unwrap()[0].id;
    world.company.acting_as("Léa Martin").unwrap().close().await.unwrap();
    let noted = world.company.history().list(None, 10).await.unwrap();
    let noted: Vec<_> = noted.iter().map(|record| (record.action.clone(), record.subject)).collect();
    let expected = [
        (HistoryAction::SigningLinkRevoked.into(), quote.id.0),
        (HistoryAction::WebhookRemoved.into(), webhook.0),
        (HistoryAction::KeyRevoked.into(), key.0),
    ];
    assert_eq!(noted, expected);
}

/// Rules: CLOSE-1
#[on_each_database]
async fn any_number_of_links_is_revoked_and_ended_ones_stay_as_they_are(db: Database) {
    let world = World::new(db).await;
    let quote = draft_of(&world.company).await.summary.id;
    let now = world.now().as_millis();
    let (numbers, _) = numbered(&world);
    let hash =
        world.database().either("unhex(printf('%064x', i))", "decode(lpad(to_hex(i), 64, '0'), 'hex')");
    let insert = format!(
        "INSERT INTO signing_link (company_id, token_hash, quote_id, created_at, ends_at, revoked_at)
        SELECT $2, {hash}, $3, 0, CASE WHEN i % 10 = 0 THEN $4 ELSE $4 + 1 END, CASE WHEN i % 10 = 1 THEN 5 END
        FROM {numbers} AS numbers"
    );
    let arguments: [Argument; 4] =
        [1_200_i64.into(), world.company.id().0.into(), quote.0.into(), now.into()];
    assert_eq!(world.run(&insert, &arguments).await, 1_200);
    world.company.close().await.unwrap();
    let links = world.company.quotes().signing_links(quote).await.unwrap();
    let count = |is: fn(&SigningLinkRecord, i64) -> bool| links.iter().filter(|link| is(link, now)).count();
    assert_eq!(count(|link, now| link.revoked_at.is_some_and(|at| at.as_millis() == now)), 960);
    assert_eq!(count(|link, _| link.revoked_at.is_some_and(|at| at.as_millis() == 5)), 120);
    assert_eq!(count(|link, _| link.revoked_at.is_none()), 120);
}
