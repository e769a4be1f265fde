//! Which keys the stored secrets are sealed with, and sealing those of webhooks again.

use std::collections::BTreeMap;

use invoicing_core::{CompanyId, WebhookId};
use uuid::Uuid;
use zeroize::Zeroizing;

use super::connection::{Connection, Sql, locked, on, run};
use super::lists::{Texts, Uuids};
use super::settings;
use crate::Error;
use crate::sealing::{AssociatedData, Sealer, is_id};

const WEBHOOKS: &str =
    "SELECT sealed_with, count(*) FROM webhook WHERE removed_at IS NULL GROUP BY sealed_with";
const NOT_SEALED_WITH: Sql = locked!(
    "SELECT company_id, id, secret FROM webhook \
     WHERE id > $1 AND removed_at IS NULL AND sealed_with IS DISTINCT FROM $2 ORDER BY id LIMIT $3"
);
/// A secret each: `$1` companies, `$2` webhooks, `$3` secrets.
const SET_SECRETS: Sql = Sql {
    sqlite: "UPDATE webhook SET secret = s.value FROM json_each($3) s JOIN json_each($1) c ON c.key = s.key \
         JOIN json_each($2) w ON w.key = s.key WHERE webhook.company_id = unhex(c.value) AND webhook.id = unhex(w.value)",
    postgres: "UPDATE webhook SET secret = item.secret FROM unnest($1::uuid[], $2::uuid[], $3::text[]) \
         AS item(company, id, secret) WHERE webhook.company_id = item.company AND webhook.id = item.id",
};

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
    pub(crate) async fn read(connection: &mut Connection) -> Result<Self, Error> {
        let mut all = Self::default();
        let webhooks: Vec<(Option<String>, i64)> =
            on!(connection, |c| sqlx::query_as(WEBHOOKS).fetch_all(c))?;
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

/// Seals secrets of webhooks with the current key that are not, in the order of the webhooks' ids, behind one of them.
pub(crate) async fn reseal_webhooks(
    connection: &mut Connection,
    sealer: &Sealer,
    current: &str,
    after: Uuid,
    limit: u32,
) -> Result<Batch, Error> {
    let rows: Vec<(Uuid, Uuid, String)> =
        on!(connection, |c, dialect| sqlx::query_as(NOT_SEALED_WITH.of(dialect))
            .bind(after)
            .bind(current)
            .bind(i64::from(limit))
            .fetch_all(c))?;
    let last = rows.last().map(|(_, id, _)| *id);
    let count = rows.len() as u64;
    let (mut companies, mut ids, mut secrets) = (Vec::new(), Vec::new(), Vec::new());
    for (company, id, stored) in rows {
        let place = AssociatedData::webhook_secret(CompanyId(company), WebhookId(id));
        if let Some(secret) = reseal(sealer, &place, &Zeroizing::new(stored)) {
            companies.push(company);
            ids.push(id);
            secrets.push(Some(secret));
        }
    }
    let resealed = secrets.len() as u64;
    let (companies, ids, secrets) = (Uuids(companies), Uuids(ids), Texts(secrets));
    let done = run!(connection, |c, dialect| sqlx::query(SET_SECRETS.of(dialect))
        .bind(companies)
        .bind(ids)
        .bind(secrets)
        .execute(c))?;
    if done != resealed {
        return Err(Error::internal("table webhook: sealing secrets changed another number of rows"));
    }
    Ok(Batch { resealed, unreadable: count - resealed, last })
}

/// The same secret, sealed with the current key. `None` where it cannot be read, which is logged.
fn reseal(sealer: &Sealer, place: &AssociatedData, stored: &str) -> Option<String> {
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
