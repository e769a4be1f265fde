//! The exchange of notifications and of the time between a node and the database.
//!
//! Notifications: `NOTIFY` for changes that this node has committed, `LISTEN` for those of the
//! others. Notifications are sent after the commit and in batches, as a transaction that notifies
//! takes a lock that all others of the server wait for. So they may be lost, and nothing may depend
//! on them: the dispatcher polls every few seconds, and caches of keys and webhooks expire as
//! often.
//!
//! The time: leases, quotas and due times are instants that one node writes and another one reads.
//! A node whose clock is minutes ahead would take claims of other nodes for expired. So a node
//! reads the time of the database and corrects its own clock by the difference. A clock that does
//! not follow the database (one that a test moves) is left alone.

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
/// Maximum number of notifications that wait to be sent. Beyond that, one message reports that some
/// were left out.
const MAX_WAITING: usize = 10_000;
/// Pause after a failure.
const PAUSE: Duration = Duration::from_secs(1);
/// Time without a message after which the connection is opened anew: a dead peer sends nothing
/// either.
const SILENCE: Duration = Duration::from_secs(30);

/// The time of the database in milliseconds.
const NOW: &str = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)";
/// Interval between two readings of the database's time.
const CLOCK_INTERVAL: Duration = Duration::from_secs(1);
/// Smallest difference of the clocks that is corrected, in milliseconds. A smaller one may be the
/// round trip to the server.
const MIN_CORRECTION_MS: i64 = 20;

/// Notifications that wait to be sent.
#[derive(Debug, Default)]
pub(super) struct Notifier {
    waiting: Mutex<HashSet<Notification>>,
    wake: Notify,
}

/// Payload of a `NOTIFY`.
#[derive(Debug, Serialize, Deserialize)]
struct Message {
    /// The node that sends the message and that ignores it on its return.
    from: Uuid,
    /// Empty if notifications were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notifications: Vec<Notification>,
}

impl Notifier {
    pub(super) fn send(&self, notifications: Vec<Notification>) {
        if notifications.is_empty() {
            return;
        }
        let mut waiting = self.waiting.lock();
        if waiting.len() < MAX_WAITING {
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
        // A pooler passes no notifications on.
        None if settings.transaction_pooling => return std::future::pending().await,
        None => &settings.url,
    };
    loop {
        let Err(error) = listen_at(shared, url).await;
        if !matches!(&error, sqlx::Error::Io(error) if error.kind() == io::ErrorKind::TimedOut) {
            tracing::warn!(%error, "connection for notifications failed; it is opened again, and polls continue");
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
    // Earlier notifications were missed, so the first list is empty and reports a gap.
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

/// The next notifications of other nodes; none if some may have been missed.
async fn next(listener: &mut PgListener, node: Uuid) -> Result<Vec<Notification>, sqlx::Error> {
    loop {
        let Ok(received) = tokio::time::timeout(SILENCE, listener.try_recv()).await else {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "silence").into());
        };
        let Some(message) = received? else { return Ok(Vec::new()) };
        match serde_json::from_str::<Message>(message.payload()) {
            Ok(Message { from, .. }) if from == node => {}
            Ok(Message { notifications, .. }) => return Ok(notifications),
            // A newer version may send kinds that this version lacks, so they count as a gap.
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

/// Sends the waiting notifications.
pub(super) async fn send_waiting(shared: &Shared) {
    let waiting = std::mem::take(&mut *shared.notifier.waiting.lock());
    let waiting: Vec<Notification> = waiting.into_iter().collect();
    // An empty list reports a gap.
    let batches = if waiting.len() >= MAX_WAITING { vec![&[][..]] } else { waiting.chunks(BATCH).collect() };
    for notifications in batches {
        let message = Message { from: shared.node, notifications: notifications.to_vec() };
        let Ok(text) = serde_json::to_string(&message) else { continue };
        let sent = async {
            let mut connection = Connection::of(shared.session().await?);
            connection.query(NOTIFY, &[&text]).execute().await
        };
        if let Err(error) = sent.await {
            tracing::warn!(%error, "notifications not sent; other nodes wait for their next poll");
            // The next batches would fail as well, each after a wait.
            return;
        }
    }
}

async fn correct_clock(shared: &Shared) {
    loop {
        tokio::time::sleep(CLOCK_INTERVAL).await;
        if let Err(error) = shared.correct_clock().await {
            tracing::warn!(%error, "clock of the database not read; the last correction stays in effect");
        }
    }
}

impl Shared {
    /// Reads the time of the database, and corrects the clock by the difference.
    pub(super) async fn correct_clock(&self) -> Result<(), sqlx::Error> {
        let mut connection = Connection::of(self.session().await?);
        let env = &self.context.env;
        let before = env.now().as_millis();
        let there: i64 = connection.query(NOW, &[]).scalar().await?;
        let after = env.now().as_millis();
        // The server answered between the two instants; a time between them needs no correction.
        let off = if there < before { there - before } else { (there - after).max(0) };
        // The metric shows the difference of the machine's clock, not the rest after earlier
        // corrections.
        env.metrics().clock_was_off(env.correction() + off);
        if off.abs() >= MIN_CORRECTION_MS && env.correct(off) {
            tracing::info!(milliseconds = off, "clock corrected to the time of the database");
        }
        Ok(())
    }
}
