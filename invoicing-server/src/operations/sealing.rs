//! Sealing what is stored: taking keys into use, sealing again with a new one, and what is still sealed with an old one.

use std::sync::Arc;

use invoicing_core::Conflict;
use uuid::Uuid;

use crate::Error;
use crate::invoicing::Inner;
use crate::sealing::{Sealer, SealingError, SealingKeys};
use crate::store::sealed::{SealedWith, reseal_webhooks};
use crate::store::{Store, Tx, reading, settings};

/// Secrets that are sealed again in one transaction: other writers wait for no more.
const BATCH: u32 = 200;

/// What [`Invoicing::reseal`](crate::Invoicing::reseal) did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ResealReport {
    /// Secrets that are sealed with the current key now and were not before.
    pub resealed: u64,
    /// Secrets that could not be read and stayed as they are. Each was logged with its row; a webhook's is repaired by
    /// rotating it.
    pub unreadable: u64,
    /// Whether the write-ahead log was cut, so that the database's files hold no earlier form of the secrets. If not,
    /// somebody was reading for long; the next call tries again. Backups keep what they hold. Never so on PostgreSQL,
    /// where earlier forms go with `VACUUM` and with the retention of the server's own log.
    pub log_cut: bool,
}

/// Takes keys into use, if they are those that the database needs. Without keys: if it needs none. `then` is called as
/// soon as they are in use, whoever still waits for it.
pub(crate) async fn adopt(
    store: &Store,
    sealer: &Arc<Sealer>,
    keys: Option<SealingKeys>,
    then: impl FnOnce() + Clone + Send + 'static,
) -> Result<(), SealingError> {
    if let Some(id) = keys.as_ref().and_then(SealingKeys::repeated_id) {
        return Err(SealingError::SameId(id.to_owned()));
    }
    if keys.is_none() {
        tracing::warn!(
            "no sealing key is given: the secrets of webhooks and the key of document URLs are stored in clear"
        );
    }
    let sealer = Arc::clone(sealer);
    let adopted = store.write(move |tx| Box::pin(adopt_in(tx, sealer, keys.map(Arc::new), then)));
    adopted.await.map_err(SealingError::Store)?
}

/// Within the transaction, as secrets are sealed within one too: none can be sealed with a key that is just given up.
async fn adopt_in(
    tx: &mut Tx,
    sealer: Arc<Sealer>,
    keys: Option<Arc<SealingKeys>>,
    then: impl FnOnce() + Clone + Send + 'static,
) -> Result<Result<(), SealingError>, Error> {
    tx.lock_service().await?;
    let knows = |id: &str| keys.as_ref().is_some_and(|keys| keys.find(id).is_some() || keys.is_lost(id));
    let mut missing = SealedWith::read(tx.connection()).await?.keys;
    // What operations of the same commit have sealed with it may not be on disk yet.
    missing.extend(sealer.keys().map(|now| (now.current().id().to_owned(), 0)));
    missing.retain(|id, _| !knows(id));
    if !missing.is_empty() {
        return Ok(Err(SealingError::Missing(missing.into_keys().collect())));
    }
    let Some(keys) = keys else { return Ok(Ok(())) };
    let trial = Sealer::new(tx.env().clone());
    trial.set_keys(Arc::clone(&keys));
    for key in keys.all() {
        match settings::check_key(tx.connection(), &trial, key.id()).await? {
            Some(false) => return Ok(Err(SealingError::WrongKey(key.id().to_owned()))),
            None if key.id() == keys.current().id() => {
                settings::remember_key(tx.connection(), &trial, key.id()).await?;
            }
            Some(true) | None => {}
        }
    }
    // Not before the keys are known to the database for good. Until then the present one is used, which is among them.
    tx.on_commit(move || {
        sealer.set_keys(keys);
        then();
    });
    Ok(Ok(()))
}

impl Inner {
    /// See [`Invoicing::use_sealing_keys`](crate::Invoicing::use_sealing_keys).
    pub(crate) async fn use_sealing_keys(&self, keys: SealingKeys) -> Result<(), SealingError> {
        let endpoints = Arc::clone(&self.endpoints);
        adopt(&self.store, &self.sealer, Some(keys), move || endpoints.forget_all()).await
    }

    /// See [`Invoicing::sealed_with`](crate::Invoicing::sealed_with).
    pub(crate) async fn sealed_with(&self) -> Result<SealedWith, Error> {
        reading!(self.store, |c| SealedWith::read(c))
    }

    /// See [`Invoicing::reseal`](crate::Invoicing::reseal).
    pub(crate) async fn reseal(&self) -> Result<ResealReport, Error> {
        let mut report = ResealReport::default();
        let sealer = Arc::clone(&self.sealer);
        let url_key = self.store.write(move |tx| {
            Box::pin(async move {
                tx.lock_service().await?;
                let current = current_id(&sealer)?;
                settings::reseal(tx.connection(), &sealer, &current, settings::DOCUMENT_URL_KEY).await
            })
        });
        match url_key.await? {
            Some(resealed) => report.resealed += u64::from(resealed),
            None => report.unreadable += 1,
        }
        let mut after = Some(Uuid::nil());
        while let Some(from) = after {
            let sealer = Arc::clone(&self.sealer);
            let batch = self.store.write(move |tx| {
                Box::pin(async move {
                    let current = current_id(&sealer)?;
                    reseal_webhooks(tx.connection(), &sealer, &current, from, BATCH).await
                })
            });
            let batch = batch.await?;
            report.resealed += batch.resealed;
            report.unreadable += batch.unreadable;
            after = batch.last;
        }
        let sealer = Arc::clone(&self.sealer);
        self.store.write(move |tx| Box::pin(forget_unused(tx, sealer))).await?;
        report.log_cut = self.store.cut_log().await?;
        Ok(report)
    }
}

async fn forget_unused(tx: &mut Tx, sealer: Arc<Sealer>) -> Result<(), Error> {
    tx.lock_service().await?;
    let (used, current) = (SealedWith::read(tx.connection()).await?.keys, current_id(&sealer)?);
    settings::forget_keys(tx.connection(), |id| id == current || used.contains_key(id)).await
}

/// The key to seal with, as it is in this transaction.
fn current_id(sealer: &Sealer) -> Result<String, Error> {
    let keys = sealer.keys().ok_or_else(|| Conflict::new("no sealing key is given"))?;
    Ok(keys.current().id().to_owned())
}
