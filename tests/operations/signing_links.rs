//! Signing links: the host's list of them, their revocation, and their end.

use futures_util::future::join_all;
use invoicing_core::{Quote, QuoteImport, QuoteStatus};
use invoicing_server::{Decline, Error, Secret, SigningLinkRecord};
use invoicing_tests::{Database, World, new_quote, on_each_database};
use sha2::{Digest, Sha256};

use crate::support::{
    DAY, client_of, company_in, conflict, date, draft_of, not_found, nothing_happens, signature,
};

fn hash(link: &Secret) -> Vec<u8> {
    Sha256::digest(link.reveal()).to_vec()
}

/// A quote sent with this last day, and a link to it.
async fn sent_until(world: &World, day: &str) -> (Quote, Secret) {
    let draft = world.draft().await;
    let quotes = world.company.quotes();
    let sent = quotes.send(draft.summary.id, Some(date(day))).await.unwrap();
    let link = quotes.create_signing_link(sent.summary.id).await.unwrap();
    (sent, link)
}

/// The answers to an ended link are those to an unknown one.
async fn is_over(world: &World, link: &Secret) {
    let (links, token) = (world.invoicing.signing_links(), link.reveal());
    not_found(world, "open", links.open(token)).await;
    not_found(world, "document", links.document(token)).await;
    not_found(world, "sign", links.sign(token, &signature())).await;
    not_found(world, "decline", links.decline(token, &Decline::default())).await;
}

async fn is_good(world: &World, link: &Secret) {
    world.invoicing.signing_links().open(link.reveal()).await.unwrap();
}

/// The link is good until this instant, and ends with it.
async fn ends(world: &World, link: &Secret, at: &str) {
    world.clock.set(at.parse().unwrap());
    world.clock.set(world.now().plus_millis(-1));
    is_good(world, link).await;
    world.clock.set(at.parse().unwrap());
    is_over(world, link).await;
}

/// Rules: QUOTE-16
#[on_each_database]
async fn a_link_ends_30_days_after_its_quote_in_the_company_s_zone(db: Database) {
    let world = World::new(db).await;
    let (quote, link) = sent_until(&world, "2026-09-20").await;
    ends(&world, &link, "2026-10-20T22:00:00Z").await;
    let quotes = world.company.quotes();
    conflict(&world, "another link", quotes.create_signing_link(quote.summary.id)).await;
    // A quote that is sent again gets other links; an ended link stays ended.
    world.invoicing.sweep().await.unwrap();
    quotes.send(quote.summary.id, None).await.unwrap();
    is_over(&world, &link).await;
    is_good(&world, &quotes.create_signing_link(quote.summary.id).await.unwrap()).await;
}

/// Rules: QUOTE-16
#[on_each_database]
async fn a_link_ends_30_days_after_the_decision_if_that_is_later(db: Database) {
    let world = World::new(db).await;
    let right = world.now();
    for accepted in [true, false] {
        world.clock.set(right);
        let (quote, link) = sent_until(&world, "2026-09-20").await;
        let (id, quotes) = (quote.summary.id, world.company.quotes());
        world.clock.set("2026-10-10T10:00:00Z".parse().unwrap());
        let decided = if accepted { quotes.accept(id).await } else { quotes.reject(id).await };
        decided.unwrap();
        world.clock.set("2026-11-01T10:00:00Z".parse().unwrap());
        quotes.link(id, Some("deal-7")).await.unwrap();
        // The winter time has begun.
        ends(&world, &link, "2026-11-09T23:00:00Z").await;
    }
}

/// Rules: QUOTE-16
#[on_each_database]
async fn a_link_that_is_still_good_goes_on_with_a_new_validity(db: Database) {
    let world = World::new(db).await;
    let (quote, link) = sent_until(&world, "2026-09-20").await;
    world.clock.set("2026-10-01T10:00:00Z".parse().unwrap());
    world.invoicing.sweep().await.unwrap();
    world.company.quotes().send(quote.summary.id, Some(date("2026-12-01"))).await.unwrap();
    ends(&world, &link, "2026-12-31T23:00:00Z").await;
}

/// Rules: QUOTE-16
#[on_each_database]
async fn an_imported_quote_without_a_validity_has_links_for_30_days(db: Database) {
    let world = World::new(db).await;
    let new = new_quote(client_of(&world.company).await);
    let import = QuoteImport { status: QuoteStatus::Expired, sent_at: None, accepted_at: None };
    let imported = world.company.quotes().import(&new, &import).await.unwrap();
    assert_eq!(imported.summary.valid_until, None);
    let link = world.company.quotes().create_signing_link(imported.summary.id).await.unwrap();
    ends(&world, &link, "2026-10-14T22:00:00Z").await;
}

/// Rules: QUOTE-17
#[on_each_database]
async fn the_host_lists_and_revokes_the_links_of_a_quote(db: Database) {
    let world = World::new(db).await;
    let (quote, first) = sent_until(&world, "2026-09-20").await;
    let (id, quotes) = (quote.summary.id, world.company.quotes());
    world.advance(DAY);
    let second = quotes.create_signing_link(id).await.unwrap();
    let listed = nothing_happens(&world, quotes.signing_links(id)).await;
    let ends_at = "2026-10-20T22:00:00Z".parse().unwrap();
    let shown = |link: &SigningLinkRecord| (link.token_hash.clone(), link.ends_at, link.revoked_at);
    assert_eq!(
        listed.iter().map(shown).collect::<Vec<_>>(),
        [(hash(&first), ends_at, None), (hash(&second), ends_at, None)]
    );
    assert_eq!(listed[1].created_at, world.now());

    let stamp = quote.summary.updated_at;
    quotes.revoke_signing_link(id, &listed[0].token_hash).await.unwrap();
    let revoked_at = Some(world.now());
    is_over(&world, &first).await;
    world.advance(DAY);
    nothing_happens(&world, quotes.revoke_signing_link(id, &listed[0].token_hash)).await;
    assert_eq!(quotes.signing_links(id).await.unwrap()[0].revoked_at, revoked_at);
    assert_eq!(quotes.get(id).await.unwrap().summary.updated_at, stamp);
    let signed = world.invoicing.signing_links().sign(second.reveal(), &signature()).await.unwrap();
    let proof = quotes.proof(signed.summary.id).await.unwrap().unwrap();
    assert_eq!(proof.token_hash, listed[1].token_hash);

    let (other, own) = (sent_until(&world, "2026-10-01").await, &listed[1].token_hash);
    not_found(&world, "another quote", quotes.revoke_signing_link(other.0.summary.id, own)).await;
    not_found(&world, "no hash", quotes.revoke_signing_link(id, b"short")).await;
    let company = company_in(&world, "Europe/Paris").await;
    let foreign = draft_of(&company).await.summary.id;
    not_found(&world, "another company", company.quotes().revoke_signing_link(foreign, own)).await;
    not_found(&world, "another company", company.quotes().signing_links(id)).await;
}

/// Rules: QUOTE-19
#[on_each_database]
async fn a_quote_has_at_most_50_good_links_also_if_many_are_made_at_once(db: Database) {
    let world = World::new(db).await;
    let (quote, first) = sent_until(&world, "2026-09-20").await;
    let (id, quotes) = (quote.summary.id, world.company.quotes());
    let made = join_all((0..60).map(|_| quotes.create_signing_link(id))).await;
    assert_eq!(made.iter().filter(|made| made.is_ok()).count(), 49);
    assert!(made.iter().all(|made| matches!(made, Ok(_) | Err(Error::Conflict(_)))));
    conflict(&world, "a 51st", quotes.create_signing_link(id)).await;
    // Another quote has a limit for itself, and a revoked link frees a place.
    sent_until(&world, "2026-09-20").await;
    quotes.revoke_signing_link(id, &hash(&first)).await.unwrap();
    quotes.create_signing_link(id).await.unwrap();
    conflict(&world, "a 51st", quotes.create_signing_link(id)).await;
    // Ended links free their places too: the quote is sent again and gets others.
    world.clock.set("2026-10-20T22:00:00Z".parse().unwrap());
    world.invoicing.sweep().await.unwrap();
    quotes.send(id, None).await.unwrap();
    is_good(&world, &quotes.create_signing_link(id).await.unwrap()).await;
}
