//! Notices to the host of webhooks that failures have disabled.

use std::error::Error as StdError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use invoicing_core::WebhookId;
use invoicing_server::{DisabledReason, DisabledWebhook, InvoicingBuilder};
use invoicing_tests::{Database, Receiver, Reply, World, on_each_database, on_postgres};
use tokio::sync::{Semaphore, oneshot};

use crate::support::{dispatch_to_the_end, emit, hook};

type Taken = Result<(), Box<dyn StdError + Send + Sync>>;

/// The webhooks of the calls to the host.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<DisabledWebhook>>>);

impl Told {
    /// Adds the callback that records its calls.
    fn by(&self, builder: InvoicingBuilder) -> InvoicingBuilder {
        let told = Arc::clone(&self.0);
        builder.on_webhook_disabled(move |disabled| {
            told.lock().unwrap().push(disabled);
            async { Ok(()) }
        })
    }

    fn take(&self) -> Vec<DisabledWebhook> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// A webhook whose receiver refuses every delivery.
async fn refused(world: &World) -> (Receiver, WebhookId) {
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(400));
    let id = hook(world, &receiver.url).await.webhook.id;
    (receiver, id)
}

/// Lets ten deliveries fail, so that their webhook is disabled.
async fn fail(world: &World) {
    emit(world, 10).await;
    world.dispatch().await;
}

const NOTICES: &str = "SELECT count(*) FROM disabled_notice";

/// Rules: WEBHOOK-29
#[on_each_database]
async fn the_host_is_told_once_of_each_webhook_that_failures_disable(db: Database) {
    let told = Told::default();
    let world = World::new(db).await.reopen_with(|builder| told.by(builder)).await;
    let (_receiver, id) = refused(&world).await;
    let webhooks = world.company.webhooks();
    webhooks.disable(id).await.unwrap();
    world.dispatch().await;
    webhooks.enable(id).await.unwrap();
    emit(&world, 9).await;
    world.dispatch().await;
    assert_eq!(told.take(), [], "by hand, and after 9 failures");
    let mut calls = Vec::new();
    for _ in 0..2 {
        fail(&world).await;
        let disabled_at = webhooks.get(id).await.unwrap().disabled.unwrap().0;
        let [call] = told.take()[..] else { panic!("one call") };
        let said = (call.company, call.webhook, call.reason, call.disabled_at);
        assert_eq!(said, (world.company.id(), id, DisabledReason::Failures, disabled_at));
        assert_eq!(world.count(NOTICES).await, 0);
        calls.push(call);
        world.advance(Duration::from_hours(1));
        world.dispatch().await;
        assert_eq!(told.take(), [], "it was told");
        webhooks.enable(id).await.unwrap();
    }
    assert_ne!(calls[0], calls[1], "they can be told apart");
}

/// A process died after the commit and before the call: here a node without a callback stands for it. The next process
/// makes the call, but not for webhooks that a version without notices has disabled.
///
/// Rules: WEBHOOK-29
#[on_each_database]
async fn a_crash_between_the_commit_and_the_call_loses_no_notice(db: Database) {
    let world = World::new(db).await;
    let (_receiver, id) = refused(&world).await;
    fail(&world).await;
    let (_older, _) = refused(&world).await;
    let disabled =
        "UPDATE webhook SET disabled_at = 1, disabled_reason = 'consecutive_failures' WHERE id <> $1";
    world.run(disabled, &[id.0.into()]).await;
    assert_eq!(world.count(NOTICES).await, 1);
    // The webhook was enabled since: the host is called all the same.
    world.company.webhooks().enable(id).await.unwrap();
    let told = Told::default();
    let world = world.reopen_with(|builder| told.by(builder)).await;
    world.dispatch().await;
    let webhooks: Vec<_> = told.take().iter().map(|call| call.webhook).collect();
    assert_eq!(webhooks, [id]);
    assert_eq!(world.count(NOTICES).await, 0);
}

/// Rules: WEBHOOK-29
#[on_each_database]
async fn a_crash_during_the_call_has_another_one_made_a_minute_later(db: Database) {
    let (begun, mut calls) = tokio::sync::mpsc::unbounded_channel();
    let world = World::new(db).await;
    let world = world
        .reopen_with(|builder| {
            builder.on_webhook_disabled(move |disabled| {
                begun.send(disabled).unwrap();
                std::future::pending()
            })
        })
        .await;
    let (_receiver, id) = refused(&world).await;
    emit(&world, 10).await;
    let dispatcher = world.invoicing.dispatcher();
    #[expect(clippy::disallowed_methods, reason = "the test ends it")]
    let running = tokio::spawn(async move { dispatcher.run(std::future::pending()).await });
    let call = calls.recv().await.unwrap();
    assert_eq!(call.webhook, id);
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    let told = Told::default();
    let world = world.reopen_with(|builder| told.by(builder)).await;
    world.dispatch().await;
    assert_eq!(told.take(), [], "it may be under way elsewhere");
    world.advance(Duration::from_mins(1));
    world.dispatch().await;
    assert_eq!(told.take(), [call]);
    assert_eq!(world.count(NOTICES).await, 0);
}

/// Rules: WEBHOOK-29
#[on_each_database]
async fn a_callback_that_fails_or_panics_is_called_again_a_minute_later(db: Database) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let callback = move |_: DisabledWebhook| -> BoxFuture<'static, Taken> {
        match counted.fetch_add(1, Ordering::Relaxed) {
            0 => Box::pin(async { Err("the mail server is away".into()) }),
            1 => panic!("a mistake of the host"),
            2 => Box::pin(async { panic!("a later mistake of the host") }),
            _ => Box::pin(async { Ok(()) }),
        }
    };
    let world = World::new(db).await.reopen_with(|builder| builder.on_webhook_disabled(callback)).await;
    let (receiver, _) = refused(&world).await;
    fail(&world).await;
    for expected in 1..5 {
        assert_eq!(calls.load(Ordering::Relaxed), expected);
        assert_eq!(world.count(NOTICES).await, i64::from(expected < 4));
        world.dispatch().await;
        assert_eq!(calls.load(Ordering::Relaxed), expected, "not at once");
        world.advance(Duration::from_mins(1));
        world.dispatch().await;
    }
    assert_eq!(calls.load(Ordering::Relaxed), 4);
    drop(receiver);
}

/// Rules: WEBHOOK-29
#[on_each_database]
async fn a_callback_that_takes_its_time_delays_no_delivery(db: Database) {
    let (begun, mut calls) = tokio::sync::mpsc::unbounded_channel();
    let gate = Arc::new(Semaphore::new(0));
    let closed = Arc::clone(&gate);
    let world = World::new(db).await;
    let world = world
        .reopen_with(|builder| {
            builder.on_webhook_disabled(move |disabled| {
                begun.send(disabled).unwrap();
                let closed = Arc::clone(&closed);
                async move {
                    drop(closed.acquire().await?);
                    Ok(())
                }
            })
        })
        .await;
    let (_receiver, id) = refused(&world).await;
    let (stop, stopped) = oneshot::channel::<()>();
    let dispatcher = world.invoicing.dispatcher();
    #[expect(clippy::disallowed_methods, reason = "the test waits for its end")]
    let running = tokio::spawn(async move { dispatcher.run(async { _ = stopped.await }).await });
    emit(&world, 10).await;
    assert_eq!(calls.recv().await.unwrap().webhook, id);
    let good = Receiver::start().await;
    hook(&world, &good.url).await;
    emit(&world, 20).await;
    assert!(good.wait_for(20, Duration::from_secs(10)).await, "deliveries wait for the callback");
    // A dispatcher that stops waits for the end of the call.
    stop.send(()).unwrap();
    gate.add_permits(1);
    running.await.unwrap().unwrap();
    assert_eq!(world.count(NOTICES).await, 0);
}

/// Rules: WEBHOOK-29
#[on_each_database]
async fn notices_that_no_host_asks_for_are_swept_after_30_days(db: Database) {
    let world = World::new(db).await;
    let (_receiver, _) = refused(&world).await;
    fail(&world).await;
    world.advance(Duration::from_hours(30 * 24));
    world.invoicing.sweep().await.unwrap();
    assert_eq!(world.count(NOTICES).await, 1);
    world.advance(Duration::from_millis(1));
    world.invoicing.sweep().await.unwrap();
    assert_eq!(world.count(NOTICES).await, 0);
}

/// Any node may disable the webhook; one of the nodes with a callback makes the call, once.
///
/// Rules: WEBHOOK-29
#[on_postgres]
async fn of_several_nodes_one_tells_its_host(db: Database) {
    let world = World::new(db).await;
    let told = [Told::default(), Told::default()];
    let nodes = [
        world.node_from(told[0].by(world.place().builder())).await,
        world.node_from(told[1].by(world.place().builder())).await,
    ];
    let mut hooks = Vec::new();
    for _ in 0..20 {
        hooks.push(refused(&world).await);
    }
    // The node without a callback disables the webhooks.
    fail(&world).await;
    assert_eq!(world.count(NOTICES).await, 20);
    let (first, second) = (nodes[0].dispatcher(), nodes[1].dispatcher());
    let (first, second) = tokio::join!(first.run_once(), second.run_once());
    first.and(second).unwrap();
    let mut called: Vec<_> = told.iter().flat_map(Told::take).map(|call| call.webhook).collect();
    called.sort_unstable();
    let mut expected: Vec<_> = hooks.iter().map(|(_, id)| *id).collect();
    expected.sort_unstable();
    assert_eq!(called, expected);
    assert_eq!(world.count(NOTICES).await, 0);

    // Both nodes run when one of them disables the webhook.
    let id = expected[0];
    world.company.webhooks().enable(id).await.unwrap();
    let runs = nodes.clone().map(|node| {
        let (stop, stopped) = oneshot::channel::<()>();
        let dispatcher = node.dispatcher();
        #[expect(clippy::disallowed_methods, reason = "the test waits for its end")]
        let running = tokio::spawn(async move { dispatcher.run(async { _ = stopped.await }).await });
        (stop, running)
    });
    emit(&world, 10).await;
    let told_of = async || {
        while told.iter().all(|told| told.0.lock().unwrap().is_empty()) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), told_of()).await.expect("a call");
    for (stop, run) in runs {
        stop.send(()).unwrap();
        run.await.unwrap().unwrap();
    }
    let called: Vec<_> = told.iter().flat_map(Told::take).map(|call| call.webhook).collect();
    assert_eq!(called, [id]);
    dispatch_to_the_end(&world).await;
}
