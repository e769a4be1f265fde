//! Look-ups of keys that are not in memory.
//!
//! One task reads, with one statement, all keys that were asked for while its previous statement ran. So any number of
//! unknown keys occupies one connection, and a valid key waits for two reads at most.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use crate::Error;
use crate::store::keys::ActiveKeyRow;
use crate::store::{ServiceTables, Store};

/// Most look-ups that wait. Each keeps the head of its request in memory.
const WAITING: usize = 1_024;

/// Sends look-ups to the task that reads.
pub(crate) struct KeyLookup(mpsc::Sender<Request>);

/// A key that a caller waits for.
struct Request {
    hash: [u8; 32],
    reply: oneshot::Sender<Result<Option<ActiveKeyRow>, Error>>,
}

impl KeyLookup {
    /// Starts the task.
    #[expect(clippy::disallowed_methods, reason = "the task ends with its queue, which the service owns")]
    pub(crate) fn start(store: Arc<Store>) -> Self {
        let (sender, requests) = mpsc::channel(WAITING);
        tokio::spawn(work(store, requests));
        Self(sender)
    }

    /// The key of this hash, as it is after the call; `None` where there is none or it is revoked.
    ///
    /// # Errors
    /// `Overloaded` where too many look-ups wait.
    pub(super) async fn find(&self, hash: [u8; 32]) -> Result<Option<ActiveKeyRow>, Error> {
        let (reply, answer) = oneshot::channel();
        self.0.try_send(Request { hash, reply }).map_err(|_| Error::Overloaded)?;
        answer.await.map_err(Error::internal)?
    }
}

async fn work(store: Arc<Store>, mut requests: mpsc::Receiver<Request>) {
    let mut batch = Vec::new();
    // All that wait are one batch: in smaller ones the retries of a database that is down would add up.
    while requests.recv_many(&mut batch, WAITING).await > 0 {
        // A caller that has gone away needs no key.
        batch.retain(|request| !request.reply.is_closed());
        answer(&store, std::mem::take(&mut batch)).await;
    }
}

async fn answer(store: &Store, batch: Vec<Request>) {
    if batch.is_empty() {
        return;
    }
    let hashes: Vec<_> = batch.iter().map(|request| request.hash).collect();
    match store.read_service(async move |tx| tx.keys().find_by_hashes(&hashes).await).await {
        Ok(rows) => {
            let found: HashMap<_, _> = rows.iter().map(|row| (row.hash(), row)).collect();
            for Request { hash, reply } in batch {
                let _ = reply.send(Ok(found.get(&hash[..]).copied().cloned()));
            }
        }
        Err(error) => {
            tracing::warn!(error = &error as &dyn std::error::Error, "key look-up failed");
            for Request { reply, .. } in batch {
                let _ = reply.send(Err(failure(&error)));
            }
        }
    }
}

/// The error of a batch as each of its callers gets it.
fn failure(error: &Error) -> Error {
    const FAILED: &str = "a key look-up failed";
    if matches!(error, Error::Internal(_)) { Error::internal(FAILED) } else { Error::unavailable(FAILED) }
}
