//! The records of the pages: quotes, and webhooks with few and with many deliveries.

use invoicing_core::{EventId, EventKind, NewQuote, QuoteId, WebhookId};
use invoicing_server::NewWebhook;
use invoicing_tests::{Database, Receiver, Reply, World, new_quote};
use uuid::Uuid;

const DELIVERIES: i64 = 100_000;
const QUOTES: usize = 1_000;
/// Quotes of whose creation the webhook with few deliveries is told.
const FEW: usize = 60;
/// Lines of the longest quote that is shown in one part.
const LINES: usize = 50;

pub(crate) struct Records {
    pub(crate) world: World,
    pub(crate) few: WebhookId,
    pub(crate) many: WebhookId,
    /// An event in the middle of the many.
    pub(crate) middle: EventId,
    pub(crate) long: QuoteId,
}

impl Records {
    pub(crate) async fn make(db: Database) -> Self {
        let world = World::new(db).await;
        let receiver = Receiver::start().await;
        receiver.reply_always(Reply::status(204));
        let many = register(&world, &receiver.url).await;
        world.draft().await;
        world.dispatch().await;
        copy(&world).await;

        let (client, quotes) = (world.client("Lefèvre").await, world.company.quotes());
        let mut few = None;
        for number in 1..QUOTES {
            if number == QUOTES - FEW {
                few = Some(register(&world, &receiver.url).await);
            }
            let quote = quotes.create(&new_quote(client)).await.expect("a quote").summary.id;
            if number % 2 == 0 {
                quotes.send(quote, None).await.expect("it is sent");
            }
        }
        let of_test = new_quote(client);
        let lines = of_test.lines.iter().cycle().take(LINES).cloned().collect();
        let long = quotes.create(&NewQuote { lines, ..of_test }).await.expect("a quote").summary.id;
        quotes.send(long, None).await.expect("it is sent");
        quotes.create_signing_link(long).await.expect("a link");
        world.dispatch().await;
        world.run("ANALYZE", &[]).await;
        let middle = EventId(Uuid::from_u128(u128::from(DELIVERIES.unsigned_abs()) / 2));
        Self { world, few: few.expect("it is registered"), many, middle, long }
    }
}

async fn register(world: &World, url: &str) -> WebhookId {
    let new = NewWebhook::new(url, EventKind::ALL.iter().copied());
    world.company.webhooks().register(&new).await.expect("a webhook").webhook.id
}

/// Copies the only event with its delivery and its attempt, older than all others. One delivery in a thousand has failed.
async fn copy(world: &World) {
    let numbers = world.database().either(
        "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1) SELECT i FROM n)",
        "(SELECT generate_series(1, $1) AS i)",
    );
    let id = world.database().either("unhex(printf('%032x', i))", "lpad(to_hex(i), 32, '0')::uuid");
    for statement in [
        format!(
            "INSERT INTO event (id, company_id, kind, timestamp, body)
             SELECT {id}, company_id, kind, timestamp, body FROM {numbers} n, (SELECT * FROM event LIMIT 1) e"
        ),
        format!(
            "INSERT INTO delivery (id, event_id, company_id, webhook_id, status, reason, due_at, held_until, claim, claims,
                 attempts, claims_in_all, attempts_in_all, ended_at)
             SELECT 1000000000 + i, {id}, company_id, webhook_id, CASE WHEN i % 1000 = 0 THEN 'failed' ELSE status END,
                 reason, due_at, held_until, claim, claims, attempts, claims_in_all, attempts_in_all, ended_at
             FROM {numbers} n, (SELECT * FROM delivery) d"
        ),
        format!(
            "INSERT INTO attempt (company_id, at, event_id, webhook_id, number, duration_ms, status, failure)
             SELECT company_id, at, {id}, webhook_id, number, duration_ms, status, failure
             FROM {numbers} n, (SELECT * FROM attempt) a"
        ),
    ] {
        world.run(&statement, &[DELIVERIES.into()]).await;
    }
}
