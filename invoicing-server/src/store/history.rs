//! The history of a company: changes that were made through a handle with a name. Rows are only
//! inserted; nothing reads them but their page.

use invoicing_core::{OpenEnum, Timestamp};
use sqlx::FromRow;
use uuid::Uuid;

#[cfg(feature = "console")]
use super::connection::Sql;
use super::connection::{Argument, Write};
use super::enqueue::{AFTER_RECORDS, BEFORE_NOTES};
use super::scope::Scope;
use crate::error::Error;
use crate::list_query::{HistoryQuery, check_limit};
use crate::records::{HistoryAction, HistoryPage, HistoryRecord};

/// Number of changes that a page looks at, as no index holds them by record.
const LOOKED_AT: u32 = 2_000;
/// Maximum number of changes of a page.
const MAX_PAGE: u32 = 1_000;

/// The last refusal of a quote. SQLite would read the whole history of the company in its order.
#[cfg(feature = "console")]
pub(super) const REFUSAL: Sql = Sql {
    sqlite: "
        SELECT number, at, actor, action, subject, detail FROM history INDEXED BY history_refusal
        WHERE company_id = $1 AND subject = $2 AND action IN ('quote.declined', 'quote.rejected')
        ORDER BY number DESC LIMIT 1",
    postgres: "
        SELECT number, at, actor, action, subject, detail FROM history
        WHERE company_id = $1 AND subject = $2 AND action IN ('quote.declined', 'quote.rejected')
        ORDER BY number DESC LIMIT 1",
};

#[derive(FromRow)]
struct HistoryRow {
    number: i64,
    at: i64,
    actor: String,
    action: String,
    subject: Uuid,
    detail: String,
}

impl From<HistoryRow> for HistoryRecord {
    fn from(row: HistoryRow) -> Self {
        let action = row.action.parse();
        Self {
            number: row.number,
            at: Timestamp::from_millis(row.at),
            actor: row.actor,
            action: action.map_or_else(|_| OpenEnum::Other(row.action.into()), OpenEnum::Known),
            subject: row.subject,
            detail: row.detail,
        }
    }
}

/// A note of a change that is being made.
pub(super) struct NewEntry<'a> {
    pub(super) at: Timestamp,
    pub(super) actor: &'a str,
    pub(super) action: HistoryAction,
    pub(super) subject: Uuid,
    pub(super) detail: String,
}

/// The history of a company.
pub(crate) struct HistoryTable<'c>(pub(super) Scope<'c>);

impl HistoryTable<'_> {
    /// Notes a change. The transaction locks the company, so no other takes the same number.
    pub(super) async fn insert(&mut self, entry: NewEntry<'_>) -> Result<(), Error> {
        static INSERT: Write = Write {
            table: "history",
            sqlite: "
                INSERT INTO history (company_id, number, at, actor, action, subject, detail)
                SELECT $1, coalesce(max(number), 0) + 1, $2, $3, $4, $5, $6 FROM history WHERE company_id = $1",
            postgres: AFTER_RECORDS,
            first: BEFORE_NOTES,
            refuses_newer_format: false,
        };
        let NewEntry { at, actor, action, subject, detail } = entry;
        self.0.write(&INSERT, &[&at, &actor, &action.as_str(), &subject, &detail]).await
    }

    /// The changes before a number, latest first.
    pub(crate) async fn list(&mut self, before: i64, limit: u32) -> Result<Vec<HistoryRecord>, Error> {
        const LIST: &str = "
            SELECT number, at, actor, action, subject, detail FROM history
            WHERE company_id = $1 AND number < $2 ORDER BY number DESC LIMIT $3";
        let rows: Vec<HistoryRow> = self.0.query(LIST, &[&before, &limit]).fetch_all().await?;
        Ok(rows.into_iter().map(HistoryRecord::from).collect())
    }

    /// The last time that a quote was declined or discarded.
    #[cfg(feature = "console")]
    pub(crate) async fn refusal(&mut self, quote: Uuid) -> Result<Option<HistoryRecord>, Error> {
        let row: Option<HistoryRow> = self.0.query(REFUSAL, &[&quote]).fetch_optional().await?;
        Ok(row.map(HistoryRecord::from))
    }

    /// A page of the changes, latest first.
    pub(crate) async fn page(&mut self, query: &HistoryQuery, limit: u32) -> Result<HistoryPage, Error> {
        const PAGE: &str = "
            SELECT number, at, actor, action, subject, detail FROM (
                SELECT number, at, actor, action, subject, detail FROM history
                WHERE company_id = $1 AND number < $2 ORDER BY number DESC LIMIT $4
            ) h
            WHERE $3 IS NULL OR subject = $3 ORDER BY number DESC LIMIT $5";
        const LAST: &str = "
            SELECT number FROM history WHERE company_id = $1 AND number < $2 ORDER BY number DESC LIMIT 1 OFFSET $3";
        check_limit(limit, MAX_PAGE)?;
        let before = query.before.unwrap_or(i64::MAX);
        let (looked_at, taken) =
            if query.subject.is_none() { (limit + 1, limit + 1) } else { (LOOKED_AT, limit + 1) };
        let arguments: [&dyn Argument; 4] = [&before, &query.subject, &looked_at, &taken];
        let rows: Vec<HistoryRow> = self.0.query(PAGE, &arguments).fetch_all().await?;
        let mut items: Vec<HistoryRecord> = rows.into_iter().map(HistoryRecord::from).collect();
        if items.len() > limit as usize {
            items.truncate(limit as usize);
            let next = items.last().map(|item| item.number);
            return Ok(HistoryPage { items, next });
        }
        let next = self.0.query(LAST, &[&before, &(looked_at - 1)]).optional_scalar().await?;
        Ok(HistoryPage { items, next })
    }
}
