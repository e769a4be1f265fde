//! The begin of a transaction: one call, which also locks the companies and reads what each change of them needs.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use invoicing_core::CompanyId;
use sqlx::postgres::PgRow;
use sqlx::{FromRow as _, Row as _};
use uuid::Uuid;

use super::super::change::CompanyChange;
use super::super::companies::StoredCompany;
use super::super::connection::Connection;
use super::super::prefetch::Prefetch;
use super::super::session::Session;
use super::super::subscriber::Subscriber;
use super::super::tx::{BLOCK, Tx};
use super::super::webhooks::SubscriberRow;
use super::super::write_cache::{LastNumber, WriteCache};
use super::prepared::Prepared;
use super::retry::Failure;
use super::{BEGIN, Shared};
use crate::Error;
use crate::env::Env;
use crate::store::call::Group;

/// How long a transaction of several companies waits for a row that another one has locked.
const SHORT_WAIT: &str = "; SET LOCAL lock_timeout = '100ms'";

/// Statements for the companies: lock, webhooks, numbers.
const OF_COMPANIES: usize = 3;

/// Whether a transaction waits for a company that another one has locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Locks {
    /// It does, and has one company or none.
    Waited,
    /// It leaves the company out.
    Free,
}

/// A transaction that has begun.
pub(super) struct Begun {
    pub(super) tx: Tx,
    /// Its row in `commit_status`.
    pub(super) id: Uuid,
}

impl Begun {
    /// Whether it has locked a company.
    pub(super) fn has_locked(&mut self, company: Option<CompanyId>) -> bool {
        let now = self.tx.env().now();
        let cache = self.tx.connection().write_cache();
        company.zip(cache).is_some_and(|(company, cache)| cache.change(company, now).is_some())
    }

    /// Rolls back explicitly, so that the connection can be used again.
    pub(super) async fn roll_back(&mut self) {
        if let Err(error) = self.tx.connection().end_transaction().await {
            tracing::debug!(%error, "rolled back by the end of the connection");
        }
    }

    /// The session after its end, where another transaction can begin on it.
    pub(super) fn into_session(self) -> Option<Session> {
        match self.tx.into_connection() {
            Connection::Postgres(session, _) => Some(session).filter(Session::is_free),
            Connection::SqliteWriter(..) | Connection::SqliteReader(_) => None,
        }
    }
}

/// What a transaction locks and reads as it begins.
pub(super) struct Needs {
    companies: BTreeSet<CompanyId>,
    records: BTreeSet<(CompanyId, Prefetch)>,
}

impl Needs {
    /// Those of calls.
    pub(super) fn of(calls: &Group) -> Self {
        let companies = calls.iter().filter_map(|call| call.company()).collect();
        let of_each = calls.iter().filter_map(|call| Some((call.company()?, call.prefetches())));
        let records = of_each.flat_map(|(company, all)| all.iter().map(move |record| (company, *record)));
        Self { companies, records: records.collect() }
    }

    /// Statements that lock the companies and read their webhooks and numbers, and the records.
    fn statements(&self, locks: Locks, by_name: bool) -> Vec<String> {
        let mut statements = Vec::with_capacity(OF_COMPANIES + self.records.len());
        if !self.companies.is_empty() {
            let ids: Vec<_> = self.companies.iter().map(CompanyId::to_string).collect();
            let ids = format!("{{{}}}", ids.join(","));
            let lock = if locks == Locks::Free { Prepared::LockFree } else { Prepared::Lock };
            let of_companies: [_; OF_COMPANIES] = [lock, Prepared::Subscribers, Prepared::LastNumbers];
            statements.extend(of_companies.map(|statement| statement.with(&[&ids], by_name)));
        }
        statements.extend(self.records.iter().map(|(company, record)| {
            let (find, id) = record.find();
            Prepared::Find(find).with(&[&company.to_string(), &id.to_string()], by_name)
        }));
        statements
    }
}

/// Begins a transaction. A statement for each thing, so that the reads see all that was committed before the locks were
/// taken. It also takes a block of the row ids of deliveries.
pub(super) async fn begin(
    shared: &Shared,
    mut session: Session,
    locks: Locks,
    needs: Needs,
) -> Result<Begun, Failure> {
    let env = &shared.context.env;
    let (id, now) = (env.uuid(), env.now().as_millis());
    let by_name = !shared.settings.transaction_pooling;
    let limits = shared.limits_behind_pooler();
    let lock_timeout = if locks == Locks::Free { SHORT_WAIT } else { "" };
    let mut statements = vec![
        format!("{BEGIN}{limits}{lock_timeout}"),
        Prepared::Note.with(&[&id.to_string(), &now.to_string()], by_name),
    ];
    statements.extend(needs.statements(locks, by_name));
    let answers = match session.begin(statements.join("; ")).await {
        Ok(answers) => answers,
        Err(error) => {
            // Keeps the connection, where the server has answered.
            let _ = session.roll_back().await;
            return Err(error.into());
        }
    };
    let Answers { block, of_companies, of_records } = Answers::of(answers, &needs)?;
    let mut cache = WriteCache::default();
    // What cannot be read, each operation finds by itself.
    let _ = remember(&mut cache, &of_companies, env);
    let of_records = needs.records.into_iter().zip(of_records);
    session.keep_prefetched(
        of_records
            .flat_map(|((company, record), rows)| rows.into_iter().map(move |row| (company, record, row)))
            .collect(),
    );
    let connection = Connection::Postgres(session, cache);
    Ok(Begun { tx: Tx::new(connection, Arc::clone(&shared.context), block..block + BLOCK), id })
}

/// What the statements of a begin have returned.
struct Answers {
    block: i64,
    /// Companies, webhooks, numbers.
    of_companies: Vec<Vec<PgRow>>,
    of_records: Vec<Vec<PgRow>>,
}

impl Answers {
    fn of(mut answers: Vec<Vec<PgRow>>, needs: &Needs) -> Result<Self, sqlx::Error> {
        let mut split_off = |count: usize| answers.split_off(answers.len().saturating_sub(count));
        let of_records = split_off(needs.records.len());
        let of_companies = split_off(if needs.companies.is_empty() { 0 } else { OF_COMPANIES });
        let block = answers.last().and_then(|rows| rows.first()).ok_or(sqlx::Error::RowNotFound)?;
        Ok(Self { block: block.try_get(0)?, of_companies, of_records })
    }
}

/// Remembers the companies that are locked, their webhooks and their numbers.
fn remember(cache: &mut WriteCache, answers: &[Vec<PgRow>], env: &Env) -> Result<(), Error> {
    let [companies, webhooks, numbers] = answers else { return Ok(()) };
    let (webhooks, numbers) = (by_company(webhooks)?, by_company(numbers)?);
    for row in companies {
        let company = row.try_get("id")?;
        let webhooks = webhooks.get(&company).into_iter().flatten().copied();
        let numbers = numbers.get(&company).into_iter().flatten().copied();
        // One that cannot be read fails the operations on it only.
        let company = CompanyId(company);
        let Ok((record, last_stamp)) = StoredCompany::from_row(row)?.read(company) else { continue };
        let Ok(change) = CompanyChange::new(record, last_stamp, env.now()) else { continue };
        cache.remember(&change, last_stamp);
        let webhooks = webhooks.map(|row| SubscriberRow::from_row(row).map(Subscriber::from));
        cache.remember_subscribers(company, &webhooks.collect::<Result<Arc<_>, _>>()?);
        cache.remember_numbers(company, numbers.map(LastNumber::from_row).collect::<Result<Arc<_>, _>>()?);
    }
    Ok(())
}

/// The rows of each company.
fn by_company(rows: &[PgRow]) -> Result<HashMap<Uuid, Vec<&PgRow>>, sqlx::Error> {
    let mut companies: HashMap<_, Vec<_>> = HashMap::new();
    for row in rows {
        companies.entry(row.try_get("company_id")?).or_default().push(row);
    }
    Ok(companies)
}
