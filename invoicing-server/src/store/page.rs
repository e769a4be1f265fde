//! The statements of a list, and the envelope of its response.

use invoicing_core::Timestamp;
use sqlx::{ColumnIndex, Decode, FromRow, Row, Type};

use super::arguments::Argument;
use super::query::Sql;
use super::scope::Scope;
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
}

impl Scope<'_> {
    /// A page of documents as the JSON envelope of the API.
    pub(super) async fn document_page<S: Copy>(
        &mut self,
        query: &PageQuery<S>,
        statements: &PageStatements,
        text: impl Fn(S) -> &'static str,
    ) -> Result<Vec<u8>, Error> {
        let statement = match (query.window.since, query.status) {
            (None, None) => statements.newest,
            (None, Some(_)) => statements.newest_in_status,
            (Some(_), _) => statements.changed,
        };
        let status = query.status.map(text);
        self.page(query.window, statement, &[&status, &query.include_lines]).await
    }

    /// A page as the JSON envelope of the API. `filters` are the arguments from `$5` on.
    pub(super) async fn page(
        &mut self,
        window: PageWindow,
        statement: impl Into<Sql>,
        filters: &[&dyn Argument],
    ) -> Result<Vec<u8>, Error> {
        let offset = i64::try_from(window.offset).unwrap_or(i64::MAX);
        let since = window.since.unwrap_or(Timestamp::EARLIEST);
        let part: [&dyn Argument; 3] = [&window.limit, &offset, &since];
        let arguments = [&part, filters].concat();
        let page: PageRow = self.query(statement, &arguments).fetch_one().await?;
        page.envelope(window)
    }
}

/// What stands between the items of a page: a comma, and a line end, which no item contains.
const BETWEEN: &[u8] = b",\n";
/// What stands before the items.
const START: &[u8] = br#"{"data":["#;
/// Room for what stands around the items.
const AROUND: usize = 160;

/// One page as the database gives it: the items and one more if there is one, how many these are, and the company's
/// last stamp (none where there is no such company).
struct PageRow {
    /// The envelope up to the last item.
    json: Vec<u8>,
    count: i64,
    last_stamp: Option<i64>,
}

impl<'r, R: Row> FromRow<'r, R> for PageRow
where
    &'static str: ColumnIndex<R>,
    &'r [u8]: Decode<'r, R::Database>,
    i64: Decode<'r, R::Database> + Type<R::Database>,
    Option<i64>: Decode<'r, R::Database> + Type<R::Database>,
{
    fn from_row(row: &'r R) -> Result<Self, sqlx::Error> {
        // The items are read as bytes, unchecked: they are copied once and never parsed.
        let items: &[u8] = row.try_get_unchecked("items")?;
        let mut json = Vec::with_capacity(items.len() + AROUND);
        json.extend_from_slice(START);
        json.extend_from_slice(items);
        Ok(Self { json, count: row.try_get("count")?, last_stamp: row.try_get("last_stamp")? })
    }
}

impl PageRow {
    fn envelope(self, window: PageWindow) -> Result<Vec<u8>, Error> {
        let (PageWindow { limit, offset, .. }, mut json) = (window, self.json);
        let as_of = Timestamp::from_millis(self.last_stamp.ok_or(Error::NotFound)?);
        let has_more = self.count > i64::from(limit);
        if has_more {
            let last = json.iter().rposition(|byte| *byte == BETWEEN[1]).unwrap_or(0);
            json.truncate(last.saturating_sub(1));
        }
        let tail = format!(
            r#"],"pagination":{{"limit":{limit},"offset":{offset},"hasMore":{has_more}}},"asOf":"{as_of}"}}"#
        );
        json.extend_from_slice(tail.as_bytes());
        Ok(json)
    }
}
