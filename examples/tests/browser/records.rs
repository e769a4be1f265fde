//! Records in each state that a page can show.

use std::time::Duration;

use invoicing_core::{EventKind, QuoteId, SignatureEvidence, WebhookId};
use invoicing_server::{Decline, NewLine, NewQuote, NewWebhook, Signature, quantity, unit_price};
use invoicing_tests::{Receiver, Reply, World};
use serde_json::{Value, json};

/// The input of the scripts.
pub(super) struct Records {
    /// The path of the signing page in each state.
    pub(super) signing: Value,
    /// One that is on.
    pub(super) webhook: WebhookId,
}

impl Records {
    pub(super) async fn create(world: &World) -> Self {
        // Its link ends 30 days after it expires.
        let ended = sent(world).await;
        let ended = link(world, ended).await;
        world.advance(Duration::from_hours(24 * 80));
        let expired = sent(world).await;
        let expired = link(world, expired).await;
        world.advance(Duration::from_hours(24 * 40));
        world.invoicing.sweep().await.unwrap();

        let webhook = deliveries(world).await;
        let open = link(world, sent(world).await).await;
        let long = link(world, long_quote(world).await).await;
        let (signed, declined) = (link(world, sent(world).await).await, link(world, sent(world).await).await);
        let signature =
            Signature::new(SignatureEvidence::new("Claire Lefèvre", "claire@example.com", "Bon pour accord"));
        world.invoicing.signing_links().sign(&signed, &signature).await.unwrap();
        world
            .invoicing
            .signing_links()
            .decline(&declined, &Decline::default().reason("Trop cher"))
            .await
            .unwrap();
        world.draft().await;
        world.company.keys().issue("<b>Website</b>").await.unwrap();
        let revoked = world.company.keys().issue("Old").await.unwrap();
        world.company.keys().revoke(revoked.record.id).await.unwrap();

        let paths = [
            ("refusal", format!("{open}/decline")),
            ("open", open),
            ("long", long),
            ("signed", signed),
            ("declined", declined),
            ("expired", expired),
            ("ended", ended),
            ("unknown", format!("sgn_{}", "x".repeat(43))),
        ];
        let paths = paths.into_iter().map(|(name, token)| (name.to_owned(), json!(format!("/sign/{token}"))));
        Self { signing: Value::Object(paths.collect()), webhook }
    }
}

async fn sent(world: &World) -> QuoteId {
    world.sent().await.summary.id
}

async fn link(world: &World, quote: QuoteId) -> String {
    world.company.quotes().create_signing_link(quote).await.unwrap().reveal().to_owned()
}

/// With a name, a unit and words that are as long as they may get.
async fn long_quote(world: &World) -> QuoteId {
    let client = world.client("Société <Générale> & Fils de Rénovation-et-d’Aménagement-Intérieur").await;
    let mut new = NewQuote::empty(client);
    for number in 1..=60 {
        let text = format!("{number}. Préparation des supports, rebouchage, {}", "ponçage-".repeat(12));
        new = new.line(NewLine::new(text, quantity!(123456.789), unit_price!(9876.54), 10).unit("m2"));
    }
    let draft = world.company.quotes().create(&new).await.unwrap();
    world.company.quotes().send(draft.summary.id, None).await.unwrap().summary.id
}

/// Webhooks that are on, fail, wait, and are off, with what was sent to each.
async fn deliveries(world: &World) -> WebhookId {
    let receiver = Receiver::start().await;
    let webhooks = world.company.webhooks();
    let good =
        webhooks.register(&NewWebhook::new(&receiver.url, EventKind::ALL.iter().copied())).await.unwrap();
    let refused = NewWebhook::new(
        "http://127.0.0.1:8/a-path-that-is/rather-long/".to_owned() + &"x".repeat(120),
        [EventKind::QuoteCreated],
    );
    webhooks.register(&refused).await.unwrap();
    let off = webhooks
        .register(&NewWebhook::new("http://127.0.0.1:8/off", [EventKind::QuoteCreated]))
        .await
        .unwrap();
    webhooks.disable(off.webhook.id).await.unwrap();
    receiver.reply_next([Reply::status(500), Reply::status(404)]);
    for _ in 0..5 {
        world.draft().await;
        world.dispatch().await;
        world.advance(Duration::from_secs(10));
    }
    world.accepted().await;
    good.webhook.id
}
