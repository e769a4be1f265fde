//! News between nodes: `NOTIFY` for what this node has committed, `LISTEN` for what others have.
//!
//! News are sent after the commit and together, not within it: a transaction that notifies takes a lock that all others
//! of the server wait for. So they may be lost, and nothing may depend on them; the dispatcher looks at the table every
//! few seconds, and what is remembered of keys and webhooks is forgotten as often.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sqlx::postgres::{PgListener, PgPoolOptions};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::super::connection::{Connection, on, run};
use super::super::news::News;
use super::contact::BEAT;
use super::{Shared, options};

const CHANNEL: &str = "invoicing";
const NOTIFY: &str = "SELECT pg_notify('invoicing', $1)";
/// News in one notification, which may have 8,000 bytes.
const TOGETHER: usize = 100;
/// How many are kept for sending; with more, everything is said to have changed.
const KEPT: usize = 10_000;
/// How long to wait after trouble.
const PAUSE: Duration = Duration::from_secs(1);

/// How long nothing is heard before the connection is made anew.
const SILENCE: Duration = Duration::from_secs(30);

/// What a node hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Somebody else has committed something.
    News(Vec<News>),
    /// Something may have been missed.
    Gap,
}

/// Who hears it. `false` where nobody does any more.
pub(crate) type Hears = Box<dyn Fn(Heard) -> bool + Send + Sync>;

/// News that wait to be sent.
#[derive(Debug, Default)]
pub(super) struct Announcer {
    waiting: Mutex<HashSet<News>>,
    wake: Notify,
}

/// A notification.
#[derive(Debug, Serialize, Deserialize)]
struct Message {
    /// Which node sends it: it knows already.
    from: Uuid,
    /// Nothing in particular: something was left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    news: Vec<News>,
}

impl Announcer {
    pub(super) fn tell(&self, news: Vec<News>) {
        if news.is_empty() {
            return;
        }
        let mut waiting = self.waiting.lock();
        if waiting.len() < KEPT {
            waiting.extend(news);
        }
        drop(waiting);
        self.wake.notify_one();
    }

    fn take(&self) -> HashSet<News> {
        std::mem::take(&mut *self.waiting.lock())
    }
}

/// The task that listens and sends, and keeps in touch with the database.
pub(super) struct Listening {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Listening {
    #[expect(clippy::disallowed_methods, reason = "the task ends with the database, and `end` waits for it")]
    pub(super) fn start(shared: Arc<Shared>, hears: Hears) -> Self {
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(work(shared, hears, stopped));
        Self { stop, task }
    }

    pub(super) async fn end(self) {
        self.stop.send_replace(true);
        if let Err(error) = self.task.await {
            tracing::error!(%error, "listening ended badly");
        }
    }
}

async fn work(shared: Arc<Shared>, hears: Hears, mut stopped: watch::Receiver<bool>) {
    let node = shared.node;
    let stop = async move {
        // Also where the sender is gone.
        let _ = stopped.wait_for(|stopped| *stopped).await;
    };
    tokio::select! {
        () = stop => {}
        () = hear(&shared, node, &hears) => {}
        () = send(&shared, node) => {}
        () = correct(&shared) => {}
    }
    // What was committed last is still said.
    send_waiting(&shared, node).await;
}

/// Ends where nobody hears any more.
async fn hear(shared: &Shared, node: Uuid, hears: &Hears) {
    let settings = &shared.settings;
    let url = match &settings.listen_url {
        Some(url) => url,
        // There is no listening through a pooler.
        None if settings.transaction_pooling => return std::future::pending().await,
        None => &settings.url,
    };
    loop {
        match hear_on(shared, url, node, hears).await {
            Ok(()) => return,
            Err(sqlx::Error::Io(error)) if error.kind() == io::ErrorKind::TimedOut => {}
            Err(error) => {
                tracing::warn!(%error, "news of other nodes cannot be heard at present");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

async fn hear_on(shared: &Shared, url: &str, node: Uuid, hears: &Hears) -> Result<(), sqlx::Error> {
    let options = options(&shared.settings, url).map_err(|error| sqlx::Error::Configuration(error.into()))?;
    let pool = PgPoolOptions::new().max_connections(1).connect_lazy_with(options);
    let mut listener = PgListener::connect_with(&pool).await?;
    listener.listen(CHANNEL).await?;
    // Whatever was said before is not heard.
    let mut message = Heard::Gap;
    loop {
        if !hears(message) {
            return Ok(());
        }
        message = loop {
            // Whose peer is gone hears nothing either: after a silence the connection is made anew.
            let Ok(received) = tokio::time::timeout(SILENCE, listener.try_recv()).await else {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "silence").into());
            };
            let Some(notification) = received? else { break Heard::Gap };
            match serde_json::from_str::<Message>(notification.payload()) {
                Ok(Message { from, .. }) if from == node => {}
                Ok(Message { news, .. }) if news.is_empty() => break Heard::Gap,
                Ok(Message { news, .. }) => break Heard::News(news),
                // A newer version may say more than this one knows.
                Err(_) => break Heard::Gap,
            }
        };
    }
}

async fn send(shared: &Shared, node: Uuid) {
    loop {
        shared.announcer.wake.notified().await;
        send_waiting(shared, node).await;
    }
}

async fn send_waiting(shared: &Shared, node: Uuid) {
    let waiting: Vec<News> = shared.announcer.take().into_iter().collect();
    let chunks = if waiting.len() >= KEPT { vec![&[][..]] } else { waiting.chunks(TOGETHER).collect() };
    for news in chunks {
        let message = Message { from: node, news: news.to_vec() };
        let Ok(text) = serde_json::to_string(&message) else { continue };
        let sent = async {
            let mut connection = Connection::Postgres(shared.session().await?);
            run!(&mut connection, |c| sqlx::query(NOTIFY).bind(&text).execute(c))
        };
        if let Err(error) = sent.await {
            tracing::warn!(%error, "other nodes were not told; they find out by themselves");
        }
    }
}

async fn correct(shared: &Shared) {
    loop {
        tokio::time::sleep(BEAT).await;
        if let Err(error) = shared.correct_clock().await {
            tracing::warn!(%error, "the database was not asked for the time");
        }
    }
}
