//! History: each change is noted in its transaction, with its actor.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join_all;
use invoicing_core::{
    ClientChange, CompanyIdentity, EventKind, NewClient, NewCreditNote, OpenEnum, Plan, ProjectStatus,
    QuoteImport, QuoteStatus,
};
use invoicing_server::{
    CompanyHandle, Decline, Error, HistoryAction, HistoryQuery, HistoryRecord, NewProject, NewWebhook,
    Signature, SignatureEvidence, WebhookChange,
};
use invoicing_tests::{CANARY, Database, World, new_quote, on_each_database};
use uuid::Uuid;

use crate::support::hooked_store::HookedStore;
use crate::support::{conflict, emit, invalid, issued_over, not_found, nothing_happens, numbered, payment};

const NAME: &str = "Léa Martin";
const URL: &str = "https://crm.example.com/token-of-the-receiver?key=4711";

async fn history(company: &CompanyHandle) -> Vec<HistoryRecord> {
    company.history().list(None, 1_000).await.unwrap()
}

/// The last change, as action, subject and detail.
async fn last(company: &CompanyHandle) -> (HistoryAction, Uuid, String) {
    let last = company.history().list(None, 1).await.unwrap().remove(0);
    (last.action.known().unwrap(), last.subject, last.detail)
}

/// Makes a change of each kind of webhook change.
async fn manage_webhooks(world: &World, company: &CompanyHandle) {
    let webhooks = company.webhooks();
    let new = NewWebhook::for_all_events(URL);
    let registered = webhooks.register(&new).await.unwrap().webhook.id;
    let shown = "https://crm.example.com/..".to_owned();
    assert_eq!(last(company).await, (HistoryAction::WebhookRegistered, registered.0, shown.clone()));
    let change = WebhookChange::default().events([EventKind::QuoteCreated]);
    webhooks.change(registered, &change).await.unwrap();
    assert_eq!(last(company).await, (HistoryAction::WebhookChanged, registered.0, shown));
    webhooks.rotate_with_overlap(registered, Duration::from_mins(2)).await.unwrap();
    assert_eq!(last(company).await, (HistoryAction::WebhookRotated, registered.0, "120".into()));
    webhooks.end_overlap(registered).await.unwrap();
    webhooks.ping(registered).await.unwrap();
    webhooks.disable(registered).await.unwrap();
    emit(world, 3).await;
    webhooks.enable_and_replay(registered, None).await.unwrap();
    assert_eq!(last(company).await, (HistoryAction::DeliveriesReplayed, registered.0, "3".into()));
    webhooks.remove(registered).await.unwrap();
}

async fn manage_quotes(world: &World, company: &CompanyHandle) {
    let client = company.clients().create(&NewClient::named("Lefèvre")).await.unwrap().id;
    let quotes = company.quotes();
    let draft = quotes.create(&new_quote(client)).await.unwrap().summary;
    let number = draft.number;
    quotes.edit(draft.id, &new_quote(client).retention_rate(0)).await.unwrap();
    assert_eq!(last(company).await, (HistoryAction::QuoteEdited, draft.id.0, number.clone()));
    let costs = new_quote(client).retention_rate(0).work_site("3 rue du Four");
    quotes.edit(draft.id, &costs).await.unwrap();
    assert_eq!(history(company).await.iter().filter(|r| r.action == HistoryAction::QuoteEdited).count(), 2);
    quotes.link(draft.id, Some("deal-1")).await.unwrap();
    quotes.send(draft.id, None).await.unwrap();
    assert_eq!(last(company).await, (HistoryAction::QuoteSent, draft.id.0, number.clone()));
    quotes.create_signing_link(draft.id).await.unwrap();
    let link = quotes.signing_links(draft.id).await.unwrap().remove(0);
    quotes.revoke_signing_link(draft.id, &link.token_hash).await.unwrap();
    assert_eq!(last(company).await, (HistoryAction::SigningLinkRevoked, draft.id.0, number));
    client_declines(world).await;
    client_signs(world).await;
    quotes.reject(draft.id).await.unwrap();
    quotes.accept(draft.id).await.unwrap();
    let import = QuoteImport::new(QuoteStatus::Accepted);
    quotes.import(&new_quote(client), &import).await.unwrap();
    let invoice = company.invoices().convert(draft.id).await.unwrap().summary.id;
    company.invoices().issue(invoice, None).await.unwrap();
    let paid = company.invoices().pay(invoice, &payment("100", None)).await.unwrap();
    company.invoices().reverse_payment(invoice, paid.payment.id).await.unwrap();
    company.invoices().mark_paid(invoice).await.unwrap();
    let part = NewCreditNote::new("Un mètre de moins").quantity(0, 1);
    let note = company.invoices().credit(invoice, &part).await.unwrap().summary;
    assert_eq!(last(company).await, (HistoryAction::InvoiceCredited, invoice.0, note.number));
    company.invoices().refund(invoice, &payment("0.5", None)).await.unwrap();
    assert_eq!(last(company).await, (HistoryAction::InvoiceRefunded, invoice.0, "0.50".into()));
    company.set_logo(Some(include_bytes!("../data/logo.png").to_vec())).await.unwrap();
    assert_eq!(last(company).await, (HistoryAction::CompanyLogoSet, company.id().0, "set".into()));
    let other = issued_over(&world.company, "10").await.summary.id;
    company.invoices().cancel(other).await.unwrap();
}

/// The client gives a reason, in several lines.
async fn client_declines(world: &World) {
    let sent = world.sent().await.summary;
    let link = world.company.quotes().create_signing_link(sent.id).await.unwrap();
    let refusal = Decline::default().reason("  Trop cher,\r\n\r\net trop tard ");
    world.invoicing.signing_links().decline(link.reveal(), &refusal).await.unwrap();
    let detail = format!("{}: Trop cher, et trop tard", sent.number);
    assert_eq!(last(&world.company).await, (HistoryAction::QuoteDeclined, sent.id.0, detail));
}

/// The client signs a quote, which converts it where the company wishes so.
async fn client_signs(world: &World) {
    let sent = world.sent().await.summary;
    let link = world.company.quotes().create_signing_link(sent.id).await.unwrap();
    let signature = Signature::new(SignatureEvidence::new("Léa", "lea@exemple.fr", "Bon pour accord"));
    world.invoicing.signing_links().sign(link.reveal(), &signature).await.unwrap();
    assert_eq!(last(&world.company).await, (HistoryAction::QuoteSigned, sent.id.0, sent.number));
}

/// Rules: HISTORY-1, HISTORY-2
#[on_each_database]
async fn a_signature_through_a_link_is_one_note_in_its_transaction(db: Database) {
    let (world, store) = HookedStore::world(db).await;
    world.company.set_automatic_invoicing(true).await.unwrap();
    let sent = world.sent().await.summary;
    let link = world.company.quotes().create_signing_link(sent.id).await.unwrap();
    let links = world.invoicing.signing_links();
    let signature = Signature::new(SignatureEvidence::new("Léa", "lea@exemple.fr", "Bon pour accord"));
    // Another decision comes first while the signed copy is being stored.
    let company = world.company.clone();
    store.happens_next(1, move || {
        let company = company.clone();
        Box::pin(async move { drop(company.quotes().reject(sent.id).await.unwrap()) })
    });
    links.sign(link.reveal(), &signature).await.unwrap_err();
    assert!(history(&world.company).await.is_empty(), "the signature was refused");
    world.company.quotes().send(sent.id, None).await.unwrap();
    links.sign(link.reveal(), &signature).await.unwrap();
    links.sign(link.reveal(), &signature).await.unwrap_err();
    let notes = history(&world.company).await;
    let [note] = &notes[..] else { panic!("{notes:?}") };
    assert!(note.action == HistoryAction::QuoteSigned && note.subject == sent.id.0, "{note:?}");
    assert_eq!(note.actor, "signing link");
    assert_eq!((&*note.detail, note.at), (&*sent.number, world.now()));
}

/// Rules: HISTORY-1, HISTORY-4
#[on_each_database]
async fn each_change_through_a_handle_with_a_name_is_noted_with_it(db: Database) {
    let world = World::new(db).await;
    let before = world.company.acting_as("someone else").unwrap();
    before.keys().issue("before").await.unwrap();
    let company = world.company.acting_as(&format!("  {NAME}  ")).unwrap();
    manage_webhooks(&world, &company).await;
    manage_quotes(&world, &company).await;
    let issued = company.keys().issue("CRM").await.unwrap();
    company.keys().revoke(issued.record.id).await.unwrap();
    assert_eq!(last(&company).await, (HistoryAction::KeyRevoked, issued.record.id.0, "CRM".into()));
    let project = company.projects().create(&NewProject::named("Façade")).await.unwrap().id;
    company.projects().set_status(project, ProjectStatus::Completed).await.unwrap();
    let client = world.client("Durand").await;
    let change = ClientChange { city: Some("Lyon".into()), ..NewClient::named("Durand") };
    company.clients().change(client, &change).await.unwrap();
    company.set_identity(&CompanyIdentity::default().city("Lyon")).await.unwrap();
    company.set_automatic_invoicing(true).await.unwrap();
    company.set_automatic_invoicing(false).await.unwrap();
    company.set_plan(Plan::Pro).await.unwrap();
    assert_eq!(last(&company).await, (HistoryAction::CompanyPlanSet, company.id().0, "Pro".into()));

    let all = history(&world.company).await;
    let known: BTreeSet<_> = all.iter().filter_map(|record| record.action.known()).collect();
    assert!(HistoryAction::ALL.iter().all(|action| known.contains(action)), "{known:?}");
    for record in &all[..all.len() - 1] {
        let by_client = [HistoryAction::QuoteDeclined, HistoryAction::QuoteSigned].map(OpenEnum::Known);
        let by_client = by_client.contains(&record.action);
        assert_eq!((&*record.actor, record.at), (if by_client { "signing link" } else { NAME }, world.now()));
    }
    assert_eq!(all.last().unwrap().actor, "someone else");
    let text = format!("{all:?}");
    for secret in ["token-of-the-receiver", "4711", "isk_", "whsec_", "sgn_", CANARY] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}

/// Rules: HISTORY-2
#[on_each_database]
async fn what_is_refused_or_changes_nothing_or_has_no_actor_leaves_no_note(db: Database) {
    let world = World::new(db).await;
    let company = world.company.acting_as(NAME).unwrap();
    let webhooks = company.webhooks();
    let id = world.company.webhooks().register(&NewWebhook::for_all_events(URL)).await.unwrap().webhook.id;
    let sent = world.sent().await.summary;
    let key = world.company.keys().issue("CRM").await.unwrap().record.id;
    world.company.keys().revoke(key).await.unwrap();
    let quotes = company.quotes();
    world.company.quotes().create_signing_link(sent.id).await.unwrap();
    let link = quotes.signing_links(sent.id).await.unwrap().remove(0).token_hash;
    world.company.quotes().revoke_signing_link(sent.id, &link).await.unwrap();
    let draft = world.draft().await.summary;
    let client = world.company.clients().get(draft.client_id).await.unwrap();
    assert!(history(&world.company).await.is_empty(), "the handle has no name");

    nothing_happens(&world, webhooks.change(id, &WebhookChange::default().url(URL))).await;
    nothing_happens(&world, webhooks.enable(id)).await;
    nothing_happens(&world, webhooks.end_overlap(id)).await;
    nothing_happens(&world, webhooks.replay(id, None)).await;
    nothing_happens(&world, company.keys().revoke(key)).await;
    nothing_happens(&world, quotes.revoke_signing_link(sent.id, &link)).await;
    nothing_happens(&world, quotes.link(sent.id, None)).await;
    nothing_happens(&world, quotes.edit(draft.id, &new_quote(draft.client_id))).await;
    let same = NewClient::named(client.name).email(client.email.unwrap());
    nothing_happens(&world, company.clients().change(client.id, &same)).await;
    nothing_happens(&world, company.set_automatic_invoicing(false)).await;
    nothing_happens(&world, company.set_plan(Plan::Team)).await;
    invalid(&world, "url", webhooks.register(&NewWebhook::for_all_events("ftp://x"))).await;
    conflict(&world, "a draft has no link", quotes.create_signing_link(draft.id)).await;
    conflict(&world, "it was sent", quotes.edit(sent.id, &new_quote(draft.client_id))).await;
    let (other, _) = world.another("Autre", Plan::Team).await;
    let other = other.acting_as(NAME).unwrap();
    not_found(&world, "another's webhook", other.webhooks().ping(id)).await;
    not_found(&world, "another's key", other.keys().revoke(key)).await;
    not_found(&world, "another's link", other.quotes().revoke_signing_link(sent.id, &link)).await;
    assert!(history(&world.company).await.is_empty());
}

/// Rules: HISTORY-3
#[on_each_database]
async fn changes_are_numbered_as_they_were_committed_and_read_in_pages(db: Database) {
    let world = World::new(db).await;
    let (other, _) = world.another("Autre", Plan::Team).await;
    let issue = async |company: &CompanyHandle, label: String| company.keys().issue(&label).await.unwrap();
    let (mine, theirs) = (world.company.acting_as(NAME).unwrap(), other.acting_as("B").unwrap());
    join_all((0..20).map(|n| issue(&mine, format!("at once {n}")))).await;
    // Numbers follow the order of commits although the clock was set back.
    world.clock.set("2026-09-01T00:00:00Z".parse().unwrap());
    issue(&mine, "last".into()).await;
    issue(&theirs, "theirs".into()).await;
    let all = history(&world.company).await;
    assert_eq!(
        all.iter().map(|record| record.number).collect::<Vec<_>>(),
        (1..=21).rev().collect::<Vec<_>>()
    );
    assert_eq!(all[0].detail, "last");
    let mut paged = Vec::new();
    for size in [8, 8, 5, 0] {
        let before = paged.last().map(|last: &HistoryRecord| last.number);
        let page = mine.history().list(before, 8).await.unwrap();
        assert_eq!(page.len(), size);
        paged.extend(page);
    }
    assert_eq!(paged, all);
    let theirs = history(&other).await;
    assert_eq!((theirs.len(), &*theirs[0].actor, theirs[0].number), (1, "B", 1));
}

/// Rules: HISTORY-1
#[on_each_database]
async fn a_name_is_a_text_like_any_other(db: Database) {
    let world = World::new(db).await;
    for bad in ["", "  ", "a\0b", "a\nb", &"x".repeat(256)] {
        let refused = world.company.acting_as(bad).unwrap_err();
        assert!(matches!(refused, Error::Invalid(invalid) if invalid.field == "actor"), "{bad:?}");
    }
    let company = world.company.acting_as("e\u{301}".repeat(255).as_str()).unwrap();
    company.keys().issue("CRM").await.unwrap();
    assert_eq!(history(&company).await[0].actor, "é".repeat(255));
}

/// Rules: HISTORY-1
#[on_each_database]
async fn what_a_later_version_has_noted_is_read_as_it_is(db: Database) {
    let world = World::new(db).await;
    let company = world.company.acting_as(NAME).unwrap();
    company.keys().issue("CRM").await.unwrap();
    world.run("UPDATE history SET action = 'key.painted'", &[]).await;
    let record = history(&company).await.remove(0);
    assert_eq!((record.action.known(), record.action.to_string()), (None, "key.painted".to_owned()));
}

/// Rules: HISTORY-3
#[on_each_database]
async fn pages_hold_each_change_once_also_of_one_record_among_many(db: Database) {
    let world = World::new(db).await;
    let company = world.company.acting_as(NAME).unwrap();
    let first = company.keys().issue("first").await.unwrap().record.id.0;
    let (numbers, id) = numbered(&world);
    let copy = format!(
        "INSERT INTO history (company_id, number, at, actor, action, subject, detail)
         SELECT company_id, 1 + i, at, actor, action, {id}, detail FROM {numbers} n, history h"
    );
    world.run(&copy, &[2_500.into()]).await;
    let mut found = Vec::new();
    let mut query = HistoryQuery::default();
    loop {
        let page = company.history().page(&query, 700).await.unwrap();
        found.extend(page.items.iter().map(|item| item.number));
        match page.next {
            Some(next) => query = query.before(next),
            None => break,
        }
    }
    assert!(found.iter().copied().eq((1..=2_501).rev()), "{found:?}");

    // A page looks at a bounded number of changes and returns the place from which to go on.
    let query = HistoryQuery::default().subject(first);
    let page = company.history().page(&query, 50).await.unwrap();
    assert!(page.items.is_empty());
    let page = company.history().page(&query.before(page.next.unwrap()), 50).await.unwrap();
    assert_eq!((page.items.len(), page.items[0].subject, page.next), (1, first, None));
    let (other, _) = world.another("Other", Plan::Team).await;
    assert!(other.history().page(&query, 50).await.unwrap().items.is_empty());
}
