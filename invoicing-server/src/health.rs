//! The health of this process, for the probes of a load balancer or an orchestrator.

mod probes;
mod throttled;

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::time::timeout;

use crate::dispatch::{DispatchContext, DispatcherHealth};
use crate::documents::DocumentService;
use crate::http::HttpContext;
use crate::store::{DatabaseHealth, Store};
pub use probes::HealthService;
use throttled::Throttled;

/// Time limit of a check of the database. With [`throttled::VALID`] it bounds the age of a result.
const LIMIT: Duration = Duration::from_millis(800);

/// The state of the document store, as [`Invoicing::health`](crate::Invoicing::health) checks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum DocumentsHealth {
    /// It passes [`DocumentStore::check`](crate::DocumentStore::check).
    Reachable,
    /// Its folder is gone, or it did not answer within 0.8 s.
    Unreachable,
}

/// State of a service: see [`Invoicing::health`](crate::Invoicing::health).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Health {
    /// The database, as it answered less than 2 s ago.
    pub store: DatabaseHealth,
    /// The document store, as it answered less than 2 s ago.
    pub documents: DocumentsHealth,
    /// The dispatcher of this process, now.
    pub dispatcher: DispatcherHealth,
}

impl Health {
    /// True if the process can serve. It need not run a dispatcher, but one that was started must
    /// still run.
    pub fn is_ready(&self) -> bool {
        self.reasons().is_empty()
    }

    /// The reasons why it is not ready, in English.
    pub fn reasons(&self) -> Vec<&'static str> {
        let store = match self.store {
            DatabaseHealth::Reachable => None,
            DatabaseHealth::Unreachable => Some("the database does not answer"),
            DatabaseHealth::ReadOnly => Some("the database takes no changes"),
            DatabaseHealth::OldSchema => Some("the schema of the database is older than this version"),
        };
        let dispatcher = match self.dispatcher {
            DispatcherHealth::Running | DispatcherHealth::NotRun => None,
            DispatcherHealth::Stalled => Some("the dispatcher has not turned for 9 s"),
            DispatcherHealth::Ended => Some("the dispatcher has ended"),
        };
        let documents = match self.documents {
            DocumentsHealth::Reachable => None,
            DocumentsHealth::Unreachable => Some("the document store does not answer, or its folder is gone"),
        };
        store.into_iter().chain(documents).chain(dispatcher).collect()
    }
}

/// The parts of a service whose health is checked.
pub(crate) struct HealthContext {
    http: Arc<HttpContext>,
    store: Arc<Store>,
    dispatch: Arc<DispatchContext>,
    latest: Throttled<DatabaseHealth>,
    /// The state of the store that was logged last.
    logged: Arc<Mutex<DatabaseHealth>>,
    documents: Arc<DocumentService>,
    latest_documents: Throttled<DocumentsHealth>,
    logged_documents: Arc<Mutex<DocumentsHealth>>,
}

impl HealthContext {
    pub(crate) fn new(
        http: Arc<HttpContext>,
        store: Arc<Store>,
        documents: Arc<DocumentService>,
        dispatch: Arc<DispatchContext>,
    ) -> Self {
        Self {
            http,
            store,
            dispatch,
            latest: Throttled::default(),
            logged: Arc::new(Mutex::new(DatabaseHealth::Reachable)),
            documents,
            latest_documents: Throttled::default(),
            logged_documents: Arc::new(Mutex::new(DocumentsHealth::Reachable)),
        }
    }

    pub(crate) async fn health(&self) -> Health {
        let check = || check(Arc::clone(&self.store), Arc::clone(&self.logged));
        let check_documents =
            || check_documents(Arc::clone(&self.documents), Arc::clone(&self.logged_documents));
        let (store, documents) =
            tokio::join!(self.latest.get(check), self.latest_documents.get(check_documents));
        let store = store.unwrap_or(DatabaseHealth::Unreachable);
        let documents = documents.unwrap_or(DocumentsHealth::Unreachable);
        Health { store, documents, dispatcher: self.dispatch.heartbeat.health(Instant::now()) }
    }
}

/// Checks the database. Logs only changes of its state, as probes come every few seconds.
async fn check(store: Arc<Store>, logged: Arc<Mutex<DatabaseHealth>>) -> DatabaseHealth {
    let (health, error) = match timeout(LIMIT, store.check()).await {
        Ok(Ok(health)) => (health, None),
        Ok(Err(error)) => (DatabaseHealth::Unreachable, Some(error)),
        Err(_) => (DatabaseHealth::Unreachable, None),
    };
    let before = std::mem::replace(&mut *logged.lock(), health);
    if before != health {
        let store = <&str>::from(health);
        if health == DatabaseHealth::Reachable {
            tracing::info!("the database is ready again");
        } else {
            let error = error.as_ref().map(|error| error as &dyn std::error::Error);
            tracing::warn!(error, store, "the database is not ready");
        }
    }
    health
}

/// Checks the document store. Logs only changes of its state.
async fn check_documents(
    documents: Arc<DocumentService>,
    logged: Arc<Mutex<DocumentsHealth>>,
) -> DocumentsHealth {
    let (health, error) = match timeout(LIMIT, documents.check_store()).await {
        Ok(Ok(())) => (DocumentsHealth::Reachable, None),
        Ok(Err(error)) => (DocumentsHealth::Unreachable, Some(error)),
        Err(_) => (DocumentsHealth::Unreachable, None),
    };
    if std::mem::replace(&mut *logged.lock(), health) != health {
        if health == DocumentsHealth::Reachable {
            tracing::info!("the document store answers again");
        } else {
            let error = error.as_ref().map(|error| error as &dyn std::error::Error);
            tracing::warn!(error, "the document store does not answer, or its folder is gone");
        }
    }
    health
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_that_is_not_ready_has_a_reason() {
        let stores = [
            DatabaseHealth::Reachable,
            DatabaseHealth::Unreachable,
            DatabaseHealth::ReadOnly,
            DatabaseHealth::OldSchema,
        ];
        let dispatchers = [
            DispatcherHealth::Running,
            DispatcherHealth::NotRun,
            DispatcherHealth::Stalled,
            DispatcherHealth::Ended,
        ];
        for (s, store) in stores.into_iter().enumerate() {
            for (d, dispatcher) in dispatchers.into_iter().enumerate() {
                for documents in [DocumentsHealth::Reachable, DocumentsHealth::Unreachable] {
                    let health = Health { store, documents, dispatcher };
                    let is_gone = documents == DocumentsHealth::Unreachable;
                    let expected = usize::from(s > 0) + usize::from(d > 1) + usize::from(is_gone);
                    assert_eq!(health.reasons().len(), expected, "{health:?}");
                    assert_eq!(health.is_ready(), expected == 0, "{health:?}");
                }
            }
        }
    }
}
