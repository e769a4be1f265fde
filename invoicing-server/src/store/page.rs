//! The statements of a list, and the envelope of its response.

use futures_util::TryFutureExt;
use invoicing_core::{CompanyId, Timestamp};
use sqlx::Row as _;

use super::connection::{Connection, query};
use crate::Error;
use crate::page::{PageQuery, PageWindow};

/// The statements of a list of documents. Each gives the page in one row and one snapshot: the items and one more if
/// there is one, how many these are, and the company's last stamp.
///
/// `$1` company, `$2` limit, `$3` offset, `$4` since, `$5` status, `$6` whether items carry their lines. The filters
/// leave the index of the order as the only useful one: `status || ''` keeps the last statement off the index by
/// status, where it would have to sort. The aggregate takes the items in the order of its subquery, which SQLite keeps
/// as there is a limit, and PostgreSQL as it is sorted.
pub(super) struct PageStatements {
    pub(super) newest: &'static str,
    pub(super) newest_in_status: &'static str,
    pub(super) changed: &'static str,
    pub(super) changed_in_status: &'static str,
}

impl<S: Copy> PageQuery<S> {
    pub(super) async fn fetch(
        &self,
        connection: &mut Connection,
        statements: &PageStatements,
        company: CompanyId,
        text: impl Fn(S) -> &'static str,
    ) -> Result<PageRow, Error> {
        let window = self.window;
        let statement = match (window.since, self.status) {
            (None, None) => statements.newest,
            (None, Some(_)) => statements.newest_in_status,
            (Some(_), None) => statements.changed,
            (Some(_), Some(_)) => statements.changed_in_status,
        };
        let status = self.status.map(text);
        let page = query!(connection, |c| sqlx::query(statement)
            .bind(company.0)
            .bind(window.limit())
            .bind(window.offset())
            .bind(window.since_millis())
            .bind(status)
            .bind(self.include_lines)
            .fetch_one(c)
            .map_ok(PageRow::from))?;
        Ok(page)
    }
}

/// What stands between the items of a page: a comma, and a line end, which no item contains.
const BETWEEN: &[u8] = b",\n";

/// One page as the database gives it: the items and one more if there is one, how many these are, and the company's
/// last stamp (none where there is no such company).
pub(crate) enum PageRow {
    Sqlite(sqlx::sqlite::SqliteRow),
    #[cfg(feature = "postgres")]
    Postgres(sqlx::postgres::PgRow),
}

impl From<sqlx::sqlite::SqliteRow> for PageRow {
    fn from(row: sqlx::sqlite::SqliteRow) -> Self {
        Self::Sqlite(row)
    }
}

#[cfg(feature = "postgres")]
impl From<sqlx::postgres::PgRow> for PageRow {
    fn from(row: sqlx::postgres::PgRow) -> Self {
        Self::Postgres(row)
    }
}

impl PageRow {
    /// Items, how many, the last stamp. The items are bytes to us: they are copied and never looked into.
    fn columns(&self) -> Result<(&[u8], i64, Option<i64>), sqlx::Error> {
        Ok(match self {
            Self::Sqlite(row) => (row.try_get_unchecked(0)?, row.try_get(1)?, row.try_get(2)?),
            #[cfg(feature = "postgres")]
            Self::Postgres(row) => (row.try_get_unchecked(0)?, row.try_get(1)?, row.try_get(2)?),
        })
    }
}

impl PageWindow {
    /// The envelope around the items.
    pub(crate) fn envelope(self, page: &PageRow) -> Result<Vec<u8>, Error> {
        let Self { limit, offset, .. } = self;
        let (mut items, count, last_stamp) = page.columns()?;
        let as_of = Timestamp::from_millis(last_stamp.ok_or(Error::NotFound)?);
        let has_more = count > self.limit();
        if has_more {
            let last = items.iter().rposition(|byte| *byte == BETWEEN[1]).unwrap_or(0);
            items = &items[..last.saturating_sub(1)];
        }
        let tail = format!(
            r#"],"pagination":{{"limit":{limit},"offset":{offset},"hasMore":{has_more}}},"asOf":"{as_of}"}}"#
        );
        let mut json = Vec::with_capacity(items.len() + tail.len() + 9);
        json.extend_from_slice(br#"{"data":["#);
        json.extend_from_slice(items);
        json.extend_from_slice(tail.as_bytes());
        Ok(json)
    }
}
