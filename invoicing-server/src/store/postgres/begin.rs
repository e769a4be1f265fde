//! The beginning of a transaction: one call, which also locks the companies and reads their
//! settings, last stamps, webhooks, numbers and prefetched records.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Display;
use std::sync::Arc;

use invoicing_core::CompanyId;
use sqlx::postgres::PgRow;
use sqlx::{FromRow as _, Row as _};
use uuid::Uuid;

use super::{BEGIN, Shared};
use crate::env::Env;
use crate::error::Error;
use crate::store::call::Group;
use crate::store::change::ChangeContext;
use crate::store::companies::StoredCompany;
use crate::store::connection::Connection;
use crate::store::connection::postgres::{Prefetched, Session};
use crate::store::connection::prefetch::Prefetch;
use crate::store::group_commit::Failure;
use crate::store::subscriber::Subscriber;
use crate::store::tx::{BLOCK, Tx};
use crate::store::webhooks::SubscriberRow;
use crate::store::write_cache::{LastNumber, WriteCache};

/// Longest wait of a transaction of several companies for a row that another one has locked. Short,
/// as its other companies wait with it.
const SHORT_WAIT: &str = "; SET LOCAL lock_timeout = '100ms'";

/// The treatment of a company that another transaction has locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LockMode {
    /// Waits for the lock. The transaction has one company or none.
    Waited,
    /// Leaves the company out.
    Free,
}

/// An open transaction.
pub(super) struct Open {
    pub(super) tx: Tx,
    /// Its row in `commit_status`.
    pub(super) id: Uuid,
}

impl Open {
    /// True if the transaction has locked the company: then it is in the cache.
    pub(super) fn has_locked(&mut self, company: Option<CompanyId>) -> bool {
        let now = self.tx.env().now();
        let cache = self.tx.connection().write_cache();
        company.zip(cache).is_some_and(|(company, cache)| cache.change(company, now).is_some())
    }

    /// Rolls back explicitly, so that the connection can be used again.
    pub(super) async fn roll_back(&mut self) {
        if let Err(error) = self.tx.connection().end_transaction().await {
            tracing::debug!(%error, "rollback failed; the end of the connection rolls back");
        }
    }

    /// The session after the end of the transaction, if another one can begin on it.
    pub(super) fn into_session(self) -> Option<Session> {
        match self.tx.into_connection() {
            Connection::Postgres(session, _) => Some(session).filter(Session::is_free),
            Connection::SqliteWriter(..) | Connection::SqliteReader(_) => None,
        }
    }
}

/// The companies that a transaction locks as it begins, and the records that it prefetches.
pub(super) struct PrefetchPlan {
    companies: BTreeSet<CompanyId>,
    records: BTreeSet<(CompanyId, Prefetch)>,
}

impl PrefetchPlan {
    /// The companies and records of calls.
    pub(super) fn of(calls: &Group) -> Self {
        let companies = calls.iter().filter_map(|call| call.company()).collect();
        let of_each = calls.iter().filter_map(|call| Some((call.company()?, call.prefetches())));
        let records = of_each.flat_map(|(company, all)| all.iter().map(move |record| (company, *record)));
        Self { companies, records: records.collect() }
    }

    /// The arguments of `begin_change_1` from the companies on. The ids and names are the service's
    /// own, so they need no escaping.
    fn arguments(&self, locks: LockMode) -> String {
        let (companies, owners) =
            (array(&self.companies), array(self.records.iter().map(|(owner, _)| owner)));
        let (parts, ids): (Vec<_>, Vec<_>) = self.records.iter().map(|(_, record)| record.part()).unzip();
        let (skip_locked, parts, ids) = (locks == LockMode::Free, array(parts), array(ids));
        format!("'{companies}', {skip_locked}, '{parts}', '{owners}', '{ids}'")
    }
}

/// An array as a text.
fn array<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<_> = items.into_iter().map(|item| item.to_string()).collect();
    format!("{{{}}}", items.join(","))
}

/// Begins a transaction.
pub(super) async fn begin(
    shared: &Shared,
    mut session: Session,
    locks: LockMode,
    needs: &PrefetchPlan,
) -> Result<Open, Failure> {
    let env = &shared.context.env;
    let (id, now) = (env.uuid(), env.now().as_millis());
    let limits = shared.limits_behind_pooler();
    let lock_timeout = if locks == LockMode::Free { SHORT_WAIT } else { "" };
    let arguments = needs.arguments(locks);
    let begin =
        format!("{BEGIN}{limits}{lock_timeout}; SELECT * FROM begin_change_1('{id}', {now}, {arguments})");
    let rows = match session.begin(begin).await {
        Ok(rows) => rows,
        Err(error) => {
            // Keeps the connection if the server has answered.
            let _ = session.roll_back().await;
            return Err(error.into());
        }
    };
    let Parts { block, companies, webhooks, numbers, records } = Parts::of(rows)?;
    session.keep_prefetched(records);
    let mut cache = WriteCache::default();
    for (company, row) in companies {
        let (webhooks, numbers) = (of_company(&webhooks, company), of_company(&numbers, company));
        // On a decode error the operation reads the row itself and reports the error.
        let _ = remember(&mut cache, company, &row, webhooks, numbers, env);
    }
    let connection = Connection::Postgres(session, cache);
    Ok(Open { tx: Tx::new(connection, Arc::clone(&shared.context), block..block + BLOCK), id })
}

type OfCompanies = HashMap<CompanyId, Vec<PgRow>>;

fn of_company(rows: &OfCompanies, company: CompanyId) -> &[PgRow] {
    rows.get(&company).map_or(&[], Vec::as_slice)
}

/// The rows of `begin_change_1`, by part.
#[derive(Default)]
struct Parts {
    /// The first of a block of row ids for deliveries.
    block: i64,
    /// The companies that are locked.
    companies: HashMap<CompanyId, PgRow>,
    webhooks: OfCompanies,
    numbers: OfCompanies,
    records: Prefetched,
}

impl Parts {
    fn of(rows: Vec<PgRow>) -> Result<Self, sqlx::Error> {
        let mut parts = Self::default();
        for row in rows {
            let part: String = row.try_get("part")?;
            if part == "block" {
                parts.block = row.try_get("last")?;
                continue;
            }
            let company = CompanyId(row.try_get("company_id")?);
            match &*part {
                "company" => drop(parts.companies.insert(company, row)),
                "webhook" => parts.webhooks.entry(company).or_default().push(row),
                "series" => parts.numbers.entry(company).or_default().push(row),
                _ => drop(parts.records.insert((part, company, row.try_get("id")?), row)),
            }
        }
        Ok(parts)
    }
}

/// Caches a locked company, its webhooks and its numbers.
fn remember(
    cache: &mut WriteCache,
    company: CompanyId,
    row: &PgRow,
    webhooks: &[PgRow],
    numbers: &[PgRow],
    env: &Env,
) -> Result<(), Error> {
    let (record, last_stamp) = StoredCompany::from_row(row)?.read(company)?;
    cache.remember(&ChangeContext::new(record, last_stamp, env.now())?, last_stamp);
    let webhooks = webhooks.iter().map(|row| SubscriberRow::from_row(row).map(Subscriber::from));
    cache.remember_subscribers(company, &webhooks.collect::<Result<Arc<_>, _>>()?);
    cache.remember_numbers(company, numbers.iter().map(LastNumber::from_row).collect::<Result<Arc<_>, _>>()?);
    Ok(())
}
