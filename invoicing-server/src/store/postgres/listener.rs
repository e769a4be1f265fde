//! What a node exchanges with the database beside its operations: notifications, and the time.
//!
//! Notifications: `NOTIFY` for what this node has committed, `LISTEN` for what others have.
//! Notifications are sent after the commit and in batches, as a transaction that notifies takes a lock that all others of
//! the server wait for. So they may be lost, and nothing may depend on them: the dispatcher polls every few seconds, and
//! caches of keys and webhooks expire as often.
//!
//! The time: leases, quotas and due times are instants that one node writes and another one reads. A node whose clock
//! is minutes ahead would take claims of other nodes for expired. So a node asks the database for the time and corrects
//! its own clock by the difference. A clock that does not follow the database (one that a test moves) is left alone.

use std::collections::HashSet;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sqlx::postgres::{PgListener, PgPoolOptions};
use tokio::sync::Notify;
use uuid::Uuid;

use super::{Shared, options};
use crate::store::connection::Connection;
use crate::store::notification::{Incoming, Notification};

const CHANNEL: &str = "invoicing";
const NOTIFY: &str = "SELECT pg_notify('invoicing', $1)";
/// Notifications in one message, which may have 8,000 bytes.
const BATCH: usize = 100;
/// How many may wait to be sent. Beyond that, one message tells that something was left out.
const MOST_WAITING: usize = 10_000;
/// Pause after a failure.
const PAUSE: Duration = Duration::from_secs(1);
/// After so long without a message the connection is opened anew: a dead peer sends nothing either.
const SILENCE: Duration = Duration::from_secs(30);

/// The time of the database in milliseconds.
const NOW: &str = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)";
/// How often the database is asked.
const CLOCK_INTERVAL: Duration = Duration::from_secs(1);
/// Smaller differences are the round trip to the server, in milliseconds.
const GRAIN_MS: i64 = 20;

/// Notifications that wait to be sent.
#[derive(Debug, Default)]
pub(super) struct Notifier {
    waiting: Mutex<HashSet<Notification>>,
    wake: Notify,
}

/// Payload of a `NOTIFY`.
#[derive(Debug, Serialize, Deserialize)]
struct Message {
    /// The node that sends it, which ignores it.
    from: Uuid,
    /// Empty where something was left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notifications: Vec<Notification>,
}

impl Notifier {
    pub(super) fn send(&self, notifications: Vec<Notification>) {
        if notifications.is_empty() {
            return;
        }
        let mut waiting = self.waiting.lock();
        if waiting.len() < MOST_WAITING {
            waiting.extend(notifications);
        }
        drop(waiting);
        self.wake.notify_one();
    }
}

/// Listens, sends, and corrects the clock.
pub(super) async fn work(shared: Arc<Shared>) {
    tokio::join!(listen(&shared), send(&shared), correct_clock(&shared));
}

async fn listen(shared: &Shared) {
    let settings = &shared.settings;
    let url = match &settings.listen_url {
        Some(url) => url,
        // There is no listening through a pooler.
        None if settings.transaction_pooling => return std::future::pending().await,
        None => &settings.url,
    };
    loop {
        let Err(error) = listen_at(shared, url).await;
        if !matches!(&error, sqlx::Error::Io(error) if error.kind() == io::ErrorKind::TimedOut) {
            tracing::warn!(%error, "listening for notifications failed");
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Listens until the connection fails.
async fn listen_at(shared: &Shared, url: &str) -> Result<Infallible, sqlx::Error> {
    let options = options(&shared.settings, url).map_err(|error| sqlx::Error::Configuration(error.into()))?;
    let pool = PgPoolOptions::new().max_connections(1).connect_lazy_with(options);
    let mut listener = PgListener::connect_with(&pool).await?;
    listener.listen(CHANNEL).await?;
    // Earlier notifications were missed.
    let mut notifications = Vec::new();
    loop {
        if let Some(on_incoming) = shared.context.on_incoming.get() {
            if notifications.is_empty() {
                on_incoming(Incoming::Gap);
            }
            notifications.into_iter().map(Incoming::Notification).for_each(on_incoming);
        }
        notifications = next(&mut listener, shared.node).await?;
    }
}

/// The next notifications of other nodes; none where some may have been missed.
async fn next(listener: &mut PgListener, node: Uuid) -> Result<Vec<Notification>, sqlx::Error> {
    loop {
        let Ok(received) = tokio::time::timeout(SILENCE, listener.try_recv()).await else {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "silence").into());
        };
        let Some(message) = received? else { return Ok(Vec::new()) };
        match serde_json::from_str::<Message>(message.payload()) {
            Ok(Message { from, .. }) if from == node => {}
            Ok(Message { notifications, .. }) => return Ok(notifications),
            // A newer version may send kinds that this one does not know.
            Err(_) => return Ok(Vec::new()),
        }
    }
}

async fn send(shared: &Shared) {
    loop {
        shared.notifier.wake.notified().await;
        send_waiting(shared).await;
    }
}

/// Sends what is waiting.
pub(super) async fn send_waiting(shared: &Shared) {
    let waiting = std::mem::take(&mut *shared.notifier.waiting.lock());
    let waiting: Vec<Notification> = waiting.into_iter().collect();
    let batches = if waiting.len() >= MOST_WAITING { vec![&[][..]] } else { waiting.chunks(BATCH).collect() };
    for notifications in batches {
        let message = Message { from: shared.node, notifications: notifications.to_vec() };
        let Ok(text) = serde_json::to_string(&message) else { continue };
        let sent = async {
            let mut connection = Connection::of(shared.session().await?);
            connection.query(NOTIFY, &[&text]).execute().await
        };
        if let Err(error) = sent.await {
            tracing::warn!(%error, "notifications were not sent; other nodes poll");
            // The next ones would fail as well, each after its own wait.
            return;
        }
    }
}

async fn correct_clock(shared: &Shared) {
    loop {
        tokio::time::sleep(CLOCK_INTERVAL).await;
        if let Err(error) = shared.correct_clock().await {
            tracing::warn!(%error, "clock synchronisation failed");
        }
    }
}

impl Shared {
    /// Asks the database for the time.
    pub(super) async fn correct_clock(&self) -> Result<(), sqlx::Error> {
        let mut connection = Connection::of(self.session().await?);
        let env = &self.context.env;
        let before = env.now().as_millis();
        let there: i64 = connection.query(NOW, &[]).scalar().await?;
        let after = env.now().as_millis();
        // The server answered between the two instants; a time between them needs no correction.
        let off = if there < before { there - before } else { (there - after).max(0) };
        // That of the machine, and not what is left of it after earlier corrections.
        env.metrics().clock_was_off(env.correction() + off);
        if off.abs() >= GRAIN_MS && env.correct(off) {
            tracing::info!(milliseconds = off, "clock corrected by the database's");
        }
        Ok(())
    }
}
