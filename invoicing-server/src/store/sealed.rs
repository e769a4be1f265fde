//! Which keys the stored secrets are sealed with, and sealing those of webhooks again.

use std::collections::BTreeMap;

use invoicing_core::{CompanyId, WebhookId};
use serde::Serialize;
use sqlx::SqliteConnection;
use uuid::Uuid;
use zeroize::Zeroizing;

use super::rows::to_json;
use super::settings;
use crate::Error;
use crate::sealing::{Place, Sealer, is_id};

const WEBHOOKS: &str =
    "SELECT sealed_with, count(*) FROM webhook WHERE removed_at IS NULL GROUP BY sealed_with";
const NOT_SEALED_WITH: &str = "SELECT company_id, id, secret FROM webhook \
     WHERE id > $1 AND removed_at IS NULL AND sealed_with IS DISTINCT FROM $2 ORDER BY id LIMIT $3";
const SET_SECRETS: &str = "UPDATE webhook SET secret = item.value ->> 'secret' FROM json_each($1) AS item \
     WHERE webhook.company_id = unhex(item.value ->> 'company') AND webhook.id = unhex(item.value ->> 'id')";

/// How many stored secrets are sealed with which key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SealedWith {
    /// Stored in clear: written while no key was given.
    pub clear: u64,
    /// By the id of the key. A key that is not named here is not needed any more.
    pub keys: BTreeMap<String, u64>,
    /// So badly damaged that not even the key is known. Webhooks whose secret is damaged are repaired by rotating it.
    pub damaged: u64,
}

impl SealedWith {
    pub(crate) async fn read(connection: &mut SqliteConnection) -> Result<Self, Error> {
        let mut all = Self::default();
        let webhooks: Vec<(Option<String>, i64)> =
            sqlx::query_as(WEBHOOKS).fetch_all(&mut *connection).await?;
        for (key, count) in webhooks {
            all.add(key, u64::try_from(count).unwrap_or(0));
        }
        if let Some(key) = settings::sealed_with(connection).await? {
            all.add(key, 1);
        }
        Ok(all)
    }

    fn add(&mut self, key: Option<String>, count: u64) {
        match key {
            None => self.clear += count,
            Some(id) if is_id(&id) => *self.keys.entry(id).or_default() += count,
            Some(_) => self.damaged += count,
        }
    }
}

/// What became of a batch of secrets.
pub(crate) struct Batch {
    pub(crate) resealed: u64,
    /// They do not open; each was logged.
    pub(crate) unreadable: u64,
    /// Behind which webhook the next batch begins; `None` behind the last one.
    pub(crate) last: Option<Uuid>,
}

/// A secret as [`SET_SECRETS`] takes it.
#[derive(Serialize)]
struct Item {
    company: uuid::fmt::Simple,
    id: uuid::fmt::Simple,
    secret: String,
}

/// Seals secrets of webhooks with the current key that are not, in the order of the webhooks' ids, behind one of them.
pub(crate) async fn reseal_webhooks(
    connection: &mut SqliteConnection,
    sealer: &Sealer,
    current: &str,
    after: Uuid,
    limit: u32,
) -> Result<Batch, Error> {
    let select = sqlx::query_as(NOT_SEALED_WITH).bind(after).bind(current).bind(limit);
    let rows: Vec<(Uuid, Uuid, String)> = select.fetch_all(&mut *connection).await?;
    let last = rows.last().map(|(_, id, _)| *id);
    let (count, mut items) = (rows.len() as u64, Vec::with_capacity(rows.len()));
    for (company, id, stored) in rows {
        let place = Place::webhook_secret(CompanyId(company), WebhookId(id));
        items.extend(reseal(sealer, &place, &Zeroizing::new(stored)).map(|secret| Item {
            company: company.simple(),
            id: id.simple(),
            secret,
        }));
    }
    let done = sqlx::query(SET_SECRETS).bind(to_json(&items)?).execute(connection).await?;
    let resealed = items.len() as u64;
    if done.rows_affected() != resealed {
        return Err(Error::internal("table webhook: sealing secrets changed another number of rows"));
    }
    Ok(Batch { resealed, unreadable: count - resealed, last })
}

/// The same secret, sealed with the current key. `None` where it cannot be read, which is logged.
fn reseal(sealer: &Sealer, place: &Place, stored: &str) -> Option<String> {
    match sealer.open_text(place, stored) {
        Ok(clear) => sealer.seal(place, clear.as_bytes()),
        Err(cause) => {
            let error = place.bad_row(cause);
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "a webhook's secret was not sealed again; rotate it"
            );
            None
        }
    }
}
